"""A provider that answers without end, or sends what it was asked elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from gate.rules.ports import PlannerUnavailable
from tools.model.model_api import ModelConfig, ModelRefused, Request, UserMessage
from tools.model.provider_client import ProviderModel

ASKED = Request("Be brief.", (UserMessage("Hello"),), ())
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ENDLESS = {
    "early hints": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
    "headers": (HEAD, b"X-A: b\r\n"),
    "one header": (HEAD + b"X-A: ", b"b"),
    "body": (HEAD + b"Content-Length: 1000000\r\n\r\n", b" "),
}


class Provider:
    """Answers every request with `first`, then with `more` again and again."""

    def __init__(self, first: bytes, more: bytes = b"") -> None:
        self._first, self._more = first, more
        self.asked = 0
        self.heads = list[bytes]()
        self.tasks = set[asyncio.Task[None]]()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        with suppress(ConnectionError):
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            self.asked += 1
            writer.write(self._first)
            while self._more and not writer.is_closing():
                writer.write(self._more)
                await writer.drain()
                await asyncio.sleep(0.005)
        writer.close()


@asynccontextmanager
async def listening(provider: Provider) -> AsyncIterator[str]:
    server = await asyncio.start_server(provider.handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        await asyncio.gather(*provider.tasks)


async def asked(kind: str, url: str) -> None:
    model = ProviderModel(
        ModelConfig(provider=kind, name="stub", key="k", base_url=url, seconds=1.0, retry_seconds=0.0)
    )
    try:
        async with asyncio.timeout(30):
            await model.ask(ASKED)
    finally:
        await model.close()


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
@pytest.mark.parametrize("what", ENDLESS)
async def test_an_answer_without_end_is_given_up_in_words(kind: str, what: str) -> None:
    async with listening(Provider(*ENDLESS[what])) as url:
        with pytest.raises(PlannerUnavailable, match="the model "):
            await asked(kind, url)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_what_is_asked_goes_to_no_other_address(kind: str, status: int) -> None:
    other = Provider(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    async with listening(other) as elsewhere:
        moved = f"HTTP/1.1 {status} Moved\r\nLocation: {elsewhere}\r\nContent-Length: 0\r\n\r\n"
        async with listening(Provider(moved.encode())) as url:
            with pytest.raises((PlannerUnavailable, ModelRefused)):
                await asked(kind, url)
    assert other.asked == 0


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_no_cookie_of_a_provider_is_sent_back(kind: str) -> None:
    provider = Provider(
        b"HTTP/1.1 500 Broken\r\nSet-Cookie: a=1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
    async with listening(provider) as url:
        model = ProviderModel(
            ModelConfig(provider=kind, name="stub", key="k", base_url=url, seconds=1.0, retry_seconds=0.0)
        )
        for _ in range(2):
            with pytest.raises(PlannerUnavailable):
                await model.ask(ASKED)
        await model.close()
    assert len(provider.heads) == 2
    assert b"cookie" not in b"".join(provider.heads).lower()
