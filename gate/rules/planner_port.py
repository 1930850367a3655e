"""What people say and what planners answer: the port behind which any planner fits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from gate.rules.action import Action, Json, Risk, Session
from gate.rules.settings import Switches
from gate.rules.task import Assessment, Instruction, Question, Remark, SettledPoint, Step, Usage


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message that came in, as the inbox keeps it."""

    key: str  # team:channel:ts, or the event id where there is no ts
    session: Session
    user: str
    text: str  # unescaped; mentions as <@U…>
    ts: str
    mentioned: bool  # addressed to the bot, by mention or in a direct message


@dataclass(frozen=True, slots=True)
class Call:
    """A proposed tool call. `risk` may raise, never lower. `prose` is shown as unchecked."""

    server: str
    tool: str
    args: Mapping[str, Json]
    risk: Risk | None = None
    prose: str = ""


@dataclass(frozen=True, slots=True)
class Propose:
    """Calls to be made. `lookup`: they only read, and the planner needs their results for its next reply, in which it
    says what the request means: nothing of them is posted. `surplus`: how many more there were than one reply may
    make; those are kept nowhere."""

    calls: tuple[Call, ...]
    lookup: bool = False
    surplus: int = 0


@dataclass(frozen=True, slots=True)
class Say:
    """Words for the thread. Not about outcomes: those sentences come from code."""

    text: str


@dataclass(frozen=True, slots=True)
class CancelPending:
    """Withdraw a pending action of the requester: always safe."""

    action: str


@dataclass(frozen=True, slots=True)
class ListPending:
    """Show what waits."""


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing more to do or say in this turn."""


@dataclass(frozen=True, slots=True)
class Clarify:
    """Something is missing: ask before going on."""

    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class ProposedStep:
    """One step of a proposed plan. `refs`: see gate.rules.task.Step. `step` names the step of the earlier plan that it
    keeps as it was; "" for a new one."""

    call: Call
    title: str = ""
    refs: Mapping[str, str] = field(default_factory=dict)
    step: str = ""
    ask: bool = False  # ask here, whatever is approved


@dataclass(frozen=True, slots=True)
class ProposePlan:
    """All steps still to be done, in order. References to steps of this same list use their place, from `1`,
    and `{steps.ID.…}` for those that are done already."""

    steps: tuple[ProposedStep, ...]
    note: str = ""
    own: bool = False  # the note is made by code, not by a model


@dataclass(frozen=True, slots=True)
class Implement:
    """The conversation has come to where it should be built: what was understood, for the requester to confirm."""

    requirements: tuple[str, ...]


Reply = Propose | Say | CancelPending | ListPending | Done | Clarify | ProposePlan | Implement


CODE = "code"  # the author of a sentence of ours
WITHHELD = (
    "withheld"  # of a lookup: its answer is for one person alone, and what comes of it is said to everybody
)


MAX_TOLD = 8_000  # characters of one answer
CUT = "\n(cut here: {count} characters in all)"


def as_told(text: str, most: int = MAX_TOLD) -> str:
    """As much of an answer as a planner is told: `most` characters, with a note of how many there are."""
    if len(text) <= most:
        return text
    note = CUT.format(count=len(text))
    return text[: most - len(note)] + note


@dataclass(frozen=True, slots=True)
class CallReport:
    """What became of one proposed call: the truth, for the planner."""

    call: int
    status: (
        str  # succeeded, failed, denied, cancelled, rejected, expired, unknown, refused, waiting, withheld
    )
    text: str  # the tool's answer, `as_told` where it does not only look something up; or the reason
    args: Mapping[str, Json] | None = None  # what really ran, when a person edited it
    by: str = ""  # who decided
    edited_by: str = ""  # who gave these `args`
    author: str = ""  # whose words `text` is: a user's id, CODE, or "" where it may quote anybody
    # It is for whoever asked alone: neither what it was given nor what it gave is told here
    private: bool = False
    summary: str = ""  # the first line of its card, where it has one and is not private


@dataclass(frozen=True, slots=True)
class Exchange:
    """One reply of the planner and what came of it. `memo` is the planner's own, for its next reply."""

    reply: Reply
    reports: tuple[CallReport, ...] = ()
    memo: str = ""
    usage: Usage = field(default_factory=Usage)


class Mode(StrEnum):
    """What a turn is for."""

    ACT = "act"  # propose calls, say, ask
    PLAN = "plan"  # read what is needed, then propose a plan of what is left to do; changes nothing
    TALK = "talk"  # a conversation: read, say, and once it is to be built, compile the requirements
    ANSWER = "answer"  # every step of the plan is over: say what came of it; calls nothing


@dataclass(frozen=True, slots=True)
class Turn:
    """What one message of the requester set in motion."""

    id: str
    session: Session
    requester: str
    text: str
    at: datetime
    exchanges: tuple[Exchange, ...] = ()
    task: str = ""
    mode: Mode = Mode.ACT


class PlannerInterrupted(Exception):
    """A planner was to stop before it had a reply: its task was stopped, or waits."""


@dataclass(frozen=True, slots=True)
class PlannerContext:
    """All that a planner may know of a task besides its turn. Only `request`, `decided`, `requirements`,
    `instructions` and `reason` are the requester's own words; the rest is data."""

    request: str
    switches: Switches = field(default_factory=Switches)
    decided: tuple[SettledPoint, ...] = ()
    requirements: tuple[str, ...] = ()
    instructions: tuple[Instruction, ...] = ()  # those not `used` yet are new
    reason: str = ""  # why it is planned again, or what should be different
    done: tuple[Step, ...] = ()
    left: tuple[Step, ...] = ()
    earlier: tuple[Turn, ...] = ()  # what was said and done in the thread before, oldest first
    older: bool = False  # whether more was said before `earlier` begins
    # Who besides the requester has asked for something, or has said something, in all that, or to their agent; known
    # where rules name approvers
    told_by: frozenset[str] = frozenset()
    remarks: tuple[Remark, ...] = ()  # by other people
    attempts: int = 1
    interrupted: Callable[[], Awaitable[bool]] | None = None  # asked before each further request to a model


@dataclass(frozen=True, slots=True)
class PlannerReply:
    """A reply, and what it cost. `foreign`: what it was made of held more than the words of the requester, earlier
    replies of the planner, and what tools that an operator has read say of themselves."""

    reply: Reply
    memo: str = ""  # kept with the reply, and found in the turn's exchanges the next time
    usage: Usage = field(default_factory=Usage)
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class PlannerAssessment:
    """What a planner makes of a request. `reply`: its first reply, where it knows that too, to a request that turns out
    to be simple; what it cost is part of the usage of the assessment. `foreign`: as of a reply."""

    assessment: Assessment
    reply: PlannerReply | None = None
    foreign: bool = False


class Planner(Protocol):
    """Turns words into proposals. It can propose, speak, ask, list and cancel; it can never confirm.

    Raises Unavailable when a model cannot be reached: then it is asked again later. Repeated after a crash, it
    may answer differently: only what was stored counts."""

    follows: bool  # wants to be asked again once its proposals are settled

    async def assess(self, turn: Turn, brief: PlannerContext) -> PlannerAssessment:
        """How complex, how clear, and what is missing: asked before anything else. `turn`: the one that acts on the
        request, should it be simple. Raises Interrupted where the brief says so between two requests."""
        ...

    async def reply(self, turn: Turn, brief: PlannerContext, pending: tuple[Action, ...]) -> PlannerReply:
        """Raises Interrupted where the brief says so between two requests; then nothing of it counts."""
        ...
