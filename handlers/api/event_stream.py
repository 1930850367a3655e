"""GET /events: server-sent events, filtered by token and resumable, from one poll of the table for all of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Annotated

from aiohttp import web
from pydantic import Field

from gate.rules import access
from gate.rules.access import EventFilter, StreamEvent
from gate.rules.events import EventKind, payload
from gate.rules.ports import Unavailable
from handlers.api.event_history import HISTORY_PAGE, History
from handlers.api.models import ID, In
from handlers.api.ports import Events, Services
from handlers.api.request_turns import release_slot
from handlers.api.route import ApiRequest, Problem

log = logging.getLogger(__name__)
BUFFER_SIZE = 2000  # events; subscribers that are further behind read the table
PAGE_SIZE = 500
LAST = "Last-Event-ID"
SEQ = re.compile(r"[0-9]{1,18}")
OPEN_STREAMS: web.AppKey[Counter[str]] = web.AppKey("open streams", Counter)
HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
TOO_MANY_STREAMS = "This token has {most} streams open already. Close one first."
# Missed events are deleted already: the client has to list everything again.
GAP = b'event: stream_gap\ndata: {"type":"stream_gap"}\n\n'


@dataclass(frozen=True, slots=True)
class SerializedEvent:
    """An event and its server-sent form, serialized once for all subscribers."""

    event: StreamEvent
    data: bytes

    @property
    def seq(self) -> int:
        return self.event.seq


def serialize(event: StreamEvent) -> SerializedEvent:
    """The event with its server-sent form: id, kind and fields."""
    data = json.dumps(
        payload(event.kind, event.task, event.body, event.at), ensure_ascii=True, separators=(",", ":")
    )
    return SerializedEvent(event, f"id: {event.seq}\nevent: {event.kind}\ndata: {data}\n\n".encode("ascii"))


class Feed:
    """Polls every `poll_seconds` while it has subscribers, and at once after `notify`.

    Subscribers share the buffer: each remembers the seq that it has read and asks for the events after it.
    """

    def __init__(self, events: Events, poll_seconds: float) -> None:
        self._events, self._poll_seconds = events, poll_seconds
        self.history = History(events)
        self._buffer: deque[SerializedEvent] = deque(maxlen=BUFFER_SIZE)
        self._last_seq = 0  # the events up to this seq have been read
        self._buffer_start = 0  # the events after this seq are in the buffer
        self._new_events = asyncio.Event()  # set when events are added; waiters share one
        self._notified = asyncio.Event()
        self._subscribers = 0
        self.closed = False  # for good: subscribers end
        self._task: asyncio.Task[None] | None = None

    @property
    def last(self) -> int:
        return self._last_seq

    def history_end(self, seq: int) -> int:
        """The seq up to which who has read `seq` has to read the history; `seq` itself if the buffer has the rest."""
        return max(seq, self._buffer_start)

    def notify(self) -> None:
        """Polls at once."""
        self._notified.set()

    async def subscribe(self) -> None:
        """Adds a subscriber; the first one starts polling. Raises Unavailable."""
        newest = (await self._events.ends())[1] if self._task is None else 0
        self._subscribers += 1
        if self._task is None:  # no other subscriber was faster during the await
            self._buffer.clear()
            self._last_seq = self._buffer_start = newest
            self._task = asyncio.create_task(self._run(), name="events")

    async def unsubscribe(self) -> None:
        """Removes a subscriber; the last one stops polling."""
        self._subscribers -= 1
        if not self._subscribers:
            await self._stop()

    async def close(self) -> None:
        """Ends all subscriptions, so that no stream delays the shutdown."""
        self.closed = True
        self._new_events.set()
        await self._stop()

    async def _stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def after(self, seq: int) -> Sequence[SerializedEvent]:
        """The next events after `seq`, oldest first, at most PAGE_SIZE. Raises Unavailable."""
        if seq >= self._last_seq:
            return ()
        if seq >= self._buffer_start:
            return self._from_buffer(seq)
        return [serialize(event) for event in await self._events.after(seq, PAGE_SIZE)]

    def _from_buffer(self, seq: int) -> Sequence[SerializedEvent]:
        """Searches from the end: most subscribers are only a few events behind."""
        found = list(takewhile(lambda event: event.seq > seq, reversed(self._buffer)))
        return found[::-1][:PAGE_SIZE]

    async def wait(self, seq: int, seconds: float) -> None:
        """Waits for an event after `seq`, at most so many seconds."""
        if seq >= self._last_seq:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._new_events.wait()

    async def _run(self) -> None:
        while True:
            try:
                await self._poll_once()
            except Unavailable as error:
                log.warning("events will be looked for again: %s", error)
            except Exception:
                log.exception("events will be looked for again")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._poll_seconds):
                    await self._notified.wait()
            self._notified.clear()

    async def _poll_once(self) -> None:
        while found := [serialize(event) for event in await self._events.after(self._last_seq, PAGE_SIZE)]:
            dropped = len(self._buffer) + len(found) - BUFFER_SIZE
            if dropped > 0:
                self._buffer_start = [*self._buffer, *found][dropped - 1].seq
            self._buffer.extend(found)
            self._last_seq = found[-1].seq
            waiters, self._new_events = self._new_events, asyncio.Event()
            waiters.set()


FEED: web.AppKey[Feed] = web.AppKey("feed", Feed)


class Listen(In):
    """What to listen to; everything without these."""

    kind: EventKind | None = None
    task_id: Annotated[str, Field(pattern=ID)] | None = None


async def events(call: ApiRequest[Listen]) -> web.StreamResponse:
    """Streams the events that the token may see, until the client disconnects or is too slow, or the token ends.
    Raises Problem, Unavailable.
    """
    assert call.http is not None
    request, services, token = call.http, call.services, call.token
    feed, open_streams = request.app[FEED], request.app[OPEN_STREAMS]
    last_event_id = _last_event_id(request)
    if open_streams[token.id] >= services.bounds.streams:
        raise Problem(
            429,
            "too_many_streams",
            TOO_MANY_STREAMS.format(most=services.bounds.streams),
            headers={"Retry-After": "5"},
        )
    open_streams[token.id] += 1
    try:
        await feed.subscribe()
        try:
            return await _Stream(call, feed, request.app[TOKEN_CHECK]).listen(request, last_event_id)
        finally:
            await feed.unsubscribe()
    finally:
        open_streams[token.id] -= 1


def _last_event_id(request: web.Request) -> int | None:
    params = request.headers.get(LAST)
    if params is None:
        return None
    if not SEQ.fullmatch(params):
        raise Problem(
            400, "bad_last_event_id", f"{LAST} must be the id of an event that this stream has sent."
        )
    return int(params)


class TokenCheck:
    """Whether the tokens of open streams are still valid: one query for all of them every `recheck` seconds."""

    def __init__(self, services: Services, open_streams: Counter[str]) -> None:
        self._services, self._open_streams = services, open_streams
        self._asked, self._good = frozenset[str](), frozenset[str]()
        self._at = 0.0
        self._lock = asyncio.Lock()

    async def is_valid(self, token_id: str) -> bool:
        """Whether the token is valid. Raises Unavailable."""
        async with self._lock:
            now = asyncio.get_running_loop().time()
            if token_id not in self._asked or now - self._at >= self._services.bounds.recheck:
                asked = frozenset(event for event, streams in self._open_streams.items() if streams)
                self._good = await self._services.tokens.counting(asked)
                self._asked, self._at = asked, now
        return token_id in self._good


TOKEN_CHECK: web.AppKey[TokenCheck] = web.AppKey("standing", TokenCheck)


class _Stream:
    """One open stream."""

    def __init__(self, call: ApiRequest[Listen], feed: Feed, token_check: TokenCheck) -> None:
        self._call, self._feed, self._token_check = call, feed, token_check
        self._services: Services = call.services
        self._checked = asyncio.get_running_loop().time()

    async def listen(self, request: web.Request, last_event_id: int | None) -> web.StreamResponse:
        release_slot()
        response = web.StreamResponse(headers=HEADERS)
        await response.prepare(request)
        seq = self._feed.last
        if last_event_id is not None:
            first, newest = await self._services.events.ends()
            gap = (first > last_event_id + 1) or last_event_id > newest
            seq = min(max(last_event_id, first - 1), newest)
            await self._send(response, GAP if gap else b"")
        await self._send(response, b": hello\nretry: 2000\n\n")
        try:
            while not self._feed.closed and await self._still_allowed() and not _is_disconnected(request):
                seq = await self._send_next(response, seq)
        except (TimeoutError, ConnectionResetError):
            _abort(request)  # too slow or disconnected: the client resumes with Last-Event-ID
        return response

    async def _send_next(self, response: web.StreamResponse, seq: int) -> int:
        """Sends the events after `seq`, or a heartbeat if there are none for a while; returns the seq sent."""
        bounds = self._services.bounds
        try:
            if (until := self._feed.history_end(seq)) > seq:
                return await self._send_history(response, seq, min(until, seq + HISTORY_PAGE))
            found = await self._feed.after(seq)
        except Unavailable:
            await asyncio.sleep(bounds.poll)
            return seq
        if not found:
            before = self._feed.last
            await self._feed.wait(seq, min(bounds.heartbeat, bounds.recheck))
            if self._feed.last == before:
                await self._send(response, b": still here\n\n")
            return seq
        await self._send(response, self._visible(found))
        return found[-1].seq

    async def _send_history(self, response: web.StreamResponse, seq: int, until: int) -> int:
        """Sends the events after `seq` up to `until`, which is returned. Raises Unavailable."""
        token, params = self._call.token, self._call.params
        wanted = EventFilter(token.team, params.kind or "", params.task_id or "")
        found = await self._feed.history.page(token.id, seq, until, wanted)
        visible = (serialize(event).data for event in found if self._is_visible(event))
        await self._send(response, b"".join(visible))
        return until

    def _visible(self, found: Sequence[SerializedEvent]) -> bytes:
        return b"".join(event.data for event in found if self._is_visible(event.event))

    def _is_visible(self, event: StreamEvent) -> bool:
        call, params = self._call, self._call.params
        if (params.kind and event.kind != params.kind) or (params.task_id and event.task != params.task_id):
            return False
        return access.sees(call.services.world.policy, call.token, call.person, event.subject).allowed

    async def _send(self, response: web.StreamResponse, data: bytes) -> None:
        """Raises TimeoutError if the client does not read in `slow` seconds."""
        if data:
            async with asyncio.timeout(self._services.bounds.slow):
                await response.write(data)

    async def _still_allowed(self) -> bool:
        """Whether the token and the person's account are still valid; checked every `recheck` seconds."""
        now, services = asyncio.get_running_loop().time(), self._services
        if now - self._checked < services.bounds.recheck:
            return True
        self._checked = now
        token = self._call.token
        try:
            if not await self._token_check.is_valid(token.id):
                return False
            person = await services.world.people.fresh(token.team, token.user)
        except Unavailable:
            return False  # not known: the client reconnects
        self._call = replace(self._call, person=person)
        return access.may_be_used(services.world.policy, token, person).allowed


def _is_disconnected(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
