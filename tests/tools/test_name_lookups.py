"""Names of HTTP servers and of model providers: a name server that never answers holds up nobody else."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpcore2
import httpx2
import pytest

from gate.rules.ports import PlannerUnavailable
from tests.name_servers import NameServers
from tests.tools.mcp_hosts import until
from tools import http_bounds
from tools.http_bounds import MAX_ADDRESSES, OwnTurns, keep_bounds
from tools.mcp.http_client import WatchedClient
from tools.mcp.server_config import ServerConfig
from tools.mcp.transport import Connector
from tools.model.model_port import ModelConfig, Request, UserMessage
from tools.model.provider_client import ProviderModel
from tools.name_lookups import MAX_PER_OWNER, NameLookups, Resolve, TooManyLookups

HANGS = "http://hangs.example:9"


@pytest.fixture
async def names(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[NameServers]:
    found = NameServers()
    monkeypatch.setattr(socket, "getaddrinfo", found.getaddrinfo)
    yield found
    found.answer.set()


async def ask_server(client: WatchedClient) -> None:
    with pytest.raises(httpx2.ConnectError):
        await client.post(HANGS, json={})


async def ask_model(model: ProviderModel) -> None:
    with pytest.raises(PlannerUnavailable):
        await model.ask(Request("Be brief.", (UserMessage("Hello"),), ()))


def a_server() -> tuple[Callable[[], Any], Callable[[], Any]]:
    client = WatchedClient(timeout=60)
    return lambda: ask_server(client), client.aclose


def a_model(kind: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    config = ModelConfig(provider=kind, name="m", key="k", base_url=HANGS, seconds=60, retry_seconds=0)
    model = ProviderModel(config)
    return lambda: ask_model(model), model.close


ASKERS = {"server": a_server, "openai": lambda: a_model("openai"), "anthropic": lambda: a_model("anthropic")}


@pytest.mark.parametrize("kind", ASKERS)
async def test_a_name_that_is_never_found_holds_up_neither_threads_nor_another_server(
    kind: str, names: NameServers
) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    ask, close = ASKERS[kind]()
    hanging = [asyncio.create_task(ask()) for _ in range(40)]
    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server, WatchedClient() as other:
        async with asyncio.timeout(30):
            await names.busy.wait()
            assert await asyncio.to_thread(lambda: "a thread") == "a thread"
            url = f"http://other.example:{server.sockets[0].getsockname()[1]}"
            assert (await other.get(url)).status_code == httpx2.codes.OK
    assert names.asked == ["hangs.example"] * MAX_PER_OWNER + ["other.example"]
    names.answer.set()
    await asyncio.gather(*hanging)
    await close()


async def test_a_server_that_is_connected_again_and_again_keeps_to_its_threads(
    names: NameServers, tmp_path: Path
) -> None:
    connector = Connector(ServerConfig(name="s", url=f"{HANGS}/mcp"), tmp_path)

    async def connect() -> None:
        async with connector("auto", None, lambda: None):  # type: ignore[arg-type]
            pass

    for number in range(1, MAX_PER_OWNER + 1):
        connecting = asyncio.create_task(connect())
        await until(lambda number=number: len(names.asked) == number)
        connecting.cancel()
        await asyncio.wait([connecting])
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(connect(), 0.5)
    assert names.asked == ["hangs.example"] * MAX_PER_OWNER


class Network(httpcore2.AsyncNetworkBackend):
    """Only `living` of its addresses answers, one that begins with 192 never, and others refuse at once."""

    def __init__(self, living: str = "") -> None:
        self.living, self.tried, self.names = living, list[str](), list[str | None]()

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *_: object, **more: object
    ) -> httpcore2.AsyncNetworkStream:
        self.tried.append(host)
        if host == self.living:
            return Connected(self.names)
        if host.startswith("192"):
            await asyncio.sleep(timeout or 60)
            raise httpcore2.ConnectTimeout
        raise httpcore2.ConnectError(f"{host} refuses")


class Connected(httpcore2.AsyncNetworkStream):
    """Notes whose certificate is asked for, and goes no further."""

    def __init__(self, names: list[str | None]) -> None:
        self._names = names

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        self._names.append(server_hostname)
        raise httpcore2.ConnectError("that far")


def client_of(network: Network, resolve: Resolve) -> httpx2.AsyncClient:
    client = httpx2.AsyncClient(timeout=10, trust_env=False)
    assert isinstance(client._transport, httpx2.AsyncHTTPTransport)
    client._transport._pool._network_backend = network
    keep_bounds(client, OwnTurns(), NameLookups(resolve))
    return client


def at(*addresses: str) -> Resolve:
    return lambda host, port: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]


@pytest.mark.parametrize("dead", [[], ["192.0.2.1"], ["198.51.100.1"], ["192.0.2.1", "198.51.100.1"]])
async def test_dead_addresses_of_a_host_leave_time_for_one_that_answers(
    dead: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_bounds, "NEXT_ADDRESS", 0.01)
    network = Network("203.0.113.1")
    async with client_of(network, at(*dead, "203.0.113.1", "203.0.113.1")) as client:
        with pytest.raises(httpx2.ConnectError, match="that far"):
            await client.get("https://name.example")
    assert network.tried == [*dead, "203.0.113.1"]
    assert network.names == ["name.example"]  # the certificate is that of the name, not of an address


async def test_an_address_in_the_url_is_not_looked_up() -> None:
    def resolve(host: str, port: int) -> list[Any]:
        raise AssertionError(host)

    network = Network("203.0.113.1")
    async with client_of(network, resolve) as client:
        with pytest.raises(httpx2.ConnectError, match="that far"):
            await client.get("https://203.0.113.1")
        with pytest.raises(httpx2.ConnectError, match="2001:db8::1 refuses"):
            await client.get("https://[2001:db8::1]")
    assert network.names == ["203.0.113.1"]


async def test_of_the_addresses_of_a_host_so_many_are_tried() -> None:
    network, many = Network(), [f"198.51.100.{n}" for n in range(200)]
    async with client_of(network, at(*many)) as client:
        with pytest.raises(httpx2.ConnectError, match="refuses"):
            await client.get("http://name.example")
    assert network.tried == many[:MAX_ADDRESSES]


def not_found(host: str, port: int) -> list[Any]:
    raise socket.gaierror(socket.EAI_NONAME, "No such name")


def too_long(host: str, port: int) -> list[Any]:
    raise UnicodeError("label too long")


def no_thread(host: str, port: int) -> list[Any]:
    raise TooManyLookups("There is no thread.")


@pytest.mark.parametrize(
    ("resolve", "words"),
    [
        (not_found, "the address of name.example was not found: .*No such name"),
        (too_long, "the address of name.example was not found: label too long"),
        (no_thread, r"There is no thread\."),
        (at("198.51.100.1", "198.51.100.2"), "198.51.100.2 refuses"),
    ],
)
async def test_a_host_without_an_address_that_answers_is_told_in_words(resolve: Resolve, words: str) -> None:
    async with client_of(Network(), resolve) as client:
        with pytest.raises(httpx2.ConnectError, match=words):
            await client.get("http://name.example")


async def test_what_does_not_answer_in_time_is_named(names: NameServers) -> None:
    async with client_of(Network(), names.getaddrinfo) as client:
        with pytest.raises(httpx2.ConnectTimeout, match=r"the name server for hangs.example .* within 0.1 s"):
            await client.get(HANGS, timeout=0.1)
    async with client_of(Network(), at("192.0.2.1")) as client:
        with pytest.raises(httpx2.ConnectTimeout, match=r"^name.example did not answer within 0.1 s"):
            await client.get("http://name.example", timeout=0.1)
