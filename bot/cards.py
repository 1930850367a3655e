"""What people see in Slack: the only module that posts, updates or opens anything. Drawn from the record."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from gate.action import Action, Vote
from gate.flows.seal import entry
from gate.states import State
from gate.world import Ledger, Note, Posted, Unavailable
from handlers.door import Opening, To
from views import card, check, modals, notes
from views.kit import Message

log = logging.getLogger(__name__)

LOST = ("message_not_found", "cant_update_message")  # somebody deleted it: post it anew
REFUSED = ("invalid_blocks", "invalid_blocks_format", "msg_too_long", "msg_blocks_too_long", "view_too_large")
FINAL = (
    "channel_not_found",
    "not_in_channel",
    "is_archived",
    "restricted_action",
    "account_inactive",
    "invalid_auth",
)
PLAIN = "I have something to show here that Slack did not take. Nothing can be confirmed from this message."
EVENT = "countersign_card"
STATUS = {State.PREPARED: "suspended", State.APPROVED: "processing", State.EXECUTING: "processing"}


class Cards:
    """Posts each card and note once, and keeps it as the ledger says. `client` waits out rate limits."""

    def __init__(self, client: AsyncWebClient, ledger: Ledger, statuses: bool = True) -> None:
        self._client = client
        self._ledger = ledger
        self._statuses = statuses
        # Two draws of one card must not both find it unposted.
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    async def draw(self, action: Action, votes: tuple[Vote, ...]) -> None:
        """Post or update the card of an action. Raises Unavailable when Slack has to be tried again."""
        lock = self._locks.setdefault(action.id, asyncio.Lock())
        async with lock:
            posted = await self._ledger.posted(action.id)
            if posted and posted.ts and posted.revision >= action.revision:
                return
            if _unseen(action, posted):
                return
            message = _checked(card.card(action, votes))
            where = action.requester if action.private else action.session.channel
            at = await self._show(action.id, posted, where, action.session.thread, message)
            await self._shown(action, at, posted)
        await self._set_status(action)

    async def post(self, note: Note) -> None:
        """Post a note once. Raises Unavailable when Slack has to be tried again."""
        posted = await self._ledger.posted(note.id)
        if posted and posted.ts:
            return
        message = _checked(await self._written(note))
        if note.to:
            await self.whisper(To(note.to, note.session.channel, note.session.thread), message)
            await self._ledger.set_posted(note.id, Posted(note.session.channel, "only-visible-to-one", 1))
            return
        at = await self._show(note.id, posted, note.session.channel, note.session.thread, message)
        await self._ledger.set_posted(note.id, Posted(*at, 1))

    async def _written(self, note: Note) -> Message:
        team, user = note.session.team, note.to or None
        count = int(note.body.get("count") or 10)
        match note.kind:
            case "answer":
                return notes.answer(str(note.body.get("text", "")))
            case "pending":
                return notes.message(note, waiting=await self._ledger.pending(team, user=user))
            case "undo":
                return notes.message(note, entries=await self._ledger.undoable(team, user=user, limit=count))
            case "audit":
                lines = await self._ledger.audit_tail(team=team, session=note.session, limit=count)
                return notes.message(note, lines=lines)
        return notes.message(note)

    async def _show(
        self, key: str, posted: Posted | None, channel: str, thread: str, message: Message
    ) -> tuple[str, str]:
        """Update where it stands, or post it; where it stands now."""
        if posted and posted.ts:
            try:
                await self._update(posted, message)
                return posted.channel, posted.ts
            except SlackApiError as error:
                if error.response.get("error") not in LOST:
                    raise
        elif posted:  # a try before this one may have got through without our hearing of it
            found = await self._find(key, posted.channel, thread)
            if found:
                await self._update(Posted(posted.channel, found, 0), message)
                return posted.channel, found
        else:
            await self._ledger.set_posted(key, Posted(channel, "", 0))
        return await self._send(key, channel, thread, message)

    async def _send(self, key: str, channel: str, thread: str, message: Message) -> tuple[str, str]:
        response = await _patient(
            self._client.chat_postMessage,
            channel=channel,
            thread_ts=thread if thread and channel[:1] not in ("U", "W") else None,
            text=message.text,
            blocks=message.blocks,
            metadata={"event_type": EVENT, "event_payload": {"key": key}},
            unfurl_links=False,
            unfurl_media=False,
            parse="none",
        )
        return str(response["channel"]), str(response["ts"])

    async def _update(self, posted: Posted, message: Message) -> None:
        # chat.update sets `parse` back to its default unless told again.
        await _patient(
            self._client.chat_update,
            channel=posted.channel,
            ts=posted.ts,
            text=message.text,
            blocks=message.blocks,
            parse="none",
        )

    async def _find(self, key: str, channel: str, thread: str) -> str | None:
        """The message that carries this key in its metadata, if it was posted after all."""
        try:
            response = await self._client.conversations_replies(
                channel=channel, ts=thread, include_all_metadata=True, limit=100
            )
        except SlackApiError:
            return None
        for message in response.get("messages") or []:
            if (message.get("metadata") or {}).get("event_payload", {}).get("key") == key:
                return str(message["ts"])
        return None

    async def _shown(self, action: Action, at: tuple[str, str], before: Posted | None) -> None:
        """Remember where it stands; a version that is seen for the first time is put on the record."""
        version = f"v{action.version}"
        await self._ledger.set_posted(action.id, Posted(*at, action.revision, version))
        if action.state is State.PREPARED and (before is None or before.digest != version):
            async with self._ledger.begin() as tx:
                tx.audit(entry("shown", action, "system"))

    async def whisper(self, to: To, message: Message) -> None:
        thread = to.thread if to.thread and to.channel[:1] not in ("U", "W") else None
        await _patient(
            self._client.chat_postEphemeral,
            channel=to.channel,
            user=to.user,
            thread_ts=thread,
            text=message.text,
            blocks=message.blocks,
            parse="none",
        )

    async def _set_status(self, action: Action) -> None:
        """Slack's own line under the thread. A nicety: an app that is no agent is told so once."""
        if not self._statuses or action.undoes or not action.session.thread:
            return
        status = STATUS.get(action.state, "active")
        try:
            await self._client.agents_sessions_setStatus(
                channel_id=action.session.channel, thread_ts=action.session.thread, status=status
            )
        except SlackApiError as error:
            self._statuses = False
            log.info("session status is off: %s", error.response.get("error"))
        except Exception:
            log.info("the session status could not be set", exc_info=True)


class Hints:
    """What one person is told after a click. `client` does not wait: a trigger lives three seconds."""

    def __init__(self, client: AsyncWebClient, cards: Cards) -> None:
        self._client = client
        self._cards = cards

    async def tell(self, to: To, text: str) -> None:
        """Say it to one person alone, or log that it could not be said."""
        try:
            await self._cards.whisper(to, _checked(notes.answer(text)))
        except Exception:
            log.warning("a hint could not be shown", exc_info=True)

    async def open(self, opening: Opening) -> None:
        """Open a placeholder at once, then put the content in its place."""
        try:
            call = self._client.views_push if opening.pushed else self._client.views_open
            response = await call(trigger_id=opening.trigger, view=modals.loading())
            view_id = str(response["view"]["id"])
        except Exception:
            log.warning("a modal could not be opened", exc_info=True)
            return
        try:
            view = await opening.then(view_id)
            problems = check.view(view)
            if problems:
                log.error("a modal broke the rules: %s", problems[:3])
                view = modals.message(PLAIN)
        except Exception:
            log.exception("a modal could not be filled")
            view = modals.message(
                "I could not fetch this just now. Nothing changed: close this and press again."
            )
        try:
            await self._client.views_update(view_id=view_id, view=view)
        except Exception:
            log.warning("a modal could not be updated", exc_info=True)

    async def publish(self, user: str, view: Mapping[str, Any]) -> None:
        """Publish App Home, or log that it could not be."""
        problems = check.view(view)
        if problems:
            log.error("App Home broke the rules: %s", problems[:3])
            return
        try:
            await self._client.views_publish(user_id=user, view=dict(view))
        except Exception:
            log.warning("App Home could not be published", exc_info=True)


def _unseen(action: Action, posted: Posted | None) -> bool:
    """An undo that goes through needs no card of its own: the card of what it takes back tells."""
    quiet = (State.APPROVED, State.EXECUTING, State.SUCCEEDED)
    waiting = action.state is State.PREPARED and not action.preview.whole
    return bool(action.undoes) and posted is None and (waiting or action.state in quiet)


def _checked(message: Message) -> Message:
    """The message, or a plain one without buttons when it breaks Slack's rules: fail closed, never silent."""
    problems: Sequence[str] = check.message(message)
    if not problems:
        return message
    log.error("a message broke the rules: %s", problems[:3])
    return notes.answer(PLAIN)


async def _patient(call: Any, **arguments: Any) -> Any:
    """Call Slack. What can get better raises Unavailable; what cannot is logged and raised."""
    try:
        return await call(**arguments)
    except SlackApiError as error:
        code = error.response.get("error")
        if code in REFUSED:
            log.error("Slack refused a message of ours: %s", code)
            return await call(**{**arguments, "blocks": notes.answer(PLAIN).blocks, "text": PLAIN})
        if code in LOST or code in FINAL:
            raise
        raise Unavailable(f"Slack answered {code}") from error
    except (TimeoutError, OSError) as error:
        raise Unavailable(f"Slack did not answer: {error!r}") from error
    except Exception as error:  # the SDK lets transport and decoding errors of many kinds through
        raise Unavailable(f"Slack could not be reached: {type(error).__name__}") from error
