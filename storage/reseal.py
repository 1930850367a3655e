"""Give rows their MACs: those of a version that made none, once; and all of them anew when the key is rotated."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Row, Table, bindparam, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from gate.rules.action_states import State
from gate.rules.audit import ADOPTED, FORMAT, ROTATED, Entry, key_id
from gate.rules.webhooks import PREFIX, Webhook
from storage.api_tables import tokens, webhooks
from storage.audit_log import Chain, append, last
from storage.columns import clock
from storage.database import connected, transaction
from storage.grant_tables import grants
from storage.question_tables import server_questions
from storage.row_macs import DecryptionFailed, RowMacs, row_macs_of
from storage.rows import loaded
from storage.tables import (
    actions,
    audit_head,
    audit_log,
    exchanges,
    inbox,
    people,
    replicas,
    tool_pins,
    turns,
    votes,
)
from storage.task_tables import tasks
from storage.webhook_subscriptions import closed, opened

SEALED: tuple[Table, ...] = (
    actions, tasks, votes, grants, inbox, turns, exchanges, tool_pins, people, tokens,
    server_questions,
)  # fmt: skip
# Of an earlier version, these are asked anew instead: nothing shows that they are as they were shown.
UNDECIDED = (State.PREPARED, State.APPROVED)
CHUNK = 500
DEAD = timedelta(seconds=30)  # without a heartbeat


class _NotNeeded(Exception):
    """Another replica was first."""


async def adopt(engine: AsyncEngine, key: bytes) -> bool:
    """Give MACs to the rows of a version that made none, and encrypt its webhooks' secrets; whether there was need,
    which there is once: while the newest entry of the log is of that version."""
    newest = await last(engine)
    if newest is None or newest.format == FORMAT:
        return False
    seals = row_macs_of(key)

    def fresh(table: Table, row: Row[Any]) -> bool:
        waits = table is actions and row.state in UNDECIDED
        return not row.mac and not waits and getattr(row, "revoked_at", None) is None

    try:
        async with transaction(engine) as connection:
            entry = Entry(event=ADOPTED, session="", actor="system", reason="by a new version")
            await append(connection, Chain(key), [entry], timedelta())
            await _first(connection)
            for table in SEALED:
                await _resealed(connection, table, seals, fresh)
            for row in (await connection.execute(select(webhooks))).all():
                if row.secret.startswith(PREFIX):
                    await _rewritten(connection, closed(loaded(Webhook, row), seals))
    except _NotNeeded:
        return False
    return True


async def _first(connection: AsyncConnection) -> None:
    """Raises _NotNeeded unless the entry before the one just written, whose turn we hold, is of the old format."""
    formats = select(audit_log.c.format).order_by(audit_log.c.seq.desc()).limit(2)
    if list(await connection.scalars(formats))[-1] == FORMAT:
        raise _NotNeeded


async def rotate(engine: AsyncEngine, old: bytes, new: bytes) -> int:
    """Chain the log with another key from now on, and make every MAC and encrypted secret anew; the number of the
    entry that says so. Rows that were not as they were written stay so."""
    before, after = row_macs_of(old), row_macs_of(new)
    entry = Entry(event=ROTATED, session="", actor="operator", outcome=key_id(new), user_confirmed=True)
    async with transaction(engine) as connection:
        await append(connection, Chain(old), [entry], timedelta())
        await connection.execute(update(audit_head).values(key=key_id(new)))
        for table in SEALED:
            await _resealed(connection, table, after, lambda table, row: before.holds(table, row))
        for row in (await connection.execute(select(webhooks))).all():
            try:
                hook = opened(loaded(Webhook, row), before)
            except DecryptionFailed:
                continue
            await _rewritten(connection, closed(hook, after))
        seq: int = (await connection.execute(select(audit_head.c.seq))).scalar_one()
    return seq


async def served(engine: AsyncEngine) -> bool:
    """Whether a replica has given a sign of life in the last half minute; on SQLite a lock on the file tells that."""
    alive = select(replicas.c.id).where(replicas.c.seen_at > clock(-DEAD)).limit(1)
    async with connected(engine) as connection:
        return (await connection.execute(alive)).first() is not None


async def _resealed(
    connection: AsyncConnection, table: Table, seals: RowMacs, wanted: Callable[[Table, Row[Any]], bool]
) -> None:
    """A new MAC for each row of a table that is `wanted`."""
    keys = list(table.primary_key.columns)
    which = [column == bindparam(f"of_{column.name}") for column in keys]
    changed = update(table).where(*which).values(mac=bindparam("new_mac"))
    async for rows in _chunks(connection, table, keys):
        found = [
            {f"of_{key.name}": row._mapping[key] for key in keys}
            | {"new_mac": seals.mac(table, dict(row._mapping))}
            for row in rows
            if wanted(table, row)
        ]
        if found:
            await connection.execute(changed, found)


async def _chunks(
    connection: AsyncConnection, table: Table, keys: Sequence[Any]
) -> AsyncIterator[Sequence[Row[Any]]]:
    """All rows of a table, some at a time, in the order of its primary key."""
    page = select(table).order_by(*keys).limit(CHUNK)
    found = (await connection.execute(page)).all()
    while found:
        yield found
        end = [found[-1]._mapping[key] for key in keys]
        found = (await connection.execute(page.where(tuple_(*keys) > tuple_(*end)))).all()


async def _rewritten(connection: AsyncConnection, hook: Webhook) -> None:
    changed = update(webhooks).where(webhooks.c.id == hook.id)
    await connection.execute(changed.values(secret=hook.secret, former=hook.former))
