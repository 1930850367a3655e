"""People decide on a plan: approve exactly what it lists, change it, have it made anew, or give it up."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest

from gate.rules.planner_port import Call, Propose, ProposedStep, Say
from gate.rules.policy import Rule
from gate.rules.ports import Posted
from gate.rules.task import Instruction, StepState
from gate.rules.task_states import TaskState as S
from gate.rules.tool import ToolSpec
from gate.tasks import plan as flow
from gate.tasks.plan import StepChange
from tests.gate.gate_setup import ANN, BEN, BOT, CHANNEL, DORA, GIL, SAM, Scene, nothing_ran
from tests.gate.plan_setup import (
    asked,
    entries,
    look,
    on_plan,
    only,
    planned,
    pressed,
    proposes,
    shred,
    states,
    steps,
    twice,
    waiting,
    write,
    wrote,
)


def change(step_id: str, place: int, **more) -> StepChange:
    return StepChange(step_id, place, **more)


# Approve


# promise: ACT-23
async def test_approve_all_is_one_consent_to_exactly_the_listed_writes(stage: Scene):
    task = await planned(stage, write("a.md"), look("a.md"), shred("a.md"), write("b.md"))
    said = await pressed(stage, flow.approve_all, on_plan(task))
    assert said.ok
    task = await only(stage)
    assert wrote(stage) == ["a.md"]
    assert states(task) == [StepState.DONE, StepState.DONE, StepState.ASKED, StepState.WAITING]
    assert (await waiting(stage)).tool == "shred"
    approved = await entries(stage, "step_approved")
    assert [(e.actor, e.tool, e.version, e.user_confirmed) for e in approved] == [
        (ANN, "desk.write", 1, True),
        (ANN, "desk.write", 1, True),
    ]
    assert [e.receipt for e in approved] == [
        step.preflight.seal for step in steps(task) if step.preflight.seal
    ]


async def test_what_was_approved_with_the_plan_is_on_the_record_as_confirmed_by_a_person(stage: Scene):
    task = await planned(stage, write("a.md"))
    await pressed(stage, flow.approve_all, on_plan(task))
    (confirmed,) = await entries(stage, "confirmed")
    assert (confirmed.actor, confirmed.user_confirmed) == (ANN, True)
    assert confirmed.reason == "by approval of plan version 1"
    (started,) = await entries(stage, "started")
    assert started.user_confirmed


async def test_no_card_asks_for_what_the_plan_covers(stage: Scene):
    shown = []
    draw = stage.wall.draw_action

    async def remember(action, key):
        shown.append(action.state.value)
        await draw(action, key)

    stage.wall.draw_action = remember
    task = await planned(stage, write("a.md"))
    await pressed(stage, flow.approve_all, on_plan(task))
    assert "prepared" not in shown
    assert wrote(stage) == ["a.md"]


async def test_a_card_that_does_not_show_all_of_a_step_gives_no_consent_to_it(stage: Scene):
    stage.world = replace(stage.world, shows=lambda plan: frozenset({"s1"}))
    task = await planned(stage, write("a.md"), write("b.md"))
    await pressed(stage, flow.approve_all, on_plan(task))
    assert wrote(stage) == ["a.md"]
    assert (await waiting(stage)).step == "s2"


@pytest.mark.parametrize("review", ["before_step", "both"])
async def test_where_every_step_is_to_ask_an_approval_covers_none(stage: Scene, review: str):
    task = await planned(stage, write("a.md"), review=review)
    await pressed(stage, flow.approve_all, on_plan(task))
    assert wrote(stage) == []
    assert (await waiting(stage)).step == "s1"


# promise: ACT-25
async def test_step_by_step_covers_none(stage: Scene):
    task = await planned(stage, look("a.md"), write("a.md"))
    await pressed(stage, flow.step_by_step, on_plan(task))
    assert wrote(stage) == []
    assert (await waiting(stage)).step == "s2"
    assert await entries(stage, "step_approved") == []


async def test_ask_me_here_asks(stage: Scene):
    task = await planned(stage, write("a.md", ask=True), write("b.md"))
    await pressed(stage, flow.approve_all, on_plan(task))
    assert (await waiting(stage)).step == "s1"
    assert wrote(stage) == []


async def test_two_presses_at_once_are_one_approval(both: Scene):
    task = await planned(both, write("a.md"))
    said = await twice(flow.approve_all, both, on_plan(task))
    assert sorted(one.ok for one in said) == [False, True]
    assert [one.code for one in said if not one.ok] == ["late"]
    await both.play()
    assert wrote(both) == ["a.md"]
    assert len(await entries(both, "step_approved")) == 1


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("verb", [flow.approve_all, flow.step_by_step, flow.replan, flow.cancel])
async def test_nobody_else_decides_on_a_plan(stage: Scene, verb):
    task = await planned(stage, write("a.md"))
    others = [BEN, GIL, SAM, DORA, BOT, "U_NOBODY"]
    for user in others:
        with nothing_ran(stage):
            said = await pressed(stage, verb, on_plan(task, user, "because"))
        assert (said.ok, said.code) == (False, "not_allowed")
    assert (await only(stage)).revision == task.revision
    assert [entry.actor for entry in await entries(stage, "turned_away")] == others


async def test_an_admin_may_cancel_a_plan_and_not_approve_it(stage: Scene):
    stage.rule(admins=frozenset({BEN}))
    task = await planned(stage, write("a.md"))
    assert (await pressed(stage, flow.approve_all, on_plan(task, BEN))).code == "not_allowed"
    assert (
        await pressed(stage, flow.modify, on_plan(task, BEN), (change("s1", 1, ask=True),))
    ).code == "not_allowed"
    assert (await pressed(stage, flow.cancel, on_plan(task, BEN))).ok
    assert (await only(stage)).ended_by == BEN


async def test_an_older_version_approves_nothing(stage: Scene):
    old = await planned(stage, write("a.md"), write("b.md"))
    assert (await pressed(stage, flow.modify, on_plan(old), (change("s1", 1, drop=True),))).ok
    said = await pressed(stage, flow.approve_all, on_plan(old))
    assert (said.code, wrote(stage)) == ("stale", [])
    assert "changed since you saw it" in said.text


async def test_a_forged_receipt_approves_nothing(stage: Scene):
    task = await planned(stage, write("a.md"))
    press = on_plan(task)
    forged = replace(press, ref=replace(press.ref, receipt="0" * 16))
    assert (await pressed(stage, flow.approve_all, forged)).code == "stale"
    assert (await pressed(stage, flow.step_by_step, forged)).code == "stale"
    assert (await pressed(stage, flow.cancel, on_plan(task))).ok


async def test_when_the_rules_changed_since_it_is_shown_anew_first(stage: Scene):
    task = await planned(stage, write("a.md"), write("b.md"))
    stage.rule(Rule("now gated", ("desk.write",), always=True))
    said = await pressed(stage, flow.approve_all, on_plan(task))
    assert said.code == "changed"
    fresh = await only(stage)
    assert fresh.plan
    assert fresh.plan.version == 2
    assert fresh.state is S.PLAN_REVIEW
    assert [step.preflight.seal for step in steps(fresh)] == ["", ""]
    assert wrote(stage) == []


async def test_when_a_tool_changed_since_it_is_shown_anew_first(stage: Scene):
    task = await planned(stage, write("a.md"))
    stage.desk.redefine("write")
    assert (await pressed(stage, flow.approve_all, on_plan(task))).code == "changed"
    fresh = await only(stage)
    assert steps(fresh)[0].preflight.seal != steps(task)[0].preflight.seal
    assert (await pressed(stage, flow.approve_all, on_plan(fresh))).ok
    assert wrote(stage) == ["a.md"]


async def test_a_plan_with_a_step_that_cannot_run_is_not_approved_as_a_whole(stage: Scene):
    stage.planner.follows = False
    task = await planned(stage, write("a.md"), ProposedStep(Call("desk", "fly", {})))
    said = await pressed(stage, flow.approve_all, on_plan(task))
    assert said.code == "blocked"
    assert said.text.startswith("Step 2 cannot run: There is no tool called desk.fly")
    assert wrote(stage) == []
    assert (await pressed(stage, flow.modify, on_plan(task), (change("s2", 2, drop=True),))).ok
    assert (await pressed(stage, flow.approve_all, on_plan(await only(stage)))).ok
    assert wrote(stage) == ["a.md"]


# Modify


async def test_steps_are_reordered_and_keep_their_ids(both: Scene):
    task = await planned(both, write("a.md"), write("b.md"), write("c.md"))
    said = await pressed(both, flow.modify, on_plan(task), (change("s3", 1),))
    assert said.ok
    fresh = await only(both)
    assert [step.id for step in steps(fresh)] == ["s3", "s1", "s2"]
    assert fresh.plan
    assert task.plan
    assert (fresh.plan.version, fresh.plan.seal == task.plan.seal) == (2, False)
    await pressed(both, flow.approve_all, on_plan(fresh))
    assert wrote(both) == ["c.md", "a.md", "b.md"]


async def test_changed_arguments_are_looked_at_anew(stage: Scene):
    stage.desk.notes["b.md"] = "old"
    task = await planned(stage, write("a.md"), write("c.md"))
    args = {"path": "b.md", "content": "mine"}
    assert (await pressed(stage, flow.modify, on_plan(task), (change("s1", 1, args=args),))).ok
    fresh = await only(stage)
    step = steps(fresh)[0]
    assert step.preview
    assert "-old" in step.preview.diff
    assert step.preflight.seal
    assert step.preflight.seal != steps(task)[0].preflight.seal
    assert steps(fresh)[1].preflight.seal == steps(task)[1].preflight.seal
    await pressed(stage, flow.approve_all, on_plan(fresh))
    assert stage.desk.notes == {"b.md": "mine", "c.md": "new"}


async def test_nothing_is_approved_before_changes_were_looked_at(stage: Scene):
    task = await planned(stage, write("a.md"))
    args = {"path": "b.md", "content": "mine"}
    assert (await flow.modify(stage.world, on_plan(task), (change("s1", 1, args=args),))).ok
    said = await flow.approve_all(stage.world, on_plan(await only(stage)))
    assert (said.ok, said.code) == (False, "looking")
    await stage.play()
    assert wrote(stage) == []


async def test_ask_me_here_is_kept(stage: Scene):
    task = await planned(stage, write("a.md"), write("b.md"))
    await pressed(stage, flow.modify, on_plan(task), (change("s2", 2, ask=True),))
    await pressed(stage, flow.approve_all, on_plan(await only(stage)))
    assert wrote(stage) == ["a.md"]
    assert (await waiting(stage)).step == "s2"


async def test_a_note_on_a_step_reaches_the_planner_before_anything_runs(stage: Scene):
    task = await planned(stage, write("a.md"), write("b.md"))
    await pressed(stage, flow.modify, on_plan(task), (change("s2", 2, note="in capitals"),))
    fresh = await only(stage)
    assert [one.text for one in fresh.instructions] == ["For step 2 (write): in capitals"]
    assert steps(fresh)[1].note == "in capitals"
    first = ProposedStep(Call("desk", "write", steps(fresh)[0].args), step="s1")
    stage.planner.script = [proposes(first, write("b.md", "NEW", step="s2"))]
    await pressed(stage, flow.approve_all, on_plan(fresh))
    assert wrote(stage) == ["a.md"]
    assert b"NEW" in (await waiting(stage)).args
    assert [one.used for one in (await only(stage)).instructions] == ["before step 1"]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ((change("s9", 1),), "not there"),
        ((change("s1", 0),), "no place 0"),
        ((change("s1", 4),), "no place 4"),
        ((change("s1", 3), change("s2", 3)), "cannot both be at place 3"),
        ((change("s1", 1), change("s1", 1)), "changed twice"),
        (tuple(change(f"s{n}", n, drop=True) for n in (1, 2, 3)), "Nothing would be left"),
        ((change("s2", 2, args={"path": "b.md"}),), "Step 2 (write): `content`"),
        ((change("s2", 2, args={"path": "b.md", "content": "x", "colour": "red"}),), "colour"),
        ((change("s2", 2, args={"path": "b.md", "content": "\ud800"}),), "lone surrogate"),
        ((change("s1", 1, drop=True),), "takes its `content` from a step that would not come before"),
        ((change("s3", 1),), "takes its `content` from a step that would not come before"),
    ],
)
async def test_what_does_not_fit_is_told_and_nothing_is_changed(stage: Scene, changes, why):
    uses = ProposedStep(Call("desk", "write", {"path": "c.md"}), refs={"content": "{steps.1.content}"})
    task = await planned(stage, look("a.md"), write("b.md"), uses)
    said = await pressed(stage, flow.modify, on_plan(task), changes)
    assert (said.ok, said.code) == (False, "unfit")
    assert why in said.text
    assert (await only(stage)).revision == task.revision


async def test_arguments_that_the_policy_denies_are_told(stage: Scene):
    stage.rule(Rule("not there", ("desk.write",), deny=True, texts=("^secret",)))
    task = await planned(stage, write("a.md"))
    args = {"path": "secret.md", "content": "x"}
    said = await pressed(stage, flow.modify, on_plan(task), (change("s1", 1, args=args),))
    assert said.code == "unfit"
    assert "not there" in said.text


async def test_a_form_that_changes_nothing_changes_nothing(stage: Scene):
    task = await planned(stage, write("a.md"))
    said = await pressed(
        stage, flow.modify, on_plan(task), (change("s1", 1, args=dict(steps(task)[0].args)),)
    )
    assert said.code == "unchanged"
    assert (await only(stage)).revision == task.revision


async def test_a_value_typed_for_what_an_earlier_step_gives_takes_its_place(stage: Scene):
    uses = ProposedStep(Call("desk", "write", {"path": "c.md"}), refs={"content": "{steps.1.content}"})
    task = await planned(stage, look("a.md"), uses)
    args = {"path": "c.md", "content": "typed"}
    await pressed(stage, flow.modify, on_plan(task), (change("s2", 2, args=args),))
    step = steps(await only(stage))[1]
    assert (step.refs, step.args["content"]) == ({}, "typed")
    assert step.preflight.seal


async def test_two_changes_at_once_make_one_version(both: Scene):
    task = await planned(both, write("a.md"), write("b.md"))

    async def drop(world, press):
        return await flow.modify(world, press, (change("s1", 1, drop=True),))

    said = await twice(drop, both, on_plan(task))
    assert sorted(one.ok for one in said) == [False, True]
    fresh = await only(both)
    assert fresh.plan
    assert fresh.plan.version == 2
    assert [step.id for step in steps(fresh)] == ["s2"]


# Re-plan and cancel


# promise: TASK-07
async def test_a_plan_is_made_anew_for_a_reason(stage: Scene):
    task = await planned(stage, write("a.md"))
    stage.planner.script = [proposes(write("b.md"))]
    assert (await pressed(stage, flow.replan, on_plan(task, text="b, not a"))).ok
    fresh = await only(stage)
    assert (fresh.state, fresh.reason) == (S.PLAN_REVIEW, "b, not a")
    assert [(step.id, step.args["path"]) for step in steps(fresh)] == [("s2", "b.md")]
    assert stage.planner.briefs[-1].reason == "b, not a"
    assert stage.planner.seen[-1].text == "b, not a"
    assert (await pressed(stage, flow.approve_all, on_plan(task))).code == "stale"


async def test_a_reason_is_needed(stage: Scene):
    task = await planned(stage, write("a.md"))
    assert (await pressed(stage, flow.replan, on_plan(task, text="  "))).code == "empty"


async def test_a_planner_without_another_plan_leaves_the_one_there_is(stage: Scene):
    task = await planned(stage, write("a.md"))
    stage.planner.script = [Say("Hm.")]
    await pressed(stage, flow.replan, on_plan(task, text="better"))
    fresh = await only(stage)
    assert fresh.state is S.PLAN_REVIEW
    assert fresh.plan
    assert fresh.plan.version == 2
    assert any("stays as it was" in text for text in stage.texts)


async def test_ids_are_never_given_twice(stage: Scene):
    task = await planned(stage, write("a.md"), write("b.md"))
    await pressed(stage, flow.modify, on_plan(task), (change("s2", 2, drop=True),))
    stage.planner.script = [proposes(write("c.md"), write("d.md"))]
    await pressed(stage, flow.replan, on_plan(await only(stage), text="c and d"))
    assert [step.id for step in steps(await only(stage))] == ["s3", "s4"]


async def test_cancel_ends_it(stage: Scene):
    task = await planned(stage, write("a.md"))
    assert (await pressed(stage, flow.cancel, on_plan(task))).ok
    assert (await only(stage)).state is S.CANCELLED
    assert (await pressed(stage, flow.approve_all, on_plan(task))).code == "late"
    assert wrote(stage) == []


async def test_a_plan_takes_no_more_instructions_than_a_task_keeps(stage: Scene):
    task = await planned(stage, write("a.md"), write("b.md"))
    at = await stage.ledger.now()
    said = tuple(Instruction(f"r{n}", ANN, "x", at) for n in range(49))
    async with stage.ledger.begin() as tx:
        now = await tx.task(task.id)
        assert now is not None
        await tx.update_task(now, input=replace(now.input, instructions=said))
    notes = (change("s1", 1, note="in short"), change("s2", 2, note="in long"))
    assert (await pressed(stage, flow.modify, on_plan(task), notes)).code == "full"
    assert (await pressed(stage, flow.modify, on_plan(task), notes[:1])).code == "modify"
    assert len((await only(stage)).instructions) == 50


class Seen:
    """Tools and clock, with a record of each tool that is looked up, as for a judgement, and of each turn given to
    other work."""

    def __init__(self, inner: Any, record: list[str]) -> None:
        self.inner, self.record = inner, record

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def find(self, server: str, tool: str) -> ToolSpec | None:
        self.record.append("look")
        return self.inner.find(server, tool)

    async def sleep(self, seconds: float) -> None:
        self.record.append("turn")
        await self.inner.sleep(seconds)


@pytest.mark.slow
async def test_other_work_has_turns_while_the_steps_of_a_plan_are_judged(stage: Scene):
    """Large arguments take a tenth of a second for each step: thirty in one go held the loop up for seconds."""
    record = list[str]()
    seen = {"tools": Seen(stage.world.tools, record), "clock": Seen(stage.world.clock, record)}
    stage.world = replace(stage.world, **seen)
    task = await planned(stage, *(write(f"{n}.md") for n in range(12)))
    changes = [
        change(step.id, place, args={"path": f"{step.id}.md"}) for place, step in enumerate(steps(task), 1)
    ]
    changes[-1] = replace(changes[-1], args={"path": "a.md", "content": 7})
    assert (await flow.modify(stage.world, on_plan(task), changes)).code == "unfit"
    said = await asyncio.gather(*(flow.step_by_step(stage.world, on_plan(task)) for _ in range(6)))
    assert sum(one.code == "approve" for one in said) == 1
    together = max(sum(one == "look" for one in run) for _, run in groupby(record, "look".__eq__))
    assert together <= 4, record


async def test_a_plan_that_nobody_approved_in_time_is_not_judged_again_at_each_press(stage: Scene):
    task = await planned(stage, write("a.md"), write("b.md"))
    assert task.plan
    await flow.expire_plan(stage.world, task.id, task.plan.version)
    record = list[str]()
    stage.world = replace(stage.world, tools=Seen(stage.world.tools, record))
    assert (await flow.step_by_step(stage.world, on_plan(await only(stage)))).code == "lapsed"
    assert record == []


async def test_a_plain_yes_in_the_thread_approves_what_the_card_lists(stage: Scene):
    await planned(stage, write("a.md"), shred("a.md"))
    await stage.say("yes", mentioned=False)
    assert wrote(stage) == ["a.md"]
    assert (await waiting(stage)).tool == "shred"


async def test_words_in_the_thread_have_it_planned_anew(stage: Scene):
    await asked(stage, proposes(write("a.md")), proposes(write("b.md")))
    await stage.say("rather b.md please", mentioned=False)
    assert [step.args["path"] for step in steps(await only(stage))] == ["b.md"]


async def test_a_yes_to_ones_own_plan_counts_also_where_somebody_elses_card_waits(stage: Scene):
    task = await planned(stage, write("a.md"))
    assert task.state is S.PLAN_REVIEW
    stage.planner.script = [Propose((Call("desk", "write", {"path": "b.md", "content": "x"}),))]
    await stage.say("write b.md", user=BEN)
    below = Posted(CHANNEL, "4100000000.000000", 99)  # the plan's own card is the newest
    await stage.ledger.set_posted(f"{task.id}:plan:1", below)
    await stage.say("yes", mentioned=False, ts="4100000000.000001")
    assert wrote(stage) == ["a.md"]
    (left,) = await stage.ledger.pending("T1")
    assert left.requester == BEN
    await stage.say("yes", mentioned=False, ts="4100000000.000002")
    assert stage.texts[-1].endswith("can confirm this.")
