"""After a task, one question whether it was what they needed: it blocks nobody and settles itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.actions import undo
from gate.actions.button_press import TaskPress
from gate.rules.action import Ref
from gate.rules.action_states import State
from gate.rules.planner_port import Call, Done, Propose, Say
from gate.rules.settings import Switches
from gate.rules.task import Task
from gate.rules.task_states import TaskState as S
from gate.tasks import control, feedback
from gate.tasks import plan as flow
from tests.gate.gate_setup import ANN, BEN, TEAM, Scene
from tests.gate.plan_setup import (
    MANY,
    approved,
    look,
    on_pause,
    on_plan,
    planned,
    pressed,
    proposes,
    waiting,
    write,
    wrote,
)

READ = Propose((Call("desk", "look", {"path": "a.md"}),))
WRITE = Propose((Call("desk", "write", {"path": "a.md", "content": "new"}),))


async def newest(stage: Scene) -> Task:
    return (await stage.ledger.tasks_of(stage.session))[0]


def press(task: Task, user: str = ANN, text: str = "") -> TaskPress:
    return TaskPress(Ref(task.id, task.ends, "0"), TEAM, user, text=text)


async def read(stage: Scene) -> Task:
    stage.planner.script = [READ]
    await stage.say("read a.md")
    return await newest(stage)


async def written(stage: Scene) -> Task:
    """A simple request that has changed something and asks about it."""
    stage.planner.script = [WRITE]
    await stage.say("write a.md")
    (action,) = await stage.ledger.pending(TEAM)
    await stage.confirm(action)
    await stage.play()
    return await newest(stage)


# promise: TASK-10
async def test_a_finished_task_asks_once(stage: Scene):
    task = await written(stage)
    assert (task.state, task.ends, task.result, task.changed) == (
        S.SATISFACTION,
        1,
        "1 done: Wrote a.md",
        True,
    )


async def test_a_plain_read_asks_nothing_more(stage: Scene):
    task = await read(stage)
    assert (task.state, task.ends, task.result) == (S.DONE, 0, "1 done: Looked a.md")


async def test_a_write_is_finished_when_its_card_is_decided_and_it_ran(stage: Scene):
    stage.planner.script = [WRITE]
    await stage.say("write it")
    assert (await newest(stage)).state is S.RUNNING
    (action,) = await stage.ledger.pending(TEAM)
    await stage.confirm(action)
    await stage.play()
    task = await newest(stage)
    assert (task.state, task.changed, task.result) == (S.SATISFACTION, True, "1 done: Wrote a.md")


async def test_what_was_cancelled_by_its_requester_asks_nothing_more(stage: Scene):
    stage.planner.script = [WRITE]
    await stage.say("write it")
    await stage.say("no", mentioned=False)
    assert (await newest(stage)).state is S.CANCELLED


async def test_words_alone_ask_nothing_more(stage: Scene):
    stage.planner.script = [Say("hello")]
    await stage.say("hello")
    assert (await newest(stage)).state is S.DONE


async def test_yes_done_settles_it(stage: Scene):
    task = await written(stage)
    assert (await feedback.satisfied(stage.world, press(task))).ok
    assert (await newest(stage)).state is S.DONE
    assert (await feedback.satisfied(stage.world, press(task))).code == "late"


async def test_only_the_requester_judges(stage: Scene):
    task = await written(stage)
    assert (await feedback.satisfied(stage.world, press(task, BEN))).code == "not_allowed"
    assert (await newest(stage)).state is S.SATISFACTION


# promise: TASK-11
async def test_needs_changes_runs_again_with_the_feedback_and_the_context(stage: Scene):
    task = await written(stage)
    stage.planner.script = [READ]
    assert (await feedback.needs_changes(stage.world, press(task, text=" "))).code == "empty"
    assert (await feedback.needs_changes(stage.world, press(task, text="the other one"))).ok
    await stage.play()
    brief, turn = stage.planner.briefs[-1], stage.planner.seen[-1]
    assert (turn.text, brief.reason, brief.attempts) == ("the other one", "the other one", 2)
    assert any(one.text == "write a.md" for one in brief.earlier)
    again = await newest(stage)
    assert (again.id, again.state, again.ends) == (task.id, S.SATISFACTION, 2)


# promise: TASK-12
async def test_start_over_is_a_new_task_without_the_context(stage: Scene):
    task = await written(stage)
    stage.planner.script = [READ]
    assert (await feedback.start_over(stage.world, press(task))).ok
    await stage.play()
    fresh = await newest(stage)
    assert fresh.id != task.id
    assert fresh.text == task.text
    assert stage.planner.briefs[-1].earlier == ()


async def test_a_call_of_unknown_outcome_asks_for_itself_after_start_over(stage: Scene):
    """The approval of the new plan, which knows nothing of the one before, covered it."""
    stage.desk.behave = "breaks the line"
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    stage.desk.behave = "well"
    assert (await pressed(stage, control.skip_step, on_pause(task))).ok
    task = await newest(stage)
    assert (task.state, wrote(stage)) == (S.SATISFACTION, ["a.md", "b.md"])
    stage.planner.script[:] = [proposes(write("a.md"), write("c.md"))]
    assert (await feedback.start_over(stage.world, press(task))).ok
    await stage.play()
    assert (await pressed(stage, flow.approve_all, on_plan(await newest(stage)))).ok
    assert wrote(stage) == ["a.md", "b.md"]
    assert (await waiting(stage)).step == "s1"


@pytest.mark.parametrize("first", ["simple", "planned"])
async def test_a_call_of_unknown_outcome_shares_no_card_after_start_over(stage: Scene, first: str):
    """*Confirm all* made it a second time together with others."""
    stage.desk.behave = "breaks the line"
    if first == "simple":
        task = await written(stage)
    else:
        task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
        stage.desk.behave = "well"
        assert (await pressed(stage, control.skip_step, on_pause(task))).ok
    stage.desk.behave = "well"
    other = Call("desk", "write", {"path": "c.md", "content": "new"})
    stage.planner.script[:] = [Propose((*WRITE.calls, other))]
    assert (await feedback.start_over(stage.world, press(await newest(stage)))).ok
    await stage.play()
    waits = await stage.ledger.pending(TEAM)
    assert [(action.group, action.step != "") for action in waits] == [("", True), ("", True)]


async def test_what_is_known_to_be_done_does_not_change_what_start_over_asks(stage: Scene):
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    stage.planner.script[:] = [proposes(write("c.md"), write("d.md"))]
    assert (await feedback.start_over(stage.world, press(task))).ok
    await stage.play()
    assert (await pressed(stage, flow.approve_all, on_plan(await newest(stage)))).ok
    assert wrote(stage) == ["a.md", "b.md", "c.md", "d.md"]


async def test_replies_in_the_thread_judge_too(stage: Scene):
    await written(stage)
    await stage.say("thanks!", mentioned=False)
    assert (await newest(stage)).state is S.DONE
    await written(stage)
    stage.planner.script = [READ]
    await stage.say("not quite, the second page please", mentioned=False)
    assert stage.planner.seen[-1].text.startswith("not quite")
    stage.planner.script = [READ]
    await stage.say("start over", mentioned=False)
    assert len(await stage.ledger.tasks_of(stage.session)) == 3


async def test_a_mention_asks_for_something_new_and_leaves_the_question_open(stage: Scene):
    old = await written(stage)
    stage.planner.script = [READ]
    await stage.say("read b.md")
    states = {task.id: task.state for task in await stage.ledger.tasks_of(stage.session)}
    assert states[old.id] is S.SATISFACTION
    assert len(states) == 2


async def test_a_day_later_it_settles_itself(stage: Scene):
    task = await written(stage)
    await feedback.finish_unanswered(stage.world, task.id, task.ends - 1)
    assert (await newest(stage)).state is S.SATISFACTION
    await stage.play(timers=True)
    assert (await newest(stage)).state is S.DONE


def asks(stage: Scene, wanted: str) -> None:
    chosen = Switches(satisfaction=wanted)
    stage.world = replace(stage.world, switches=lambda channel: chosen)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("wanted", "state"), [("never", S.DONE), ("changes", S.SATISFACTION), ("every", S.SATISFACTION)]
)
async def test_the_switch_says_whether_to_ask_after_a_change(stage: Scene, wanted: str, state: S):
    asks(stage, wanted)
    assert (await written(stage)).state is state


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("wanted", "state"), [("never", S.DONE), ("changes", S.DONE), ("every", S.SATISFACTION)]
)
async def test_the_switch_says_whether_to_ask_after_a_plan_that_reads(stage: Scene, wanted: str, state: S):
    asks(stage, wanted)
    assert (await planned(stage, look("a.md"))).state is state


async def test_an_action_that_the_task_left_behind_can_still_be_undone(stage: Scene):
    stage.planner.script = [WRITE, Done()]
    await stage.say("write it")
    (action,) = await stage.ledger.pending(TEAM)
    await stage.confirm(action)
    await stage.play()
    await feedback.satisfied(stage.world, press(await newest(stage)))
    await undo.request_undo(stage.world, stage.press(await stage.now(action.id)))
    await stage.play()
    assert (await stage.now(action.id)).state is State.UNDONE


async def test_what_is_taken_back_while_it_is_asked_is_not_called_done_any_more(stage: Scene):
    stage.planner.script = [Propose((*WRITE.calls, *READ.calls)), Done()]
    await stage.say("write it, then look")
    (action,) = await stage.ledger.pending(TEAM)
    await stage.confirm(action)
    await stage.play()
    assert (await newest(stage)).result == "2 done: Wrote a.md; Looked a.md"
    await undo.request_undo(stage.world, stage.press(await stage.now(action.id)))
    await stage.play()
    task = await newest(stage)
    assert (task.state, task.result) == (
        S.SATISFACTION,
        "1 done and taken back, 1 done: Write a.md; Looked a.md",
    )
    assert (await feedback.satisfied(stage.world, press(task))).ok


async def test_a_thread_that_another_task_holds_by_now_takes_no_second_plan(stage: Scene):
    task = await planned(stage, look("a.md"))
    assert task.state is S.SATISFACTION
    stage.planner.assessments.append(MANY)
    stage.planner.script = [proposes(write("b.md"))]
    await stage.say("tidy up once more", ts="1700000009.000100")
    held = next(one for one in await stage.ledger.tasks_of(stage.session) if one.holds_thread)
    said = await feedback.needs_changes(stage.world, press(task, text="the other one"))
    assert (said.ok, said.code) == (False, "held")
    assert said.text.startswith("You have a task open in this thread.")
    assert held.id != task.id
    now = await stage.ledger.task(task.id)
    assert now is not None
    assert now.state is S.SATISFACTION
