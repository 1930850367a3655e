"""PDF files that are written anew say what they said: those that programs may read differently are refused."""

from __future__ import annotations

import io
from pathlib import Path

import pypdfium2
import pytest
from pypdf import PdfWriter

from servers.document import server
from servers.formats import pdf
from servers.sandbox.protocol import Refused
from tests.servers.gate_around_server import gated
from tests.servers.test_document_filling import WIDGET, drawn, folder, form, shown

TWICE = "says a thing twice"
CATALOG = b"<</Type/Catalog/Pages 2 0 R/AcroForm<</DA(/Helv 9 Tf)/Fields[4 0 R]%s>>>>"
PAGES = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
FONT = b"/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 99]/Annots[4 0 R]%s%%s>>" % FONT
ONE, OTHER = b"Rent 100 EUR", b"Rent 9000 EUR"


def stream(said: bytes) -> bytes:
    drawing = b"BT /F 12 Tf 5 50 Td (%s) Tj ET" % said
    return b"<</Length %d>>stream\n%s\nendstream" % (len(drawing), drawing)


def lease(contents: bytes = b"/Contents 5 0 R", in_form: bytes = b"", in_field: bytes = b"") -> bytes:
    field = b"<</FT/Tx/T(name)/V(1)%s%s>>" % (in_field, WIDGET)
    return drawn(CATALOG % in_form, PAGES, PAGE % contents, field, stream(ONE), stream(OTHER))


def updated(data: bytes, part: bytes) -> bytes:
    """With an update at its end that has another object 5."""
    start = len(data) + 1
    return (
        data
        + b"\n5 0 obj\n%s\nendobj\n" % part
        + b"xref\n5 1\n%010d 00000 n \ntrailer\n<</Size 7/Root 1 0 R/Prev %d>>\nstartxref\n%d\n%%%%EOF"
        % (start, data.rfind(b"xref\n0"), start + len(b"5 0 obj\n\nendobj\n") + len(part))
    )


def with_object_streams(font: bytes = b"/BaseFont/Helvetica") -> bytes:
    """The same with most of its objects in a stream, and a stream of references, as Word and pdfTeX write them."""
    field = b"<</FT/Tx/T(name)/V(1)%s>>" % WIDGET
    page = PAGE.replace(b"/BaseFont/Helvetica", font) % b"/Contents 5 0 R"
    inside = (CATALOG % b"", PAGES, page, field)
    starts = [sum(len(one) + 1 for one in inside[:n]) for n in range(len(inside))]
    head = b" ".join(b"%d %d" % pair for pair in enumerate(starts, 1)) + b"\n"
    body = head + b"\n".join(inside)
    out = b"%PDF-1.7\n"
    first = len(out)
    out += b"5 0 obj\n%s\nendobj\n" % stream(ONE)
    second = len(out)
    out += b"6 0 obj\n<</Type/ObjStm/N 4/First %d/Length %d>>stream\n%s\nendstream\nendobj\n" % (
        len(head), len(body), body,
    )  # fmt: skip
    third = len(out)
    free, held = [(0, 0, 255)], [(2, 6, n) for n in range(4)]
    rows = [*free, *held, *((1, at, 0) for at in (first, second, third))]
    table = b"".join(bytes([kind]) + at.to_bytes(2, "big") + bytes([n]) for kind, at, n in rows)
    return out + (
        b"7 0 obj\n<</Type/XRef/Size 8/W[1 2 1]/Root 1 0 R/Length %d>>stream\n%s\nendstream\nendobj\n"
        b"startxref\n%d\n%%%%EOF\n" % (len(table), table, third)
    )


def updated_by_a_writer(data: bytes) -> bytes:
    out = io.BytesIO()
    writer = PdfWriter(io.BytesIO(data), incremental=True)
    writer.add_metadata({"/Title": "Lease"})
    writer.write(out)
    return out.getvalue()


def seen(data: bytes) -> list[str]:
    """What PDFium reads on each page, which is the one that Chrome shows."""
    document = pypdfium2.PdfDocument(data)
    return [document[n].get_textpage().get_text_range() for n in range(len(document))]


UNSOUND = {
    "a key twice": (lease(b"/Contents 6 0 R/Contents 5 0 R"), TWICE),
    "a key in another spelling": (lease(b"/Content#73 6 0 R/Contents 5 0 R"), TWICE),
    "a key twice in a stream of objects": (with_object_streams(b"/BaseFont/Courier/BaseFont/Helvetica"), TWICE),
    "a place of references that is none": (lease().replace(b"startxref\n", b"startxref\n1"), TWICE),
    "a reference to another object": (lease().replace(b"4 0 obj", b"9 0 obj"), TWICE),
    "something before it": (b"junk\n" + lease(), TWICE),
    "a second form": (lease(in_form=b"/XFA[(datasets)5 0 R]"), "second form in it (XFA)"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "why"), UNSOUND.values(), ids=UNSOUND)
def test_a_pdf_that_programs_read_differently_is_not_written_anew(data: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why.replace("(", r"\(").replace(")", r"\)")):
        pdf.filled(data, {"name": "Bob"})
    with pytest.raises(Refused, match=r"^cannot be made: file 2 "):
        pdf.merged([lease(), data])


SOUND = {
    "plain": lease(),
    "updated": updated(lease(), stream(OTHER)),
    "updated twice": updated(updated(lease(), stream(OTHER)), stream(ONE)),
    "updated by a writer": updated_by_a_writer(lease()),
    "streams of objects": with_object_streams(),
    "streams of objects, updated": updated_by_a_writer(with_object_streams()),
}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_an_ordinary_pdf_says_the_same_after_it_was_written_anew(data: bytes) -> None:
    made = pdf.filled(data, {"name": "Bob"})
    assert seen(made) == seen(data)
    assert pdf.fields(made)["name"]["value"] == "Bob"
    assert seen(pdf.merged([data, lease()])[0]) == seen(data) + seen(lease())


def dark(data: bytes) -> int:
    """How many dark spots the first page has, as PDFium draws it."""
    with pypdfium2.PdfDocument(data)[0].render().to_pil().convert("L") as picture:
        return sum(picture.histogram()[:128])


def layered() -> bytes:
    """A page with a text and a black bar, which is on a layer that is hidden."""
    bar = b"/OC /L BDC 0 0 300 40 re f EMC"
    page = PAGE.replace(b"/Resources<<", b"/Resources<</Properties<</L 7 0 R>>") % b"/Contents[5 0 R 6 0 R]"
    hidden = b"/Type/Catalog/OCProperties<</OCGs[7 0 R]/D<</OFF[7 0 R]>>>>"
    field = b"<</FT/Tx/T(name)/V(1)%s>>" % WIDGET
    bars = b"<</Length %d>>stream\n%s\nendstream" % (len(bar), bar)
    catalog = (CATALOG % b"").replace(b"/Type/Catalog", hidden)
    return drawn(catalog, PAGES, page, field, stream(ONE), bars, b"<</Type/OCG/Name(draft)>>")


def test_layers_stay_hidden_where_a_form_is_filled_and_are_not_merged() -> None:
    assert dark(layered()) < 1_000 < dark(layered().replace(b"/OFF", b"/OFX"))
    assert dark(pdf.filled(layered(), {"name": "Bob"})) < 1_000
    with pytest.raises(
        Refused, match=r"^cannot be made: file 2 has layers: .* Print it to a new PDF first\.$"
    ):
        pdf.merged([lease(), layered()])


SIGNATURE = b"/V<</Type/Sig/ByteRange[0 1 2 3]/Contents<00>>>"


def signed(kind: bytes = b"/FT/Sig", value: bytes = SIGNATURE) -> bytes:
    """A page with a field for a signature, and one for a name."""
    field = b"<<%s/T(name)/V(1)%s>>" % (b"/FT/Tx", WIDGET)
    catalog = (CATALOG % b"").replace(b"[4 0 R]", b"[4 0 R 6 0 R]")
    return drawn(
        catalog, PAGES, PAGE % b"/Contents 5 0 R", field, stream(ONE), b"<<%s/T(s)%s>>" % (kind, value)
    )


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("data", [signed(), signed(value=b"/V<</Name(Ann)>>"), signed(kind=b"")])
async def test_a_signed_pdf_is_not_filled_and_a_merge_says_what_becomes_of_it(
    tmp_path: Path, data: bytes
) -> None:
    root = folder(tmp_path)
    (root / "a.pdf").write_bytes(data)
    (root / "b.pdf").write_bytes(lease())
    async with gated(tmp_path / "logs", "document", server([root])) as gate:
        call = {"path": "a.pdf", "values": {"name": "Bob"}, "destination": "c.pdf"}
        assert "is signed, and filling it in" in await gate.refused("fill_pdf_form", **call)
        merge = {"sources": ["b.pdf", "a.pdf"], "destination": "c.pdf"}
        plan = await gate("preview_document", make="merge_pdfs", call=merge)
    assert plan["note"] == " (no signature holds in the new file: signed is a.pdf)"


def test_a_field_that_nobody_has_signed_yet_hinders_nothing() -> None:
    unsigned = signed(value=b"")
    assert pdf.fields(pdf.filled(unsigned, {"name": "Bob"}))["name"]["value"] == "Bob"
    assert pdf.merged([unsigned, lease()])[2] == []


async def test_a_page_that_says_a_thing_twice_is_refused_before_there_is_a_card(tmp_path: Path) -> None:
    root = folder(tmp_path)
    (root / "a.pdf").write_bytes(lease(b"/Contents 6 0 R/Contents 5 0 R"))
    async with gated(tmp_path / "logs", "document", server([root])) as gate:
        call = {"path": "a.pdf", "values": {"name": "Bob"}, "destination": "b.pdf"}
        assert TWICE in await gate.refused("fill_pdf_form", **call)
        assert TWICE in await gate.refused("merge_pdfs", sources=["a.pdf", "a.pdf"], destination="b.pdf")
    assert not (root / "b.pdf").exists()


def test_formatted_text_of_a_field_does_not_stay_beside_its_value() -> None:
    rich = b"/Ff 33554432/RV(<body><p>1</p></body>)"
    with pytest.raises(Refused, match="formatted text in the field “name”"):
        pdf.filled(lease(in_field=rich), {"name": "Bob"})
    assert shown(pdf.merged([lease(in_field=rich), form()])[0])[0][0] == "1"


@pytest.mark.parametrize(
    ("value", "named"), [("Ann 漢字", "字 漢"), ("ש\u05b8לום", "\u05b8"), ("1\t2", r"'\\t'")]
)
def test_a_value_with_letters_that_cannot_be_shown_is_refused(value: str, named: str) -> None:
    with pytest.raises(Refused, match=f"^has no font for these letters in the field “name”: {named}"):
        pdf.filled(lease(), {"name": value})
