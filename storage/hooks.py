"""Webhooks on record, and how events become deliveries: each is asked for once, whichever replica is first."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from gate import runs
from gate.access import Logged
from gate.webhook import Webhook, wants
from storage.api_tables import webhooks
from storage.columns import clock
from storage.engine import ask, carry
from storage.events import EventLog
from storage.ledger import SqlLedger
from storage.rows import insert, plain
from storage.task_tables import events

PAGE = 500
NOW = clock(timedelta(0))


class HookStore:
    """Methods raise Unavailable when the database cannot be had."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._log = EventLog(engine)

    async def add(self, hook: Webhook) -> None:
        """It is told of what happens from now on."""
        newest = select(func.coalesce(func.max(events.c.seq), 0)).scalar_subquery()
        row = {**plain(hook), "seq": newest, "created_at": NOW}
        await carry(self._engine, insert(webhooks, self._engine.dialect.name).values(row))

    async def all(self) -> tuple[Webhook, ...]:
        found = await ask(self._engine, select(webhooks).order_by(webhooks.c.created_at, webhooks.c.id))
        return tuple(Webhook(**row._mapping) for row in found)

    async def get(self, hook_id: str) -> Webhook | None:
        found = await ask(self._engine, select(webhooks).where(webhooks.c.id == hook_id))
        return Webhook(**found[0]._mapping) if found else None

    async def remove(self, hook_id: str) -> bool:
        return bool(await carry(self._engine, delete(webhooks).where(webhooks.c.id == hook_id)))

    async def rotate(self, hook_id: str, secret: str) -> bool:
        """Sign with a new secret, and with the one before it until the next rotation."""
        changed = update(webhooks).where(webhooks.c.id == hook_id)
        return bool(await carry(self._engine, changed.values(former=webhooks.c.secret, secret=secret)))

    async def noted(self, hook_id: str, problem: str, *, disable: bool = False) -> None:
        """What came of the last try. A receiver that says it is gone is sent nothing more."""
        values: dict[str, Any] = {"problem": problem[:300]}
        if disable:
            values["disabled_at"] = NOW
        changed = update(webhooks).where(webhooks.c.id == hook_id)
        same = webhooks.c.problem == values["problem"]
        await carry(self._engine, (changed if disable else changed.where(~same)).values(values))

    async def event(self, seq: int) -> Logged | None:
        """An event that is still kept."""
        found = await self._log.after(seq - 1, 1)
        return found[0] if found and found[0].seq == seq else None

    async def fan_out(self, ledger: SqlLedger) -> int:
        """Ask for the deliveries of what has happened since the last time; how many."""
        asked = 0
        for hook in await self.all():
            while hook.disabled_at is None and (found := await self._log.after(hook.seq, PAGE)):
                last = found[-1].seq
                wanted = [one for one in found if wants(hook, one)]
                if not await self._asked(ledger, hook, last, wanted):
                    break  # another replica is at it
                asked += len(wanted)
                hook = await self.get(hook.id) or hook
        return asked

    async def _asked(self, ledger: SqlLedger, hook: Webhook, last: int, wanted: list[Logged]) -> bool:
        mine = update(webhooks).where(webhooks.c.id == hook.id, webhooks.c.seq == hook.seq)
        async with ledger.begin() as tx:
            if (await tx.execute(mine.values(seq=last))).rowcount != 1:
                return False
            for one in wanted:
                tx.enqueue(runs.deliver(hook.id, one.seq))
        return True
