"""A statement that inserts into a column with the name of its table, in every way in which SQLite reads one."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from gate.arguments.own_columns import inserts_into_own_column
from tests.cpu_time import seconds

ALL = "VALUES('delete-all')"
COMMANDS = (
    f"INSERT INTO f(f) {ALL}",
    f"insert or ignore into F ( f ) {ALL}",
    f"INSERT INTO main.f(f) {ALL}",
    f'INSERT INTO main . "f" ("F") {ALL}',
    f'insert into"f"("f"){ALL}',
    f"INSERT INTO [f]([f]) {ALL}",
    f"INSERT INTO `f`(`f`) {ALL}",
    f"INSERT INTO 'f'('f') {ALL}",
    f"INSERT INTO f/* ( */(/*)*/f) {ALL}",
    f"INSERT INTO -- f\n f -- (\n( -- )\nf) {ALL}",
    f"INSERT INTO f AS g (f) {ALL}",
    f"INSERT INTO f AS 'g ('(f) {ALL}",
    f"WITH x AS (SELECT 1) INSERT INTO f(f) {ALL}",
    f"/* x */ ;INSERT INTO f(f) {ALL}",
    f"\ufeffINSERT INTO \ufefff(f) {ALL}",
    "INSERT INTO f(rowid, f) VALUES(1, 'delete-all')",
    "INSERT INTO f(\"rowid\", f) VALUES(')', 'delete-all')",
    "INSERT INTO f(f) SELECT group_concat(x, '') FROM (SELECT 'del' x UNION ALL SELECT 'ete-all')",
    "INSERT INTO f(f) VALUES(json_extract('\"\\u0064elete-all\"', '$'))",
    "INSERT INTO f(f) SELECT what FROM told",
)
MADE = """
CREATE VIRTUAL TABLE {name} USING fts5(body, content='');
INSERT INTO {name}(rowid, body) VALUES (1, 'alpha');
CREATE TABLE told(what); INSERT INTO told VALUES ('delete-all');
"""
NAMES = ('"a b"', '"a""b"', '"("', '")"', '"a)"', "[!]", "é", '"into"', "a$")


def left(statement: str, name: str = "f") -> int:
    """How many rows an index still finds after a statement."""
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript(MADE.format(name=name))
        base.execute(statement)
        found: int = base.execute(f"SELECT count(*) FROM {name}('alpha')").fetchone()[0]
        return found


@pytest.mark.parametrize("statement", COMMANDS)
def test_a_command_for_an_index_is_known_however_it_is_written(statement: str) -> None:
    if "')'" not in statement:
        assert left(statement) == 0
    assert inserts_into_own_column("s.write_query", {"query": statement})


@pytest.mark.parametrize("name", NAMES)
def test_a_command_for_an_index_is_known_whatever_its_name(name: str) -> None:
    statement = f"INSERT INTO {name}(rowid, {name}) VALUES(1, 'delete-all')"
    assert left(statement, name) == 0
    assert inserts_into_own_column("s.write_query", {"query": statement})


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO notes(text) VALUES('my notes')",
        "INSERT INTO notes(text) VALUES('INSERT INTO f(f) VALUES(1)')",
        "INSERT INTO f VALUES('f')",
        "INSERT INTO f(body) SELECT f FROM g",
        "INSERT INTO main.a(main) VALUES(1)",
        "INSERT INTO f AS g (g) VALUES(1)",
        "CREATE TABLE f(f)",
        "INSERT INTO",
        "INSERT INTO f",
        "INSERT INTO f(",
        "INSERT INTO f.",
    ],
)
def test_a_row_of_another_column_is_no_command(statement: str) -> None:
    assert not inserts_into_own_column("s.write_query", {"query": statement})


@pytest.mark.parametrize(
    "piece",
    ["into f(", "into ", "[", '"', "'", "`", "/*", "/", "--", "into f(a,", '""', "*/", "into [", "\ufeff"],
)
def test_a_long_text_takes_no_longer_than_its_length(piece: str) -> None:
    text = "into f(" + piece * (100_000 // len(piece))
    assert seconds(lambda: inserts_into_own_column("s.write_query", {"query": text})) < 0.5


def test_many_lists_of_columns_without_an_end_take_no_longer_than_their_length() -> None:
    text = "".join(f"into f{number}(a," for number in range(8_000))
    assert seconds(lambda: inserts_into_own_column("s.write_query", {"query": text})) < 0.5
