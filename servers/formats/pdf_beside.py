"""What a PDF holds beside the text of its pages: values of forms, notes, files, pictures. Runs in the sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pypdf import PageObject

from servers.formats import pdf

MOST_SHOWN = 10_000  # characters of one value or note
DEEPEST = 20  # fields within each other
_NOT_SAID = ("/Widget", "/Popup", "/Link")
_PUSH = 1 << 16  # the flag of a button that holds nothing
FEW = 150  # characters of a page that may be a scan with a line of text
LARGE = 500_000  # pixels of a picture that may be a page
MOST_NAMED = 5


def beside(data: bytes) -> tuple[list[str], str]:
    """For each page the values of its form and the notes on it, as lines; and what is to be said of what is not read,
    as the end of a sentence."""
    pages, broken = list[str](), list[int]()
    found = pdf.reader(data)
    for number, page in enumerate(found.pages, 1):
        try:
            pages.append("\n".join(dict.fromkeys([*_values(page), *_notes(page)])))
        except pdf.BROKEN:
            pages.append("")
            broken.append(number)
    told = [_pages("has a form or notes that cannot be read", broken), _inside(data)]
    return pages, "; it ".join(filter(None, told))


def pictured(data: bytes, pages: list[str]) -> str:
    """What is to be said of pages with a large picture and little text, such as a scan with a line of a fax machine."""
    found = pdf.reader(data)
    few = [n for n, page in enumerate(pages, 1) if page.strip() and len(page) < FEW]
    large = [n for n in few if any(size >= LARGE for size in _pictures(found.pages[n - 1]))]
    several = "s" if len(large) > 1 else ""
    return _pages(f"has a large picture{several}, of which no text is read (try the OCR tools),", large)


def _pages(said: str, numbers: list[int]) -> str:
    if not numbers:
        return ""
    named = ", ".join(map(str, numbers[:MOST_NAMED]))
    more = f" and {len(numbers) - MOST_NAMED} more" if numbers[MOST_NAMED:] else ""
    return f"{said} on page {named}{more}"


def layers(data: bytes) -> str:
    """What is to be said of layers, as the end of a sentence; "" where there are none."""
    has_some = "/OCProperties" in pdf.reader(data).root_object
    return "has layers, of which those that are hidden are read too" if has_some else ""


def inside(data: bytes) -> list[str]:
    """The names of the files that are in a PDF."""
    return [str(name)[:60] for name in pdf.reader(data).attachments]


def _inside(data: bytes) -> str:
    try:
        names = inside(data)
    except pdf.BROKEN:
        return "has files in it that cannot be listed"
    if not names:
        return ""
    more = ", …" if names[MOST_NAMED:] else ""
    many = f"{len(names)} files" if len(names) > 1 else "a file"
    return f"has {many} in it that this does not read ({', '.join(names[:MOST_NAMED])}{more})"


def _annotations(page: PageObject) -> Iterator[Any]:
    listed = page.get("/Annots")
    return (one.get_object() for one in (listed.get_object() if listed is not None else ()))


def _values(page: PageObject) -> Iterator[str]:
    """What is filled in on a page: a line for each field."""
    for one in _annotations(page):
        if one.get("/Subtype") != "/Widget":
            continue
        chain = [*_above(one)]
        name = ".".join(str(field["/T"]) for field in reversed(chain) if "/T" in field)
        value = next((field["/V"] for field in chain if field.get("/V") is not None), None)
        flags = next((int(field["/Ff"]) for field in chain if "/Ff" in field), 0)
        said = _said(value)
        if said and not flags & _PUSH:
            yield f"{name}: {said}"


def _above(field: Any) -> Iterator[Any]:
    """A field and those that it is a part of."""
    for _ in range(DEEPEST):
        yield field
        if "/Parent" not in field:
            return
        field = field["/Parent"].get_object()


def _said(value: Any) -> str:
    value = value.get_object() if value is not None else None
    if isinstance(value, list):
        return ", ".join(filter(None, map(_said, value)))
    if value is None or isinstance(value, dict):
        return "signed" if value else ""
    text = str(value).removeprefix("/").strip()[:MOST_SHOWN]
    return "" if text == "Off" else text


def _notes(page: PageObject) -> Iterator[str]:
    """What people wrote onto a page, or beside it."""
    for one in _annotations(page):
        text = _said(one.get("/Contents"))
        if text and one.get("/Subtype") not in _NOT_SAID:
            author = _said(one.get("/T"))
            yield f"[note] {author}: {text}" if author else f"[note] {text}"


def _pictures(page: PageObject) -> Iterator[int]:
    """How many pixels the pictures of a page have."""
    try:
        resources: Any = page["/Resources"]
        listed = resources["/XObject"].get_object()
        parts = [listed[name].get_object() for name in listed]
        yield from (
            int(one["/Width"]) * int(one["/Height"]) for one in parts if one.get("/Subtype") == "/Image"
        )
    except pdf.BROKEN:
        return
