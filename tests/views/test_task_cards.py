"""The cards of a task in every state: what stands there, what can be pressed, and what is closed."""

from dataclasses import replace
from unittest.mock import patch

import pytest

from gate.rules.action import Ref, Verdict
from gate.rules.confidence import Confidence
from gate.rules.plans import with_consent
from gate.rules.settings import Switches
from gate.rules.steps import PRIVATE, Privacy, Try
from gate.rules.task import Flow, Missing, PauseReason, Plan, SettledPoint, StepReview, StepState, StopRequest
from gate.rules.task_states import TaskState
from tests.tasks import having
from tests.views.samples import MOVE, buttons, opened, parts, sent, shown
from tests.views.task_samples import (
    DECIDED,
    WHEN,
    WHICH,
    WHY,
    approved,
    destroying,
    everything,
    huge,
    long_plan,
    paused,
    plan,
    reading,
    said,
    step,
    task,
    unknown,
)
from views import task_modals
from views.block_kit import inline
from views.rendering import cards
from views.task_plan import numbers, shows
from views.task_wording import source

S = TaskState
LOOK = ["task_resume", "review_revise", "review_refuse", "task_stop"]
REVIEW = ["plan_approve", "plan_stepwise", "plan_modify", "plan_replan", "plan_cancel"]


def drawn(of, kind, plain=False):
    """All text of the card of this kind as it stands, and its buttons."""
    found = [card for card in cards(of) if f":{kind}:" in card.key]
    made = sent((plain and found[-1].plain) or found[-1].message)
    return shown(made.blocks), buttons(made.blocks)


@pytest.mark.parametrize("state", list(S))
@pytest.mark.parametrize("flow", list(Flow))
def test_every_card_in_every_state_is_accepted(state, flow):
    of = replace(everything(state), flow=flow)
    for one in (of, having(of, questions=(), requirements=(), instructions=(), result="", reason="")):
        found = cards(one)
        assert len({card.key for card in found}) == len(found)
        for card in found:
            assert card.key.startswith(f"{of.id}:")
            sent(card.message)
            assert card.plain is None or sent(card.plain)
            if card.closed:
                assert buttons(card.message.blocks) == []
                assert parts(card.message.blocks, "input") == []


@pytest.mark.parametrize("state", list(S))
def test_no_card_can_be_pressed_but_the_one_that_the_state_is_about(state):
    of = everything(state)
    pressable = {card.key.split(":")[1] for card in cards(of) if buttons(card.message.blocks)}
    awaited = {
        S.CLARIFYING: {"question"},
        S.TALKING: {"requirements"},
        S.PLAN_REVIEW: {"plan"},
        S.RUNNING: {"plan"},
        S.PAUSED: {"pause"},
        S.SATISFACTION: {"satisfaction", "plan"},  # and undo of all
    }
    assert pressable == awaited.get(state, {"plan"} if of.is_finished else set())


@pytest.mark.parametrize("state", list(S))
def test_every_button_carries_the_number_of_its_card_and_no_fact(state):
    of = everything(state)
    for card in cards(of):
        _, kind, number = card.key.split(":")
        for pressed in parts(card.message.blocks, "button"):
            ref = Ref.parse(pressed["value"])
            receipt = of.plan.seal[:16] if kind == "plan" else "0"
            assert ref == Ref(of.id, int(number), receipt)


# promise: TASK-20
def test_a_question_card_has_a_field_for_each_question_and_says_what_is_assumed():
    text, ids = drawn(task(S.CLARIFYING, questions=(WHICH, WHEN), asked=1), "question")
    assert ids == ["task_submit", "task_assume", "plan_cancel"]
    assert "Which folder?" in text
    assert "Without an answer I assume: archive" in text
    assert "Since when?" in text


def test_only_a_value_that_a_tool_needs_cannot_be_skipped():
    _, ids = drawn(task(S.CLARIFYING, questions=(WHICH, WHY), asked=1), "question")
    assert ids == ["task_submit", "task_assume", "plan_cancel"]
    needed = replace(WHY, missing=Missing.VALUE)
    _, ids = drawn(task(S.CLARIFYING, questions=(WHICH, needed), asked=1), "question")
    assert ids == ["task_submit", "plan_cancel"]


def test_what_code_says_of_a_plan_stands_there_plainly():
    text, _ = drawn(task(plan=plan(note="Assumed: documents go to documents/", own_note=True)), "plan")
    assert "Assumed: documents go to documents/" in text
    assert "not checked" not in text


def test_a_plan_says_what_was_assumed_for_it():
    assumed = SettledPoint("since", "Since when?", "this year", "")
    text, _ = drawn(task(plan=plan(), decided=(assumed,)), "plan")
    assert "Assumed: this year (Since when?)" in text


def test_more_questions_than_a_card_holds_are_asked_in_a_form():
    many = tuple(replace(WHEN, id=str(n), text=f"Question {n}?") for n in range(40))
    text, ids = drawn(task(S.CLARIFYING, questions=many, asked=1), "question")
    assert ids == ["task_answer", "task_assume", "plan_cancel"]
    assert "Question 29?" in text


def test_an_answered_question_card_says_what_was_decided_and_by_whom():
    text, ids = drawn(task(S.PLANNING, asked=1, decided=DECIDED), "question")
    assert ids == []
    assert "Which folder? old by \n<@UANA>" in text or "Which folder? old by <@UANA>" in text
    assert "Assumed: this year (Since when?)" in text


# promise: TASK-21
def test_a_plan_shows_of_each_step_what_it_changes_and_what_is_not_known_yet():
    text, ids = drawn(task(plan=plan()), "plan")
    assert ids == REVIEW
    for part in (
        "1. List reports",
        "2. Move reports/q3.md to archive/q3.md",
        "3. Delete q3-draft.md and q3-old.md  destructive",
        "Can be undone for 30 days.",
        "4. Restore",
        "“The planner calls this u”",
        "trash_id: known after step 3 (trash_id)",
        "Planner's words (not checked):",
        "*Approve all* is your yes to step 2, exactly as shown here. Steps 3 and 4 still ask when their turn comes.",
    ):
        assert part in text


def test_what_a_step_takes_is_named_by_its_place_only_where_nothing_stands_beside_it():
    forms = {
        "{steps.a.text}": "step 1 (text)",
        "{steps.a.items[0].id}": "step 1 (items[0].id)",
        "X {steps.a.text}": "X {steps.a.text}",
        "{steps.a.text}. X": "{steps.a.text}. X",
        "{steps.a.text}, {steps.a.sha}": "{steps.a.text}, {steps.a.sha}",
        "{steps.gone.text}": "{steps.gone.text}",
    }
    of = plan(step(), step("b"))
    assert {form: source(of, form) for form in forms} == forms


@pytest.mark.parametrize(
    ("steps", "ids"),
    [
        ((step(),), {"a"}),
        ((step(ask=True), step("b")), {"b"}),
        ((reading(), destroying(), unknown()), set()),
        ((step(seal=""),), set()),
        ((step(preview=replace(MOVE, problem="no answer"), seal=""),), set()),
        ((step(state=StepState.DONE), step("b")), {"b"}),
        ((huge(), step("b")), {"b"}),
    ],
)
def test_approve_all_covers_only_changes_that_are_shown_whole(steps, ids):
    made = plan(*steps)
    given = with_consent(task(), made, shows(made))
    assert {one.id for one in given.steps if one.consent} == ids
    text, pressed = drawn(task(plan=made), "plan")
    assert ("plan_approve" in pressed) == bool(ids)
    assert ("Not shown whole here" in text) == ("plan_whole" in pressed)


def test_a_step_that_was_tried_before_says_so_and_no_approval_covers_it():
    made = plan(step(attempt=2), step("b"))
    assert [one.consent != "" for one in with_consent(task(), made, shows(made)).steps] == [False, True]
    text, _ = drawn(task(plan=made), "plan")
    assert "tried before" in text
    assert "Step 1 still asks when its turn comes." in text


def test_a_plan_of_thirty_steps_fits_and_all_of_it_is_covered():
    made = long_plan()
    text, ids = drawn(task(plan=made), "plan")
    assert len(shows(made)) == 30
    assert ids == REVIEW
    assert "30. Move reports/report-30.md" in text
    assert "17. Move reports/report-17.md" in text


def test_thirty_long_steps_still_fit_and_none_is_covered_unseen():
    made = plan(*(huge(f"h{n}", 2_900) for n in range(30)))
    text, ids = drawn(task(plan=made), "plan")
    assert 0 < len(shows(made)) < 5
    assert "plan_whole" in ids
    assert text.count("x" * 2_900) == len(shows(made))
    assert all(f"{n}. Write long.md" in text for n in range(1, 31))


def test_more_steps_than_a_card_names_are_counted():
    text, ids = drawn(task(plan=long_plan(90)), "plan")
    assert "… and 50 more steps: see *Show everything*" in text
    assert "plan_whole" in ids
    assert 0 < len(shows(long_plan(90))) <= 40


def test_while_a_changed_plan_is_looked_at_nothing_can_be_approved():
    text, ids = drawn(task(plan=plan(step(rules="", preview=None), step("b"))), "plan")
    assert "I am looking at what this would change now…" in text
    assert ids == ["plan_modify", "plan_replan", "plan_cancel"]


def test_a_plan_with_a_step_that_cannot_run_says_so_and_cannot_be_approved():
    bad = step("b", None, verdict=Verdict.DENY, problem="There is no such tool.")
    text, ids = drawn(task(plan=plan(step(), bad)), "plan")
    assert "Step 2 cannot run as it stands." in text
    assert "There is no such tool." in text
    assert ids == ["plan_modify", "plan_replan", "plan_cancel"]


def test_where_each_step_is_to_ask_no_approval_is_offered_for_all():
    of = task(plan=plan(), switches=Switches(review="both"))
    text, ids = drawn(of, "plan")
    assert ids[0] == "plan_stepwise"
    assert "asks you on its own card" in text


def test_taking_all_of_it_back_is_announced_and_told():
    made = approved(step(state=StepState.DONE), undoing="UBEN")
    text, ids = drawn(task(S.DONE, plan=made), "plan")
    assert "Taking all of it back, as <@UBEN> asked…" in text
    assert ids == []
    text, _ = drawn(task(S.DONE, plan=replace(made, undoing="", undone="1 of 1 taken back.")), "plan")
    assert "1 of 1 taken back." in text


def test_an_older_plan_says_that_a_newer_one_took_its_place():
    found = {card.key.split(":", 1)[1]: card for card in cards(task(plan=plan(version=3)))}
    assert found["plan:2"].closed
    assert found["plan:2"].earlier
    assert "A newer plan took the place of this one." in shown(found["plan:2"].message.blocks)
    assert "version 3" in shown(found["plan:3"].message.blocks)


# promise: TASK-23
def test_a_running_plan_ticks_its_steps_off_and_names_the_current_one():
    steps = (
        replace(reading(), state=StepState.DONE),
        step("b", state=StepState.SKIPPED),
        step("c", state=StepState.ASKED, consent="ef" * 32),
        destroying(),
    )
    of = task(
        S.RUNNING, plan=approved(*steps), instructions=(said("no PDFs", "before step 3"), said("hurry"))
    )
    text, ids = drawn(of, "plan", plain=True)
    assert ids == ["task_pause", "task_stop"]
    for part in (
        "Working on step 3 of 4: ",
        "skipped",
        "running",
        "approved by <@UANA>, all of it",
        "“no PDFs” ",
        "taken in before step 3",
        "waits for the next step",
    ):
        assert part in text
    bold = [e["text"] for e in parts(cards(of)[-1].plain.blocks, "text") if e.get("style", {}).get("bold")]
    assert " 3. " in bold
    assert " 4. " not in bold
    marks = [e["name"] for e in parts(cards(of)[-1].plain.blocks, "emoji")]
    assert marks == ["white_check_mark", "no_entry_sign", "arrow_forward", "white_circle"]


def test_the_plan_block_says_the_same_as_the_plain_one():
    of = everything(S.RUNNING)
    (block,) = parts([card.message.blocks for card in cards(of)], "plan")
    assert block["title"] == "Working on step 1 of 10"
    assert [t["status"] for t in block["tasks"]][:6] == [
        "pending", "complete", "in_progress", "in_progress", "error", "complete",
    ]  # fmt: skip
    assert block["tasks"][5]["title"].endswith("(skipped)")


def test_what_waits_for_a_person_is_told_from_what_runs():
    waiting, _ = drawn(task(S.RUNNING, plan=approved(step(state=StepState.ASKED))), "plan", plain=True)
    assert waiting.startswith("Waiting for a decision on step 1 of 1")
    assert "waits for a decision" in waiting


def test_pausing_is_announced_and_cannot_be_pressed_twice():
    text, ids = drawn(task(S.RUNNING, plan=approved(), wish=StopRequest.PAUSE), "plan")
    assert "Pausing as soon as the current step is over…" in text
    assert ids == ["task_stop"]
    text, ids = drawn(task(S.RUNNING, plan=approved(), wish=StopRequest.STOP), "plan")
    assert "Stopping as soon as the current step is over…" in text
    assert ids == []


def test_where_pausing_is_switched_off_only_stop_is_there():
    of = task(S.RUNNING, plan=approved())
    assert drawn(having(of, switches=replace(of.switches, pause_enabled=False)), "plan")[1] == ["task_stop"]


@pytest.mark.parametrize(
    ("why", "ids"),
    [
        (PauseReason.WISH, ["task_resume", "task_stop"]),
        (PauseReason.STEP, ["step_retry", "step_skip", "task_abort"]),
        (PauseReason.LAPSED, ["task_resume", "task_stop"]),
        (PauseReason.REVIEW, ["task_resume", "task_stop"]),
        (PauseReason.SUMMARY, ["task_hold", "task_resume", "task_stop"]),
        (PauseReason.DOUBT, ["step_retry", "step_skip", "task_abort"]),
    ],
)
def test_a_pause_says_why_takes_words_and_offers_what_helps(why, ids):
    of = paused(why)
    text, pressed = drawn(of, "pause")
    assert pressed == ids
    assert "The file is gone." in text
    assert "What should I know before it goes on?" in text
    assert "step 3 of 4: " in text or "step 1 of 4: " in text
    assert drawn(of, "plan")[1] == []


def test_who_said_no_to_a_step_is_named_and_our_sentence_is_not_quoted():
    text, _ = drawn(replace(paused(PauseReason.STEP), reason="<@UBEN> rejected step 3: too early"), "pause")
    assert "<@UBEN> rejected step 3: too early" in text
    of = replace(paused(PauseReason.STEP), reason="Step 1 failed: <@UBEN> rejected step 3")
    (card,) = [one for one in cards(of) if ":pause:" in one.key]
    assert parts(card.message.blocks, "user") == []  # a tool's words name nobody


def test_a_pause_that_is_over_has_nothing_to_press():
    text, ids = drawn(replace(paused(), state=S.RUNNING), "pause")
    assert (text, ids) == ("It was paused, and went on.", [])
    text, _ = drawn(having(paused(), state=S.STOPPED_BY_USER, ended_by="UBEN"), "pause")
    assert "Stopped by <@UBEN>." in text


def looked_at(passed: str = "", state=S.PAUSED, why=PauseReason.SUMMARY):
    """A task whose second step was shown on its first pause."""
    seen = step(
        state=StepState.DONE,
        confidence=Confidence(0.79, ("it is new",)),
        look=StepReview(1, 10.0, passed),
    )
    return task(state, why=why, pauses=1, reason="Step 2 is done.", plan=approved(reading(), seen, step("c")))


def test_what_goes_on_by_itself_says_when_and_what_is_held_does_not():
    text, _ = drawn(looked_at(), "pause")
    assert "about 10 seconds after this card appears, unless *Hold* is pressed" in text
    text, ids = drawn(looked_at(why=PauseReason.REVIEW), "pause")
    assert "by itself" not in text
    assert ids == LOOK


def reviewed(why: PauseReason = PauseReason.REVIEW, preview=MOVE, **changes):
    """A task that waits for a look at its second step, or did."""
    seen = step(
        "b", preview, state=StepState.DONE, look=StepReview(1), action="a1", result={"text": "moved", "n": 2}
    )
    read = replace(reading(), state=StepState.DONE)
    made = approved(read, having(seen, **changes), step("c"))
    return task(S.PAUSED, why=why, pauses=1, reason="Step 2 is done.", plan=made)


@pytest.mark.parametrize(
    ("undo", "told"),
    [
        ("yes: moves it back", "you are offered to undo it"),
        ("no: it was sent", "there is nothing to undo"),
    ],
)
def test_what_a_rejection_does_stands_on_the_card_before_it_is_pressed(undo, told):
    text, ids = drawn(reviewed(preview=replace(MOVE, undo=undo)), "pause")
    assert ids == LOOK
    assert "drops what the step gave: nothing can use it, the step counts as failed" in text
    assert told in text


@pytest.mark.parametrize(("undo", "offered"), [("yes: moves it back", True), ("no: it was sent", False)])
def test_a_rejected_result_offers_its_undo_where_there_is_one(undo, offered):
    told = replace(MOVE, undo=undo)
    of = reviewed(PauseReason.DOUBT, told, state=StepState.FAILED, result=None, look=StepReview(1, by="UBEN"))
    _, ids = drawn(having(of, pauses=2), "pause")
    assert ids == ["step_retry", "step_skip", *(["review_undo"] if offered else []), "task_abort"]
    (older, _) = [card for card in cards(having(of, pauses=2)) if ":pause:" in card.key]
    assert "The result of step 2 was rejected by <@UBEN>: it is dropped." in shown(sent(older.message).blocks)


def test_a_result_that_was_changed_says_so_and_by_whom():
    of = replace(
        reviewed(PauseReason.NONE, look=StepReview(1, by="UANA", edited=True), result={"n": 3}),
        state=S.RUNNING,
    )
    text, ids = drawn(of, "pause")
    assert ids == []
    assert "<@UANA> changed what later steps get of it." in text


@pytest.mark.parametrize(
    ("passed", "told"),
    [
        ("nobody", "Nobody held it, so it went on by itself."),
        ("UANA", "It went on, as asked by <@UANA>."),
        ("", "It was paused, and went on."),
    ],
)
def test_a_summary_that_is_over_says_who_let_it_go_on(passed, told):
    of = looked_at(passed, S.RUNNING, PauseReason.NONE)
    text, ids = drawn(of, "pause")
    assert told in text
    assert ids == []
    (older, _) = [card for card in cards(having(of, pauses=2)) if ":pause:" in card.key]
    assert told in shown(sent(older.message).blocks)


def test_a_step_shows_who_judged_its_result_good():
    good = Confidence(0.97, (), "its result was judged good by the model: *all* <!here> there")
    of = looked_at("UANA", S.RUNNING, PauseReason.NONE)
    of = replace(of, plan=replace(of.plan, steps=tuple(having(s, confidence=good) for s in of.plan.steps)))
    for card in ("pause", "plan"):
        text, _ = drawn(of, card)
        assert "ts result was judged good by the model: " in text
        assert "onfidence" not in text
        assert "<!here>" not in text or card == "plan"  # there as plain text, where nothing is a mention


def test_each_step_says_whether_nobody_looked_and_how_sure_it_is_stands_in_show_everything():
    of = looked_at("nobody", S.RUNNING, PauseReason.NONE)
    for plain in (True, False):
        text, ids = drawn(of, "plan", plain)
        assert "it went on by itself, as nobody held it" in text
        assert "0.79" not in text
        assert "plan_whole" in ids
    assert "Confidence: 0.79 of 1" in shown(opened(task_modals.everything(of, of.plan))["blocks"])


@pytest.mark.parametrize(
    ("switches", "told"),
    [
        (Switches(), None),  # the usual one
        (Switches(approval_mode="manual"), " · waits for a person after each step"),
        (
            Switches(approval_mode="confidence_threshold", confidence=0.9),
            " · goes on by itself where it is at least 90% sure",
        ),
    ],
)
def test_the_mode_stands_on_the_plan_before_and_while_it_runs(switches, told):
    for state in (S.PLAN_REVIEW, S.RUNNING):
        text, _ = drawn(task(state, plan=approved(), switches=switches), "plan")
        assert told in text if told else "goes on by itself" not in text


# promise: TASK-22
def test_a_result_is_asked_about_once_and_closed_by_whoever_answered():
    of = task(S.SATISFACTION, flow=Flow.SIMPLE, ends=1, result="2 done, 1 rejected")
    text, ids = drawn(of, "satisfaction")
    assert "2 done, 1 rejected" in text
    assert "Does this meet your needs?" in text
    assert ids == ["task_satisfied", "task_start_over"]
    assert text.count("Needs changes…") == 1
    assert "Not yet" not in text
    assert "context_actions" not in str(cards(of)[-1].plain)
    plainly = drawn(of, "satisfaction", plain=True)[1]
    assert plainly == ["task_satisfied", "task_changes", "task_start_over"]
    for changes, told in (
        ({"ended_by": "UANA"}, "<@UANA> says that this meets their needs."),
        ({"ended_by": "UANA", "reason": "started over"}, "<@UANA> started over"),
        ({}, "Nobody said otherwise"),
        ({"state": S.RUNNING}, "<@UANA> wanted changes."),
        ({"state": S.STOPPED_BY_USER, "ended_by": "UBEN"}, "Stopped by <@UBEN>."),
    ):
        text, ids = drawn(having(of, **{"state": S.DONE, **changes}), "satisfaction")
        assert told in text
        assert ids == []


def test_the_last_message_of_a_plan_shows_what_it_read():
    rows = {"text": "", "items": [{"name": "q1.csv", "size": 900}, {"name": "q2.csv", "size": 1_000}]}
    listed = having(reading("l"), state=StepState.DONE, result=rows, text="2 items")
    file = {"path": "a.md", "kind": "text", "text": "alpha says hello", "size": 16}
    content = having(reading("c"), state=StepState.DONE, result=file, text='{"path": "a.md"}')
    spelt = {"text": '{"id": 5, "to": {"name": "ops"}}', "id": 5, "to": {"name": "ops"}}
    as_json = having(reading("j"), state=StepState.DONE, result=spelt, text="")
    long = having(reading("m"), state=StepState.DONE, result={"text": "x" * 5_000}, text="x")
    empty = having(reading("e"), state=StepState.DONE, result={"text": ""}, text="")
    secret = {"text": "my secret plan"}
    alone = having(reading("p"), state=StepState.DONE, result=secret, text=PRIVATE, privacy=Privacy.PRIVATE)
    failed = having(reading("f"), state=StepState.FAILED, result=None, text="no such file")
    written = step("w", state=StepState.DONE, text="Moved", result={"text": "Moved it all"})
    of = task(
        S.SATISFACTION,
        plan=approved(listed, content, as_json, long, empty, alone, failed, written),
        ends=1,
        result="Done",
    )
    text, ids = drawn(of, "satisfaction")
    assert "1. Listed reports" in text
    assert "Name\nSize\nq1.csv\n900 B" in text  # the cells of a table
    assert "alpha says hello" in text
    assert "utf-8" not in text
    assert "ops" in text
    assert "This is the beginning." in text
    assert "show_all" in ids
    assert "It gave nothing." in text
    for hidden in ("my secret plan", "no such file", "Moved it all", '"name"', '"id"', "x" * 2_000):
        assert hidden not in text
    assert "q1.csv" in drawn(having(of, state=S.DONE, ended_by="UANA"), "satisfaction")[0]
    many = tuple(having(reading(f"r{n}"), state=StepState.DONE, result=rows, text="") for n in range(30))
    assert "… and 22 more results" in drawn(having(of, plan=approved(*many)), "satisfaction")[0]


def test_what_was_understood_is_confirmed_before_it_is_planned():
    of = task(
        S.TALKING, flow=Flow.TALK, requirements=("Sign in with Google",), because="they wrote “build it”"
    )
    text, ids = drawn(having(of, decided=DECIDED), "requirements")
    assert "Sign in with Google" in text
    assert "Which folder? old" in text
    assert "I ask because they wrote “build it”." in text
    assert ids == ["task_confirm", "task_keep_talking"]
    text, ids = drawn(replace(of, state=S.PLANNING, flow=Flow.PLAN), "requirements")
    assert "Confirmed." in text
    assert ids == []
    text, ids = drawn(having(of, requirements=(), attempts=2), "requirements")
    assert "we went on talking" in text
    assert ids == []


def test_a_finished_plan_offers_to_take_all_of_it_back_where_something_can_be():
    done = step(state=StepState.DONE)
    for steps, offered in (
        ((done,), True),
        ((replace(reading(), state=StepState.DONE),), False),
        ((having(done, preview=replace(done.preview, undo="no: sent is sent")),), False),
        ((step(),), False),
    ):
        _, ids = drawn(task(S.DONE, plan=approved(*steps), result="1 done"), "plan")
        assert ids == (["task_undo_all"] if offered else [])


def test_a_plan_that_was_cancelled_says_by_whom():
    text, ids = drawn(task(S.CANCELLED, plan=plan(), ended_by="UBEN"), "plan", plain=True)
    assert text.startswith("Cancelled, 0 of 4 steps done: ")
    assert "Cancelled by <@UBEN>." in text
    assert ids == []


def test_an_empty_plan_is_no_trouble():
    assert drawn(task(plan=Plan(1, ())), "plan")[1][0] == "plan_stepwise"
    assert drawn(task(S.DONE, plan=Plan(1, ())), "plan")[0].startswith("Done, 0 of 0 steps done")


@pytest.mark.parametrize(
    ("places", "named"),
    [
        ([2], "step 2"),
        ([1, 2], "steps 1 and 2"),
        ([1, 2, 3], "steps 1 to 3"),
        ([1, 3, 4, 5, 9], "steps 1, 3 to 5 and 9"),
        (list(range(1, 31)), "steps 1 to 30"),
        (list(range(1, 41, 2)), "20 of the 40 steps"),
    ],
)
def test_steps_are_named_by_their_places_in_few_words(places, named):
    made = long_plan(max(places) if max(places) < 39 else 40)
    assert numbers(made, [made.steps[place - 1] for place in places]) == named


def test_a_plan_that_nobody_decided_on_in_time_can_only_be_asked_again_made_anew_or_given_up():
    text, ids = drawn(task(plan=plan(lapsed=True)), "plan")
    assert ids == ["plan_again", "plan_replan", "plan_cancel"]
    assert "Nobody decided on it in time, so nothing ran." in text
    for some in (step(state=StepState.DONE), step(tries=(Try("a"),))):
        text, _ = drawn(task(plan=plan(some, step("b"), lapsed=True)), "plan")
        assert "Nobody decided on it in time, so nothing more ran." in text


def test_a_plan_that_ended_names_the_steps_that_ran_before_or_may_have():
    of = task(S.CANCELLED, plan=approved(step("a", tries=(Try("a"),)), step("b")))
    text, _ = drawn(of, "plan", plain=True)
    assert "Cancelled, 0 of 2 steps done, step 1 ran before, or may have" in text
    assert "Move reports/q3.md to archive/q3.md — ran before, or may have" in text


def test_one_list_in_the_last_message_of_a_plan_is_a_table_and_a_box_where_slack_takes_none():
    rows = {"items": [{"name": "q1.csv", "size": 900}, {"name": "q2.csv", "size": 1_000}]}
    read = [having(reading(n), state=StepState.DONE, result=rows, text="2 items") for n in "ab"]
    of = task(S.SATISFACTION, plan=approved(*read), ends=1, result="Done")
    for state, tables in ((S.SATISFACTION, 1), (S.DONE, 1), (S.RUNNING, 0)):
        (card,) = [one for one in cards(having(of, state=state)) if ":satisfaction:" in one.key]
        assert len(parts(card.message.blocks, "table")) == tables
        assert "1. Listed reports" in shown(card.message.blocks)
        if card.plain:
            assert parts(card.plain.blocks, "table") == []
            assert shown(card.plain.blocks).count("q1.csv  900 B") == 2
        assert (card.plain is not None) is bool(tables)


def test_of_long_lists_only_what_the_last_message_shows_is_made():
    rows = {"columns": list("abcdefgh"), "rows": [[f"б{r}"] * 8 for r in range(1_000)]}
    read = [having(reading(f"r{n}"), state=StepState.DONE, result=rows, text="") for n in range(8)]
    of = task(S.SATISFACTION, plan=approved(*read), ends=1, result="Done")
    with patch("views.tool_results.inline", wraps=inline) as spelled:
        told = drawn(of, "satisfaction")[0]
    assert "… 901 more rows" in told
    assert told.count(" more rows") == 8
    assert spelled.call_count < 10_000
