"""Waiting for a decision while a client is on the line; who goes away takes what they asked for back."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio

from gate.access import Kind, Logged, Token
from gate.action import Action, Ref
from gate.flows import decide
from gate.flows.press import Press
from gate.states import SETTLED, State
from gate.world import Unavailable
from handlers.api.feed import Feed
from handlers.api.gateway.bridge import ended
from handlers.api.gateway.slots import standing
from handlers.api.ports import Office

log = logging.getLogger(__name__)

WITHDRAWN = "withdrawn by {who}: {why}"
AWAY = "its MCP client went away or cancelled the call"
FAILED = "its call over MCP ended with an error"
DECLINED = "its MCP client declined to ask"
T = TypeVar("T")
Tell = Callable[
    [Action, float], Awaitable[None]
]  # the action as it stands, and for how many seconds it waits


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is on the line. `gone`: set when the connection is closed."""

    token: Token
    gone: asyncio.Event


class Waiting:
    """All calls that are held in this process."""

    def __init__(self, office: Office, feed: Feed) -> None:
        self._office, self._feed = office, feed
        self._lines: Counter[str] = Counter()  # calls that are held, by action

    async def guarded(self, caller: Caller, action_id: str, work: Callable[[], Awaitable[T]]) -> T | None:
        """What `work` gives; None when the client went away meanwhile.

        The last one on the line who goes, or cancels, withdraws the action. Not so when we go ourselves.
        """
        self._lines[action_id] += 1
        found: T | None = None
        why = AWAY
        try:
            with anyio.CancelScope() as scope:
                watch = asyncio.create_task(_end(caller.gone, scope))
                try:
                    found = await work()
                finally:
                    await ended(watch)
        except Exception:
            why = FAILED
            raise
        finally:
            left = self._lines[action_id] = self._lines[action_id] - 1
            if not left:
                del self._lines[action_id]
            if found is None and not left and not self._feed.closed:
                with anyio.CancelScope(shield=True):
                    await self.withdraw(caller.token, action_id, why)
        return found

    async def settled(self, action: Action, hold: float, tell: Tell) -> Action:
        """The action once it is decided and over, or as it stands after `hold` seconds."""
        bounds, clock = self._office.bounds, asyncio.get_running_loop().time
        began, told = clock(), -bounds.beat
        try:
            await self._feed.join()
        except Unavailable:
            return action
        try:
            seq = self._feed.last
            while True:
                action = await self._now(action)
                waited = clock() - began
                over = action.over or action.state is State.UNKNOWN
                if over or waited >= hold or self._feed.closed:
                    return action
                if waited - told >= bounds.beat:
                    await tell(action, waited)
                    told = waited
                seq = await self._news(seq, action.id, min(bounds.beat, hold - waited))
        finally:
            await self._feed.leave()

    async def withdraw(self, token: Token, action_id: str, why: str) -> None:
        """Cancel it for its requester, on the record. What has started already goes on."""
        world = self._office.through(token).world
        who = f"the agent “{token.name}”" if token.kind is Kind.AGENT else "its requester"
        reason = WITHDRAWN.format(who=who, why=why)
        try:
            action = await world.ledger.action(action_id)
            if action is None or (action := await standing(world.ledger, action)).state in SETTLED:
                return
            ref = Ref(action.id, action.version, action.receipt[:16])
            await decide.cancel(world, Press(ref, token.team, token.user, reason=reason))
        except Unavailable as error:
            log.warning("%s could not be withdrawn, so it will expire: %s", action_id, error)

    async def _now(self, action: Action) -> Action:
        ledger = self._office.world.ledger
        try:
            return await standing(ledger, await ledger.action(action.id) or action)
        except Unavailable:
            return action  # asked again in a moment

    async def _news(self, seq: int, action_id: str, seconds: float) -> int:
        """Wait for something new of this action, for so long at most; how far the stream has been read."""
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        while (left := end - clock()) > 0 and not self._feed.closed:
            try:
                found = await self._feed.after(seq)
            except Unavailable:
                await asyncio.sleep(min(left, self._office.bounds.poll))
                continue
            if not found:
                await self._feed.wait(seq, left)
                continue
            seq = found[-1].seq
            # A fresh preview of what expired has an id of its own: whatever is asked for is a reason to look.
            if any(_about(one.event, action_id) for one in found):
                break
        return seq


def _about(event: Logged, action_id: str) -> bool:
    told = (event.body.get("action_id"), event.body.get("executionId"))
    return event.kind == "approval_requested" or action_id in told


async def _end(gone: asyncio.Event, scope: anyio.CancelScope) -> None:
    await gone.wait()
    scope.cancel()
