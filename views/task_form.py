"""The form in which a plan is modified: its steps to input blocks, and what was submitted back to changes.

What is submitted as it was shown changes nothing; only what differs is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from gate.rules.plan_changes import StepChange
from gate.rules.task import Plan, Step
from gate.rules.tool import ToolSpec
from gate.sentences.plurals import counted
from views import edit_form
from views.block_kit import Block, option, plain, select, shortened, text_input, visible
from views.block_kit import field as input_block
from views.edit_form import Shown
from views.form_fields import Form, same
from views.form_schemas import MOST_WORK, Schema
from views.task_wording import number, source, what

PLACE, KEEP, NOTE, ARGS = "place", "keep", "note", "args"  # the kinds of a step's blocks
VALUE = edit_form.VALUE
BLOCKS = 93  # of the 100 of a modal
BYTES = 200 * 1024
MOST_NOTE = 1_000
STAYS, ASKS, DROPPED = "stay", "ask", "drop"
AWAY = "away"  # in place of the definition of a tool
NOTHING_LEFT = "At least one step has to stay. To drop all of them, cancel the plan."
CHOICES = (
    (STAYS, "Stays as it is"),
    (ASKS, "Stays, and asks me here"),
    (DROPPED, "Is dropped"),
)


Specs = Mapping[
    str, ToolSpec
]  # the tools of the steps, by the steps' ids; without those that are not there now
State = Mapping[str, Mapping[str, str]]  # what stands in each input, by block and action


@dataclass(frozen=True, slots=True)
class Filled:
    """The changes, or for some blocks a sentence that says what to mend."""

    changes: tuple[StepChange, ...] = ()
    errors: dict[str, str] = field(default_factory=dict)


def step_fields(plan: Plan, specs: Specs) -> list[Block]:
    """The form's blocks, and what is not in it."""
    asked = _asked(plan, specs)
    blocks = [block for step, form in asked for block in _fields(plan, step, form)]
    return [*blocks, *_left_out(plan, asked)]


def changed(plan: Plan, state: State, specs: Specs) -> Filled:
    """What was submitted. `state`: what stands in each input, by block; a block that is missing was not shown."""
    changes, errors = [], {}
    asked = _asked(plan, specs)
    for step, form in asked:
        made, wrong = _changed(plan, step, state, form)
        changes.append(made)
        errors.update({} if made.drop else wrong)
    steps = [step for step, _ in asked]
    if steps and all(one.drop for one in changes) and len(steps) == len(open_steps(plan)):
        errors[block_of(KEEP, steps[0])] = NOTHING_LEFT
    errors = {**_crowded(plan, steps, changes), **errors}
    return Filled((), errors) if errors else Filled(tuple(changes))


def _changed(plan: Plan, step: Step, state: State, form: Shown | None) -> tuple[StepChange, dict[str, str]]:
    """What was said of one step, and what is wrong with it."""

    def given(kind: str) -> str | None:
        return state.get(block_of(kind, step), {}).get(VALUE)

    wrong: dict[str, str] = {}
    place = _place(plan, step, given(PLACE))
    if place is None:
        wrong[block_of(PLACE, step)] = f"This must be a whole number from 1 to {len(open_steps(plan))}."
    args = None
    if form is not None:
        filled = edit_form.values(form, state)
        args = None if same(filled.args, dict(step.args)) else filled.args
        wrong |= filled.errors
    keep = given(KEEP) or (ASKS if step.ask else STAYS)
    note = given(NOTE)
    said = step.note if note is None or note == _noted(step) else note.strip()
    at = place or place_of(plan, step)
    return StepChange(step.id, at, keep == DROPPED, keep == ASKS, said, args), wrong


def _crowded(plan: Plan, steps: list[Step], changes: list[StepChange]) -> dict[str, str]:
    """The steps that are put where another one is put."""
    taken: set[int] = set()
    wrong = {}
    for step, one in zip(steps, changes, strict=True):
        if one.drop or one.place == place_of(plan, step):
            continue
        if one.place in taken:
            wrong[block_of(PLACE, step)] = f"Another step is put at place {one.place} already."
        taken.add(one.place)
    return wrong


def open_steps(plan: Plan) -> list[Step]:
    """The steps that are left."""
    return [step for step in plan.steps if not step.is_finished]


def place_of(plan: Plan, step: Step) -> int:
    """Its place among the steps that are left, from 1."""
    return next((i for i, one in enumerate(open_steps(plan), 1) if one.id == step.id), 0)


def block_of(kind: str, step: Step) -> str:
    return f"{kind}." + hashlib.sha256(step.id.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _asked(plan: Plan, specs: Specs) -> list[tuple[Step, Shown | None]]:
    """The steps in the form, each with that of its arguments; as many of them as one window holds, and all without
    their arguments where those do not fit, or are more work than one window is worth."""
    asked = list[tuple[Step, Shown | None]]()
    count = size = work = 0
    for step in open_steps(plan):
        form = edit_form.shown(_form(plan, step, specs))
        made = _fields(plan, step, form)
        count, size, work = count + len(made), size + len(json.dumps(made)), work + form.work
        if count > BLOCKS or size > BYTES or work > MOST_WORK:  # no more of them are made: each can take long
            return [(one, None) for one in open_steps(plan)[: BLOCKS // 3]]
        asked.append((step, form))
    return asked


def _fields(plan: Plan, step: Step, form: Shown | None) -> list[Block]:
    """The blocks of a step; without its arguments where no `form` of them is given."""
    place = {
        "type": "number_input",
        "action_id": VALUE,
        "is_decimal_allowed": False,
        "initial_value": str(place_of(plan, step)),
    }
    choices = [option(text, key) for key, text in CHOICES]
    label = f"{number(plan, step)}. {what(step)}"
    made = [
        _labelled(PLACE, step, label, place, hint="Its place among the steps that are left."),
        _labelled(KEEP, step, "This step", select(VALUE, choices, choices[1 if step.ask else 0])),
        _labelled(
            NOTE,
            step,
            "Instruction for this step",
            text_input(VALUE, _noted(step), multiline=False, most=MOST_NOTE),
            optional=True,
        ),
    ]
    return made if form is None else [*made, *form.blocks]


def _noted(step: Step) -> str:
    """The instruction as an input can hold it."""
    return visible(step.note)[:MOST_NOTE]


def _labelled(
    kind: str, step: Step, label: str, element: Block, hint: str = "", optional: bool = False
) -> Block:
    return input_block(block_of(kind, step), shortened(label, 140), element, hint=hint, optional=optional)


def _form(plan: Plan, step: Step, specs: Specs) -> Form:
    """The fields of its arguments. What an earlier step will give may be written here instead."""
    spec, prefix, args = specs.get(step.id), block_of(ARGS, step), dict(step.args)
    schema: Schema = (
        spec.schema if spec else {"required": [*args]}
    )  # then a text that is emptied stays, empty
    properties = {**schema.get("properties", {})}
    for name, template in step.refs.items():
        told = f"{source(plan, template)} gives this. What you write here takes its place."
        properties[name] = {**properties.get(name, {"type": "string"}), "description": told}
    required = [name for name in schema.get("required", ()) if name not in step.refs]
    bound = frozenset(spec.recipe.bind) if spec else frozenset[str]()
    definition = spec.definition if spec else AWAY
    fields = {**schema, "properties": properties, "required": required}
    return Form(fields, args, bound, prefix, definition=definition)


def _left_out(plan: Plan, asked: list[tuple[Step, Shown | None]]) -> list[Block]:
    """What does not fit, and that it stays as it is."""
    left = len(open_steps(plan)) - len(asked)
    told = []
    if any(form is None for _, form in asked):
        told.append(
            "These are too many steps for their arguments to fit in here: the arguments stay as they are."
        )
    if left:
        told.append(f"{counted(left, 'more step')} would not fit in here either, and stay as they are.")
    return [{"type": "context", "elements": [plain(" ".join(told), 500)]}] if told else []


def _place(plan: Plan, step: Step, given: str | None) -> int | None:
    """The place that was typed; None where that is none."""
    if given is None:
        return place_of(plan, step)
    right = given.isascii() and given.isdigit() and len(given) <= 4
    return int(given) if right and 1 <= int(given) <= len(open_steps(plan)) else None
