"""GET /events: server-sent events, filtered for each token, going on where the client was."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from aiohttp import web
from pydantic import Field

from gate import access
from gate.access import Kind, Logged
from gate.happenings import EventKind
from gate.people import account
from gate.world import Unavailable
from handlers.api.feed import Feed, Line
from handlers.api.models import ID, In
from handlers.api.ports import Office
from handlers.api.problems import Problem
from handlers.api.route import Call

LAST = "Last-Event-ID"
SEQ = re.compile(r"[0-9]{1,18}")
FEED: web.AppKey[Feed] = web.AppKey("feed", Feed)
OPEN: web.AppKey[Counter[str]] = web.AppKey("open streams", Counter)
HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
FULL = "This token has {most} streams open already. Close one first."
GAP = b'event: stream_gap\ndata: {"type":"stream_gap"}\n\n'  # what was missed is forgotten: list everything anew


class Listen(In):
    """What to listen to; everything without these."""

    kind: EventKind | None = None
    task_id: Annotated[str, Field(pattern=ID)] | None = None


async def events(call: Call[Listen]) -> web.StreamResponse:
    """Send what the token may see until the client goes, is too slow, or the token ends."""
    assert call.request is not None
    request, office, token = call.request, call.office, call.token
    feed, opened = request.app[FEED], request.app[OPEN]
    since = _since(request)
    if opened[token.id] >= office.bounds.streams:
        raise Problem(
            429, "too_many_streams", FULL.format(most=office.bounds.streams), headers={"Retry-After": "5"}
        )
    opened[token.id] += 1
    try:
        await feed.join()
        try:
            return await _Listener(call, feed, request.app[STANDING]).listen(request, since)
        finally:
            await feed.leave()
    finally:
        opened[token.id] -= 1


def _since(request: web.Request) -> int | None:
    given = request.headers.get(LAST)
    if given is None:
        return None
    if not SEQ.fullmatch(given):
        raise Problem(
            400, "bad_last_event_id", f"{LAST} must be the id of an event that this stream has sent."
        )
    return int(given)


class Standing:
    """Which of the tokens with open streams still count: one question for all of them, every few seconds."""

    def __init__(self, office: Office, opened: Counter[str]) -> None:
        self._office, self._opened = office, opened
        self._asked, self._good = frozenset[str](), frozenset[str]()
        self._at = 0.0
        self._lock = asyncio.Lock()

    async def counts(self, token_id: str) -> bool:
        """Raises Unavailable."""
        async with self._lock:
            now = asyncio.get_running_loop().time()
            if token_id not in self._asked or now - self._at >= self._office.bounds.recheck:
                asked = frozenset(one for one, streams in self._opened.items() if streams)
                self._good = await self._office.tokens.counting(asked)
                self._asked, self._at = asked, now
        return token_id in self._good


STANDING: web.AppKey[Standing] = web.AppKey("standing", Standing)


class _Listener:
    """One open stream."""

    def __init__(self, call: Call[Listen], feed: Feed, standing: Standing) -> None:
        self._call, self._feed, self._standing = call, feed, standing
        self._office: Office = call.office
        self._checked = asyncio.get_running_loop().time()

    async def listen(self, request: web.Request, since: int | None) -> web.StreamResponse:
        response = web.StreamResponse(headers=HEADERS)
        await response.prepare(request)
        seq = self._feed.last
        if since is not None:
            first, newest = await self._office.events.ends()
            gap = (first > since + 1) or since > newest
            seq = since if since <= newest else newest
            await self._send(response, GAP if gap else b"")
        await self._send(response, b": hello\nretry: 2000\n\n")
        try:
            while not self._feed.closed and await self._counts() and not _gone(request):
                seq = await self._more(response, seq)
        except (TimeoutError, ConnectionResetError):
            _drop(request)  # too slow, or gone: it comes again with the last id that it has seen
        return response

    async def _more(self, response: web.StreamResponse, seq: int) -> int:
        """Send what there is behind `seq`, or a heartbeat when there is nothing for a while; how far it is then."""
        bounds = self._office.bounds
        try:
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

    def _visible(self, found: Sequence[Line]) -> bytes:
        return b"".join(one.data for one in found if self._wanted(one.event))

    def _wanted(self, one: Logged) -> bool:
        call, given = self._call, self._call.given
        if (given.kind and one.kind != given.kind) or (given.task_id and one.task != given.task_id):
            return False
        return access.sees(call.office.world.policy, call.token, call.person, one.subject).allowed

    async def _send(self, response: web.StreamResponse, data: bytes) -> None:
        """Raises TimeoutError when the client does not take what it was sent."""
        if data:
            async with asyncio.timeout(self._office.bounds.slow):
                await response.write(data)

    async def _counts(self) -> bool:
        """Whether the token, and the account behind it, still count; asked again every few seconds."""
        now, office = asyncio.get_running_loop().time(), self._office
        if now - self._checked < office.bounds.recheck:
            return True
        self._checked = now
        token = self._call.token
        try:
            if not await self._standing.counts(token.id):
                return False
            if token.kind is not Kind.PERSON:
                return True
            person = await office.world.people.fresh(token.team, token.user)
        except Unavailable:
            return False  # nobody can say so: the client comes again
        self._call = replace(self._call, person=person)
        return account(person).allowed


def _gone(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()


def _drop(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
