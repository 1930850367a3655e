"""What a change of rows does where no trigger of ours sees it: shown by exact keys, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.test_data_rows import books, delete, rows, update

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


async def test_a_key_of_two_columns_is_found_letter_by_letter(tmp_path: Path) -> None:
    schema = """CREATE TABLE t(a INT, k TEXT COLLATE NOCASE, b, PRIMARY KEY(a, k)) WITHOUT ROWID;
        INSERT INTO t VALUES (1, 'x', 'one'), (2, 'X', 'two');"""
    async with books(tmp_path, schema) as gate:
        done = await gate.do("write_sqlite", **update({"a": 1}, k="X", b="new"))
        assert rows(tmp_path) == [(1, "X", "new"), (2, "X", "two")]
        await gate.undo(done)
    assert rows(tmp_path) == [(1, "x", "one"), (2, "X", "two")]
