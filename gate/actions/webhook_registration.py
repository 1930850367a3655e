"""Webhooks that programs and people make for themselves, over HTTP: each is made, ended and re-keyed on the record."""

from __future__ import annotations

from urllib.parse import urlsplit

from gate.actions.button_press import Said
from gate.rules.access import Kind, Token
from gate.rules.action import Session
from gate.rules.audit import Entry
from gate.rules.ports import World
from gate.rules.url_guard import closed
from gate.rules.webhooks import Webhook

FULL = "This token has {most} webhooks already. Remove one first."
GONE = "There is no such webhook (any more)."


async def add(world: World, by: Token, hook: Webhook, most: int) -> Said:
    """Tell this URL from now on what the token may see. Raises Unavailable."""
    if why := closed(hook.url):
        return Said(False, "bad_url", why)
    async with world.ledger.begin(world.limits.decision) as tx:
        if await tx.hooks.of_token(by.id, hook.id) >= most:
            return Said(False, "full", FULL.format(most=most))
        await tx.hooks.add(hook)
        tx.audit(_entry("webhook_added", hook, by))
    return Said(True, "added")


async def remove(world: World, by: Token, hook: Webhook) -> Said:
    """Tell it nothing more. Raises Unavailable."""
    async with world.ledger.begin(world.limits.decision) as tx:
        if not await tx.hooks.remove(hook.id):
            return Said(False, "gone", GONE)
        tx.audit(_entry("webhook_removed", hook, by))
    return Said(True, "removed")


async def rotate(world: World, by: Token, hook: Webhook, secret: str) -> Said:
    """Give it a new secret, beside which the one before it signs until the next time. Raises Unavailable."""
    async with world.ledger.begin(world.limits.decision) as tx:
        if not await tx.hooks.rotate(hook, secret):
            return Said(False, "gone", GONE)
        tx.audit(_entry("webhook_rotated", hook, by))
    return Said(True, "rotated")


def _entry(event: str, hook: Webhook, by: Token) -> Entry:
    """Paths and queries of URLs may hold secrets, so that the record names the host alone."""
    return Entry(
        event=event,
        session=Session(hook.team, by.channels[0] if by.channels else "", "").key,
        actor=by.user,
        action=hook.id,
        user_confirmed=by.kind is Kind.PERSON,
        reason=f"{urlsplit(hook.url).hostname}: {', '.join(hook.kinds) or 'all events'}",
        token=by.id,
    )
