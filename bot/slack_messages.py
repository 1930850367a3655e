"""Calls to Slack: the only module that posts, updates or opens anything there, but for bot/message_streams.py."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple
from uuid import uuid4

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.message_streams import begins
from bot.outgoing_check import PLAIN, checked_message, modal_content, shown
from bot.slack_retry import MESSAGE_GONE, STREAMED, SlackError, call_slack, code_of
from gate.rules.action import Session
from gate.rules.messages import NOT_TAKEN, PROGRESS_DELAY, hint_key
from gate.rules.ports import Ledger, Posted, Unavailable
from gate.rules.task import Task
from handlers.slack.listener import Opening, To
from views import modals, notices, payload_check, rendering
from views.block_kit import Message

log = logging.getLogger(__name__)

CLOSED = "I could not open the window in time. Nothing changed: please press again."
NOT_REPLACED = "I could not show more of it here. Please ask for the list again: `/pending`."
RESPONSES = "https://hooks.slack.com/"
EVENT = "countersign_card"
PAGE = 200  # messages of a thread that are read at once
# The session's status is a nicety of agents: to other apps Slack says one of these.
NO_AGENT = ("unknown_method", "missing_scope", "not_allowed_token_type", "feature_not_enabled")
REPEATED = 15.0  # seconds in which a thread is not told once more that nothing goes on there
KEPT = 1_000  # things that are remembered for a moment
HINT_SECONDS = 1.0  # for which a hint waits until it is written down that it comes


def card_metadata(key: str) -> dict[str, Any]:
    """The metadata by which a message of ours is found again."""
    return {"event_type": EVENT, "event_payload": {"key": key}}


class Sent(NamedTuple):
    """Where a message of ours stands. `whole`: it stands there itself, and no sentence that Slack did not take it."""

    channel: str
    ts: str
    whole: bool = True


class Messages:
    """Posts, updates and finds single messages. `client` waits out rate limits."""

    def __init__(self, client: AsyncWebClient, ledger: Ledger) -> None:
        self._client = client
        self._ledger = ledger
        self._direct: dict[str, str] = {}  # the channel of the direct messages with each person

    async def show(
        self, key: str, posted: Posted | None, to: To, message: Message, strict: bool = False
    ) -> Sent:
        """Update where it stands, or post it; where it stands now. Raises Refused, with `strict` also for what
        Slack does not know in the message itself, and Unavailable."""
        at = await self._standing(key, posted, to, message)
        if at is not None:
            try:
                return Sent(*at, await self._update(*at, message, strict))
            except SlackError as error:
                if error.code not in MESSAGE_GONE:
                    raise
                await self.expect(key, Posted(at[0], "", posted.revision if posted else 0))
        return await self._send(key, to, message, strict)

    async def expect(self, key: str, posted: Posted) -> Posted:
        """Write down that a message is on its way to where people can see it before we hear of it. Raises
        Unavailable."""
        await self._ledger.set_posted(key, posted)
        return posted

    async def close(self, key: str, posted: Posted, to: To, message: Message) -> None:
        """Put this in the place of a message, where it stands. Raises Refused, Unavailable."""
        at = await self._standing(key, posted, to, message)
        if at is not None:
            await self._update(*at, message, strict=False)

    async def _standing(
        self, key: str, posted: Posted | None, to: To, message: Message
    ) -> tuple[str, str] | None:
        """Channel and ts of the message, where it stands already."""
        if posted is None:
            await self.expect(key, Posted(to.channel, "", 0))
            return None
        if posted.ts:
            return posted.channel, posted.ts
        # A try may have got through without our hearing of it.
        found = None if posted.untried else await self._find(key, to, message)
        return (to.channel, found) if found else None

    async def remove(self, posted: Posted) -> bool:
        """Delete a message. False where Slack does not let us. Raises Unavailable."""
        try:
            await call_slack(self._client.chat_delete, channel=posted.channel, ts=posted.ts)
        except SlackError as error:
            return error.code in MESSAGE_GONE
        return True

    async def _send(self, key: str, to: To, message: Message, strict: bool) -> Sent:
        response, whole = await shown(
            self._client.chat_postMessage,
            message,
            strict,
            channel=to.channel,
            thread_ts=to.thread or None,
            metadata=card_metadata(key),
            unfurl_links=False,
            unfurl_media=False,
        )
        return Sent(str(response["channel"]), str(response["ts"]), whole)

    async def _update(self, channel: str, ts: str, message: Message, strict: bool) -> bool:
        """Whether the message itself stands there now."""
        update: Any = partial(shown, self._client.chat_update, message, strict, channel=channel, ts=ts)
        try:
            _, whole = await update()
        except SlackError as error:
            if error.code != STREAMED:
                raise
            await call_slack(self._client.chat_stopStream, channel=channel, ts=ts)
            _, whole = await update()
        return bool(whole)

    async def _find(self, key: str, to: To, message: Message) -> str | None:
        """The message that carries this key in its metadata, if it was posted after all, or is a stream of it that
        broke off."""
        async for found in self._messages(to):
            metadata = found.get("metadata") or {}
            mine = metadata.get("event_type") == EVENT and metadata.get("event_payload", {}).get("key") == key
            if mine or begins(found, message):
                return str(found["ts"])
        return None

    async def _messages(self, to: To) -> AsyncIterator[Mapping[str, Any]]:
        """What stands in the thread, or newest in the direct messages."""
        arguments = {"channel": to.channel, "include_all_metadata": True, "limit": PAGE}
        if not to.thread:
            newest = await call_slack(self._client.conversations_history, **arguments)
            for message in newest.get("messages") or []:
                yield message
            return
        cursor = ""
        while True:
            page = await call_slack(
                self._client.conversations_replies, ts=to.thread, cursor=cursor or None, **arguments
            )
            for message in page.get("messages") or []:
                yield message
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return

    async def direct(self, user: str) -> To:
        """The direct messages with a person, which stay the same. Raises Unavailable, or Refused."""
        if user not in self._direct:
            opened = await call_slack(self._client.conversations_open, users=user)
            self._direct[user] = str(opened["channel"]["id"])
            evict_oldest(self._direct)
        return To("", self._direct[user])

    async def post_ephemeral(self, to: To, message: Message) -> str:
        """Say it to one person alone: where they are, or in direct messages where that is no channel. Its timestamp; ""
        where Slack says none.

        Raises Unavailable, or Refused.
        """
        if to.channel:
            place: dict[str, Any] = {"channel": to.channel, "thread_ts": to.thread or None}
            said, _ = await shown(self._client.chat_postEphemeral, message, user=to.user, **place)
            return str(said.get("message_ts") or "")
        said, _ = await shown(self._client.chat_postMessage, message, channel=to.user, unfurl_links=False)
        return str(said.get("ts") or "")

    async def expect_hint(self, to: To) -> str:
        """Write down that this person is about to be told something alone; the key of that."""
        key = hint_key(to.user, to.channel, to.thread, uuid4().hex)
        with contextlib.suppress(Unavailable):  # they are told that, too, and soon
            async with self._ledger.begin(HINT_SECONDS) as tx:
                await tx.posted(key, Posted(to.channel, "", 0))
        return key

    async def note_hint(self, key: str, to: To, ts: str, taken: bool) -> None:
        """Write down that they were told it, or may have been, or that Slack did not take it. Raises Unavailable."""
        ts = ts or f"{(await self._ledger.now()).timestamp():.6f}"
        await self._ledger.set_posted(
            key, Posted(to.channel, ts, 1) if taken else Posted(to.channel, "", 1, NOT_TAKEN)
        )


class Statuses:
    """Slack's own line under each thread. A nicety, so nothing waits for it or fails by it."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._known = True  # to Slack, for this app
        self._soon: dict[
            Session, asyncio.TimerHandle
        ] = {}  # threads that will be told that something goes on
        self._busy: set[Session] = set()  # threads that were
        self._active: dict[Session, float] = {}  # when threads were told last that nothing goes on there
        self._telling: set[asyncio.Task[None]] = set()

    def signal(self, task: Task) -> None:
        """How a task without cards stands: that it is worked on is said only where that takes long."""
        session, status = task.session, rendering.status_of_task(task)
        if status == "processing" and session not in {*self._soon, *self._busy}:
            self._soon[session] = asyncio.get_running_loop().call_later(
                PROGRESS_DELAY, self._takes_long, session
            )
        elif status == "active" and self._forget(session):
            self._tell(session, status)

    def _takes_long(self, session: Session) -> None:
        self._forget(session)
        self._busy.add(session)
        self._tell(session, "processing")

    def _tell(self, session: Session, status: str) -> None:
        telling = asyncio.create_task(self._say(session, status))
        self._telling.add(telling)
        telling.add_done_callback(self._telling.discard)

    def _forget(self, session: Session) -> bool:
        """Whether a thread was told that something goes on; from now on it is no more."""
        begun = self._soon.pop(session, None)
        if begun is not None:
            begun.cancel()
        told = session in self._busy
        self._busy.discard(session)
        return told

    async def stop(self) -> None:
        """Say nothing more; to be called before the client's session is closed."""
        for session in list(self._soon):
            self._forget(session)
        telling = list(self._telling)
        for task in telling:
            task.cancel()
        await asyncio.gather(*telling, return_exceptions=True)

    async def set(self, session: Session, status: str) -> None:
        """Say how a thread stands; "" says nothing."""
        if not status:
            return
        self._forget(session)
        now, last = time.monotonic(), self._active.pop(session, float("-inf"))
        if status == "active" and now - last < REPEATED:
            now = last
        else:
            await self._say(session, status)
        if status == "active":
            self._active[session] = now
            evict_oldest(self._active)

    async def _say(self, session: Session, status: str) -> None:
        if not self._known or not session.thread:
            return
        try:
            await self._client.agents_sessions_setStatus(
                channel_id=session.channel, thread_ts=session.thread, status=status
            )
        except SlackApiError as error:
            self._known = code_of(error) not in NO_AGENT
            log.info("the session status could not be set: %s", code_of(error))
        except Exception as error:
            log.info("the session status could not be set: %s", type(error).__name__)


class Hints:
    """What one person is told after a click. `client` does not wait: a trigger lives three seconds."""

    def __init__(self, client: AsyncWebClient, messages: Messages) -> None:
        self._client = client
        self._messages = messages

    async def tell(self, to: To, text: str) -> None:
        """Say it to one person alone, or log that it could not be said. It stands below the cards that are there: a
        “yes” after it may be about it."""
        key = await self._messages.expect_hint(to) if to.channel and to.thread else ""
        ts, taken = "", True
        try:
            ts = await self._messages.post_ephemeral(to, checked_message(notices.answer(text)))
        except (SlackError, Unavailable) as error:
            log.warning("a hint could not be shown: %s", error)
            taken = isinstance(error, Unavailable)  # whether it was is not known
        if key:
            with contextlib.suppress(Unavailable):
                await self._messages.note_hint(key, to, ts, taken)

    async def replace(self, url: str, to: To, message: Message) -> None:
        """Put a message in the place of an ephemeral one, by the response_url of a click on it; else say that it could
        not be done."""
        problem = (
            await self._respond(url, checked_message(message))
            if self._is_slack(url)
            else "not an address of Slack"
        )
        if problem:
            log.warning("a list could not be replaced: %s", problem)
            await self.tell(to, NOT_REPLACED)

    async def _respond(self, url: str, message: Message) -> str:
        """Why Slack did not take it; "" where it did."""
        webhook = AsyncWebhookClient(url, session=self._client.session, retry_handlers=[])
        try:
            answer = await webhook.send(
                text=message.text, blocks=message.blocks, response_type="ephemeral", replace_original=True
            )
        except Exception as error:  # of many kinds, as from the Web API
            return type(error).__name__
        return "" if answer.status_code == HTTPStatus.OK else f"status {answer.status_code}"

    def _is_slack(self, url: str) -> bool:
        """Whether a response_url leads to where Slack has these, or to where its Web API is called."""
        return url.startswith((RESPONSES, self._client.base_url.removesuffix("api/")))

    async def open(self, opening: Opening, to: To) -> None:
        """Open a placeholder at once, then put the content in its place."""
        try:
            response = await call_slack(
                self._client.views_open, trigger_id=opening.trigger, view=modals.loading()
            )
            view_id, mark = str(response["view"]["id"]), response["view"].get("hash")
        except (SlackError, Unavailable) as error:
            log.warning("a modal could not be opened: %s", error)
            await self.tell(to, CLOSED)
            return
        view = await modal_content(opening, view_id)
        try:
            await call_slack(self._client.views_update, view_id=view_id, hash=mark, view=view)
        except SlackError as error:
            log.error("Slack refused a modal of ours: %s", error)
            await self._fall_back(view_id)
        except Unavailable as error:  # closed meanwhile, most often
            log.warning("a modal could not be filled: %s", error)

    async def _fall_back(self, view_id: str) -> None:
        try:
            await call_slack(self._client.views_update, view_id=view_id, view=modals.message(PLAIN))
        except (SlackError, Unavailable) as error:
            log.warning("a modal could not be filled: %s", error)

    async def publish(self, user: str, view: Mapping[str, Any]) -> None:
        """Publish App Home, or log that it could not be."""
        problems = payload_check.view(view)
        if problems:
            log.error("App Home broke the rules: %s", problems[:3])
            return
        try:
            await call_slack(self._client.views_publish, user_id=user, view=dict(view))
        except (SlackError, Unavailable) as error:
            log.warning("App Home could not be published: %s", error)


def evict_oldest(kept: dict[Any, Any]) -> None:
    """Forget the oldest of what is kept for a moment."""
    while len(kept) > KEPT:
        del kept[next(iter(kept))]
