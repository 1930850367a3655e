"""Tasks and steps for tests, written by the names of their fields: each goes into the part that has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar, get_type_hints

from gate.rules.ledger_ports import TaskParts
from gate.rules.steps import Privacy
from gate.rules.task import Output, Preflight, Step, StepCall, StepRun, Task
from storage.rows import TASK_PARTS

T = TypeVar("T", Task, Step)
STEP_PARTS: dict[str, Any] = {"call": StepCall, "preflight": Preflight, "run": StepRun, "output": Output}
PARTS: dict[type, Mapping[str, Any]] = {Task: TASK_PARTS, Step: STEP_PARTS}


@cache
def _part(kind: type, name: str) -> str:
    """The part that has the field; "" where the value itself has it."""
    if name in get_type_hints(kind):
        return ""
    return next(part for part, inner in PARTS[kind].items() if name in {one.name for one in fields(inner)})


def _sorted(kind: type, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The values for the fields of its own, and those of each part."""
    own: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for name, value in given.items():
        part = _part(kind, name)
        (inner.setdefault(part, {}) if part else own)[name] = value
    return own, inner


def changes_of(value: Task | Step, **given: Any) -> dict[str, Any]:
    """The parts with these values in their fields, as `replace` takes them."""
    own, inner = _sorted(type(value), given)
    return own | {part: replace(getattr(value, part), **values) for part, values in inner.items()}


def having(value: T, **given: Any) -> T:
    """The task or the step with other values in these fields, whichever part they are in."""
    return replace(value, **changes_of(value, **given))


def parts_of(task: Task, **given: Any) -> TaskParts:
    """What a transaction changes of a task, so that these fields have these values."""
    return TaskParts(**changes_of(task, **given))  # type: ignore[typeddict-item]


def task_of(**given: Any) -> Task:
    """A task of values by the names of their fields; `since` is `created_at` unless it is given."""
    own, inner = _sorted(Task, {"since": given["created_at"], **given})
    return Task(**own, **{part: TASK_PARTS[part](**values) for part, values in inner.items()})


def step_of(
    id: str, title: str = "", server: str = "", tool: str = "", args: Any = None, **more: Any
) -> Step:
    """A step of values by the names of their fields."""
    known = {"server": server, "tool": tool, "args": args or {}, "privacy": Privacy.PUBLIC}
    own, inner = _sorted(Step, {**known, **more})
    return Step(
        id=id, title=title, **own, **{part: STEP_PARTS[part](**values) for part, values in inner.items()}
    )
