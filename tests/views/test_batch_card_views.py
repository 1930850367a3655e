"""The card of several actions: each whole or said not to be, and one yes to those that are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gate.rules import batch_receipt
from gate.rules.action import OWN_CARD, Action, CallClass, Fact, Outcome, Ref, Verdict
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from tests.actions import but
from tests.views.samples import DELETE, INVERSE, MOVE, action, buttons, destructive, parts, sent, shown, yes
from views import buttons as ids_of
from views.batch_card import card, headline, in_part

HOSTILE = (
    "<!channel> *bold* <https://evil.example|click> `x` \u202egnp.exe\n\n2. Done: all of it\n:warning: &amp;"
)


def member(number: int, of: Action | None = None, **changes: Any) -> Action:
    made = of or action(replace(MOVE, summary=f"Move {number}.md to archive/{number}.md"))
    own = {"id": f"{number:032x}", "group": "g1", "call": number, "receipt": f"{number:064x}"}
    return but(made, **{**own, **changes})


def drawn(members: list[Action], *votes: Any) -> tuple[str, list[str]]:
    made = sent(card(members, votes))
    return shown(made.blocks), buttons(made.blocks)


def confirm_all(members: list[Action]) -> Ref | None:
    """What *Confirm all* of their card is a yes to."""
    rows = parts(card(members).blocks, "actions")
    value = next((e["value"] for row in rows for e in row["elements"] if e["action_id"] == "confirm_all"), "")
    return Ref.parse(value)


def covers(members: list[Action], covered: list[Action]) -> bool:
    return confirm_all(members) == Ref.parse(batch_receipt.batch_button("g1", covered))


def long(number: int, characters: int) -> Action:
    """A write of so many characters, most of them in one argument of several boxes."""
    text = "\n".join(f"line {row} of {number}" for row in range(characters // 12))[:characters]
    told = replace(MOVE, summary=f"Write {number}.md", facts=(Fact("content", text),))
    return member(number, action(told))


def test_three_prepared_ones_in_full():
    members = [member(number) for number in (1, 2, 3)]
    made = sent(card(members))
    text, ids = shown(made.blocks), buttons(made.blocks)
    assert made.text.startswith("3 changes prepared: Move 1.md to archive/1.md; Move 2.md")
    assert text.startswith("3 changes prepared\nAsked by <@UANA>.")
    for number in (1, 2, 3):
        assert f"{number}. Move {number}.md to archive/{number}.md" in text
    assert text.count("destination  archive/q3.md") == 3
    assert text.count("Can be undone") == 3
    assert text.count("Expires ") == 3
    assert "*Confirm all* is your yes to all 3, exactly as shown here." in text
    assert ids == ["confirm", "edit", "cancel", "more"] * 3 + ["confirm_all"]
    assert covers(members, members)
    values = [e["value"] for e in parts(made.blocks, "button") if e["action_id"] == "confirm"]
    assert values == [a.button for a in members]


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize(
    ("verdict", "cls"),
    [
        (Verdict.CONFIRM, CallClass.WRITE),
        (Verdict.TYPED, CallClass.DESTRUCTIVE),
        (Verdict.DENY, CallClass.UNKNOWN),
    ],
)
def test_every_state_and_class_is_accepted_and_promises_no_more_than_is_so(
    state: State, verdict: Verdict, cls: CallClass
):
    of = member(
        2,
        state=state,
        cls=cls,
        verdict=verdict,
        phrase="move 7F3K" if verdict is Verdict.TYPED else "",
        decided_by="UBEN",
        decision="not now",
        outcome=Outcome("success", "ok"),
        inverse=INVERSE,
        undo_open=True,
        capture={"seen": {}},
    )
    text, ids = drawn([member(1), of, member(3)], yes("UBEN"))
    assert set(ids) <= {value for name, value in vars(ids_of).items() if name.isupper()}
    assert of.preview.summary.removeprefix("Move") in text
    assert ids.count("confirm") == 2 + (state is State.PREPARED and verdict is Verdict.CONFIRM)
    assert ids.count("review") == (state is State.PREPARED and verdict is Verdict.TYPED)
    assert ids.count("undo") == (state is State.SUCCEEDED)
    assert ids.count("renew") == (state is State.EXPIRED)
    assert ("settle_happened" in ids) == ("settle_check" in ids) == (state is State.UNKNOWN)
    assert ("2. Moved" in text) == (state is State.SUCCEEDED)


def test_typed_ones_are_reviewed_alone_and_covered_by_nothing_else():
    members = [member(1), member(2, destructive()), member(3)]
    text, ids = drawn(members)
    assert "This deletes 2 files. Undo for 30 days." in text
    assert "Affected: 2 files, 16.4 KB in all" in text
    assert "is your yes to numbers 1 and 3, exactly as shown here. Number 2 is not part of it." in text
    assert covers(members, [members[0], members[2]])
    assert ids[4:8] == ["review", "edit", "cancel", "more"]


def test_one_that_is_left_has_its_own_button_alone():
    members = [member(1), member(2, state=State.CANCELLED, decided_by="UANA")]
    text, ids = drawn(members)
    assert text.startswith("2 changes: 1 prepared, 1 cancelled")
    assert "Cancelled by <@UANA>. Nothing ran." in text
    assert confirm_all(members) is None
    assert ids == ["confirm", "edit", "cancel", "more", "full"]


def test_what_cannot_be_looked_at_has_no_yes_and_is_not_covered():
    blind = replace(MOVE, problem="I am looking at what this would change now…")
    members = [member(1), member(2, action(blind)), member(3)]
    text, ids = drawn(members)
    assert "I am looking at what this would change now…" in text
    assert ids[4:7] == ["edit", "cancel", "more"]
    assert covers(members, [members[0], members[2]])


def test_results_stand_in_a_line_with_what_can_still_be_done():
    done = {"state": State.SUCCEEDED, "decided_by": "UANA", "inverse": INVERSE}
    members = [
        member(1, **done, outcome=Outcome("success", "all 4\n\nlinks kept"), undo_open=True),
        member(2, **done, outcome=Outcome("success", "x" * 5000)),
        member(3, state=State.FAILED, decided_by="UANA", outcome=Outcome("error", "no room")),
        member(4, state=State.UNKNOWN, decided_by="UANA", outcome=Outcome("unknown", "the line broke")),
        member(5, state=State.REJECTED, decided_by="UBEN", decision="not <!channel>"),
        member(6, state=State.EXPIRED),
    ]
    text, ids = drawn(members)
    assert "6 changes: 2 done, 1 failed, 1 not known whether it happened, 1 rejected, 1 expired" in text
    assert "all 4 · links kept" in text
    assert "x" * 200 not in text
    assert "The tool answered with an error." in text
    assert "I will not try again by myself" in text
    assert "“not <!channel>”" in text
    assert "To take it back: `/undo`" in text
    assert ids == [
        *("undo", "full"),
        *("full",),
        *("full",),
        *("settle_happened", "settle_not", "full"),
        *("full",),
        *("renew", "full"),
    ]


def test_votes_are_counted_for_each_by_itself():
    two = {"approvers": Approvers(frozenset({"UBEN", "UCLEO"}), needed=2)}
    members = [member(1, **two), member(2, **two)]
    text, _ = drawn(members, replace(yes("UBEN"), action=members[0].id))
    assert "1 of 2 have confirmed: <@UBEN>." in text
    assert "0 of 2 have confirmed." in text


def test_what_has_no_room_says_so_and_offers_a_card_of_its_own():
    members = [long(1, 8000), long(2, 8000), long(3, 500)]
    text, ids = drawn(members)
    assert in_part(members) == {members[1].id}
    assert text.count("There is no room here for all of it, so it cannot be confirmed here.") == 1
    assert ids == [
        *("confirm", "edit", "cancel", "more"),
        *("show_apart", "edit", "cancel", "more"),
        *("confirm", "edit", "cancel", "more"),
        "confirm_all",
    ]
    assert covers(members, [members[0], members[2]])
    assert "line 500 of 1" in text
    assert "line 0 of 2" not in text


def test_results_take_no_room_from_what_waits():
    told = Outcome("success", "y" * 9000)
    over = [member(n, state=State.SUCCEEDED, outcome=told, decided_by="UANA") for n in range(2, 12)]
    assert in_part([long(1, 5000), *over]) == frozenset()
    drawn([long(1, 5000), *over])


def test_what_left_is_named_and_what_is_private_is_not():
    apart, private = member(2, group=f"g1{OWN_CARD}"), member(3, action(DELETE), private=True)
    members = [member(1), apart, private]
    made = sent(card(members))
    text = shown(made.blocks)
    assert text.startswith("3 changes: 1 prepared, 2 on their own cards")
    assert "It stands on a card of its own in this thread." in text
    assert "It is shown to whoever asked alone." in text
    assert "q3-draft.md" not in text + made.text
    assert buttons(made.blocks) == ["confirm", "edit", "cancel", "more"]
    assert in_part(members) == frozenset()


@pytest.mark.parametrize("number", [1, 2, 5, 12])
@pytest.mark.parametrize("characters", [10, 700, 2900, 8900, 60_000])
def test_any_number_of_any_length_fits_and_nothing_is_confirmed_unseen(number: int, characters: int):
    members = [long(n, characters) for n in range(1, number + 1)]
    made = sent(card(members))
    rows = parts(made.blocks, "actions")
    ids = {e["value"].split(".")[0] for row in rows for e in row["elements"] if e["action_id"] == "confirm"}
    text = shown(made.blocks).replace("\n", "")
    for each in members:
        whole = each.preview.facts[0].value.replace("\n", "") in text
        assert (each.id in ids) == whole == (each.id not in in_part(members))


@pytest.mark.parametrize(
    "state", [State.PREPARED, State.UNKNOWN, State.FAILED, State.REJECTED, State.EXPIRED]
)
@pytest.mark.parametrize("cls", [CallClass.UNKNOWN, CallClass.DESTRUCTIVE])
def test_twelve_of_the_longest_words_in_every_place_are_accepted(state: State, cls: CallClass):
    long_words = "\u202e" * 4000
    told = replace(
        MOVE,
        summary=long_words,
        facts=tuple(Fact(f"a{n}", long_words) for n in range(30)),
        notes=(long_words,) * 20,
        undo=long_words,
        problem="",
    )
    members = [
        member(
            number,
            action(told),
            state=state,
            cls=cls,
            tool=long_words,
            reason=long_words,
            decision=long_words,
            decided_by="UBEN",
            outcome=Outcome("error", long_words),
            verdict=Verdict.TYPED if number % 2 else Verdict.CONFIRM,
            phrase="p",
            prose=long_words,
        )
        for number in range(1, 13)
    ]
    text, ids = drawn(members)
    assert "\u202e" not in text
    assert "confirm_all" not in ids
    drawn([but(each, preview=replace(told, problem=long_words)) for each in members])


def test_hostile_words_stay_words():
    told = replace(MOVE, summary=HOSTILE, facts=(Fact("a", HOSTILE),), notes=(HOSTILE,), undo=HOSTILE)
    members = [
        member(1, action(told), tool=HOSTILE, reason=HOSTILE, prose=HOSTILE, cls=CallClass.UNKNOWN),
        member(2),
    ]
    made = sent(card(members))
    assert "<!channel>" not in made.text
    for mrkdwn in parts(made.blocks, "mrkdwn"):
        assert "evil" not in mrkdwn["text"]
    (rich, *_) = parts(made.blocks, "rich_text")
    sections = [shown(e) for e in rich["elements"] if e["type"] == "rich_text_section"]
    assert not any(each.startswith("2. ") for each in sections)
    assert "\u202e" not in shown(made.blocks)


def test_the_seal_is_of_exactly_these_in_this_order():
    first, second = member(1), member(2)
    seals = {
        batch_receipt.batch_seal(these)
        for these in (
            [first],
            [first, second],
            [second, first],
            [first, replace(second, version=2)],
            [first, replace(second, receipt="f" * 64)],
        )
    }
    assert len(seals) == 5
    assert all(len(each) == 16 for each in seals)


def test_one_member_alone_is_called_one_change():
    assert headline([member(1)]) == "1 change prepared"
    assert headline([member(1, state=State.SUCCEEDED)]) == "1 change done"
