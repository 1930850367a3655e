"""Tables and records: rows of CSV, JSON and Excel files. Runs in the sandbox."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Any, NamedTuple

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
    sign = "\t" if ending == ".tsv" else _separator(text.splitlines()[:1])
    return ([*line] for line in _lines(text, sign))


def _excel(data: bytes, sheet: str) -> tuple[str, Iterator[list[Cell]]]:
    from servers.formats import office  # takes its time to load

    return office.sheet_cells(data, sheet)


def _trimmed(taken: list[list[Cell]]) -> list[list[Cell]]:
    """Without the empty cells at the end of all rows."""
    width = max((n + 1 for row in taken for n, value in enumerate(row) if value not in (None, "")), default=0)
    return [[*row[:width], *[None] * (width - len(row))] for row in taken]


def _separator(top: Sequence[str]) -> str:
    """What parts the values: the sign that the most of these lines have equally often, outside of quotes."""
    bare = [_QUOTED.sub("", line) for line in top]

    def told(sign: str) -> tuple[int, int, bool]:
        counts = [many for line in bare if (many := line.count(sign))]
        usual = max(counts, key=counts.count, default=0)
        return counts.count(usual), usual, sign == ","

    return max(",;\t|", key=told)


def _lines(text: str, sign: str) -> Iterator[list[str]]:
    """The lines of a CSV file as they come. Raises Refused at one that is broken or too wide."""
    try:
        for line in csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True):
            _narrow(len(line))
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


def _narrow(columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise Refused(f"has {columns:,} columns, more than {MOST_COLUMNS}. Take a part of it.")


def comma_separated(table: Sequence[Sequence[Cell]], sign: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=sign, lineterminator="\n")
    writer.writerows([[str(v).lower() if isinstance(v, bool) else v for v in row] for row in table])
    return out.getvalue()


MOST_RECORDS = 100_000
TITLES = 30  # lines at the top among which the line of column names is looked for
_NUMERIC = re.compile(r"(?=\D*\d)[-+\s$€£¥%\d.,'’]+")


class Records(NamedTuple):
    """Columns, rows that are all as long as those, and what was assumed to read them so, in sentences.

    `sign` parts the values of a line; it is empty where the file has no such lines.
    """

    columns: list[str]
    rows: list[list[Cell]]
    assumed: list[str]
    sign: str = ""


def records(data: bytes, ending: str) -> Records:
    """The records of a file. Raises Refused for what is no table, or too large a one."""
    text = decoded(data, "Name a .csv, .tsv, .json or .jsonl file, or say which table.")
    found = _found(text, ending)
    if guess := guessed(data):
        found.assumed.insert(0, f"The file {guess}.")
    return found


def _found(text: str, ending: str) -> Records:
    if ending == ".json":
        return _of_objects(_json(text))
    if ending in (".jsonl", ".ndjson"):
        return _of_objects([_json(line) for line in text.splitlines() if line.strip()])
    return _of_csv(text, ending)


def _of_csv(text: str, ending: str) -> Records:
    if not text.strip():
        raise Refused("is empty. There is nothing in it to look at.")
    top = text.splitlines()[:TITLES]
    sign = "\t" if ending == ".tsv" else _separator(top)
    lines = [line for line in _lines(text, sign) if line]
    above = _titles(lines[:TITLES])
    columns, assumed = _columns(lines[above])
    if above:
        shown = "; ".join(" ".join(filter(None, line))[:60] for line in lines[:above][:3])
        assumed.insert(0, f"{_counted(above, 'line')} above the column names left out: {shown}.")
    found = lines[above + 1 :]
    _few(found)
    assumed += _widened(columns, found)
    if found and len(found[-1]) < len(columns) and not text.endswith(("\n", "\r")):
        assumed.append(
            f"The last row breaks off after {len(found[-1])} of {len(columns)} values: the file may be cut off."
        )
    return Records(columns, _fitting(columns, found), assumed, sign)


def separator(data: bytes) -> str:
    """What parts the values of a CSV file, going by its first lines; a comma for what is no text."""
    try:
        return _separator(decoded(data).splitlines()[:TITLES])
    except Refused:
        return ","


def _titles(lines: Sequence[list[str]]) -> int:
    """How many lines stand above the line of column names: those with few values, where most have many."""
    widths = [_width(line) for line in lines]
    usual = max(widths[1:], key=widths.count, default=0)
    for at, line in enumerate(lines[:-1]):
        if sum(map(bool, line)) > usual / 2:
            return at if all(map(_few_numbers, lines[: at + 1])) else 0
    return 0


def _width(line: list[str]) -> int:
    return max((n for n, value in enumerate(line, 1) if value.strip()), default=0)


def _few_numbers(line: list[str]) -> bool:
    """Whether a line may be a title or names of columns: not all that it holds is numbers."""
    filled = [value for value in line if value.strip()]
    return not filled or not all(map(_NUMERIC.fullmatch, filled))


def _columns(names: list[str]) -> tuple[list[str], list[str]]:
    """The names, each once, and what was assumed for that."""
    _narrow(len(names))
    columns: list[str] = []
    renamed: list[str] = []
    for n, name in enumerate(names, 1):
        free = _free(name.strip() or f"column {n}", columns, names)
        if name.strip() and free != name.strip():
            renamed.append(f"“{free}” (column {n})")
        columns.append(free)
    said = f"Columns of the same name are told apart: {', '.join(renamed)}." if renamed else ""
    return columns, [said] if said else []


def _free(name: str, taken: Sequence[str], names: Sequence[str]) -> str:
    if name not in taken:
        return name
    others = {*taken, *names}
    return next(one for n in count(2) if (one := f"{name} ({n})") not in others)


def _counted(many: int, thing: str) -> str:
    return f"{many} {thing}{' is' if many == 1 else 's are'}"


def _widened(columns: list[str], lines: Sequence[list[str]]) -> list[str]:
    """Add columns for values that stand beyond the last name, and say so: none of them is left out."""
    named = len(columns)
    wider = [(number, width) for number, line in enumerate(lines, 1) if (width := _width(line)) > named]
    if not wider:
        return []
    for n in range(named + 1, max(width for _, width in wider) + 1):
        columns.append(_free(f"column {n}", columns, ()))
    first, width = wider[0]
    more = f", and {len(wider) - 1:,} more rows have too many" if len(wider) > 1 else ""
    added = ", ".join(f"“{name}”" for name in columns[named:][:5])
    return [
        f"Row {first} has {width} values for {named} column names{more}: what has no name is kept in {added}."
    ]


def _fitting(columns: list[str], lines: Sequence[list[str]]) -> list[list[Cell]]:
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


def _of_objects(found: Any) -> Records:
    names, rows = _table(found, "Name a file that is.")
    _few(rows)
    columns, assumed = _columns(names)
    return Records(columns, rows, assumed)


def _table(found: Any, instead: str) -> tuple[list[str], list[list[Cell]]]:
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise Refused(f"is not a list of records like [{{“name”: “Ann”}}]. {instead}")
    columns = list(dict.fromkeys(key for one in found for key in one))
    return columns, [[_flat(one.get(key)) for key in columns] for one in found]


def _flat(value: Any) -> Cell:
    return value if isinstance(value, str | int | float | bool) or value is None else json.dumps(value)
