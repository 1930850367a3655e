"""Judges a result by the rules of its tool's recipe (verification tier 2)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence

from gate.rules.action import Action, Json
from gate.rules.canonical_json import parse
from gate.rules.confidence import Judgement, judgement
from gate.rules.ports import Tools
from gate.rules.task import Step, Task
from gate.rules.templates import TemplateError, expand
from gate.rules.tool import Expect
from gate.rules.unicode_safety import quoted
from tools.mcp.schema_patterns import matches

JUDGE_NAME = "the recipe's rule"
CERTAIN = 1.0  # confidence of a rule that holds
MAX_SHOWN = 60  # characters of a value
FAILURE_WORDS = {
    "equals": "not",
    "contains": "without",
    "matches": "not of the form",
    "least": "below",
    "most": "above",
}


class RuleJudge:
    """Implements gate.rules.ports.Judge: reads nothing but the action and the recipe."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def judge(self, task: Task, step: Step, action: Action) -> Judgement | None:
        """The judgement by the recipe's rules; None where it has none, or none applies."""
        spec = self._tools.find(action.server, action.tool)
        return judge_by_rules(spec.recipe.expect, action) if spec is not None else None


def judge_by_rules(rules: Sequence[Expect], action: Action) -> Judgement | None:
    """The worst verdict of all rules that apply; None where none does."""
    scope = _scope(action)
    verdicts = [one for one in (_verdict(rule, scope) for rule in rules) if one is not None]
    for verdict in ("failed", "doubtful"):
        failures = [why for verdict_of_rule, why in verdicts if verdict_of_rule == verdict]
        if failures:
            return judgement(verdict, "; ".join(failures), JUDGE_NAME)
    return judgement("passed", "", JUDGE_NAME, CERTAIN) if verdicts else None


def _scope(action: Action) -> dict[str, Json]:
    """The values that templates may name, as for undo and drift."""
    outcome = action.outcome
    fields = outcome.structured if outcome and isinstance(outcome.structured, dict) else {}
    result = {"text": outcome.text if outcome else "", **fields}
    return {"args": parse(action.args), "capture": action.capture, "result": result}


def _verdict(rule: Expect, scope: Mapping[str, Json]) -> tuple[str, str] | None:
    """The verdict of one rule, and why. None where it compares with a value that this call does not have."""
    try:
        value = expand(rule.that, scope)
    except TemplateError:
        return rule.verdict, rule.why or f"there is no {rule.that}"
    failures: list[str] = []
    for test, template in rule.tests.items():
        try:
            expected = template if test == "matches" else expand(template, scope)
        except TemplateError:
            return None
        if not TESTS[test](value, expected):
            failures.append(f"{rule.that} is {_shown(value)}, {FAILURE_WORDS[test]} {_shown(expected)}")
    return (rule.verdict, rule.why or "; ".join(failures)) if failures else ("passed", "")


def _shown(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"“{quoted(text, MAX_SHOWN)}”"


def _equal(value: Json, expected: Json) -> bool:
    """Equality as in JSON: 1 and 1.0 are one number, 1 and true are not equal."""
    return isinstance(value, bool) == isinstance(expected, bool) and bool(value == expected)


def _contains(value: Json, expected: Json) -> bool:
    if isinstance(value, str):
        return isinstance(expected, str) and expected in value
    return isinstance(value, list) and any(_equal(one, expected) for one in value)


def _matches(value: Json, pattern: Json) -> bool:
    return isinstance(value, str) and bool(matches(str(pattern), value))


def _number(value: Json) -> float:
    """The number, or NaN, which is neither above nor below anything."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


TESTS: Mapping[str, Callable[[Json, Json], bool]] = {
    "equals": _equal,
    "contains": _contains,
    "matches": _matches,
    "least": lambda value, minimum: _number(value) >= _number(minimum),
    "most": lambda value, maximum: _number(value) <= _number(maximum),
}
