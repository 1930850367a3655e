"""What a source hides from whoever opens it is written by a conversion, and said on its card."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import OxmlElement

from servers.formats import hidden, office
from servers.sandbox.protocol import Refused
from tests.servers import papers
from tests.servers.test_document_reading import documents
from tests.servers.test_pdf_sound import layered

ONE = "it hides 1 part of its text, written here too"


def letter(change: Callable[[Any], None]) -> bytes:
    document = docx.Document()
    document.add_paragraph("Pay 100 EUR to ACME.")
    change(document)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def hidden_run(document: Any) -> None:
    document.paragraphs[0].add_run(" Pay 900 EUR.").font.hidden = True


def hidden_paragraph(document: Any) -> None:
    base = document.styles.add_style("Unseen", WD_STYLE_TYPE.PARAGRAPH)
    base.font.hidden = True
    document.styles.add_style("Above", WD_STYLE_TYPE.PARAGRAPH).base_style = base
    document.add_paragraph("Pay 900 EUR.", "Above").add_run(" Seen.").font.hidden = False


def hidden_letters(document: Any) -> None:
    document.styles.add_style("Unseen", WD_STYLE_TYPE.CHARACTER).font.hidden = True
    document.paragraphs[0].add_run(" Pay 900 EUR.", "Unseen")


def hidden_by_itself(document: Any) -> None:
    document.styles["Normal"].font.hidden = True


def hidden_row(document: Any) -> None:
    table = document.add_table(1, 1)
    table.cell(0, 0).text = "Pay 900 EUR."
    table.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:hidden"))


def commented(document: Any) -> None:
    document.add_comment(document.paragraphs[0].runs, "Pay 900 EUR.", "Ann")


def seen(document: Any) -> None:
    document.paragraphs[0].add_run(" Pay it now.").font.hidden = False
    document.add_paragraph().add_run(" ").font.hidden = True
    document.styles.add_style("Unseen", WD_STYLE_TYPE.CHARACTER).font.hidden = True


def book(change: Callable[[Any, Any], None]) -> bytes:
    made = openpyxl.Workbook()
    sheet = made.create_sheet("Prices")
    for row in (["what", "sum"], ["rent", 100], ["bribe", 900]):
        sheet.append(row)
    made["Sheet"].append(["what", "sum"])
    made.active = 1
    change(made["Sheet"], sheet)
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def hide(thing: Any) -> None:
    thing.hidden = True


LETTERS = {
    "a run": (hidden_run, ONE),
    "a style of a paragraph": (hidden_paragraph, ONE),
    "a style of letters": (hidden_letters, ONE),
    "the style that all have": (hidden_by_itself, ONE),
    "a row of a table": (hidden_row, ONE),
    "a comment": (commented, "it has 1 comment in it, written here too"),
    "nothing": (seen, ""),
}
BOOKS = {
    "a sheet": (lambda first, _: setattr(first, "sheet_state", "veryHidden"), ONE),
    "a row": (lambda _, sheet: hide(sheet.row_dimensions[3]), ONE),
    "a column": (lambda _, sheet: hide(sheet.column_dimensions["B"]), ONE),
    "what is empty": (lambda _, sheet: (hide(sheet.row_dimensions[9]), hide(sheet.column_dimensions["H"])), ""),
}  # fmt: skip
PAGES = {
    "an element": ("<p hidden>Pay 900.</p>", ONE),
    "a style": ('<p style="color: red; DISPLAY : none">Pay 900.</p>', ONE),
    "a style with a remark": ('<p style="display:/*;*/none">Pay 900.</p>', ONE),
    "a sign by its number": (r'<p style="d\69splay:none">Pay 900.</p>', ONE),
    "no size": ('<p style="font-size:0.0px">Pay 900.</p>', ONE),
    "an opacity without a nought": ('<p style="opacity:.0">Pay 900.</p>', ONE),
    "an opacity below none": ('<p style="opacity: -1">Pay 900.</p>', ONE),
    "an opacity of next to none": ('<p style="opacity:1e-9">Pay 900.</p>', ONE),
    "a nought with many digits": ('<p style="opacity:+0.000000000000">Pay 900.</p>', ONE),
    "a font of no size": ('<p style="font: 0 Arial">Pay 900.</p>', ONE),
    "what shows when it is asked for": ("<div popover>Pay 900.</div>", ONE),
    "what stands in for a frame": ("<iframe>Pay 900.</iframe>", ONE),
    "what stands in for a film": ("<video controls><source src=x><p>Pay 900.</p> Pay 800.</video>", ONE),
    "behind a box in another": ("<object><object></object>Pay 900.</object>", ONE),
    "behind a frame that does not end": ("<iframe/>Pay 900.", ONE),
    "nothing in boxes": (
        "<p>Pay.</p><iframe src=x style='display:none'></iframe><video src=x> </video><canvas><script>1</script></canvas>"
        "<object data=x></object><ruby>a<rp>(</rp><rt>b</rt></ruby> Pay.", "",
    ),
    "a sheet of styles": ("<style>.x { visibility: hidden }</style><p class=x>Pay 900.</p>", ONE),
    "a closed box": ("<dialog>Pay 900.</dialog>", ONE),
    "two": ("<p hidden>Pay 900.</p><p hidden>Pay 800.</p>", "it hides 2 parts of its text"),
    "nothing": ('<p style="font-size:0.9em; opacity:.5; display:block; font:0.9em Arial">Pay.</p><input type=hidden><details open>a</details>', ""),
}  # fmt: skip


async def note(folder: Path, source: str, data: bytes, to: str) -> str:
    """What the card of a conversion says behind its sentence."""
    call = {"source": source.replace("_", "."), "destination": f"new.{to}"}
    async with documents(folder, **{source: data}) as ask:
        plan = await ask("preview_document", make="convert_format", call=call)
    return str(plan["note"])


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("to", ["pdf", "md"])
@pytest.mark.parametrize(("change", "why"), LETTERS.values(), ids=LETTERS)
async def test_what_a_letter_hides_is_said(
    tmp_path: Path, change: Callable[[Any], None], why: str, to: str
) -> None:
    assert await note(tmp_path, "a_docx", letter(change), to) == (f" ({why})" if why else "")


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(("change", "why"), BOOKS.values(), ids=BOOKS)
async def test_what_a_book_hides_is_said(
    tmp_path: Path, change: Callable[[Any, Any], object], why: str
) -> None:
    assert await note(tmp_path, "a_xlsx", book(change), "pdf") == (f" ({why})" if why else "")


@pytest.mark.parametrize(("page", "why"), PAGES.values(), ids=PAGES)
async def test_what_a_page_hides_is_said(tmp_path: Path, page: str, why: str) -> None:
    said = await note(tmp_path, "a_html", page.encode(), "docx")
    assert (why in said) if why else said == ""


async def test_tracked_changes_are_said(tmp_path: Path) -> None:
    data = papers.swapped(
        letter(seen), "word/document.xml", b"<w:r><w:t>Pay 100", b"<w:ins><w:r><w:t>Pay 100"
    )
    data = papers.swapped(data, "word/document.xml", b"ACME.</w:t></w:r>", b"ACME.</w:t></w:r></w:ins>")
    assert "it has tracked changes (1 added, 0 removed), shown as" in await note(
        tmp_path, "a_docx", data, "pdf"
    )


async def test_layers_of_a_pdf_are_said(tmp_path: Path) -> None:
    assert "it has layers, of which those that are hidden are read too" in await note(
        tmp_path, "a_pdf", layered(), "docx"
    )


@pytest.mark.slow
async def test_the_first_sheet_is_one_that_is_shown(tmp_path: Path) -> None:
    data = book(lambda first, _: setattr(first, "sheet_state", "hidden"))
    async with documents(tmp_path, a_xlsx=data) as ask:
        call = {"source": "a.xlsx", "destination": "new.csv"}
        plan = await ask("preview_document", make="convert_format", call=call)
        assert (await ask("read_spreadsheet", path="a.xlsx"))["sheet"] == "Prices"
    assert plan["note"] == " (the first sheet alone: left out is Sheet)"
    assert "+rent,100" in plan["difference"]


def test_a_column_of_no_width_is_hidden() -> None:
    data = book(lambda _, sheet: setattr(sheet.column_dimensions["A"], "width", 7))
    assert hidden.in_book(data) == 0
    assert hidden.in_book(papers.swapped(data, "xl/worksheets/sheet2.xml", b'width="7"', b'width="0.0"')) == 1


def test_a_sheet_with_columns_that_are_none_is_refused() -> None:
    data = book(lambda _, sheet: hide(sheet.column_dimensions["B"]))
    broken = papers.swapped(data, "xl/worksheets/sheet2.xml", b'min="2"', b'min="x"')
    assert office.first_sheet(broken) == "Sheet"
    with pytest.raises(Refused, match="has a sheet that is broken"):
        hidden.in_book(broken)
