"""A provider that answers without end, or sends what it was asked elsewhere."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from gate.rules.ports import PlannerUnavailable
from tests.cpu_time import within
from tools.model.model_port import ModelConfig, ModelRefused, Request, Response, UserMessage
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


async def asked(kind: str, url: str) -> Response:
    model = ProviderModel(
        ModelConfig(provider=kind, name="stub", key="k", base_url=url, seconds=1.0, retry_seconds=0.0)
    )
    try:
        async with asyncio.timeout(30):
            return await model.ask(ASKED)
    finally:
        await model.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
@pytest.mark.parametrize("what", ENDLESS)
async def test_an_answer_without_end_is_given_up_in_words(kind: str, what: str) -> None:
    async with listening(Provider(*ENDLESS[what])) as url:
        with pytest.raises(PlannerUnavailable, match="the model "):
            await asked(kind, url)


@pytest.mark.slow(but=1)
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


@pytest.mark.slow(but=1)
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
                return await model.ask(ASKED)
        await model.close()
    assert len(provider.heads) == 2
    assert b"cookie" not in b"".join(provider.heads).lower()


def openai(calls: str) -> bytes:
    message = '{"role":"assistant","content":null,"tool_calls":%s}' % calls  # noqa: UP031
    choice = '{"index":0,"message":%s,"finish_reason":"tool_calls"}' % message  # noqa: UP031
    return (
        b'{"id":"x","object":"chat.completion","created":1,"model":"stub","choices":[%s]}' % choice.encode()
    )


def anthropic(content: str) -> bytes:
    start = b'{"id":"x","type":"message","role":"assistant","model":"stub","stop_reason":"tool_use",'
    return start + b'"usage":{"input_tokens":1,"output_tokens":1},"content":%s}' % content.encode()


def answer(body: bytes, head: bytes = b"") -> bytes:
    return HEAD + head + b"Content-Length: %d\r\n\r\n" % len(body) + body


BODY = {"openai": openai, "anthropic": anthropic}
ODD = {
    "many empty calls": ("[" + ",".join(["{}"] * 100_000) + "]", "too many parts"),
    "many lists": ("[" + ",".join(["[]"] * 100_000) + "]", "too many parts"),
    "a deep list": ("[" * 5_000 + "]" * 5_000, "too many parts"),
    "a long number": ("1" * 100_000, "too many parts"),
    "more than was asked for": ('["' + "a" * 400_000 + '"]', "longer than 320 KiB"),
}


@pytest.mark.parametrize("kind", BODY)
@pytest.mark.parametrize("what", ODD)
async def test_an_answer_that_would_take_the_library_long_is_refused_in_words(kind: str, what: str) -> None:
    odd, why = ODD[what]
    async with listening(Provider(answer(BODY[kind](odd)))) as url:
        with pytest.raises(ModelRefused, match=why):
            await asked(kind, url)


@pytest.mark.parametrize("kind", BODY)
@pytest.mark.parametrize("how", ["half a character", "UTF-16"])
async def test_an_answer_that_is_read_in_another_way_than_it_is_counted_is_refused(
    kind: str, how: str
) -> None:
    """30,000 wrong parts in it would take the library a second."""
    body = BODY[kind]("[" + ",".join(["{}"] * 30_000) + "]")
    odd = body[:-1] + b',"z":"\\ud800"}' if how == "half a character" else body.decode().encode("utf-16-le")
    async with listening(Provider(answer(odd))) as url:
        with pytest.raises((PlannerUnavailable, ModelRefused), match=r"the model|too many parts"):
            await asked(kind, url)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("kind", BODY)
@pytest.mark.parametrize("status", [b"200 OK", b"400 Bad Request"])
async def test_the_charset_that_an_answer_says_is_not_looked_for(kind: str, status: bytes) -> None:
    """A list in an open quote takes 5 s to be read, and `punycode` as long to be decoded."""
    for said in (b'text/plain; x="' + b";" * 90_000, b"text/plain; charset=punycode"):
        head = b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: 300000\r\n\r\n" % (status, said)
        async with listening(Provider(head + b"a" * 300_000)) as url:
            with within(2.0):
                with pytest.raises((PlannerUnavailable, ModelRefused)):
                    await asked(kind, url)


@pytest.mark.parametrize("kind", BODY)
async def test_a_compressed_answer_is_refused_and_none_is_asked_for(kind: str) -> None:
    packed = gzip.compress(BODY[kind]("[]"))
    provider = Provider(answer(packed, b"Content-Encoding: gzip\r\n"))
    async with listening(provider) as url:
        with pytest.raises(ModelRefused, match="compressed"):
            await asked(kind, url)
    assert b"accept-encoding: identity\r\n" in provider.heads[0].lower()


async def test_arguments_of_a_call_may_have_many_values() -> None:
    rows = [{"day": n, "what": "call"} for n in range(3_000)]
    call = {"type": "tool_use", "id": "c1", "name": "add", "input": {"rows": rows}}
    async with listening(Provider(answer(anthropic(json.dumps([call]))))) as url:
        made = await asked("anthropic", url)
    assert json.loads(made.message.calls[0].args) == {"rows": rows}


async def test_what_is_wrong_with_an_answer_is_said_in_few_words() -> None:
    async with listening(Provider(answer(openai("[" + ",".join(["{}"] * 500) + "]")))) as url:
        with pytest.raises(PlannerUnavailable, match="could not be read") as told:
            await asked("openai", url)
    assert len(str(told.value)) < 400
