"""The modals: what they ask, what they carry, and that they never ask what cannot be answered."""

import json
from dataclasses import replace

import pytest

from gate.rules.action import Outcome, Verdict
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from gate.rules.canonical_json import canonical
from tests.views.samples import DELETE, action, destructive, done, opened, parts, shown, yes
from views import modals
from views.buttons import untagged
from views.form_fields import Form


def test_the_typed_modal_shows_what_is_affected_and_the_phrase_and_is_named_by_the_verb():
    view = opened(modals.review(destructive()))
    told = shown(view["blocks"])
    assert view["title"]["text"] == "Review"
    assert view["submit"]["text"] == "Delete"
    assert view["close"]["text"] == "Cancel"
    assert view["callback_id"] == modals.TYPED
    assert " 4.1 KB  2026-11-01  file  q3-draft.md" in told
    assert "Affected: 2 files, 16.4 KB in all" in told
    assert "*This deletes 2 files. Undo for 30 days.* Please read all of it." in told
    assert "\nIn .countersign/trash for 30 days.\n" in told
    assert "Can be undone" not in told  # said at the top
    assert "To go on, type exactly:\ndelete 2 7F3K" in told


def test_the_input_of_the_typed_modal_is_empty_and_gives_nothing_away():
    view = modals.review(destructive())
    assert parts(view, "input") == [
        {
            "type": "input",
            "block_id": modals.PHRASE,
            "label": {"type": "plain_text", "text": "The phrase", "emoji": False},
            "element": {"type": "plain_text_input", "action_id": modals.PHRASE},
            "optional": False,
        }
    ]


def test_what_needs_no_phrase_is_shown_whole_and_asks_for_none():
    view = opened(modals.review(action()))
    told = shown(view["blocks"])
    assert "Move reports/q3.md to archive/q3.md" in told
    assert "Can be undone" in told
    assert "filesystem.move_file" not in told  # as on the card: the rest is in *Show everything*
    assert "type exactly" not in told
    assert ":warning:" not in told
    assert (view["callback_id"], view["submit"]["text"]) == (modals.TYPED, "Move")
    assert not parts(view, "input")


def test_the_window_says_who_has_confirmed_already():
    approvers = Approvers(users=frozenset({"UBEN", "UCLEO"}), needed=2)
    told = shown(opened(modals.review(action(approvers=approvers), [yes("UBEN")]))["blocks"])
    assert "1 of 2 have confirmed: <@UBEN>." in told


@pytest.mark.parametrize("kind", ["typed", "edit", "reject", "full"])
def test_a_modal_carries_its_kind_and_the_version_and_no_fact(kind):
    of = destructive(version=9, args=canonical({"path": "secret.md"}))
    made = {
        "typed": lambda: modals.review(of),
        "edit": lambda: modals.edit(of, Form({"properties": {"path": {"type": "string"}}}, {})),
        "reject": lambda: modals.reject(of),
        "full": lambda: modals.full(of),
    }[kind]()
    assert untagged(opened(made)["private_metadata"]) == (kind, of.button)
    assert made["callback_id"] == kind


def test_a_verb_of_any_length_names_the_button():
    view = opened(
        modals.review(destructive(preview=replace(DELETE, verb="Permanently obliterate everything")))
    )
    assert len(view["submit"]["text"]) <= 24


@pytest.mark.parametrize(
    "of",
    [
        destructive(preview=replace(DELETE, problem="I could not look")),
        destructive(phrase=""),
        destructive(state=State.EXPIRED),
        action(verdict=Verdict.DENY),
    ],
)
def test_what_cannot_be_confirmed_is_not_asked(of):
    view = opened(modals.review(of))
    assert "submit" not in view
    assert not parts(view, "input")
    assert view["callback_id"] == modals.MESSAGE


def test_the_full_view_has_everything_also_of_a_long_answer():
    view = opened(modals.full(done(outcome=Outcome("success", "é\u200b" * 4000)), (yes("UANA"),)))
    told = shown(view["blocks"])
    assert "é\\u{200b}" * 100 in told
    assert told.rstrip().endswith("<@UANA>")
    assert "Why: the bundled server says so" in told
    assert "submit" not in view


@pytest.mark.parametrize("text", ["x" * 20_000_000, "\U0001f468" * 100_000, "\x00" * 100_000])
def test_the_full_view_of_a_huge_answer_says_how_much_is_missing(text):
    view = opened(modals.full(done(outcome=Outcome("success", text))))
    assert "more characters" in shown(view["blocks"])


def test_the_full_view_tells_what_became_of_it():
    failed = action(state=State.FAILED, decided_by="UANA", outcome=Outcome("not_sent", "down"))
    assert "It was never sent to the tool" in shown(opened(modals.full(failed))["blocks"])
    rejected = action(state=State.REJECTED, decided_by="UBEN", decision="wrong folder")
    told = shown(opened(modals.full(rejected))["blocks"])
    assert "“wrong folder”" in told
    assert "Rejected by <@UBEN>." in told


def test_a_rejection_asks_for_a_reason_of_bounded_length():
    view = opened(modals.reject(action()))
    element = parts(view, "plain_text_input")[0]
    assert element["max_length"] == modals.REASON_LENGTH
    assert view["submit"]["text"] == "Reject"


def test_a_placeholder_and_a_message_have_nothing_to_submit():
    for view in (modals.loading(), modals.message("This was already confirmed by <@UBEN>.")):
        assert "submit" not in opened(view)
        assert "private_metadata" not in view
    assert "<@UBEN>" in json.dumps(modals.message("This was already confirmed by <@UBEN>."))
