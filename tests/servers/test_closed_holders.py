"""A rule on a calendar or a mailbox is about all that lies in it: by an id, by default, in other letters, in changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gate.rules.action import CallClass, Verdict
from gate.rules.canonical_json import canonical
from gate.rules.policy import Rule
from gate.rules.previews import COVERED_BY_RULE
from servers.email.smtp import Post
from tests.servers.gate_around_server import Gate
from tests.servers.mail import mailing
from tests.servers.test_calendar_tools import calendar
from tests.servers.test_closed_calendars import (
    CLOSED_ID,
    DAY,
    DRAFT,
    DRAFTS,
    EVENTS,
    MAILS,
    NEW,
    OPEN_ID,
    PAY,
    Asker,
    calendars,
    drafted,
    hidden,
    maildir,
)

POST = Post("localhost", 1, "none")
ANSWER = {"to": "bob@example.com", "subject": "x", "body": "y", "in_reply_to": CLOSED_ID}
REPLY = {**ANSWER, "in_reply_to": OPEN_ID}
SAID: Mapping[str, Any] = {
    "const": lambda name: {"const": name},
    "const in other letters": lambda name: {"const": name.swapcase()},
    "enum": lambda name: {"enum": ["Other", name]},
    "pattern": lambda name: {"pattern": f"^{name}$"},
    "pattern in other letters": lambda name: {"pattern": f"^{name.swapcase()}$"},
    "beginning": lambda name: {"pattern": f"^{name}"},
}


class Once:
    """The tools of a server, each called once with the same arguments."""

    def __init__(self, host: Any) -> None:
        self.host, self.answers = host, dict[tuple[str, bytes], Any]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.host, name)

    async def call(self, server: str, tool: str, args: bytes, *more: Any) -> Any:
        if (tool, args) not in self.answers:
            self.answers[tool, args] = await self.host.call(server, tool, args, *more)
        return self.answers[tool, args]


def under(gate: Gate, argument: str, name: str) -> Iterator[Asker]:
    """Whoever asks under a rule on what is called so, for each way to say that."""
    once: Any = SimpleNamespace(host=Once(gate.host), spec=gate.spec)
    for said in SAID.values():
        yield Asker(once, (about(argument, said(name)),))


async def verdict(ask: Asker, tool: str, **args: Any) -> Verdict:
    seen = await ask.look(tool, **args)
    assert seen.decision, seen.preview.problem
    return seen.decision.verdict


def about(argument: str, said: Mapping[str, Any], tools: str = "*", **more: Any) -> Rule:
    """A rule on what this argument selects, with whatever it does."""
    schema = {"required": [argument], "properties": {argument: said}}
    return Rule("closed by name", (tools,), schema=schema, **(more or {"deny": True}))


@pytest.mark.slow
async def test_no_read_tells_of_a_mailbox_that_a_rule_names(tmp_path: Path) -> None:
    async with mailing(maildir(tmp_path)) as gate:
        for ask in under(gate, "mailbox", "HR"):
            for tool, args in MAILS.items():
                said = await ask(tool, **args)
                assert hidden(said) == [], (tool, ask.rules)
                assert "closed by name" in said
            for name in ("HR", "hr", "Hr"):
                assert await ask("search_emails", mailbox=name) == "denied"
                assert await ask("read_email", message_id=CLOSED_ID, mailbox=name) == "denied"


@pytest.mark.slow
async def test_neither_a_read_nor_a_change_passes_a_mailbox_that_a_text_names(tmp_path: Path) -> None:
    async with mailing(maildir(tmp_path)) as gate:
        once: Any = SimpleNamespace(host=Once(gate.host), spec=gate.spec)
        for text in ("^HR$", "^hr$", "(^|/)HR($|/)"):
            ask = Asker(once, (Rule("closed by name", ("*",), deny=True, texts=(text,)),))
            for tool, args in MAILS.items():
                assert hidden(await ask(tool, **args)) == [], (tool, text)
            assert await verdict(ask, "draft_email", **ANSWER) is Verdict.DENY


async def test_no_read_tells_of_drafts_that_a_rule_names(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    drafted(home)
    async with mailing(home, POST) as gate:
        for ask in under(gate, "mailbox", "Drafts"):
            for tool, args in {**DRAFTS, "read_email": {"message_id": DRAFT}}.items():
                said = await ask(tool, **args)
                assert hidden(said) == [], (tool, ask.rules)
                assert "closed by name" in said


async def test_no_read_tells_of_the_inbox_where_a_rule_names_it(tmp_path: Path) -> None:
    async with mailing(maildir(tmp_path)) as gate:
        for ask in under(gate, "mailbox", "INBOX"):
            for tool, args in (
                ("search_emails", {"text": "salaries"}),
                ("search_emails", {"text": "salaries", "mailbox": "inbox"}),
                ("read_email", {"message_id": OPEN_ID}),
                ("summarize_thread", {"message_id": CLOSED_ID}),
            ):
                said = await ask(tool, **args)
                assert [word for word in ("Who talks", "Lunch") if word in said] == [], (tool, ask.rules)
            assert "CANARY" in await ask("search_emails", mailbox="HR")
            assert "CANARY" in await ask("read_email", message_id=CLOSED_ID)


@pytest.mark.slow
async def test_nothing_is_written_or_changed_in_a_mailbox_that_a_rule_names(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    drafted(home)
    async with mailing(home, POST) as gate:
        for ask in under(gate, "mailbox", "Drafts"):
            for tool in ("send_draft", "delete_draft"):
                assert await verdict(ask, tool, draft_id=DRAFT) is Verdict.DENY
            assert await verdict(ask, "draft_email", **REPLY) is Verdict.DENY
        for ask in under(gate, "mailbox", "Sent"):
            assert await verdict(ask, "send_draft", draft_id=DRAFT) is Verdict.DENY
            assert await verdict(ask, "delete_draft", draft_id=DRAFT) is Verdict.TYPED
        for ask in under(gate, "mailbox", "HR"):
            assert await verdict(ask, "draft_email", **ANSWER) is Verdict.DENY
            for tool in ("get_metadata", "delete_file"):
                assert await ask(tool, path=f".HR/cur/{PAY}:2,S") == "denied"


async def test_a_draft_of_a_mailbox_that_a_rule_names_is_not_restored(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    drafted(home)
    async with mailing(home, POST) as gate:
        gone = await gate.host.call("email", "delete_draft", canonical({"draft_id": DRAFT}), 30)
        assert isinstance(gone.structured, dict)
        for ask in under(gate, "mailbox", "Drafts"):
            assert await verdict(ask, "restore_file", trash_id=gone.structured["trash_id"]) is Verdict.DENY


@pytest.mark.slow
async def test_mails_beside_a_mailbox_that_a_rule_names_are_told_and_written(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    drafted(home)
    async with mailing(home, POST) as gate:
        for ask in under(gate, "mailbox", "HR"):
            assert "Lunch" in await ask("search_emails", text="lunch", mailbox="inbox")
            assert "Lunch" in await ask("search_emails", text="lunch")
            assert "Who talks" in await ask("read_email", message_id=OPEN_ID)
            assert "Who talks" in await ask("summarize_thread", message_id=OPEN_ID, mailbox="INBOX")
            assert "CANARY" in await ask("list_drafts")
            assert await verdict(ask, "draft_email", **REPLY) is Verdict.CONFIRM
            assert await verdict(ask, "delete_draft", draft_id=DRAFT) is Verdict.TYPED
            assert await verdict(ask, "send_draft", draft_id=DRAFT) is Verdict.TYPED


@pytest.mark.parametrize("changes", [{"private": True}, {"at_least": CallClass.DESTRUCTIVE}], ids=str)
async def test_a_mailbox_that_a_milder_rule_names_is_given_to_whoever_asks_for_it(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    async with mailing(maildir(tmp_path)) as gate:
        ask = Asker(gate, (about("mailbox", {"const": "Hr"}, **changes),))
        for name in ("HR", "hr"):
            assert "CANARY" in await ask("search_emails", mailbox=name)
            assert "CANARY" in await ask("read_email", message_id=CLOSED_ID, mailbox=name)
        assert hidden(await ask("search_emails")) == []
        assert hidden(await ask("read_email", message_id=CLOSED_ID)) == []


@pytest.mark.slow
async def test_an_event_of_a_calendar_that_a_rule_names_is_neither_told_nor_deleted(tmp_path: Path) -> None:
    async with calendar(calendars(tmp_path), timezone="UTC") as gate:
        for ask in under(gate, "calendar", "board"):
            for tool, args in EVENTS.items():
                assert hidden(await ask(tool, **args)) == [], (tool, ask.rules)
            assert await verdict(ask, "delete_event", event_id="cfo@example.com") is Verdict.DENY
            assert "Lunch" in await ask("list_events", **DAY, calendar="team")
            assert "Lunch" in await ask("get_event", event_id="lunch@example.com")
            assert await verdict(ask, "delete_event", event_id="lunch@example.com") is Verdict.TYPED


async def test_a_card_does_not_name_an_event_of_a_calendar_that_a_rule_names(tmp_path: Path) -> None:
    rule = about("calendar", {"const": "board"}, at_least=CallClass.DESTRUCTIVE)
    async with calendar(calendars(tmp_path), timezone="UTC") as gate:
        seen = await Asker(gate, (rule,)).look("create_event", **NEW)
        assert hidden(seen.preview) == []
        assert COVERED_BY_RULE in seen.preview.notes
        assert "CANARY" in (await Asker(gate).look("create_event", **NEW)).preview.diff
