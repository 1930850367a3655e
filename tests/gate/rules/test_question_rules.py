"""The form of a server's question, its answer, and who may give it."""

from __future__ import annotations

from typing import Any

import pytest

from gate.rules.server_questions import (
    ARROWS,
    NoForm,
    QuestionEvent,
    QuestionState,
    defaults,
    form_of,
    labels,
    problems,
)
from tools.mcp.schema import problems as broken

FLAT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2, "maxLength": 5},
        "mail": {"type": "string", "format": "email"},
        "day": {"type": "string", "format": "date", "default": "2026-11-23"},
        "at": {"type": "string", "format": "date-time"},
        "site": {"type": "string", "format": "uri"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "share": {"type": "number"},
        "sure": {"type": "boolean", "default": True},
        "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
        "hue": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b"}]},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y", "z"]}, "maxItems": 2},
        "marks": {"type": "array", "items": {"anyOf": [{"const": "p", "title": "Plus"}]}, "minItems": 1},
    },
    "required": ["name"],
}
RIGHT: dict[str, Any] = {
    "name": "Ann",
    "mail": "a@b.example",
    "day": "2026-01-31",
    "at": "2026-01-31T10:00:00Z",
    "site": "https://example.com/x",
    "count": 9,
    "share": 0.5,
    "sure": False,
    "size": "l",
    "hue": "b",
    "tags": ["x", "z"],
    "marks": ["p"],
}


def test_a_waiting_question_ends_once_and_in_one_way() -> None:
    assert {state for state, _ in ARROWS} == {QuestionState.WAITING}
    assert {event for _, event in ARROWS} == set(QuestionEvent)
    assert set(ARROWS.values()) == set(QuestionState) - {QuestionState.WAITING}


def test_every_kind_of_a_flat_schema_can_be_asked() -> None:
    assert form_of(FLAT) == FLAT
    assert defaults(FLAT, broken) == {"day": "2026-11-23", "count": 3, "sure": True}


def test_choices_are_shown_by_their_titles() -> None:
    properties = FLAT["properties"]
    assert labels(properties["size"]) == {"s": "Small", "l": "Large"}
    assert labels(properties["hue"]) == {"r": "Red", "b": "b"}
    assert labels(properties["marks"]["items"]) == {"p": "Plus"}
    assert labels(properties["name"]) == {}


def wrong_at(content: dict[str, Any]) -> dict[str, str]:
    """The problems of an answer by the names of the fields."""
    return {str(one.path[0]): one.text for one in problems(FLAT, content, broken)}


def test_a_right_answer_has_no_problems() -> None:
    assert wrong_at(RIGHT) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", "A"), ("name", "Annabel"), ("name", 3), ("mail", "a b@c.d"), ("mail", "nobody"),
        ("day", "20260131"), ("day", "tomorrow"), ("at", "2026-01-31T10:00:00"), ("at", "2026-01-31"),
        ("site", "example"), ("site", "https://[x"), ("count", 0), ("count", 10), ("count", 1.5), ("count", True),
        ("share", "1"), ("sure", "yes"), ("size", "Small"), ("hue", "Red"), ("tags", ["x", "y", "z"]),
        ("tags", ["w"]), ("tags", "x"), ("marks", []),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_at_its_field(name: str, value: Any) -> None:
    assert list(wrong_at({**RIGHT, name: value})) == [name]


def test_what_is_missing_is_told_at_its_field() -> None:
    assert wrong_at({}) == {"name": "This needs a value."}


def field(**declared: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": declared}}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "array", "properties": {}},
        {"type": "object", "properties": {f"f{i}": {"type": "string"} for i in range(5000)}},
        {"type": "object", "properties": {"x": True}},
        {"type": "object", "properties": {}, "required": ["x"]},
        {"type": "object", "properties": {"x": {"type": "string"}}, "required": "x"},
        {"type": "object", "properties": {"x" * 300: {"type": "string"}}},
        field(type="object", properties={"y": {"type": "string"}}),
        field(type="array", items={"type": "string"}),
        field(type="array", items={"type": "object"}),
        field(type=["string", "null"]),
        field(),
        field(type="string", enum=[]),
        field(type="string", oneOf=[]),
        field(type="string", enum=None, oneOf=[{"const": "a"}]),
        field(type="string", enum=[], oneOf=[{"const": "a"}]),
        field(type="string", oneOf=None, anyOf=[{"const": "a"}]),
        field(type=None, oneOf=[{"const": "a"}]),
        field(type=5, enum=["a"]),
        field(type=["string"], enum=["a"]),
        field(enum=["a"]),
        field(type="number", enum=["a"]),
        field(type="array", enum=["a"]),
        field(type="array", enum=[], items={"type": "string", "enum": ["a"]}),
        field(type="array", items={"type": 5, "enum": ["a"]}),
        field(type="array", items={"type": "number", "enum": ["a"]}),
        field(type="array", items={"enum": [], "oneOf": [{"const": "a"}]}),
        field(type="string", enum=[1, 2]),
        field(type="string", enum=[f"v{i}" for i in range(101)]),
        field(type="string", enum=["a" * 76]),
        field(type="string", enum=["a", "a"]),
        field(type="string", enum=["a", "b"], enumNames=["one", "one"]),
        field(anyOf=[{"type": "string"}, {"type": "number"}]),
        field(type="string", description="d" * 100_000),
        field(type="string", minLength="two"),
        field(type="number", maximum=True),
        field(type="string", examples=["unseen" * 20_000]),
        {"type": "object", "properties": {}, "$defs": {f"d{i}": [[]] * 1000 for i in range(50)}},
    ],
)
def test_what_is_no_flat_form_is_refused_in_words(schema: dict[str, Any]) -> None:
    with pytest.raises(NoForm) as refused:
        form_of(schema)
    assert str(refused.value)


def test_what_no_form_can_ask_is_left_out_of_the_schema() -> None:
    odd = field(type="string", pattern="(a+)+$", allOf=[{"minLength": "two"}], examples=["x"])
    assert form_of({**odd, "$defs": {"y": {}}}) == {**field(type="string"), "required": []}


def test_a_default_that_breaks_its_own_rules_is_left_out() -> None:
    assert defaults(field(type="string", minLength=3, default="x"), broken) == {}
    assert defaults(field(type="string", format="date", default="soon"), broken) == {}


def test_a_list_that_has_to_be_given_begins_empty() -> None:
    items = {"type": "string", "enum": ["x"]}
    schema = {**field(type="array", items=items), "required": ["x"]}
    assert defaults(schema, broken) == {"x": []}
    assert defaults({**field(type="array", items=items, minItems=1), "required": ["x"]}, broken) == {}
