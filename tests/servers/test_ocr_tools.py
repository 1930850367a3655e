"""Text in pictures: read off images and pages, put into fields and tables; bombs and broken files are refused."""

from __future__ import annotations

import io
import shutil
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from PIL import Image, ImageDraw, ImageFont

from benchmarks.tools import ocr, scanned
from servers.formats.page_words import Line, Word, labelled, mentions, rows
from servers.formats.pictures import _skew
from servers.ocr import Page, server
from tests.servers import papers
from tests.servers.files import Ask
from tests.services import unavailable

LETTER = "Invoice 2026-117\nDate: 21 November 2026\nTotal: EUR 1,250.00\nWrite to ann@example.com\n"
TABLE = [["Goods", "Quantity", "Price"], ["Pens", "12", "4.50"], ["Red ink", "", "7.25"]]


@pytest.fixture(scope="session")
def tesseract() -> None:
    if not shutil.which("tesseract"):
        unavailable("there is no Tesseract: apt-get install tesseract-ocr", "REQUIRE_TESSERACT")


def drawn(form: str = "PNG", mode: str = "RGB") -> bytes:
    """A letter as a picture."""
    page = Image.new("RGB", (900, 420), "white")
    ImageDraw.Draw(page).text((40, 40), LETTER, "black", ImageFont.load_default(38), spacing=24)
    out = io.BytesIO()
    page.convert(mode).save(out, form)
    return out.getvalue()


def drawn_table() -> bytes:
    page = Image.new("RGB", (1000, 320), "white")
    for y, row in enumerate(TABLE):
        for x, cell in enumerate(row):
            ImageDraw.Draw(page).text((40 + 340 * x, 40 + 80 * y), cell, "black", ImageFont.load_default(38))
    out = io.BytesIO()
    page.save(out, "PNG")
    return out.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that unpacks to very many."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\0\0\0\0"
    body = zlib.compress(bytes(1 << 20), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@asynccontextmanager
async def pictures(root: Path, **files: bytes) -> AsyncIterator[Ask]:
    for name, data in files.items():
        (root / name.replace("_", ".")).write_bytes(data)
    async with Client(server([root]), read_timeout_seconds=60) as client:
        yield Ask(client)


@pytest.mark.slow
@pytest.mark.usefixtures("tesseract")
async def test_text_is_read_off_pictures_of_several_kinds(tmp_path: Path) -> None:
    async with pictures(tmp_path, b_jpg=drawn("JPEG")) as ask:
        for name in ("b.jpg",):
            seen = await ask("extract_text_from_image", path=name)
            assert "Date: 21 November 2026" in seen["text"], name
            assert seen["confidence"] > 0.7
            assert seen["note"] == ""


@pytest.mark.slow
@pytest.mark.usefixtures("tesseract")
async def test_the_pages_of_a_pdf_are_read_as_people_see_them(tmp_path: Path) -> None:
    pages = papers.pdf("# One lease\n\n---\n\n# Two keys\n\n---\n\n# Three dogs\n")
    async with pictures(tmp_path, a_pdf=pages) as ask:
        seen = await ask("extract_text_from_pdf", path="a.pdf", pages=2)
        assert [(one["page"], one["text"]) for one in seen["read"]] == [(1, "One lease"), (2, "Two keys")]
        assert (seen["pages"], seen["next_page"]) == (3, 3)
        rest = await ask("extract_text_from_pdf", path="a.pdf", first_page=3)
        assert [one["text"] for one in rest["read"]] == ["Three dogs"]
        assert rest["next_page"] is None
        assert "has 3 pages" in await ask.refused("extract_text_from_pdf", path="a.pdf", first_page=4)


@pytest.mark.slow
@pytest.mark.usefixtures("tesseract")
@pytest.mark.parametrize("turned", [90, 180, 270])
async def test_a_page_that_lies_on_its_side_or_head_is_turned_upright_and_that_is_said(
    tmp_path: Path, turned: int
) -> None:
    [receipt] = scanned.receipts(5, 1, turned)
    async with pictures(tmp_path, a_png=receipt.data) as ask:
        seen = await ask("extract_structured_data", path="a.png")
        text = await ask("extract_text_from_image", path="a.png")
    assert receipt.fields["total"] in [one["value"] for one in seen["fields"]]
    assert ("Name at the top", receipt.fields["shop"]) == (
        seen["fields"][0]["label"],
        seen["fields"][0]["value"],
    )
    assert receipt.fields["number"] in text["text"]
    assert seen["note"] == text["note"] == "Turned upright before it was read: page 1."


INVOICE = (
    "ACME GmbH\nRechnung Nr. 2026-0117\nDatum: 12.03.2026\nNetto      1.000,00\nUSt 19%      190,00\n"
    "Gesamtbetrag   1.190,00 EUR\nIBAN DE89 3704 0044 0532 0130 00"
)


def short_invoice(turned: float) -> bytes:
    page, out = Image.new("L", (1000, 1400), 255), io.BytesIO()
    ImageDraw.Draw(page).text((60, 60), INVOICE, 0, ImageFont.load_default(30), spacing=18)
    page.rotate(turned, Image.Resampling.BICUBIC, expand=True, fillcolor=255).save(out, "PNG")
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.usefixtures("tesseract")
async def test_the_figures_of_a_skewed_page_are_read_right_and_strong_skew_is_said(tmp_path: Path) -> None:
    every = {f"p{n}_png": short_invoice(degrees) for n, degrees in enumerate((5, -6.5, 10))}
    async with pictures(tmp_path, **every) as ask:
        told = [await ask("extract_text_from_image", path=f"p{n}.png") for n in range(3)]
    for one in told:
        figures = ("2026-0117", "1.000,00", "190,00", "1.190,00 EUR", "DE89 3704 0044 0532 0130 00")
        assert [figure for figure in figures if figure not in one["text"]] == []
    notes = ["", "", "It is skewed, so hold figures against the picture: page 1 (by 10 degrees)."]
    assert [one["note"] for one in told] == notes


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("kind", ["photo", "shade", "blank"])
def test_what_fills_a_page_evenly_is_not_taken_for_skewed_lines(kind: str) -> None:
    shade = Image.linear_gradient("L").resize((1000, 700))
    seen = {"photo": Image.effect_noise((1600, 1200), 120), "shade": shade, "blank": Image.new("L", (90, 90))}
    assert _skew(seen[kind]) == 0


@pytest.mark.slow
def test_the_skew_of_a_grey_page_is_seen() -> None:
    grey = Image.open(io.BytesIO(short_invoice(0))).point([n * 3 // 5 for n in range(256)])
    assert _skew(grey.rotate(-8, Image.Resampling.BICUBIC, expand=True, fillcolor=153)) == 8


@pytest.mark.slow
@pytest.mark.usefixtures("tesseract")
@pytest.mark.parametrize("turned", [90, 180, 270])
async def test_a_page_of_few_lines_is_read_whichever_way_it_lies(tmp_path: Path, turned: int) -> None:
    async with pictures(tmp_path, a_png=short_invoice(turned)) as ask:
        told = await ask("extract_text_from_image", path="a.png")
    assert "Gesamtbetrag 1.190,00 EUR" in told["text"]
    assert told["confidence"] > 0.8


def test_a_skewed_page_that_is_hard_to_read_is_said_to_be_skewed() -> None:
    assert [Page(1, 1, 0.84, skew=skew).doubtful for skew in (0.0, 5.0)] == [False, True]


@pytest.mark.slow
@pytest.mark.usefixtures("tesseract")
async def test_labels_and_values_that_stand_far_apart_are_put_together(tmp_path: Path) -> None:
    receipt = scanned.receipts(12, 11)[10]
    async with pictures(tmp_path, a_png=receipt.data) as ask:
        seen = await ask("extract_structured_data", path="a.png")
    values = [one["value"] for one in seen["fields"]]
    assert [values.count(receipt.fields[name]) for name in ("total", "number")] == [1, 1]
    assert seen["note"] == ""


@pytest.mark.slow(but=1)
@pytest.mark.usefixtures("tesseract")
@pytest.mark.parametrize("number", [0, 1], ids=["below each other", "side by side"])
async def test_the_parties_of_an_invoice_are_found_below_what_says_whose_name_comes(
    tmp_path: Path, number: int
) -> None:
    invoice = scanned.invoices(3, 2)[number]
    async with pictures(tmp_path, a_png=invoice.data) as ask:
        seen = await ask("extract_structured_data", path="a.png")
    found = [(one["label"], one["value"]) for one in seen["fields"]]
    seller, customer = (("From", "Bill to"), ("Seller", "Customer"))[number]
    assert {(seller, invoice.fields["seller"]), (customer, invoice.fields["customer"])} <= set(found)
    assert [value for _, value in found].count(invoice.fields["total"]) == 1
    assert not [pair for pair in found if "Customer" in pair[1] or pair[1] == "INVOICE"]


@pytest.mark.slow
@pytest.mark.usefixtures("tesseract")
async def test_values_and_tables_are_found(tmp_path: Path) -> None:
    async with pictures(tmp_path, a_png=drawn(), t_png=drawn_table()) as ask:
        seen = await ask("extract_structured_data", path="a.png")
        assert {one["label"]: one["value"] for one in seen["fields"]} == {
            "Invoice": "2026-117",
            "Date": "21 November 2026",
            "Total": "EUR 1,250.00",
        }
        assert {(one["kind"], one["text"]) for one in seen["mentions"]} == {
            ("date", "21 November 2026"),
            ("amount", "EUR 1,250.00"),
            ("email", "ann@example.com"),
        }
        table = await ask("extract_table", path="t.png")
        assert table["rows"] == TABLE


@pytest.mark.usefixtures("tesseract")
async def test_an_empty_page_and_an_unknown_language_are_said(tmp_path: Path) -> None:
    blank = io.BytesIO()
    Image.new("L", (300, 300), 255).save(blank, "PNG")
    async with pictures(tmp_path, a_png=blank.getvalue()) as ask:
        seen = await ask("extract_text_from_image", path="a.png")
        assert (seen["text"], seen["note"]) == ("", "No text was found on it.")
        unknown = await ask.refused("extract_text_from_image", path="a.png", language="eng+tlh")
        assert "does not know tlh on this host. Install tesseract-ocr-tlh" in unknown
        await ask.refused("extract_text_from_image", path="a.png", language="eng --psm 0")


BAD: list[tuple[str, bytes, str]] = [
    ("huge.png", bomb(30_000, 30_000), "has 30000 by 30000 pixels, more than 50,000,000"),
    ("vast.png", bomb(2**31 - 1, 2**31 - 1), "pixels"),
    ("cut.png", drawn()[:900], "no picture that can be opened"),
    ("text.png", b"no picture", "no picture that can be opened"),
    ("script.tif", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "no picture that can be opened"),
    ("empty.jpg", b"", "no picture that can be opened"),
    ("big.bmp", bytes((30 << 20) + 1), "larger than 30 MB"),
    ("a.txt", b"x", "must end in .png or"),
    ("a.pdf", b"%PDF-1.7\nbroken", "no PDF that can be opened"),
    ("loop.pdf", papers.pdf()[:700], "no PDF that can be opened"),
]


@pytest.mark.usefixtures("tesseract")
async def test_bombs_and_broken_files_are_refused_with_a_sentence(tmp_path: Path) -> None:
    for name, data, _ in BAD:
        (tmp_path / name).write_bytes(data)
    async with pictures(tmp_path) as ask:
        for name, _, why in BAD:
            tool = "extract_text_from_pdf" if name.endswith(".pdf") else "extract_text_from_image"
            assert why in await ask.refused(tool, path=name), name


async def test_without_tesseract_the_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pictures(tmp_path, a_png=drawn()) as ask:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert "Install the package tesseract-ocr" in await ask.refused(
            "extract_text_from_image", path="a.png"
        )


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("Total: 12.50", ("Total", "12.50")),
        ("  Due date : 2026-11-24", ("Due date", "2026-11-24")),
        ("at 12:30 we met", None),
        ("https://example.com/a: b", None),
        ("no label here", None),
        ("Total:", None),
    ],
)
def test_a_field_is_a_label_and_what_stands_behind_it(text: str, field: tuple[str, str] | None) -> None:
    found: Any = labelled([Line(text, 0.9)])
    assert [(one.label, one.value) for one in found] == ([field] if field else [])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("paid $1,250.00 on Nov 3, 2026", [("date", "Nov 3, 2026"), ("amount", "$1,250.00")]),
        ("DE89 3704 0044 0532 0130 00", [("bank account", "DE89 3704 0044 0532 0130 00")]),
        ("see https://example.com/a?b", [("web address", "https://example.com/a?b")]),
        ("+49 30 123456", [("phone number", "+49 30 123456")]),
        ("12 pens and 3 ink", []),
    ],
)
def test_what_has_a_form_of_its_own_is_mentioned(text: str, found: list[tuple[str, str]]) -> None:
    assert [(one.kind, one.text) for one in mentions([Line(text, 1.0)])] == found


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("TOTAL 143.24", ("TOTAL", "143.24")),
        ("Summe EUR 1.143,24", ("Summe EUR", "1.143,24")),
        ("Amount due  12.50 €", ("Amount due", "12.50 €")),
        ("Receipt No - —  B-64247", ("Receipt No", "B-64247")),
        ("Order # 20-55122", ("Order #", "20-55122")),
        ("Invoice no. 20-7 2068", ("Invoice no.", "20-7 2068")),
        ("Order R - 4711", ("Order", "R - 4711")),
        ("Order two of these 4711", None),
        ("Total eclipse of 1999 was seen", None),
        ("Receipt for one night", None),
        ("Chair repair 44.24", None),
    ],
)
def test_totals_and_numbers_of_receipts_need_no_colon(text: str, field: tuple[str, str] | None) -> None:
    assert [(one.label, one.value) for one in labelled([Line(text, 0.9)])] == ([field] if field else [])


@pytest.mark.usefixtures("tesseract")
async def test_small_letters_on_a_large_page_are_read(tmp_path: Path) -> None:
    page, out, line = Image.new("L", (1600, 200), 255), io.BytesIO(), "The rent of 950 EUR is due in May."
    ImageDraw.Draw(page).text((20, 20), line, 0, ImageFont.load_default(14))
    page.save(out, "PNG")
    async with pictures(tmp_path, a_png=out.getvalue()) as ask:
        assert (await ask("extract_text_from_image", path="a.png"))["text"] == line
        assert (await ask("extract_table", path="a.png"))["confidence"] > 0.8


@pytest.mark.slow
@pytest.mark.usefixtures("tesseract")
async def test_the_cells_of_a_table_are_read_on_ruled_skewed_and_dotted_pages(tmp_path: Path) -> None:
    made = scanned.scans(11, 1)
    async with pictures(tmp_path, **{one.name.replace(".", "_"): one.data for one in made}) as ask:
        for one in made:
            told = await ask("extract_table", path=one.name)
            right, wrong = ocr.cells(one, told["rows"])
            assert right >= 0.9 * (right + len(wrong)), (one.kind, wrong)


def test_words_in_no_columns_are_no_table() -> None:
    line = [Word(word, 60 * n, 0, 50, 20, 0.9, (1, 1, 1)) for n, word in enumerate("a plain line".split())]
    assert [*rows(line), *rows([])] == []
