"""Every way in which Slack can fail a call, on demand and once."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.workspace.bolt_apps import INSTALLED
from workspace.faults import BadGateway, Dropped, Fault, RateLimited, Refused, ServerError, Silent, Slow
from workspace.server import Workspace


@pytest.fixture
def client(ws: Workspace) -> AsyncWebClient:
    return AsyncWebClient(INSTALLED.bot_token, base_url=ws.api_url, retry_handlers=[])


async def post(client: AsyncWebClient) -> Any:
    return await client.chat_postMessage(channel="C_OPS", text="hello")


@pytest.mark.parametrize(
    ("fault", "status"), [(RateLimited(7), 429), (ServerError(), 500), (BadGateway(), 502)]
)
async def test_a_call_can_be_answered_with_an_error(
    ws: Workspace, client: AsyncWebClient, fault: Fault, status: int
) -> None:
    ws.faults.on("chat.postMessage", fault)
    with pytest.raises(SlackApiError) as caught:
        await post(client)
    assert caught.value.response.status_code == status
    assert ws.messages("C_OPS") == []
    await post(client)
    assert len(ws.messages("C_OPS")) == 1


async def test_429_says_how_long_to_wait(ws: Workspace, client: AsyncWebClient) -> None:
    ws.faults.on("chat.postMessage", RateLimited(7))
    with pytest.raises(SlackApiError) as caught:
        await post(client)
    assert caught.value.response.headers["Retry-After"] == "7"


async def test_a_call_can_be_refused_by_any_error_code(ws: Workspace, client: AsyncWebClient) -> None:
    ws.faults.on("*", Refused("account_inactive"), times=2)
    for call in (post(client), client.auth_test()):
        with pytest.raises(SlackApiError) as caught:
            await call
        assert caught.value.response["error"] == "account_inactive"


@pytest.mark.parametrize("accepted", [False, True])
async def test_a_connection_can_break_before_or_after_the_call_took_effect(
    ws: Workspace, client: AsyncWebClient, accepted: bool
) -> None:
    ws.faults.on("chat.postMessage", Dropped(accepted))
    with pytest.raises(aiohttp.ClientError):
        await post(client)
    assert len(ws.messages("C_OPS")) == (1 if accepted else 0)


@pytest.mark.parametrize("accepted", [False, True])
async def test_a_call_can_stay_without_an_answer(
    ws: Workspace, client: AsyncWebClient, accepted: bool
) -> None:
    ws.faults.on("chat.postMessage", Silent(accepted))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(post(client), 0.2)
    assert len(ws.messages("C_OPS")) == (1 if accepted else 0)


async def test_a_slow_call_is_answered_in_the_end(ws: Workspace, client: AsyncWebClient) -> None:
    ws.faults.on("chat.postMessage", Slow(0.05))
    started = asyncio.get_running_loop().time()
    await post(client)
    assert asyncio.get_running_loop().time() - started >= 0.05


async def test_the_workspace_stops_while_calls_still_wait(client: AsyncWebClient) -> None:
    workspace = Workspace(INSTALLED)
    await workspace.start()
    client.base_url = workspace.api_url
    workspace.faults.on("auth.test", Silent())
    waiting = asyncio.create_task(client.auth_test())
    await workspace.wait_for(lambda: workspace.calls("auth.test"))
    async with asyncio.timeout(20):
        await workspace.stop()
    with pytest.raises(aiohttp.ClientError):
        await waiting


async def test_a_response_url_can_fail_too(ws: Workspace) -> None:
    url = ws.forge.command("U_ANN", "C_OPS", "/pending")["response_url"]
    ws.faults.on("response_url", BadGateway())
    async with aiohttp.ClientSession() as session:
        async with session.post(url, json={"text": "lost"}) as response:
            assert response.status == 502
        async with session.post(url, json={"text": "found"}) as response:
            assert response.status == 200
    assert [m.text for m in ws.messages("C_OPS")] == ["found"]
