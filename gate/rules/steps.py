"""The values of a plan: its steps, what each calls and expects, and what it gave. Frozen, plain, storable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gate.rules.action import CallClass, Json, Preview, Risk, Verdict
from gate.rules.confidence import Confidence

LAST_WORDS = 600  # characters of a planner's last words that a card has room for
PRIVATE = "Its result was shown to whoever asked alone."  # in place of the words of a result
PRIVATE_REASON = "Why it asks is shown to whoever asked alone."  # in place of the name of a rule
HIDDEN = "Its details are shown to whoever asked alone, when it comes to it."


class StepState(StrEnum):
    WAITING = "waiting"
    ASKED = "asked"  # begun: its action waits for a person, or runs
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Origin:
    """The reply of the planner that called for a step, where no plan was shown. `risk` may raise, never lower; `prose`
    is shown as unchecked."""

    turn: str
    reply: int  # from 0
    call: int  # its place in the reply, from 0
    group: str = ""  # the calls of the same reply that it shares a card with
    risk: Risk | None = None
    prose: str = ""


@dataclass(frozen=True, slots=True)
class StepReview:
    """A pause in which people look at what a step gave. Their decision is on its action (`Action.judged`) and among the
    reviews, with the true result; the step keeps what may be used of it."""

    pause: int  # its number
    seconds: float = 0.0  # after which the task goes on by itself; 0: never
    by: str = ""  # who let it go on, or rejected the result; NOBODY where its time ran out
    edited: bool = False  # they changed the result: the step has what they made of it


class Privacy(StrEnum):
    """Who may know what a step is given, would change and gives."""

    UNJUDGED = "unjudged"  # no rule was held against its arguments yet: nobody is told them until then
    PUBLIC = "public"
    PRIVATE = "private"  # whoever asked alone, whatever becomes of the step


@dataclass(frozen=True, slots=True)
class StepCall:
    """What a step calls, and who may know of it. `refs` are arguments that earlier results will give: name -> template
    such as `{steps.s1.trash_id}`, where `s1` is a step's id."""

    server: str
    tool: str
    args: Mapping[str, Json]
    refs: Mapping[str, str] = field(default_factory=dict)
    privacy: Privacy = Privacy.UNJUDGED


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What was found out about a call before it runs, by its tool, the policy and reads."""

    cls: CallClass = CallClass.UNKNOWN
    verdict: Verdict = Verdict.CONFIRM
    preview: Preview | None = None  # what it would change, as seen when the plan was made
    problem: str = ""  # why it could not be looked at yet, or will not run
    rules: str = ""  # hash over its tool and the policy's answer, when it was looked at; "" before that
    seal: str = ""  # hash over all that was shown of it; "" where no approval of the plan can cover it
    touches: tuple[str, ...] = ()  # what it is about by name, as far as everybody may know it
    rests_on: tuple[
        str, ...
    ] = ()  # the names that it would do something else without, or with other things there


@dataclass(frozen=True, slots=True)
class Try:
    """A try of a step that changed something, or may have."""

    action: str
    name: str = ""  # of its tool
    undo: str = ""  # as of the step


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """The try that a step is at, and the actions that came of it."""

    attempt: int = 1
    action: str = ""  # the action that it became; a fresh preview of it takes its place
    undo: str = ""  # the action that takes it back, once *Undo all* has come to it
    # Those before: of them nothing else is left once the step begins anew, or goes
    tries: tuple[Try, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a step gave, as far as later steps and people may know it."""

    text: str = ""  # the result in words, or what went wrong
    result: Json = None  # the structured result, for the refs of later steps
    confidence: Confidence | None = None  # in the result; None where nothing was changed, or it did not run


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of a plan, and its life. Its parts are replaced as a whole."""

    id: str  # `s1`, `s2`, …: no number, so that none is taken for a place; stays the same when the order changes
    title: str
    call: StepCall
    ask: bool = False  # "ask me here", whatever was approved
    note: str = ""  # an instruction that somebody added to it
    after: tuple[str, ...] | None = None  # the steps that have to be over before it; None: the one before it
    preflight: Preflight = Preflight()
    consent: str = ""  # the seal that a person has approved
    state: StepState = StepState.WAITING
    run: StepRun = StepRun()
    output: Output = Output()
    look: StepReview | None = None  # None: nobody is, or was, to look at what it gave
    origin: Origin | None = None  # None: of a plan that was shown
    closing: str = ""  # the planner's last words once it was done, shown on its card as unchecked
    heard: tuple[str, ...] | None = None  # gate.rules.advisers.of_task when it was proposed; None: not noted

    @property
    def name(self) -> str:
        return f"{self.server}.{self.tool}"

    @property
    def is_finished(self) -> bool:
        """Whether nothing more comes of it. What fails of a reply is for the planner to deal with, unless it ran and
        is not trusted; what fails of a plan that was shown waits for a person."""
        if self.state is StepState.FAILED:
            return self.origin is not None and not self.ran
        return self.state in (StepState.DONE, StepState.SKIPPED)

    @property
    def is_told(self) -> bool:
        """Whether the card of its plan tells all of it: it is done, and nobody was or is to look at what it gave, but
        for a moment."""
        look = self.look
        released = look is None or bool(look.seconds and look.by and not look.edited)
        return self.state is StepState.DONE and self.origin is None and released

    @property
    def is_covered(self) -> bool:
        """Whether its action runs by the approval of the plan, and has no card."""
        return bool(self.preflight.seal) and self.consent == self.preflight.seal

    @property
    def shown(self) -> int:
        """The number of the pause in which its result is looked at; 0 for none."""
        return self.look.pause if self.look else 0

    @property
    def passed(self) -> str:
        """Who let the task go on from its result; NOBODY where its time ran out, "" while nobody has."""
        return self.look.by if self.look and not self.rejected_by else ""

    @property
    def rejected_by(self) -> str:
        """Who rejected its result: it ran, and nothing may use what it gave."""
        return self.look.by if self.look and self.state in (StepState.FAILED, StepState.SKIPPED) else ""

    @property
    def edited(self) -> bool:
        """Whether its result is not the tool's, but what a reviewer made of that."""
        return self.look is not None and self.look.edited

    @property
    def ran(self) -> bool:
        """Whether its tool has come back with success, also where its result was not trusted."""
        return self.state is StepState.DONE or self.confidence is not None or bool(self.rejected_by)

    @property
    def is_private(self) -> bool:
        """Whether it is for whoever asked alone."""
        return self.call.privacy is Privacy.PRIVATE

    # What many places read of its parts.

    @property
    def server(self) -> str:
        return self.call.server

    @property
    def tool(self) -> str:
        return self.call.tool

    @property
    def args(self) -> Mapping[str, Json]:
        return self.call.args

    @property
    def refs(self) -> Mapping[str, str]:
        return self.call.refs

    @property
    def cls(self) -> CallClass:
        return self.preflight.cls

    @property
    def verdict(self) -> Verdict:
        return self.preflight.verdict

    @property
    def preview(self) -> Preview | None:
        return self.preflight.preview

    @property
    def problem(self) -> str:
        return self.preflight.problem

    @property
    def rules(self) -> str:
        return self.preflight.rules

    @property
    def action(self) -> str:
        return self.run.action

    @property
    def attempt(self) -> int:
        return self.run.attempt

    @property
    def text(self) -> str:
        return self.output.text

    @property
    def result(self) -> Json:
        return self.output.result

    @property
    def confidence(self) -> Confidence | None:
        return self.output.confidence


@dataclass(frozen=True, slots=True)
class Plan:
    """An ordered list of steps, as it was or will be shown."""

    version: int  # 0: nobody is shown it, as of a simple request
    steps: tuple[Step, ...]
    seal: str = ""  # over the seals in their order: what a button carries
    note: str = ""  # the planner's words, shown as unchecked
    own_note: bool = False  # the note is made by code: what was assumed, and what was changed
    approved_by: str = ""
    stepwise: bool = False  # approved *Step by step*: no step has a consent
    approved: int = 0  # the version that was approved: instructions may have changed other steps since
    last: int = 0  # number of the newest step id of this task: none is given twice
    lapsed: bool = False  # nobody decided on it in time: it has to be looked at anew before anybody can
    undoing: str = ""  # who pressed *Undo all*, while that is under way
    undone: str = ""  # how far *Undo all* came, in a sentence
    closing: str = ""  # the planner's answer once all of it was over, shown as unchecked
    # Who has said why they do not want a step of it, or a call of an earlier request, as its planner is told
    advised_by: tuple[str, ...] = ()

    @property
    def current(self) -> Step | None:
        """The first step that is not over; before it, one of a reply that ran and whose result is not trusted."""
        left = [step for step in self.steps if not step.is_finished]
        doubted = [step for step in left if step.state is StepState.FAILED and step.origin]
        return next(iter([*doubted, *left]), None)

    @property
    def begun(self) -> tuple[Step, ...]:
        """The steps whose action waits for a person, or runs."""
        return tuple(step for step in self.steps if step.state is StepState.ASKED)

    @property
    def ready(self) -> tuple[Step, ...]:
        """The steps that can begin: those that they come after are over, or not part of the plan any more."""
        left = {step.id for step in self.steps if not step.is_finished}
        pairs = zip((None, *self.steps), self.steps, strict=False)
        return tuple(
            step
            for before, step in pairs
            if step.state is StepState.WAITING and not left.intersection(_after(step, before))
        )


def _after(step: Step, before: Step | None) -> tuple[str, ...]:
    if step.after is not None:
        return step.after
    return (before.id,) if before else ()


def judged(step: Step, private: bool) -> Step:
    """The step once rules were held against it: private where they say so, and where it was before."""
    privacy = Privacy.PRIVATE if private or step.is_private else Privacy.PUBLIC
    return replace(step, call=replace(step.call, privacy=privacy))


def with_call(step: Step, call: StepCall) -> Step:
    """The step with another call, which nobody has judged; what was private stays so."""
    privacy = Privacy.PRIVATE if step.is_private else Privacy.UNJUDGED
    return replace(step, call=replace(call, privacy=privacy))


def is_shown_in_thread(step: Step) -> bool:
    """Whether the arguments, the preview and the results of a step may be shown to the whole thread."""
    return step.call.privacy is Privacy.PUBLIC


def public_step(step: Step) -> Step:
    """The step as everybody may know it: of one that is private or not judged, no arguments, nor the templates of those
    that are open, no preview but the one that says so, and no result. Its other words are written for everybody."""
    if is_shown_in_thread(step):
        return step
    preview = step.preview if step.preview and HIDDEN in step.preview.notes else None
    return replace(
        step,
        call=replace(step.call, args={}, refs={}),
        preflight=replace(step.preflight, preview=preview),
        output=replace(step.output, result=None),
    )
