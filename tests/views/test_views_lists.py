"""Lists and notes: what waits, what can be undone, the record, help, the App Home, and stored notes."""

from dataclasses import replace

import pytest

from gate.rules.action import Outcome, Verdict
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from gate.rules.audit import Entry, Line
from gate.rules.ports import Note, UndoEntry
from gate.rules.task import Flow, PauseReason, StepReview, StepState
from gate.rules.task_states import TaskState
from gate.tasks.pending import PendingItem
from tests.views.samples import MOVE, NOW, action, buttons, destructive, done, opened, parts, sent, shown
from tests.views.task_samples import WHICH, WHY, approved, long_plan, paused, plan, step, task
from views import lists, notices, payload_check


def entry(seq, **changes):
    given = {"event": "confirmed", "session": "T1:C1:1.1", "actor": "UANA", "tool": "filesystem.move_file"}
    return Line(seq, NOW, Entry(**{**given, **changes}), "", "")


def note(kind, **body):
    return Note("n1", action().session, kind, body)


def waiting(*records, viewer="UANA"):
    """The list of this person."""
    return sent(lists.pending([PendingItem(record) for record in records], viewer))


def labels(made):
    return [e["text"]["text"] for row in parts(made.blocks, "actions") for e in row["elements"]]


def test_what_waits_is_listed_with_where_and_until_when_and_confirmed_in_a_window_that_shows_all_of_it():
    made = waiting(action(), destructive())
    told = shown(made.blocks)
    assert "Move reports/q3.md to archive/q3.md" in told
    assert "Asked by <@UANA> in <#C1> · *destructive* · expires <!date^" in told
    assert buttons(made.blocks) == ["review", "cancel", "full"] * 2
    assert [label for label in labels(made) if label != "Show everything"] == [
        "Confirm…",
        "Cancel",
        "Review…",
        "Cancel",
    ]
    assert made.text == "2 waiting"


def test_what_others_decide_is_named_so_to_who_asked_and_decided_by_them():
    approvers = Approvers(users=frozenset({"UBEN"}))
    asked = waiting(action(approvers=approvers))
    assert "in <#C1> · waits for <@UBEN> · expires" in shown(asked.blocks)
    assert buttons(asked.blocks) == ["cancel", "full"]
    theirs = waiting(action(approvers=approvers), viewer="UBEN")
    assert "waits for" not in shown(theirs.blocks)
    assert labels(theirs) == ["Confirm…", "Reject…", "Show everything"]


def test_what_cannot_be_confirmed_on_its_card_is_not_confirmed_from_the_list():
    blind = action(preview=replace(action().preview, problem="The target cannot be read."))
    assert buttons(waiting(blind).blocks) == ["cancel", "full"]


def test_an_entry_links_to_its_card_and_a_link_to_anything_else_is_refused():
    address = "https://acme.slack.com/archives/C1/p1600000001000000?thread_ts=1600000000.000000&cid=C1"
    made = sent(lists.pending([PendingItem(action(), address)], "UANA"))
    assert [(one["text"], one["url"]) for one in parts(made.blocks, "link")] == [("Open", address)]
    for wrong in (
        "https://evil.example/login",
        "javascript:alert(1)",
        f"{address}#x",
        "https://a/archives/C1/",
    ):
        assert payload_check.message(lists.pending([PendingItem(action(), wrong)], "UANA"))


def test_two_calls_of_one_tool_with_one_first_line_are_told_apart_by_their_arguments():
    long = "Move " + "a very long name " * 20
    one, other = (
        action(replace(MOVE, summary=long + text), args=b'{"note":"%s"}' % text.encode())
        for text in ("hello", "goodbye")
    )
    told = shown(waiting(one, other).blocks)
    assert "note  hello" in told
    assert "note  goodbye" in told
    assert "note  hello" not in shown(waiting(one, destructive()).blocks)


def test_a_plan_is_listed_with_its_steps_and_approved_in_a_window_that_shows_all_of_it():
    made = waiting(task(plan=plan()))
    told = shown(made.blocks)
    assert "Plan: Archive the reports and delete the drafts" in told
    assert "Asked by <@UANA> in <#C1>" in told
    assert "List reports; Move reports/q3.md to archive/q3.md; Delete q3-draft.md and q3-old.md" in told
    assert labels(made) == ["Approve…", "Cancel"]
    assert buttons(made.blocks) == ["plan_decide", "plan_cancel"]
    assert "and 26 more steps" in shown(waiting(task(plan=long_plan(30))).blocks)


@pytest.mark.parametrize("given", [plan(step(rules="")), plan(step(verdict=Verdict.DENY))])
def test_a_plan_that_nobody_can_approve_as_it_stands_has_no_approve_in_the_list(given):
    assert labels(waiting(task(plan=given))) == ["Show everything", "Cancel"]


def test_a_plan_that_nobody_decided_on_in_time_is_listed_to_be_asked_again():
    made = waiting(task(plan=plan(lapsed=True)))
    assert "Nobody decided on it in time, so nothing ran." in shown(made.blocks)
    assert buttons(made.blocks) == ["plan_again", "plan_cancel"]
    of = plan(step("a", state=StepState.DONE), step("b"), lapsed=True)
    assert "Nobody decided on it in time, so nothing more ran." in shown(waiting(task(plan=of)).blocks)


def test_a_question_is_listed_in_its_own_words_and_answered_in_a_form():
    made = waiting(task(TaskState.CLARIFYING, questions=(WHICH, WHY), asked=1))
    told = shown(made.blocks)
    assert "Question: Which folder?" in told
    assert "And 1 more question. Before I start: Archive the reports and delete the drafts" in told
    assert labels(made) == ["Answer…", "Cancel"]
    assert "more question" not in shown(waiting(task(TaskState.CLARIFYING, questions=(WHY,), asked=1)).blocks)


def test_a_paused_task_is_listed_with_why_and_stopped_from_the_list():
    made = waiting(paused(PauseReason.STEP))
    assert "Paused: a step did not go through: Archive the reports" in shown(made.blocks)
    assert "The file is gone." not in shown(made.blocks)  # it may be a tool's words
    assert labels(made) == ["Stop"]
    reviewed = paused(PauseReason.REVIEW, plan=approved(step("n", state=StepState.DONE, look=StepReview(1))))
    assert labels(waiting(reviewed)) == ["Reject result…", "Stop"]


def test_what_was_understood_is_listed_until_it_is_confirmed():
    talked = task(TaskState.TALKING, flow=Flow.TALK, requirements=("A login",))
    assert "Is this what you want built? Archive the reports" in shown(waiting(talked).blocks)


def test_a_result_that_waits_for_its_review_is_listed_and_released_on_its_card():
    waits = action(state=State.SUCCEEDED, outcome=Outcome("success", "its words"), held="look")
    made = waiting(waits)
    told = shown(made.blocks)
    assert "Done, its result waits for review: Move reports/q3.md to archive/q3.md" in told
    assert "in <#C1> · release or change its result on its card" in told
    assert "expires" not in told
    assert "its words" not in told
    assert (made.text, buttons(made.blocks)) == ("1 waiting", ["held_reject", "full"])


def test_a_long_list_ends_with_how_many_more_there_are():
    assert "… and 88 more." in shown(waiting(*[action()] * 100).blocks)
    assert "… and 88 more." in shown(sent(lists.undo([UndoEntry(done(), NOW, "move", False)] * 100)).blocks)


def test_an_empty_list_says_so_and_what_to_do_next():
    told = shown(waiting().blocks)
    assert lists.NOTHING_WAITS in told
    assert told.endswith("mention me in a channel with what you need, or write to me directly.")
    assert shown(sent(lists.undo([])).blocks).endswith(lists.NOTHING_TO_UNDO)
    assert sent(lists.audit([])).text == lists.NO_RECORD


def test_what_can_be_undone_has_a_button_each_and_what_was_undone_has_none():
    made = sent(lists.undo([UndoEntry(done(), NOW, "move", False), UndoEntry(done(), NOW, "move", True)]))
    assert buttons(made.blocks) == ["undo", "full"]
    assert "Undone: Move" in shown(made.blocks)
    assert {e["value"] for e in parts(made.blocks, "button")} == {done().button}


def test_the_record_is_listed_newest_first_with_who_did_what_and_how_it_ended():
    made = sent(
        lists.audit([entry(1), entry(2, event="started", actor="system", outcome="success", reason="ok")])
    )
    assert shown(made.blocks).split("\n")[1:] == [
        "#2 2026-11-20 12:00:00 started by the system · filesystem.move_file · success · ok",
        "#1 2026-11-20 12:00:00 confirmed by <@UANA> · filesystem.move_file",
    ]


def test_the_record_names_the_api_token_beside_the_person():
    told = shown(sent(lists.audit([entry(1, token="f00d")])).blocks)
    assert "confirmed by <@UANA> (API token f00d) · filesystem.move_file" in told


def test_the_record_names_who_could_have_decided_and_calls_nobody_in_text_of_others():
    refused = entry(1, event="turned_away", outcome="confirm", reason="Only <@UBEN> can confirm this.")
    made = sent(lists.audit([refused])).blocks
    assert "confirm · Only <@UBEN> can confirm this." in shown(made)
    assert [user["user_id"] for user in parts(made, "user")] == ["UANA", "UBEN"]
    others = sent(lists.audit([replace(refused, entry=replace(refused.entry, event="rejected"))])).blocks
    assert [user["user_id"] for user in parts(others, "user")] == ["UANA"]


def test_the_record_keeps_arguments_to_itself():
    assert "secret" not in shown(sent(lists.audit([entry(1, arguments='{"path":"secret.md"}')])).blocks)


def test_a_long_record_shows_the_newest_and_counts_the_rest():
    told = shown(sent(lists.audit([entry(n, reason="r" * 150) for n in range(1, 1000)])).blocks)
    assert "#999 " in told
    assert "#1 " not in told
    assert " more." in told


def test_the_home_has_what_waits_the_history_and_how_it_works():
    view = opened(lists.home([PendingItem(action())], "UANA", [UndoEntry(done(), NOW, "move", False)]))
    told = shown(view["blocks"])
    assert told.index("Waiting for you") < told.index("Your history") < told.index("How to work with me")
    assert buttons(view["blocks"]) == ["review", "cancel", "full", "undo", "full"]


def test_a_home_with_very_much_in_it_is_still_a_home():
    waits = [PendingItem(one) for one in (action(), task(plan=plan()), paused())] * 200
    view = opened(lists.home(waits, "UANA", [UndoEntry(done(), NOW, "move", False)] * 500))
    assert "… and 588 more." in shown(view["blocks"])


def test_a_direct_message_is_not_named_as_a_channel():
    here = action(session=replace(action().session, channel="D1"))
    assert "in a direct message" in shown(waiting(here).blocks)


def test_words_of_a_planner_are_shown_and_nothing_in_them_is_parsed():
    made = sent(notices.message(note("text", text="See <https://x.example|this>, <!channel>\nsecond line")))
    assert made.text == "See &lt;https://x.example|this&gt;, &lt;!channel&gt; / second line"
    assert not parts(made.blocks, "mrkdwn")
    assert "second line" in shown(made.blocks)


def test_code_in_the_words_of_a_planner_is_code_and_nothing_else():
    made = sent(notices.message(note("text", text="Write `a.b <!channel>` or `c`.")))
    styled = [p["text"] for p in parts(made.blocks, "text") if p.get("style") == {"code": True}]
    assert styled == ["a.b <!channel>", "c"]
    sent(notices.message(note("text", text="`a`" * 500)))


def test_a_read_with_a_recipe_is_named_by_what_it_does():
    body = {"name": "filesystem.list_dir", "summary": "List reports", "arguments": {}, "text": "q3.md"}
    assert shown(sent(notices.message(note("read", **body))).blocks) == "List reports\nq3.md"
    assert sent(notices.message(note("read", **body, error=True))).text == "Failed: List reports"


def test_a_read_shows_what_was_asked_and_found():
    body = {"name": "filesystem.list_dir", "arguments": {"path": "reports"}, "text": "q3.md\nq4.md"}
    made = sent(notices.message(note("read", **body, clipped=False, open_world=False, error=False)))
    assert shown(made.blocks).split("\n") == [
        "Read: filesystem.list_dir",
        "path  reports",
        "q3.md",
        "q4.md",
    ]


def test_a_read_from_outside_that_was_clipped_says_both():
    body = {"name": "web.fetch", "arguments": {}, "text": "x" * 9000, "clipped": True, "open_world": True}
    told = shown(sent(notices.message(note("read", **body, error=False))).blocks)
    assert "From outside of this workspace: read with care." in told
    assert "The answer was longer than what I keep." in told
    assert "… 3,000 more characters" in told


def listing(rows, **more):
    return note(
        "read", name="files.list", text="{}", structured={"summary": "2 files.", "files": rows, **more}
    )


def test_a_read_that_gave_a_list_shows_it_as_a_table_with_what_the_tool_says_beside():
    rows = [{"name": "a.md", "size": 1200, "note": ""}, {"name": "b|c.md", "size": 5}]
    made = sent(notices.message(listing(rows, truncated=True)))
    assert [block["type"] for block in made.blocks] == ["rich_text", "rich_text", "table", "rich_text"]
    cells = [[cell["text"] for cell in row] for row in made.blocks[2]["rows"]]
    assert cells == [["Name", "Size"], ["a.md", "1.2 KB"], ["b|c.md", "5 B"]]
    assert shown(made.blocks[1]) == "2 files."
    assert shown(made.blocks[3]) == "(There is more than this.)"


def test_a_read_without_table_blocks_says_the_same_in_a_box():
    rows = [{"name": "a.md", "size": 1200}]
    made = sent(notices.plainly(listing(rows)))
    assert {block["type"] for block in made.blocks} == {"rich_text"}
    assert "a.md  1.2 KB" in shown(made.blocks)
    assert notices.plainly(note("read", name="x", text="words", structured=None)) is None


@pytest.mark.parametrize(
    ("rows", "left"), [(99, 0), (100, 1), (5_000, 4_901)], ids=["all", "one too many", "many"]
)
def test_rows_that_a_table_has_no_room_for_are_counted(rows, left):
    made = sent(notices.message(listing([{"name": f"{n}.md"} for n in range(rows)])))
    assert len(made.blocks[2]["rows"]) == 1 + rows - left
    assert (f"… {left:,} more row" in shown(made.blocks)) is (left > 0)


@pytest.mark.parametrize("cell", ["x" * 2_000, "\u202e" * 500, "<!channel> *b* :boom:\n"])
def test_the_characters_of_a_table_stay_below_what_slack_takes(cell):
    made = sent(notices.message(listing([{"name": cell, "more": "", "": cell} | {cell + "!": cell}] * 90)))
    rows = made.blocks[2]["rows"]
    assert 2 <= len(rows) <= 91
    assert sum(len(cell["text"]) for row in rows for cell in row) <= 10_000


def test_a_read_that_failed_or_found_nothing_says_so():
    body = {"name": "filesystem.read_file", "arguments": {}, "clipped": False, "open_world": False}
    assert sent(notices.message(note("read", **body, text="no such file", error=True))).text.startswith(
        "Could not read"
    )
    assert "Nothing came back." in shown(
        sent(notices.message(note("read", **body, text="", error=False))).blocks
    )


def test_a_refusal_names_the_tool_and_its_reasons():
    made = sent(
        notices.message(note("refused", name="filesystem.move_file", reasons=["“source” is missing.", "b"]))
    )
    assert made.text == "Not done: filesystem.move_file"
    assert shown(made.blocks).split("\n") == [
        "Not done: filesystem.move_file",
        "“source” is missing.",
        "b",
    ]


def test_notes_that_list_are_given_what_they_list():
    assert "Moved reports" in shown(
        sent(notices.message(note("undo"), entries=[UndoEntry(done(), NOW, "move", False)])).blocks
    )
    assert "confirmed" in shown(sent(notices.message(note("audit", count=1), lines=[entry(1)])).blocks)
    told = shown(sent(notices.message(note("help", text="Servers: `a<!channel>`"))).blocks)
    assert "/pending" in told
    assert "Servers: a<!channel>" in told  # a style: nothing in a server's name is parsed


def test_a_note_of_an_unknown_kind_is_an_error():
    with pytest.raises(ValueError, match="'poem'"):
        notices.message(note("poem"))


def test_an_answer_to_one_person_keeps_its_mentions():
    made = sent(notices.answer("Only <@UBEN> or <!subteam^S0PS> can confirm this. <!channel>"))
    assert made.text == "Only <@UBEN> or <!subteam^S0PS> can confirm this. &lt;!channel&gt;"
    sent(notices.answer("Only <@UBEN> " * 100))
