"""Questions to a database, and changes of rows tried and made on copies in memory. Runs in the sandbox.

Answers are JSON in the bytes, hardly longer than what a tool answers: to parse a large one would hold up the other
threads of a bot. The rows of a whole table are for another task.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from servers.sandbox.protocol import Refused, first_of
from servers.sqlite import reading, rows, tables_read
from servers.sqlite.reading import Asked, noted, opened, spoken
from servers.sqlite.row_texts import counted, effect, items, row_counts, row_difference
from servers.sqlite.rows import Given, shapes
from servers.sqlite.stopped_clock import Moment
from servers.sqlite.trials import (
    Base,
    Doing,
    Done,
    Tried,
    both,
    image,
    left,
    made,
    put_back,
    restoring,
    shown,
    state,
    trial,
)

Answer = tuple[dict[str, Any], bytes]
Task = Callable[..., Answer]


def write(asked: Asked, changes: bytes, *, at: str, expected: str | None) -> Answer:
    """Carry the changes out on a copy. `expected`: digest of the rows before and after, as they were shown. Raises
    Refused, also where this is now another change than that."""
    data, moment = image(asked), Moment(at)
    doing, given = _applied(changes)
    done = made(asked, data, doing, moment)
    if expected is not None and both(shown(asked, data, doing, moment, given, done.touched)) != expected:
        raise Refused(
            f"{asked.said}, or what this does to it, has changed since it was shown. Look at the rows again, then ask "
            "again."
        )
    return _done(done)


def _applied(changes: bytes) -> tuple[Doing, Given]:
    """What carries these changes out, and the columns that they give values for."""
    asked_for = json.loads(changes)
    return lambda watch, _: rows.apply(watch, asked_for), rows.given(asked_for)


def restore(asked: Asked, given: bytes, *, at: str, expected: str | None) -> Answer:
    """Put the rows of a record back, on a copy. `expected`: digest of the rows now; None: as the change left them."""
    doing = restoring(asked, json.loads(given), expected)
    return _done(made(asked, image(asked), doing, Moment(at, strict=False)))


def standing(asked: Asked, given: bytes) -> Answer:
    """The digest of a record's rows now, and whether they are as the change left them."""
    with opened(asked) as base:
        base.text_factory = str
        touched = rows.read(json.loads(given), shapes(base))
        now = state(base, touched)
        names = tables_read.told(base, {row.shape.table for row in touched})
        return {"state": now, "as_left": now == left(touched), "tables": names}, b""


def select(asked: Asked, *, sql: str, parameters: reading.Given, most: tuple[int, int]) -> Answer:
    with opened(asked) as base:
        with noted(base, asked) as read:
            found = reading.select(base, asked, sql, parameters, most)
        return {}, _json({**found, "tables": tables_read.told(base, read.names)})


def reads(asked: Asked, *, sql: str = "", table: str | None = None) -> Answer:
    """The tables that a statement, or one for all rows of a table, reads, whatever the rows are."""
    with opened(asked) as base:
        names = reading.named_in(base, f"SELECT * FROM {reading.quoted(table)}" if table else sql)
        return {}, _json({"tables": tables_read.told(base, names)})


def tables(asked: Asked) -> Answer:
    with opened(asked) as base:
        every = reading.tables(base)
        listed, _ = first_of(every)
        return {"count": len(every)}, listed


def table(asked: Asked, *, name: str | None, most: tuple[int, int]) -> Answer:
    with opened(asked) as base:
        found = reading.table_named(base, asked, name)
        with noted(base, asked) as read:
            columns, lines, unlike = reading.table(base, asked, found, most)
        names = tables_read.told(base, read.names)
        return {"columns": columns, "unlike": unlike, "tables": names}, lines


def preview(asked: Asked, changes: bytes, *, at: str, most: int) -> Answer:
    doing, given = _applied(changes)
    tried = trial(asked, doing, Moment(at), given)
    return _plan(tried, both(tried.touched), most)


def preview_back(asked: Asked, given: bytes, *, at: str, most: int) -> Answer:
    kept, found = json.loads(given), standing(asked, given)[0]

    def doing(watch: rows.Watch, now: Base) -> None:
        put_back(asked, watch, now, rows.read(kept, watch.tables))

    return _plan(trial(asked, doing, Moment(at, strict=False), frozenset()), found["state"], most)


def _plan(tried: Tried, expected: str, most: int) -> Answer:
    touched = tried.touched
    difference = row_difference(touched)
    if len(difference) > most:
        raise Refused("That changes more than can be shown. Change fewer rows at once.", tried.tables)
    told = {
        "difference": difference,
        "items": items(touched),
        "rows": len(touched),
        "counted": counted(len(touched)),
        "effect": effect(touched),
        "expected": expected,
        "can_undo": tried.back,
        "tables": tried.tables,
    }
    return {}, _json(told)


def _done(done: Done) -> Answer:
    """Facts, then the touched rows as a record keeps them, then the bytes of the database."""
    record = rows.record(done.touched)
    counts = dict(row_counts(done.touched))
    told = {"counts": counts, "state": left(done.touched), "record": len(record)}
    return told, record + done.image


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
    one.__name__: _task(one)
    for one in (select, reads, tables, table, preview, preview_back, standing, write, restore)
}
