"""The wrapper of every handler: it acknowledges within Slack's 3 s and catches all exceptions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gate.actions.button_press import PressResult
from gate.rules.jobs import for_owner
from gate.rules.ports import Unavailable
from handlers.slack.payloads import Click, Malformed, Submission
from views.block_kit import Message

log = logging.getLogger(__name__)

Home = Callable[[str, str, PressResult | None], Awaitable[dict[str, Any] | None]]

TIMEOUT_SECONDS = 2.0  # of a handler, so that Slack gets the acknowledgement within its 3 s
BUSY = "I could not record this just now, so nothing changed. Please try again in a moment."
SLOW = "This takes longer than usual, and I cannot tell yet whether it counted. Please look at the card in a moment."
BROKEN = "Something went wrong on my side (id {id}). Please look at the card: it shows what is true."


@dataclass(frozen=True, slots=True)
class To:
    """The recipient and the place of a message."""

    user: str
    channel: str = ""  # "": in direct messages
    thread: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """The body of the acknowledgement, and an ephemeral message for the person who acted."""

    ack: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    said: PressResult | None = None  # the decision that it is about
    instead: Message | None = None  # takes the place of the ephemeral message that was acted in
    home: Mapping[str, Any] | None = None  # the App Home that is shown then; None: as it is after `said`
    keeps_home: bool = False  # nothing came of it, so App Home stays at the page that it shows


def errors(found: Mapping[str, str]) -> Reply:
    """The acknowledgement of a modal with field errors: block_id -> message."""
    return Reply(ack={"response_action": "errors", "errors": dict(found)})


# What is told where no card shows what came of a decision, by the code of what was said.
ELSEWHERE = {
    "cancelled": "Cancelled. Nothing ran.",
    "rejected": "Rejected. Nothing ran.",
    "undoing": "I am taking it back. The card in its thread shows how it went.",
    "confirmed": "Confirmed. The card in its thread shows how it goes.",
    "voted": "Your yes counts. Others still have to say theirs.",
    "dropped": "Rejected. Nobody gets this result.",
    "approve": "Approved. The plan's card in its thread shows how it goes.",
    "answer": "Thank you. I go on with that in its thread.",
    "review": "Rejected. Nothing uses this result.",
    "cancel": "Cancelled. Nothing more of it runs.",
    "stop": "Stopped. Nothing more of it runs.",
}


def reply_for(said: PressResult, payload: Click | Submission) -> Reply:
    """The message for the person, where no card before their eyes shows what came of it."""
    own = said.ok and payload.in_private_list
    return Reply(text=said.text or (ELSEWHERE.get(said.code, "") if own else ""), said=said)


@dataclass(frozen=True, slots=True)
class Opening:
    """A modal that is opened with a placeholder. `then` takes the view id and returns the view to show."""

    trigger: str
    then: Callable[[str], Awaitable[dict[str, Any]]]


class Outgoing(Protocol):
    """The Slack calls that handlers need. Implemented by bot/slack_messages.py."""

    async def tell(self, to: To, text: str) -> None:
        """Sends an ephemeral message. Never raises: errors are logged."""
        ...

    async def open(self, opening: Opening, to: To) -> None:
        """Opens the placeholder, then updates it; tells the person if that fails. Never raises."""
        ...

    async def replace(self, url: str, to: To, message: Message) -> None:
        """Puts a message in place of an ephemeral one. Never raises: the person is told."""
        ...

    async def publish(self, user: str, view: Mapping[str, Any]) -> None:
        """Publishes App Home. Never raises."""
        ...


Handler = Callable[[Any], Awaitable[Reply | Opening]]


class ListenerFactory:
    """Makes Bolt listeners from handlers. `incident` returns a new id for an error that is logged and shown. `home`:
    the App Home of a person of a team after a decision, None where it is shown anyway."""

    def __init__(self, outgoing: Outgoing, incident: Callable[[], str], home: Home) -> None:
        self._outgoing = outgoing
        self._incident = incident
        self._home = home

    def listener(
        self,
        parse: Callable[[Any], Any],
        handler: Handler,
        modal: Callable[[str], dict[str, Any]] | None = None,
    ) -> Callable[..., Awaitable[None]]:
        """A Bolt listener: parses the body, runs the handler with a timeout, acknowledges, then sends the message, and
        publishes App Home where the person acted there.

        `modal` makes a view of the message: after a submission, an ephemeral message could be overlooked.
        """

        async def listen(ack: Callable[..., Awaitable[Any]], body: Mapping[str, Any]) -> None:
            reply, to, payload = await self._run(parse, handler, body)
            if isinstance(reply, Opening):
                await ack()
                await self._outgoing.open(reply, to)
                return
            if modal and reply.text and not reply.ack:
                await ack(response_action="update", view=modal(reply.text))
            else:
                await ack(**reply.ack)
                if reply.text and to.user:
                    await self._outgoing.tell(to, reply.text)
                if reply.instead is not None:
                    await self._outgoing.replace(payload.response_url, to, reply.instead)
            if getattr(payload, "in_app_home", False) and not reply.keeps_home:
                await self._publish_home(payload, reply)

        return listen

    async def _publish_home(self, payload: Click | Submission, reply: Reply) -> None:
        try:
            with for_owner(payload.user):
                view = reply.home or await self._home(payload.team, payload.user, reply.said)
            if view is not None:
                await self._outgoing.publish(payload.user, view)
        except Unavailable as error:
            log.warning("App Home could not be renewed: %s", error)

    async def _run(
        self, parse: Callable[[Any], Any], handler: Handler, body: Mapping[str, Any]
    ) -> tuple[Reply | Opening, To, Any]:
        """What the handler replies, to whom, and the payload, None where that is malformed."""
        to, payload = To(""), None
        try:
            payload = parse(body)
            to = _recipient(payload)
            with for_owner(to.user):
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    return await handler(payload), to, payload
        except Unavailable as error:
            log.warning("not recorded: %s", error)
            return Reply(text=BUSY), to, payload
        except TimeoutError:  # a commit may have been on its way
            log.warning("not known whether it was recorded in time")
            return Reply(text=SLOW), to, payload
        except Malformed as error:
            log.warning("a malformed payload: %s", error)
            return Reply(), to, payload
        except Exception:
            # Seen with slack_bolt 1.30: it answers Slack 404 after three seconds when a listener raises at once.
            incident = self._incident()
            log.exception("a handler failed, incident %s", incident)
            return Reply(text=BROKEN.format(id=incident)), to, payload


def _recipient(payload: Any) -> To:
    """The person who acted, in the channel and thread of the payload; without a channel, in direct messages."""
    return To(payload.user, getattr(payload, "channel", ""), getattr(payload, "thread", ""))
