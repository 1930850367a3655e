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
from views.form_fields import Form, same
from views.form_schemas import Schema
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
    steps, with_args = _asked(plan, specs)
    blocks = [block for step in steps for block in _fields(plan, step, specs if with_args else None)]
    return [*blocks, *_left_out(plan, steps, with_args)]


def changed(plan: Plan, state: State, specs: Specs) -> Filled:
    """What was submitted. `state`: what stands in each input, by block; a block that is missing was not shown."""
    steps, with_args = _asked(plan, specs)
    changes, errors = [], {}
    for step in steps:
        made, wrong = _changed(plan, step, state, specs if with_args else None)
        changes.append(made)
        errors.update({} if made.drop else wrong)
    if steps and all(one.drop for one in changes) and len(steps) == len(open_steps(plan)):
        errors[block_of(KEEP, steps[0])] = NOTHING_LEFT
    errors = {**_crowded(plan, steps, changes), **errors}
    return Filled((), errors) if errors else Filled(tuple(changes))


def _changed(plan: Plan, step: Step, state: State, specs: Specs | None) -> tuple[StepChange, dict[str, str]]:
    """What was said of one step, and what is wrong with it."""

    def given(kind: str) -> str | None:
        return state.get(block_of(kind, step), {}).get(VALUE)

    wrong: dict[str, str] = {}
    place = _place(plan, step, given(PLACE))
    if place is None:
        wrong[block_of(PLACE, step)] = f"This must be a whole number from 1 to {len(open_steps(plan))}."
    args = None
    if specs is not None:
        filled = edit_form.values(edit_form.shown(_form(plan, step, specs)), state)
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


def _asked(plan: Plan, specs: Specs) -> tuple[list[Step], bool]:
    """The steps in the form, and whether their arguments are; as many of them as one window holds."""
    steps, count, size = open_steps(plan), 0, 0
    for step in steps:
        made = _fields(plan, step, specs)
        count, size = count + len(made), size + len(json.dumps(made))
        if count > BLOCKS or size > BYTES:  # no more of them are made than fit: each can take long
            return steps[: BLOCKS // 3], False
    return steps, True


def _fields(plan: Plan, step: Step, specs: Specs | None) -> list[Block]:
    """The blocks of a step; without its arguments where no `specs` are given."""
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
    return made if specs is None else [*made, *edit_form.blocks(_form(plan, step, specs))]


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


def _left_out(plan: Plan, steps: list[Step], with_args: bool) -> list[Block]:
    """What does not fit, and that it stays as it is."""
    left = len(open_steps(plan)) - len(steps)
    told = []
    if not with_args:
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
