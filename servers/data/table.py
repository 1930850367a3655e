"""Tables by column, each value kept once: what 1,000,000 rows need no list of their own for. Runs in the sandbox."""

from __future__ import annotations

import io
import json
import re
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, compress, count, islice
from typing import Any

from servers.formats import tables
from servers.formats.tables import Cell
from servers.sandbox.protocol import Refused
from servers.text_encoding import detect

MOST_RECORDS = 2_000_000
MOST_CELLS = 60_000_000  # rows times columns: four bytes each
TITLES = 30  # lines at the top among which the line of column names is looked for
_TOP = 1 << 20  # bytes in which they are looked for
_END = 8  # bytes that tell whether the last line is a whole one
_BATCH = 10_000  # rows that are lists at one time
_EXACT = 2.0**53  # below which a float tells each whole number from the next
_NUMERIC = re.compile(r"(?=\D*\d)[-+\s$€£¥%\d.,'’]+")
_DAY = re.compile(r"\s*\d{1,4}[-./]\d{1,2}[-./]\d{1,4}\b")
_INSTEAD = "Name a .csv, .tsv, .json or .jsonl file, or say which table."


@dataclass(frozen=True)
class Column:
    """What stands in a column: its different values, those of the first rows first, and which of them each row has."""

    name: str
    values: Sequence[Cell]
    codes: Sequence[int]

    @cached_property
    def times(self) -> Counter[int]:
        """In how many rows each value stands, by its code, those of the first rows first."""
        return Counter(self.codes)

    @cached_property
    def compared(self) -> list[int]:
        """For each value, a number that it shares with those that are compared as the same; 0 for nothing."""
        numbers = defaultdict[str, int](count(1).__next__, {"": 0})
        return [*map(numbers.__getitem__, map(plain, self.values))]

    def where(self, wanted: Callable[[int], bool]) -> Iterator[int]:
        """The rows, from 0, whose code is wanted."""
        return compress(count(), map(wanted, self.codes))


def plain(value: Cell) -> str:
    """A value as it is compared: composed, lower case, one space at most; numbers without zeros at the end."""
    if isinstance(value, str):
        composed = value if value.isascii() else unicodedata.normalize("NFKC", value)
        return " ".join(composed.casefold().split())
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    is_whole = isinstance(value, int) or (abs(value) < _EXACT and value.is_integer())
    return str(int(value)) if is_whole else f"{value:.12g}"


@dataclass(frozen=True)
class Table:
    """Columns of the same length, and what was assumed to read them so, in sentences.

    `sign` parts the values of a line; it is empty where the file has no such lines.
    """

    columns: list[Column]
    rows: int
    assumed: list[str]
    sign: str = ""

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def chosen(self, names: Sequence[str] | None) -> list[Column]:
        """These columns, or all. Raises Refused for one that is not there."""
        found = {column.name: column for column in self.columns}
        for name in names or ():
            if name not in found:
                raise Refused(f"has no column “{name}”. The columns are: {', '.join(found)}.")
        return [found[name] for name in dict.fromkeys(names)] if names else self.columns

    def row(self, at: int) -> list[Cell]:
        return [column.values[column.codes[at]] for column in self.columns]


@dataclass
class _Filling:
    """Columns while rows are added. A number and a text, True and 1 are different values where `typed`."""

    typed: bool = False
    rows: int = 0
    seen: list[dict[Any, int]] = field(default_factory=list)
    codes: list[array[int]] = field(default_factory=list)

    def widen(self, width: int, filler: Cell) -> None:
        while len(self.codes) < width:
            seen = defaultdict[Any, int](count().__next__)
            self.codes.append(array("I", [seen[self._key(filler)]] * self.rows if self.rows else []))
            self.seen.append(seen)
        self._few()

    def add(self, rows: Sequence[Sequence[Cell]]) -> None:
        """Rows that are all as wide as the columns are many."""
        self.rows += len(rows)
        self._few()
        for codes, seen, values in zip(self.codes, self.seen, zip(*rows, strict=True), strict=True):
            codes.extend(map(seen.__getitem__, map(self._key, values) if self.typed else values))

    def _key(self, value: Cell) -> object:
        return (value.__class__, value) if self.typed else value

    def _few(self) -> None:
        if self.rows > MOST_RECORDS:
            raise Refused(f"has more than {MOST_RECORDS:,} records. Take a part of it.")
        if self.rows * len(self.codes) > MOST_CELLS:
            raise Refused(f"has more than {MOST_CELLS:,} cells. Take a part of it, or fewer columns.")

    def columns(self, names: Sequence[str]) -> list[Column]:
        return [
            Column(name, [key[1] for key in seen] if self.typed else list(seen), codes)
            for name, seen, codes in zip(names, self.seen, self.codes, strict=True)
        ]


def load(data: bytes, ending: str, named: Sequence[str] | None = None) -> Table:
    """The table of a file; with `named`, its bytes are rows of a database of columns so named, a JSON list of them
    a line.

    Raises Refused for what is no table, or too large a one.
    """
    if named is not None:
        return _of_rows(named, chain.from_iterable(map(json.loads, io.BytesIO(data))))
    found = detect(data, whole=True)
    if found is None:
        raise Refused(f"is not text. {_INSTEAD}")
    guess = (
        [f"The file is not UTF-8 text: it was read as {found.guess}, which is a guess."]
        if found.guess
        else []
    )
    data = found.unmarked(data)
    text = io.TextIOWrapper(io.BytesIO(data), found.name, "replace", newline="")
    if ending in (".json", ".jsonl", ".ndjson"):
        made = _of_json(text, whole=ending == ".json")
    else:
        made = _of_csv(text, found.decoded(data[:_TOP]), found.decoded(data[-_END:]), ending)
    return Table(made.columns, made.rows, guess + made.assumed, made.sign)


def _of_rows(names: Sequence[str], rows: Iterable[list[Cell]]) -> Table:
    filling = _Filling(typed=True)
    filling.widen(len(names), None)
    for some in _batches(rows):
        filling.add(some)
    return Table(filling.columns(names), filling.rows, [])


def _of_json(text: io.TextIOWrapper, whole: bool) -> Table:
    """The records of one JSON list, or of a file with one on each line."""
    doubled = tables.Doubled()
    found = (tables.parsed(each, doubled) for each in ([text.read()] if whole else filter(str.strip, text)))
    filling, places = _Filling(typed=True), dict[str, int]()
    for some in found if whole else _batches(found):
        names, rows = tables.of_objects(some, "Name a file that is.")
        places |= {name: n for n, name in enumerate(dict.fromkeys([*places, *names]))}
        filling.widen(len(places), None)
        tables.narrow(len(places))
        order = [names.index(name) if name in names else None for name in places]
        filling.add([[None if n is None else row[n] for n in order] for row in rows])
    names, assumed = _columns([*places])
    assumed += [f"The file {doubled.told}."] if doubled.told else []
    return Table(filling.columns(names), filling.rows, assumed)


def _batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(rows)
    while some := list(islice(rest, _BATCH)):
        yield some


def _of_csv(text: io.TextIOWrapper, head: str, end: str, ending: str) -> Table:
    sign = "\t" if ending == ".tsv" else tables.separator(head.splitlines()[:TITLES])
    lines = filter(None, tables.lines(text, sign))
    top = list(islice(lines, TITLES)) if head.strip() else []
    if not top:
        raise Refused("is empty. There is nothing in it to look at.")
    above = _titles(top)
    columns, assumed = _columns(top[above])
    if above:
        shown = "; ".join(" ".join(filter(None, line))[:60] for line in top[:above][:3])
        assumed.insert(0, f"{_counted(above, 'line')} above the column names left out: {shown}.")
    rows = _Ragged(columns)
    for some in _batches(chain(top[above + 1 :], lines)):
        rows.add(some)
    assumed += rows.said()
    if rows.last and len(rows.last) < len(columns) and not end.endswith(("\n", "\r")):
        assumed.append(
            f"The last row breaks off after {len(rows.last)} of {len(columns)} values: the file may be cut off."
        )
    made = rows.filling.columns(columns)
    if _like_a_record(top[above], rows.filling.seen):
        shown = "; ".join(value[:40] for value in top[above][:5])
        assumed.insert(
            0, f"The first line was taken for names of columns, though it may be a record: {shown}."
        )
    return Table(made, rows.filling.rows, assumed, sign)


def _like_a_record(names: Sequence[str], seen: Sequence[Mapping[str, int]]) -> bool:
    """Whether names of columns may be a first record: one is a day, half are numbers, or one is there again below."""
    filled = [name for name in names if name.strip()]
    numbers = sum(map(bool, map(_NUMERIC.fullmatch, filled)))
    again = any(name.strip() and name in below for name, below in zip(names, seen, strict=False))
    return any(map(_DAY.match, filled)) or numbers * 2 >= max(len(filled), 1) or again


class _Ragged:
    """Rows of any length. Values beyond the last name get columns of their own, so that none of them is left out."""

    def __init__(self, columns: list[str]) -> None:
        self.columns, self.named, self.filling = columns, len(columns), _Filling()
        self.wider, self.first, self.last = 0, (0, 0), list[str]()
        self.filling.widen(self.named, "")

    def add(self, lines: list[list[str]]) -> None:
        self.last = lines[-1]
        wider = [
            (at, width)
            for at, line in enumerate(lines, self.filling.rows + 1)
            if len(line) > self.named and (width := _width(line)) > self.named
        ]
        if wider:
            self._widen(wider)
        width = len(self.columns)
        if {*map(len, lines)} != {width}:
            lines = [[*line[:width], *[""] * (width - len(line))] for line in lines]
        self.filling.add(lines)

    def _widen(self, wider: list[tuple[int, int]]) -> None:
        self.first = self.first if self.wider else wider[0]
        self.wider += len(wider)
        for n in range(len(self.columns) + 1, max(width for _, width in wider) + 1):
            self.columns.append(tables.free_name(f"column {n}", self.columns, ()))
        self.filling.widen(len(self.columns), "")

    def said(self) -> list[str]:
        if not self.wider:
            return []
        row, width = self.first
        more = f", and {self.wider - 1:,} more rows have too many" if self.wider > 1 else ""
        added = ", ".join(f"“{name}”" for name in self.columns[self.named :][:5])
        return [
            f"Row {row} has {width} values for {self.named} column names{more}: what has no name is kept in {added}."
        ]


def sign(head: bytes) -> str:
    """What parts the values of a CSV file that begins so; a comma for what is no text."""
    try:
        return tables.separator(tables.decoded(head).splitlines()[:TITLES])
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
    tables.narrow(len(names))
    columns, renamed = tables.names_apart(names)
    said = f"Columns of the same name are told apart: {', '.join(renamed)}." if renamed else ""
    return columns, [said] if said else []


def _counted(many: int, thing: str) -> str:
    return f"{many} {thing}{' is' if many == 1 else 's are'}"
