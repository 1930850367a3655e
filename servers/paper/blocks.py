"""A document between two formats: headings, paragraphs, list items, code and tables, one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

Kind = Literal["heading", "paragraph", "item", "code", "table", "break"]
_HEADING = re.compile(r"(#{1,6}) +(.*?)[ #]*")
_ITEM = re.compile(r"( *)([-*+]|\d{1,4}[.)]) +(.*)")
_RULE = re.compile(r" *(-{3,}|\*{3,}|_{3,}) *")
_TABLE_RULE = re.compile(r"\|? *:?-+:? *(\| *:?-+:? *)*\|?")
_FENCE = re.compile(r"(`{3,}|~{3,}).*")
INLINE = re.compile(
    r"\\(?P<escaped>[*`])|\*\*(?P<bold>[^*\n]+)\*\*|\*(?P<italic>[^*\n]+)\*|`(?P<code>[^`\n]+)`"
)


class Refused(Exception):
    """Why a file is not opened or made, as the end of a sentence that begins with its name."""


@dataclass(frozen=True)
class Block:
    """One part of a document. `level`: of a heading 1 to 6, of a list item how deep it stands, from 0."""

    kind: Kind
    text: str = ""
    level: int = 0
    number: str = ""  # what stands before an item of a numbered list
    rows: list[list[str]] = field(default_factory=list)


def runs(text: str) -> Iterator[tuple[str, str]]:
    """Text in pieces with their style: "", "bold", "italic" or "code"."""
    at = 0
    for found in INLINE.finditer(text):
        if found.start() > at:
            yield text[at : found.start()], ""
        style = found.lastgroup or ""
        yield found[style], "" if style == "escaped" else style
        at = found.end()
    if at < len(text):
        yield text[at:], ""


def plain(text: str) -> str:
    """Text without the marks for bold, italic and code."""
    return "".join(piece for piece, _ in runs(text))


def from_markdown(text: str) -> list[Block]:
    """The common part of Markdown. What is none of it is a paragraph, so no word is lost."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found: list[Block] = []
    at = 0
    while at < len(lines):
        block, at = _next(lines, at)
        if block:
            found.append(block)
    return found


def _next(lines: list[str], at: int) -> tuple[Block | None, int]:
    line = lines[at]
    if not line.strip():
        return None, at + 1
    if fence := _FENCE.fullmatch(line):
        end = next((n for n in range(at + 1, len(lines)) if lines[n].startswith(fence[1])), len(lines))
        return Block("code", "\n".join(lines[at + 1 : end])), end + 1
    if heading := _HEADING.fullmatch(line):
        return Block("heading", heading[2], len(heading[1])), at + 1
    if _RULE.fullmatch(line):
        return Block("break"), at + 1
    if item := _ITEM.fullmatch(line):
        number = item[2] if item[2][0].isdigit() else ""
        return Block("item", item[3], len(item[1]) // 2, number), at + 1
    if (
        "|" in line
        and at + 1 < len(lines)
        and "-" in lines[at + 1]
        and _TABLE_RULE.fullmatch(lines[at + 1].strip())
    ):
        return _table(lines, at)
    return _paragraph(lines, at)


def _table(lines: list[str], at: int) -> tuple[Block, int]:
    end = next((n for n in range(at + 2, len(lines)) if "|" not in lines[n]), len(lines))
    rows = [_cells(line) for n, line in enumerate(lines[at:end]) if n != 1]
    width = max(map(len, rows))
    return Block("table", rows=[[*row, *[""] * (width - len(row))] for row in rows]), end


def _cells(line: str) -> list[str]:
    return [
        cell.replace("\\|", "|").strip()
        for cell in re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))
    ]


def _paragraph(lines: list[str], at: int) -> tuple[Block, int]:
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _begins(lines[end]):
        end += 1
    return Block("paragraph", "\n".join(line.strip() for line in lines[at:end])), end


def _begins(line: str) -> bool:
    return any(form.fullmatch(line) for form in (_HEADING, _ITEM, _RULE, _FENCE))


def from_plain(text: str) -> list[Block]:
    """Paragraphs, divided by empty lines; a form feed starts a page."""
    found: list[Block] = []
    for n, page in enumerate(text.replace("\r\n", "\n").split("\f")):
        found += [Block("break")] if n else []
        parts = groupby(page.split("\n"), key=lambda line: bool(line.strip()))
        found += [Block("paragraph", "\n".join(lines)) for filled, lines in parts if filled]
    return found


def to_markdown(blocks: Iterable[Block]) -> str:
    """Markdown, from which the same blocks can be read again."""
    return _joined(blocks, _markdown)


def _markdown(block: Block) -> str:
    match block.kind:
        case "heading":
            return f"{'#' * block.level} {block.text}"
        case "item":
            return f"{'  ' * block.level}{block.number or '-'} {block.text}"
        case "code":
            return f"```\n{block.text}\n```"
        case "break":
            return "---"
        case "table":
            head, *rows = [
                [cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in block.rows
            ]
            return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])
        case _:
            return block.text


def to_plain(blocks: Iterable[Block]) -> str:
    """Text as people read it, without marks."""
    return _joined(blocks, _plain)


def _plain(block: Block) -> str:
    match block.kind:
        case "item":
            return f"{'  ' * block.level}{block.number or '-'} {plain(block.text)}"
        case "table":
            return "\n".join("\t".join(plain(cell).replace("\n", " ") for cell in row) for row in block.rows)
        case "break":
            return "\f"
        case "code":
            return block.text
        case _:
            return plain(block.text)


def _joined(blocks: Iterable[Block], told: Callable[[Block], str]) -> str:
    """Blocks with an empty line between them, but for items of one list."""
    out, before = "", ""
    for block in blocks:
        gap = "" if not out else "\n" if before == block.kind == "item" else "\n\n"
        out += gap + told(block)
        before = block.kind
    return out + "\n" if out else ""
