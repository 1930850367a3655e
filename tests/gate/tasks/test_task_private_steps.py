"""What is private in a plan stays so whatever becomes of its steps: on cards, over the API, and for a model."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gate.actions.button_press import TaskPress
from gate.actions.prepare import REFUSED_ALONE
from gate.actions.preview import policy_decision
from gate.rules.access import Token, TokenKind
from gate.rules.action import Ref, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.plan_changes import StepChange, rebuilt_plan
from gate.rules.planner_port import Call, Done, Propose, ProposedStep, Say
from gate.rules.policy import Rule
from gate.rules.reviews import Phase, Review
from gate.rules.steps import Privacy
from gate.rules.task import Task
from gate.rules.task_states import TaskState
from gate.rules.tool import Expect, Read, ToolSpec
from gate.tasks import control, feedback, step_review
from gate.tasks import plan as flow
from gate.tasks.plan_preview import DENIED_IN_PRIVATE
from handlers.api import task_responses
from tests.gate.actions.test_action_privacy import PAY, TOLD, desk, fail_reads, logged, told
from tests.gate.gate_setup import ANN, Scene
from tests.gate.plan_setup import (
    approved,
    asked,
    call,
    confirmed,
    entries,
    look,
    on_pause,
    on_plan,
    only,
    planned,
    pressed,
    proposes,
    steps,
    waiting,
    write,
)
from tests.tools.phrases_setup import FILE
from tools.model.context import _step_text
from tools.model.prompt import Shortener
from tools.phrases.phrase_file import load_phrases
from tools.phrases.planner import Phrases
from tools.recipes.validation import RuleJudge
from views import rendering, task_modals, task_plan
from views.task_wording import OPEN

__all__ = ["desk"]

LETTER = "hr/x.md"
TYPED = "Ben earns 98,000, as typed"
PRIVATE_WRITES = Rule("letters are private", ("desk.write",), texts=(r"^hr/",), private=True)
GIVEN = "{steps.1.content}"
CHANGED = (StepChange("s1", 1, args={"path": LETTER, "content": TYPED}), StepChange("s2", 2))


@pytest.fixture
def office(desk: Scene) -> Scene:
    """A desk on which letters are written in private."""
    desk.rule(PRIVATE_WRITES)
    return desk


def shown(task: Task) -> str:
    """All that anybody can be shown of the plan of a task, and all that a model or an agent is told of it."""
    assert task.plan is not None
    cards = [task_plan.review(task, task.plan).blocks, task_modals.everything(task, task.plan)]
    cards += [[one.message.text, one.message.blocks] for one in rendering.of_task(task)]
    now = datetime.now(UTC)
    agent = Token("t1", TokenKind.AGENT, "bot", "T1", ANN, ("C_OPS",), now, now + timedelta(days=1))
    told = [_step_text(step, "", Shortener()) for step in steps(task)]
    return json.dumps([cards, told], ensure_ascii=False) + repr(task_responses.task(agent, task, (), None))


async def modified(stage: Scene, task: Task) -> Task:
    """The plan with another letter, before anybody has looked at it."""
    assert (await flow.modify(stage.world, on_plan(task), CHANGED)).ok
    return await only(stage)


async def test_what_is_typed_into_a_private_step_is_shown_to_nobody_at_any_time(office: Scene) -> None:
    task = await modified(office, await planned(office, write(LETTER, "?"), write("a.md")))
    assert TYPED not in shown(task)
    await office.play()
    assert TYPED not in shown(await only(office))
    await office.play(timers=True)
    task = await only(office)
    assert task.plan is not None
    assert task.plan.lapsed
    assert TYPED not in shown(task)


async def test_what_is_typed_into_a_step_is_not_shown_before_a_rule_was_held_against_it(
    office: Scene,
) -> None:
    task = await modified(office, await planned(office, write("b.md", "?"), write("a.md")))
    assert TYPED not in shown(task)
    office.desk.specs_now.pop("write")
    await office.play()
    task = await only(office)
    assert [step.call.privacy for step in steps(task)] == [Privacy.UNJUDGED, Privacy.PUBLIC]
    assert TYPED not in shown(task)


@pytest.mark.parametrize("secret", [False, True])
async def test_words_about_a_confidential_call_reach_neither_the_record_nor_the_thread(
    office: Scene, secret: bool
) -> None:
    office.rule(*ALWAYS)
    path = ".env" if secret else LETTER
    office.planner.script = [Propose((Call("desk", "write", {"path": path, "content": "x"}),)), Done()]
    await office.say("please write it")
    task = await confirmed(office)
    assert task.state is TaskState.SATISFACTION
    office.planner.script = [Say(f"I did not understand “{TYPED}”.")]
    press = TaskPress(Ref(task.id, task.ends, "0"), "T1", ANN, text=TYPED)
    assert (await feedback.needs_changes(office.world, press)).ok
    await office.play()
    assert (office.planner.seen[-1].text, office.planner.briefs[-1].reason) == (TYPED, TYPED)
    assert TYPED not in await logged(office)
    assert TYPED not in await told(office)
    assert TYPED in await told(office, to_ann=True)


async def test_a_reason_to_plan_a_private_step_anew_is_told_to_whoever_typed_it_alone(office: Scene) -> None:
    task = await planned(office, write(LETTER, "x"), write("a.md"))
    office.planner.script = [replace(proposes(write(LETTER, "y")), note=f"I kept “{TYPED}”.")]
    await pressed(office, flow.replan, replace(on_plan(task), text=TYPED))
    task = await only(office)
    assert (task.state, office.planner.briefs[-1].reason) == (TaskState.PLAN_REVIEW, TYPED)
    assert TYPED not in shown(task)
    assert TYPED not in await logged(office)
    assert TYPED not in await told(office)
    assert TYPED in await told(office, to_ann=True)


async def test_what_is_said_with_continue_about_a_private_step_is_shown_to_nobody_else(office: Scene) -> None:
    asks = Review("looked at", Phase.AFTER, tools=("desk.write",))
    office.world = replace(office.world, policy=replace(office.world.policy, reviews=(asks,)))
    task = await confirmed(office) if await approved(office, await planned(office, write(LETTER))) else None
    assert task is not None
    assert task.state is TaskState.PAUSED
    office.planner.script = [Say(f"I did not understand “{TYPED}”.")]
    await pressed(office, control.resume, on_pause(task, text=TYPED))
    task = await only(office)
    assert TYPED in [turn.text for turn in office.planner.seen]
    assert TYPED not in shown(task)
    assert TYPED not in await logged(office)
    assert TYPED not in await told(office)


async def test_a_private_step_that_a_rule_forbids_meanwhile_tells_neither_arguments_nor_the_rule(
    office: Scene,
) -> None:
    task = await planned(office, write(LETTER, TYPED), write("a.md"))
    office.rule(Rule("no letters", ("desk.write",), texts=(r"^hr/",), deny=True))
    await pressed(office, flow.approve_all, on_plan(task))
    task = await only(office)
    assert steps(task)[0].problem == DENIED_IN_PRIVATE
    assert (TYPED in shown(task), "no letters" in shown(task)) == (False, False)


async def test_a_planner_is_not_told_which_rule_forbids_a_private_step(office: Scene) -> None:
    office.rule(Rule("the dismissal of Bob", ("desk.write",), texts=(r"^hr/",), deny=True, private=True))
    office.planner.script += [proposes(write("b.md"))]
    await planned(office, write(LETTER), write("b.md"))
    assert "dismissal" not in str(office.planner.seen)


async def test_a_private_step_whose_tool_is_gone_tells_no_arguments(office: Scene) -> None:
    task = await planned(office, write(LETTER, TYPED), write("a.md"))
    office.desk.specs_now.pop("write")
    await pressed(office, flow.approve_all, on_plan(task))
    task = await only(office)
    assert steps(task)[0].problem
    assert TYPED not in shown(task)


async def test_a_step_stays_private_when_the_rule_is_gone_and_when_it_is_planned_anew(office: Scene) -> None:
    task = await planned(office, write(LETTER, TYPED), write("a.md"))
    office.world = replace(office.world, policy=replace(office.world.policy, version="2", rules=()))
    await pressed(office, flow.approve_all, on_plan(task))
    task = await only(office)
    assert [step.is_private for step in steps(task)] == [True, False]
    anew: list[Any] = [replace(write("c.md", TYPED), step="s1"), replace(write("d.md"), step="s2")]
    rebuilt, _ = rebuilt_plan(task.plan, anew)
    assert [step.call.privacy for step in rebuilt] == [Privacy.PRIVATE, Privacy.UNJUDGED]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("said", ["step 1: set path to b.md", f"replace {LETTER} with b.md"])
@pytest.mark.parametrize("looked_at", [True, False])
async def test_a_private_step_that_a_sentence_changes_stays_private(
    office: Scene, said: str, looked_at: bool
) -> None:
    office.desk.specs_now["write"] = named_by_content(office.desk.specs_now["write"])
    task = await modified(office, await planned(office, write(LETTER, "?"), write("a.md")))
    if looked_at:
        await office.play()
    office.world = replace(office.world, planner=Phrases(load_phrases(FILE), office.desk))
    await office.say(said, mentioned=False)
    task = await only(office)
    assert steps(task)[0].args == {"path": "b.md", "content": TYPED}
    assert [(step.id, step.is_private) for step in steps(task)] == [("s1", True), ("s2", False)]
    assert TYPED not in shown(task)
    office.desk.specs_now.pop("write")
    await pressed(office, flow.approve_all, on_plan(task))
    assert TYPED not in shown(await only(office))


def named_by_content(spec: ToolSpec) -> ToolSpec:
    """The tool with a summary that quotes what is to be written."""
    return replace(spec, recipe=replace(spec.recipe, summary="Write “{args.content}”"))


async def test_arguments_of_a_private_step_that_do_not_fit_are_not_quoted(office: Scene) -> None:
    unfit = proposes(call("write", path=LETTER, content=TYPED, **{TYPED: 1}), write("a.md"))
    task = await asked(office, unfit, unfit, unfit)
    assert "not said what is wrong" in steps(task)[0].problem
    assert TYPED not in shown(task)


async def test_a_step_that_is_not_private_shows_its_arguments_once_its_plan_has_lapsed(office: Scene) -> None:
    await planned(office, write("b.md", TYPED), write("a.md"))
    await office.play(timers=True)
    assert TYPED in shown(await only(office))


# What earlier results are to give


@pytest.mark.parametrize(
    "form",
    [
        TYPED + ". See {steps.1.content}",
        TYPED + " {steps.1.content}. " + TYPED,
        "{steps.1.content}, " + TYPED + " {steps.1.sha}",
    ],
)
async def test_the_text_around_a_result_that_a_private_step_takes_is_shown_to_nobody(
    office: Scene, form: str
) -> None:
    task = await planned(office, look("a.md"), write(LETTER, "-", refs={"content": form}))
    assert steps(task)[1].is_private
    assert TYPED not in shown(task)


# What is not known yet


def takes_path(form: str) -> ProposedStep:
    return ProposedStep(Call("desk", "write", {"content": TYPED}), refs={"path": form})


def takes_content(path: str, of: str = GIVEN) -> ProposedStep:
    return ProposedStep(Call("desk", "write", {"path": path}), refs={"content": of})


@pytest.mark.parametrize(("form", "gives"), [("hr/{steps.1.content}.md", "x"), (GIVEN, LETTER)])
async def test_a_step_is_told_to_nobody_while_a_result_may_make_it_private(
    office: Scene, form: str, gives: str
) -> None:
    office.desk.notes["a.md"] = gives
    task = await planned(office, look("a.md"), takes_path(form))
    assert steps(task)[1].call.privacy is Privacy.UNJUDGED
    assert TYPED not in shown(task)
    assert OPEN in shown(task)
    task = await approved(office, task)
    assert (steps(task)[1].is_private, (await waiting(office)).private) == (True, True)
    assert TYPED not in shown(task) + await told(office)


async def test_a_step_is_told_to_everybody_once_its_result_has_not_made_it_private(office: Scene) -> None:
    office.desk.notes["a.md"] = "b.md"
    task = await approved(office, await planned(office, look("a.md"), takes_path(GIVEN)))
    assert steps(task)[1].call.privacy is Privacy.PUBLIC
    assert TYPED in await told(office)


async def test_a_step_whose_look_is_private_is_so_before_all_that_it_takes_is_known(desk: Scene) -> None:
    task = await planned(desk, look("a.md"), takes_content(f"hr/{TYPED}"))
    assert steps(task)[1].is_private
    assert TYPED not in shown(task)


async def test_a_step_whose_look_is_private_does_not_tell_which_arguments_do_not_fit(desk: Scene) -> None:
    unfit = proposes(call("write", path=LETTER, content=TYPED, **{TYPED: 1}), write("a.md"))
    task = await asked(desk, unfit, unfit, unfit)
    assert "not said what is wrong" in steps(task)[0].problem
    assert TYPED not in shown(task)


async def test_a_step_tells_nothing_where_a_look_failed_that_a_private_one_needs(desk: Scene) -> None:
    spec = desk.desk.specs_now["write"]
    reads = {
        "first": Read("look", {"path": "gone.md"}),
        "then": Read("look", {"path": "{capture.first.content}"}),
    }
    desk.desk.specs_now["write"] = replace(spec, recipe=replace(spec.recipe, capture=reads, bind={}))
    fail_reads(desk, that=lambda path: True)
    task = await planned(desk, write("b.md", TYPED), write("a.md"))
    assert steps(task)[0].call.privacy is Privacy.UNJUDGED
    assert TYPED not in shown(task)


@pytest.fixture
def unseen(desk: Scene) -> Scene:
    """A desk where nothing is read before a file is written, so that only reads can be private."""
    spec = desk.desk.specs_now["write"]
    desk.desk.specs_now["write"] = replace(spec, recipe=replace(spec.recipe, capture={}, bind={}))
    return desk


async def test_a_step_that_is_to_take_a_private_result_is_private_from_the_start(unseen: Scene) -> None:
    task = await planned(unseen, look(PAY), takes_content(TYPED), takes_content(TYPED, "{steps.2.sha}"))
    assert [step.is_private for step in steps(task)] == [True, True, True]
    assert TYPED not in shown(task)


async def test_a_step_that_takes_from_one_that_may_be_private_is_told_to_nobody(unseen: Scene) -> None:
    again = ProposedStep(Call("desk", "look", {}), refs={"path": GIVEN})
    task = await planned(unseen, look("a.md"), again, takes_content(TYPED, "{steps.2.content}"))
    assert [step.call.privacy for step in steps(task)][1:] == [Privacy.UNJUDGED, Privacy.UNJUDGED]
    assert TYPED not in shown(task)


async def test_a_step_becomes_private_with_the_one_that_it_takes_from(unseen: Scene) -> None:
    task = await planned(unseen, look("a.md"), takes_content(TYPED))
    assert TYPED in shown(task)
    changed = (StepChange("s1", 1, args={"path": PAY}), StepChange("s2", 2))
    await pressed(unseen, flow.modify, on_plan(task), changed)
    task = await only(unseen)
    assert [step.is_private for step in steps(task)] == [True, True]
    assert TYPED not in shown(task)


async def test_a_step_that_no_rule_can_make_private_is_told_before_all_is_known(stage: Scene) -> None:
    task = await planned(stage, look("a.md"), takes_path(GIVEN))
    assert steps(task)[1].call.privacy is Privacy.PUBLIC
    assert TYPED in shown(task)


# Refusals


def looks_fail(stage: Scene) -> None:
    """What a write would change cannot be seen, and its card begins with what it is to write."""
    recipe = stage.desk.specs_now["write"].recipe
    before = replace(recipe.capture["before"], absent="not there")
    recipe = replace(recipe, summary="Write “{args.content}”", capture={"before": before})
    stage.desk.specs_now["write"] = replace(stage.desk.specs_now["write"], recipe=recipe)
    fail_reads(stage, that=lambda path: True)


@pytest.fixture
def blind(stage: Scene) -> Scene:
    """A desk where every write is private, and no read that is made for it goes through."""
    stage.rule(replace(PRIVATE_WRITES, texts=()))
    looks_fail(stage)
    return stage


async def test_a_refused_private_call_is_told_with_its_arguments_to_its_requester_alone(blind: Scene) -> None:
    blind.planner.script.append(Propose((Call("desk", "write", {"path": LETTER, "content": TYPED}),)))
    await blind.say("prepare the letter")
    everybody = await told(blind) + await logged(blind) + shown(await only(blind))
    assert (TYPED in everybody, TOLD in everybody) == (False, False)
    assert TYPED in await told(blind, to_ann=True)


async def test_a_refused_private_step_pauses_its_plan_without_its_arguments(blind: Scene) -> None:
    task = await approved(blind, await planned(blind, write(LETTER, TYPED), write("b.md")))
    assert (task.state, task.reason) == (TaskState.PAUSED, f"Step 1 cannot run: {REFUSED_ALONE}")
    everybody = await told(blind) + await logged(blind) + shown(task)
    assert (TYPED in everybody, TOLD in everybody) == (False, False)
    assert TYPED in await told(blind, to_ann=True)


async def test_a_planner_is_not_told_why_a_private_call_is_refused(blind: Scene) -> None:
    blind.planner.follows = True
    blind.planner.script += [Propose((Call("desk", "write", {"path": LETTER, "content": TYPED}),)), Done()]
    await blind.say("prepare the letter")
    (report,) = blind.planner.seen[-1].exchanges[0].reports
    assert (report.text, report.private) == (REFUSED_ALONE, True)


# Why a result is not trusted


@pytest.mark.parametrize("path", [LETTER, ".env"])
async def test_what_rules_make_of_a_private_or_secret_result_does_not_quote_it(
    office: Scene, path: str
) -> None:
    for rule in ALWAYS:
        office.rule(rule)
    spec = office.desk.specs_now["write"]
    expect = (Expect("{args.content}", {"equals": "{result.content}x"}),)
    office.desk.specs_now["write"] = replace(spec, recipe=replace(spec.recipe, expect=expect))
    office.world = replace(office.world, judge=RuleJudge(office.desk))
    await approved(office, await planned(office, write(path, TYPED), write("b.md")))
    task = await confirmed(office)
    assert "doubtful by the recipe's rule" in task.reason
    assert TYPED not in repr([task.reason, *(step.confidence for step in steps(task))])
    assert TYPED not in repr([line.reason for line in await entries(office, "paused")])


@pytest.mark.parametrize(
    "rules",
    [
        (PRIVATE_WRITES, Rule("no", ("desk.write",), texts=(r"^hr/x",), deny=True)),
        (replace(PRIVATE_WRITES, channels=("C_HR",)),),
    ],
    ids=["a rule forbids it", "it belongs to another channel"],
)
async def test_a_call_that_is_private_and_forbidden_tells_no_arguments(
    desk: Scene, rules: tuple[Rule, ...]
) -> None:
    for rule in rules:
        desk.rule(rule)
    task = await asked(desk, *[proposes(write(LETTER, TYPED), write("a.md"))] * 4)
    assert TYPED not in shown(task)
    assert TYPED not in await told(desk)
    spec = desk.desk.specs_now["write"]
    decision = policy_decision(desk.world, spec, {"path": LETTER, "content": TYPED}, desk.session.channel)
    assert (decision.verdict, decision.private) == (Verdict.DENY, True)


# Reviews


@pytest.mark.parametrize("of", [look(PAY), write(LETTER, "?")], ids=["read", "change"])
async def test_why_the_result_of_a_private_step_is_rejected_is_told_to_nobody(
    office: Scene, of: ProposedStep
) -> None:
    asks = Review("looked at", Phase.AFTER, tools=("desk.look", "desk.write"))
    office.world = replace(office.world, policy=replace(office.world.policy, reviews=(asks,)))
    task = await approved(office, await planned(office, of, write("b.md")))
    task = await confirmed(office) if not task.pauses else task
    await pressed(office, step_review.reject_output, on_pause(task, text=TYPED))
    task = await only(office)
    assert "its result was rejected. What it gave is dropped" in task.reason
    assert TYPED not in shown(task) + await told(office) + await logged(office)
