"""Records out of files: CSV, JSON and SQLite tables as columns and rows, within limits."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from servers.data import query
from servers.data.models import Cell
from servers.filesystem import landing
from servers.filesystem.roots import Place, Roots
from servers.making import bytes_of

LARGEST = 32 << 20  # bytes of a file
MOST_RECORDS = 100_000
MOST_COLUMNS = 500
DELIMITERS = {".csv": ",", ".tsv": "\t"}
_DATABASES = (".sqlite", ".sqlite3", ".db", ".db3")


@dataclass(frozen=True)
class Records:
    """Columns, and rows that are all as long as those."""

    said: str
    columns: list[str]
    rows: list[list[Cell]]

    def column(self, name: str) -> list[Cell]:
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def chosen(self, names: Sequence[str] | None) -> list[str]:
        """These columns, or all. Raises ToolError for one that is not there."""
        for name in names or ():
            if name not in self.columns:
                raise ToolError(f"There is no column “{name}”. The columns are: {', '.join(self.columns)}.")
        return list(dict.fromkeys(names)) if names else self.columns


def records(roots: Roots, path: str, table: str | None) -> Records:
    """The records of a file. Raises ToolError for what is no table, or too large a one."""
    place = landing.file(roots, path)
    name = place.parts[-1].lower()
    if table is not None or name.endswith(_DATABASES):
        return _of_table(place, table)
    text = decoded(bytes_of(place, LARGEST)[0], place.said)
    if name.endswith(".json"):
        return _of_objects(_json(text, place.said), place.said)
    if name.endswith((".jsonl", ".ndjson")):
        return _of_objects(
            [_json(line, place.said) for line in text.splitlines() if line.strip()], place.said
        )
    return _of_csv(text, place.said, DELIMITERS.get(name[-4:]))


def decoded(data: bytes, said: str) -> str:
    """UTF-8, else Latin-1. Raises ToolError for what is no text."""
    if b"\0" in data:
        raise ToolError(f"{said} is not text. Name a .csv, .tsv, .json or .jsonl file, or say which table.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _of_csv(text: str, said: str, delimiter: str | None) -> Records:
    if not text.strip():
        raise ToolError(f"{said} is empty. There is nothing in it to look at.")
    sign = delimiter if delimiter == "\t" else _delimiter(text)
    try:
        lines = [
            line for line in csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True) if line
        ]
    except csv.Error as error:
        raise ToolError(f"{said} cannot be read as a table: {error}. Mend that line first.") from None
    columns = _columns(lines[0], said)
    return _fitting(said, columns, iter(lines[1:]))


def _delimiter(text: str) -> str:
    first = text.splitlines()[0]
    return max(",;\t|", key=lambda sign: (first.count(sign), sign == ","))


def _columns(names: list[str], said: str) -> list[str]:
    if len(names) > MOST_COLUMNS:
        raise ToolError(f"{said} has {len(names)} columns, more than {MOST_COLUMNS}. Take a part of it.")
    columns = [name.strip() or f"column {n}" for n, name in enumerate(names, 1)]
    if len(set(columns)) < len(columns):
        raise ToolError(f"{said} has two columns of the same name. Rename one of them first.")
    return columns


def _fitting(said: str, columns: list[str], lines: Iterator[list[str]]) -> Records:
    rows: list[list[Cell]] = []
    for line in lines:
        if len(line) > len(columns) and any(line[len(columns) :]):
            raise ToolError(
                f"{said}: row {len(rows) + 1} has {len(line)} values for {len(columns)} columns. Mend it first."
            )
        rows.append([*line[: len(columns)], *[""] * (len(columns) - len(line))])
        _few(said, rows)
    return Records(said, columns, rows)


def _few(said: str, rows: Sequence[object]) -> None:
    if len(rows) > MOST_RECORDS:
        raise ToolError(f"{said} has more than {MOST_RECORDS:,} records. Take a part of it.")


def _json(text: str, said: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"{said} is not JSON: {error}. Mend it first.") from None


def _of_objects(found: Any, said: str) -> Records:
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ToolError(f"{said} is not a list of records like [{{“name”: “Ann”}}]. Name a file that is.")
    _few(said, found)
    columns = _columns(list(dict.fromkeys(key for one in found for key in one)), said)
    return Records(said, columns, [[_flat(one.get(key)) for key in columns] for one in found])


def _flat(value: Any) -> Cell:
    return value if isinstance(value, str | int | float | bool) or value is None else json.dumps(value)


def _of_table(place: Place, table: str | None) -> Records:
    with query.reading(place) as base:
        if table is None:
            names = ", ".join(one.name for one in query.tables(base))
            raise ToolError(f"{place.said} is a database. Say which table: {names or 'it has none'}.")
        query.known(base, table)
        asked = f"SELECT * FROM {query.quoted(table)}"
        columns, rows, more = query.select(base, asked, [], MOST_RECORDS, 4 * LARGEST)
    if more:
        raise ToolError(f"{place.said} has too many records. Take a part of it with query_sqlite.")
    return Records(place.said, columns, rows)
