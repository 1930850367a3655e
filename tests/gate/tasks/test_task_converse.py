"""Talk over several turns; what is to be built is compiled, shown and confirmed before anything is planned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.actions.button_press import TaskPress
from gate.rules.action import Ref
from gate.rules.planner_port import Call, Implement, Mode, Propose, ProposePlan, Say
from gate.rules.settings import Switches
from gate.rules.task import Assessment, Flow, Missing, Task
from gate.rules.task_states import TaskState as S
from gate.tasks import converse, task_transitions
from tests.gate.gate_setup import ANN, BEN, TEAM, Scene

WANTS = Implement(("OAuth with Google and GitHub", "JWT for sessions"))


@pytest.fixture
def talk(stage: Scene) -> Scene:
    stage.world = replace(stage.world, switches=lambda channel: Switches(conversational=True))
    return stage


async def now(stage: Scene) -> Task:
    return (await stage.ledger.tasks_of(stage.session))[0]


def press(task: Task, user: str = ANN) -> TaskPress:
    return TaskPress(Ref(task.id, task.attempts, "0"), TEAM, user)


async def said(stage: Scene, text: str, *replies: object, mentioned: bool = False) -> Task:
    stage.planner.script = list(replies)
    await stage.say(text, mentioned=mentioned)
    return await now(stage)


async def begun(stage: Scene) -> Task:
    await said(stage, "help me design an authentication system", Say("Which method?"), mentioned=True)
    return await said(stage, "OAuth with Google and GitHub", Say("Good. Session storage?"))


# promise: TASK-13
async def test_a_conversation_goes_on_over_several_turns(talk: Scene):
    task = await begun(talk)
    assert (task.state, task.flow, task.requirements) == (S.TALKING, Flow.TALK, ())
    assert [turn.mode for turn in talk.planner.seen] == [Mode.TALK, Mode.TALK]
    assert [turn.text for turn in talk.planner.briefs[-1].earlier] == [
        "help me design an authentication system"
    ]
    assert {"Which method?", "Good. Session storage?"} <= set(talk.texts)


async def test_what_is_to_be_thought_through_is_a_conversation_without_any_switch(stage: Scene):
    stage.planner.assessments = [Assessment(70, 6, (Missing.PURPOSE,), open_ended=True)]
    task = await said(stage, "Help me design a new authentication system", Say("Which?"), mentioned=True)
    assert (task.state, task.flow) == (S.TALKING, Flow.TALK)
    task = await said(stage, "OAuth, with Google", Say("Good. Session storage?"))
    assert task.state is S.TALKING
    assert [turn.mode for turn in stage.planner.seen] == [Mode.TALK, Mode.TALK]


async def test_words_in_a_conversation_carry_the_button_that_builds(talk: Scene):
    task = await begun(talk)
    notes = [note for note in talk.wall.notes if note.kind == "talk"]
    assert [note.body["task"] for note in notes] == [task.id, task.id]


async def test_nothing_is_changed_while_they_talk(talk: Scene):
    await begun(talk)
    write = Propose((Call("desk", "write", {"path": "a.md", "content": "x"}),))
    await said(talk, "JWT tokens", write, Say("Not yet, then."))
    assert talk.desk.calls == []
    assert await talk.ledger.pending(TEAM) == ()
    assert "conversation" in talk.planner.seen[-1].exchanges[0].reports[0].text


# promise: TASK-15
async def test_an_intent_in_their_words_has_the_requirements_compiled_and_shown(talk: Scene):
    await begun(talk)
    task = await said(talk, "yes, implement it", Say("Sure."), WANTS)
    assert talk.planner.seen[-1].text == converse.ASKED
    assert (task.state, task.requirements) == (S.TALKING, WANTS.requirements)
    assert "implement" in task.because


async def test_a_question_about_building_is_talk(talk: Scene):
    await begun(talk)
    task = await said(talk, "how would you build it?", Say("With care."))
    assert (task.requirements, task.because) == ((), "")


async def test_the_planners_own_judgement_is_shown_as_such(talk: Scene):
    await begun(talk)
    task = await said(talk, "that is all", WANTS)
    assert (task.requirements, task.because) == (WANTS.requirements, converse.PLANNER)


async def test_the_button_compiles_too(talk: Scene):
    task = await begun(talk)
    talk.planner.script = [WANTS]
    assert (await converse.implement(talk.world, press(task))).ok
    await talk.play()
    task = await now(talk)
    assert (task.requirements, task.because) == (WANTS.requirements, converse.PRESSED)


async def test_a_planner_that_does_not_compile_leaves_their_own_words(talk: Scene):
    task = await begun(talk)
    talk.planner.script = [Say("I would rather talk.")]
    await converse.implement(talk.world, press(task))
    await talk.play()
    assert (await now(talk)).requirements == (
        "help me design an authentication system",
        "OAuth with Google and GitHub",
    )


async def test_where_a_planner_without_a_model_has_refused_nothing_is_compiled(talk: Scene):
    talk.planner.follows = False
    await begun(talk)
    task = await said(talk, "do it", Say("Please begin a new thread."))
    assert (task.requirements, task.because) == ((), "")
    for _ in range(2):
        talk.planner.script = [Say("Please begin a new thread.")]
        assert (await converse.implement(talk.world, press(task))).code == "start"
        await talk.play()
        task = await now(talk)
        assert (task.state, task.requirements, task.because) == (S.TALKING, (), "")
    assert talk.texts.count("Please begin a new thread.") == 3


async def test_more_words_than_can_be_put_together_are_said_to_be_too_many(talk: Scene):
    await begun(talk)
    for number in range(2):
        await said(talk, f"{number} {'well ' * 1_900}", Say("Fine."))
    task = await said(talk, "yes, implement it", Say("Sure."), Say("I would rather talk."))
    assert task.requirements
    for number in range(2):
        await said(talk, f"{number} {'well ' * 2_000}", Say("Fine."))
    task = await said(talk, "yes, implement it", Say("Sure."), Say("I would rather talk."))
    assert (task.state, task.requirements, task.because) == (S.TALKING, (), "")
    assert talk.texts.count(converse.TALKED_MUCH) == 1


async def test_nothing_is_planned_before_the_requirements_are_confirmed(talk: Scene):
    await begun(talk)
    task = await said(talk, "go ahead", WANTS)
    step = ProposePlan(())
    talk.planner.script = [step]
    assert (await converse.confirm_requirements(talk.world, press(task))).ok
    assert (await now(talk)).state is S.PLANNING
    turn = await talk.ledger.turn((await now(talk)).turn)
    assert turn is not None
    assert (turn.mode, turn.text) == (Mode.PLAN, "\n".join(WANTS.requirements))


# promise: TASK-18
async def test_all_of_the_conversation_flows_into_the_plan(talk: Scene):
    await begun(talk)
    task = await said(talk, "go ahead", WANTS)
    await converse.confirm_requirements(talk.world, press(task))
    talk.planner.script = [Say("no plan today")]
    await talk.play()
    brief = talk.planner.briefs[-1]
    assert brief.requirements == WANTS.requirements
    assert [turn.text for turn in brief.earlier][:2] == [
        "help me design an authentication system",
        "OAuth with Google and GitHub",
    ]


@pytest.mark.slow
async def test_what_was_said_forty_messages_ago_is_still_known(talk: Scene):
    await begun(talk)
    for number in range(38):
        await said(talk, f"and what about part {number}?", Say("Fine."))
    brief = talk.planner.briefs[-1]
    assert brief.earlier[0].text == "help me design an authentication system"
    assert not brief.older


async def test_a_planner_is_told_when_more_was_said_than_it_is_given(talk: Scene, monkeypatch):
    monkeypatch.setattr(task_transitions, "EARLIER_TURNS", 2)
    await begun(talk)
    assert not talk.planner.briefs[-1].older
    await said(talk, "JWT tokens", Say("Good."))
    assert (len(talk.planner.briefs[-1].earlier), talk.planner.briefs[-1].older) == (2, False)
    await said(talk, "and a password?", Say("No."))
    assert (len(talk.planner.briefs[-1].earlier), talk.planner.briefs[-1].older) == (2, True)


async def test_going_on_talking_voids_the_card_with_the_requirements(talk: Scene):
    await begun(talk)
    task = await said(talk, "go ahead", WANTS)
    later = await said(talk, "wait, also SAML", Say("Noted."))
    assert later.requirements == ()
    assert (await converse.confirm_requirements(talk.world, press(task))).code == "stale"
    assert (await now(talk)).state is S.TALKING


async def test_keep_talking_goes_back(talk: Scene):
    await begun(talk)
    task = await said(talk, "go ahead", WANTS)
    assert (await converse.keep_talking(talk.world, press(task))).ok
    assert (await now(talk)).requirements == ()


async def test_only_the_requester_has_it_built(talk: Scene):
    await begun(talk)
    task = await said(talk, "go ahead", WANTS)
    assert (await converse.confirm_requirements(talk.world, press(task, BEN))).code == "not_allowed"
    await talk.say("yes, implement it", user=BEN, mentioned=False)
    task = await now(talk)
    assert (task.state, task.input.remarks[0].user) == (S.TALKING, BEN)


async def test_where_the_way_from_talk_to_doing_is_off_it_stays_talk(talk: Scene):
    off = Switches(conversational=True, allow_execution_transition=False)
    talk.world = replace(talk.world, switches=lambda channel: off)
    task = await begun(talk)
    assert (await converse.implement(talk.world, press(task))).code == "not_allowed"
    task = await said(talk, "yes, implement it", Say("I may not."))
    assert task.requirements == ()
