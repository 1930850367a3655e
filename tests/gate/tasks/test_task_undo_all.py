"""Undo of a whole plan: from the last step to the first, each once, stopping honestly where it does not go on."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from gate.actions import claim_click, undo
from gate.actions.button_press import Press, PressResult, TaskPress
from gate.rules.action import Ref
from gate.rules.action_states import State
from gate.rules.plans import is_taken_back
from gate.rules.policy import Rule
from gate.rules.reviews import Phase
from gate.rules.task import StepState, Task
from gate.rules.task_states import TaskState as S
from gate.rules.tool import OutcomeUnknown
from gate.tasks import control, feedback, plan, step_review, task_runner, undo_all
from tests.gate.gate_setup import ANN, BEN, GIL, TEAM, Scene
from tests.gate.plan_setup import (
    approved,
    call,
    confirmed,
    keep,
    look,
    on_pause,
    on_plan,
    only,
    planned,
    pressed,
    proposes,
    settled,
    steps,
    twice,
    waiting,
    write,
    wrote,
)
from tests.gate.tasks.test_task_step_review import reviewing
from views.task_progress import headline

DONE, SKIPPED = StepState.DONE, StepState.SKIPPED


async def done(stage: Scene, *steps):
    stage.desk.notes |= {"a.md": "old a", "b.md": "old b"}
    task = await planned(stage, *(steps or (write("a.md"), look("a.md"), write("b.md"))))
    task = await approved(stage, task)
    assert task.state is S.SATISFACTION
    return task


async def test_everything_is_taken_back_from_the_last_to_the_first(stage: Scene):
    task = await done(stage)
    assert (await pressed(stage, undo_all.undo_all, on_plan(task))).ok
    assert stage.desk.notes == {"a.md": "old a", "b.md": "old b"}
    assert wrote(stage) == ["a.md", "b.md", "b.md", "a.md"]
    task = await only(stage)
    assert task.plan
    assert task.plan.undoing == ""
    assert task.plan.undone == "Taken back: step 3 (Write b.md); step 1 (Write a.md)."
    assert stage.texts == []  # the card of the plan says it
    assert await stage.ledger.undoable(TEAM) == ()


async def test_the_result_that_is_asked_about_says_what_was_taken_back(stage: Scene):
    task = await done(stage)
    assert task.plan
    told = "3 of 3 steps done: Wrote a.md; Looked a.md; Wrote b.md."
    assert task.result == told
    last = await stage.now(task.plan.steps[2].action)
    assert (await undo.request_undo(stage.world, stage.press(last))).ok
    await stage.play()
    assert (await only(stage)).result == f"{told} Taken back: step 3 (Write b.md)."
    assert (await pressed(stage, undo_all.undo_all, on_plan(await only(stage)))).ok
    task = await only(stage)
    assert task.result == "Taken back: step 3 (Write b.md); step 1 (Write a.md)."
    assert task.state is S.SATISFACTION


async def test_a_plan_whose_steps_were_each_taken_back_is_taken_back_whole(stage: Scene):
    task = await done(stage)
    assert task.plan
    for step in (task.plan.steps[2], task.plan.steps[0]):
        assert (await undo.request_undo(stage.world, stage.press(await stage.now(step.action)))).ok
        await stage.play()
    task = await only(stage)
    assert task.plan
    assert task.plan.undone == task.result == "Taken back: step 3 (Write b.md); step 1 (Write a.md)."


@pytest.mark.slow
async def test_pressing_twice_takes_back_once(both: Scene):
    task = await done(both)
    assert all(said.ok for said in await twice(undo_all.undo_all, both, on_plan(task)))
    await both.play()
    await pressed(both, undo_all.undo_all, on_plan(task))
    assert wrote(both) == ["a.md", "b.md", "b.md", "a.md"]


async def test_it_stops_where_something_was_changed_since_and_asks_there(stage: Scene):
    task = await done(stage)
    stage.desk.notes["a.md"] = "newer work of somebody"
    await pressed(stage, undo_all.undo_all, on_plan(task))
    assert stage.desk.notes == {"a.md": "newer work of somebody", "b.md": "old b"}
    task = await only(stage)
    assert task.plan
    assert task.plan.undone.startswith(
        "Taken back: step 3 (Write b.md). Step 1 (Write a.md) was not: it was changed"
    )
    action = await waiting(stage)
    assert any("Changed since" in note for note in action.preview.notes)
    await confirmed(stage, action)
    assert stage.desk.notes == {"a.md": "old a", "b.md": "old b"}


async def test_it_stops_at_what_cannot_be_taken_back_and_leaves_the_rest(stage: Scene):
    task = await approved(stage, await planned(stage, write("a.md"), call("poke", at="x"), write("b.md")))
    task = await confirmed(stage)
    await pressed(stage, control.resume, on_pause(task))  # what nobody has reviewed comes from outside
    await pressed(stage, undo_all.undo_all, on_plan(task))
    task = await only(stage)
    assert task.plan
    assert task.plan.undone.startswith("Taken back: step 3 (Write b.md). Step 2 (")
    assert "no way back" in task.plan.undone
    assert task.plan.undone.endswith("Left as before: step 1 (Write a.md).")
    assert "a.md" in stage.desk.notes


async def test_a_failing_undo_stops_it_and_a_second_press_goes_on(stage: Scene):
    task = await done(stage)
    stage.desk.behave = "says no"
    await pressed(stage, undo_all.undo_all, on_plan(task))
    now = await only(stage)
    assert now.plan
    assert "taking it back failed: “There is no room" in now.plan.undone
    assert stage.desk.notes == {"a.md": "new", "b.md": "new"}
    stage.desk.behave = "well"
    assert (await pressed(stage, undo_all.undo_all, on_plan(task))).ok
    assert stage.desk.notes == {"a.md": "old a", "b.md": "old b"}


async def test_what_a_tool_says_of_a_failed_undo_is_quoted_and_calls_nobody(stage: Scene):
    task = await done(stage)
    stage.desk.behave = "says no"
    stage.desk.refusal = (
        "done.\n\n:tada: *All steps were taken back.* <@U0BOSS> please pay <!subteam^S0ALL> `x`"
    )
    await pressed(stage, undo_all.undo_all, on_plan(task))
    now = await only(stage)
    assert now.plan
    assert (
        "“done. :tada∶ ∗All steps were taken back.∗ ‹@U0BOSS› please pay ‹!subteam^S0ALL› 'x'”"
        in now.plan.undone
    )
    assert not re.search(r"[<*`\n]|:\w+:", now.plan.undone)


async def test_an_undo_of_unknown_outcome_stops_it(stage: Scene):
    task = await done(stage)
    stage.desk.behave = "breaks the line"
    await pressed(stage, undo_all.undo_all, on_plan(task))
    now = await only(stage)
    assert now.plan
    assert "nobody knows whether taking it back worked" in now.plan.undone
    assert stage.desk.notes["a.md"] == "new"


async def test_what_was_taken_back_by_its_own_button_is_left_out(stage: Scene):
    task = await done(stage)
    assert task.plan
    action = await stage.now(task.plan.steps[2].action)
    await undo.request_undo(stage.world, Press(Ref(action.id, action.version, ""), TEAM, ANN))
    await pressed(stage, undo_all.undo_all, on_plan(await only(stage)))
    assert wrote(stage) == ["a.md", "b.md", "b.md", "a.md"]
    assert (await stage.now(action.id)).state is State.UNDONE


@pytest.mark.slow
async def test_nobody_else_takes_it_back_and_an_admin_may(stage: Scene):
    task = await done(stage)
    for user in (BEN, GIL):
        assert (await pressed(stage, undo_all.undo_all, on_plan(task, user))).code == "not_allowed"
    stage.rule(admins=frozenset({BEN}))
    assert (await pressed(stage, undo_all.undo_all, on_plan(task, BEN))).ok
    assert stage.desk.notes == {"a.md": "old a", "b.md": "old b"}


async def test_not_before_the_end_and_not_where_nothing_was_changed(stage: Scene):
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md", ask=True)))
    assert (await pressed(stage, undo_all.undo_all, on_plan(task))).code == "running"
    task = await confirmed(stage)
    press = on_plan(task)
    forged = replace(press, ref=replace(press.ref, receipt="0" * 16))
    assert (await pressed(stage, undo_all.undo_all, forged)).code == "stale"


async def test_only_reads_leave_nothing_to_take_back(stage: Scene):
    task = await approved(stage, await planned(stage, look("a.md")))
    assert (await pressed(stage, undo_all.undo_all, on_plan(task))).code == "no_undo"


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("times", [2, 3])
async def test_runs_at_once_and_again_take_back_each_step_once(both: Scene, times: int):
    task = await done(both)
    await undo_all.undo_all(both.world, on_plan(task))
    for _ in range(6):
        await asyncio.gather(*(task_runner.run_task(both.world, task.id) for _ in range(times)))
        await both.play()
        both.done.clear()
    assert wrote(both) == ["a.md", "b.md", "b.md", "a.md"]


async def test_needs_changes_waits_until_everything_is_back(stage: Scene):
    """Somebody asks for changes while the steps are being taken back."""
    task = await done(stage)
    await undo_all.undo_all(stage.world, on_plan(task))
    await stage.say("do c.md as well", mentioned=False)
    assert stage.desk.notes == {"a.md": "old a", "b.md": "old b"}


@pytest.mark.parametrize("how", ["says no", "changed since"])
async def test_what_is_private_is_taken_back_as_privately(stage: Scene, how: str):
    stage.rule(Rule("quiet", ("desk.write",), private=True))
    stage.desk.notes["a.md"] = "old a"
    await approved(stage, await planned(stage, write("a.md")))
    task = await confirmed(stage)
    if how == "says no":
        stage.desk.behave = how
    else:
        stage.desk.notes["a.md"] = "newer work of somebody"
    await pressed(stage, undo_all.undo_all, on_plan(task))
    (shown,) = [one for one in stage.wall.cards.values() if one.undoes]
    assert shown.private
    assert stage.desk.refusal not in str([stage.texts, await only(stage)])


@pytest.mark.parametrize("private", ["desk.write", "desk.put_back"])
async def test_why_what_is_private_is_not_taken_back_is_told_to_whoever_takes_it_back(
    stage: Scene, private: str
):
    stage.rule(Rule("quiet", (private,), private=True))
    stage.desk.notes["a.md"] = "old a"
    await approved(stage, await planned(stage, write("a.md")))
    task = await confirmed(stage) if private == "desk.write" else await only(stage)
    stage.rule(Rule("nobody may touch the dismissal of Bob", ("desk.put_back",), deny=True))
    await pressed(stage, undo_all.undo_all, on_plan(task))
    task = await only(stage)
    assert task.plan
    assert task.plan.undone.endswith("was not: Why was told to whoever asked alone.")
    quoting = [note.to for note in stage.wall.notes if "Bob" in str(note.body)]
    assert quoting == [ANN]
    shown = [note.body for note in stage.wall.notes if note.to != ANN]
    logged = await stage.ledger.audit_tail(team=TEAM, limit=100)
    assert "Bob" not in str([task, shown, [line.entry for line in logged]])


async def test_why_a_step_is_not_taken_back_is_told_to_everybody_where_it_is_not_private(stage: Scene):
    task = await done(stage)
    stage.rule(Rule("no way back", ("desk.put_back",), deny=True))
    await pressed(stage, undo_all.undo_all, on_plan(task))
    (told,) = stage.texts
    assert "no way back" in told


async def test_a_plan_with_a_step_of_unknown_outcome_is_never_called_taken_back(stage: Scene):
    task = await planned(stage, write("a.md"), write("b.md"))
    tool = stage.desk.call

    async def breaks(server: str, name: str, args: bytes, *more: Any, **named: Any) -> Any:
        if b"b.md" in args and name == "write":
            raise OutcomeUnknown("the connection broke")
        return await tool(server, name, args, *more, **named)

    stage.desk.call = breaks  # type: ignore[method-assign]
    task = await approved(stage, task)
    assert (await pressed(stage, control.abort, on_pause(task))).ok
    assert (await pressed(stage, undo_all.undo_all, on_plan(await only(stage)))).ok
    task = await only(stage)
    assert task.plan
    unknown = "Nobody knows whether this ran: step 2 (Write b.md). Please look."
    assert task.plan.undone == f"Taken back: step 1 (Write a.md). {unknown}"
    assert not is_taken_back(task)
    assert headline(task, task.plan).startswith("Stopped")


@pytest.mark.parametrize("happened", [None, True])
async def test_a_step_of_unknown_outcome_that_was_skipped_is_told_of(stage: Scene, happened: bool | None):
    """All of it was called taken back, while that step had changed something."""
    stage.desk.behave = "breaks the line"
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    stage.desk.behave = "well"
    assert (await pressed(stage, control.skip_step, on_pause(task))).ok
    first, _ = steps(await only(stage))
    if happened:
        await settled(stage, await stage.now(first.action), happened)
    assert (await pressed(stage, undo_all.undo_all, on_plan(await only(stage)))).ok
    task = await only(stage)
    assert task.plan
    told = (
        "Step 1 (Write a.md) was not:" if happened else "Nobody knows whether this ran: step 1 (Write a.md)."
    )
    assert told in task.plan.undone
    assert not is_taken_back(task)
    assert headline(task, task.plan).startswith("Finished")


async def rejected(stage: Scene) -> Task:
    """A plan whose first step has run, and its result was rejected."""
    reviewing(stage, Phase.AFTER, "desk.write")
    stage.desk.notes |= {"a.md": "old a", "b.md": "old b"}
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert (await pressed(stage, step_review.reject_output, on_pause(task))).ok
    return await only(stage)


@pytest.mark.parametrize(
    "how", ["dropped by the planner", "dropped by its person", "tried again and skipped"]
)
async def test_what_an_earlier_try_of_a_step_changed_is_taken_back_too(both: Scene, how: str):
    """Its step forgot it, so it stayed, and all was called taken back."""
    task = await rejected(both)
    first, second = steps(task)
    if how == "tried again and skipped":
        assert (await pressed(both, control.retry, on_pause(task))).ok
        await claim_click.cancel(both.world, both.press(await waiting(both)))
        await both.play()
        assert (await pressed(both, control.skip_step, on_pause(await only(both)))).ok
    else:
        left = [keep(second)] if how == "dropped by the planner" else [keep(first), keep(second)]
        both.planner.script = [proposes(*left)]
        assert (await pressed(both, plan.replan, on_plan(task, text="leave a.md"))).ok
        task = await only(both)
        if how == "dropped by its person":
            drop = plan.StepChange("s1", 1, drop=True)
            assert (await pressed(both, plan.modify, on_plan(task), [drop])).ok
            task = await only(both)
        await approved(both, task)
    if await both.ledger.pending(TEAM):
        await confirmed(both)
    assert (await pressed(both, control.resume, on_pause(await only(both)))).ok
    task = await only(both)
    assert [(step.id, step.state) for step in steps(task)] == [("s1", SKIPPED), ("s2", DONE)]
    assert (await pressed(both, undo_all.undo_all, on_plan(task))).ok
    assert both.desk.notes == {"a.md": "old a", "b.md": "old b"}
    task = await only(both)
    assert task.plan
    own = how == "dropped by the planner"  # of a step that did not begin anew, its only try
    earlier = "step 1 (Write a.md)" if own else "an earlier try of step 1"
    assert task.plan.undone == f"Taken back: step 2 (Write b.md); {earlier}."
    assert is_taken_back(task)


async def test_an_earlier_try_that_cannot_be_taken_back_is_named(stage: Scene):
    task = await rejected(stage)
    stage.planner.script = [proposes(keep(steps(task)[1]))]
    assert (await pressed(stage, control.resume, on_pause(task, text="leave a.md"))).ok
    if await stage.ledger.pending(TEAM):
        await confirmed(stage)
    assert (await pressed(stage, control.resume, on_pause(await only(stage)))).ok
    stage.desk.notes["a.md"] = "changed by hand"
    assert (await pressed(stage, undo_all.undo_all, on_plan(await only(stage)))).ok
    task = await only(stage)
    assert task.plan
    assert task.plan.undone.startswith("Taken back: step 2 (Write b.md). An earlier try of step 1 was not:")
    assert not is_taken_back(task)


@pytest.mark.parametrize("then", [control.retry, control.skip_step])
async def test_a_try_that_its_person_settled_after_the_end_keeps_no_later_step_from_being_taken_back(
    stage: Scene, then: Callable[..., Awaitable[PressResult]]
):
    """It counted as what ended last, has no way back, and so nothing was taken back."""
    stage.desk.notes |= {"b.md": "old b"}
    stage.desk.behave = "breaks the line"
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    stage.desk.behave = "well"
    tried = steps(task)[0].action
    stage.travel(60)
    assert (await pressed(stage, then, on_pause(task))).ok
    if await stage.ledger.pending(TEAM):
        await confirmed(stage)
    assert steps(await only(stage))[1].state is DONE
    stage.travel(60)
    await settled(stage, await stage.now(tried), happened=True)
    assert (await pressed(stage, undo_all.undo_all, on_plan(await only(stage)))).ok
    assert stage.desk.notes["b.md"] == "old b"
    plan = (await only(stage)).plan
    assert plan
    assert plan.undone.startswith("Taken back: step 2 (Write b.md)")


async def test_a_plan_that_is_changed_after_it_was_taken_back_says_what_it_does_since(stage: Scene):
    task = await done(stage)
    assert (await pressed(stage, undo_all.undo_all, on_plan(task))).ok
    task = await only(stage)
    stage.planner.script = [proposes(write("c.md"))]
    press = TaskPress(Ref(task.id, task.ends, "0"), TEAM, ANN, text="write c.md instead")
    assert (await feedback.needs_changes(stage.world, press)).ok
    await stage.play()
    task = await only(stage)
    assert task.plan
    assert headline(task, task.plan).startswith("Waiting for a decision")
    task = await approved(stage, task)
    while pending := await stage.ledger.pending(TEAM):
        await confirmed(stage, pending[0])
    task = await only(stage)
    assert task.plan
    told = "2 of 4 steps done, 2 taken back: Looked a.md; Wrote c.md."
    assert task.result == f"{told} Taken back: step 3 (Write b.md); step 1 (Write a.md)."
    assert headline(task, task.plan).startswith("Finished")
