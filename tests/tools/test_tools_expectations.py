"""The rules of a recipe as the judge of results."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.rules.action import Outcome
from gate.rules.confidence import Evidence, score
from gate.rules.tool import Expect
from tests.storage.samples import action
from tests.tools.test_tools_recipes import SCHEMAS, recipe_with
from tools.recipes.reader import TESTS, read_recipe
from tools.recipes.validation import judge_by_rules, recipe_problems
from tools.strict_config import ConfigError

SENT = {"status": "sent", "count": 3, "to": ["ann", "ben"], "done": True, "note": None}


def action_with_result(result: Any = SENT, text: str = "") -> Any:
    """The sample action (its `to` is archive/a.md) with this result."""
    return action(outcome=Outcome("success", text, result))


def judged(that: str, **tests: Any) -> tuple[float, str] | None:
    found = judge_by_rules((Expect(that, tests),), action_with_result(text="moved to archive/a.md"))
    return (found.confidence, found.reason) if found else None


@pytest.mark.parametrize(
    ("that", "tests"),
    [
        ("{result.status}", {"equals": "sent"}),
        ("{result.count}", {"least": 3, "most": 3.0}),
        ("{result.count}", {"equals": 3.0}),
        ("{result.done}", {"equals": True}),
        ("{result.note}", {"equals": None}),
        ("{result.to}", {"contains": "ann"}),
        ("{result.to}", {"equals": ["ann", "ben"]}),
        ("{result.status}", {"contains": "sen", "matches": "^[a-z]+$"}),
        ("{result.text}", {"contains": "{args.to}"}),
        ("{result.to[1]}", {"equals": "ben"}),
        ("{result.to|count}", {"equals": "2"}),
    ],
)
def test_a_result_that_satisfies_the_rule_passes(that: str, tests: dict[str, Any]) -> None:
    assert judged(that, **tests) == (1.0, "")


@pytest.mark.parametrize(
    ("that", "tests", "why"),
    [
        ("{result.status}", {"equals": "queued"}, "{result.status} is “sent”, not “queued”"),
        ("{result.count}", {"least": 4}, "{result.count} is “3”, below “4”"),
        ("{result.count}", {"most": 2.5}, "{result.count} is “3”, above “2.5”"),
        ("{result.status}", {"least": 0}, "below “0”"),
        ("{result.done}", {"equals": 1}, "{result.done} is “true”, not “1”"),
        ("{result.done}", {"least": 0}, "below “0”"),
        ("{result.to}", {"contains": "cleo"}, "without “cleo”"),
        ("{result.count}", {"contains": "3"}, "without “3”"),
        ("{result.status}", {"matches": "^SENT$"}, "not of the form “^SENT$”"),
        ("{result.count}", {"matches": "3"}, "not of the form"),
        ("{result.receipt}", {"equals": "x"}, "there is no {result.receipt}"),
        ("{result.status}", {"contains": "sent", "equals": "x"}, "not “x”"),
    ],
)
def test_a_result_that_breaks_the_rule_is_doubtful_with_a_reason(
    that: str, tests: dict[str, Any], why: str
) -> None:
    found = judged(that, **tests)
    assert found
    assert found[0] == 0.4
    assert why in found[1]


def test_the_worst_verdict_counts_with_the_reason_of_the_recipe() -> None:
    rules = (
        Expect("{result.status}", {"equals": "sent"}),
        Expect("{result.count}", {"least": 9}),
        Expect("{result.to}", {"contains": "cleo"}, "failed", "Cleo was left out"),
    )
    found = judge_by_rules(rules, action_with_result())
    assert found
    assert (found.confidence, found.admits, found.reason) == (0.1, True, "Cleo was left out")
    assert score(Evidence(judgement=found, known=True)).score == 0.19


def test_a_rule_about_an_absent_argument_gives_no_judgement() -> None:
    assert judged("{result.status}", equals="{args.cc}") is None
    assert judge_by_rules((), action_with_result()) is None


def test_a_plain_text_result_is_judged() -> None:
    found = judge_by_rules((Expect("{result.text}", {"contains": "ok"}),), action_with_result(None, "all ok"))
    assert found
    assert found.confidence == 1
    assert (
        judge_by_rules((Expect("{result.text.id}", {"equals": 7}),), action_with_result(None, '{"id": 7}'))
        == found
    )


def test_hostile_text_of_a_result_is_quoted() -> None:
    found = judge_by_rules(
        (Expect("{result.status}", {"equals": "x"}),),
        action_with_result({"status": "<!channel>\n" + "y" * 500}),
    )
    assert found
    assert "<" not in found.reason
    assert "\n" not in found.reason
    assert len(found.reason) < 200


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(json, json, st.sampled_from(TESTS))
def test_no_value_and_no_rule_raises_in_the_judge(value: Any, expected: Any, test: str) -> None:
    if test == "matches":
        expected = "^a+$"
    rule = Expect("{result.it}", {test: expected})
    first = judge_by_rules((rule,), action_with_result({"it": value}))
    assert first == judge_by_rules((rule,), action_with_result({"it": value}))  # the same each time
    assert first is None or not math.isnan(first.confidence)


# Read strictly


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, "“expect” must be a list"),
        ([{"equals": 1}], r"“expect\[0\]” needs `that`"),
        ([{"that": "{result.id}"}], "needs one of equals, contains, matches, least, most"),
        ([{"that": "id", "equals": 1}], "that” must be one placeholder"),
        ([{"that": "{result.id}", "equal": 1}], "equal” is not known; did you mean “equals”"),
        ([{"that": "{result.id}", "least": "1"}], "least” must be a number"),
        ([{"that": "{result.id}", "most": True}], "most” must be a number"),
        ([{"that": "{result.id}", "matches": "(a+)+$"}], "searched in bounded time"),
        (
            [{"that": "{result.id}", "equals": 1, "verdict": "bad"}],
            "verdict” must be one of doubtful, failed",
        ),
        ([{"that": "{result.id}", "equals": 1, "why": 3}], "why” must be text"),
    ],
)
def test_a_mistake_in_an_expectation_is_reported(value: Any, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        read_recipe(recipe_with("expect", value))


def test_an_expectation_is_checked_against_the_output_schema() -> None:
    def problems(**rule: Any) -> list[str]:
        return recipe_problems(read_recipe(recipe_with("expect", [rule])), "write", SCHEMAS)

    assert problems(that="{result.id}", equals="{args.path}") == []
    assert problems(that="{result.ids}", equals=1) == [
        "`expect[0].that` names {result.ids}, which is not in what the tool gives"
    ]
    assert "no parameter" in problems(that="{result.id}", contains="{args.pth}")[0]
    assert "not known there" in problems(that="{answer.id}", least=1)[0]
    assert problems(that="{result.id}", matches="^[a-z]{2}$") == []
