"""What the steps of a plan have read, for the message that ends it."""

from __future__ import annotations

from collections.abc import Iterator

from gate.rules.action import Class
from gate.rules.steps import PRIVATE, Step, StepState
from gate.rules.task import Flow, Task
from views.block_kit import Block, boxes, line, pack, words
from views.task_step import what
from views.task_wording import number
from views.tool_results import in_words

MOST = 8  # answers that are shown
EACH = 1_500  # characters of one


def answers(task: Task) -> list[Block]:
    """The results of the reads of a plan that ended, each below what was read; without those that were private."""
    if task.plan is None or not task.planned or task.flow is Flow.SIMPLE:
        return []
    read = [step for step in task.plan.steps if _is_shown(step)]
    left = len(read) - MOST
    more = f"… and {left} more reads, which the plan's card lists. Ask for one of them to see it."
    return pack(
        [
            *(element for step in read[:MOST] for element in _answer(f"{number(task.plan, step)}. ", step)),
            *([line(words(more, "italic"))] if left > 0 else []),
        ]
    )


def _is_shown(step: Step) -> bool:
    return step.state is StepState.DONE and step.cls is Class.READ and step.text != PRIVATE


def _answer(place: str, step: Step) -> Iterator[Block]:
    yield line(words(f"{place}{what(step)}", "bold", most=200))
    kept = step.result if isinstance(step.result, dict) else {}
    text = str(kept.get("text") or step.text)
    # The text of an answer beside its fields may spell the same fields as JSON.
    spelt = text.lstrip().startswith(("{", "["))
    fields = {name: value for name, value in kept.items() if not (spelt and name == "text")}
    told = in_words(fields if fields.keys() - {"text"} else None, text).strip()
    if not told:
        yield line(words("It gave nothing.", "italic"))
        return
    yield from boxes(told[:EACH])
    if len(told) > EACH:
        yield line(words("This is the beginning. Ask for it again to see all of it.", "italic"))
