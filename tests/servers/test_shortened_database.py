"""A database that becomes shorter can be taken back to what it was by any reader, wherever the writing ends."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from servers.data import writing
from servers.filesystem.paths import Roots, spot
from servers.sandbox.calling import Streamed

ROWS = 400


class Killed(BaseException):
    """Stands for the end of the process."""


def rows(path: Path) -> tuple[str, int]:
    with closing(sqlite3.connect(path)) as database:
        sound = database.execute("PRAGMA integrity_check").fetchone()[0]
        return sound, database.execute("SELECT count(*) FROM t").fetchone()[0]


@contextmanager
def killed_at(step: int, patch: pytest.MonkeyPatch) -> Any:
    """The process ends before this change of a file."""
    left = step

    def counted(real: Any) -> Any:
        def call(*args: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return real(*args)

        return call

    with patch.context() as patched:
        for name in ("pwrite", "ftruncate", "fsync"):
            patched.setattr(os, name, counted(getattr(os, name)))
        yield


def test_a_database_that_becomes_shorter_is_whole_wherever_the_writing_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after, path = tmp_path / "before.db", tmp_path / "after.db", tmp_path / "files" / "d.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(before)) as database:
        database.execute("PRAGMA auto_vacuum = FULL")
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
        database.executemany("INSERT INTO t (v) VALUES (?)", [("x" * 900,)] * ROWS)
        database.commit()
    shutil.copy(before, after)
    with closing(sqlite3.connect(after)) as database:
        database.execute("DELETE FROM t WHERE id < 150")
        database.commit()
    assert after.stat().st_size < before.stat().st_size
    found, step, done = set[int](), 0, False
    while not done:
        for old in path.parent.glob("d.db*"):
            old.unlink()
        shutil.copy(before, path)
        with ExitStack() as stack:
            here = stack.enter_context(spot(Roots.at([path.parent]).find("d.db")))
            file, old, new = (stack.enter_context(one.open("r+b")) for one in (path, before, after))
            streams = [Streamed(one.fileno(), os.fstat(one.fileno()).st_size) for one in (old, new)]
            try:
                with killed_at(step, monkeypatch):
                    writing.put(here, file.fileno(), *streams)
                done = True
            except Killed:
                step += 1
        sound, count = rows(path)  # who opens it takes back what did not come to its end
        assert sound == "ok", step
        found.add(count)
    assert found == {ROWS, ROWS - 149}
