"""Tools are judged once for a policy, and anew once anything that decides has changed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.rules.action import CallClass, Verdict
from gate.rules.approvers import Approvers
from gate.rules.policy import Policy, Rule, decide
from gate.rules.tool import Hints, Recipe, ToolSpec, Trust
from gate.rules.tool_offers import ToolOffers
from tests.gate.counting_policy import CountingPolicy

READS = ToolSpec("files", "list_files", "", "Lists the files.", {}, "d", Hints(read_only=True))
MANY = [replace(READS, name=f"list_files_{number}") for number in range(3)]
CHANNELS = ("C1", "C2", "C3")


def classes(
    offers: ToolOffers, specs: list[ToolSpec], policy: Policy, channel: str = "C1"
) -> list[CallClass]:
    return [one.cls for one in offers.offered(specs, policy, channel).values()]


def test_tools_that_are_listed_again_are_not_judged_again_in_any_channel() -> None:
    counting, offers = CountingPolicy(), ToolOffers()
    policy = counting.policy
    assert counting.anew(lambda: offers.offered(MANY, policy, "C1")) == {spec.full_name for spec in MANY}
    first = offers.offered(MANY, policy, "C1")
    again = list[object]()
    anew = counting.anew(lambda: again.extend(offers.offered(MANY[::-1], policy, one) for one in CHANNELS))
    assert (anew, again) == (set(), [first] * len(CHANNELS))


@pytest.mark.parametrize(
    ("changed", "cls"),
    [
        (replace(READS, definition="d'"), CallClass.READ),
        (replace(READS, description="Lists the files and deletes them.", definition="d'"), CallClass.UNKNOWN),
        (replace(READS, schema={"properties": {"delete": {}}}, definition="d'"), CallClass.UNKNOWN),
        (replace(READS, hints=Hints(destructive=True)), CallClass.DESTRUCTIVE),
        (replace(READS, changed=True), CallClass.UNKNOWN),
        (replace(READS, trust=Trust.UNTRUSTED), CallClass.UNKNOWN),
        (replace(READS, trust=Trust.REVIEWED), CallClass.UNKNOWN),
        (replace(READS, trust=Trust.REVIEWED, reviewed=True), CallClass.READ),
        (replace(READS, recipe=Recipe(cls=CallClass.WRITE)), CallClass.WRITE),
        (replace(READS, shows_change=True), CallClass.UNKNOWN),
        (replace(READS, class_without_arguments=(CallClass.WRITE, "")), CallClass.WRITE),
    ],
)
def test_a_tool_of_which_anything_has_changed_is_judged_anew(changed: ToolSpec, cls: CallClass) -> None:
    counting, offers = CountingPolicy(), ToolOffers()
    assert set(classes(offers, [READS, *MANY], counting.policy)) == {CallClass.READ}
    found = list[CallClass]()
    anew = counting.anew(lambda: found.extend(classes(offers, [changed, *MANY], counting.policy)))
    assert (anew, found[0]) == ({READS.full_name}, cls)
    assert classes(offers, [READS, *MANY], counting.policy)[0] is CallClass.READ


def test_a_schema_that_only_python_takes_for_the_same_is_judged_anew() -> None:
    counting, offers = CountingPolicy(), ToolOffers()
    one, true = (replace(READS, schema={"properties": {"a": {"default": value}}}) for value in (1, True))
    assert one == true
    offers.offered([one], counting.policy, "C1")
    assert counting.anew(lambda: offers.offered([true], counting.policy, "C1"))


def test_all_tools_are_judged_anew_by_another_policy_of_the_same_version() -> None:
    offers, stated = ToolOffers(), Policy("v", (Rule("says so", ("files.*",), cls=CallClass.DESTRUCTIVE),))
    for _ in range(2):
        assert set(classes(offers, MANY, Policy("v"))) == {CallClass.READ}
        assert set(classes(offers, MANY, stated)) == {CallClass.DESTRUCTIVE}
        assert not classes(offers, MANY, replace(stated, rules=(Rule("no", ("*",), deny=True),)))


def test_tools_that_are_not_listed_any_more_are_let_go() -> None:
    counting, offers = CountingPolicy(), ToolOffers()
    offers.offered(MANY, counting.policy, "C1")
    offers.offered(MANY[1:], counting.policy, "C1")
    assert len(offers._judged) == len(MANY) - 1
    assert counting.anew(lambda: offers.offered(MANY, counting.policy, "C1")) == {MANY[0].full_name}


def test_two_tools_of_one_name_are_judged_each_for_itself() -> None:
    offers, worse = ToolOffers(), replace(READS, hints=Hints(destructive=True))
    for _ in range(2):
        assert classes(offers, [READS, worse], Policy("v")) == [CallClass.READ, CallClass.DESTRUCTIVE]
        assert classes(offers, [worse, READS], Policy("v")) == [CallClass.DESTRUCTIVE, CallClass.READ]


SOME_CHANNELS = st.lists(st.sampled_from(CHANNELS[:2]), max_size=2, unique=True).map(tuple)
RULES = st.builds(
    Rule,
    name=st.sampled_from(("a", "more than is held against what files lie in", "more than schemas see")),
    tools=st.sampled_from((("*",), ("files.*",), ("files.list_files_1",), ("other.*",))),
    about=st.sampled_from((None, lambda name, args: args == {} and name.endswith("2"))),
    cls=st.none() | st.sampled_from(CallClass),
    known=st.none() | st.sampled_from(CallClass),
    at_least=st.none() | st.sampled_from(CallClass),
    deny=st.sampled_from((False, False, False, True)),
    always=st.booleans(),
    approvers=st.none() | st.just(Approvers(needed=2)),
    channels=SOME_CHANNELS,
    private=st.booleans(),
)
POLICIES = st.builds(Policy, st.just("v"), st.lists(RULES, max_size=4).map(tuple), channels=SOME_CHANNELS)


@given(POLICIES)
def test_what_is_offered_in_each_channel_is_what_the_policy_decides_there(policy: Policy) -> None:
    offers = ToolOffers()
    for channel in CHANNELS:
        decided = [decide(policy, spec, {}, channel, lambda *_: False) for spec in MANY]
        allowed = [
            (spec, one.cls)
            for spec, one in zip(MANY, decided, strict=True)
            if one.verdict is not Verdict.DENY
        ]
        offered = offers.offered(MANY, policy, channel).values()
        assert [(one.spec, one.cls) for one in offered] == allowed
