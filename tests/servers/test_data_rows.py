"""Changing rows: tried on a copy, all or none, exact to the last bit, and never over what somebody else did."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gate.rules.action import CallClass
from servers.data import server, writing
from servers.filesystem import trash
from servers.filesystem.trash import KEEP
from tests.servers.files import Clock
from tests.servers.gate_around_server import Gate, gated
from views.preview import unsaid


@asynccontextmanager
async def books(folder: Path, schema: str, clock: Clock | None = None) -> AsyncIterator[Gate]:
    root = folder / "sample"
    root.mkdir()
    run(folder, schema)
    async with gated(folder / "logs", "data", server([root], clock or Clock())) as gate:
        yield gate


def run(folder: Path, sql: str) -> None:
    with closing(sqlite3.connect(folder / "sample" / "b.sqlite")) as base:
        base.executescript(sql)


def rows(folder: Path, table: str = "t") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "sample" / "b.sqlite")) as base:
        return base.execute(f"SELECT * FROM {table}").fetchall()


def put(table: str = "t", /, **values: Any) -> dict[str, Any]:
    return {"path": "b.sqlite", "changes": [{"table": table, "op": "insert", "values": values}]}


def update(where: dict[str, Any], table: str = "t", **values: Any) -> dict[str, Any]:
    return {
        "path": "b.sqlite",
        "changes": [{"table": table, "op": "update", "where": where, "values": values}],
    }


def delete(where: dict[str, Any], table: str = "t") -> dict[str, Any]:
    return {"path": "b.sqlite", "changes": [{"table": table, "op": "delete", "where": where}]}


AB = "CREATE TABLE t(a INTEGER PRIMARY KEY, b UNIQUE); INSERT INTO t VALUES (1, 'one'), (2, 'two');"


@pytest.mark.slow(but=4)
@pytest.mark.parametrize(
    ("call", "why"),
    [
        (update({"a": 9}, b="x"), "No row of t has a = 9"),
        (update({"c": 1}, b="x"), "has no column “c”"),
        (update({"a": 1}, c="x"), "has no column “c”"),
        (update({"a": 1}), "needs “where” and “values”"),
        (update({}, b="x"), "needs “where” and “values”"),
        (delete({}), "needs “where” and no “values”"),
        (put(), "needs “values” and no “where”"),
        (put(a=1, b="x"), "UNIQUE constraint failed"),
        (put(a="text"), "datatype mismatch"),
        (update({"a": 1}, b="one"), "would change nothing"),
        (put("missing", a=1), "no table “missing”"),
        (put("v", a=1), "no table “v”"),
        (put("sqlite_schema", sql="x"), "no table “sqlite_schema”"),
        (put("f", body="x"), "no table “f”"),
        (put('t" VALUES (3, 4); DROP TABLE t; --', a=1), "There is no table"),
        (put("t", **{'b") VALUES (4); --': 1}), "has no column"),
        ({"path": "b.sqlite", "changes": []}, "changes"),
        ({"path": "missing.sqlite", "changes": put(a=1)["changes"]}, "does not exist"),
    ],
)
async def test_what_cannot_be_done_is_said_and_leaves_every_row(
    tmp_path: Path, call: dict[str, Any], why: str
) -> None:
    async with books(
        tmp_path, AB + "CREATE VIEW v AS SELECT * FROM t; CREATE VIRTUAL TABLE f USING fts5(body);"
    ) as gate:
        assert why in await gate.blind("write_sqlite", **call)
        await gate.refused("write_sqlite", **call)
    assert rows(tmp_path) == [(1, "one"), (2, "two")]


async def test_changes_are_all_made_or_none(tmp_path: Path) -> None:
    both = {"path": "b.sqlite", "changes": [*put(b="new")["changes"], *put(b="one")["changes"]]}
    async with books(tmp_path, AB) as gate:
        assert "UNIQUE" in await gate.refused("write_sqlite", **both)
    assert rows(tmp_path) == [(1, "one"), (2, "two")]


@pytest.mark.slow
async def test_every_value_comes_back_to_the_last_bit(tmp_path: Path) -> None:
    odd = "CREATE TABLE t(v); INSERT INTO t VALUES (1), (1.0), ('1'), (x'31'), (NULL), (0.1), (9223372036854775807), ('a\u202eé');"
    async with books(tmp_path, odd) as gate:
        before = rows(tmp_path)
        changes = [
            {"table": "t", "op": "update", "where": {"v": None}, "values": {"v": 1}},
            {"table": "t", "op": "delete", "where": {"v": "1"}},
            {"table": "t", "op": "delete", "where": {"v": 2**63 - 1}},
            {"table": "t", "op": "update", "where": {"v": 1}, "values": {"v": 2.5}},
            {"table": "t", "op": "delete", "where": {"v": 0.1}},
        ]
        done = await gate.do("write_sqlite", path="b.sqlite", changes=changes)
        assert rows(tmp_path) != before
        await gate.undo(done)
    after = rows(tmp_path)
    assert [(type(v), v) for (v,) in after] == [(type(v), v) for (v,) in before]


@pytest.mark.slow
async def test_rows_that_trade_their_places_are_put_back(tmp_path: Path) -> None:
    changes = [
        *update({"a": 1}, b="x")["changes"],
        *update({"a": 2}, b="one")["changes"],
        *update({"a": 1}, b="two")["changes"],
    ]
    async with books(tmp_path, AB) as gate:
        done = await gate.do("write_sqlite", path="b.sqlite", changes=changes)
        assert rows(tmp_path) == [(1, "two"), (2, "one")]
        await gate.undo(done)
    assert rows(tmp_path) == [(1, "one"), (2, "two")]


@pytest.mark.slow
async def test_what_triggers_do_is_shown_and_taken_back_also_while_it_is_taken_back(tmp_path: Path) -> None:
    schema = (
        AB
        + """
    CREATE TABLE log(n INTEGER PRIMARY KEY AUTOINCREMENT, what);
    CREATE TRIGGER u AFTER UPDATE ON t BEGIN INSERT INTO log(what) VALUES (old.b || ' to ' || new.b); END;
    CREATE TRIGGER d AFTER DELETE ON t BEGIN INSERT INTO log(what) VALUES ('gone ' || old.b); END;
    CREATE TABLE stamped(id INTEGER PRIMARY KEY, v, n INT DEFAULT 0);
    CREATE TRIGGER s AFTER UPDATE OF v ON stamped BEGIN UPDATE stamped SET n = n + 1 WHERE id = new.id; END;
    INSERT INTO stamped(id, v) VALUES (1, 'a');
    """
    )
    async with books(tmp_path, schema) as gate:
        changes = [*update({"a": 1}, b="x")["changes"], *delete({"a": 2})["changes"]]
        changes += update({"id": 1}, "stamped", v="b")["changes"]
        done = await gate.do("write_sqlite", path="b.sqlite", changes=changes)
        assert '+what: "one to x"' in done.preview.diff
        assert "-n: 0\n+n: 1" in done.preview.diff
        assert rows(tmp_path, "log") == [(1, "one to x"), (2, "gone two")]
        await gate.undo(done)
    assert rows(tmp_path) == [(1, "one"), (2, "two")]
    assert rows(tmp_path, "log") == []
    assert rows(tmp_path, "stamped") == [(1, "a", 0)]


@pytest.mark.slow
async def test_a_stamp_that_every_change_renews_comes_back_as_well(tmp_path: Path) -> None:
    schema = (
        AB
        + """
    ALTER TABLE t ADD COLUMN at TEXT DEFAULT 'long ago';
    CREATE TRIGGER s AFTER UPDATE ON t BEGIN UPDATE t SET at = strftime('%f', 'now') WHERE a = new.a; END;
    CREATE TRIGGER z AFTER INSERT ON t BEGIN SELECT 1; END;
    """
    )
    async with books(tmp_path, schema) as gate:
        with closing(sqlite3.connect(tmp_path / "sample" / "b.sqlite")) as base:
            before = list(base.iterdump())
        done = await gate.do("write_sqlite", **update({"a": 1}, b="x"))
        assert '-at: "long ago"\n+at: (known when it is done)' in done.preview.diff
        await gate.undo(done)
        with closing(sqlite3.connect(tmp_path / "sample" / "b.sqlite")) as base:
            assert list(base.iterdump()) == before


@pytest.mark.slow
async def test_rows_that_would_be_pushed_aside_in_silence_are_not(tmp_path: Path) -> None:
    schema = "CREATE TABLE t(a INTEGER PRIMARY KEY, b UNIQUE ON CONFLICT REPLACE); INSERT INTO t VALUES (1, 'one');"
    async with books(tmp_path, schema) as gate:
        assert "push aside" in await gate.blind("write_sqlite", **put(b="one"))
        assert "push aside" in await gate.refused("write_sqlite", **put(b="one"))
    assert rows(tmp_path) == [(1, "one")]


@pytest.mark.slow
async def test_a_search_index_that_triggers_keep_stays_right(tmp_path: Path) -> None:
    schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, body TEXT);
    CREATE VIRTUAL TABLE f USING fts5(body, content='t', content_rowid='id');
    CREATE TRIGGER i AFTER INSERT ON t BEGIN INSERT INTO f(rowid, body) VALUES (new.id, new.body); END;
    CREATE TRIGGER d AFTER DELETE ON t BEGIN INSERT INTO f(f, rowid, body) VALUES ('delete', old.id, old.body); END;
    CREATE TRIGGER u AFTER UPDATE ON t BEGIN INSERT INTO f(f, rowid, body) VALUES ('delete', old.id, old.body);
        INSERT INTO f(rowid, body) VALUES (new.id, new.body); END;
    INSERT INTO t(body) VALUES ('red apple'), ('green pear');
    """
    find = {"path": "b.sqlite", "sql": "SELECT rowid FROM f WHERE f MATCH ?"}
    async with books(tmp_path, schema) as gate:
        done = await gate.do("write_sqlite", **update({"id": 1}, body="blue plum"))
        assert (await gate("query_sqlite", **find, parameters=["plum"]))["rows"] == [[1]]
        await gate.undo(done)
        assert (await gate("query_sqlite", **find, parameters=["plum"]))["rows"] == []
        assert (await gate("query_sqlite", **find, parameters=["apple"]))["rows"] == [[1]]


SYNC4 = """CREATE TABLE t(id INTEGER PRIMARY KEY, body TEXT); INSERT INTO t(body) VALUES ('red apple'), ('green pear');
CREATE VIRTUAL TABLE f USING fts4(body, content="T"); INSERT INTO f(f) VALUES ('rebuild');
CREATE TRIGGER b AFTER UPDATE ON t BEGIN INSERT INTO f(docid, body) VALUES (new.id, new.body); END;
CREATE TRIGGER a BEFORE UPDATE ON t BEGIN DELETE FROM f WHERE docid = old.id; END;"""


@pytest.mark.slow
async def test_a_search_index_of_the_older_kind_stays_right(tmp_path: Path) -> None:
    find = {"path": "b.sqlite", "sql": "SELECT docid FROM f WHERE f MATCH ?"}
    async with books(tmp_path, SYNC4) as gate:
        done = await gate.do("write_sqlite", **update({"id": 1}, body="blue plum"))
        assert (await gate("query_sqlite", **find, parameters=["plum"]))["rows"] == [[1]]
        await gate.undo(done)
        assert (await gate("query_sqlite", **find, parameters=["apple"]))["rows"] == [[1]]


ABOUT_T = "CREATE VIRTUAL TABLE u USING fts5(b, content='t', content_rowid='a'); INSERT INTO u(u) VALUES ('rebuild')"
ABOUT_T4 = "CREATE VIRTUAL TABLE u USING fts4(b, content='t'); INSERT INTO u(u) VALUES ('rebuild')"
PAYEES = "CREATE VIRTUAL TABLE u USING rtree(id, x0, x1, +payee); INSERT INTO u VALUES (1, 0, 0, 'Ann')"
PAY = "UPDATE u SET payee = 'Mallory'"
ALSO = (
    "CREATE VIRTUAL TABLE [u USING fts5(b,content='t')] USING rtree(id, x0, x1, +p); "
    "INSERT INTO [u USING fts5(b,content='t')] VALUES (1, 0, 0, 'Ann')"
)
PAY_ALSO = "UPDATE [u USING fts5(b,content='t')] SET p = 'Mallory'"
SIZES = (
    "CREATE TABLE u_docsize(docid INTEGER PRIMARY KEY, size BLOB); "
    "CREATE VIRTUAL TABLE u USING fts4(b, content='t', matchinfo=fts3); INSERT INTO u(u) VALUES ('rebuild')"
)
NAMELESS = 'CREATE TABLE ""(x); CREATE VIRTUAL TABLE u '
ABOUT_V = (
    "CREATE VIEW v AS SELECT * FROM t; "
    "CREATE VIRTUAL TABLE u USING fts5(b, content='v', content_rowid='a'); INSERT INTO u(u) VALUES ('rebuild')"
)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    ("table", "does"),
    [
        (f"{PAYEES}; CREATE TABLE u_idx(z)", PAY),
        (f"{PAYEES}; CREATE TABLE u_segdir(z)", PAY),
        (ALSO, PAY_ALSO),
        ("CREATE VIRTUAL TABLE u USING fts5(x, content='')", "INSERT INTO u(rowid, x) VALUES (2, 'mallory')"),
        ("CREATE VIRTUAL TABLE u USING fts4(x, content='')", "INSERT INTO u(docid, x) VALUES (2, 'mallory')"),
        (f"{NAMELESS}USING fts5(x, content='')", "INSERT INTO u(rowid, x) VALUES (2, 'mallory')"),
        (f"{NAMELESS}USING fts4(x, content=[])", "INSERT INTO u(docid, x) VALUES (2, 'mallory')"),
        (ABOUT_V, "INSERT INTO u(u) VALUES ('delete-all')"),
        (ABOUT_T, "INSERT INTO u(u, rank) VALUES ('rank', 'bm25(10.0)')"),
        (ABOUT_T, "INSERT INTO u_data VALUES (99999999999, 'mallory')"),
        (f"{ABOUT_T}; ALTER TABLE u_data ADD COLUMN payee", "UPDATE U_DATA SET payee = 'Mallory'"),
        (SIZES, "INSERT INTO u_docsize VALUES (1, 'Mallory')"),
    ],
)
async def test_a_name_like_that_of_a_search_index_hides_no_rows(
    tmp_path: Path, table: str, does: str
) -> None:
    async with books(tmp_path, f"{AB}{table}; CREATE TRIGGER s AFTER UPDATE ON t BEGIN {does}; END;") as gate:
        before = (tmp_path / "sample" / "b.sqlite").read_bytes()
        for said in (
            await gate.blind("write_sqlite", **update({"a": 1}, b="x")),
            await gate.refused("write_sqlite", **update({"a": 1}, b="x")),
        ):
            assert "which can neither be shown nor put back" in said
        assert (tmp_path / "sample" / "b.sqlite").read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "does"),
    [
        (ABOUT_T, "INSERT INTO u(u) VALUES ('delete-all')"),
        (ABOUT_T, "INSERT INTO u(rowid, b) VALUES (2, 'mallory')"),
        (ABOUT_T4, "INSERT INTO u(docid, b) VALUES (2, 'mallory')"),
    ],
)
async def test_a_trigger_that_makes_a_search_index_wrong_is_refused(
    tmp_path: Path, table: str, does: str
) -> None:
    async with books(tmp_path, f"{AB}{table}; CREATE TRIGGER s AFTER UPDATE ON t BEGIN {does}; END;") as gate:
        for said in (
            await gate.blind("write_sqlite", **update({"a": 1}, b="x")),
            await gate.refused("write_sqlite", **update({"a": 1}, b="x")),
        ):
            assert "the search index u would not say what is in the table" in said
    assert rows(tmp_path) == [(1, "one"), (2, "two")]


KEEP_5 = """INSERT INTO u(u, rowid, b) VALUES ('delete', old.a, old.b); INSERT INTO u(rowid, b) VALUES (new.a, new.b);
INSERT INTO u(rowid, b) VALUES (77, 'az'); INSERT INTO u(u, rowid, b) VALUES ('delete', 77, 'kkk');
INSERT INTO u(rowid, b) VALUES (77, 'bq'); INSERT INTO u(u, rowid, b) VALUES ('delete', 77, 'kkk')"""
KEEP_4 = """INSERT INTO u(docid, b) VALUES (new.a, new.b); INSERT INTO u(docid, b) VALUES (77, 'az');
INSERT INTO u(docid, b) VALUES (77, 'bq')"""
FIRST_4 = "CREATE TRIGGER r BEFORE UPDATE ON t BEGIN DELETE FROM u WHERE docid = old.a; END"


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(("table", "does"), [(ABOUT_T, KEEP_5), (f"{ABOUT_T4}; {FIRST_4}", KEEP_4)])
async def test_words_that_keep_the_sums_of_a_search_index_do_not_come_into_it(
    tmp_path: Path, table: str, does: str
) -> None:
    schema = f"{AB}{table}; CREATE TRIGGER s AFTER UPDATE ON t BEGIN {does}; END;"
    found = "(SELECT u.rowid FROM u WHERE u MATCH 'az OR bq OR x OR two OR one')"
    async with books(tmp_path, schema) as gate:
        assert set(rows(tmp_path, found)) == {(1,), (2,)}
        done = await gate.do("write_sqlite", **update({"a": 1}, b="x"))
        assert set(rows(tmp_path, found)) == {(1,), (2,)}
        await gate.undo(done)
        assert set(rows(tmp_path, found)) == {(1,), (2,)}


@pytest.mark.slow
async def test_a_search_index_that_is_rebuilt_by_hand_forbids_no_change(tmp_path: Path) -> None:
    other = "CREATE TABLE log(x); CREATE TRIGGER s AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (1); END;"
    async with books(tmp_path, f"{AB}{ABOUT_T}; {other}") as gate:
        await gate.do("write_sqlite", **update({"a": 1}, b="x"))
    assert rows(tmp_path) == [(1, "x"), (2, "two")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "does"),
    [
        ("CREATE TABLE u(rowid, oid, _rowid_, x)", "UPDATE u SET x = 9"),
        ("CREATE TABLE u(rowid, oid, _rowid_, x)", "DELETE FROM u"),
        ("CREATE TABLE u(rowid, oid, _rowid_, x)", "UPDATE u SET x = CAST(x AS BLOB)"),
        ("CREATE VIRTUAL TABLE u USING fts5(rowed, oed, rid, x)", "DELETE FROM u"),
        ("CREATE VIRTUAL TABLE u USING fts5(rowed, oed, rid, x)", "UPDATE u SET x = 'other'"),
        ("CREATE VIRTUAL TABLE u USING rtree(rowed, oed, rid)", "DELETE FROM u"),
    ],
)
async def test_a_trigger_that_changes_rows_which_cannot_be_shown_is_refused(
    tmp_path: Path, table: str, does: str
) -> None:
    values = "(1, 2, 3)" if "rtree" in table else "('a', 'b', 'c', 'text')"
    more = f"{table}; INSERT INTO u VALUES {values}; CREATE TRIGGER s AFTER UPDATE ON t BEGIN {does}; END;"
    async with books(tmp_path, AB + more) as gate:
        before = rows(tmp_path, "u")
        for said in (
            await gate.blind("write_sqlite", **update({"a": 1}, b="x")),
            await gate.refused("write_sqlite", **update({"a": 1}, b="x")),
        ):
            assert "which can neither be shown nor put back" in said
        await gate.undo(await gate.do("write_sqlite", **put(b="three")))  # which no trigger follows
    assert rows(tmp_path, "u") == before
    assert rows(tmp_path) == [(1, "one"), (2, "two")]


async def test_a_trigger_that_forbids_the_way_back_is_told_before(tmp_path: Path) -> None:
    forbid = "CREATE TRIGGER no BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 'rows stay'); END;"
    async with books(tmp_path, AB + forbid) as gate:
        seen = await gate.look("write_sqlite", **put(b="three"))
        assert seen.preview.is_complete
        assert seen.preview.undo.startswith("no")
        assert "rows stay" in await gate.blind("write_sqlite", **delete({"a": 1}))


KID = "CREATE TABLE kid(a INTEGER PRIMARY KEY, b REFERENCES t(a)); INSERT INTO kid VALUES (7, 99);"
UNFIT = "CREATE TABLE kid(a INTEGER PRIMARY KEY); INSERT INTO kid VALUES (7); CREATE TABLE u(a, t REFERENCES u(a));"


@pytest.mark.parametrize(
    ("more", "why"),
    [(KID, "refer to these"), (UNFIT + "INSERT INTO u VALUES (1, 2);", "foreign key mismatch")],
    ids=["a row that refers to nothing", "a key that no row can refer to"],
)
async def test_a_way_back_that_foreign_keys_forbid_is_not_promised(
    tmp_path: Path, more: str, why: str
) -> None:
    async with books(tmp_path, AB + more) as gate:
        seen = await gate.look("write_sqlite", **delete({"a": 7}, "kid"))
        assert seen.preview.undo.startswith("no")
        done = await gate("write_sqlite", **delete({"a": 7}, "kid"))
        assert why in await gate.refused("restore_rows", record=done["record"])
    assert rows(tmp_path, "kid") == []


async def test_a_row_that_others_came_to_need_is_not_taken_back(tmp_path: Path) -> None:
    async with books(tmp_path, AB + "CREATE TABLE kid(t REFERENCES t(a));") as gate:
        done = await gate.do("write_sqlite", **put(b="three"))
        run(tmp_path, "INSERT INTO kid VALUES (3)")
        assert "refer to these" in await gate.undo_refused(done)
        assert rows(tmp_path) == [(1, "one"), (2, "two"), (3, "three")]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    "changes",
    [
        [*delete({"a": 1})["changes"], *delete({"a": 2})["changes"]],
        [*update({"a": 1}, b="x")["changes"], *update({"a": 2}, b="y")["changes"]],
    ],
)
async def test_a_table_that_leaves_rows_out_is_not_put_back_by_half(
    tmp_path: Path, changes: list[dict[str, Any]]
) -> None:
    async with books(tmp_path, AB.replace("UNIQUE", "UNIQUE ON CONFLICT IGNORE")) as gate:
        done = await gate.do("write_sqlite", path="b.sqlite", changes=changes)
        assert done.preview.undo == "yes, for 30 days"
        run(tmp_path, "INSERT INTO t VALUES (9, 'two')")
        before = rows(tmp_path)
        assert "does not take t, row 2 back" in await gate.undo_refused(done)
        assert rows(tmp_path) == before
        run(tmp_path, "DELETE FROM t WHERE a = 9")
        await gate.undo(done)
    assert rows(tmp_path) == [(1, "one"), (2, "two")]


ABC = "CREATE TABLE t(a INTEGER PRIMARY KEY, b, c); INSERT INTO t VALUES (1, 'b', 'c'), (2, 'b2', 'c2');"
CHANGES = [*update({"a": 1}, b="x")["changes"], *delete({"a": 2})["changes"]]
REBUILT = "CREATE TABLE n(a INTEGER PRIMARY KEY, c, b); INSERT INTO n(a, b, c) SELECT a, b, c FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t;"


@pytest.mark.slow
async def test_rows_of_a_table_that_was_built_anew_are_put_back_by_name(tmp_path: Path) -> None:
    async with books(tmp_path, ABC) as gate:
        done = await gate.do("write_sqlite", path="b.sqlite", changes=CHANGES)
        run(tmp_path, REBUILT)
        again = await gate.undo(done)
        assert rows(tmp_path) == [(1, "c", "b"), (2, "c2", "b2")]
        last = await gate.do("restore_rows", record=again["record"])
        assert '-b: "b"\n+b: "x"' in last.preview.diff
        assert rows(tmp_path) == [(1, "c", "x")]
        run(tmp_path, "ALTER TABLE t RENAME COLUMN c TO d")
        assert "has other columns now" in await gate.refused("restore_rows", record=last.result["record"])


async def test_rows_that_an_earlier_version_kept_without_names_are_put_back(tmp_path: Path) -> None:
    async with books(tmp_path, ABC) as gate:
        done = await gate.do("write_sqlite", path="b.sqlite", changes=CHANGES)
        record = tmp_path / "sample" / ".countersign" / "data" / done.result["record"]
        kept = json.loads(record.read_text())
        record.write_text(json.dumps({**kept, "rows": [row[:4] for row in kept["rows"]]}))
        assert (await gate("check_rows", record=record.name))["as_left"]
        await gate("restore_rows", record=record.name)
    assert rows(tmp_path) == [(1, "b", "c"), (2, "b2", "c2")]


async def test_what_others_wrote_elsewhere_since_stays(tmp_path: Path) -> None:
    async with books(tmp_path, AB) as gate:
        seen = await gate.look("write_sqlite", **update({"a": 1}, b="x"))
        run(tmp_path, "INSERT INTO t VALUES (7, 'seven')")
        done = await gate.go_on("write_sqlite", seen, update({"a": 1}, b="x"))
        run(tmp_path, "UPDATE t SET b = 'two!' WHERE a = 2")
        await gate.undo(done)
    assert rows(tmp_path) == [(1, "one"), (2, "two!"), (7, "seven")]


@pytest.mark.slow
async def test_a_row_that_changed_since_is_put_back_only_when_that_was_shown(tmp_path: Path) -> None:
    async with books(tmp_path, AB) as gate:
        done = await gate.do("write_sqlite", **update({"a": 1}, b="x"))
        run(tmp_path, "UPDATE t SET b = 'by hand' WHERE a = 1")
        assert "have changed since" in await gate.undo_refused(done)
        again = await gate.do("restore_rows", record=done.result["record"])
        assert '-b: "by hand"\n+b: "one"' in again.preview.diff
        assert rows(tmp_path) == [(1, "one"), (2, "two")]
        await gate.undo(again)
    assert rows(tmp_path) == [(1, "by hand"), (2, "two")]


@pytest.mark.slow
async def test_a_value_that_chance_or_the_clock_makes_is_said_to_be_open(tmp_path: Path) -> None:
    schema = "CREATE TABLE t(a INTEGER PRIMARY KEY, at DEFAULT CURRENT_TIMESTAMP, due DEFAULT (date('now', '+30 days')), r DEFAULT (random()), b);"
    async with books(tmp_path, schema) as gate:
        done = await gate.do("write_sqlite", **put(b="x"))
        assert done.preview.diff.count("(known when it is done)") == 2
        assert '+due: "2026-03-31"' in done.preview.diff
        [[_, at, due, number, _]] = rows(tmp_path)
        assert (at, due) == ("2026-03-01 12:00:00", "2026-03-31")
        assert isinstance(number, int)
        await gate.undo(done)
    assert rows(tmp_path) == []


BILL = """CREATE TABLE t(id INTEGER PRIMARY KEY, net, vat, paid_to); INSERT INTO t VALUES (1, 100, 0, 'Ann');
CREATE TRIGGER v AFTER UPDATE OF net ON t """
LATE = BILL + "WHEN date('now') > '2013' BEGIN UPDATE t SET paid_to = 'Mallory' WHERE id = new.id; END;"
TRICK = BILL + (
    "WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'random' AND NOT builtin)"
    " BEGIN UPDATE t SET paid_to = 'Mallory' WHERE id = new.id; END;"
)
RATE = (
    BILL
    + "BEGIN UPDATE t SET vat = net * CASE WHEN date('now') >= '2026-03-01' THEN 2 ELSE 1 END WHERE id = new.id; END;"
)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    ("schema", "shown", "row"),
    [
        (LATE, '-paid_to: "Ann"\n+paid_to: "Mallory"', (1, 110, 0, "Mallory")),
        (TRICK, "-net: 100\n+net: 110", (1, 110, 0, "Ann")),
        (RATE, "-vat: 0\n+vat: 220", (1, 110, 220, "Ann")),
    ],
    ids=["a rule since a day", "a trigger that asks whether this is a trial", "a rate since a day"],
)
async def test_a_card_shows_the_very_rows_that_are_written(
    tmp_path: Path, schema: str, shown: str, row: tuple[Any, ...]
) -> None:
    async with books(tmp_path, schema) as gate:
        done = await gate.do("write_sqlite", **update({"id": 1}, net=110))
        assert shown in done.preview.diff
        assert rows(tmp_path) == [row]
        assert ("Mallory" in done.preview.diff) is (row[-1] == "Mallory")
        await gate.undo(done)
    assert rows(tmp_path) == [(1, 100, 0, "Ann")]


DATED = "CREATE TABLE t(a INTEGER PRIMARY KEY, b{}); {} INSERT INTO t(a, b) VALUES (1, '2026-01-01');"


@pytest.mark.slow
@pytest.mark.parametrize(
    "schema",
    [
        DATED.format("", "CREATE INDEX i ON t(date(b));"),
        DATED.format("", "CREATE INDEX i ON t(a) WHERE date(b) > '2026';"),
        DATED.format(" CHECK (date(b) IS NOT NULL)", ""),
        DATED.format(", c AS (date(b)) STORED", ""),
        DATED.format(", c AS (date(b)) UNIQUE", ""),
        DATED.format("", "CREATE INDEX i ON t(date(b));")
        + "CREATE TRIGGER r BEFORE UPDATE ON t WHEN new.b = old.b BEGIN SELECT RAISE(IGNORE); END;",
    ],
)
@pytest.mark.parametrize("change", [update({"a": 1}, b="now"), put(a=2, b="now")])
async def test_a_row_that_sqlite_itself_refuses_is_not_written(
    tmp_path: Path, schema: str, change: dict[str, Any]
) -> None:
    async with books(tmp_path, schema) as gate:
        for said in (
            await gate.blind("write_sqlite", **change),
            await gate.refused("write_sqlite", **change),
        ):
            assert "SQLite would not keep that: non-deterministic use of date()" in said
        await gate.undo(await gate.do("write_sqlite", **update({"a": 1}, b="2026-02-02")))
    assert [row[:2] for row in rows(tmp_path)] == [(1, "2026-01-01")]


@pytest.mark.slow
async def test_a_row_that_sqlite_refuses_can_be_mended(tmp_path: Path) -> None:
    async with books(tmp_path, "CREATE TABLE t(a INTEGER PRIMARY KEY, b);") as gate:
        await gate.do("write_sqlite", **put(a=1, b="now"))
        schema = "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE t(a INTEGER PRIMARY KEY, b CHECK (date(b) > 0))' WHERE name = 't';"
        run(tmp_path, schema)
        done = await gate.do("write_sqlite", **update({"a": 1}, b="2026-02-02"))
        assert done.preview.undo.startswith("no")
    assert rows(tmp_path) == [(1, "2026-02-02")]


OTHERS = "CREATE TABLE rate(x); INSERT INTO rate VALUES (1); CREATE TABLE log(x);" + BILL
OTHERS += "BEGIN UPDATE t SET vat = net * (SELECT x FROM rate) WHERE id = new.id; END;"
PAYS = "UPDATE t SET paid_to = 'Mallory'"


@pytest.mark.parametrize(
    "meanwhile",
    [
        "UPDATE rate SET x = 2",
        f"CREATE TRIGGER m AFTER UPDATE OF net ON t BEGIN {PAYS}; END",
        "CREATE TRIGGER m AFTER UPDATE OF net ON t BEGIN INSERT INTO log VALUES (1); END",
        "CREATE TRIGGER m AFTER UPDATE OF net ON t BEGIN INSERT INTO t VALUES (2, 0, 0, 'Mallory'); END",
    ],
)
async def test_a_change_that_came_to_do_something_else_since_the_last_look_is_refused(
    tmp_path: Path, meanwhile: str
) -> None:
    change = update({"id": 1}, net=110)
    async with books(tmp_path, OTHERS) as gate:
        seen = await gate.look("write_sqlite", **change)
        run(tmp_path, meanwhile)
        assert "has changed since it was shown" in await gate.refused(
            "write_sqlite", **{**change, **seen.args}
        )
    assert rows(tmp_path) == [(1, 100, 0, "Ann")]


@pytest.mark.parametrize(
    "paid_to",
    [
        "CASE WHEN date('now') > '2026-03-01' THEN 'Mallory' ELSE 'Ann' END",
        "CASE WHEN date('now') > '2026-03-01' THEN 'Mallory' ELSE hex(randomblob(8)) END",
    ],
    ids=["another value", "a value that was said to be open"],
)
async def test_a_change_that_does_something_else_on_another_day_is_refused(
    tmp_path: Path, paid_to: str
) -> None:
    clock = Clock()
    schema = BILL + f"BEGIN UPDATE t SET paid_to = {paid_to} WHERE id = new.id; END;"
    async with books(tmp_path, schema, clock) as gate:
        seen = await gate.look("write_sqlite", **update({"id": 1}, net=110))
        clock.move(days=1)
        change = {**update({"id": 1}, net=110), **seen.args}
        assert "has changed since it was shown" in await gate.refused("write_sqlite", **change)
    assert rows(tmp_path) == [(1, 100, 0, "Ann")]


@pytest.mark.parametrize("value", ["random()", "strftime('%f', 'now')", "unixepoch() % 2"])
async def test_a_given_value_that_chance_or_the_clock_replaces_is_not_hidden(
    tmp_path: Path, value: str
) -> None:
    schema = BILL + f"BEGIN UPDATE t SET net = {value} WHERE id = new.id; END;"
    async with books(tmp_path, schema) as gate:
        why = await gate.blind("write_sqlite", **update({"id": 1}, net=110))
        assert "What net of t becomes depends on chance or on the time" in why


@pytest.mark.slow
async def test_bytes_by_chance_are_as_many_as_were_asked_for(tmp_path: Path) -> None:
    sizes = (
        "length(randomblob(2000000)) || ' ' || length(randomblob('16')) || ' ' || length(randomblob(NULL))"
    )
    schema = BILL + f"BEGIN UPDATE t SET paid_to = {sizes} WHERE id = new.id; END;"
    async with books(tmp_path, schema) as gate:
        await gate.do("write_sqlite", **update({"id": 1}, net=110))
    assert rows(tmp_path) == [(1, 110, 0, "2000000 16 1")]


@pytest.mark.slow
async def test_a_key_made_by_chance_cannot_be_shown_and_so_is_not_written(tmp_path: Path) -> None:
    schema = "CREATE TABLE t(k TEXT DEFAULT (hex(randomblob(8))) PRIMARY KEY, b) WITHOUT ROWID;"
    async with books(tmp_path, schema) as gate:
        assert "by hand" in await gate.blind("write_sqlite", **put(b="x"))


@pytest.mark.slow
async def test_columns_that_are_worked_out_and_tables_with_odd_names_are_no_obstacle(tmp_path: Path) -> None:
    schema = """CREATE TABLE "my ""table""; x"("rowid" TEXT, "a.b" INT, twice INT AS ("a.b" * 2), kept INT AS ("a.b" * 3) STORED);
    INSERT INTO "my ""table""; x" VALUES ('r', 4);"""
    name = 'my "table"; x'
    async with books(tmp_path, schema) as gate:
        done = await gate.do("write_sqlite", **update({"rowid": "r"}, name, **{"a.b": 5}))
        assert rows(tmp_path, '"my ""table""; x"') == [("r", 5, 10, 15)]
        await gate.undo(done)
        assert "no column “twice”" in await gate.blind(
            "write_sqlite", **update({"rowid": "r"}, name, twice=1)
        )
        found = await gate("query_sqlite", path="b.sqlite", sql='SELECT * FROM "my ""table""; x"')
    assert found["rows"] == [["r", 4, 8, 12]]


@pytest.mark.slow
@pytest.mark.parametrize("journal", ["delete", "wal", "truncate"])
async def test_a_database_in_any_mode_is_written_and_put_back(tmp_path: Path, journal: str) -> None:
    async with books(tmp_path, f"PRAGMA journal_mode={journal};" + AB) as gate:
        done = await gate.do("write_sqlite", **delete({"a": 1}))
        assert rows(tmp_path) == [(2, "two")]
        await gate.undo(done)
    assert rows(tmp_path) == [(1, "one"), (2, "two")]


async def test_a_database_that_somebody_is_writing_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "WAIT", 0.1)
    async with books(tmp_path, AB) as gate:
        with closing(sqlite3.connect(tmp_path / "sample" / "b.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert "another program" in await gate.refused("write_sqlite", **put(b="x"))
    assert rows(tmp_path) == [(1, "one"), (2, "two")]


async def test_too_many_rows_for_a_person_are_not_changed(tmp_path: Path) -> None:
    many = "CREATE TABLE t(a, b); WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 501) INSERT INTO t SELECT 'x', i FROM n;"
    async with books(tmp_path, many) as gate:
        assert "more than 500 rows" in await gate.blind("write_sqlite", **delete({"a": "x"}))
        assert "more than 500 rows" in await gate.refused("write_sqlite", **delete({"a": "x"}))
    assert len(rows(tmp_path)) == 501


@pytest.mark.slow
async def test_rows_that_no_record_holds_are_refused_before_anything_is_changed(tmp_path: Path) -> None:
    """A control character takes six bytes in a record: the record of 17 MB of rows had 85 MB, and was never read."""
    large = "replace(hex(zeroblob(3000000)), '00', char(1, 1, 1))"
    start = f"CREATE TABLE t(a, b, c, d, e, large); INSERT INTO t VALUES (1, 1, 1, 1, 'x', {large});"
    async with books(tmp_path, start) as gate:
        before = (tmp_path / "sample" / "b.sqlite").read_bytes()
        change = update({"a": 1}, e="y")
        assert "more than the 64 MB that are kept" in await gate.blind("write_sqlite", **change)
        assert "more than the 64 MB that are kept" in await gate.refused("write_sqlite", **change)
        assert (tmp_path / "sample" / "b.sqlite").read_bytes() == before
    assert not (tmp_path / "sample" / ".countersign" / "data").exists()


@pytest.mark.slow
async def test_a_change_that_makes_a_database_too_large_for_the_way_back_says_so_before(
    tmp_path: Path,
) -> None:
    grows = "CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO u VALUES (zeroblob(3000000)); END;"
    fill = "CREATE TABLE u(x); INSERT INTO u VALUES (zeroblob(66000000));"
    async with books(tmp_path, AB + fill + grows) as gate:
        seen = await gate.look("write_sqlite", **put(b="three"))
        assert seen.preview.is_complete
        assert seen.preview.undo.startswith("no")


@pytest.mark.slow
async def test_records_have_a_total_limit_and_the_refusal_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with books(tmp_path, AB) as gate:
        await gate.do("write_sqlite", **put(b="x"))
        monkeypatch.setattr(trash, "MOST_RECORDS", 1)
        said = await gate.refused("write_sqlite", **put(b="y"))
        assert "delete the oldest files in .countersign/data" in said
        assert len(rows(tmp_path)) == 3
        monkeypatch.setattr(trash, "MOST_RECORDS", 2)
        await gate.do("write_sqlite", **put(b="y"))


@pytest.mark.slow
async def test_records_are_kept_for_30_days(tmp_path: Path) -> None:
    clock = Clock()
    async with books(tmp_path, AB, clock) as gate:
        first = await gate.do("write_sqlite", **put(b="x"))
        clock.time += KEEP - timedelta(seconds=1)
        second = await gate.do("write_sqlite", **put(b="y"))
        assert await gate.unchanged(first)
        clock.time += timedelta(seconds=1)
        await gate.do("write_sqlite", **put(b="z"))
        assert await gate.unchanged(second)
        assert "30 days are over" in await gate.refused("check_rows", record=first.result["record"])
        for record in ("../../x", "", "20260301T120000-0000000000000000"):
            assert "no record of that id" in await gate.refused("restore_rows", record=record)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "data",
    [
        "",
        "[" * 100_000,
        '{"path": 7, "rows": []}',
        '{"path": "../x", "rows": []}',
        '{"path": "books.sqlite", "rows": [',
        '{"path": "books.sqlite", "rows": ' + "[" * 100_000,
        '{"path": "books.sqlite", "rows": {"a": 1}}',
    ],
)
async def test_a_record_that_others_wrote_is_refused_in_words(tmp_path: Path, data: str) -> None:
    async with books(tmp_path, AB) as gate:
        done = await gate.do("write_sqlite", **put(b="x"))
        record = tmp_path / "sample" / ".countersign" / "data" / done.result["record"]
        record.write_text(data.replace("books.sqlite", done.result["path"]))
        for tool in ("restore_rows", "preview_restore_rows", "check_rows"):
            assert await gate.refused(tool, record=record.name)
    assert rows(tmp_path) == [(1, "one"), (2, "two"), (3, "x")]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    ("call", "summary"),
    [
        (put(a=3, b="three"), "Add 1 row to b.sqlite"),
        (update({"a": 1}, b="x"), "Change 1 row of b.sqlite"),
        (delete({"a": 1}), "Remove 1 row from b.sqlite"),
        (
            {"path": "b.sqlite", "changes": [*put(a=3, b="three")["changes"], *delete({"a": 1})["changes"]]},
            "Change 2 rows of b.sqlite",
        ),
    ],
)
async def test_the_card_says_what_is_done_to_how_many_rows(
    tmp_path: Path, call: dict[str, Any], summary: str
) -> None:
    async with books(tmp_path, AB) as gate:
        seen = await gate.look("write_sqlite", **call)
    assert seen.preview.summary == summary
    assert any(fact.value in ("insert", "update", "delete") for fact in seen.preview.facts)
    assert unsaid(seen.preview, CallClass.WRITE) == []  # the rows say all of it
