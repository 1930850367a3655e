"""Databases that other servers open: the index, records and files of our own, when somebody else has written there."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from servers.audit.log import Log
from servers.clipboard import History
from servers.knowledge import indexing
from servers.task.store import Store
from tests.servers.all_servers import log
from tests.servers.files import Clock
from tests.servers.test_data_hostile import CHANGES, ENDLESS, hot_journal
from tests.servers.test_data_query import data, database
from tests.servers.test_knowledge_tools import knowing, notes

HOSTILE_INDEX = f"""
CREATE TABLE folder(path, recursive);
CREATE TABLE chunk(id INTEGER PRIMARY KEY, path, n, first, last, text);
CREATE VIRTUAL TABLE word USING fts5(text, content='chunk', content_rowid='id');
CREATE VIEW file(path, sha256, size) AS SELECT 'a', 'b', 1 WHERE ({ENDLESS["instr"]}) > 0;
"""


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "audit.key"
    path.write_text("k" * 64)
    return path


@pytest.mark.slow
async def test_an_index_with_a_view_without_an_end_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "shared"
    index = root / ".countersign" / "knowledge" / "index.sqlite"
    index.parent.mkdir(parents=True)
    with closing(sqlite3.connect(index)) as base:
        base.executescript(HOSTILE_INDEX)
    async with knowing(root) as ask:
        said = await ask.refused("search_documents", query="lease")
        index.unlink()
        assert not (await ask("search_documents", query="lease"))["hits"]
    assert ".countersign/knowledge" in said
    assert "Move it away" in said


@pytest.mark.slow
async def test_an_index_that_names_files_outside_says_nothing_of_them(tmp_path: Path) -> None:
    root = tmp_path / "shared"
    root.mkdir()
    (tmp_path / "outside.txt").write_text("The lease ends in May.")
    async with knowing(notes(root)) as ask:
        await ask("index_folder", path=".")
        before = await ask("ask_about_files", question="When does the lease end?")
        with closing(sqlite3.connect(root / ".countersign" / "knowledge" / "index.sqlite")) as base:
            sha256 = indexing.disk.sha256((tmp_path / "outside.txt").read_bytes())
            base.execute(
                "UPDATE file SET path = '../outside.txt', sha256 = ? WHERE path = 'lease.md'", [sha256]
            )
            base.execute("UPDATE chunk SET path = '../outside.txt' WHERE path = 'lease.md'")
            base.commit()
        found = await ask("ask_about_files", question="When does the lease end?")
    assert not before["sources"][0]["changed_since"]
    assert found["sources"] == [], "it told that the file outside is there, or has this hash"


@pytest.mark.slow
async def test_a_record_that_leads_outside_is_not_followed(tmp_path: Path) -> None:
    outside = database(tmp_path / "outside")
    root = tmp_path / "shared"
    database(root)
    before = outside.read_bytes()
    async with data(root) as ask:
        done = await ask("write_sqlite", path="t.sqlite", changes=CHANGES)
        path = root / ".countersign" / "data" / done["record"]
        told = json.loads(path.read_bytes()) | {"path": "../outside/t.sqlite"}
        path.write_text(json.dumps(told))
        for tool in ("check_rows", "preview_restore_rows", "restore_rows"):
            assert "There is no record of that id" in await ask.refused(tool, record=done["record"])
    assert outside.read_bytes() == before


def test_a_list_of_tasks_with_a_journal_of_others_is_refused(tmp_path: Path, key: Path) -> None:
    path = tmp_path / "tasks.sqlite"
    tasks = Store.at(path)
    hot_journal(path, key)
    with (
        pytest.raises(ToolError, match=r"tasks\.sqlite-journal was not written"),
        tasks.reading(),
    ):
        pass
    with pytest.raises(ValueError, match=r"tasks\.sqlite-journal was not written"):
        Store.at(path)
    assert key.exists()


def test_a_clipboard_history_with_a_journal_of_others_is_refused(tmp_path: Path, key: Path) -> None:
    history = History.at(tmp_path / "clipboard", Clock())
    hot_journal(history.path, key)
    with pytest.raises(ToolError, match=r"clipboard\.sqlite-journal was not written"):
        history.keep("text", "set")
    assert key.exists()


def test_the_audit_log_is_read_without_rolling_back(tmp_path: Path, key: Path) -> None:
    path = log(tmp_path / "bot.db")
    hot_journal(path, key)
    with pytest.raises(ValueError, match="can be read"):
        Log.at(str(path), "")
    assert key.exists()
    assert path.with_name("bot.db-journal").exists()
