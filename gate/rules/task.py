"""The values of a task: what was asked, found out, planned, done and said. Frozen, plain, storable."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gate.rules.action import CallClass, Session
from gate.rules.settings import Switches
from gate.rules.steps import LAST_WORDS as LAST_WORDS
from gate.rules.steps import Origin as Origin
from gate.rules.steps import Output as Output
from gate.rules.steps import Plan as Plan
from gate.rules.steps import Preflight as Preflight
from gate.rules.steps import Step as Step
from gate.rules.steps import StepCall as StepCall
from gate.rules.steps import StepReview as StepReview
from gate.rules.steps import StepRun as StepRun
from gate.rules.steps import StepState as StepState
from gate.rules.task_states import OVER, TaskState

TEXT = 2_000  # characters kept of a result in words
NOBODY = "nobody"  # let a task go on: its time ran out


def clipped(text: str, most: int = TEXT) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


class Flow(StrEnum):
    """How a task and its people talk (docs/promises.md TASK-09). Decided by code, from the assessment and the switches.
    Each has a plan and steps."""

    NONE = ""  # not assessed yet
    SIMPLE = "simple"  # the planner calls, and each call asks for itself; its plan grows and is shown nowhere
    PLAN = "plan"  # the plan is shown and decided on as a whole, before anything of it runs
    TALK = "talk"


class Missing(StrEnum):
    """What a request can lack (docs/promises.md TASK-03); VALUE: one argument of a phrase or a runbook."""

    PURPOSE = "purpose"
    INPUTS = "inputs"
    OUTPUTS = "outputs"
    CONSTRAINTS = "constraints"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to find out. `assumption` is what it goes on with when nobody is asked; "" where there is nothing."""

    id: str
    text: str
    missing: Missing
    options: tuple[str, ...] = ()
    assumption: str = ""
    sentence: str = ""  # what is assumed, as a part of a sentence: "documents go to documents/"


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
    steps: int  # calls that it will take, as far as can be told
    missing: tuple[Missing, ...] = ()
    questions: tuple[Question, ...] = ()
    reason: str = ""  # in the planner's words, shown as such
    usage: Usage = Usage()
    open_ended: bool = False  # it is to be thought through together; nothing is asked to be done yet


@dataclass(frozen=True, slots=True)
class SettledPoint:
    """One thing that was found out or settled: kept, shown, and given to the planner."""

    id: str  # of the question
    question: str
    answer: str
    by: str  # a Slack user id; "" where it is an assumption


@dataclass(frozen=True, slots=True)
class Instruction:
    """What the requester, or an admin, said while the task ran (`user_instruction`). `used`: where it was taken in."""

    id: str
    user: str
    text: str
    at: datetime
    used: str = ""  # "before step 3"; "" while it waits
    alone: bool = False  # it was typed on a card of what is confidential: people see only how long it is


@dataclass(frozen=True, slots=True)
class Remark:
    """What somebody else said in the thread: context, never an instruction."""

    user: str
    text: str
    at: datetime


class StopRequest(StrEnum):
    """What somebody wants once the current step is over."""

    NONE = ""
    PAUSE = "pause"
    STOP = "stop"


class PauseReason(StrEnum):
    """Why a task is paused."""

    NONE = ""
    WISH = "wish"  # somebody pressed Pause
    STEP = "step"  # a step failed, was refused, or nobody knows whether it happened
    LAPSED = "lapsed"  # a step's card expired
    REVIEW = "review"  # a person is to look at what a step did
    SUMMARY = "summary"  # the same, but it goes on by itself in a moment
    DOUBT = "doubt"  # a step ran, and its result is not trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked for, and how it is to be dealt with."""

    text: str
    switches: Switches
    since: datetime  # what was said in the thread before this is not its context
    asks: bool = False  # it comes from a reply or from feedback, so no grant covers its calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Clarification:
    """How the request was assessed, and what was found out by asking."""

    assessment: Assessment | None = None
    questions: tuple[Question, ...] = ()  # that wait for an answer, or waited last
    asked: int = 0  # question cards so far
    decided: tuple[SettledPoint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Specification:
    """What a conversation is to become."""

    requirements: tuple[str, ...] = ()  # compiled from the conversation, to be confirmed
    because: str = ""  # why an intent to implement was seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """The planner's work on it."""

    turn: str = ""  # the planner's turn that is under way, or was last
    attempts: int = 1  # at what was asked for: each piece of feedback begins another
    repairs: int = 0  # times that the planner was told what is wrong with the plan it just made
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    wish: StopRequest = StopRequest.NONE
    why: PauseReason = PauseReason.NONE
    pauses: int = 0  # pause cards so far


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What people said while it was under way."""

    instructions: tuple[Instruction, ...] = ()
    remarks: tuple[Remark, ...] = ()  # the newest
    # Who has made a remark, or has said something before that its planner was told: kept when the words are not told
    # any more. None: nobody, or an earlier version wrote it
    heard: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """What came of it, made by code from what truly happened."""

    result: str = ""  # in short
    changed: bool = False  # something was changed by it
    ended_by: str = ""
    ends: int = 0  # times that it asked whether it was what they needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a person asked for in a session, and its life. Only the ledger moves it, along gate/rules/task_states.py.
    Its parts are replaced as a whole.

    The numbers `asked`, `pauses` and `ends` count its questions, its pauses and how often it asked whether it was what
    they needed; a card's buttons carry its number, so that a click on an old card is known as one.
    """

    id: str
    revision: int
    state: TaskState
    session: Session
    requester: str
    created_at: datetime
    request: Request
    flow: Flow = Flow.NONE
    clarification: Clarification = Clarification()
    specification: Specification = Specification()
    plan: Plan | None = None
    planning: Planning = Planning()
    pause: Pause = Pause()
    reason: str = ""  # in a sentence: why it is paused, planned again, failed, or how it ended
    input: Input = Input()
    outcome: TaskOutcome = TaskOutcome()

    @property
    def is_finished(self) -> bool:
        return self.state in OVER

    @property
    def has_cards(self) -> bool:
        """Whether people see it on cards of its own, or may have seen it there: a simple one only where it asks,
        pauses or ends with a question."""
        of_plan = self.flow is Flow.TALK or (self.flow is not Flow.SIMPLE and self.planned)
        asks = self.ends and not self.asked_on
        return of_plan or bool(self.asked or self.requirements or self.pauses or asks)

    @property
    def asked_on(self) -> str:
        """The action on whose card it asks whether it was what they needed: of a simple one, the last change, where its
        turn made no other. "" where it asks in a message of its own."""
        if self.flow is not Flow.SIMPLE or self.planned or self.plan is None:
            return ""
        changes = [(s.origin, s.action) for s in self.plan.steps if s.ran and s.cls is not CallClass.READ]
        origins = [origin for origin, _ in changes if origin]
        alone = (
            origins and not origins[-1].group and [one.turn for one in origins].count(origins[-1].turn) == 1
        )
        return changes[-1][1] if alone else ""

    @property
    def planned(self) -> bool:
        """Whether its plan was, or is to be, shown to somebody."""
        return self.plan is not None and self.plan.version > 0

    @property
    def driven(self) -> bool:
        """Whether it goes on without anybody's doing."""
        waits = self.state is TaskState.CLARIFYING and bool(self.questions)
        return self.state in (TaskState.CLARIFYING, TaskState.PLANNING, TaskState.RUNNING) and not waits

    @property
    def holds_thread(self) -> bool:
        """Whether no other task may talk, ask, plan or run steps in its thread. A simple one, whose call may wait
        for an approver, keeps nobody from asking for something else."""
        if self.is_finished or self.state is TaskState.SATISFACTION:
            return False
        return self.flow in (Flow.TALK, Flow.PLAN) or (self.flow is Flow.NONE and bool(self.questions))

    @property
    def instructed(self) -> frozenset[str]:
        """Who besides its requester has said what is to be done."""
        return frozenset(one.user for one in self.instructions) - {self.requester}

    @property
    def unused(self) -> tuple[Instruction, ...]:
        return tuple(one for one in self.instructions if not one.used)

    @property
    def unused_text(self) -> str:
        """What its requester has said that was not taken in yet: the text of a turn of theirs. "" where only others
        have, whose instructions a planner is told as theirs."""
        return "\n".join(one.text for one in self.unused if one.user == self.requester)

    # What many places read of its parts.

    @property
    def text(self) -> str:
        return self.request.text

    @property
    def switches(self) -> Switches:
        return self.request.switches

    @property
    def since(self) -> datetime:
        return self.request.since

    @property
    def questions(self) -> tuple[Question, ...]:
        return self.clarification.questions

    @property
    def asked(self) -> int:
        return self.clarification.asked

    @property
    def decided(self) -> tuple[SettledPoint, ...]:
        return self.clarification.decided

    @property
    def requirements(self) -> tuple[str, ...]:
        return self.specification.requirements

    @property
    def because(self) -> str:
        return self.specification.because

    @property
    def turn(self) -> str:
        return self.planning.turn

    @property
    def attempts(self) -> int:
        return self.planning.attempts

    @property
    def wish(self) -> StopRequest:
        return self.pause.wish

    @property
    def why(self) -> PauseReason:
        return self.pause.why

    @property
    def pauses(self) -> int:
        return self.pause.pauses

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        return self.input.instructions

    @property
    def result(self) -> str:
        return self.outcome.result

    @property
    def changed(self) -> bool:
        return self.outcome.changed

    @property
    def ended_by(self) -> str:
        return self.outcome.ended_by

    @property
    def ends(self) -> int:
        return self.outcome.ends
