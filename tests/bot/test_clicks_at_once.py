"""Several signed requests that one address sends at the same moment, while many addresses flood the listening socket."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest

from bot.connections import Connection, Connections
from bot.http_limits import HttpLimits
from bot.parse_queue import ParseQueue
from handlers.api.request import SLACK
from tests.bot.test_connections import UNFINISHED, Line, Open, gone, request, served
from tests.bot.test_engine_runs import until

CONNECTIONS = 200  # of which strangers have half
ADDRESSES, EACH = 20, 5  # which hold that half
AT_ONCE = CONNECTIONS // 20  # that one address has besides, once Slack has sent something from it
SLOW = b"POST /body HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n"
CLICKS = "127.0.1.1"


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> list[Connection]:
    """The connections that the listening socket was told of."""
    all_, real = list[Connection](), Connections.admit
    monkeypatch.setattr(Connections, "admit", lambda self, new: (all_.append(new), real(self, new))[1])
    return all_


@asynccontextmanager
async def lines(port: int, addresses: list[str], made: list[Connection]) -> AsyncIterator[list[Line]]:
    """A connection from each of these addresses, over which nothing was sent, once it was told of them all."""
    before = len(made)
    async with AsyncExitStack() as stack:
        found: list[Line] = []
        for address in addresses:
            line = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
            stack.callback(line[1].transport.abort)
            found.append(line)
        await until(lambda: len(made) == before + len(addresses))
        yield found


@asynccontextmanager
async def crowded(port: int, made: list[Connection]) -> AsyncIterator[None]:
    """Every place of strangers is taken by bodies that do not come to their end."""
    crowd = [f"127.0.2.{number % ADDRESSES + 1}" for number in range(ADDRESSES * EACH)]
    async with lines(port, crowd, made) as slow, asyncio.timeout(20):
        for reader, writer in slow:
            writer.write(SLOW)
            assert (await reader.readline()).startswith(b"HTTP/1.1 100")
        yield


async def answers(those: list[Line], path: str) -> list[str]:
    """The first lines of the answers to a request over each; empty where the connection was ended."""
    found: list[str] = []
    for _, writer in those:
        writer.write(request(path))
    for reader, _ in those:
        line = b""
        async with asyncio.timeout(20):
            with suppress(ConnectionError):
                line = await reader.readline()
        found.append(line.decode().strip())
    return found


@pytest.fixture
def never_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something comes over each connection again and again."""
    monkeypatch.setattr("bot.connections.SOON", math.inf)


async def answered(first: str, made: list[Connection]) -> int:
    """How many are answered of the signed requests that an address sends at once, which has sent this one before."""
    async with served(connections=CONNECTIONS) as port:
        async with lines(port, [CLICKS], made) as one:
            assert await answers(one, first) == ["HTTP/1.1 200 OK"]
        async with crowded(port, made), lines(port, [CLICKS] * AT_ONCE, made) as clicks:
            return (await answers(clicks, "/signed")).count("HTTP/1.1 200 OK")


@pytest.mark.usefixtures("never_idle")
async def test_signed_requests_that_one_address_sends_at_once_are_answered_beside_a_flood(
    made: list[Connection],
) -> None:
    assert await answered("/signed", made) == AT_ONCE


@pytest.mark.usefixtures("never_idle")
@pytest.mark.parametrize("path", ["/healthz", "/token"])
async def test_an_address_that_sent_nothing_signed_before_is_a_crowd_like_others(
    path: str, made: list[Connection]
) -> None:
    assert 0 < await answered(path, made) <= EACH + 1


async def test_unfinished_headers_from_where_slack_has_sent_something_are_late_like_others(
    made: list[Connection],
) -> None:
    async with served(connections=CONNECTIONS, headers=0.2) as port:
        async with lines(port, [CLICKS], made) as one:
            assert await answers(one, "/signed") == ["HTTP/1.1 200 OK"]
        async with lines(port, [CLICKS] * 3, made) as unfinished:
            for line in unfinished:
                line[1].write(UNFINISHED)
            for line in unfinished:
                await gone(line)


async def test_signed_requests_of_one_address_do_not_wait_for_one_another_to_be_parsed(
    made: list[Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among many addresses that take turns, the last of several would have to wait for many rounds."""
    turns, real = list[str](), ParseQueue.run
    monkeypatch.setattr(
        ParseQueue, "run", lambda self, *asked: (turns.append(asked[0]), real(self, *asked))[1]
    )
    async with served(connections=CONNECTIONS) as port:
        for crowds in (1, 3):
            async with lines(port, [CLICKS] * 3, made) as clicks:
                assert await answers(clicks, "/signed") == ["HTTP/1.1 200 OK"] * 3
            assert len(set(turns)) == crowds
            turns.clear()


def signed() -> Connections:
    """Slack has sent something from 10.0.0.1."""
    every = Connections(HttpLimits(connections=CONNECTIONS))
    first = Open("10.0.0.1")
    assert every.admit(first)
    every.know(first, SLACK)
    assert every.forget(first)
    return every


def admitted(every: Connections, fresh: bool, addresses: list[str]) -> list[Open]:
    ones = [Open(address, fresh=fresh) for address in addresses]
    for one in ones:
        every.admit(one)
    return ones


async def test_whoever_floods_from_where_slack_sends_holds_a_bounded_part_of_the_places() -> None:
    every = signed()
    admitted(every, True, [f"10.0.1.{number % ADDRESSES}" for number in range(ADDRESSES * EACH)])
    flood = admitted(every, True, ["10.0.0.1"] * 500)
    assert AT_ONCE < sum(one in every._unknown for one in flood) <= AT_ONCE + EACH + 1
    [other] = admitted(every, True, ["10.0.2.1"])
    assert other in every._unknown
    every.report()


async def test_connections_from_where_slack_sends_make_way_once_nothing_comes_over_them() -> None:
    every = signed()
    slow = admitted(every, False, ["10.0.0.1"] * AT_ONCE)
    admitted(every, True, [f"10.0.1.{number}" for number in range(ADDRESSES * EACH)])
    assert all(one.ended for one in slow)
    assert not every._counts.keys() - {f"10.0.1.{number}" for number in range(ADDRESSES * EACH)}
    every.report()
