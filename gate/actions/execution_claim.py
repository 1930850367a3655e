"""The claim: the right to call a tool for an approved action. One process holds it, and renews it while it calls."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gate.actions.action_versions import audit_entry, update_cards
from gate.actions.grant_consent import grant_withdrawn_reason
from gate.rules.action import Action, Claim, Execution, Outcome
from gate.rules.action_states import Event, NoSuchArrow, State
from gate.rules.ports import Clock, Stale, Unavailable, World
from gate.rules.task import Task
from gate.rules.tool import ServerUnavailable
from gate.tasks.step_action import is_current

STEP_NOT_CURRENT = "Its task does not wait for this step any more"
NOT_STARTED_IN_TIME = "Nothing carried it out in time after it was confirmed"
NOT_ON_RECORD = "The audit log does not hold its confirmation as it was written, or says that it began before"
LAPSED = "before it was sent, its process stood still or did not reach the database"


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment by both clocks of a process: either may stand still, or be set back, while the other one goes on."""

    wall: datetime
    uptime: float

    @classmethod
    def of(cls, clock: Clock) -> Moment:
        return cls(clock.now(), clock.uptime())

    def age(self, clock: Clock) -> float:
        """The seconds since, by the clock that counts more of them."""
        return Moment.of(clock).after(self)

    def after(self, earlier: Moment) -> float:
        return max((self.wall - earlier.wall).total_seconds(), self.uptime - earlier.uptime)


class NotClaimed(Exception):
    """It must not begin after all. Its text says why."""


async def claim(world: World, action: Action) -> tuple[Action, Task | None, HeldClaim] | None:
    """The right to call, in the same transaction as its audit row, and the task of its step. No record, no execution:
    neither of the beginning, nor of the yes before it, which the log must hold as the key shows it was written. Raises
    NotClaimed."""
    since = Moment.of(world.clock)
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
    return moved, task, HeldClaim(world, moved, since)


class HeldClaim:
    """A claim as the process that holds it knows it. Implements gate.rules.send_guard.SendGuard.

    A process may stand still, or not reach the ledger, until others have settled its action: then it may not send any
    more. Of what it has sent already, the result is written by the token of the claim, whoever judged meanwhile."""

    def __init__(self, world: World, action: Action, since: Moment) -> None:
        self._world, self._action, self._since = world, action, since
        self._is_recorded, self._has_lapsed = True, False

    def check(self) -> None:
        if self._since.age(self._world.clock) >= self._world.limits.claim:
            self._has_lapsed = True
        if self._has_lapsed:
            raise ServerUnavailable(LAPSED)

    async def confirm(self) -> None:
        self.check()
        try:
            self._compare(await self._world.ledger.action(self._action.id))
        except Unavailable:
            raise ServerUnavailable(LAPSED) from None
        self.check()

    async def outcome(self, call: Awaitable[Outcome]) -> Outcome:
        """Await the call and renew the claim meanwhile, so that nobody thinks this process dead."""
        renewing = asyncio.create_task(self._keep_renewing())
        try:
            return await call
        finally:
            renewing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await renewing

    async def _keep_renewing(self) -> None:
        while self._is_recorded:
            await self._world.clock.sleep(self._world.limits.claim / 3)
            with contextlib.suppress(Unavailable):  # the next one may get through
                await self._renew()

    async def _renew(self) -> None:
        claim, since = self._action.claim, Moment.of(self._world.clock)
        assert claim is not None
        try:
            async with self._world.ledger.begin() as tx:
                now = await tx.now()
                until = now + timedelta(seconds=self._world.limits.claim)
                execution = replace(self._action.execution, claim=replace(claim, until=until))
                action = await tx.update_action(self._action, execution=execution)
        except Stale as stale:  # judged by others; or the last beat was undone, or was written unheard
            return self._compare(stale.action)
        # Renewed too late, it was anybody's for a while.
        self._has_lapsed |= now >= claim.until or since.after(self._since) >= self._world.limits.claim
        self._action, self._since = action, since

    def _compare(self, now: Action | None) -> None:
        """With what is on record now."""
        held = now and now.claim and self._action.claim and now.claim.token == self._action.claim.token
        if now and held and now.state is State.EXECUTING:
            self._action = now
        else:
            self._is_recorded, self._has_lapsed = False, True


def grant_note(action: Action) -> str:
    """Names the grant that an action ran by, for the record."""
    return f"by grant {action.grant}" if action.grant else ""
