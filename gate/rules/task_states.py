"""The life of one task: every arrow it may take, and nothing else."""

from enum import StrEnum


class TaskState(StrEnum):
    TALKING = "talking"
    CLARIFYING = "clarifying"  # also while the request is being assessed
    PLANNING = "planning"
    PLAN_REVIEW = "plan_review"
    RUNNING = "running"
    PAUSED = "paused"
    SATISFACTION = "satisfaction"
    DONE = "done"
    CANCELLED = "cancelled"
    STOPPED_BY_USER = "stopped_by_user"
    FAILED = "failed"


class TaskEvent(StrEnum):
    TALK = "talk"  # assessed: it is to be talked about
    ASK = "ask"  # something is missing
    PLAN = "plan"  # assessed, or talked about: make a plan
    ACT = "act"  # go on without anybody's approval of a plan: every call still asks for its own
    PRESENT = "present"  # the plan is ready to be looked at
    MODIFY = "modify"
    APPROVE = "approve"
    REPLAN = "replan"
    PAUSE = "pause"
    CONTINUE = "continue"
    FINISH = "finish"  # ran to its end: ask whether it was what they needed
    CHANGE = "change"  # it was not: run again with what they say
    SETTLE = "settle"  # it was, or nobody said otherwise
    CANCEL = "cancel"
    STOP = "stop"
    FAIL = "fail"


S, E = TaskState, TaskEvent
OPEN = (S.TALKING, S.CLARIFYING, S.PLANNING, S.PLAN_REVIEW, S.RUNNING, S.PAUSED, S.SATISFACTION)
ENDS = {E.CANCEL: S.CANCELLED, E.STOP: S.STOPPED_BY_USER, E.FAIL: S.FAILED}
ARROWS: dict[tuple[TaskState, TaskEvent], TaskState] = {
    (S.CLARIFYING, E.TALK): S.TALKING,
    (S.CLARIFYING, E.PLAN): S.PLANNING,
    (S.CLARIFYING, E.ACT): S.RUNNING,
    (S.TALKING, E.PLAN): S.PLANNING,
    (S.PLANNING, E.ASK): S.CLARIFYING,
    (S.PLANNING, E.PRESENT): S.PLAN_REVIEW,
    (S.PLANNING, E.ACT): S.RUNNING,
    (S.PLAN_REVIEW, E.MODIFY): S.PLAN_REVIEW,
    (S.PLAN_REVIEW, E.APPROVE): S.RUNNING,
    (S.PLAN_REVIEW, E.REPLAN): S.PLANNING,
    (S.RUNNING, E.ASK): S.CLARIFYING,
    (S.RUNNING, E.REPLAN): S.PLANNING,
    (S.RUNNING, E.PAUSE): S.PAUSED,
    (S.RUNNING, E.FINISH): S.SATISFACTION,
    (S.RUNNING, E.SETTLE): S.DONE,  # where nobody is to be asked afterwards
    (S.PAUSED, E.CONTINUE): S.RUNNING,
    (S.PAUSED, E.REPLAN): S.PLANNING,
    (S.SATISFACTION, E.CHANGE): S.RUNNING,
    (S.SATISFACTION, E.SETTLE): S.DONE,
    **{(state, event): end for state in OPEN for event, end in ENDS.items()},
}
OVER = frozenset(TaskState) - {state for state, _ in ARROWS}


class NoSuchTaskArrow(Exception):
    """The task is in a state that does not take this event."""

    def __init__(self, state: TaskState, event: TaskEvent) -> None:
        super().__init__(f"a task that is {state} does not take {event}")
        self.state, self.event = state, event


def after(state: TaskState, event: TaskEvent) -> TaskState:
    """The state that `event` leads to. Raises NoSuchTaskArrow where the table has no arrow."""
    try:
        return ARROWS[state, event]
    except KeyError:
        raise NoSuchTaskArrow(state, event) from None
