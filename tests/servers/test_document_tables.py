"""Tables of documents: each value stays in its column and row, whatever reaches over several, and none is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from servers.formats import html
from servers.formats.blocks import plain
from tests.servers import papers
from tests.servers.test_document_reading import documents


def table(page: str) -> list[list[str]]:
    [found] = (block for block in html.read(page) if block.kind == "table")
    return [[plain(cell) for cell in row] for row in found.rows]


@pytest.mark.parametrize(
    ("page", "rows"),
    [
        (
            "<tr><th>Region<th>Q1<th>Q2<th>Sum<tr><td>North<td colspan=2>closed<td>0<tr><td>South<td><td>2<td>2",
            [["Region", "Q1", "Q2", "Sum"], ["North", "closed", "", "0"], ["South", "", "2", "2"]],
        ),
        (
            "<tr><td rowspan=2>South</td><td>1</td><td>2</td></tr><tr><td>4</td><td>5</td></tr><tr><td>a</td></tr>",
            [["South", "1", "2"], ["", "4", "5"], ["a", "", ""]],
        ),
        (
            "<tr><td>1</td><td rowspan='2' colspan=2>block</td><td>2</td></tr><tr><td>3</td><td>4</td></tr>",
            [["1", "block", "", "2"], ["3", "", "", "4"]],
        ),
        (
            "<tr><td>a</td><td rowspan=0>all</td></tr><tr><td>b</td></tr><tr><td>c</td><td>d</td></tr>",
            [["a", "all", ""], ["b", "", ""], ["c", "", "d"]],
        ),
        ("<tr><td colspan='x'>a</td><td rowspan=-1>b</td></tr>", [["a", "b"]]),
        (
            "<tr><td rowspan=2>a</td><td>b</td></tr><tr></tr><tr><td>c</td><td>d</td></tr>",
            [["a", "b"], ["c", "d"]],
        ),
    ],
)
def test_cells_that_reach_over_others_leave_them_their_columns(page: str, rows: list[list[str]]) -> None:
    assert table(f"<table>{page}</table>") == rows


async def test_a_page_with_such_a_table_becomes_a_file_with_each_value_in_its_column(tmp_path: Path) -> None:
    page = b"<table><tr><th>Region<th>Q1<th>Q2<tr><td rowspan=2>South<td>1<td>2<tr><td>4<td>5</table>"
    async with documents(tmp_path, a_html=page) as ask:
        await ask("convert_format", source="a.html", destination="a.csv")
    assert (tmp_path / "a.csv").read_text() == "Region,Q1,Q2\nSouth,1,2\n,4,5\n"


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    ("data", "ending"),
    [
        (papers.xlsx([["day", "sum", "sum", None], ["Mon", 1, 2, "x"]]), "xlsx"),
        (b"day,sum,sum,\nMon,1,2,x\n", "csv"),
    ],
)
async def test_columns_of_one_name_or_of_none_all_become_json(
    tmp_path: Path, data: bytes, ending: str
) -> None:
    call = {"source": f"a.{ending}", "destination": "a.json"}
    async with documents(tmp_path, **{f"a_{ending}": data}) as ask:
        plan = await ask("preview_document", make="convert_format", call=call)
        await ask("convert_format", **call)
    [record] = json.loads((tmp_path / "a.json").read_text())
    assert record == {"day": "Mon", "sum": 1, "sum (2)": 2, "column 4": "x"}
    assert plan["note"] == " (it has columns of the same name, told apart: “sum (2)” (column 3))"


@pytest.mark.parametrize("to", ["csv", "xlsx", "json"])
async def test_text_beside_the_table_that_is_taken_out_of_a_document_is_said_to_be_left_out(
    tmp_path: Path, to: str
) -> None:
    note = " (it has 2 parts of text beside the table, left out here)"
    async with documents(tmp_path, a_md=b"# Costs\n\nIn EUR.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n") as ask:
        call = {"source": "a.md", "destination": f"a.{to}"}
        assert (await ask("preview_document", make="convert_format", call=call))["note"] == note
