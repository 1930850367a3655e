"""Asking a database: every way to write, attach or run away is refused, and no byte of the folder changes."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from gate.rules.action import Verdict
from gate.rules.policy import Policy, Rule, decide
from servers.data import server, sources
from tests.servers.files import Ask, Clock, Mode, sha
from tests.servers.gate_around_server import check_cards, gated
from tools.mcp.schema import problems

CLASSES = dict.fromkeys(
    "query_sqlite describe_database deduplicate_records summarize_anomalies preview_csv preview_write_sqlite "
    "preview_without_duplicates preview_restore_rows check_rows get_metadata describe_paths preview_restore".split(),
    "read",
) | {
    "write_csv": "write",
    "write_without_duplicates": "write",
    "write_sqlite": "write",
    "restore_rows": "write",
    "restore_file": "write",
    "delete_file": "destructive",
}
WRITES = [
    "SELECT 1; DROP TABLE t",
    "SELECT 1; SELECT 2",
    "COMMIT; DELETE FROM t",
    "DELETE FROM t",
    "DELETE FROM t RETURNING *",
    "INSERT INTO t VALUES (9, 'x')",
    "INSERT INTO t VALUES (9, 'x') RETURNING id",
    "REPLACE INTO t VALUES (1, 'x')",
    "UPDATE t SET name = 'x' RETURNING *",
    "WITH x AS (SELECT 1) DELETE FROM t",
    "WITH x AS (DELETE FROM t RETURNING 1) SELECT * FROM x",
    "EXPLAIN DELETE FROM t",
    "EXPLAIN QUERY PLAN DELETE FROM t",
    "EXPLAIN ANALYZE DELETE FROM t",
    "DROP TABLE t",
    "DROP VIEW v",
    "ALTER TABLE t RENAME TO u",
    "ALTER TABLE t ADD COLUMN c",
    "CREATE TABLE u(a)",
    "CREATE TEMP TABLE u(a)",
    "CREATE TEMP VIEW u AS SELECT 1",
    "CREATE VIRTUAL TABLE u USING fts5(a)",
    "CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END",
    "CREATE INDEX i ON t(name)",
    "REINDEX",
    "ANALYZE",
    "VACUUM",
    "VACUUM INTO 'copy.sqlite'",
    "BEGIN",
    "BEGIN IMMEDIATE",
    "BEGIN EXCLUSIVE",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "RELEASE s",
    "ATTACH 'other.sqlite' AS o",
    "ATTACH ':memory:' AS o",
    "ATTACH 'file:other.sqlite?mode=rwc' AS o",
    "DETACH main",
    "PRAGMA journal_mode=WAL",
    "PRAGMA query_only=OFF",
    "PRAGMA query_only",
    "PRAGMA writable_schema=ON",
    "PRAGMA user_version=7",
    "PRAGMA schema_version=7",
    "PRAGMA wal_checkpoint",
    "PRAGMA incremental_vacuum",
    "PRAGMA optimize",
    "PRAGMA temp_store_directory='/tmp'",
    "PRAGMA hard_heap_limit=1",
    "PRAGMA page_size=1024",
    "PRAGMA application_id=1",
    "PRAGMA main.user_version=7",
    "SELECT load_extension('evil')",
    "SELECT load_extension('evil', 'main')",
    "SELECT fts3_tokenizer('simple', x'00')",
    "SELECT writefile('x', 'y')",
    "SELECT readfile('/etc/passwd')",
    "SELECT edit('x')",
    "SELECT pg_sleep(600)",
    "COPY (SELECT 1) TO PROGRAM 'id'",
    "SELECT * FROM pragma_user_version(7)",
    "SELECT * FROM missing",
    "SELECT nothing FROM t",
    "VALUES",
    "-- only a comment",
    "/* */",
    ";",
    "SELECT",
    "\0",
    "SELECT 1\0; DROP TABLE t",
    "SELECT ?",
    "SELECT :a",
    ".shell id",
    "UPDATE sqlite_schema SET sql = ''",
    "DELETE FROM sqlite_sequence",
    "INSERT INTO v VALUES (1)",
    "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    "SELECT " + "1+" * 9000 + "1",
    "SELECT zeroblob(1000000000)",
]


def database(folder: Path, journal: str = "delete") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "t.sqlite"
    with closing(sqlite3.connect(path)) as base:
        base.execute(f"PRAGMA journal_mode={journal}")
        base.executescript(
            "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, raw BLOB);"
            "CREATE VIEW v AS SELECT name FROM t;"
            "INSERT INTO t(name, raw) VALUES ('Ann', x'0001'), ('Bøb', NULL), ('Cyd', NULL);"
        )
    return path


def everything(folder: Path) -> dict[str, tuple[str, int]]:
    return {path.name: (sha(path.read_bytes()), path.stat().st_mtime_ns) for path in folder.iterdir()}


@asynccontextmanager
async def data(root: Path, mode: Mode = "auto") -> AsyncIterator[Ask]:
    async with Client(server([root], Clock()), mode=mode, read_timeout_seconds=60) as client:
        yield Ask(client)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_says_all_that_the_gate_wants_to_know(tmp_path: Path, mode: Mode) -> None:
    async with data(tmp_path, mode) as ask:
        check_cards((await ask.client.list_tools()).tools, CLASSES)


async def test_a_question_is_answered_with_columns_and_rows(tmp_path: Path) -> None:
    database(tmp_path)
    async with data(tmp_path) as ask:
        found = await ask(
            "query_sqlite", path="t.sqlite", sql="SELECT id, name, raw FROM t WHERE id < ?", parameters=[3]
        )
        named = await ask(
            "query_sqlite", path="t.sqlite", sql="SELECT name n FROM v WHERE name=:n", parameters={"n": "Cyd"}
        )
        cut = await ask("query_sqlite", path="t.sqlite", sql="SELECT * FROM t a, t b, t c", limit=5)
        pragma = await ask("query_sqlite", path="t.sqlite", sql="PRAGMA table_info(t)")
        tables = await ask("describe_database", path="t.sqlite")
    assert found["columns"] == ["id", "name", "raw"]
    assert found["rows"][0][:2] == [1, "Ann"]
    assert found["rows"][0][2].startswith("(binary, 2 bytes")
    assert found["rows"][1] == [2, "Bøb", None]
    assert not found["truncated"]
    assert named["rows"] == [["Cyd"]]
    assert (len(cut["rows"]), cut["truncated"]) == (5, True)
    assert [row[1] for row in pragma["rows"]] == ["id", "name", "raw"]
    assert {table["name"]: table["kind"] for table in tables["tables"]} == {"t": "table", "v": "view"}
    assert (tables["truncated"], tables["note"]) == (False, "")


@pytest.mark.parametrize("many", [2_000, 9_000])
async def test_a_database_of_many_tables_says_how_many_are_not_listed(tmp_path: Path, many: int) -> None:
    """More than an answer holds, and more than its task gives."""
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as base:
        base.executescript(
            "BEGIN;" + "".join(f"CREATE TABLE t{n:05} (id, name);" for n in range(many)) + "COMMIT;"
        )
    async with data(tmp_path) as ask:
        told = await ask("describe_database", path="t.sqlite")
    names = [table["name"] for table in told["tables"]]
    assert names == [f"t{n:05}" for n in range(len(names))]
    assert 100 < len(names) < many
    assert told["truncated"]
    assert told["note"] == f"{len(names):,} of {many:,} tables and views are listed, the first by name."


@pytest.mark.slow
@pytest.mark.parametrize("journal", ["delete", "wal"])
async def test_nothing_but_one_reading_statement_runs(tmp_path: Path, journal: str) -> None:
    database(tmp_path, journal)
    (tmp_path / "other.sqlite").write_bytes((tmp_path / "t.sqlite").read_bytes())
    before = everything(tmp_path)
    async with data(tmp_path) as ask:
        for sql in WRITES:
            assert await ask.refused("query_sqlite", path="t.sqlite", sql=sql), sql
            assert everything(tmp_path) == before, sql
        assert (await ask("query_sqlite", path="t.sqlite", sql="SELECT count(*) FROM t"))["rows"] == [[3]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "SELECT count(*) FROM t a, t b, t c, t d, t e, t f, t g, t h, t i, t j, t k, t l, t m, t n, t o, t p, t q",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n ORDER BY -i",
    ],
)
async def test_a_question_without_an_end_is_stopped(
    tmp_path: Path, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "SECONDS", 0.2)
    database(tmp_path)
    async with data(tmp_path) as ask:
        assert "was stopped" in await ask.refused("query_sqlite", path="t.sqlite", sql=sql)


async def test_an_answer_is_cut_before_it_fills_the_memory(tmp_path: Path) -> None:
    database(tmp_path)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "
    async with data(tmp_path) as ask:
        blobs = await ask(
            "query_sqlite", path="t.sqlite", sql=f"{endless} zeroblob(4000000) FROM n", limit=30
        )
        texts = await ask("query_sqlite", path="t.sqlite", sql=f"{endless} hex(zeroblob(50000)) FROM n")
    assert blobs["truncated"]
    assert blobs["count"] == 30
    assert texts["truncated"]
    assert texts["count"] == 2


async def test_a_database_with_changes_in_a_log_is_refused_until_they_are_in_the_file(tmp_path: Path) -> None:
    path = database(tmp_path, "wal")
    last = "SELECT name FROM t ORDER BY id DESC LIMIT 1"
    async with data(tmp_path) as ask:
        with closing(sqlite3.connect(path)) as writer:
            writer.execute("INSERT INTO t(name) VALUES ('in the log')")
            writer.commit()
            before = everything(tmp_path)
            assert len(before) == 3
            said = await ask.refused("query_sqlite", path="t.sqlite", sql=last)
            assert everything(tmp_path) == before
        assert "t.sqlite-wal" in said
        assert "Close the database in that program" in said
        assert (await ask("query_sqlite", path="t.sqlite", sql=last))["rows"] == [["in the log"]]


async def test_what_is_no_database_or_lies_outside_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "sample"
    root.mkdir()
    database(tmp_path)
    (root / "text.sqlite").write_text("SQLite? no")
    (root / "empty.sqlite").touch()
    os.symlink(tmp_path / "t.sqlite", root / "link.sqlite")
    os.mkfifo(root / "fifo.sqlite")
    (root / "broken.sqlite").write_bytes((tmp_path / "t.sqlite").read_bytes()[:5000])
    paths = [
        "text.sqlite",
        "empty.sqlite",
        "link.sqlite",
        "fifo.sqlite",
        "../t.sqlite",
        "missing.sqlite",
        ".",
    ]
    async with data(root) as ask:
        for path in [*paths, str(tmp_path / "t.sqlite"), "file:t.sqlite?mode=rw", "broken.sqlite"]:
            assert await ask.refused("query_sqlite", path=path, sql="SELECT * FROM t"), path
    assert not (root / "missing.sqlite").exists()


async def test_a_database_that_looks_like_an_address_is_read_as_the_file_it_is(tmp_path: Path) -> None:
    path = database(tmp_path)
    path.rename(tmp_path / "a?mode=rw&b#c%20d.sqlite")
    async with data(tmp_path) as ask:
        found = await ask("query_sqlite", path="a?mode=rw&b#c%20d.sqlite", sql="SELECT count(*) FROM t")
        assert await ask.refused("query_sqlite", path="a?mode=rw&b#c%20d.sqlite", sql="DELETE FROM t")
    assert found["rows"] == [[3]]


@pytest.mark.slow
async def test_the_server_runs_on_standard_input_and_output(tmp_path: Path) -> None:
    database(tmp_path)
    words = ["-m", "servers.data", "--root", str(tmp_path)]
    command = StdioServerParameters(command=sys.executable, args=words, cwd=Path(__file__).parents[2])
    async with Client(command, read_timeout_seconds=60) as client:
        found = await Ask(client)("query_sqlite", path="t.sqlite", sql="SELECT sum(id) FROM t")
    assert found["rows"] == [[6]]


@pytest.mark.parametrize("table", ["salaries", "SALARIES", '"Salaries"'])
async def test_a_rule_about_a_table_holds_for_it_in_any_letters(tmp_path: Path, table: str) -> None:
    """SQLite finds it so."""
    rule = Rule("r", ("data.*",), deny=True, texts=(r"\bsalaries\b",))
    async with gated(tmp_path / "logs", "data", server([tmp_path])) as gate:
        for sql, denied in ((f"SELECT * FROM {table}", True), ("SELECT 1" + ", 1" * 900, False)):
            args = {"path": "a.sqlite", "sql": sql}
            found = decide(
                Policy("p", (rule,) if denied else ()),
                gate.spec("query_sqlite"),
                args,
                "C1",
                lambda s, v: not problems(s, v),
            )
            assert (found.verdict is Verdict.DENY) is denied
