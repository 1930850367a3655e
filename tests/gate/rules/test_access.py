"""Tokens: their form, for how long they count, what each kind may see, and where it may propose."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.rules.access import (
    Subject,
    Token,
    TokenKind,
    format_token,
    is_valid_token,
    may_decide,
    may_join,
    may_read_held,
    parse_token,
    sees,
    session_for_token,
    visible_action,
)
from gate.rules.action import Person, Session
from gate.rules.approvers import Approvers
from gate.rules.permissions import Ruling, Verb, may
from gate.rules.policy import Policy
from tests.actions import but
from tests.views.samples import action as sample

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "ab" * 32
ANN = Person("T1", "U_ANN", home="T1")
BEN = Person("T1", "U_BEN", home="T1", groups=frozenset({"S_OPS"}))
CLEO = Person("T1", "U_CLEO", home="T1")
GIL = Person("T1", "U_GIL", home="T1", is_guest=True)
ACTION = but(sample(), session=Session("T1", "C_OPS", "1.0"), requester="U_ANN", approvers=Approvers())


def token(kind: TokenKind = TokenKind.PERSON, user: str = "U_ANN", **more: object) -> Token:
    made = Token("0" * 16, kind, "t", "T1", user, ("C_OPS",), NOW, NOW + timedelta(days=1))
    return replace(made, **more)  # type: ignore[arg-type]


@given(kind=st.sampled_from(TokenKind), number=st.integers(0, 2**64 - 1), secret=st.integers(0, 2**256 - 1))
def test_a_token_is_read_as_it_was_written(kind: TokenKind, number: int, secret: int) -> None:
    found = parse_token(format_token(kind, f"{number:016x}", f"{secret:064x}"))
    assert found is not None
    assert (found.id, found.secret) == (f"{number:016x}", f"{secret:064x}")


def test_one_wrong_character_makes_it_no_token() -> None:
    text = format_token(TokenKind.AGENT, "0" * 16, SECRET)
    for at, character in enumerate(text):
        wrong = "1" if character != "1" else "2"
        assert parse_token(text[:at] + wrong + text[at + 1 :]) is None, at


def test_a_token_counts_until_its_end_or_its_revocation() -> None:
    assert is_valid_token(token(), NOW).allowed
    assert not is_valid_token(token(), NOW + timedelta(days=1)).allowed
    assert not is_valid_token(token(revoked_at=NOW), NOW).allowed


def test_an_agent_never_decides() -> None:
    assert not may_decide(token(TokenKind.AGENT), "confirm this").allowed
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
        (token(TokenKind.AGENT), ANN, Approvers(), False),
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


@pytest.mark.parametrize(
    ("holder", "reads"),
    [
        (token(), True),
        (token(user="U_CLEO"), True),
        (token(user="U_BEN"), False),
        (token(TokenKind.AGENT), False),
        (token(TokenKind.AGENT, user="U_CLEO"), False),
    ],
)
def test_what_is_held_is_read_by_who_may_release_it_alone(holder: Token, reads: bool) -> None:
    policy = Policy("p", admins=frozenset({"U_CLEO"}))
    ruling = may_read_held(policy, holder, ACTION.requester)
    assert (ruling.allowed, bool(ruling.reason)) == (reads, not reads)
    for who in (ANN, BEN, CLEO):  # the same people who may release it as it is
        asks = token(user=who.id)
        assert (
            may_read_held(policy, asks, ACTION.requester).allowed
            is may(policy, Verb.RELEASE, ACTION, who).allowed
        )


def test_an_agent_sees_what_it_proposed_and_not_its_phrase() -> None:
    agent = token(TokenKind.AGENT)
    assert sees(Policy("p"), agent, None, Subject(ACTION, makers=frozenset({agent.id}))).allowed
    assert not sees(Policy("p"), agent, ANN, Subject(ACTION, makers=frozenset({"other"}))).allowed
    typed = but(ACTION, phrase="delete it 7F3K")
    assert visible_action(agent, typed).phrase == ""
    assert visible_action(token(), typed).phrase == typed.phrase


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
    placed = session_for_token(token(), session, channel)
    assert placed == found if found else isinstance(placed, Ruling)


def test_an_agent_joins_only_a_thread_that_was_opened_for_it() -> None:
    joins = {
        (kind, opened): may_join(token(kind), opened).allowed
        for kind in TokenKind
        for opened in (True, False)
    }
    assert [asked for asked, allowed in joins.items() if not allowed] == [(TokenKind.AGENT, False)]


def test_a_token_without_channels_proposes_nothing() -> None:
    assert isinstance(session_for_token(token(channels=()), "", ""), Ruling)
