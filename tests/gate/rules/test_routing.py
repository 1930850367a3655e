"""Which flow a request takes, and what is asked first: decided by code from assessment and switches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.rules.routing import ROUNDS, SIMPLE_BELOW, SIMPLE_STEPS, route
from gate.rules.settings import Switches
from gate.rules.task import Assessment, Flow, Missing, Question, SettledPoint

NEEDED = Question("where", "Where to?", Missing.OUTPUTS)
NICE = Question("how", "How many?", Missing.CONSTRAINTS, assumption="all")
AGGRESSIVE, MINIMAL = Switches(intelligent_routing="aggressive"), Switches()


def assessed(complexity: int = 10, steps: int = 1, *questions: Question) -> Assessment:
    return Assessment(complexity, steps, tuple(q.missing for q in questions), questions)


# promise: TASK-09
@pytest.mark.parametrize(
    ("complexity", "steps", "flow"),
    [
        (0, 1, Flow.SIMPLE),
        (29, 2, Flow.SIMPLE),
        (30, 1, Flow.PLAN),
        (10, 3, Flow.PLAN),
        (100, 30, Flow.PLAN),
        (0, 0, Flow.SIMPLE),
    ],
)
def test_simple_is_below_thirty_and_at_most_two_steps(complexity: int, steps: int, flow: Flow):
    assert route(assessed(complexity, steps), MINIMAL).flow is flow


def test_what_is_needed_is_asked_in_both_ways_and_what_can_be_assumed_in_one():
    both = assessed(50, 5, NEEDED, NICE)
    assert route(both, AGGRESSIVE).ask == (NEEDED, NICE)
    assert route(both, MINIMAL).ask == (NEEDED,)
    assert route(assessed(50, 5, NICE), MINIMAL).flow is Flow.PLAN


def test_what_was_answered_or_skipped_is_not_asked_again():
    one = assessed(50, 5, NICE)
    assert route(one, AGGRESSIVE, (SettledPoint("how", "How many?", "three", "U1"),)).ask == ()
    other = Question("when", "When?", Missing.CONSTRAINTS, assumption="now")
    skipped = (SettledPoint("how", "How many?", "all", ""),)
    assert route(assessed(50, 5, NICE, other), AGGRESSIVE, skipped).ask == ()


def test_what_was_skipped_is_not_asked_again_unless_a_tool_needs_it():
    skipped = (SettledPoint("where", "Where to?", "whatever seems sensible", ""),)
    assert route(assessed(50, 5, NEEDED), AGGRESSIVE, skipped, 1).ask == ()
    value = Question("where", "Where to?", Missing.VALUE)
    assert route(assessed(50, 5, value), AGGRESSIVE, skipped, 1).ask == (value,)


def test_what_is_assumed_instead_of_asked_is_part_of_the_route():
    assumed = (SettledPoint("how", "How many?", "all", ""),)
    assert route(assessed(50, 5, NICE), MINIMAL).assumed == assumed
    assert route(assessed(50, 5, NICE), MINIMAL, assumed).assumed == ()
    default = Question("n", "How many lines?", Missing.VALUE, assumption="10")
    assert route(assessed(50, 5, default), MINIMAL).assumed == ()


def test_what_is_to_be_thought_through_is_talked_about_before_anything_is_asked_or_planned():
    found = Assessment(70, 9, (Missing.PURPOSE,), (NEEDED, NICE), open_ended=True)
    for switches in (MINIMAL, AGGRESSIVE, Switches(enable_planning=False)):
        way = route(found, switches)
        assert (way.flow, way.ask, way.assumed) == (Flow.TALK, (), ())


def test_an_answer_that_does_not_do_is_asked_again_a_few_times():
    answered = (SettledPoint("where", "Where to?", "hm", "U1"),)
    assert route(assessed(50, 5, NEEDED), MINIMAL, answered, 1).ask == (NEEDED,)
    assert "Where to?" in route(assessed(50, 5, NEEDED), MINIMAL, answered, ROUNDS).stuck


def test_without_planning_all_is_done_directly_and_in_a_conversation_nothing():
    assert route(assessed(90, 9), Switches(enable_planning=False)).flow is Flow.SIMPLE
    assert route(assessed(0, 1), Switches(conversational=True)).flow is Flow.TALK


def test_a_plan_for_everything_where_simple_ones_are_not_approved_by_themselves():
    assert route(assessed(0, 1), Switches(auto_approve_simple=False)).flow is Flow.PLAN


questions = st.lists(
    st.builds(
        Question, st.sampled_from("abcd"), st.text(max_size=5), st.sampled_from(Missing), st.just(()),
        st.sampled_from(("", "yes")),
    ),
    max_size=4,
)  # fmt: skip


@given(st.integers(0, 100), st.integers(0, 40), questions, st.integers(0, 5), st.booleans())
def test_nothing_goes_on_while_something_needed_is_missing(complexity, steps, open_, asked, aggressive):
    found = assessed(complexity, steps, *open_)
    way = route(found, AGGRESSIVE if aggressive else MINIMAL, (), asked)
    needed = [q for q in open_ if not q.assumption]
    assert way.reason or way.stuck
    if needed:
        assert way.stuck or set(needed) <= set(way.ask)
        assert way.flow is Flow.NONE
    elif not way.ask:
        simple = complexity < SIMPLE_BELOW and steps <= SIMPLE_STEPS
        assert way.flow is (Flow.SIMPLE if simple else Flow.PLAN)
