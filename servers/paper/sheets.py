"""Tables: rows of Excel and CSV files, a part at a time. Runs in the process apart."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice

from servers.paper.blocks import Refused

MOST_COLUMNS = 500
MOST_ROWS = 100_000
Cell = str | int | float | bool | None


def rows(data: bytes, ending: str, sheet: str, first: int, limit: int) -> tuple[str, list[list[Cell]], bool]:
    """The sheet's name, rows from the `first` (1 is the top one), and whether there are more."""
    name, found = ("", _lines(data, ending)) if ending != ".xlsx" else _excel(data, sheet)
    taken = list(islice(found, first - 1, first + limit))
    return name, _trimmed(taken[:limit]), len(taken) > limit


def _excel(data: bytes, sheet: str) -> tuple[str, Iterator[list[Cell]]]:
    from servers.paper import excel  # takes its time to load

    return excel.cells(data, sheet)


def _trimmed(taken: list[list[Cell]]) -> list[list[Cell]]:
    """Without the empty cells at the end of all rows."""
    width = max((n + 1 for row in taken for n, value in enumerate(row) if value not in (None, "")), default=0)
    return [[*row[:width], *[None] * (width - len(row))] for row in taken]


def _lines(data: bytes, ending: str) -> Iterator[list[Cell]]:
    text = decoded(data)
    first = text.split("\n", 1)[0]
    sign = "\t" if ending == ".tsv" else max(",;\t|", key=lambda s: (first.count(s), s == ","))
    try:
        for line in csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True):
            _narrow(len(line))
            yield [*line]
    except csv.Error as error:
        raise Refused(f"cannot be read as a table: {error}. Mend that line first.") from None


def decoded(data: bytes) -> str:
    """Text of a file: UTF-8, else Latin-1. Raises Refused for what is none."""
    if b"\0" in data:
        raise Refused("is not text. Name a file of another kind.")
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
