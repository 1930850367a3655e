"""The claim: the right to call a tool for an approved action. One process holds it, and renews it while it calls."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from dataclasses import replace
from datetime import timedelta

from gate.actions.action_versions import audit_entry, update_cards
from gate.actions.grant_consent import grant_withdrawn_reason
from gate.rules.action import Action, Claim, Execution, Outcome
from gate.rules.action_states import Event, NoSuchArrow
from gate.rules.ports import Stale, Unavailable, World
from gate.rules.task import Task
from gate.tasks.step_action import is_current

STEP_NOT_CURRENT = "Its task does not wait for this step any more"
NOT_STARTED_IN_TIME = "Nothing carried it out in time after it was confirmed"
NOT_ON_RECORD = "The audit log does not hold its confirmation as it was written, or says that it began before"


class NotClaimed(Exception):
    """It must not begin after all. Its text says why."""


async def claim(world: World, action: Action) -> tuple[Action, Task | None] | None:
    """The right to call, in the same transaction as its audit row, and the task of its step. No record, no execution:
    neither of the beginning, nor of the yes before it, which the log must hold as the key shows it was written. Raises
    NotClaimed."""
    try:
        async with world.ledger.begin() as tx:
            task = await tx.task(action.task) if action.step else None
            if action.step and not is_current(task, action.step, action.id):
                raise NotClaimed(STEP_NOT_CURRENT)
            if await grant_withdrawn_reason(tx, world, action):
                return None  # just now: it is called off when it is looked at the next time
            now, confirmed = await tx.confirmation_on_record(action)
            if confirmed is None:
                raise NotClaimed(NOT_ON_RECORD)
            if (now - confirmed).total_seconds() > world.limits.begin:
                raise NotClaimed(NOT_STARTED_IN_TIME)
            until = now + timedelta(seconds=world.limits.claim)
            held = Claim(world.ids.new(), world.executor, until)
            moved = await tx.move(action, Event.START, execution=Execution(claim=held))
            asked, by = not action.grant, grant_note(action)
            tx.audit(audit_entry("started", moved, action.decided_by, user_confirmed=asked, note=by))
            update_cards(tx, moved)
    except (Stale, NoSuchArrow):
        return None
    return moved, task


async def call_with_heartbeat(world: World, action: Action, call: Awaitable[Outcome]) -> Outcome:
    """Await the call and renew the claim meanwhile, so that nobody thinks this process dead."""
    renewing = asyncio.create_task(_renew(world, action))
    try:
        return await call
    finally:
        renewing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await renewing


async def _renew(world: World, action: Action) -> None:
    while action.claim:
        await world.clock.sleep(world.limits.claim / 3)
        try:
            async with world.ledger.begin() as tx:
                until = await tx.now() + timedelta(seconds=world.limits.claim)
                claim = replace(action.claim, until=until)
                action = await tx.update_action(action, execution=replace(action.execution, claim=claim))
        except Unavailable:
            continue  # a lost beat is no harm: the result is written by the token, whoever judged meanwhile
        except Stale as stale:
            now = stale.action
            if now and now.claim and action.claim and now.claim.token == action.claim.token:
                action = now  # the last beat was undone, or was written although we heard otherwise


def grant_note(action: Action) -> str:
    """Names the grant that an action ran by, for the record."""
    return f"by grant {action.grant}" if action.grant else ""
