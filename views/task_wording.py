"""The words about tasks: their state, how each step stands, who did what; and a step in a line, in short, or whole."""

from __future__ import annotations

import re

from gate.arguments.tool_names import tool_in_words
from gate.rules import plans
from gate.rules.action import CallClass, Json, Preview, Verdict
from gate.rules.settings import Switches
from gate.rules.steps import HIDDEN, is_shown_in_thread, public_step
from gate.rules.task import PauseReason, Plan, Step, StepState, Task, Usage
from gate.rules.task_states import TaskState
from gate.sentences.past_tense import past_if_known
from gate.sentences.plurals import counted
from views import preview
from views.block_kit import PAGE, Block, clip, framed, line, mention, weight, words
from views.tool_results import outlined

S = TaskState
STATES = {
    S.TALKING: "Talking it over",
    S.CLARIFYING: "Looking at the request",
    S.PLANNING: "Making a plan",
    S.PLAN_REVIEW: "The plan waits for a decision",
    S.RUNNING: "Working",
    S.PAUSED: "Paused",
    S.SATISFACTION: "Finished",
    S.DONE: "Done",
    S.CANCELLED: "Cancelled",
    S.STOPPED_BY_USER: "Stopped",
    S.FAILED: "Failed",
}
KINDS = {  # of what a person should know besides what it does
    CallClass.DESTRUCTIVE: "destructive",
    CallClass.UNKNOWN: "not reviewed by an operator",
}
WHY = {
    PauseReason.NONE: "Paused",
    PauseReason.WISH: "Paused, as asked",
    PauseReason.STEP: "Paused: a step did not go through",
    PauseReason.LAPSED: "Paused: nobody decided in time",
    PauseReason.REVIEW: "Paused for a look at what was done",
    PauseReason.SUMMARY: "A step is done, and the next one begins in a moment",
    PauseReason.DOUBT: "Paused: a step ran, and its result is not trusted",
}
MODES = {
    "auto": "goes on by itself where it is sure",
    "manual": "waits for a person after each step",
    "confidence_threshold": "goes on by itself where it is at least {least:g}% sure",
}
SUMMARY = 140
ARGUMENTS = 200
FEW = 4
ENDLESS = 1_000_000_000  # the weight of what no card can show whole
OPEN = "Its details are shown when it comes to it."  # of a step that may yet be private
AWAITED = "It is looked at when its turn comes, after step {place}."
LAPSED = "Nobody decided on it in time, so {what} ran."
SHORTENED = "Not shown whole here: it is too long. It will ask on its own card."
RAN_BEFORE = "ran before, or may have"
OVER = {
    StepState.DONE: "done already",
    StepState.SKIPPED: "skipped",
    StepState.FAILED: "did not go through",
    StepState.ASKED: "begun already",
}
ONE_RESULT = re.compile(r"\{steps\.([^{}.]+)\.([^{}]+)\}")
Shown = list[Block]


def mode(switches: Switches) -> str:
    """How it goes on after a step, in one of our sentences' parts: ``mode `auto`: goes on …``."""
    return f"mode `{switches.approval_mode}`: {_goes_on(switches)}"


def _goes_on(switches: Switches) -> str:
    return MODES[switches.approval_mode].format(least=100 * switches.confidence)


def unusual_mode(switches: Switches) -> str:
    """How it goes on after a step, after a dot, where that is not the usual way."""
    return f" · {_goes_on(switches)}" if switches.approval_mode != Switches().approval_mode else ""


def looked_at(task: Task, pause: int) -> Step | None:
    """The step whose result stands on this pause card."""
    steps = task.plan.steps if task.plan else ()
    return next((step for step in steps if step.shown == pause), None)


def state(task: Task) -> str:
    """Where the task stands, in a few words."""
    if task.state is S.CLARIFYING and task.questions:
        return "Waiting for answers"
    return WHY[task.why] if task.state is S.PAUSED else STATES[task.state]


def ended(task: Task) -> str:
    """How an open end came about, in one of our sentences: `Stopped by @ann.`"""
    by = f" by {mention(task.ended_by)}" if task.ended_by else ""
    return f"{STATES[task.state]}{by}."


def number(plan: Plan, step: Step) -> int:
    """Its place in the order that people see, from 1."""
    return next((i for i, one in enumerate(plan.steps, 1) if one.id == step.id), 0)


def waits(step: Step) -> bool:
    """Whether a step that has begun waits for a person: what was approved, and what only reads, runs."""
    return step.state is StepState.ASKED and step.verdict is not Verdict.RUN and not step.is_covered


def mark(step: Step) -> tuple[str, str]:
    """An emoji's name, and the words for how a step stands; "" where the emoji says it all."""
    if step.state is StepState.ASKED:
        return ("raised_hand", "waits for a decision") if waits(step) else ("arrow_forward", "running")
    return {
        StepState.WAITING: ("white_circle", RAN_BEFORE if step.run.tries else ""),
        StepState.DONE: ("white_check_mark", ""),
        StepState.FAILED: ("x", "did not go through"),
        StepState.SKIPPED: ("no_entry_sign", "skipped"),
    }[step.state]


def spent(usage: Usage) -> str:
    """What the model cost, in one of our sentences; "" where no model was asked."""
    if not usage.requests:
        return ""
    asked = counted(usage.requests, "time")
    return f"The model was asked {asked}: {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out."


def what(step: Step) -> str:
    """What it does, made by code: the preview's summary, or the words of the tool's name."""
    told = public_step(step).preview
    return told.summary if told and told.summary else tool_in_words(step.name)


def fields_and_text(step: Step) -> tuple[Json, str]:
    """The fields of an answer, None where there are none, and its text."""
    kept = step.result if isinstance(step.result, dict) else {}
    text = str(kept.get("text") or step.text)
    # What an answer gives as text, or the MCP SDK wraps, may spell the fields beside it as JSON.
    spelt = {name for name in ("text", "result") if str(kept.get(name, "")).lstrip().startswith(("{", "["))}
    fields = {name: value for name, value in kept.items() if name not in spelt}
    return fields if fields.keys() - {"text"} else None, text


def effect(step: Step) -> str:
    """What it does, or did."""
    return past_if_known(what(step)) if step.state is StepState.DONE else what(step)


def lapsed(plan: Plan) -> str:
    """That nobody decided on it in time, and so what did not run."""
    begun = any(step.is_finished or step.run.tries for step in plan.steps)
    return LAPSED.format(what="nothing more" if begun else "nothing")


def in_a_line(plan: Plan, step: Step) -> Shown:
    """Its place, what it does, and what kind of call it is where that is unusual."""
    again = RAN_BEFORE if step.run.tries else "tried before" if step.attempt > 1 else ""
    kinds = [KINDS.get(step.cls), "asks here" if step.ask else ""]
    told = [OVER[step.state]] if step.state in OVER else kinds
    kind = ", ".join(filter(None, [*told, again]))
    return [
        line(
            words(f"{number(plan, step)}. ", "bold"),
            words(effect(step), "bold", most=SUMMARY),
            *([words(f"  {kind}", "italic")] if kind else []),
        )
    ]


def in_short(plan: Plan, step: Step) -> Shown:
    """With what is not known yet, and whether it can be taken back; of its arguments only that there are more."""
    if later := _later(plan, step):
        return later
    step = public_step(step)
    undo = step.preview.undo if step.preview and not _reads(step) else ""
    return [
        *in_a_line(plan, step),
        *_title(step),
        *([line(words(SHORTENED, "italic"))] if step.preview else _arguments(step)),
        *([line(words("Can be undone: ", "bold"), words(undo, most=60))] if undo else []),
        *_open(plan, step),
    ]


def whole(plan: Plan, step: Step) -> Shown:
    """With everything that it changes and every argument, unless an earlier step changes that first."""
    if later := _later(plan, step):
        return later
    step = public_step(step)
    told = step.preview
    seen = (
        [
            *preview.brief(told, step.cls),
            *preview.warnings(told),
            *([] if _reads(step) else [*preview.notified(told), *_reversibility(told)]),
        ]
        if told
        else _arguments(step)
    )
    return [*in_a_line(plan, step), *_title(step), *seen, *_open(plan, step)]


def _later(plan: Plan, step: Step) -> Shown:
    """Of a step that an earlier one changes something for, what it does; what could be seen now will not be so then."""
    first = plans.awaited(plan, step)
    if first is None:
        return []
    told = AWAITED.format(place=number(plan, first))
    return [*in_a_line(plan, step), line(words(told, "italic")), *_noted(step)]


def _reversibility(told: Preview) -> Shown:
    back = preview.reversibility(told)
    return [line(words(f"{back[:1].upper()}{back[1:]}.", "italic", most=500))] if back else []


def _reads(step: Step) -> bool:
    """Whether it changes nothing, so that there is nothing to take back either."""
    return step.verdict is Verdict.RUN


def weigh(elements: Shown) -> int:
    """Characters of text; ENDLESS where one part of it is larger than a block."""
    sizes = list(map(weight, elements))
    return sum(sizes) if max(sizes, default=0) <= PAGE else ENDLESS


def _title(step: Step) -> Shown:
    """The planner's own name for a step of which nothing else is known."""
    told = f"{step.preview.summary if step.preview else ''}"
    return [line(words(f"“{step.title}”", "italic", most=SUMMARY))] if step.title and not told else []


def _arguments(step: Step) -> Shown:
    """What is known of its arguments, where nothing could be looked at yet."""
    if not is_shown_in_thread(step):
        return [line(words(HIDDEN if step.is_private else OPEN, "italic"))]
    text = outlined(dict(step.args))
    return framed(clip(text, ARGUMENTS)) if text else []


def _open(plan: Plan, step: Step) -> Shown:
    """What earlier steps will give, what could not be looked at, and what somebody added to it."""
    refs = [
        line(words(f"{name}: known after {source(plan, form)}", most=120)) for name, form in step.refs.items()
    ]
    more = (
        [line(words(f"… and {len(refs) - FEW} more that are not known yet", "italic"))]
        if len(refs) > FEW
        else []
    )
    problem = step.problem or (step.preview.problem if step.preview else "")
    sign = "no_entry" if plans.is_blocked(step) else "warning"
    warned = [line({"type": "emoji", "name": sign}, words(f" {problem}", most=160))] if problem else []
    return [*refs[:FEW], *more, *warned, *_noted(step)]


def _noted(step: Step) -> Shown:
    """What somebody added to it."""
    return [line(words("Instruction: ", "bold"), words(step.note, most=160))] if step.note else []


def source(plan: Plan, form: str) -> str:
    """`step 1 (trash_id)` for `{steps.a.trash_id}`; the template itself where it is more than that, or names none of
    the plan."""
    whole = ONE_RESULT.fullmatch(form)
    found = plans.step_of(plan, whole[1]) if whole else None
    return f"step {number(plan, found)} ({whole[2]})" if whole and found else form
