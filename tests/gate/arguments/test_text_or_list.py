"""A rule about an argument that takes a text or a list of texts holds in whichever of the two forms it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gate.arguments.declared_targets import Targets
from gate.arguments.named_paths import about_lists_as_lists
from gate.arguments.text_or_list import names_of_both
from gate.rules.action import CallClass, Json, Verdict
from gate.rules.policy import Policy, Rule, decide
from gate.rules.tool import Recipe, ToolSpec, Trust
from tests.cpu_time import seconds
from tools.mcp.schema import problems

LIMIT = 0.3  # seconds of processor time, as in tests/test_hostile_sizes.py
EITHER = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
OTHERS: Sequence[Json] = (
    {"type": ["string", "array"]},
    {"oneOf": EITHER["anyOf"]},
    {"$ref": "#/$defs/either"},
    {"allOf": [{"$ref": "#/$defs/either"}], "default": "a"},
    {"description": "What it is about"},
    {"$ref": "#/$defs/loop"},
    {"enum": ["C0HR", ["C0HR"]]},
)


def spec(targets: Targets, **properties: Json) -> ToolSpec:
    recipe = Recipe(cls=CallClass.WRITE, targets=targets)
    schema = {"type": "object", "properties": properties}
    return ToolSpec("files", "change", "Change", "", schema, "d", trust=Trust.BUNDLED, recipe=recipe)


def matches(schema: Any, value: Json) -> bool:
    return not problems(schema, value)


def denied(tool: ToolSpec, said: Json, **args: Json) -> bool:
    schema = {"required": [*args], "properties": dict.fromkeys(args, said)}
    policy = Policy("p", (Rule("closed", ("files.*",), deny=True, schema=schema),))
    return decide(policy, tool, args, "C", matches).verdict is Verdict.DENY


PURGE = spec(Targets(ids=("entry",)), entry=EITHER)
LOOK = spec(Targets(looks=("places",)), places=EITHER)
ABOUT_A_TEXT: Sequence[Json] = (
    {"const": "closed/x"},
    {"enum": ["closed/x"]},
    {"type": "string", "pattern": "^closed/"},
    {"not": {"pattern": "^open"}},
)


@pytest.mark.parametrize("said", ABOUT_A_TEXT)
@pytest.mark.parametrize(("tool", "name"), [(PURGE, "entry"), (LOOK, "places")])
def test_a_rule_about_a_text_sees_each_text_of_a_list(tool: ToolSpec, name: str, said: Json) -> None:
    for given in ("closed/x", ["closed/x"], ["open", "closed/x"]):
        assert denied(tool, said, **{name: given}), given
    for given in ("open", ["open"], ["open", "open/x"]):
        assert not denied(tool, said, **{name: given}), given


@pytest.mark.parametrize("others", OTHERS)
def test_a_text_or_a_list_is_known_however_a_schema_says_it(others: Json) -> None:
    alone = {"b": {"type": "string"}, "c": {"type": "array"}, "e": {"allOf": [others, {"type": "string"}]}}
    schema = {"properties": {"a": others, **alone, "d": True}, "$defs": {"either": EITHER, "loop": LOOP}}
    assert names_of_both(schema, [{"a": 1}, dict.fromkeys("bced")]) == ("a", "d")
    assert names_of_both({}, [{"a": 1}]) == ("a",)
    assert names_of_both({"properties": {"a": {"type": [{}, "string"]}}}, [{"a": 1}]) == ()


LOOP: Json = {"$ref": "#/$defs/loop"}


@pytest.mark.parametrize("others", OTHERS)
def test_a_rule_about_one_text_sees_lists_however_a_schema_says_that_it_takes_both(others: Json) -> None:
    tool = spec(Targets(), channel=others)
    tool = replace(tool, schema={**tool.schema, "$defs": {"either": EITHER, "loop": LOOP}})
    assert denied(tool, {"enum": ["C0HR"]}, channel=["C1", "C0HR"])
    assert not denied(tool, {"enum": ["C0HR"]}, channel=["C1"])


def test_a_rule_about_two_texts_sees_lists_of_both_in_their_other_forms() -> None:
    tool = spec(Targets(paths=("key",)), bucket=EITHER, key=EITHER)
    said = {"bucket": {"const": "prod"}, "key": {"type": "string", "pattern": "^hr/"}}
    rule = Rule("closed", ("files.*",), deny=True, schema={"required": [*said], "properties": said})
    for bucket in ("prod", ["prod"], ["a", "prod"]):
        for key in ("hr/a", "/hr/a", "x/../hr/a", ["x/../hr/a"], ["b", "/hr/a"]):
            found = decide(Policy("p", (rule,)), tool, {"bucket": bucket, "key": key}, "C", matches)
            assert found.verdict is Verdict.DENY, (bucket, key)
    for args in ({"bucket": ["a"], "key": ["hr/a"]}, {"bucket": ["prod"], "key": ["/public/a"]}):
        assert decide(Policy("p", (rule,)), tool, args, "C", matches).verdict is not Verdict.DENY


@pytest.mark.parametrize("tool", [PURGE, LOOK])
def test_a_rule_about_a_list_sees_a_text(tool: ToolSpec) -> None:
    [name] = tool.schema["properties"]
    said = {"type": "array", "contains": {"const": "closed"}}
    for given in ("closed", ["closed"], ["open", "closed"]):
        assert denied(tool, said, **{name: given}), given
    for given in ("open", ["open"]):
        assert not denied(tool, said, **{name: given}), given


def test_a_pattern_that_says_nothing_of_lists_holds_for_no_other_text() -> None:
    assert not denied(PURGE, {"pattern": "^closed"}, entry="open")


def test_an_argument_that_takes_lists_alone_is_judged_as_it_is() -> None:
    tool = spec(Targets(ids=("entry",)), entry={"type": "array", "items": {"type": "string"}})
    assert not denied(tool, {"const": "closed"}, entry=["closed"])


def test_a_long_list_is_held_against_schemas_in_time() -> None:
    rules = tuple(
        Rule(
            str(number),
            ("files.*",),
            deny=True,
            schema={
                "properties": {"entry": {"type": "string", "pattern": f"^{number}x"}},
                "required": ["entry"],
            },
        )
        for number in range(5)
    )
    args = {"entry": [f"entry {number}" for number in range(4_000)]}
    assert decide(Policy("p", rules), PURGE, args, "C", matches).verdict is Verdict.CONFIRM
    assert seconds(lambda: decide(Policy("p", rules), PURGE, args, "C", matches), 3, LIMIT) < LIMIT


@pytest.mark.parametrize(
    "said",
    [
        {"minItems": 20},
        {"contains": {"pattern": "^hr/"}},
        {"items": {"pattern": "^hr/"}},
        {"allOf": [{"minItems": 20}]},
        {"$ref": "#/$defs/many", "$defs": {"many": {"minItems": 20}}},
    ],
)
def test_what_a_rule_says_of_lists_alone_does_not_hold_because_a_text_is_none(said: Json) -> None:
    for tool, name in ((PURGE, "entry"), (LOOK, "places")):
        assert not denied(tool, said, **{name: ["a", "b"]})
    assert denied(PURGE, {"contains": {"pattern": "^hr/"}}, entry=["a", "hr/b"])
    assert denied(LOOK, {"minItems": 2}, places=["a", "b"])


def test_a_rule_that_spares_lists_still_sees_each_text_of_one() -> None:
    spared = {"not": {"anyOf": [{"const": "public"}, {"type": "array", "minItems": 20}]}}
    assert denied(PURGE, spared, entry=["hr"])


def test_names_of_arguments_that_are_called_like_keywords_stay_as_they_are() -> None:
    schema = {"properties": {"items": {"const": "a"}, "contains": {"minItems": 2}}, "required": ["items"]}
    made = about_lists_as_lists(schema)
    assert made == {
        **schema,
        "properties": {**schema["properties"], "contains": {"minItems": 2, "type": "array"}},
    }
    assert about_lists_as_lists({"const": {"items": []}}) == {"const": {"items": []}}
