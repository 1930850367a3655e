"""The client of the model providers: the only module that uses pydantic-ai. It never runs a tool."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Protocol

import httpx2
from pydantic import ValidationError
from pydantic_ai import exceptions as errors
from pydantic_ai import messages as m
from pydantic_ai.direct import model_request
from pydantic_ai.models import Model as AnyModel
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition as ProviderTool
from pydantic_core import from_json

from gate.rules.action import Json
from gate.rules.message_size import MessageSize, has_more_values
from gate.rules.ports import PlannerUnavailable
from gate.rules.task import Usage, clipped
from tools.http_bounds import Bound, OwnTurns, keep_bounds, reading, refuse
from tools.model.model_port import (
    AssistantMessage,
    Message,
    ModelConfig,
    ModelRefused,
    Request,
    Response,
    ToolCall,
    ToolDefinition,
    ToolResults,
    UserMessage,
)
from tools.name_lookups import NameLookups

TEMPORARY_ERRORS = (
    errors.ModelRateLimitError,
    errors.ModelUnavailableError,
    errors.ModelServerError,
    errors.ModelConnectionError,
    errors.ModelRequestTimeout,
    errors.ConcurrencyLimitExceeded,
)
PERMANENT_ERRORS: tuple[tuple[type[Exception], str], ...] = (
    (errors.ModelQuotaExceededError, "its account has no credit left. An admin can add some"),
    (errors.ModelAuthenticationError, "it does not accept our key. An admin has to check the key"),
    (errors.ModelNotFoundError, "there is no model of that name. An admin has to check `model`"),
    (errors.ModelContextWindowExceededError, "this is more than it can read at once. Please ask for less"),
    (errors.ContentFilterError, "it does not want to answer this. Please put it in other words"),
    (errors.ModelRequestRejectedError, "it does not take our request. An admin can look into the log"),
)


RETRY_DELAYS = (0.5, 1.0, 2.0, 4.0)  # seconds between two tries; the last one repeats
MAX_RETRY_AFTER = 60.0  # seconds: a provider cannot close the line to itself for longer
# Of one answer, its head included. A token is text of 4 letters or so, of which each may be written as \\u0041.
ANSWER_BYTES, BYTES_PER_TOKEN, ANSWER_LINES = 64 * 1024, 16, 10_000
TOO_LONG = "its answer is longer than {} KiB. An admin can raise `output_tokens` or look into its address"
COMPRESSED = "its answer is compressed, which was not asked for. An admin can look into its address"
# What the library looks at one by one: two for a call, three with its arguments. It takes 30 µs for each that is wrong.
MAX_VALUES = 2_000
NO_JSON = "its answer is not JSON in UTF-8"
TOO_MANY = "its answer has too many parts. Please ask for less"
PIECE = 16 * 1024  # bytes that are counted at once
SHOWN = 300  # characters of an error
UNREADABLE = "the model's answer could not be read"


class ProviderModel:
    """Implements tools.model.model_port.Model over a provider's HTTP API."""

    def __init__(self, config: ModelConfig) -> None:
        self._model, self._connection = _connect(config)
        self._seconds, self._retry_seconds = config.seconds, config.retry_seconds
        self._answer_bytes = ANSWER_BYTES + BYTES_PER_TOKEN * config.output_tokens
        self._not_before = 0.0  # by time.monotonic: what the provider asked for with Retry-After
        self._settings = ModelSettings(
            max_tokens=config.output_tokens,
            timeout=config.seconds,
            request_timeout=config.seconds,
            cache=True,
        )

    async def close(self) -> None:
        """Close its connections."""
        await self._connection.close()

    async def ask(self, request: Request) -> Response:
        """One request; temporary errors are retried for `retry_seconds`, and not before the provider's Retry-After.

        Raises PlannerUnavailable after that, and ModelRefused for permanent errors.
        """
        deadline = time.monotonic() + self._retry_seconds
        for delay in itertools.chain(RETRY_DELAYS, itertools.repeat(RETRY_DELAYS[-1])):
            await self._wait_until(self._not_before, deadline)
            try:
                return await self._ask(request)
            except PlannerUnavailable:
                if time.monotonic() + delay > deadline:
                    raise
            await asyncio.sleep(delay)
        raise AssertionError  # the delays do not end

    async def _wait_until(self, moment: float, deadline: float) -> None:
        if moment > max(deadline, time.monotonic()):
            raise PlannerUnavailable("the model asked to wait before it is asked again")
        await asyncio.sleep(max(0.0, moment - time.monotonic()))

    async def _ask(self, request: Request) -> Response:
        tools = [_to_provider_tool(tool) for tool in request.tools]
        parameters = (
            ModelRequestParameters(output_tools=tools, output_mode="tool", allow_text_output=False)
            if request.tool_required
            else ModelRequestParameters(function_tools=tools)
        )
        sent = [*_to_provider_messages(request.system, request.messages)]
        settings = self._settings
        if request.output_tokens:
            settings = {**settings, "max_tokens": min(request.output_tokens, settings["max_tokens"])}
        bound = Bound(TOO_LONG.format(self._answer_bytes >> 10), self._answer_bytes, ANSWER_LINES)
        try:
            # The library's own limit begins anew with each byte that comes, so an answer could take for ever.
            async with asyncio.timeout(self._seconds):
                with reading(bound):
                    response = await model_request(
                        self._model, sent, model_settings=settings, model_request_parameters=parameters
                    )
        except TimeoutError as error:
            raise PlannerUnavailable(f"the model did not answer within {self._seconds:g} s") from error
        except TEMPORARY_ERRORS as error:
            if bound.exceeded:
                raise ModelRefused(f"I cannot think about this: {bound.why}.") from error
            wait = min(getattr(error, "retry_after", None) or 0.0, MAX_RETRY_AFTER)
            self._not_before = max(self._not_before, time.monotonic() + wait)
            raise PlannerUnavailable(
                f"the model cannot be reached now: {clipped(str(error), SHOWN)}"
            ) from error
        except errors.AgentRunError as error:
            raise _to_planner_error(error) from error
        except (ArithmeticError, AssertionError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise PlannerUnavailable(UNREADABLE) from error  # the library trips over an odd answer
        used = response.usage
        usage = Usage(1, used.input_tokens, used.output_tokens)
        return Response(_from_provider_message(response), usage, response.finish_reason == "length")


class _Connection(Protocol):
    async def close(self) -> None: ...


def _connect(config: ModelConfig) -> tuple[AnyModel, _Connection]:
    """The provider's model and the client to close. Retries of the library are off: the caller retries, and knows
    when to stop. So are redirects: what is said to the model goes to the address that the operator named, and to no
    other. Only this provider's library is imported: each takes a second and tens of
    megabytes."""
    base_url = config.base_url or None
    if config.provider == "anthropic":
        from anthropic import AsyncAnthropic
        from anthropic import DefaultAsyncHttpxClient as AnthropicHttp
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        http = _bounded(AnthropicHttp)
        connection = AsyncAnthropic(api_key=config.key, base_url=base_url, max_retries=0, http_client=http)
        return AnthropicModel(
            config.name, provider=AnthropicProvider(anthropic_client=connection)
        ), connection
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(
        api_key=config.key,
        base_url=base_url,
        max_retries=0,
        http_client=_bounded(DefaultAsyncHttpxClient),
    )
    return OpenAIChatModel(config.name, provider=OpenAIProvider(openai_client=client)), client


def _bounded(kind: Callable[..., httpx2.AsyncClient]) -> Any:
    """A client of this kind that keeps to the bound of what is read, and whose answers are checked first."""
    client = kind(
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [_check]},
    )
    keep_bounds(client, OwnTurns(), NameLookups())
    return client


async def _check(response: httpx2.Response) -> None:
    """Let the library see no answer that takes it long. Raises httpx2.RemoteProtocolError."""
    response.encoding = (
        "utf-8"  # as it is counted; what the header says of it takes long to be read or to decode
    )
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        refuse(COMPRESSED)  # its size says nothing of what it unpacks to
    body = await response.aread()
    if response.is_error:
        return  # the library only quotes it
    size = MessageSize()
    for start in range(0, len(body), PIECE):
        size.feed(body[start : start + PIECE])
    if size.too_large:
        refuse(TOO_MANY)
    try:
        answer = from_json(body)
    except ValueError as error:  # the library may read it all the same: as UTF-16, or with half a character
        raise httpx2.RemoteProtocolError(NO_JSON) from error
    if has_more_values(_looked_at(answer), MAX_VALUES):
        refuse(TOO_MANY)


def _looked_at(answer: Json) -> Json:
    """What of an answer has a form of its own: arguments of calls, which Anthropic sends as JSON, have none."""
    parts = answer.get("content") if isinstance(answer, dict) else None
    if not isinstance(parts, list):
        return answer
    free = [{**part, "input": None} if isinstance(part, dict) else part for part in parts]
    return {**answer, "content": free}


def _to_planner_error(error: errors.AgentRunError) -> Exception:
    """ModelRefused for a permanent error, else PlannerUnavailable: an unreadable answer may be a proxy's."""
    for kind, reason in PERMANENT_ERRORS:
        if isinstance(error, kind):
            return ModelRefused(f"I cannot think about this: {reason}.")
    return PlannerUnavailable(f"{UNREADABLE}: {clipped(str(error), SHOWN)}")


def _to_provider_tool(tool: ToolDefinition) -> ProviderTool:
    """External, because no code runs it here. Not strict, because that would rewrite the schema."""
    return ProviderTool(
        name=tool.name,
        description=tool.description,
        parameters_json_schema=dict(tool.schema),
        strict=False,
        kind="external",
    )


def _to_provider_messages(system: str, messages: Sequence[Message]) -> list[m.ModelMessage]:
    """Our messages as the provider's. Call ids are made from positions, so that none is missing or duplicated."""
    sent: list[m.ModelMessage] = []
    calls: tuple[tuple[str, str], ...] = ()
    parts: list[m.ModelRequestPart] = []
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            sent += [m.ModelRequest(parts=parts, instructions=system)] if parts else []
            parts = []
            calls = tuple((f"c{place}_{i}", call.name) for i, call in enumerate(message.calls))
            sent.append(_to_provider_message(message, [call_id for call_id, _ in calls]))
        elif isinstance(message, ToolResults):
            pairs = zip(calls, message.texts, strict=True)
            parts += [m.ToolReturnPart(name, text, tool_call_id=i) for (i, name), text in pairs]
        elif isinstance(message, UserMessage):
            parts.append(m.UserPromptPart(message.text))
    return [*sent, m.ModelRequest(parts=parts, instructions=system)]


def _to_provider_message(message: AssistantMessage, ids: Sequence[str]) -> m.ModelResponse:
    original = _load_provider_message(message.extra)
    if original is not None:
        left = iter(ids)
        parts = [
            replace(part, tool_call_id=next(left)) if isinstance(part, m.ToolCallPart) else part
            for part in original.parts
        ]
        return replace(original, parts=parts)
    text = [m.TextPart(message.text)] if message.text else []
    calls = [m.ToolCallPart(c.name, c.args, tool_call_id=i) for c, i in zip(message.calls, ids, strict=True)]
    return m.ModelResponse(parts=[*text, *calls])


def _load_provider_message(extra: str) -> m.ModelResponse | None:
    if not extra:
        return None
    try:
        (response,) = m.ModelMessagesTypeAdapter.validate_json(extra)
    except (ValidationError, ValueError):  # written by another version of the library
        return None
    return response if isinstance(response, m.ModelResponse) else None


def _from_provider_message(response: m.ModelResponse) -> AssistantMessage:
    """The provider's message as ours; the whole original as `extra` where it has more than text and calls."""
    texts = [part.content for part in response.parts if isinstance(part, m.TextPart)]
    calls = [part for part in response.parts if isinstance(part, m.ToolCallPart)]
    is_complete = len(texts) + len(calls) == len(response.parts)
    extra = "" if is_complete else m.ModelMessagesTypeAdapter.dump_json([response]).decode()
    tool_calls = tuple(ToolCall(call.tool_name, _arguments_text(call.args)) for call in calls)
    return AssistantMessage("\n".join(texts).strip(), tool_calls, extra)


def _arguments_text(args: object) -> str:
    """The arguments as the model wrote them: text that may be invalid JSON, or what its provider made of it."""
    if isinstance(args, str):
        return args.strip() or "{}"
    return json.dumps(args or {}, ensure_ascii=False)
