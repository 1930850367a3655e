"""PDFs hold more than the text of their pages: what is filled in, noted, put in as a file, or there as a picture."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image
from pypdf import PdfWriter
from pypdf.annotations import FreeText, Link, Text
from pypdf.generic import Fit
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from servers.security import server as security
from tests.servers import papers
from tests.servers.gate_around_server import gated
from tests.servers.test_document_reading import documents


def written(change: PdfWriter) -> bytes:
    out = io.BytesIO()
    change.write(out)
    return out.getvalue()


def page(*lines: str) -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    for n, line in enumerate(lines):
        canvas.drawString(100, 750 - 20 * n, line)
    canvas.save()
    return out.getvalue()


def noted() -> bytes:
    change = PdfWriter(clone_from=io.BytesIO(page("The rent is 900 EUR.")))
    change.add_annotation(0, FreeText(text="Make it 850 EUR.", rect=(50, 550, 200, 650)))
    change.add_annotation(0, Text(text="Ask Bob.", rect=(50, 450, 200, 500), title_bar="Ann"))
    change.add_annotation(0, Link(target_page_index=0, rect=(0, 0, 9, 9), fit=Fit.fit()))
    return written(change)


@pytest.mark.slow
async def test_what_is_filled_into_a_form_is_a_part_of_its_text(tmp_path: Path) -> None:
    async with documents(tmp_path, a_pdf=papers.form("Ann Lee"), b_pdf=papers.form("Bob Roe")) as ask:
        await ask(
            "fill_pdf_form", path="a.pdf", values={"agreed": True, "size": "large"}, destination="a.pdf"
        )
        told = await ask("extract_text", path="a.pdf")
        assert told["text"] == "Form\n\nname: Ann Lee\nagreed: Yes\nsize: large\n"
        differs = await ask("diff_documents", first="a.pdf", second="b.pdf")
        assert not differs["same_text"]
        assert "~name: [-Ann-]{+Bob+} [-Lee-]{+Roe+}" in differs["difference"]


async def test_what_people_wrote_onto_a_page_is_a_part_of_its_text(tmp_path: Path) -> None:
    async with documents(tmp_path, a_pdf=noted()) as ask:
        text = (await ask("extract_text", path="a.pdf"))["text"]
    assert text == "The rent is 900 EUR.\n\n[note] Make it 850 EUR.\n[note] Ann: Ask Bob.\n"


async def test_personal_data_in_a_form_is_found(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.pdf").write_bytes(papers.form("ann.lee@mail.example.org"))
    async with gated(tmp_path / "logs", "security", security([tmp_path / "files"])) as gate:
        assert (await gate("scan_for_pii", path="a.pdf"))["kinds"] == {"email": 1}


async def test_a_file_inside_of_a_pdf_is_named_as_not_read(tmp_path: Path) -> None:
    change = PdfWriter(clone_from=io.BytesIO(page("Invoice")))
    change.add_attachment("factur-x.xml", b"<total>900</total>")
    async with documents(tmp_path, a_pdf=written(change)) as ask:
        told = await ask("extract_text", path="a.pdf")
    assert told["note"] == "a.pdf has a file in it that this does not read (factur-x.xml)."


async def test_a_scan_with_a_line_of_text_is_said_to_be_a_picture(tmp_path: Path) -> None:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    canvas.drawString(50, 800, "Page 1 of 1, scanned")
    canvas.drawImage(ImageReader(Image.new("L", (1_000, 1_400), 255)), 50, 50, 500, 700)
    canvas.save()
    async with documents(tmp_path, a_pdf=out.getvalue()) as ask:
        told = await ask("extract_text", path="a.pdf")
    assert told["note"] == (
        "a.pdf has a large picture, of which no text is read (try the OCR tools), on page 1."
    )


async def test_a_scan_with_a_note_on_it_is_still_said_to_have_no_text(tmp_path: Path) -> None:
    change = PdfWriter(clone_from=io.BytesIO(page("")))
    change.add_annotation(0, FreeText(text="Paid.", rect=(50, 550, 200, 650)))
    async with documents(tmp_path, a_pdf=written(change)) as ask:
        told = await ask("extract_text", path="a.pdf")
    assert told["text"] == "[note] Paid.\n"
    assert "has no text: it is blank, or holds pictures of text" in told["note"]


@pytest.mark.slow
async def test_two_forms_put_together_keep_the_values_of_each(tmp_path: Path) -> None:
    call = {"sources": ["a.pdf", "b.pdf"], "destination": "c.pdf"}
    async with documents(tmp_path, a_pdf=papers.form("Ann"), b_pdf=papers.form("Bob")) as ask:
        await ask("merge_pdfs", **call)
        told = {
            field["name"]: field["value"] for field in (await ask("list_form_fields", path="c.pdf"))["fields"]
        }
        assert (told["name"], told["file 2.name"]) == ("Ann", "Bob")
        await ask("fill_pdf_form", path="c.pdf", values={"file 2.name": "Cyd"}, destination="c.pdf")
        text = (await ask("extract_text", path="c.pdf"))["text"]
        assert "\nname: Ann\n" in text
        assert "\nfile 2.name: Cyd\n" in text


async def test_files_inside_of_pdfs_are_said_to_be_left_out_when_these_are_put_together(
    tmp_path: Path,
) -> None:
    change = PdfWriter(clone_from=io.BytesIO(page("Invoice")))
    change.add_attachment("factur-x.xml", b"<total>900</total>")
    call = {"sources": ["a.pdf", "b.pdf"], "destination": "c.pdf"}
    async with documents(tmp_path, a_pdf=written(change), b_pdf=page("Letter")) as ask:
        plan = await ask("preview_document", make="merge_pdfs", call=call)
    assert plan["note"] == " (left out: the files inside of them, factur-x.xml)"
