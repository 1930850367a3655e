"""Tables and records: rows of CSV, JSON and Excel files. Runs in the sandbox."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from servers.sandbox.protocol import Refused

MOST_COLUMNS = 500
MOST_ROWS = 100_000
Cell = str | int | float | bool | None


def rows(data: bytes, ending: str, sheet: str, first: int, limit: int) -> tuple[str, list[list[Cell]], bool]:
    """The sheet's name, rows from the `first` (1 is the top one), and whether there are more."""
    name, found = ("", _cells(data, ending)) if ending != ".xlsx" else _excel(data, sheet)
    taken = list(islice(found, first - 1, first + limit))
    return name, _trimmed(taken[:limit]), len(taken) > limit


def _cells(data: bytes, ending: str) -> Iterator[list[Cell]]:
    return ([*line] for line in _lines(decoded(data), ending))


def _excel(data: bytes, sheet: str) -> tuple[str, Iterator[list[Cell]]]:
    from servers.formats import office  # takes its time to load

    return office.sheet_cells(data, sheet)


def _trimmed(taken: list[list[Cell]]) -> list[list[Cell]]:
    """Without the empty cells at the end of all rows."""
    width = max((n + 1 for row in taken for n, value in enumerate(row) if value not in (None, "")), default=0)
    return [[*row[:width], *[None] * (width - len(row))] for row in taken]


def _lines(text: str, ending: str) -> Iterator[list[str]]:
    """The lines of a CSV file as they come. Raises Refused at one that is broken or too wide."""
    first = next(iter(text.splitlines()), "")
    sign = "\t" if ending == ".tsv" else max(",;\t|", key=lambda s: (first.count(s), s == ","))
    try:
        for line in csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True):
            _narrow(len(line))
            yield line
    except csv.Error as error:
        raise Refused(f"cannot be read as a table: {error}. Mend that line first.") from None


def decoded(data: bytes, instead: str = "Name a file of another kind.") -> str:
    """Text of a file: UTF-8, else Latin-1. Raises Refused for what is none, with what to do `instead`."""
    if b"\0" in data:
        raise Refused(f"is not text. {instead}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _narrow(columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise Refused(f"has {columns:,} columns, more than {MOST_COLUMNS}. Take a part of it.")


def comma_separated(table: Sequence[Sequence[Cell]], sign: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=sign, lineterminator="\n")
    writer.writerows([[str(v).lower() if isinstance(v, bool) else v for v in row] for row in table])
    return out.getvalue()


MOST_RECORDS = 100_000


def records(data: bytes, ending: str) -> tuple[list[str], list[list[Cell]]]:
    """The columns, and rows that are all as long as those. Raises Refused for what is no table, or too large a one."""
    text = decoded(data, "Name a .csv, .tsv, .json or .jsonl file, or say which table.")
    if ending == ".json":
        return _of_objects(_json(text))
    if ending in (".jsonl", ".ndjson"):
        return _of_objects([_json(line) for line in text.splitlines() if line.strip()])
    return _of_csv(text, ending)


def _of_csv(text: str, ending: str) -> tuple[list[str], list[list[Cell]]]:
    if not text.strip():
        raise Refused("is empty. There is nothing in it to look at.")
    lines = [line for line in _lines(text, ending) if line]
    columns = _columns(lines[0])
    return columns, _fitting(columns, lines[1:])


def _columns(names: list[str]) -> list[str]:
    _narrow(len(names))
    columns = [name.strip() or f"column {n}" for n, name in enumerate(names, 1)]
    if len(set(columns)) < len(columns):
        raise Refused("has two columns of the same name. Rename one of them first.")
    return columns


def _fitting(columns: list[str], lines: Sequence[list[str]]) -> list[list[Cell]]:
    _few(lines)
    for number, line in enumerate(lines, 1):
        if any(line[len(columns) :]):
            row = f"row {number} has {len(line)} values for {len(columns)} columns"
            raise Refused(f"cannot be read as a table: {row}. Mend it first.")
    return [[*line[: len(columns)], *[""] * (len(columns) - len(line))] for line in lines]


def _few(rows: Sequence[object]) -> None:
    if len(rows) > MOST_RECORDS:
        raise Refused(f"has more than {MOST_RECORDS:,} records. Take a part of it.")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"is not JSON: {error}. Mend it first.") from None


def json_rows(text: str) -> list[list[Cell]]:
    """A JSON list of records as a table whose first row names the columns. Raises Refused for anything else."""
    found = _json(text)
    if not found:
        raise Refused("is not a list of records like [{“name”: “Ann”}]. Convert another file.")
    columns, rows = _table(found, "Convert another file.")
    return [[*columns], *rows]


def _of_objects(found: Any) -> tuple[list[str], list[list[Cell]]]:
    columns, rows = _table(found, "Name a file that is.")
    _few(rows)
    return _columns(columns), rows


def _table(found: Any, instead: str) -> tuple[list[str], list[list[Cell]]]:
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise Refused(f"is not a list of records like [{{“name”: “Ann”}}]. {instead}")
    columns = list(dict.fromkeys(key for one in found for key in one))
    return columns, [[_flat(one.get(key)) for key in columns] for one in found]


def _flat(value: Any) -> Cell:
    return value if isinstance(value, str | int | float | bool) or value is None else json.dumps(value)
