"""What follows after a step: the four bands, the three modes, and what is never left to a timer."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.rules.autonomy import ApprovalMode, Band, BandDecision, StepSignals, band, decide_band
from gate.rules.confidence import Confidence
from gate.rules.settings import Switches

AUTO, MANUAL = Switches(), Switches(approval_mode="manual")
THRESHOLD = Switches(approval_mode="confidence_threshold", confidence=0.7)
MODES = (AUTO, MANUAL, THRESHOLD, replace(AUTO, satisfaction="never"))
seen = st.builds(
    StepSignals,
    gated=st.booleans(),
    tainted=st.booleans(),
    last=st.booleans(),
    wrong=st.booleans(),
    matches=st.booleans(),
)
scores = st.floats(0, 1) | st.just(math.nan)


def after(switches: Switches, score: float, **more: bool) -> Band:
    return decide_band(switches, Confidence(score), StepSignals(**more)).band


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (1.0, Band.GO),
        (0.8, Band.GO),
        (0.7999, Band.SHOW),
        (0.79, Band.SHOW),
        (0.5, Band.SHOW),
        (0.4999, Band.ASK),
        (0.2, Band.ASK),
        (0.1999, Band.ABORT),
        (0.0, Band.ABORT),
    ],
)
def test_the_four_bands_are_those_of_the_spec(score: float, expected: Band):
    assert band(score) is expected
    assert after(AUTO, score) is expected


def test_manual_always_waits():
    assert {after(MANUAL, score, last=last) for score in (0.2, 0.8, 1.0) for last in (True, False)} == {
        Band.ASK
    }


@pytest.mark.parametrize(
    ("score", "expected"), [(0.7, Band.GO), (0.6999, Band.ASK), (0.2, Band.ASK), (0.1, Band.ABORT)]
)
def test_a_threshold_is_kept(score: float, expected: Band):
    assert after(THRESHOLD, score) is expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, Band.GO),
        ({"gated": True}, Band.ASK),
        ({"tainted": True}, Band.ASK),
        ({"wrong": True}, Band.SHOW),
    ],
)
def test_an_approved_step_whose_target_reads_back_goes_on_at_once(more: dict[str, bool], expected: Band):
    assert after(AUTO, 0.79, matches=True, **more) is expected
    assert after(AUTO, 0.79, **more) is (expected if more else Band.SHOW)


@pytest.mark.parametrize("score", [0.4999, 0.2, 0.1])
def test_what_reads_back_and_is_doubtful_still_waits(score: float):
    assert after(AUTO, score, matches=True) is after(AUTO, score)


def test_a_thread_that_read_from_outside_needs_to_be_sure():
    assert after(THRESHOLD, 0.75, tainted=True) is Band.ASK
    assert after(THRESHOLD, 0.8, tainted=True) is Band.GO
    assert after(AUTO, 0.79, tainted=True) is Band.ASK
    assert after(AUTO, 0.8, tainted=True) is Band.GO


@given(st.sampled_from(MODES), scores, seen)
def test_the_timer_is_off_for_what_is_gated_or_tainted_and_outside_of_auto(
    switches: Switches, score: float, found: StepSignals
):
    decided = decide_band(switches, Confidence(score), found)
    if found.gated or found.tainted or switches.approval_mode != "auto":
        assert decided.band is not Band.SHOW


@given(st.sampled_from(MODES), scores, seen)
def test_what_is_gated_goes_on_by_itself_only_where_nothing_is_left_and_a_question_follows(
    switches: Switches, score: float, found: StepSignals
):
    decided = decide_band(switches, Confidence(score), replace(found, gated=True))
    if decided.band is Band.GO:
        assert (found.last, found.wrong, switches.approval_mode) == (True, False, "auto")
        assert switches.satisfaction != "never"


@given(st.sampled_from(MODES), st.floats(0, 1), st.floats(0, 1), seen)
def test_a_higher_score_never_asks_for_more(switches: Switches, one: float, other: float, found: StepSignals):
    order = [Band.ABORT, Band.ASK, Band.SHOW, Band.GO]
    lower, higher = (decide_band(switches, Confidence(s), found).band for s in sorted((one, other)))
    assert order.index(lower) <= order.index(higher)


@given(st.sampled_from(MODES), seen)
def test_no_number_is_no_confidence(switches: Switches, found: StepSignals):
    assert decide_band(switches, Confidence(math.nan), found).band is Band.ABORT


@pytest.mark.parametrize("satisfaction", ["every", "never"])
def test_after_the_last_step_there_is_nothing_to_hold(satisfaction: str):
    switches = replace(AUTO, satisfaction=satisfaction)
    assert after(switches, 0.6, last=True) is Band.GO
    assert after(switches, 0.4, last=True, wrong=True) is Band.ASK
    assert after(switches, 0.1, last=True) is Band.ABORT
    expected = Band.ASK if satisfaction == "never" else Band.GO
    assert after(switches, 0.4, last=True, gated=True) is expected


def test_where_somebody_has_it_wait_anyway_no_timer_is_needed():
    assert after(AUTO, 0.6, pausing=True) is Band.GO
    assert after(AUTO, 0.4, pausing=True) is Band.ASK


def test_a_decision_says_in_words_why_and_not_the_score():
    decided = decide_band(AUTO, Confidence(0.79, ("it is new",)), StepSignals(tainted=True))
    assert decided == BandDecision(
        Band.ASK,
        "It is new. This thread has read something from outside, so nothing goes on by "
        "itself where it is not sure.",
    )
    assert decide_band(MANUAL, Confidence(1.0), StepSignals()).reason == (
        "Every step waits for a person here."
    )


def test_every_mode_that_can_be_set_is_known():
    assert {mode.value for mode in ApprovalMode} == {"auto", "manual", "confidence_threshold"}
