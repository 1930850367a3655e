"""The door: every handler goes through it. It acknowledges in time, and nothing escapes it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gate.world import Unavailable
from handlers.parse import Malformed

log = logging.getLogger(__name__)

SECONDS = 2.0  # in which a handler has to be done, so that Slack hears from us within its 3
BUSY = "I could not record this just now, so nothing changed. Please try again in a moment."
SLOW = "This takes longer than usual, and I cannot tell yet whether it counted. Please look at the card in a moment."
BROKEN = "Something went wrong on my side (id {id}). Please look at the card: it shows what is true."


@dataclass(frozen=True, slots=True)
class To:
    """Whom to tell something, and where."""

    user: str
    channel: str = ""  # "": in direct messages
    thread: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back: the body of the acknowledgement, and words for the one person who acted."""

    ack: Mapping[str, Any] = field(default_factory=dict)
    tell: str = ""
    home: Callable[[], Awaitable[dict[str, Any]]] | None = None  # App Home, to be published anew


@dataclass(frozen=True, slots=True)
class Opening:
    """A modal to open at once with a placeholder; `then` makes its content, given the id of the view."""

    trigger: str
    then: Callable[[str], Awaitable[dict[str, Any]]]


class Outgoing(Protocol):
    """What handlers need Slack to be told. Implemented by bot/cards.py alone."""

    async def tell(self, to: To, text: str) -> None:
        """Say it to one person alone. Never raises: a hint that is lost is only a hint."""
        ...

    async def open(self, opening: Opening, to: To) -> None:
        """Open the placeholder, then fill it; tell the person where that fails. Never raises."""
        ...

    async def publish(self, user: str, view: dict[str, Any]) -> None:
        """Publish App Home. Never raises."""
        ...


Handler = Callable[[Any], Awaitable[Reply | Opening]]


class Door:
    """Wraps handlers for Bolt. `incident` makes the id that a person can quote."""

    def __init__(self, outgoing: Outgoing, incident: Callable[[], str]) -> None:
        self._outgoing = outgoing
        self._incident = incident

    def guard(
        self,
        parse: Callable[[Any], Any],
        handler: Handler,
        modal: Callable[[str], dict[str, Any]] | None = None,
    ) -> Callable[..., Awaitable[None]]:
        """A Bolt listener: parse, handle within the time there is, acknowledge, then say what is to be said.

        `modal` shows a sentence in a submitted modal, whose person could overlook an ephemeral message.
        """

        async def listener(ack: Callable[..., Awaitable[Any]], body: Mapping[str, Any]) -> None:
            reply, to = await self._run(parse, handler, body)
            if isinstance(reply, Opening):
                await ack()
                await self._outgoing.open(reply, to)
                return
            if modal and reply.tell and not reply.ack:
                await ack(response_action="update", view=modal(reply.tell))
                return
            await ack(**reply.ack)
            if reply.tell and to.user:
                await self._outgoing.tell(to, reply.tell)
            if reply.home:
                await self._publish(to.user, reply.home)

        return listener

    async def _publish(self, user: str, home: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        try:
            await self._outgoing.publish(user, await home())
        except Unavailable as error:
            log.warning("App Home could not be renewed: %s", error)

    async def _run(
        self, parse: Callable[[Any], Any], handler: Handler, body: Mapping[str, Any]
    ) -> tuple[Reply | Opening, To]:
        to = To("")
        try:
            what = parse(body)
            to = _whom(what)
            async with asyncio.timeout(SECONDS):
                return await handler(what), to
        except Unavailable as error:
            log.warning("not recorded: %s", error)
            return Reply(tell=BUSY), to
        except TimeoutError:  # a commit may have been on its way
            log.warning("not known whether it was recorded in time")
            return Reply(tell=SLOW), to
        except Malformed as error:
            log.warning("a malformed payload: %s", error)
            return Reply(), to
        except Exception:
            # Bolt answers Slack 404 after three seconds when a listener raises at once (style.md 0.1).
            incident = self._incident()
            log.exception("a handler failed, incident %s", incident)
            return Reply(tell=BROKEN.format(id=incident)), to


def _whom(what: Any) -> To:
    """Where to reach who acted; without a channel, as in App Home, in direct messages."""
    return To(what.user, getattr(what, "channel", ""), getattr(what, "thread", ""))
