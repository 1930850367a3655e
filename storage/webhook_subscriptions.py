"""Webhooks in a transaction of the ledger, so that making and ending one is on the record with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, func, select, update

from gate.rules.webhooks import Webhook
from storage.api_tables import webhooks
from storage.columns import clock
from storage.reviews import Executing
from storage.row_macs import RowMacs
from storage.rows import insert, plain
from storage.task_tables import events

NOW = clock(timedelta(0))


class HooksTx:
    """gate.rules.webhooks.HooksTx. `in_turn` waits until no other transaction is in turn for a key."""

    def __init__(
        self, tx: Executing, dialect: str, in_turn: Callable[[str], Awaitable[None]], seals: RowMacs
    ) -> None:
        self._tx, self._dialect, self._in_turn, self._seals = tx, dialect, in_turn, seals

    async def of_token(self, token: str, besides: str) -> int:
        await self._in_turn(f"webhooks:{token}")
        count = (
            select(func.count())
            .select_from(webhooks)
            .where(webhooks.c.token == token, webhooks.c.id != besides)
        )
        found: int = (await self._tx.execute(count)).scalar_one()
        return found

    async def add(self, hook: Webhook) -> None:
        await self._tx.execute(added(closed(hook, self._seals), self._dialect))

    async def remove(self, hook_id: str) -> bool:
        return bool((await self._tx.execute(removed(hook_id))).rowcount)

    async def rotate(self, hook: Webhook, secret: str) -> bool:
        return bool(
            (await self._tx.execute(rotated(hook.id, closed_secret(hook, secret, self._seals)))).rowcount
        )


def bound(hook: Webhook) -> tuple[str, ...]:
    """What a webhook's secrets are encrypted with: in a row that names another receiver, or tells it of more, they
    cannot be read, so that nothing is sent there."""
    return ("webhook", hook.id, hook.url, hook.team, hook.token, *hook.channels, "kinds", *hook.kinds)


def closed_secret(hook: Webhook, secret: str, seals: RowMacs) -> str:
    return seals.closed(secret, bound(hook))


def closed(hook: Webhook, seals: RowMacs) -> Webhook:
    """The webhook as it is stored, its secrets encrypted."""
    secret, former = (closed_secret(hook, one, seals) for one in (hook.secret, hook.former))
    return replace(hook, secret=secret, former=former)


def opened(hook: Webhook, seals: RowMacs) -> Webhook:
    """The webhook with its secrets. Raises Unopened."""
    secret, former = (seals.opened(one, bound(hook)) for one in (hook.secret, hook.former))
    return replace(hook, secret=secret, former=former)


def added(hook: Webhook, dialect: str) -> Any:
    """Insert it, to be told of what happens from now on; one that is there already gets its secret."""
    newest = select(func.coalesce(func.max(events.c.seq), 0)).scalar_subquery()
    row = {**plain(hook), "seq": newest, "created_at": NOW}
    new = insert(webhooks, dialect).values(row)
    return new.on_conflict_do_update(index_elements=["id"], set_={"secret": hook.secret})


def removed(hook_id: str) -> Any:
    return delete(webhooks).where(webhooks.c.id == hook_id)


def rotated(hook_id: str, secret: str) -> Any:
    """A new secret; the one before it stays beside it."""
    return update(webhooks).where(webhooks.c.id == hook_id).values(former=webhooks.c.secret, secret=secret)
