"""After a finished task no reply runs anything by itself: thanks start nothing, and what feedback starts asks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from gate.actions import claim_click, edit
from gate.rules.action import Action
from gate.rules.action_states import State
from gate.rules.planner_port import (
    Call,
    Incoming,
    Mode,
    PlannerContext,
    PlannerReply,
    Propose,
    ProposePlan,
    Turn,
)
from gate.rules.task import Task
from gate.rules.task_states import TaskState as S
from gate.tasks import control, feedback, steer
from gate.tasks import plan as plan_flow
from tests.gate.actions.test_action_grants import granted
from tests.gate.gate_setup import ANN, TEAM, Obeying, Scene
from tests.gate.plan_setup import (
    MANY,
    approved,
    keep,
    on_pause,
    on_plan,
    only,
    planned,
    proposes,
    steps,
    waiting,
    write,
    wrote,
)
from tests.gate.tasks.test_task_feedback import newest, press

PAY = Call("desk", "write", {"path": "paid.md", "content": "500 EUR"})
THANKS = [
    "ok",
    "ok, thanks",
    "👍",
    "lgtm",
    "looks good to me",
    "no further changes",
    "thanks Ben",
    "yes it does",
    "danke!",
]
CHANGES = ["make it 600", "again", "no, the other account", "nochmal bitte", "thanks, now pay the other one"]


class Eager(Obeying):
    """Proposes the payment in every turn, once; as a plan where a plan is wanted."""

    pays = PAY

    async def reply(self, turn: Turn, brief: PlannerContext, pending: tuple[Action, ...]) -> PlannerReply:
        if turn.mode is Mode.PLAN:
            return PlannerReply(ProposePlan(proposes(write("paid.md", "500 EUR")).steps))
        if turn.exchanges:
            return await super().reply(turn, brief, pending)
        return PlannerReply(Propose((self.pays,)))


def eager(stage: Scene) -> None:
    stage.planner = Eager()
    stage.world = replace(stage.world, planner=stage.planner)


def pays_next(stage: Scene, path: str) -> None:
    """What is proposed from now on is another payment, which a grant that stands would cover."""
    assert isinstance(stage.planner, Eager)
    stage.planner.pays = replace(PAY, args={**PAY.args, "path": path})


async def paid(stage: Scene) -> Task:
    """A payment that a grant let run, and its task, which asks whether that was what they needed."""
    eager(stage)
    await granted(stage)
    await stage.say("pay the invoice")
    task = await newest(stage)
    assert task.state is S.SATISFACTION
    assert len(stage.desk.calls) == 2  # the one that it was granted on, and this
    return task


async def asks_at_most(stage: Scene) -> None:
    """Nothing has run since; what was proposed waits for its person."""
    assert len(stage.desk.calls) == 2
    for action in await stage.ledger.pending(TEAM):
        assert (action.state, action.grant) == (State.PREPARED, "")


# Thanks


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("mentioned", [False, True])
@pytest.mark.parametrize("text", THANKS)
async def test_thanks_settle_the_task_and_propose_nothing(stage: Scene, text: str, mentioned: bool) -> None:
    task = await paid(stage)
    seen = len(await stage.ledger.tasks_of(stage.session))
    await stage.say(text, mentioned=mentioned)
    now = await stage.ledger.task(task.id)
    assert now is not None
    assert now.state is S.DONE
    assert await stage.ledger.pending(TEAM) == ()
    await stage.say(text, mentioned=mentioned)  # once more, when nothing is left that it could be about
    assert len(await stage.ledger.tasks_of(stage.session)) == seen
    assert await stage.ledger.pending(TEAM) == ()
    assert len(stage.desk.calls) == 2


async def test_thanks_while_it_still_runs_are_no_instruction(stage: Scene) -> None:
    """They come a moment before the end: a planner that follows would be asked once more because of them."""
    eager(stage)
    await granted(stage)
    stage.desk.gate = gate = asyncio.Event()
    stage.desk.entered.clear()
    running = asyncio.create_task(stage.say("pay the invoice"))
    await stage.desk.entered.wait()
    said = await steer.handle_thread_message(
        stage.world, Incoming("in:x", stage.session, ANN, "ok, thanks", "4100000000.000000", False)
    )
    assert said is not None
    assert said.code == "thanks"
    gate.set()
    await running
    await stage.play()
    assert (await newest(stage)).instructions == ()
    assert len(stage.desk.calls) == 2


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("text", ["ok, thanks", "LGTM", "danke dir"])
async def test_thanks_as_the_change_that_is_wanted_run_nothing(stage: Scene, text: str) -> None:
    task = await paid(stage)
    said = await feedback.needs_changes(stage.world, press(task, text=text))
    await stage.play()
    assert (said.ok, said.code) == (False, "thanks")
    assert (await newest(stage)).state is S.SATISFACTION
    await asks_at_most(stage)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("text", ["ok?", "hmm", "great, the board loves surprises", "do it", "yes please"])
@pytest.mark.parametrize("mentioned", [False, True])
async def test_what_is_unclear_is_asked_about(stage: Scene, text: str, mentioned: bool) -> None:
    task = await paid(stage)
    await stage.say(text, mentioned=mentioned)
    now = await stage.ledger.task(task.id)
    assert now is not None
    assert now.state is S.SATISFACTION
    assert stage.texts[-1].startswith("I do not know whether anything should be different")
    await asks_at_most(stage)


# Feedback


async def _reply(stage: Scene, task: Task, text: str) -> None:
    await stage.say(text, mentioned=False)


async def _mention(stage: Scene, task: Task, text: str) -> None:
    await stage.say(text)


async def _window(stage: Scene, task: Task, text: str) -> None:
    await feedback.needs_changes(stage.world, press(task, text=text))
    await stage.play()


async def _start_over(stage: Scene, task: Task, text: str) -> None:
    await feedback.start_over(stage.world, press(task))
    await stage.play()


async def _after_thanks(stage: Scene, task: Task, text: str) -> None:
    await stage.say("thanks", mentioned=False)
    await stage.say(text, mentioned=False)


ENTRIES = (_reply, _window, _start_over, _after_thanks)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("text", ["make it 600", "pay it to the other account"])
async def test_what_starts_from_feedback_asks_although_a_grant_stands(
    stage: Scene, entry: Callable[[Scene, Task, str], Awaitable[None]], text: str
) -> None:
    task = await paid(stage)
    pays_next(stage, "other.md")
    await entry(stage, task, text)
    await asks_at_most(stage)
    action = await waiting(stage)
    assert (await stage.confirm(action)).code == "confirmed"
    await stage.play()
    assert len(stage.desk.calls) == 3


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("text", [*CHANGES[1:]])
async def test_a_mention_that_is_about_the_result_asks(stage: Scene, text: str) -> None:
    task = await paid(stage)
    pays_next(stage, "other.md")
    await _mention(stage, task, text)
    await asks_at_most(stage)
    assert len(await stage.ledger.pending(TEAM)) == 1


async def test_a_new_request_to_the_bot_may_still_be_covered(stage: Scene) -> None:
    task = await paid(stage)
    pays_next(stage, "invoice-18.md")
    await _mention(stage, task, "pay invoice 18")
    assert len(stage.desk.calls) == 3


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize("text", ["спасибо большое", "ありがとう", "obrigado", "gg", "Ben will be pleased"])
async def test_what_is_no_known_thanks_runs_nothing_a_second_time(
    stage: Scene, text: str, settled: bool
) -> None:
    """No list has the thanks of all languages: what ran here asks again, whatever was said."""
    task = await paid(stage)
    if settled:
        await stage.say("thanks", mentioned=False)
    await _mention(stage, task, text)
    await asks_at_most(stage)


# Plans


async def planned_and_paid(stage: Scene) -> Task:
    eager(stage)
    stage.planner.assessments.append(MANY)
    await granted(stage)
    await stage.say("pay what is due")
    task = await approved(stage, await newest(stage))
    while (pending := await stage.ledger.pending(TEAM)) != ():
        await stage.confirm(pending[0])
        await stage.play()
        task = await newest(stage)
    assert task.state is S.SATISFACTION
    assert len(stage.desk.calls) == 2
    return task


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("text", THANKS)
async def test_thanks_after_a_plan_settle_it(stage: Scene, text: str) -> None:
    task = await planned_and_paid(stage)
    await stage.say(text, mentioned=False)
    assert (await only(stage)).state is S.DONE
    assert task.plan is not None
    assert len(stage.desk.calls) == 2


@pytest.mark.parametrize("plan_approval", [True, False])
async def test_neither_approval_nor_grant_covers_a_plan_that_is_made_of_feedback(
    stage: Scene, plan_approval: bool
) -> None:
    switches = replace(stage.world.switches(""), plan_approval=plan_approval)
    stage.world = replace(stage.world, switches=lambda channel: switches)
    eager(stage)
    task = await planned_and_paid(stage)
    await _reply(stage, task, "make it 600")
    again = await only(stage)
    assert len(stage.desk.calls) == 2
    assert again.request.asks
    assert again.plan is not None
    assert again.plan.approved_by == ""
    if plan_approval:
        assert again.state is S.PLAN_REVIEW
        await plan_flow.step_by_step(stage.world, on_plan(again))
        await stage.play()
    assert len(stage.desk.calls) == 2
    assert (await waiting(stage)).grant == ""


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("text", ["ok, thanks", "looks good to me", "danke"])
async def test_thanks_to_a_plan_that_waits_decide_nothing(stage: Scene, text: str) -> None:
    eager(stage)
    stage.planner.assessments.append(MANY)
    await stage.say("pay what is due")
    before = await only(stage)
    assert before.state is S.PLAN_REVIEW
    await stage.say(text, mentioned=False)
    after = await only(stage)
    assert (after.state, after.plan) == (S.PLAN_REVIEW, before.plan)
    assert stage.texts[-1].startswith("I take this as thanks")
    assert stage.desk.calls == []


async def test_thanks_after_a_step_of_unknown_outcome_do_not_try_it_again(stage: Scene) -> None:
    eager(stage)
    stage.planner.assessments.append(MANY)
    await granted(stage)
    await stage.say("pay what is due")
    stage.desk.behave = "breaks the line"
    task = await approved(stage, await newest(stage))
    assert task.state is S.PAUSED
    stage.desk.behave = "well"
    for text in ("thanks anyway", "danke trotzdem", "ok, thanks"):
        await stage.say(text, mentioned=False)
    assert len(stage.desk.calls) == 2
    assert (await only(stage)).state is S.PAUSED


async def test_a_step_that_is_tried_again_asks_although_a_grant_stands(stage: Scene) -> None:
    eager(stage)
    stage.planner.assessments.append(MANY)
    await granted(stage)
    await stage.say("pay what is due")
    stage.desk.behave = "says no"
    task = await approved(stage, await newest(stage))
    assert task.state is S.PAUSED
    stage.desk.behave = "well"
    assert (await control.retry(stage.world, on_pause(task))).ok
    await stage.play()
    assert len(stage.desk.calls) == 2
    assert (await waiting(stage)).grant == ""


# A yes


async def test_ok_after_a_result_is_no_yes_to_an_older_card(stage: Scene) -> None:
    old = await stage.prepare(path="old.md", content="x")
    eager(stage)
    await granted(stage)
    await stage.say("pay the invoice")
    task = await newest(stage)
    assert task.state is S.SATISFACTION
    calls = len(stage.desk.calls)
    for word in ("ok", "go ahead"):
        await stage.say(word, mentioned=False)
        assert (await stage.now(old.id)).state is State.PREPARED
        assert stage.texts[-1].startswith("Is this about what I wrote last")
    assert len(stage.desk.calls) == calls


async def test_yes_to_a_card_that_came_after_the_result_is_a_yes(stage: Scene) -> None:
    await paid(stage)
    await _reply(stage, await newest(stage), "make it 600")
    action = await waiting(stage)
    await stage.say("ok", mentioned=False)
    assert (await stage.now(action.id)).state is State.SUCCEEDED


async def test_what_its_person_changed_or_refused_is_not_run_by_a_later_grant(stage: Scene) -> None:
    eager(stage)
    await stage.say("pay the invoice")
    action = await waiting(stage)
    assert (await edit.submit(stage.world, stage.press(action), {**PAY.args, "content": "50 EUR"})).ok
    await stage.play()
    assert (await stage.confirm(await stage.now(action.id))).ok
    pays_next(stage, "second.md")
    await stage.say("and the second one")
    refused = next(one for one in await stage.ledger.pending(TEAM) if b"second.md" in one.args)
    assert (await claim_click.cancel(stage.world, stage.press(refused))).ok
    await stage.play()
    await granted(stage)
    before = len(stage.desk.calls)
    for path in ("paid.md", "second.md"):
        pays_next(stage, path)
        await stage.say("спасибо", ts=f"19000000{len(path)}.000000")
        assert len(stage.desk.calls) == before


@pytest.mark.parametrize("said", ["please do not touch other.md, and leave it paused", ""])
async def test_no_grant_covers_what_comes_of_words_in_a_pause(stage: Scene, said: str) -> None:
    """Said to the bot, or written into the field of the card."""
    await granted(stage)
    task = await paused_under_grant(stage)
    stage.planner.script = [proposes(keep(steps(task)[0]), write("other.md"))]
    if said:
        await stage.say(said)
        await stage.say("continue", mentioned=False)
    else:
        await control.resume(stage.world, on_pause(task, ANN, "please do not touch other.md"))
        await stage.play()
    assert "other.md" not in wrote(stage)
    assert (await only(stage)).request.asks


async def test_no_grant_covers_the_steps_of_a_plan_that_is_made_anew_for_a_reason(stage: Scene) -> None:
    await granted(stage)
    task = await planned(stage, write("a.md"), write("b.md"))
    stage.planner.script = [proposes(write("other.md"), write("b.md"))]
    await stage.say("not other.md, please", mentioned=False)
    task = await only(stage)
    await plan_flow.step_by_step(stage.world, on_plan(task))
    await stage.play()
    assert "other.md" not in wrote(stage)


async def paused_under_grant(stage: Scene) -> Task:
    task = await planned(stage, write("a.md"), write("b.md"))
    await plan_flow.approve_all(stage.world, on_plan(task))
    await control.pause(stage.world, on_plan(await only(stage)))
    await stage.play()
    task = await only(stage)
    assert task.state is S.PAUSED
    return task
