"""The card of a plan that waits for a decision: every step with what it changes, as much as one card can show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gate.rules import plans
from gate.rules.action import CallClass, Verdict
from gate.rules.task import Plan, Step, StepState, Task
from gate.sentences.plurals import counted
from views import task_buttons as buttons
from views.block_kit import (
    Block,
    Message,
    actions,
    context,
    escaped,
    line,
    mention,
    mrkdwn,
    one_line,
    pack,
    plain,
    quote,
    rich,
    sentence,
    words,
)
from views.preview import is_longer
from views.task_questions import decisions
from views.task_wording import ENDLESS, Shown, in_a_line, in_short, lapsed, number, unusual_mode, weigh, whole

ROOM = 9_500  # characters of all steps together on one card, of the 12,000 of a message
BLOCKS = 36  # blocks of all steps together, of the 50 of a message
LEVELS = (in_a_line, in_short, whole)  # how much of a step is shown
LINE, SHORT, WHOLE = 0, 1, 2
MOST = 40  # steps that are named on one card
LOOKING = "I am looking at what this would change now…"
AGAIN = "*Ask again* looks anew at what it would change now."
EACH = "Each step that changes something asks you on its own card: so it is set up here."
COUNTS = {
    CallClass.READ: "read",
    CallClass.WRITE: "change",
    CallClass.DESTRUCTIVE: "deletion",
    CallClass.UNKNOWN: "call of a tool that nobody has reviewed",
}
NUMBERS = 15  # steps that a sentence names


def review(task: Task, plan: Plan) -> Message:
    """The plan with its buttons."""
    shown = fitted(plan)
    hidden = (
        any(shown.get(step.id, LINE) < WHOLE for step in plan.steps if step.preview) or len(plan.steps) > MOST
    )
    return Message(
        f"A plan of {counted(len(plan.steps), 'step')} waits for you: {escaped(one_line(task.text), 200)}",
        [
            head(task),
            context(mrkdwn(_about(task, plan))),
            *_because(task),
            *_note(plan),
            *decisions(one for one in task.decided if not one.by),
            *_laid_out(plan, shown),
            *_choices(task, plan, shown, hidden),
        ],
    )


def _choices(task: Task, plan: Plan, shown: dict[str, int], hidden: bool) -> list[Block]:
    how, told = choice(task, plan, shown)
    row = buttons.lapsed(task, plan) if plan.lapsed else buttons.reviewing(task, plan, how, hidden)
    return [sentence(told), actions(*row)]


def choice(task: Task, plan: Plan, shown: dict[str, int]) -> tuple[str, str]:
    """How it may be approved ("all", only in "steps", or "" for not at all), and what that means, in a sentence:
    nothing is approved while it is looked at, or where a step cannot run. `shown`: see `fitted`."""
    left = [step for step in plan.steps if not step.is_finished]
    if plan.lapsed:
        return "", f"{lapsed(plan)} {AGAIN}"
    if not all(step.rules for step in left):
        return "", LOOKING
    if blocked := [step for step in left if plans.is_blocked(step)]:
        which = numbers(plan, blocked).capitalize()
        return "", f"{which} cannot run as it stands. Drop or change it, or plan anew."
    covered = covered_steps(task, plan, shown)
    return "all" if covered else "steps", EACH if plans.asks_each(task) else _consent(plan, covered)


def replaced(task: Task, version: int) -> Message:
    """An older version of the plan, once there is a newer one."""
    told = "A newer plan took the place of this one. Nothing more runs from here."
    return Message(f"Plan {version}: a newer one took its place", [head(task), sentence(told)])


def shows(plan: Plan) -> frozenset[str]:
    """The ids of the steps whose whole preview the card shows: no approval of the plan covers any other."""
    levels = fitted(plan)
    return frozenset(step.id for step in plan.steps if step.preview and levels.get(step.id) == WHOLE)


def covered_steps(task: Task, plan: Plan, shown: dict[str, int]) -> list[Step]:
    """The steps that *Approve all* would be a yes to, by the gate's own rule."""
    whole = frozenset(step.id for step in plan.steps if step.preview and shown.get(step.id) == WHOLE)
    return [step for step in plans.with_consent(task, plan, whole).steps if step.consent]


def fitted(plan: Plan) -> dict[str, int]:
    """How much of each step the card shows, as a place in LEVELS. What needs the least room comes first."""
    steps = {
        step.id: [_weight(plan, step, level) for level in (LINE, SHORT, WHOLE)] for step in plan.steps[:MOST]
    }
    levels = dict.fromkeys(steps, LINE)
    room = ROOM - sum(sizes[0] for sizes in steps.values())
    for level in (SHORT, WHOLE):
        wanted = sorted(
            (sizes[level] - sizes[levels[key]], key)
            for key, sizes in steps.items()
            if levels[key] == level - 1
        )
        for more, key in wanted:
            if more <= room:
                room -= more
                levels[key] = level
    return levels


def _weight(plan: Plan, step: Step, level: int) -> int:
    longer = level == WHOLE and step.preview is not None and is_longer(step.preview, ROOM)
    return ENDLESS if longer else weigh(_form(plan, step, level))


def _form(plan: Plan, step: Step, level: int) -> Shown:
    is_asked = step.state is StepState.WAITING  # else it is not asked about any more
    return LEVELS[level if is_asked else LINE](plan, step)


def _laid_out(plan: Plan, shown: dict[str, int]) -> list[Block]:
    """A block or more for each step, where there are blocks enough; else as few as hold them."""
    steps = [_form(plan, step, shown[step.id]) for step in plan.steps[:MOST]]
    left = len(plan.steps) - MOST
    if left > 0:
        steps.append([line(words(f"… and {counted(left, 'more step')}: see *Show everything*", "italic"))])
    apart = [block for step in steps for block in pack(step)]
    return apart if len(apart) <= BLOCKS else pack(element for step in steps for element in step)


def head(task: Task) -> Block:
    return rich(line(words("Plan: ", "bold"), words(one_line(task.text), most=300)))


def _note(plan: Plan) -> list[Block]:
    """The planner's own words, marked as unchecked; those of code as they are."""
    if not plan.note:
        return []
    if plan.own_note:
        return pack([line(words(told, most=300)) for told in plan.note.splitlines()])
    return [rich(line(words("Planner's words (not checked):", "italic")), quote(plan.note, 500))]


def _because(task: Task) -> list[Block]:
    """Why it was planned anew."""
    return [context(plain(f"Planned again: {task.reason}", 300))] if task.reason else []


def _about(task: Task, plan: Plan) -> str:
    tally = Counter(step.cls for step in plan.steps)
    kinds = ", ".join(counted(tally[cls], COUNTS[cls]) for cls in CallClass if tally[cls])
    again = f" · version {plan.version}" if plan.version > 1 else ""
    steps = f"{counted(len(plan.steps), 'step')}: {kinds}"
    return f"Asked by {mention(task.requester)} · {steps}{again}{unusual_mode(task.switches)}"


def _consent(plan: Plan, covered: list[Step]) -> str:
    """What a yes means, before it is given."""
    if not covered:
        return "*Step by step*: what changes something asks you on its own card when its turn comes."
    waiting = [step for step in plan.steps if step.state is StepState.WAITING]
    ids = {step.id for step in covered}
    asking = [step for step in waiting if step.id not in ids and step.verdict is not Verdict.RUN]
    ask = "still asks when its turn comes" if len(asking) == 1 else "still ask when their turn comes"
    rest = f" {numbers(plan, asking).capitalize()} {ask}." if asking else ""
    return f"*Approve all* is your yes to {numbers(plan, covered)}, exactly as shown here.{rest}"


def numbers(plan: Plan, steps: Iterable[Step]) -> str:
    """`step 2`, `steps 1 to 3 and 7`."""
    places = [number(plan, step) for step in steps]
    if len(places) == 1:
        return f"step {places[0]}"
    spans: list[list[int]] = []
    for place in places:
        if spans and place == spans[-1][1] + 1:
            spans[-1][1] = place
        else:
            spans.append([place, place])
    names = [name for span in spans for name in _named(*span)]
    if len(names) > NUMBERS:
        return f"{len(places)} of the {len(plan.steps)} steps"
    return f"steps {', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else f"steps {names[0]}"


def _named(first: int, last: int) -> list[str]:
    return [f"{first} to {last}"] if last > first + 1 else [str(n) for n in range(first, last + 1)]
