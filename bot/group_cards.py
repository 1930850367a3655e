"""The card that several actions share: posted once, kept as the ledger says, and known to each of them."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Sequence

from bot.outgoing import checked, digest
from bot.patience import Refused
from bot.task_cards import Show
from gate import groups
from gate.action import APART, Action
from gate.flows.seal import entry
from gate.records import PART
from gate.states import State
from gate.world import Ledger, Posted
from handlers.door import To
from views import group_card

log = logging.getLogger(__name__)


class GroupCards:
    """Draws groups. What each action's buttons are held against is on record with the action: where it stands, and
    which version of it is seen there."""

    def __init__(self, show: Show, ledger: Ledger) -> None:
        self._show, self._ledger = show, ledger
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    async def draw(self, action: Action) -> Sequence[Action]:
        """Post or update the card of this action's group in its newest state; the group as it was drawn.

        Raises Unavailable when Slack has to be tried again.
        """
        group = action.group.removesuffix(APART)
        lock = self._locks.setdefault(group, asyncio.Lock())
        async with lock:
            drawn = 0  # the newest revision that we have shown
            while True:
                members = await self._ledger.of_group(group)
                posted = await self._ledger.posted(group)
                known = posted.revision if posted and posted.ts else 0
                if not members or (known >= groups.revision(members) and drawn in (0, known)):
                    return members
                # Drawn already, and the ledger knows of a newer one: it may have come to Slack before ours.
                if not await self._one(group, members, posted, again=drawn > 0):
                    return members
                drawn = groups.revision(members)

    async def posted(self, action: Action) -> Posted | None:
        """Where an action's own card stands. One that has just left the card of its group is on its way."""
        own = await self._ledger.posted(action.id)
        shared = await self._ledger.posted(action.group.removesuffix(APART)) if action.group else None
        if own is None or shared is None or not own.ts or own.ts != shared.ts:
            return own
        on_its_way = Posted("", "", action.revision)
        await self._ledger.set_posted(action.id, on_its_way)
        return on_its_way

    async def _one(self, group: str, members: Sequence[Action], posted: Posted | None, again: bool) -> bool:
        """Draw one state of it. False when Slack does not take it."""
        votes = [v for a in members if a.shares for v in await self._ledger.votes(a.id, a.version)]
        message = checked(group_card.card(members, votes))
        session = members[0].session
        to = To("", posted.channel if posted else session.channel, session.thread)
        await self._announce(to, members)
        try:
            if posted and posted.ts and posted.digest == digest(message) and not again:
                at = (posted.channel, posted.ts)
            else:
                at = await self._show(group, posted, to, message)
        except Refused as error:
            log.error("the card of the group %s cannot be shown: %s", group, error)
            return False
        await self._known(members, at)
        await self._ledger.set_posted(group, Posted(*at, groups.revision(members), digest(message)))
        return True

    async def _announce(self, to: To, members: Sequence[Action]) -> None:
        """Whoever is faster than our record is told to press again, not that the card is none of ours."""
        for action in members:
            if action.shares and await self._ledger.posted(action.id) is None:
                await self._ledger.set_posted(action.id, Posted(to.channel, "", 0))

    async def _known(self, members: Sequence[Action], at: tuple[str, str]) -> None:
        """Remember with each action where it stands; a version seen for the first time is put on the record first."""
        parts = group_card.in_part(members)
        for action in members:
            if not action.shares:
                continue
            before = await self._ledger.posted(action.id)
            now = Posted(*at, action.revision, PART if action.id in parts else f"v{action.version}")
            if before == now:
                continue
            if action.state is State.PREPARED and now.shows and (before is None or before.shows != now.shows):
                async with self._ledger.begin() as tx:
                    tx.audit(entry("shown", action, "system"))
            await self._ledger.set_posted(action.id, now)


def speaks_for(members: Sequence[Action]) -> Action:
    """The action whose state the whole thread is in: one that waits, else one that runs, else any."""
    order = (State.PREPARED, State.APPROVED, State.EXECUTING)
    return min(members, key=lambda a: order.index(a.state) if a.state in order else len(order))
