"""Each part of the work for a hostile schema counts: none holds the event loop, whatever it is asked about."""

from __future__ import annotations

import json
from collections.abc import Callable
from string import ascii_lowercase
from typing import Any

import pytest

from gate.rules.checks_in_a_row import STEPS, checked_in_a_row, steps_for_one
from gate.rules.close_names import close_matches
from tests.cpu_time import seconds
from tools.mcp.limits import ListingSize
from tools.mcp.schema import MAX_REFERENCE, MAX_SENTENCE, TOO_COMPLEX, problems, schema_error

DRAFT_3 = "http://json-schema.org/draft-03/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
FLOATS = {"l": [1.5] * 52_000}  # 260 kB

PAIRS = "(" + "|".join(first + second for first in "ab" for second in ascii_lowercase[:24]) + ")"


def doubling(depth: int) -> dict[str, Any]:
    """Each part names the next one twice."""
    parts: dict[str, Any] = {f"x{depth}": {}}
    for n in range(depth):
        parts[f"x{n}"] = {"dependentSchemas": {name: {"$ref": f"#/$defs/x{n + 1}"} for name in "ab"}}
    return {"unevaluatedProperties": True, "$ref": "#/$defs/x0", "$defs": parts}


def doubling_items(depth: int) -> dict[str, Any]:
    parts: dict[str, Any] = {f"x{depth}": {}}
    for n in range(depth):
        parts[f"x{n}"] = dict.fromkeys(("$ref", "$dynamicRef"), f"#/$defs/x{n + 1}")
    return {"properties": {"l": {"unevaluatedItems": True, "$ref": "#/$defs/x0"}}, "$defs": parts}


def false_parts(count: int, times: int) -> dict[str, Any]:
    return {"anyOf": [{"$ref": "#/$defs/f"}] * times, "$defs": {"f": {"anyOf": [False] * count}}}


HOSTILE: dict[str, tuple[dict[str, Any], Any]] = {
    "unevaluated names": (doubling(40), {"a": 1, "b": 1}),
    "unevaluated names of 2019": ({"$schema": DRAFT_2019, **doubling(40)}, {"a": 1, "b": 1}),
    "unevaluated items": (doubling_items(40), {"l": [1]}),
    "unevaluated names by patterns": (
        {
            "unevaluatedProperties": True,
            "patternProperties": {f"^{n:03x}[0-9a-z]q": True for n in range(150)},
        },
        {f"zz{n}": 1 for n in range(100)},
    ),
    "an unevaluated name of 4 MB": (
        {"unevaluatedProperties": True, "patternProperties": {"a{0,400}b": True}},
        {"a" * 4_000_000: 1},
    ),
    "false parts": ({"anyOf": [False] * 330}, FLOATS),
    "false parts behind references": (false_parts(280, 20), FLOATS),
    "a slow pattern and many lengths": (
        {"properties": {"l": {"items": {"pattern": f"^_{PAIRS * 13}|^-"}}}},
        {"l": ["-" * n for n in range(1, 340)]},
    ),
    "a pattern and many lengths": (
        {"properties": {"l": {"if": True, "items": {"pattern": f"^_{PAIRS * 6}|^-"}}}},
        {"l": ["-" * n for n in range(1, 340)]},
    ),
    "a long text and false parts": ({"anyOf": [False] * 280}, {"l": "x" * 4_000_000}),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_part_of_a_schema_is_worked_on_without_a_step(kind: str) -> None:
    schema, value = HOSTILE[kind]
    assert not ListingSize().too_large_with(schema)
    assert schema_error(json.dumps(schema)) == ""
    assert seconds(lambda: problems(schema, value), 1, 0.2) < 0.2  # once: what is cached would take no time


def test_a_search_that_doubles_at_each_level_is_left_off() -> None:
    assert problems(*HOSTILE["unevaluated names"])[0].text == TOO_COMPLEX


ENDLESS: dict[str, dict[str, Any]] = {
    "references alone": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
    "the same in each condition": {"uniqueItems": True, "if": {"items": False}, "then": {"$ref": "#"}},
    "its own opposite": {"type": ["object", "array"], "not": {"contains": {"$ref": "#"}, "$ref": "#"}},
    "what it evaluates": {"if": {"type": "object"}, "then": {"$ref": "#"}, "unevaluatedProperties": False},
    "an older draft": {"$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "allOf": [{"$ref": "#"}]},
}  # fmt: skip


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("schema", ENDLESS.values(), ids=ENDLESS)
def test_a_schema_that_refers_to_itself_has_one_answer_wherever_the_stack_ends(schema: Any) -> None:
    assert schema_error(json.dumps(schema)) == ""
    for calls in (*range(30), *range(800, 830)):
        assert [one.text for one in below(calls, lambda: problems(schema, {"a": 1}))] == [TOO_COMPLEX]


def below(calls: int, ask: Callable[[], Any]) -> Any:
    """What is answered where so many more calls are on the stack."""
    return below(calls - 1, ask) if calls else ask()


def test_what_is_not_evaluated_is_still_found() -> None:
    schema = {"$ref": "#/$defs/a", "unevaluatedProperties": False, "$defs": {"a": {"properties": {"a": {}}}}}
    assert not problems(schema, {"a": 1})
    assert problems(schema, {"a": 1, "b": 2})[0].text == "This has more in it than is known here."
    items = {"allOf": [{"prefixItems": [True]}], "unevaluatedItems": False}
    assert not problems(items, [1])
    assert problems(items, [1, 2])


def test_a_part_that_allows_nothing_is_told_at_its_place() -> None:
    (problem,) = problems({"properties": {"a": False}}, {"a": 1, "b": 2})
    assert (problem.path, problem.text) == (("a",), "`a` is not allowed.")
    (problem,) = problems({"properties": {"a": {"anyOf": [False, {"type": "string"}]}}}, {"a": 1})
    assert problem.text == "`a` is not of any kind that the tool takes (a whole number was given)."
    assert not problem.unsure


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef", "$id", "$anchor"])
def test_a_long_reference_or_id_is_refused(keyword: str) -> None:
    name = "a" * (MAX_REFERENCE + 1)
    text = f"#/$defs/{name}" if keyword.lower().endswith("ref") else name
    schema = {"properties": {"l": {"items": {keyword: text}}}, "$defs": {name: True}}
    assert schema_error(json.dumps(schema)).startswith("its schema has a reference or an id of more than 300")


def test_the_longest_references_take_bounded_time() -> None:
    name = "a" * ((MAX_REFERENCE - 8) // 3)
    schema = {"items": {"$ref": "#/$defs/" + "%61" * len(name)}, "$defs": {name: True}}
    assert schema_error(json.dumps(schema)) == ""
    assert problems(schema, [1] * 100) == ()
    assert seconds(lambda: problems(schema, [1] * 1_400), 2, 0.1) < 0.1


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"dependentRequired": {"a": ["b" * 30_000]}}, {"a": 1}),
        ({"required": ["b" * 30_000]}, {}),
        ({"properties": {"b" * 30_000: {}}, "additionalProperties": False}, {"a": 1}),
    ],
)
def test_a_sentence_about_a_value_is_short_whatever_names_the_schema_has(
    schema: dict[str, Any], value: Any
) -> None:
    assert len(problems(schema, value)[0].text) <= MAX_SENTENCE


SLOW = "(?:x|a){0,300}(?:b|z)"


@pytest.mark.slow
def test_checks_in_a_row_take_bounded_time_together() -> None:
    """Thirty steps of one reply, each with arguments of its own, held the loop up for 3.4 s."""
    schema = {"properties": {"x": {"allOf": [{"not": {"pattern": SLOW + "(?:)" * n}} for n in range(18)]}}}
    found = []

    def checked() -> None:
        with checked_in_a_row():
            found.extend(problems(schema, {"x": "a" * (1_500 + n)}) for n in range(30))

    assert seconds(checked) < 1.2
    assert found[0] == ()
    assert found[-1][0].text == TOO_COMPLEX
    assert problems(schema, {"x": "a" * 1_500}) == ()


def test_checks_in_a_row_of_ordinary_arguments_all_come_to_an_end() -> None:
    schema = {"type": "object", "properties": {f"p{n}": {"type": ["string", "null"]} for n in range(100)}}
    with checked_in_a_row():
        assert not any(problems(schema, {f"p{n}": "x" for n in range(100)}) for _ in range(100))


def test_a_check_with_no_steps_left_looks_at_nothing() -> None:
    with checked_in_a_row(0):
        assert problems({"title": "anything"}, {})[0].text == TOO_COMPLEX
        assert close_matches("titel", ["title"]) == []
    assert close_matches("titel", ["title"]) == ["title"]


def test_comparing_names_and_going_through_a_schema_take_steps_of_a_row() -> None:
    with checked_in_a_row():
        close_matches("ab" * 32, ["ba" * 32] * 60)
        assert steps_for_one(STEPS) < STEPS - 150
    parts = {"$schema": DRAFT_3, "type": "object", "definitions": {f"{n:x}": {} for n in range(4_990)}}
    with checked_in_a_row():
        assert problems(parts, [])
        assert steps_for_one(STEPS) < STEPS - 500


def test_rows_within_rows_have_their_own_steps_and_take_them_from_those_around() -> None:
    with checked_in_a_row(100):
        with checked_in_a_row(60):
            assert steps_for_one(1_000) == 60
            close_matches("ab" * 32, ["ba" * 32] * 10)
            left = steps_for_one(1_000)
            assert left < 60
        assert steps_for_one(1_000) == 40 + left
        with checked_in_a_row(1_000):
            assert steps_for_one(1_000) == 40 + left
