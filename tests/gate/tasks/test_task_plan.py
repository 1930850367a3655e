"""A plan is made of what the planner proposes: looked at by reads alone, sealed, mended, and shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.actions.action_versions import TOO_LONG
from gate.rules.action import CallClass, Verdict
from gate.rules.approvers import Approvers
from gate.rules.plan_room import LEFT_OUT
from gate.rules.planner_port import Call, Clarify, Done, Incoming, Mode, Propose, ProposedStep, Say
from gate.rules.policy import Rule
from gate.rules.task import Flow, Missing, Question, Task
from gate.rules.task_states import TaskState as S
from gate.tasks import plan as flow
from gate.tasks import steer
from storage.leases import open_redis
from tests.gate.gate_setup import ANN, Scene
from tests.gate.plan_setup import (
    approved,
    asked,
    call,
    confirmed,
    look,
    on_plan,
    only,
    planned,
    pressed,
    proposes,
    shred,
    steps,
    waiting,
    write,
)


# promise: ACT-22
async def test_a_plan_shows_what_every_step_would_change(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    task = await planned(stage, look("a.md"), write("a.md"), shred("a.md"))
    assert (task.state, task.flow) == (S.PLAN_REVIEW, Flow.PLAN)
    read, change, destroy = steps(task)
    assert [s.id for s in (read, change, destroy)] == ["s1", "s2", "s3"]
    assert [s.cls for s in (read, change, destroy)] == [
        CallClass.READ,
        CallClass.WRITE,
        CallClass.DESTRUCTIVE,
    ]
    assert [s.verdict for s in (read, change, destroy)] == [Verdict.RUN, Verdict.CONFIRM, Verdict.TYPED]
    assert change.preview is not None
    assert change.preview.summary == "Write a.md"
    assert "-old" in change.preview.diff
    assert change.preview.undo


async def test_looking_reserves_nothing_and_changes_nothing(stage: Scene, redis_url: str):
    task = await planned(stage, write("a.md"), shred("b.md"))
    assert stage.desk.calls == []
    assert await stage.ledger.pending(task.session.team) == ()
    async with open_redis(redis_url) as redis:
        assert await redis.keys("confirmation:*") == []
    assert stage.wall.cards == {}


async def test_only_what_an_approval_can_cover_is_sealed(stage: Scene):
    stage.rule(Rule("r", ("desk.put_back",), approvers=Approvers(users=frozenset({"U_BEN"}))))
    task = await planned(
        stage, write("a.md"), look("a.md"), shred("b.md"), call("poke", at="x"),
        call("put_back", path="c.md", content="x"), write("d.md", "x" * 4000),
    )  # fmt: skip
    assert [bool(step.preflight.seal) for step in steps(task)] == [True, False, False, False, False, False]
    assert task.plan
    assert len(task.plan.seal) == 64


async def test_arguments_that_an_earlier_step_gives_are_shown_as_such(stage: Scene):
    uses = ProposedStep(Call("desk", "write", {"path": "b.md"}), refs={"content": "{steps.1.content}"})
    task = await planned(stage, look("a.md"), uses)
    step = steps(task)[1]
    assert step.refs == {"content": "{steps.s1.content}"}
    assert (step.preview, step.preflight.seal, step.problem) == (None, "", "")
    assert step.cls is CallClass.WRITE


async def test_what_cannot_be_looked_at_yet_is_said_and_does_not_block(stage: Scene):
    stage.desk.specs_now["look"] = replace(stage.desk.specs_now["look"], recipe=replace(
        stage.desk.specs_now["look"].recipe, cls=CallClass.WRITE))  # fmt: skip
    task = await planned(stage, write("a.md"))
    (step,) = steps(task)
    assert step.verdict is Verdict.CONFIRM
    assert "could not look" in step.problem
    assert step.preflight.seal == ""


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (call("fly", path="a.md"), "no tool called desk.fly"),
        (call("write", path="a.md"), "content"),
        (call("write", path="a.md", content="x", colour="red"), "colour"),
        (call("write", path=5, content="x"), "path"),
        (ProposedStep(Call("desk", "write", {"path": "a"}), refs={"content": "{steps.3.content}"}), "before"),
        (ProposedStep(Call("desk", "write", {"path": "a"}), refs={"content": "{args.path}"}), "before"),
        (
            ProposedStep(Call("desk", "write", {"path": "a", "content": ""}), refs={"colour": "{steps.1.x}"}),
            "colour",
        ),
    ],
)
async def test_a_step_that_cannot_run_goes_back_to_the_planner_and_is_never_dropped(stage: Scene, bad, why):
    again = proposes(look("z.md"), bad)
    task = await asked(stage, again, again, again)
    assert task.state is S.PLAN_REVIEW
    assert [turn.mode for turn in stage.planner.seen] == [Mode.PLAN] * 3
    assert all(why in turn.text for turn in stage.planner.seen[1:])
    step = steps(task)[1]
    assert step.verdict is Verdict.DENY
    assert why in step.problem
    assert task.planning.repairs == 0


async def test_a_planner_that_mends_its_plan_is_asked_no_more(stage: Scene):
    task = await asked(stage, proposes(call("fly")), proposes(write("a.md")))
    assert [step.name for step in steps(task)] == ["desk.write"]
    assert len(stage.planner.seen) == 2
    assert task.plan
    assert task.plan.version == 1


async def test_a_denied_tool_says_why(stage: Scene):
    stage.rule(Rule("no pens", ("desk.write",), deny=True))
    stage.planner.follows = False  # it cannot mend anything
    task = await planned(stage, write("a.md"))
    assert "no pens" in steps(task)[0].problem
    assert len(stage.planner.seen) == 1


async def test_who_reads_in_order_to_plan_is_asked_again_even_where_it_never_follows(stage: Scene):
    stage.planner.follows = False
    stage.desk.notes["a.md"] = "old"
    reads = Propose((Call("desk", "look", {"path": "a.md"}),))
    task = await asked(stage, reads, proposes(write("a.md")))
    assert [step.name for step in steps(task)] == ["desk.write"]
    assert [told.status for told in stage.planner.seen[1].exchanges[0].reports] == ["succeeded"]


async def test_nothing_is_changed_in_order_to_plan(stage: Scene):
    stage.planner.follows = False
    changes = Propose((Call("desk", "write", {"path": "a.md", "content": "x"}),))
    task = await asked(stage, changes, Say("I may not."))
    assert task.state is S.DONE
    assert "changes something" in stage.planner.seen[1].exchanges[0].reports[0].text
    assert stage.desk.calls == []


async def test_too_many_steps_are_said(stage: Scene):
    long = proposes(*[write(f"{n}.md") for n in range(31)])
    task = await asked(stage, long, long, long)
    assert task.state is S.FAILED
    assert task.reason.startswith("The plan has 31 steps, and I take at most 30")
    assert any("31 steps" in text for text in stage.texts)


@pytest.mark.parametrize("reply", [Done(), Propose(())])
async def test_without_a_plan_the_task_fails_in_a_clear_sentence(stage: Scene, reply):
    task = await asked(stage, *([reply] * 20))
    assert task.state is S.FAILED
    assert any("could not make a plan" in text or "stopped here" in text for text in stage.texts)


async def test_a_planner_that_answers_in_words_has_answered(stage: Scene):
    task = await asked(stage, Say("Nothing is in a.md."))
    assert (task.state, task.outcome.result) == (S.DONE, "Answered in words.")
    assert stage.texts == ["Nothing is in a.md."]


async def test_an_empty_plan_is_no_plan(stage: Scene):
    task = await asked(stage, proposes())
    assert (task.state, task.plan) == (S.FAILED, None)


async def test_a_planner_may_ask_first(stage: Scene):
    question = Question("which", "Which desk?", Missing.INPUTS)
    task = await asked(stage, Clarify((question,)))
    assert (task.state, task.questions) == (S.CLARIFYING, (question,))


async def test_without_plan_approval_it_begins_and_every_write_asks(stage: Scene):
    task = await planned(stage, look("a.md"), write("a.md"), plan_approval=False)
    assert task.state is S.RUNNING
    assert stage.desk.calls == []
    (action,) = await stage.ledger.pending(task.session.team)
    assert (action.task, action.step, action.requester) == (task.id, "s2", ANN)


async def test_the_planners_note_is_kept(stage: Scene):
    task = await asked(stage, proposes(write("a.md"), note="careful"))
    assert task.plan
    assert task.plan.note == "careful"


async def test_what_is_private_shows_nothing_to_the_thread(stage: Scene):
    stage.rule(Rule("quiet", ("desk.write",), private=True))
    task = await planned(stage, write("a.md", "secret"))
    (step,) = steps(task)
    assert step.preview is not None
    assert "secret" not in str(step.preview)
    assert step.preflight.seal == ""


async def test_why_a_private_step_failed_is_told_on_its_own_card_alone(stage: Scene):
    stage.rule(Rule("quiet", ("desk.write",), private=True))
    await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    stage.desk.behave = "says no"
    task = await confirmed(stage)
    assert task.state is S.PAUSED
    assert stage.desk.refusal not in str([task, stage.texts])
    assert stage.desk.refusal in str(stage.wall.cards)


async def test_what_is_said_while_a_plan_is_made_goes_into_it(stage: Scene):
    said = Incoming("k", stage.session, ANN, "and b.md", "4100000000.0", False)
    reply = stage.planner.reply

    async def interrupted(turn, brief, pending):
        answer = await reply(turn, brief, pending)
        if len(stage.planner.seen) == 1:
            assert (await steer.handle_thread_message(stage.world, said)).code == "steered"
        return answer

    stage.planner.reply = interrupted
    task = await asked(stage, proposes(write("a.md")), proposes(write("a.md"), write("b.md")))
    assert [step.args["path"] for step in steps(task)] == ["a.md", "b.md"]
    assert [one.text for one in stage.planner.briefs[1].instructions] == ["and b.md"]
    assert [one.used for one in (await only(stage)).instructions] == ["for the plan"]


async def test_what_is_said_before_a_look_goes_into_the_plan_that_comes_of_the_look(stage: Scene):
    said = Incoming("k", stage.session, ANN, "and b.md", "4100000000.0", False)
    reply = stage.planner.reply

    async def interrupted(turn, brief, pending):
        answer = await reply(turn, brief, pending)
        if len(stage.planner.seen) == 1:
            assert (await steer.handle_thread_message(stage.world, said)).code == "steered"
        return answer

    stage.planner.reply = interrupted
    reads = Propose((Call("desk", "look", {"path": "a.md"}),))
    await asked(stage, proposes(write("a.md")), reads, proposes(write("a.md"), write("b.md")))
    seen = [[(one.text, one.used) for one in brief.instructions] for brief in stage.planner.briefs]
    assert seen == [[], [("and b.md", "")], [("and b.md", "")]]
    assert [one.used for one in (await only(stage)).instructions] == ["for the plan"]


async def test_a_plan_that_only_reads_asks_nobody(stage: Scene):
    task = await planned(stage, look("a.md"), look("b.md"), look("c.md"))
    assert task.state is S.SATISFACTION
    assert stage.desk.reads == 3
    assert not task.changed


async def test_a_plan_keeps_no_preview_that_nobody_could_be_shown(stage: Scene):
    task = await planned(stage, write("a.md", "x" * 60_001), write("b.md"))
    large, small = steps(task)
    assert large.preview
    assert small.preview
    assert (large.preview.facts, large.preview.diff, large.problem) == ((), "", TOO_LONG)
    assert small.preview.facts


@pytest.mark.slow
async def test_a_plan_keeps_no_more_previews_than_a_window_could_show_also_once_its_steps_run(stage: Scene):
    def kept(task: Task) -> list[bool]:
        return [bool(step.preview and step.preview.facts) for step in steps(task)]

    task = await planned(stage, *(write(f"{n}.md", "x" * 50_000) for n in range(8)))
    assert kept(task) == [True] * 4 + [False] * 4
    said = [step.preview.notes for step in steps(task) if step.preview]
    assert [LEFT_OUT in notes for notes in said] == [False] * 4 + [True] * 4
    await pressed(stage, flow.approve_all, on_plan(task))
    for _ in range(6):
        action = await waiting(stage)
        assert action.preview.facts  # its own card shows all of it
        assert kept(await confirmed(stage, action)) == [True] * 4 + [False] * 4
