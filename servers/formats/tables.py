"""Tables and records: rows of CSV, JSON and Excel files. Runs in the sandbox."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any

from servers import csv_lines
from servers.sandbox.protocol import Refused
from servers.text_encoding import detect

MOST_COLUMNS = 500
MOST_ROWS = 100_000
MOST_DIGITS = 300  # of a whole number that is one: a float has room for 308
MOST_NAMED = 3  # names that a note names
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


def names_apart(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The names of columns, each once; and those that were given because another column has the name."""
    columns: list[str] = []
    renamed: list[str] = []
    for n, name in enumerate(names, 1):
        free = free_name(name.strip() or f"column {n}", columns, names)
        if name.strip() and free != name.strip():
            renamed.append(f"“{free}” (column {n})")
        columns.append(free)
    return columns, renamed


def free_name(name: str, taken: Sequence[str], names: Sequence[str]) -> str:
    """The name, with a number where another column has it."""
    if name not in taken:
        return name
    others = {*taken, *names}
    return next(one for n in count(2) if (one := f"{name} ({n})") not in others)


def comma_separated(table: Sequence[Sequence[Cell]], sign: str) -> str:
    out = io.StringIO()
    rows = ([str(v).lower() if isinstance(v, bool) else v for v in row] for row in table)
    csv_lines.write(out, sign, rows)
    return out.getvalue()


@dataclass
class Doubled:
    """The names that stand more than once in an object of JSON, and in how many objects. The last value counts."""

    names: Counter[str] = field(default_factory=Counter)

    def object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            self.names.update(name for name, count in counts.items() if count > 1)
        return found

    @property
    def told(self) -> str:
        """The end of a sentence, "" where there are none."""
        if not self.names:
            return ""
        named = ", ".join(f"“{name[:60]}”" for name, _ in self.names.most_common(MOST_NAMED))
        more = ", …" if len(self.names) > MOST_NAMED else ""
        return f"has names more than once in a record ({named}{more}): the last value was taken"


def parsed(text: str, doubled: Doubled | None = None) -> Any:
    try:
        return json.loads(text, object_pairs_hook=(doubled or Doubled()).object, parse_int=_whole_number)
    except (ValueError, RecursionError) as error:
        raise Refused(f"is not JSON: {error}. Mend it first.") from None


def _whole_number(text: str) -> int | str:
    """A number of a file; one that no calculation could take, as the text that it is in the file."""
    return int(text) if len(text) <= MOST_DIGITS else text


def json_rows(text: str, doubled: Doubled | None = None) -> list[list[Cell]]:
    """A JSON list of records as a table whose first row names the columns. Raises Refused for anything else."""
    found = parsed(text, doubled)
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
