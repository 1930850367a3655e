"""What people see in Slack: the only module that posts, updates or opens anything. Drawn from the record."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import AsyncIterator, Mapping
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.group_cards import GroupCards, speaks_for
from bot.outgoing import PLAIN, checked, content, shown
from bot.patience import LOST, Refused, code_of, patiently
from bot.task_cards import GAP, TaskCards, status_of
from gate.action import Action, Session, Vote
from gate.flows.seal import entry
from gate.flows.waiting import undecided
from gate.states import State
from gate.task import Task
from gate.world import Ledger, Note, Posted, Unavailable
from handlers.door import Opening, To
from views import card, check, modals, notes
from views.kit import Message

log = logging.getLogger(__name__)

CLOSED = "I could not open the window in time. Nothing changed: please press again."
EVENT = "countersign_card"
PAGE = 200  # messages of a thread that are read at once
# The session's status is a nicety of agents: to other apps Slack says one of these.
NO_AGENT = ("unknown_method", "missing_scope", "not_allowed_token_type", "feature_not_enabled")
STATUS = {State.PREPARED: "suspended", State.APPROVED: "processing", State.EXECUTING: "processing"}


class Cards:
    """Posts each card and note once, and keeps it as the ledger says. `client` waits out rate limits.

    gap: seconds between two ticks of one task's progress.
    """

    def __init__(
        self, client: AsyncWebClient, ledger: Ledger, statuses: bool = True, gap: float = GAP
    ) -> None:
        self._client = client
        self._ledger = ledger
        self._statuses = statuses
        self._tasks = TaskCards(self.show, ledger, gap)
        self._groups = GroupCards(self.show, ledger)
        # Two draws of one card must not both find it unposted.
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    async def draw(self, action: Action, votes: tuple[Vote, ...]) -> None:
        """Post or update the card of an action. Raises Unavailable when Slack has to be tried again."""
        members = await self._groups.draw(action) if action.group else (action,)
        if action.shares:
            return await self._set_status(action.session, STATUS.get(speaks_for(members).state, "active"))
        lock = self._locks.setdefault(action.id, asyncio.Lock())
        async with lock:
            posted = await self._groups.posted(action)
            if posted and posted.ts and posted.revision >= action.revision:
                return
            await self._draw(action, votes, posted)
            # Another replica may have drawn a newer state meanwhile, and ours may have come to Slack after it.
            while (latest := await self._ledger.posted(action.id)) and latest.revision > action.revision:
                newer = await self._ledger.action(action.id)
                if newer is None:
                    break
                action = newer
                await self._draw(action, await self._ledger.votes(action.id, action.version), latest)
        if not action.undoes and not action.task:
            await self._set_status(action.session, STATUS.get(action.state, "active"))

    async def draw_task(self, task: Task) -> None:
        """Post or update the cards of a task. Raises Unavailable when Slack has to be tried again."""
        drawn = await self._tasks.draw(task)
        await self._set_status(drawn.session, status_of(drawn))

    async def _draw(self, action: Action, votes: tuple[Vote, ...], posted: Posted | None) -> None:
        if _unseen(action, posted):
            return
        try:
            message = checked(card.card(action, votes))
            at = await self.show(action.id, posted, await self._place(action, posted), message)
        except Refused as error:
            log.error("the card of %s cannot be shown: %s", action.id, error)
            return
        await self._shown(action, at, posted)

    async def post(self, note: Note) -> None:
        """Post a note once. Raises Unavailable when Slack has to be tried again."""
        posted = await self._ledger.posted(note.id)
        if posted and posted.ts:
            return
        message = checked(await self._written(note))
        place = To(note.to, note.session.channel, "" if note.body.get("beside") else note.session.thread)
        try:
            if note.to:
                await self.whisper(place, message)
                at = (note.session.channel, "only-visible-to-one")
            else:
                at = await self.show(note.id, posted, place, message)
        except Refused as error:
            log.error("the note %s cannot be shown: %s", note.id, error)
            return
        await self._ledger.set_posted(note.id, Posted(*at, 1))

    async def _written(self, note: Note) -> Message:
        """A list is one person's, or that of the thread that everybody in it may see."""
        team, whose = note.session.team, {"user": note.to} if note.to else {"session": note.session}
        count = int(note.body.get("count") or 10)
        match note.kind:
            case "pending":
                waiting = await undecided(self._ledger, team, **whose)
                return notes.message(note, waiting=[a for a in waiting if note.to or not a.private])
            case "undo":
                return notes.message(note, entries=await self._ledger.undoable(team, limit=count, **whose))
            case "audit":
                lines = await self._ledger.audit_tail(team=team, session=note.session, limit=count)
                return notes.message(note, lines=lines)
            case "grants":
                return notes.message(note, allowed=await self._ledger.learnt.grants(note.session))
            case "talk" | "status":
                task = await self._ledger.task(str(note.body.get("task", "")))
                waiting = await self._ledger.pending(team, session=note.session)
                return notes.message(note, waiting=[a for a in waiting if not a.private], task=task)
        return notes.message(note)

    async def _place(self, action: Action, posted: Posted | None) -> To:
        """The thread; for a private card the direct messages with its requester."""
        if posted and posted.channel:
            return To("", posted.channel, "" if action.private else action.session.thread)
        if not action.private:
            return To("", action.session.channel, action.session.thread)
        opened = await patiently(self._client.conversations_open, users=action.requester)
        return To("", str(opened["channel"]["id"]))

    async def show(
        self, key: str, posted: Posted | None, to: To, message: Message, strict: bool = False
    ) -> tuple[str, str]:
        """Update where it stands, or post it; where it stands now. Raises Refused, with `strict` also for what
        Slack does not know in the message itself, and Unavailable."""
        if posted and posted.ts:
            try:
                await self._update(posted.channel, posted.ts, message, strict)
                return posted.channel, posted.ts
            except Refused as error:
                if error.code not in LOST:
                    raise
        elif posted:  # a try before this one may have got through without our hearing of it
            found = await self._find(key, to)
            if found:
                await self._update(to.channel, found, message, strict)
                return to.channel, found
        else:
            await self._ledger.set_posted(key, Posted(to.channel, "", 0))
        return await self._send(key, to, message, strict)

    async def _send(self, key: str, to: To, message: Message, strict: bool) -> tuple[str, str]:
        response = await shown(
            self._client.chat_postMessage,
            message,
            strict,
            channel=to.channel,
            thread_ts=to.thread or None,
            metadata={"event_type": EVENT, "event_payload": {"key": key}},
            unfurl_links=False,
            unfurl_media=False,
        )
        return str(response["channel"]), str(response["ts"])

    async def _update(self, channel: str, ts: str, message: Message, strict: bool) -> None:
        await shown(self._client.chat_update, message, strict, channel=channel, ts=ts)

    async def _find(self, key: str, to: To) -> str | None:
        """The message that carries this key in its metadata, if it was posted after all."""
        async for message in self._messages(to):
            metadata = message.get("metadata") or {}
            if metadata.get("event_type") == EVENT and metadata.get("event_payload", {}).get("key") == key:
                return str(message["ts"])
        return None

    async def _messages(self, to: To) -> AsyncIterator[Mapping[str, Any]]:
        """What stands in the thread, or newest in the direct messages."""
        arguments = {"channel": to.channel, "include_all_metadata": True, "limit": PAGE}
        if not to.thread:
            newest = await patiently(self._client.conversations_history, **arguments)
            for message in newest.get("messages") or []:
                yield message
            return
        cursor = ""
        while True:
            page = await patiently(
                self._client.conversations_replies, ts=to.thread, cursor=cursor or None, **arguments
            )
            for message in page.get("messages") or []:
                yield message
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return

    async def _shown(self, action: Action, at: tuple[str, str], before: Posted | None) -> None:
        """Remember where it stands; a version that is seen for the first time is put on the record first."""
        now = Posted(*at, action.revision, f"v{action.version}")
        if action.state is State.PREPARED and (before is None or before.shows != now.shows):
            async with self._ledger.begin() as tx:
                tx.audit(entry("shown", action, "system"))
        await self._ledger.set_posted(action.id, now)

    async def whisper(self, to: To, message: Message) -> None:
        """Say it to one person alone: where they are, or in direct messages where that is no channel.

        Raises Unavailable, or Refused.
        """
        if to.channel:
            place: dict[str, Any] = {"channel": to.channel, "thread_ts": to.thread or None}
            await shown(self._client.chat_postEphemeral, message, user=to.user, **place)
        else:
            await shown(self._client.chat_postMessage, message, channel=to.user, unfurl_links=False)

    async def link(self, channel: str, ts: str) -> str:
        """The address of a message. Raises Unavailable, or Refused."""
        found = await patiently(self._client.chat_getPermalink, channel=channel, message_ts=ts)
        return str(found["permalink"])

    async def _set_status(self, session: Session, status: str) -> None:
        """Slack's own line under the thread. A nicety, so nothing waits for it or fails by it."""
        if not self._statuses or not session.thread or not status:
            return
        try:
            await self._client.agents_sessions_setStatus(
                channel_id=session.channel, thread_ts=session.thread, status=status
            )
        except SlackApiError as error:
            self._statuses = code_of(error) not in NO_AGENT
            log.info("the session status could not be set: %s", code_of(error))
        except Exception as error:
            log.info("the session status could not be set: %s", type(error).__name__)


class Hints:
    """What one person is told after a click. `client` does not wait: a trigger lives three seconds."""

    def __init__(self, client: AsyncWebClient, cards: Cards) -> None:
        self._client = client
        self._cards = cards

    async def tell(self, to: To, text: str) -> None:
        """Say it to one person alone, or log that it could not be said."""
        try:
            await self._cards.whisper(to, checked(notes.answer(text)))
        except (Refused, Unavailable) as error:
            log.warning("a hint could not be shown: %s", error)

    async def open(self, opening: Opening, to: To) -> None:
        """Open a placeholder at once, then put the content in its place."""
        try:
            response = await patiently(
                self._client.views_open, trigger_id=opening.trigger, view=modals.loading()
            )
            view_id, mark = str(response["view"]["id"]), response["view"].get("hash")
        except (Refused, Unavailable) as error:
            log.warning("a modal could not be opened: %s", error)
            await self.tell(to, CLOSED)
            return
        view = await content(opening, view_id)
        try:
            await patiently(self._client.views_update, view_id=view_id, hash=mark, view=view)
        except Refused as error:
            log.error("Slack refused a modal of ours: %s", error)
            await self._fall_back(view_id)
        except Unavailable as error:  # closed meanwhile, most often
            log.warning("a modal could not be filled: %s", error)

    async def _fall_back(self, view_id: str) -> None:
        try:
            await patiently(self._client.views_update, view_id=view_id, view=modals.message(PLAIN))
        except (Refused, Unavailable) as error:
            log.warning("a modal could not be filled: %s", error)

    async def publish(self, user: str, view: Mapping[str, Any]) -> None:
        """Publish App Home, or log that it could not be."""
        problems = check.view(view)
        if problems:
            log.error("App Home broke the rules: %s", problems[:3])
            return
        try:
            await patiently(self._client.views_publish, user_id=user, view=dict(view))
        except (Refused, Unavailable) as error:
            log.warning("App Home could not be published: %s", error)


def _unseen(action: Action, posted: Posted | None) -> bool:
    """An undo that goes through needs no card of its own: the card of what it takes back tells."""
    quiet = (State.APPROVED, State.EXECUTING, State.SUCCEEDED)
    waiting = action.state is State.PREPARED and action.version == 1  # its target is being looked at
    return bool(action.undoes) and posted is None and (waiting or action.state in quiet)
