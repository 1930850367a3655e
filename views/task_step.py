"""One step of a plan as people read it before they decide: in a line, in short, or whole."""

from __future__ import annotations

from gate.rules import plans
from gate.rules.action import Preview, Verdict
from gate.rules.task import Plan, Step, StepState
from views import preview
from views.block_kit import PAGE, Block, clip, framed, line, weight, words
from views.task_wording import KINDS, number
from views.tool_results import outlined

SUMMARY = 140
ARGUMENTS = 200
FEW = 4
SHORTENED = "Not shown whole here: it is too long. It will ask on its own card."
OVER = {
    StepState.DONE: "done already",
    StepState.SKIPPED: "skipped",
    StepState.FAILED: "did not go through",
    StepState.ASKED: "begun already",
}
Shown = list[Block]


def what(step: Step) -> str:
    """What it does, made by code: the preview's summary, or the tool's name."""
    return step.preview.summary if step.preview and step.preview.summary else step.name


def in_a_line(plan: Plan, step: Step) -> Shown:
    """Its place, what it does, and what kind of call it is."""
    kind = OVER.get(step.state, f"{KINDS[step.cls]}, asks here" if step.ask else KINDS[step.cls])
    return [
        line(
            words(f"{number(plan, step)}. ", "bold"),
            words(what(step), "bold", most=SUMMARY),
            words(f"  {kind}", "italic"),
        )
    ]


def in_short(plan: Plan, step: Step) -> Shown:
    """With what is not known yet, and whether it can be taken back; of its arguments only that there are more."""
    undo = step.preview.undo if step.preview and not _reads(step) else ""
    return [
        *in_a_line(plan, step),
        *_title(step),
        *([line(words(SHORTENED, "italic"))] if step.preview else _arguments(step)),
        *([line(words("Can be undone: ", "bold"), words(undo, most=60))] if undo else []),
        *_open(plan, step),
    ]


def whole(plan: Plan, step: Step) -> Shown:
    """With everything that it changes and every argument."""
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


def _reversibility(told: Preview) -> Shown:
    back = preview.reversibility(told)
    return [line(words(f"{back[:1].upper()}{back[1:]}.", "italic", most=500))] if back else []


def _reads(step: Step) -> bool:
    """Whether it changes nothing, so that there is nothing to take back either."""
    return step.verdict is Verdict.RUN


def weigh(elements: Shown) -> int:
    """Characters of text; infinitely many where one part of it is larger than a block."""
    sizes = list(map(weight, elements))
    return sum(sizes) if max(sizes, default=0) <= PAGE else 1_000_000_000


def _title(step: Step) -> Shown:
    """The planner's own name for a step of which nothing else is known."""
    told = f"{step.preview.summary if step.preview else ''}"
    return [line(words(f"“{step.title}”", "italic", most=SUMMARY))] if step.title and not told else []


def _arguments(step: Step) -> Shown:
    """What is known of its arguments, where nothing could be looked at yet."""
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
    sign = "no_entry" if plans.blocked(step) else "warning"
    warned = [line({"type": "emoji", "name": sign}, words(f" {problem}", most=160))] if problem else []
    note = [line(words("Instruction: ", "bold"), words(step.note, most=160))] if step.note else []
    return [*refs[:FEW], *more, *warned, *note]


def source(plan: Plan, form: str) -> str:
    """`step 1 (trash_id)` for `{steps.a.trash_id}`; the template itself where it names none of the plan."""
    parts = form.strip("{}").split(".")
    found = next((one for one in plan.steps if len(parts) > 2 and one.id == parts[1]), None)
    return f"step {number(plan, found)} ({'.'.join(parts[2:])})" if found else form
