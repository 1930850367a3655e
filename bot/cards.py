"""Keeps each message in Slack as the record says: one function brings a card of any kind up to date."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from slack_sdk.web.async_client import AsyncWebClient

from bot.concurrency import release_slot
from bot.message_streams import Streams, in_parts
from bot.outgoing_check import checked_message
from bot.slack_messages import Messages, Sent, Statuses, card_metadata, evict_oldest
from bot.slack_retry import REFUSED, SlackError
from gate.actions.action_versions import audit_entry
from gate.rules.action import OWN_CARD, Action, Json, Session, Vote
from gate.rules.action_states import State
from gate.rules.audit import Line, without_reason
from gate.rules.ids import derive_id
from gate.rules.jobs import OWNER
from gate.rules.messages import EPHEMERAL, LATE, NOT_TAKEN, OVER, CardKey, CardKind
from gate.rules.ports import Ledger, Note, Posted, Unavailable
from gate.rules.task import Step, Task
from gate.tasks.pending import PendingItem
from handlers.slack.listener import To
from tools.mcp.limits import FairSlots
from views import lists, notices, rendering
from views.block_kit import Message
from views.rendering import RUNNING, Card

log = logging.getLogger(__name__)

# chat.update is of tier 3, about 50 a minute in a workspace (https://docs.slack.dev/apis/web-api/rate-limits), and each
# one folds an expanded plan up again (https://github.com/slackapi/node-slack-sdk/issues/2701).
TICK_SECONDS = 3.0  # seconds between two ticks of one task's progress
TASK_TICK_SECONDS = 1.3  # seconds between the ticks of all tasks of this process
IN_ORDER, MOST_PUT_OFF = (
    0.1,
    10.0,
)  # seconds between looks for a note that stands above another one, and in all
RECHECK_SECONDS = 1.0  # seconds after which a card that is put off is looked at again, whoever asked for it
NOT_POSTED = (
    "I cannot post in <#{channel}> ({code}), so what you asked for there waits where nobody can see it. "
    "Please invite me there, or ask again in another channel."
)
NOW_PRIVATE = "This is private now. I went on in direct messages."
LONG_RESULT, MANY_VALUES = 20_000, 600  # characters of a result, and values in it at any depth

Made = TypeVar("Made")
OnDraw = Callable[[Action | Task], Awaitable[None]]


class Cards(Messages):
    """Keeps each message as the ledger says: one lock, one queue of runs and one way to draw for cards of every kind.

    gap: seconds between two ticks of one task's progress. clock: seconds, of whatever start. streams: without them,
    long answers are posted in one piece. undecided: what waits for a person of a team; to be set before the first draw.
    """

    undecided: Callable[[str, str], Awaitable[Sequence[PendingItem]]]

    def __init__(
        self,
        client: AsyncWebClient,
        ledger: Ledger,
        gap: float = TICK_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        streams: Streams | None = None,
    ) -> None:
        super().__init__(client, ledger)
        self.streams = streams
        self.statuses = Statuses(client)
        self._clock = clock
        self._gap, self._pace = gap, min(gap, TASK_TICK_SECONDS)
        self._ticked: dict[str, float] = {}  # when each card that ticks was last drawn
        self._latest = float("-inf")  # when any of them was
        self._put_off: dict[str, float] = {}  # since when a note waits for one that stands above it
        self._plain = False  # whether this workspace has refused Slack's newest blocks
        # Two draws of one card must not both find it unposted.
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._one_read = FairSlots(1, 1)  # long ones share one core with everything else
        self._draw_events: dict[str, asyncio.Event] = {}

    def draw_now(self, key: str) -> None:
        """Let the run that waits to draw this card begin. For the ledger, once that has been committed."""
        self._draw_events.setdefault(key, asyncio.Event()).set()
        evict_oldest(self._draw_events)

    async def draw(self, key: CardKey, within: float, seen: OnDraw) -> None:
        """Bring a card up to date: post or update what is not as the record says, and remember it.

        Waits `within` seconds first, unless it is hurried, so that what changes meanwhile is drawn with it. `seen` is
        given each action or task that is drawn, before Slack hears of it. Raises Unavailable when Slack has to be tried
        again.
        """
        await self._wait_before_draw(key.id, within)
        while (left := await self._draw_requested(key, seen)) > 0 and await self._ledger.reopen_drawing(
            key.id
        ):
            await self._wait_before_draw(key.id, min(left, RECHECK_SECONDS))

    async def _wait_before_draw(self, key: str, seconds: float) -> None:
        if seconds <= 0:
            self._draw_events.pop(key, None)
            return
        release_slot()
        hurried = self._draw_events.setdefault(key, asyncio.Event())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await hurried.wait()
        if self._draw_events.get(key) is hurried:
            del self._draw_events[key]

    async def _draw_requested(self, key: CardKey, seen: OnDraw) -> float:
        """Draw what was asked for until now; for how many seconds a part of it has to be put off."""
        async with self._locks.setdefault(key.id, asyncio.Lock()):
            posted = await self._ledger.begin_drawing(key.id)
            try:
                return await self._draw_newest(key, posted, seen)
            except Unavailable:  # this run tries again, and draws what is asked for meanwhile
                with contextlib.suppress(Unavailable):
                    await self._ledger.reopen_drawing(key.id)
                raise

    async def _draw_newest(self, key: CardKey, posted: Posted | None, seen: OnDraw) -> float:
        """Draw the newest state until nobody has drawn another one meanwhile, which may have come to Slack before."""
        again: set[str] = set()
        while True:
            match key.kind:
                case CardKind.NOTE:
                    return await self._draw_note(key.id, posted)
                case CardKind.TASK:
                    left, again = await self._draw_task(key.id, again, seen)
                case CardKind.QUESTION:
                    left, again = 0.0, await self._draw_question(key.id, posted, again)
                case _:
                    left, again = 0.0, await self._draw_actions(key, posted, again, seen)
            if not again:
                return left
            posted = await self._ledger.posted(key.id)

    async def _draw_actions(
        self, key: CardKey, posted: Posted | None, again: set[str], seen: OnDraw
    ) -> set[str]:
        """The card of an action, or of a group."""
        found, votes = await self._members(key)
        if not found:
            return set()
        if key.kind is CardKind.GROUP:
            card = await _rendered(found, rendering.of_group, key.id, found, votes)
        else:
            stands = bool(posted and posted.ts) and rendering.may_be_told_by_plan(found[0])
            with_task = stands or rendering.shows_task(found[0])
            task = await self._ledger.task(found[0].task) if with_task else None
            card = await _rendered(found, rendering.of_action, found[0], votes, task)
            posted = await self._own_message(found[0], posted)
        wanted = bool(again) or rendering.outdated(card, posted)
        try:
            for action in found:
                await seen(action)
        finally:  # also without Redis: then both are done once more
            outrun = (
                await self._post_card(card, posted) if wanted else await self._record_not_posted(card, posted)
            )
        await self.statuses.set(card.session, rendering.status_of_actions(found) if wanted else "")
        return outrun

    async def _members(self, key: CardKey) -> tuple[Sequence[Action], Sequence[Vote]]:
        """The actions of a card, and the votes on them."""
        if key.kind is CardKind.GROUP:
            found = await self._ledger.actions_of_group(key.id)
            return found, [vote for action in found for vote in await self._votes(action)]
        voted = await self._ledger.voted(key.id)
        return ([voted[0]], voted[1]) if voted else ((), ())

    async def _votes(self, action: Action) -> Sequence[Vote]:
        """Nobody has said yes yet to what waits for a single one."""
        if action.state is State.PREPARED and action.approvers.needed <= 1:
            return ()
        return await self._ledger.votes(action.id, action.version)

    async def _own_message(self, action: Action, posted: Posted | None) -> Posted | None:
        """Where an action's own card stands. One that has just left the card of its group is on its way."""
        shared = await self._ledger.posted(action.group.removesuffix(OWN_CARD)) if action.group else None
        if posted is None or shared is None or not posted.ts or posted.ts != shared.ts:
            return posted
        return await self.expect(action.id, Posted(posted.channel, "", posted.revision))

    async def _draw_task(self, task_id: str, again: set[str], seen: OnDraw) -> tuple[float, set[str]]:
        """The cards of a task. For how long one of them has to be put off, and which somebody else has drawn."""
        task = await self._ledger.task(task_id)
        if task is None:
            return 0.0, set()
        try:
            await seen(task)
        finally:
            cards = await _rendered(task.plan.steps if task.plan else (), rendering.of_task, task)
            posted = await self._ledger.posted_of([card.key for card in cards])
            drawn = [
                await self._draw_task_card(card, posted.get(card.key), card.key in again) for card in cards
            ]
        await self.statuses.set(task.session, rendering.status_of_task(task))
        return max([left for left, _ in drawn], default=0.0), {key for _, outrun in drawn for key in outrun}

    async def _draw_task_card(self, card: Card, posted: Posted | None, again: bool) -> tuple[float, set[str]]:
        """One card of a task. What only ticks on is put off for as long as Slack wants."""
        if not again and not rendering.outdated(card, posted):
            return 0.0, set()
        ticks = card.ticks and posted is not None and posted.digest.startswith(RUNNING)
        if ticks and not again and (left := self._seconds_until_tick(card)) > 0:
            return left, set()
        outrun = await self._post_card(card, posted)
        if card.ticks:
            self._ticked[card.key] = self._latest = self._clock()
            evict_oldest(self._ticked)
        return 0.0, outrun

    def _seconds_until_tick(self, card: Card) -> float:
        """Seconds until this card may tick on."""
        due = max(self._ticked.get(card.key, float("-inf")) + self._gap, self._latest + self._pace)
        return max(0.0, due - self._clock())

    async def _draw_note(self, note_id: str, posted: Posted | None) -> float:
        note = await self._ledger.note(note_id)
        if note is not None and note.kind in (LATE, OVER) and not (posted and posted.ts):
            await self._draw_passing(note, posted)
        elif note is not None and not (posted and posted.ts and posted.revision):
            if await self._comes_too_early(note):
                return IN_ORDER
            await self._post_card(await self._note_card(note), posted)
        return 0.0

    async def _draw_passing(self, note: Note, posted: Posted | None) -> None:
        """A message that only says that something takes long, and the note that takes it back: each done once."""
        if note.kind == OVER:
            await self._take_back(str(note.body["of"]))
        elif await self._ledger.note(derive_id("over", note.id)) is None:
            await self._post_card(await self._note_card(note), posted)
            return
        await self._ledger.set_posted(note.id, Posted(note.session.channel, EPHEMERAL, 1))

    async def _take_back(self, note_id: str) -> None:
        """Delete the message, or say on it that it is over."""
        async with self._locks.setdefault(note_id, asyncio.Lock()):
            note, posted = await self._ledger.note(note_id), await self._ledger.posted(note_id)
            stands = note is not None and posted is not None and posted.ts not in ("", EPHEMERAL)
            if note and posted and stands and not await self.remove(posted):
                over = notices.answer("It took long, and has an answer now.")
                await self._post_card(rendering.of_note(note, over), posted)

    async def _comes_too_early(self, note: Note) -> bool:
        """Whether a note that stands above this one in the order of its message is still on its way; for a while."""
        before = note.body.get("after")
        if not isinstance(before, list) or not before:
            return False
        since = self._put_off.setdefault(note.id, self._clock())
        evict_oldest(self._put_off)
        above = await self._ledger.posted_of([str(one) for one in before])
        return self._clock() - since < MOST_PUT_OFF and any(not one.ts for one in above.values())

    async def _draw_question(self, question_id: str, posted: Posted | None, again: set[str]) -> set[str]:
        """The message of a server's question."""
        question = await self._ledger.questions.question(question_id)
        card = rendering.of_question(question) if question else None
        drawn = card is not None and (again or rendering.outdated(card, posted))
        return await self._post_card(card, posted) if card and drawn else set()

    async def _note_card(self, note: Note) -> Card:
        """A long result of a read is drawn beside the loop, as it takes up to 0.3 s; people take turns at that."""
        if note.kind != "read" or not _is_long(str(note.body.get("text") or ""), note.body.get("structured")):
            return rendering.of_note(note, await self._note_message(note))
        owner = OWNER.get()
        await self._one_read.acquire(owner)
        try:
            return await asyncio.to_thread(lambda: rendering.of_note(note, notices.message(note)))
        finally:
            self._one_read.release(owner)

    async def _note_message(self, note: Note) -> Message:
        """A list is one person's, or that of the thread that everybody in it may see."""
        team, whose = note.session.team, {"user": note.to} if note.to else {"session": note.session}
        count = int(note.body.get("count") or 10)
        match note.kind:
            case "pending":
                return lists.pending(await self.undecided(team, note.to), note.to)
            case "undo":
                return notices.message(note, entries=await self._ledger.undoable(team, limit=count, **whose))
            case "audit":
                return notices.message(note, lines=await self._told_to_all(note.session, count))
            case "grants":
                return notices.message(note, allowed=await self._ledger.grants.grants(note.session))
            case "talk" | "status":
                task = await self._ledger.task(str(note.body.get("task", "")))
                waiting = await self._ledger.pending(team, session=note.session)
                return notices.message(note, waiting=[a for a in waiting if not a.private], task=task)
        return notices.message(note)

    async def _told_to_all(self, session: Session, count: int) -> tuple[Line, ...]:
        """The record of a thread without the reasons of what is confidential: anybody there may list it."""
        lines = await self._ledger.audit_tail(team=session.team, session=session, limit=count)
        kept = await self._ledger.confidential({line.entry.action for line in lines})
        return tuple(without_reason(line) if line.entry.action in kept else line for line in lines)

    async def _post_card(self, card: Card, posted: Posted | None) -> set[str]:
        """Post or update one message, and remember where it stands; its key where somebody else has drawn it
        meanwhile."""
        if posted and posted.digest == NOT_TAKEN and not (card.spent or card.earlier):
            posted = await self._without_stand_in(card.key, posted)
        try:
            at = await self._send_card(card, posted)
        except SlackError as error:
            log.error("the card %s cannot be shown: %s", card.key, error)
            await self._tell_not_posted(card, posted, error)
            now = await self._ledger.posted(card.key)  # which has no place where the message was gone
            if not (now and now.ts):
                await self._record_not_taken(card, now)
            return set()
        return set() if await self._record_posted(card, posted, at) else {card.key}

    async def _without_stand_in(self, key: str, posted: Posted) -> Posted:
        """Delete the sentence that stands in the place of a card, if one does: the card comes as a new message, whose
        time says since when people can see it. Where Slack does not delete it, it is changed. Raises Unavailable."""
        if posted.ts and not await self.remove(posted):
            return posted
        return await self.expect(key, Posted(posted.channel, "", posted.revision))

    async def _tell_not_posted(self, card: Card, posted: Posted | None, error: SlackError) -> None:
        """Where it cannot be posted, whoever it waits for is told once, in direct messages."""
        if card.asker and (posted is None or posted.untried):
            told = NOT_POSTED.format(channel=card.session.channel, code=error.code)
            with contextlib.suppress(SlackError, Unavailable):
                await self.post_ephemeral(To(card.asker), checked_message(notices.answer(told)))

    async def _send_card(self, card: Card, posted: Posted | None) -> Sent:
        """With Slack's newest blocks where it knows them; where it stands now. Raises Refused, Unavailable."""
        if card.spent and posted and posted.ts and await self.remove(posted):
            return Sent(posted.channel, posted.ts)
        if card.alone:
            to = To(card.alone, card.session.channel, card.session.thread)
            at = await self.post_ephemeral(to, checked_message(card.plain or card.message))
            return Sent(card.session.channel, at or EPHEMERAL)
        to, posted = await self._place(card, posted)
        if card.streams and self.streams:
            return await self._stream_card(card, posted, to, self.streams)
        await self._reserve_actions(card, posted, to)
        if card.plain is None:
            return await self.show(card.key, posted, to, checked_message(card.message))
        if not self._plain:
            try:
                return await self.show(card.key, posted, to, checked_message(card.message), strict=True)
            except SlackError as error:
                if error.code not in REFUSED:
                    raise
                log.info("Slack does not take its newest blocks here: plain blocks from now on")
                self._plain = True
        return await self.show(card.key, posted, to, checked_message(card.plain))

    async def _place(self, card: Card, posted: Posted | None) -> tuple[To, Posted | None]:
        """Where a card goes, and what is known to stand there. What is private to a person goes to their direct
        messages and nowhere else. Raises Refused, Unavailable."""
        if not card.direct:
            channel = (posted.channel if posted else "") or card.session.channel
            return To("", channel, card.session.thread), posted
        to = await self.direct(card.direct)
        if posted and posted.channel not in ("", to.channel):
            posted = await self._moved(card, posted, to)
        return to, posted

    async def _moved(self, card: Card, posted: Posted, to: To) -> Posted:
        """Close the message of a card that has become private, and write down that it goes on elsewhere: in this order,
        so that whoever repeats a draw that broke off closes it again, or only posts. Raises Unavailable."""
        there = To("", posted.channel, card.session.thread)
        try:
            await self.close(card.key, posted, there, checked_message(notices.answer(NOW_PRIVATE)))
        except SlackError as error:
            log.warning("the card %s cannot be closed where it stood: %s", card.key, error)
        return await self.expect(card.key, Posted(to.channel, "", posted.revision))

    async def _stream_card(self, card: Card, posted: Posted | None, to: To, streams: Streams) -> Sent:
        """A long answer grows part by part, where it has not been tried before. Where it stands is written down once it
        has begun, with revision 0: whoever draws it next makes it whole."""
        message = checked_message(card.message)
        first, *rest = in_parts(message.blocks)
        if rest and posted and posted.untried and (ts := await streams.begin(to, first)):
            posted = Posted(to.channel, ts, 0)
            await self._ledger.set_posted(card.key, posted)
            if await streams.end(to.channel, ts, rest, card_metadata(card.key)):
                return Sent(to.channel, ts)
        return await self.show(card.key, posted, to, message)

    async def _reserve_actions(self, card: Card, posted: Posted | None, to: To) -> None:
        """Whoever is faster than our record is told to press again, not that the card is none of ours."""
        sharing = [action for action, _ in card.shows if action.id != card.key]
        if sharing and not (posted and posted.ts):
            async with self._ledger.begin() as tx:
                for action in sorted(sharing, key=lambda one: one.id):
                    await tx.posted(action.id, Posted(to.channel, "", 0))

    async def _record_posted(self, card: Card, posted: Posted | None, at: Sent) -> bool:
        """Write down where it stands, and with each action on it which version of it is seen there: on the record,
        where that is for the first time. False where somebody else has drawn the card since it was read."""
        channel, ts, whole = at
        marks = [(one.id, one.revision, mark) for one, mark in card.shows]
        marks.append((card.key, card.revision, card.digest))
        rows = {key: Posted(channel, ts, number, mark if whole else NOT_TAKEN) for key, number, mark in marks}
        before = dict(await self._ledger.posted_of([key for key in rows if key != card.key]))
        if posted:
            before[card.key] = posted
        async with self._ledger.begin() as tx:
            for action in _newly_shown(card, rows, before):
                tx.audit(audit_entry("shown", action, "system"))
            fresh = [True]
            for key in sorted(key for key, row in rows.items() if key == card.key or before.get(key) != row):
                guard = (posted.revision if posted else 0) if key == card.key else None
                fresh.append(await tx.posted(key, rows[key], guard))
        return all(fresh)

    async def _record_not_taken(self, card: Card, posted: Posted | None) -> None:
        """It is not on its way any more."""
        channel = (posted.channel if posted else "") or card.session.channel
        gone = Posted(channel, "", posted.revision if posted else 0, NOT_TAKEN)
        async with self._ledger.begin() as tx:
            for key in sorted({card.key, *(action.id for action, _ in card.shows)}):
                await tx.posted(key, gone)

    async def _record_not_posted(self, card: Card, posted: Posted | None) -> set[str]:
        """Nothing had to be drawn, so that this was no try to post it."""
        if posted and posted.untried:
            await self._ledger.set_posted(card.key, Posted(posted.channel, "", 0))
        return set()


def _newly_shown(card: Card, rows: Mapping[str, Posted], before: Mapping[str, Posted]) -> list[Action]:
    """The actions on a card that wait for a decision in a version that was not seen before."""
    waiting = [action for action, _ in card.shows if action.state is State.PREPARED]
    earlier = {action.id: before[action.id].shows for action in waiting if action.id in before}
    return [a for a in waiting if rows[a.id].shows not in (0, earlier.get(a.id, 0))]


async def _rendered(long: Sequence[Action | Step], render: Callable[..., Made], *of: object) -> Made:
    """What a function of views makes; beside the loop where the result of any of these is long, as a table of it takes
    0.1 s."""
    return await asyncio.to_thread(render, *of) if any(map(_has_long_result, long)) else render(*of)


def _has_long_result(one: Action | Step) -> bool:
    if isinstance(one, Step):
        return _is_long(one.text, one.result)
    outcome = one.execution.outcome
    return outcome is not None and _is_long(outcome.text, outcome.structured)


def _is_long(text: str, structured: Json) -> bool:
    left, values, characters = [structured], 0, len(text)
    while left and values <= MANY_VALUES and characters <= LONG_RESULT:
        one = left.pop()
        values += 1
        if isinstance(one, str):
            characters += len(one)
        elif isinstance(one, Mapping):
            left += [*one, *one.values()]
        elif isinstance(one, Sequence):
            left += one
    return values > MANY_VALUES or characters > LONG_RESULT
