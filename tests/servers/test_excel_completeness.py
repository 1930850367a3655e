"""Excel files as offices have them: comments, charts, postcodes, hours, and a form that cannot be read."""

from __future__ import annotations

import io
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment

from tests.servers.test_document_reading import documents

STRICT = {
    b"http://schemas.openxmlformats.org/spreadsheetml/2006/main": b"http://purl.oclc.org/ooxml/spreadsheetml/main",
    b"http://schemas.openxmlformats.org/officeDocument/2006/relationships": b"http://purl.oclc.org/ooxml/officeDocument"
    b"/relationships",
}


def saved(book: Workbook) -> bytes:
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def strict(data: bytes) -> bytes:
    """As Excel saves “Strict Open XML”."""
    return replaced(data, STRICT)


def replaced(data: bytes, words: dict[bytes, bytes]) -> bytes:
    """The file with other words in its parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            for one, other in words.items():
                content = content.replace(one, other)
            new.writestr(name, content)
    return out.getvalue()


def orders() -> Workbook:
    book = Workbook()
    sheet = book.active
    assert sheet
    sheet.title = "Orders"
    sheet.append(["postcode", "hours", "sum"])
    sheet.append([1067, timedelta(hours=30, minutes=5), 12])
    sheet["A2"].number_format = "00000"
    sheet["B2"].number_format = "[h]:mm:ss"
    return book


@pytest.mark.slow
async def test_a_postcode_keeps_its_zeros_and_hours_are_not_days(tmp_path: Path) -> None:
    async with documents(tmp_path, a_xlsx=saved(orders())) as ask:
        assert (await ask("read_spreadsheet", path="a.xlsx"))["rows"][1] == ["01067", "30:05:00", 12]
        await ask("convert_format", source="a.xlsx", destination="a.csv")
    assert (tmp_path / "a.csv").read_text() == "postcode,hours,sum\n01067,30:05:00,12\n"


@pytest.mark.slow
async def test_comments_on_cells_are_read_or_named(tmp_path: Path) -> None:
    book = orders()
    book["Orders"]["C2"].comment = Comment("Ann:\nCheck this\nagain", "Ann")
    line = "[note on C2] Ann: Check this again"
    call = {"source": "a.xlsx", "destination": "a.csv"}
    async with documents(tmp_path, a_xlsx=saved(book)) as ask:
        assert (await ask("extract_text", path="a.xlsx"))["text"].endswith(f"\t12\n\n{line}\n")
        note = "has 1 comment on its cells, which reading its text shows"
        assert (await ask("read_spreadsheet", path="a.xlsx"))["note"] == f"a.xlsx {note}."
        assert (await ask("preview_document", make="convert_format", call=call))["note"] == f" (it {note})"
        await ask("convert_format", source="a.xlsx", destination="a.docx")
        assert line in (await ask("extract_text", path="a.docx"))["text"]


@pytest.mark.slow
async def test_a_sheet_that_is_a_chart_does_not_keep_the_others_from_being_read(tmp_path: Path) -> None:
    book = orders()
    chart = BarChart()
    chart.add_data(Reference(book["Orders"], min_col=3, min_row=1, max_row=2))
    book.create_chartsheet("Picture").add_chart(chart)
    async with documents(tmp_path, a_xlsx=saved(book)) as ask:
        told = await ask("extract_text", path="a.xlsx")
        assert told["text"].startswith("postcode\thours\tsum\n")
        assert told["note"] == "a.xlsx has sheets that are charts, which are not read (Picture)."
        assert (await ask("read_spreadsheet", path="a.xlsx"))["sheets"] == ["Orders"]
        assert "has a chart for its sheet “Picture”" in await ask.refused(
            "read_spreadsheet", path="a.xlsx", sheet="Picture"
        )


async def test_the_strict_form_of_excel_is_refused_and_not_read_as_empty(tmp_path: Path) -> None:
    async with documents(tmp_path, a_xlsx=strict(saved(orders()))) as ask:
        assert "Strict Open XML" in await ask.refused("extract_text", path="a.xlsx")
        assert "Strict Open XML" in await ask.refused("read_spreadsheet", path="a.xlsx")
        assert "Strict Open XML" in await ask.refused("convert_format", source="a.xlsx", destination="a.docx")


async def test_an_empty_cell_at_the_beginning_of_the_text_of_a_sheet_stays_one(tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet
    sheet.append([None, "Q1", "Q2"])
    sheet.append(["North", 1, 2])
    async with documents(tmp_path, a_xlsx=saved(book)) as ask:
        assert (await ask("extract_text", path="a.xlsx"))["text"] == "\tQ1\tQ2\nNorth\t1\t2\n"


@pytest.mark.parametrize("digits", [300, 301, 401, 4300])
async def test_a_number_with_very_many_digits_is_read_as_text(tmp_path: Path, digits: int) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet
    sheet.append([7890, 12])
    number = "7" * digits
    data = replaced(saved(book), {b"<v>7890</v>": f"<v>{number}</v>".encode()})
    async with documents(tmp_path, a_xlsx=data) as ask:
        rows = (await ask("read_spreadsheet", path="a.xlsx"))["rows"]
    assert rows == [[int(number) if digits == 300 else number, 12]]
