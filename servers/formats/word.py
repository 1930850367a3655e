"""Word files: all of one is read, also what stands beside the text or is not accepted yet. Runs in the sandbox."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from docx import Document
from docx.document import Document as Word
from docx.enum.text import WD_BREAK
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.oxml.parser import parse_xml
from docx.text.paragraph import Paragraph

from servers.formats.blocks import FORMS, NO_STYLE, Block, Run, Text, filled, joined, plain, trimmed
from servers.formats.office import checked, steady
from servers.sandbox.protocol import Refused

_MONOSPACED = {"Courier New", "Courier", "Consolas", "Menlo", "Cascadia Mono"}
_SWITCHES = {"b": "bold", "i": "italic", "strike": "struck"}
_CHANGES = {"ins": "inserted", "moveTo": "inserted", "del": "deleted", "moveFrom": "deleted"}
_NOTES = {"footnoteReference": "", "endnoteReference": "e", "commentReference": "c"}
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}
_GONE = {"accepted": "deleted", "rejected": "inserted"}


def read(data: bytes, changes: str = "both") -> tuple[list[Block], dict[str, int]]:
    """The blocks of a Word file, and how many changes and comments it has.

    `changes` that nobody accepted yet: accepted, rejected, or both, which marks them. Raises Refused for a file that is
    broken or a bomb.
    """
    checked(data)
    try:
        reader = _Reader(Document(io.BytesIO(data)), changes)
        return list(reader.all()), dict(reader.found)
    except (KeyError, ValueError, AttributeError, TypeError, IndexError) as error:
        raise Refused("is not a Word file that can be opened. Save it anew as .docx.") from error


def _name(node: Any) -> str:
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def _of(node: Any, path: str, attribute: str = "val") -> str:
    """An attribute of something below a node, "" where there is none."""
    found = node.find("/".join(qn(f"w:{part}") for part in path.split("/"))) if node is not None else None
    return "" if found is None else found.get(qn(f"w:{attribute}"), "")


@dataclass
class _Reader:
    """One walk through a document. `carried`: the text of a paragraph whose end is gone in this view."""

    document: Word
    changes: str
    found: Counter[str] = field(default_factory=Counter)
    carried: list[Run] = field(default_factory=list)
    boxes: list[Block] = field(default_factory=list)
    notes: dict[tuple[str, str], str] = field(default_factory=dict)
    counts: dict[str, dict[int, int]] = field(default_factory=dict)
    part: Any = None

    def all(self) -> Iterator[Block]:
        """What stands on top of pages, the text, what stands below, and the notes."""
        yield from self._beside(RELATIONSHIP_TYPE.HEADER, "Header: ")
        self.part = self.document.part
        yield from self._blocks(self.document.element.body)
        yield from self._beside(RELATIONSHIP_TYPE.FOOTER, "Footer: ")
        for (kind, number), label in list(self.notes.items()):
            yield Block("note", self._note(kind, number), number=label)

    def _parts(self, kind: str) -> list[Any]:
        return [
            rel.target_part
            for rel in self.document.part.rels.values()
            if rel.reltype == kind and not rel.is_external
        ]

    def _beside(self, kind: str, label: str) -> Iterator[Block]:
        for part in self._parts(kind):
            self.part = part
            text = _flat(self._blocks(part.element))
            if plain(text).strip():
                yield Block("paragraph", (Run(label), *text))

    def _note(self, kind: str, number: str) -> Text:
        name = kind.removesuffix("Reference")
        reltype = getattr(RELATIONSHIP_TYPE, "COMMENTS" if name == "comment" else f"{name.upper()}S")
        for part in self._parts(reltype):
            self.part = part
            root = part.element if hasattr(part, "element") else parse_xml(part.blob)
            for node in root.iter(qn(f"w:{name}")):
                if node.get(qn("w:id")) == number:
                    author = node.get(qn("w:author"), "")
                    return (*((Run(f"{author}: "),) if author else ()), *_flat(self._blocks(node)))
        return ()

    def _blocks(self, node: Any) -> Iterator[Block]:
        for child in node:
            match _name(child):
                case "p":
                    yield from self._paragraph(child)
                case "tbl":
                    yield from self._rest()
                    yield self._table(child)
                case "altChunk":
                    yield Block(
                        "paragraph", (Run("an embedded document, which is not read", frozenset({"note"})),)
                    )
                case "AlternateContent":
                    yield from self._blocks(child[0])
                case _:
                    yield from self._blocks(child)
        yield from self._rest()

    def _rest(self) -> Iterator[Block]:
        if self.carried:
            yield Block("paragraph", joined(self.carried))
            self.carried = []

    def _paragraph(self, node: Any) -> Iterator[Block]:
        outer, self.boxes = self.boxes, []
        runs = [*self._runs(node, NO_STYLE, "")]
        boxes, self.boxes = self.boxes, outer
        self.carried, text = [], trimmed(joined([*self.carried, *runs]))
        ends = node.find(f"{qn('w:pPr')}/{qn('w:rPr')}")
        changed = [_CHANGES[_name(one)] for one in _any(ends) if _name(one) in _CHANGES]
        self.found.update(changed)
        if _GONE.get(self.changes) in changed:
            self.carried = list(text)
        elif text:
            yield self._block(node, text)
        elif any(one.get(qn("w:type")) == "page" for one in node.iter(qn("w:br"))):
            yield Block("break")
        yield from boxes

    def _block(self, node: Any, text: Text) -> Block:
        style = self._style(_of(node, "pPr/pStyle"))
        number, level = self._numbered(node, style)
        if style.name == "title" or style.name.startswith("heading "):
            said = (Run(f"{number} "), *text) if number else text
            deep = style.name.rpartition(" ")[2]
            return Block("heading", said, min(int(deep), 6) if deep.isdigit() else 1)
        if number is not None:
            return Block("item", text, level, number)
        if all("code" in run.style for run in text):
            return Block("code", (Run("".join(run.text for run in text)),))
        deep = style.name.rpartition(" ")[2] if style.name.startswith("list continue") else "0"
        return Block("paragraph", text, int(deep) if deep.isdigit() else 1, quote=int("quote" in style.name))

    def _table(self, node: Any) -> Block:
        rows = []
        for row in _within(node, "tr"):
            changed = [_CHANGES[_name(one)] for one in _any(row.find(qn("w:trPr"))) if _name(one) in _CHANGES]
            self.found.update(changed)
            cells = [cell for each in _within(row, "tc") for cell in self._cell(each, frozenset(changed))]
            if _GONE.get(self.changes) not in changed:
                rows.append(cells)
        return filled(rows or [[()]])

    def _cell(self, node: Any, changed: frozenset[str]) -> Iterator[Text]:
        text = _flat(self._blocks(node))
        if self.changes == "both" and changed:
            text = joined(run._replace(style=run.style | changed) for run in text)
        yield text
        span = _of(node, "tcPr/gridSpan")
        yield from [()] * (min(int(span), 500) - 1 if span.isdigit() else 0)

    def _runs(self, node: Any, style: frozenset[str], link: str) -> Iterator[Run]:
        for child in node:
            name = _name(child)
            if name in ("t", "delText"):
                yield Run(child.text or "", style, link)
            elif name in _CHANGES:
                yield from self._changed(child, style, link)
            elif name in _NOTES:
                yield Run(self._label(name, child.get(qn("w:id"), "")), style | {"note"})
            elif name in ("drawing", "pict"):
                yield from self._drawn(child, style)
            elif name == "AlternateContent":
                yield from self._runs(child[:1], style, link)
            else:
                yield from self._other(child, name, style, link)

    def _other(self, child: Any, name: str, style: frozenset[str], link: str) -> Iterator[Run]:
        if name in _SIGNS and _name(child.getparent()) == "r":
            yield Run(_SIGNS[name] if child.get(qn("w:type")) != "page" else "", style, link)
        elif name == "sym":
            yield Run(chr(int(child.get(qn("w:char"), "20"), 16)), style, link)
        elif name == "hyperlink":
            rel = self.part.rels.get(child.get(qn("r:id"), ""))
            yield from self._runs(
                child, style, rel.target_ref if rel is not None and rel.is_external else link
            )
        elif name == "r":
            yield from self._runs(child, style | _styled_as(child.find(qn("w:rPr"))), link)
        elif name not in ("pPr", "rPr"):
            yield from self._runs(child, style, link)

    def _changed(self, node: Any, style: frozenset[str], link: str) -> Iterator[Run]:
        change = _CHANGES[_name(node)]
        self.found[change] += 1
        if _GONE.get(self.changes) != change:
            yield from self._runs(node, style | {change} if self.changes == "both" else style, link)

    def _label(self, kind: str, number: str) -> str:
        if (kind, number) not in self.notes:
            self.found.update(["comments"] if kind == "commentReference" else [])
            same = sum(one == kind for one, _ in self.notes)
            self.notes[kind, number] = f"{_NOTES[kind]}{same + 1}"
        return self.notes[kind, number]

    def _drawn(self, node: Any, style: frozenset[str]) -> Iterator[Run]:
        """The text in a box comes after the paragraph; of a picture there is what it is called."""
        inside = list(node.iter(qn("w:txbxContent")))
        for box in inside:
            carried, self.carried = self.carried, []
            self.boxes += self._blocks(box)
            self.carried = carried
        named = next((one for one in node.iter() if _name(one) == "docPr"), None)
        if not inside and named is not None:
            yield Run(named.get("descr") or named.get("name", ""), style | {"picture"})

    def _style(self, key: str) -> _Style:
        return self._styles.get(key) or _Style()

    @cached_property
    def _styles(self) -> dict[str, _Style]:
        return {
            node.get(qn("w:styleId"), ""): _Style(
                _of(node, "name").lower(),
                _of(node, "pPr/numPr/numId"),
                _of(node, "pPr/numPr/ilvl"),
                _of(node, "basedOn"),
            )
            for node in self.document.styles.element.iter(qn("w:style"))
        }

    def _numbered(self, node: Any, style: _Style) -> tuple[str | None, int]:
        """What stands before an item, None for what is none; and how deep it stands."""
        key, deep = _of(node, "pPr/numPr/numId"), _of(node, "pPr/numPr/ilvl")
        above = style
        for _ in range(10):
            key, deep = key or above.numbers, deep or above.level
            above = self._style(above.above)
        if not key.isdigit() or key == "0":
            return None, 0
        level = min(int(deep), 8) if deep.isdigit() else 0
        named = re.fullmatch(r"list (?:bullet|number) (\d)", style.name)
        return self._counted(key, level), level + (int(named[1]) - 1 if named else 0)

    def _counted(self, key: str, level: int) -> str:
        abstract, levels, starts = self._lists.get(key, (key, {}, {}))
        counts = self.counts.setdefault(abstract, {})
        for each in [deeper for deeper in counts if deeper > level]:
            del counts[each]
        first = starts.get(level, levels.get(level, ("", "", 1))[2])
        counts[level] = counts.get(level, first - 1) + 1
        form, shape, _ = levels.get(level, ("bullet", "", 1))
        if form in ("bullet", "none"):
            return ""

        def figure(found: re.Match[str]) -> str:
            of = int(found[1]) - 1
            kind, _, start = levels.get(of, ("decimal", "", 1))
            return _figure(counts.get(of, start), kind)

        return re.sub(r"%(\d)", figure, shape)

    @cached_property
    def _lists(self) -> dict[str, tuple[str, dict[int, tuple[str, str, int]], dict[int, int]]]:
        """For each list: whom it counts with, the form of each level, and where it starts anew."""
        forms, lists = {}, {}
        for part in self._parts(RELATIONSHIP_TYPE.NUMBERING):
            for node in part.element.iter(qn("w:abstractNum")):
                forms[node.get(qn("w:abstractNumId"))] = {
                    int(one.get(qn("w:ilvl"))): (
                        _of(one, "numFmt"),
                        _of(one, "lvlText"),
                        int(_of(one, "start") or 1),
                    )
                    for one in node.iter(qn("w:lvl"))
                }
            for node in part.element.iter(qn("w:num")):
                key, shared = node.get(qn("w:numId")), _of(node, "abstractNumId")
                anew = {
                    int(one.get(qn("w:ilvl"))): int(_of(one, "startOverride"))
                    for one in node.iter(qn("w:lvlOverride"))
                    if _of(one, "startOverride")
                }
                lists[key] = (f"own {key}" if anew else shared, forms.get(shared, {}), anew)
        return lists


@dataclass(frozen=True)
class _Style:
    name: str = ""
    numbers: str = ""
    level: str = ""
    above: str = ""


def _any(node: Any) -> Iterable[Any]:
    return () if node is None else node


def _within(node: Any, name: str) -> Iterator[Any]:
    """The rows of a table or the cells of a row, also those in a control."""
    for child in node:
        if _name(child) == name:
            yield child
        elif _name(child) not in ("tbl", "tr", "tc"):
            yield from _within(child, name)


def _styled_as(node: Any) -> frozenset[str]:
    on = {
        _SWITCHES.get(_name(one), "")
        for one in _any(node)
        if one.get(qn("w:val")) not in ("0", "false", "off")
    }
    on |= {"code"} if _of(node, "rFonts", "ascii") in _MONOSPACED else set()
    return frozenset(on - {""})


def _flat(blocks: Iterable[Block]) -> Text:
    """Blocks as one text, a line for each."""
    runs: list[Run] = []
    for block in blocks:
        rows = [[cell for value in row for cell in (*value, Run("\t"))][:-1] for row in block.rows]
        for line in rows or [
            [*((Run(f"{block.number or '-'} "),) if block.kind == "item" else ()), *block.text]
        ]:
            runs += [*([Run("\n")] if runs else []), *line]
    return joined(runs)


_ROMAN = "m cm d cd c xc l xl x ix v iv i".split()
_VALUES = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)


def _figure(n: int, kind: str) -> str:
    if not 0 < n < 5_000:
        return str(n)
    if kind.endswith("Letter"):
        said = chr(97 + (n - 1) % 26) * ((n - 1) // 26 + 1)
    elif kind.endswith("Roman"):
        said = ""
        for value, letters in zip(_VALUES, _ROMAN, strict=True):
            said, n = said + letters * (n // value), n % value
    else:
        return f"{n:02}" if kind == "decimalZero" else str(n)
    return said.upper() if kind.startswith("upper") else said


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
    key = _of(style.element if style is not None else None, "pPr/numPr/numId")
    shared = next(
        _of(one, "abstractNumId") for one in numbering.iter(qn("w:num")) if one.get(qn("w:numId")) == key
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
