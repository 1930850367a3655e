"""A document between two formats: headings, paragraphs, list items, code and tables, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, NamedTuple

Kind = Literal["heading", "paragraph", "item", "note", "code", "table", "break"]
NO_STYLE: frozenset[str] = frozenset()
# How changes that are not accepted yet stand in a text, and notes and pictures.
FORMS = {"inserted": "{{++{}++}}", "deleted": "{{--{}--}}", "note": "[{}]", "picture": "[picture: {}]"}
_IN_PLAIN = {"struck": "~~{}~~", **FORMS}


class Run(NamedTuple):
    """A piece of a text. `style`: bold, italic, struck, code, and what stands in FORMS. `link`: an address."""

    text: str
    style: frozenset[str] = NO_STYLE
    link: str = ""


Text = tuple[Run, ...]


@dataclass(frozen=True)
class Block:
    """One part of a document.

    `level`: of a heading 1 to 6, of an item how deep it stands, from 0; of others in how many items they stand.
    `number`: what stands before an item of a numbered list, and the mark of a note. `quote`: how deep it is quoted.
    """

    kind: Kind
    text: Text = ()
    level: int = 0
    number: str = ""
    rows: list[list[Text]] = field(default_factory=list)
    quote: int = 0


def unstyled(text: str) -> Text:
    """A text without any style."""
    return (Run(text),) if text else ()


_RAISED = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")


def raised(text: str) -> str:
    """A text that stands above the line: 10 to the power of 6 is not 106. What is no number stays as it is."""
    number = any(map(str.isdecimal, text)) and all(ord(c) in _RAISED or c.isspace() for c in text)
    return text.translate(_RAISED) if number else text


def joined(runs: Iterable[Run]) -> Text:
    """The same text in as few pieces as it has styles."""
    found: list[Run] = []
    for (style, link), some in groupby(runs, key=lambda run: (run.style, run.link)):
        whole = "".join(run.text for run in some)
        found += [Run(whole, style, link)] if whole or "picture" in style else []
    return tuple(found)


def trimmed(text: Text) -> Text:
    """A text without blanks at both ends."""
    runs = [*text]
    while runs and not runs[0].text.strip() and "picture" not in runs[0].style:
        runs.pop(0)
    while runs and not runs[-1].text.strip() and "picture" not in runs[-1].style:
        runs.pop()
    if runs:
        runs[0] = runs[0]._replace(text=runs[0].text.lstrip())
        runs[-1] = runs[-1]._replace(text=runs[-1].text.rstrip())
    return tuple(runs)


def plain(text: Text, links: bool = True) -> str:
    """A text as people read it, with the addresses of its links where they are not the text."""
    return "".join(_said(run, links) for run in text)


def _said(run: Run, links: bool) -> str:
    said = run.text
    if links and run.link and run.link.removeprefix("mailto:") != said:
        said = f"{said} ({run.link})" if said else run.link
    for style, form in _IN_PLAIN.items():
        said = form.format(said) if style in run.style else said
    return said


def table(rows: Iterable[Iterable[object]]) -> Block:
    """A table of plain values; rows that are shorter than others are filled up."""
    return filled([[unstyled("" if value is None else str(value)) for value in row] for row in rows])


def filled(rows: list[list[Text]]) -> Block:
    width = max(map(len, rows), default=0)
    return Block("table", rows=[[*row, *[()] * (width - len(row))] for row in rows])


def from_plain(text: str) -> list[Block]:
    """Paragraphs, divided by empty lines; a form feed starts a page."""
    found: list[Block] = []
    for n, page in enumerate(text.replace("\r\n", "\n").split("\f")):
        found += [Block("break")] if n else []
        parts = groupby(page.split("\n"), key=lambda line: bool(line.strip()))
        found += [Block("paragraph", unstyled("\n".join(lines))) for filled, lines in parts if filled]
    return found


def to_plain(blocks: Iterable[Block], links: bool = True) -> str:
    """Text as people read it, without marks."""
    return laid_out(blocks, lambda block: _plain(block, links))


def _plain(block: Block, links: bool) -> str:
    text = plain(block.text, links)
    match block.kind:
        case "item":
            return f"{'  ' * block.level}{block.number or '-'} {text}"
        case "note":
            return f"[{block.number}] {text}"
        case "table":
            return "\n".join(
                "\t".join(plain(cell, links).replace("\n", " ") for cell in row) for row in block.rows
            )
        case "break":
            return "\f"
        case _:
            return text


def laid_out(blocks: Iterable[Block], told: Callable[[Block], str]) -> str:
    """Blocks with an empty line between them, but for items of one list, and `> ` before what is quoted."""
    out: list[str] = []
    before = Block("break")
    for block in blocks:
        close = before.kind == block.kind == "item" and before.quote == block.quote
        gap = "" if close else ("> " * min(block.quote, before.quote)).rstrip() + "\n"
        lines = told(block)
        if block.quote:
            lines = "\n".join(("> " * block.quote + line).rstrip() for line in lines.split("\n"))
        out.append((gap if out else "") + lines)
        before = block
    return "\n".join(out) + "\n" if out else ""
