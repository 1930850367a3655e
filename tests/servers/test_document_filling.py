"""Forms in PDF files: what is filled is what was asked for, and the card shows all of it."""

from __future__ import annotations

import io
import unicodedata
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from pypdf import PdfReader
from pypdfium2 import raw

from servers.document import server
from servers.formats import pdf
from servers.formats.pdf_fonts import standard_font
from servers.sandbox.protocol import Refused
from tests.servers.gate_around_server import Gate, gated

PARTS = (
    b"<</Type/Catalog/Pages 2 0 R/AcroForm<</DA(/Helv 9 Tf)/Fields[%s]>>>>",
    b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
    b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Annots[4 0 R 6 0 R 7 0 R]>>",
)
WIDGET = b"/Subtype/Widget/Type/Annot/Rect[0 0 50 9]/DA(/Helv 9 Tf)"
LIMIT = b"<</T(limit)/Kids[6 0 R 7 0 R]>>"
AMOUNT = b"<</FT/Tx/T(amount)/V(100)/Parent 5 0 R%s>>" % WIDGET
OTHER = b"<</FT/Tx/T(other)/V(100)/Parent 5 0 R%s>>" % WIDGET
LISTED = b"4 0 R 5 0 R"


def drawn(*objects: bytes) -> bytes:
    out = b"%PDF-1.7\n"
    starts = []
    for number, inside in enumerate(objects, 1):
        starts.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, inside)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    size = len(objects) + 1
    return out + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (size, table, size, len(out))
    )


def form(*fields: bytes, listed: bytes = LISTED, first: bytes = b"(amount)/V(1)") -> bytes:
    amount = b"<</FT/Tx/T%s%s>>" % (first, WIDGET)
    return drawn(PARTS[0] % listed, *PARTS[1:], amount, *(fields or (LIMIT, AMOUNT, OTHER)))


def shown(data: bytes) -> list[tuple[str, str]]:
    """The value of each widget, and the text that its look draws, where it has one."""
    return [
        (str(one.get("/V", "")), drawing(one)) for one in PdfReader(io.BytesIO(data)).pages[0].annotations
    ]


def drawing(annotation: Any) -> str:
    look = annotation.get_object().get("/AP")
    return look["/N"].get_data().decode("latin-1") if look else ""


async def filled(
    gate: Gate, root: Path, data: bytes, **values: str
) -> tuple[str | None, list[tuple[str, str]]]:
    (root / "a.pdf").write_bytes(data)
    (root / "b.pdf").unlink(missing_ok=True)
    done = await gate.do("fill_pdf_form", path="a.pdf", values=values, destination="b.pdf")
    return done.preview.diff, shown((root / "b.pdf").read_bytes())


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("listed", [LISTED, b"4 0 R"], ids=["listed", "outside the form"])
async def test_a_field_whose_last_name_is_the_same_stays(tmp_path: Path, listed: bytes) -> None:
    async with gated(tmp_path / "logs", "document", server([folder(tmp_path)])) as gate:
        card, widgets = await filled(gate, tmp_path / "files", form(listed=listed), amount="5")
    assert card == "-amount: 1\n+amount: 5\n"
    assert [value for value, _ in widgets] == ["5", "100", "100"]
    assert "5" in widgets[0][1]
    assert not widgets[1][1]


async def test_a_part_of_a_field_is_filled_by_its_whole_name(tmp_path: Path) -> None:
    async with gated(tmp_path / "logs", "document", server([folder(tmp_path)])) as gate:
        both = {"limit.amount": "7", "amount": "5"}
        card, widgets = await filled(gate, tmp_path / "files", form(), **both)
    assert card == "-amount: 1\n+amount: 5\n-limit.amount: 100\n+limit.amount: 7\n"
    assert [value for value, _ in widgets] == ["5", "7", "100"]


async def test_a_look_that_two_fields_share_is_changed_for_the_one_asked_for(tmp_path: Path) -> None:
    look = b"<</Length 14/Subtype/Form/BBox[0 0 50 9]>>stream\n(100) Tj %%%%%\nendstream"
    with_look = [part[:-2] + b"/AP<</N 8 0 R>>>>" for part in (AMOUNT, OTHER)]
    data = form(LIMIT, *with_look, look)
    async with gated(tmp_path / "logs", "document", server([folder(tmp_path)])) as gate:
        _, widgets = await filled(gate, tmp_path / "files", data, **{"limit.amount": "7"})
    assert "(100)" not in widgets[1][1]
    assert widgets[2] == ("100", "(100) Tj %%%%%")


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("data", "name", "why"),
    [
        (
            form(LIMIT, b"<</FT/Tx/T(amount)/V(100)%s>>" % WIDGET, OTHER, listed=b"4 0 R 6 0 R"),
            "amount",
            "several fields that are called “amount”",
        ),
        (
            form(first=b"(limit.amount)/V(1)"),
            "limit.amount",
            "several fields that are called “limit.amount”",
        ),
        (
            form(LIMIT, AMOUNT, OTHER[:-2] + b"/TM(x)>>", first=b"(a)/TM(x)/V(1)"),
            "x",
            "several fields that are called “x”",
        ),
        (
            form(
                b"<</FT/Tx/T(limit)/V(100)/Kids[6 0 R 7 0 R]>>",
                b"<</Parent 5 0 R%s>>" % WIDGET,
                b"<</T(other)/Parent 5 0 R%s>>" % WIDGET,
            ),
            "limit",
            "other fields that take the value of “limit”",
        ),
    ],
    ids=["one name", "a dot in a name", "one name for exports", "a value from above"],
)
async def test_a_form_where_more_would_change_than_is_named_is_not_filled(
    tmp_path: Path, data: bytes, name: str, why: str
) -> None:
    root = folder(tmp_path)
    (root / "a.pdf").write_bytes(data)
    async with gated(tmp_path / "logs", "document", server([root])) as gate:
        call = {"path": "a.pdf", "values": {name: "5"}, "destination": "b.pdf"}
        assert why in await gate.refused("fill_pdf_form", **call)
    assert not (root / "b.pdf").exists()


def folder(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    root.mkdir()
    return root


def with_field(
    more: bytes = b"",
    look: bytes = b"(/Helv 9 Tf 0 g)",
    font: bytes = b"",
    to_unicode: bytes = b"",
    kind: bytes = b"/Tx",
) -> bytes:
    """A form with one field, whose font has this besides."""
    fonts = b"/DR<</Font<</Helv<</Type/Font/Subtype/Type1/BaseFont/Helvetica%s>>>>>>" % font
    widget = b"/Subtype/Widget/Type/Annot/F 4/Rect[0 0 90 20]/DA%s%s" % (look, more)
    field = b"<</FT%s/T(sum)/V(1)%s>>" % (kind, widget)
    return drawn(
        b"<</Type/Catalog/Pages 2 0 R/AcroForm<<%s/Fields[4 0 R]>>>>" % fonts,
        PARTS[1],
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 90 20]/Annots[4 0 R]>>",
        field,
        b"<</Length %d>>stream\n%s\nendstream" % (len(to_unicode), to_unicode),
    )


def picture(data: bytes) -> bytes:
    """The first page as PDFium draws it, with its form."""
    document = pypdfium2.PdfDocument(data)
    document.init_forms()
    return document[0].render(scale=2, may_draw_forms=True).to_pil().tobytes()


NINE = b"/Encoding<</Differences[49/nine]>>/ToUnicode 5 0 R"
ONE = b"1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <20> <7e> <0020> endbfrange"
FORMS = {
    "a font that draws a nine for a one": with_field(font=NINE, to_unicode=ONE),
    "a font of its own field": with_field(b"/DR<</Font<</Helvetica<</Subtype/Type1/BaseFont/Symbol>>>>>>"),
    "white": with_field(look=b"(/Helv 9 Tf 1 g)"),
    "drawn nowhere": with_field(look=b"(/Helv 9 Tf 3 Tr 1 0 0 1 900 900 Tm 0 g)"),
}  # fmt: skip


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_a_field_shows_the_value_that_is_written_whatever_its_form_says(data: bytes) -> None:
    plain = pdf.filled(with_field(), {"sum": "1000"})
    assert picture(plain) != picture(pdf.filled(with_field(), {"sum": "9000"}))
    assert picture(pdf.filled(data, {"sum": "1000"})) == picture(plain)


@pytest.mark.parametrize("look", [b"(/Helv 60 Tf)", b"(/Helv 0.1 Tf)", b"(Tf)"])
def test_a_size_in_which_a_value_is_not_seen_is_replaced(look: bytes) -> None:
    fitting = pdf.filled(with_field(look=b"(/Helv 0 Tf)"), {"sum": "1000"})
    assert picture(pdf.filled(with_field(look=look), {"sum": "1000"})) == picture(fitting)


COMB, LONG = b"/Ff 16777216", "1000000 and no more than that, this year"


@pytest.mark.parametrize(
    ("data", "value", "why"),
    [
        (with_field(b"/MaxLen 3" + COMB), "1000", "has room for 3 letters in the field “sum”"),
        (with_field(b"/MaxLen 3"), "1000", "has room for 3 letters in the field “sum”"),
        (with_field(b"/Ff 4096"), 300 * "1 ", "has no room for"),
        (with_field(), 2 * LONG, f"has no room for “{LONG}.{{20}}” in the field “sum”"),
        (with_field(), "1\n2", "has one line for the field “sum”"),
    ],
)
def test_a_value_that_would_be_cut_off_is_refused(data: bytes, value: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        pdf.filled(data, {"sum": value})


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (with_field(b"/MaxLen 4" + COMB), "1000"),
        (with_field(b"/Ff 4096"), "two lines\nand more words"),
        (with_field(), "-5 % (é) €"),
        (with_field(), ""),
    ],
)
def test_a_value_that_fits_is_written(data: bytes, value: str) -> None:
    made = pdf.filled(data, {"sum": value})
    assert pdf.fields(made)["sum"]["value"] == value


def flat(data: bytes) -> pypdfium2.PdfTextPage:
    """The first page as PDFium reads it, with what its fields show."""
    document = pypdfium2.PdfDocument(data)
    page = document[0]
    assert raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY) == raw.FLATTEN_SUCCESS
    page.close()
    return document[0].get_textpage()


def read(data: bytes) -> str:
    return unicodedata.normalize("NFKC", flat(data).get_text_range())


NAMES = (
    "Anna Lee", "Łódź", "Łukasz", "Čapek", "C\u030capek", "Ελένη", "Анна", "Ğülşen", "Ngô Thị Ế", "שלום", "كريم"
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_shown_in_its_script_or_a_letter_is_named_that_no_font_has(name: str) -> None:
    known = standard_font().face.charToGlyph
    lacking = sorted(letter for letter in unicodedata.normalize("NFC", name) if ord(letter) not in known)
    if lacking:
        with pytest.raises(Refused, match="no font for these letters in the field “sum”: "):
            pdf.filled(with_field(), {"sum": name})
        return
    made = pdf.filled(with_field(), {"sum": name})
    assert pdf.fields(made)["sum"]["value"] == name
    assert read(made) == unicodedata.normalize("NFKC", name)


def test_a_hundred_fields_have_the_letters_of_one_font() -> None:
    fields = b"".join(b" %d 0 R" % number for number in range(4, 104))
    widgets = [b"<</FT/Tx/T(%d)%s>>" % (n, WIDGET) for n in range(100)]
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Annots[%s]>>" % fields
    made = pdf.filled(
        drawn(PARTS[0] % fields, PARTS[1], page, *widgets), {str(n): f"Ł{n}" for n in range(100)}
    )
    assert made.count(b"/FontFile2") == 1


def box(data: bytes) -> tuple[float, float, float, float]:
    """Where the first letter stands."""
    return flat(data).get_charbox(0)


def test_a_value_stands_at_the_side_that_the_form_says() -> None:
    lefts = [box(pdf.filled(with_field(b"/Q %d" % side), {"sum": "1000"}))[0] for side in range(3)]
    assert lefts[0] < 10 < 30 < lefts[1] < 45 < 60 < lefts[2] < 90


@pytest.mark.parametrize(("turn", "bottom"), [(90, True), (270, False)])
def test_a_value_in_a_field_that_is_turned_stands_along_it(turn: int, bottom: bool) -> None:
    upright = with_field(b"/MK<</R %d>>" % turn).replace(b"[0 0 90 20]", b"[0 0 20 90]")
    left, low, right, high = box(pdf.filled(upright, {"sum": "1 and more, to the end"}))
    assert 0 < left < right < 20
    assert (high < 10) == bottom
    assert (low > 80) != bottom


def test_a_list_shows_what_is_chosen() -> None:
    made = pdf.filled(with_field(kind=b"/Ch/Opt[(one)(two)]/I[0]"), {"sum": "two"})
    field = PdfReader(io.BytesIO(made)).pages[0].annotations[0]
    assert read(made) == "two"
    assert "/I" not in field.get_object()


def test_fields_of_merged_forms_have_names_that_no_other_has() -> None:
    first = form(LIMIT.replace(b"limit", b"file 2"), AMOUNT, OTHER)
    made = pdf.fields(pdf.merged([first, with_field(), form(), form()])[0])
    assert [*made] == [
        *("amount", "file 2.amount", "file 2.other", "sum"),
        *(f"file {n}.{name}" for n in ("3", "4") for name in ("amount", "limit.amount", "limit.other")),
    ]
    again = pdf.merged([first, form(LIMIT.replace(b"limit", b"file 2"), AMOUNT, OTHER)])[0]
    assert [*pdf.fields(again)][3:] == ["file 2+.amount", "file 2+.file 2.amount", "file 2+.file 2.other"]


def test_fields_of_merged_forms_are_told_apart_by_the_names_that_viewers_go_by() -> None:
    firsts = (b"(amount)/TM(x)/V(1)", b"(amount)/TM(y)/V(2)", b"(amount)/V(3)")
    made = pdf.merged([form(LIMIT, AMOUNT, OTHER, listed=b"4 0 R", first=first) for first in firsts])[0]
    found: Any = PdfReader(io.BytesIO(made)).root_object["/AcroForm"]
    assert [str(one.get_object()["/T"]) for one in found["/Fields"]] == ["amount", "file 2", "file 3"]


def form_of_a_box(state: bytes, more: bytes = b"") -> bytes:
    """A form with one box, which is not ticked; `state`: what it calls being ticked, `more`: another such state."""
    look = b"<</Type/XObject/Subtype/Form/BBox[0 0 20 20]/Length 0>>stream\n\nendstream"
    accept = b"<</FT/Btn/T(accept)/V/Off/AS/Off/AP<</N<</%s 5 0 R%s/Off 5 0 R>>>>%s>>" % (state, more, WIDGET)
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Annots[4 0 R]>>"
    return drawn(PARTS[0] % b"4 0 R", PARTS[1], page, accept, look)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("state", [b"No", b"false", b"Nein", b"0", b"Yes"])
async def test_a_box_is_ticked_by_yes_and_not_by_no_whatever_its_form_calls_that(
    state: bytes, tmp_path: Path
) -> None:
    (tmp_path / "f").mkdir()
    (tmp_path / "f/form.pdf").write_bytes(form_of_a_box(state))
    async with gated(tmp_path / "log", "document", server([tmp_path / "f"])) as gate:
        for word in ("no", "No", "false", "off", ""):
            seen = await gate.look(
                "fill_pdf_form", path="form.pdf", values={"accept": word}, destination="o.pdf"
            )
            assert "would change nothing" in seen.preview.problem
        done = await gate.do("fill_pdf_form", path="form.pdf", values={"accept": "yes"}, destination="o.pdf")
    assert done.preview.diff == "-accept: not ticked\n+accept: ticked\n"
    (filled,) = PdfReader(tmp_path / "f/o.pdf").pages[0].annotations
    assert (filled["/V"], filled["/AS"]) == (f"/{state.decode()}",) * 2


async def test_one_box_with_two_ways_of_being_ticked_is_not_filled_in(tmp_path: Path) -> None:
    """Else “no” would be the name of one of them, as it is in a group of boxes."""
    (tmp_path / "f").mkdir()
    (tmp_path / "f/form.pdf").write_bytes(form_of_a_box(b"no", b"/other 5 0 R"))
    async with gated(tmp_path / "log", "document", server([tmp_path / "f"])) as gate:
        for value in (False, "no", "yes"):
            seen = await gate.look(
                "fill_pdf_form", path="form.pdf", values={"accept": value}, destination="o.pdf"
            )
            assert "not one to write into" in seen.preview.problem
