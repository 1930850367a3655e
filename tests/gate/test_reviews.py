"""Which calls a review is about, what later steps may use, and the events of spec 004."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import plans
from gate.action import Class
from gate.grants import floor
from gate.happenings import payload
from gate.policy import Policy
from gate.reviews import Phase, Review, ReviewRecord, dropped, node, paused, resumed, undoable, used
from gate.task import Plan, Step, StepState
from tests.storage.samples import action, json_values, texts

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
    made = Step("s1", "one", "desk", "write", {}, state=StepState.DONE, action="a1", cls=Class.WRITE)
    return replace(made, **changes)


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
    assert used(true) == {"path": "a.md"}
    changed = replace(true, revised={"path": result})
    assert (used(changed), changed.result) == ({"path": result}, {"path": "a.md"})
    taking = step(id="s2", state=StepState.WAITING, refs={"to": "{steps.s1.path}"})
    if isinstance(result, str):
        assert plans.filled(Plan(1, (changed, taking)), taking) == {"to": result}
    gone = dropped(replace(changed, state=StepState.FAILED), "U1", "no")
    assert (used(gone), gone.ran, gone.rejected_by) == (None, True, "U1")
    with pytest.raises(plans.Lacking):
        plans.filled(Plan(1, (gone, taking)), taking)


def test_a_step_begun_anew_has_forgotten_its_review() -> None:
    again = plans.anew(step(revised={"a": 1}, revised_by="U1", rejected_by="U1", shown=2))
    assert (again.revised, again.revised_by, again.rejected_by, again.shown) == (None, "", "", 0)


def test_neither_a_plan_nor_a_grant_approves_what_is_reviewed() -> None:
    plain = action(now=NOW)
    assert (plans.coverable(plain), floor(plain)) == (True, "")
    reviewed = replace(plain, review="look")
    assert not plans.coverable(reviewed)
    assert floor(reviewed)


@pytest.mark.parametrize(
    ("changes", "can"),
    [({}, True), ({"cls": Class.READ}, False), ({"action": ""}, False)],
)
def test_only_what_was_said_to_be_undoable_is_offered_to_be_undone(
    changes: dict[str, object], can: bool
) -> None:
    told = action(now=NOW).preview
    yes = replace(step(preview=replace(told, undo="yes")), **changes)
    no = replace(step(preview=replace(told, undo="no: sent")), **changes)
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
