"""What the confined process does with a database, by name.

Answers that can be long are JSON in the bytes, a line each where there are many: parsing one large document would
hold up the other threads of a bot.

"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from servers.sandbox.protocol import Refused
from servers.sqlite import changing, reading, rows
from servers.sqlite.reading import Asked, opened, spoken
from servers.sqlite.rows import Image, Later, Stored, Touched, exact

CONTEXT = 4  # columns that stay, to tell which row it is


def row_difference(rows: Sequence[Touched]) -> str:
    """Every row, every value that changes."""
    return "".join(line + "\n" for row in rows for line in _row_lines(row))


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
    return list(zip(row.shape.columns, image or (), strict=True))


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


def items(rows: Sequence[Touched]) -> list[str]:
    """One line for each table and kind of change."""
    found = Counter((row.shape.table, _what(row)) for row in rows)
    return [
        f"{table}: {count} row{'s' if count > 1 else ''} {what}"
        for (table, what), count in sorted(found.items())
    ]


Answer = tuple[dict[str, Any], bytes]
Task = Callable[..., Answer]


def _select(
    asked: Asked,
    *,
    sql: str,
    parameters: Sequence[reading.Cell] | Mapping[str, reading.Cell],
    most: tuple[int, int],
) -> Answer:
    with opened(asked) as base:
        return {}, _json(reading.select(base, asked, sql, parameters, most))


def _tables(asked: Asked) -> Answer:
    with opened(asked) as base:
        return {}, _lines(reading.tables(base))


def _table(asked: Asked, *, name: str | None, most: tuple[int, int]) -> Answer:
    with opened(asked) as base:
        found = reading.table(base, asked, name, most)
        return {"columns": found["columns"]}, _lines(found["rows"])


def _preview(asked: Asked, given: bytes, *, most: int) -> Answer:
    changes = json.loads(given)
    touched, back = changing.trial(
        asked, lambda watch, _: rows.apply(watch.base, watch.tables, changes), strict=True
    )
    return _plan((touched, back), changing.was(touched), most)


def _preview_back(asked: Asked, given: bytes, *, most: int) -> Answer:
    kept = json.loads(given)
    state, _ = changing.standing(asked, kept)

    def doing(watch: rows.Watch, now: changing.Base) -> None:
        rows.put_back(watch, now, rows.read(kept, watch.tables))

    return _plan(changing.trial(asked, doing, strict=False), state, most)


def _plan(tried: tuple[Sequence[rows.Touched], bool], expected: str, most: int) -> Answer:
    touched, back = tried
    difference = row_difference(touched)
    if len(difference) > most:
        raise Refused("That changes more than can be shown. Change fewer rows at once.")
    told = {
        "difference": difference,
        "items": items(touched),
        "rows": len(touched),
        "expected": expected,
        "can_undo": back,
    }
    return {}, _json(told)


def _standing(asked: Asked, given: bytes) -> Answer:
    state, as_left = changing.standing(asked, json.loads(given))
    return {"state": state, "as_left": as_left}, b""


def _write(asked: Asked, given: bytes, *, expected: str | None) -> Answer:
    return _done(changing.write(asked, json.loads(given), expected))


def _restore(asked: Asked, given: bytes, *, expected: str | None) -> Answer:
    return _done(changing.restore(asked, json.loads(given), expected))


def _done(done: changing.Done) -> Answer:
    """Facts, then the touched rows as a record keeps them, then the bytes of the database."""
    record = _json(rows.written(done.touched))
    counts = dict(row_counts(done.touched))
    return {
        "counts": counts,
        "state": changing.left(done.touched),
        "record": len(record),
    }, record + done.image


def _lines(answers: Sequence[Any]) -> bytes:
    return b"\n".join(map(_json, answers))


def _json(answer: Any) -> bytes:
    return json.dumps(answer).encode()


def _task(do: Task) -> Task:
    """A task as the sandbox calls it: with the descriptor of the database in `files`."""

    def told(*blobs: bytes, files: Sequence[int], said: str, seconds: float, **args: Any) -> Answer:
        asked = Asked(files[0], said, seconds)
        with spoken(asked):
            return do(asked, *blobs, **args)

    return told


TASKS: dict[str, Task] = {
    "select": _task(_select),
    "tables": _task(_tables),
    "table": _task(_table),
    "preview": _task(_preview),
    "preview_back": _task(_preview_back),
    "standing": _task(_standing),
    "write": _task(_write),
    "restore": _task(_restore),
}
