"""The front door of the API: tokens, limits, repeated requests, and problems in one shape."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from gate.rules.access import TokenKind
from gate.rules.ports import Unavailable
from handlers.api.app import DOCUMENT
from handlers.api.route import Problem
from handlers.api.routes import ROUTES
from storage.idempotency import AnswerStore
from storage.tokens import TokenStore
from tests.api.api_server import Api
from tests.api.test_api_actions import WRITE
from tests.gate.gate_setup import BOT, DORA, GIL, SAM

PROBLEM = "application/problem+json"


def store(api: Api) -> TokenStore:
    assert isinstance(api.services.tokens, TokenStore)
    return api.services.tokens


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer nonsense",
        "Basic abc",
        "Bearer cs_agent_0_0_0",
        "Bearer " + "x" * 9000,
        "Bearer ｃｓ",
    ],
)
async def test_a_request_without_a_valid_token_gets_401(api: Api, header: str | None) -> None:
    sent = {"Authorization": header.encode().decode("latin-1")} if header is not None else {}
    for route in ROUTES:
        url = api.base + route.path.replace("{id}", "id1")
        async with api.session.request(route.method, url, headers=sent) as response:
            if response.status == 400 and len(header or "") > 8000:  # aiohttp itself takes no such header
                return
            assert response.status == 401, route
            assert response.content_type == PROBLEM
            assert response.headers["WWW-Authenticate"].startswith("Bearer")


async def test_a_token_ends_with_its_time_or_its_revocation(api: Api) -> None:
    revoked, late = await api.client(), await api.client()
    await store(api).revoke(revoked.token.id)
    status, problem = await revoked.ask("GET", "/actions")
    assert (status, problem["code"]) == (401, "token_over")
    store(api).offset = timedelta(days=2)
    status, problem = await late.ask("GET", "/actions")
    assert (status, problem["code"]) == (401, "token_over")


@pytest.mark.parametrize("kind", TokenKind)
@pytest.mark.parametrize("user", [GIL, SAM, DORA, "U_NOBODY"])
async def test_a_token_ends_with_the_account_of_its_person(api: Api, kind: TokenKind, user: str) -> None:
    """A guest, somebody of another workspace, somebody who has left, and nobody."""
    client = await api.client(kind, user=user)
    for route in ROUTES:
        if route.method == "GET":
            status, problem = await client.ask("GET", route.path.replace("{id}", "id1"))
            assert (status, problem["code"]) == (401, "account"), route


async def test_a_token_of_an_app_that_may_ask_reads(api: Api) -> None:
    agent, person = await api.agent(user=BOT), await api.client(user=BOT)
    assert [(await client.ask("GET", "/actions"))[0] for client in (agent, person)] == [401, 401]
    policy = replace(api.gate.world.policy, listed_bots=frozenset({BOT}))
    api.gate.world = replace(api.gate.world, policy=policy)
    assert [(await client.ask("GET", "/actions"))[0] for client in (agent, person)] == [200, 401]


# promise: API-05
async def test_the_same_request_is_carried_out_once(api: Api) -> None:
    agent = await api.agent()
    first, *rest = await asyncio.gather(
        *(agent.ask("POST", "/actions", WRITE, Idempotency_Key="k1") for _ in range(8))
    )
    again = await agent.ask("POST", "/actions", WRITE, Idempotency_Key="k1")
    assert {status for status, _ in (first, *rest)} <= {201, 409}
    assert again[0] == 201
    assert len((await agent.get("/actions"))["actions"]) == 1
    async with agent.raw("POST", "/actions", WRITE, Idempotency_Key="k1") as response:
        assert response.headers["Idempotent-Replayed"] == "true"
        assert await response.json() == again[1]


async def test_a_request_whose_answer_was_not_kept_is_not_carried_out_again(api: Api) -> None:
    agent, kept = await api.agent(), api.services.answers
    assert isinstance(kept, AnswerStore)
    kept.budget = 0
    api.gate.desk.notes["big.md"] = "x" * 240_000
    read = {"tool": "desk.look", "arguments": {"path": "big.md"}}
    await agent.post("/actions", read, 201, Idempotency_Key="k1")
    called = len(api.gate.desk.calls)
    async with agent.raw("POST", "/actions", read, Idempotency_Key="k1") as response:
        problem = await response.json(content_type=PROBLEM)
        assert (response.status, problem["code"]) == (409, "answer_not_kept")
        assert response.headers["Idempotent-Replayed"] == "true"
    assert len(api.gate.desk.calls) == called
    await agent.post("/actions", read, 201, Idempotency_Key="k2")


async def test_a_key_is_for_one_request_of_one_token(api: Api) -> None:
    one, other = await api.agent(), await api.agent()
    made = await one.post("/actions", WRITE, 201, Idempotency_Key="k1")
    status, problem = await one.ask("POST", "/actions", {**WRITE, "why": "else"}, Idempotency_Key="k1")
    assert (status, problem["code"]) == (422, "key_reused")
    status, problem = await one.ask(
        "POST", f"/actions/{made['action']['id']}/cancel", {}, Idempotency_Key="k1"
    )
    assert (status, problem["code"]) == (422, "key_reused")
    theirs = await other.post("/actions", WRITE, 201, Idempotency_Key="k1")
    assert theirs["action"]["id"] != made["action"]["id"]


@pytest.mark.parametrize(
    ("passing", "answer"),
    [
        (Unavailable("away"), (503, "unavailable")),
        (Problem(429, "too_many_tasks", "Wait."), (429, "too_many_tasks")),
    ],
)
async def test_a_stored_refusal_is_repeated_and_what_passes_is_not(
    api: Api, passing: Exception, answer: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await api.agent()
    wrong = {"tool": "desk.nothing", "arguments": {}}
    first = await agent.ask("POST", "/actions", wrong, Idempotency_Key="k1")
    assert await agent.ask("POST", "/actions", wrong, Idempotency_Key="k1") == first

    async def away(*_: Any) -> str:
        raise passing

    with monkeypatch.context() as patch:
        patch.setattr(api.threads, "open", away)
        status, problem = await agent.ask("POST", "/actions", WRITE, Idempotency_Key="k2")
        assert (status, problem["code"]) == answer
    await agent.post("/actions", WRITE, 201, Idempotency_Key="k2")


async def test_a_reservation_of_a_dead_process_expires(api: Api) -> None:
    agent = await api.agent()
    answers: Any = api.services.answers
    assert await answers.begin("t", "k", "d", "dead") is None
    held = await answers.begin("t", "k", "d", "next")
    assert held is not None
    assert held.status == 0
    answers.offset = timedelta(minutes=3)
    assert await answers.begin("t", "k", "d", "next") is None
    await answers.keep("t", "k", "dead", 201, "its own")  # it was only slow: its answer comes too late
    await answers.keep("t", "k", "next", 201, "{}")
    assert (await answers.begin("t", "k", "d", "third")).body == "{}"
    assert agent.token.id != "t"


@pytest.mark.parametrize("key", ["ä", "a b", "x" * 256])
async def test_a_malformed_idempotency_key_is_a_problem(api: Api, key: str) -> None:
    agent = await api.agent()
    status, problem = await agent.ask("POST", "/actions", WRITE, Idempotency_Key=key)
    assert (status, problem["code"]) == (400, "bad_key")


@pytest.mark.parametrize(
    ("raw", "kind", "status", "code"),
    [
        (b"{", "application/json", 400, "bad_json"),
        (b"[]", "application/json", 400, "bad_json"),
        (b'{"tool": NaN}', "application/json", 400, "bad_json"),
        (b'{"tool": "a", "tool": "b"}', "application/json", 400, "bad_json"),
        (b"[" * 100_000, "application/json", 413, "too_large"),
        (b"[" * 50_000, "application/json", 400, "bad_json"),
        (b'{"a":' * 33 + b"1" + b"}" * 33, "application/json", 400, "bad_json"),
        (b"\xff", "application/json", 400, "bad_json"),
        (b"{}", "text/plain", 415, "not_json"),
        (b"{}", 'application/json;"";' + '"";' * 2_000, 422, "bad_request"),
        (b"{}", "application/json" + "(" * 2_000, 415, "not_json"),
        (b"x" * 70_000, "application/json", 413, "too_large"),
        (b"{}", "application/json", 422, "bad_request"),
        (b'{"tool": "desk.write", "arguments": {}, "confirm": true}', "application/json", 422, "bad_request"),
        (b'{"tool": 7, "arguments": {}}', "application/json", 422, "bad_request"),
        (b'{"tool": "desk.write", "arguments": {"x": "\\ud800"}}', "application/json", 400, "bad_json"),
    ],
)
async def test_a_bad_body_is_a_problem_with_its_errors(
    api: Api, raw: bytes, kind: str, status: int, code: str
) -> None:
    agent = await api.agent()
    headers = {**agent.headers, "Content-Type": kind}
    async with api.session.post(api.base + "/actions", data=raw, headers=headers) as response:
        problem = await response.json(content_type=None)
        assert (response.status, problem["code"]) == (status, code)
        assert response.content_type == PROBLEM
        assert problem["type"] == f"urn:countersign:problem:{code}"
        assert problem["detail"].endswith((".", "?"))


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=x", "state=else", "limit=1&limit=2", "who=me", "after=a.b"]
)
async def test_a_bad_query_is_a_problem(api: Api, query: str) -> None:
    agent = await api.agent()
    status, problem = await agent.ask("GET", f"/actions?{query}")
    assert (status, problem["code"]) == (400, "bad_query")


# promise: API-08
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", "/actions", 405),
        ("GET", "/actions/a/b/c", 404),
        ("DELETE", "/tasks/x", 405),
        ("GET", "/task", 404),
        ("GET", "/api/v1/actions", 404),
        ("GET", "/", 404),
        ("POST", "/openapi.json", 405),
    ],
)
async def test_an_unknown_route_is_a_problem_too(api: Api, method: str, path: str, status: int) -> None:
    agent = await api.agent()
    async with agent.raw(method, path) as response:
        assert response.status == status
        assert response.content_type == PROBLEM
        assert ("Allow" in response.headers) is (status == 405)


@pytest.fixture
async def strict(migrated_sqlite: Path, sqlite_url: str, redis_url: str) -> AsyncIterator[Api]:
    """An API where a token has three requests a minute, and two under way at once."""
    import shutil

    from storage.database import open_engine
    from storage.leases import open_redis
    from tests.api.api_server import served
    from tests.gate.conftest import staged

    shutil.copy(migrated_sqlite, str(make_url(sqlite_url).database))
    async with staged(sqlite_url, redis_url) as gate:
        engine, redis = open_engine(sqlite_url), open_redis(redis_url)
        async with served(gate, engine, redis, per_minute=3, requests=2) as found:
            yield found
        await redis.aclose()
        await engine.dispose()


# promise: API-07
async def test_each_token_has_a_rate_of_its_own(strict: Api) -> None:
    one, other = await strict.agent(), await strict.agent()
    for _ in range(3):
        await one.get("/actions")
    async with one.raw("GET", "/actions") as response:
        assert response.status == 429
        assert 1 <= int(response.headers["Retry-After"]) <= 60
        assert response.content_type == PROBLEM
    await other.get("/actions")


async def test_each_token_has_so_many_requests_under_way(strict: Api) -> None:
    one, other = await strict.agent(), await strict.agent()
    async with one.raw("GET", "/events"), one.raw("GET", "/events"):
        status, problem = await one.ask("GET", "/actions")
        assert (status, problem["code"]) == (429, "too_many_at_once")
        await other.get("/actions")


# promise: API-09
async def test_the_document_is_served_and_names_every_route(api: Api) -> None:
    async with api.session.get(api.base + DOCUMENT) as response:
        document = await response.json()
    assert document["openapi"].startswith("3.1")
    told = {(method.upper(), path) for path, ways in document["paths"].items() for method in ways} - {
        ("PARAMETERS", path) for path in document["paths"]
    }
    server: Any = api.session
    assert server is not None
    assert told == {(route.method, route.path) for route in ROUTES}
    text = json.dumps(document)
    for name in {ref.split('"')[0] for ref in text.split("#/components/schemas/")[1:]}:
        assert name in document["components"]["schemas"]


async def test_the_document_is_not_sent_again_to_who_has_it(api: Api) -> None:
    async with api.session.get(api.base + DOCUMENT) as response:
        tag = response.headers["ETag"]
        assert len(await response.read()) > 50_000
    for known, status in ((tag, 304), (f'"other", W/{tag}', 304), ('"other"', 200)):
        async with api.session.get(api.base + DOCUMENT, headers={"If-None-Match": known}) as response:
            assert response.status == status
            assert response.headers["ETag"] == tag
            assert bool(await response.read()) == (status == 200)


async def test_every_served_route_is_in_the_document(api: Api) -> None:
    from aiohttp import web

    from handlers.api import app as api_app

    app = web.Application()
    api_app.add_api(app, api.services)
    served = {
        (r.method, r.resource.canonical) for r in app.router.routes() if r.resource and r.method != "HEAD"
    }
    described = {(route.method, route.path) for route in ROUTES}
    assert served == described | {("GET", DOCUMENT), ("*", "/mcp")}  # MCP describes itself
