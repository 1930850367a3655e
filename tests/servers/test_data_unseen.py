"""What a change of rows does where no trigger of ours sees it: shown by exact keys, or refused."""

from __future__ import annotations

import json
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest

from servers.sqlite import tasks
from servers.sqlite.reading import Asked
from tests.servers.test_data_rows import books, delete, put, rows, run, update

FOLDED = """CREATE TABLE t(k TEXT COLLATE NOCASE PRIMARY KEY, u UNIQUE ON CONFLICT REPLACE) WITHOUT ROWID;
    INSERT INTO t VALUES ('abc', 1), ('z', 2), ('w', 3);"""


async def test_a_removed_row_with_two_spellings_of_its_key_hides_none_that_is_pushed_aside(
    tmp_path: Path,
) -> None:
    changes = [
        *update({"k": "abc"}, k="ABC")["changes"],
        *delete({"k": "ABC"})["changes"],
        *update({"k": "w"}, u=2)["changes"],
    ]
    async with books(tmp_path, FOLDED) as gate:
        for said in (
            await gate.blind("write_sqlite", path="b.sqlite", changes=changes),
            await gate.refused("write_sqlite", path="b.sqlite", changes=changes),
        ):
            assert "push aside" in said
    assert rows(tmp_path) == [("abc", 1), ("w", 3), ("z", 2)]


@pytest.mark.parametrize(("collation", "other"), [("NOCASE", "ABC"), ("RTRIM", "abc ")])
async def test_another_spelling_of_a_key_is_one_row_that_goes_and_one_that_comes(
    tmp_path: Path, collation: str, other: str
) -> None:
    schema = f"""CREATE TABLE t(k TEXT COLLATE {collation} PRIMARY KEY, b) WITHOUT ROWID;
        INSERT INTO t VALUES ('abc', 'one'), ('z', 'q');"""
    async with books(tmp_path, schema) as gate:
        done = await gate.do("write_sqlite", **update({"k": "abc"}, k=other))
        assert '-k: "abc"\n' in done.preview.diff
        assert f'+k: "{other}"\n' in done.preview.diff
        assert (done.preview.diff.count("(added)"), done.preview.diff.count("(removed)")) == (1, 1)
        assert rows(tmp_path) == [(other, "one"), ("z", "q")]
        await gate.undo(done)
    assert rows(tmp_path) == [("abc", "one"), ("z", "q")]


@pytest.mark.slow
async def test_a_key_of_two_columns_is_found_letter_by_letter(tmp_path: Path) -> None:
    schema = """CREATE TABLE t(a INT, k TEXT COLLATE NOCASE, b, PRIMARY KEY(a, k)) WITHOUT ROWID;
        INSERT INTO t VALUES (1, 'x', 'one'), (2, 'X', 'two');"""
    async with books(tmp_path, schema) as gate:
        done = await gate.do("write_sqlite", **update({"a": 1}, k="X", b="new"))
        assert rows(tmp_path) == [(1, "X", "new"), (2, "X", "two")]
        await gate.undo(done)
    assert rows(tmp_path) == [(1, "x", "one"), (2, "X", "two")]


NUMBERED = """CREATE TABLE t(a INTEGER PRIMARY KEY, b); INSERT INTO t VALUES (1, 'one');
    CREATE TABLE inv(id INTEGER PRIMARY KEY AUTOINCREMENT, n UNIQUE); INSERT INTO inv(n) VALUES ('x'), ('y');
    CREATE TRIGGER s AFTER UPDATE ON t BEGIN {}; END;"""


@pytest.mark.parametrize(
    "does",
    [
        "UPDATE sqlite_sequence SET seq = 9000000000000000000 WHERE name = 'inv'",
        "UPDATE sqlite_sequence SET seq = seq + 1",
        "UPDATE sqlite_sequence SET seq = 1.5",
        "UPDATE sqlite_sequence SET name = 'other'",
        "DELETE FROM sqlite_sequence",
        "INSERT INTO sqlite_sequence VALUES ('inv', 2)",
        "INSERT OR IGNORE INTO inv VALUES (9000000000000000000, 'x')",
        "INSERT INTO inv VALUES (30, 'new'); DELETE FROM inv WHERE id = 30; UPDATE inv SET id = 60 WHERE id = 1; "
        "INSERT OR IGNORE INTO inv VALUES (70, 'y')",
    ],
)
async def test_a_trigger_that_sets_which_number_comes_next_is_refused(tmp_path: Path, does: str) -> None:
    async with books(tmp_path, NUMBERED.format(does)) as gate:
        for said in (
            await gate.blind("write_sqlite", **update({"a": 1}, b="two")),
            await gate.refused("write_sqlite", **update({"a": 1}, b="two")),
        ):
            assert "rows of sqlite_sequence, too, which can neither be shown nor put back" in said
        assert rows(tmp_path) == [(1, "one")]
        assert rows(tmp_path, "sqlite_sequence") == [("inv", 2)]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("does", "last"),
    [
        ("INSERT INTO inv(n) VALUES ('new')", 3),
        ("INSERT INTO inv VALUES (40, 'new')", 40),
        ("INSERT INTO inv VALUES (-40, 'new')", 2),
        ("INSERT OR IGNORE INTO inv(n) VALUES ('x'); INSERT OR IGNORE INTO inv(n) SELECT n FROM inv", 5),
        ("INSERT INTO inv(n) VALUES ('x') ON CONFLICT(n) DO UPDATE SET n = 'z'", 3),
        ("INSERT INTO inv(n) VALUES ('new'); DELETE FROM inv WHERE n = 'new'", 3),
        (
            "INSERT INTO inv(n) VALUES ('new'); UPDATE sqlite_sequence SET seq = 900",
            3,
        ),  # written at the very end
    ],
)
async def test_numbers_that_new_rows_take_forbid_no_change_and_no_way_back(
    tmp_path: Path, does: str, last: int
) -> None:
    async with books(tmp_path, NUMBERED.format(does)) as gate:
        done = await gate.do("write_sqlite", **update({"a": 1}, b="two"))
        assert rows(tmp_path, "sqlite_sequence") == [("inv", last)]
        await gate.undo(done)
    assert rows(tmp_path) == [(1, "one")]
    assert rows(tmp_path, "inv") == [(1, "x"), (2, "y")]


@pytest.mark.slow
async def test_the_first_row_of_a_table_that_numbers_its_rows_comes_and_goes(tmp_path: Path) -> None:
    async with books(tmp_path, "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, b);") as gate:
        for _ in range(2):
            await gate.undo(await gate.do("write_sqlite", **put(b="one")))
        run(tmp_path, "INSERT INTO t VALUES (7, 'seven'); DELETE FROM sqlite_sequence;")
        done = await gate.do("write_sqlite", **delete({"id": 7}))
        assert rows(tmp_path) == []
        if done.preview.undo.startswith("yes"):
            await gate.undo(done)
            assert rows(tmp_path) == [(7, "seven")]


OVERLAPPING = {
    "a page that is in use is listed as free": """CREATE TABLE t(a, b); INSERT INTO t VALUES ('x', 'y');
        CREATE TABLE pay(who, sum); INSERT INTO pay VALUES ('ann', 5); CREATE TABLE z(a); DROP TABLE z;""",
    "an index is at the root of a table": """CREATE TABLE t(a, b); CREATE INDEX i ON t(a);
        CREATE TABLE pay(who, sum, PRIMARY KEY(who, sum)) WITHOUT ROWID;
        INSERT INTO t VALUES ('x', 'y'); INSERT INTO pay VALUES ('ann', 5);""",
    "two tables have one root": """CREATE TABLE t(a, b); CREATE TABLE pay(who, sum);
        INSERT INTO t VALUES ('x', 'y'); INSERT INTO pay VALUES ('ann', 5);""",
}


def _overlap(folder: Path, how: str) -> None:
    """Make the pages of `t` be those of `pay`."""
    file = folder / "sample" / "b.sqlite"
    with closing(sqlite3.connect(file)) as base:
        (root,) = base.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'pay'").fetchone()
        base.execute("PRAGMA writable_schema=ON")
        name = {"an index is at the root of a table": "i", "two tables have one root": "t"}.get(how)
        base.execute("UPDATE sqlite_schema SET rootpage = ? WHERE name = ?", [root, name])
        base.commit()
        size = base.execute("PRAGMA page_size").fetchone()[0]
    if name is None:
        data = bytearray(file.read_bytes())
        trunk = (int.from_bytes(data[32:36]) - 1) * size
        data[trunk : trunk + 12] = struct.pack(">III", 0, 1, root)
        data[36:40] = (2).to_bytes(4)
        file.write_bytes(data)


@pytest.mark.parametrize("how", OVERLAPPING)
async def test_a_database_whose_tables_share_pages_is_not_changed(tmp_path: Path, how: str) -> None:
    async with books(tmp_path, OVERLAPPING[how]) as gate:
        _overlap(tmp_path, how)
        before = (tmp_path / "sample" / "b.sqlite").read_bytes()
        for call in (put(a="m", b="h" * 4500), update({"b": "y"}, a="mallory")):
            for said in (
                await gate.blind("write_sqlite", **call),
                await gate.refused("write_sqlite", **call),
            ):
                assert "b.sqlite is damaged" in said
        assert (tmp_path / "sample" / "b.sqlite").read_bytes() == before


async def test_no_row_is_put_back_into_a_database_that_was_damaged_meanwhile(tmp_path: Path) -> None:
    how = "an index is at the root of a table"
    async with books(tmp_path, OVERLAPPING[how]) as gate:
        done = await gate.do("write_sqlite", **update({"b": "y"}, a="mallory"))
        _overlap(tmp_path, how)
        assert "b.sqlite is damaged" in await gate.undo_refused(done)


async def test_rows_that_break_a_check_can_be_mended(tmp_path: Path) -> None:
    schema = """CREATE TABLE t(a INTEGER PRIMARY KEY, b CHECK(b > 0)); PRAGMA ignore_check_constraints=ON;
        INSERT INTO t VALUES (1, -1), (2, -2);"""
    async with books(tmp_path, schema) as gate:
        await gate.do("write_sqlite", **update({"a": 1}, b=1))
    assert rows(tmp_path) == [(1, 1), (2, -2)]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("kind", ["STORED", "VIRTUAL"])
@pytest.mark.parametrize("tail", ["", " WITHOUT ROWID"])
async def test_what_is_worked_out_from_a_change_is_shown_and_put_back(
    tmp_path: Path, kind: str, tail: str
) -> None:
    schema = f"""CREATE TABLE t(a INTEGER PRIMARY KEY, pay AS (b * 100) {kind}, b){tail};
        INSERT INTO t VALUES (1, 2);"""
    async with books(tmp_path, schema) as gate:
        done = await gate.do("write_sqlite", **update({"a": 1}, b=3))
        assert "-b: 2\n+b: 3\n-pay: 200\n+pay: 300\n" in done.preview.diff
        await gate.undo(done)
        assert rows(tmp_path) == [(1, 200, 2)]
        await gate.undo(await gate.do("write_sqlite", **delete({"a": 1})))
    assert rows(tmp_path) == [(1, 200, 2)]


@pytest.mark.parametrize("changed", [{"b": 3}, {"b": 2}])
async def test_a_stored_value_that_no_longer_follows_from_its_row_is_shown_and_has_no_way_back(
    tmp_path: Path, changed: dict[str, int]
) -> None:
    schema = """CREATE TABLE t(a, b, pay AS (a * 100) STORED); INSERT INTO t VALUES (1, 2);
        PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, '* 100', '* 999999');"""
    async with books(tmp_path, schema) as gate:
        done = await gate.do("write_sqlite", **update({"a": 1}, **changed))
        assert "-pay: 100\n+pay: 999999\n" in done.preview.diff
        assert not done.preview.undo.startswith("yes")
    assert rows(tmp_path) == [(1, changed["b"], 999999)]


async def test_rows_kept_without_what_is_worked_out_are_put_back(tmp_path: Path) -> None:
    schema = "CREATE TABLE t(a INTEGER PRIMARY KEY, b, pay AS (b * 100) STORED); INSERT INTO t VALUES (1, 3);"
    for names in ([], [["a", "b"], ["rowid"]]):
        kept = json.dumps([["t", [1], [1, 2], [1, 3], *names]]).encode()
        (tmp_path / "b.sqlite").unlink(missing_ok=True)
        with closing(sqlite3.connect(tmp_path / "b.sqlite")) as base:
            base.executescript(schema)
        with (tmp_path / "b.sqlite").open("rb") as file:
            told, _ = tasks.restore(
                Asked(file.fileno(), "b.sqlite", 5), kept, at="2026-01-01 00:00:00", expected=None
            )
        assert told["counts"] == {"changed": 1}


@pytest.mark.parametrize("kind", ["fts4", "fts5"])
async def test_a_row_of_a_table_without_watch_keeps_its_number(tmp_path: Path, kind: str) -> None:
    schema = f"""CREATE TABLE f_content(name); INSERT INTO f_content VALUES ('ann'), ('bob');
        CREATE TABLE t(x); CREATE VIRTUAL TABLE f USING {kind}(x, content='t');
        CREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE f_content SET rowid = 3 WHERE rowid = 2;
            UPDATE f_content SET rowid = 2 WHERE rowid = 1; END;"""
    async with books(tmp_path, schema) as gate:
        for said in (
            await gate.blind("write_sqlite", **put(x="1")),
            await gate.refused("write_sqlite", **put(x="1")),
        ):
            assert "rows of f_content, too" in said
    assert rows(tmp_path, "(SELECT rowid, * FROM f_content)") == [(1, "ann"), (2, "bob")]


@pytest.mark.slow
async def test_a_zero_with_the_other_sign_is_another_value(tmp_path: Path) -> None:
    async with books(tmp_path, "CREATE TABLE t(a, b); INSERT INTO t VALUES (0.0, 1);") as gate:
        done = await gate.do("write_sqlite", **update({"b": 1}, a=-0.0, b=2))
        assert "-a: 0.0\n+a: -0.0\n" in done.preview.diff
        assert str(rows(tmp_path)) == "[(-0.0, 2)]"
        await gate.undo(done)
        assert str(rows(tmp_path)) == "[(0.0, 1)]"
        await gate.undo(await gate.do("write_sqlite", **update({"b": 1}, a=-0.0)))
    assert str(rows(tmp_path)) == "[(0.0, 1)]"


async def test_a_database_with_a_tail_has_no_preview(tmp_path: Path) -> None:
    async with books(tmp_path, "CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 2);") as gate:
        with (tmp_path / "sample" / "b.sqlite").open("ab") as file:
            file.write(b"tail")
        for said in (
            await gate.blind("write_sqlite", **put(a=1)),
            await gate.refused("write_sqlite", **put(a=1)),
        ):
            assert "goes on after its last page" in said
    assert rows(tmp_path) == [(1, 2)]


BROKEN = "CAST(x'00D84100' AS TEXT)"  # half a pair of UTF-16, which SQLite reads as another letter


@pytest.mark.parametrize(
    ("tables", "does"),
    [
        (f"CREATE TABLE pay(b); INSERT INTO pay VALUES ({BROKEN});", "DELETE FROM pay"),
        ("CREATE TABLE pay(b); INSERT INTO pay VALUES (1);", f"UPDATE pay SET b = {BROKEN}"),
        (
            "CREATE TABLE pay(b, k TEXT PRIMARY KEY) WITHOUT ROWID; "
            f"INSERT INTO pay VALUES (5, {BROKEN}), (6, CAST(x'00D841DC' AS TEXT));",
            "UPDATE pay SET b = 9",
        ),
        (
            "CREATE TABLE pay(rowid, oid, _rowid_); INSERT INTO pay VALUES (CAST(x'00D841DC' AS TEXT), 1, 2);",
            f"UPDATE pay SET rowid = {BROKEN}",
        ),
    ],
)
async def test_no_text_that_is_read_as_another_is_changed(tmp_path: Path, tables: str, does: str) -> None:
    schema = f"""PRAGMA encoding='UTF-16le'; CREATE TABLE t(a); {tables}
        CREATE TRIGGER g AFTER INSERT ON t BEGIN {does}; END;"""
    async with books(tmp_path, schema) as gate:
        for said in (
            await gate.blind("write_sqlite", **put(a=1)),
            await gate.refused("write_sqlite", **put(a=1)),
        ):
            assert "pay" in said
            assert "can neither be shown nor put back" in said
    assert rows(tmp_path) == []


@pytest.mark.parametrize("code", ["UTF-16le", "UTF-16be"])
async def test_texts_in_utf_16_are_changed_and_put_back(tmp_path: Path, code: str) -> None:
    schema = f"""PRAGMA encoding='{code}'; CREATE TABLE t(k TEXT PRIMARY KEY, b) WITHOUT ROWID;
        INSERT INTO t VALUES ('é😀', char(65279, 65, 0));"""
    async with books(tmp_path, schema) as gate:
        done = await gate.do("write_sqlite", **update({"k": "é😀"}, b="x"))
        assert rows(tmp_path) == [("é😀", "x")]
        await gate.undo(done)
    assert rows(tmp_path) == [("é😀", "\ufeffA\0")]
