"""Carry out: at most once, byte for byte what was shown, and the honest word when nobody knows."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gate.actions import execute, expiry, resolve_unknown
from gate.rules.action_states import State
from gate.rules.canonical_json import parse
from gate.rules.ports import Unavailable
from gate.rules.tool import Answer, ToolSpec
from tests.gate.fake_tools import Desk
from tests.gate.gate_setup import ANN, BEN, FixedClock, Scene


async def approved(stage: Scene, tool: str = "write", **args: str):
    action = await stage.prepare(tool, **(args or {"path": "a.md", "content": "hello"}))
    assert (await stage.confirm(action)).code == "confirmed"
    return action


async def test_what_ran_is_byte_for_byte_what_was_shown(stage: Scene):
    action = await approved(stage)
    await stage.play()
    assert stage.desk.calls == [("write", parse(action.args))]


async def test_repeating_the_run_calls_nothing_again(stage: Scene):
    action = await approved(stage)
    for _ in range(3):
        await execute.execute(stage.world, action.id)
    assert len(stage.desk.calls) == 1


async def test_two_replicas_with_the_same_run_call_once(stage: Scene):
    action = await approved(stage)
    await asyncio.gather(*(execute.execute(stage.world, action.id) for _ in range(5)))
    assert len(stage.desk.calls) == 1


async def test_an_error_of_the_tool_is_told_as_such(stage: Scene):
    stage.desk.behave = "says no"
    action = await approved(stage)
    await stage.play()
    after = await stage.now(action.id)
    assert (after.state, after.outcome.text) == (State.FAILED, "There is no room on the desk.")
    assert after.inverse is None


async def test_a_tool_that_never_got_it_fails_without_having_run(stage: Scene):
    action = await approved(stage)
    stage.desk.behave = "absent"
    await stage.play()
    after = await stage.now(action.id)
    assert (after.state, after.outcome.kind) == (State.FAILED, "not_sent")


async def test_a_broken_line_is_unknown_and_is_never_tried_again(stage: Scene):
    stage.desk.behave = "breaks the line"
    action = await approved(stage)
    await stage.play()
    await stage.play(timers=True)
    await expiry.overdue(stage.world)
    await stage.play()
    assert (await stage.now(action.id)).state is State.UNKNOWN
    assert len(stage.desk.calls) == 1


@pytest.mark.parametrize(("happened", "state"), [(True, State.SUCCEEDED), (False, State.FAILED)])
async def test_a_person_settles_what_is_unknown_once(stage: Scene, happened: bool, state: State):
    stage.desk.behave = "breaks the line"
    action = await approved(stage)
    await stage.play()
    assert (
        await resolve_unknown.resolve(stage.world, stage.press(action, BEN), happened)
    ).code == "not_allowed"
    said = await asyncio.gather(
        *(resolve_unknown.resolve(stage.world, stage.press(action), happened) for _ in range(3))
    )
    assert sorted(s.code for s in said) == ["late", "late", "settled"]
    assert (await stage.now(action.id)).state is state


async def test_check_reads_how_it_stands_and_shows_it_to_who_asked(stage: Scene):
    stage.desk.behave = "breaks the line"
    action = await approved(stage)
    await stage.play()
    stage.desk.notes["a.md"] = "hello"
    assert (await resolve_unknown.check_by_press(stage.world, stage.press(action))).code == "checking"
    await stage.play()
    note = stage.wall.notes[-1]
    assert note.to == ANN
    assert "absent" in str(note.body["text"])
    assert (await stage.now(action.id)).state is State.UNKNOWN


async def test_a_dead_process_leaves_unknown_after_its_claim_and_not_before(stage: Scene):
    stage.desk.gate = asyncio.Event()
    action = await approved(stage)
    running = asyncio.create_task(execute.execute(stage.world, action.id))
    await asyncio.wait_for(stage.desk.entered.wait(), 5)
    await expiry.mark_unknown(stage.world, await stage.now(action.id))
    assert (await stage.now(action.id)).state is State.EXECUTING
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    stage.travel(61)
    await expiry.overdue(stage.world)
    after = await stage.now(action.id)
    assert after.state is State.UNKNOWN
    assert len(stage.desk.calls) == 1


async def test_the_late_truth_of_a_thawed_process_is_welcome(stage: Scene):
    stage.desk.gate = asyncio.Event()
    action = await approved(stage)
    running = asyncio.create_task(execute.execute(frozen(stage), action.id))
    await asyncio.wait_for(stage.desk.entered.wait(), 5)
    stage.travel(61)
    await expiry.overdue(stage.world)
    assert (await stage.now(action.id)).state is State.UNKNOWN
    stage.desk.gate.set()
    await asyncio.wait_for(running, 5)
    assert (await stage.now(action.id)).state is State.SUCCEEDED
    assert len(stage.desk.calls) == 1


def frozen(stage: Scene):
    """The world of a process that does not renew its claim, as one that is stopped."""

    class Stopped:
        now, uptime = stage.world.clock.now, stage.world.clock.uptime

        async def sleep(self, seconds: float) -> None:
            await asyncio.Event().wait()

    return replace(stage.world, clock=Stopped())


async def test_a_drifted_target_is_shown_again_and_not_run(stage: Scene):
    action = await approved(stage)
    stage.desk.notes["a.md"] = "somebody else was here"
    await stage.play()
    assert stage.desk.calls == []
    assert (await stage.now(action.id)).state is State.CANCELLED
    (fresh,) = await stage.ledger.pending(action.session.team, user=ANN)
    assert fresh.renews == action.id
    assert "-somebody else was here" in fresh.preview.diff
    assert (await stage.confirm(fresh)).code == "confirmed"
    await stage.play()
    assert stage.desk.notes == {"a.md": "hello"}


async def test_a_definition_that_changes_after_the_click_is_not_run(stage: Scene):
    action = await approved(stage)
    stage.desk.redefine("write")
    await stage.play()
    assert stage.desk.calls == []
    assert (await stage.now(action.id)).state is State.CANCELLED


async def test_a_result_outlives_a_database_that_is_away(stage: Scene):
    action = await approved(stage)
    begin, down = stage.ledger.begin, [5]

    def away(seconds: float | None = None):
        if stage.desk.calls and down[0]:
            down[0] -= 1
            raise Unavailable("gone for a while")
        return begin(seconds)

    stage.ledger.begin = away
    await execute.execute(stage.world, action.id)
    assert down == [0]
    assert (await stage.now(action.id)).state is State.SUCCEEDED
    assert len(stage.desk.calls) == 1


async def test_no_record_no_execution(stage: Scene):
    action = await approved(stage)

    def away(seconds: float | None = None):
        raise Unavailable("no database")

    begin, stage.ledger.begin = stage.ledger.begin, away
    with pytest.raises(Unavailable):
        await execute.execute(stage.world, action.id)
    stage.ledger.begin = begin
    assert stage.desk.calls == []
    assert (await stage.now(action.id)).state is State.APPROVED


async def test_what_cannot_be_written_down_does_not_run(stage: Scene, monkeypatch: pytest.MonkeyPatch):
    """The entry of its beginning is part of the claim: without the one there is not the other."""
    action = await approved(stage)

    async def full(*args: object) -> None:
        raise OSError("no space is left for the log")

    with monkeypatch.context() as broken:
        broken.setattr("storage.transaction.append", full)
        with pytest.raises(OSError, match="no space"):
            await execute.execute(stage.world, action.id)
    assert stage.desk.calls == []
    assert (await stage.now(action.id)).state is State.APPROVED
    await stage.play()
    assert len(stage.desk.calls) == 1


async def test_a_run_that_was_lost_is_found_by_the_janitor(stage: Scene):
    action = await approved(stage)
    stage.done.add(f"carry_out:{action.id}")
    await stage.play()
    stage.travel(40)
    assert await expiry.overdue(stage.world) == 1
    await stage.play()
    assert (await stage.now(action.id)).state is State.SUCCEEDED


class Turning(Desk):
    """A desk whose `write` is another tool by the next time it is listed, or by the time it is called."""

    turns = "listed"

    async def declared(self, server: str, tool: str) -> ToolSpec | None:
        if self.turns == "listed" and tool == "write":
            self.redefine("write")
        return await super().declared(server, tool)

    async def call(
        self, server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        if self.turns == "called" and tool == "write":
            self.redefine("write")
        return await super().call(server, tool, args, seconds, definition)


async def test_a_definition_that_is_another_one_when_listed_anew_is_not_claimed(stage: Scene):
    turning = Turning()
    stage.world = replace(stage.world, tools=turning)
    action = await approved(stage)
    await execute.execute(stage.world, action.id)
    after = await stage.now(action.id)
    assert (after.state, after.claim) == (State.CANCELLED, None)
    assert "definition changed after it was confirmed" in after.decision
    assert turning.calls == []


async def test_a_definition_that_changes_behind_the_claim_is_not_called(stage: Scene):
    turning = Turning()
    turning.turns = "called"
    stage.world = replace(stage.world, tools=turning)
    action = await approved(stage)
    await execute.execute(stage.world, action.id)
    after = await stage.now(action.id)
    assert (after.state, after.outcome.kind) == (State.FAILED, "not_sent")
    assert turning.calls == []


class StandingClock(FixedClock):
    def now(self):
        return datetime(2026, 1, 1, tzinfo=UTC)


async def test_a_call_that_was_seen_to_end_took_some_time_and_what_a_person_says_of_one_took_none(
    stage: Scene,
):
    """By that, Undo all knows what a person settled later."""
    stage.world = replace(stage.world, clock=StandingClock())
    action = await approved(stage)
    await stage.play()
    assert (await stage.now(action.id)).outcome.took_ms == 1
    stage.desk.behave = "breaks the line"
    lost = await approved(stage, path="b.md", content="hello")
    await stage.play()
    press = stage.press(await stage.now(lost.id))
    assert (await resolve_unknown.resolve(stage.world, press, happened=True)).ok
    assert (await stage.now(lost.id)).outcome.took_ms == 0
