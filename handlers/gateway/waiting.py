"""Waiting for decisions while MCP clients are connected, over an ASGI bridge that notices their going away."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
from aiohttp import web

from gate.actions import claim_click
from gate.actions.button_press import Press
from gate.rules.access import StreamEvent, Token, TokenKind
from gate.rules.action import Action, Ref
from gate.rules.action_states import SETTLED, State
from gate.rules.ids import derive_id
from gate.rules.ports import Ledger, Unavailable
from handlers.api.event_stream import Feed
from handlers.api.ports import Services

Message = MutableMapping[str, Any]
App = Callable[
    [dict[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]
POLL_SECONDS = 0.2  # between checks whether the client is still connected
GRACE_SECONDS = 5.0  # for the application to end after the client has disconnected
log = logging.getLogger(__name__)
WITHDRAWN = "withdrawn by {who}: {why}"
AWAY = "its MCP client went away or cancelled the call"
FAILED = "its call over MCP ended with an error"
DECLINED = "its MCP client declined to ask"
T = TypeVar("T")
Report = Callable[[Action, float], Awaitable[None]]  # the current action, and the seconds that it has waited


async def serve(
    app: App, request: web.Request, body: bytes, disconnected: asyncio.Event, extra_scope: Mapping[str, Any]
) -> web.StreamResponse:
    """The response of the application. `body`: that of the request, as it has been read. `disconnected` is set as soon
    as the client has left."""
    exchange = _Exchange(request, body, disconnected)
    watch = asyncio.create_task(_watch(request, disconnected))
    work = asyncio.ensure_future(app({**scope(request), **extra_scope}, exchange.receive, exchange.send))
    try:
        # aiohttp may cancel the handler on a disconnect. The application gets http.disconnect and ends itself.
        await asyncio.shield(work)
    except asyncio.CancelledError:
        disconnected.set()
        await asyncio.wait({work}, timeout=GRACE_SECONDS)
        raise
    finally:
        await cancel_and_wait(work)
        await cancel_and_wait(watch)
    return exchange.response


async def cancel_and_wait(task: asyncio.Future[Any]) -> None:
    """Cancels the task unless it is done, and waits for it."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task})


def scope(request: web.Request) -> dict[str, Any]:
    """The ASGI scope of the request."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": f"{request.version.major}.{request.version.minor}",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.raw_path.partition("?")[0].encode("ascii", "replace"),
        "root_path": "",
        "query_string": request.query_string.encode("utf-8", "replace"),
        "headers": [(name.lower(), value) for name, value in request.raw_headers],
        "client": None,
        "server": None,
    }


class _Exchange:
    """The `receive` and `send` callables of one request."""

    def __init__(self, request: web.Request, body: bytes, disconnected: asyncio.Event) -> None:
        self._request, self._body, self._gone = request, body, disconnected
        self._body_given = False
        self.response = web.StreamResponse()

    async def receive(self) -> Message:
        if self._body_given:
            await self._gone.wait()
            return {"type": "http.disconnect"}
        self._body_given = True
        return {"type": "http.request", "body": self._body, "more_body": False}

    async def send(self, message: Message) -> None:
        try:
            await self._send(message)
        except ConnectionResetError:
            self._gone.set()

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [
                (name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"]
            ]
            self.response = web.StreamResponse(status=message["status"], headers=headers)
            await self.response.prepare(self._request)
            return
        if message.get("body"):
            await self.response.write(message["body"])
        if not message.get("more_body"):
            await self.response.write_eof()


async def _watch(request: web.Request, disconnected: asyncio.Event) -> None:
    """Sets the event when the client disconnects. Polls, as aiohttp does not notify the handler."""
    while request.transport is not None and not request.transport.is_closing():  # noqa: ASYNC110
        await asyncio.sleep(POLL_SECONDS)
    disconnected.set()


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is on the line. `disconnected`: set when the connection is closed. `release_slot`: to be called before a
    wait, so that the next request of the token begins."""

    token: Token
    disconnected: asyncio.Event
    release_slot: Callable[[], None]


class Waiter:
    """The waiting calls of this process."""

    def __init__(self, services: Services, feed: Feed) -> None:
        self._services, self._feed = services, feed
        self._waiting_calls: Counter[str] = Counter()  # number of waiting calls by action id

    async def run_while_connected(
        self, caller: Caller, action_id: str, work: Callable[[], Awaitable[T]]
    ) -> T | None:
        """The result of `work`, or None if the client disconnects or cancels first.

        If no other call waits for the action, it is then withdrawn; not so at the shutdown of this process.
        """
        self._waiting_calls[action_id] += 1
        found: T | None = None
        reason = AWAY
        try:
            with anyio.CancelScope() as scope:
                watch = asyncio.create_task(_end(caller.disconnected, scope))
                try:
                    found = await work()
                finally:
                    await cancel_and_wait(watch)
        except Exception:
            reason = FAILED
            raise
        finally:
            left = self._waiting_calls[action_id] = self._waiting_calls[action_id] - 1
            if not left:
                del self._waiting_calls[action_id]
            if found is None and not left and not self._feed.closed:
                with anyio.CancelScope(shield=True):
                    await self.withdraw(caller.token, action_id, reason)
        return found

    async def wait_until_decided(self, action: Action, hold: float, report: Report) -> Action:
        """The action when it is final, or its current state after `hold` seconds. `report` gets the progress."""
        bounds, clock = self._services.bounds, asyncio.get_running_loop().time
        began, last_report = clock(), -bounds.beat
        try:
            await self._feed.subscribe()
        except Unavailable:
            return action
        try:
            seq = self._feed.last
            while True:
                action = await self._refresh(action)
                waited = clock() - began
                is_final = action.is_finished or action.state is State.UNKNOWN
                if is_final or waited >= hold or self._feed.closed:
                    return action
                if waited - last_report >= bounds.beat:
                    await report(action, waited)
                    last_report = waited
                seq = await self._wait_for_event(seq, action, min(bounds.beat, hold - waited))
        finally:
            await self._feed.unsubscribe()

    async def withdraw(self, token: Token, action_id: str, reason: str) -> None:
        """Cancels the action in the name of its requester, with an audit entry. A running call continues."""
        world = self._services.for_token(token).world
        reason = WITHDRAWN.format(who=withdrawer(token), why=reason)
        try:
            action = await world.ledger.action(action_id)
            if action is None or (action := await latest_renewal(world.ledger, action)).state in SETTLED:
                return
            ref = Ref(action.id, action.version, action.receipt[:16])
            await claim_click.cancel(world, Press(ref, token.team, token.user, reason=reason))
        except Unavailable as error:
            log.warning("%s could not be withdrawn, so it will expire: %s", action_id, error)

    async def _refresh(self, action: Action) -> Action:
        ledger = self._services.world.ledger
        try:
            return await latest_renewal(ledger, await ledger.action(action.id) or action)
        except Unavailable:
            return action  # the next round reads it again

    async def _wait_for_event(self, seq: int, action: Action, seconds: float) -> int:
        """Waits for an event about this action, at most so many seconds; returns the seq that has been read."""
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        while (left := end - clock()) > 0 and not self._feed.closed:
            try:
                found = await self._feed.after(seq)
            except Unavailable:
                await asyncio.sleep(min(left, self._services.bounds.poll))
                continue
            if not found:
                await self._feed.wait(seq, left)
                continue
            seq = found[-1].seq
            if any(_may_be_about(one.event, action) for one in found):
                break
        return seq


def withdrawer(token: Token) -> str:
    """Who withdraws a call through this token, in words."""
    return f"the agent “{token.name}”" if token.kind is TokenKind.AGENT else "its requester"


def _may_be_about(event: StreamEvent, action: Action) -> bool:
    """Whether an event is about this action, or may be about a renewal of it, which has another id: that asks in the
    same thread."""
    ids = (event.body.get("action_id"), event.body.get("executionId"))
    return action.id in ids or (event.kind == "approval_requested" and event.session == action.session)


async def _end(disconnected: asyncio.Event, scope: anyio.CancelScope) -> None:
    await disconnected.wait()
    scope.cancel()


async def latest_renewal(ledger: Ledger, action: Action) -> Action:
    """The newest renewal of the action, made after it expired or its target had changed; else the action itself."""
    while (renewed := await ledger.action(derive_id("renew", action.id))) is not None:
        action = renewed
    return action


async def pending_or_next_id(ledger: Ledger, token: str, tool: str, args: bytes) -> str:
    """The id of the pending action for this call of this token; if none is pending, the id of the next one.

    Identical calls share one action while it is pending. UNKNOWN counts as pending, since the call may have
    happened, and so does an open review of the result. The ids of identical calls are numbered without a gap, and
    the next is used only when the last is final: so two replicas that get the call at once find the same id, and the
    ledger's insert-or-return makes it one action. The last number is found by binary search.
    """

    async def action_at(number: int) -> Action | None:
        return await ledger.action(_call_id(token, tool, args, number))

    last = await action_at(0)
    if last is None:
        return _call_id(token, tool, args, 0)
    low, high = 0, 1
    while (found := await action_at(high)) is not None:
        low, high, last = high, 2 * high, found
    while high - low > 1:
        middle = (low + high) // 2
        found = await action_at(middle)
        if found is None:
            high = middle
        else:
            low, last = middle, found
    last = await latest_renewal(ledger, last)
    return last.id if not last.is_finished else _call_id(token, tool, args, high)


def _call_id(token: str, tool: str, args: bytes, number: int) -> str:
    return derive_id("gateway call", token, tool, args.decode(), number)
