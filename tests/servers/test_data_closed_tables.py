"""A rule about a table holds for what views, indexes, samples, triggers and foreign keys give or change of it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from gate.rules.action import CallClass, Verdict
from gate.rules.policy import Rule
from servers.data import server
from tests.servers.files import Clock
from tests.servers.gate_around_server import Gate, gated
from tests.servers.test_closed_calendars import Asker

B = "salaries/b.sqlite"  # in a folder that is called like the table
SCHEMA = """
CREATE TABLE salaries(who INTEGER REFERENCES people(id) ON DELETE CASCADE, note UNIQUE);
CREATE TABLE people(id INTEGER PRIMARY KEY, boss REFERENCES people(id) ON DELETE SET NULL);
CREATE TABLE plain(a, b);
CREATE TABLE log(what);
CREATE TABLE kept(note UNIQUE ON CONFLICT REPLACE);
INSERT INTO people VALUES (1, NULL), (2, 1), (3, NULL);
INSERT INTO salaries VALUES (1, 'canary'), (1, 'canary two');
INSERT INTO plain VALUES (1, 2), (1, 2);
CREATE VIEW pay AS SELECT note FROM salaries;
CREATE VIEW over AS SELECT * FROM pay;
CREATE VIEW counted AS SELECT count(*) AS many FROM pay;
CREATE TRIGGER writes AFTER INSERT ON plain BEGIN UPDATE salaries SET note = 'changed ' || note; END;
CREATE TRIGGER copies AFTER INSERT ON log BEGIN INSERT INTO kept SELECT note FROM pay; END;
CREATE TRIGGER fails AFTER UPDATE ON plain BEGIN INSERT INTO log SELECT json_extract('{}', note) FROM pay; END;
CREATE TRIGGER stops BEFORE DELETE ON plain BEGIN SELECT RAISE(ABORT, 'it''s closed'); END;
CREATE VIRTUAL TABLE words USING fts5(note, content='salaries');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
INSERT INTO words(words) VALUES ('rebuild');
"""
INDEXED = """
CREATE VIRTUAL TABLE salaries USING {kind};
INSERT INTO salaries VALUES {values};
"""
MARKS = ("canary", "changed")
QUESTIONS = (
    "SELECT * FROM pay",
    "SELECT * FROM main.[PAY]",
    "SELECT * FROM over",
    "SELECT many FROM counted",
    "SELECT 1 FROM pay",
    "WITH x AS (SELECT * FROM over) SELECT * FROM x",
    "SELECT a FROM plain WHERE EXISTS (SELECT 1 FROM pay)",
    "SELECT rowid FROM words WHERE words MATCH 'canary'",
    "SELECT * FROM words",
    "SELECT * FROM words_data",
    "SELECT term FROM vocabulary",
)
TEXT = Rule("closed table", ("data.*",), deny=True, texts=(r"\bsalaries\b",))
NAMED = Rule(
    "closed table",
    ("data.*",),
    deny=True,
    schema={"required": ["table"], "properties": {"table": {"const": "Salaries"}}},
)
CLOSED_FILE = Rule(
    "closed file", ("data.*",), deny=True, schema={"required": ["path"], "properties": {"path": {"const": B}}}
)
IN_CHANGES = Rule(
    "closed table",
    ("data.*",),
    deny=True,
    schema={
        "required": ["changes"],
        "properties": {
            "changes": {"contains": {"required": ["table"], "properties": {"table": {"const": "salaries"}}}}
        },
    },
)
RULES = (NAMED, IN_CHANGES)


@asynccontextmanager
async def tables(folder: Path, schema: str = SCHEMA, path: str = B) -> AsyncIterator[Gate]:
    root = folder / "sample"
    (root / path).parent.mkdir(parents=True)
    with closing(sqlite3.connect(root / path)) as base:
        base.executescript(schema)
    async with gated(folder / "logs", "data", server([root], Clock())) as gate:
        yield gate


def change(table: str, op: str, where: dict[str, Any] | None = None, **values: Any) -> dict[str, Any]:
    return {
        "path": B,
        "changes": [{"table": table, "op": op, "where": where or {}, "values": values}],
    }


def under(gate: Gate) -> Iterator[Asker]:
    yield from (Asker(gate, (rule,)) for rule in RULES)


def shown(said: object) -> list[str]:
    return [mark for mark in MARKS if mark in str(said)]


async def test_no_question_gives_a_closed_table_below_another_name(tmp_path: Path) -> None:
    async with tables(tmp_path) as gate:
        for ask in under(gate):
            for sql in QUESTIONS:
                said = await ask("query_sqlite", path=B, sql=sql)
                assert "closed table" in said, sql
                assert shown(said) == [], sql
            assert "[[1, 2], [1, 2]]" in await ask("query_sqlite", path=B, sql="SELECT * FROM plain")
            assert "'over'" in await ask("query_sqlite", path=B, sql="SELECT name FROM sqlite_schema")
        assert shown(await Asker(gate)("query_sqlite", path=B, sql=QUESTIONS[0]))


async def test_a_text_that_names_a_table_holds_for_it_below_other_names(tmp_path: Path) -> None:
    async with tables(tmp_path, path="b.sqlite") as gate:
        ask = Asker(gate, (TEXT,))
        for sql in QUESTIONS:
            assert "closed table" in await ask("query_sqlite", path="b.sqlite", sql=sql), sql
        for text in ("^salaries$", "^SALARIES$"):
            exact = Asker(gate, (Rule("closed table", ("data.*",), deny=True, texts=(text,)),))
            assert "closed table" in await exact("query_sqlite", path="b.sqlite", sql=QUESTIONS[0])
        assert "[[1, 2], [1, 2]]" in await ask("query_sqlite", path="b.sqlite", sql="SELECT * FROM plain")


async def test_no_look_through_a_view_gives_a_closed_table(tmp_path: Path) -> None:
    async with tables(tmp_path) as gate:
        for ask in under(gate):
            for tool in ("summarize_anomalies", "deduplicate_records"):
                said = await ask(tool, path=B, table="over")
                assert "closed table" in said, tool
                assert shown(said) == [], tool
                assert "closed table" not in await ask(tool, path=B, table="plain")
            call = {"source": B, "destination": "o.csv", "table": "over"}
            assert "closed table" in await ask("preview_without_duplicates", call=call)
            await denied(ask, "write_without_duplicates", **{**call, "table": "doubled"})


async def denied(ask: Asker, tool: str, **args: Any) -> None:
    seen = await ask.look(tool, **args)
    assert seen.decision is None or seen.decision.verdict is Verdict.DENY, tool
    assert shown(seen.preview) == [], tool


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("fts5(note)", "('canary')"),
        ("fts4(note)", "('canary')"),
        ("rtree(id, low, high)", "(1, 2, 3)"),
    ],
)
async def test_the_tables_that_a_closed_index_made_for_itself_are_closed(
    tmp_path: Path, kind: str, values: str
) -> None:
    async with tables(tmp_path, INDEXED.format(kind=kind, values=values)) as gate:
        found = await gate("query_sqlite", path=B, sql="SELECT name FROM sqlite_schema WHERE name GLOB '*_*'")
        parts = [name for [name] in found["rows"] if not name.startswith("sqlite_")]
        assert len(parts) > 2
        for ask in under(gate):
            for part in parts:
                assert "closed table" in await ask("query_sqlite", path=B, sql=f"SELECT * FROM {part}"), part


@pytest.mark.parametrize("table", ["sqlite_stat4", "sqlite_stat3", "SQLITE_STAT4"])
async def test_samples_of_a_closed_table_are_closed(tmp_path: Path, table: str) -> None:
    made = f"{SCHEMA} PRAGMA writable_schema=ON; CREATE TABLE sample_of_all(tbl, idx, sample);"
    renamed = (
        f"UPDATE sqlite_schema SET name='{table}', tbl_name='{table}', sql=replace(sql, 'sample_of_all', '{table}') "
        "WHERE name = 'sample_of_all';"
    )
    async with tables(tmp_path, made + renamed) as gate:
        for ask in under(gate):
            assert "closed table" in await ask("query_sqlite", path=B, sql=f"SELECT sample FROM {table}")


async def test_how_many_rows_a_closed_table_has_had_is_not_told(tmp_path: Path) -> None:
    made = "CREATE TABLE numbered(id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO numbered VALUES (7);"
    async with tables(tmp_path, SCHEMA + made) as gate:
        for ask in under(gate):
            assert "closed table" in await ask("query_sqlite", path=B, sql="SELECT * FROM sqlite_sequence")
            assert "7" in await ask("query_sqlite", path=B, sql="SELECT id FROM numbered")


async def test_an_error_quotes_no_value_of_a_row(tmp_path: Path) -> None:
    async with tables(tmp_path) as gate:
        for sql in (
            "SELECT json_extract('{}', note) FROM pay",
            "SELECT * FROM words WHERE words MATCH (SELECT note || ' \"' FROM pay)",
            "SELECT * FROM words WHERE words MATCH (SELECT note || ': x' FROM pay)",
        ):
            said = await gate.refused("query_sqlite", path=B, sql=sql)
            assert "SQLite stopped at a value" in said
            assert shown(said) == []
        said = await gate.refused("preview_write_sqlite", **change("plain", "update", {"a": 1}, b=3))
        assert "SQLite stopped at a value" in said
        assert shown(said) == []
        said = await gate.refused("preview_write_sqlite", **change("plain", "delete", {"a": 1}))
        assert "it's closed" in said
        said = await gate.refused("query_sqlite", path=B, sql="SELECT missing FROM plain")
        assert "no such column: missing" in said


@pytest.mark.parametrize("rule", [NAMED, TEXT], ids=["schema", "text"])
@pytest.mark.parametrize(
    "fails",
    [
        "json_extract('{}', 'yes')",
        "abs(-9223372036854775807 - 1)",
        "(SELECT sum(n) FROM (SELECT 9223372036854775807 AS n UNION ALL SELECT 1))",
        "length(zeroblob(99999999))",
        "(SELECT 1 FROM words WHERE words MATCH '\"')",
        pytest.param(
            "(WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n)",
            marks=pytest.mark.slow,
        ),
    ],
)
async def test_a_question_of_a_closed_table_is_answered_alike_whether_it_fails(
    tmp_path: Path, fails: str, rule: Rule
) -> None:
    async with tables(tmp_path, path="b.sqlite") as gate:
        closed, open_ = Asker(gate, (rule,)), Asker(gate)
        questions = [f"SELECT 1 FROM over WHERE iif(note < '{than}', {fails}, 0)" for than in "az"]
        said = [await closed("query_sqlite", path="b.sqlite", sql=sql) for sql in questions]
        assert "closed table" in said[0]
        assert said[0] == said[1]
        told = [await open_("query_sqlite", path="b.sqlite", sql=sql) for sql in questions]
        assert told[0].count("'rows': []") == 1
        assert "rows" not in told[1]


async def test_a_question_of_an_open_table_says_why_it_fails(tmp_path: Path) -> None:
    async with tables(tmp_path) as gate:
        for ask in under(gate):
            failing = "SELECT json_extract('{}', a || 'x') FROM plain"
            assert "SQLite stopped at a value" in await ask("query_sqlite", path=B, sql=failing)
            said = await ask("query_sqlite", path=B, sql="SELECT missing FROM plain")
            assert "no such column: missing" in said
            said = await ask("preview_write_sqlite", **change("people", "update", {"id": 2}, boss=1))
            assert "change nothing" in said


async def test_a_change_that_fails_over_a_closed_table_is_not_told_why(tmp_path: Path) -> None:
    made = "CREATE TRIGGER unique_note AFTER INSERT ON kept BEGIN INSERT INTO salaries VALUES (1, NEW.note); END;"
    async with tables(tmp_path, SCHEMA + made) as gate:
        for ask in under(gate):
            said = [
                await ask("preview_write_sqlite", **change("kept", "insert", note=note))
                for note in ("canary", "other")
            ]
            assert "closed table" in said[0]
            assert said[0] == said[1]
            assert "closed table" in await ask(
                "preview_write_sqlite", **change("plain", "update", {"a": 1}, b=3)
            )


GUESSES = (
    change("salaries", "update", {"note": "canary"}, note="canary"),  # which changes nothing
    change("salaries", "update", {"note": "canary"}, note="canary two"),  # which is there
    change("salaries", "update", {"note": "unknown"}, note="x"),
    change("salaries", "delete", {"who": 9}),
    change("salaries", "insert", note="canary"),
    change("salaries", "insert", who=1, note="unknown"),
)


async def test_no_guess_at_a_value_of_a_closed_table_is_told_right_or_wrong(tmp_path: Path) -> None:
    async with tables(tmp_path) as gate:
        ask = Asker(gate, (NAMED,))
        said = {await ask("preview_write_sqlite", **guess) for guess in GUESSES}
        assert len(said) == 1
        assert "closed table" in said.pop()


@pytest.mark.parametrize("tool", ["preview_restore_rows", "check_rows"])
async def test_a_record_of_a_closed_table_or_file_is_answered_alike_whether_it_fits(
    tmp_path: Path, tool: str
) -> None:
    async with tables(tmp_path) as gate:
        done = await gate("write_sqlite", **change("salaries", "update", {"note": "canary"}, note="x"))
        asking = [Asker(gate, (rule,)) for rule in (NAMED, CLOSED_FILE)]
        said = [await ask(tool, record=done["record"]) for ask in asking]
        with closing(sqlite3.connect(tmp_path / "sample" / B)) as base, base:
            base.execute("INSERT INTO salaries VALUES (1, 'canary')")  # so that it cannot be put back
        assert [await ask(tool, record=done["record"]) for ask in asking] == said
        assert all("closed" in one for one in said)
        assert (done["record"] in await Asker(gate)(tool, record=done["record"])) == (tool == "check_rows")


async def test_no_card_tells_why_a_look_at_a_closed_table_fails(tmp_path: Path) -> None:
    copied = {"source": B, "destination": "o.csv", "table": "over"}
    async with tables(tmp_path) as gate:
        closed, open_ = Asker(gate, (NAMED,)), Asker(gate)
        for args in (copied, {**copied, "columns": ["missing"]}):
            told = await open_.look("write_without_duplicates", **args)
            seen = await closed.look("write_without_duplicates", **args)
            assert "columns" in told.preview.problem
            assert seen.preview.problem
            assert "columns" not in seen.preview.problem


async def test_a_text_for_a_table_holds_beside_a_schema_for_the_file_that_a_record_is_about(
    tmp_path: Path,
) -> None:
    def about(path: str) -> Rule:
        schema = {"required": ["path"], "properties": {"path": {"const": path}}}
        return Rule("closed table", ("data.*",), deny=True, texts=("^salaries$",), schema=schema)

    async with tables(tmp_path) as gate:
        done = await gate("write_sqlite", **change("salaries", "update", {"note": "canary"}, note="x"))
        ask, other = Asker(gate, (about(B),)), Asker(gate, (about("c.sqlite"),))
        assert "closed table" in await ask("preview_restore_rows", record=done["record"])
        assert shown(await other("preview_restore_rows", record=done["record"]))
        with closing(sqlite3.connect(tmp_path / "sample" / B)) as base, base:
            base.execute("INSERT INTO salaries VALUES (1, 'canary')")
        assert "closed table" in await ask("preview_restore_rows", record=done["record"])


CHANGES = (
    change("plain", "insert", a=1),
    change("people", "delete", {"id": 1}),
    change("log", "insert", what=1),
)


async def test_no_change_of_another_table_changes_a_closed_one(tmp_path: Path) -> None:
    async with tables(tmp_path) as gate:
        for ask in under(gate):
            for args in CHANGES:
                await denied(ask, "write_sqlite", **args)
                said = await ask("preview_write_sqlite", **args)
                assert "closed table" in said or said == "denied"
                assert shown(said) == []
            seen = await ask.look("write_sqlite", **change("people", "delete", {"id": 3}))
            assert seen.preview.is_complete
            assert seen.decision
            assert seen.decision.verdict is not Verdict.DENY


@pytest.mark.parametrize("action", ["SET NULL", "SET DEFAULT", "CASCADE"])
async def test_a_foreign_key_changes_no_closed_table(tmp_path: Path, action: str) -> None:
    made = (
        "CREATE TABLE people(id INTEGER PRIMARY KEY);"
        f"CREATE TABLE salaries(who INTEGER REFERENCES people(id) ON DELETE {action}, note);"
        "INSERT INTO people VALUES (1); INSERT INTO salaries VALUES (1, 'canary');"
    )
    async with tables(tmp_path, made) as gate:
        for ask in under(gate):
            await denied(ask, "write_sqlite", **change("people", "delete", {"id": 1}))


async def test_a_trigger_that_is_called_like_those_that_watch_is_seen(tmp_path: Path) -> None:
    made = "CREATE TABLE a(x); CREATE TABLE salaries(y); CREATE TABLE b(y); INSERT INTO salaries VALUES ('canary');"
    names = (f"countersign {event} {n}" for event in ("INSERT", "UPDATE", "DELETE") for n in range(3))
    triggers = "".join(
        f'CREATE TRIGGER "{name}" AFTER INSERT ON a BEGIN INSERT INTO b SELECT y FROM salaries; END;'
        for name in names
    )
    async with tables(tmp_path, made + triggers) as gate:
        for ask in under(gate):
            await denied(ask, "write_sqlite", **change("a", "insert", x=1))


async def test_a_private_rule_gives_a_table_to_one_alone_and_no_view_over_it(tmp_path: Path) -> None:
    private = Rule("private table", ("data.*",), private=True, texts=(r"\bsalaries\b",))
    async with tables(tmp_path, path="b.sqlite") as gate:
        ask = Asker(gate, (private,))
        assert shown(await ask("query_sqlite", path="b.sqlite", sql="SELECT * FROM salaries"))
        said = await ask("query_sqlite", path="b.sqlite", sql="SELECT * FROM pay")
        assert "private table" in said
        assert shown(said) == []


async def test_no_way_back_changes_a_closed_table(tmp_path: Path) -> None:
    async with tables(tmp_path) as gate:
        done = await gate("write_sqlite", **change("people", "delete", {"id": 1}))
        for ask in under(gate):
            await denied(ask, "restore_rows", record=done["record"])
            assert "closed table" in await ask("preview_restore_rows", record=done["record"])


async def test_a_name_that_somebody_has_confirmed_is_given_and_no_view_over_it(tmp_path: Path) -> None:
    asks = Rule("asks first", ("data.*",), at_least=CallClass.WRITE, texts=(r"\bsalaries\b",))
    async with tables(tmp_path, path="b.sqlite") as gate:
        ask = Asker(gate, (asks,))
        assert shown(await ask("query_sqlite", path="b.sqlite", sql="SELECT * FROM Salaries"))
        assert shown(await ask("deduplicate_records", path="b.sqlite", table="salaries")) == []
        assert "asks first" in await ask("query_sqlite", path="b.sqlite", sql="SELECT * FROM pay")


async def test_a_table_that_is_called_like_a_secret_file_is_read(tmp_path: Path) -> None:
    async with tables(
        tmp_path, "CREATE TABLE credentials(a); CREATE VIEW v AS SELECT * FROM credentials;"
    ) as gate:
        assert "closed" not in (said := await Asker(gate)("query_sqlite", path=B, sql="SELECT * FROM v"))
        assert "credentials" in said


async def test_a_rule_that_says_nothing_of_tables_closes_none(tmp_path: Path) -> None:
    folder = Rule("a folder", ("data.*",), deny=True, schema={"properties": {"path": {"pattern": "^hr/"}}})
    async with tables(tmp_path, path="b.sqlite") as gate:
        ask = Asker(gate, (folder,))
        for tool, args in {"query_sqlite": {"sql": "SELECT * FROM pay"}, "summarize_anomalies": {}}.items():
            said = await ask(tool, path="b.sqlite", **(args or {"table": "pay"}))
            assert "a folder" not in said, tool
            assert await ask(tool, path="hr/b.sqlite", **args) == "denied", tool


@pytest.mark.parametrize(
    "spared", [{"const": "plain"}, {"enum": ["plain", "people"]}, {"pattern": "^plain$"}]
)
async def test_a_rule_that_spares_a_table_gives_it_and_no_other(
    tmp_path: Path, spared: dict[str, Any]
) -> None:
    others = {"required": ["table"], "properties": {"table": {"not": spared}}}
    async with tables(tmp_path, path="b.sqlite") as gate:
        ask = Asker(gate, (Rule("other tables", ("data.*",), deny=True, schema=others),))
        assert "[[1, 2], [1, 2]]" in await ask("query_sqlite", path="b.sqlite", sql="SELECT * FROM plain")
        assert "other tables" in await ask("query_sqlite", path="b.sqlite", sql="SELECT * FROM pay")
        call = {"source": "b.sqlite", "destination": "o.csv", "table": "plain"}
        seen = await ask.look("write_without_duplicates", **call)
        assert seen.preview.is_complete
        assert seen.decision
        assert seen.decision.verdict is Verdict.CONFIRM
