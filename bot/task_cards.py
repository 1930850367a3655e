"""The cards of a task in Slack: each posted once, then kept as the ledger says, no more often than Slack likes."""

from __future__ import annotations

import asyncio
import logging
import time
import weakref
from collections.abc import Awaitable, Callable
from typing import Protocol

from bot.outgoing import checked, digest
from bot.patience import REFUSED, Refused
from gate.task import Flow, Task, Wish
from gate.task_states import TaskState
from gate.world import Ledger, Posted
from handlers.door import To
from views.kit import Message
from views.task_cards import TaskCard, cards
from views.task_words import waits

log = logging.getLogger(__name__)

# Slack takes about 50 updates a minute in a workspace, and folds a plan up with each of them (slack.md 2.5, 3.2).
GAP = 3.0  # seconds between two ticks of one task's progress
PACE = 1.3  # seconds between the ticks of all tasks of this process
CLOSED, RUNNING = "closed:", "running:"  # beginnings of digests

S = TaskState
BUSY = (S.PLANNING, S.RUNNING)
AWAITING = (S.PLAN_REVIEW, S.PAUSED)


class Show(Protocol):
    """bot.cards.Cards.show: update where it stands, or post it; where it stands now. Raises Refused, Unavailable."""

    def __call__(
        self, key: str, posted: Posted | None, to: To, message: Message, strict: bool = False
    ) -> Awaitable[tuple[str, str]]: ...


class TaskCards:
    """Draws tasks. What only ticks on is put off for as long as Slack wants; anything else is shown at once.

    gap: seconds between two ticks of one task. clock: seconds, of whatever start.
    """

    def __init__(
        self,
        show: Show,
        ledger: Ledger,
        gap: float = GAP,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._show, self._ledger, self._clock = show, ledger, clock
        self._gap, self._pace = gap, min(gap, PACE)
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._ticked: dict[str, float] = {}  # when each task that runs was last drawn
        self._latest = float("-inf")  # when any of them was
        self._waiting: set[str] = set()  # tasks of which somebody waits to draw the newest state
        self._old = False  # whether this workspace has refused Slack's newest blocks

    async def draw(self, task: Task) -> Task:
        """Post or update what has changed; the task as it was drawn. Raises Unavailable: try again."""
        task, put_off = await self._now(task)
        if put_off <= 0 or task.id in self._waiting:
            return task  # whoever waits already will draw whatever is newest then
        self._waiting.add(task.id)
        try:
            while put_off > 0:
                await asyncio.sleep(put_off)
                task, put_off = await self._now(task)
        finally:
            self._waiting.discard(task.id)
        return task

    async def _now(self, task: Task) -> tuple[Task, float]:
        """Draw the newest state; for how many seconds a part of that has to be put off."""
        lock = self._locks.setdefault(task.id, asyncio.Lock())
        async with lock:
            task = await self._ledger.task(task.id) or task
            put_off, outrun = await self._all(task, frozenset())
            while outrun:  # another replica has drawn a newer state, and ours may have come to Slack after it
                task = await self._ledger.task(task.id) or task
                put_off, outrun = await self._all(task, outrun)
        if task.over:
            self._ticked.pop(task.id, None)
        return task, put_off

    async def _all(self, task: Task, again: frozenset[str]) -> tuple[float, frozenset[str]]:
        """Draw every card that is not as it should be, those in `again` anyhow. For how long one of them has to
        be put off, and which of them somebody has drawn from a newer state meanwhile."""
        put_off, outrun = 0.0, set()
        for card in cards(task):
            posted = await self._ledger.posted(card.key)
            if card.key not in again and not _wanted(card, posted, task):
                continue
            ticks = _running(card, task) and posted is not None and posted.digest.startswith(RUNNING)
            if ticks and (left := self._left(task)) > 0:
                put_off = max(put_off, left)
                continue
            if await self._one(task, card, posted):
                outrun.add(card.key)
            if _running(card, task):
                self._ticked[task.id] = self._latest = self._clock()
        return put_off, frozenset(outrun)

    def _left(self, task: Task) -> float:
        """Seconds until this task may tick on."""
        never = float("-inf")
        due = max(self._ticked.get(task.id, never) + self._gap, self._latest + self._pace)
        return max(0.0, due - self._clock())

    async def _one(self, task: Task, card: TaskCard, posted: Posted | None) -> bool:
        """Post or update one card. Whether it was drawn from a newer state meanwhile."""
        try:
            channel, ts = await self._put(card, posted, To("", task.session.channel, task.session.thread))
        except Refused as error:
            log.error("the card %s cannot be shown: %s", card.key, error)
            return False
        await self._ledger.set_posted(card.key, Posted(channel, ts, task.revision, _digest(card, task)))
        latest = await self._ledger.posted(card.key)
        return latest is not None and latest.revision > task.revision

    async def _put(self, card: TaskCard, posted: Posted | None, to: To) -> tuple[str, str]:
        """With Slack's newest blocks where it knows them. Here alone is decided which it is."""
        if card.plain is None:
            return await self._show(card.key, posted, to, checked(card.message))
        if not self._old:
            try:
                return await self._show(card.key, posted, to, checked(card.message), strict=True)
            except Refused as error:
                if error.code not in REFUSED:
                    raise
                log.info("Slack does not take a plan block here: plain blocks from now on")
                self._old = True
        return await self._show(card.key, posted, to, checked(card.plain))


def _wanted(card: TaskCard, posted: Posted | None, task: Task) -> bool:
    """Whether a card has to be posted or changed."""
    if posted is None or not posted.ts:
        return not card.earlier
    if posted.revision > task.revision or posted.digest == _digest(card, task):
        return False
    return not (card.closed and posted.digest.startswith(CLOSED))


def _running(card: TaskCard, task: Task) -> bool:
    """Whether this shows how far a running task has come: from one such to the next it only ticks on."""
    return task.state is S.RUNNING and task.wish is Wish.NONE and card.plain is not None


def _digest(card: TaskCard, task: Task) -> str:
    """Of all that people see of it; and whether it ticks, or is closed for good."""
    return f"{CLOSED if card.closed else RUNNING if _running(card, task) else ''}{digest(card.message)}"


def status_of(task: Task) -> str:
    """Slack's word for what the session is doing; "" where the cards of its actions say it. Slack's own Stop is
    there only while it is processing."""
    if task.state is S.CLARIFYING:
        return "suspended" if task.questions else "processing"
    if task.state is S.RUNNING and task.flow is Flow.SIMPLE:
        return ""
    if task.state in BUSY:
        step = task.plan.current if task.plan else None
        return "suspended" if step and waits(step) else "processing"
    return "suspended" if task.state in AWAITING else "active"
