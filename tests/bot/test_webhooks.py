"""Webhooks on the wire: what arrives, what is tried again, and what is never reached."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientError, web
from aiohttp.http import HttpResponseParser
from aiohttp.test_utils import TestServer
from sqlalchemy import make_url

from bot.webhook_answers import MAX_INTERIM, MAX_LINES, TOO_MUCH, BoundedAnswer, EndlessAnswer
from bot.webhooks import Deliveries, Forbidden, Sender
from gate.rules import jobs
from gate.rules.ports import LedgerEvent
from gate.rules.task import Assessment, Missing, Question
from gate.rules.webhooks import BACKOFF, Webhook, secret_of, signature
from storage.database import open_engine
from storage.webhooks import HookStore
from tests.gate.conftest import staged
from tests.gate.gate_setup import TEAM, Scene
from tests.gate.plan_setup import approved, look, planned, write
from tests.name_servers import NameServers
from tools.name_lookups import MAX_PER_OWNER, NameLookups

HOME = (ip_network("127.0.0.0/8"),)
SECRET = secret_of(b"k" * 32)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
Delivering = Callable[[str], AbstractAsyncContextManager[Any]]


class Receiver:
    """Remembers what came, and answers as it is told."""

    def __init__(self) -> None:
        self.came: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []

    async def handle(self, request: web.Request) -> web.Response:
        named = {name.lower(): value for name, value in request.headers.items()}
        self.came.append((named, await request.read()))
        status = self.answers.pop(0) if self.answers else 200
        moved = {"Location": "/elsewhere"} if 300 <= status < 400 else {}
        return web.Response(status=status, headers=moved)


@asynccontextmanager
async def receiving() -> AsyncIterator[tuple[Receiver, str]]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", receiver.handle)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    yield receiver, str(server.make_url("/hook"))
    await server.close()


@pytest.fixture
def delivering(migrated_sqlite: Path, sqlite_url: str, redis_url: str) -> Delivering:
    """Opens a scene with a webhook to a URL, its store and its deliveries."""

    @asynccontextmanager
    async def open_one(url: str) -> AsyncIterator[Any]:
        shutil.copy(migrated_sqlite, str(make_url(sqlite_url).database))
        async with staged(sqlite_url, redis_url) as scene:
            engine = open_engine(sqlite_url)
            store = HookStore(engine, scene.ledger.seals)
            await store.add(Webhook("h1", url, SECRET, "", TEAM, (), (), 0, NOW))
            yield scene, store, Deliveries(store, scene.ledger, Sender(HOME))
            await engine.dispose()

    return open_one


async def happened(scene: Scene, task: str = "t1") -> None:
    async with scene.ledger.begin() as tx:
        tx.publish(LedgerEvent("task_changed", scene.session, task, {"state": "running"}))


async def carried(scene: Scene, deliveries: Deliveries) -> None:
    for run in [one for one in scene.runs if one.name == "deliver" and one.key not in scene.done]:
        scene.done.add(run.key)
        await deliveries.deliver(*run.args)


async def test_an_event_arrives_once_signed(delivering: Delivering) -> None:
    async with receiving() as (receiver, url):
        async with delivering(url) as (scene, store, deliveries):
            await happened(scene)
            assert await asyncio.gather(store.fan_out(scene.ledger), store.fan_out(scene.ledger)) in (
                [1, 0],
                [0, 1],
            )
            assert await store.fan_out(scene.ledger) == 0
            await carried(scene, deliveries)
    ((headers, body),) = receiver.came
    right = signature(SECRET, headers["webhook-id"], headers["webhook-timestamp"], body)
    assert headers["webhook-signature"] == right
    assert b'"task_id":"t1"' in body
    assert headers["content-type"] == "application/json"


# promise: GATE-22
async def test_a_request_for_an_approval_arrives_with_the_fields_of_the_spec(delivering: Delivering) -> None:
    async with receiving() as (receiver, url):
        async with delivering(url) as (scene, store, deliveries):
            action = await scene.prepare(path="a.md", content="new")
            await store.fan_out(scene.ledger)
            await carried(scene, deliveries)
    told = [json.loads(body) for _, body in receiver.came]
    (asked,) = [one for one in told if one["type"] == "approval_requested"]
    fields = "task_id subtask_id reason proposed_action risk_level details auto_approve_timeout".split()
    assert set(fields) <= asked.keys()
    assert (asked["action_id"], asked["proposed_action"]) == (action.id, action.preview.summary)
    assert asked["auto_approve_timeout"] is None  # no call is ever made because nobody said no


# promise: GATE-22
async def test_a_plan_that_waits_is_announced(delivering: Delivering) -> None:
    async with receiving() as (receiver, url):
        async with delivering(url) as (scene, store, deliveries):
            task = await planned(scene, write("a.md"), write("b.md"))
            await store.fan_out(scene.ledger)
            await carried(scene, deliveries)
    told = [json.loads(body) for _, body in receiver.came]
    (asked,) = [one for one in told if one["type"] == "approval_requested"]
    assert (asked["task_id"], asked["details"]["asks"]) == (task.id, "plan")


async def test_a_question_that_waits_is_announced_without_its_words(delivering: Delivering) -> None:
    question = Question("where", "Where does it go: to the secret folder?", Missing.OUTPUTS)
    async with receiving() as (receiver, url):
        async with delivering(url) as (scene, store, deliveries):
            scene.planner.assessments.append(Assessment(50, 1, (Missing.OUTPUTS,), (question,)))
            await scene.say("write it")
            await store.fan_out(scene.ledger)
            await carried(scene, deliveries)
            (task,) = await scene.ledger.tasks_of(scene.session)
    (asked,) = [one for _, body in receiver.came if (one := json.loads(body))["type"] == "approval_requested"]
    assert (asked["task_id"], asked["details"]) == (task.id, {"asks": "question", "number": 1})
    assert not [body for _, body in receiver.came if b"secret" in body]


async def test_what_fails_is_tried_again_with_the_same_id(delivering: Delivering) -> None:
    async with receiving() as (receiver, url):
        async with delivering(url) as (scene, store, deliveries):
            await happened(scene)
            receiver.answers = [500, 302, 404]
            await store.fan_out(scene.ledger)
            for _ in range(4):
                await carried(scene, deliveries)
            tries = [run for run in scene.runs if run.name == "deliver"]
            assert [run.delay for run in tries] == [0, *map(float, BACKOFF[:3])]
            assert len({run.key for run in tries}) == 4
            assert (await store.get("h1")).problem == ""
    assert len({headers["webhook-id"] for headers, _ in receiver.came}) == 1
    assert len({body for _, body in receiver.came}) == 1
    assert len(receiver.came) == 4  # a redirect was not followed


async def test_who_is_gone_is_told_nothing_more(delivering: Delivering) -> None:
    async with receiving() as (receiver, url):
        async with delivering(url) as (scene, store, deliveries):
            await happened(scene)
            await happened(scene, "t2")
            receiver.answers = [410]
            await store.fan_out(scene.ledger)
            await carried(scene, deliveries)
            await carried(scene, deliveries)
            assert (await store.get("h1")).disabled_at is not None
    assert len(receiver.came) == 1


async def test_a_new_secret_signs_beside_the_old_one(delivering: Delivering) -> None:
    async with receiving() as (receiver, url):
        async with delivering(url) as (scene, store, deliveries):
            await store.rotate("h1", secret_of(b"n" * 32))
            await happened(scene)
            await store.fan_out(scene.ledger)
            await carried(scene, deliveries)
    ((headers, body),) = receiver.came
    signed = headers["webhook-signature"].split(" ")
    both = [
        signature(secret, headers["webhook-id"], headers["webhook-timestamp"], body)
        for secret in (secret_of(b"n" * 32), SECRET)
    ]
    assert signed == both


SPELLED = [
    "https://127.0.0.1/",
    "https://127.1/",
    "https://0x7f000001/",
    "https://2130706433/",
    "https://0177.0.0.1/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://localhost/",
    "https://169.254.169.254/latest/meta-data/",
    "https://[::ffff:169.254.169.254]/",
    "https://100.64.0.1/",
    "https://0.0.0.0/",
    "https://[::]/",
    "http://127.0.0.1:6379/",
]


@pytest.mark.parametrize("url", SPELLED)
async def test_nothing_inside_is_connected_to(url: str) -> None:
    with pytest.raises(Forbidden):
        await Sender(seconds=20).post(url, b"{}", {})


async def test_a_name_that_leads_inside_is_not_connected_to() -> None:
    """Nor one of whose addresses only one does; and it is looked up once."""
    asked: list[str] = []
    inside = [("1.1.1.1", 443), ("10.0.0.1", 443)]

    def resolve(host: str, port: int) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", where) for where in inside]

    with pytest.raises(Forbidden, match="open internet"):
        await Sender(seconds=3, lookups=NameLookups(resolve)).post("https://rebinding.example/", b"{}", {})
    assert asked == ["rebinding.example"]


async def test_a_receiver_that_hangs_is_left() -> None:
    async def hang(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    app = web.Application()
    app.router.add_post("/", hang)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    with pytest.raises(TimeoutError):
        await Sender(HOME, seconds=0.3).post(str(server.make_url("/")), b"{}", {})
    await server.close()


async def test_allowing_a_network_does_not_open_other_ports_of_the_internet() -> None:
    with pytest.raises(Forbidden, match="port 443"):
        await Sender(HOME, seconds=3).post("http://1.1.1.1:8080/", b"{}", {})


def test_a_run_is_known_by_hook_event_and_try() -> None:
    assert jobs.deliver("h", 7, "t").key == jobs.deliver("h", 7, "t").key != jobs.deliver("h", 7, "t", 1).key


async def test_all_webhooks_of_a_token_count_as_one_owner(delivering: Delivering) -> None:
    async def everything(hook: Webhook, found: Any) -> Any:
        return found

    async with delivering("https://127.0.0.1/") as (scene, store, _):
        for name in ("h2", "h3"):
            await store.add(Webhook(name, "https://127.0.0.1/", SECRET, "", TEAM, (), (), 0, NOW, token="t1"))
        await happened(scene)
        await store.fan_out(scene.ledger, everything)
        await carried(scene, Deliveries(store, scene.ledger, Sender(), receivable=everything))
        tries = [run for run in scene.runs if run.name == "deliver"]
    assert len(tries) == 6
    assert {run.args[0]: run.owner for run in tries} == {"h1": "h1", "h2": "t1", "h3": "t1"}


# promise: API-15
async def test_a_webhook_that_a_token_made_never_reaches_the_operators_own_networks(
    delivering: Delivering,
) -> None:
    async def everything(hook: Webhook, found: Any) -> Any:
        return found

    async with receiving() as (receiver, url):
        async with delivering(url) as (scene, store, _):
            await store.add(Webhook("h2", url, SECRET, "", TEAM, (), (), 0, NOW, token="t1"))
            deliveries = Deliveries(store, scene.ledger, Sender(HOME), receivable=everything)
            await happened(scene)
            await store.fan_out(scene.ledger, everything)
            await carried(scene, deliveries)
            own, made = await store.get("h1"), await store.get("h2")
    assert len(receiver.came) == 1
    assert own.problem == ""
    assert "https to port 443" in made.problem


# promise: API-15
async def test_who_made_a_webhook_over_http_cannot_ask_it_what_names_there_are_inside(
    delivering: Delivering,
) -> None:
    def resolve(host: str, port: int) -> list[Any]:
        if host == "none.corp":
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.1.2.3", port))]

    async def everything(hook: Webhook, found: Any) -> Any:
        return found

    own, abroad = Sender(HOME, lookups=NameLookups(resolve)), Sender(lookups=NameLookups(resolve))
    async with delivering("https://ledger.corp/") as (scene, store, _):
        for name in ("ledger", "none"):
            made = Webhook(name, f"https://{name}.corp/", SECRET, "", TEAM, (), (), 0, NOW, token="t1")
            await store.add(made)
        await happened(scene)
        await store.fan_out(scene.ledger, everything)
        await carried(scene, Deliveries(store, scene.ledger, own, receivable=everything, abroad=abroad))
        told = {hook.id: hook.problem for hook in await store.all()}
    assert told["ledger"] == told["none"] == "It could not be reached over the open internet."
    assert "10.1.2.3" in told["h1"]  # the operator's own


async def test_what_a_token_may_see_is_not_told_by_who_does_not_know_it(delivering: Delivering) -> None:
    async with receiving() as (receiver, url):
        async with delivering(url) as (scene, store, deliveries):
            await store.add(Webhook("h2", url, SECRET, "", TEAM, (), (), 0, NOW, token="t1"))
            await happened(scene)
            assert await store.fan_out(scene.ledger) == 1
            await carried(scene, deliveries)
    assert len(receiver.came) == 1


async def test_a_step_under_review_is_announced_without_what_it_gave(delivering: Delivering) -> None:
    async with receiving() as (receiver, url):
        async with delivering(url) as (scene, store, deliveries):
            scene.desk.notes["a.md"] = "a note that nobody may have"
            await approved(scene, await planned(scene, look("a.md"), write("b.md"), approval_mode="manual"))
            await store.fan_out(scene.ledger)
            await carried(scene, deliveries)
    told = [json.loads(body) for _, body in receiver.came]
    assert {"approval_requested", "workflow_paused"} <= {one["type"] for one in told}
    assert "nobody may have" not in str(told)


ENDLESS = {
    "early hints": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"),
    "one header": (b"HTTP/1.1 200 OK\r\nX-A: ", b"b"),
    "body": (b"HTTP/1.1 200 OK\r\n\r\n", b"b"),
}


@asynccontextmanager
async def answering(first: bytes, more: bytes) -> AsyncIterator[str]:
    """The URL of a receiver whose answers begin with `first` and have `more` without end."""
    tasks = set[asyncio.Task[None]]()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(first)
            while more and not writer.is_closing():
                writer.write(more * 1000)
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    server.close()
    await asyncio.gather(*tasks)


@pytest.mark.parametrize("what", ENDLESS)
async def test_an_answer_without_end_is_given_up(what: str) -> None:
    """Long before the time for one try is over."""
    async with answering(*ENDLESS[what]) as url, asyncio.timeout(20):
        with suppress(ClientError):  # which is told in words
            assert await Sender(HOME, seconds=60).post(url, b"{}", {}) == 200


async def test_a_receiver_that_sends_no_end_of_1xx_responses_is_told_in_words(delivering: Delivering) -> None:
    async with answering(*ENDLESS["early hints"]) as url, delivering(url) as (scene, store, deliveries):
        await happened(scene)
        await store.fan_out(scene.ledger)
        await carried(scene, deliveries)
        assert (await store.get("h1")).problem == TOO_MUCH


@pytest.mark.parametrize(("interim", "is_answer"), [(0, True), (MAX_INTERIM, True), (MAX_INTERIM + 1, False)])
async def test_an_answer_may_have_few_1xx_responses_before_it(interim: int, is_answer: bool) -> None:
    whole = ENDLESS["early hints"][1] * interim + b"HTTP/1.1 204 No Content\r\n\r\n"
    async with answering(whole, b"") as url:
        if is_answer:
            assert await Sender(HOME).post(url, b"{}", {}) == 204
        else:
            with pytest.raises(EndlessAnswer):
                await Sender(HOME).post(url, b"{}", {})


class CountingParser(HttpResponseParser):  # type: ignore[misc]  # is Any to mypy
    """Parses what it is given, and remembers it."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.seen = bytearray()

    def feed_data(self, data: bytes) -> Any:
        self.seen += data
        return super().feed_data(data)


class Closing(asyncio.Transport):
    """Remembers that it was closed."""

    closed = False

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
EARLY = ENDLESS["early hints"][1]
PARSED = {
    "a body in chunks of one byte": (HEAD + b"1\r\nx\r\n" * 10_000, HEAD),
    "an answer behind the answer": (HEAD + HEAD * 1000, HEAD),
    "lines that end without a carriage return": (b"HTTP/1.1 200 OK\n\n" * 1000, b"HTTP/1.1 200 OK\n\n"),
    "a body behind a 1xx response": (EARLY + HEAD + b"1\r\nx\r\n" * 10_000, EARLY + HEAD),
    "1xx responses": (EARLY * 10_000, EARLY * (MAX_INTERIM + 1)),
    "empty lines": (b"\n" * 60_000, b"\n" * MAX_LINES),
    "no HTTP": (b"x\n" * 30_000, b"x\n"),
}


@pytest.mark.parametrize("cut", [None, 7])
@pytest.mark.parametrize("what", PARSED)
async def test_of_an_answer_only_its_head_is_parsed_and_the_connection_closed(
    what: str, cut: int | None
) -> None:
    sent, expected = PARSED[what]
    answer, transport = BoundedAnswer(asyncio.get_running_loop()), Closing()
    answer.connection_made(transport)
    parser = CountingParser(answer, asyncio.get_running_loop(), 2**16)
    answer._parser = parser
    sent = sent if cut is None else sent[: len(expected) + 100]
    for start in range(0, len(sent), cut or len(sent)):
        answer.data_received(sent[start : start + (cut or len(sent))])
    assert transport.closed
    assert parser.seen == expected


async def test_the_status_of_an_answer_with_a_large_body_is_known() -> None:
    head = b"HTTP/1.1 202 Accepted\r\nContent-Length: 1000000\r\n\r\n"
    async with answering(head + b"b" * 1_000_000, b"") as url:
        assert await Sender(HOME).post(url, b"{}", {}) == 202


async def test_a_compressed_answer_is_not_unpacked() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n"
    async with answering(head + b"none", b"") as url:
        assert await Sender(HOME).post(url, b"{}", {}) == 200


async def test_names_that_are_never_found_keep_neither_threads_nor_other_tokens_waiting() -> None:
    names = NameServers()
    async with receiving() as (receiver, url):
        sender = Sender(HOME, seconds=20, lookups=NameLookups(names.getaddrinfo))
        port = url.rpartition(":")[2]
        hanging = [
            asyncio.create_task(sender.post(f"http://hangs{n}.example:{port}", b"{}", {}, "t1"))
            for n in range(40)
        ]
        async with asyncio.timeout(10):  # a look-up hangs for longer
            await names.busy.wait()
            assert await asyncio.to_thread(lambda: "a thread") == "a thread"
            assert await sender.post(f"http://other.example:{port}", b"{}", {}, "t2") == 200
        assert len(receiver.came) == 1
        assert len(names.asked) == MAX_PER_OWNER + 1
        names.answer.set()
        problems = await asyncio.gather(*hanging, return_exceptions=True)
    assert all(isinstance(problem, ClientError) for problem in problems)


async def test_a_webhook_that_gets_no_thread_for_its_name_is_told_so_in_words(delivering: Delivering) -> None:
    async def everything(hook: Webhook, found: Any) -> Any:
        return found

    names = NameServers()
    lookups = NameLookups(names.getaddrinfo, wait=0)
    held = [
        asyncio.create_task(lookups.addresses("t1", f"hangs{n}.example", 443)) for n in range(MAX_PER_OWNER)
    ]
    async with delivering("https://localhost/") as (scene, store, _):
        await store.add(Webhook("h2", "https://a.example/", SECRET, "", TEAM, (), (), 0, NOW, token="t1"))
        abroad = Sender(lookups=lookups)
        await happened(scene)
        await store.fan_out(scene.ledger, everything)
        await carried(scene, Deliveries(store, scene.ledger, Sender(), receivable=everything, abroad=abroad))
        made = await store.get("h2")
    assert "have not ended yet" in made.problem
    names.answer.set()
    assert {type(one) for one in await asyncio.gather(*held, return_exceptions=True)} == {socket.gaierror}
