"""Presets and switches: what may be set, by whom a preset is overruled, and which brackets are no header."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.rules.settings import (
    CHOICES,
    FLAGS,
    PRESETS,
    SETTABLE,
    THRESHOLD,
    BadSwitches,
    Switches,
    parse_header,
    unknown_label,
    weakened_switches,
    with_switches,
)

BASE = Switches()


def refused(changes):
    with pytest.raises(BadSwitches) as caught:
        with_switches(BASE, changes)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def test_the_defaults_prefer_action_and_ask_for_plans():
    assert (BASE.intelligent_routing, BASE.review, BASE.satisfaction) == ("minimal", "none", "every")
    assert (BASE.enable_planning, BASE.plan_approval, BASE.auto_approve_simple) == (True, True, True)
    assert (BASE.conversational, BASE.allow_execution_transition, BASE.pause_enabled) == (False, True, True)


def test_every_switch_can_be_set_and_its_default_is_allowed():
    assert (
        {field.name for field in fields(Switches)}
        == {*CHOICES, THRESHOLD, *FLAGS}
        == {*SETTABLE} - {"preset"}
    )
    assert all(getattr(BASE, name) in allowed for name, allowed in CHOICES.items())


@pytest.mark.parametrize("name", sorted(field.name for field in fields(Switches)))
def test_of_every_switch_one_value_lets_people_see_less_than_another(name):
    values = {**CHOICES, **dict.fromkeys(FLAGS, (False, True)), THRESHOLD: (0.6, 0.8)}[name]
    found = {
        (one, two): weakened_switches(replace(BASE, **{name: one}), replace(BASE, **{name: two}))
        for one in values
        for two in values
    }
    assert {less for less in found.values()} == {(), (name,)}
    assert not any(found[one, one] for one in values)
    assert all(not (found[one, two] and found[two, one]) or name == "review" for one, two in found)


def test_looks_before_and_after_a_step_do_not_make_up_for_each_other():
    before, after, both = (replace(BASE, review=one) for one in ("before_step", "after_step", "both"))
    assert weakened_switches(before, after) == weakened_switches(after, before) == ("review",)
    assert weakened_switches(after, both) == ()


# promise: TASK-19
def test_the_presets_are_those_of_the_spec():
    complex_ = with_switches(BASE, {"preset": "complex"})
    assert (complex_.intelligent_routing, complex_.review) == ("aggressive", "both")
    assert (complex_.enable_planning, complex_.plan_approval, complex_.auto_approve_simple) == (
        True,
        True,
        False,
    )
    simple = with_switches(BASE, {"preset": "simple"})
    assert (simple.intelligent_routing, simple.review) == ("minimal", "after_step")
    assert (simple.enable_planning, simple.auto_approve_simple) == (False, True)
    talk = with_switches(
        replace(BASE, allow_execution_transition=False, pause_enabled=False), {"preset": "conversational"}
    )
    assert (talk.conversational, talk.allow_execution_transition, talk.pause_enabled) == (True, True, True)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_made_of_switches_that_are_allowed(name):
    assert with_switches(BASE, PRESETS[name]) == with_switches(BASE, {"preset": name})


def test_single_switches_overrule_the_preset_wherever_it_stands():
    first = with_switches(BASE, {"preset": "complex", "review": "none"})
    last = with_switches(BASE, {"review": "none", "preset": "complex"})
    assert first == last
    assert (first.review, first.intelligent_routing) == ("none", "aggressive")


def test_a_preset_leaves_what_it_does_not_name():
    base = replace(BASE, satisfaction="never", pause_enabled=False)
    assert with_switches(base, {"preset": "complex"}).satisfaction == "never"
    assert with_switches(base, {"preset": "simple"}).pause_enabled is False


def test_a_task_preset_ends_the_conversation_of_its_channel():
    talking = with_switches(BASE, {"preset": "conversational"})
    assert not with_switches(talking, {"preset": "simple"}).conversational
    assert not with_switches(talking, {"preset": "complex"}).conversational


def test_without_changes_nothing_changes():
    base = Switches("aggressive", "both", False, False, False, True, False, False, "never")
    assert with_switches(base, {}) == base


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (True, True),
        ("yes", True),
        ("On", True),
        ("TRUE", True),
        (False, False),
        ("no", False),
        ("off", False),
        ("false", False),
    ],
)
def test_a_flag_may_be_said_in_words(name, said, meant):
    assert getattr(with_switches(BASE, {name: said}), name) is meant


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reviw": "both"}, "“reviw” is not known (did you mean “review”?)."),
        ({"zzz": 1}, "“zzz” is not known (known are preset, intelligent_routing, review, satisfaction, approval_mode, confidence, "
                     "enable_planning, plan_approval, auto_approve_simple, conversational, allow_execution_transition, pause_enabled)."),
        ({"review": "before"}, "“review” must be one of none, before_step, after_step, both, not “before” (did you mean “before_step”?)."),
        ({"review": 3}, "“review” must be one of none, before_step, after_step, both, not “3”."),
        ({"review": False}, "“review” must be one of none, before_step, after_step, both, not “false”."),
        ({"satisfaction": None}, "“satisfaction” must be one of every, changes, never, not “null”."),
        ({"preset": "simpel"}, "“preset” must be one of complex, simple, conversational, not “simpel” (did you mean “simple”?)."),
        ({"preset": ["simple"]}, "“preset” must be one of complex, simple, conversational, not “[\"simple\"]” (did you mean “simple”?)."),
        ({"pause_enabled": "sometimes"}, "“pause_enabled” must be yes or no, not “sometimes”."),
        ({"pause_enabled": 1}, "“pause_enabled” must be yes or no, not “1”."),
        ({"approval_mode": "before_step"}, "“approval_mode” is called “review” here: write “review” with “before_step”."),
        ({"approval_mode": "automatic"}, "“approval_mode” must be one of auto, manual, confidence_threshold, not “automatic” (did you mean “auto”?)."),
        ({"approval_mode": ["x"]}, "“approval_mode” must be one of auto, manual, confidence_threshold, not “[\"x\"]”."),
        ({"confidence": 0.4}, "“confidence” must be a number from 0.5 to 1, not “0.4”."),
        ({"confidence": True}, "“confidence” must be a number from 0.5 to 1, not “true”."),
        ({"confidence": "80"}, "“confidence” must be a number from 0.5 to 1, not “80”."),
        ({"confidence": "nan"}, "“confidence” must be a number from 0.5 to 1, not “nan”."),
        ({"confidence": None}, "“confidence” must be a number from 0.5 to 1, not “null”."),
        ({"<@U1>\n": "x"}, "“‹@U1›” is not known"),
        ({"review": "<!channel>"}, "not “‹!channel›”."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_what_is_allowed(changes, said):
    assert said in refused(changes)


def test_everything_that_is_wrong_is_said_in_one_sentence():
    said = refused({"preset": "x", "reviw": "both", "pause_enabled": "never", "review": "both"})
    assert all(f"“{name}”" in said for name in ("preset", "reviw", "pause_enabled"))
    assert said.count(".") == 1
    assert said.endswith(".")


@given(
    st.dictionaries(
        st.sampled_from(SETTABLE) | st.text(),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()),
    )
)
def test_whatever_is_set_the_switches_stay_allowed(changes):
    found, said = BASE, "."
    try:
        found = with_switches(BASE, changes)
    except BadSwitches as wrong:
        said = str(wrong)
    assert said.endswith(".")
    assert not set("<>\n") & set(said)
    assert all(getattr(found, name) in allowed for name, allowed in CHOICES.items())
    assert all(isinstance(getattr(found, name), bool) for name in FLAGS)
    assert 0.5 <= found.confidence <= 1


def test_who_names_a_threshold_wants_it_to_count():
    assert with_switches(BASE, {"confidence": 0.9}) == replace(
        BASE, approval_mode="confidence_threshold", confidence=0.9
    )
    assert with_switches(BASE, {"confidence": "0.75", "approval_mode": "manual"}).approval_mode == "manual"
    assert with_switches(BASE, {"confidence": 1}).confidence == 1.0


@pytest.mark.parametrize(
    ("text", "said", "rest"),
    [
        ("[auto] move a", {"approval_mode": "auto"}, "move a"),
        ("[manual, complex] move a", {"approval_mode": "manual", "preset": "complex"}, "move a"),
        ("[confidence_threshold] move a", {"approval_mode": "confidence_threshold"}, "move a"),
        ("[confidence-threshold] move a", {"approval_mode": "confidence_threshold"}, "move a"),
        ("[confidence=0.8] move a", {"confidence": "0.8"}, "move a"),
        ("[confidence = “.75”] move a", {"confidence": ".75"}, "move a"),
        ("[complex] move a to b", {"preset": "complex"}, "move a to b"),
        ("  [Simple]  move a", {"preset": "simple"}, "move a"),
        ("[conversational]\nhelp me design", {"preset": "conversational"}, "help me design"),
        ("[review=both plan_approval=no] x", {"review": "both", "plan_approval": "no"}, "x"),
        ("[complex, review = none; pause-enabled=off ] x", {"preset": "complex", "review": "none", "pause_enabled": "off"}, "x"),
        ("[preset=simple] x", {"preset": "simple"}, "x"),
        ("[Review=“after-step”] x", {"review": "after_step"}, "x"),
        ("[complex] [simple] x", {"preset": "complex"}, "[simple] x"),
        ("[approval_mode=before_step] x", {"approval_mode": "before_step"}, "x"),
        ("[reviw=both] x", {"reviw": "both"}, "x"),
        ("[review=both colour=red] x", {"review": "both", "colour": "red"}, "x"),
        ("[simple complex] x", {"preset": "simple, complex"}, "x"),
        ("[review=both review=none] x", {"review": "both, none"}, "x"),
    ],
)  # fmt: skip
def test_a_bracket_at_the_start_sets_switches(text, said, rest):
    assert parse_header(text) == (said, rest)


@pytest.mark.parametrize(
    "text",
    [
        "", "[", "[]", "[ ] buy milk", "[x] todo", "[complex](https://example.com) is a link", "[complex]: https://example.com",
        "[complex]", "[complex]   ", "[simple]ton", '["complex", "simple"] is a list', "[1, 2, 3] add these", '[{"a": 1}] x',
        "[complexity] x", "[a complex task] x", "[simple, please] x", "[x=1] y", "[note=later] x", "[status=open] x", "[review] the file",
        "[review=] x", "[=both] x", "[review=both", "review=both] x", "[[complex]] x", "move [complex] x", "(complex) x", "[WIP] x", "[re: review] x",
        "[review both] x", "[review:both] x",
    ],
)  # fmt: skip
def test_any_other_bracket_stays_in_the_request(text):
    assert parse_header(text) == ({}, text)


@pytest.mark.parametrize(
    "text", ["[simple complex] x", "[review=both review=none] x", "[reviw=both] x", "[approval_mode=both] x"]
)
def test_a_wrong_header_is_told_and_not_taken_for_text(text):
    refused(parse_header(text)[0])


@given(st.text() | st.text("[]=,complexsimplereview_both \n").map("[".__add__))
def test_no_text_is_lost(text):
    said, rest = parse_header(text)
    assert text.endswith(rest)
    assert said or rest == text
    assert all(isinstance(value, str) for value in said.values())


@pytest.mark.parametrize("part", [" ", "a ", "complex ", "review=both ", "[", "=", ",", "-", "review  "])
def test_a_long_bracket_costs_nothing(part):
    text = "[" + part * 200_000 + "] x"
    assert parse_header(text)[1] == text


@pytest.mark.parametrize(
    "text", ["[foo] move a to b", "  [ urgent ]  list it", "[böse] x", "[complexx] do it"]
)
def test_a_word_in_brackets_that_sets_nothing_is_named_with_those_that_do(text: str) -> None:
    said = unknown_label(text)
    assert "[complex], [simple], [conversational]" in said
    assert "without the brackets" in said


@pytest.mark.parametrize(
    "text",
    ["[complex] move a", "[manual] x", "move [foo] a", "[a b] x", "[1] x", "[x](y) z", "[foo]", "", "[] x"],
)
def test_other_brackets_are_not_remarked_on(text: str) -> None:
    assert unknown_label(text) == ""
