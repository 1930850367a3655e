"""The window in which something is allowed, and the list of what is; whatever their arguments hold."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gate.rules.action import CallClass, Fact, Ref, Verdict, Vote
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from gate.rules.grants import MAX_LENGTH, Grant, MatchKind, Pattern, describe_patterns, grant_patterns
from gate.rules.ports import Note
from tests.views.samples import MOVE, NOW, action, buttons, destructive, parts, sent, shown
from tests.views.test_views_hostile import CORPUS
from views import grants, notices, payload_check
from views.card import card

INSIDE = (Pattern("path", MatchKind.UNDER, "archive/"),)


def grant(grant_id="g1", **changes):
    made = Grant(
        id=grant_id, session=action().session, user="UANA", server="filesystem", tool="move_file", patterns=INSIDE,
        definition="d", given_at=NOW, until=NOW + timedelta(hours=4),
    )  # fmt: skip
    return replace(made, **changes)


def menu(of):
    made = sent(card(of))
    return [o["text"]["text"] for o in parts(made.blocks, "overflow")[0]["options"]]


def test_the_menu_of_a_card_offers_it_only_above_the_floor():
    assert "Always allow in this thread…" in menu(action())
    for below in (
        destructive(),
        action(always_gated=True),
        action(cls=CallClass.UNKNOWN),
        action(approvers=Approvers(needed=2)),
        action(verdict=Verdict.TYPED, phrase="x"),
        action(private=True),
        action(renews="a0"),
    ):
        assert "Always allow in this thread…" not in menu(below)


def test_the_window_shows_the_whole_call_and_offers_each_kind_and_time():
    made = grants.window(action(), grant_patterns({"path": "archive/a.md"}))
    assert not payload_check.view(made)
    text = shown(made["blocks"])
    assert "destination  archive/q3.md" in text
    assert "Allow* confirms this call" in text
    which, hours = (b["element"]["options"] for b in made["blocks"] if b["type"] == "input")
    assert [o["text"]["text"] for o in which] == [
        "With path = archive/a.md",
        "With path inside archive/",
        "With any arguments",
    ]
    assert [o["value"] for o in which] == ["0", "1", "2"]
    assert [o["value"] for o in hours] == ["1", "4", "8"]
    assert made["private_metadata"] == f"grant:{action().button}"


def test_the_list_says_what_whose_until_when_and_takes_back():
    made = sent(grants.listed([grant(), grant("g2", patterns=())], ["g2"]))
    text = shown(made.blocks)
    assert made.text == "2 that run without asking"
    assert "Move file (filesystem) with path inside archive/" in text
    assert "Given by <@UANA> for their own calls · until <!date^" in text
    assert text.count("its tool has changed since") == 1
    assert buttons(made.blocks) == ["revoke", "revoke"]
    assert Ref.parse(parts(made.blocks, "button")[0]["value"]) == Ref("g1", 1, "0")


def test_an_empty_list_says_so_and_a_long_one_how_many_more():
    assert shown(sent(grants.listed([])).blocks).endswith(grants.NONE)
    assert "… and 88 more." in shown(sent(grants.listed([grant()] * 100)).blocks)


def test_a_note_lists_them():
    made = notices.message(Note("n", action().session, "grants", {"void": ["g1"]}), allowed=[grant()])
    assert "its tool has changed since" in shown(sent(made).blocks)


@pytest.mark.parametrize("strange", CORPUS)
def test_nothing_in_their_arguments_calls_anybody(strange):
    args = {"path": f"{strange[:20]}/a.md", "name": strange[:40]}
    told = replace(MOVE, facts=tuple(Fact(k, v) for k, v in args.items()))
    kinds = grant_patterns(args)
    made = grants.window(action(preview=told), kinds)
    assert not payload_check.view(made)
    assert all(len(describe_patterns(kind)) <= MAX_LENGTH for kind in kinds)
    for kind in kinds:
        listed = sent(grants.listed([grant(patterns=kind, tool=strange[:30])]))
        assert not [b for b in parts(listed.blocks, "user") + parts(listed.blocks, "broadcast") if b]


def test_a_card_of_what_ran_by_a_grant_says_that_nobody_was_asked():
    of = action(state=State.SUCCEEDED, decided_by="UANA", grant="g1")
    text = shown(sent(card(of, (Vote(of.id, of.version, "UANA", True, NOW),))).blocks)
    assert "Nobody was asked: allowed in this thread by <@UANA> (grant `g1`)." in text
