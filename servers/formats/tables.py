"""Tables and records: rows of CSV, JSON and Excel files. Runs in the sandbox."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from servers.sandbox.protocol import Refused
from servers.text_encoding import detect

MOST_COLUMNS = 500
MOST_ROWS = 100_000
Cell = str | int | float | bool | None
_QUOTED = re.compile(r'"[^"]*"')


def rows(data: bytes, ending: str, sheet: str, first: int, limit: int) -> tuple[str, list[list[Cell]], bool]:
    """The sheet's name, rows from the `first` (1 is the top one), and whether there are more."""
    name, found = ("", _cells(data, ending)) if ending != ".xlsx" else _excel(data, sheet)
    taken = list(islice(found, first - 1, first + limit))
    return name, _trimmed(taken[:limit]), len(taken) > limit


def _cells(data: bytes, ending: str) -> Iterator[list[Cell]]:
    text = decoded(data)
    sign = "\t" if ending == ".tsv" else separator(text.splitlines()[:1])
    return ([*line] for line in lines(io.StringIO(text, newline=""), sign))


def _excel(data: bytes, sheet: str) -> tuple[str, Iterator[list[Cell]]]:
    from servers.formats import office  # takes its time to load

    return office.sheet_cells(data, sheet)


def _trimmed(taken: list[list[Cell]]) -> list[list[Cell]]:
    """Without the empty cells at the end of all rows."""
    width = max((n + 1 for row in taken for n, value in enumerate(row) if value not in (None, "")), default=0)
    return [[*row[:width], *[None] * (width - len(row))] for row in taken]


def separator(top: Sequence[str]) -> str:
    """What parts the values: the sign that the most of these lines have equally often, outside of quotes."""
    bare = [_QUOTED.sub("", line) for line in top]

    def told(sign: str) -> tuple[int, int, bool]:
        counts = [many for line in bare if (many := line.count(sign))]
        usual = max(counts, key=counts.count, default=0)
        return counts.count(usual), usual, sign == ","

    return max(",;\t|", key=told)


def lines(text: Iterable[str], sign: str) -> Iterator[list[str]]:
    """The lines of a CSV file as they come. Raises Refused at one that is broken or too wide."""
    try:
        for line in csv.reader(text, delimiter=sign, strict=True):
            if len(line) > MOST_COLUMNS:
                narrow(len(line))
            yield line
    except csv.Error as error:
        raise Refused(f"cannot be read as a table: {error}. Mend that line first.") from None


def decoded(data: bytes, instead: str = "Name a file of another kind.") -> str:
    """The text of a file. Raises Refused, with what to do `instead`, where it is none."""
    found = detect(data, whole=True)
    if found is None:
        raise Refused(f"is not text. {instead}")
    return found.decoded(data)


def guessed(data: bytes) -> str:
    """What is to be said of how a text was read, as the end of a sentence; "" where nothing was guessed."""
    found = detect(data, whole=True)
    if found is None or not found.guess:
        return ""
    return f"is not UTF-8 text: it was read as {found.guess}, which is a guess"


def narrow(columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise Refused(f"has {columns:,} columns, more than {MOST_COLUMNS}. Take a part of it.")


def comma_separated(table: Sequence[Sequence[Cell]], sign: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=sign, lineterminator="\n")
    writer.writerows([[str(v).lower() if isinstance(v, bool) else v for v in row] for row in table])
    return out.getvalue()


def parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"is not JSON: {error}. Mend it first.") from None


def json_rows(text: str) -> list[list[Cell]]:
    """A JSON list of records as a table whose first row names the columns. Raises Refused for anything else."""
    found = parsed(text)
    if not found:
        raise Refused("is not a list of records like [{“name”: “Ann”}]. Convert another file.")
    columns, rows = of_objects(found, "Convert another file.")
    return [[*columns], *rows]


def of_objects(found: Any, instead: str) -> tuple[list[str], list[list[Cell]]]:
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise Refused(f"is not a list of records like [{{“name”: “Ann”}}]. {instead}")
    columns = list(dict.fromkeys(key for one in found for key in one))
    return columns, [[flat(one.get(key)) for key in columns] for one in found]


def flat(value: Any) -> Cell:
    return value if isinstance(value, str | int | float | bool) or value is None else json.dumps(value)
