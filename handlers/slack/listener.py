"""The wrapper of every handler: it acknowledges within Slack's 3 s and catches all exceptions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gate.rules.jobs import owned
from gate.rules.ports import Unavailable
from handlers.slack.payloads import Malformed

log = logging.getLogger(__name__)

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
    render_home: Callable[[], Awaitable[dict[str, Any]]] | None = (
        None  # App Home is published again with this view
    )


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

    async def publish(self, user: str, view: dict[str, Any]) -> None:
        """Publishes App Home. Never raises."""
        ...


Handler = Callable[[Any], Awaitable[Reply | Opening]]


class ListenerFactory:
    """Makes Bolt listeners from handlers. `incident` returns a new id for an error that is logged and shown."""

    def __init__(self, outgoing: Outgoing, incident: Callable[[], str]) -> None:
        self._outgoing = outgoing
        self._incident = incident

    def listener(
        self,
        parse: Callable[[Any], Any],
        handler: Handler,
        modal: Callable[[str], dict[str, Any]] | None = None,
    ) -> Callable[..., Awaitable[None]]:
        """A Bolt listener: parses the body, runs the handler with a timeout, acknowledges, then sends the message.

        `modal` makes a view of the message: after a submission, an ephemeral message could be overlooked.
        """

        async def listen(ack: Callable[..., Awaitable[Any]], body: Mapping[str, Any]) -> None:
            reply, to = await self._run(parse, handler, body)
            if isinstance(reply, Opening):
                await ack()
                await self._outgoing.open(reply, to)
                return
            if modal and reply.text and not reply.ack:
                await ack(response_action="update", view=modal(reply.text))
                return
            await ack(**reply.ack)
            if reply.text and to.user:
                await self._outgoing.tell(to, reply.text)
            if reply.render_home:
                await self._publish_home(to.user, reply.render_home)

        return listen

    async def _publish_home(self, user: str, render_home: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        try:
            await self._outgoing.publish(user, await render_home())
        except Unavailable as error:
            log.warning("App Home could not be renewed: %s", error)

    async def _run(
        self, parse: Callable[[Any], Any], handler: Handler, body: Mapping[str, Any]
    ) -> tuple[Reply | Opening, To]:
        to = To("")
        try:
            payload = parse(body)
            to = _recipient(payload)
            with owned(to.user):
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    return await handler(payload), to
        except Unavailable as error:
            log.warning("not recorded: %s", error)
            return Reply(text=BUSY), to
        except TimeoutError:  # a commit may have been on its way
            log.warning("not known whether it was recorded in time")
            return Reply(text=SLOW), to
        except Malformed as error:
            log.warning("a malformed payload: %s", error)
            return Reply(), to
        except Exception:
            # Seen with slack_bolt 1.30: it answers Slack 404 after three seconds when a listener raises at once.
            incident = self._incident()
            log.exception("a handler failed, incident %s", incident)
            return Reply(text=BROKEN.format(id=incident)), to


def _recipient(payload: Any) -> To:
    """The person who acted, in the channel and thread of the payload; without a channel, in direct messages."""
    return To(payload.user, getattr(payload, "channel", ""), getattr(payload, "thread", ""))
