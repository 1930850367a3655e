"""Changed rows as people read them: each with its values before and after, like a difference of two texts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from servers.data.rows import Later, Touched, exact
from servers.data.shape import Image, Stored
from servers.filesystem.models import Item

CONTEXT = 4  # columns that stay, to tell which row it is


def difference(rows: Sequence[Touched]) -> str:
    """Every row, every value that changes."""
    return "".join(line + "\n" for row in rows for line in _lines(row))


def _lines(row: Touched) -> Iterator[str]:
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
    return list(zip(row.shape.columns, image or (), strict=True))


def _what(row: Touched) -> str:
    return "added" if row.before is None else "removed" if row.after is None else "changed"


def _said(value: Stored) -> str:
    if isinstance(value, Later):
        return str(value)
    if isinstance(value, bytes):
        return f"(binary, {len(value)} bytes) {value[:16].hex()}"
    return "NULL" if value is None else json.dumps(value, ensure_ascii=False)


def counts(rows: Sequence[Touched]) -> Counter[str]:
    """How many rows are added, changed and removed."""
    return Counter(map(_what, rows))


def items(rows: Sequence[Touched]) -> list[Item]:
    """One line for each table and kind of change."""
    found = Counter((row.shape.table, _what(row)) for row in rows)
    return [
        Item(name=f"{table}: {count} row{'s' if count > 1 else ''} {what}", kind="other")
        for (table, what), count in sorted(found.items())
    ]
