"""Looking through tables: twins, what stands out, and files that are no tables."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from servers.data import server
from servers.formats import tables
from tests.servers.files import Ask, Clock
from tests.servers.gate_around_server import gated

BILLS = """date,who,amount,status
2026-01-05,Ann Smith,"1,200.00",paid
2026-01-06,Bob Jones,1100,paid
2026-01-06, bob  JONES ,1100.00,paid
2026-01-07,Cyd Lee,1250,paid
2026-01-08,Dee Ray,1190,open
2026-02-30,Eve Fox,1210,paid
2026-01-09,Fay Orr,98000,paid
2026-01-10,Gus Roe,n/a,paid
2027-05-01,Hal Kim,1300,payed
2026-01-11,Ivy Poe,twelve,paid
2026-01-12,,1050,paid
2026-01-12,Jon Doe,1120,open
2026-01-13,Kay Nye,1180,open
2026-01-13,Kay Nyee,1180,open
2026-01-14,Lou Ash,1260,open
2026-01-15,Max Elm,1090,open
"""


@asynccontextmanager
async def data(root: Path, **files: str) -> AsyncIterator[Ask]:
    for name, text in files.items():
        (root / name.replace("_", ".")).write_text(text)
    async with Client(server([root], Clock()), read_timeout_seconds=60) as client:
        yield Ask(client)


def found(answer: dict[str, Any], column: str, kind: str) -> list[int]:
    return [
        row
        for one in answer["anomalies"]
        if (one["column"], one["kind"]) == (column, kind)
        for row in one["rows"]
    ]


@pytest.mark.slow
async def test_records_that_say_the_same_are_found_in_other_case_and_spacing(tmp_path: Path) -> None:
    async with data(tmp_path, bills_csv=BILLS) as ask:
        by_who = await ask("deduplicate_records", path="bills.csv", columns=["date", "who"])
        whole = await ask("deduplicate_records", path="bills.csv")
        nearly = await ask("deduplicate_records", path="bills.csv", columns=["who"], alike=0.9)
        assert "no column “name”" in await ask.refused(
            "deduplicate_records", path="bills.csv", columns=["name"]
        )
    assert [group["rows"] for group in by_who["groups"]] == [[2, 3]]
    assert by_who["groups"][0]["differs"] == ["who", "amount"]
    assert by_who["keep"] == [1, 2, *range(4, 17)]
    assert (by_who["records"], by_who["unique"]) == (16, 15)
    assert whole["groups"] == []
    assert [(group["rows"], group["kind"]) for group in nearly["groups"]] == [
        ([2, 3], "same"),
        ([13, 14], "similar"),
    ]


@pytest.mark.slow
async def test_more_records_than_arguments_carry_are_written_each_once(tmp_path: Path) -> None:
    people = [f"{n};Person {n % 29_000:05d} of a street with a rather long name" for n in range(30_000)]
    root = tmp_path / "files"
    root.mkdir()
    (root / "many.csv").write_text("\n".join(["n;who", *people]))
    async with gated(tmp_path / "logs", "data", server([root], Clock())) as gate:
        call = {"source": "many.csv", "destination": "once.csv", "columns": ["who"]}
        seen = await gate.look("write_without_duplicates", **call)
        done = await gate.go_on("write_without_duplicates", seen, call)
        written = (root / "once.csv").read_text().splitlines()
        (root / "many.csv").write_text("\n".join(["n;who", *people[:-1]]))
        late = await gate.refused("write_without_duplicates", **seen.args)
        none = await gate.blind("write_without_duplicates", **call | {"source": "once.csv"})
        await gate.undo(done)
    assert seen.preview.summary == ("Write 29,000 rows of many.csv to once.csv, leaving out 1,000 duplicates")
    assert seen.preview.diff.count("- row 29") == 200
    assert "… and 800 more rows" in seen.preview.diff
    assert len(json.dumps(seen.args)) < 1_000
    assert written == ["n;who", *people[:29_000]]
    assert "many.csv, or the file to be written, has changed since" in late
    assert "There are no duplicates in once.csv, compared by who" in none
    assert not (root / "once.csv").exists()


@pytest.mark.parametrize(
    ("source", "to", "line"),
    [("a.csv", "b.csv", "1;x"), ("a.csv", "b.tsv", "1\tx"), ("c.tsv", "b.csv", "1,x"), ("d.json", "b.csv", "1,x"), ("e.csv", "b.csv", "1|x")],
)  # fmt: skip
async def test_a_file_without_duplicates_has_the_sign_of_its_source_between_values(
    tmp_path: Path, source: str, to: str, line: str
) -> None:
    rows = '[{"a": "1", "b": "x"}, {"a": "1", "b": "x"}]'
    own = {
        "a_csv": "a;b\n1;x\n1;x\n",
        "c_tsv": "a\tb\n1\tx\n1\tx\n",
        "d_json": rows,
        "e_csv": "a|b\n1|x\n1|x\n",
    }
    async with data(tmp_path, **own) as ask:
        await ask("write_without_duplicates", source=source, destination=to)
    assert (tmp_path / to).read_text().splitlines()[1:] == [line]


@pytest.mark.slow
async def test_a_csv_file_that_is_replaced_keeps_its_sign_between_values(tmp_path: Path) -> None:
    table: dict[str, Any] = {"columns": ["a", "b"], "rows": [["12,50", "x;y"]]}
    async with data(tmp_path, old_csv="a;b\n1;2\n") as ask:
        plan = await ask("preview_csv", path="old.csv", **table)
        await ask("write_csv", path="old.csv", expected_sha256=plan["sha256"], **table)
    assert (tmp_path / "old.csv").read_text() == plan["after"] == 'a;b\n12,50;"x;y"\n'


@pytest.mark.slow
async def test_a_carriage_return_in_a_value_makes_no_row(tmp_path: Path) -> None:
    rows = [["x\r=1+1", "1"], ["y\r\nz", "2"], ["\r", "3"]]
    text = 'a,b\n"x\r=1+1",1\n"y\r\nz",2\n"\r",3\n'
    root = tmp_path / "files"
    root.mkdir()
    async with gated(tmp_path / "logs", "data", server([root])) as gate:
        await gate.do("write_csv", path="a.csv", columns=["a", "b"], rows=rows)
        (root / "c.csv").write_bytes(text.encode() + b'"\r",3\n')
        await gate.do("write_without_duplicates", source="c.csv", destination="b.csv")
    assert [(root / name).read_bytes().decode() for name in ("a.csv", "b.csv")] == [text, text]
    assert tables.comma_separated([["a", "b"], *rows], ",") == text


@pytest.mark.slow
async def test_values_beyond_the_last_column_name_are_kept_and_said(tmp_path: Path) -> None:
    async with data(tmp_path, long_csv="a,b\n1,2\n1,2,\n3,4,five,six\n3,4,five,six\n7\n5,6,,8\n") as ask:
        twins = await ask("deduplicate_records", path="long.csv")
        odd = await ask("summarize_anomalies", path="long.csv")
        await ask("write_without_duplicates", source="long.csv", destination="once.csv")
    said = (
        "Row 3 has 4 values for 2 column names, and 2 more rows have too many: what has no name is kept in "
        "“column 3”, “column 4”."
    )
    assert twins["assumed"] == odd["assumed"] == [said]
    assert [group["rows"] for group in twins["groups"]] == [[1, 2], [3, 4]]
    assert (tmp_path / "once.csv").read_text() == "a,b,column 3,column 4\n1,2,,\n3,4,five,six\n7,,,\n5,6,,8\n"


async def test_another_year_is_no_typing_error(tmp_path: Path) -> None:
    text = "what\nAnnual report of the company for 2025\nAnnual report of the company for 2026\n"
    async with data(tmp_path, r_csv=text) as ask:
        assert (await ask("deduplicate_records", path="r.csv", alike=0.8))["groups"] == []


async def test_what_stands_out_is_said_with_its_rows(tmp_path: Path) -> None:
    async with data(tmp_path, bills_csv=BILLS) as ask:
        odd = await ask("summarize_anomalies", path="bills.csv")
    assert found(odd, "amount", "outlier") == [7]
    assert found(odd, "amount", "missing") == [8]
    assert found(odd, "amount", "type") == [10]
    assert found(odd, "date", "date") == [6, 9]
    assert found(odd, "who", "missing") == [11]
    assert found(odd, "who", "space") == [3]
    assert found(odd, "status", "rare") == [9]
    assert "amount" in odd["summary"]


async def test_a_table_where_nothing_stands_out_is_left_in_peace(tmp_path: Path) -> None:
    rows = "\n".join(f"{n},{100 + n % 7},open" for n in range(50))
    async with data(tmp_path, calm_csv=f"id,amount,status\n{rows}\n") as ask:
        assert (await ask("summarize_anomalies", path="calm.csv"))["anomalies"] == []


@pytest.mark.slow
async def test_tables_come_from_json_tabs_semicolons_and_databases_alike(tmp_path: Path) -> None:
    records = [{"a": 1, "b": "x"}, {"a": 1, "b": "x"}, {"a": 2, "c": [1]}]
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as base:
        base.executescript("CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 'x'), (1, 'X'), (2, NULL);")
    async with data(
        tmp_path,
        a_json=json.dumps(records),
        b_jsonl="\n".join(map(json.dumps, records)),
        c_tsv="a\tb\n1\tx\n1\tx\n2\t\n",
        d_csv="\ufeffa;b\r\n1;x\r\n1;x\r\n2;\r\n",
    ) as ask:
        for path in ("a.json", "b.jsonl", "c.tsv", "d.csv"):
            twins = await ask("deduplicate_records", path=path)
            assert [group["rows"] for group in twins["groups"]] == [[1, 2]], path
            assert twins["compared"][:2] == ["a", "b"]
        twins = await ask("deduplicate_records", path="t.sqlite", table="t")
        assert "Say which table: t" in await ask.refused("deduplicate_records", path="t.sqlite")
        assert "no table “u”" in await ask.refused("summarize_anomalies", path="t.sqlite", table="u")
    assert [group["rows"] for group in twins["groups"]] == [[1, 2]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ('a,b\n"1,2\n', "cannot be read as a table"),
        ("a\0b", "is not text"),
        (",".join(f"c{n}" for n in range(501)), "501 columns"),
        ("a\n" + "1\n" * 2_000_001, "more than 2,000,000 records"),
        (",".join("abcdefghij" * 40) + "\n1" * 160_000, "more than 60,000,000 cells"),
        ("a\n" + "x" * 200_000, "cannot be read as a table"),
    ],
)
async def test_what_is_no_table_is_refused(tmp_path: Path, text: str, why: str) -> None:
    async with data(tmp_path, t_csv=text) as ask:
        assert why in await ask.refused("summarize_anomalies", path="t.csv")
        assert why in await ask.refused("deduplicate_records", path="t.csv")


async def test_json_that_is_no_list_of_records_or_too_deep_is_refused(tmp_path: Path) -> None:
    async with data(tmp_path, a_json='{"a": 1}', b_json="[" * 100_000, c_json="[1]", d_json="{") as ask:
        for path in ("a.json", "b.json", "c.json", "d.json"):
            assert (
                "JSON" in (why := await ask.refused("summarize_anomalies", path=path))
                or "list of records" in why
            )


@pytest.mark.slow
async def test_many_records_are_looked_through_in_seconds(tmp_path: Path) -> None:
    rows = "\n".join(f"person {n % 40_000},{n}" for n in range(60_000))
    async with data(tmp_path, many_csv=f"name,n\n{rows}\n") as ask:
        start = time.monotonic()
        twins = await ask("deduplicate_records", path="many.csv", columns=["name"])
        await ask("summarize_anomalies", path="many.csv")
        few = await ask("deduplicate_records", path="many.csv", columns=["name"], alike=0.9)
    assert time.monotonic() - start < 20
    assert twins["unique"] == 40_000
    assert twins["truncated"]
    assert few["unique"] == 40_000


async def test_what_does_not_fit_into_an_answer_is_said_in_it(tmp_path: Path) -> None:
    rows = [f"{n},{n}" for n in range(300)]
    async with data(tmp_path, t_csv="\n".join(["id,n", *rows, *rows[:250]])) as ask:
        twins = await ask("deduplicate_records", path="t.csv")
        odd = await ask("summarize_anomalies", path="t.csv")
    assert (twins["truncated"], len(twins["groups"]), twins["unique"]) == (True, 200, 300)
    assert twins["summary"].startswith("550 records, 250 duplicates in 250 groups; without duplicates: 300.")
    assert twins["summary"].endswith("The first 200 groups are listed.")
    ids = [one for one in odd["anomalies"] if one["kind"] == "id"]
    assert len(ids) == 200
    assert ids[-1]["why"].endswith("So do 50 others, which are not listed.")


async def test_columns_that_are_not_held_against_each_other_are_said(tmp_path: Path) -> None:
    names = ",".join(f"n{n}" for n in range(13))
    async with data(tmp_path, t_csv="\n".join([names, *[",".join(["1"] * 13)] * 3])) as ask:
        odd = await ask("summarize_anomalies", path="t.csv")
    assert odd["assumed"] == ["Of 13 columns of numbers, the first 12 are held against each other."]


async def test_more_things_than_fit_are_said_to_be_more(tmp_path: Path) -> None:
    rows = [f"{n},{n}" for n in range(600)]
    async with data(tmp_path, t_csv="\n".join(["a,n", *rows, *rows])) as ask:
        odd = await ask("summarize_anomalies", path="t.csv")
    assert odd["truncated"]
    assert "1,200 records, more than 500 unusual things: these are the first" in odd["summary"]


@pytest.mark.slow
async def test_a_list_that_must_be_read_as_a_whole_has_a_smaller_limit_and_says_what_to_do(
    tmp_path: Path,
) -> None:
    line = json.dumps({"name": "x" * 1_000_000})
    async with data(tmp_path, a_json=f"[{','.join([line] * 34)}]", a_jsonl="\n".join([line] * 34)) as ask:
        why = await ask.refused("deduplicate_records", path="a.json")
        assert "larger than 32 MB" in why
        assert "Save it as .jsonl or .csv" in why
        assert (await ask("deduplicate_records", path="a.jsonl"))["unique"] == 1


@pytest.mark.slow
async def test_records_of_a_stream_may_bring_new_columns_late(tmp_path: Path) -> None:
    lines = [json.dumps({"a": n % 20_000}) for n in range(25_000)] + ['{"b": 1, "a": 19999}', '{"b": true}']
    async with data(tmp_path, a_jsonl="\n".join(lines)) as ask:
        twins = await ask("deduplicate_records", path="a.jsonl")
        by_b = await ask("deduplicate_records", path="a.jsonl", columns=["b"])
    assert twins["unique"] == 20_002
    assert twins["groups"][0]["record"] == {"a": 0, "b": None}
    assert by_b["groups"] == []  # 1 and true are not the same, and what is missing is nothing


@pytest.mark.slow
async def test_a_large_file_is_written_without_its_duplicates_line_by_line(tmp_path: Path) -> None:
    rows = [f"{n};Straße {n % 5_000};{n % 7},50" for n in range(30_000)]
    text = "\n".join(["Liste;;", "nr;ort;preis", *rows, rows[7].upper(), rows[29_999]])
    async with data(tmp_path, gross_csv=text) as ask:
        plan = await ask(
            "preview_without_duplicates", call={"source": "gross.csv", "destination": "klein.csv"}
        )
        assert (plan["rows"], plan["left_out"]) == (30_000, 2)
        await ask(
            "write_without_duplicates",
            source="gross.csv",
            destination="klein.csv",
            expected=plan["expected"],
        )
        (tmp_path / "gross.csv").write_text(text + "\n0;x;1")
        assert "has changed since it was shown" in await ask.refused(
            "write_without_duplicates",
            source="gross.csv",
            destination="new.csv",
            expected=plan["expected"],
        )
    assert (tmp_path / "klein.csv").read_text() == "\n".join(["nr;ort;preis", *rows, ""])


@pytest.mark.slow
async def test_a_typing_error_is_found_among_a_hundred_thousand_records(tmp_path: Path) -> None:
    people = [f"person {n}" for n in range(99_000)]
    people[70:70], people[90_000:90_000] = ["Müller Maschinenbau"], ["Mueller Maschinenbau"]
    async with data(tmp_path, many_csv="name\n" + "\n".join(people)) as ask:
        found = await ask("deduplicate_records", path="many.csv", columns=["name"], alike=0.9)
    assert [(group["rows"], group["kind"]) for group in found["groups"]] == [([71, 90_001], "similar")]


@pytest.mark.slow
async def test_texts_that_are_slow_to_compare_are_compared_beside_the_bot(tmp_path: Path) -> None:
    # Each has all letters of its neighbours, in runs: difflib takes 5 ms and more for a pair, minutes for all.
    texts = ["a" * (200 - n % 7) + "b" * (193 + n % 7) + f"{chr(0x4E00 + n)}" for n in range(20_000)]
    async with data(tmp_path, many_csv="name\n" + "\n".join(texts)) as ask:
        found = await ask("deduplicate_records", path="many.csv", columns=["name"], alike=0.9)
    assert (found["records"], found["unique"]) == (20_000, 1)


async def test_a_csv_file_is_written_as_it_was_shown(tmp_path: Path) -> None:
    table: dict[str, Any] = {"columns": ["a", "b"], "rows": [["x,y", True], ['say "hi"', None], [1.5, -2]]}
    async with data(tmp_path, old_csv="a;b\n") as ask:
        plan = await ask("preview_csv", path="new.csv", **table)
        await ask("write_csv", path="new.csv", expected_sha256=plan["sha256"], **table)
        await ask("write_csv", path="new.tsv", **table)
        assert "exists now" in await ask.refused(
            "write_csv", path="new.csv", expected_sha256="absent", **table
        )
        assert "Row 1 has 1 values" in await ask.refused(
            "write_csv", path="x.csv", columns=["a", "b"], rows=[[1]]
        )
        assert "must end in .csv" in await ask.refused("write_csv", path="x.txt", **table)
        assert "outside" in await ask.refused("write_csv", path="/etc/x.csv", **table)
    assert (tmp_path / "new.csv").read_text() == plan["after"] == 'a,b\n"x,y",true\n"say ""hi""",\n1.5,-2\n'
    assert (tmp_path / "new.tsv").read_text() == 'a\tb\nx,y\ttrue\n"say ""hi"""\t\n1.5\t-2\n'


@pytest.mark.parametrize(
    "cell",
    [
        '=HYPERLINK("http://x.example","y")', "=1+1", " =1", "\t=1", "＝1", "+cmd|' /C calc'!A0", "-2+3+cmd|'x'!A0",
        "@SUM(A1:A2)", "-SUM(A1)", "a;=1", 'a","=1', "\ufeff=1", "x\n=1",
        "= 1+1", "=\tcmd|x!A", "=\u00a0HYPERLINK(1)", "+" + "1+" * 101 + "cmd|' /C calc'!A0",
        "+ГИПЕРССЫЛКА(A1)", "+KÖPRÜ(A1)", "+LOG10(A1)", "-1" + "+1" * 4_000 + "+SUM(A1)", "a" * 2_000 + ";=SUM(A1)",
        "=" + " " * 20 + "SUM(A1)", "+1+\nSUM(A1)",
    ],
)  # fmt: skip
async def test_a_cell_that_begins_like_a_formula_is_said_on_the_card(tmp_path: Path, cell: str) -> None:
    table: dict[str, Any] = {"columns": ["a", "b"], "rows": [["x", 1], [cell, 2]]}
    root = tmp_path / "files"
    root.mkdir()
    async with gated(tmp_path / "logs", "data", server([root], Clock())) as gate:
        seen = await gate.look("write_csv", path="new.csv", **table)
    said = "Write 2 rows to new.csv (1 cell begins like a formula: a spreadsheet program may run it)"
    assert seen.preview.summary == said


async def test_numbers_and_words_are_no_formulas(tmp_path: Path) -> None:
    cells = [
        "-5",
        "+49 (30) 1234",
        "- milk",
        "@ann",
        "a = b",
        "==",
        "",
        "1-2",
        "-",
        "x@y.example",
        "--- (none)",
        "+49 (0) 30",
        "-5 (net)",
        "== a ==",
        -2,
    ]
    async with data(tmp_path) as ask:
        plan = await ask("preview_csv", path="new.csv", columns=["a"], rows=[[cell] for cell in cells])
    assert plan["note"] == ""


async def test_values_of_a_database_that_json_does_not_know_are_read_like_all_others(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as base, base:
        base.execute("CREATE TABLE t(a, b)")
        for value in ("'x'", "1", "NULL", "9e999", "x'00ff'", "CAST(x'41ff' AS TEXT)"):
            base.execute(f"INSERT INTO t VALUES ({value}, 1), ({value}, 1)")
        base.execute("CREATE TABLE plain(a, b)")
        base.executemany("INSERT INTO plain VALUES (?, ?)", [("x", 1), ("x", 1), (None, 2)])
    async with data(tmp_path) as ask:
        told = await ask("deduplicate_records", path="t.sqlite", table="t")
        plain = await ask("deduplicate_records", path="t.sqlite", table="plain")
    assert (told["records"], len(told["groups"])) == (12, 6)
    assert (plain["records"], len(plain["groups"])) == (3, 1)
    shown = json.dumps(told["groups"], ensure_ascii=False)
    for value in ("inf", "(binary, 2 bytes, SHA-256", "A\ufffd"):
        assert value in shown
    assert (told["assumed"], plain["assumed"]) == (UNLIKE, [])


UNLIKE = [
    "Values that are binary, read as their size and SHA-256: 2.",
    "Values that are not UTF-8 text, read as text with \ufffd for what is none: 2.",
    "Values that are infinite, read as the words for that: 2.",
]


async def test_the_card_says_which_values_of_a_database_are_written_as_others(tmp_path: Path) -> None:
    root = tmp_path / "files"
    root.mkdir()
    with closing(sqlite3.connect(root / "t.sqlite")) as base, base:
        base.execute("CREATE TABLE t(a, b)")
        for value in ("1", "x'00ff'", "CAST(x'41ff' AS TEXT)", "-9e999"):
            base.execute(f"INSERT INTO t VALUES ({value}, 1), ({value}, 1)")
    call = {"source": "t.sqlite", "table": "t", "destination": "t.csv"}
    async with gated(tmp_path / "logs", "data", server([root])) as gate:
        card = (await gate.look("write_without_duplicates", **call)).preview
    assert card.diff.splitlines()[:3] == UNLIKE


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1,2026-01-01,5\n2,2026-01-02,6\n1,2026-01-01,5\n", "1; 2026-01-01; 5"),
        ("Ann;Bonn;yes\nBob;Bonn;no\nCyd;Kiel;no\n", "Ann; Bonn; yes"),
        ("ann@example.com,12.5,7\nbob@example.com,3,4\n", "ann@example.com; 12.5; 7"),
    ],
)
async def test_a_first_line_that_may_be_a_record_is_said_to_be_taken_for_names(
    tmp_path: Path, text: str, shown: str
) -> None:
    note = f"The first line was taken for names of columns, though it may be a record: {shown}."
    async with data(tmp_path, a_csv=text) as ask:
        assert (await ask("deduplicate_records", path="a.csv"))["assumed"][0] == note
        assert (await ask("summarize_anomalies", path="a.csv"))["assumed"][0] == note


async def test_names_of_columns_are_taken_for_that_without_a_word(tmp_path: Path) -> None:
    async with data(tmp_path, a_csv="name,1st half,2026,note\nAnn,1,2,2026\nBob,3,4,x\n") as ask:
        assert (await ask("deduplicate_records", path="a.csv"))["assumed"] == []


async def test_the_mark_of_utf_8_before_other_bytes_loses_no_letter_of_a_table(tmp_path: Path) -> None:
    """All umlauts of the rows that stayed became U+FFFD, and the card did not say so."""
    text = "Müller;Düsseldorf\nJörg;Köln\nJörg;Köln\n"
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfname;city\n" + text.encode("latin-1"))
    async with data(tmp_path) as ask:
        call = {"source": "a.csv", "destination": "b.csv"}
        plan = await ask("preview_without_duplicates", call=call)
        await ask("write_without_duplicates", **call)
    assert "it was read as Windows-1252, which is a guess" in plan["removed"]
    assert (tmp_path / "b.csv").read_text().splitlines() == ["name;city", "Müller;Düsseldorf", "Jörg;Köln"]
