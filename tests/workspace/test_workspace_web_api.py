"""The Web API as the real SDK calls it: what it stores, what it refuses, and with which error."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.workspace.bolt_apps import INSTALLED
from workspace.context import Options
from workspace.server import Workspace
from workspace.state import counted_ids

CARD = [{"type": "section", "text": {"type": "mrkdwn", "text": "A card"}}]


@pytest.fixture
def client(ws: Workspace) -> AsyncWebClient:
    return AsyncWebClient(INSTALLED.bot_token, base_url=ws.api_url, retry_handlers=[])


async def refusal(call: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


async def test_auth_test_names_the_bot_and_its_scopes(client: AsyncWebClient) -> None:
    answer = await client.auth_test()
    assert (answer["user_id"], answer["bot_id"], answer["team_id"]) == ("UBOT", "BBOT", "T1")
    assert "chat:write" in answer.headers["x-oauth-scopes"]


@pytest.mark.parametrize(
    ("token", "error"),
    [
        ("", "not_authed"),
        ("xoxb-other", "invalid_auth"),
        pytest.param(INSTALLED.app_token, "not_allowed_token_type", id="app token"),
    ],
)
async def test_a_wrong_token_is_refused(ws: Workspace, token: str, error: str) -> None:
    assert await refusal(AsyncWebClient(token, base_url=ws.api_url).auth_test()) == error


async def test_a_socket_needs_the_app_token(ws: Workspace, client: AsyncWebClient) -> None:
    assert (
        await refusal(client.apps_connections_open(app_token=INSTALLED.bot_token)) == "not_allowed_token_type"
    )
    assert (await client.apps_connections_open(app_token=INSTALLED.app_token))["url"].startswith("ws://")


async def test_a_ticket_opens_one_socket_only(client: AsyncWebClient) -> None:
    url = (await client.apps_connections_open(app_token=INSTALLED.app_token))["url"]
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(url) as socket:
            hello = await socket.receive_json()
            assert (hello["type"], hello["num_connections"]) == ("hello", 1)
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url)


async def test_a_message_is_posted_updated_and_deleted(ws: Workspace, client: AsyncWebClient) -> None:
    posted = await client.chat_postMessage(channel="C_OPS", text="one", blocks=CARD)
    await client.chat_update(channel="C_OPS", ts=posted["ts"], text="two", blocks=CARD)
    (message,) = ws.messages("C_OPS")
    assert (message.text, message.ts, message.edited) == ("two", posted["ts"], False)

    await client.chat_update(channel="C_OPS", ts=posted["ts"], text="three")
    assert (message.text, message.blocks, message.edited) == ("three", None, True)

    await client.chat_delete(channel="C_OPS", ts=posted["ts"])
    assert ws.messages("C_OPS") == []
    assert await refusal(client.chat_delete(channel="C_OPS", ts=posted["ts"])) == "message_not_found"


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({"channel": "C_NONE", "text": "x"}, "channel_not_found"),
        ({"channel": "C_RANDOM", "text": "x"}, "not_in_channel"),
        ({"channel": "C_OPS"}, "no_text"),
        ({"channel": "C_OPS", "text": "x", "thread_ts": "1.000001"}, "thread_not_found"),
        ({"channel": "C_OPS", "text": "x", "markdown_text": "x"}, "markdown_text_conflict"),
        ({"channel": "C_OPS", "text": "x" * 40_001}, "msg_too_long"),
        ({"channel": "C_OPS", "text": "x", "blocks": [{"type": "nonsense"}]}, "invalid_blocks"),
    ],
)
async def test_a_message_slack_would_not_take(
    client: AsyncWebClient, args: dict[str, Any], error: str
) -> None:
    assert await refusal(client.api_call("chat.postMessage", json=args)) == error


async def test_a_refused_payload_is_kept_with_its_reason(ws: Workspace, client: AsyncWebClient) -> None:
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel="C_OPS", text="x", blocks=[{"type": "nonsense"}])
    (refused,) = ws.refused
    assert refused.method == "chat.postMessage"
    assert caught.value.response["errors"] == refused.problems
    assert ws.messages("C_OPS") == []


async def test_an_update_may_hold_4000_characters_and_not_one_more(
    ws: Workspace, client: AsyncWebClient
) -> None:
    ts = (await client.chat_postMessage(channel="C_OPS", text="x" * 5000))["ts"]
    await client.chat_update(channel="C_OPS", ts=ts, text="y" * 4000)
    assert await refusal(client.chat_update(channel="C_OPS", ts=ts, text="y" * 4001)) == "msg_too_long"


async def test_only_its_own_messages_can_be_updated(ws: Workspace, client: AsyncWebClient) -> None:
    said = await ws.as_("U_ANN").say("C_OPS", "mine")
    assert await refusal(client.chat_update(channel="C_OPS", ts=said.ts, text="x")) == "cant_update_message"


async def test_an_ephemeral_message_is_seen_by_one_person_and_out_of_reach_after(
    ws: Workspace, client: AsyncWebClient
) -> None:
    ts = (await client.chat_postEphemeral(channel="C_OPS", user="U_ANN", text="only you"))["message_ts"]
    assert [m.text for m in ws.as_("U_ANN").sees("C_OPS")] == ["only you"]
    assert ws.as_("U_BEN").sees("C_OPS") == []
    assert await refusal(client.chat_update(channel="C_OPS", ts=ts, text="x")) == "message_not_found"
    assert (await client.conversations_history(channel="C_OPS"))["messages"] == []
    gone = client.chat_postEphemeral(channel="C_LEADS", user="U_CLEO", text="x")
    assert await refusal(gone) == "user_not_in_channel"


async def test_threads_come_back_in_order_and_metadata_when_asked(
    ws: Workspace, client: AsyncWebClient
) -> None:
    said = await ws.as_("U_ANN").say("C_OPS", "question")
    metadata = {"event_type": "card", "event_payload": {"id": "1"}}
    await client.chat_postMessage(channel="C_OPS", thread_ts=said.ts, text="answer", metadata=metadata)
    await ws.as_("U_BEN").say("C_OPS", "me too", thread_ts=said.ts)
    found = await client.conversations_replies(channel="C_OPS", ts=said.ts, include_all_metadata=True)
    assert [m["text"] for m in found["messages"]] == ["question", "answer", "me too"]
    assert found["messages"][0]["reply_count"] == 2
    assert found["messages"][1]["metadata"] == metadata
    without = await client.conversations_replies(channel="C_OPS", ts=said.ts)
    assert "metadata" not in without["messages"][1]


async def test_a_reply_cannot_be_the_root_of_a_thread(ws: Workspace, client: AsyncWebClient) -> None:
    root = await client.chat_postMessage(channel="C_OPS", text="root")
    reply = await client.chat_postMessage(channel="C_OPS", text="reply", thread_ts=root["ts"])
    nested = client.chat_postMessage(channel="C_OPS", text="x", thread_ts=reply["ts"])
    assert await refusal(nested) == "cannot_reply_to_message"


async def test_history_is_newest_first_and_comes_in_pages(client: AsyncWebClient) -> None:
    for n in range(3):
        await client.chat_postMessage(channel="C_OPS", text=str(n))
    first = await client.conversations_history(channel="C_OPS", limit=2)
    assert [m["text"] for m in first["messages"]] == ["2", "1"]
    cursor = first["response_metadata"]["next_cursor"]
    rest = await client.conversations_history(channel="C_OPS", limit=2, cursor=cursor)
    assert ([m["text"] for m in rest["messages"]], rest["has_more"]) == (["0"], False)


@pytest.mark.parametrize(
    ("user", "field"),
    [("U_GIL", "is_restricted"), ("U_DORA", "deleted"), ("U_ROBOT", "is_bot")],
)
async def test_users_info_says_who_is_no_full_member(client: AsyncWebClient, user: str, field: str) -> None:
    assert (await client.users_info(user=user))["user"][field] is True
    assert (await client.users_info(user="U_ANN"))["user"][field] is False


async def test_users_info_calls_nobody_a_stranger_who_shares_a_channel_with_the_app(
    client: AsyncWebClient,
) -> None:
    sam = (await client.users_info(user="U_SAM"))["user"]
    assert (sam["team_id"], sam["is_stranger"]) == ("T2", False)


async def test_people_groups_and_channels_can_be_looked_up(client: AsyncWebClient) -> None:
    assert await refusal(client.users_info(user="U_NONE")) == "user_not_found"
    assert (await client.usergroups_users_list(usergroup="S_OPS"))["users"] == ["U_BEN", "U_CLEO"]
    assert await refusal(client.usergroups_users_list(usergroup="S_NONE")) == "no_such_subteam"
    assert "U_ANN" in (await client.conversations_members(channel="C_OPS"))["members"]
    assert (await client.conversations_open(users="U_ANN"))["channel"]["id"] == "D_ANN"
    assert (await client.conversations_info(channel="C_LEADS"))["channel"]["is_private"] is True
    names = [c["name"] for c in (await client.conversations_list())["channels"]]
    assert names == ["ops", "general", "random"]


async def test_a_session_status_is_one_of_four_words(ws: Workspace, client: AsyncWebClient) -> None:
    said = await ws.as_("U_ANN").say("C_OPS", "work")
    await client.agents_sessions_setStatus(channel_id="C_OPS", thread_ts=said.ts, status="processing")
    assert ws.state.statuses[("C_OPS", said.ts)] == "processing"
    free = client.agents_sessions_setStatus(channel_id="C_OPS", thread_ts=said.ts, status="thinking…")
    assert await refusal(free) == "invalid_arguments"


async def test_a_reaction_is_given_once(ws: Workspace, client: AsyncWebClient) -> None:
    said = await ws.as_("U_ANN").say("C_OPS", "nice")
    await client.reactions_add(channel="C_OPS", timestamp=said.ts, name="eyes")
    again = client.reactions_add(channel="C_OPS", timestamp=said.ts, name="eyes")
    assert await refusal(again) == "already_reacted"
    await client.reactions_remove(channel="C_OPS", timestamp=said.ts, name="eyes")
    assert said.reactions == {"eyes": []}


async def test_blocks_can_be_validated_without_being_sent(ws: Workspace, client: AsyncWebClient) -> None:
    await client.blocks_validate(blocks=CARD)
    assert await refusal(client.blocks_validate(blocks=[{"type": "nonsense"}])) == "invalid_blocks"
    assert ws.refused == []


async def test_arguments_may_come_as_form_query_or_json(ws: Workspace) -> None:
    headers = {"Authorization": f"Bearer {INSTALLED.bot_token}"}
    args = {"channel": "C_OPS", "text": "x", "blocks": json.dumps(CARD)}
    url = ws.api_url + "chat.postMessage"
    async with aiohttp.ClientSession(headers=headers) as session:
        for sent in ({"data": args}, {"params": args}, {"json": {**args, "blocks": CARD}}):
            async with session.post(url, **sent) as response:
                assert (await response.json())["ok"] is True
        async with session.post(url, data="{", headers={"Content-Type": "application/json"}) as response:
            assert (await response.json())["error"] == "invalid_json"
    assert [len(m.blocks or []) for m in ws.messages("C_OPS")] == [1, 1, 1]


async def test_tokens_are_not_written_down(ws: Workspace, client: AsyncWebClient) -> None:
    await client.auth_test()
    await client.apps_connections_open(app_token=INSTALLED.app_token)
    async with aiohttp.ClientSession() as session:
        await session.post(ws.api_url + "auth.test", data={"token": INSTALLED.bot_token})
    assert not any(token in repr(ws.log) for token in (INSTALLED.bot_token, INSTALLED.app_token))


@pytest.fixture
async def limited() -> AsyncIterator[tuple[Workspace, list[float]]]:
    """A workspace that enforces rates, and its clock in seconds."""
    now = [1000.0]
    workspace = Workspace(
        INSTALLED, clock=lambda: now[0], ids=counted_ids(), options=Options(rate_limits=True)
    )
    await workspace.start()
    yield workspace, now
    await workspace.stop()


async def test_the_51st_update_of_a_minute_has_to_wait(limited: tuple[Workspace, list[float]]) -> None:
    ws, now = limited
    client = AsyncWebClient(INSTALLED.bot_token, base_url=ws.api_url, retry_handlers=[])
    ts = (await client.chat_postMessage(channel="C_OPS", text="0"))["ts"]
    for n in range(50):
        await client.chat_update(channel="C_OPS", ts=ts, text=str(n))
    with pytest.raises(SlackApiError) as caught:
        await client.chat_update(channel="C_OPS", ts=ts, text="51")
    assert caught.value.response.status_code == 429
    assert caught.value.response.headers["Retry-After"] == "60"
    now[0] += 60
    await client.chat_update(channel="C_OPS", ts=ts, text="later")


async def test_clock_and_ids_repeat_when_asked(limited: tuple[Workspace, list[float]]) -> None:
    ws, _ = limited
    first, second = [await ws.as_("U_ANN").say("C_OPS", "x") for _ in range(2)]
    assert (first.ts, second.ts) == ("1000.000000", "1000.000001")
    assert ws.state.ids("V").startswith("V0000")
