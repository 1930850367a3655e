"""Rules about what a call's files lie in take bounded work, counted in the checks that are made and their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gate.arguments.declared_targets import Targets
from gate.arguments.inside_work import MOST_CHECKED, says_of
from gate.rules.action import CallClass, Decision, Json, Verdict
from gate.rules.policy import Policy, Rule, decide
from gate.rules.policy_reasons import TOO_MANY
from gate.rules.tool import Hints, Recipe, ToolSpec, Trust
from tools.mcp.schema import problems

INSIDE = ("table", "call.table", "changes[].table")
TABLES = tuple(f"Table {number}" for number in range(390))
CHANGES = [{"table": "people", "op": "update", "where": {"id": n}, "values": {"boss": n}} for n in range(40)]
ARGS = {"path": "b.sqlite", "changes": CHANGES}
TEN_PATTERNS = {"anyOf": [{"pattern": str(digit)} for digit in range(10)]}


def deleting(table: Json) -> dict[str, Any]:
    item = {"required": ["table", "op"], "properties": {"op": {"const": "delete"}, "table": table}}
    return {"required": ["changes"], "properties": {"changes": {"contains": item}}}


def about(name: str, value: Json = "Salaries") -> dict[str, Any]:
    return {"required": [name], "properties": {name: {"const": value}}}


class Checks:
    """Holds schemas against arguments, and notes how often, and against how many changes."""

    def __init__(self) -> None:
        self.made = self.changes = 0

    def __call__(self, schema: Mapping[str, Json], value: Json) -> bool:
        self.made += 1
        self.changes += len(value.get("changes", ()))
        return not problems(schema, value)


def decided(checks: Checks, *rules: Rule, args: Json = ARGS, tables: tuple[str, ...] = TABLES) -> Decision:
    targets = Targets(paths=("path",), inside=INSIDE, reported_in=("{capture.t}",), resolved_in=tables)
    recipe = Recipe(summary="Write", cls=CallClass.WRITE, targets=targets)
    spec = ToolSpec("data", "write", "Write", "", {}, "d", Hints(), Trust.BUNDLED, recipe=recipe)
    return decide(Policy("p", rules), spec, args, "C1", checks)


def denies(*schemas: Json) -> tuple[Rule, ...]:
    return tuple(Rule(f"r{at}", ("data.*",), deny=True, schema=one) for at, one in enumerate(schemas))


def test_a_table_is_put_only_where_a_rule_says_something() -> None:
    for schema, kinds in ((deleting({"pattern": "5$"}), 2), (about("path", "x"), 1)):
        checks = Checks()
        assert decided(checks, *denies(schema)).verdict is Verdict.CONFIRM
        assert checks.made <= kinds + 2  # and the arguments as they are, and beside what was reported


@pytest.mark.parametrize("count", [2, 5, 20])
def test_more_work_than_is_done_for_one_call_is_refused(count: int) -> None:
    checks = Checks()
    decision = decided(checks, *denies(*[deleting(TEN_PATTERNS | {"title": str(n)}) for n in range(count)]))
    assert checks.changes <= MOST_CHECKED // 7 + 5 * 40 * count
    assert (decision.verdict is Verdict.DENY) is (count > 2)
    assert count == 2 or (decision.reason, decision.rule) == TOO_MANY


@pytest.mark.parametrize("raise_", [{"deny": True}, {"at_least": CallClass.DESTRUCTIVE}, {"private": True}])
def test_names_that_are_compared_with_one_another_are_refused_where_there_are_many(raise_: Any) -> None:
    checks = Checks()
    schema = deleting({"not": {"const": ["a"], "uniqueItems": True}})
    decision = decided(checks, Rule("r", ("data.*",), schema=schema, **raise_))
    assert (decision.verdict, decision.reason, decision.rule) == (Verdict.DENY, *TOO_MANY)
    assert checks.made <= 6


def test_what_another_rule_denies_is_told_as_that() -> None:
    many = denies(*[deleting(TEN_PATTERNS | {"title": str(n)}) for n in range(20)])
    decision = decided(Checks(), *many, Rule("never", ("data.*",), deny=True))
    assert (decision.verdict, decision.rule) == (Verdict.DENY, "never")


def test_ordinary_rules_about_the_tables_of_many_changes_are_all_held_against_them() -> None:
    args = {"path": "b.sqlite", "changes": CHANGES * 5}
    closed = [deleting({"enum": [f"Closed {n}"]}) for n in range(10)]
    rules = denies(*closed, *(about("table", f"Closed {n}") for n in range(20)))
    assert decided(Checks(), *rules, args=args).verdict is Verdict.CONFIRM


@pytest.mark.parametrize(
    "schema",
    [
        about("table"),
        about("call", {"table": "salaries"}),
        {"required": ["changes"], "properties": {"changes": {"items": about("table")}}},
        {"allOf": [{"anyOf": [about("table")]}]},
        {"$ref": "#/$defs/closed", "$defs": {"closed": about("table")}},
        {"patternProperties": {"^tab": {"const": "Salaries"}}, "required": ["table"]},
        {"additionalProperties": {"enum": ["b.sqlite", "Salaries", CHANGES]}, "required": ["table"]},
        {"not": {"not": about("table")}},
        {"propertyNames": {"enum": ["path", "changes", "table"]}, "required": ["table"]},
        {"minProperties": 3},
    ],
)
def test_a_rule_about_a_table_holds_wherever_its_schema_speaks_of_it(schema: Json) -> None:
    decision = decided(Checks(), *denies(schema), tables=("SALARIES",))
    assert (decision.verdict, decision.rule) == (Verdict.DENY, "r0")


def test_what_a_schema_says_inside_of_an_argument_is_said_of_no_other() -> None:
    assert says_of(deleting({"const": "a"}), "changes")
    assert not says_of(deleting({"const": "a"}), "table")
    assert not says_of({"items": about("table")}, "table")
    assert not says_of({"title": "table"}, "table")
