"""The arrow table of an action, held to its promises by property."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gate.rules.action_states import ARROWS, FINAL, Event, NoSuchArrow, State, after


@pytest.mark.parametrize("state", sorted(FINAL))
def test_a_final_state_accepts_nothing(state):
    for event in Event:
        with pytest.raises(NoSuchArrow):
            after(state, event)


def test_the_final_states_are_the_ones_the_design_names():
    assert sorted(FINAL) == ["cancelled", "expired", "failed", "rejected", "superseded", "undone"]


def test_every_state_but_the_first_can_be_reached():
    assert set(State) == {State.PREPARED} | set(ARROWS.values())


def test_unknown_is_left_only_by_a_settlement():
    assert {event for state, event in ARROWS if state is State.UNKNOWN} == {Event.SUCCEED, Event.FAIL}


def test_what_has_begun_cannot_be_cancelled():
    assert {state for state, event in ARROWS if event is Event.CANCEL} == {State.PREPARED, State.APPROVED}


class Life(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.state, self.path = State.PREPARED, []

    @rule(event=st.sampled_from(list(Event)))
    def send(self, event):
        try:
            self.state = after(self.state, event)
        except NoSuchArrow:
            return
        self.path.append(event)

    @invariant()
    def nothing_runs_unapproved(self):
        if Event.START in self.path:
            assert Event.APPROVE in self.path[: self.path.index(Event.START)]

    @invariant()
    def it_starts_at_most_once(self):
        assert self.path.count(Event.START) <= 1

    @invariant()
    def nothing_is_edited_or_voted_on_after_approval(self):
        if Event.APPROVE in self.path:
            later = self.path[self.path.index(Event.APPROVE) :]
            assert Event.EDIT not in later
            assert Event.VOTE not in later

    @invariant()
    def what_expired_never_started(self):
        if Event.EXPIRE in self.path:
            assert Event.START not in self.path

    @invariant()
    def only_what_succeeded_is_undone(self):
        if Event.UNDO in self.path:
            assert Event.SUCCEED in self.path[: self.path.index(Event.UNDO)]


TestLife = Life.TestCase
