"""The line to a model: the only module that knows pydantic-ai. It sends and receives; it never runs a tool."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from pydantic import ValidationError
from pydantic_ai import exceptions as wrong
from pydantic_ai import messages as m
from pydantic_ai.direct import model_request
from pydantic_ai.models import Model as AnyModel
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from gate.task import Usage
from gate.world import Unavailable
from tools.dialogue import Answered, Asked, Message, ModelRefused, Offer, Request, Results, Said, Words
from tools.provider import ModelConfig

PASSING = (
    wrong.ModelRateLimitError,
    wrong.ModelUnavailableError,
    wrong.ModelServerError,
    wrong.ModelConnectionError,
    wrong.ModelRequestTimeout,
    wrong.ConcurrencyLimitExceeded,
)
LASTING: tuple[tuple[type[Exception], str], ...] = (
    (wrong.ModelQuotaExceededError, "its account has no credit left. An admin can add some"),
    (wrong.ModelAuthenticationError, "it does not accept our key. An admin has to check the key"),
    (wrong.ModelNotFoundError, "there is no model of that name. An admin has to check `model`"),
    (wrong.ModelContextWindowExceededError, "this is more than it can read at once. Please ask for less"),
    (wrong.ContentFilterError, "it does not want to answer this. Please put it in other words"),
    (wrong.ModelRequestRejectedError, "it does not take our request. An admin can look into the log"),
)


class ProviderModel:
    """Implements tools.dialogue.Model over a provider's HTTP API."""

    def __init__(self, config: ModelConfig) -> None:
        self._model, self._line = _connected(config)
        self._settings = ModelSettings(
            max_tokens=config.output_tokens,
            timeout=config.seconds,
            request_timeout=config.seconds,
            cache=True,
        )

    async def close(self) -> None:
        """Give back its connections."""
        await self._line.close()

    async def ask(self, request: Request) -> Answered:
        """One request. Raises Unavailable for what gets better by itself, else ModelRefused."""
        offers = [_definition(offer) for offer in request.offers]
        parameters = (
            ModelRequestParameters(output_tools=offers, output_mode="tool", allow_text_output=False)
            if request.must
            else ModelRequestParameters(function_tools=offers)
        )
        sent = [*_messages(request.system, request.messages)]
        try:
            response = await model_request(
                self._model, sent, model_settings=self._settings, model_request_parameters=parameters
            )
        except PASSING as error:
            raise Unavailable(f"the model cannot be reached now: {error}") from error
        except wrong.AgentRunError as error:
            raise _lasting(error) from error
        used = response.usage
        return Answered(_said(response), Usage(1, used.input_tokens, used.output_tokens))


class _Line(Protocol):
    async def close(self) -> None: ...


def _connected(config: ModelConfig) -> tuple[AnyModel, _Line]:
    """Without retries of the library's own: who asks us tries again, and knows when to stop. Only the provider's
    own library is loaded: each takes a second and tens of megabytes."""
    base_url = config.base_url or None
    if config.provider == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        line = AsyncAnthropic(api_key=config.key, base_url=base_url, max_retries=0)
        return AnthropicModel(config.name, provider=AnthropicProvider(anthropic_client=line)), line
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(api_key=config.key, base_url=base_url, max_retries=0)
    return OpenAIChatModel(config.name, provider=OpenAIProvider(openai_client=client)), client


def _lasting(error: wrong.AgentRunError) -> Exception:
    """The error as the planner wants it. An answer that is no answer may be a proxy's: that passes."""
    for kind, told in LASTING:
        if isinstance(error, kind):
            return ModelRefused(f"I cannot think about this: {told}.")
    return Unavailable(f"the model's answer could not be read: {error}")


def _definition(offer: Offer) -> ToolDefinition:
    """External: there is no code behind it here. Not strict: that would rewrite the schema."""
    return ToolDefinition(
        name=offer.name,
        description=offer.description,
        parameters_json_schema=dict(offer.schema),
        strict=False,
        kind="external",
    )


def _messages(system: str, messages: Sequence[Message]) -> list[m.ModelMessage]:
    """Ours as theirs. Call ids are made here from places, so that none is ever missing or there twice."""
    made: list[m.ModelMessage] = []
    calls: tuple[tuple[str, str], ...] = ()
    parts: list[m.ModelRequestPart] = []
    for place, message in enumerate(messages):
        if isinstance(message, Said):
            made += [m.ModelRequest(parts=parts, instructions=system)] if parts else []
            parts = []
            calls = tuple((f"c{place}_{i}", call.name) for i, call in enumerate(message.calls))
            made.append(_response(message, [call_id for call_id, _ in calls]))
        elif isinstance(message, Results):
            pairs = zip(calls, message.texts, strict=True)
            parts += [m.ToolReturnPart(name, text, tool_call_id=i) for (i, name), text in pairs]
        elif isinstance(message, Words):
            parts.append(m.UserPromptPart(message.text))
    return [*made, m.ModelRequest(parts=parts, instructions=system)]


def _response(said: Said, ids: Sequence[str]) -> m.ModelResponse:
    stored = _stored(said.extra)
    if stored is not None:
        left = iter(ids)
        parts = [
            replace(part, tool_call_id=next(left)) if isinstance(part, m.ToolCallPart) else part
            for part in stored.parts
        ]
        return replace(stored, parts=parts)
    text = [m.TextPart(said.text)] if said.text else []
    calls = [m.ToolCallPart(c.name, c.args, tool_call_id=i) for c, i in zip(said.calls, ids, strict=True)]
    return m.ModelResponse(parts=[*text, *calls])


def _stored(extra: str) -> m.ModelResponse | None:
    if not extra:
        return None
    try:
        (response,) = m.ModelMessagesTypeAdapter.validate_json(extra)
    except (ValidationError, ValueError):  # another version of the library wrote it
        return None
    return response if isinstance(response, m.ModelResponse) else None


def _said(response: m.ModelResponse) -> Said:
    """Theirs as ours; the whole of it besides, where there is more to it than text and calls."""
    texts = [part.content for part in response.parts if isinstance(part, m.TextPart)]
    calls = [part for part in response.parts if isinstance(part, m.ToolCallPart)]
    plain = len(texts) + len(calls) == len(response.parts)
    whole = "" if plain else m.ModelMessagesTypeAdapter.dump_json([response]).decode()
    asked = tuple(Asked(call.tool_name, _written(call.args)) for call in calls)
    return Said("\n".join(texts).strip(), asked, whole)


def _written(args: object) -> str:
    """The arguments as the model wrote them: text that may be no JSON, or what its provider made of it."""
    if isinstance(args, str):
        return args.strip() or "{}"
    return json.dumps(args or {}, ensure_ascii=False)
