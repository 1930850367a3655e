"""A database written page by page: whatever interrupts it, SQLite finds the rows of before, and other programs agree."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from servers.data import writing
from servers.data.models import Change
from servers.filesystem.paths import Roots
from tests.servers.test_data_query import data

FILL = """CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, more TEXT);
WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
INSERT INTO t SELECT i, 'row ' || i, hex(zeroblob(400)) FROM n; CREATE INDEX i ON t(name);"""
FIRST = {
    "delete": "journal_mode=delete",
    "wal": "journal_mode=wal",
    "auto_vacuum": "auto_vacuum=FULL",
    "small pages": "page_size=512",
}
CHANGES: list[dict[str, Any]] = [
    {"table": "t", "op": "update", "where": {"id": 1}, "values": {"name": "new"}},
    {"table": "t", "op": "update", "where": {"id": 50}, "values": {"more": "x" * 9_000}},  # new pages
    {"table": "t", "op": "delete", "where": {"id": 30}},
]
FEWER = [{"table": "t", "op": "update", "where": {"id": 50}, "values": {"more": ""}}]
NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Crash(BaseException):
    """Stands for the end of the process: nothing is done behind it."""


class Disk:
    """The module os for one change, whose calls to the disk fail at the `last`: with a crash for good, else once."""

    def __init__(self, last: int, error: BaseException) -> None:
        self.left, self.error = last, error

    def __getattr__(self, name: str) -> Any:
        call = getattr(os, name)
        return self._counted(call) if name in ("pwrite", "ftruncate", "fsync") else call

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            self.left -= 1
            if self.left == 0 or (self.left < 0 and isinstance(self.error, Crash)):
                raise self.error
            return call(*args)

        return counted


@pytest.fixture(params=FIRST)
def books(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "sample" / "t.sqlite"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as base:
        base.execute(f"PRAGMA {FIRST[request.param]}")
        base.executescript(FILL)
    return path


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return list(base.iterdump())


def write(path: Path, changes: list[dict[str, Any]] = CHANGES) -> None:
    place = Roots.at([path.parent]).find(path.name)
    writing.write(place, [Change.model_validate(one) for one in changes], None, NOW)


def content(path: Path) -> bytes:
    return path.read_bytes()


def beside(path: Path) -> list[str]:
    return sorted(one.name for one in path.parent.iterdir() if one.name.startswith("t.sqlite"))


@pytest.mark.slow
def test_a_crash_at_any_point_leaves_what_sqlite_takes_back(
    books: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, before = tmp_path / "whole", dump(books)
    shutil.copytree(books.parent, whole)
    write(books)
    after, cut, last, states = dump(books), True, 0, []
    while cut:
        last += 1
        for name in beside(books):
            (books.parent / name).unlink()
        shutil.copytree(whole, books.parent, dirs_exist_ok=True)
        cut = cut_off(books, last, monkeypatch)
        unfinished = "t.sqlite-journal" in beside(books)
        if unfinished:
            with pytest.raises(ToolError, match="unfinished change"):
                write(books)
        now = dump(books)  # the next program takes back what is unfinished
        assert now in ([before] if unfinished else [before, after])
        assert "t.sqlite-journal" not in beside(books)
        states.append((unfinished, now == after))
    assert states == sorted(states, key=lambda state: (state[1], state[0]))  # it is made at one moment
    assert states.count((True, False)) > 5


def cut_off(path: Path, last: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the change made so many calls to the disk that it crashed at the last."""
    with monkeypatch.context() as patch:
        patch.setattr(writing, "os", Disk(last, Crash()))
        try:
            write(path)
        except Crash:
            return True
    return False


async def on_a_full_disk(books: Path, last: int, monkeypatch: pytest.MonkeyPatch) -> str:
    with monkeypatch.context() as patch:
        patch.setattr(writing, "os", Disk(last, OSError(errno.ENOSPC, "full")))
        async with data(books.parent) as ask:
            return await ask.refused("write_sqlite", path="t.sqlite", changes=CHANGES)


@pytest.mark.slow
async def test_a_full_disk_leaves_the_file_as_it_was(books: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = content(books)
    for last in range(1, 9):
        said = await on_a_full_disk(books, last, monkeypatch)
        assert "disk is full" in said
        assert "t.sqlite-journal" not in beside(books)
        assert content(books) == before


def test_a_program_that_has_the_database_open_sees_the_change(books: Path) -> None:
    with closing(sqlite3.connect(books)) as base:
        mode = base.execute("PRAGMA journal_mode").fetchone()[0]
    if mode == "wal":
        return  # whoever has that open keeps others out: see below
    with closing(sqlite3.connect(books, isolation_level=None)) as other:
        assert other.execute("SELECT name FROM t WHERE id = 1").fetchone() == ("row 1",)
        write(books)
        assert other.execute("SELECT name, count(*) FROM t WHERE id = 1").fetchone() == ("new", 1)
        assert other.execute("SELECT count(*) FROM t").fetchone() == (59,)
        other.execute("UPDATE t SET name = 'other' WHERE id = 2")
        write(books, FEWER)
        assert other.execute("SELECT name FROM t WHERE id = 2").fetchone() == ("other",)
    dump(books)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("begin", ["BEGIN; SELECT * FROM t", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_database_that_another_program_uses_is_not_changed(
    books: Path, begin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(books)
    with monkeypatch.context() as patch, another(books, begin):
        patch.setattr(writing, "WAIT", 0.05)
        with pytest.raises(ToolError, match="another program"):
            write(books)
        assert "t.sqlite-journal" not in beside(books)
        assert not (books.parent / ".countersign").exists()
    assert content(books) == before
    write(books)


@contextmanager
def another(path: Path, statements: str) -> Iterator[None]:
    """Another process that has the database open: locks of one process do not hold against itself."""
    code = (
        "import sqlite3, sys; base = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "for statement in sys.argv[2].split('; '): rows = base.execute(statement); rows.fetchone()\n"
        "print('open', flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", code, str(path), statements]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"open\n"
        yield
