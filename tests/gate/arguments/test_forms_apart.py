"""A rule is held against one of each kind of forms of a call's arguments, and says the same as of all of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.arguments.call_forms import CallForms
from gate.arguments.declared_targets import Targets
from gate.arguments.forms_apart import DEEPEST, FormsApart
from gate.arguments.identifiers import Ids
from gate.rules.action import CallClass, Json, Verdict
from gate.rules.approvers import Approvers
from gate.rules.policy import Policy, Rule, decide
from gate.rules.tool import Recipe, ToolSpec, Trust
from tools.mcp.schema import problems

TEXTS = ("a", "hr/x", "hr/y", "b,c", "", "abcdef", "hr", "HR/x")
SCHEMAS: tuple[Json, ...] = (
    {"required": ["path"], "properties": {"path": {"pattern": "^hr/"}}},
    {"properties": {"path": {"enum": ["a", "hr/x"]}, "more": {"items": {"maxLength": 3}}}},
    {"properties": {"more": {"contains": {"const": "hr/x"}}}},
    {"not": {"properties": {"path": {"minLength": 4}}}},
    {"patternProperties": {"^hr": {"type": "string"}}, "additionalProperties": {"type": "integer"}},
    {"propertyNames": {"pattern": "r"}},
    {"properties": {"more": {"uniqueItems": True}}},
    {"if": {"required": ["hr"]}, "then": False},
    {"properties": {"path": {"const": "a"}, "more": {"minItems": 2}}},
    {"maxProperties": 2},
)
VALUES = st.recursive(
    st.sampled_from(TEXTS) | st.sampled_from([None, True, 1, 1.5]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(TEXTS), inner, max_size=3),
    max_leaves=6,
)
FORMS = st.dictionaries(st.sampled_from(("path", "more", "hr", "")), VALUES, max_size=3)


def matches(schema: Any, value: Json) -> bool:
    return not problems(schema, value)


def tool(targets: Targets, ids: tuple[str, ...] = ()) -> ToolSpec:
    recipe = Recipe(cls=CallClass.READ, targets=replace(targets, ids=ids))
    return ToolSpec("desk", "look", "look", "", {}, "d", trust=Trust.REVIEWED, reviewed=True, recipe=recipe)


@given(st.sampled_from(SCHEMAS), st.lists(FORMS, min_size=4, max_size=12))
def test_a_schema_says_of_one_of_each_kind_what_it_says_of_all_of_it(schema: Json, forms: list[Json]) -> None:
    told = FormsApart().longest_of_each(schema, (), forms)
    assert {matches(schema, one) for one in told} == {matches(schema, one) for one in forms}
    assert all(any(one is form for form in forms) for one in told)


def test_patterns_of_texts_tell_forms_apart_too() -> None:
    forms = [{"path": text} for text in TEXTS if text]
    assert len(FormsApart().longest_of_each({}, ("^hr/",), forms)) == 2
    assert len(FormsApart().longest_of_each({}, (), forms)) == 1


def test_the_longest_of_a_kind_is_the_one_that_is_checked() -> None:
    forms = [{"path": "x" * length} for length in (1, 9, 5, 3)]
    assert FormsApart().longest_of_each({}, (), forms) == [{"path": "x" * 9}]


@pytest.mark.parametrize("rules", [1, 15])
def test_a_schema_is_held_against_few_of_a_thousand_forms(rules: int) -> None:
    """A call of 8 KB held the event loop for 1.4 s, with 15 rules for 4 s."""
    asked = list[Json]()

    def counted(schema: Any, value: Json) -> bool:
        asked.append(value)
        return matches(schema, value)

    ours = [
        Rule(
            f"area {number}",
            ("*",),
            schema=SCHEMAS[0] | {"title": str(number)},
            approvers=Approvers(needed=2),
        )
        for number in range(rules)
    ]
    path = ",".join(f"a{number}%252541/f.x" for number in range(400))
    found = decide(Policy("p", tuple(ours)), tool(Targets(paths=("path",))), {"path": path}, "C", counted)
    assert found.verdict is Verdict.RUN
    assert len(asked) <= 3 * rules
    there = f"{path},hr/x"
    assert decide(
        Policy("p", tuple(ours)), tool(Targets(paths=("path",))), {"path": there}, "C", counted
    ).approvers == Approvers(needed=2)


def test_ids_are_opened_once_for_all_forms_of_a_call() -> None:
    """Beside 690 forms of a path they were opened 690 times: 23 s, and 967 MB."""
    owner, path = json.dumps([[]] * 50 + ["Acme"]), ",".join(f"k{number}/f.x" for number in range(300))
    spec = tool(Targets(paths=("path",)), ("owner",))
    forms = CallForms.of(spec, {"owner": owner, "path": path})
    (folded,) = forms.with_ids(Ids(("owner",)))
    assert len(folded.forms) > 300
    assert {id(form["owner"]) for form in folded.forms} == {id(folded.given[0]["owner"])}
    assert folded.given[0]["owner"][-1] == "acme"


def test_texts_of_forms_are_found_at_any_depth() -> None:
    deep: Json = "in there"
    for _ in range(DEEPEST + 20):
        deep = {"x": [deep]}
    forms = [{"a": deep, "b": ["y", 1]}, {"a": deep, "b": ["z", {"k": "w"}]}]
    assert {*FormsApart().texts(forms)} == {"a", "b", "x", "in there", "y", "z", "k", "w"}


@pytest.mark.parametrize("more", [[1] * 20_000, [{}] * 20_000])
def test_a_list_of_names_beside_what_is_no_text_is_refused_before_it_is_copied(more: list[Json]) -> None:
    """For each form of the names the whole list is: it took 10 s."""
    names = ",".join(f"a{number}/f.x" for number in range(300))
    for targets in (Targets(paths=("files",)), Targets(paths=("files[].path",))):
        files: Json = [names, *more] if targets.paths == ("files",) else [{"path": names}, *more]
        found = decide(Policy("p"), tool(targets), {"files": files}, "C", matches)
        assert (found.verdict, found.rule) == (Verdict.DENY, "too many names")
