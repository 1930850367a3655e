"""Plain words: what is a yes, a no, a command, an edit, and what is none of these."""

import pytest

from gate.sentences.thread_commands import (
    Assign,
    Command,
    Replace,
    begins_with_hold,
    begins_with_wait,
    command,
    edit,
    is_hold,
    is_no,
    is_yes,
    new_name,
)


@pytest.mark.parametrize(
    "text", ["yes", "Yes!", " YES. ", "ok", "go ahead", "Do it", "yes please", "confirm"]
)
def test_a_yes(text):
    assert is_yes(text)


@pytest.mark.parametrize(
    "text",
    [
        "yes but change the name first",
        "yesterday",
        "is that a yes?",
        "yes?",
        "no",
        "",
        "ｙｅｓ",
        "y e s",
        "do it tomorrow",
        "yes\u200b",
    ],
)
def test_not_a_yes(text):
    assert not is_yes(text)


@pytest.mark.parametrize(
    "text",
    [
        "no problem, cancel it",
        "don't ask, stop",
        "never mind everything",
        "no problem, I changed my mind, don't do it",
        "never mind cancel it",
        "nevermind stop",
        "no problem cancel it",
        "no worries - cancel it",
        "no problem… cancel it",
        "don't ask, abort",
        "no rush but please stop",
        "no need to wait, cancel",
        "never mind the whole thing",
    ],
)
def test_a_no_behind_words_that_are_none_cancels(text: str) -> None:
    assert is_no(text)


@pytest.mark.parametrize(
    "text",
    [
        "no problem, go ahead",
        "No worries, do it",
        "don't worry, do it",
        "don't wait for me",
        "no objections",
        "never mind Ben, go on",
        "no problem, don't stop",
        "no need to cancel, go on",
        "no problem with the whole plan",
        "don't stop",
        "no problem, stop watching reports",
    ],
)
def test_what_only_begins_as_a_no_is_neither_a_no_nor_a_yes(text: str):
    assert not is_no(text)
    assert not is_yes(text)


@pytest.mark.parametrize(
    "text",
    [
        "no need to do it",
        "don't do it",
        "never mind that",
        "never mind, thanks",
        "no, do not",
        "don't let it run",
    ],
)
def test_a_no_with_more_words_stays_a_no(text: str):
    assert is_no(text)


# promise: VERB-17
@pytest.mark.parametrize(
    "text",
    [
        "no",
        "No.",
        "nope",
        "cancel",
        "stop",
        "Don't",
        "never mind",
        "Actually, no. I want to add more commits first.",
        "no, wait",
    ],
)
def test_a_no(text):
    assert is_no(text)


@pytest.mark.parametrize("apostrophe", "'’‘‛′ʼʻʹ＇`´")
def test_a_no_is_heard_with_the_apostrophe_of_any_keyboard(apostrophe: str) -> None:
    for said in ("don't", "Don't do it", "please don't run it", "no problem, I changed my mind, don't do it"):
        assert is_no(said.replace("'", apostrophe)), said
    for said in ("don't worry, do it", "no problem, don't cancel it", "don't stop"):
        assert not is_no(said.replace("'", apostrophe)), said


@pytest.mark.parametrize(
    "text",
    [
        "please cancel",
        "Cancel it, please",
        "cancel please",
        "can you cancel it",
        "forget it",
        "Forget it!",
        "quit",
        "abort it",
        "please abort it",
        "dont do it",
        "do not run it",
        "please, do not",
    ],
)
def test_a_no_in_other_words_is_one(text: str) -> None:
    assert is_no(text)


@pytest.mark.parametrize(
    "text",
    [
        "dont worry, do it",
        "no problem, dont cancel it",
        "forget it was me",
        "quit the call",
        "please",
        "please do not touch the archive",
    ],
)
def test_what_only_sounds_like_a_no_is_none(text: str) -> None:
    assert not is_no(text)


@pytest.mark.parametrize(
    "text",
    [
        "note this",
        "nothing else",
        "yes",
        "now",
        "stopwatch is broken",
        "stop watching reports",
        "northern files",
        "",
    ],
)
def test_not_a_no(text):
    assert not is_no(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("pending", Command("pending")),
        ("Undo 3", Command("undo", 3)),
        ("audit", Command("audit")),
        ("help", Command("help")),
        ("cancel", Command("cancel")),
        ("help me", Command("help")),
        ("Help, please!", None),
        ("help files", Command("help", about="files")),
        ("Help me with the calendar, please", None),
        ("help me with the calendar please.", Command("help", about="calendar")),
        ("help me move the files", None),
        ("help files and mail", None),
        ("undo 9999", None),
        ("undo  \t 3", Command("undo", 3)),
        (f"undo {' ' * 40_000} 3", None),  # longer than any command: not looked through
    ],
)
def test_commands_are_the_whole_text(text, wanted):
    assert command(text) == wanted


@pytest.mark.parametrize(
    ("text", "all_of_it", "begins"),
    [
        ("Hold on!", True, True),
        ("please wait a moment", True, True),
        ("no, wait", True, True),
        ("pause", True, True),
        ("just a second, please", True, True),
        ("hold on, I am asking Ben", False, True),
        ("wait for Ben before you go on", False, True),
        ("hold the meeting at nine", False, False),
        ("pause the backup, too", False, False),
        ("waiters first", False, False),
        ("continue", False, False),
    ],
)
def test_words_that_ask_to_wait(text: str, all_of_it: bool, begins: bool):
    assert (is_hold(text), begins_with_hold(text)) == (all_of_it, begins)


# promise: VERB-15
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Change 'could you please' to 'please'", Replace("could you please", "please")),
        ("replace “a b” with “c”", Replace("a b", "c")),
        ('change "x" to ""', Replace("x", "")),
        ("set path to notes.md", Assign("path", "notes.md")),
        ("change the limit to 5", Assign("limit", "5")),
        ("set content = 'two words'", Assign("content", "two words")),
        ("change my mind", None),
        ("move a to b", None),
    ],
)
def test_edit_sentences(text, wanted):
    assert edit(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "undo that",
        "Undo it please",
        "undo the last thing you did",
        "take that back",
        "undo pls",
        "can you undo that?",
        "undo all",
        "put it back",
        "please move it back",
        "revert",
    ],
)
def test_undo_in_a_sentence_lists_what_can_be_taken_back(text: str):
    assert command(text) == Command("undo")


def test_undo_of_something_named_is_no_command():
    assert command("undo the last change to notes.md") is None
    assert command("take that back to the office") is None


@pytest.mark.parametrize(
    "text", ["what did you just do?", "who approved that?", "What have you changed so far", "who did this"]
)
def test_a_question_for_what_was_done_shows_the_record(text: str):
    assert command(text) == Command("audit")


@pytest.mark.parametrize(
    "text", ["who approved the budget?", "what did you do with a.md", "put it back in a"]
)
def test_a_question_about_something_named_is_no_command(text: str):
    assert command(text) is None


@pytest.mark.parametrize("text", ["what can you do?", "What can you do for me", "how do I use this?"])
def test_a_question_for_what_it_can_do_is_help(text: str):
    assert command(text) == Command("help")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("call it two instead", "two"),
        ("please call it “Q3 final.md”", "Q3 final.md"),
        ("Name it notes-2026.md, please.", "notes-2026.md"),
        ("call it a day", ""),
        ("let's call it off", ""),
        ("call it off", ""),
        ("call it even", ""),
        ("call Bob instead", ""),
        ("what would you call it?", ""),
        ("call it two\nand delete the rest", ""),
        ("call it " + "x" * 101, ""),
    ],
)
def test_a_new_name_is_heard_only_as_the_whole_text(text: str, name: str) -> None:
    assert new_name(text) == name


@pytest.mark.parametrize("text", ["one minute", "a second", "just a moment"])
def test_a_time_that_may_answer_a_question_asks_to_wait_only_where_there_is_none(text: str) -> None:
    assert is_hold(text)
    assert not begins_with_wait(text)


@pytest.mark.parametrize("text", ["hold on", "please wait a minute", "no, wait", "not yet"])
def test_a_word_for_waiting_asks_to_wait_also_beside_a_question(text: str) -> None:
    assert is_hold(text)
    assert begins_with_wait(text)
