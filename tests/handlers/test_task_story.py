"""Tasks through Slack as people press them: questions, plans, pauses, words and verdicts."""

from __future__ import annotations

import asyncio

import pytest

from gate.rules.planner_port import Call, Implement, Propose, Say
from gate.rules.settings import Switches
from gate.rules.task import Assessment, Missing, Question, StepState
from gate.rules.task_states import TaskState
from tests.handlers.slack_task import Story, begun, look, proposes, shred, write
from tests.slack_app import AGES, ANN, BEN, OPS, Edge, said_in
from tests.views.samples import parts, shown
from views.task_form import KEEP, NOTE, PLACE, VALUE
from views.task_form import block_of as step_block
from views.task_modals import FEEDBACK
from views.task_questions import GIVEN, WORDS, block_of

WHERE = Question("where", "Which folder?", Missing.INPUTS, ("archive", "attic"), "archive")
WHY = Question("why", "What is it for?", Missing.PURPOSE)
ASKING = Switches(intelligent_routing="aggressive")
UNCLEAR = Assessment(60, 4, (Missing.INPUTS,), (WHERE, WHY))


async def test_questions_are_answered_on_their_card(edge: Edge) -> None:
    edge.switches = ASKING
    story = await begun(edge, proposes(write("a.md")), assessment=UNCLEAR)
    assert story.buttons("question") == ["task_submit", "task_assume", "plan_cancel"]
    edge.planner.assessments.append(Assessment(60, 4))
    chosen = {"text": {"type": "plain_text", "text": "attic"}, "value": "1"}
    state = {block_of(WHERE): {GIVEN: {"selected_option": chosen}}, block_of(WHY): {GIVEN: "for the audit"}}
    await story.click("question", "task_submit", state=state)
    task = await story.task()
    assert {(one.id, one.answer) for one in task.decided} == {("where", "attic"), ("why", "for the audit")}
    assert task.state is TaskState.PLAN_REVIEW
    assert "for the audit" in story.text("question")
    assert story.buttons("question") == []


async def test_an_empty_answer_and_somebody_elses_change_nothing(http: Edge) -> None:
    story = await begun(http, assessment=UNCLEAR)
    await story.click("question", "task_submit")
    await http.told("U_ANN", "There is no answer in this.")
    await story.click("question", "task_submit", BEN, state={block_of(WHY): {GIVEN: "mine"}})
    await http.told(BEN, "Only <@U_ANN>, who asked for this, can answer it.")
    assert (await story.task()).decided == ()


async def test_a_question_that_may_be_skipped_is_assumed(http: Edge) -> None:
    http.switches = ASKING
    story = await begun(http, proposes(write("a.md")), assessment=Assessment(60, 4, (), (WHERE,)))
    http.planner.assessments.append(Assessment(60, 4))
    await story.click("question", "task_assume")
    assert "Assumed: archive" in story.text("question")
    assert (await story.task()).decided[0].by == ""


# promise: TASK-05
async def test_a_plan_is_approved_runs_and_is_judged(edge: Edge) -> None:
    story = await begun(edge, proposes(write("a.md", "one"), write("b.md", "two"), note="Both at once."))
    assert "Planner's words (not checked):" in story.text("plan")
    assert story.buttons("plan")[0] == "plan_approve"
    await story.click("plan", "plan_approve", BEN)
    await edge.told(BEN, "Only <@U_ANN>, who asked for this, can approve it.")
    assert edge.desk.notes == {}
    await story.click("plan", "plan_approve")
    assert edge.desk.notes == {"a.md": "one", "b.md": "two"}
    texts = [message.text for message in edge.ws.by_app(OPS, story.said.ts)]
    # The plan's card tells of the steps that it covers.
    assert not [text for text in texts if text.startswith("Wrote")]
    assert story.card("plan").text.startswith("Finished, 2 of 2 steps done: ")
    asked = story.text("satisfaction")
    assert "Does this meet your needs?" in asked
    assert "No answer needed. You can also say here what should change." in asked
    await story.click("satisfaction", "task_satisfied")
    assert (await story.task()).state is TaskState.DONE
    assert "says that this meets their needs" in story.text("satisfaction")


@pytest.mark.slow
async def test_steps_are_told_in_the_past_once_they_are_done(http: Edge) -> None:
    story = await begun(http, proposes(look("a.md"), write("b.md"), shred("c.md")))
    http.desk.notes |= {"a.md": "old", "c.md": "old"}
    await story.click("plan", "plan_approve")
    titles = [one["title"] for one in story.card("plan").blocks[1]["tasks"]]
    assert [title.split(" (")[0] for title in titles] == ["1. Looked a.md", "2. Wrote b.md", "3. Shred c.md"]
    await story.click("plan", "task_stop")
    await http.settled()
    assert "2 of 3 steps done, 1 not decided: Looked a.md; Wrote b.md." in story.text("plan")


async def test_the_changes_of_one_request_are_told_in_the_past(http: Edge) -> None:
    calls = tuple(Call("desk", "write", {"path": path, "content": "x"}) for path in ("a.md", "b.md"))
    story = await begun(http, Propose(calls), assessment=Assessment(10, 1))
    await http.ann.click(http.ws.by_app(OPS, story.said.ts)[0], "confirm_all")
    await http.settled()
    assert "2 done: Wrote a.md; Wrote b.md" in story.text("satisfaction")


async def test_a_finished_plan_is_taken_back_whole(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md"), write("b.md")))
    await story.click("plan", "plan_approve")
    assert story.buttons("plan") == ["task_undo_all", "plan_whole"]
    await story.click("plan", "task_undo_all")
    assert http.desk.notes == {}
    assert "Taken back: " in story.text("plan")
    assert story.buttons("plan") == ["plan_whole"]
    assert str([shown(m.blocks) for m in http.ws.by_app(OPS, story.said.ts)]).count("aken back") == 1
    assert not story.has("satisfaction")


async def test_what_a_plan_read_stays_when_its_changes_are_taken_back(http: Edge) -> None:
    story = await begun(http, proposes(look("a.md"), write("b.md")), text="read a\nwrite b")
    http.desk.notes["a.md"] = "old words"
    await story.click("plan", "plan_approve")
    await story.click("plan", "task_undo_all")
    assert "old words" in story.text("satisfaction")
    assert story.card("satisfaction").text == "Finished: read a / write b"
    assert "Does this meet your needs?" not in story.text("satisfaction")
    assert story.buttons("satisfaction") == []


async def test_a_plan_that_could_not_be_taken_back_whole_says_so_in_the_thread(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md"), write("b.md")))
    await story.click("plan", "plan_approve")
    http.desk.behave = "says no"
    await story.click("plan", "task_undo_all")
    assert "Nothing was taken back." in http.ws.by_app(OPS, story.said.ts)[-1].text
    assert "Does this meet your needs?" in story.text("satisfaction")


# promise: TASK-06
async def test_a_plan_is_modified_in_its_window(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md"), write("b.md"), write("c.md")))
    a, b, c = (await story.task()).plan.steps
    await story.click("plan", "plan_modify")
    view = await story.window("plan_modify")
    wrong = await story.submit({step_block(PLACE, a): {VALUE: "9"}})
    assert wrong.fields == {step_block(PLACE, a): "This must be a whole number from 1 to 3."}
    drop = {"text": {"type": "plain_text", "text": "Is dropped", "emoji": False}, "value": "drop"}
    await story.submit(
        {
            step_block(PLACE, a): {VALUE: "1"},
            step_block(PLACE, c): {VALUE: "1"},
            step_block(KEEP, b): {VALUE: {"selected_option": drop}},
            step_block(NOTE, a): {VALUE: "gently"},
        }
    )
    task = await story.task()
    assert [(s.id, s.note) for s in task.plan.steps] == [(c.id, ""), (a.id, "gently")]
    assert "version 2" in story.text("plan")
    assert "gently" in story.text("plan")
    assert view.body["callback_id"] == "plan_modify"


async def test_what_does_not_fit_a_tool_is_said_in_the_window(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md"), write("b.md")))
    first = (await story.task()).plan.steps[0]
    await story.click("plan", "plan_modify")
    await story.window("plan_modify")
    path = f"{step_block('args', first)}{http.desk.specs_now['write'].definition[:16]}.path"
    outcome = await story.submit({path: {VALUE: ""}})
    assert list(outcome.fields) == [path]
    assert (await story.task()).plan.version == 1


async def test_a_plan_is_made_anew_for_a_reason(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md")), proposes(write("z.md")))
    await story.click("plan", "plan_replan")
    await story.window("plan_replan")
    await story.submit({FEEDBACK: {FEEDBACK: "use z instead"}})
    assert "Planned again: use z instead" in story.text("plan")
    assert http.planner.briefs[-1].reason == "use z instead"
    assert "Write z.md" in story.text("plan")


async def test_a_cancelled_plan_says_so_and_its_buttons_are_gone(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md")))
    stale = story.card("plan").blocks
    await story.click("plan", "plan_cancel")
    assert "Cancelled by <@U_ANN>." in story.text("plan")
    assert story.buttons("plan") == []
    value = next(
        e["value"] for b in stale for e in b.get("elements", ()) if e.get("action_id") == "plan_approve"
    )
    assert value.startswith((await story.task()).id)
    assert http.desk.notes == {}


async def test_everything_of_a_long_plan_can_be_seen(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md", "x" * 20_000), write("b.md")))
    assert "Not shown whole here" in story.text("plan")
    await story.click("plan", "plan_whole", BEN)
    assert "x" * 2_000 in said_in(await story.window("plan_whole", BEN))
    await story.click("plan", "plan_approve")
    assert http.desk.notes == {}  # the long one comes first, and asks on its own card
    waiting = await http.ledger.pending("T1")
    assert len(waiting) == 1


@pytest.mark.slow
async def test_a_failed_step_pauses_and_is_tried_again_with_what_is_said(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md"), write("b.md")))
    http.desk.behave = "says no"
    await story.click("plan", "plan_approve")
    assert story.buttons("pause") == ["step_retry", "step_skip", "task_abort"]
    assert story.card("plan").text.startswith("Paused at step 1 of 2: ")
    http.desk.behave = "well"
    http.planner.script += [proposes(write("c.md"))]
    await story.click("pause", "step_retry", state={WORDS: {WORDS: "there is room now"}})
    task = await story.task()
    assert [one.text for one in task.instructions] == ["there is room now"]
    assert not story.has("pause") or task.pauses > 1


@pytest.mark.slow
async def test_a_failed_step_is_skipped_or_ends_the_task(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md"), write("b.md")))
    http.desk.behave = "says no"
    await story.click("plan", "plan_approve")
    http.desk.behave = "well"
    await story.click("pause", "step_skip", BEN)
    await http.told(BEN, "Only <@U_ANN>")
    http.planner.script += [proposes(write("b.md"))]  # what is said is worked into the rest of the plan
    await story.click("pause", "step_skip", state={WORDS: {WORDS: "no matter"}})
    assert [one.text for one in (await story.task()).instructions] == ["no matter"]
    steps = (await story.task()).plan.steps
    assert steps[0].state is StepState.SKIPPED
    assert http.desk.notes == {}  # the rest was planned again, so it asks
    assert not story.has("pause")


async def test_pause_and_stop_on_the_progress_card(http: Edge) -> None:
    story = await begun(http, proposes(shred("a.md"), write("b.md")))
    http.desk.notes["a.md"] = "old"
    await story.click("plan", "plan_stepwise")
    assert story.buttons("plan") == ["task_pause", "task_stop"]
    assert story.card("plan").text.startswith("Waiting for a decision on step 1 of 2: ")
    await story.click("plan", "task_stop")
    assert (await story.task()).state is TaskState.STOPPED_BY_USER
    assert "Stopped by <@U_ANN>." in story.text("plan")
    assert http.desk.notes == {"a.md": "old"}


async def pausing(http: Edge) -> Story:
    """The first of two steps runs, and the plan is to pause after it."""
    story = await begun(http, proposes(write("a.md"), write("b.md")))
    http.desk.gate = asyncio.Event()
    assert (await http.ann.click(story.card("plan"), "plan_approve")).ok
    await http.desk.entered.wait()
    assert (await http.ann.click(story.card("plan"), "task_pause")).ok
    await http.ws.wait_for(lambda: "Pausing as soon as" in story.text("plan"), AGES)
    return story


async def paused(http: Edge) -> Story:
    story = await pausing(http)
    assert http.desk.gate
    http.desk.gate.set()
    await http.settled()
    assert (await story.task()).state is TaskState.PAUSED
    return story


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "words",
    ["hold on", "please wait", "Wait a moment, please", "no, wait", "hold on, I am asking Ben", "pause"],
)
async def test_words_that_ask_to_wait_keep_a_pause(http: Edge, words: str) -> None:
    story = await paused(http)
    await http.ann.say(OPS, words, thread_ts=story.said.ts)
    await http.told(ANN, "It waits already")
    assert ((await story.task()).state, http.desk.notes) == (TaskState.PAUSED, {"a.md": "new"})


@pytest.mark.slow
@pytest.mark.parametrize("words", ["hold on", "Please wait!"])
async def test_words_that_ask_to_wait_pause_what_runs(http: Edge, words: str) -> None:
    story = await begun(http, proposes(shred("a.md"), write("b.md")))
    await story.click("plan", "plan_stepwise")
    await http.ann.say(OPS, words, thread_ts=story.said.ts)
    await http.ws.wait_for(lambda: story.has("pause"), AGES)
    assert (await story.task()).state is TaskState.PAUSED


async def test_words_that_ask_to_wait_are_no_answer_and_no_wish_for_another_plan(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md")))
    await http.ann.say(OPS, "hold on", thread_ts=story.said.ts)
    await http.told(ANN, "It waits for you")
    assert (await story.task()).state is TaskState.PLAN_REVIEW
    asked = await begun(http, assessment=UNCLEAR)
    await http.ann.say(OPS, "one moment", thread_ts=asked.said.ts)
    await http.settled()
    assert (await asked.task()).decided == ()


async def test_a_continue_that_comes_late_does_not_take_a_later_pause_back(
    http: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = http.ws.state.next_ts()
    story = await pausing(http)
    with monkeypatch.context() as before:
        before.setattr(http.ws.state, "next_ts", lambda: early)
        await http.ann.say(OPS, "continue", thread_ts=story.said.ts)
    await http.told(ANN, "paused after you wrote this")
    assert http.desk.gate
    http.desk.gate.set()
    await http.settled()
    assert ((await story.task()).state, http.desk.notes) == (TaskState.PAUSED, {"a.md": "new"})


async def test_a_continue_takes_an_earlier_pause_back(http: Edge) -> None:
    story = await pausing(http)
    await http.ann.say(OPS, "continue", thread_ts=story.said.ts)
    await http.told(ANN, "I do not pause, then")
    assert http.desk.gate
    http.desk.gate.set()
    await http.settled()
    assert http.desk.notes == {"a.md": "new", "b.md": "new"}


async def test_slacks_own_stop_ends_the_plan_after_the_step_that_runs(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md"), write("b.md")))
    http.desk.gate = asyncio.Event()
    assert (await http.ann.click(story.card("plan"), "plan_approve")).ok
    await http.desk.entered.wait()
    at = (OPS, story.said.ts)
    await http.ws.wait_for(lambda: http.ws.state.statuses.get(at) == "processing", AGES)
    await http.ann.stop(*at)
    await http.ws.wait_for(lambda: "Stopping as soon as" in story.text("plan"), AGES)
    assert story.buttons("plan") == []
    http.desk.gate.set()
    await http.settled()
    assert (await story.task()).state is TaskState.STOPPED_BY_USER
    assert http.desk.notes == {"a.md": "new"}
    assert "Stopped by <@U_ANN>." in story.text("plan")


async def test_feedback_runs_it_again_and_an_empty_one_does_not(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md")), proposes(write("b.md")))
    await story.click("plan", "plan_approve")
    old = story.card("satisfaction")
    poor = parts(old.blocks, "feedback_buttons")[0]["negative_button"]
    assert poor["text"]["text"] == "Needs changes…"
    await story.click("satisfaction", "task_satisfied", choose=poor["value"])
    await story.window("task_changes")
    empty = await story.submit({FEEDBACK: {FEEDBACK: " "}})
    assert FEEDBACK in empty.fields
    await story.submit({FEEDBACK: {FEEDBACK: "b as well"}})
    assert "wanted changes" in story.text("satisfaction")
    assert "Write b.md" in story.text("plan")
    await http.ws.as_("U_ANN").say(OPS, "hello", story.said.ts)
    assert old.ts == story.card("satisfaction").ts


async def test_starting_over_is_a_task_of_its_own(http: Edge) -> None:
    story = await begun(
        http,
        Propose((Call("desk", "write", {"path": "a.md", "content": "x"}),)),
        assessment=Assessment(10, 1),
    )
    before = (await story.task()).id
    action = (await http.ledger.pending("T1"))[0]
    card = next(m for m in http.ws.by_app(OPS, story.said.ts) if action.id in str(m.metadata))
    await http.ann.click(card, "confirm")
    await http.settled()
    await http.ann.click(card, "task_start_over")
    await http.settled()
    assert "Does this meet your needs?" not in str(card.blocks)
    assert (await story.task()).id != before


async def test_a_conversation_is_confirmed_before_it_is_planned(http: Edge) -> None:
    http.switches = Switches(conversational=True)
    story = await begun(
        http,
        Say("Which login do you want?"),
        Implement(("Sign in with Google", "No passwords")),
        proposes(write("login.md")),
        text="help me design a login",
    )
    talk = next(m for m in http.ws.by_app(OPS, story.said.ts) if "Which login" in m.text)
    await http.ws.as_(BEN).click(talk, "task_implement")
    await http.told(BEN, "Only <@U_ANN>")
    await http.ann.click(talk, "task_implement")
    await http.settled()
    assert "No passwords" in story.text("requirements")
    assert "I ask because you pressed Implement now." in story.text("requirements")
    await story.click("requirements", "task_confirm")
    assert story.buttons("requirements") == []
    assert "Write login.md" in story.text("plan")


async def test_a_button_that_moved_on_or_stands_elsewhere_is_refused(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md")), proposes(write("b.md")))
    first = story.card("plan")
    await story.click("plan", "plan_replan")
    await story.window("plan_replan")
    await story.submit({FEEDBACK: {FEEDBACK: "another"}})
    approve = next(
        e
        for b in story.card("plan").blocks
        for e in b.get("elements", ())
        if e.get("action_id") == "plan_approve"
    )
    first.blocks = [{"type": "actions", "block_id": "x", "elements": [approve]}]
    await http.ann.click(first, "plan_approve")
    await http.told("U_ANN", "does not stand on a card of mine")
    assert http.desk.notes == {}


async def test_a_window_of_somebody_else_or_of_another_version_changes_nothing(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md")), proposes(write("b.md")))
    await story.click("plan", "plan_modify", BEN)
    await http.ws.wait_for(
        lambda: http.ws.as_(BEN).modal and http.ws.as_(BEN).modal.body["callback_id"] == "message"
    )
    assert "Only <@U_ANN>" in said_in(http.ws.as_(BEN).modal)
    await story.click("plan", "plan_replan")
    view = await story.window("plan_replan")
    await story.click("plan", "plan_cancel")
    await story.submit({FEEDBACK: {FEEDBACK: "too late"}})
    assert (await story.task()).state is TaskState.CANCELLED
    assert view is not None
