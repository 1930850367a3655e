"""What an operator changes by a command, with its entry in the audit log in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.access import Token
from gate.rules.action import Session
from gate.rules.audit import Entry
from gate.rules.webhooks import Webhook
from storage.audit_log import Chain, append
from storage.database import carry, reached, transaction

OPERATOR = "operator"  # who it was: commands know no member of a workspace


async def carry_noted(engine: AsyncEngine, audit_key: bytes | None, statement: Any, entry: Entry) -> int:
    """Carry out one statement, and where it changed something append the entry with this key; how many rows it
    changed. Without a key nothing is noted. Raises Unavailable."""
    if audit_key is None:
        return await carry(engine, statement)
    with reached():
        async with transaction(engine) as connection:
            changed = int((await connection.execute(statement)).rowcount)
            if changed:
                await append(connection, Chain(audit_key), [entry], timedelta())
            return changed


def token_entry(event: str, token_id: str, token: Token | None) -> Entry:
    """The entry on a token that was made or ended. None: its row is not as it was written, and says nothing."""
    if token is None:
        return _entry(event, token_id)
    where = ", ".join(token.channels) or "all channels"
    told = f"{token.kind} “{token.name}”: {where}, until {token.expires_at:%Y-%m-%d %H:%M} UTC"
    return replace(_entry(event, token_id, token.team, token.channels), reason=told, requester=token.user)


def webhook_entry(event: str, hook_id: str, hook: Webhook | None) -> Entry:
    """The same of a webhook. Paths and queries of URLs may hold secrets, so that it names the host alone."""
    if hook is None:
        return _entry(event, hook_id)
    where, what = ", ".join(hook.channels) or "all channels", ", ".join(hook.kinds) or "all events"
    told = f"{urlsplit(hook.url).hostname}: {where}, {what}"
    return replace(_entry(event, hook_id, hook.team, hook.channels), reason=told)


def _entry(event: str, of: str, team: str = "", channels: Sequence[str] = ()) -> Entry:
    session = Session(team, channels[0] if channels else "", "").key if team else ""
    return Entry(event=event, session=session, actor=OPERATOR, action=of, user_confirmed=True)
