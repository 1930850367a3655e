"""Plain sentences about tasks, calendar and mail mean calls, and take nothing from what is said about files."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gate.rules.planner_port import Propose
from gate.rules.tool import ToolSpec
from servers.calendar import server as calendar
from servers.filesystem import server as filesystem
from servers.task import server as task
from tests.servers.mail import mail_app, maildir
from tests.tools.mcp_hosts import hosting
from tests.tools.phrases_setup import FILE, Listed, understood
from tools.mcp.server_config import ServerConfig
from tools.phrases.phrase_file import load_phrases
from tools.phrases.planner import Phrases, misfits

TABLE: list[tuple[str, str, dict[str, Any]]] = [
    ("show me my tasks", "task.list_tasks", {}),
    ("what do I have to do?", "task.list_tasks", {}),
    ("list all tasks", "task.list_tasks", {"status": "all"}),
    ("show my tasks about lisbon", "task.list_tasks", {"contains": "lisbon", "status": "all"}),
    ("what is overdue?", "task.get_overdue", {}),
    ("give me the daily briefing", "task.daily_briefing", {}),
    ("brief me", "task.daily_briefing", {}),
    ("brief me for monday", "task.daily_briefing", {"day": "monday"}),
    ("show task 3", "task.get_task", {"task_id": 3}),
    ("remind me to call the printer", "task.create_task", {"title": "call the printer"}),
    (
        "remind me to call the printer by friday",
        "task.create_task",
        {"title": "call the printer", "due": "friday"},
    ),
    ("add a task: water the plants", "task.create_task", {"title": "water the plants"}),
    (
        "add a new task water the plants due 2026-11-24",
        "task.create_task",
        {"title": "water the plants", "due": "2026-11-24"},
    ),
    ("task 3 is done", "task.update_task", {"task_id": 3, "status": "done"}),
    ("mark task 3 as done", "task.update_task", {"task_id": 3, "status": "done"}),
    ("mark task 3 as finished", "task.update_task", {"task_id": 3, "status": "done"}),
    ("mark my task 3 completed", "task.update_task", {"task_id": 3, "status": "done"}),
    ("mark task 3 as started", "task.update_task", {"task_id": 3, "status": "started"}),
    ("mark task 3 as in progress", "task.update_task", {"task_id": 3, "status": "started"}),
    ("mark task 3 as open", "task.update_task", {"task_id": 3, "status": "open"}),
    ("mark task 3 as urgent", "task.update_task", {"task_id": 3, "priority": "urgent"}),
    ("start task 3", "task.update_task", {"task_id": 3, "status": "started"}),
    ("reopen task 3", "task.update_task", {"task_id": 3, "status": "open"}),
    ("postpone task 3 until in 2 weeks", "task.update_task", {"task_id": 3, "due": "in 2 weeks"}),
    ("move task 3 to friday", "task.update_task", {"task_id": 3, "due": "friday"}),
    (
        "change the due date of task 3 to next monday",
        "task.update_task",
        {"task_id": 3, "due": "next monday"},
    ),
    ("whats overdue", "task.get_overdue", {}),
    (
        "book a meeting with Bob tomorrow at 3pm for an hour",
        "calendar.create_event",
        {"title": "Meeting with Bob", "start": "tomorrow at 3pm", "minutes": 60},
    ),
    (
        "schedule a meeting with Bob on friday at 10:00 for 20 minutes",
        "calendar.create_event",
        {"title": "Meeting with Bob", "start": "friday at 10:00", "minutes": 20},
    ),
    (
        "book a meeting tomorrow at 3pm for an hour",
        "calendar.create_event",
        {"title": "Meeting", "start": "tomorrow at 3pm", "minutes": 60},
    ),
    (
        "schedule lunch with Bob tomorrow at 12:30 for half an hour",
        "calendar.create_event",
        {"title": "lunch with Bob", "start": "tomorrow at 12:30", "minutes": 30},
    ),
    ("rename task 3 to Call", "task.update_task", {"task_id": 3, "title": "Call"}),
    ("delete task 3", "task.delete_task", {"task_id": 3}),
    ("what's on my calendar?", "calendar.list_events", {}),
    ("what is on my calendar on friday?", "calendar.list_events", {"start": "friday", "days": 1}),
    ("show my meetings for tomorrow", "calendar.list_events", {"start": "tomorrow", "days": 1}),
    ("find lunch in my calendar", "calendar.list_events", {"contains": "lunch", "days": 366}),
    ("when am I free?", "calendar.find_free_slots", {}),
    ("when am I free on friday", "calendar.find_free_slots", {"start": "friday", "days": 1}),
    ("find 45 free minutes", "calendar.find_free_slots", {"minutes": 45}),
    ("show the event abc", "calendar.get_event", {"event_id": "abc"}),
    (
        "schedule Budget review for friday 14:00",
        "calendar.create_event",
        {"title": "Budget review", "start": "friday 14:00"},
    ),
    (
        "schedule Budget review on 2026-11-27 14:00 until 15:30",
        "calendar.create_event",
        {"title": "Budget review", "start": "2026-11-27 14:00", "end": "15:30"},
    ),
    (
        "schedule Lunch tomorrow at 10",
        "calendar.create_event",
        {"title": "Lunch", "start": "tomorrow at 10"},
    ),
    (
        "schedule Lunch on friday at 10",
        "calendar.create_event",
        {"title": "Lunch", "start": "friday at 10"},
    ),
    (
        "schedule Lunch for next monday",
        "calendar.create_event",
        {"title": "Lunch", "start": "next monday"},
    ),
    (
        "schedule Review on tomorrow 9:30 for 20 minutes",
        "calendar.create_event",
        {"title": "Review", "start": "tomorrow 9:30", "minutes": 20},
    ),
    (
        "block tomorrow 9:00 for the report",
        "calendar.create_time_block",
        {"title": "the report", "start": "tomorrow 9:00"},
    ),
    (
        "block tomorrow 9:00 until 11:00 for the report",
        "calendar.create_time_block",
        {"title": "the report", "start": "tomorrow 9:00", "end": "11:00"},
    ),
    ("delete the event abc@example.com", "calendar.delete_event", {"event_id": "abc@example.com"}),
    ("show my mail drafts", "email.list_drafts", {}),
    ("what is in my inbox?", "email.search_emails", {}),
    ("what is unread?", "email.search_emails", {"unread": True}),
    ("search my mail for figures", "email.search_emails", {"text": "figures"}),
    ("find mails from bob", "email.search_emails", {"sender": "bob"}),
    ("read the mail 0a1b2c3d4e", "email.read_email", {"message_id": "0a1b2c3d4e"}),
    ("sum up the thread 0a1b2c3d4e", "email.summarize_thread", {"message_id": "0a1b2c3d4e"}),
    (
        "write a mail to bob@example.com about Figures: Here they are. Then lunch?",
        "email.draft_email",
        {"to": "bob@example.com", "subject": "Figures", "body": "Here they are. Then lunch?"},
    ),
    (
        "draft a reply to the mail 0a1b2c3d4e to bob@example.com about Figures: Yes.",
        "email.draft_email",
        {"to": "bob@example.com", "subject": "Figures", "body": "Yes.", "in_reply_to": "0a1b2c3d4e"},
    ),
    ("send the draft 0a1b2c3d4e", "email.send_draft", {"draft_id": "0a1b2c3d4e"}),
    ("delete the mail draft 0a1b2c3d4e", "email.delete_draft", {"draft_id": "0a1b2c3d4e"}),
    ("list tasks", "filesystem.list_dir", {"path": "tasks"}),
    ("read calendar.md", "filesystem.read_file", {"path": "calendar.md"}),
    ("delete drafts/task.md", "filesystem.delete_file", {"path": "drafts/task.md"}),
    ("find *.md in drafts", "filesystem.search_files", {"path": "drafts", "pattern": "*.md"}),
]
# What is looked at for a card, or only takes something back.
UNSAID = {"preview_task", "preview_update", "preview_delete", "preview_restore", "preview_event"}
UNSAID |= {"preview_time_block", "preview_draft", "preview_send", "restore_task", "restore_file"}
UNSAID |= {"delete_file", "get_metadata", "describe_paths"}


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Phrases:
    """The bundled phrases over the real tools of four bundled servers."""
    folder = tmp_path_factory.mktemp("desk")
    apps = {
        "filesystem": filesystem([folder]),
        "task": task(folder / "tasks.sqlite"),
        "calendar": calendar([folder]),
        "email": mail_app(maildir(folder)),
    }

    async def listed() -> dict[str, ToolSpec]:
        configs = [ServerConfig(name=name, inproc="x") for name in apps]
        async with hosting(folder, *configs, inproc=apps) as host:
            return {spec.full_name: spec for spec in host.specs()}

    return Phrases(load_phrases(FILE), Listed(asyncio.run(listed())))


@pytest.mark.parametrize(
    "said", ["make task 3 due friday", "add task 3 by monday", "remind me to 5 tomorrow"]
)
def test_a_number_is_no_title_of_a_new_task(planner: Phrases, said: str) -> None:
    assert "is only a title" in str(understood(planner, said))


def test_a_sentence_means_one_call(planner: Phrases) -> None:
    for text, tool, args in TABLE:
        reply = understood(planner, text)
        assert isinstance(reply, Propose), (text, reply)
        assert [(f"{call.server}.{call.tool}", dict(call.args)) for call in reply.calls] == [(tool, args)], (
            text
        )


def test_every_tool_can_be_reached_in_words(planner: Phrases) -> None:
    said = {tool for _, tool, _ in TABLE}
    left = {spec.full_name for spec in planner.tools.specs() if spec.server != "filesystem"} - said
    assert {name.partition(".")[2] for name in left} <= UNSAID


def test_every_phrase_fits_its_tool_and_every_example_is_understood(planner: Phrases) -> None:
    assert misfits(planner.book, planner.tools) == []
    for phrase in planner.book.phrases:
        if phrase.example and planner.tools.find(phrase.server, phrase.tool):
            reply = understood(planner, phrase.example)
            assert isinstance(reply, Propose), phrase.example
            assert reply.calls[0].tool == phrase.tool


def test_without_these_servers_their_absence_is_named(tmp_path: Path) -> None:
    reply = Phrases(load_phrases(FILE), Listed({})).understand("what is overdue?")
    assert "needs the server for tasks" in getattr(reply, "text", "")
