"""Tokens: their form, for how long they count, what each kind may see, and where it may propose."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.rules.access import Kind, Subject, Token, may_decide, place, read, sees, shown, usable, write
from gate.rules.action import Approvers, Person, Session
from gate.rules.permissions import Ruling
from gate.rules.policy import Policy
from tests.actions import but
from tests.views.samples import action as sample

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "ab" * 32
ANN = Person("T1", "U_ANN", home="T1")
BEN = Person("T1", "U_BEN", home="T1", groups=frozenset({"S_OPS"}))
GIL = Person("T1", "U_GIL", home="T1", is_guest=True)
ACTION = but(sample(), session=Session("T1", "C_OPS", "1.0"), requester="U_ANN", approvers=Approvers())


def token(kind: Kind = Kind.PERSON, user: str = "U_ANN", **more: object) -> Token:
    made = Token("0" * 16, kind, "t", "T1", user, ("C_OPS",), NOW, NOW + timedelta(days=1))
    return replace(made, **more)  # type: ignore[arg-type]


@given(kind=st.sampled_from(Kind), number=st.integers(0, 2**64 - 1), secret=st.integers(0, 2**256 - 1))
def test_a_token_is_read_as_it_was_written(kind: Kind, number: int, secret: int) -> None:
    found = read(write(kind, f"{number:016x}", f"{secret:064x}"))
    assert found is not None
    assert (found.id, found.secret) == (f"{number:016x}", f"{secret:064x}")


@pytest.mark.parametrize("place_", range(len(write(Kind.AGENT, "0" * 16, SECRET))))
def test_one_wrong_character_makes_it_no_token(place_: int) -> None:
    text = write(Kind.AGENT, "0" * 16, SECRET)
    wrong = "1" if text[place_] != "1" else "2"
    assert read(text[:place_] + wrong + text[place_ + 1 :]) is None


def test_a_token_counts_until_its_end_or_its_revocation() -> None:
    assert usable(token(), NOW).allowed
    assert not usable(token(), NOW + timedelta(days=1)).allowed
    assert not usable(token(revoked_at=NOW), NOW).allowed


def test_an_agent_never_decides() -> None:
    assert not may_decide(token(Kind.AGENT), "confirm this").allowed
    assert may_decide(token(), "confirm this").allowed


@pytest.mark.parametrize(
    ("holder", "person", "approvers", "seen"),
    [
        (token(), ANN, Approvers(), True),
        (token(user="U_BEN"), BEN, Approvers(), False),
        (token(user="U_BEN"), BEN, Approvers(groups=frozenset({"S_OPS"})), True),
        (token(user="U_BEN"), BEN, Approvers(users=frozenset({"U_BEN"})), True),
        (token(user="U_BEN"), BEN, Approvers(needed=2), True),
        (token(user="U_BEN", channels=("C_ELSE",)), BEN, Approvers(needed=2), False),
        (token(user="U_GIL"), GIL, Approvers(needed=2), False),
        (token(), None, Approvers(), False),
        (token(team="T2"), ANN, Approvers(), False),
        (token(user="U_BEN"), ANN, Approvers(), False),
        (token(Kind.AGENT), ANN, Approvers(), False),
    ],
)
def test_a_token_sees_what_concerns_its_person(
    holder: Token, person: Person | None, approvers: Approvers, seen: bool
) -> None:
    subject = Subject(but(ACTION, approvers=approvers))
    assert sees(Policy("p"), holder, person, subject).allowed is seen


def test_an_admin_sees_everything_of_their_workspace() -> None:
    policy = Policy("p", admins=frozenset({"U_BEN"}))
    assert sees(policy, token(user="U_BEN"), BEN, Subject(ACTION)).allowed


def test_an_agent_sees_what_it_proposed_and_not_its_phrase() -> None:
    agent = token(Kind.AGENT)
    assert sees(Policy("p"), agent, None, Subject(ACTION, makers=frozenset({agent.id}))).allowed
    assert not sees(Policy("p"), agent, ANN, Subject(ACTION, makers=frozenset({"other"}))).allowed
    typed = but(ACTION, phrase="delete it 7F3K")
    assert shown(agent, typed).phrase == ""
    assert shown(token(), typed).phrase == typed.phrase


@pytest.mark.parametrize(
    ("session", "channel", "found"),
    [
        ("", "", Session("T1", "C_OPS", "")),
        ("", "C_OPS", Session("T1", "C_OPS", "")),
        ("T1:C_OPS:1.5", "", Session("T1", "C_OPS", "1.5")),
        ("", "C_ELSE", None),
        ("T2:C_OPS:1.5", "", None),
        ("T1:C_ELSE:1.5", "", None),
        ("T1:C_OPS:1.5", "C_ELSE", None),
        ("T1:C_OPS", "", None),
        ("::", "", None),
    ],
)
def test_it_proposes_only_in_its_channels(session: str, channel: str, found: Session | None) -> None:
    placed = place(token(), session, channel)
    assert placed == found if found else isinstance(placed, Ruling)


def test_a_token_without_channels_proposes_nothing() -> None:
    assert isinstance(place(token(channels=()), "", ""), Ruling)
