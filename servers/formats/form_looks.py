"""The looks of fields that are filled in: in fonts of ours, black, and read back from them. Runs in the sandbox.

The form's own font may draw other letters than it says, and its size or its colour none that anybody sees.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Sequence
from contextlib import closing
from typing import Any, NamedTuple

import pypdfium2
from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    PdfObject,
    TextStringObject,
)
from reportlab.lib.utils import simpleSplit
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

from servers.formats.blocks import plain, unstyled
from servers.formats.pdf_fonts import standard_font
from servers.formats.right_to_left import begins_right, can_be_set, joined, runs_left, seen
from servers.sandbox.protocol import Refused

_HELVETICA = "Helvetica"  # without a file: every program brings one
# Points, from the largest: where the form leaves it open, and where its own has no room.
_SIZES = [half / 2 for half in range(24, 7, -1)]
_LINE, _HIGH = 1.17, 0.93  # of a size: how high a line is, and what stands of it above the foot of letters
_EDGE = 2.0  # points between a line and each side
_ASIDE, _ABOVE = 0.5, 2.0  # points that a letter may stand over
_UNSURE = {*"-\xad\u2010\x02\ufffe\ufffd"}  # PDFium reads hyphens as one or the other
_SEVERAL = 1 << 12  # the flag of a text of several lines
_TURNS = {0: (1, 0, 0, 1), 90: (0, 1, -1, 0), 180: (-1, 0, 0, -1), 270: (0, -1, 1, 0)}
_BLACK = (0, 0, 0)


class Look(NamedTuple):
    """What a widget is to show. `above`: the widget, and what it takes settings from, the nearest first."""

    name: str
    value: str
    above: list[Any]

    def says(self, key: str, otherwise: Any) -> Any:
        """The nearest setting of this key."""
        return next((one[key] for one in self.above if key in one), otherwise)

    @property
    def letters(self) -> str:
        """The value as it is drawn: composed, and Arabic letters as they stand beside each other."""
        return plain(joined(unstyled(unicodedata.normalize("NFC", self.value))))

    @property
    def has_lines(self) -> bool:
        """Whether it may have several lines."""
        return bool(self.says("/Ff", 0) & _SEVERAL)

    @property
    def turn(self) -> int:
        """By how many degrees it is turned, to the left."""
        return int(at(self.says("/MK", {}), "/R", 0)) % 360

    @property
    def box(self) -> tuple[float, float]:
        """Its width and its height, before it is turned."""
        left, low, right, high = map(float, self.above[0]["/Rect"])
        width, height = abs(right - left), abs(high - low)
        return (height, width) if self.turn % 180 else (width, height)

    @property
    def size(self) -> float:
        """The size of letters that the form wants, 0 where it leaves that open."""
        words = str(self.says("/DA", "")).split()
        try:
            wanted = float(words[words.index("Tf") - 1])
        except ValueError:
            return 0
        return wanted if wanted >= _SIZES[-1] else 0


def draw(writer: PdfWriter, looks: Sequence[Look]) -> None:
    """Give widgets these looks. Raises Refused where PDFium reads another text from one, or some beyond its box."""
    made = _pages(looks)
    with closing(pypdfium2.PdfDocument(made)) as document:
        for page, look in zip(document, looks, strict=True):
            if not _shows(page.get_textpage(), look):
                raise Refused(f"cannot show “{look.value[:60]}” in the field “{look.name}”. Fill it by hand.")
    for page, look in zip(PdfReader(io.BytesIO(made)).pages, looks, strict=True):
        widget, shown = look.above[0], writer._add_object(_drawing(writer, page, look))
        widget[NameObject("/AP")] = DictionaryObject({NameObject("/N"): shown})


def _shows(read: Any, look: Look) -> bool:
    """Whether PDFium reads this value, all of it and nothing else, within the box of its look."""
    (width, height), text = look.box, ""
    for n in range(read.count_chars()):
        letter = read.get_text_range(n, 1)
        left, low, right, high = read.get_charbox(n)
        over = min(left, width - right) < -_ASIDE or min(low, height - high) < -_ABOVE
        if letter.strip() and over:
            return False
        text += letter
    return _plain(text) == _plain(look.value)


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text)
    return "".join(one for one in "".join(text.split()) if one not in _UNSURE)


def _drawing(writer: PdfWriter, page: Any, look: Look) -> DecodedStreamObject:
    """A page as what a widget refers to."""
    drawing = DecodedStreamObject()
    drawing.set_data(page.get_contents().get_data())
    drawing.update(
        {
            NameObject("/Type"): NameObject("/XObject"),
            NameObject("/Subtype"): NameObject("/Form"),
            NameObject("/BBox"): ArrayObject(map(FloatObject, (0, 0, *look.box))),
            NameObject("/Matrix"): ArrayObject(map(FloatObject, (*_TURNS[look.turn], 0, 0))),
            NameObject("/Resources"): page["/Resources"].clone(writer),
        }
    )
    return drawing


def _pages(looks: Sequence[Look]) -> bytes:
    """A page for each look."""
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    for look in looks:
        canvas.setPageSize(look.box)
        _frame(canvas, look)
        _write(canvas, look)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def _frame(canvas: Canvas, look: Look) -> None:
    """Draw what is behind a value and around it."""
    (width, height), line = look.box, float(at(look.says("/BS", {}), "/W", 1))
    behind, around = (_colour(look, key) for key in ("/BG", "/BC"))
    canvas.setLineWidth(line)
    canvas.setFillColor(behind or _BLACK)
    canvas.setStrokeColor(around or _BLACK)
    inside = (line / 2, line / 2, width - line, height - line)
    canvas.rect(*inside, fill=bool(behind), stroke=bool(around and line))
    canvas.setFillColor(_BLACK)


def _colour(look: Look, key: str) -> list[float]:
    """A colour of three parts, or of four; nothing for none."""
    parts = [float(part) for part in at(look.says("/MK", {}), key, ())]
    return parts * 3 if len(parts) == 1 else parts


def _write(canvas: Canvas, look: Look) -> None:
    """Draw a value, at the right where it begins there and the form leaves it open, and note its size."""
    (width, height), text, font = look.box, look.letters, _font(look)
    size, lines = _fitting(look, font)
    to_left = bool(text) and begins_right(text)
    side = int(look.says("/Q", 2 * to_left)) / 2
    foot = (height if look.has_lines else (height + _LINE * size) / 2) - _HIGH * size
    canvas.setFont(font, size)
    for n, line in enumerate(lines):
        free = width - 2 * _EDGE - stringWidth(line, font, size)
        shown = "".join(letter for _, letter in seen(line, to_left))
        canvas.drawString(_EDGE + free * side, foot - n * _LINE * size, shown)
    kept = size if size == look.size else 0
    look.above[0][NameObject("/DA")] = TextStringObject(f"/{_HELVETICA} {kept:g} Tf 0 g")


def _font(look: Look) -> str:
    """A font that has all letters of a value."""
    letters = sorted({*look.letters} - {*"\r\n"})
    if all(letter.isprintable() and letter.encode("cp1252", "ignore") for letter in letters):
        return _HELVETICA
    font = standard_font()
    known = font.face.charToGlyph
    unknown = [c for c in letters if ord(c) not in known or (runs_left(c) and not can_be_set(c))]
    if unknown:
        named = " ".join(
            unicodedata.normalize("NFKC", c) if c.isprintable() else repr(c) for c in unknown[:8]
        )
        raise Refused(f"has no font for these letters in the field “{look.name}”: {named}. Fill it by hand.")
    return str(font.fontName)


def _fitting(look: Look, font: str) -> tuple[float, list[str]]:
    """The first size in which a value has room, and its lines."""
    if _lines(look, font, _SIZES[-1]) is not None:
        for size in filter(None, (look.size, *_SIZES)):
            lines = _lines(look, font, size)
            if lines is not None:
                return size, lines
    raise Refused(f"has no room for “{look.value[:60]}” in the field “{look.name}”. Give a shorter value.")


def _lines(look: Look, font: str, size: float) -> list[str] | None:
    """The lines of a value in this size; None where they have no room."""
    (width, height), lines = look.box, look.letters.splitlines()
    room = max(width - 2 * _EDGE, 0)
    if look.has_lines:
        split = [simpleSplit(line, font, size, room) or [""] for line in lines]
        lines = [part for parts in split for part in parts]
    widest = max((stringWidth(line, font, size) for line in lines), default=0)
    return lines if widest <= room and len(lines) * _LINE * size <= height else None


def at(part: Any, key: str, otherwise: Any = None) -> Any:
    """What stands there under a key, itself and not a reference to it."""
    found = part.get(key, otherwise)
    return found.get_object() if isinstance(found, PdfObject) else found
