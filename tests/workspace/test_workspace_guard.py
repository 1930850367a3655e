"""No page of another site, no other name and nobody without the key of this start acts in the workspace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import aiohttp
import pytest

from workspace.context import Installation
from workspace.server import HEADERS, Workspace

KEY = "the-key-of-this-start"
MESSAGE = {"as": "U_ANN", "channel": "C_OPS", "text": "hi"}


@pytest.fixture
async def locked() -> AsyncIterator[Workspace]:
    workspace = Workspace(key=KEY)
    await workspace.start()
    yield workspace
    await workspace.stop()


async def asked(
    url: str, method: str = "GET", headers: Mapping[str, str] | None = None, **more: object
) -> int:
    async with aiohttp.ClientSession() as session:
        async with session.request(method, url, headers=headers, allow_redirects=False, **more) as answer:  # type: ignore[arg-type]
            return answer.status


def test_every_start_has_secrets_of_its_own() -> None:
    one, other = Installation(), Installation()
    for name in ("bot_token", "app_token", "signing_secret"):
        assert getattr(one, name) != getattr(other, name)
        assert len(getattr(one, name)) >= 32


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "localhost@evil.example"},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "path", ["/ui/state?as=U_ANN", "/ui/events?as=U_ANN", "/api/auth.test", "/link?ticket=x", "/ui/log"]
)
async def test_what_another_site_sends_is_refused(ws: Workspace, path: str, headers: dict[str, str]) -> None:
    assert await asked(ws.url + path, headers=headers) == 403


async def test_a_websocket_of_another_site_is_refused(ws: Workspace) -> None:
    ticket = ws.sockets.open_ticket()
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await session.ws_connect(f"{ws.url}/link?ticket={ticket}", origin="http://evil.example")
        async with session.ws_connect(f"{ws.url}/link?ticket={ticket}", origin=ws.url) as line:
            assert (await line.receive_json())["type"] == "hello"


async def test_a_link_from_elsewhere_still_opens_the_page(ws: Workspace) -> None:
    for path in ("/", "/archives/C_OPS/p1", "/static/app.js"):
        assert await asked(ws.url + path, headers={"Sec-Fetch-Site": "cross-site"}) == 200


async def test_only_whoever_opened_the_page_by_its_key_acts_and_sees(locked: Workspace) -> None:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        for path in ("/ui/state?as=U_ANN", "/ui/log", "/ui/events?as=U_ANN"):
            async with session.get(locked.url + path) as answer:
                assert (answer.status, "Open the address" in await answer.text()) == (403, True)
        async with session.post(f"{locked.url}/ui/message", json=MESSAGE) as answer:
            assert answer.status == 403
        async with session.get(f"{locked.url}/?key=wrong") as answer:
            assert answer.cookies == {}
        async with session.get(locked.page_url) as answer:
            assert answer.status == 200
            assert "key" not in answer.url.query
            said = answer.history[0].headers["Set-Cookie"]
        assert "HttpOnly" in said
        assert "SameSite=Strict" in said
        async with session.post(f"{locked.url}/ui/message", json=MESSAGE) as answer:
            assert (await answer.json())["ok"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/static/app.js", 200),
        ("GET", "/static/none.js", 404),
        ("GET", "/nowhere", 404),
        ("DELETE", "/", 405),
        ("POST", "/ui/message", 200),
        ("GET", "/ui/state?as=U_ANN", 200),
        ("POST", "/api/auth.test", 200),
        ("GET", "/link", 404),
        ("POST", "/response/x", 404),
    ],
)
async def test_every_answer_has_the_headers(ws: Workspace, method: str, path: str, status: int) -> None:
    async with aiohttp.ClientSession() as session, session.request(method, ws.url + path) as answer:
        assert answer.status == status
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
