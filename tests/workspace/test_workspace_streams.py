"""Streamed messages as the real SDK sends them: they grow, and end by the app, by Slack's clock or by a person."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.models.messages.chunk import BlocksChunk, MarkdownTextChunk
from slack_sdk.web.async_client import AsyncWebClient

from tests.workspace.bolt_apps import INSTALLED
from workspace.context import Options
from workspace.delivery import Timing
from workspace.faults import NotPossible
from workspace.server import Workspace
from workspace.state import Message, Seed, State, random_ids, restore, save

BUTTONS = [
    {
        "type": "actions",
        "elements": [{"type": "button", "action_id": "ok", "text": {"type": "plain_text", "text": "OK"}}],
    }
]


def prose(*texts: str) -> list[dict[str, Any]]:
    """A block of rich text for each."""
    return [
        {
            "type": "rich_text",
            "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}],
        }
        for text in texts
    ]


def chunk(*texts: str) -> list[dict[str, Any]]:
    return [BlocksChunk(blocks=prose(*texts)).to_dict()]


@dataclass
class Direct:
    """Ann's direct messages with the app, where she has asked for something; at a time that the test sets."""

    ws: Workspace
    client: AsyncWebClient
    asked: Message
    time: list[float]

    @property
    def place(self) -> dict[str, str]:
        return {"channel": self.asked.channel, "thread_ts": self.asked.ts}

    @property
    def answer(self) -> Message:
        (message,) = self.ws.by_app(self.asked.channel, self.asked.ts)
        return message

    async def start(self, **given: Any) -> dict[str, str]:
        """Channel and ts of a new stream."""
        begun = await self.client.chat_startStream(**self.place, **given)
        return {"channel": begun["channel"], "ts": begun["ts"]}


@pytest.fixture
async def direct() -> AsyncIterator[Direct]:
    time = [1_800_000_000.0]
    ws = Workspace(INSTALLED, clock=lambda: time[0], options=Options(Timing(retries=()), rate_limits=True))
    await ws.start()
    ann = ws.as_("U_ANN")
    client = AsyncWebClient(INSTALLED.bot_token, base_url=ws.api_url, retry_handlers=[])
    yield Direct(ws, client, await ann.say(ann.im, "what is new?"), time)
    await ws.stop()


async def refusal(call: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


async def test_a_stream_of_text_grows_into_one_markdown_block_with_buttons_below(direct: Direct) -> None:
    at = await direct.start(markdown_text="**hello wo")
    await direct.client.chat_appendStream(**at, markdown_text="rld!**")
    metadata = {"event_type": "answer", "event_payload": {"key": "1"}}
    stopped = await direct.client.chat_stopStream(**at, blocks=BUTTONS, metadata=metadata)
    text, buttons = direct.answer.blocks or []
    assert (text["type"], text["text"]) == ("markdown", "**hello world!**")
    assert buttons["type"] == "actions"
    assert stopped["message"]["text"].startswith("**hello world!**")
    assert direct.answer.metadata == metadata


async def test_a_stream_of_chunks_takes_blocks_and_text(direct: Direct) -> None:
    at = await direct.start(chunks=chunk("one"))
    await direct.client.chat_appendStream(**at, chunks=[MarkdownTextChunk(text="two"), *chunk("three")])
    await direct.client.chat_stopStream(**at)
    assert [block["type"] for block in direct.answer.blocks or []] == ["rich_text", "markdown", "rich_text"]
    assert direct.answer.text == "one\ntwo\nthree"


async def test_the_page_hears_of_each_part_and_of_the_end(direct: Direct) -> None:
    shown = []

    async def look() -> None:
        async with aiohttp.request("GET", f"{direct.ws.url}/ui/state?as=U_ANN") as state:
            message = (await state.json())["messages"][direct.asked.channel][1]
        shown.append((message["blocks"][0]["text"], message["stream"]))

    at = await direct.start(markdown_text="a")
    await look()
    before = direct.ws.state.rev
    await direct.client.chat_appendStream(**at, markdown_text="b")
    assert direct.ws.state.rev > before
    await look()
    await direct.client.chat_stopStream(**at, markdown_text="c")
    await look()
    assert shown == [("a", "open"), ("ab", "open"), ("abc", "")]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"markdown_text": "a", "chunks": chunk("b")}, "cannot_provide_both_markdown_text_and_chunks"),
        ({"markdown_text": "a" * 12_001}, "msg_too_long"),
        ({"chunks": [{"type": "blocks", "blocks": [{"type": "nothing"}]}]}, "invalid_blocks"),
        ({"chunks": [{"type": "song"}]}, "invalid_chunks"),
        ({"chunks": "a"}, "invalid_chunks"),
        ({"thread_ts": ""}, "invalid_arguments"),
        ({"thread_ts": "1.5"}, "thread_not_found"),
        ({"channel": "C_NOWHERE"}, "channel_not_found"),
    ],
)
async def test_a_stream_that_breaks_a_rule_does_not_begin(
    direct: Direct, given: dict[str, Any], error: str
) -> None:
    assert await refusal(direct.client.chat_startStream(**{**direct.place, **given})) == error
    assert direct.ws.by_app(direct.asked.channel) == []


async def test_in_a_channel_a_stream_needs_the_person_who_sees_it(direct: Direct) -> None:
    asked = await direct.ws.as_("U_ANN").say("C_OPS", "<@UBOT> hello")
    place = {"channel": "C_OPS", "thread_ts": asked.ts, "markdown_text": "hello"}
    start = direct.client.chat_startStream
    assert await refusal(start(**place)) == "missing_recipient_team_id"
    assert await refusal(start(**place, recipient_team_id="T1")) == "missing_recipient_user_id"
    whom = {"recipient_team_id": "T1", "recipient_user_id": "U_ANN"}
    assert (await start(**place, **whom))["ok"]
    assert await refusal(start(**place, **whom | {"recipient_user_id": "U_NOBODY"})) == "user_not_found"


@pytest.mark.parametrize("first", [{}, {"markdown_text": "a"}])
async def test_the_first_call_fixes_the_mode(direct: Direct, first: dict[str, Any]) -> None:
    at = await direct.start(**first)
    assert (
        await refusal(direct.client.chat_appendStream(**at, chunks=chunk("b"))) == "streaming_mode_mismatch"
    )
    assert await refusal(direct.client.chat_stopStream(**at, chunks=[])) == "streaming_mode_mismatch"
    assert (await direct.client.chat_appendStream(**at, markdown_text="b"))["ok"]
    other = await direct.start(chunks=[])
    append = direct.client.chat_appendStream(**other, markdown_text="b")
    assert await refusal(append) == "streaming_mode_mismatch"


async def test_nothing_is_no_text_to_append(direct: Direct) -> None:
    at = await direct.start(markdown_text="a")
    assert await refusal(direct.client.chat_appendStream(**at)) == "no_text"


@pytest.mark.parametrize(
    ("pauses", "left"), [((31,), "a"), ((20,) * 15, "a" + "b" * 14)], ids=["idle", "long"]
)
async def test_slack_closes_a_stream_that_is_idle_or_too_long(
    direct: Direct, pauses: tuple[float, ...], left: str
) -> None:
    at, client = await direct.start(markdown_text="a"), direct.client
    for pause in pauses[:-1]:
        direct.time[0] += pause
        await client.chat_appendStream(**at, markdown_text="b")
        assert await refusal(client.chat_update(**at, text="whole")) == "streaming_state_conflict"
    direct.time[0] += pauses[-1]
    append = client.chat_appendStream(**at, markdown_text="b")
    assert await refusal(append) == "message_not_in_streaming_state"
    assert await refusal(client.chat_stopStream(**at)) == "message_not_in_streaming_state"
    assert (direct.answer.blocks or [{}])[0]["text"] == left
    await client.chat_update(**at, text="whole")
    assert (direct.answer.text, direct.answer.stream) == ("whole", None)


async def test_a_stopped_or_posted_message_is_no_stream(direct: Direct) -> None:
    at, client = await direct.start(markdown_text="a"), direct.client
    await client.chat_stopStream(**at)
    posted = await client.chat_postMessage(**direct.place, text="posted")
    for ts in (at["ts"], posted["ts"]):
        append = client.chat_appendStream(channel=at["channel"], ts=ts, markdown_text="b")
        assert await refusal(append) == "message_not_in_streaming_state"
    assert await refusal(client.chat_stopStream(channel=at["channel"], ts="1.5")) == "message_not_found"
    other = client.chat_stopStream(channel=at["channel"], ts=direct.asked.ts)
    assert await refusal(other) == "message_not_owned_by_app"


async def test_a_person_stops_a_stream_once_and_the_app_hears_which(direct: Direct) -> None:
    at, ann = await direct.start(markdown_text="a"), direct.ws.as_("U_ANN")
    await ann.stop(direct.asked.channel, direct.asked.ts)
    append = direct.client.chat_appendStream(**at, markdown_text="b")
    assert await refusal(append) == "stopped_by_user"
    assert await refusal(direct.client.chat_stopStream(**at)) == "stopped_by_user"
    (told,) = await direct.ws.wait_for(lambda: direct.ws.deliveries("agent_session_stopped"))
    assert told.sent["event"]["streaming_message_ts"] == [at["ts"]]
    with pytest.raises(NotPossible):
        await ann.stop(direct.asked.channel, direct.asked.ts)
    await direct.client.chat_update(**at, text="whole")
    assert direct.answer.text == "whole"


async def test_no_more_than_twenty_streams_begin_in_a_minute(direct: Direct) -> None:
    for _ in range(20):
        await direct.start(markdown_text="a")
    assert await refusal(direct.client.chat_startStream(**direct.place)) == "ratelimited"


async def test_a_stream_survives_a_restart_of_the_workspace(direct: Direct, tmp_path: Any) -> None:
    await direct.start(markdown_text="half of")
    after = State(Seed(), lambda: direct.time[0], random_ids())
    await save(direct.ws.state, tmp_path / "messages.jsonl")
    restore(after, tmp_path / "messages.jsonl")
    assert after.messages == direct.ws.state.messages
    assert direct.answer.stream
