"""What schemas say where arguments are missing that may have any value."""

from __future__ import annotations

import pytest

from gate.arguments.missing_arguments import MOST_PARTS, without_missing
from gate.rules.action import Json
from tests.cpu_time import seconds
from tools.mcp.schema import problems


def of(**wanted: Json) -> dict[str, Json]:
    return {"required": [*wanted], "properties": {name: {"const": value} for name, value in wanted.items()}}


X, Y = of(path="x", repo="a"), of(path="y", repo="b")


def holds(schema: Json, args: Json) -> bool:
    found = problems(without_missing(schema, {"path"}, {"repo"} - args.keys()), args)
    return all(problem.unsure for problem in found)


@pytest.mark.parametrize(
    "schema",
    [
        X,
        {"anyOf": [X, Y]},
        {"oneOf": [X, Y]},
        {"anyOf": [{"required": ["other"]}], "oneOf": [X, Y], "required": ["repo"]},
        {"$ref": "#/definitions/x", "definitions": {"x": X}},
        {"allOf": [{"$ref": "#/$defs/a/allOf/0"}], "required": ["repo"], "$defs": {"a": {"allOf": [X]}}},
        {"$ref": "#/%24defs/x", "$defs": {"x": X}},
        {"if": X, "then": True, "else": False},
        {"if": of(path="x"), "then": of(repo="a"), "else": False},
        {"if": of(path="y"), "then": False, "else": X},
        {"required": ["path"], "dependentSchemas": {"path": X}},
        {"properties": X["properties"], "dependentRequired": {"path": ["repo"]}},
        {**of(repo="a"), "anyOf": [of(path="x"), of(path="z")]},
        {**of(path="x"), "not": {"properties": {"repo": {"const": "else"}}}},
        {**of(path="x"), "not": {"anyOf": [of(repo="else"), {"properties": {"repo": {"const": "other"}}}]}},
        {**of(path="x"), "not": {"not": {"properties": {"repo": {"const": "a"}}, "required": ["repo"]}}},
    ],
)
def test_a_schema_holds_for_some_value_of_what_is_missing_however_it_is_written(schema: Json) -> None:
    assert holds(schema, {"path": "x", "other": 1})
    assert not holds(schema, {"path": "else"})
    assert not holds(schema, {"path": "x", "repo": "else"})


@pytest.mark.parametrize(
    "schema",
    [
        {"if": of(path="x"), "then": False, "else": of(path="y", repo="b")},
        {"if": {"$ref": "#/$defs/x"}, "then": False, "$defs": {"x": of(path="x")}},
        {"oneOf": [of(path="x"), {"required": ["path"]}]},
        {"allOf": [X, {"not": of(path="x")}]},
        {"$ref": "#/$defs/x", "$defs": {"x": False}},
        {"then": of(path="x"), "else": False, "required": ["repo"]},
    ],
)
def test_what_a_schema_spares_whatever_is_missing_is_spared(schema: Json) -> None:
    assert not holds(schema, {"path": "x"})


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"repo": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"$ref": "#/$defs/x"}}},
        {"anyOf": [{"$ref": "#"}, {"required": ["path"]}]},
        {"allOf": [{"$ref": "#name"}], "$defs": {"x": {"$anchor": "name", "required": ["path"]}}},
    ],
)
def test_a_reference_that_is_not_put_in_its_place_stays(schema: Json) -> None:
    assert "'$ref'" in str(without_missing(schema, {"path"}, {"repo"}))
    assert holds(schema, {"path": "x"})


def test_no_references_make_a_schema_large_or_are_followed_without_an_end() -> None:
    twice = {f"d{at}": {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(300)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**twice, "d300": X}}
    made = without_missing(schema, {"path"}, {"repo"})
    assert str(made["allOf"]).count("{") < 3 * MOST_PARTS
    run = lambda: without_missing(schema, {"path"}, {"repo"})  # noqa: E731
    assert seconds(run, 3, 0.3) < 0.3


def test_a_number_of_arguments_that_is_asked_for_may_be_made_up_by_missing_ones() -> None:
    assert holds({**of(path="x"), "minProperties": 3}, {"path": "x"})
    assert not holds({**of(path="x"), "minProperties": 3}, {"path": "x", "repo": "a"})
