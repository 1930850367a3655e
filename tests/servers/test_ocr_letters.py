"""Tables of PDFs are read with the letters of the file, where these are what people see on the page."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from reportlab.lib import colors
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, SimpleDocTemplate, Spacer, Table

from servers.formats.pdf_letters import Letters, exact, exact_lines
from tests.servers.test_ocr_tools import pictures, tesseract  # noqa: F401 - the second is a fixture

GRID = [("GRID", (0, 0), (-1, -1), 0.5, colors.black)]
FIRST = [["A", "B"], ["1", "2"], ["3", "4"]]
SECOND = [["X", "Y", "Z"], ["7", "8", "9"], ["10", "", "12"]]


def page(*parts: Flowable) -> bytes:
    out = io.BytesIO()
    SimpleDocTemplate(out, invariant=1).build([*parts])
    return out.getvalue()


def said(answer: dict[str, Any]) -> list[list[str]]:
    return [[cell for cell in row if cell] for row in answer["rows"]]


@pytest.mark.slow
@pytest.mark.usefixtures("tesseract")
async def test_short_numbers_in_the_tables_of_a_pdf_are_read_as_they_are(tmp_path: Path) -> None:
    data = page(Table(FIRST, style=GRID), Spacer(1, 60), Table(SECOND, style=GRID))
    async with pictures(tmp_path, a_pdf=data) as ask:
        told = await ask("extract_table", path="a.pdf")
    assert said(told) == [["A", "B"], ["1", "2"], ["3", "4"], ["X", "Y", "Z"], ["7", "8", "9"], ["10", "12"]]


@pytest.mark.slow
@pytest.mark.usefixtures("tesseract")
@pytest.mark.parametrize("way", ["white", "not drawn"])
async def test_letters_that_nobody_sees_are_not_read(tmp_path: Path, way: str) -> None:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    for n, row in enumerate(
        [["Goods", "Quantity", "Price"], ["Pens", "120", "4.50"], ["Paper", "350", "7.25"]]
    ):
        for m, cell in enumerate(row):
            canvas.drawString(100 + 120 * m, 700 - 30 * n, cell)
    text = canvas.beginText(100, 500)
    text.setTextRenderMode(3 if way == "not drawn" else 0)
    text.setFillColor(colors.white if way == "white" else colors.black)
    text.textLine("Secret 999")
    canvas.drawText(text)
    canvas.save()
    async with pictures(tmp_path, a_pdf=out.getvalue()) as ask:
        told = await ask("extract_table", path="a.pdf")
    assert said(told) == [["Goods", "Quantity", "Price"], ["Pens", "120", "4.50"], ["Paper", "350", "7.25"]]


def test_letters_that_say_something_else_than_the_page_are_not_taken() -> None:
    read = [["Total", 10, 10, 50, 12, 0.95, [1, 1, 1]], ["900.00", 80, 10, 60, 12, 0.95, [1, 1, 1]]]
    other = [Letters("Gratis", 10, 10, 60, 22), Letters("100.00", 80, 10, 140, 22)]
    assert exact(read, other) == read
    same = [Letters("Total", 10, 10, 60, 22), Letters("900.00", 80, 10, 140, 22)]
    assert [word[0] for word in exact(read, same)] == ["Total", "900.00"]
    assert exact(read, same)[0][5:] == [1.0, [1, 1, 1]]
    assert exact(read, []) == read


def test_what_is_in_a_picture_on_the_page_stays() -> None:
    read = [["Total", 10, 10, 50, 12, 0.95, [1, 1, 1]], ["stamped", 80, 90, 60, 12, 0.6, [2, 1, 1]]]
    words = exact(read, [Letters("Total", 10, 10, 60, 22)])
    assert [word[0] for word in words] == ["Total", "stamped"]


def letter(text: str, size: float = 9) -> bytes:
    """A page in two columns, of letters so small that they are read badly off a picture."""
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    for x in (60, 320):
        canvas.setFont("Helvetica", size)
        for n in range(6):
            canvas.drawString(x, 760 - 14 * n, f"Column {x} line {n + 1}")
    canvas.setFont("Courier", size)
    for n, line in enumerate(text.splitlines()):
        canvas.drawString(60, 600 - 14 * n, line)
    canvas.save()
    return out.getvalue()


SMALL = "Invoice No: l0O-11I8B\nTotal: EUR 1,108.50\nIBAN: DE89 3704 0044 0532 0130 00\n"


@pytest.mark.slow
@pytest.mark.usefixtures("tesseract")
async def test_the_text_and_the_values_of_a_pdf_are_read_with_the_letters_of_the_file(tmp_path: Path) -> None:
    async with pictures(tmp_path, a_pdf=letter(SMALL, 6)) as ask:
        values = await ask("extract_structured_data", path="a.pdf")
        told = await ask("extract_text_from_pdf", path="a.pdf")
    assert ("Invoice No", "l0O-11I8B") in [(one["label"], one["value"]) for one in values["fields"]]
    text = told["read"][0]["text"]
    assert [line for line in SMALL.splitlines() if line not in text.splitlines()] == []
    columns = [f"Column {x} line {n + 1}" for x in (60, 320) for n in range(6)]
    assert [line for line in text.splitlines() if line.startswith("Column")] == columns


def test_letters_that_were_not_seen_are_lines_of_their_own_in_their_place() -> None:
    read = [
        ["Total", 10, 10, 50, 12, 0.95, [1, 1, 1]],
        ["90O.00", 80, 10, 60, 12, 0.9, [1, 1, 1]],
        ["Thanks", 10, 90, 60, 12, 0.95, [1, 2, 1]],
    ]
    there = [
        Letters("Thanks", 10, 90, 70, 102),
        Letters("Net", 10, 50, 40, 62),
        Letters("30", 50, 50, 70, 62),
        Letters("Total", 10, 10, 60, 22),
        Letters("900.00", 80, 10, 140, 22),
        Letters("EUR", 150, 10, 180, 22),
    ]
    words = exact_lines(read, there)
    assert [word[0] for word in words] == ["Total", "900.00", "EUR", "Net", "30", "Thanks"]
    assert [word[6] for word in words[:3]] == [[1, 1, 1]] * 3
    assert words[3][6] == words[4][6] not in [word[6] for word in read]
    assert exact_lines(read, []) == read
