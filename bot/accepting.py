"""Connections are accepted at a pace, so that a flood of them costs little and reaches nobody else.

A connection costs a task, a transport and a handler, 0.1 ms together, and somebody who does nothing but connect makes
more of them than a core can take. So each is asked about right after the kernel gave it to us; one that is refused is
closed at once, for a few microseconds.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import time
from collections.abc import Callable
from functools import partial
from math import exp

from bot.http_limits import network_of

log = logging.getLogger(__name__)

BACKLOG = 4096  # that wait in the kernel to be accepted; it takes as many as it is set to, if those are fewer
ACCEPTED_AT_ONCE = 200  # in one turn of the loop
EACH_SECOND = 2000.0  # that are let in: a fifth of a core
MOST_NETWORKS = 10_000  # that are remembered
SIGNED_SECONDS = 24 * 3600.0  # for which it is remembered that Slack sent something from a network
MOST_SIGNED = 1000  # networks of which that is remembered
AT_ONCE = 50  # connections of one of these that are let in, whatever others open
PAUSE_SECONDS = 1.0  # after the system had no descriptor for a connection
QUIET_SECONDS = 60.0  # until that is logged again
NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Pace:
    """Which new connections are let in: so many each second together, and of one network no more than are left.

    Each counts for less as time goes by, by the factor e in a second, so that sums of them are rates. Of 2,000 one
    network alone has 1,000 at once and then each second; of ten that open what they can each has 181, of a hundred 19,
    of a thousand 1 or 2. One that has opened none of late is let in all the same. What turns out to be of somebody
    known does not count for its network. A network from which a request with Slack's signature came within a day has
    50, however many the others open: Slack sends several clicks at once, and each of them once only.
    """

    def __init__(self, each_second: float = EACH_SECOND, clock: Callable[[], float] = time.monotonic) -> None:
        self._each_second = each_second
        self._clock = clock
        self._total, self._at = 0.0, clock()
        self._had: dict[str, tuple[float, float]] = {}  # by network, and when; the one let in last is last
        self._signed: dict[str, float] = {}  # until when, by network; the latest is last

    def allows(self, network: str) -> bool:
        """Whether one more is let in, which counts from now on."""
        now = self._clock()
        self._total, self._at = self._total * exp(self._at - now), now
        had, at = self._had.get(network, (0.0, now))
        had *= exp(at - now)
        if had >= self._each_second - self._total and not (had < AT_ONCE and self.is_signed(network)):
            return False
        self._total += 1
        self._had.pop(network, None)
        self._had[network] = (had + 1, now)
        if len(self._had) > MOST_NETWORKS:
            del self._had[next(iter(self._had))]
        return True

    def forgive(self, network: str) -> None:
        """One that was let in does not count for its network: a request on it was authenticated."""
        if network in self._had:
            had, at = self._had[network]
            self._had[network] = (max(0.0, had - 1), at)

    def sign(self, network: str) -> None:
        """A request with Slack's signature came from it."""
        self._signed.pop(network, None)
        self._signed[network] = self._clock() + SIGNED_SECONDS
        if len(self._signed) > MOST_SIGNED:
            del self._signed[next(iter(self._signed))]

    def is_signed(self, network: str) -> bool:
        """Whether Slack sent something from it lately."""
        return self._signed.get(network, 0.0) > self._clock()


async def bound(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen, one for each address of the host. Raises OSError."""
    server = await asyncio.get_running_loop().create_server(asyncio.Protocol, host, port, start_serving=False)
    sockets = [one.dup() for one in server.sockets]
    server.close()
    try:
        for one in sockets:
            one.listen(BACKLOG)
    except OSError:
        for one in sockets:
            one.close()
        raise
    return sockets


class Acceptor:
    """Accepts the connections of these sockets until it is closed. A protocol is made, with the network of the other
    side, of those that the pace allows; `refused` is told of each of the others."""

    def __init__(
        self,
        sockets: list[socket.socket],
        pace: Pace,
        make: Callable[[str], asyncio.BaseProtocol],
        refused: Callable[[], None],
    ) -> None:
        self._pace, self._make, self._refused = pace, make, refused
        self._loop = asyncio.get_running_loop()
        self._begun = set[asyncio.Task[None]]()
        self._paused: dict[socket.socket, asyncio.TimerHandle] = {}
        self._told = -QUIET_SECONDS  # when it was logged that there is no descriptor
        self._sockets = sockets
        for one in sockets:
            self._resume(one)

    @property
    def port(self) -> int:
        """The port of the first socket."""
        found: int = self._sockets[0].getsockname()[1]
        return found

    async def close(self) -> None:
        """Accept nothing more; those that were let in are handed on."""
        for one in self._sockets:
            if one in self._paused:
                self._paused.pop(one).cancel()
            self._loop.remove_reader(one)
            one.close()
        if self._begun:
            await asyncio.wait(self._begun)

    def _resume(self, listener: socket.socket) -> None:
        self._paused.pop(listener, None)
        self._loop.add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                line, address = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in NO_ROOM:
                    raise
                return self._pause(listener, error)
            network = network_of(str(address[0]))
            if self._pace.allows(network):
                task = self._loop.create_task(self._hand_on(line, network))
                self._begun.add(task)
                task.add_done_callback(self._begun.discard)
            else:
                line.close()
                self._refused()

    def _pause(self, listener: socket.socket, error: OSError) -> None:
        """The kernel says again and again that a connection waits, so nothing is asked of it for a while."""
        now = self._loop.time()
        if now >= self._told + QUIET_SECONDS:
            self._told = now
            log.error("New HTTP connections have to wait: %s", error)
        self._loop.remove_reader(listener)
        self._paused[listener] = self._loop.call_later(PAUSE_SECONDS, self._resume, listener)

    async def _hand_on(self, line: socket.socket, network: str) -> None:
        line.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(partial(self._make, network), line)
        except OSError:  # the other side has gone, which some systems tell here
            line.close()
