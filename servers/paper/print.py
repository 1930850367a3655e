"""Blocks set as the pages of a PDF. Runs in the process apart."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import reportlab
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase.pdfmetrics import registerFont, registerFontFamily
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import (
    Flowable,
    LayoutError,
    LongTable,
    PageBreak,
    Paragraph,
    Preformatted,
    SimpleDocTemplate,
    Spacer,
)

from servers.paper.blocks import Block, Refused, runs

MOST_PAGES = 2_000
MOST_COLUMNS = 20
_VERA = Path(reportlab.__file__).with_name("fonts")
# The fonts of a host know more letters than the one that comes with the library.
_FONTS = (
    (Path("/usr/share/fonts/truetype/dejavu"), ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono")),
    (Path("/usr/share/fonts/TTF"), ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono")),
    (_VERA, ("Vera", "VeraBd", "Vera")),
)
_SIZES = {1: 20, 2: 16, 3: 14, 4: 12, 5: 11, 6: 10}
_TAGS = {"": "{}", "bold": "<b>{}</b>", "italic": "<i>{}</i>", "code": '<font name="mono">{}</font>'}


def write(blocks: Sequence[Block], title: str, lenient: bool = False) -> bytes:
    """A PDF of these blocks on A4 pages; the same blocks give the same bytes.

    `lenient`: a letter that no font here has is written as its number, such as \\u{6f22}, instead of refused.
    Raises Refused for such letters, and for more pages than anybody reads.
    """
    shown = [*([Block("heading", title, 1)] if title else []), *blocks]
    missing = _missing(shown, _fonts())
    if missing and not lenient:
        named = " ".join(c if c.isprintable() else repr(c) for c in missing[:8])
        raise Refused(f"cannot be made: no font here has these letters: {named}. Make a .docx file instead.")
    if missing:
        shown = _numbered(shown, missing)
    out = io.BytesIO()
    margins = dict.fromkeys(("leftMargin", "rightMargin", "topMargin", "bottomMargin"), 20 * mm)
    template = SimpleDocTemplate(out, pagesize=A4, title=title, author="", invariant=1, **margins)
    try:
        template.build(
            [part for block in shown for part in _parts(block)] or [Spacer(1, 1)], onLaterPages=_counted
        )
    except LayoutError as error:
        raise Refused("has a part that fits on no page, such as a table with a very long cell.") from error
    return out.getvalue()


def _counted(_canvas: Any, template: Any) -> None:
    if template.page > MOST_PAGES:
        raise Refused(f"would have more than {MOST_PAGES:,} pages. Take a part of it.")


def _fonts() -> TTFont:
    folder, names = next((folder, names) for folder, names in _FONTS if (folder / f"{names[0]}.ttf").exists())
    text, bold, mono = (
        TTFont(name, str(folder / f"{file}.ttf"))
        for name, file in zip(("text", "bold", "mono"), names, strict=True)
    )
    for font in (text, bold, mono):
        registerFont(font)
    registerFontFamily("text", normal="text", bold="bold", italic="text", boldItalic="bold")
    return text


def _numbered(blocks: Sequence[Block], missing: Sequence[str]) -> list[Block]:
    numbers = {ord(c): f"\\u{{{ord(c):x}}}" for c in missing}
    return [
        replace(
            block,
            text=block.text.translate(numbers),
            rows=[[cell.translate(numbers) for cell in row] for row in block.rows],
        )
        for block in blocks
    ]


def _missing(blocks: Sequence[Block], font: TTFont) -> list[str]:
    known = font.face.charToGlyph
    cells = (cell for block in blocks for row in block.rows for cell in row)
    letters = set().union(*(block.text for block in blocks), *cells)
    return sorted(c for c in letters if ord(c) not in known and c not in "\n\t\r\u00ad")


def _parts(block: Block) -> list[Flowable]:
    body = ParagraphStyle(
        "body", fontName="text", bulletFontName="text", fontSize=10, leading=14, spaceAfter=6
    )
    match block.kind:
        case "heading":
            size = _SIZES[block.level]
            style = ParagraphStyle(
                "heading",
                body,
                fontName="bold",
                fontSize=size,
                leading=size * 1.25,
                spaceBefore=8,
                keepWithNext=1,
            )
            return [Paragraph(_marked(block.text), style)]
        case "item":
            indent = 14 * (block.level + 1)
            style = ParagraphStyle("item", body, leftIndent=indent, bulletIndent=indent - 12, spaceAfter=2)
            return [Paragraph(_marked(block.text), style, bulletText=block.number or "•")]
        case "code":
            style = ParagraphStyle("code", body, fontName="mono", fontSize=8, leading=10)
            return [Preformatted(block.text, style, maxLineLength=100), Spacer(1, 6)]
        case "break":
            return [PageBreak()]
        case "table":
            return [
                _table(block.rows, ParagraphStyle("cell", body, fontSize=8, leading=10, spaceAfter=0)),
                Spacer(1, 6),
            ]
        case _:
            return [Paragraph(_marked(block.text), body)]


def _table(rows: list[list[str]], style: ParagraphStyle) -> LongTable:
    if len(rows[0]) > MOST_COLUMNS:
        raise Refused(
            f"cannot be made: a table has {len(rows[0])} columns, and {MOST_COLUMNS} fit on a page."
        )
    cells = [[Paragraph(_marked(cell), style) for cell in row] for row in rows]
    width = (A4[0] - 42 * mm) / len(rows[0])
    lines = [("GRID", (0, 0), (-1, -1), 0.4, colors.grey), ("VALIGN", (0, 0), (-1, -1), "TOP")]
    return LongTable(cells, colWidths=[width] * len(rows[0]), repeatRows=1, style=lines)


def _marked(text: str) -> str:
    pieces = (_TAGS[style].format(escape(piece)) for piece, style in runs(text))
    return "".join(pieces).replace("\n", "<br/>")
