"""Who may do what: the whole table of verbs and people, and which votes are enough."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations

import pytest

from gate.rules.action import Action, CallClass, Person, Preview, Risk, Session, Verdict, Vote
from gate.rules.action_states import State
from gate.rules.approvers import Approvers, Named
from gate.rules.permissions import Verb, account, deciders, has_enough_votes, may
from gate.rules.policy import Policy
from tests.actions import action_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = Policy("p", admins=frozenset({"U_ADMIN"}))
NOBODY, NAMED = Approvers(), Approvers(frozenset({"U_BOSS", "U_ASKER"}), frozenset({"S_OPS"}))
FOUR_EYES = Approvers(needed=2)


def action(approvers: Approvers = NOBODY, version: int = 2, *instructed: str) -> Action:
    made = action_of(
        id="a",
        version=version,
        revision=1,
        state=State.PREPARED,
        session=Session("T1", "C1", "1.1"),
        requester="U_ASKER",
        server="s",
        tool="t",
        args=b"{}",
        cls=CallClass.WRITE,
        risk=Risk.MEDIUM,
        verdict=Verdict.CONFIRM,
        reason="",
        rule="",
        policy="p",
        definition="d",
        approvers=approvers,
        always_gated=False,
        preview=Preview("", "", ()),
        capture={},
        receipt="r",
        phrase="",
        created_at=NOW,
        expires_at=NOW,
    )
    source = replace(made.proposal.source, instructed=frozenset(instructed))
    return replace(made, proposal=replace(made.proposal, source=source))


def member(user: str, groups: tuple[str, ...] = (), **more: bool | str) -> Person:
    return Person("T1", user, home=str(more.pop("home", "T1")), groups=frozenset(groups), **more)  # type: ignore[arg-type]


ASKER, BOSS, OPS = member("U_ASKER"), member("U_BOSS"), member("U_OPS", ("S_OPS",))
ADMIN, OTHER = member("U_ADMIN"), member("U_OTHER")
EVERYBODY = {"asker": ASKER, "boss": BOSS, "ops": OPS, "admin": ADMIN, "other": OTHER}


@pytest.mark.parametrize(
    ("verb", "approvers", "allowed"),
    [
        (Verb.CONFIRM, NOBODY, "asker"),
        (Verb.CONFIRM, NAMED, "boss ops"),
        (Verb.CONFIRM, FOUR_EYES, "boss ops admin other"),
        (Verb.REJECT, NOBODY, "asker admin"),
        (Verb.REJECT, NAMED, "asker boss ops admin"),
        (Verb.EDIT, NAMED, "asker"),
        (Verb.RENEW, NAMED, "asker"),
        (Verb.CANCEL, NAMED, "asker admin"),
        (Verb.UNDO, NAMED, "asker admin"),
        (Verb.SETTLE, NOBODY, "asker admin"),
        (Verb.SETTLE, NAMED, "asker boss ops admin"),
        (Verb.LOOK, NOBODY, "asker boss ops admin other"),
    ],
)
def test_each_verb_has_its_people(verb: Verb, approvers: Approvers, allowed: str) -> None:
    rulings = {name: may(POLICY, verb, action(approvers), person) for name, person in EVERYBODY.items()}
    assert {name for name, ruling in rulings.items() if ruling.allowed} == set(allowed.split())
    assert all(ruling.reason.endswith(".") for ruling in rulings.values() if not ruling.allowed)


@pytest.mark.parametrize(
    "person",
    [
        None,
        member("U_ASKER", is_bot=True),
        member("U_ASKER", is_deleted=True),
        member("U_ASKER", is_guest=True),
        member("U_ASKER", home="T2"),
        member("U_ASKER", home=""),
    ],
)
@pytest.mark.parametrize("verb", list(Verb))
def test_guests_strangers_bots_the_deleted_and_the_unknown_may_nothing(
    person: Person | None, verb: Verb
) -> None:
    assert not account(person).allowed
    for approvers in (NOBODY, NAMED, FOUR_EYES):
        ruling = may(POLICY, verb, action(approvers), person)
        assert not ruling.allowed
        assert ruling.reason.endswith(".")


def test_an_admin_never_confirms_for_others() -> None:
    assert not may(POLICY, Verb.CONFIRM, action(), ADMIN).allowed
    assert not may(POLICY, Verb.CONFIRM, action(NAMED), ADMIN).allowed


def votes(*people: str, version: int = 2, yes: bool = True) -> list[Vote]:
    return [Vote("a", version, person, yes, NOW) for person in people]


def test_the_requester_never_counts_where_others_have_to_decide() -> None:
    people = ["U_ASKER", "U_BOSS", "U_OPS"]
    for approvers in (NAMED, FOUR_EYES, Approvers(frozenset({"U_BOSS"}), frozenset({"S_OPS"}), 2)):
        for count in range(4):
            for group in combinations(people, count):
                others = set(group) - {"U_ASKER"}
                assert has_enough_votes(action(approvers), votes(*group)) == (len(others) >= approvers.needed)


def test_only_a_yes_to_this_version_counts_and_each_person_once() -> None:
    two = action(FOUR_EYES)
    assert not has_enough_votes(two, votes("U1", "U1"))
    assert not has_enough_votes(two, [*votes("U1"), *votes("U2", version=1)])
    assert not has_enough_votes(two, [*votes("U1"), *votes("U2", yes=False)])
    assert has_enough_votes(two, votes("U1", "U2"))
    assert not has_enough_votes(action(), [])
    assert has_enough_votes(action(), votes("U_ASKER"))


def test_who_decides_is_said_with_mentions() -> None:
    assert deciders(action()) == "<@U_ASKER>"
    assert deciders(action(FOUR_EYES)) == "2 other members of this workspace"
    assert deciders(action(Approvers(frozenset({"U1"})))) == "<@U1>"
    many = Approvers(frozenset({"U2", "U1"}), frozenset({"S1"}), 2)
    assert deciders(action(many)) == "2 of <@U1>, <@U2> or <!subteam^S1>"
    both = replace(many, also=(Named(groups=frozenset({"S2"})),))
    assert deciders(action(both)) == "2 of <@U1>, <@U2> or <!subteam^S1> who is also one of <!subteam^S2>"


def test_who_said_what_is_to_be_done_does_not_count_alone() -> None:
    one, two = Approvers(frozenset({"U_BOSS"}), frozenset({"S_OPS"})), Approvers(needed=2)
    told = action(one, 2, "U_BOSS")
    assert not may(POLICY, Verb.CONFIRM, told, BOSS).allowed
    assert may(POLICY, Verb.CONFIRM, told, OPS).allowed
    assert may(POLICY, Verb.REJECT, told, BOSS).allowed
    assert not has_enough_votes(told, votes("U_BOSS"))
    assert has_enough_votes(told, votes("U_OPS"))
    both = action(two, 2, "U_BOSS", "U_OPS")
    assert may(POLICY, Verb.CONFIRM, both, BOSS).allowed
    assert not has_enough_votes(both, votes("U_BOSS"))
    assert has_enough_votes(both, votes("U_BOSS", "U_OPS"))  # each has looked at what the other said
    assert has_enough_votes(both, votes("U_BOSS", "U_OTHER"))
    alone = action(NOBODY, 2, "U_BOSS")
    assert has_enough_votes(alone, votes("U_ASKER"))
    assert may(POLICY, Verb.CONFIRM, alone, ASKER).allowed


def test_who_decides_instead_is_said() -> None:
    two = Approvers(frozenset({"U1", "U2"}))
    assert deciders(action(two, 2, "U1")) == "<@U2>"
    assert deciders(action(two, 2, "U1", "U2")) == "an approver other than <@U1> or <@U2>"
    group = Approvers(frozenset({"U1"}), frozenset({"S1"}))
    assert deciders(action(group, 2, "U1")) == "<!subteam^S1> other than <@U1>"
    assert deciders(action(Approvers(needed=2), 2, "U1")) == "2 other members of this workspace"
