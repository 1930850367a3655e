"""Word files: all of one is read, also what stands beside the text or is not accepted yet. Runs in the sandbox."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from docx import Document
from docx.document import Document as Word
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.ns import qn
from docx.oxml.parser import parse_xml

from servers.formats.blocks import NO_STYLE, Block, Run, Text, filled, joined, plain, raised, trimmed
from servers.formats.math_lines import FRACTION, POWER, ROOT, in_line
from servers.formats.office import checked
from servers.sandbox.protocol import Refused

_MONOSPACED = {"Courier New", "Courier", "Consolas", "Menlo", "Cascadia Mono"}
_SWITCHES = {"b": "bold", "i": "italic", "strike": "struck"}
_CHANGES = {"ins": "inserted", "moveTo": "inserted", "del": "deleted", "moveFrom": "deleted"}
_NOTES = {"footnoteReference": "", "endnoteReference": "e", "commentReference": "c"}
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}
INSTEAD = "another program shows instead:"
_GONE = {"accepted": "deleted", "rejected": "inserted"}


def read(data: bytes, changes: str = "both") -> tuple[list[Block], dict[str, int]]:
    """The blocks of a Word file, and how many changes, comments and hidden parts it has.

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


def value_of(node: Any, path: str, attribute: str = "val") -> str:
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
                    yield from self._instead(child)
                case _:
                    yield from self._blocks(child)
        yield from self._rest()

    def _instead(self, node: Any) -> Iterator[Block]:
        """What a program may show instead of one another: the first, and what says something else."""
        for number, one in enumerate(_alternatives(node)):
            yield from _marked([*self._blocks(one)], number)

    def _runs_instead(self, node: Any, style: frozenset[str], link: str) -> Iterator[Run]:
        for number, one in enumerate(_alternatives(node)):
            before = len(self.boxes)
            runs = [*self._runs(one, style, link)]
            self.boxes[before:] = _marked(self.boxes[before:], number)
            said = number and any(run.text.strip() for run in runs)
            yield from [Run(f" [{INSTEAD} "), *runs, Run("]")] if said else runs

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
        style = self._style(value_of(node, "pPr/pStyle"))
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
        self.found["hidden"] += value_of(node, "tblPr/tblStyle") in self._hiding
        for row in _within(node, "tr"):
            changed = [_CHANGES[_name(one)] for one in _any(row.find(qn("w:trPr"))) if _name(one) in _CHANGES]
            self.found.update(changed)
            self.found["hidden"] += any(map(_is_on, row.iterfind(f"{qn('w:trPr')}/{qn('w:hidden')}")))
            cells = [cell for each in _within(row, "tc") for cell in self._cell(each, frozenset(changed))]
            before = value_of(row, "trPr/gridBefore")
            if _GONE.get(self.changes) not in changed:
                rows.append([*[()] * (min(int(before), 500) if before.isdigit() else 0), *cells])
        return filled(rows or [[()]])

    def _cell(self, node: Any, changed: frozenset[str]) -> Iterator[Text]:
        text = _flat(self._blocks(node))
        if self.changes == "both" and changed:
            text = joined(run._replace(style=run.style | changed) for run in text)
        yield text
        span = value_of(node, "tcPr/gridSpan")
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
                yield from self._runs_instead(child, style, link)
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
            runs = [*self._runs(child, style | _styled_as(child.find(qn("w:rPr"))), link)]
            self.found["hidden"] += any(run.text.strip() for run in runs) and self._hides(child)
            above = value_of(child.find(qn("w:rPr")), "vertAlign") == "superscript"
            yield from (run._replace(text=raised(run.text)) if above else run for run in runs)
        elif name == "ffData":
            yield Run(_chosen(child), style, link)
        elif name in (FRACTION, POWER, ROOT):
            parts = [joined(self._runs(one, style, link)) for one in child if not _name(one).endswith("Pr")]
            stacked = any("noBar" in one.attrib.values() for one in child.iter())
            yield from in_line(name, parts, _said_before(child), stacked)
        elif name not in ("pPr", "rPr"):
            yield from self._runs(child, style, link)

    def _hides(self, run: Any) -> bool:
        """Whether Word hides a run: it says so itself, or a style does."""
        own = run.find(f"{qn('w:rPr')}/{qn('w:vanish')}")
        if own is not None:
            return _is_on(own)
        paragraph = next(run.iterancestors(qn("w:p")), None)
        keys = (value_of(run, "rPr/rStyle"), value_of(paragraph, "pPr/pStyle"))
        return self._all_hidden or any(key in self._hiding for key in keys)

    @cached_property
    def _hiding(self) -> set[str]:
        """The styles that hide what has them, or are based on one that does."""
        styles = self.document.styles.element.iter(qn("w:style"))
        found = {one.get(qn("w:styleId"), "") for one in styles if any(map(_is_on, one.iter(qn("w:vanish"))))}
        for _ in range(10):
            found |= {key for key, style in self._styles.items() if style.above in found}
        return found

    @cached_property
    def _all_hidden(self) -> bool:
        """Whether a style that needs no name hides what has no other."""
        root = self.document.styles.element
        usual = [one for one in root.iter(qn("w:style")) if one.get(qn("w:default")) in ("1", "true", "on")]
        general = root.find(qn("w:docDefaults"))
        return any(one.get(qn("w:styleId"), "") in self._hiding for one in usual) or (
            general is not None and any(map(_is_on, general.iter(qn("w:vanish"))))
        )

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
                value_of(node, "name").lower(),
                value_of(node, "pPr/numPr/numId"),
                value_of(node, "pPr/numPr/ilvl"),
                value_of(node, "basedOn"),
            )
            for node in self.document.styles.element.iter(qn("w:style"))
        }

    def _numbered(self, node: Any, style: _Style) -> tuple[str | None, int]:
        """What stands before an item, None for what is none; and how deep it stands."""
        key, deep = value_of(node, "pPr/numPr/numId"), value_of(node, "pPr/numPr/ilvl")
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
                        value_of(one, "numFmt"),
                        value_of(one, "lvlText"),
                        int(value_of(one, "start") or 1),
                    )
                    for one in node.iter(qn("w:lvl"))
                }
            for node in part.element.iter(qn("w:num")):
                key, shared = node.get(qn("w:numId")), value_of(node, "abstractNumId")
                anew = {
                    int(one.get(qn("w:ilvl"))): int(value_of(one, "startOverride"))
                    for one in node.iter(qn("w:lvlOverride"))
                    if value_of(one, "startOverride")
                }
                lists[key] = (f"own {key}" if anew else shared, forms.get(shared, {}), anew)
        return lists


@dataclass(frozen=True)
class _Style:
    name: str = ""
    numbers: str = ""
    level: str = ""
    above: str = ""


def _is_on(switch: Any) -> bool:
    return switch.get(qn("w:val"), "1") not in ("0", "false", "off")


def _alternatives(node: Any) -> list[Any]:
    """The first alternative, and the others that have words which are not just its own."""
    several = [one for one in node if _name(one) in ("Choice", "Fallback")]
    return [*several[:1], *(one for one in several[1:] if _words(one) not in ([], _words(several[0])))]


def _said_before(node: Any) -> str:
    """The text of what stands before a formula, or before a part of it."""
    before = node.getprevious() if node.getprevious() is not None else node.getparent().getprevious()
    return "" if before is None else "".join(before.itertext())


def _words(node: Any) -> list[str]:
    return "".join(one.text or "" for one in node.iter(qn("w:t"), qn("w:delText"))).split()


def _marked(blocks: list[Block], number: int) -> list[Block]:
    """The blocks of an alternative; of another one than the first between two lines that say so."""
    if not number or not blocks:
        return blocks
    return [Block("paragraph", (Run(f"[{INSTEAD}]"),)), *blocks, Block("paragraph", (Run("[until here]"),))]


def _chosen(node: Any) -> str:
    """What is chosen in a field of an old form: an entry of its list, or whether its box is checked. The text of the
    document does not hold it."""
    box, entries = node.find(qn("w:checkBox")), node.find(qn("w:ddList"))
    if box is not None:
        told = (
            box.find(qn("w:checked")) if box.find(qn("w:checked")) is not None else box.find(qn("w:default"))
        )
        return "☒" if told is not None and told.get(qn("w:val"), "1") not in ("0", "false", "off") else "☐"
    names = [one.get(qn("w:val"), "") for one in _any(entries) if _name(one) == "listEntry"]
    number = value_of(entries, "result") or value_of(entries, "default") or "0"
    return names[int(number)] if number.isdecimal() and int(number) < len(names) else ""


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
    on = {_SWITCHES.get(_name(one), "") for one in _any(node) if _is_on(one)}
    on |= {"code"} if value_of(node, "rFonts", "ascii") in _MONOSPACED else set()
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
