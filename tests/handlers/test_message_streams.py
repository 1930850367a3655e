"""Long answers in direct messages grow while they are read, and are whole and single in the end, whatever breaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.cards import Cards
from bot.message_streams import BEAT, LONGEST, PARTS, Streams, in_parts
from gate.rules.action import Session
from gate.rules.ids import derive_id
from gate.rules.messages import CardKey, CardKind
from gate.rules.planner_port import Implement, Mode, Say
from gate.rules.ports import Note
from gate.rules.settings import Switches
from handlers.slack.listener import To
from tests.handlers.test_slack_faults import FAULTS
from tests.slack_app import ANN, OPS, PATIENT, Edge, joined, noted
from tests.views.samples import buttons, parts, shown
from views import notices
from views.block_kit import Block
from workspace.faults import Fault, RateLimited, Refused, Slow
from workspace.state import Message

PARAGRAPHS = [f"Paragraph {n}. " + "The report has a long story to tell. " * 4 for n in range(9)]
LONG = "\n\n".join(paragraph.strip() for paragraph in PARAGRAPHS)
STREAM = ("chat.startStream", "chat.appendStream", "chat.stopStream")


async def asked(edge: Edge, text: str = LONG, channel: str = "") -> Message:
    """Ann asks, in direct messages unless said otherwise, and the planner says this. Not yet awaited."""
    edge.planner.script.append(Say(text))
    return await edge.ann.say(channel or edge.ann.im, "<@UBOT> what is in the report?")


async def answer(edge: Edge, said: Message) -> Message:
    """The one message of ours that answers, once nothing is under way."""
    await edge.ws.wait_for(lambda: edge.ws.by_app(said.channel, said.ts))
    await edge.settled()
    (message,) = edge.ws.by_app(said.channel, said.ts)
    return message


def note_of(said: Message) -> str:
    """The id of the note with the planner's first words."""
    turn = derive_id("turn", derive_id("task", f"T1:{said.channel}:{said.ts}"), 1, Mode.ACT)
    return derive_id("note", turn, 0, 0, "text")


def posted(text: str) -> str:
    """What people would see of an answer that is posted in one piece."""
    return shown(notices.message(Note("n", Session("T1", "D", "1.5"), "text", {"text": text})).blocks)


def is_whole(message: Message, text: str = LONG) -> bool:
    return shown(message.blocks) == posted(text) and message.stream is None


def steps(edge: Edge) -> list[str]:
    """The calls that show an answer, in order."""
    shows = (*STREAM, "chat.postMessage", "chat.update")
    return [entry.name.removeprefix("chat.") for entry in edge.ws.log if entry.name in shows]


async def test_a_long_answer_in_direct_messages_grows_into_what_would_have_been_posted(edge: Edge) -> None:
    message = await answer(edge, await asked(edge))
    assert is_whole(message)
    assert len(parts(message.blocks, "rich_text")) == len(PARAGRAPHS)
    assert steps(edge) == ["startStream", *["appendStream"] * 3, "stopStream"]
    sent = [entry.sent for name in STREAM for entry in edge.ws.calls(name)]
    assert "\n".join(map(shown, sent)).split() == LONG.split()


async def test_a_short_answer_is_posted_in_one_call(http: Edge) -> None:
    message = await answer(http, await asked(http, "It is short.\n\nAnd good."))
    assert shown(message.blocks) == "It is short.\nAnd good."
    assert steps(http) == ["postMessage"]


@pytest.mark.parametrize("text", [LONG, LONG.replace("\n\n", " ")], ids=["paragraphs", "one paragraph"])
async def test_in_a_channel_and_of_one_piece_nothing_is_streamed(http: Edge, text: str) -> None:
    channel = OPS if text == LONG else http.ann.im
    message = await answer(http, await asked(http, text, channel))
    assert is_whole(message, text)
    assert steps(http) == ["postMessage"]


async def test_nothing_in_a_stream_is_a_link_a_mention_or_a_heading(http: Edge) -> None:
    hostile = [
        "[your bank](https://evil.example/login) <https://evil.example|your bank> https://evil.example",
        "<@U_BEN> <!channel> # *Approved* by an admin ![](https://evil.example/pixel.png)",
        LONG,
    ]
    message = await answer(http, await asked(http, "\n\n".join(hostile)))
    assert shown(message.blocks).startswith("\n".join(hostile[:2]))
    for entry in (entry.sent for name in STREAM for entry in http.ws.calls(name)):
        assert "markdown_text" not in entry
        kinds = {part["type"] for part in parts(entry, "text") + parts(entry, "link") + parts(entry, "user")}
        assert kinds <= {"text"}
        assert not parts(entry, "markdown") + parts(entry, "image") + parts(entry, "mrkdwn")


def test_the_longest_stream_stays_under_four_minutes() -> None:
    assert PARTS * BEAT < LONGEST < 240


async def test_a_stream_that_takes_too_long_is_broken_off_and_its_message_made_whole(
    http: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.message_streams.LONGEST", 0.2)
    http.ws.faults.on("chat.appendStream", Slow(1.0))
    assert is_whole(await answer(http, await asked(http)))
    assert steps(http)[0] == "startStream"
    assert steps(http)[-1] == "update"


class Watching(Streams):
    """Reads the note before its first part is sent."""

    edge: Edge
    key: str
    read: Note | None = None

    async def begin(self, to: To, first: Sequence[Block]) -> str:
        self.read = await self.edge.ledger.note(self.key)
        return await super().begin(to, first)


async def test_the_whole_answer_is_on_the_record_before_its_first_part_is_sent(http: Edge) -> None:
    watching = Watching(http.cards._client, beat=0)
    http.cards.streams, watching.edge = watching, http
    http.planner.script.append(Say(LONG))
    said = await http.ann.say(http.ann.im, "what is in the report?")
    watching.key = note_of(said)
    assert is_whole(await answer(http, said))
    assert watching.read is not None
    assert watching.read.body["text"] == LONG


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "code", ["unknown_method", "not_allowed", "missing_scope", "channel_type_not_supported"]
)
async def test_a_workspace_without_streams_gets_one_message_and_is_not_asked_again(
    http: Edge, code: str
) -> None:
    http.ws.faults.on("chat.startStream", Refused(code))
    assert is_whole(await answer(http, await asked(http)))
    assert is_whole(await answer(http, await asked(http)))
    assert steps(http) == ["startStream", "postMessage", "postMessage"]


async def test_where_too_many_streams_begin_an_answer_is_posted_and_the_next_one_streamed(http: Edge) -> None:
    http.ws.faults.on("chat.startStream", RateLimited(30))
    assert is_whole(await answer(http, await asked(http)))
    assert steps(http) == ["startStream", "postMessage"]
    assert is_whole(await answer(http, await asked(http)))
    assert "stopStream" in steps(http)


@pytest.mark.slow(but=5)
@pytest.mark.parametrize("method", STREAM)
@pytest.mark.parametrize("fault", FAULTS)
async def test_whatever_breaks_the_answer_is_one_whole_message(
    hasty_http: Edge, method: str, fault: str
) -> None:
    breaks: Fault = FAULTS[fault]
    hasty_http.ws.faults.on(method, breaks)
    assert is_whole(await answer(hasty_http, await asked(hasty_http)))


class Dying(Streams):
    """Goes no further than the first part."""

    def __init__(self, client: AsyncWebClient) -> None:
        super().__init__(client)
        self.begun = asyncio.Event()

    async def end(self, *_: object) -> bool:
        self.begun.set()
        return await asyncio.Future()


@pytest.mark.slow
async def test_a_stream_of_a_process_that_died_is_made_whole_by_the_next_draw(http: Edge) -> None:
    client = http.cards._client
    http.cards.streams = dying = Dying(client)
    said = await asked(http)
    key = note_of(said)
    await dying.begun.wait()
    (half,) = http.ws.by_app(said.channel, said.ts)
    await http.pump.stop()
    row = await http.ledger.posted(key)
    assert row is not None
    assert (row.channel, row.ts, row.revision) == (said.channel, half.ts, 0)
    assert (half.stream or {})["stopped"] is False
    other = Cards(client, http.world.ledger, streams=Streams(client, beat=0))
    await other.draw(CardKey(CardKind.NOTE, key), 0.0, noted([]))
    assert await answer(http, said) is half
    assert is_whole(half)
    before = steps(http)
    assert before[-3:] == ["update", "stopStream", "update"]
    await other.draw(CardKey(CardKind.NOTE, key), 0.0, noted([]))
    assert steps(http) == before


@pytest.fixture
async def closing(ready_url: str, redis_url: str, unhurried: None) -> AsyncIterator[Edge]:
    """A Slack that closes each stream at once."""
    async with joined("http", ready_url, redis_url, replace(PATIENT, stream=0.0)) as running:
        yield running


async def test_a_stream_that_slack_has_closed_is_made_whole_by_an_update(closing: Edge) -> None:
    assert is_whole(await answer(closing, await asked(closing)))
    assert steps(closing) == ["startStream", "appendStream", "update"]


async def test_stop_in_slack_leaves_the_whole_answer_as_nothing_else_was_under_way(http: Edge) -> None:
    http.ws.faults.on("chat.appendStream", Slow(1.0))
    said = await asked(http)
    await http.ws.wait_for(lambda: http.ws.by_app(said.channel, said.ts))
    await http.ann.stop(said.channel, said.ts)
    assert is_whole(await answer(http, said))
    assert http.hints(ANN, said.channel) == []
    (event,) = http.ws.deliveries("agent_session_stopped")
    assert event.sent["event"]["streaming_message_ts"] == [http.ws.by_app(said.channel, said.ts)[0].ts]


async def test_the_button_under_a_long_answer_comes_with_its_end(http: Edge) -> None:
    http.switches = Switches(conversational=True)
    message = await answer(http, await asked(http))
    assert is_whole(replace(message, blocks=(message.blocks or [])[:-1]))
    (stop,) = http.ws.calls("chat.stopStream")
    assert buttons(stop.sent["blocks"]) == buttons(message.blocks) == ["task_implement"]
    http.planner.script.append(Implement(("Sign in with Google",)))
    await http.ann.click(message, "task_implement")
    await http.settled()
    (task,) = await http.ledger.tasks_of(Session("T1", message.channel, message.thread_ts or ""))
    assert task.requirements


@pytest.mark.parametrize(("count", "few"), [(1, 1), (2, 2), (3, 3), (7, 7), (30, 8)])
def test_parts_are_few_alike_and_together_the_message(count: int, few: int) -> None:
    text = "\n\n".join(f"{n}: " + "word " * 80 for n in range(count))
    blocks = notices.message(Note("n", Session("T1", "D", "1.5"), "text", {"text": text})).blocks
    button: dict[str, Any] = {"type": "actions", "elements": []}
    groups = in_parts([*blocks, button])
    assert [block for group in groups for block in group] == [*blocks, button]
    assert all(groups)
    assert len(groups) == few
