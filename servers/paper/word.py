"""Word files, read into blocks and written from them. Runs in the process apart."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from docx import Document
from docx.document import Document as Word
from docx.enum.text import WD_BREAK
from docx.oxml.ns import qn
from docx.table import Table
from docx.text.paragraph import Paragraph

from servers.paper import packages
from servers.paper.blocks import Block, Refused, runs

_FORMS = {"bold": "**{}**", "italic": "*{}*", "code": "`{}`", "": "{}"}
_STYLES = ("List Bullet", "List Number")


def read(data: bytes) -> list[Block]:
    """The blocks of a Word file. Raises Refused for one that is broken or a bomb."""
    packages.checked(data)
    try:
        return _numbered(_blocks(Document(io.BytesIO(data))))
    except (KeyError, ValueError, AttributeError, TypeError, IndexError) as error:
        raise Refused("is not a Word file that can be opened. Save it anew as .docx.") from error


def _numbered(blocks: Iterable[Block]) -> list[Block]:
    """Items of numbered lists counted, as Word does when it shows them."""
    found: list[Block] = []
    counts: dict[int, int] = {}
    for block in blocks:
        if block.kind != "item":
            counts = {}
        elif block.number:
            counts = {level: n for level, n in counts.items() if level <= block.level}
            counts[block.level] = counts.get(block.level, 0) + 1
            block = replace(block, number=f"{counts[block.level]}.")
        found.append(block)
    return found


def _blocks(document: Word) -> Iterator[Block]:
    for part in document.iter_inner_content():
        if isinstance(part, Table):
            yield Block("table", rows=[[cell.text for cell in row.cells] for row in part.rows])
        elif part.text.strip():
            yield _block(part)


def _block(paragraph: Paragraph) -> Block:
    style = (paragraph.style.name or "") if paragraph.style else ""
    text = "".join(_marked(run) for run in paragraph.iter_inner_content())
    if style == "Title" or style.startswith("Heading"):
        level = style.rpartition(" ")[2]
        return Block("heading", paragraph.text, min(int(level), 6) if level.isdigit() else 1)
    if style.startswith("List") or paragraph._p.find(f"{qn('w:pPr')}/{qn('w:numPr')}") is not None:
        deep = style.rpartition(" ")[2]
        number = "1." if "Number" in style else ""
        return Block("item", text, int(deep) - 1 if deep.isdigit() else 0, number)
    return Block("paragraph", text)


def _marked(run: Any) -> str:
    bold, italic = getattr(run, "bold", None), getattr(run, "italic", None)
    text: str = run.text
    if not text.strip() or not (bold or italic) or "*" in text:
        return text
    form = _FORMS["bold" if bold else "italic"]
    inner = text.strip()
    return text.replace(inner, form.format(inner))


def write(blocks: Sequence[Block], title: str) -> bytes:
    """A Word file of these blocks; the same blocks give the same bytes."""
    document = Document()
    document.core_properties.title = title
    document.core_properties.author = ""
    if title:
        document.add_heading(title, 0)
    for block in blocks:
        _write(document, block)
    out = io.BytesIO()
    document.save(out)
    return packages.steady(out.getvalue())


def _write(document: Word, block: Block) -> None:
    match block.kind:
        case "heading":
            _styled(document.add_heading("", block.level), block.text)
        case "item":
            style = _STYLES[bool(block.number)] + (f" {min(block.level, 2) + 1}" if block.level else "")
            _styled(document.add_paragraph(style=style), block.text)
        case "code":
            document.add_paragraph().add_run(block.text).font.name = "Courier New"
        case "break":
            document.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
        case "table":
            _table(document, block.rows)
        case _:
            _styled(document.add_paragraph(), block.text)


def _styled(paragraph: Paragraph, text: str) -> None:
    for piece, style in runs(text):
        run = paragraph.add_run(_bearable(piece))
        run.bold = True if style == "bold" else None
        run.italic = True if style == "italic" else None
        if style == "code":
            run.font.name = "Courier New"


def _table(document: Word, rows: list[list[str]]) -> None:
    table = document.add_table(len(rows), len(rows[0]), "Table Grid")
    for row, cells in zip(rows, table.rows, strict=True):
        for value, cell in zip(row, cells.cells, strict=True):
            _styled(cell.paragraphs[0], value)


def _bearable(text: str) -> str:
    """Text without the control characters that XML cannot hold."""
    return "".join(c for c in text if c in "\t\n" or (ord(c) >= 32 and not 0xD800 <= ord(c) < 0xE000))
