"""What the sandbox does with documents: each task takes bytes and plain arguments, and gives facts and bytes."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher, unified_diff
from typing import Any

import webvtt
from webvtt.errors import MalformedCaptionError, MalformedFileError

from servers import formulas
from servers.formats import html, markdown, office, pdf, pictures, tables, word
from servers.formats.blocks import Block, from_plain, plain, table, to_plain, unstyled
from servers.sandbox.protocol import Refused

Result = tuple[dict[str, Any], bytes]
TEXTS = (".txt", ".md", ".json", ".csv", ".tsv", ".html", ".htm", ".vtt", ".srt")
MOST_TEXT = 8 << 20  # characters that are given back
MOST_CUES = 50_000
MOST_NAMED = 10  # pages that a note names
LONGEST_SENTENCE = 1_000  # characters of one sentence over several captions
AROUND = 2  # lines shown before and after what differs
ALIKE = 0.6  # from here on one line is taken for the other, changed
_WORD = re.compile(r"\d+(?:[.,]\d+)*|\w+|\s+|[^\w\s]")
Span = tuple[str, int, int, int, int]


def text(data: bytes, ending: str, changes: str = "both") -> Result:
    """All text of a document; of a PDF, page by page with a form feed between.

    `changes` in a Word file that are not accepted yet: accepted, rejected or both. Told is how many there are, and as
    `guessed` what is to be said of how it was read.
    """
    told: dict[str, Any] = {"pages": 0, "guessed": _guessed(data, ending)}
    match ending:
        case ".pdf":
            pages = pdf.text(data)
            told["pages"], found = len(pages), "\n\f\n".join(pages)
            told["guessed"] = "; it ".join(filter(None, [_unread(pages), _turned(pages)]))
        case ".docx":
            blocks, told["found"] = word.read(data, changes)
            found = to_plain(blocks)
        case ".vtt" | ".srt":
            found = captions(tables.decoded(data), ending)
        case ".txt" | ".md" | ".json":
            found = tables.decoded(data)
        case ".csv" | ".tsv":
            found = _tabbed(_rows(data, ending))
        case ".xlsx":
            found = "\n".join(f"{name}\n\n{_tabbed(rows)}".lstrip() for name, rows in _sheets(data))
        case _:
            found = to_plain(_blocks(data, ending))
    if len(found) > MOST_TEXT:
        raise Refused(f"holds {len(found):,} characters, more than {MOST_TEXT:,}. Take a part of it.")
    return told, found.encode("utf-8", "replace")


def captions(content: str, ending: str) -> str:
    """Captions of a meeting as lines of who says what, one for each caption, by its number.

    A sentence that goes on in further captions is in the line of its first.
    """
    try:
        found = webvtt.from_buffer(io.StringIO(content.lstrip("\ufeff")), format=ending.removeprefix("."))
    except (MalformedFileError, MalformedCaptionError, ValueError, IndexError) as error:
        raise Refused(f"holds no captions that can be read ({type(error).__name__}). Save it anew.") from None
    if len(found) > MOST_CUES:
        raise Refused(f"holds {len(found):,} captions, more than {MOST_CUES:,}. Take a part of it.")
    lines: list[str] = []
    before, open_at = "", -1
    for number, cue in enumerate(found.captions):
        said = " ".join(cue.text.split())
        who = cue.voice or ""
        goes_on = open_at >= 0 and who == before and len(lines[open_at]) < LONGEST_SENTENCE
        if goes_on and not lines[open_at].endswith((".", "!", "?", "…")):
            lines[open_at] += f" {said}"
            lines.append("")
        else:
            lines.append(f"{who}: {said}" if who else said)
            open_at = number
        before = who
    return "\n".join(lines)


def _guessed(data: bytes, ending: str, sheet: str | None = None) -> str:
    if ending == ".xlsx":
        return office.unworked(data, sheet)
    return tables.guessed(data) if ending in TEXTS else ""


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


def _sheets(data: bytes) -> list[tuple[str, list[list[tables.Cell]]]]:
    """Every sheet that says something, with its name where there are several."""
    names = office.sheet_names(data)
    found = [(name, _whole(data, ".xlsx", name)) for name in names]
    return [(name if len(names) > 1 else "", rows) for name, rows in found if rows]


def compare(first: bytes, second: bytes, endings: Sequence[str], changes: str) -> Result:
    """What differs between the text of two documents, word by word."""
    told = [text(data, ending, changes) for data, ending in zip((first, second), endings, strict=True)]
    facts, difference = compared(*(data.decode() for _, data in told))
    found = {
        "found": [one.get("found", {}) for one, _ in told],
        "guessed": [one["guessed"] for one, _ in told],
    }
    return {**facts, **found}, difference.encode()


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


def difference(old: bytes, new: bytes, names: Sequence[str], around: int) -> Result:
    """What differs between two JSON lists of lines, as `diff -u` prints it."""
    lines = unified_diff(json.loads(old), json.loads(new), names[0], names[1], n=around)
    return {}, "".join(lines).encode("utf-8", "surrogatepass")


def sheet(data: bytes, ending: str, name: str, first: int, limit: int) -> Result:
    """Some rows of one sheet, and the names of all."""
    named, rows, more = tables.rows(data, ending, name, first, limit)
    every = []
    if ending == ".xlsx":
        every = office.sheet_names(data)
    guess = _guessed(data, ending, named)
    return {"sheet": named, "sheets": every, "rows": rows, "more": more, "guessed": guess}, b""


def convert(data: bytes, ending: str, to: str, title: str) -> Result:
    """A document in another format."""
    if to in (".csv", ".tsv", ".xlsx", ".json"):
        rows = _rows(data, ending)
        others = office.sheet_names(data)[1:] if ending == ".xlsx" else []
        counted = formulas.formulas(rows) if to in (".csv", ".tsv") else 0
        guess = _guessed(data, ending, "")
        return {"formulas": counted, "left_out": others, "guessed": guess}, _as_table(rows, to)
    if ending == ".pdf":
        read, found = text(data, ending)
        guess, blocks = read["guessed"], from_plain(found.decode())
    else:
        guess, blocks = _guessed(data, ending), _blocks(data, ending)
    told, made = _made(blocks, to, title)
    return {**told, "guessed": guess}, made


def make(content: str, to: str, title: str, lenient: bool = False) -> Result:
    """A document out of Markdown."""
    return _made(markdown.read(content), to, title, lenient)


def _made(blocks: Sequence[Block], to: str, title: str, lenient: bool = False) -> Result:
    if to == ".pdf":
        made = pdf.write(blocks, title, lenient)
        return {"pages": len(pdf.reader(made).pages)}, made
    if to == ".docx":
        return {}, word.write(blocks, title)
    if to in (".html", ".htm"):
        return {}, html.write(blocks, title).encode()
    return {}, (markdown.write(blocks) if to == ".md" else to_plain(blocks)).encode()


def _blocks(data: bytes, ending: str) -> list[Block]:
    match ending:
        case ".pdf":
            return from_plain(text(data, ending)[1].decode())
        case ".docx":
            return word.read(data)[0]
        case ".md":
            return markdown.read(tables.decoded(data))
        case ".html" | ".htm":
            return html.read(tables.decoded(data))
        case ".xlsx":
            parts = ((Block("heading", unstyled(name), 1), table(rows)) for name, rows in _sheets(data))
            return [block for pair in parts for block in pair if block.text or block.rows]
        case ".csv" | ".tsv" | ".json":
            return [table(_rows(data, ending))]
        case _:
            return from_plain(tables.decoded(data))


def _rows(data: bytes, ending: str) -> list[list[tables.Cell]]:
    """The one table of a file. Raises Refused when there is none, or several."""
    if ending == ".json":
        return tables.json_rows(tables.decoded(data))
    if ending in (".csv", ".tsv", ".xlsx"):
        rows = _whole(data, ending, "")
        found = [rows] if rows else []
    else:
        blocks = [block for block in _blocks(data, ending) if block.kind == "table"]
        found = [[[plain(cell) for cell in row] for row in block.rows] for block in blocks]
    if len(found) != 1:
        raise Refused(f"holds {len(found) or 'no'} tables, and it must be one. Convert it to text instead.")
    return found[0]


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


def _as_table(rows: list[list[tables.Cell]], to: str) -> bytes:
    if to in (".xlsx", ".json"):
        rows = [rows[0], *([_typed(value) for value in row] for row in rows[1:])]
    if to == ".xlsx":
        return office.write_excel(rows)
    if to == ".json":
        head = [str(name) for name in rows[0]]
        records = [dict(zip(head, row, strict=True)) for row in rows[1:]]
        return (json.dumps(records, ensure_ascii=False, indent=2) + "\n").encode()
    return tables.comma_separated(rows, "\t" if to == ".tsv" else ",").encode()


def merge(*files: bytes) -> Result:
    """Several PDFs in one."""
    made, pages = pdf.merged(files)
    return {"pages": pages}, made


def fields(data: bytes) -> Result:
    """The form of a PDF."""
    return {"fields": pdf.fields(data)}, b""


def fill(data: bytes, values: dict[str, str]) -> Result:
    """A PDF with values in its form, and what the form says then."""
    before, made = pdf.fields(data), pdf.filled(data, values)
    return {"before": before, "after": pdf.fields(made), "pages": len(pdf.reader(made).pages)}, made


def words(data: bytes, ending: str, **asked: Any) -> Result:
    """The words on pictures of pages, and where each stands; how many pages there are."""
    return pictures.words(data, ending, **asked), b""


TASKS: dict[str, Callable[..., Result]] = {
    one.__name__: one for one in (text, compare, difference, sheet, convert, make, merge, fields, fill, words)
}
