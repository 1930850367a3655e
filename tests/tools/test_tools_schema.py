"""JSON Schema validation: sentences for people, and bounded time whatever the schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.rules.tool import Problem
from tests.cpu_time import seconds, within
from tools.mcp.schema import MAX_PROBLEMS, TOO_COMPLEX, UNCHECKABLE, problems, schema_error
from tools.mcp.schema_fast_path import always_checkable, matches

FILE = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "limit": {"type": "integer", "minimum": 1, "maximum": 10},
        "mode": {"enum": ["a", "b", "c"]},
        "to": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "maxItems": 2},
        "deep": {"type": "object", "properties": {"n": {"type": ["number", "null"]}}, "required": ["n"]},
        "either": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        "sha": {"anyOf": [{"type": "string", "pattern": "^(absent|[0-9a-f]{4})$"}, {"type": "null"}]},
    },
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "path", "expected"),
    [
        ({}, ("path",), "`path` is missing."),
        ({"path": 5}, ("path",), "`path` must be text, not a whole number."),
        ({"path": ""}, ("path",), "`path` must not be empty."),
        ({"path": "a", "limit": "5"}, ("limit",), "`limit` must be a whole number, not text."),
        (
            {"path": "a", "limit": 5.5},
            ("limit",),
            "`limit` must be a whole number, not a number with decimals.",
        ),
        ({"path": "a", "limit": True}, ("limit",), "`limit` must be a whole number, not true."),
        ({"path": "a", "limit": 0}, ("limit",), "`limit` must be at least 1, not 0."),
        ({"path": "a", "limit": 11}, ("limit",), "`limit` must be at most 10, not 11."),
        ({"path": "a", "mode": "d"}, ("mode",), "`mode` must be a, b or c, not d."),
        ({"path": "a", "to": "x"}, ("to",), "`to` must be a list, not text."),
        ({"path": "a", "to": ["x", 1]}, ("to", 1), "`to[1]` must be text, not a whole number."),
        ({"path": "a", "to": ["x", "x"]}, ("to",), "`to` must not name anything twice."),
        ({"path": "a", "to": ["x", "y", "z"]}, ("to",), "`to` must have at most 2 items, not 3."),
        ({"path": "a", "deep": {}}, ("deep", "n"), "`deep.n` is missing."),
        ({"path": "a", "deep": {"n": "1"}}, ("deep", "n"), "`deep.n` must be a number or empty, not text."),
        ({"path": "a", "pth": 1}, ("pth",), "`pth` is not known here; did you mean `path`?"),
        ({"path": "a", "zzz": 1}, ("zzz",), "`zzz` is not known here; known are `path`, `limit`, "),
        ({"path": "a", "either": 1}, ("either",), "is not of any kind that the tool takes"),
        ({"path": "a", "either": ["x", 2]}, ("either", 1), "`either[1]` must be text"),
        ({"path": "a", "sha": "nope"}, ("sha",), "`sha` does not have the form that is asked for"),
        ("a", (), "This must be an object, not text."),
    ],
)
def test_an_invalid_value_gets_a_sentence(value: Any, path: tuple[str | int, ...], expected: str) -> None:
    found = problems(FILE, value)
    assert len(found) == 1
    assert found[0].path == path
    assert expected in found[0].text


@pytest.mark.parametrize(
    "value",
    [
        {"path": "a"},
        {
            "path": "a",
            "limit": 5,
            "mode": "a",
            "to": ["x"],
            "deep": {"n": None},
            "either": ["x"],
            "sha": "abcd",
        },
    ],
)
def test_a_valid_value_has_no_problems(value: Any) -> None:
    assert problems(FILE, value) == ()


@pytest.mark.parametrize(
    "rule", [{"enum": []}, {"type": "string", "enum": []}, {"propertyNames": {"enum": []}}]
)
def test_a_schema_that_allows_no_value_says_so_of_each(rule: dict[str, Any]) -> None:
    assert schema_error(json.dumps(rule)) == ""
    (problem,) = problems({"properties": {"a": rule}}, {"a": {"x": 1} if "propertyNames" in rule else "x"})
    assert problem.text == "`a` must be nothing, not x."
    assert not problem.unsure


DRAFT_3, DRAFT_4 = (f"http://json-schema.org/draft-0{number}/schema#" for number in (3, 4))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"multipleOf": 0.1}, 10**350),
        ({"multipleOf": float("inf")}, float("inf")),
        ({"$schema": DRAFT_3, "type": "file"}, "x"),
        ({"$schema": DRAFT_4, "$ref": 5}, "x"),
    ],
    ids=["an overflow", "no number", "an unknown type", "a reference that is no text"],
)
def test_what_cannot_be_computed_is_one_unsure_problem(schema: dict[str, Any], value: Any) -> None:
    assert schema_error(json.dumps(schema)) == ""
    assert problems(schema, value) == (Problem((), UNCHECKABLE, unsure=True),)


def test_several_problems_are_reported_and_each_missing_name_separately() -> None:
    schema = {"type": "object", "required": ["a", "b"], "properties": {"c": {"type": "string"}}}
    assert [p.path for p in problems(schema, {"c": 1})] == [("a",), ("b",), ("c",)]


def test_the_number_of_reported_problems_is_bounded() -> None:
    assert len(problems({"items": {"type": "string"}}, list(range(1000)))) == MAX_PROBLEMS


def test_an_older_draft_is_supported() -> None:
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 5, "exclusiveMinimum": True}
    assert problems(schema, 5)
    assert not problems(schema, 6)


def test_local_references_are_followed() -> None:
    schema = {"$defs": {"name": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/name"}}}
    assert problems(schema, {"a": 1})[0].text == "`a` must be text, not a whole number."


def test_a_remote_reference_is_never_fetched() -> None:
    schema = {"properties": {"a": {"$ref": "https://x.test/schema.json"}}}
    assert "could not be checked" in problems(schema, {"a": 1})[0].text


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {
            "$defs": {
                **{f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 4} for n in range(30)},
                "d30": {"type": "string"},
            },
            "$ref": "#/$defs/d0",
        },
    ],
)
def test_validation_by_an_endless_schema_stops(schema: Any) -> None:
    with within(20):
        assert problems(schema, 1)[0].text == TOO_COMPLEX


def test_unique_items_compares_numbers_as_json_does() -> None:
    unique = {"uniqueItems": True}
    assert not problems(unique, [1, True, "1", [1], {"a": 1}])
    assert problems(unique, [1, 1.0])
    assert problems(unique, [{"a": [1.0]}, {"a": [1]}])
    with within(5):
        assert not problems(unique, [value for n in range(10_000) for value in (n, str(n))])


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "^(a|aa)+$", "(a*)*b", "^(([a-z])+.)+[A-Z]", "(.*)\\1x", "(a?){200}b"]
)
def test_a_pattern_with_unbounded_work_is_left_to_the_server(pattern: str) -> None:
    with within(1):
        assert matches(pattern, "a" * 5000) is None
        assert problems({"pattern": pattern}, "a" * 5000) == ()
    assert not always_checkable(pattern, 65_536)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^(?:[a-z0-9-]{1,63}\.?){1,8}$", "please-look-up-the-host-of-our-build-server_"),
        (r"^([\w-]{1,32} ?){1,10}$", "release-notes-of-the-sprint-42!"),
        (r"(?:a{1,100}){1,100}b", "a" * 30),
        ("a{0,99}a{0,99}a{0,99}a{0,99}b", "a" * 400),
        ("^" + "a?" * 40 + "a" * 40 + "$", "a" * 39),
        (r"^(?:a|a){1,40}$", "a" * 40 + "b"),
        (r"^(?:[a-z]{1,9}_[a-z_]{0,9}){1,20}$", "a_" * 30 + "!"),
        (r"^(?i:(?:[a-z]{1,30}K){1,12})$", "k" * 40 + "!"),
        (r"^(?>(?:a{1,40}){1,40}b)$", "a" * 40),
        (r"\b.{0,99}.{0,99}x", "ab " * 5000),
    ],
)
def test_choices_inside_bounded_repeats_multiply(pattern: str, text: str) -> None:
    assert not always_checkable(pattern, 65_536)
    assert matches(pattern, text) is None
    assert problems({"pattern": pattern}, text) == ()


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^\d{4}-\d{1,2}-\d{1,2}$", "2026-11-26"),
        (r"\d{1,2}/\d{1,2}/\d{2,4}", "11/26/2026"),
        (r"^(\d{1,3}\.){3}\d{1,3}$", "192.168.100.1"),
        (r"\b\d{1,3}(\.\d{1,3}){3}\b", "192.168.100.1"),
        (r"^([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$", "1:2:3:4:5:6:7:8"),
        (r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", "01234567-0123-0123-0123-0123456789ab"),
        (r"^(?:[a-z0-9-]{1,63}\.){1,8}$", "a.b-c.example."),
        (r"^[a-z0-9]{1,63}(-[a-z0-9]{1,63}){0,8}$", "release-notes-of-the-sprint-42"),
        (r"^[\w.+-]{1,64}@[a-z0-9.-]{1,255}\.[a-z]{2,10}$", "ada@mail.example.org"),
        (r"[\w+-]{1,64}@[a-z0-9-]{1,63}", "ada@example"),
        (r"(\.|%2[eE]){2}", "%2e."),
    ],
)
def test_ordinary_bounded_repeats_stay_checkable(pattern: str, text: str) -> None:
    assert always_checkable(pattern, 65_536)
    assert matches(pattern, text) is True
    assert matches(pattern, text * 20 + "!") is not None


def test_the_growth_of_a_pattern_s_work_bounds_the_length_of_its_text() -> None:
    assert matches("^[a-z]+$", "a" * 60_000) is True
    assert matches("^[a-z]+$", "A") is False
    assert matches("[a-z]+@", "a" * 3000) is False
    assert matches("[a-z]+@", "a" * 60_000) is None
    assert matches("^.*a.*b.*c$", "x" * 60_000) is None
    assert always_checkable("^docs/", 65_536)
    assert always_checkable("^[a-z]+$", 65_536)
    assert not always_checkable("^.*\\.md.*$", 65_536)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "pattern",
    [
        "(?i)" + "[\0-\uffff]" * 90,
        "(?ssssssssssssi)" + "[ -\uffff]" * 11,
        "(?ssssssssssssi:" + "[ -\uffff]" * 11 + ")",
        "[ -\uffff]" * 60,
        "(?i)" + "[a-z]" * 1_900,
        "a?" * 5_000,
        "x" * 9_999,
    ],
    ids=[
        "wide classes in any case",
        "behind many flags",
        "in a group",
        "wide classes",
        "classes in any case",
        "optional",
        "long",
    ],
)
def test_a_pattern_that_takes_long_to_be_compiled_is_left_to_the_server(pattern: str) -> None:
    schema = {"properties": {"a": {"pattern": pattern}}}
    assert seconds(lambda: matches(pattern, "xyz")) < 0.05
    assert seconds(lambda: problems(schema, {"a": "xyz"})) < 0.05
    assert problems(schema, {"a": "xyz"}) == ()


def test_patterns_that_take_long_together_are_not_compiled_for_one_value() -> None:
    schema = {"allOf": [{"pattern": f"^x{n}|" + "[ -\uffff]" * 9} for n in range(200)]}
    assert seconds(lambda: problems(schema, "x" * 9)) < 0.3
    assert problems(schema, "x" * 9)[0].unsure


@pytest.mark.parametrize(
    "pattern", [r"^[\u4e00-\u9fff\w-]{1,40}$", "(?i)^[a-z]{2}-[a-z]{2}$", "^[ -\ud7ff]*$"]
)
def test_ordinary_classes_of_other_scripts_are_checked(pattern: str) -> None:
    assert matches(pattern, "de-de") is True


BEYOND = "".join(chr(0x10000 + 2 * n) for n in range(1_900))  # of which `re` makes no map


@pytest.mark.parametrize(
    "pattern", [f"[{BEYOND}]x", f"[^{BEYOND}]*x", f"x[a{BEYOND}]+", f"([{BEYOND}a]b?){{3}}x"]
)
def test_a_class_of_characters_beyond_its_map_counts_each_of_them(pattern: str) -> None:
    text = "a" * 65_000 + BEYOND[0]
    schema = {"properties": {"a": {"allOf": [{"pattern": pattern}] * 50}}}
    assert seconds(lambda: problems(schema, {"a": text}), 3, 0.15) < 0.15
    assert matches(pattern, "ax" + BEYOND[0] + "bx") is not None


@pytest.mark.parametrize("one", ["[ĀĂĄ]", "[^ĀĂĄ]", "[aĀĂĄ]"])
def test_classes_of_wide_characters_count_for_the_time_that_they_take(one: str) -> None:
    assert matches(one * 20, "x") is not None
    assert matches(one * (2_000 // len(one)), "x") is None


@pytest.mark.parametrize("char", ["a", "\u2167"])
@pytest.mark.parametrize(
    "body", [r"\w", r"[^\W\d\s]", "(?i:[a-z\u2167])", r"(?i:[^\W\d\sX-Z])", "[a-z\u2167]"]
)
def test_a_class_that_is_slow_to_compare_counts_for_the_time_that_it_takes(body: str, char: str) -> None:
    searched = [f"(?={body}{{{size}}})q" for size in (2, 10, 40, 150, 600, 2_000)]
    for pattern in searched:
        assert seconds(lambda one=pattern: matches(one, char * 65_000), 2, 0.3) < 0.3  # type: ignore[misc]
    assert matches(searched[0], char * 65_000) is False
    assert matches(f"^{body}+$", char * 9) is True


def test_a_range_may_begin_with_any_character() -> None:
    """To Python `,` is the number of a repetition."""
    for first in range(0x7A):
        assert matches(f"[\\x{first:02x}-z]", "y") is True


def test_keys_that_match_a_pattern_are_known() -> None:
    schema = {"properties": {"a": {}}, "patternProperties": {"^n_": {}}, "additionalProperties": False}
    assert [p.path for p in problems(schema, {"a": 1, "n_b": 2, "c": 3, "d": 4})] == [("c",), ("d",)]
    assert problems({"additionalProperties": {"type": "integer"}}, {"x": "1"})[0].path == ("x",)


def test_a_pattern_that_python_cannot_read_is_left_to_the_server() -> None:
    assert matches("^\\p{L}+$", "abc") is None


def test_values_of_keys_that_match_a_pattern_are_validated() -> None:
    schema = {"patternProperties": {"^n_": {"type": "integer"}}}
    assert problems(schema, {"n_a": "x"})[0].path == ("n_a",)
    assert not problems(schema, {"other": "x"})


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "wat"}, "not valid at type"),
        ({"properties": []}, "not valid at properties"),
        ({"$ref": "https://x.test/a"}, "only local references"),
        ({"allOf": [{"$ref": "other.json"}]}, "only local references"),
        ({"patternProperties": {"^(a+)+$": {}}}, "a pattern that may never end"),
        ({"patternProperties": {"(a|b)" * 15_000: {}}}, "too complicated"),
        ({"pattern": "(a|b)" * 15_000}, "too complicated"),
        ({"allOf": [{}] * 4_900}, "too complicated"),
    ],
)
def test_an_unusable_schema_is_reported(schema: Any, expected: str) -> None:
    assert expected in schema_error(json.dumps(schema))


def test_a_part_of_a_schema_that_names_a_draft_of_its_own_has_the_same_bounds() -> None:
    slow = {"$schema": "https://json-schema.org/draft/2020-12/schema", "pattern": "(a+)+$"}
    assert seconds(lambda: problems({"properties": {"a": slow}}, {"a": "a" * 22 + "b"})) < 0.1
    assert problems({"properties": {"a": slow}}, {"a": "a" * 22 + "b"}) == ()


def test_a_usable_schema_has_no_error() -> None:
    assert schema_error(json.dumps(FILE)) == ""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_any_value_gets_sentences_and_never_a_traceback(value: Any) -> None:
    for problem in problems(FILE, value):
        assert problem.text.endswith(".") or problem.text.endswith("?")
        assert len(problem.text) < 500
