"""The values of a task: what was asked, found out, planned, done and said. Frozen, plain, storable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gate.action import Class, Json, Preview, Session, Verdict
from gate.confidence import Confidence
from gate.switches import Switches
from gate.task_states import OVER, TaskState

NOBODY = "nobody"  # let a task go on: its time ran out


class Flow(StrEnum):
    """Which of the three flows of spec 001 a task takes. Decided by code, from the assessment and the switches."""

    NONE = ""  # not assessed yet
    SIMPLE = "simple"
    PLAN = "plan"
    TALK = "talk"


class Missing(StrEnum):
    """What a request can lack (spec 001); VALUE: one argument of a phrase or a runbook."""

    PURPOSE = "purpose"
    INPUTS = "inputs"
    OUTPUTS = "outputs"
    CONSTRAINTS = "constraints"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to find out. `assumption` is what it goes on with when skipped; "" where it cannot go on."""

    id: str
    text: str
    missing: Missing
    options: tuple[str, ...] = ()
    assumption: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the model cost so far."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the planner makes of a request before anything else happens. Code decides what follows from it."""

    complexity: int  # 0 to 100
    clear: bool
    steps: int  # calls that it will take, as far as can be told
    missing: tuple[Missing, ...] = ()
    questions: tuple[Question, ...] = ()
    reason: str = ""  # in the planner's words, shown as such
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Decided:
    """One thing that was found out or settled: kept, shown, and given to the planner."""

    id: str  # of the question
    question: str
    answer: str
    by: str  # a Slack user id; "" where it is an assumption


@dataclass(frozen=True, slots=True)
class Instruction:
    """What the requester said while the task ran (`user_instruction`). `used`: where it was taken in."""

    id: str
    user: str
    text: str
    at: datetime
    used: str = ""  # "before step 3"; "" while it waits


@dataclass(frozen=True, slots=True)
class Remark:
    """What somebody else said in the thread: context, never an instruction."""

    user: str
    text: str
    at: datetime


class StepState(StrEnum):
    WAITING = "waiting"
    ASKED = "asked"  # begun: its action waits for a person, or runs
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a plan. `refs` are arguments that earlier results will give: name -> template such as
    `{steps.s1.trash_id}`, where `s1` is a step's id. Ids are no numbers, so that none is taken for a place."""

    id: str  # `s1`, `s2`, …; stays the same when the order changes
    title: str
    server: str
    tool: str
    args: Mapping[str, Json]
    refs: Mapping[str, str] = field(default_factory=dict)
    ask: bool = False  # "ask me here", whatever was approved
    note: str = ""  # an instruction that somebody added to it
    cls: Class = Class.UNKNOWN
    verdict: Verdict = Verdict.CONFIRM
    preview: Preview | None = None  # what it would change, as seen when the plan was made
    problem: str = ""  # why it could not be looked at yet, or will not run
    rules: str = ""  # hash over its tool and the policy's answer, when it was looked at; "" before that
    seal: str = ""  # hash over all that was shown of it; "" where no approval of the plan can cover it
    consent: str = ""  # the seal that a person has approved
    state: StepState = StepState.WAITING
    action: str = ""  # the action that it became; a fresh preview of it takes its place
    undo: str = ""  # the action that takes it back, once *Undo all* has come to it
    attempt: int = 1
    text: str = ""  # the result in words, or what went wrong
    result: Json = None  # the structured result, for the refs of later steps
    confidence: Confidence | None = None  # in the result; None where nothing was changed, or it did not run
    shown: int = 0  # the number of the pause in which its result was looked at
    held_for: float = 0.0  # seconds after which it goes on from there by itself; 0: never
    passed: str = ""  # who let the task go on from there; NOBODY where its time ran out
    revised: Json = None  # the result as a reviewer changed it for later steps; `result` stays the true one
    revised_by: str = ""
    rejected_by: str = ""  # who rejected its result: it ran, and nothing may use what it gave

    @property
    def name(self) -> str:
        return f"{self.server}.{self.tool}"

    @property
    def over(self) -> bool:
        return self.state in (StepState.DONE, StepState.SKIPPED)

    @property
    def ran(self) -> bool:
        """Whether its tool has come back with success, also where its result was not trusted."""
        return self.state is StepState.DONE or self.confidence is not None or bool(self.rejected_by)


@dataclass(frozen=True, slots=True)
class Plan:
    """An ordered list of steps, as it was or will be shown."""

    version: int
    steps: tuple[Step, ...]
    seal: str = ""  # over the seals in their order: what a button carries
    note: str = ""  # the planner's words, shown as unchecked
    approved_by: str = ""
    stepwise: bool = False  # approved *Step by step*: no step has a consent
    approved: int = 0  # the version that was approved: instructions may have changed other steps since
    last: int = 0  # number of the newest step id of this task: none is given twice
    lapsed: bool = False  # nobody decided on it in time: it has to be looked at anew before anybody can
    undoing: str = ""  # who pressed *Undo all*, while that is under way
    undone: str = ""  # how far *Undo all* came, in a sentence

    @property
    def current(self) -> Step | None:
        """The first step that is not over."""
        return next((step for step in self.steps if not step.over), None)


class Wish(StrEnum):
    """What somebody wants once the current step is over."""

    NONE = ""
    PAUSE = "pause"
    STOP = "stop"


class Why(StrEnum):
    """Why a task is paused."""

    NONE = ""
    WISH = "wish"  # somebody pressed Pause
    STEP = "step"  # a step failed, was refused, or nobody knows whether it happened
    LAPSED = "lapsed"  # a step's card expired
    REVIEW = "review"  # a person is to look at what a step did
    SUMMARY = "summary"  # the same, but it goes on by itself in a moment
    DOUBT = "doubt"  # a step ran, and its result is not trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a person asked for in a session, and its life. Only the ledger moves it, along gate/task_states.py.

    The numbers `asked`, `pauses` and `ends` count the question cards, pause cards and satisfaction cards so far;
    a card's buttons carry its number, so that a click on an old card is known as one.
    """

    id: str
    revision: int
    state: TaskState
    session: Session
    requester: str
    text: str
    switches: Switches
    created_at: datetime
    since: datetime  # what was said in the thread before this is not its context
    flow: Flow = Flow.NONE
    assessment: Assessment | None = None
    questions: tuple[Question, ...] = ()  # that wait for an answer, or waited last
    asked: int = 0
    decided: tuple[Decided, ...] = ()
    requirements: tuple[str, ...] = ()  # compiled from the conversation, to be confirmed
    because: str = ""  # why an intent to implement was seen
    plan: Plan | None = None
    turn: str = ""  # the planner's turn that is under way, or was last
    wish: Wish = Wish.NONE
    why: Why = Why.NONE
    reason: str = ""  # in a sentence: why it is paused, planned again, failed, or how it ended
    pauses: int = 0
    ends: int = 0
    instructions: tuple[Instruction, ...] = ()
    remarks: tuple[Remark, ...] = ()
    attempts: int = 1
    repairs: int = 0  # times that the planner was told what is wrong with the plan it just made
    result: str = ""  # in short, made by code from what truly happened
    changed: bool = False  # something was changed by it
    ended_by: str = ""
    usage: Usage = Usage()

    @property
    def over(self) -> bool:
        return self.state in OVER

    @property
    def holds_thread(self) -> bool:
        """Whether no other task may talk, ask, plan or run steps in its thread. A simple one, whose call may wait
        for an approver, keeps nobody from asking for something else."""
        if self.over or self.state is TaskState.SATISFACTION:
            return False
        return self.flow in (Flow.TALK, Flow.PLAN) or (self.flow is Flow.NONE and bool(self.questions))

    @property
    def unused(self) -> tuple[Instruction, ...]:
        return tuple(one for one in self.instructions if not one.used)
