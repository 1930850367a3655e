"""Webhooks that programs and people make for themselves, over HTTP: each is made, ended and re-keyed on the record."""

from __future__ import annotations

from urllib.parse import urlsplit

from gate.actions.button_press import PressResult
from gate.rules.access import Token, TokenKind
from gate.rules.action import Session
from gate.rules.audit import Entry
from gate.rules.ports import World
from gate.rules.url_guard import url_problem
from gate.rules.webhooks import Webhook

TOO_MANY_WEBHOOKS = "This token has {most} webhooks already. Remove one first."
NO_SUCH_WEBHOOK = "There is no such webhook (any more)."


async def add(world: World, by: Token, hook: Webhook, most: int) -> PressResult:
    """Tell this URL from now on what the token may see. Raises Unavailable."""
    if why := url_problem(hook.url):
        return PressResult(False, "bad_url", why)
    async with world.ledger.begin(world.limits.decision) as tx:
        if await tx.hooks.of_token(by.id, hook.id) >= most:
            return PressResult(False, "full", TOO_MANY_WEBHOOKS.format(most=most))
        await tx.hooks.add(hook)
        tx.audit(_entry("webhook_added", hook, by))
    return PressResult(True, "added")


async def remove(world: World, by: Token, hook: Webhook) -> PressResult:
    """Tell it nothing more. Raises Unavailable."""
    async with world.ledger.begin(world.limits.decision) as tx:
        if not await tx.hooks.remove(hook.id):
            return PressResult(False, "gone", NO_SUCH_WEBHOOK)
        tx.audit(_entry("webhook_removed", hook, by))
    return PressResult(True, "removed")


async def rotate(world: World, by: Token, hook: Webhook, secret: str) -> PressResult:
    """Give it a new secret, beside which the one before it signs until the next time. Raises Unavailable."""
    async with world.ledger.begin(world.limits.decision) as tx:
        if not await tx.hooks.rotate(hook, secret):
            return PressResult(False, "gone", NO_SUCH_WEBHOOK)
        tx.audit(_entry("webhook_rotated", hook, by))
    return PressResult(True, "rotated")


def _entry(event: str, hook: Webhook, by: Token) -> Entry:
    """Paths and queries of URLs may hold secrets, so that the record names the host alone."""
    return Entry(
        event=event,
        session=Session(hook.team, by.channels[0] if by.channels else "", "").key,
        actor=by.user,
        action=hook.id,
        user_confirmed=by.kind is TokenKind.PERSON,
        reason=f"{urlsplit(hook.url).hostname}: {', '.join(hook.kinds) or 'all events'}",
        token=by.id,
    )
