"""What an agent may know of a step, from the values of task, step and action alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gate.rules.action import Action, CallClass, Outcome, Session
from gate.rules.action_states import State
from gate.rules.confidence import Confidence
from gate.rules.reviews import dropped, edited, released
from gate.rules.settings import Switches
from gate.rules.task import NOBODY, PauseReason, Plan, Step, StepReview, StepState, Task
from gate.rules.task_states import TaskState
from gate.rules.unreleased_results import (
    REASON_KEPT,
    ReleaseState,
    decided_by,
    redacted_action,
    redacted_task,
    release_state,
)
from tests.actions import but
from tests.tasks import having, step_of, task_of
from tests.views.samples import action as sample

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STEP = step_of(
    "s1", "one", "desk", "write", {}, cls=CallClass.WRITE, state=StepState.DONE, action="a1", text="secret",
    result={"text": "secret"}, look=StepReview(1),
)  # fmt: skip
TASK = task_of(
    id="t1", revision=1, state=TaskState.PAUSED, session=Session("T1", "C1", "1.0"), requester="U_ANN", text="do",
    switches=Switches(), created_at=NOW, since=NOW, plan=Plan(1, (STEP,)), why=PauseReason.REVIEW, pauses=1,
    reason="Step 1 is done: secret",
)  # fmt: skip
HERE = StepState


def of(step: Step, **more: object) -> Task:
    return having(TASK, plan=Plan(1, (step,)), **more)  # type: ignore[arg-type]


def its(kind: str = "success") -> Action:
    outcome = Outcome(kind, "secret", {"a": "secret"})
    return but(sample(), id="a1", task="t1", step="s1", state=State.SUCCEEDED, outcome=outcome)


@pytest.mark.parametrize(
    ("step", "state", "expected"),
    [
        (STEP, TaskState.PAUSED, ReleaseState.WAITING),
        (STEP, TaskState.STOPPED_BY_USER, ReleaseState.DROPPED),
        (STEP, TaskState.PLANNING, ReleaseState.DROPPED),
        (
            replace(STEP, look=StepReview(2)),
            TaskState.RUNNING,
            ReleaseState.DROPPED,
        ),  # ended before it was shown
        (replace(STEP, look=StepReview(1, by="U_ANN")), TaskState.RUNNING, ReleaseState.RELEASED),
        (replace(STEP, look=StepReview(1, by=NOBODY)), TaskState.RUNNING, ReleaseState.RELEASED),
        (replace(STEP, look=StepReview(1, by="U_ANN", edited=True)), TaskState.RUNNING, ReleaseState.EDITED),
        (
            replace(STEP, look=StepReview(1, by="U_ANN"), state=HERE.FAILED),
            TaskState.PAUSED,
            ReleaseState.REJECTED,
        ),
        (replace(STEP, look=None), TaskState.RUNNING, None),
        (replace(STEP, state=HERE.ASKED, look=None), TaskState.RUNNING, None),
    ],
)
def test_how_the_look_at_a_step_stands(step: Step, state: TaskState, expected: ReleaseState | None) -> None:
    assert release_state(of(step, state=state), step) is expected


def test_who_let_it_out_is_a_person() -> None:
    assert decided_by(replace(STEP, look=StepReview(1, by=NOBODY))) == ""
    assert decided_by(replace(STEP, look=StepReview(1, by="U_ANN"))) == "U_ANN"


def test_neither_step_nor_reason_says_it_before() -> None:
    assert "secret" not in str(redacted_task(TASK))
    assert "secret" not in str(redacted_task(replace(TASK, state=TaskState.STOPPED_BY_USER)))


def test_an_action_that_has_run_counts_as_running_until_its_step_is_written_down() -> None:
    asked = having(STEP, state=HERE.ASKED, look=None, text="", result=None)
    told = redacted_action(of(asked, state=TaskState.RUNNING), its())
    assert (told.state, told.outcome) == (State.EXECUTING, None)
    ended = released(redacted_action(of(asked, state=TaskState.FAILED), its()))
    assert ended is not None
    assert (ended.text, ended.structured) == ("", None)


def test_the_action_of_another_try_is_never_told() -> None:
    again = having(STEP, action="a2", look=StepReview(1, by="U_ANN"))
    for task in (of(again), of(replace(STEP, id="s2")), None):
        told = released(redacted_action(task, its()))
        assert told is not None
        assert "secret" not in str(told)


def test_an_error_is_nobodys_result() -> None:
    assert redacted_action(TASK, its("error")) == its("error")


def test_an_action_outside_of_plans_stays_as_it_is() -> None:
    alone = but(its(), step="")
    assert redacted_action(None, alone) == alone


def test_the_words_of_a_score_are_withheld_with_the_result_that_they_may_quote() -> None:
    scored = having(STEP, confidence=Confidence(0.5, ("secret",), "secret"))
    assert "secret" not in str(redacted_task(of(scored)))
    assert "secret" in str(redacted_task(of(replace(scored, look=StepReview(1, by="U_ANN")))))


@pytest.mark.parametrize("how", ["edited", "dropped", "waits"])
def test_why_a_task_has_ended_is_withheld_where_a_result_was_not_let_out_as_it_was(how: str) -> None:
    """It may say what a tool answered when a step was taken back."""
    step = {
        "edited": edited(STEP, "U_ANN", {"text": "other"}),
        "dropped": dropped(STEP, "U_ANN", "its result was rejected"),
        "waits": STEP,
    }[how]
    for state in (TaskState.SATISFACTION, TaskState.DONE, TaskState.STOPPED_BY_USER, TaskState.RUNNING):
        task = of(step, state=state, why=PauseReason.NONE, reason="taking it back failed: “secret”")
        assert redacted_task(task).reason == REASON_KEPT
        released = replace(STEP, look=StepReview(1, by="U_ANN"))
        assert redacted_task(having(task, plan=Plan(1, (released,)))).reason == task.reason


def test_they_stay_withheld_where_the_result_was_changed_or_rejected() -> None:
    scored = having(STEP, confidence=Confidence(0.5, ("secret",), "secret"))
    changed = edited(scored, "U_ANN", {"text": "other"})
    rejected = dropped(scored, "U_ANN", "its result was rejected")
    for step in (changed, rejected):
        told = redacted_task(of(step, reason="")).plan
        assert told is not None
        assert "secret" not in str(told)
        assert told.steps[0].confidence == Confidence(0.5)
