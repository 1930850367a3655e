"""The card in every state and class: what it promises, who may, and which buttons it has."""

import itertools
import json
import re
from dataclasses import replace
from datetime import timedelta

import pytest

from gate.rules.action import Affected, CallClass, Fact, Outcome, Preview, Ref, Risk, Verdict
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from tests.actions import but
from tests.views.samples import (
    DELETE,
    INVERSE,
    MOVE,
    NOW,
    action,
    buttons,
    destructive,
    done,
    opened,
    parts,
    sent,
    shown,
    yes,
)
from views import buttons as ids_of
from views import modals
from views.buttons import untagged
from views.card import card
from views.preview import unsaid

UNANSWERED = {"state": State.UNKNOWN, "decided_by": "UANA", "outcome": Outcome("unknown", "the process died")}


def drawn(of, *votes):
    """All text of the card, and its buttons."""
    made = sent(card(of, votes))
    return shown(made.blocks), buttons(made.blocks)


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("cls", list(CallClass))
@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_card_is_accepted_and_says_what_it_is_about(state, cls, verdict):
    of = action(
        state=state,
        cls=cls,
        verdict=verdict,
        phrase="move 7F3K" if verdict is Verdict.TYPED else "",
        decided_by="UBEN",
        decision="not now",
        outcome=Outcome("success", "ok"),
        inverse=INVERSE,
    )
    for undoes, private in itertools.product(("", "other"), (True, False)):
        text, ids = drawn(but(of, undoes=undoes, private=private), yes("UBEN"))
        assert of.preview.summary.removeprefix("Move") in text
        assert set(ids) <= {value for name, value in vars(ids_of).items() if name.isupper()}
        assert "Done" not in text or state is State.SUCCEEDED
        assert "Moved" not in text or state is State.SUCCEEDED
        assert ("confirm" in ids) == (state is State.PREPARED and verdict is Verdict.CONFIRM)
        assert ("review" in ids) == (state is State.PREPARED and verdict is Verdict.TYPED)


@pytest.mark.parametrize("state", sorted({*State} - {State.PREPARED, State.EXPIRED, State.SUPERSEDED}))
def test_every_card_that_was_decided_names_who_decided(state):
    by_vote, _ = drawn(action(state=state, decided_by="UBEN", outcome=Outcome("success", "ok")), yes("UBEN"))
    alone, _ = drawn(action(state=state, decided_by="UBEN"))
    assert "<@UBEN>" in by_vote
    assert "<@UBEN>" in alone


# promise: GATE-13
def test_a_prepared_write_in_full():
    text, ids = drawn(action())
    assert text.split("\n") == [
        "Move reports/q3.md to archive/q3.md",
        "Can be undone",
        "Expires <!date^1795176300^{time}|2026-11-20 12:05:00 UTC>.",
        "Confirm",
        "Edit",
        "Cancel",
        "Reject with a reason…",
        "Show everything",
        "Always allow in this thread…",
    ]
    assert ids == ["confirm", "edit", "cancel", "more"]


# promise: ACT-06
def test_a_prepared_delete_warns_lists_sizes_and_is_reviewed_not_confirmed():
    text, ids = drawn(destructive())
    assert "This deletes 2 files. Undo for 30 days." in text
    assert "Affected: 2 files, 16.4 KB in all" in text
    assert " 4.1 KB  2026-11-01  file  q3-draft.md" in text
    assert text.count("q3-draft.md") == 2  # in its first line and in the table
    assert "trash" not in text
    assert ids == ["review", "edit", "cancel", "more"]


def test_a_write_that_must_be_typed_is_not_called_destructive():
    text, ids = drawn(action(verdict=Verdict.TYPED, phrase="move 7F3K"))
    assert "This cannot go by one click: press Review…" in text
    assert "destroys" not in text
    assert ids[0] == "review"


def test_an_unknown_tool_says_that_nobody_has_reviewed_it():
    text, ids = drawn(
        action(cls=CallClass.UNKNOWN, risk=Risk.HIGH, reason="nothing its server says is believed")
    )
    assert "*Not reviewed by an operator*: read every argument." in text
    assert "Server: filesystem" in text
    assert "move_file" not in text
    assert "filesystem.move_file" in shown(opened(modals.full(action(cls=CallClass.UNKNOWN)))["blocks"])
    assert "destination  archive/q3.md" in text
    assert ids[0] == "confirm"


# promise: VERB-14
def test_who_else_is_notified_and_what_cannot_be_undone_is_said_before():
    told = replace(MOVE, notifies="Ahmad, by mail", undo="no: mails cannot be called back")
    text, _ = drawn(action(told))
    assert "Will also notify: Ahmad, by mail" in text
    assert "Cannot be undone: mails cannot be called back" in text


def test_a_short_value_is_said_also_where_the_first_line_ends_with_it():
    """The end of a name may be written so that it looks like the value of an option."""
    facts = (Fact("destination", "archive → yes"), Fact("overwrite", "yes"), Fact("source", "reports/q3.md"))
    told = replace(MOVE, summary="Move reports/q3.md → archive → yes", facts=facts)
    assert re.search(r"overwrite +yes", drawn(action(told))[0])


def test_the_reason_is_given_when_a_change_is_always_gated():
    gated = action(always_gated=True, reason="“secrets” is always gated")
    assert "Why you are asked: “secrets” is always gated" in drawn(gated)[0]
    assert "Why you are asked" not in drawn(action())[0]


def test_no_reason_is_given_for_what_is_asked_about_because_it_destroys():
    gated = destructive(always_gated=True, reason="“deleting files” is always gated")
    assert "Why you are asked" not in drawn(gated)[0]
    assert "“deleting files” is always gated" in shown(opened(modals.full(gated))["blocks"])


def test_the_review_shows_no_digest_and_says_no_argument_twice():
    looked_up = Fact("expected.drafts/a.md", "9" * 64, added=True)
    facts = (Fact("path", "drafts/a.md", named=True), Fact("mode", "all"), looked_up)
    told = replace(
        MOVE, summary="Delete drafts/a.md", affected=(Affected("drafts/a.md", 53, "file"),), facts=facts
    )
    review = shown(opened(modals.review(destructive(preview=told)))["blocks"])
    assert "9" * 64 not in review
    assert review.count("drafts/a.md") == 2
    assert "mode  all" in review
    assert "9" * 64 in shown(opened(modals.full(destructive(preview=told)))["blocks"])


@pytest.mark.parametrize("cls", [CallClass.READ, CallClass.WRITE, CallClass.DESTRUCTIVE])
def test_a_value_that_merely_occurs_in_the_line_or_in_a_name_is_shown(cls: CallClass) -> None:
    name = "report age1ur3p8 (copy).txt"
    facts = (Fact("path", name, named=True), Fact("recipients[0]", "age1ur3p8"), Fact("cc", "a@b.c"))
    things = (Affected(name, 8, "file"), Affected("a@b.c", 8, "file"))
    told = Preview(f"Encrypt {name}", "Encrypt", facts, affected=things)
    assert [fact.label for fact in unsaid(told, cls)] == ["recipients[0]", "cc"]


def test_a_name_that_holds_the_value_of_a_line_that_is_clipped_does_not_say_it() -> None:
    told = replace(
        MOVE,
        summary=f"Share {'x' * 150} with a@b.c",
        facts=(Fact("to", "a@b.c", named=True),),
        affected=(Affected("for a@b.c", 1, "file"),),
    )
    assert [fact.label for fact in unsaid(told, CallClass.WRITE)] == ["to"]


def test_a_short_value_that_the_template_of_the_line_names_is_not_repeated():
    facts = (Fact("destination", "archive", named=True), Fact("overwrite", "archive"))
    told = replace(MOVE, summary="Move reports/q3.md to archive", affected=(), facts=facts)
    assert [fact.label for fact in unsaid(told, CallClass.WRITE)] == ["overwrite"]
    clipped = replace(told, summary=f"Move {'x' * 150} to archive")
    assert [fact.label for fact in unsaid(clipped, CallClass.WRITE)] == ["destination", "overwrite"]
    edited = replace(told, facts=(replace(facts[0], old="attic"),))
    assert [fact.label for fact in unsaid(edited, CallClass.WRITE)] == ["destination"]


def test_an_argument_with_an_empty_name_is_shown():
    told = replace(MOVE, facts=(*MOVE.facts, Fact("", "everything")))
    assert "everything" in drawn(action(told))[0]


def test_a_preview_with_a_problem_says_so_and_has_no_way_to_a_yes():
    for verdict in Verdict:
        blind = replace(MOVE, problem="I could not look at what this would change: no answer")
        text, ids = drawn(action(blind, verdict=verdict, phrase="p"))
        assert "I could not look at what this would change: no answer" in text
        assert "While this is so, it cannot be confirmed." in text
        assert ids == ["edit", "cancel", "more"]


def test_the_proposers_words_stand_below_the_facts_and_are_marked():
    text, _ = drawn(action(prose="Quite harmless, just lists files."))
    assert (
        text.index("reports/q3.md")
        < text.index("Proposer's words (not checked):")
        < text.index("Quite harmless")
    )


def test_votes_are_counted_by_version_and_named():
    two = action(approvers=Approvers(frozenset({"UBEN", "UCLEO"}), needed=2), version=3)
    text, _ = drawn(two, yes("UBEN", 3), yes("UCLEO", 2))
    assert "1 of 2 have confirmed: <@UBEN>." in text
    assert "May confirm: 2 of <@UBEN> or <@UCLEO>." in text


def test_groups_of_approvers_are_mentioned():
    text, _ = drawn(action(approvers=Approvers(groups=frozenset({"S0PS"}))))
    assert "May confirm: <!subteam^S0PS>." in text


def test_while_it_waits_for_a_worker_it_can_be_cancelled_and_while_it_runs_it_cannot():
    assert drawn(action(state=State.APPROVED, decided_by="UANA"), yes("UANA"))[1] == ["cancel", "full"]
    text, ids = drawn(action(state=State.EXECUTING, decided_by="UANA"), yes("UANA"))
    assert ids == ["full"]
    assert text.startswith("Working: Move")


def test_done_is_one_line_with_who_and_when_and_undo():
    told = Outcome("success", "Moved reports/q3.md to archive/q3.md", {"path": "archive/q3.md"}, at=NOW)
    text, ids = drawn(done(undo_open=True, outcome=told), yes("UANA"))
    assert text.split("\n")[:2] == [
        "Moved reports/q3.md to archive/q3.md",
        "<@UANA>, <!date^1795176000^{time}|2026-11-20 12:00:00 UTC>",
    ]
    assert text.count("archive/q3.md") == 1
    assert ids == ["undo", "full"]


def test_what_the_tool_says_beyond_that_it_is_done_stands_on_the_card():
    text, _ = drawn(done(outcome=Outcome("success", "Moved. 3 links now point nowhere.")), yes("UANA"))
    assert "3 links now point nowhere." in text


def test_a_result_has_no_json_and_no_digest():
    told = {"links": {"broken": ["a", "b"]}, "sha256": "ab" * 32, "trash_id": "c" * 32}
    text, _ = drawn(done(outcome=Outcome("success", json.dumps(told), told)), yes("UANA"))
    assert "links.broken  a" in text
    assert not re.search(r'[0-9a-f]{32}|": ', text)


def test_an_argument_is_hidden_only_where_the_line_or_the_difference_says_it():
    said = replace(MOVE, facts=(*MOVE.facts, Fact("mode", "force"), Fact("copy_of", "archive/q3.md")))
    text, _ = drawn(action(said))
    assert "mode     force" in text
    assert "copy of  archive/q3.md" in text  # the line says it of the destination
    assert "source" not in text
    long = replace(MOVE, summary=f"Move reports/q3.md to {'x' * 200} archive/q3.md")
    assert "source" in drawn(action(long))[0]
    written = replace(MOVE, facts=(Fact("content", "one\ntwo\n"),), diff="-one\n+two\n", compared="content")
    assert "content" not in drawn(action(written))[0]
    assert "content" in drawn(action(replace(written, diff="")))[0]
    assert "content" in drawn(action(replace(written, compared="")))[0]


def test_an_argument_with_a_line_of_its_own_in_the_difference_is_not_repeated():
    told = replace(MOVE, facts=(Fact("status", "done", named=True),), diff="- status: open\n+ status: done")
    assert "status   done" not in drawn(action(told))[0]
    assert "status  done" in drawn(action(replace(told, diff="+ status: done, not")))[0]
    unmarked = replace(told, facts=(Fact("status", "done"),))
    assert "status  done" in drawn(action(unmarked))[0]
    assert "status  done" in drawn(action(told, cls=CallClass.UNKNOWN))[0]


def test_of_what_the_difference_is_the_whole_effect_of_no_part_is_repeated():
    parts = tuple(Fact(f"changes[{n}].op", "insert") for n in range(70))
    told = replace(
        MOVE, facts=(*parts, Fact("changes2", "x"), Fact("mode", "y")), diff="+a: 1", compared="changes"
    )
    assert [fact.label for fact in unsaid(told, CallClass.WRITE)] == ["changes2", "mode"]
    assert len(unsaid(replace(told, diff=""), CallClass.WRITE)) == 72
    assert len(unsaid(told, CallClass.UNKNOWN)) == 72


def test_no_argument_is_hidden_by_words_that_another_one_brings_in():
    mode = Fact("mode", "force")
    for changes in (
        {"facts": (Fact("content", "force\n"), mode), "diff": "-one\n+force\n", "compared": "content"},
        {"facts": (Fact("path", "notes force.md"), mode), "summary": "Write notes force.md"},
        {"facts": (mode, Fact("to", "team, force")), "summary": "Tell team, force of it"},
        {"facts": (mode, Fact("path", "a/notes force.md")), "summary": "Write notes force.md"},
    ):
        assert "mode" in drawn(action(replace(MOVE, **changes)))[0]
    twice = replace(MOVE, summary="Copy a.md to a.md", facts=(Fact("from", "a.md"), Fact("to", "a.md")))
    assert "a.md  " not in drawn(action(twice))[0]


def test_what_was_looked_up_for_a_call_stands_in_show_everything_alone():
    told = replace(MOVE, facts=(*MOVE.facts, Fact("expected", "ab" * 32, added=True)))
    assert "ab" * 32 not in drawn(action(told))[0]
    assert "ab" * 32 in shown(opened(modals.full(action(told)))["blocks"])


def test_a_result_of_an_earlier_version_without_undo_says_how_to_undo_later():
    text, ids = drawn(done(), yes("UANA"))
    assert "To take it back: `/undo`, or mention me here with `undo` until <!date^" in text
    assert ids == ["full"]


def test_without_an_inverse_nothing_is_said_about_undo():
    text, ids = drawn(done(inverse=None, undo_open=True), yes("UANA"))
    assert "undo" not in text.lower()
    assert ids == ["full"]


def test_a_long_answer_is_clipped_and_the_rest_is_counted():
    text, ids = drawn(done(outcome=Outcome("success", "x" * 20_000_000)))
    assert "… 19,998,500 more characters" in text
    assert "full" in ids


def test_an_unknown_outcome_asks_three_questions_only_where_a_read_can_tell():
    text, ids = drawn(action(**UNANSWERED), yes("UANA"))
    assert text.startswith("Not known whether it happened: Move")
    assert "I will not try again by myself." in text
    assert ids == ["settle_happened", "settle_not", "full"]
    assert drawn(action(**UNANSWERED, capture={"seen": {}}))[1] == [
        "settle_happened",
        "settle_not",
        "settle_check",
        "full",
    ]


def test_a_settled_outcome_names_who_confirmed_and_who_settled():
    text, _ = drawn(done(decided_by="UBEN"), yes("UANA"))
    assert "Confirmed by <@UANA>. <@UBEN> said what became of it." in text


def test_a_failure_says_whether_anything_may_have_changed():
    failed = action(state=State.FAILED, decided_by="UANA", outcome=Outcome("error", "no such file"))
    assert "The tool answered with an error." in drawn(failed)[0]
    text, ids = drawn(but(failed, outcome=Outcome("not_sent", "the server is down")))
    assert "It was never sent to the tool, so nothing was changed." in text
    assert ids == ["full"]


def test_a_rejection_gives_the_reason_in_its_persons_words():
    text, _ = drawn(action(state=State.REJECTED, decided_by="UBEN", decision="wrong folder"))
    assert text.startswith("Rejected: Move")
    assert "“wrong folder”" in text
    assert "Rejected by <@UBEN>. Nothing ran." in text


def test_a_cancellation_by_the_system_gives_the_reason_unquoted():
    gone = "a.md changed after it was confirmed."
    text, _ = drawn(action(state=State.CANCELLED, decision=gone, own=True), [yes("UANA")])
    assert f"\n{gone}\nNothing ran.\n" in f"{text}\n"
    assert "“" not in text
    assert "<@UANA>" not in text


def test_what_ended_because_its_task_was_stopped_says_so_in_one_sentence_of_ours():
    ended = action(state=State.CANCELLED, decided_by="UANA", decision="The task was stopped", own=True)
    text, _ = drawn(ended)
    assert "\nThe task was stopped by <@UANA>.\nNothing ran.\n" in f"{text}\n"
    assert "“" not in text
    assert "Cancelled by" not in text


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("success", "Error: no room left, nothing was written"),
        Outcome("success", "{}", {"result": "Error: no room left, nothing was written"}),
        Outcome("success", '{"success": false}'),
    ],
)
def test_a_title_does_not_claim_what_its_result_says_has_failed(outcome: Outcome):
    made = MOVE.__class__("Create directory /srv/new", "Create", ())
    text, _ = drawn(done(preview=made, outcome=outcome))
    assert text.startswith("Its tool says that it failed: Create directory /srv/new")
    assert "Created" not in text
    fine = Outcome("success", "Failed logins were exported")
    assert drawn(done(preview=made, outcome=fine))[0].startswith("Created directory /srv/new")


def test_what_was_replaced_says_once_who_asked_for_something_else():
    told = "Something else was asked for instead."
    text, _ = drawn(action(state=State.SUPERSEDED, decided_by="UANA", decision=told, own=True))
    assert text.startswith("Replaced: Move")
    assert text.count("something else") == 1
    assert "<@UANA> asked for something else instead. Nothing ran." in text
    text, _ = drawn(
        action(state=State.SUPERSEDED, decision="The requester asked for something else instead.")
    )
    assert text.count("omething else") == 1


def test_a_card_that_asks_again_by_itself_says_why_and_not_that_somebody_asked():
    told = "a.md changed since you approved the plan, so please look again."
    text, _ = drawn(action(again=told, renews="x"))
    assert f"\n{told}\n" in text
    assert "Asked again by" not in text
    assert "Asked again by <@UANA>." in drawn(action(renews="x"))[0]
    assert told not in drawn(done(again=told))[0]


def test_an_expired_card_can_be_asked_again():
    text, ids = drawn(action(state=State.EXPIRED))
    assert "Nobody confirmed it in time. Nothing ran." in text
    assert ids == ["renew", "full"]


def test_an_action_asked_again_or_edited_says_so():
    text, _ = drawn(action(renews="other", edited_by="UBEN"))
    assert "Asked again by <@UANA>. Edited by <@UBEN>." in text


@pytest.mark.parametrize(
    ("state", "start"),
    [
        (State.PREPARED, "Undo: "),
        (State.EXECUTING, "Undoing: "),
        (State.SUCCEEDED, "Undone: "),
        (State.FAILED, "Undo failed: "),
        (State.UNKNOWN, "Not known whether the undo happened: "),
        (State.CANCELLED, "Undo cancelled: "),
    ],
)
def test_an_undo_reads_as_an_undo_and_cannot_be_edited(state, start):
    made = sent(card(action(state=state, undoes="other")))
    assert made.text.startswith("Prepared to undo: " if start == "Undo: " else start)
    assert shown(made.blocks).startswith(start)
    assert "edit" not in buttons(made.blocks)


def test_buttons_carry_the_version_that_was_shown_and_no_fact():
    of = destructive(version=7)
    made = sent(card(of))
    values = [e["value"] for e in parts(made.blocks, "button")]
    menu = [o["value"] for o in parts(made.blocks, "overflow")[0]["options"]]
    assert set(values) == {of.button}
    assert [untagged(v) for v in menu] == [("reject", of.button), ("full", of.button)]
    assert Ref.parse(of.button).fits(of)


def test_the_top_level_text_is_short_and_holds_no_argument():
    secret = replace(DELETE, summary="Delete " + "x&<>" * 400)
    made = sent(card(destructive(preview=secret)))
    assert len(made.text) <= 300
    assert "q3-draft.md" not in made.text
    assert "<" not in made.text


def test_an_expiry_is_a_time_in_the_readers_zone():
    assert str(int((NOW + timedelta(seconds=300)).timestamp())) in json.dumps(card(action()).blocks)


def test_what_was_taken_back_says_so_and_no_longer_what_the_tool_said():
    text, _ = drawn(action(state=State.UNDONE, outcome=Outcome("success", "moved to archive")))
    assert "It has been taken back since." in text
    assert "moved to archive" not in text
