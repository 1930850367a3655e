"""The arrow table of tasks: what it must have, and what it must never have."""

from __future__ import annotations

from collections import deque

import pytest

from gate.rules.task_states import ARROWS, ENDS, OPEN, OVER, NoSuchTaskArrow, after
from gate.rules.task_states import TaskEvent as E
from gate.rules.task_states import TaskState as S


def reachable(start: S) -> set[S]:
    """Every state that some way leads to."""
    seen, left = {start}, deque([start])
    while left:
        here = left.popleft()
        for (state, _), to in ARROWS.items():
            if state is here and to not in seen:
                seen.add(to)
                left.append(to)
    return seen


def test_every_state_is_open_or_over():
    assert set(OPEN) | OVER == set(S)
    assert not set(OPEN) & OVER
    assert {S.DONE, S.CANCELLED, S.STOPPED_BY_USER, S.FAILED} == OVER


@pytest.mark.parametrize("state", sorted(OVER))
def test_nothing_leads_out_of_an_end(state: S):
    for event in E:
        with pytest.raises(NoSuchTaskArrow) as caught:
            after(state, event)
        assert (caught.value.state, caught.value.event) == (state, event)
        assert str(state) in str(caught.value)


@pytest.mark.parametrize("state", OPEN)
def test_every_open_state_can_be_ended_by_a_person_and_by_a_failure(state: S):
    for event, end in ENDS.items():
        assert after(state, event) is end


def test_everything_can_be_reached_from_the_beginning():
    assert reachable(S.CLARIFYING) == set(S)


@pytest.mark.parametrize("state", OPEN)
def test_an_end_can_be_reached_from_everywhere(state: S):
    assert reachable(state) >= OVER


def test_steps_run_only_after_an_approval_or_where_none_is_wanted():
    assert {(s, e) for (s, e), to in ARROWS.items() if to is S.RUNNING} == {
        (S.CLARIFYING, E.ACT),
        (S.PLANNING, E.ACT),
        (S.PLAN_REVIEW, E.APPROVE),
        (S.PAUSED, E.CONTINUE),
        (S.SATISFACTION, E.CHANGE),
    }


def test_a_plan_is_looked_at_only_once_it_was_made():
    assert {s for (s, _), to in ARROWS.items() if to is S.PLAN_REVIEW} == {S.PLANNING, S.PLAN_REVIEW}


def test_only_what_runs_can_be_paused_and_only_what_ran_can_be_judged():
    assert {(s, e) for (s, e), to in ARROWS.items() if to is S.PAUSED} == {(S.RUNNING, E.PAUSE)}
    assert {(s, e) for (s, e), to in ARROWS.items() if to is S.SATISFACTION} == {(S.RUNNING, E.FINISH)}


def test_the_words_of_the_requirements_are_the_words_of_the_states():
    assert S.STOPPED_BY_USER == "stopped_by_user"
    assert len(ARROWS) == len(set(ARROWS))
