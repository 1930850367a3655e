"""What is said where nothing was understood: short, close to what was meant, and with a way to the rest."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pytest

from gate.rules.planner_port import Propose, Say
from gate.rules.tool import ServerStatus, ToolSpec
from tests.tools.phrases_setup import FILE, Listed
from tools.phrases.help import guide
from tools.phrases.phrase_file import load_phrases
from tools.phrases.planner import Phrases

book = cache(lambda: load_phrases(FILE))  # not when the tests are looked for, which each worker does
DESK = ("filesystem", "task", "calendar", "email", "data", "document", "ocr", "security")
READS = (
    "list",
    "read",
    "search",
    "find",
    "get",
    "scan",
    "describe",
    "diff",
    "daily",
    "check",
    "extract",
    "propose",
)
QUESTIONS = (
    "what files do I have",
    "which reports mention revenue?",
    "do I have any new mail?",
    "any unread mails?",
    "who wrote to me",
    "what's on today?",
    "what do I have to do today?",
    "what tasks do I have",
    "which tasks are open?",
    "what is left to do?",
    "what is on my calendar tomorrow",
    "what meetings do I have on friday?",
    "when is my next meeting",
    "are there any passwords in my files?",
    "are there secrets in private?",
    "are there duplicate files in downloads?",
    "are there any duplicates?",
    "what changed between contracts/lease-2026.md and contracts/lease-2027.md",
    "show me the reports folder",
    "can you list what's in my downloads?",
    "what is in the database receipts/books.sqlite",
    "show the tables in receipts/books.sqlite",
    "what did I delete",
    "how many rows does receipts/books.sqlite have",
    "which bookings have no receipt",
    "who is in the meeting tomorrow",
)


def spec(server: str, tool: str, *required: str) -> ToolSpec:
    known = {name: {} for name in ("path", *required)}
    schema = {"type": "object", "properties": known, "required": list(required)}
    return ToolSpec(server, tool, tool, "", schema, "d")


class Desk(Listed):
    """Like the demo's: every tool that a phrase or a runbook names, of these servers; and one that is away."""

    def servers(self) -> tuple[ServerStatus, ...]:
        return (ServerStatus("github", "backoff", "not found"),)

    def problems(self, schema: object, value: object) -> tuple[()]:
        return ()


def planner(*servers: str) -> Phrases:
    known: dict[str, ToolSpec] = {}
    for one in named(servers):
        known.setdefault(one.full_name, one)
    return Phrases(book(), Desk(known))


def named(servers: Iterable[str]) -> Iterable[ToolSpec]:
    pairs = [(phrase.server, phrase.tool, tuple(phrase.args)) for phrase in book().phrases]
    for runbook in book().runbooks:
        pairs += [(x.server, x.tool, tuple(x.args)) for x in (*runbook.looks, *runbook.steps) if x.tool]
    return [spec(server, tool, *args) for server, tool, args in pairs if server in servers]


def said(text: str, *servers: str) -> str:
    reply = planner(*(servers or DESK)).understand(text)
    assert isinstance(reply, Say), reply
    return reply.text


@pytest.mark.parametrize(
    ("text", "suggested"),
    [
        ("sort the downloads by kind", "`run sort-downloads for downloads`"),
        ("tidy up my downloads folder", "`run sort-downloads for downloads`"),
        ("clean up the secrets in private", "`run clean-up-secrets for private`"),
        ("which bookings have no receipt", "`run reconcile-receipts for receipts`"),
        ("mark the first task as done", "task 1 is done"),
        ("delte drafts/q3-draft.md", "delete drafts/q3-draft.md"),
        ("send a mail to bob@example.com", "`help mail` shows more like this"),
        ("email bob the q3 report", "write a mail to bob@example.com about Figures"),
        ("undo that", "`undo`: what can be taken back"),
        ("delete_file drafts/a.md", "`filesystem.delete_file path=…`"),
        ("task.list", "`task.list_tasks"),
        ("lst_tasks", "`task.list_tasks"),
    ],
)
def test_what_comes_closest_is_suggested_first(text: str, suggested: str) -> None:
    assert suggested in said(text)
    assert text in said(text)


@pytest.mark.parametrize(
    "text", ["make me a sandwich", "zip the reports", "sing a song", "x" * 1500, "thanks"]
)
def test_where_nothing_is_close_four_servers_are_shown_and_where_the_others_are(text: str) -> None:
    told = said(text)
    assert [line for line in told.splitlines() if line.startswith("•")] == [
        "• what is in reports",
        "• show me my tasks",
        "• what is on my calendar",
        "• do I have new mail",
    ]
    assert "`help files` shows more like the first, `help` shows all 8 things I can help with." in told


@pytest.mark.parametrize(
    "text", [*QUESTIONS, "make me a sandwich", "email bob", "run it", "delete_file", "", "help"]
)
def test_an_answer_has_a_few_lines(text: str) -> None:
    reply = planner(*DESK).understand(text)
    assert not isinstance(reply, Say) or len(reply.text.splitlines()) <= 7


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_is_never_a_change(text: str) -> None:
    reply = planner(*DESK).understand(text)
    calls = reply.calls if isinstance(reply, Propose) else ()
    assert [call.tool for call in calls if not call.tool.startswith(READS)] == []


@pytest.mark.parametrize(
    "text", ["help files", "Help filesystem!", "help me with the files server", "help file"]
)
def test_help_with_a_server_gives_its_examples_and_tools(text: str) -> None:
    told = said(text)
    assert "• move reports/q3-summary.md to archive/q3-summary.md" in told
    assert "`filesystem` has 21 tools: `list_dir`, " in told
    assert "Each works by its name, too: `filesystem.list_dir path=…`." in told
    assert "show me my tasks" not in told
    assert "Runbooks with it: `archive-quarter`, `tidy-drafts`, `publish-note`, " in told


@pytest.mark.parametrize(
    ("about", "says"),
    [
        ("mail", "`email` has "),
        ("Meetings", "`meeting` has "),
        ("calender", "`calendar` has "),
        ("sandwich", "I know nothing called “sandwich”. I can help with these: `files`, "),
        ("github", "The server `github` is set up, and is not connected right now."),
        ("runbooks", "Runbooks:\n• Archive a quarter"),
        (
            "",
            "I can help with: files, calendar, mail, tasks, documents, tables, secrets, pictures, minutes.\n",
        ),
    ],
)
def test_a_server_is_found_by_what_people_call_it_and_an_unknown_one_is_told(about: str, says: str) -> None:
    assert says in guide(about, planner(*DESK, "meeting").tools, book())


def test_two_servers_of_such_a_name_are_both_offered() -> None:
    tools = Listed({f"{name}.look": spec(name, "look") for name in ("file-store", "filesystem")})
    assert "Did you mean `help file-store` or `help filesystem`?" in guide("files", tools, book())


def test_who_plans_with_a_model_is_told_to_use_their_own_words() -> None:
    told = guide("mail", planner(*DESK).tools)
    assert "your own words" in told
    assert "You can write" not in told


def test_without_any_server_that_is_said() -> None:
    for about in ("", "files"):
        assert guide(about, Listed({}), book()).startswith("No server is connected right now")
