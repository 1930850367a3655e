"""HTML read into blocks and written from them. Scripts and styles are left out; nothing is loaded."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import pairwise

from servers.formats.blocks import NO_STYLE, Block, Run, Text, filled, joined, plain, raised, trimmed
from servers.formats.grid import Grid
from servers.formats.math_lines import FRACTION, POWER, ROOT, in_line
from servers.sandbox.protocol import Refused

_SILENT = {"script", "style", "template", "noscript", "title", "svg"}
_PARTS = set(
    "p div section article header footer main address blockquote pre li tr table ul ol dl dt dd br hr".split()
)
_STYLES = {"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "code": "code", "s": "struck"}
ABOVE = "above the line"
_STYLES |= {"sup": ABOVE, "strike": "struck", "del": "deleted", "ins": "inserted"}
_HEADINGS = {f"h{n}": n for n in range(1, 7)}
_TAGS = {"bold": "strong", "italic": "em", "code": "code", "struck": "s"}
_TAGS |= {"deleted": "del", "inserted": "ins", "note": "sup"}
_ADDRESS = re.compile(r"(?i)(?:https?|mailto|tel):\S+")
_MATH = {"mfrac": FRACTION, "msup": POWER, "msqrt": ROOT, "mroot": ROOT}
MOST_COLUMNS = 500
DEEPEST = 20  # lists or quotes in each other


@dataclass
class _Formula:
    """An open formula of several parts: where each begins in the text, and how many tags are open in it."""

    tag: str
    stacked: bool
    starts: list[int] = field(default_factory=list)
    depth: int = 0


class _Reader(HTMLParser):
    """Gathers blocks while tags come by. `silent`: the open tags whose content a reader of the page does not see."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.silent = 0
        self.blocks: list[Block] = []
        self.text: list[Run] = []
        self.styles: Counter[str] = Counter()
        self.link = ""
        self.lists: list[int] = []  # of each open list: the number of its last item, or -1 without numbers
        self.quote = 0
        self.kind = Block("paragraph")
        self.tables: list[Grid] = []  # the open tables, each within a cell of the one before
        self.raw = False
        self.math: list[_Formula] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.silent += tag in _SILENT
        known = dict(attrs)
        if self.math or tag in _MATH:
            self._formula(tag, known.get("linethickness") in ("0", "0px", "0pt"))
        if tag in _HEADINGS and not self.tables:
            self.end(Block("heading", level=_HEADINGS[tag]))
        elif tag in ("td", "th"):
            self._cell()
            if self.tables:
                self.tables[-1].open(known.get("colspan"), known.get("rowspan"))
        elif tag in _STYLES and not self.raw:
            self.styles[_STYLES[tag]] += 1
        elif tag == "a":
            self.link = (known.get("href") or "") if _ADDRESS.fullmatch(known.get("href") or "") else ""
        elif tag == "img" and known.get("alt"):
            self.text.append(Run(known["alt"] or "", frozenset({"picture"}), self.link))
        elif tag == "br" or (tag in _PARTS and self.tables and tag not in ("table", "tr")):
            self.text.append(Run("\n"))
        elif tag in _PARTS:
            self._part(tag, known.get("start") or "1")

    def _formula(self, tag: str, stacked: bool) -> None:
        if self.math:
            open_ = self.math[-1]
            open_.starts += [] if open_.depth else [len(self.text)]
            open_.depth += 1
        if tag in _MATH and len(self.math) < DEEPEST:
            self.math.append(_Formula(tag, stacked))

    def _end_formula(self, tag: str) -> None:
        if tag == "math":
            self.math = []  # whatever state its tags are in
        elif self.math[-1].tag == tag and not self.math[-1].depth:
            done = self.math.pop()
            ends = [*done.starts, len(self.text)]
            parts = [joined(self.text[one:other]) for one, other in pairwise(ends)]
            parts = {"msqrt": [joined(run for part in parts for run in part)], "mroot": parts[::-1]}.get(
                tag, parts
            )
            del self.text[ends[0] :]
            before = self.text[-1].text if self.text else ""
            self.text += in_line(_MATH[tag], parts, before, done.stacked)
        if self.math and self.math[-1].depth:
            self.math[-1].depth -= 1

    def _part(self, tag: str, start: str) -> None:
        if tag == "table":
            if not self.tables:
                self.end()
            self.tables.append(Grid())
        elif tag == "tr" and self.tables:
            self._cell()
            self.tables[-1].row()
        elif tag in ("ul", "ol"):
            self.end()
            self.lists.append(int(start[:9]) - 1 if tag == "ol" and start.isdecimal() else -1)
        elif tag == "li":
            self.end(self._item())
        elif tag == "pre":
            self.end(Block("code"))
            self.raw = True
        elif tag == "hr":
            self.end()
            self.blocks.append(Block("break"))
        elif self.kind.kind != "item" or self._said():
            self.end(Block("paragraph", level=self._deep))
            self.quote += tag == "blockquote"

    @property
    def _deep(self) -> int:
        return min(len(self.lists), DEEPEST)

    def _said(self) -> bool:
        return any(run.text.strip() for run in self.text)

    def _item(self) -> Block:
        if not self.lists or self.lists[-1] < 0:
            return Block("item", level=max(self._deep - 1, 0))
        self.lists[-1] += 1
        return Block("item", level=self._deep - 1, number=f"{self.lists[-1]}.")

    def _cell(self) -> None:
        """What was gathered is the cell that is open, or stands beside the cells."""
        if self.tables and (self.tables[-1].is_open or self._said()):
            self.tables[-1].cell(self._taken())
        elif self.tables:
            self.text = []

    def handle_endtag(self, tag: str) -> None:
        self.silent = max(self.silent - (tag in _SILENT), 0)
        if self.math:
            self._end_formula(tag)
        if tag in _STYLES and not self.raw:
            self.styles[_STYLES[tag]] -= self.styles[_STYLES[tag]] > 0
        elif tag == "a":
            self.link = ""
        elif tag in ("td", "th") and self.tables:
            self._cell()
        elif tag == "table":
            self._table()
        elif (tag in _HEADINGS or tag in _PARTS) and not self.tables and tag != "br":
            self.end(Block("paragraph", level=self._deep))
            self.raw = self.raw and tag != "pre"
            self.quote = max(self.quote - (tag == "blockquote"), 0)
            if tag in ("ul", "ol") and self.lists:
                self.lists.pop()

    def _table(self) -> None:
        """One within a cell becomes lines of that cell."""
        if not self.tables:
            return
        self._cell()
        rows = self.tables.pop().rows
        if any(len(row) > MOST_COLUMNS for row in rows):
            raise Refused(f"has a table of more than {MOST_COLUMNS} columns. Take a part of it.")
        if self.tables:
            for row in rows:
                self.text += [Run("\n"), *(run for cell in row for run in (*cell, Run(" ")))]
        elif rows:
            self.blocks.append(replace(filled(rows), quote=min(self.quote, DEEPEST)))

    def handle_data(self, data: str) -> None:
        if not self.silent:
            said = data if self.raw else re.sub(r"\s+", " ", data)
            style = frozenset(style for style in +self.styles if style != ABOVE)
            self.text.append(Run(raised(said) if self.styles[ABOVE] else said, style, self.link))

    def _taken(self) -> Text:
        """The text so far, with single blanks, and none beside a line break."""
        runs: list[Run] = []
        after = "\n"
        for run in joined(self.text):
            text = run.text if self.raw else re.sub(r" ?\n ?", "\n", re.sub(" +", " ", run.text))
            text = text.lstrip(" ") if after in (" ", "\n") and not self.raw else text
            after = text[-1:] or after
            runs.append(run._replace(text=text))
        self.text = []
        return trimmed(joined(runs)) if not self.raw else joined(runs)

    def end(self, following: Block | None = None) -> None:
        """The block that was being read is over; what follows is of this kind."""
        text = self._taken()
        if self.raw:
            text = (Run(plain(text).strip("\n"), NO_STYLE),)
        if any(run.text.strip() or "picture" in run.style for run in text):
            self.blocks.append(replace(self.kind, text=text, quote=min(self.quote, DEEPEST)))
        self.kind = following or Block("paragraph")


def read(text: str) -> list[Block]:
    """The blocks of a page, whatever state its tags are in."""
    found = _Reader()
    found.feed(text)
    found.close()
    while found.tables:
        found._table()
    found.end()
    return found.blocks


def write(blocks: Sequence[Block], title: str) -> str:
    """A whole page. What the blocks hold is text there, never a tag."""
    body = "\n".join(
        "<blockquote>" * block.quote + _told(block) + "</blockquote>" * block.quote for block in blocks
    )
    head = f'<meta charset="utf-8">\n<title>{html.escape(title)}</title>'
    return f"<!DOCTYPE html>\n<html>\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n"


def _told(block: Block) -> str:
    match block.kind:
        case "heading":
            return f"<h{block.level}>{_marked(block.text)}</h{block.level}>"
        case "item":
            figure = re.fullmatch(r"(\d{1,9})[.)]", block.number)
            tag, start = ("ol", f' start="{figure[1]}"') if figure else ("ul", "")
            label = html.escape(block.number) + " " if block.number and not figure else ""
            return f"<{tag}{start}><li>{label}{_marked(block.text)}</li></{tag}>"
        case "note":
            return f"<p><sup>{html.escape(block.number)}</sup> {_marked(block.text)}</p>"
        case "code":
            return f"<pre>{html.escape(plain(block.text))}</pre>"
        case "break":
            return "<hr>"
        case "table":
            rows = "\n".join(f"<tr>{_row(row, n == 0)}</tr>" for n, row in enumerate(block.rows))
            return f"<table>\n{rows}\n</table>"
        case _:
            return f"<p>{_marked(block.text)}</p>"


def _row(row: list[Text], head: bool) -> str:
    tag = "th" if head else "td"
    return "".join(f"<{tag}>{_marked(cell)}</{tag}>" for cell in row)


def _marked(text: Text) -> str:
    return "".join(_piece(run) for run in text).replace("\n", "<br>\n")


def _piece(run: Run) -> str:
    said = html.escape(f"[picture: {run.text}]" if "picture" in run.style else run.text)
    for style, tag in _TAGS.items():
        said = f"<{tag}>{said}</{tag}>" if style in run.style else said
    return f'<a href="{html.escape(run.link)}">{said}</a>' if _ADDRESS.fullmatch(run.link) else said
