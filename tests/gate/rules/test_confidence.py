"""The score stays from 0 to 1 and moves the right way; caps hold; and a result that says it failed is heard."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gate.rules.confidence import (
    Check,
    Confidence,
    Evidence,
    Judgement,
    admitted_failure,
    contradicts_result,
    score,
    verdict,
)

WELL, BADLY = Check("it keeps its schema", True), Check("it is there", False, "nothing is")
GOOD = Evidence(checks=(WELL, WELL), known=True)
numbers = st.floats(allow_nan=True, allow_infinity=True)
judgements = st.none() | st.builds(Judgement, numbers, st.text(max_size=9), st.booleans())


@st.composite
def evidence(draw: st.DrawFn) -> Evidence:
    return Evidence(
        checks=tuple(draw(st.lists(st.builds(Check, st.just("it fits"), st.booleans()), max_size=5))),
        judgement=draw(judgements),
        retries=draw(st.integers(0, 9)),
        destructive=draw(st.booleans()),
        succeeded=draw(st.booleans()),
        known=draw(st.booleans()),
        admitted=draw(st.sampled_from(["", "error: no room"])),
    )


# promise: GATE-01
@given(evidence())
def test_the_score_stays_from_0_to_1_and_says_why_it_is_not_1(seen: Evidence):
    found = score(seen)
    assert 0 <= found.score <= 1
    assert found.score == 1 or found.reasons or any(not c.passed for c in seen.checks) or seen.judgement
    assert found.text.startswith(f"{found.score:.2f}")


@given(evidence(), st.integers(0, 4))
def test_a_check_that_fails_instead_never_raises_it(seen: Evidence, place: int):
    assume(place < len(seen.checks))
    passing = [*seen.checks]
    passing[place] = WELL
    failing = [*passing]
    failing[place] = BADLY
    well, badly = (score(replace(seen, checks=tuple(checks))).score for checks in (passing, failing))
    assert badly <= well


@given(evidence(), st.floats(0, 1), st.floats(0, 1))
def test_a_better_judgement_never_lowers_it(seen: Evidence, one: float, other: float):
    lower, higher = sorted((one, other))
    assert (
        score(replace(seen, judgement=Judgement(lower))).score
        <= score(replace(seen, judgement=Judgement(higher))).score
    )


@pytest.mark.slow
@given(evidence())
def test_nothing_bad_ever_raises_it(seen: Evidence):
    for worse in (
        replace(seen, retries=seen.retries + 1),
        replace(seen, destructive=True),
        replace(seen, known=False),
        replace(seen, admitted="error: no room"),
        replace(seen, succeeded=False),
    ):
        assert score(worse).score <= score(seen).score


@given(evidence())
def test_the_caps_hold_whatever_speaks_for_a_step(seen: Evidence):
    assert score(replace(seen, known=False)).score <= 0.79
    assert score(replace(seen, destructive=True)).score < 0.5
    assert score(replace(seen, admitted="error: no room")).score < 0.2
    assert score(replace(seen, judgement=Judgement(1.0, "it says so", True))).score < 0.2
    assert score(replace(seen, checks=(*seen.checks, BADLY))).score < 0.5


@pytest.mark.parametrize(
    ("judged", "said"),
    [
        (None, ""),
        (Judgement(1.0, "", False, "the recipe's rule"), "judged good by the recipe's rule"),
        (Judgement(0.4, "the words", False, "the model"), "judged doubtful by the model"),
        (Judgement(0.9, "the words", True, "the model"), "judged failed by the model"),
        (Judgement(math.nan, "the words"), "judged doubtful"),
    ],
)
def test_a_verdict_says_how_and_by_whom_and_not_why(judged: Judgement | None, said: str):
    assert verdict(judged) == said


# promise: GATE-14
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 1.0),
        ({"checks": ()}, 1.0),  # what does not apply is left out
        ({"judgement": Judgement(0.5)}, 0.85),
        ({"judgement": Judgement(0.9)}, 0.97),
        ({"retries": 1}, 0.9048),
        ({"retries": 3}, 0.7143),
        ({"retries": 9}, 0.7143),
        ({"succeeded": False}, 0.8571),
        ({"known": False}, 0.79),
        ({"destructive": True}, 0.49),
        ({"checks": (WELL, BADLY)}, 0.49),  # the mean alone would be 0.79
        ({"checks": (WELL, BADLY), "retries": 3}, 0.19),
        ({"judgement": Judgement(0.49)}, 0.49),
        ({"judgement": Judgement(math.nan)}, 0.49),
        ({"admitted": "error: no room"}, 0.19),
    ],
)
def test_the_weights_are_those_of_the_spec(changes: dict[str, object], expected: float):
    assert score(replace(GOOD, **changes)).score == expected


def test_the_words_say_what_held_it_down():
    found = score(replace(GOOD, checks=(WELL, BADLY), retries=1, known=False, admitted="error: no room"))
    assert found.text == (
        "0.19, because its result says that it failed: “error: no room”; it is not so that it is there (nothing is); "
        "no step of this kind is known to have gone well before; it took 1 more try"
    )
    assert score(GOOD).text == "1.00"
    assert Confidence(0.5).text == "0.50"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"destructive": True, "known": False, "retries": 2}, False),
        ({"checks": (BADLY,)}, True),
        ({"judgement": Judgement(0.3)}, True),
        ({"judgement": Judgement(0.9, "", True)}, True),
        ({"admitted": "ok: false"}, True),
    ],
)
def test_new_or_destructive_alone_is_not_wrong(changes: dict[str, object], expected: bool):
    assert contradicts_result(replace(GOOD, **changes)) is expected


@pytest.mark.parametrize(
    ("text", "structured", "said"),
    [
        ("Error: no such file\nat line 3", None, "Error: no such file"),
        ("I could not find the folder.", None, "I could not find the folder."),
        ("Sorry, I can't do that", None, "Sorry, I can't do that"),
        ("Unable to reach it", None, "Unable to reach it"),
        ("moved 3 files, 0 errors", None, ""),
        ("The error log was archived", None, ""),
        ("", None, ""),
        ("Error: this is the file's own first line", {"path": "a.md"}, ""),
        ("", {"ok": False, "id": 1}, "ok: false"),
        ("", {"success": False}, "success: false"),
        ("", {"error": "no room"}, "error: no room"),
        ("", {"error": None, "errors": []}, ""),
        ("", {"status": "FAILED"}, "status: FAILED"),
        ("", {"status": "open", "ok": True}, ""),
        ("", {"status": 500}, ""),
        ("", ["failed"], ""),
        # as the MCP SDK wraps what a function returns as text
        (
            "",
            {"result": "Error: no room left, nothing was written"},
            "Error: no room left, nothing was written",
        ),
        ("Permission denied", {"result": "Permission denied"}, "Permission denied"),
        ("", {"result": {"success": False}}, "success: false"),
        ("", {"result": [1, 2]}, ""),
        ("", {"result": "3 rows were written"}, ""),
        # JSON in text
        ('{"success": false, "message": "no room"}', None, "success: false"),
        ('{"ok": true, "note": "Error: none"}', None, ""),
        ("", {"result": '{"error": "no room"}'}, "error: no room"),
        ("{not JSON", None, ""),
        ("[" * 5000, None, ""),
        ('{"a":' * 3000, None, ""),
        # what is and what is not said of the call itself
        ("permission denied: /srv/a", None, "permission denied: /srv/a"),
        (
            "cp: cannot create file 'x': Permission denied",
            None,
            "cp: cannot create file 'x': Permission denied",
        ),
        ("bash: frobnicate: command not found", None, "bash: frobnicate: command not found"),
        ("403 Forbidden", None, "403 Forbidden"),
        ("Error 500 from the server", None, "Error 500 from the server"),
        ("Error writing a.md", None, "Error writing a.md"),
        ("Failed", None, "Failed"),
        ("Failed to write a.md", None, "Failed to write a.md"),
        ("Failed: disk full", None, "Failed: disk full"),
        ("Nothing was written, as the disk is full", None, "Nothing was written, as the disk is full"),
        ("Nothing was overwritten.", None, ""),
        ("Failed logins were exported", None, ""),
        ("Error logs were archived to a.zip", None, ""),
        ("Failure reports: 3 sent", None, ""),
        ("The permission denied page was published", None, ""),
        ("Exceptions list updated", None, ""),
        ("Forbidden words list saved", None, ""),
    ],
)
def test_a_result_that_says_it_failed_is_heard(text: str, structured: object, said: str):
    assert admitted_failure(text, structured) == said


def test_an_admission_is_kept_in_short():
    assert len(admitted_failure("Error: " + "x" * 999, None)) == 200
