"""Judging a result by a rule: whether it is what the recipe of its tool expects (verification tier 2 of spec 003)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence

from gate.action import Action, Json
from gate.canonical import parse
from gate.confidence import Judgement, judgement
from gate.strange import quoted
from gate.task import Step, Task
from gate.template import TemplateError, expand
from gate.tool import Expect
from gate.world import Tools
from tools.patterns import matches

BY = "the recipe's rule"
CERTAIN = 1.0  # a rule that holds is no opinion
SHOWN = 60  # characters of a value
WORDS = {
    "equals": "not",
    "contains": "without",
    "matches": "not of the form",
    "least": "below",
    "most": "above",
}


class Rules:
    """Implements gate.world.Judge: reads nothing but the action and the recipe."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def judge(self, task: Task, step: Step, action: Action) -> Judgement | None:
        """What the recipe's rules make of the result; None where it has none, or they say nothing of this one."""
        spec = self._tools.find(action.server, action.tool)
        return judged(spec.recipe.expect, action) if spec is not None else None


def judged(rules: Sequence[Expect], action: Action) -> Judgement | None:
    """The worst verdict of all rules that can be looked at; None where there is none."""
    scope = _scope(action)
    found = [one for one in (_verdict(rule, scope) for rule in rules) if one is not None]
    for verdict in ("failed", "doubtful"):
        against = [why for said, why in found if said == verdict]
        if against:
            return judgement(verdict, "; ".join(against), BY)
    return judgement("passed", "", BY, CERTAIN) if found else None


def _scope(action: Action) -> dict[str, Json]:
    """What templates may name, as for undo and drift."""
    outcome = action.outcome
    fields = outcome.structured if outcome and isinstance(outcome.structured, dict) else {}
    result = {"text": outcome.text if outcome else "", **fields}
    return {"args": parse(action.args), "capture": action.capture, "result": result}


def _verdict(rule: Expect, scope: Mapping[str, Json]) -> tuple[str, str] | None:
    """What one rule says, and why. None where it compares with something that this call did not have."""
    try:
        value = expand(rule.that, scope)
    except TemplateError:
        return rule.verdict, rule.why or f"there is no {rule.that}"
    against: list[str] = []
    for test, template in rule.tests.items():
        try:
            wanted = template if test == "matches" else expand(template, scope)
        except TemplateError:
            return None
        if not HOLDS[test](value, wanted):
            against.append(f"{rule.that} is {_shown(value)}, {WORDS[test]} {_shown(wanted)}")
    return (rule.verdict, rule.why or "; ".join(against)) if against else ("passed", "")


def _shown(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"“{quoted(text, SHOWN)}”"


def _same(value: Json, wanted: Json) -> bool:
    """As JSON has it: 1 and 1.0 are one number, 1 and true are not the same."""
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def _contains(value: Json, wanted: Json) -> bool:
    if isinstance(value, str):
        return isinstance(wanted, str) and wanted in value
    return isinstance(value, list) and any(_same(one, wanted) for one in value)


def _matches(value: Json, pattern: Json) -> bool:
    return isinstance(value, str) and bool(matches(str(pattern), value))


def _number(value: Json) -> float:
    """What is no number is neither above nor below anything."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


HOLDS: Mapping[str, Callable[[Json, Json], bool]] = {
    "equals": _same,
    "contains": _contains,
    "matches": _matches,
    "least": lambda value, least: _number(value) >= _number(least),
    "most": lambda value, most: _number(value) <= _number(most),
}
