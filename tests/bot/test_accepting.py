"""How new connections are accepted: at a pace, by address, before any of them costs much."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress

import pytest

from bot import accepting
from bot.accepting import AT_ONCE, EACH_SECOND, SIGNED_SECONDS, Acceptor, Pace, bound
from tests.bot.test_connections import request, served
from tests.bot.test_engine_runs import until

FEW = 20  # that one address may open here
WAITING = 120  # more than asyncio lets wait in the kernel by itself


class Clock:
    """A clock that stands still unless it is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Unbounded(Pace):
    """Lets everything in, and notes in which turn of the loop."""

    def __init__(self) -> None:
        super().__init__()
        self.turn, self.asked = 0, Counter[int]()

    def count_turns(self) -> None:
        self.turn += 1
        asyncio.get_running_loop().call_soon(self.count_turns)

    def allows(self, network: str) -> bool:
        self.asked[self.turn] += 1
        return True


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """One address may open a few connections, and time stands still."""
    monkeypatch.setattr("bot.connections.Pace", lambda: Pace(2 * FEW, Clock()))


async def answer(port: int, path: str, address: str) -> str:
    """The first line of the answer to a request from this address, or nothing where it was refused."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    try:
        with suppress(ConnectionError):
            writer.write(request(path))
            async with asyncio.timeout(20):
                return (await reader.readline()).decode().strip()
        return ""
    finally:
        writer.transport.abort()


@contextmanager
def connected(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Connections that the kernel has taken, while the loop has no turn."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            for _ in range(count)
        ]


@asynccontextmanager
async def acceptor(pace: Pace, made: list[str]) -> AsyncIterator[Acceptor]:
    def make(network: str) -> asyncio.Protocol:
        made.append(network)
        return asyncio.Protocol()

    one = Acceptor(await bound("127.0.0.1", 0), pace, make, lambda: made.append("refused"))
    try:
        yield one
    finally:
        await one.close()


def test_one_address_may_open_many_connections_at_once_and_then_as_many_each_second(clock: Clock) -> None:
    pace = Pace(clock=clock)
    assert sum(pace.allows("10.0.0.1") for _ in range(5_000)) == 1_000
    allowed = 0
    for _ in range(10_000):
        clock.now += 0.001
        allowed += sum(pace.allows("10.0.0.1") for _ in range(2))
    assert 9_000 < allowed < 11_000


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(("addresses", "each"), [(2, 666), (10, 181), (100, 19), (1_000, 1)])
def test_the_more_addresses_open_what_they_can_the_fewer_each_has_and_another_is_let_in(
    addresses: int, each: int, clock: Clock
) -> None:
    pace, had = Pace(clock=clock), Counter[int]()
    for _ in range(1_000):
        for number in range(addresses):
            had[number] += pace.allows(f"10.0.{number // 256}.{number % 256}")
    assert each <= min(had.values()) <= max(had.values()) <= each + 1
    assert had.total() <= EACH_SECOND
    assert pace.allows("10.9.9.9")


def test_what_is_authenticated_does_not_count_for_its_address(clock: Clock) -> None:
    pace = Pace(10, clock)
    assert [pace.allows("10.0.0.1") for _ in range(6)] == [True] * 5 + [False]
    pace.forgive("10.0.0.2")  # of which nothing is remembered
    assert not pace.allows("10.0.0.1")
    pace.forgive("10.0.0.1")
    assert pace.allows("10.0.0.1")


def test_of_the_addresses_only_so_many_are_remembered(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accepting, "MOST_NETWORKS", 10)
    pace = Pace(clock=clock)
    for number in range(100):
        assert pace.allows(f"10.0.0.{number}")
    assert list(pace._had) == [f"10.0.0.{number}" for number in range(90, 100)]


def test_a_network_that_slack_sends_from_has_some_connections_whatever_others_open(clock: Clock) -> None:
    pace = Pace(clock=clock)
    pace.sign("10.9.9.9")
    for number in range(4_000):
        pace.allows(f"10.0.{number // 256}.{number % 256}")
    assert not pace.allows("10.9.9.8")
    assert [pace.allows("10.9.9.9") for _ in range(AT_ONCE + 5)] == [True] * AT_ONCE + [False] * 5
    clock.now += SIGNED_SECONDS
    assert not pace.is_signed("10.9.9.9")


def test_of_the_networks_that_slack_sends_from_the_latest_are_remembered(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accepting, "MOST_SIGNED", 3)
    pace = Pace(clock=clock)
    for network in ("a", "b", "c", "a", "d"):
        pace.sign(network)
    assert [one for one in "abcd" if pace.is_signed(one)] == ["a", "c", "d"]


@pytest.mark.usefixtures("few")
async def test_of_a_flood_from_one_address_a_few_are_let_in_and_another_address_is_served(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with served() as port:
        answers = await asyncio.gather(*(answer(port, "/healthz", "127.0.1.1") for _ in range(3 * FEW)))
        assert Counter(answers) == {"HTTP/1.1 200 OK": FEW, "": 2 * FEW}
        assert await answer(port, "/healthz", "127.0.1.2") == "HTTP/1.1 200 OK"
        assert await answer(port, "/healthz", "127.0.1.1") == ""
    told = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    assert len(told) == 1
    assert f"{2 * FEW + 1} were opened faster than their address may" in told[0]


@pytest.mark.usefixtures("few")
async def test_an_address_that_sends_only_what_is_authenticated_is_not_refused() -> None:
    async with served() as port:
        for _ in range(2 * FEW):
            assert await answer(port, "/signed", "127.0.1.1") == "HTTP/1.1 200 OK"


async def test_in_one_turn_of_the_loop_some_are_accepted_and_all_in_the_next_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(accepting, "ACCEPTED_AT_ONCE", 10)
    pace, made = Unbounded(), list[str]()
    async with acceptor(pace, made) as one, asyncio.timeout(20):
        with connected(one.port, WAITING):
            pace.count_turns()
            await until(lambda: len(made) == WAITING)
    assert set(pace.asked.values()) == {10}
    assert set(made) == {"127.0.0.1"}


async def test_those_that_were_let_in_are_handed_on_at_the_end_and_no_more_come() -> None:
    made = list[str]()
    with ExitStack() as lines:
        async with acceptor(Unbounded(), made) as one:
            lines.enter_context(connected(port := one.port, 5))
            one._accept(one._sockets[0])
            assert made == []
        assert len(made) == 5
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_connections_wait_while_there_is_no_descriptor_for_them_and_the_log_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(accepting, "PAUSE_SECONDS", 0.001)
    pauses, real = list[OSError](), Acceptor._pause

    def noted(self: Acceptor, listener: socket.socket, error: OSError) -> None:
        pauses.append(error)
        real(self, listener, error)

    monkeypatch.setattr(Acceptor, "_pause", noted)
    made, limits = list[str](), resource.getrlimit(resource.RLIMIT_NOFILE)
    async with acceptor(Unbounded(), made) as one:
        with connected(one.port, 3):
            os.close(free := os.dup(0))
            resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
            try:
                await until(lambda: len(pauses) > 3)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            await until(lambda: len(made) == 3)
    assert caplog.text.count("New HTTP connections have to wait: [Errno 24]") == 1


async def test_a_socket_that_was_paused_is_closed_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accepting, "PAUSE_SECONDS", 0.0)
    async with acceptor(Unbounded(), []) as one:
        [listener] = one._sockets
        one._pause(listener, OSError())
    await asyncio.sleep(0)
    assert listener.fileno() == -1
    assert not one._paused


async def test_every_address_of_a_host_is_listened_on() -> None:
    sockets, made = await bound("", 0), list[str]()
    one = Acceptor(sockets, Unbounded(), lambda network: made.append(network) or asyncio.Protocol(), list)  # type: ignore[func-returns-value]
    local = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}
    for listener in sockets:
        with socket.create_connection((local[listener.family], listener.getsockname()[1]), timeout=20):
            await until(lambda: bool(made))
        assert made.pop() in ("127.0.0.1", "::")
    await one.close()
