"""Nothing waits for a process that has died: what goes on by itself, or has a time, is looked at by the sweep."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.job_routes import FORMER_TIMERS, jobs
from gate.actions import execute, expiry
from gate.rules.action_states import FINAL, SETTLED, State
from gate.rules.jobs import Run
from gate.rules.planner_port import Clarify
from gate.rules.ports import Limits
from gate.rules.settings import Switches
from gate.rules.task import Missing, PauseReason, Plan, Question, Task
from gate.rules.task_states import ENDS, OVER, TaskEvent, TaskState, after
from gate.tasks import plan
from storage.rows import due, task_due
from tests.gate.gate_setup import Scene, nothing_ran
from tests.gate.plan_setup import look, on_plan, only, planned, waiting, write
from tests.gate.tasks.test_task_approval_modes import shown
from tests.gate.tasks.test_task_feedback import newest
from tests.storage.samples import THREAD, action
from tests.tasks import having, parts_of, task_of

S = TaskState
NOW = timedelta(0)
# States in which something waits for a person for as long as they like, and how a person ends that.
PEOPLES_ACTIONS = {
    State.UNKNOWN: "somebody says whether it happened: only they can know",
    State.UNDOING: "its undo is an action of its own, with a time of its own",
    State.SUCCEEDED: "it is over; where its result is held, its person releases or rejects it",
}
PEOPLES_TASKS = {S.TALKING: TaskEvent.STOP, S.PAUSED: TaskEvent.STOP}


@pytest.mark.parametrize("state", State)
def test_every_state_of_an_action_has_a_time_an_end_or_a_person(state: State) -> None:
    looked_at = due(action("a1", state=state), NOW) is not None
    assert looked_at == (state not in FINAL and state not in PEOPLES_ACTIONS)
    assert not (looked_at and state in SETTLED)


def task(state: TaskState, **more: object) -> Task:
    at = action("a1").created_at
    plain = task_of(
        id="t", revision=1, state=state, session=THREAD, requester="U1", text="x", switches=Switches(), created_at=at, since=at,
    )  # fmt: skip
    return having(plain, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("state", TaskState)
def test_every_state_of_a_task_has_a_time_an_end_or_a_person(state: TaskState) -> None:
    looked_at = task_due(task(state, plan=Plan(1, ())), NOW, Limits()) is not None
    assert looked_at == (state not in OVER and state not in PEOPLES_TASKS)
    if state in PEOPLES_TASKS:
        assert after(state, PEOPLES_TASKS[state]) is ENDS[PEOPLES_TASKS[state]]


def test_what_goes_on_by_itself_has_a_time_also_within_such_a_state() -> None:
    question = Question("q", "which?", Missing.INPUTS)
    assert task_due(task(S.PAUSED, why=PauseReason.SUMMARY), NOW, Limits()) is not None
    assert task_due(task(S.CLARIFYING, questions=(question,)), NOW, Limits()) is not None
    assert (
        task_due(task(S.PLAN_REVIEW, plan=Plan(1, (), lapsed=True)), NOW, Limits()) is None
    )  # until somebody asks anew


# Approved, and nobody there


async def test_an_approval_that_nothing_carries_out_ends_with_a_sentence_and_asks_again(both: Scene) -> None:
    action = await both.prepare(path="a.md", content="hello")
    await both.confirm(action)
    both.done |= {run.key for run in both.runs if run.name == "carry_out"}  # its process has died with it
    both.travel(both.world.limits.begin + 1)
    assert await expiry.overdue(both.world) == 1
    ended = await both.now(action.id)
    assert ended.state is State.CANCELLED
    assert ended.decision == "Nothing carried it out in time after it was confirmed."
    await both.play()
    (again,) = await both.ledger.pending(action.session.team)
    assert (again.renews, again.state) == (action.id, State.PREPARED)
    assert both.desk.calls == []
    assert await expiry.overdue(both.world) == 0


async def test_a_run_that_comes_back_much_later_does_not_call(stage: Scene) -> None:
    """As after a night without the bot: who said yes did so to what they saw then."""
    action = await stage.prepare(path="a.md", content="hello")
    await stage.confirm(action)
    stage.travel(stage.world.limits.begin + 1)
    await execute.execute(stage.world, action.id)
    assert (await stage.now(action.id)).state is State.CANCELLED
    assert stage.desk.calls == []


async def test_within_its_time_a_lost_run_is_started_once_more(stage: Scene) -> None:
    action = await stage.prepare(path="a.md", content="hello")
    await stage.confirm(action)
    stage.done |= {run.key for run in stage.runs if run.name == "carry_out"}
    stage.travel(60)
    await expiry.overdue(stage.world)
    await stage.play()
    assert (await stage.now(action.id)).state is State.SUCCEEDED


async def test_a_step_whose_approval_nothing_carried_out_asks_its_person(
    stage: Scene,
) -> None:
    task = await planned(stage, write("a.md"), write("b.md"))
    assert (await plan.approve_all(stage.world, on_plan(task))).ok
    (run,) = await until_carried_out(stage)
    stage.travel(stage.world.limits.begin + 1)
    await expiry.overdue(stage.world)
    await stage.play()
    again = await waiting(stage)
    assert (again.task, again.step, again.state) == (task.id, "s1", State.PREPARED)
    assert "Nothing carried it out in time" in (await stage.now(again.renews)).decision
    assert stage.desk.calls == []
    assert run.name == "carry_out"


async def until_carried_out(stage: Scene) -> list[Run]:
    """Let everything happen but calls, whose process has died."""
    work = jobs(stage.world)
    while left := [run for run in stage.runs if run.key not in stage.done and not run.delay]:
        for one in left:
            stage.done.add(one.key)
            if one.name != "carry_out":
                await work[one.name].work(*one.args)
    return [run for run in stage.runs if run.name == "carry_out"]


# Waits


async def test_a_finished_task_settles_after_its_time(stage: Scene) -> None:
    await planned(stage, look("a.md"))
    stage.travel(86_400 - 60)
    assert await expiry.overdue(stage.world) == 0
    stage.travel(61)
    assert await expiry.overdue(stage.world) == 1
    assert (await newest(stage)).state is S.DONE


async def test_a_question_lapses_after_its_time(stage: Scene) -> None:
    stage.planner.script = [Clarify((Question("q", "which one?", Missing.INPUTS),))]
    await stage.say("read it")
    assert (await newest(stage)).state is S.CLARIFYING
    stage.travel(7 * 86_400 - 60)
    assert await expiry.overdue(stage.world) == 0
    stage.travel(61)
    assert await expiry.overdue(stage.world) == 1
    assert (await newest(stage)).state is S.CANCELLED


async def test_a_plan_lapses_after_the_time_that_the_operator_says(stage: Scene) -> None:
    stage.ledger.limits = Limits(plan=30 * 86_400.0)
    await planned(stage, write("a.md"))
    stage.travel(30 * 86_400 - 60)
    assert await expiry.overdue(stage.world) == 0
    stage.travel(61)
    assert await expiry.overdue(stage.world) == 1
    over = (await newest(stage)).plan
    assert over is not None
    assert over.lapsed
    assert stage.desk.calls == []


async def test_a_wait_is_not_prolonged_by_what_changes_meanwhile(both: Scene) -> None:
    await planned(both, look("a.md"))
    both.travel(86_400 - 60)
    finished = await newest(both)
    async with both.ledger.begin() as tx:
        await tx.update_task(finished, **parts_of(finished, result="something else"))
    both.travel(61)
    assert [one.id for one in await both.ledger.due()] == [finished.id]


async def test_what_was_changed_since_it_was_found_due_stays_as_it_is(stage: Scene) -> None:
    await planned(stage, write("a.md"))
    stage.travel(7 * 86_400 + 1)
    found, waiting_task = await stage.ledger.due(), await newest(stage)
    async with stage.ledger.begin() as tx:
        await tx.update_task(waiting_task, **parts_of(waiting_task, remarks=()))
    await expiry.process_items(stage.world, found)
    plan_now = (await newest(stage)).plan
    assert plan_now is not None
    assert not plan_now.lapsed


async def test_a_summary_that_nobody_was_shown_waits_for_a_person(stage: Scene) -> None:
    """Nobody could have held it, so it does not go on by itself."""

    async def nothing_gets_through(_: Task) -> None:
        """Slack is away."""

    stage.wall.draw_task = nothing_gets_through  # type: ignore[method-assign]
    task = await shown(stage)
    stage.travel(11 * 60)
    assert await expiry.overdue(stage.world) == 1
    await stage.play()
    now = await only(stage)
    assert (now.state, now.why, now.pauses) == (S.PAUSED, PauseReason.REVIEW, task.pauses)
    assert "its time could not be kept" in now.reason


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("name", FORMER_TIMERS)
async def test_a_timer_of_an_earlier_version_does_nothing(stage: Scene, name: str) -> None:
    task = await shown(stage)
    stage.travel(3600)
    with nothing_ran(stage):
        await jobs(stage.world)[name].work(task.id, "1")
    assert await only(stage) == task


def test_the_time_to_begin_is_longer_than_a_card_waits_and_shorter_than_a_night() -> None:
    assert Limits().ttl < Limits().begin < 3600
