"""The life of one action: every arrow it may take, and nothing else."""

from enum import StrEnum


class State(StrEnum):
    PREPARED = "prepared"
    APPROVED = "approved"
    EXECUTING = "executing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    UNDOING = "undoing"
    UNDONE = "undone"


class Event(StrEnum):
    VOTE = "vote"  # a yes that is not the last one needed
    EDIT = "edit"
    APPROVE = "approve"
    CANCEL = "cancel"
    REJECT = "reject"
    EXPIRE = "expire"
    SUPERSEDE = "supersede"  # its requester asked for something else instead
    START = "start"
    SUCCEED = "succeed"
    FAIL = "fail"
    LOSE = "lose"  # nobody knows whether the tool ran
    UNDO = "undo"
    UNDO_DONE = "undo_done"
    UNDO_FAILED = "undo_failed"


S, E = State, Event
ARROWS: dict[tuple[State, Event], State] = {
    (S.PREPARED, E.VOTE): S.PREPARED,
    (S.PREPARED, E.EDIT): S.PREPARED,
    (S.PREPARED, E.APPROVE): S.APPROVED,
    (S.PREPARED, E.CANCEL): S.CANCELLED,
    (S.PREPARED, E.REJECT): S.REJECTED,
    (S.PREPARED, E.EXPIRE): S.EXPIRED,
    (S.PREPARED, E.SUPERSEDE): S.SUPERSEDED,
    (S.APPROVED, E.START): S.EXECUTING,
    (S.APPROVED, E.CANCEL): S.CANCELLED,
    (S.EXECUTING, E.SUCCEED): S.SUCCEEDED,
    (S.EXECUTING, E.FAIL): S.FAILED,
    (S.EXECUTING, E.LOSE): S.UNKNOWN,
    (S.UNKNOWN, E.SUCCEED): S.SUCCEEDED,
    (S.UNKNOWN, E.FAIL): S.FAILED,
    (S.SUCCEEDED, E.UNDO): S.UNDOING,
    (S.UNDOING, E.UNDO_DONE): S.UNDONE,
    (S.UNDOING, E.UNDO_FAILED): S.SUCCEEDED,
}
FINAL = frozenset(State) - {state for state, _ in ARROWS}
# Over, as far as the question "may it still run?" goes: an undo is another action.
SETTLED = FINAL | {S.SUCCEEDED, S.UNDOING}


class NoSuchArrow(Exception):
    """The action is in a state that does not take this event."""

    def __init__(self, state: State, event: Event) -> None:
        super().__init__(f"an action that is {state} does not take {event}")
        self.state, self.event = state, event


def after(state: State, event: Event) -> State:
    """The state that `event` leads to. Raises NoSuchArrow where the table has no arrow."""
    try:
        return ARROWS[state, event]
    except KeyError:
        raise NoSuchArrow(state, event) from None
