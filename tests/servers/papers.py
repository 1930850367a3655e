"""Documents for tests: forms, books and packages, honest ones and others."""

from __future__ import annotations

import io
import zipfile
from functools import cache
from typing import Any

from reportlab.pdfgen.canvas import Canvas

from servers.formats import markdown, office, word_writing
from servers.formats import pdf as pdf_format

TEXT = (
    "# Rent\n\nThe lease ends in **May**.\n\n- keys\n- deposit\n\n| what | sum |\n|---|---|\n| rent | 900 |\n"
)


@cache
def pdf(text: str = TEXT) -> bytes:
    return pdf_format.write(markdown.read(text), "")


@cache
def docx(text: str = TEXT) -> bytes:
    return word_writing.write(markdown.read(text), "")


def xlsx(rows: list[list[Any]]) -> bytes:
    return office.write_excel(rows)


def form(name: str = "") -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    canvas.acroForm.textfield(name="name", value=name, x=100, y=700)
    canvas.acroForm.checkbox(name="agreed", x=100, y=650, checked=False)
    canvas.acroForm.choice(name="size", value="small", options=["small", "large"], x=100, y=600)
    canvas.drawString(100, 750, "Form")
    canvas.save()
    return out.getvalue()


def package(*parts: tuple[str, bytes], level: int = 9) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, content in parts:
            archive.writestr(name, content)
    return out.getvalue()


def swapped(data: bytes, name: str, old: bytes, new: bytes) -> bytes:
    """The same package with something else in one of its parts."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = [(part.filename, archive.read(part)) for part in archive.infolist()]
    assert any(part == name and old in content for part, content in parts)
    return package(
        *((part, content.replace(old, new) if part == name else content) for part, content in parts)
    )
