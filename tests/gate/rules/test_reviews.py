"""Which calls a review is about, what later steps may use, and the events of a pause."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.rules import plans
from gate.rules.action import CallClass
from gate.rules.events import payload
from gate.rules.grants import never_grantable_reason
from gate.rules.policy import Policy
from gate.rules.reviews import (
    Phase,
    Review,
    ReviewRecord,
    dropped,
    edited,
    node,
    one_result,
    paused,
    resumed,
    undoable,
)
from gate.rules.task import Plan, Step, StepReview, StepState
from tests.actions import but
from tests.storage.samples import action, json_values, texts
from tests.tasks import having, step_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BEFORE, AFTER = Phase.BEFORE, Phase.AFTER
patterns = st.lists(
    st.sampled_from(["*", "desk.*", "desk.write", "mail.?end", "s1", "Send *", "[x]"]), max_size=3
)
reviews = st.builds(
    Review, texts, st.sampled_from(Phase), st.booleans(), patterns.map(tuple), patterns.map(tuple)
)
calls = st.sampled_from(["desk.write", "desk.look", "mail.send"])
steps = st.sampled_from([(), ("s1", "Send it"), ("s2", "")])


def step(**changes: object) -> Step:
    made = step_of("s1", "one", "desk", "write", {}, state=StepState.DONE, action="a1", cls=CallClass.WRITE)
    return having(made, **changes)


# promise: REVIEW-08
def test_it_has_the_ten_fields_of_spec_004() -> None:
    spec = "id execution_id node_id reviewer_id decision trigger_phase original_data modified_data comment"
    assert [field.name for field in fields(ReviewRecord)] == [*spec.split(), "reviewed_at"]


@given(reviews, st.sampled_from(Phase), calls, steps)
def test_what_is_switched_off_or_of_the_other_phase_never_holds(one, phase, name, at) -> None:
    assert not replace(one, enabled=False).holds(phase, name, at)
    assert not (one.trigger_phase is not phase and one.holds(phase, name, at))


@given(st.lists(reviews, max_size=4), st.sampled_from(Phase), calls, steps)
def test_more_reviews_never_let_more_through(several, phase, name, at) -> None:
    held = [
        bool(Policy("p", reviews=tuple(several[:n])).review(phase, name, at)) for n in range(len(several) + 1)
    ]
    assert held == sorted(held)


@pytest.mark.parametrize(
    ("review", "step", "holds"),
    [
        (Review("a", BEFORE, tools=("desk.*",)), (), True),
        (Review("a", BEFORE, tools=("mail.*",)), (), False),
        (Review("a", BEFORE, steps=("s1",)), ("s1", "Send it"), True),
        (Review("a", BEFORE, steps=("Send*",)), ("s1", "Send it"), True),
        (Review("a", BEFORE, steps=("s2",)), ("s1", "Send it"), False),
        (Review("a", BEFORE, steps=("s1",)), (), False),  # outside of plans there is no step
        (Review("a", BEFORE, tools=("mail.*",), steps=("s1",)), ("s1", "Send it"), False),  # both, not either
        (Review("a", BEFORE), ("s1", ""), True),
    ],
)
def test_it_holds_where_tool_and_step_are_named(review: Review, step: tuple[str, ...], holds: bool) -> None:
    assert review.holds(BEFORE, "desk.write", step) is holds


@given(json_values)
def test_later_steps_use_what_the_reviewer_made_of_a_result_and_nothing_of_a_rejected_one(result) -> None:
    true = step(result={"path": "a.md"})
    changed = edited(true, "U1", {"path": result})
    assert (changed.result, changed.edited, changed.passed) == ({"path": result}, True, "U1")
    taking = step(id="s2", state=StepState.WAITING, refs={"to": "{steps.s1.path}"})
    if isinstance(result, str):
        assert plans.fill_arguments(Plan(1, (changed, taking)), taking) == {"to": result}
    gone = dropped(changed, "U1", "no")
    assert (gone.result, gone.ran, gone.rejected_by, gone.passed) == (None, True, "U1", "")
    with pytest.raises(plans.MissingResult):
        plans.fill_arguments(Plan(1, (gone, taking)), taking)


def test_a_step_begun_anew_has_forgotten_its_review() -> None:
    again = plans.new_attempt(step(look=StepReview(2, by="U1", edited=True), state=StepState.FAILED))
    assert (again.look, again.rejected_by, again.shown) == (None, "", 0)


def test_neither_a_plan_nor_a_grant_approves_what_is_reviewed() -> None:
    plain = action(now=NOW)
    assert (plans.is_coverable(plain), never_grantable_reason(plain)) == (True, "")
    reviewed = but(plain, review="look")
    assert not plans.is_coverable(reviewed)
    assert never_grantable_reason(reviewed)


@pytest.mark.parametrize(
    ("changes", "can"),
    [({}, True), ({"cls": CallClass.READ}, False), ({"action": ""}, False)],
)
def test_only_what_was_said_to_be_undoable_is_offered_to_be_undone(
    changes: dict[str, object], can: bool
) -> None:
    told = action(now=NOW).preview
    yes = having(step(preview=replace(told, undo="yes")), **changes)
    no = having(step(preview=replace(told, undo="no: sent")), **changes)
    assert (undoable(yes), undoable(no)) == (can, False)


def test_the_events_have_the_fields_of_spec_004_and_no_more() -> None:
    one = action(now=NOW, task="t1", step="s1")
    begun = paused(one.session, one.task, node(one), BEFORE, NOW)
    assert payload(begun.kind, begun.task, dict(begun.body), NOW) == {
        "type": "workflow_paused",
        "executionId": "t1",
        "nodeId": "s1",
        "triggerPhase": "BEFORE_EXECUTION",
        "timestamp": 1767225600000,
    }
    over = resumed(one.session, "t1", "t1", NOW)
    assert payload(over.kind, over.task, dict(over.body), NOW) == {
        "type": "workflow_resumed",
        "executionId": "t1",
        "timestamp": 1767225600000,
    }
    assert node(action(now=NOW)) == ("a1", "a1")


TRUE = {"text": '{"a": "old"}', "a": "old"}


@pytest.mark.parametrize(
    ("given", "released"),
    [
        ({**TRUE, "a": "new"}, {"text": '{"a": "new"}', "a": "new"}),  # the words are made of the fields
        ({"a": "new"}, {"text": '{"a": "new"}', "a": "new"}),
        ({"a": "old"}, {"text": '{"a": "old"}', "a": "old"}),
        ({**TRUE, "text": "new"}, {"text": "new"}),  # the fields cannot be made of these words
        ({**TRUE, "text": '{"a": "new"}'}, {"text": '{"a": "new"}', "a": "new"}),
        ({**TRUE, "text": '{"text": "old", "a": 1}'}, {"text": '{"text": "old", "a": 1}', "a": 1}),
        ({"text": "new", "a": "newer"}, {"text": "new", "a": "newer"}),  # both are theirs
        ({"text": TRUE["text"]}, {"text": TRUE["text"]}),  # they left the words alone, and nothing else
        (TRUE, TRUE),
        ({**TRUE, "a": 1}, {"text": '{"a": 1}', "a": 1}),
    ],
)
def test_a_result_that_was_changed_in_one_form_has_no_other(given: object, released: object) -> None:
    assert one_result(TRUE, given) == released
    assert one_result(TRUE, released) == released


def test_a_number_that_became_a_truth_value_is_a_change() -> None:
    assert one_result({"text": "1", "a": 1}, {"text": "1", "a": True}) == {"text": '{"a": true}', "a": True}


def test_words_without_fields_stay_words() -> None:
    assert one_result({"text": "old"}, {"text": '{"a": 1}'}) == {"text": '{"a": 1}'}
