"""Changed rows in words: what is shown of each value, and how many rows of which table are changed in which way."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from servers.lines import one_line
from servers.sqlite.rows import Touched
from servers.sqlite.stored import Image, Later, Stored, exact

CONTEXT = 4  # columns that stay, to tell which row it is


def row_difference(rows: Sequence[Touched]) -> str:
    """Every row, every value that changes."""
    return "".join(one_line(line) + "\n" for row in rows for line in _row_lines(row))


def _row_lines(row: Touched) -> Iterator[str]:
    yield f"@@ {row.shape.label(row.key)} ({_what(row)}) @@"
    if row.before is None or row.after is None:
        sign, image = ("+", row.after) if row.before is None else ("-", row.before)
        yield from (f"{sign}{name}: {_said(value)}" for name, value in _pairs(row, image))
        return
    pairs = list(zip(_pairs(row, row.before), _pairs(row, row.after), strict=True))
    same = [f" {name}: {_said(old)}" for (name, old), (_, new) in pairs if exact((old,)) == exact((new,))]
    yield from same[:CONTEXT]
    for (name, old), (_, new) in pairs:
        if exact((old,)) != exact((new,)):
            yield f"-{name}: {_said(old)}"
            yield f"+{name}: {_said(new)}"


def _pairs(row: Touched, image: Image | None) -> list[tuple[str, Stored]]:
    return list(zip(row.shape.shown, image or (), strict=True))


def _what(row: Touched) -> str:
    return "added" if row.before is None else "removed" if row.after is None else "changed"


def _said(value: Stored) -> str:
    if isinstance(value, Later):
        return str(value)
    if isinstance(value, bytes):
        return f"(binary, {len(value)} bytes) {value[:16].hex()}"
    return "NULL" if value is None else json.dumps(value, ensure_ascii=False)


def row_counts(rows: Sequence[Touched]) -> Counter[str]:
    """How many rows are added, changed and removed."""
    return Counter(map(_what, rows))


def counted(number: int) -> str:
    """So many rows."""
    return f"{number} row{'' if number == 1 else 's'}"


def effect(rows: Sequence[Touched]) -> str:
    """What happens to how many rows, up to the name of their file: `Add 1 row to`."""
    kinds = list(row_counts(rows))
    words = {"added": "Add {} to", "removed": "Remove {} from"}
    return words.get(kinds[0] if len(kinds) == 1 else "", "Change {} of").format(counted(len(rows)))


def items(rows: Sequence[Touched]) -> list[str]:
    """One line for each table and kind of change."""
    found = Counter((row.shape.table, _what(row)) for row in rows)
    return [one_line(f"{table}: {counted(count)} {what}") for (table, what), count in sorted(found.items())]
