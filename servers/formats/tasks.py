"""What the sandbox does with documents: each task takes bytes and plain arguments, and gives facts and bytes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher, unified_diff
from functools import reduce
from itertools import chain
from typing import Any, NamedTuple

from servers import formulas
from servers.formats import (
    captions,
    excel_notes,
    hidden,
    html,
    markdown,
    office,
    page_words,
    pdf,
    pdf_beside,
    pictures,
    tables,
    word,
    word_writing,
)
from servers.formats.blocks import Block, from_plain, plain, table, to_plain, unstyled
from servers.sandbox.protocol import MOST_LISTED, MOST_TEXT, OutOfTime, Refused, time_limit

Result = tuple[dict[str, Any], bytes]
TEXTS = (".txt", ".md", ".json", ".csv", ".tsv", ".html", ".htm", ".vtt", ".srt")
MOST_NAMED = 10  # pages that a note names
AROUND = 2  # lines shown before and after what differs
ALIKE = 0.6  # from here on one line is taken for the other, changed
_WORD = re.compile(r"\d+(?:[.,]\d+)*|\w+|\s+|[^\w\s]")
Span = tuple[str, int, int, int, int]


def text(data: bytes, ending: str, changes: str = "both") -> Result:
    """All text of a document; of a PDF, page by page with a form feed between.

    `changes` in a Word file that are not accepted yet: accepted, rejected or both. Told is how many there are, as
    `sheets` those that say something, and as `guessed` what is to be said of how it was read.
    """
    told: dict[str, Any] = {"pages": 0, "sheets": [], "guessed": _guessed(data, ending)}
    match ending:
        case ".pdf":
            found, told["pages"], told["guessed"] = _pages(data)
        case ".docx":
            blocks, told["found"] = word.read(data, changes)
            found = to_plain(blocks)
        case ".vtt" | ".srt":
            found, untimed = captions.read(tables.decoded(data), ending)
            told["guessed"] = _both(told["guessed"], untimed)
        case ".txt" | ".md" | ".json":
            found = tables.decoded(data)
        case ".csv" | ".tsv":
            found = _tabbed(_rows(data, ending)[0])
        case ".xlsx":
            sheets = _sheets(data)
            told["sheets"] = [sheet.name for sheet in sheets]
            found = "\n".join(map(_sheet_text, sheets))
        case _:
            found = to_plain(_blocks(data, ending))
    if len(found) > MOST_TEXT:
        raise Refused(f"holds {len(found):,} characters, more than {MOST_TEXT:,}. Take a part of it.")
    return told, found.encode("utf-8", "replace")


def _pages(data: bytes) -> tuple[str, int, str]:
    """The text of a PDF with what is filled in and noted on each page, how many pages, and what is to be said of it."""
    pages = pdf.text(data)
    more, unread = pdf_beside.beside(data)
    whole = [
        f"{page.rstrip()}\n\n{other}\n".lstrip() if other else page
        for page, other in zip(pages, more, strict=True)
    ]
    said = [_unread(pages), pdf_beside.pictured(data, pages), pdf_beside.layers(data), unread, _turned(whole)]
    return "\n\f\n".join(whole), len(pages), reduce(_both, said)


def _both(first: str, second: str) -> str:
    """Two ends of sentences as one, where there are two."""
    return "; it ".join(filter(None, [first, second]))


def _guessed(data: bytes, ending: str, sheet: str | None = None) -> str:
    if ending == ".xlsx":
        return _both(office.unworked(data, sheet), _noted(data, sheet))
    return tables.guessed(data) if ending in TEXTS else ""


def _noted(data: bytes, sheet: str | None) -> str:
    """What is to be said of comments on cells where the rows of a sheet alone are read; of all (None) they are read."""
    if sheet is None:
        return ""
    every = excel_notes.notes(data)
    many = len(every.get(sheet or office.first_sheet(data), []))
    return (
        f"has {many:,} comment{'s' if many > 1 else ''} on its cells, which reading its text shows"
        if many
        else ""
    )


def _unread(pages: Sequence[str]) -> str:
    """What is to be said of pages that gave no text, as the end of a sentence; "" where all did."""
    empty = [str(number) for number, page in enumerate(pages, 1) if not page.strip()]
    if not empty:
        return ""
    if len(empty) == len(pages):
        return "has no text: it is blank, or holds pictures of text (try the OCR tools)"
    named = ", ".join(empty[:MOST_NAMED]) + (
        f" and {len(empty) - MOST_NAMED} more" if empty[MOST_NAMED:] else ""
    )
    return f"has no text on page {named}: it is blank, a picture of text (try the OCR tools) or damaged"


def _turned(pages: Sequence[str]) -> str:
    """What is to be said of letters that run from right to left, as the end of a sentence; "" where there are none."""
    if not pdf.right_to_left_pages(pages):
        return ""
    return "has text that runs from right to left: the order of words, numbers and brackets in a line may be wrong"


def _tabbed(rows: Sequence[Sequence[tables.Cell]]) -> str:
    return "".join(
        "\t".join("" if value is None else str(value).replace("\n", " ") for value in row) + "\n"
        for row in rows
    )


class _SheetText(NamedTuple):
    """A sheet that says something. `heading`: its name, where the file has several; `noted`: comments on its cells."""

    name: str
    heading: str
    rows: list[list[tables.Cell]]
    noted: list[str]


def _sheets(data: bytes) -> list[_SheetText]:
    """Every sheet that says something."""
    names, notes = office.sheet_names(data), excel_notes.notes(data)
    every = (
        _SheetText(name, name if len(names) > 1 else "", _whole(data, ".xlsx", name), notes.get(name, []))
        for name in names
    )
    return [sheet for sheet in every if sheet.rows or sheet.noted]


def _sheet_text(sheet: _SheetText) -> str:
    heading, noted = sheet.heading, "".join(f"{line}\n" for line in sheet.noted)
    return "\n".join(filter(None, [f"{heading}\n" if heading else "", _tabbed(sheet.rows), noted]))


def _sheet_blocks(sheets: Iterable[_SheetText]) -> Iterator[Block]:
    for sheet in sheets:
        yield from [Block("heading", unstyled(sheet.heading), 1)] if sheet.heading else []
        yield from [table(sheet.rows)] if sheet.rows else []
        yield from (Block("paragraph", unstyled(line)) for line in sheet.noted)


def compare(first: bytes, second: bytes, endings: Sequence[str], changes: str) -> Result:
    """What differs between the text of two documents, word by word."""
    told = [text(data, ending, changes) for data, ending in zip((first, second), endings, strict=True)]
    facts, difference = compared(*(data.decode() for _, data in told))
    found = {
        "found": [one.get("found", {}) for one, _ in told],
        "guessed": [one["guessed"] for one, _ in told],
        "sheets": [*dict.fromkeys(name for one, _ in told for name in one["sheets"])],
    }
    return {**facts, **found}, difference[:MOST_LISTED].encode()  # more than an answer holds


def compared(old: str, new: str) -> tuple[dict[str, int], str]:
    """How many lines were added, removed and changed, and what differs, as people read it.

    A line begins with a blank when it is in both, with `-` or `+` when it is in one, and with `~` when it was changed:
    [-these words-] went then, and {+these+} came.
    """
    before, after = old.splitlines(), new.splitlines()
    told: list[str] = []
    for spans in SequenceMatcher(None, before, after).get_grouped_opcodes(AROUND):
        told.append(f"@@ from line {spans[0][1] + 1} and {spans[0][3] + 1} on @@")
        told += [line for span in spans for line in _lines(span, before, after)]
    signs = {"added": "+", "removed": "-", "changed": "~"}
    counts = {name: sum(line[0] == sign for line in told) for name, sign in signs.items()}
    return counts, "\n".join(told)


def _lines(span: Span, before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    kind, a, b, c, d = span
    if kind == "equal":
        yield from (f" {line}" for line in before[a:b])
        return
    gone, come = list(before[a:b]), list(after[c:d])
    while gone and come and (line := _same_or_changed(gone[0], come[0])):
        yield line
        gone, come = gone[1:], come[1:]
    ends = []
    while gone and come and (line := _same_or_changed(gone[-1], come[-1])):
        ends.append(line)
        gone, come = gone[:-1], come[:-1]
    yield from (f"-{line}" for line in gone)
    yield from (f"+{line}" for line in come)
    yield from reversed(ends)


def _same_or_changed(old: str, new: str) -> str:
    """The line with its sign; "" for two that have little in common. Between changed paragraphs stand empty lines."""
    if old == new:
        return f" {old}"
    changed = _changed(old, new)
    return f"~{changed}" if changed else ""


def _changed(old: str, new: str) -> str:
    """One line with the words that went and came; "" for two lines that have little in common."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, before, after)
    if matcher.quick_ratio() < ALIKE or matcher.ratio() < ALIKE:
        return ""
    parts = []
    for kind, a, b, c, d in matcher.get_opcodes():
        gone, come = "".join(before[a:b]), "".join(after[c:d])
        if kind == "equal":
            parts.append(gone)
        else:
            parts.append((f"[-{gone}-]" if gone else "") + (f"{{+{come}+}}" if come else ""))
    return "".join(parts)


def difference(
    old: bytes, new: bytes, names: Sequence[str], around: int, seconds: float, most: int
) -> Result:
    """What differs between two texts, as `diff -u` prints it; where it takes longer than `seconds`, all old lines go
    and all new ones come. Told is whether it has more characters than `most`: then it is left out."""
    before, after = (data.decode("utf-8", "replace").splitlines(keepends=True) for data in (old, new))
    try:
        with time_limit(seconds):
            found = _joined(unified_diff(before, after, names[0], names[1], n=around), most)
    except OutOfTime:
        head = [f"--- {names[0]}\n", f"+++ {names[1]}\n", f"@@ -1,{len(before)} +1,{len(after)} @@\n"]
        lines = chain(head, (f"-{line}" for line in before), (f"+{line}" for line in after))
        found = _joined(lines, most)
    return {"more": found is None}, (found or "").encode()


def _joined(lines: Iterable[str], most: int) -> str | None:
    """The lines in one; None where they have more characters than `most`."""
    taken = list[str]()
    for line in lines:
        taken.append(line)
        most -= len(line)
        if most < 0:
            return None
    return "".join(taken)


def sheet(data: bytes, ending: str, name: str, first: int, limit: int) -> Result:
    """Some rows of one sheet, and the names of all."""
    named, rows, more = tables.rows(data, ending, name, first, limit)
    every = []
    if ending == ".xlsx":
        every = office.sheet_names(data)
    guess = _guessed(data, ending, named)
    return {"sheet": named, "sheets": every, "rows": rows, "more": more, "guessed": guess}, b""


@dataclass
class _Seen:
    """What came by while a file was read: names that stand twice; changes, comments and hidden parts of it; sheets."""

    doubled: tables.Doubled = field(default_factory=tables.Doubled)
    sheets: list[str] = field(default_factory=list)
    found: Counter[str] = field(default_factory=Counter)

    @property
    def told(self) -> str:
        return _both(hidden.told(self.found["hidden"], self.found["comments"]), self.doubled.told)

    @property
    def facts(self) -> dict[str, Any]:
        return {"found": self.found, "sheets": self.sheets}


def convert(data: bytes, ending: str, to: str, title: str) -> Result:
    """A document in another format. Told is what is to be said of what is written beside what the source shows."""
    seen = _Seen()
    if to in (".csv", ".tsv", ".xlsx", ".json"):
        rows, beside = _rows(data, ending, seen)
        others = _other_sheets(data) if ending == ".xlsx" else []
        counted = formulas.formulas(rows) if to in (".csv", ".tsv") else 0
        renamed, made = _as_table(rows, to)
        guess = reduce(_both, [_guessed(data, ending, ""), seen.told, beside, renamed])
        told = {"formulas": counted, "left_out": others}
        return {**told, **seen.facts, "guessed": guess}, made
    if ending == ".pdf":
        read, found = text(data, ending)
        guess, blocks = read["guessed"], from_plain(found.decode())
    else:
        blocks = _blocks(data, ending, seen)
        guess = _both(_guessed(data, ending), seen.told)
    try:
        told, made = _made(blocks, to, title)
    except pdf.UnknownLetters:  # which may stand in a sheet that a rule keeps
        why = "cannot be made: it has letters that cannot be set here. Make a .docx file instead."
        raise Refused(why) from None
    return {**told, **seen.facts, "guessed": guess}, made


def _other_sheets(data: bytes) -> list[str]:
    first = office.first_sheet(data)
    return [name for name in office.sheet_names(data) if name != first]


def make(content: str, to: str, title: str, lenient: bool = False) -> Result:
    """A document out of Markdown."""
    return _made(markdown.read(content), to, title, lenient)


def _made(blocks: Sequence[Block], to: str, title: str, lenient: bool = False) -> Result:
    if to == ".pdf":
        made = pdf.write(blocks, title, lenient)
        return {"pages": len(pdf.reader(made).pages)}, made
    if to == ".docx":
        return {}, word_writing.write(blocks, title)
    if to in (".html", ".htm"):
        return {}, html.write(blocks, title).encode()
    return {}, (markdown.write(blocks) if to == ".md" else to_plain(blocks)).encode()


def _blocks(data: bytes, ending: str, seen: _Seen | None = None) -> list[Block]:
    seen = seen or _Seen()
    match ending:
        case ".pdf":
            return from_plain(text(data, ending)[1].decode())
        case ".docx":
            blocks, found = word.read(data)
            seen.found.update(found)
            return blocks
        case ".md":
            return markdown.read(tables.decoded(data))
        case ".html" | ".htm":
            page = tables.decoded(data)
            seen.found["hidden"] += hidden.in_page(page)
            return html.read(page)
        case ".xlsx":
            sheets = _sheets(data)
            seen.found["hidden"] += hidden.in_book(data)
            seen.found["comments"] += sum(len(sheet.noted) for sheet in sheets)
            seen.sheets += [sheet.name for sheet in sheets]
            return [*_sheet_blocks(sheets)]
        case ".csv" | ".tsv" | ".json":
            return [table(_rows(data, ending, seen)[0])]
        case _:
            return from_plain(tables.decoded(data))


def _rows(data: bytes, ending: str, seen: _Seen | None = None) -> tuple[list[list[tables.Cell]], str]:
    """The one table of a file, and what is to be said of what stands beside it, as the end of a sentence. Raises
    Refused when there is none, or several."""
    seen = seen or _Seen()
    if ending == ".json":
        return tables.json_rows(tables.decoded(data), seen.doubled), ""
    beside = 0
    if ending == ".xlsx":
        seen.sheets.append(office.first_sheet(data))
        seen.found["hidden"] += hidden.in_book(data, seen.sheets[0])
    if ending in (".csv", ".tsv", ".xlsx"):
        rows = _whole(data, ending, "")
        found = [rows] if rows else []
    else:
        blocks = _blocks(data, ending, seen)
        beside = sum(block.kind not in ("table", "break") for block in blocks)
        found = [[[plain(cell) for cell in row] for row in block.rows] for block in blocks if block.rows]
    if len(found) != 1:
        raise Refused(f"holds {len(found) or 'no'} tables, and it must be one. Convert it to text instead.")
    parts = f"{beside:,} parts" if beside > 1 else "a part"
    return found[0], f"has {parts} of text beside the table, left out here" if beside else ""


def _whole(data: bytes, ending: str, sheet: str) -> list[list[tables.Cell]]:
    _, rows, more = tables.rows(data, ending, sheet, 1, tables.MOST_ROWS)
    if more:
        raise Refused(f"has more than {tables.MOST_ROWS:,} rows. Take a part of it.")
    return rows


def _typed(value: tables.Cell) -> tables.Cell:
    """A text that is the one way to write a number, as that number: nothing is lost by it."""
    if not isinstance(value, str) or len(value) > 15 or value.strip("-.0123456789"):
        return value
    for kind in (int, float):
        try:
            if str(kind(value)) == value:
                return kind(value)
        except ValueError:
            continue
    return value


def _as_table(rows: list[list[tables.Cell]], to: str) -> tuple[str, bytes]:
    """The file, and what is to be said of names of columns that were changed for it, as the end of a sentence."""
    if to in (".xlsx", ".json"):
        rows = [rows[0], *([_typed(value) for value in row] for row in rows[1:])]
    if to == ".xlsx":
        return "", office.write_excel(rows)
    if to == ".json":
        head, renamed = tables.names_apart(["" if name is None else str(name) for name in rows[0]])
        records = [dict(zip(head, row, strict=True)) for row in rows[1:]]
        said = f"has columns of the same name, told apart: {', '.join(renamed)[:200]}" if renamed else ""
        return said, (json.dumps(records, ensure_ascii=False, indent=2) + "\n").encode()
    return "", tables.comma_separated(rows, "\t" if to == ".tsv" else ",").encode()


def merge(*files: bytes) -> Result:
    """Several PDFs in one. Told is how many pages each gave, which are signed, and which files inside are left out."""
    made, pages, signed = pdf.merged(files)
    inside = [name for data in files for name in pdf_beside.inside(data)]
    return {"pages": pages, "signed": signed, "inside": inside}, made


def fields(data: bytes) -> Result:
    """The form of a PDF."""
    return {"fields": pdf.fields(data)}, b""


def fill(data: bytes, values: dict[str, str]) -> Result:
    """A PDF with values in its form, and what the form says then."""
    before, made = pdf.fields(data), pdf.filled(data, values)
    return {"before": before, "after": pdf.fields(made), "pages": len(pdf.reader(made).pages)}, made


def words(data: bytes, ending: str, give: str, **asked: Any) -> Result:
    """What stands on pictures of pages, which of it is said by `give`; how many pages there are."""
    seen = pictures.words(data, ending, table=give == "table", **asked)
    told, made = page_words.given(seen["found"], give)
    return {**told, "pages": seen["pages"]}, made


TASKS: dict[str, Callable[..., Result]] = {
    one.__name__: one for one in (text, compare, difference, sheet, convert, make, merge, fields, fill, words)
}
