"""The look of a field that is filled in: in a font of ours, black, and read back from it. Runs in the sandbox.

The form's own font may draw other letters than it says, and its size or its colour none that anybody sees.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pypdfium2
from pypdf import PdfWriter
from pypdf.generic import ContentStream, DictionaryObject, NameObject, TextStringObject

FONT = "/Helvetica"  # without a file: every program brings one
FITTING = 0.0  # a size that is chosen by the room there is
SMALLEST = 4.0  # points
_ASIDE, _ABOVE = 0.5, 2.0  # points that a letter may stand over
_UNSURE = {*"-\xad\u2010\x02\ufffe\ufffd"}  # PDFium reads hyphens as one or the other
_LIST, _LINES = 1 << 17, 1 << 12  # the flags of a choice that is no list, and of a text of several lines


@contextmanager
def own_font(form: Any, widget: Any, size: float) -> Iterator[None]:
    """Meanwhile pypdf finds no font of the form for this widget, and so takes the one of ours."""
    key = NameObject("/DR")
    kept = [(one, one.get(key)) for one in (form, widget)]
    form[key], widget[key] = DictionaryObject(), DictionaryObject()
    widget[NameObject("/DA")] = TextStringObject(f"{FONT} {size:g} Tf 0 g")
    try:
        yield
    finally:
        for one, resources in kept:
            del one[key]
            one.update({} if resources is None else {key: resources})


def size(form: Any, above: list[Any]) -> float:
    """The size of letters that a form wants for a field, FITTING where it leaves it open."""
    said = next((one["/DA"] for one in (*above, form) if "/DA" in one), "")
    words = str(said).split()
    try:
        wanted = float(words[words.index("Tf") - 1])
    except ValueError:
        return FITTING
    return wanted if wanted >= SMALLEST else FITTING


def is_list(field: Any) -> bool:
    """Whether a field shows all that can be chosen, and not what is chosen alone."""
    return field.get("/FT") == "/Ch" and not int(field.get("/Ff", 0)) & _LIST


def is_one_line(field: Any) -> bool:
    return not int(field.get("/Ff", 0)) & _LINES


def unclip(look: Any) -> None:
    """Let a look use all of its box: pypdf cuts off some of the space in which it sets text itself."""
    look.set_data(look.get_data().replace(b"W\nBT\n", b"n\nBT\n", 1))


def shows(look: Any, value: str) -> bool:
    """Whether PDFium reads this value, all of it and nothing else, within the box of a look."""
    width, height = (float(side) for side in look["/BBox"][2:])
    try:
        seen = _letters(_alone(look, width, height))
    except pypdfium2.PdfiumError:
        return False
    inside = all(
        left >= -_ASIDE and low >= -_ABOVE and right <= width + _ASIDE and high <= height + _ABOVE
        for _, (left, low, right, high) in seen
    )
    return inside and _plain("".join(letter for letter, _ in seen)) == _plain(value)


def _letters(data: bytes) -> list[tuple[str, tuple[float, float, float, float]]]:
    """What stands on the only page, letter by letter, and the box of each."""
    with closing(pypdfium2.PdfDocument(data)) as document:
        text = document[0].get_textpage()
        letters = [(text.get_text_range(n, 1), n) for n in range(text.count_chars())]
        return [(letter, text.get_charbox(n)) for letter, n in letters if letter.strip()]


def _plain(text: str) -> str:
    return "".join(one for one in "".join(text.split()) if one not in _UNSURE)


def _alone(look: Any, width: float, height: float) -> bytes:
    """A page of which a look is all that there is."""
    writer, out = PdfWriter(), io.BytesIO()
    page = writer.add_blank_page(max(width, 1), max(height, 1))
    page[NameObject("/Resources")] = look["/Resources"].clone(writer)
    drawing = ContentStream(None, None)
    drawing.set_data(look.get_data())
    page[NameObject("/Contents")] = writer._add_object(drawing)
    writer.write(out)
    return out.getvalue()
