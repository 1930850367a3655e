"""What the process apart can do: each task takes bytes and plain arguments, and gives facts and bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from servers.paper import html, sheets
from servers.paper.blocks import Block, Refused, from_markdown, from_plain, to_markdown, to_plain

Result = tuple[dict[str, Any], bytes]
TABLES = (".csv", ".tsv", ".xlsx", ".json")
TEXTS = (".txt", ".md", ".html", ".htm")
READABLE = (".pdf", ".docx", *TEXTS, *TABLES)
MOST_TEXT = 8 << 20  # characters that are given back


def text(data: bytes, ending: str) -> Result:
    """All text of a document; of a PDF, page by page with a form feed between."""
    if ending == ".pdf":
        from servers.paper import pdf

        pages = pdf.text(data)
        return _text("\n\f\n".join(pages), len(pages))
    if ending in (".txt", ".md"):
        return _text(sheets.decoded(data), 0)
    if ending == ".json":
        return _text(sheets.decoded(data), 0)
    return _text(to_plain(_blocks(data, ending)), 0)


def _text(found: str, pages: int) -> Result:
    if len(found) > MOST_TEXT:
        raise Refused(f"holds {len(found):,} characters, more than {MOST_TEXT:,}. Take a part of it.")
    return {"pages": pages}, found.encode("utf-8", "replace")


def sheet(data: bytes, ending: str, name: str, first: int, limit: int) -> Result:
    """Some rows of one sheet, and the names of all."""
    named, rows, more = sheets.rows(data, ending, name, first, limit)
    every = []
    if ending == ".xlsx":
        from servers.paper import excel

        every = excel.names(data)
    return {"sheet": named, "sheets": every, "rows": rows, "more": more}, b""


def convert(data: bytes, ending: str, to: str, title: str) -> Result:
    """A document in another format."""
    if to in (".csv", ".tsv", ".xlsx", ".json"):
        return {}, _as_table(_rows(data, ending), to)
    return _made(_blocks(data, ending), to, title)


def make(content: str, to: str, title: str, lenient: bool = False) -> Result:
    """A document out of Markdown."""
    return _made(from_markdown(content), to, title, lenient)


def _made(blocks: Sequence[Block], to: str, title: str, lenient: bool = False) -> Result:
    if to == ".pdf":
        from servers.paper import pdf, print

        made = print.write(blocks, title, lenient)
        return {"pages": len(pdf.reader(made).pages)}, made
    if to == ".docx":
        from servers.paper import word

        return {}, word.write(blocks, title)
    if to in (".html", ".htm"):
        return {}, html.write(blocks, title).encode()
    return {}, (to_markdown(blocks) if to == ".md" else to_plain(blocks)).encode()


def _blocks(data: bytes, ending: str) -> list[Block]:
    match ending:
        case ".pdf":
            return from_plain(text(data, ending)[1].decode())
        case ".docx":
            from servers.paper import word

            return word.read(data)
        case ".md":
            return from_markdown(sheets.decoded(data))
        case ".html" | ".htm":
            return html.read(sheets.decoded(data))
        case ".csv" | ".tsv" | ".xlsx" | ".json":
            rows = _rows(data, ending)
            return [Block("table", rows=[["" if v is None else str(v) for v in row] for row in rows])]
        case _:
            return from_plain(sheets.decoded(data))


def _rows(data: bytes, ending: str) -> list[list[sheets.Cell]]:
    """The one table of a file. Raises Refused when there is none, or several."""
    if ending == ".json":
        return _of_json(sheets.decoded(data))
    if ending in (".csv", ".tsv", ".xlsx"):
        _, rows, more = sheets.rows(data, ending, "", 1, sheets.MOST_ROWS)
        if more:
            raise Refused(f"has more than {sheets.MOST_ROWS:,} rows. Take a part of it.")
        found = [rows] if rows else []
    else:
        found = [[[*row] for row in block.rows] for block in _blocks(data, ending) if block.kind == "table"]
    if len(found) != 1:
        raise Refused(f"holds {len(found) or 'no'} tables, and it must be one. Convert it to text instead.")
    return found[0]


def _of_json(found: str) -> list[list[sheets.Cell]]:
    try:
        told = json.loads(found)
    except (ValueError, RecursionError) as error:
        raise Refused(f"is not JSON: {error}. Mend it first.") from None
    if not isinstance(told, list) or not told or not all(isinstance(one, dict) for one in told):
        raise Refused("is not a list of records like [{“name”: “Ann”}]. Convert another file.")
    columns = list(dict.fromkeys(key for one in told for key in one))
    return [[*columns], *([_flat(one.get(column)) for column in columns] for one in told)]


def _flat(value: Any) -> sheets.Cell:
    return value if isinstance(value, str | int | float | bool) or value is None else json.dumps(value)


def _typed(value: sheets.Cell) -> sheets.Cell:
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


def _as_table(rows: list[list[sheets.Cell]], to: str) -> bytes:
    if to in (".xlsx", ".json"):
        rows = [rows[0], *([_typed(value) for value in row] for row in rows[1:])]
    if to == ".xlsx":
        from servers.paper import excel

        return excel.write(rows)
    if to == ".json":
        head = [str(name) for name in rows[0]]
        records = [dict(zip(head, row, strict=True)) for row in rows[1:]]
        return (json.dumps(records, ensure_ascii=False, indent=2) + "\n").encode()
    return sheets.comma_separated(rows, "\t" if to == ".tsv" else ",").encode()


def merge(*files: bytes) -> Result:
    """Several PDFs in one."""
    from servers.paper import pdf

    made, pages = pdf.merged(files)
    return {"pages": pages}, made


def fields(data: bytes) -> Result:
    """The form of a PDF."""
    from servers.paper import pdf

    return {"fields": pdf.fields(data)}, b""


def fill(data: bytes, values: dict[str, str]) -> Result:
    """A PDF with values in its form, and what the form says then."""
    from servers.paper import pdf

    before, made = pdf.fields(data), pdf.filled(data, values)
    return {"before": before, "after": pdf.fields(made), "pages": len(pdf.reader(made).pages)}, made


def words(data: bytes, ending: str, **asked: Any) -> Result:
    """The words on pictures of pages, and where each stands; how many pages there are."""
    from servers.paper import pictures

    return pictures.words(data, ending, **asked), b""


TASKS: dict[str, Callable[..., Result]] = {
    one.__name__: one for one in (text, sheet, convert, make, merge, fields, fill, words)
}
