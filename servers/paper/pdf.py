"""PDF files: their text, their forms, several put together. Runs in the process apart."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from pypdf import PdfReader, PdfWriter
from pypdf.errors import PyPdfError
from pypdf.generic import NameObject

from servers.paper.blocks import Refused

MOST_PAGES = 2_000
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), 127])  # signs of a font, not of a text
_BROKEN = (PyPdfError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OSError)


def reader(data: bytes) -> PdfReader:
    """An open PDF. Raises Refused for one that is broken, locked, or has no end."""
    try:
        found = PdfReader(io.BytesIO(data), strict=False)
        if found.is_encrypted and not found.decrypt(""):
            raise Refused("is locked with a password. Save it without one first.")
        pages = len(found.pages)
    except _BROKEN as error:
        raise Refused("is not a PDF that can be opened. Save it anew.") from error
    if pages > MOST_PAGES:
        raise Refused(f"has {pages:,} pages, more than {MOST_PAGES:,}. Take a part of it.")
    return found


def text(data: bytes) -> list[str]:
    """The text of each page."""
    try:
        return [page.extract_text().translate(_CONTROLS) for page in reader(data).pages]
    except _BROKEN as error:
        raise Refused("has a page that cannot be read. Save it anew.") from error


def merged(files: Sequence[bytes]) -> tuple[bytes, list[int]]:
    """All pages in order, and how many each file gave."""
    writer, counts = PdfWriter(), []
    for n, data in enumerate(files, 1):
        try:
            found = reader(data)
            writer.append(found, import_outline=False)
        except Refused as refused:
            raise Refused(f"cannot be made: file {n} {refused}") from None
        except _BROKEN as error:
            raise Refused(f"cannot be made: file {n} is broken. Save it anew.") from error
        counts.append(len(found.pages))
        if sum(counts) > MOST_PAGES:
            raise Refused(f"would have more than {MOST_PAGES:,} pages. Take fewer files.")
    return _bytes(writer), counts


def _bytes(writer: PdfWriter) -> bytes:
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def fields(data: bytes) -> dict[str, dict[str, Any]]:
    """The form of a PDF: name to kind, value and choices."""
    try:
        found = reader(data).get_fields() or {}
        return {name: _field(field) for name, field in found.items() if field.field_type}
    except _BROKEN as error:
        raise Refused("has a form that cannot be read. Save it anew.") from error


def _field(field: Any) -> dict[str, Any]:
    kinds = {"/Tx": "text", "/Btn": "checkbox", "/Ch": "choice", "/Sig": "signature"}
    states = [str(state).removeprefix("/") for state in field.get("/_States_", [])]
    value = field.value
    return {
        "kind": kinds.get(str(field.field_type), "other"),
        "value": "" if value is None else str(value).removeprefix("/"),
        "choices": states,
    }


def filled(data: bytes, values: dict[str, str]) -> bytes:
    """The PDF with these values in its form."""
    known = fields(data)
    chosen = {name: _value(name, value, known) for name, value in values.items()}
    try:
        writer = PdfWriter(clone_from=reader(data))
        for page in writer.pages:
            writer.update_page_form_field_values(page, chosen, auto_regenerate=False)
        writer.set_need_appearances_writer(False)
        return _bytes(writer)
    except _BROKEN as error:
        raise Refused("has a form that cannot be filled here. Fill it by hand.") from error


def _value(name: str, value: str, known: dict[str, dict[str, Any]]) -> str:
    if name not in known:
        there = ", ".join(known) or "none"
        raise Refused(f"has no field “{name}”. The fields are: {there}.")
    kind, choices = known[name]["kind"], known[name]["choices"]
    if kind in ("signature", "other"):
        raise Refused(f"has the field “{name}”, which is not one to write into. Sign or fill it by hand.")
    if kind == "checkbox":
        yes = next((choice for choice in choices if choice != "Off"), "Yes")
        word = {"yes": yes, "true": yes, "on": yes, "no": "Off", "false": "Off", "off": "Off", "": "Off"}
        value = value if value in choices else word.get(value.lower(), value)
        if value not in {*choices, "Off"}:
            raise Refused(f"has the box “{name}”: write yes or no.")
        return NameObject(f"/{value}")
    if kind == "choice" and choices and value not in choices:
        raise Refused(f"has the choice “{name}”, where “{value}” is none of: {', '.join(choices)}.")
    return value
