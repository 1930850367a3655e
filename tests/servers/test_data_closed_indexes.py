"""A rule about a table holds for search indexes whose content is a view over it, and for what changes these."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from gate.rules.action import Verdict
from servers.sqlite import tables_read
from tests.cpu_time import within
from tests.servers.test_data_closed_tables import INDEXED, B, change, denied, shown, tables, under

BASE = """
CREATE TABLE salaries(id INTEGER PRIMARY KEY, note);
CREATE TABLE plain(a, b);
CREATE TABLE kept(what);
INSERT INTO salaries VALUES (1, 'canary earns much'), (2, 'canary two');
INSERT INTO plain VALUES (1, 2), (1, 2);
"""
PAY = "CREATE VIEW pay AS SELECT id, note FROM salaries;"
FTS5 = """
CREATE VIRTUAL TABLE words USING fts5(note, content={name}, content_rowid='id', tokenize='porter', prefix='2 3');
INSERT INTO words(words) VALUES ('rebuild');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
CREATE VIRTUAL TABLE places USING fts5vocab('Words', "instance");
"""
FTS4 = """
CREATE VIRTUAL TABLE words USING fts4(note, content={name}, prefix="2,3", tokenize=unicode61 "remove_diacritics=0");
INSERT INTO words(docid, note) SELECT id, note FROM pay;
CREATE VIRTUAL TABLE terms USING fts4aux(words);
"""
IN_FTS5 = (
    "SELECT rowid FROM words WHERE words MATCH 'canary'",
    "SELECT note FROM words",
    "SELECT hex(block) FROM words_data",
    "SELECT * FROM main.[WORDS_DocSize]",
    "SELECT term FROM words_idx",
    "SELECT v FROM words_config",
    "SELECT term, doc FROM vocabulary",
    "SELECT term, offset FROM places",
    "SELECT a FROM plain WHERE EXISTS (SELECT 1 FROM vocabulary WHERE term = 'canary')",
)
IN_FTS4 = (
    "SELECT docid FROM words WHERE words MATCH 'canary'",
    "SELECT term FROM terms",
    "SELECT hex(root) FROM words_segdir",
    "SELECT hex(block) FROM words_segments",
    "SELECT hex(size) FROM words_docsize",
    "SELECT hex(value) FROM words_stat",
)


async def closed(folder: Path, made: str, questions: tuple[str, ...]) -> None:
    async with tables(folder, BASE + made) as gate:
        for ask in under(gate):
            for sql in questions:
                said = await ask("query_sqlite", path=B, sql=sql)
                assert "closed table" in said, sql
                assert shown(said) == [], sql
            assert "[[1, 2], [1, 2]]" in await ask("query_sqlite", path=B, sql="SELECT * FROM plain")


async def test_an_fts5_index_of_a_view_over_a_closed_table_is_closed(tmp_path: Path) -> None:
    await closed(tmp_path, PAY + FTS5.format(name="'pay'"), IN_FTS5)


async def test_an_fts4_index_of_a_view_over_a_closed_table_is_closed(tmp_path: Path) -> None:
    await closed(tmp_path, PAY + FTS4.format(name='"pay"'), IN_FTS4)


@pytest.mark.parametrize(
    ("name", "view"),
    [
        ("'PAY'", PAY),
        ("[pay]", PAY),
        ("`pay`", PAY.replace("FROM salaries", "FROM 'SALARIES'")),
        ("pay", PAY.replace("FROM salaries", 'FROM\n"Salaries"AS s')),
        ('"p""a\'y"', PAY.replace("pay", '"p""a\'y"').replace("salaries", "[Salaries]")),
        ("'äy'", PAY.replace("pay", "`äy`").replace("salaries", "\ufeffsalaries")),
        ("pay", PAY.replace("FROM", "/* it's, \"so */ FROM -- don't [ `\n/**/")),
        ("pay -- isn't (\n", PAY.replace("SELECT", "SELECT /*/ ' */")),
        ("pay", PAY.replace("id, note", "id, note, (SELECT count(*) FROM plain) AS 'it''s'")),
        ("pay", "CREATE VIEW pay AS WITH x AS (SELECT * FROM salaries) SELECT * FROM x;"),
        (
            "top",
            f"{PAY} CREATE VIEW mid AS SELECT * FROM plain, Pay; CREATE VIEW top AS SELECT id, note FROM MID;",
        ),
    ],
)
async def test_the_view_of_a_search_index_is_followed_however_it_is_written(
    tmp_path: Path, name: str, view: str
) -> None:
    await closed(tmp_path, view + FTS5.format(name=name), IN_FTS5)


@pytest.mark.parametrize(
    ("view", "content"),
    [
        ("the pay-roll", "/* it's */ content=the pay-roll -- isn't (\n"),
        ("a=b", "content=a=b"),
        ("f(x, [)])", "content=f(x, [)])"),
    ],
)
async def test_a_name_with_signs_in_it_that_an_fts4_index_has_without_marks_is_followed(
    tmp_path: Path, view: str, content: str
) -> None:
    made = f"""
    CREATE VIEW "{view}" AS SELECT id, note FROM salaries;
    CREATE VIRTUAL TABLE "all words" USING fts4(note, {content});
    INSERT INTO "all words"(docid, note) SELECT id, note FROM salaries;
    CREATE VIRTUAL TABLE terms USING fts4aux(all words /* ' */);
    """
    await closed(tmp_path, made, ("SELECT term FROM terms", 'SELECT hex(root) FROM "all words_segdir"'))


async def test_an_index_over_a_view_over_another_index_is_followed(tmp_path: Path) -> None:
    made = PAY + FTS5.format(name="pay")
    made += "CREATE VIEW found AS SELECT rowid AS id, term AS note FROM vocabulary;"
    made += "CREATE VIRTUAL TABLE again USING fts5(note, content=found, content_rowid=id);"
    made += "CREATE VIRTUAL TABLE again_words USING fts5vocab(again, col);"
    await closed(tmp_path, made, ("SELECT term FROM again_words", "SELECT hex(block) FROM again_data"))


@pytest.mark.parametrize("source", ["salaries", "salaries_rowid, plain", "(SELECT * FROM SALARIES_Node)"])
async def test_a_closed_tree_below_the_view_of_an_index_is_closed(tmp_path: Path, source: str) -> None:
    made = INDEXED.format(kind="rtree(id, low, high, +note)", values="(1, 2, 3, 'canary')")
    view = f"CREATE VIEW pay AS SELECT 1 AS id, 'canary' AS note FROM {source};"
    words = FTS5.format(name="pay").replace(
        "(words) VALUES ('rebuild')", "(rowid, note) VALUES (1, 'canary')"
    )
    made = f"DROP TABLE salaries; {made} {view} {words}"
    asked = tuple(
        sql for sql in IN_FTS5 if "note" not in sql
    )  # SQLite reads no such view for an index by itself
    await closed(tmp_path, made, (*asked, "SELECT a0 FROM salaries_rowid"))


async def test_page_sizes_under_another_name_are_closed(tmp_path: Path) -> None:
    made = "CREATE VIRTUAL TABLE sizes USING dbstat(main);"
    await closed(tmp_path, made, ("SELECT payload FROM sizes WHERE name = 'salaries'",))


async def test_views_that_go_in_a_circle_below_an_index_are_followed_once(tmp_path: Path) -> None:
    ring = "CREATE VIEW pay AS SELECT id, note FROM salaries UNION SELECT * FROM ring; "
    ring += "CREATE VIEW ring AS SELECT id, note FROM pay;"
    made = BASE + PAY + FTS5.format(name="pay") + "DROP VIEW pay;" + ring
    async with tables(tmp_path, made) as gate:
        for ask in under(gate):
            for sql in ("SELECT term FROM vocabulary", "SELECT hex(block) FROM words_data"):
                assert "closed table" in await ask("query_sqlite", path=B, sql=sql), sql


def test_each_of_two_names_that_differ_in_bytes_that_are_no_text_is_followed() -> None:
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript(
            BASE + "CREATE VIEW pay1 AS SELECT id, note FROM salaries; CREATE VIEW pay2 AS SELECT 1;"
        )
        base.executescript(FTS5.format(name="'pay1'") + "PRAGMA writable_schema=ON;")
        for old, new in (("pay1", "706179FF"), ("pay2", "706179FE")):
            parts = (
                f"replace({part}, '{old}', CAST(x'{new}' AS TEXT))" for part in ("name", "tbl_name", "sql")
            )
            base.execute("UPDATE sqlite_schema SET (name, tbl_name, sql) = ({}, {}, {})".format(*parts))
        base.commit()
        data = base.serialize()
    with closing(sqlite3.connect(":memory:")) as base:
        base.deserialize(data)
        assert tables_read.told(base, ["vocabulary"]) == ["pay\ufffd", "salaries", "vocabulary", "words"]


def test_the_sql_of_each_view_behind_an_index_is_gone_through_once() -> None:
    parts = [", ".join(f"v{n}" for n in range(first, first + 100)) for first in (0, 100, 200)]
    names = " UNION ".join(f"SELECT 1 FROM {part}" for part in parts)
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript(BASE + "CREATE VIRTUAL TABLE words USING fts5(note, content=v0);")
        base.executescript(
            "".join(f"CREATE VIEW v{n} AS {names} UNION SELECT 1 FROM salaries;" for n in range(300))
        )
        with within(2, time.process_time):
            found = tables_read.told(base, ["words_data"])
    assert len(found) == 302
    assert "salaries" in found


async def test_an_index_of_a_view_over_other_tables_is_given(tmp_path: Path) -> None:
    view = "CREATE VIEW pay AS /* not salaries */ SELECT a AS id, b AS note FROM plain; -- salaries"
    async with tables(tmp_path, BASE + view + FTS5.format(name="pay")) as gate:
        for ask in under(gate):
            for sql in IN_FTS5:
                said = await ask("query_sqlite", path=B, sql=sql)
                assert "closed table" not in said, sql
                assert "'plain'" in said or "'rows': []" in said, sql


WRITTEN = {
    "words in a trigger": "INSERT INTO kept SELECT term FROM vocabulary;",
    "a match in a trigger": "INSERT INTO kept SELECT 1 FROM words WHERE words MATCH 'canary';",
    "the tables of an index in a trigger": "INSERT INTO kept SELECT hex(block) FROM words_data;",
    "an index made anew": "INSERT INTO words(words) VALUES ('rebuild');",
    "an index merged": "INSERT INTO Words(WORDS) VALUES ('merge');",
    "words taken out of an index": "INSERT INTO words(words, rowid, note) VALUES ('delete', 1, 'canary earns much');",
    "a row of an index": "DELETE FROM words WHERE rowid = 7;",
}


@pytest.mark.parametrize("done", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("content", ["pay", "salaries"])
async def test_no_change_reads_or_changes_a_closed_table_through_a_search_index(
    tmp_path: Path, content: str, done: str
) -> None:
    trigger = f"CREATE TRIGGER writes AFTER INSERT ON plain BEGIN {done} END;"
    made = BASE + PAY + FTS5.format(name=content) + trigger
    async with tables(tmp_path, made) as gate:
        for ask in under(gate):
            await denied(ask, "write_sqlite", **change("plain", "insert", a=1))
            seen = await ask.look("write_sqlite", **change("kept", "insert", what=1))
            assert seen.decision
            assert seen.decision.verdict is not Verdict.DENY


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH 'other.sqlite' AS other",
        "CREATE VIRTUAL TABLE temp.t USING fts5vocab(main, words, row)",
        "CREATE TEMP VIEW t AS SELECT 1",
    ],
)
async def test_no_question_makes_or_attaches_a_table_elsewhere(tmp_path: Path, sql: str) -> None:
    async with tables(tmp_path, BASE + PAY + FTS5.format(name="pay")) as gate:
        assert "only reads" in await gate.refused("query_sqlite", path=B, sql=sql)
