"""What the steps of a plan have read, for the message that ends it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from gate.rules.action import Class, Json
from gate.rules.steps import PRIVATE, Step, StepState
from gate.rules.task import Flow, Plan, Task
from views.block_kit import Block, boxes, line, pack, words
from views.task_step import what
from views.task_wording import number
from views.tool_results import in_table, in_words, table

MOST = 8  # answers that are shown
EACH = 1_500  # characters of one


def answers(task: Task, with_table: bool) -> list[Block]:
    """The results of the reads of a plan that ended, each below what was read; without those that were private.
    `with_table`: the first that is a list stands in a table block, of which a message has one at most."""
    if task.plan is None or not task.planned or task.flow is Flow.SIMPLE:
        return []
    read = [step for step in task.plan.steps if _is_shown(step)]
    left = len(read) - MOST
    more = f"… and {left} more reads, which the plan's card lists. Ask for one of them to see it."
    tables = ((place, table(*_given(step))) for place, step in enumerate(read[:MOST]) if with_table)
    place, found = next(((place, one) for place, one in tables if one is not None), (MOST, None))
    parts = [[_named(task.plan, step), *_answer(step)] for step in read[:MOST]]
    after = [*chain(*parts[place + 1 :]), *([line(words(more, "italic"))] if left > 0 else [])]
    heading = parts[place][:1] if found else []
    return [
        *pack([*chain(*parts[:place]), *heading]),
        *(in_table(found) if found else []),
        *pack(after),
    ]


def _is_shown(step: Step) -> bool:
    return step.state is StepState.DONE and step.cls is Class.READ and step.text != PRIVATE


def _named(plan: Plan, step: Step) -> Block:
    return line(words(f"{number(plan, step)}. {what(step)}", "bold", most=200))


def _given(step: Step) -> tuple[Json, str]:
    """The fields of an answer, None where there are none, and its text."""
    kept = step.result if isinstance(step.result, dict) else {}
    text = str(kept.get("text") or step.text)
    # The text of an answer beside its fields may spell the same fields as JSON.
    spelt = text.lstrip().startswith(("{", "["))
    fields = {name: value for name, value in kept.items() if not (spelt and name == "text")}
    return fields if fields.keys() - {"text"} else None, text


def _answer(step: Step) -> Iterator[Block]:
    told = in_words(*_given(step)).strip()
    if not told:
        yield line(words("It gave nothing.", "italic"))
        return
    yield from boxes(told[:EACH])
    if len(told) > EACH:
        yield line(words("This is the beginning. Ask for it again to see all of it.", "italic"))
