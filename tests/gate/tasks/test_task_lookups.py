"""A planner may look something up before it says what a request means: it reads, and nothing of that is posted."""

from __future__ import annotations

import pytest

from gate.rules.action import CallClass
from gate.rules.planner_port import WITHHELD, Call, Propose, Say
from gate.rules.policy import Rule
from gate.rules.task import Task
from tests.gate.gate_setup import TEAM, Scene
from tests.gate.plan_setup import steps, wrote

LOOK = Call("desk", "look", {"path": "a.md"})
WRITE = Call("desk", "write", {"path": "a.md", "content": "new"})


async def newest(stage: Scene) -> Task:
    return (await stage.ledger.tasks_of(stage.session))[0]


async def test_what_was_looked_up_is_told_to_the_planner_and_to_nobody_else(stage: Scene):
    stage.planner.script = [Propose((LOOK,), lookup=True), Say("There is one.")]
    await stage.say("what is it?")
    [told] = stage.planner.seen[-1].exchanges[0].reports
    assert told.status == "succeeded"
    kinds = [note.kind for note in stage.wall.notes]
    assert kinds == ["text"]


async def test_a_lookup_is_on_the_record_like_every_read(stage: Scene):
    stage.planner.script = [Propose((LOOK,), lookup=True), Say("There is one.")]
    await stage.say("what is it?")
    lines = await stage.ledger.audit_tail(team=TEAM, limit=100)
    assert "desk.look" in {line.entry.tool for line in lines}


async def test_what_only_its_asker_may_read_is_not_looked_up_at_all(stage: Scene):
    stage.rule(Rule("quiet", ("desk.look",), private=True))
    stage.planner.script = [Propose((LOOK,), lookup=True), Say("I do not know.")]
    await stage.say("what is it?")
    [told] = stage.planner.seen[-1].exchanges[0].reports
    assert (told.status, told.text) == (WITHHELD, "")
    lines = await stage.ledger.audit_tail(team=TEAM, limit=100)
    assert "desk.look" not in {line.entry.tool for line in lines}


@pytest.mark.parametrize(
    "rule",
    [
        Rule("no looks", ("desk.look",), deny=True),
        Rule("looks elsewhere", ("desk.look",), channels=("C_OTHER",)),
        Rule("typed looks", ("desk.look",), at_least=CallClass.DESTRUCTIVE),
    ],
)
async def test_why_a_name_may_not_be_looked_up_is_said(stage: Scene, rule: Rule):
    stage.rule(rule)
    stage.planner.script = [Propose((LOOK,), lookup=True), Say("I do not know.")]
    await stage.say("what is it?")
    [told] = stage.planner.seen[-1].exchanges[0].reports
    assert told.status == "refused"
    assert "changes something" not in told.text
    assert "may not look up" in told.text


async def test_a_lookup_is_no_step_and_what_follows_it_is_one(stage: Scene):
    stage.planner.script = [Propose((LOOK,), lookup=True), Propose((WRITE,))]
    await stage.say("write to it")
    assert [step.tool for step in steps(await newest(stage))] == ["write"]
    [waiting] = await stage.ledger.pending(TEAM)
    assert waiting.tool == "write"


async def test_a_lookup_changes_nothing(stage: Scene):
    stage.planner.script = [Propose((WRITE,), lookup=True), Say("No.")]
    await stage.say("write to it")
    [told] = stage.planner.seen[-1].exchanges[0].reports
    assert (told.status, "changes something" in told.text) == ("refused", True)
    assert (wrote(stage), await stage.ledger.pending(TEAM)) == ([], ())


async def test_a_planner_that_says_all_at_once_is_asked_again_after_a_lookup(stage: Scene):
    stage.planner.follows = False
    stage.planner.script = [Propose((LOOK,), lookup=True), Propose((WRITE,))]
    await stage.say("write to it")
    assert len(await stage.ledger.pending(TEAM)) == 1
