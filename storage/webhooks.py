"""Webhooks on record, and how events become deliveries: each is asked for once, whichever replica is first."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules import jobs
from gate.rules.access import StreamEvent
from gate.rules.ports import Unavailable
from gate.rules.webhooks import Webhook, is_subscribed
from storage.api_tables import webhooks
from storage.database import ask, carry
from storage.events import EventLog
from storage.ledger import SqlLedger
from storage.operator_record import carry_noted, webhook_entry
from storage.row_macs import DecryptionFailed, RowMacs
from storage.rows import loaded
from storage.webhook_subscriptions import NOW, added, closed, closed_secret, opened, removed, rotated

log = logging.getLogger(__name__)

PAGE = 500  # events that are looked at together, for one question who may have them
AT_ONCE = 25  # deliveries that one transaction asks for, 2 ms each: on SQLite nobody else writes meanwhile
Receivable = Callable[[Webhook, Sequence[StreamEvent]], Awaitable[Sequence[StreamEvent]]]


async def wanted_by_operator(hook: Webhook, found: Sequence[StreamEvent]) -> Sequence[StreamEvent]:
    """What the operator's own webhooks are told; of what a token may see, nothing is known here."""
    return [] if hook.token else [one for one in found if is_subscribed(hook, one)]


class HookStore:
    """Methods raise Unavailable when the database cannot be had. `audit_key`: with which changes are noted in the
    log."""

    def __init__(self, engine: AsyncEngine, seals: RowMacs, audit_key: bytes | None = None) -> None:
        self._engine, self._seals, self._audit_key = engine, seals, audit_key
        self._log = EventLog(engine)

    async def add(self, hook: Webhook) -> None:
        """It is told of what happens from now on."""
        new = added(closed(hook, self._seals), self._engine.dialect.name)
        await self._carry(new, "webhook_added", hook.id, hook)

    async def of_team(self, team: str) -> tuple[Webhook, ...]:
        """Those of one Slack workspace, the oldest first."""
        return tuple(hook for hook in await self.all() if hook.team == team)

    async def all(self) -> tuple[Webhook, ...]:
        found = await ask(self._engine, select(webhooks).order_by(webhooks.c.created_at, webhooks.c.id))
        return tuple(hook for row in found if (hook := self._opened(row)))

    async def get(self, hook_id: str) -> Webhook | None:
        found = await ask(self._engine, select(webhooks).where(webhooks.c.id == hook_id))
        return self._opened(found[0]) if found else None

    def _opened(self, row: Any) -> Webhook | None:
        """The webhook of a row; None where the row is not as it was written."""
        try:
            return opened(loaded(Webhook, row), self._seals)
        except DecryptionFailed as error:
            log.error("The webhook %s is told nothing: %s", row.id, error)
            return None

    async def remove(self, hook_id: str) -> bool:
        return await self._carry(removed(hook_id), "webhook_removed", hook_id, await self.get(hook_id))

    async def rotate(self, hook_id: str, secret: str) -> bool:
        """Sign with a new secret, and with the one before it until the next rotation."""
        hook = await self.get(hook_id)
        if hook is None:
            return False
        renewed = rotated(hook_id, closed_secret(hook, secret, self._seals))
        return await self._carry(renewed, "webhook_rotated", hook_id, hook)

    async def _carry(self, statement: Any, event: str, hook_id: str, hook: Webhook | None) -> bool:
        entry = webhook_entry(event, hook_id, hook)
        return bool(await carry_noted(self._engine, self._audit_key, statement, entry))

    async def noted(self, hook_id: str, problem: str, *, disable: bool = False) -> None:
        """What came of the last try. A receiver that says it is gone is sent nothing more."""
        values: dict[str, Any] = {"problem": problem[:300]}
        if disable:
            values["disabled_at"] = NOW
        changed = update(webhooks).where(webhooks.c.id == hook_id)
        same = webhooks.c.problem == values["problem"]
        await carry(self._engine, (changed if disable else changed.where(~same)).values(values))

    async def event(self, seq: int) -> StreamEvent | None:
        """An event that is still kept."""
        found = await self._log.after(seq - 1, 1)
        return found[0] if found and found[0].seq == seq else None

    async def fan_out(self, ledger: SqlLedger, receivable: Receivable = wanted_by_operator) -> int | None:
        """Ask for the deliveries of what has happened since the last time; how many, None where there is no webhook.
        `receivable` picks the events that a receiver may get. Where that cannot be known now, the others have
        theirs all the same."""
        hooks, asked, problems = await self.all(), 0, list[Unavailable]()
        for hook in hooks:
            try:
                asked += await self._fan_out(ledger, hook, receivable)
            except Unavailable as error:
                problems.append(error)
        if problems:
            raise problems[0]
        return asked if hooks else None

    async def _fan_out(self, ledger: SqlLedger, hook: Webhook, receivable: Receivable) -> int:
        asked = 0
        while hook.disabled_at is None and (found := await self._log.after(hook.seq, PAGE)):
            wanted = await receivable(hook, found)
            for first in range(0, len(wanted) or 1, AT_ONCE):
                some, rest = wanted[first : first + AT_ONCE], wanted[first + AT_ONCE :]
                last = some[-1].seq if rest else found[-1].seq
                if not await self._asked(ledger, hook, last, some):
                    return asked  # another replica is at it
                asked += len(some)
                hook = replace(hook, seq=last)
            hook = await self.get(hook.id) or hook
        return asked

    async def _asked(
        self, ledger: SqlLedger, hook: Webhook, last: int, wanted: Sequence[StreamEvent]
    ) -> bool:
        mine = update(webhooks).where(webhooks.c.id == hook.id, webhooks.c.seq == hook.seq)
        async with ledger.begin() as tx:
            if (await tx.execute(mine.values(seq=last))).rowcount != 1:
                return False
            for one in wanted:
                tx.enqueue(jobs.deliver(hook.id, one.seq, hook.owner))
        return True
