"""What comes of what an action has begun is told in its thread: once, within bounds, and only while it may be read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bot.job_routes import jobs
from gate.actions import result_review, undo
from gate.actions.follow import MOST_FAILURES, MOST_LINES, MOST_MESSAGES, NOT_FREE
from gate.rules.action import Action, CallClass
from gate.rules.action_states import State
from gate.rules.jobs import Run
from gate.rules.policy import Rule
from gate.rules.ports import Note
from gate.rules.reviews import Phase
from gate.rules.tool import Answer, Follow, Read, ServerUnavailable
from tests.gate.gate_setup import Scene
from tests.gate.tasks.test_task_step_review import reviewing

News = dict[str, str]


def said(text: str, mark: str = "") -> News:
    return {"text": text, "mark": mark or text}


class Watched:
    """The desk's notes, watched since an action: each look gives what `news` holds then."""

    def __init__(self, stage: Scene) -> None:
        self.stage, self.looks = stage, 0
        self.news: list[News] | None = []
        self.over = ""
        self.error = ""
        write, look = (stage.desk.specs_now[name] for name in ("write", "look"))
        follow = Follow(Read("changes", {"path": "{args.path}"}), "Changes in {args.path}", 8)
        stage.desk.specs_now["write"] = replace(write, recipe=replace(write.recipe, follow=follow))
        stage.desk.specs_now["changes"] = replace(look, name="changes", definition="d-changes")
        self._before = stage.desk.call
        stage.desk.call = self._call  # type: ignore[method-assign]

    async def _call(self, server: str, tool: str, args: bytes, *more: Any) -> Answer:
        if tool != "changes":
            return await self._before(server, tool, args, *more)
        assert json.loads(args) == {"path": "inbox"}
        self.looks += 1
        found = {"news": self.news, "over": self.over}
        return Answer(self.error or "", None if self.error else found, is_error=bool(self.error))

    async def begin(self) -> Action:
        action = await self.stage.prepare(path="inbox", content="x")
        await self.stage.confirm(action)
        await self.stage.play()
        return await self.stage.now(action.id)

    @property
    def due(self) -> list[Run]:
        """The looks that are asked for and have not been made."""
        return [run for run in self.stage.runs if run.name == "follow" and run.key not in self.stage.done]

    async def look(self, *news: News) -> list[Note]:
        """The next look, which finds this; what is told of it."""
        self.news = list(news)
        (run,) = self.due
        before = await self.notes()
        for _ in range(2):  # as after a crash: what is told twice is told once
            await jobs(self.stage.world)["follow"].work(*run.args)
        self.stage.done.add(run.key)
        await self.stage.play()
        return [note for note in await self.notes() if note not in before]

    async def notes(self) -> list[Note]:
        keys = [run.args[1] for run in self.stage.runs if run.name == "card" and run.args[0] == "note"]
        found = [await self.stage.ledger.note(key) for key in dict.fromkeys(keys)]
        return [note for note in found if note and note.kind == "news"]


@pytest.fixture
def watched(stage: Scene) -> Watched:
    return Watched(stage)


async def test_what_is_new_is_told_once_in_the_thread_of_the_action(watched: Watched) -> None:
    action = await watched.begin()
    assert [run.delay for run in watched.due] == [30.0]
    assert await watched.look() == []
    (note,) = await watched.look(said("a.md (added)"), said("b.md (changed)", "b1"))
    assert note.session == action.session
    assert note.body == {"title": "Changes in inbox", "lines": ["a.md (added)", "b.md (changed)"], "end": ""}
    assert await watched.look(said("a.md (added)"), said("b.md (changed)", "b1")) == []
    (again,) = await watched.look(said("a.md (added)"), said("b.md (changed)", "b2"))
    assert again.body["lines"] == ["b.md (changed)"]
    assert await watched.look() == []
    (back,) = await watched.look(said("a.md (added)"))
    assert back.body["lines"] == ["a.md (added)"]
    lines = await watched.stage.ledger.audit_tail(team=action.session.team, limit=20)
    told = [line.entry for line in lines if line.entry.event == "news"]
    assert [one.result for one in reversed(told)] == [
        "a.md (added) b.md (changed)",
        "b.md (changed)",
        "a.md (added)",
    ]
    assert {(one.action, one.requester) for one in told} == {(action.id, action.requester)}


async def test_a_tool_without_such_a_recipe_is_not_followed(stage: Scene) -> None:
    action = await stage.prepare(path="inbox", content="x")
    await stage.confirm(action)
    await stage.play()
    assert [run for run in stage.runs if run.name == "follow"] == []


async def test_an_action_that_failed_is_not_followed(watched: Watched) -> None:
    watched.stage.desk.behave = "absent"
    assert (await watched.begin()).state is State.FAILED
    assert watched.due == []


async def test_busy_news_come_less_and_less_often_and_quiet_ones_bring_the_pace_back(
    watched: Watched,
) -> None:
    await watched.begin()
    pauses = []
    for number in range(6):
        await watched.look(said(f"{number}.md (added)"))
        pauses += [run.delay for run in watched.due]
    assert pauses == [60.0, 120.0, 240.0, 480.0, 480.0, 480.0]
    await watched.look()
    assert [run.delay for run in watched.due] == [30.0]


async def test_it_ends_with_a_last_message_after_as_many_as_anybody_reads(watched: Watched) -> None:
    await watched.begin()
    for number in range(MOST_MESSAGES - 1):
        (note,) = await watched.look(said(f"{number}.md (added)"))
        assert note.body["end"] == ""
    (last,) = await watched.look(said("last.md (added)"))
    assert "Ask again to go on." in str(last.body["end"])
    assert watched.due == []


async def test_a_flood_of_news_is_one_message_that_counts_the_rest(watched: Watched) -> None:
    await watched.begin()
    (note,) = await watched.look(*[said(f"{number}{'x' * 1_000}") for number in range(2_000)])
    lines = note.body["lines"]
    assert isinstance(lines, list)
    assert lines[-1] == f"and {2_000 - MOST_LINES:,} more"
    assert len(json.dumps(dict(note.body))) < 25_000
    assert all(len(run.args[2]) < 300_000 for run in watched.due)


async def test_it_ends_with_its_hours(watched: Watched) -> None:
    await watched.begin()
    watched.stage.travel(8 * 3600 - 60)
    assert await watched.look() == []
    watched.stage.travel(61)
    (note,) = await watched.look(said("a.md (added)"))
    assert note.body["lines"] == ["a.md (added)"]
    assert note.body["end"] == "8 hours are over. Ask again to go on."
    assert watched.due == []


async def test_it_ends_without_a_word_where_the_action_was_undone(watched: Watched) -> None:
    action = await watched.begin()
    assert (await undo.request_undo(watched.stage.world, watched.stage.press(action))).ok
    await watched.stage.play()
    assert (await watched.stage.now(action.id)).state is State.UNDONE
    assert await watched.look(said("a.md (added)")) == []
    assert watched.looks == 0
    assert watched.due == []


async def test_it_waits_for_the_end_of_an_undo(watched: Watched) -> None:
    action, desk = await watched.begin(), watched.stage.desk
    desk.entered.clear()
    desk.gate = asyncio.Event()
    assert (await undo.request_undo(watched.stage.world, watched.stage.press(action))).ok
    (run,) = watched.due
    undoing = asyncio.create_task(watched.stage.play())
    await desk.entered.wait()
    assert (await watched.stage.now(action.id)).state is State.UNDOING
    await jobs(watched.stage.world)["follow"].work(*run.args)
    watched.stage.done.add(run.key)
    desk.gate.set()
    await undoing
    assert [due.args[1] for due in watched.due] == ["2"]
    assert await watched.look(said("a.md (added)")) == []
    assert (watched.looks, watched.due) == (0, [])


def deny(stage: Scene) -> None:
    stage.rule(Rule("no", ("desk.changes",), deny=True))


def ask_each_time(stage: Scene) -> None:
    stage.rule(Rule("ask", ("desk.changes",), at_least=CallClass.WRITE))


def take_away(stage: Scene) -> None:
    del stage.desk.specs_now["changes"]


@pytest.mark.parametrize(
    ("change", "why"),
    [(deny, "no"), (ask_each_time, NOT_FREE), (take_away, "There is no tool called desk.changes.")],
)
async def test_it_ends_with_the_reason_where_it_may_not_be_read_any_more(
    watched: Watched, change: Callable[[Scene], None], why: str
) -> None:
    await watched.begin()
    change(watched.stage)
    (note,) = await watched.look(said("a.md (added)"))
    assert why in str(note.body["end"])
    assert note.body["lines"] == []
    assert watched.looks == 0
    assert watched.due == []


async def test_somebody_who_has_left_is_told_nothing(watched: Watched) -> None:
    action = await watched.begin()
    people = watched.stage.directory.people
    people[action.requester] = replace(people[action.requester], is_deleted=True)
    (note,) = await watched.look(said("a.md (added)"))
    assert note.body["lines"] == []
    assert watched.looks == 0


async def test_a_server_that_says_it_is_over_ends_it(watched: Watched) -> None:
    await watched.begin()
    watched.over = "It is not watched any more."
    (note,) = await watched.look()
    assert note.body["end"] == "It is not watched any more."
    assert watched.due == []


async def test_looks_that_fail_are_tried_again_and_then_it_says_why_it_ends(watched: Watched) -> None:
    await watched.begin()
    watched.error = "inbox does not exist."
    for _ in range(MOST_FAILURES - 2):
        assert await watched.look() == []
    watched.error = ""
    (between,) = await watched.look(said("a.md (added)"))
    assert between.body["end"] == ""
    watched.error = "inbox does not exist."
    for _ in range(MOST_FAILURES - 1):
        assert await watched.look() == []
    (note,) = await watched.look()
    assert note.body["end"] == "inbox does not exist."


async def test_a_server_that_is_away_for_a_while_ends_nothing(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    await watched.begin()

    async def away(server: str, tool: str) -> None:
        raise ServerUnavailable("desk is not connected")

    with monkeypatch.context() as patch:
        patch.setattr(watched.stage.desk, "declared", away)
        for _ in range(MOST_FAILURES - 1):
            assert await watched.look() == []
    (note,) = await watched.look(said("a.md (added)"))
    assert (note.body["lines"], note.body["end"]) == (["a.md (added)"], "")
    monkeypatch.setattr(watched.stage.desk, "declared", away)
    for _ in range(MOST_FAILURES - 1):
        assert await watched.look() == []
    (last,) = await watched.look()
    assert last.body["end"] == "Desk is not connected."


async def test_a_tool_that_is_gone_ends_it(watched: Watched) -> None:
    await watched.begin()
    del watched.stage.desk.specs_now["write"]
    (note,) = await watched.look()
    assert note.body["end"] == "“Write” does not say any more what to look at."


@pytest.mark.parametrize("news", [None, "a.md", {"a": 1}, 3])
async def test_a_result_that_is_no_list_of_news_ends_it(watched: Watched, news: Any) -> None:
    await watched.begin()
    watched.news = news
    (run,) = watched.due
    await jobs(watched.stage.world)["follow"].work(*run.args)
    await watched.stage.play()
    (note,) = await watched.notes()
    assert "not what can be told" in str(note.body["end"])


async def test_a_result_under_review_is_followed_once_it_is_released(watched: Watched) -> None:
    reviewing(watched.stage, Phase.AFTER, "desk.write")
    action = await watched.begin()
    assert action.under_review
    assert watched.due == []
    assert (await result_review.approve(watched.stage.world, watched.stage.press(action))).ok
    await watched.stage.play()
    (note,) = await watched.look(said("a.md (added)"))
    assert note.body["lines"] == ["a.md (added)"]
