"""The listening socket: how many connections may be open, and how long each may take to send a request."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from bot.accepting import Acceptor, Pace, bound
from bot.http_limits import UNREAD_BYTES, HttpLimits, fitted
from bot.http_log import MALFORMED, counted, http_log
from bot.http_refusals import HEAD_BYTES, HEAD_TOO_LARGE, METHOD_BYTES, NO_PATH, asks_for_a_path, refusal
from bot.parse_queue import HANDLED, Meter, ParseQueue
from bot.startup import NO_PORT, NotStarted
from handlers.api.endpoint import problem
from handlers.api.request import IDENTIFY, SLACK
from handlers.gateway.app import PATH as MCP
from handlers.gateway.app import error_response

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

log = logging.getLogger(__name__)

REPORT_SECONDS = 60.0
FOR_SLACK = 4  # the part of all connections that tokens leave to Slack, and to who is not known yet
FOR_SIGNED = 20  # the part of all that count each for itself, of an address that Slack has sent from
# Seconds in which aiohttp begins with a request that it was given, and for which a connection counts as in use after
# it was opened, or something came
SOON = 1.0
LATE, STALLED, CROWDED, SPARE, BUSY, FAST = (
    "sent no whole request in time",
    "did not take the answer in time",
    "made way for a newer connection before anything of theirs was authenticated",
    "made way for a newer connection with a token",
    "found every connection in use",
    "were opened faster than their address may",
)
READ_BYTES = 8 * 1024  # taken off a socket at once: in chunks of one byte they take a millisecond to parse
WITHOUT_TURN = 128 * 1024  # of a body, for each turn: a signed click has hardly more
PIECE_BYTES = 4096  # as which a smaller piece of a body counts: it takes no less time
END_OF_HEADERS = b"\r\n\r\n"


class Connections:
    """Every open connection, the longest open first. For one event loop.

    A connection is known once a request on it was authenticated (Slack's signature, or a token of the API). Those
    that are not can be half of all at most; a new one then takes the place of the one that is open the longest, but for
    those that wait for us or were at work just now: of these the newest of the address that has the most makes way for
    an address with fewer. So a request that is sent without delay is answered, however many connections are open, and
    so are several at once of an address from which Slack has sent one before. Of those that are known, one token has as
    many as the limits say, and all tokens leave a quarter of all to others; Slack, which sends from many addresses, has
    any number.
    """

    def __init__(self, limits: HttpLimits) -> None:
        self.limits = limits
        self.pace = Pace()
        self.buffer = bytearray(READ_BYTES)  # for all of them: what is read is taken out of it at once
        self.queue = ParseQueue()
        self._unknown: dict[Connection, None] = {}
        self._counts: Counter[str] = Counter()  # of those that are unknown, by crowd
        self._known: dict[Connection, None] = {}
        self._ended: Counter[str] = Counter()
        self._report: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._unknown) + len(self._known)

    def admit(self, new: Connection) -> bool:
        """Make room for a connection and add it; False where there is no room."""
        new.crowd = self._crowd_of(new.address)
        crowd: Collection[Connection] = self._unknown
        if self._counts[new.crowd] >= self.limits.per_address:
            crowd = [one for one in self._unknown if one.crowd == new.crowd]
        full = crowd is not self._unknown or len(crowd) >= max(1, self.limits.connections // 2)
        if full and not self._made_way(self._spare(crowd, new.crowd)):
            return False
        if len(self) >= self.limits.connections:
            idle = next((one for one in self._known if one.idle), None)
            if not self._made_way(self._spare(self._unknown, new.crowd) or idle):
                return False
        self._counts[new.crowd] += 1
        self._unknown[new] = None
        return True

    def _crowd_of(self, address: str) -> str:
        """As whose a new connection counts. Of an address from which a signed request came lately some count each for
        itself: several clicks at once are no crowd, and Slack sends none of them again. Somebody else behind that
        address holds no more than as many strangers with one connection each."""
        if self.pace.is_signed(address):
            for number in range(self.limits.connections // FOR_SIGNED):
                if (place := f"{address} {number}") not in self._counts:
                    return place
        return address

    def _made_way(self, spare: Connection | None) -> bool:
        if spare is None:
            self.count(BUSY)
            return False
        self.end(spare, CROWDED)
        return True

    def _spare(self, crowd: Collection[Connection], whose: str) -> Connection | None:
        """Which of these makes way for a new connection, and as whose that counts. One that waits for us is about to be
        answered: ended, it would have waited for nothing. One that was opened just now may be a click of which nothing
        was read yet: it makes way for one of its own address, or of one that has fewer. Where all are at work, an
        address that asks for little is not refused for what others ask for."""
        before = asyncio.get_running_loop().time() - SOON
        for one in crowd:
            if one.active <= before and not one.waits:
                return one
        if crowd is not self._unknown:  # all of them count as of the same
            return next((one for one in crowd if not one.waits), None)
        counts = self._counts
        own, largest = counts[whose], max(counts, key=counts.__getitem__, default=whose)
        if counts[largest] > own + 1:  # the one of the largest crowd that has waited least
            return next(one for one in reversed(self._unknown) if one.crowd == largest)
        for one in self._unknown:
            if (one.crowd == whose or counts[one.crowd] > own) and not one.waits:
                return one
        return None

    def know(self, connection: Connection, sender: str) -> None:
        """A request on it was authenticated: where its token has too many, the one of which the last such request came
        first makes way, of those that are idle if there are any. Where all tokens together have too many, one of the
        token that has the most does."""
        if sender == SLACK:
            self.pace.sign(connection.address)
        if not self.forget(connection):
            return
        if not connection.sender:
            self.pace.forgive(connection.address)
        if sender not in (SLACK, connection.sender):
            counts = Counter(one.sender for one in self._known if one.sender != SLACK)
            if counts[sender] >= self.limits.per_token:
                self._end_one_of(sender)
            elif counts.total() >= self.limits.connections - self.limits.connections // FOR_SLACK:
                self._end_one_of(max(counts, key=lambda one: (counts[one], one == sender)))
        connection.sender = sender
        self._known[connection] = None

    def _end_one_of(self, sender: str) -> None:
        same = [one for one in self._known if one.sender == sender]
        self.end(next((one for one in same if one.idle), same[0]), SPARE)

    def end(self, connection: Connection, why: str) -> None:
        """Close it at once, unsent data included. Does nothing to one that is closed."""
        if self.forget(connection):
            self.count(why)
            connection.abort()

    def forget(self, connection: Connection) -> bool:
        """Take it off the list; whether it was there."""
        if connection in self._unknown:
            del self._unknown[connection]
            self._counts[connection.crowd] -= 1
            if not self._counts[connection.crowd]:
                del self._counts[connection.crowd]
            return True
        found = connection in self._known
        self._known.pop(connection, None)
        return found

    def count(self, why: str) -> None:
        """Note a connection that was ended. The log gets one line for all of them in REPORT_SECONDS."""
        self._ended[why] += 1
        if self._report is None:
            self._report = asyncio.get_running_loop().call_later(REPORT_SECONDS, self.report)

    def report(self) -> None:
        """Log what was counted since the last time, if anything was."""
        if self._report is not None:
            self._report.cancel()
        self._report = None
        if self._ended:
            counts = "; ".join(f"{count:,} {why}" for why, count in self._ended.most_common())
            log.warning("HTTP connections ended in the last %.0f s or less: %s", REPORT_SECONDS, counts)
            self._ended.clear()


class Connection(asyncio.BufferedProtocol):
    """Stands between one socket and aiohttp's handler, which has no time limit for headers and none for readers, and
    parses whatever is there at once.

    The handler is made by `make` when the connection is admitted, and hears everything from then on.
    """

    def __init__(self, all_: Connections, make: Callable[[], asyncio.Protocol], address: str = "") -> None:
        self._all, self._make, self.address = all_, make, address
        self.crowd = address  # as whose it counts while it is unknown
        self._handler: asyncio.Protocol | None = None
        self._transport: asyncio.Transport | None = None
        self._request: web.BaseRequest | None = None
        self._held = bytearray()  # what waits to be parsed
        self._queued = False  # for its turn
        self._tail = b""  # the last bytes of headers of which the end has not come
        self._body = 0  # bytes of the body of the last request that were not given to aiohttp yet
        self._beginning = False  # headers were parsed to their end, and nobody has looked at them yet
        self._given = 0.0  # when, by the clock of the loop
        self.active = 0.0  # when it was opened, or something came: by the clock of the loop
        self._discards = False  # whatever comes
        self._closing = False  # behind the last request, of which the body may still come
        self._late: asyncio.TimerHandle | None = None  # no whole request yet
        self._stalled: asyncio.TimerHandle | None = None  # the other side does not read
        self._head = 0  # bytes of the headers of the next request that were given to aiohttp
        self._start = b""  # the first of them
        self._without_turn = 0  # bytes of the body that wait for no turn
        self._meter: Meter | None = None  # of the request at hand, of a stranger
        self._identified = False  # who has sent the request at hand
        self.sender = ""  # of the last request that was authenticated

    @property
    def idle(self) -> bool:
        return self._request is None

    @property
    def waits(self) -> bool:
        """Whether it waits for us: for its turn, or for the answer to a request that has arrived whole."""
        is_whole = self._request is not None and self._body <= len(self._held)
        if self._queued or is_whole:
            return True
        return self._beginning and asyncio.get_running_loop().time() < self._given + SOON

    def begin(self, request: web.BaseRequest) -> None:
        """A request has arrived as far as the end of its headers."""
        self._request, self._beginning, self._identified = request, False, False
        self._body, self._without_turn = request.content_length or 0, WITHOUT_TURN
        request[IDENTIFY] = self._identify
        if not self.sender:
            self._all.queue.charge(-HANDLED)  # from here on it is metered
        self._cancel_late()
        # Once its handler has seen the headers, which may refuse the body
        asyncio.get_running_loop().call_soon(self._advance)

    async def metered(self, work: Coroutine[Any, Any, web.StreamResponse]) -> web.StreamResponse:
        """What the work gives, on strangers' time until its sender is known."""
        if self.sender:
            return await work
        self._meter = self._all.queue.meter()
        return await self._meter.run(work)

    def _identify(self, sender: str) -> None:
        self._identified = True
        if self._meter is not None:
            self._meter.stop()
        self._all.know(self, sender)

    def done(self, answer: web.StreamResponse | None) -> None:
        """The request has been handled. Whoever was not authenticated for it gets no second answer here, so that what
        is asked for without end costs a connection each time. Nor does one that asked for an upgrade, to which aiohttp
        would go on to add what follows."""
        upgrade = self._request is not None and "Upgrade" in self._request.headers
        self._request = None
        if answer is not None and (upgrade or not self._identified):
            answer.force_close()
            self._closing = True
            self._drop()
        asyncio.get_running_loop().call_soon(self._advance)

    def _drop(self) -> None:
        """Keep of what came no more than the body of the last request."""
        del self._held[self._body :]
        if not self._held and self._transport is not None:
            self._transport.resume_reading()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self.active = transport, asyncio.get_running_loop().time()
        if not self._all.admit(self):
            return transport.abort()
        self._handler = self._make()
        self._handler.connection_made(transport)
        self._expect_request()

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._all.buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._discards or self._handler is None:
            return
        self.active = asyncio.get_running_loop().time()
        if self.idle and not self._body and self._late is None:
            self._expect_request()
        self._held += self._all.buffer[:nbytes]
        if self._closing:
            self._drop()
        self._advance()
        if self._held and self._transport is not None:
            self._transport.pause_reading()

    def _advance(self) -> None:
        """Have the next piece parsed: in turn, unless a request was authenticated, or it is more of a body. Of that,
        small pieces take turns as well while strangers are ahead of their time, and grow while they wait. What follows
        a request waits until it was handled."""
        waits = not self._body and (self._beginning or not self.idle)
        if waits or self._queued or not self._held:
            return
        if self.sender:
            return self._parse()
        small = len(self._held) < min(self._body, PIECE_BYTES)
        if self._body and self._without_turn > 0 and not (small and self._all.queue.is_overdrawn):
            return self._all.queue.timed(self._parse)
        self._queued = True
        self._all.queue.run(self.crowd, self._parse)

    def _parse(self) -> None:
        """Give a piece to aiohttp: the headers of a request, or a part of its body."""
        self._queued = False
        if self._handler is None or self._transport is None or not self._held:
            return
        if self._body:
            end = min(self._body, len(self._held))
            self._body -= end
            left = self._without_turn if self._without_turn > 0 else WITHOUT_TURN
            self._without_turn = left - max(end, PIECE_BYTES)
        else:
            end = self._end_of_headers()
            self._head += end
            self._start += self._held[: min(end, METHOD_BYTES)]
            if not asks_for_a_path(self._start):
                self._all.count(MALFORMED)
                return self._refuse(NO_PATH)
            if self._head > HEAD_BYTES:
                return self._refuse(HEAD_TOO_LARGE)
            self._start = self._start[:METHOD_BYTES]
            if self._beginning:
                self._head, self._start = 0, b""
        piece = bytes(self._held[:end])
        del self._held[:end]
        # Before it is given to aiohttp, which may pause again, and knows nothing of our pause.
        if not self._held:
            self._transport.resume_reading()
        self._handler.data_received(piece)
        if self._beginning and not self.sender:
            self._all.queue.charge(HANDLED)  # what comes of it runs in a later turn of the loop
        if self._held:
            asyncio.get_running_loop().call_soon(self._advance)

    def _end_of_headers(self) -> int:
        """How much of what is held belongs to the headers of the next request."""
        if self._late is None:
            self._expect_request()
        if not self._tail:
            self._held = self._held.lstrip(b"\r\n")  # which may come before a request
        seen = self._tail + self._held
        found = seen.find(END_OF_HEADERS)
        if found < 0:
            self._tail = bytes(seen[1 - len(END_OF_HEADERS) :])
            return len(self._held)
        end = found + len(END_OF_HEADERS) - len(self._tail)
        self._tail, self._beginning, self._given = b"", True, asyncio.get_running_loop().time()
        return end

    def _refuse(self, answer: bytes) -> None:
        """Answer instead of aiohttp, which keeps headers without a bound, and takes long for some that they ask for."""
        assert self._transport is not None
        self._beginning = False
        self.discard()
        self._transport.write(answer)
        self._transport.write_eof()  # not closed: what still comes would end it before the answer is read

    def discard(self) -> None:
        """Drop whatever still comes: the request was refused, and its answer ends the connection."""
        self._discards = True
        self._held.clear()
        if self._transport is not None:
            self._transport.resume_reading()

    def eof_received(self) -> bool | None:
        return self._handler.eof_received() if self._handler is not None else None

    def pause_writing(self) -> None:
        if self._handler is not None:
            self._handler.pause_writing()
            self._cancel_stalled()
            self._stalled = self._later(self._all.limits.slow, STALLED)

    def resume_writing(self) -> None:
        self._cancel_stalled()
        if self._handler is not None:
            self._handler.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_late()
        self._cancel_stalled()
        self._all.forget(self)
        if self._handler is not None:
            self._handler.connection_lost(exc)
        self._handler = self._transport = None

    def _expect_request(self) -> None:
        self._cancel_late()
        self._late = self._later(self._all.limits.headers, LATE)

    def _later(self, seconds: float, why: str) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(seconds, self._all.end, self, why)

    def _cancel_late(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _cancel_stalled(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None


def watching(handle: Handler) -> Handler:
    """Refuses what is not taken here, and tells the connection of each request that it has begun and ended. Around all
    that aiohttp does with a request: it answers to some of them before any middleware."""

    async def handled(request: web.BaseRequest) -> web.StreamResponse:
        refused = refusal(request)
        if refused is None:
            return await handle(request)
        if refused.code == "chunked" and (connection := _connection_of(request)) is not None:
            connection.discard()
        answer = error_response(refused) if request.path == MCP else problem(refused)
        answer.force_close()
        return answer

    async def watched(request: web.BaseRequest) -> web.StreamResponse:
        connection = _connection_of(request)
        if connection is None:
            return await handled(request)
        connection.begin(request)
        answer: web.StreamResponse | None = None
        try:
            answer = await connection.metered(handled(request))
            return answer
        except web.HTTPException as refused:  # as of a path that does not exist
            answer = refused
            raise
        finally:
            connection.done(answer)

    return watched


def _connection_of(request: web.BaseRequest) -> Connection | None:
    found = request.transport.get_protocol() if request.transport is not None else None
    return found if isinstance(found, Connection) else None


@asynccontextmanager
async def listening(
    app: web.Application, host: str, port: int, limits: HttpLimits, grace: float = 60.0
) -> AsyncIterator[int]:
    """Serve the application; gives the port (that of `port`, or a free one for 0). At the end, requests under way
    have `grace` seconds. Raises NotStarted where the port cannot be had."""
    every = Connections(fitted(limits))
    runner = web.AppRunner(
        app,
        access_log=None,
        logger=http_log,
        shutdown_timeout=grace,
        auto_decompress=False,
        read_bufsize=UNREAD_BYTES,
    )
    with counted(every.count):
        await runner.setup()
        make = runner.server
        assert make is not None
        make.request_handler = watching(make.request_handler)
        try:
            sockets = await bound(host, port)
        except OSError as error:
            await runner.cleanup()
            raise NotStarted(NO_PORT.format(port=port, why=os.strerror(error.errno or 0).lower())) from error
        acceptor = Acceptor(
            sockets,
            every.pace,
            lambda address: Connection(every, make, address),
            lambda: every.count(FAST),
        )
        try:
            yield acceptor.port
        finally:
            await acceptor.close()
            await runner.cleanup()
            every.queue.close()
            every.report()
