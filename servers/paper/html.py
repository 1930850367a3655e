"""HTML read into blocks and written from them. Scripts and styles are left out; nothing is loaded."""

from __future__ import annotations

import html
from collections.abc import Sequence
from html.parser import HTMLParser

from servers.paper.blocks import Block, runs

_SILENT = {"script", "style", "template", "noscript", "title", "svg"}
_PARTS = set(
    "p div section article header footer main address blockquote pre li tr table ul ol dl dt dd br hr".split()
)
_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`"}
_HEADINGS = {f"h{n}": n for n in range(1, 7)}
_TAGS = {"bold": "strong", "italic": "em", "code": "code"}


class _Reader(HTMLParser):
    """Gathers blocks while tags come by."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self.text = ""
        self.silent = 0
        self.lists: list[int] = []  # of each open list: the number of its last item, or -1 without numbers
        self.kind: Block = Block("paragraph")
        self.rows: list[list[str]] | None = None
        self.raw = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self.silent += 1
        elif tag in _HEADINGS:
            self.end(Block("heading", level=_HEADINGS[tag]))
        elif tag in ("td", "th"):
            self.text = ""
        elif tag in _MARKS and not self.raw:
            self.text += _MARKS[tag]
        elif tag == "br" and self.rows is None:
            self.text += "\n"
        elif tag in _PARTS:
            self._part(tag)

    def _part(self, tag: str) -> None:
        if tag == "table":
            self.end()
            self.rows = []
        elif tag == "tr" and self.rows is not None:
            self.rows.append([])
        elif tag in ("ul", "ol"):
            self.end()
            self.lists.append(0 if tag == "ol" else -1)
        elif tag == "li":
            self.end(self._item())
        elif tag == "pre":
            self.end(Block("code"))
            self.raw = True
        elif self.rows is None and self.kind.kind != "item":
            self.end()

    def _item(self) -> Block:
        if not self.lists or self.lists[-1] < 0:
            return Block("item", level=max(len(self.lists) - 1, 0))
        self.lists[-1] += 1
        return Block("item", level=len(self.lists) - 1, number=f"{self.lists[-1]}.")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self.silent = max(self.silent - 1, 0)
        elif tag in _MARKS and not self.raw:
            self.text += _MARKS[tag]
        elif tag in ("td", "th") and self.rows is not None:
            if not self.rows:
                self.rows.append([])
            self.rows[-1].append(" ".join(self.text.split()))
            self.text = ""
        elif tag == "table":
            self._table()
        elif tag in _HEADINGS or tag in _PARTS:
            if self.rows is None and tag != "br":
                self.end()
                self.raw = self.raw and tag != "pre"
            if tag in ("ul", "ol") and self.lists:
                self.lists.pop()

    def _table(self) -> None:
        rows = [row for row in self.rows or [] if row]
        self.rows, self.text = None, ""
        if rows:
            width = max(map(len, rows))
            self.blocks.append(Block("table", rows=[[*row, *[""] * (width - len(row))] for row in rows]))

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.text += data if self.raw else " ".join(data.split(" ")).replace("\n", " ")

    def end(self, following: Block | None = None) -> None:
        """The block that was being read is over; what follows is of this kind."""
        lines = [self.text] if self.raw else [" ".join(line.split()) for line in self.text.split("\n")]
        text = "\n".join(lines).strip("\n" if self.raw else None)
        if text.strip("*` \n"):
            self.blocks.append(Block(self.kind.kind, text, self.kind.level, self.kind.number))
        self.text, self.kind = "", following or Block("paragraph")


def read(text: str) -> list[Block]:
    """The blocks of a page, whatever state its tags are in."""
    found = _Reader()
    found.feed(text)
    found.close()
    found._table()
    found.end()
    return found.blocks


def write(blocks: Sequence[Block], title: str) -> str:
    """A whole page. What the blocks hold is text there, never a tag."""
    body = "\n".join(_told(block) for block in blocks)
    head = f'<meta charset="utf-8">\n<title>{html.escape(title)}</title>'
    return f"<!DOCTYPE html>\n<html>\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n"


def _told(block: Block) -> str:
    match block.kind:
        case "heading":
            return f"<h{block.level}>{_marked(block.text)}</h{block.level}>"
        case "item":
            tag = "ol" if block.number else "ul"
            start = f' start="{block.number.rstrip(".)")}"' if block.number else ""
            return f"<{tag}{start}><li>{_marked(block.text)}</li></{tag}>"
        case "code":
            return f"<pre>{html.escape(block.text)}</pre>"
        case "break":
            return "<hr>"
        case "table":
            rows = "\n".join(f"<tr>{_row(row, n == 0)}</tr>" for n, row in enumerate(block.rows))
            return f"<table>\n{rows}\n</table>"
        case _:
            return f"<p>{_marked(block.text)}</p>"


def _row(row: list[str], head: bool) -> str:
    tag = "th" if head else "td"
    return "".join(f"<{tag}>{_marked(cell)}</{tag}>" for cell in row)


def _marked(text: str) -> str:
    pieces = (
        f"<{_TAGS[style]}>{html.escape(piece)}</{_TAGS[style]}>" if style else html.escape(piece)
        for piece, style in runs(text)
    )
    return "".join(pieces).replace("\n", "<br>\n")
