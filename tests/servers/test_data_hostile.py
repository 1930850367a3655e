"""Files beside a database, statements without an end and exchanged folders: none of them reaches beyond the database."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from servers.data import sources
from tests.servers.files import Ask
from tests.servers.test_data_query import data, database, everything

CHANGES = [{"table": "t", "op": "update", "where": {"id": 1}, "values": {"name": "x"}}]
READS: dict[str, dict[str, Any]] = {
    "query_sqlite": {"sql": "SELECT name FROM t"},
    "describe_database": {},
    "deduplicate_records": {"table": "t"},
    "summarize_anomalies": {"table": "t"},
    "preview_write_sqlite": {"changes": CHANGES},
}
# SQLite compares for hours here and looks at no clock meanwhile: each is one call of one function.
ZEROS, NEEDLE = "hex(zeroblob(4000000))", "hex(zeroblob(2000000)) || '1'"
ENDLESS = {
    "instr": f"SELECT instr({ZEROS}, {NEEDLE})",
    "instr of blobs": f"SELECT instr(CAST({ZEROS} AS BLOB), CAST({NEEDLE} AS BLOB))",
    "replace": f"SELECT length(replace({ZEROS}, {NEEDLE}, ''))",
}
# A bot in small: one call under way, and an orderly end at SIGTERM.
BOT = """
import asyncio, signal, sys
from pathlib import Path
from mcp import Client
from servers.data import server, sources
sources.SECONDS = 10
async def main():
    async with Client(server([Path(sys.argv[1])])) as client:
        call = asyncio.ensure_future(client.call_tool("query_sqlite", {"path": "t.sqlite", "sql": sys.argv[2]}))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, call.cancel)
        print("asked", flush=True)
        await call
asyncio.run(main())
"""


def hot_journal(path: Path, victim: Path) -> None:
    """A journal as a crash leaves it, with the name of a super-journal: SQLite deletes that file when it rolls back."""
    page = 4096
    magic, name = bytes.fromhex("d9d505f920a163d7"), str(victim).encode()
    head = struct.pack(">8s5I", magic, 0, 0, path.stat().st_size // page, 512, page).ljust(512, b"\0")
    tail = struct.pack(">I", 0x40000000 // page + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    path.with_name(f"{path.name}-journal").write_bytes(head + tail)


@pytest.mark.parametrize("tool", READS)
async def test_a_read_deletes_no_file_that_a_journal_names(tmp_path: Path, tool: str) -> None:
    root = tmp_path / "shared"
    key = tmp_path / "audit.key"
    key.write_text("k" * 64)
    path = database(root)
    hot_journal(path, key)
    before = everything(root)
    async with data(root) as ask:
        said = await ask.refused(tool, path="t.sqlite", **READS[tool])
    assert key.exists()
    assert "unfinished change (t.sqlite-journal)" in said
    assert {name: what for name, what in everything(root).items() if name[0] != "."} == before


async def test_a_hostile_journal_is_one_that_sqlite_would_follow(tmp_path: Path) -> None:
    """The attack of the test above is a real one: the library itself deletes the file."""
    key = tmp_path / "audit.key"
    key.write_text("k" * 64)
    path = database(tmp_path / "shared")
    hot_journal(path, key)
    with closing(sqlite3.connect(path)) as base:
        base.execute("SELECT * FROM t").fetchall()
    assert not key.exists()


async def test_a_change_deletes_no_file_that_a_journal_names(tmp_path: Path) -> None:
    root = tmp_path / "shared"
    key = tmp_path / "audit.key"
    key.write_text("k" * 64)
    path = database(root)
    async with data(root) as ask:
        done = await ask("write_sqlite", path="t.sqlite", changes=CHANGES)
        hot_journal(path, key)
        before = path.read_bytes()
        for tool, args in (
            ("write_sqlite", {"path": "t.sqlite", "changes": CHANGES}),
            ("restore_rows", {"record": done["record"]}),
            ("preview_restore_rows", {"record": done["record"]}),
            ("check_rows", {"record": done["record"]}),
        ):
            assert "unfinished change" in await ask.refused(tool, **args), tool
    assert key.exists()
    assert path.read_bytes() == before


async def test_a_finished_journal_and_an_empty_log_are_no_obstacle(tmp_path: Path) -> None:
    path = database(tmp_path, "persist")
    with closing(sqlite3.connect(path)) as base:
        base.execute("PRAGMA journal_mode=persist")
        base.execute("UPDATE t SET name = 'Eve' WHERE id = 1")
        base.commit()
    (tmp_path / "t.sqlite-wal").touch()
    assert (tmp_path / "t.sqlite-journal").stat().st_size
    async with data(tmp_path) as ask:
        found = await ask("query_sqlite", path="t.sqlite", sql="SELECT name FROM t WHERE id = 1")
        await ask("write_sqlite", path="t.sqlite", changes=CHANGES)
    assert found["rows"] == [["Eve"]]
    with closing(sqlite3.connect(path)) as base:
        assert base.execute("SELECT name FROM t WHERE id = 1").fetchone() == ("x",)


async def test_a_link_beside_a_database_is_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "shared"
    path = database(root)
    with closing(sqlite3.connect(database(tmp_path / "other", "wal"))) as writer:
        writer.execute("INSERT INTO t(name) VALUES ('secret')")
        writer.commit()
        os.symlink(tmp_path / "other" / "t.sqlite-wal", f"{path}-wal")
        async with data(root) as ask:
            assert "t.sqlite-wal" in await ask.refused("query_sqlite", path="t.sqlite", sql="SELECT * FROM t")


async def test_a_database_that_another_program_writes_is_not_read_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "WAIT", 0.1)
    path = database(tmp_path)
    async with data(tmp_path) as ask:
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute("BEGIN EXCLUSIVE")
            said = await ask.refused("query_sqlite", path="t.sqlite", sql="SELECT * FROM t")
    assert "t.sqlite is in use just now, here or by another program. Try again in a minute" in said


@pytest.mark.slow
@pytest.mark.parametrize("sql", ENDLESS.values(), ids=ENDLESS)
async def test_a_function_that_looks_at_no_clock_is_stopped_too(
    tmp_path: Path, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "SECONDS", 0.3)
    monkeypatch.setattr(sources, "GRACE", 0.3)
    database(tmp_path)
    async with data(tmp_path) as ask:
        assert "was stopped" in await ask.refused("query_sqlite", path="t.sqlite", sql=sql)
        assert (await ask("query_sqlite", path="t.sqlite", sql="SELECT count(*) FROM t"))["rows"] == [[3]]


@pytest.mark.slow
async def test_a_trigger_without_an_end_is_stopped_and_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "SECONDS", 0.3)
    monkeypatch.setattr(sources, "GRACE", 0.3)
    path = database(tmp_path)
    with closing(sqlite3.connect(path)) as base:
        base.execute(f"CREATE TRIGGER slow AFTER UPDATE ON t BEGIN {ENDLESS['instr']}; END")
        base.commit()
    before = everything(tmp_path)
    async with data(tmp_path) as ask:
        for tool in ("preview_write_sqlite", "write_sqlite"):
            assert "was stopped" in await ask.refused(tool, path="t.sqlite", changes=CHANGES)
    assert {name: what for name, what in everything(tmp_path).items() if name[0] != "."} == before


@pytest.mark.slow
def test_a_bot_in_the_middle_of_a_statement_ends_with_all_its_processes(tmp_path: Path) -> None:
    database(tmp_path)
    words = [sys.executable, "-c", BOT, str(tmp_path), ENDLESS["instr"]]
    home = Path(__file__).parents[2]
    with subprocess.Popen(words, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as bot:
        try:
            assert bot.stdout
            assert bot.stdout.readline() == b"asked\n"
            me = psutil.Process(bot.pid)
            assert waited(lambda: any(busy(one) for one in started_by_children(me)))
            family = [me, *me.children(recursive=True)]
            bot.send_signal(signal.SIGTERM)
            assert waited(lambda: bot.poll() is not None)
            assert waited(lambda: not any(alive(one) for one in family))
        finally:
            bot.kill()


def waited(true: Callable[[], bool]) -> bool:
    """Whether it comes true within half a minute."""
    end = time.monotonic() + 30
    while not true():
        if time.monotonic() > end:
            return False
        threading.Event().wait(0.02)
    return True


def started_by_children(process: psutil.Process) -> set[psutil.Process]:
    """The tasks of the sandbox: the fork server is the child of the bot, a task the child of that."""
    return {*process.children(recursive=True)} - {*process.children()}


def busy(process: psutil.Process) -> bool:
    """Whether it has worked as long as nothing but that statement takes; little, as it gives way to all others."""
    with suppress(psutil.Error):
        return float(process.cpu_times().user) > 0.3
    return False


def alive(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@contextmanager
def swapping(here: Path, there: Path) -> Iterator[None]:
    """`here` is now what it is and now a link to `there`, thousands of times a second."""
    over = threading.Event()
    aside = here.with_name("aside")

    def swap() -> None:
        while not over.is_set():
            here.rename(aside)
            here.symlink_to(there)
            here.unlink()
            aside.rename(here)

    worker = threading.Thread(target=swap)
    worker.start()
    try:
        yield
    finally:
        over.set()
        worker.join()


def met(answers: list[Any]) -> bool:
    """Whether the file was found in its place once."""
    return any(isinstance(answer, dict) for answer in answers)


UNEXPECTED = re.compile(r"Error executing tool \w+['\"]")  # without a sentence of ours behind it
RACES = int(os.environ.get("COUNTERSIGN_RACES", "150"))


@pytest.mark.slow
@pytest.mark.parametrize("what", ["folder", "file"])
async def test_what_is_exchanged_for_a_link_gives_nothing_from_outside(tmp_path: Path, what: str) -> None:
    (tmp_path / "root").mkdir()
    inside = database(tmp_path / "root" / "sub")
    outside = database(tmp_path / "outside")
    with closing(sqlite3.connect(outside)) as base:
        base.execute("UPDATE t SET name = 'OUTSIDE'")
        base.commit()
    secret = outside.read_bytes()
    answers = []
    ends = (inside, outside) if what == "file" else (inside.parent, outside.parent)
    async with data(tmp_path / "root") as ask:
        with swapping(*ends):
            while len(answers) < RACES or not (met(answers) or len(answers) >= 20 * RACES):
                answers.append(await either(ask, len(answers)))
        await ask("query_sqlite", path="sub/t.sqlite", sql="SELECT 1")
    assert not any("OUTSIDE" in str(answer) for answer in answers)
    assert not any(UNEXPECTED.search(str(answer)) for answer in answers)
    assert met(answers), "the race was never open"
    assert outside.read_bytes() == secret
    assert sorted(path.name for path in outside.parent.iterdir()) == ["t.sqlite"]


async def either(ask: Ask, number: int) -> dict[str, Any] | str:
    """An answer, or a sentence: of every fifth call a change."""
    tool, args = "query_sqlite", {"sql": "SELECT name FROM t"}
    if number % 5 == 4:
        tool, args = "write_sqlite", {"changes": [CHANGES[0] | {"values": {"name": str(number)}}]}
    result = await ask.client.call_tool(tool, {"path": "sub/t.sqlite", **args}, read_timeout_seconds=60)
    return str(result.content) if result.is_error else result.structured_content or {}
