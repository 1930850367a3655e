"""Every write of the bundled servers that keep records: shown before, done as shown, taken back exactly, once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer

from servers.calendar import server as calendar_server
from servers.command_line import zone
from servers.email.mailboxes import identified
from servers.task import server as task_server
from tests.servers.files import tree
from tests.servers.gate_around_server import Gate, gated
from tests.servers.mail import mail_app, maildir
from tests.servers.test_calendar_tools import BERLIN, LUNCH
from tests.servers.test_task_tools import Now, rows

FIRST, SECOND = (identified(f"1795253400.id{number}.countersign") for number in (1, 2))
LAST = "{of the last deletion}"
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class House:
    """A server, what is there before, every change that it offers, and how to see all that it keeps."""

    app: Callable[[Path], MCPServer]
    before: list[Call]
    changes: list[Call]
    state: Callable[[Path], Any]
    final: set[str] = field(default_factory=set)  # what nothing takes back


ROW = {
    "id": 1, "title": "As it was", "status": "done", "priority": "low", "due": None, "notes": "",
    "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-02T00:00:00Z",
    "completed_at": "2026-01-02T00:00:00Z",
}  # fmt: skip


def calendar(folder: Path) -> MCPServer:
    """A calendar with the team's events and one file in the trash, which both can come back."""
    root = folder / "calendar"
    root.mkdir()
    (root / "team.ics").write_text(LUNCH)
    ids = iter(f"new{number}" for number in range(1, 100))
    return calendar_server([root], zone(BERLIN), Now(), lambda: next(ids))


HOUSES = {
    "calendar": House(
        app=calendar,
        before=[
            ("create_event", {"title": "Alone", "start": "tomorrow 9:00"}),
            ("create_event", {"title": "Gone", "start": "tomorrow 11:00"}),
            ("delete_event", {"event_id": "new2"}),
        ],
        changes=[
            ("create_event", {"title": "New", "start": "2026-11-24 14:00", "repeat": "daily", "times": 5}),
            (
                "create_event",
                {"title": "New", "start": "2026-11-24", "end": "2026-11-26", "location": "There"},
            ),
            ("create_time_block", {"title": "Focus", "start": "monday 8:00", "minutes": 90}),
            ("delete_event", {"event_id": "new1"}),
            ("delete_event", {"event_id": "lunch@example.com"}),
            ("delete_file", {"path": "team.ics"}),
            ("restore_file", {"trash_id": LAST}),
        ],
        state=lambda folder: tree(folder / "calendar"),
    ),
    "email": House(
        app=lambda folder: mail_app(maildir(folder)),
        before=[
            ("draft_email", {"to": "bob@example.com", "subject": "Kept", "body": "x"}),
            ("draft_email", {"to": "bob@example.com", "subject": "Gone", "body": "y"}),
            ("delete_draft", {"draft_id": SECOND}),
        ],
        changes=[
            (
                "draft_email",
                {"to": "Ann <ann@example.com>", "subject": "Grüße", "body": "–", "bcc": "d@example.com"},
            ),
            ("delete_draft", {"draft_id": FIRST}),
            ("delete_file", {"path": "cur/1.first.host:2,S"}),
            ("restore_file", {"trash_id": LAST}),
        ],
        state=lambda folder: tree(folder / "mail"),
        final={"send_draft"},
    ),
    "task": House(
        app=lambda folder: task_server(folder / "tasks.sqlite", clock=Now()),
        before=[("create_task", {"title": "first", "due": "today"}), ("create_task", {"title": "second"})],
        changes=[
            ("create_task", {"title": "third", "notes": "a\nb"}),
            ("update_task", {"task_id": 1, "status": "done", "due": "none"}),
            ("update_task", {"task_id": 2, "title": "2nd", "priority": "urgent", "notes": "x"}),
            ("delete_task", {"task_id": 1}),
            ("restore_task", {"task": ROW}),
        ],
        state=rows,
    ),
}
# What the first line of a card says whole, of a call that it says nothing else of.
WHOLE_LINE = {"create_time_block": ("title",)}
CASES = [(name, *call) for name, house in HOUSES.items() for call in house.changes]


async def begun(gate: Gate, house: House, args: dict[str, Any]) -> dict[str, Any]:
    """Do what was before; the arguments with what only that could know: the trash id of the last deletion."""
    for tool, given in house.before:
        done = await gate.do(tool, **given)
    return {key: done.result[key] if value == LAST else value for key, value in args.items()}


# promise: ACT-14, ACT-15
@pytest.mark.slow
@pytest.mark.parametrize(("name", "tool", "args"), CASES)
async def test_every_change_is_shown_done_and_taken_back_exactly(
    tmp_path: Path, name: str, tool: str, args: dict[str, Any]
) -> None:
    house = HOUSES[name]
    async with gated(tmp_path / "logs", name, house.app(tmp_path)) as gate:
        args = await begun(gate, house, args)
        before = house.state(tmp_path)
        seen = await gate.look(tool, **args)
        assert seen.preview.is_complete, seen.preview.problem
        told = seen.preview.diff or seen.preview.affected
        assert told or all(str(args[name]) in seen.preview.summary for name in WHOLE_LINE[tool])
        assert house.state(tmp_path) == before, "looking changed something"
        done = await gate.go_on(tool, seen, args)
        after = house.state(tmp_path)
        assert after != before
        await gate.undo(done)
        assert house.state(tmp_path) == before
        await gate.undo_refused(done)
        assert house.state(tmp_path) == before


@pytest.mark.parametrize("name", HOUSES)
async def test_every_tool_that_changes_something_is_tried_or_said_to_be_final(
    tmp_path: Path, name: str
) -> None:
    house = HOUSES[name]
    async with gated(tmp_path / "logs", name, house.app(tmp_path)) as gate:
        changing = {spec.name for spec in gate.host.specs() if spec.recipe.cls != "read"}
        final = {spec.name for spec in gate.host.specs() if not spec.recipe.undo} & changing
    assert final == house.final
    assert changing - final == {tool for tool, _ in house.changes}
