"""Tables of PDFs are read with the letters of the file, where these are what people see on the page."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from string import digits
from typing import Any

import pypdfium2
import pytest
from reportlab.lib import colors
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, SimpleDocTemplate, Spacer, Table

from servers.formats.pdf_letters import Letters, Merged, exact, exact_lines, look_alike
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
    assert exact(read, other) == Merged(read, differing=2)
    same = [Letters("Total", 10, 10, 60, 22), Letters("900.00", 80, 10, 140, 22)]
    told = exact(read, same)
    assert ([word[0] for word in told.words], told.differing) == (["Total", "900.00"], 0)
    assert told.words[0][5:] == [1.0, [1, 1, 1]]
    assert exact(read, []) == Merged(read)


def test_what_is_in_a_picture_on_the_page_stays() -> None:
    read = [["Total", 10, 10, 50, 12, 0.95, [1, 1, 1]], ["stamped", 80, 90, 60, 12, 0.6, [2, 1, 1]]]
    words = exact(read, [Letters("Total", 10, 10, 60, 22)]).words
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
    words = exact_lines(read, there).words
    assert [word[0] for word in words] == ["Total", "900.00", "EUR", "Net", "30", "Thanks"]
    assert [word[6] for word in words[:3]] == [[1, 1, 1]] * 3
    assert words[3][6] == words[4][6] not in [word[6] for word in read]
    assert exact_lines(read, []) == Merged(read)


BILL = ["Invoice of Acme Limited", "Pay to Anna Miller", "Rent for March and April", "Total: EUR 100.00"]
DIFFERS = "The file's own text differs, so hold this against the picture: page 1 (in 2 places)."
PRICES = [
    "Goods          Quantity       Price",
    "Pens           120            100.00",
    "Miller         350            7.25",
]


def hiding(shown: Sequence[str], hidden: Sequence[str]) -> bytes:
    """A page with a picture of some lines, and letters of other lines below it."""
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    plain = lined(Canvas(below := io.BytesIO(), invariant=1), shown)
    plain.save()
    picture = pypdfium2.PdfDocument(below.getvalue())[0].render(scale=200 / 72).to_pil()
    lined(canvas, hidden).drawImage(ImageReader(picture), 0, 0, *plain._pagesize)
    canvas.save()
    return out.getvalue()


def others(lines: Sequence[str]) -> list[str]:
    return [line.replace("Miller", "Muster").replace("100.00", "900.00") for line in lines]


def lined(canvas: Canvas, lines: Sequence[str]) -> Canvas:
    canvas.setFont("Courier", 14)
    for n, line in enumerate(lines):
        canvas.drawString(80, 700 - 30 * n, line)
    return canvas


@pytest.mark.slow
@pytest.mark.usefixtures("tesseract")
async def test_letters_below_a_picture_do_not_replace_the_words_that_people_see(tmp_path: Path) -> None:
    files = {"a_pdf": hiding(BILL, others(BILL)), "b_pdf": hiding(BILL, BILL)}
    async with pictures(tmp_path, **files, c_pdf=hiding(PRICES, others(PRICES))) as ask:
        told = await ask("extract_text_from_pdf", path="a.pdf")
        values = await ask("extract_structured_data", path="a.pdf")
        same = await ask("extract_text_from_pdf", path="b.pdf")
        table = await ask("extract_table", path="c.pdf")
    assert [line for line in told["read"][0]["text"].splitlines() if line] == BILL
    assert "EUR 100.00" in [one["value"] for one in values["fields"]]
    assert said(table) == [line.split() for line in PRICES]
    assert [one["note"] for one in (told, values, table, same)] == [*[DIFFERS] * 3, ""]


INVOICE = ["Invoice", 10, 10, 90, 12, 0.95, [1, 1, 1]]
LABEL = Letters("Invoice", 10, 10, 100, 22)


@pytest.mark.parametrize(
    ("shown", "there", "taken"),
    [
        ("100-1118B", "l0O-11I8B", True),
        ("Muller", "Müller", True),
        ("modem", "modern", True),
        ("final", "\ufb01nal", True),
        ("1O0.00", "100.00", True),
        ("100.00", "900.00", False),
        ("1000", "10.00", False),
        ("-5.00", "5.00", False),
        ("$5", "€5", False),
        ("$", "€", False),
        ("1,250.00", "1.250,00", True),
        ("¢", "•", True),
        ("Miller", "Mallory", False),
        ("ann@paypal.example", "ann@pay-pal.example", False),
        ("Total", "Total:", True),
    ],
)
def test_letters_are_taken_for_a_sure_word_where_both_look_alike(shown: str, there: str, taken: bool) -> None:
    read = [INVOICE, [shown, 110, 10, 60, 12, 0.9, [1, 1, 1]]]
    told = exact(read, [LABEL, Letters(there, 110, 10, 170, 22)])
    assert told.words[1] == ([there, *read[1][1:5], 1.0, [1, 1, 1]] if taken else read[1])
    assert told.differing == (0 if taken else 1)


def test_no_two_digits_look_alike() -> None:
    assert [(a, b) for a in digits for b in digits if a < b and look_alike(a, b)] == []


def test_letters_for_a_word_that_is_hard_to_read_are_no_surer_than_it() -> None:
    told = exact(
        [INVOICE, ["l98.OB", 110, 10, 60, 12, 0.4, [1, 1, 1]]], [LABEL, Letters("900.00", 110, 10, 170, 22)]
    )
    assert told.words[1] == ["900.00", 110, 10, 60, 12, 0.4, [1, 1, 1]]
    assert told.differing == 1


def test_letters_where_nothing_was_read_are_not_sure() -> None:
    told = exact([INVOICE], [LABEL, Letters("30", 110, 10, 130, 22)])
    assert [word[0] for word in told.words] == ["Invoice", "30"]
    assert told.words[1][5] < 0.6
    assert told.differing == 1


def test_large_letters_over_many_words_remove_none_of_them() -> None:
    read = [INVOICE, ["100.00", 110, 10, 60, 12, 0.9, [1, 1, 1]], ["Thanks", 10, 40, 60, 12, 0.9, [2, 1, 1]]]
    told = exact(read, [LABEL, Letters("Gratis", 0, 0, 300, 60)])
    assert [word[0] for word in told.words] == ["Invoice", "Gratis", "100.00", "Thanks"]
    assert [word[5] for word in told.words if word[0] != "Gratis"] == [1.0, 0.9, 0.9]


def test_a_word_that_is_read_in_parts_is_taken_whole() -> None:
    parts = [["2026-", 110, 10, 28, 12, 0.9, [1, 1, 1]], ["O117", 142, 10, 28, 12, 0.9, [1, 1, 1]]]
    whole = Letters("2026-0117", 110, 10, 170, 22)
    assert [word[0] for word in exact([INVOICE, *parts], [LABEL, whole]).words] == ["Invoice", "2026-0117"]
    other = exact([INVOICE, *parts], [LABEL, whole._replace(text="2025-0999")])
    assert (other.words[1:], other.differing) == (parts, 1)
