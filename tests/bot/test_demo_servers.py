"""The desk of `make run`: tasks, calendar and mail in a thread, from plain words to what is on the disk and back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.demo_servers import demo_servers, sample_desk
from gate.rules.jobs import for_owner
from gate.rules.ports import Limits
from servers.email.mailboxes import identified
from servers.sandbox.calling import SANDBOX
from tests.foreign.thread import Thread
from tests.product import Product, running_product
from tests.servers.files import tree
from workspace.mail_server import MailServer

pytestmark = pytest.mark.slow
LIMITS = Limits(decision=30)  # what the machine is slow at is no refusal
Desk = tuple[Product, Path, Path]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A house with the sample desk: the house, the desk's folder, and the folder in which sent mail lands."""
    postbox = MailServer(tmp_path / "mails")
    folder = sample_desk(tmp_path / "desk", datetime.now(UTC))
    servers = demo_servers(folder, await postbox.start())
    try:
        async with running_product(tmp_path / "home", limits=LIMITS, servers=servers) as product:
            yield product, folder, postbox.folder
    finally:
        await postbox.stop()


def test_the_sample_is_made_once_and_left_alone_then(tmp_path: Path) -> None:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    folder = sample_desk(tmp_path / "desk", now)
    before = tree(folder)
    assert sample_desk(folder, now + timedelta(days=9)) == folder
    assert tree(folder) == before


async def test_the_files_of_different_people_are_opened_in_turns(desk: Desk) -> None:
    with for_owner("ann"):
        assert SANDBOX._owner() == "ann"


async def test_questions_are_answered_at_once(desk: Desk) -> None:
    product, _, _ = desk
    briefing = await Thread.ask(product, "brief me")
    assert "Send the Q3 figures to Bob" in briefing.shown
    assert "overdue" in briefing.shown
    assert briefing.buttons == []
    assert "Standup" in (await Thread.ask(product, "what is on my calendar")).shown
    assert "The Q3 figures" in (await Thread.ask(product, "search my mail for figures")).shown


async def test_a_task_and_an_event_are_shown_done_and_taken_back(desk: Desk) -> None:
    product, folder, _ = desk
    tasks, events = (folder / "tasks.sqlite").read_bytes(), tree(folder / "calendar")
    task = await Thread.ask(product, "remind me to water the plants by tomorrow")
    assert task.shown.startswith("Create the task “water the plants”")
    assert "can be undone" in task.shown
    event = await Thread.ask(product, "schedule Budget review for monday 9:05 for 20 minutes")
    assert "at the same time: Standup" in event.shown
    assert (folder / "tasks.sqlite").read_bytes() == tasks
    assert tree(folder / "calendar") == events
    await task.confirm()
    await event.confirm()
    assert "water the plants" in (await Thread.ask(product, "show me my tasks")).shown
    assert len(tree(folder / "calendar")) == len(events) + 1
    await task.undo()
    await event.undo()
    assert "water the plants" not in (await Thread.ask(product, "show me my tasks")).shown
    assert tree(folder / "calendar") == events


async def test_a_mail_is_drafted_reviewed_with_everybody_named_and_sent(desk: Desk) -> None:
    product, folder, mails = desk
    args = {"to": "Bob <bob@example.com>", "bcc": "dora@example.com", "subject": "Figures", "body": "Here.\n"}
    drafting = await Thread.ask(product, "email.draft_email", **args)
    await drafting.confirm()
    [draft] = (folder / "mail/.Drafts/cur").iterdir()
    draft_id = identified(draft.name.partition(":2,")[0])
    assert draft_id in (await Thread.ask(product, "show my mail drafts")).shown
    sending = await Thread.ask(product, f"send the draft {draft_id}")
    assert "dora@example.com (Bcc)" in sending.shown
    assert "A mail that was sent stays sent" in sending.shown
    assert "confirm" not in sending.buttons
    assert list(mails.iterdir()) == []
    await sending.type_phrase()
    [sent] = mails.iterdir()
    assert b"X-Envelope-To: bob@example.com, dora@example.com\r\n" in sent.read_bytes()
    assert not draft.exists()
    assert "undo" not in sending.buttons
