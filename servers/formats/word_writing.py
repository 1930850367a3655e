"""Word files made of blocks; the same blocks give the same bytes. Runs in the sandbox."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

from docx import Document
from docx.document import Document as Word
from docx.enum.text import WD_BREAK
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph

from servers.formats.blocks import FORMS, Block, Run, Text, plain
from servers.formats.office import steady
from servers.formats.word import value_of


def write(blocks: Sequence[Block], title: str) -> bytes:
    """A Word file of these blocks; the same blocks give the same bytes."""
    document = Document()
    document.core_properties.title = title
    document.core_properties.author = ""
    if title:
        document.add_heading(title, 0)
    lists: dict[int, tuple[int, Any]] = {}
    for block in blocks:
        if block.kind != "item":
            lists = {level: one for level, one in lists.items() if level < block.level}
        _write(document, block, lists)
    out = io.BytesIO()
    document.save(out)
    return steady(out.getvalue())


def _write(document: Word, block: Block, lists: dict[int, tuple[int, Any]]) -> None:
    match block.kind:
        case "heading":
            _styled(document.add_heading("", block.level), block.text)
        case "item":
            _item(document, block, lists)
        case "code":
            document.add_paragraph().add_run(_bearable(plain(block.text))).font.name = "Courier New"
        case "break":
            document.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
        case "table":
            _written_table(document, block.rows)
        case "note":
            _styled(document.add_paragraph(), (Run(block.number, frozenset({"note"})), Run(" "), *block.text))
        case _:
            deep = f"List Continue{_deep(block.level - 1)}" if block.level else "Normal"
            _styled(document.add_paragraph(style="Quote" if block.quote else deep), block.text)


def _deep(level: int) -> str:
    return f" {min(level, 2) + 1}" if level else ""


def _item(document: Word, block: Block, lists: dict[int, tuple[int, Any]]) -> None:
    for deeper in [level for level in lists if level > block.level]:
        del lists[deeper]
    figure = re.fullmatch(r"(\d{1,9})[.)]", block.number)
    if block.number and not figure:
        _styled(
            document.add_paragraph(style=f"List Continue{_deep(block.level)}"),
            (Run(f"{block.number} "), *block.text),
        )
        return
    paragraph = document.add_paragraph(style=f"List {'Number' if figure else 'Bullet'}{_deep(block.level)}")
    if figure:
        last, made = lists.get(block.level, (None, None))
        if made is None or int(figure[1]) != (last or 0) + 1:
            made = _list(document, paragraph, int(figure[1]))
        lists[block.level] = (int(figure[1]), made)
        paragraph._p.get_or_add_pPr().get_or_add_numPr().get_or_add_numId().val = made
    _styled(paragraph, block.text)


def _list(document: Word, paragraph: Paragraph, first: int) -> int:
    """A new list in the style of a paragraph that begins with this number."""
    numbering = document.part.numbering_part.element
    style = paragraph.style
    key = value_of(style.element if style is not None else None, "pPr/numPr/numId")
    shared = next(
        value_of(one, "abstractNumId") for one in numbering.iter(qn("w:num")) if one.get(qn("w:numId")) == key
    )
    made = numbering.add_num(int(shared))
    made.add_lvlOverride(0).add_startOverride(first)
    return int(made.numId)


def _styled(paragraph: Paragraph, text: Text) -> None:
    for run in text:
        said = _bearable(run.text)
        for style in ("picture", "inserted", "deleted"):
            said = FORMS[style].format(said) if style in run.style else said
        made = paragraph.add_run(said)
        made.bold = True if "bold" in run.style else None
        made.italic = True if "italic" in run.style else None
        made.font.strike = True if "struck" in run.style else None
        made.font.superscript = True if "note" in run.style else None
        if "code" in run.style:
            made.font.name = "Courier New"
        if run.link:
            _link(paragraph, made._r, run.link)


def _link(paragraph: Paragraph, run: Any, address: str) -> None:
    link = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), paragraph.part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
    run.addprevious(link)
    link.append(run)


def _written_table(document: Word, rows: list[list[Text]]) -> None:
    table = document.add_table(len(rows), len(rows[0]), "Table Grid")
    for row, cells in zip(rows, table.rows, strict=True):
        for value, cell in zip(row, cells.cells, strict=True):
            _styled(cell.paragraphs[0], value)


def _bearable(text: str) -> str:
    """Text without the control characters that XML cannot hold."""
    return "".join(c for c in text if c in "\t\n" or (ord(c) >= 32 and not 0xD800 <= ord(c) < 0xE000))
