"""PDF files, read and written. Runs in the sandbox."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from itertools import groupby
from typing import Any
from xml.sax.saxutils import escape

import pypdfium2
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, NameObject
from reportlab.lib import colors
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.pdfmetrics import getFont, registerFont
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

from servers.formats import form_widgets, pdf_sound, right_to_left
from servers.formats.blocks import FORMS, Block, Run, Text, plain, unstyled
from servers.formats.pdf_fonts import standard_font
from servers.sandbox.protocol import Refused

# Fonts that a reader of PDF brings along, by the names of Adobe's Asian font packs, with the characters each is sure to
# have. They are not put into the file.
CHINESE, TRADITIONAL, JAPANESE, KOREAN = "STSong-Light", "MSung-Light", "HeiseiMin-W3", "HYSMyeongJo-Medium"
_CHARACTERS = {CHINESE: "gbk", TRADITIONAL: "big5", JAPANESE: "cp932", KOREAN: "cp949"}
_SPACES = "\n\t\r\u00ad"


def unknown_letters(blocks: Sequence[Block], font: TTFont) -> list[str]:
    """The letters of these blocks that their run's font does not have, which is `font` where none is named, or that run
    from right to left and are not ordered or joined here, as in code."""
    known = font.face.charToGlyph
    pairs = {(c, next(iter(asian_fonts(run)), "")) for run in _runs(blocks) for c in run.text}
    unknown = {
        c for c, asian in pairs if c not in _SPACES and not (_has(asian, c) if asian else ord(c) in known)
    }
    left = {c for c, _ in pairs if right_to_left.runs_left(c)}
    code = {c for block in blocks if block.kind == "code" for c in plain(block.text)}
    return sorted(unknown | {c for c in left if c in code or not right_to_left.can_be_set(c)})


def numbered(blocks: Sequence[Block], letters: Sequence[str]) -> list[Block]:
    """The blocks with these letters as numbers, such as \\u{926}."""
    numbers = {ord(c): f"\\u{{{ord(c):x}}}" for c in letters}
    return _changed(
        blocks, lambda text: tuple(run._replace(text=run.text.translate(numbers)) for run in text)
    )


def with_asian_fonts(blocks: Sequence[Block]) -> list[Block]:
    """The blocks with their Chinese, Japanese and Korean signs in runs whose style names the font. Signs that several
    of these languages write are set as the one whose own letters stand in the text; as Chinese where none does."""
    letters = set().union(*(run.text for run in _runs(blocks)))
    if not any(map(_is_asian, letters)):
        return [*blocks]
    order = tuple(sorted(_CHARACTERS, key=lambda font: not _writes(font, letters)))
    for font in order:
        registerFont(UnicodeCIDFont(font))
    return [
        _in_one_font(block, order)
        if block.kind == "code"
        else _changed([block], lambda text: tuple(part for run in text for part in _split(run, order)))[0]
        for block in blocks
    ]


def _in_one_font(block: Block, order: tuple[str, ...]) -> Block:
    """A block of code, all of it in the font of its first sign that needs one: its lines know no other."""
    fonts = [font for run in block.text for c in run.text if (font := _font_of(c, order))]
    return _changed(
        [block], lambda text: tuple(run._replace(style=run.style | {*fonts[:1]}) for run in text)
    )[0]


def asian_fonts(*runs: Run) -> list[str]:
    """The fonts that the styles of these runs name."""
    return [font for run in runs for font in _CHARACTERS if font in run.style]


def _writes(font: str, letters: set[str]) -> bool:
    """Whether there are letters among these that only the language of a font has: kana, or Hangul."""
    word = {JAPANESE: ("HIRAGANA", "KATAKANA"), KOREAN: ("HANGUL",)}.get(font, ())
    return any(unicodedata.name(c, "").startswith(word) for c in letters) if word else False


def _split(run: Run, order: tuple[str, ...]) -> Iterator[Run]:
    for font, signs in groupby(run.text, lambda c: _font_of(c, order)):
        style = run.style | {font} if font else run.style
        yield run._replace(text="".join(signs), style=style)


@cache
def _font_of(char: str, order: tuple[str, ...]) -> str:
    """The first font that has this sign; "" where it is none of these languages, or none has it."""
    return next((font for font in order if _has(font, char)), "") if _is_asian(char) else ""


def _has(font: str, char: str) -> bool:
    try:
        return bool(char.encode(_CHARACTERS[font]))
    except UnicodeEncodeError:
        return False


def _is_asian(char: str) -> bool:
    return unicodedata.east_asian_width(char) in "WF" and unicodedata.category(char) != "So"


def _runs(blocks: Sequence[Block]) -> Iterator[Run]:
    texts = (text for block in blocks for text in (block.text, *(cell for row in block.rows for cell in row)))
    return (run for text in texts for run in text)


def _changed(blocks: Sequence[Block], change: Callable[[Text], Text]) -> list[Block]:
    return [
        replace(block, text=change(block.text), rows=[[change(cell) for cell in row] for row in block.rows])
        for block in blocks
    ]


MOST_PAGES = 2_000
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), 127])  # signs of a font, not of a text
BROKEN = pdf_sound.BROKEN
_SIGNED = "is signed, and filling it in would make that signature worthless. Take a copy that nobody has signed yet."


def reader(data: bytes) -> PdfReader:
    """An open PDF. Raises Refused for one that is broken, locked, or has no end."""
    try:
        found = PdfReader(io.BytesIO(data), strict=False)
        if found.is_encrypted and not found.decrypt(""):
            raise Refused("is locked with a password. Save it without one first.")
        pages = len(found.pages)
    except BROKEN as error:
        raise Refused("is not a PDF that can be opened. Save it anew.") from error
    if pages > MOST_PAGES:
        raise Refused(f"has {pages:,} pages, more than {MOST_PAGES:,}. Take a part of it.")
    return found


def text(data: bytes) -> list[str]:
    """The text of each page; of one with letters that run from right to left, in the order in which PDFium reads it."""
    try:
        pages = [page.extract_text().translate(_CONTROLS) for page in reader(data).pages]
    except BROKEN as error:
        raise Refused("has a page that cannot be read. Save it anew.") from error
    if right_to_left_pages(pages):
        with suppress(pypdfium2.PdfiumError), closing(pypdfium2.PdfDocument(data)) as document:
            return [_in_order(document, n) if _runs_left(page) else page for n, page in enumerate(pages)]
    return pages


def right_to_left_pages(pages: Sequence[str]) -> list[int]:
    """The numbers of the pages with letters that run from right to left."""
    return [n for n, page in enumerate(pages, 1) if _runs_left(page)]


def _runs_left(said: str) -> bool:
    return any(map(right_to_left.runs_left, set(said)))


def _in_order(document: pypdfium2.PdfDocument, number: int) -> str:
    said: str = document[number].get_textpage().get_text_range().replace("\r\n", "\n").translate(_CONTROLS)
    return unicodedata.normalize("NFKC", said)


def merged(files: Sequence[bytes]) -> tuple[bytes, list[int], list[int]]:
    """All pages in order, how many each file gave, and the numbers of those that are signed. Fields of forms that have
    one name are told apart: they would be one field, with the value of the last. A file that programs may read
    differently, or with layers, is refused."""
    writer, counts, signed, taken = PdfWriter(), list[int](), list[int](), set[str]()
    for n, data in enumerate(files, 1):
        try:
            found = _sound(data)
            pdf_sound.must_have_no_layers(found)
            signed += [n] if pdf_sound.is_signed(found) else []
            names = _top_names(found)
            if names & taken:
                names = {_apart(n, taken)}
                found.add_form_topname(*names)
            taken |= names
            writer.append(found, import_outline=False)
        except Refused as refused:
            raise Refused(f"cannot be made: file {n} {refused}") from None
        except BROKEN as error:
            raise Refused(f"cannot be made: file {n} is broken. Save it anew.") from error
        counts.append(len(found.pages))
        if sum(counts) > MOST_PAGES:
            raise Refused(f"would have more than {MOST_PAGES:,} pages. Take fewer files.")
    made = _bytes(writer)
    pdf_sound.must_say_the_same(files, made)
    return made, counts, signed


def _top_names(found: PdfReader) -> set[str]:
    """The first names of all fields: as pypdf gives them, which takes the name for exports (/TM) where there is one,
    and as viewers know them (/T)."""
    known = found.get_fields()
    if not known:
        return set()
    form: Any = found.root_object["/AcroForm"]
    listed = [one.get_object() for one in form.get("/Fields", ArrayObject()).get_object()]
    return {str(name).partition(".")[0] for name in (*known, *(one["/T"] for one in listed if "/T" in one))}


def _apart(number: int, taken: set[str]) -> str:
    """A name over all fields of a file, that no other one has: dots divide names."""
    return next(
        name for name in (f"file {number}{'+' * n}" for n in range(len(taken) + 1)) if name not in taken
    )


def _sound(data: bytes) -> PdfReader:
    """An open PDF that may be written anew. Raises Refused."""
    try:
        return pdf_sound.strict(data)
    except Refused:
        reader(data)  # says of a locked one that it is locked
        raise


def _bytes(writer: PdfWriter) -> bytes:
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def fields(data: bytes) -> dict[str, dict[str, Any]]:
    """The form of a PDF: name to kind, value and choices."""
    try:
        found = reader(data).get_fields() or {}
        return {name: _field(field) for name, field in found.items() if field.field_type}
    except BROKEN as error:
        raise Refused("has a form that cannot be read. Save it anew.") from error


def _field(field: Any) -> dict[str, Any]:
    kinds = {"/Tx": "text", "/Btn": "checkbox", "/Ch": "choice", "/Sig": "signature"}
    states = [str(state).removeprefix("/") for state in field.get("/_States_", [])]
    value, kind = field.value, kinds.get(str(field.field_type), "other")
    # Of one box that has two ways of being ticked nobody knows which is meant; a group has one way for each box.
    is_unclear = kind == "checkbox" and len({*states} - {"Off"}) > max(1, len(field.get("/Kids", ())))
    return {
        "kind": "other" if is_unclear else kind,
        "value": "" if value is None else str(value).removeprefix("/"),
        "choices": states,
    }


def filled(data: bytes, values: dict[str, str]) -> bytes:
    """The PDF with these values in its form. One that is signed, or that programs may read differently, is refused."""
    found, known = _sound(data), fields(data)
    if pdf_sound.is_signed(found):
        raise Refused(_SIGNED)
    chosen = {name: _value(name, value, known) for name, value in values.items()}
    try:
        writer = PdfWriter(clone_from=found)
        form_widgets.fill(writer, chosen)
        writer.set_need_appearances_writer(False)
        made = _bytes(writer)
    except (*BROKEN, pypdfium2.PdfiumError) as error:
        raise Refused("has a form that cannot be filled here. Fill it by hand.") from error
    pdf_sound.must_say_the_same([data], made)
    return made


def _value(name: str, value: str, known: dict[str, dict[str, Any]]) -> str:
    if name not in known:
        there = ", ".join(known) or "none"
        raise Refused(f"has no field “{name}”. The fields are: {there}.")
    kind, choices = known[name]["kind"], known[name]["choices"]
    if kind in ("signature", "other"):
        raise Refused(f"has the field “{name}”, which is not one to write into. Sign or fill it by hand.")
    if kind == "checkbox":
        ticked = [choice for choice in choices if choice != "Off"]
        yes = ticked[0] if ticked else "Yes"
        word = {"yes": yes, "true": yes, "on": yes, "no": "Off", "false": "Off", "off": "Off", "": "Off"}
        # Of a group the states are names to choose from; a box may call its one state “No”, and is not ticked by that.
        value = value if value in choices and len(ticked) > 1 else word.get(value.strip().lower(), value)
        if value not in {*choices, "Off"}:
            raise Refused(f"has the box “{name}”: write yes or no.")
        return NameObject(f"/{value}")
    if kind == "choice" and choices and value not in choices:
        raise Refused(f"has the choice “{name}”, where “{value}” is none of: {', '.join(choices)}.")
    return value


MOST_COLUMNS = 20
_SIZES = {1: 20, 2: 16, 3: 14, 4: 12, 5: 11, 6: 10}
_TAGS = {
    "bold": "<b>{}</b>", "italic": "<i>{}</i>", "code": '<font name="mono">{}</font>', "struck": "<strike>{}</strike>",
    "note": "<super>{}</super>", right_to_left.RAISED: '<super rise="25%" size="100%">{}</super>',
}  # fmt: skip


_STYLE_FONTS = {"bold": "bold", "code": "mono"}


class UnknownLetters(Refused):
    """Some letters cannot be set; it says which."""


def write(blocks: Sequence[Block], title: str, lenient: bool = False) -> bytes:
    """A PDF of these blocks on A4 pages; the same blocks give the same bytes.

    `lenient`: a letter that cannot be set is written as its number, such as \\u{926}, instead of refused.
    Raises UnknownLetters, and Refused for more pages than anybody reads.
    """
    shown = [*([Block("heading", unstyled(title), 1)] if title else []), *blocks]
    shown = with_asian_fonts(_changed(shown, right_to_left.joined))
    missing = unknown_letters(shown, standard_font())
    if missing and not lenient:
        written = dict.fromkeys(unicodedata.normalize("NFKC", c) for c in missing)
        named = " ".join(c if c.isprintable() else repr(c) for c in [*written][:8])
        raise UnknownLetters(
            f"cannot be made: these letters cannot be set here: {named}. Make a .docx file instead."
        )
    if missing:
        shown = numbered(shown, missing)
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


def _parts(block: Block) -> list[Flowable]:
    body = ParagraphStyle(
        "body",
        fontName="text",
        bulletFontName="text",
        fontSize=10,
        leading=14,
        spaceAfter=6,
    )
    match block.kind:
        case "heading":
            size = _SIZES[block.level]
            own = "".join(run.text for run in block.text if not asian_fonts(run))
            style = ParagraphStyle(
                "heading",
                body,
                fontName=_that_knows(own, "bold"),
                fontSize=size,
                leading=size * 1.25,
                spaceBefore=8,
                keepWithNext=1,
            )
            return [_paragraph(block.text, style)]
        case "item":
            indent = 14 * (block.level + 1) + 14 * block.quote
            label = max(12, 6 * len(block.number))
            style = ParagraphStyle(
                "item", body, leftIndent=indent + label - 12, bulletIndent=indent - 12, spaceAfter=2
            )
            return [_paragraph(block.text, style, number=block.number or "•")]
        case "code":
            font = next(iter(asian_fonts(*block.text)), _that_knows(plain(block.text), "mono"))
            style = ParagraphStyle("code", body, fontName=font, fontSize=8, leading=10)
            return [Preformatted(plain(block.text), style, maxLineLength=100), Spacer(1, 6)]
        case "break":
            return [PageBreak()]
        case "table":
            return [
                _table(block.rows, ParagraphStyle("cell", body, fontSize=8, leading=10, spaceAfter=0)),
                Spacer(1, 6),
            ]
        case "note":
            return [_paragraph(block.text, body, before=f"<super>{escape(block.number)}</super> ")]
        case _:
            aside = ParagraphStyle("aside", body, leftIndent=14 * (block.level + block.quote))
            return [_paragraph(block.text, aside)]


def _paragraph(text: Text, style: ParagraphStyle, before: str = "", number: str | None = None) -> Paragraph:
    """A text with what stands before it in its first line, and before all lines; at the right where it begins there."""
    letters = plain(text)
    marked = before + _marked(text)
    if asian_fonts(*text):
        style = ParagraphStyle("asian", style, wordWrap="CJK")  # then lines end between any two signs
    if not any(map(right_to_left.runs_left, letters)):
        return Paragraph(marked, style, bulletText=number)
    if right_to_left.begins_right(letters):
        indent = {"leftIndent": 0, "rightIndent": style.leftIndent}
        style = ParagraphStyle("right", style, alignment=TA_RIGHT, wordWrap="RTL", **indent)
        number = number and right_to_left.bullet(number, to_left=True)
    return right_to_left.Turned(marked, style, bulletText=number)


def _table(rows: list[list[Text]], style: ParagraphStyle) -> LongTable:
    if len(rows[0]) > MOST_COLUMNS:
        raise Refused(
            f"cannot be made: a table has {len(rows[0])} columns, and {MOST_COLUMNS} fit on a page."
        )
    cells = [[_paragraph(cell, style) for cell in row] for row in right_to_left.columns(rows)]
    width = (A4[0] - 42 * mm) / len(rows[0])
    lines = [("GRID", (0, 0), (-1, -1), 0.4, colors.grey), ("VALIGN", (0, 0), (-1, -1), "TOP")]
    return LongTable(cells, colWidths=[width] * len(rows[0]), repeatRows=1, style=lines)


def _marked(text: Text) -> str:
    return "".join(_piece(run) for run in text).replace("\n", "<br/>")


def _piece(run: Run) -> str:
    said = run.text
    for style in ("picture", "inserted", "deleted"):
        said = FORMS[style].format(said) if style in run.style else said
    said = escape(said)
    for style, tag in _TAGS.items():
        font = _STYLE_FONTS.get(style, "text")
        said = tag.format(said) if style in run.style and _that_knows(run.text, font) == font else said
    for font in asian_fonts(run):
        said = f'<font name="{font}">{said}</font>'
    shown = run.link.startswith(("http://", "https://", "mailto:"))
    return f'<a href="{escape(run.link, _QUOTE)}" color="#0645ad">{said}</a>' if shown else said


def _that_knows(letters: str, font: str) -> str:
    """The font, or the one for texts where it does not have all of these letters."""
    known = getFont(font).face.charToGlyph
    return font if all(c in _SPACES or ord(c) in known for c in letters) else "text"


_QUOTE = {'"': "&quot;"}
