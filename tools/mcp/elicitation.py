"""What a server asks in the middle of a call (elicitation), for the person behind it; its clock stands still."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from weakref import WeakSet

from mcp.client.session import ClientRequestContext
from mcp_types import ElicitRequestParams, ElicitRequestURLParams, ElicitResult

from gate.rules.server_questions import ASK_PERSON, FormReply, FormRequest, PersonAsker
from gate.rules.tool import AnswerTooLong, OutcomeUnknown
from tools.mcp.fair_slots import Slot

log = logging.getLogger(__name__)

REASON = "dev.countersign/reason"  # the key in `_meta` of why something was declined, in words
NOBODY = "nobody can be asked: no person waits for this call"
WHICH = "several calls run at once and nothing says which of them asks: try again when one runs"
LEFT = (
    "a call that nobody waits for any more may still ask, and nothing says which call asks: try again once the server "
    "is connected anew"
)
FAILED = "the question could not be asked"


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
