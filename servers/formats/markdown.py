"""Markdown read with a CommonMark library, and written so that the same blocks can be read again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, reference
from markdown_it.token import Token

from servers.formats.blocks import FORMS, Block, Run, Text, filled, joined, laid_out, plain, unstyled
from servers.markdown_escapes import escaped

_STYLES = {"strong": "bold", "em": "italic", "s": "struck"}
_NOTE = re.compile(r"\[\^([^\]\s]{1,60})\](?!:)")
_NOTES = re.compile(r"\[\^([^\]\s]{1,60})\]: ?")


def _definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """An address for links further up or down; what begins like a footnote is a paragraph."""
    at = state.bMarks[start] + state.tShift[start]
    return not state.src.startswith("[^", at) and reference(state, start, end, silent)


# Tags are text here: what a document says is never run.
_READER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_READER.disable("text_join")  # what is escaped stays apart: it begins no footnote
_READER.block.ruler.at("reference", _definition)


def read(text: str) -> list[Block]:
    """The blocks of a text. What is no mark of Markdown is text, so no word is lost."""
    return list(_Walk().blocks(_READER.parse(text)))


@dataclass
class _Walk:
    """Where in lists and quotes a walk over the tokens is."""

    lists: int = 0
    quote: int = 0
    number: str | None = None  # of an item of which nothing came yet
    heading: int = 0
    rows: list[list[Text]] | None = None
    out: list[Block] = field(default_factory=list)

    def blocks(self, tokens: Sequence[Token]) -> Iterator[Block]:
        for token in tokens:
            yield from self._step(token)

    def _step(self, token: Token) -> Iterator[Block]:
        match token.type:
            case "blockquote_open" | "blockquote_close":
                self.quote += token.nesting
            case "bullet_list_open" | "ordered_list_open" | "bullet_list_close" | "ordered_list_close":
                self.lists += token.nesting
            case "list_item_open" | "list_item_close":
                yield from self._bare_item()
                self.number = (
                    f"{token.info}{token.markup}" if token.info else "" if token.nesting > 0 else None
                )
            case "heading_open" | "heading_close":
                self.heading = int(token.tag[1]) if token.nesting > 0 else 0
            case "tr_open" if self.rows is not None:
                self.rows.append([])
            case "table_open":
                yield from self._bare_item()
                self.rows = []
            case "table_close":
                yield replace(filled(self.rows or []), level=self.lists, quote=self.quote)
                self.rows = None
            case "inline":
                yield from self._inline(token)
            case "fence" | "code_block" | "hr":
                yield from self._bare_item()
                text = unstyled(token.content.removesuffix("\n"))
                yield Block("break" if token.type == "hr" else "code", text, self.lists, quote=self.quote)

    def _bare_item(self) -> Iterator[Block]:
        """An item that begins with something else than words."""
        if self.number is not None:
            yield Block("item", (), self._above, self.number, quote=self.quote)
            self.number = None

    @property
    def _above(self) -> int:
        return max(self.lists - 1, 0)

    def _inline(self, token: Token) -> Iterator[Block]:
        if self.rows is not None:
            self.rows[-1].append(_text(token.children or []))
        elif self.number is not None:
            yield Block("item", _text(token.children or []), self._above, self.number, quote=self.quote)
            self.number = None
        elif self.heading:
            yield Block("heading", _text(token.children or []), self.heading, quote=self.quote)
        elif _NOTES.match(token.content):
            yield from self._notes(token.content)
        else:
            yield Block("paragraph", _text(token.children or []), self.lists, quote=self.quote)

    def _notes(self, content: str) -> Iterator[Block]:
        for each in re.split(r"\n(?=\[\^[^\]\s]{1,60}\]: ?)", content):
            found = _NOTES.match(each)
            assert found
            [inline] = _READER.parseInline(each[found.end() :])
            yield Block("note", _text(inline.children or []), 0, found[1], quote=self.quote)


def _text(tokens: Sequence[Token]) -> Text:
    return joined(_runs(tokens))


def _runs(tokens: Sequence[Token]) -> Iterator[Run]:
    styles: list[str] = []
    link = ""
    for token in tokens:
        style = frozenset(styles)
        match token.type:
            case "text_special":
                yield Run(token.content, style, link)
            case "text":
                yield from _noted(token.content, style, link)
            case "code_inline":
                yield Run(token.content, style | {"code"}, link)
            case "softbreak" | "hardbreak":
                yield Run("\n", style, link)
            case "image":
                yield Run(token.content, style | {"picture"}, str(token.attrs.get("src", "")))
            case "link_open" | "link_close":
                link = str(token.attrs.get("href", "")) if token.nesting > 0 else ""
            case _ if token.nesting > 0:
                styles.append(_STYLES[token.tag])
            case _:
                styles.remove(_STYLES[token.tag])


def _noted(content: str, style: frozenset[str], link: str) -> Iterator[Run]:
    for n, piece in enumerate(_NOTE.split(content)):
        yield Run(piece, style | {"note"} if n % 2 else style, link)


def write(blocks: Iterable[Block]) -> str:
    """The blocks as Markdown."""
    return laid_out(blocks, _block)


def _block(block: Block) -> str:
    match block.kind:
        case "heading":
            return f"{'#' * block.level} {_inline(block.text)}".replace("\n", " ")
        case "item":
            return _inside(block.level, _item(block))
        case "note":
            return f"[^{block.number}]: {_inline(block.text)}"
        case "code":
            return _inside(block.level, _fenced(plain(block.text)))
        case "break":
            return _inside(block.level, "---")
        case "table":
            return _inside(block.level, "\n".join(_rows(block.rows)))
        case _:
            return _inside(block.level, _inline(block.text))


def _item(block: Block) -> str:
    text = _inline(block.text).replace("\n", "\n  ")
    if re.fullmatch(r"\d{1,9}[.)]", block.number):
        return f"{block.number} {text}".rstrip()
    return f"- {escaped(block.number)} {text}" if block.number else f"- {text}".rstrip()


def _inside(level: int, text: str) -> str:
    return "\n".join("    " * level + line if line else "" for line in text.split("\n"))


def _fenced(text: str) -> str:
    fence = _ticks(text, 3)
    return f"{fence}\n{text}\n{fence}" if text else f"{fence}\n{fence}"


def _rows(rows: list[list[Text]]) -> Iterator[str]:
    for n, row in enumerate(rows):
        yield (
            "| " + " | ".join(re.sub(r"\n\\?", " ", _inline(cell)).replace("|", r"\|") for cell in row) + " |"
        )
        if not n:
            yield "| " + " | ".join("---" for _ in row) + " |"


_MARKS = {"bold": "**", "italic": "*", "struck": "~~"}
_START = re.compile(r"^ {0,3}(?:[#>+=:|-]|\d{1,9}(?=[.)](?:\s|$)))", re.MULTILINE)


def _inline(text: Text) -> str:
    """A text with its marks. Blanks stand outside of them, where CommonMark wants them."""
    out, now = "", list[str]()
    for run in text:
        told = _piece(run)
        wanted = [style for style in _MARKS if style in run.style and told.strip()]
        kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(now, wanted, strict=False)))
        out = _ended(out, now[kept:])
        begins = len(told) - len(told.lstrip())
        out += told[:begins] + "".join(_MARKS[style] for style in wanted[kept:]) + told[begins:]
        now = wanted
    whole = _START.sub(_started, _ended(out, now).strip(" "))
    return re.sub(r"\n(?=\n)", r"\n\\", whole)  # an empty line would end the paragraph


def _ended(out: str, styles: Sequence[str]) -> str:
    if not styles:
        return out
    body = out.rstrip()
    return body + "".join(_MARKS[style] for style in reversed(styles)) + out[len(body) :]


def _started(found: re.Match[str]) -> str:
    sign = found[0].strip()
    return f"{sign}\\" if sign.isdigit() else f"\\{sign}"


def _piece(run: Run) -> str:
    if "note" in run.style:
        return f"[^{run.text}]"
    if "picture" in run.style:
        return f"![{escaped(run.text)}](<{run.link}>)"
    text = _code(run.text) if "code" in run.style else escaped(run.text)
    text = f"[{text}](<{run.link}>)" if run.link else text
    for style in ("inserted", "deleted"):
        text = FORMS[style].format(text) if style in run.style else text
    return text


def _code(text: str) -> str:
    ticks = _ticks(text, 1)
    pad = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _ticks(text: str, least: int) -> str:
    """More backticks than the text has in a row."""
    return "`" * max([least, *(len(some) + 1 for some in re.findall("`+", text))])
