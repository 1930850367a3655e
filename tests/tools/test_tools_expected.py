"""What a recipe expects of a result: data, read strictly, judged the same each time, without asking anybody."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.action import Outcome
from gate.confidence import Evidence, score
from gate.tool import Expect
from tests.storage.samples import action
from tests.tools.test_tools_recipes import SHAPES, changed
from tools.expected import judged
from tools.fitting import misfits
from tools.recipes import TESTS, BadRecipe, read_recipe

SENT = {"status": "sent", "count": 3, "to": ["ann", "ben"], "done": True, "note": None}


def ran(result: Any = SENT, text: str = "") -> Any:
    """The sample action (its `to` is archive/a.md), with this result."""
    return action(outcome=Outcome("success", text, result))


def told(that: str, **tests: Any) -> tuple[float, str] | None:
    found = judged((Expect(that, tests),), ran(text="moved to archive/a.md"))
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
def test_what_is_as_expected_is_judged_good(that: str, tests: dict[str, Any]) -> None:
    assert told(that, **tests) == (1.0, "")


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
def test_what_is_not_as_expected_is_doubtful_and_says_why(that: str, tests: dict[str, Any], why: str) -> None:
    found = told(that, **tests)
    assert found
    assert found[0] == 0.4
    assert why in found[1]


def test_the_worst_verdict_counts_and_the_words_of_the_recipe_are_used() -> None:
    rules = (
        Expect("{result.status}", {"equals": "sent"}),
        Expect("{result.count}", {"least": 9}),
        Expect("{result.to}", {"contains": "cleo"}, "failed", "Cleo was left out"),
    )
    found = judged(rules, ran())
    assert found
    assert (found.confidence, found.admits, found.reason) == (0.1, True, "Cleo was left out")
    assert score(Evidence(judgement=found, known=True)).score == 0.19


def test_a_rule_about_what_a_call_did_not_have_says_nothing() -> None:
    assert told("{result.status}", equals="{args.cc}") is None
    assert judged((), ran()) is None


def test_a_result_in_plain_text_is_judged_too() -> None:
    found = judged((Expect("{result.text}", {"contains": "ok"}),), ran(None, "all ok"))
    assert found
    assert found.confidence == 1
    assert judged((Expect("{result.text.id}", {"equals": 7}),), ran(None, '{"id": 7}')) == found


def test_hostile_words_of_a_result_are_quoted() -> None:
    found = judged((Expect("{result.status}", {"equals": "x"}),), ran({"status": "<!channel>\n" + "y" * 500}))
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
def test_no_result_and_no_rule_breaks_the_judge(value: Any, wanted: Any, test: str) -> None:
    if test == "matches":
        wanted = "^a+$"
    rule = Expect("{result.it}", {test: wanted})
    first = judged((rule,), ran({"it": value}))
    assert first == judged((rule,), ran({"it": value}))  # the same each time
    assert first is None or not math.isnan(first.confidence)


# Read strictly


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({}, "`expect` must be a list"),
        ([{"equals": 1}], r"`expect\[0\]` lacks the key `that`"),
        ([{"that": "{result.id}"}], "needs one of equals, contains, matches, least, most"),
        ([{"that": "id", "equals": 1}], "`that` must be one placeholder"),
        ([{"that": "{result.id}", "equal": 1}], "unknown key `equal`"),
        ([{"that": "{result.id}", "least": "1"}], "`least` must be a number"),
        ([{"that": "{result.id}", "most": True}], "`most` must be a number"),
        ([{"that": "{result.id}", "matches": "(a+)+$"}], "searched in bounded time"),
        ([{"that": "{result.id}", "equals": 1, "verdict": "bad"}], "`verdict` must be doubtful or failed"),
        ([{"that": "{result.id}", "equals": 1, "why": 3}], "`why` must be text"),
    ],
)
def test_a_mistake_in_what_is_expected_is_named(value: Any, said: str) -> None:
    with pytest.raises(BadRecipe, match=said):
        read_recipe(changed("expect", value))


def test_what_is_expected_is_checked_against_what_the_tool_gives() -> None:
    def wrong(**rule: Any) -> list[str]:
        return misfits(read_recipe(changed("expect", [rule])), "write", SHAPES)

    assert wrong(that="{result.id}", equals="{args.path}") == []
    assert wrong(that="{result.ids}", equals=1) == [
        "`expect[0].that` names {result.ids}, which is not in what the tool gives"
    ]
    assert "no parameter" in wrong(that="{result.id}", contains="{args.pth}")[0]
    assert "not known there" in wrong(that="{answer.id}", least=1)[0]
    assert wrong(that="{result.id}", matches="^[a-z]{2}$") == []
