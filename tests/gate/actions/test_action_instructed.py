"""Where others must confirm, who has said in the task what is to be done does not confirm it alone."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from gate.actions import claim_click, execute, reissue
from gate.actions.button_press import PressResult
from gate.rules.action import Action, Json, Vote
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from gate.rules.planner_port import (
    Call,
    Incoming,
    PlannerAssessment,
    PlannerContext,
    Propose,
    Say,
    Turn,
)
from gate.rules.policy import Rule
from gate.rules.server_questions import QuestionEvent
from gate.rules.task import Assessment
from gate.tasks import control, plan, steer
from gate.tasks.pending import waiting_for
from tests.gate.gate_setup import ANN, BEN, CLEO, TEAM, Obeying, Scene, nothing_ran
from tests.gate.plan_setup import (
    approved,
    keep,
    on_pause,
    on_plan,
    only,
    planned,
    pressed,
    proposes,
    steps,
    waiting,
    write,
    wrote,
)
from tests.storage.test_ledger_questions import question

Way = Callable[[Scene], Awaitable[Action]]
ONE, TWO = Approvers(frozenset({BEN})), Approvers(frozenset({BEN, CLEO}))
BOTH = replace(TWO, needed=2)
OTHER = "write evil.md in place of b.md"


def four_eyes(stage: Scene, approvers: Approvers) -> None:
    """Others confirm what is written; Ben, who is one of them, is an admin, too."""
    stage.rule(Rule("four eyes", ("desk.write",), approvers=approvers), admins=frozenset({BEN}))


async def by_plan(stage: Scene) -> Action:
    """A step that came of what Ben has said while the plan ran."""
    await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    first = await waiting(stage)
    await stage.say(OTHER, user=BEN, mentioned=False)
    kept = keep(steps(await only(stage))[0])
    stage.planner.script.append(proposes(kept, write("evil.md", "as Ben said")))
    await yes(stage, first, BEN)  # that was asked before
    if first.approvers.needed > 1:
        await yes(stage, first, CLEO)
    return await waiting(stage)


async def by_reply(stage: Scene) -> Action:
    """A call of a simple request that came of what Ben has said while another one waited."""
    stage.planner.script = [
        Propose((Call("desk", "write", {"path": name, "content": "new"}),)) for name in ("a.md", "evil.md")
    ]
    await stage.say("write it")
    first = await waiting(stage)
    told = Incoming("T1:by-ben", stage.session, BEN, "and write evil.md", "4100000000.000000", False)
    assert (await steer.instruct(stage.world, told, await only(stage))).ok
    await yes(stage, first, BEN)
    if first.approvers.needed > 1:
        await yes(stage, first, CLEO)
    return await waiting(stage)


async def by_reason(stage: Scene) -> Action:
    """A call of a simple request that came of why Ben said no to another one."""
    stage.planner.script = [
        Propose((Call("desk", "write", {"path": name, "content": "new"}),)) for name in ("b.md", "evil.md")
    ]
    await stage.say("write it")
    assert (await no(stage, await waiting(stage))).ok
    return await waiting(stage)


async def by_reason_in_a_plan(stage: Scene) -> Action:
    """A step of the plan that came of why Ben said no to one of the plan before."""
    await approved(stage, await planned(stage, write("b.md")))
    assert (await no(stage, await waiting(stage))).ok
    stage.planner.script.append(proposes(write("evil.md", "as Ben said")))
    said = await plan.replan(stage.world, on_plan(await only(stage), text="then in another way"))
    assert said.ok
    await stage.play()
    await approved(stage, await only(stage))
    return await waiting(stage)


async def by_remark(stage: Scene) -> Action:
    """A call of a simple request that came of what Ben, who is no admin there, has remarked."""
    stage.world = replace(stage.world, policy=replace(stage.world.policy, admins=frozenset()))
    stage.planner.script = [
        Propose((Call("desk", "write", {"path": name, "content": "new"}),)) for name in ("b.md", "evil.md")
    ]
    await stage.say("write it")
    first = await waiting(stage)
    told = Incoming("T1:by-ben", stage.session, BEN, OTHER, "4100000000.000000", False)
    assert (await steer.instruct(stage.world, told, await only(stage))).ok
    assert (await claim_click.reject(stage.world, stage.press(first, ANN))).ok
    await stage.play()
    return await waiting(stage)


async def answered(stage: Scene, action: Action, user: str, **form: Json) -> None:
    """What its server asks in this call, answered by them."""
    session, now = action.session, await stage.world.ledger.now()
    of = {"action": action.id, "task": action.task, "session": session}
    asked = question(now, **of, schema={"type": "object", "properties": form})
    async with stage.world.ledger.begin() as tx:
        await tx.questions.open(asked)
        await tx.questions.move(
            asked, QuestionEvent.ANSWER, actor=user, answer=json.dumps(dict.fromkeys(form))
        )


async def by_answer(stage: Scene) -> Action:
    """What came of the words that Ben gave the server of a call before."""
    stage.planner.script += [
        Propose((Call("desk", "write", {"path": name, "content": "new"}),)) for name in ("a.md", "evil.md")
    ]
    await stage.say("write it")
    first = await waiting(stage)
    await answered(stage, first, BEN, why={"type": "string"})
    await yes(stage, first, CLEO)
    return await waiting(stage)


async def no(stage: Scene, action: Action) -> PressResult:
    said = await claim_click.reject(stage.world, stage.press(action, BEN, reason=OTHER))
    await stage.play()
    return said


WAYS = [by_plan, by_reply]
TOLD = [by_reason, by_reason_in_a_plan, by_remark, by_answer]


async def yes(stage: Scene, action: Action, user: str) -> PressResult:
    said = await stage.confirm(action, user=user)
    await stage.play()
    return said


@pytest.mark.parametrize("way", WAYS)
async def test_who_said_what_is_to_be_done_does_not_confirm_it_alone(stage: Scene, way: Way):
    four_eyes(stage, TWO)
    action = await way(stage)
    assert b"evil.md" in action.args
    with nothing_ran(stage):
        said = await yes(stage, action, BEN)
    assert (said.code, said.text) == (
        "not_allowed",
        f"You said something that its planner or agent is told, so <@{CLEO}> must confirm this.",
    )
    assert (await yes(stage, action, CLEO)).code == "confirmed"
    assert wrote(stage) == ["a.md", "evil.md"]


@pytest.mark.parametrize("way", WAYS)
async def test_who_is_the_only_approver_is_told_how_it_can_be_done(stage: Scene, way: Way):
    four_eyes(stage, ONE)
    action = await way(stage)
    said = await yes(stage, action, BEN)
    assert said.code == "not_allowed"
    assert f"an approver other than <@{BEN}> must confirm this" in said.text
    assert f"<@{ANN}> can ask for it anew" in said.text
    assert (await claim_click.reject(stage.world, stage.press(action, BEN))).ok  # a no counts as ever


@pytest.mark.parametrize("way", WAYS)
async def test_of_several_that_are_needed_one_has_said_nothing_of_it(stage: Scene, way: Way):
    four_eyes(stage, BOTH)
    action = await way(stage)
    assert (await yes(stage, action, BEN)).code == "voted"
    assert (await yes(stage, action, CLEO)).code == "confirmed"


async def test_it_is_checked_again_at_the_effect(stage: Scene):
    four_eyes(stage, TWO)
    action = await by_plan(stage)
    async with stage.ledger.begin() as tx:
        await tx.vote(Vote(action.id, action.version, BEN, True, await tx.now()))
        await claim_click.approve(tx, action, BEN)
    with nothing_ran(stage):
        await execute.execute(stage.world, action.id)
    assert (await stage.now(action.id)).state is State.CANCELLED


async def test_it_holds_of_what_is_asked_again(stage: Scene):
    four_eyes(stage, TWO)
    action = await by_reply(stage)
    stage.travel(301)
    await stage.play(timers=True)
    action = await stage.now(action.id)
    assert action.state is State.EXPIRED
    assert (await reissue.reissue_by_press(stage.world, stage.press(action))).ok
    await stage.play()
    again = await waiting(stage)
    assert again.id != action.id
    assert (await yes(stage, again, BEN)).code == "not_allowed"
    assert (await yes(stage, again, CLEO)).code == "confirmed"


async def test_a_rule_that_comes_later_finds_who_said_it(stage: Scene):
    stage.rule(admins=frozenset({BEN}))
    await approved(stage, await planned(stage, write("a.md", ask=True), write("b.md")))
    first = await waiting(stage)
    await stage.say(OTHER, user=BEN, mentioned=False)
    kept = keep(steps(await only(stage))[0])
    stage.planner.script.append(proposes(kept, write("evil.md", "as Ben said")))
    await yes(stage, first, ANN)
    action = await waiting(stage)
    four_eyes(stage, TWO)
    await yes(stage, action, ANN)  # is shown anew
    action = await waiting(stage)
    assert action.approvers == TWO
    assert (await yes(stage, action, BEN)).code == "not_allowed"


async def test_what_does_not_wait_for_them_is_not_listed_for_them(stage: Scene):
    four_eyes(stage, TWO)
    action = await by_plan(stage)
    assert [one.record.id for one in await waiting_for(stage.world, TEAM, BEN)] == []
    assert [one.record.id for one in await waiting_for(stage.world, TEAM, CLEO)] == [action.id]


async def test_what_was_asked_before_they_said_something_may_be_confirmed_by_them(stage: Scene):
    four_eyes(stage, ONE)
    await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    first = await waiting(stage)
    await stage.say("looks good, and mention the date later", user=BEN, mentioned=False)
    assert (await only(stage)).instructed == {BEN}
    assert (await yes(stage, first, BEN)).code == "confirmed"


async def test_a_requester_confirms_their_own_where_nobody_is_named(stage: Scene):
    """Whatever they, or an admin, have said in its task."""
    stage.rule(admins=frozenset({BEN}))
    action = await by_reply_of_ann(stage)
    assert action.proposal.source.instructed == {BEN}
    assert (await yes(stage, action, BEN)).code == "not_allowed"
    assert (await yes(stage, action, ANN)).code == "confirmed"


async def by_reply_of_ann(stage: Scene) -> Action:
    stage.planner.script = [
        Propose((Call("desk", "write", {"path": name, "content": "new"}),)) for name in ("a.md", "b.md")
    ]
    await stage.say("write it")
    await stage.say("and the date", mentioned=False)
    told = Incoming("T1:by-ben", stage.session, BEN, "and write b.md", "4100000000.000000", False)
    assert (await steer.instruct(stage.world, told, await only(stage))).ok
    await yes(stage, await waiting(stage), ANN)
    return await waiting(stage)


@pytest.mark.parametrize("way", TOLD)
async def test_who_said_why_not_or_remarked_something_does_not_confirm_alone_what_came_of_it(
    stage: Scene, way: Way
):
    four_eyes(stage, TWO)
    action = await way(stage)
    assert b"evil.md" in action.args
    assert action.proposal.source.instructed == {BEN}
    with nothing_ran(stage):
        assert (await yes(stage, action, BEN)).code == "not_allowed"
    assert (await yes(stage, action, CLEO)).code == "confirmed"
    assert wrote(stage)[-1] == "evil.md"


async def test_who_said_no_and_not_why_may_confirm_what_comes_next(stage: Scene):
    four_eyes(stage, ONE)
    stage.planner.script = [
        Propose((Call("desk", "write", {"path": name, "content": "new"}),)) for name in ("a.md", "b.md")
    ]
    await stage.say("write it")
    assert (await claim_click.reject(stage.world, stage.press(await waiting(stage), BEN))).ok
    await stage.play()
    assert (await yes(stage, await waiting(stage), BEN)).code == "confirmed"


@pytest.mark.parametrize("form", [{"type": "boolean"}, {"type": "string", "enum": ["a", "b"]}])
async def test_who_answered_a_server_by_a_choice_among_its_own_may_confirm_what_comes_next(
    stage: Scene, form: dict[str, Json]
):
    four_eyes(stage, ONE)
    stage.planner.script = [
        Propose((Call("desk", "write", {"path": name, "content": "new"}),)) for name in ("a.md", "b.md")
    ]
    await stage.say("write it")
    first = await waiting(stage)
    await answered(stage, first, BEN, choice=form)
    await yes(stage, first, BEN)
    assert (await yes(stage, await waiting(stage), BEN)).code == "confirmed"


async def test_who_said_why_not_does_not_confirm_alone_what_a_later_request_of_the_thread_makes_of_it(
    stage: Scene,
) -> None:
    stage.rule(Rule("money", ("desk.write",), approvers=ONE))
    write_it = [Call("desk", "write", {"path": "pay.md", "content": f"{much} to Ben"}) for much in (1, 99)]
    stage.planner.script += [Propose((write_it[0],)), Say("It was rejected.")]
    await stage.say("pay the invoice")
    assert (await claim_click.reject(stage.world, stage.press(await waiting(stage), BEN, reason=OTHER))).ok
    await stage.play()
    stage.planner.script[:] = [Propose((write_it[1],)), Say("Done.")]
    await stage.say("please try the payment once more")
    action = await waiting(stage)
    with nothing_ran(stage):
        assert (await stage.confirm(action, BEN)).code == "not_allowed"


async def instructed_before(stage: Scene) -> None:
    """An instruction in the task before, which its plan was changed by; the task was stopped then."""
    await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    first = await waiting(stage)
    await stage.say(OTHER, user=BEN, mentioned=False)
    kept = keep(steps(await only(stage))[0])
    stage.planner.script.append(proposes(kept, write("evil.md", "as Ben said")))
    await yes(stage, first, BEN)
    assert b"evil.md" in (await waiting(stage)).args
    await pressed(stage, control.stop, on_plan(await only(stage)))


async def said_no_to_a_step_before(stage: Scene) -> None:
    """Why the step of a plan was rejected, of which the next plan was made; its task was stopped then."""
    action = await by_reason_in_a_plan(stage)
    assert b"evil.md" in action.args
    await pressed(stage, control.stop, on_plan(await only(stage)))


@pytest.mark.parametrize("said", [instructed_before, said_no_to_a_step_before])
@pytest.mark.parametrize("at_once", [False, True])
async def test_who_said_something_in_an_earlier_request_of_the_thread_does_not_confirm_alone_what_comes_of_it(
    stage: Scene, said: Callable[[Scene], Awaitable[None]], at_once: bool
) -> None:
    """Also where the first reply comes with the look at the request."""
    four_eyes(stage, ONE)
    await said(stage)
    if at_once:
        stage.planner = AtOnce()
        stage.world = replace(stage.world, planner=stage.planner)
    stage.planner.script[:] = [Propose((Call("desk", "write", {"path": "evil.md", "content": "new"}),))]
    await stage.say("please do what was asked for before")
    action = await waiting(stage)
    assert action.proposal.source.instructed == {BEN}
    with nothing_ran(stage):
        assert (await stage.confirm(action, BEN)).code == "not_allowed"


class AtOnce(Obeying):
    """Answers a simple request as it looks at it."""

    async def assess(self, turn: Turn, brief: PlannerContext) -> PlannerAssessment:
        return PlannerAssessment(Assessment(10, 1), await self.reply(turn, brief, ()))


async def test_two_approvers_who_have_both_said_something_confirm_together(stage: Scene) -> None:
    """Each has looked at what the other said; neither could be heard alone."""
    stage.rule(Rule("four eyes", ("desk.write",), approvers=BOTH))
    await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    first = await waiting(stage)
    for user in (BEN, CLEO):
        await stage.say("fine with me", user=user, mentioned=False)
    stage.planner.script = [proposes(write("c.md"))]
    await stage.say("then c.md in place of b.md")
    await yes(stage, first, BEN)
    await yes(stage, first, CLEO)
    second = await waiting(stage)
    assert second.proposal.source.instructed == {BEN, CLEO}
    assert (await stage.confirm(second, BEN)).code == "voted"
    assert (await stage.confirm(second, CLEO)).code == "confirmed"


@pytest.mark.parametrize("said", ["thanks", "no"])
async def test_a_step_that_was_planned_before_they_said_something_may_be_confirmed_by_them(
    stage: Scene, said: str
) -> None:
    stage.rule(Rule("money", ("desk.write",), approvers=ONE))
    await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    first = await waiting(stage)
    if said == "no":
        await claim_click.reject(stage.world, stage.press(first, BEN, reason="not this one"))
        await stage.play()
        assert (await control.skip_step(stage.world, on_pause(await only(stage)))).ok
        await stage.play()
    else:
        await stage.say("thanks", user=BEN, mentioned=False)
        await yes(stage, first, BEN)
    assert (await stage.confirm(await waiting(stage), BEN)).code == "confirmed"
