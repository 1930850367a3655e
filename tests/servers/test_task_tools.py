"""The task server: what it says of itself, what it lists, what it refuses, and on its own for any client."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from servers.command_line import zone
from servers.task import configured, server
from tests.servers.files import Ask, Clock
from tests.servers.gate_around_server import SATURDAY, Gate, check_cards, gated

CLASSES = {
    "list_tasks": "read",
    "get_overdue": "read",
    "daily_briefing": "read",
    "get_task": "read",
    "preview_task": "read",
    "preview_update": "read",
    "preview_delete": "read",
    "preview_restore": "read",
    "create_task": "write",
    "update_task": "write",
    "restore_task": "write",
    "delete_task": "destructive",
}


class Now(Clock):
    def __init__(self) -> None:
        self.time = SATURDAY


@asynccontextmanager
async def tasks(folder: Path, clock: Clock | None = None, timezone: str = "UTC") -> AsyncIterator[Gate]:
    app = server(folder / "tasks.sqlite", zone(timezone), clock or Now())
    async with gated(folder, "task", app) as gate:
        yield gate


@contextmanager
def database(folder: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(folder / "tasks.sqlite", isolation_level=None)) as db:
        yield db


def rows(folder: Path) -> list[tuple[Any, ...]]:
    with database(folder) as db:
        return db.execute("SELECT * FROM task ORDER BY id").fetchall()


def ids(answer: dict[str, Any]) -> list[int]:
    return [task["id"] for task in answer["tasks"]]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_says_all_that_the_gate_wants_to_know(tmp_path: Path, mode: Any) -> None:
    async with Client(server(tmp_path / "tasks.sqlite"), mode=mode) as client:
        check_cards((await client.list_tools()).tools, CLASSES)


async def test_the_most_urgent_task_is_listed_first(tmp_path: Path) -> None:
    async with tasks(tmp_path) as gate:
        await gate("create_task", title="someday")
        await gate("create_task", title="next week", due="in 1 week")
        await gate("create_task", title="low", due="tomorrow", priority="low")
        await gate(
            "create_task", title="high", due="tomorrow", priority="urgent", notes="Bring the Ärger file"
        )
        assert ids(await gate("list_tasks")) == [4, 3, 2, 1]
        assert ids(await gate("list_tasks", contains="ÄRGER")) == [4]
        assert ids(await gate("list_tasks", due_until="2026-11-22")) == [4, 3]
        await gate("update_task", task_id=4, status="done")
        assert ids(await gate("list_tasks")) == [3, 2, 1]
        assert ids(await gate("list_tasks", status="done")) == [4]
        assert ids(await gate("list_tasks", status="all", offset=3)) == [1]
        assert (await gate("list_tasks", status="cancelled"))["note"] == "There are none."


async def test_a_long_list_says_that_there_is_more_and_where(tmp_path: Path) -> None:
    async with tasks(tmp_path) as gate:
        await gate("create_task", title="first")
        columns = "title, status, priority, due, notes, created_at, updated_at, completed_at"
        with database(tmp_path) as db:
            for _ in range(9):
                db.execute(f"INSERT INTO task ({columns}) SELECT {columns} FROM task")
        first = await gate("list_tasks")
        assert (len(first["tasks"]), first["total"], first["truncated"]) == (200, 512, True)
        assert first["note"] == "There are more: ask for those after the first 200."
        last = await gate("list_tasks", offset=400)
        assert (len(last["tasks"]), last["truncated"]) == (112, False)


async def test_what_should_have_been_done_before_today_is_overdue(tmp_path: Path) -> None:
    clock = Now()
    async with tasks(tmp_path, clock, "Pacific/Auckland") as gate:
        await gate("create_task", title="due", due="today")
        assert (await gate("get_overdue"))["total"] == 0
        clock.move(hours=1)
        assert (await gate("get_overdue"))["total"] == 0
        clock.move(hours=1)  # 11:30 UTC: midnight has passed in Auckland
        assert ids(await gate("get_overdue")) == [1]
        await gate("update_task", task_id=1, status="cancelled")
        assert (await gate("get_overdue"))["total"] == 0


async def test_a_briefing_counts_what_it_lists(tmp_path: Path) -> None:
    async with tasks(tmp_path) as gate:
        for title, due in {
            "late": "2026-11-19",
            "now": "today",
            "soon": "friday",
            "far": "in 8 days",
        }.items():
            await gate("create_task", title=title, due=due)
        await gate("create_task", title="begun")
        await gate("update_task", task_id=5, status="started")
        await gate("create_task", title="done")
        await gate("update_task", task_id=6, status="done")
        told = await gate("daily_briefing")
        assert [(item["title"], item["why"]) for item in told["tasks"]] == [
            ("late", "overdue"),
            ("now", "due today"),
            ("soon", "coming up"),
            ("begun", "in progress"),
            ("done", "done"),
        ]
        assert told["note"] == (
            "Saturday 2026-11-21: 1 overdue, 1 due today, 1 coming up, 1 in progress, 1 done."
        )
        later = await gate("daily_briefing", day="2026-11-23", ahead=30)
        assert (later["overdue"], later["coming_up"], later["done"]) == (2, 2, 0)
        assert "Name the day" in await gate.refused("daily_briefing", day="none")


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("today", "2026-11-21"),
        ("Tomorrow", "2026-11-22"),
        ("saturday", "2026-11-28"),
        ("on sunday", "2026-11-22"),
        ("next friday", "2026-11-27"),
        ("Fri", "2026-11-27"),
        ("on sat", "2026-11-28"),
        ("on next mon", "2026-11-23"),
        ("in 1 day", "2026-11-22"),
        ("in 2  weeks", "2026-12-05"),
        ("2028-02-29", "2028-02-29"),
        ("none", None),
        ("", None),
    ],
)
async def test_a_day_can_be_said_in_words(tmp_path: Path, words: str, day: str | None) -> None:
    async with tasks(tmp_path) as gate:
        assert (await gate("create_task", title="x", due=words))["due"] == day


@pytest.mark.parametrize(
    "words",
    [
        "soon",
        "fr",
        "frid",
        "next",
        "next next friday",
        "2026-02-29",
        "21.11.2026",
        "２０２６-11-21",
        "in -1 days",
        "in 9999 weeks",
        "1026-11-21",
    ],
)
async def test_a_word_that_is_no_day_is_refused(tmp_path: Path, words: str) -> None:
    async with tasks(tmp_path) as gate:
        assert "is no day I know" in await gate.refused("create_task", title="x", due=words)
        assert "is no day I know" in await gate.blind("create_task", title="x", due=words)
    assert rows(tmp_path) == []


@pytest.mark.parametrize("title", ["", "  ", "two\nlines", "bell\a", "a\u2028b", "x" * 201])
async def test_a_title_that_is_no_line_of_text_is_refused(tmp_path: Path, title: str) -> None:
    async with tasks(tmp_path) as gate:
        await gate.refused("create_task", title=title)
        await gate.refused("create_task", title="x", notes="nul \0")
        await gate.refused("create_task", title="x", priority="huge")
        await gate.refused("create_task", title="x", prio="high")
        await gate.refused("get_task", task_id="1; DROP TABLE task")
    assert rows(tmp_path) == []


async def test_a_text_like_sql_is_a_text(tmp_path: Path) -> None:
    title = "'); DROP TABLE task; --"
    async with tasks(tmp_path) as gate:
        await gate("create_task", title=title, notes=title)
        assert ids(await gate("list_tasks", contains="drop table")) == [1]
        assert (await gate("get_task", task_id=1))["task"]["title"] == title


async def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    async with tasks(tmp_path) as gate:
        assert "There is no task 7" in await gate.refused("update_task", task_id=7, title="x")
        assert "There is no task 7" in await gate.refused("delete_task", task_id=7)
        assert "There is no task 7" in await gate.blind("delete_task", task_id=7)
        assert (await gate("get_task", task_id=7))["sha256"] == "absent"
        await gate("create_task", title="x")
        assert "is like that already" in await gate.refused("update_task", task_id=1, title="x")


async def test_a_day_that_moved_since_it_was_shown_is_not_written(tmp_path: Path) -> None:
    clock = Now()
    async with tasks(tmp_path, clock) as gate:
        seen = await gate.look("create_task", title="x", due="tomorrow")
        assert "+ due: 2026-11-22" in seen.preview.diff
        clock.move(days=1)
        assert "2026-11-22 is now 2026-11-23" in await gate.refused("create_task", **seen.args)
    assert rows(tmp_path) == []


async def test_a_number_is_never_given_twice(tmp_path: Path) -> None:
    async with tasks(tmp_path) as gate:
        first = await gate.do("create_task", title="first")
        await gate.undo(first)
        assert (await gate("create_task", title="second"))["id"] == 2


async def test_a_task_that_never_was_is_not_restored(tmp_path: Path) -> None:
    async with tasks(tmp_path) as gate:
        await gate("create_task", title="x")
        task = (await gate("get_task", task_id=1))["task"]
        assert "never was" in await gate.refused("restore_task", task=task | {"id": 2})
        await gate.refused("restore_task", task=task | {"created_at": "2026-11-21T09:30:00"})
        await gate.refused("restore_task", task=task | {"owner": "me"})
        assert "changed since" in await gate.refused("restore_task", task=task)


async def test_a_list_that_is_being_changed_asks_for_patience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("servers.task.store.WAIT_SECONDS", 0.05)
    async with tasks(tmp_path) as gate:
        with database(tmp_path) as db:
            db.execute("BEGIN IMMEDIATE")
            assert "Try again in a moment" in await gate.refused("create_task", title="x")
            assert (await gate("list_tasks"))["total"] == 0
        await gate("create_task", title="x")


async def test_what_another_program_wrote_wrongly_is_named(tmp_path: Path) -> None:
    async with tasks(tmp_path) as gate:
        await gate("create_task", title="x")
        with database(tmp_path) as db:
            db.execute("UPDATE task SET status = 'lost'")
        assert "Task 1 was written by another program" in await gate.refused("list_tasks", status="all")


def test_a_file_that_cannot_be_used_stops_the_start_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.sqlite").write_text("not a database, but long enough to look like one" * 30)
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as db:
        db.execute("CREATE TABLE secrets (x)")
    before = (tmp_path / "other.sqlite").read_bytes()
    for name in ("missing/tasks.sqlite", "folder", "text.sqlite", "other.sqlite"):
        with pytest.raises(ValueError, match=r"\.$"):
            server(tmp_path / name)
    assert (tmp_path / "other.sqlite").read_bytes() == before
    for words in ([], ["--file", "x", "--timezone", "Mars/Olympus"], ["--fil"], ["--file", "x", "--no", "y"]):
        with pytest.raises(ValueError, match=r"\.|Try"):
            configured(words)


@pytest.mark.slow
async def test_the_server_runs_on_standard_input_and_output(tmp_path: Path) -> None:
    words = ["-m", "servers.task", "--file", str(tmp_path / "tasks.sqlite"), "--timezone", "Europe/Berlin"]
    command = StdioServerParameters(command=sys.executable, args=words, cwd=Path(__file__).parents[2])
    async with Client(command, read_timeout_seconds=60) as client:
        ask = Ask(client)
        assert (await ask("create_task", title="Call the printer", due="2026-11-24"))["id"] == 1
        assert (await ask("list_tasks", status="all"))["total"] == 1
        assert "is no day" in await ask.refused("update_task", task_id=1, due="soon")
    assert len(rows(tmp_path)) == 1
