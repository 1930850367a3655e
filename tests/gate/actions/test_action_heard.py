"""Who has said something does not confirm alone what came of it, also once their words are not kept any more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import pytest

from gate.actions import claim_click
from gate.rules import advisers
from gate.rules.action import Action, Person
from gate.rules.planner_port import (
    Call,
    Incoming,
    PlannerAssessment,
    PlannerContext,
    PlannerReply,
    Propose,
    Say,
    Turn,
)
from gate.rules.task import Assessment, Step
from gate.tasks import control, plan, steer
from gate.tasks.task_transitions import EARLIER_TURNS
from tests.gate.actions.test_action_instructed import BEN, OTHER, TWO, AtOnce, answered, four_eyes, yes
from tests.gate.gate_setup import ANN, CLEO, TEAM, Scene, nothing_ran
from tests.gate.plan_setup import (
    MANY,
    approved,
    keep,
    on_plan,
    only,
    planned,
    pressed,
    proposes,
    steps,
    waiting,
    write,
)
from tests.tasks import parts_of

DAN = "U_DAN"
EVIL = Call("desk", "write", {"path": "evil.md", "content": "as Ben said"})
LOOK = PlannerReply(Propose((Call("desk", "look", {"path": "a.md"}),), lookup=True))
LATER = [0, steer.REMARKS - 1, steer.REMARKS, 2 * steer.REMARKS]


@pytest.fixture
def stage(stage: Scene) -> Scene:
    """Ben or Cleo confirms what is written. Ben is no admin: what he says of a task of others is a remark."""
    four_eyes(stage, TWO)
    stage.world = replace(stage.world, policy=replace(stage.world.policy, admins=frozenset()))
    stage.directory.people[DAN] = Person("T1", DAN, "Dan", "T1")
    return stage


async def refused(stage: Scene, action: Action) -> None:
    """To Ben, and not to Cleo."""
    assert b"evil.md" in action.args
    with nothing_ran(stage):
        assert (await stage.confirm(action, BEN)).code == "not_allowed"
        await stage.play()
    assert (await stage.confirm(action, CLEO)).code == "confirmed"


async def chat(stage: Scene, remarks: int) -> None:
    for number in range(remarks):
        await stage.say(f"nice weather {number}", user=DAN, mentioned=False)


@dataclass
class Reading:
    """Looks twice before it plans; meanwhile Ben remarks something, and then others do."""

    stage: Scene
    later: int
    replies: int = 0

    async def reply(self, turn: Turn, brief: PlannerContext, pending: tuple[Action, ...]) -> PlannerReply:
        self.replies += 1
        if self.replies == 1:
            await self._remark(BEN, OTHER)
        elif self.replies == 2:
            assert OTHER in [one.text for one in brief.remarks]
            for number in range(self.later):
                await self._remark(DAN, f"nice weather {number}")
        return LOOK if self.replies <= 2 else PlannerReply(proposes(write("evil.md")))

    async def _remark(self, user: str, text: str) -> None:
        key = f"{self.replies}:{text}"
        said = Incoming(f"T1:{key}", self.stage.session, user, text, "4100000000.000000", False)
        told = await steer.handle_thread_message(self.stage.world, said)
        assert told is not None
        assert told.code == "remarked"


@pytest.mark.parametrize("later", LATER)
async def test_a_remark_that_was_told_while_files_were_read_counts_after_any_number_of_others(
    stage: Scene, later: int
) -> None:
    stage.planner.thinks = Reading(stage, later)
    stage.planner.assessments.append(MANY)
    await stage.say("tidy up the desk")
    await approved(stage, await only(stage))
    await refused(stage, await waiting(stage))


@pytest.mark.parametrize("later", LATER)
async def test_a_remark_counts_in_its_task_after_any_number_of_others(stage: Scene, later: int) -> None:
    await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    first = await waiting(stage)
    await stage.say(OTHER, user=BEN, mentioned=False)
    await chat(stage, later)
    assert len((await only(stage)).input.remarks) == min(later + 1, steer.REMARKS)
    stage.planner.script.append(proposes(keep(steps(await only(stage))[0]), write("evil.md")))
    await stage.say("do what Ben wrote", mentioned=False)
    await stage.confirm(first, BEN)  # was asked before
    await stage.play()
    await approved(stage, await only(stage))
    await refused(stage, await waiting(stage))


@pytest.mark.parametrize("later", LATER)
async def test_a_remark_counts_in_a_later_request_after_any_number_of_others(
    stage: Scene, later: int
) -> None:
    """Which takes up the plan that came of it."""
    await approved(stage, await planned(stage, write("a.md")))
    await waiting(stage)
    await stage.say(OTHER, user=BEN, mentioned=False)
    await chat(stage, later)
    await pressed(stage, control.stop, on_plan(await only(stage)))
    stage.planner.script[:] = [Propose((EVIL,))]
    await stage.say("please do what was planned before")
    await refused(stage, await waiting(stage))


async def test_a_remark_that_an_earlier_version_kept_counts_once_it_is_cut(stage: Scene) -> None:
    await approved(stage, await planned(stage, write("a.md")))
    await waiting(stage)
    await stage.say(OTHER, user=BEN, mentioned=False)
    task = await only(stage)
    async with stage.ledger.begin() as tx:
        await tx.update_task(task, **parts_of(task, heard=None))
    assert advisers.of_task(await only(stage)) == {BEN}
    await chat(stage, steer.REMARKS)
    assert advisers.of_task(await only(stage)) == {BEN, DAN}


@dataclass
class ReadingOn:
    """Looks at files and then proposes; at its last look the thread becomes longer than what a planner is told of it."""

    stage: Scene
    at_once: bool  # the first look comes with the look at the request
    told: list[frozenset[str]] = field(default_factory=list)
    follows: bool = True

    async def assess(self, turn: Turn, brief: PlannerContext) -> PlannerAssessment:
        return PlannerAssessment(
            Assessment(10, 1), await self.reply(turn, brief, ()) if self.at_once else None
        )

    async def reply(self, turn: Turn, brief: PlannerContext, pending: tuple[Action, ...]) -> PlannerReply:
        self.told.append(brief.told_by)
        looks = 1 if self.at_once else 2
        if len(self.told) == looks:
            await self._others_ask()
        elif len(self.told) < looks:
            await self._forget(turn.task)
        return LOOK if len(self.told) <= looks else PlannerReply(Propose((EVIL,)))

    async def _others_ask(self) -> None:
        at = self.stage.session
        async with self.stage.ledger.begin() as tx:
            for number in range(EARLIER_TURNS + 1):
                await tx.open_turn(Turn(f"of-dan-{number}", at, DAN, "what is new?", await tx.now()))

    async def _forget(self, task_id: str) -> None:
        """As if an earlier version had looked at the request."""
        task = await self.stage.ledger.task(task_id)
        assert task
        async with self.stage.ledger.begin() as tx:
            await tx.update_task(task, **parts_of(task, heard=None))


@pytest.mark.parametrize("at_once", [False, True])
async def test_who_was_heard_before_something_was_looked_up_counts_when_their_words_are_told_no_more(
    stage: Scene, at_once: bool
) -> None:
    stage.planner.script = [Propose((EVIL,)), Say("It was rejected.")]
    await stage.say("write it")
    no = stage.press(await waiting(stage), BEN, reason=OTHER)
    assert (await claim_click.reject(stage.world, no)).ok
    await stage.play()
    reader = ReadingOn(stage, at_once)
    stage.world = replace(stage.world, planner=reader)
    await stage.say("please try it once more")
    action = await waiting(stage)
    assert all(BEN in told for told in reader.told)
    await refused(stage, action)


async def asked_before(stage: Scene) -> None:
    """Ben asks for it, and calls it off."""
    stage.planner.script[:] = [Propose((EVIL,)), Say("Not done.")]
    await stage.say("write evil.md", user=BEN)
    first = await waiting(stage)
    assert (await stage.confirm(first, BEN)).code == "not_allowed"
    await claim_click.cancel(stage.world, stage.press(first, BEN))
    await stage.play()


async def asked_in_words_before(stage: Scene) -> None:
    """Ben has it talked about, and nothing was called for."""
    stage.planner.script[:] = [Say("Shall I?")]
    await stage.say("evil.md should be written", user=BEN)


@pytest.mark.parametrize("before", [asked_before, asked_in_words_before])
@pytest.mark.parametrize("at_once", [False, True])
async def test_who_asked_in_the_thread_before_does_not_confirm_alone_what_is_proposed_to_somebody_else(
    stage: Scene, before: Callable[[Scene], Awaitable[None]], at_once: bool
) -> None:
    await before(stage)
    if at_once:
        stage.planner = AtOnce()
        stage.world = replace(stage.world, planner=stage.planner)
    stage.planner.script[:] = [Propose((EVIL,))]
    await stage.say("what is the weather like?")
    action = await waiting(stage)
    assert (action.requester, action.proposal.source.instructed) == (ANN, {BEN})
    await refused(stage, action)


async def test_what_was_asked_for_before_counts_after_a_request_that_asked_for_no_change(
    stage: Scene,
) -> None:
    """Whose planner was told of it, so that its answer may tell a later one."""
    await asked_in_words_before(stage)
    stage.planner.script[:] = [Say("Ben wants evil.md to be written.")]
    await stage.say("what is the weather like?")
    (task,) = await stage.ledger.tasks_of(stage.session, 1, ANN)
    assert advisers.of_task(task) == {BEN}
    async with stage.ledger.begin() as tx:
        for number in range(EARLIER_TURNS - 1):
            at = await tx.now()
            await tx.open_turn(Turn(f"of-dan-{number}", stage.session, DAN, "what is new?", at))
    stage.planner.script[:] = [Propose((EVIL,))]
    await stage.say("then do that")
    assert BEN not in {one.requester for one in stage.planner.briefs[-1].earlier}
    await refused(stage, await waiting(stage))


async def test_an_approver_confirms_what_somebody_asks_for_again(stage: Scene) -> None:
    stage.planner.script[:] = [Propose((Call("desk", "write", {"path": "a.md", "content": ""}),)), Say("No.")]
    await stage.say("write a.md")
    await claim_click.cancel(stage.world, stage.press(await waiting(stage)))
    await stage.play()
    stage.planner.script[:] = [Propose((EVIL,))]
    await stage.say("please try it once more")
    action = await waiting(stage)
    assert action.proposal.source.instructed == frozenset()
    assert (await stage.confirm(action, BEN)).code == "confirmed"


async def typed_in_the_first_step(stage: Scene, *more: Step) -> None:
    four_eyes(stage, TWO)
    await approved(stage, await planned(stage, write("a.md"), *more))
    first = await waiting(stage)
    await answered(stage, first, BEN, why={"type": "string"})
    assert (await yes(stage, first, CLEO)).code == "confirmed"


async def test_words_typed_in_a_step_of_a_plan_count_for_a_later_request(stage: Scene) -> None:
    await typed_in_the_first_step(stage)
    stage.planner.script[:] = [Propose((Call("desk", "write", {"path": "evil.md", "content": "as typed"}),))]
    await stage.say("please write what came of that, too")
    action = await waiting(stage)
    assert b"evil.md" in action.args
    assert (await yes(stage, action, BEN)).code == "not_allowed"


async def test_words_typed_in_a_step_count_for_a_step_that_takes_what_it_gave(stage: Scene) -> None:
    await typed_in_the_first_step(stage, write("b.md", refs={"content": "{steps.s1.content}"}))
    second = await waiting(stage)
    assert b"b.md" in second.args
    assert (await yes(stage, second, BEN)).code == "not_allowed"


async def test_words_typed_in_a_step_count_for_a_new_plan_of_its_task(stage: Scene) -> None:
    await typed_in_the_first_step(stage, write("b.md", ask=True))
    await waiting(stage)
    stage.planner.script.append(proposes(keep(steps(await only(stage))[0]), write("evil.md", "as typed")))
    assert (await plan.replan(stage.world, on_plan(await only(stage), text="with what came of the first"))).ok
    await stage.play()
    for waits in await stage.ledger.pending(TEAM):
        await yes(stage, waits, CLEO)
    await approved(stage, await only(stage))
    (action,) = [one for one in await stage.ledger.pending(TEAM) if b"evil" in one.args]
    assert (await yes(stage, action, BEN)).code == "not_allowed"
