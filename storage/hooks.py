"""Webhooks on record, and how events become deliveries: each is asked for once, whichever replica is first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from gate import runs
from gate.access import Logged
from gate.webhook import Webhook, wants
from gate.world import Unavailable
from storage.api_tables import webhooks
from storage.engine import ask, carry
from storage.events import EventLog
from storage.ledger import SqlLedger
from storage.subscriptions import NOW, added, removed, rotated

PAGE = 500
Told = Callable[[Webhook, Sequence[Logged]], Awaitable[Sequence[Logged]]]


async def told_at_once(hook: Webhook, found: Sequence[Logged]) -> Sequence[Logged]:
    """What the operator's own webhooks are told; of what a token may see, nothing is known here."""
    return [] if hook.token else [one for one in found if wants(hook, one)]


class HookStore:
    """Methods raise Unavailable when the database cannot be had."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._log = EventLog(engine)

    async def add(self, hook: Webhook) -> None:
        """It is told of what happens from now on."""
        await carry(self._engine, added(hook, self._engine.dialect.name))

    async def of_team(self, team: str) -> tuple[Webhook, ...]:
        """Those of one Slack workspace, the oldest first."""
        return tuple(hook for hook in await self.all() if hook.team == team)

    async def all(self) -> tuple[Webhook, ...]:
        found = await ask(self._engine, select(webhooks).order_by(webhooks.c.created_at, webhooks.c.id))
        return tuple(Webhook(**row._mapping) for row in found)

    async def get(self, hook_id: str) -> Webhook | None:
        found = await ask(self._engine, select(webhooks).where(webhooks.c.id == hook_id))
        return Webhook(**found[0]._mapping) if found else None

    async def remove(self, hook_id: str) -> bool:
        return bool(await carry(self._engine, removed(hook_id)))

    async def rotate(self, hook_id: str, secret: str) -> bool:
        """Sign with a new secret, and with the one before it until the next rotation."""
        return bool(await carry(self._engine, rotated(hook_id, secret)))

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

    async def fan_out(self, ledger: SqlLedger, told: Told = told_at_once) -> int:
        """Ask for the deliveries of what has happened since the last time; how many. `told` says of some events
        which the receiver is told of. Where that cannot be known now, the others have theirs all the same."""
        asked, problems = 0, list[Unavailable]()
        for hook in await self.all():
            try:
                asked += await self._fan_out(ledger, hook, told)
            except Unavailable as error:
                problems.append(error)
        if problems:
            raise problems[0]
        return asked

    async def _fan_out(self, ledger: SqlLedger, hook: Webhook, told: Told) -> int:
        asked = 0
        while hook.disabled_at is None and (found := await self._log.after(hook.seq, PAGE)):
            wanted = await told(hook, found)
            if not await self._asked(ledger, hook, found[-1].seq, wanted):
                break  # another replica is at it
            asked += len(wanted)
            hook = await self.get(hook.id) or hook
        return asked

    async def _asked(self, ledger: SqlLedger, hook: Webhook, last: int, wanted: Sequence[Logged]) -> bool:
        mine = update(webhooks).where(webhooks.c.id == hook.id, webhooks.c.seq == hook.seq)
        async with ledger.begin() as tx:
            if (await tx.execute(mine.values(seq=last))).rowcount != 1:
                return False
            for one in wanted:
                tx.enqueue(runs.deliver(hook.id, one.seq))
        return True
