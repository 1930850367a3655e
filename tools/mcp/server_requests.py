"""What a server asks in the middle of a call: of the person behind it (elicitation), or of a model (sampling)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from weakref import WeakSet

from mcp.client.session import ClientRequestContext
from mcp_types import (
    INVALID_REQUEST,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    TextContent,
)

from gate.rules.jobs import person_of
from gate.rules.sampling import (
    Completion,
    NotSampled,
    Prompt,
    Sampled,
    Sampler,
    SamplingBounds,
    SamplingRecord,
)
from gate.rules.server_questions import ASK_PERSON, FormReply, FormRequest, PersonAsker
from gate.rules.tool import AnswerTooLong, OutcomeUnknown
from tools.mcp.limits import Slot
from tools.mcp.results import SAMPLING_REFUSED
from tools.mcp.session import CURRENT_CALL, CallTrace

log = logging.getLogger(__name__)
REASON = "dev.countersign/reason"  # the key in `_meta` of why something was declined, in words
NOBODY = "nobody can be asked: no person waits for this call"
WHICH = "several calls run at once and nothing says which of them asks: try again when one runs"
LEFT = (
    "a call that nobody waits for any more may still ask, and nothing says which call asks: try again once the server "
    "is connected anew"
)
FAILED = "the question could not be asked"
HOUR = 3600.0
MAX_KEPT_ANSWERS = 100
CHARS_PER_TOKEN = 3  # to estimate a prompt before the model has counted it
REFUSED = "refused"  # the stop reason of an answer that is a refusal
NO_MODEL = "no model is configured: the operator has to name one"
PROMPT_FILES = "countersign.files"  # in the metadata of a sampling request
MOST_FILES, LONGEST_PATH = 50, 4096
NO_CALL = "sampling is answered in the middle of a tool call only, and none is running"
MANY_CALLS = "several calls are running, and it is not known which of them asks: call one after the other"
NO_RECORD = "this call has no record that the request could go on"
TEXT_ONLY = "only text is answered: no images, no audio and no results of tools"


class CallClock:
    """The time limit of one call, which stands still while a person is asked."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._left, self._questions = seconds, 0
        self._limit: asyncio.Timeout | None = None

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Within it, no time passes."""
        if self._questions == 0 and self._limit is not None and (when := self._limit.when()) is not None:
            self._left = when - self._loop.time()
            self._limit.reschedule(None)
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1
            if self._questions == 0 and self._limit is not None and not self._limit.expired():
                self._limit.reschedule(self._loop.time() + self._left)

    async def wait(self, call: asyncio.Task[object]) -> None:
        """Until the call is done. Raises TimeoutError after its time."""
        async with asyncio.timeout(self._left) as limit:
            self._limit = limit
            try:
                await asyncio.wait({call})
            finally:
                self._limit = None


class AskingCall:
    """One call in progress. `ask`: asks the person behind it; None where there is none. `slot`: the server's, which
    others use while a person is asked. `client`: the connection that it runs on."""

    def __init__(self, ask: PersonAsker | None, seconds: float, slot: Slot, client: object) -> None:
        self.ask, self.clock, self.slot, self.client = ask, CallClock(seconds), slot, client
        self.questions: set[asyncio.Task[FormReply]] = set()


CURRENT: ContextVar[AskingCall | None] = ContextVar("asking call", default=None)


class Elicitations:
    """The elicitation callback of one server's connections, and its calls in progress."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._calls: set[AskingCall] = set()
        self._unanswered: WeakSet[object] = (
            WeakSet()
        )  # connections on which a call has ended without an answer

    @contextmanager
    def call(self, seconds: float, slot: Slot, client: object) -> Iterator[AskingCall]:
        """A call is in progress on this connection; what is still being asked at its end is closed."""
        call = AskingCall(ASK_PERSON.get(), seconds, slot, client)
        self._calls.add(call)
        token = CURRENT.set(call)
        try:
            yield call
        except (OutcomeUnknown, asyncio.CancelledError) as error:
            if not isinstance(error, AnswerTooLong):
                self._unanswered.add(client)
            raise
        finally:
            CURRENT.reset(token)
            self._calls.discard(call)
            slot.close()  # before a question that ends now asks for it again
            for question in call.questions:
                question.cancel()

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        """Never raises: what goes wrong is declined."""
        call = self._asking()
        if isinstance(call, str):
            return _result(FormReply("decline", reason=call))
        if call.ask is None:
            return _result(FormReply("decline", reason=NOBODY))
        if isinstance(params, ElicitRequestURLParams):
            request = FormRequest(self._server, params.message, url=params.url or "about:blank")
        else:
            request = FormRequest(self._server, params.message, params.requested_schema)
        return _result(await _asked(call, call.ask, request))

    def _asking(self) -> AskingCall | str:
        """The call that asks, or why it is not known. In a legacy session over stdio nothing says which it is, so that
        it has to be the only one that the server can still be busy with."""
        current = CURRENT.get()
        if current in self._calls:
            return current
        if len(self._calls) != 1:
            return WHICH if self._calls else NOBODY
        (call,) = self._calls
        return LEFT if call.client in self._unanswered else call


async def _asked(call: AskingCall, ask: PersonAsker, request: FormRequest) -> FormReply:
    with call.clock.stopped():
        question = asyncio.ensure_future(ask(request))
        call.questions.add(question)
        call.slot.lend()
        try:
            await asyncio.wait({question})
        finally:
            call.questions.discard(question)
            question.cancel()  # where the server has called it off
            await call.slot.back()
    if question.cancelled():
        return FormReply("cancel", reason="the call has ended")
    if error := question.exception():
        log.error("a question of %s could not be asked", request.server, exc_info=error)
        return FormReply("decline", reason=FAILED)
    return question.result()


def _result(reply: FormReply) -> ElicitResult:
    meta = {REASON: reply.reason} if reply.reason else None
    if reply.action == "accept":
        return ElicitResult(action="accept", content=dict(reply.content or {}))
    return ElicitResult(action="decline" if reply.action == "decline" else "cancel", _meta=meta)


@dataclass
class _Spent:
    """Tokens that a request took, and for whom."""

    at: float
    tokens: float
    person: str


@dataclass
class Sampling:
    """The sampling callback of one server. `sampler` is None where no model is configured.

    Equal requests within an hour get the same answer: what a preview showed is what the call then makes.
    With `in_words`, a refusal is an answer with the stop reason `refused`, so that a bundled server can go on without a
    model. An error would end its call, since the SDK gives up a call of 2026-07-28 whose request is refused.
    """

    server: str
    bounds: SamplingBounds
    sampler: Sampler | None = None
    in_words: bool = False
    running: list[CallTrace] = field(default_factory=list)
    _unanswered: WeakSet[object] = field(default_factory=WeakSet)  # as of Elicitations
    _answers: OrderedDict[str, tuple[float, Completion]] = field(default_factory=OrderedDict)
    _spent: deque[_Spent] = field(default_factory=deque)

    @contextmanager
    def during(self, call: CallTrace) -> Iterator[None]:
        """Within it, this call is running, and may ask."""
        self.running.append(call)
        try:
            yield
        except BaseException:
            if call.sent and not call.has_answer:  # the server may still be busy with it
                self._unanswered.add(call.client)
            raise
        finally:
            # By identity: a call that gave up is not to be taken for another one that looks the same.
            self.running[:] = [one for one in self.running if one is not call]

    async def __call__(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        """The answer of the model, or the refusal."""
        try:
            found = await self._answer(params)
        except NotSampled as refusal:
            if not self.in_words:
                return ErrorData(code=INVALID_REQUEST, message=f"{SAMPLING_REFUSED}: {refusal}")
            found, stop = Completion(str(refusal), "none"), REFUSED
        else:
            stop = "maxTokens" if found.truncated else "endTurn"
        content = TextContent(type="text", text=found.text)
        return CreateMessageResult(role="assistant", content=content, model=found.model, stop_reason=stop)

    async def _answer(self, params: CreateMessageRequestParams) -> Completion:
        call = self._call()
        if call.record is None:
            raise NotSampled(NO_RECORD)
        call.samples += 1
        prompt = self._prompt(params)
        digest = hashlib.sha256(prompt.text.encode("utf-8", "surrogatepass")).hexdigest()
        entry = Sampled(self.server, call.tool, prompt.text, digest)
        try:
            if call.samples > self.bounds.requests:
                raise NotSampled(f"one call may ask {self.bounds.requests} times")
            if refusal := await self._gated(call.record, call.tool, params):
                entry = replace(entry, prompt="")  # nor is it written down
                raise NotSampled(refusal)
            found, again = await self._completion(params, prompt, call.owner)
        except NotSampled as refused:
            # Further refusals of a call are not written down: there may be thousands.
            if not call.sampling_refused:
                call.sampling_refused = True
                await call.record.write(replace(entry, refused=str(refused)))
            raise
        tokens = (0, 0) if again else (found.input_tokens, found.output_tokens)
        await call.record.write(replace(entry, answer=found.text, tokens=tokens, again=again))
        return found

    async def _gated(self, record: SamplingRecord, tool: str, params: CreateMessageRequestParams) -> str:
        """Why a prompt with text of files reaches no model, or "". The server says which: it can only lose by it."""
        named = (params.metadata or {}).get(PROMPT_FILES)
        files = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
        if len(files) > MOST_FILES or any(len(one) > LONGEST_PATH for one in files):
            return f"a prompt may hold text of {MOST_FILES} files, with paths of {LONGEST_PATH} characters"
        return await record.refusal(self.server, tool, files) if record.refusal else ""

    def _call(self) -> CallTrace:
        """The call that a request belongs to. With 2026-07-28 it is answered in the task of its call. Before, it
        names none, so it has to be the only one that the server can still be busy with."""
        current = CURRENT_CALL.get()
        if current is not None:
            return current
        if len(self.running) != 1:
            raise NotSampled(MANY_CALLS if self.running else NO_CALL)
        (call,) = self.running
        if call.client in self._unanswered:
            raise NotSampled(LEFT)
        return call

    def _prompt(self, params: CreateMessageRequestParams) -> Prompt:
        """The request as text. It is cut where it is too long: then it is refused, and the record needs no more."""
        most, texts = self.bounds.prompt_chars + 1, list[tuple[str, str]]()
        for message in params.messages:
            parts = message.content if isinstance(message.content, list) else [message.content]
            said = "\n".join(
                part.text if isinstance(part, TextContent) else f"[{part.type}]" for part in parts
            )
            texts.append((message.role, said[:most]))
        system = (params.system_prompt or "")[:most]
        return Prompt(system, tuple(texts), max(1, min(params.max_tokens, self.bounds.answer_tokens)))

    async def _completion(
        self, params: CreateMessageRequestParams, prompt: Prompt, owner: str
    ) -> tuple[Completion, bool]:
        """The answer, and whether it is an earlier one."""
        self._must_be_allowed(params, prompt)
        if self.sampler is None:
            raise NotSampled(NO_MODEL)
        key = json.dumps([prompt.system, prompt.messages, prompt.max_tokens])
        now = asyncio.get_running_loop().time()
        kept = self._answers.get(key)
        if kept and now - kept[0] < HOUR:
            return kept[1], True
        tokens = len(prompt.text) / CHARS_PER_TOKEN + prompt.max_tokens
        spending = self._reserve(_Spent(now, tokens, person_of(owner)))
        try:
            found = await self.sampler.complete(prompt)
        except NotSampled:
            spending.tokens = len(prompt.text) / CHARS_PER_TOKEN  # perhaps it was read
            raise
        spending.tokens = found.input_tokens + found.output_tokens
        self._answers[key] = (now, found)
        while len(self._answers) > MAX_KEPT_ANSWERS:
            self._answers.popitem(last=False)
        return found, False

    def _must_be_allowed(self, params: CreateMessageRequestParams, prompt: Prompt) -> None:
        parts = [message.content for message in params.messages]
        every = [part for each in parts for part in (each if isinstance(each, list) else [each])]
        if any(not isinstance(part, TextContent) for part in every):
            raise NotSampled(TEXT_ONLY)
        if params.tools or params.tool_choice:
            raise NotSampled("the model is given no tools in sampling")
        if params.include_context not in (None, "none"):
            raise NotSampled("no context of other servers or of this one is given to the model")
        if len(prompt.text) > self.bounds.prompt_chars:
            raise NotSampled(f"the prompt is longer than {self.bounds.prompt_chars:,} characters")

    def _reserve(self, asked: _Spent) -> _Spent:
        """Take tokens out of this hour's. The item is corrected once they were counted. Raises NotSampled."""
        while self._spent and asked.at - self._spent[0].at >= HOUR:
            self._spent.popleft()
        most, of_all = self.bounds.hour_tokens, [*self._spent, asked]
        if sum(one.tokens for one in of_all) > most:
            raise NotSampled(f"the {most:,} tokens of {self.server} for this hour are used up")
        # So that one person cannot use up what the others need. Without a person nobody is to be told apart.
        if asked.person and sum(one.tokens for one in of_all if one.person == asked.person) > most / 2:
            raise NotSampled(
                f"half of the {most:,} tokens of {self.server} for this hour are all for one person"
            )
        self._spent.append(asked)
        return asked
