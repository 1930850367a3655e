"""`python -m bot webhooks …`: who is told over HTTP of what happens."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from bot.audit_key import changing_key, fitting_seals
from bot.cli.database import database
from bot.cli.main import CommandError
from bot.cli.tokens import must_be_ids
from bot.settings import Settings
from gate.rules.events import KINDS
from gate.rules.url_guard import parse_target
from gate.rules.webhooks import SECRET_BYTES, Webhook, secret_of
from storage.webhooks import HookStore
from views.block_kit import visible


async def add(settings: Settings, url: str, team: str, channel: Sequence[str], kind: Sequence[str]) -> None:
    """Tell this URL from now on; its secret is written to standard output, this once."""
    found = parse_target(url, settings.webhooks)
    if isinstance(found, str):
        raise CommandError(found)
    must_be_ids(("--team", team), *(("--channel", one) for one in channel))
    unknown = sorted(set(kind) - set(KINDS))
    if unknown:
        raise CommandError(f"--kind {visible(unknown[0])[:40]}: there are {', '.join(KINDS)}.")
    secret = secret_of(secrets.token_bytes(SECRET_BYTES))
    made = Webhook(
        secrets.token_hex(8), url, secret, "", team, tuple(channel), tuple(kind), 0, datetime.now(UTC)
    )
    async with database(settings) as engine:
        await HookStore(engine, *await changing_key(settings, engine)).add(made)
    sys.stdout.write(f"{made.id}\n{secret}\n")
    sys.stderr.write(
        "Give the secret to the receiver: by it they know what comes from us. It is not shown again.\n"
    )


async def listing(settings: Settings) -> None:
    """One line for each, with what came of the last delivery."""
    async with database(settings) as engine:
        for one in await HookStore(engine, await fitting_seals(settings, engine)).all():
            where, what = ",".join(one.channels) or "all channels", ",".join(one.kinds) or "all events"
            state = "disabled" if one.disabled_at else one.problem or "ok"
            whose = f"token {one.token}" if one.token else "operator"
            sys.stdout.write(
                f"{one.id}  {one.team}  {whose}  {where}  {what}  {visible(one.url)}  {visible(state)}\n"
            )


async def remove(settings: Settings, webhook: str) -> None:
    """Tell it nothing more."""
    async with database(settings) as engine:
        if not await HookStore(engine, *await changing_key(settings, engine)).remove(webhook):
            raise CommandError(f"There is no webhook {visible(webhook)[:40]}: `webhooks list` shows all.")
    sys.stdout.write(f"Removed {webhook}.\n")


async def rotate(settings: Settings, webhook: str) -> None:
    """A new secret; what is sent is signed with both until the next rotation."""
    secret = secret_of(secrets.token_bytes(SECRET_BYTES))
    async with database(settings) as engine:
        if not await HookStore(engine, *await changing_key(settings, engine)).rotate(webhook, secret):
            raise CommandError(f"There is no webhook {visible(webhook)[:40]}: `webhooks list` shows all.")
    sys.stdout.write(secret + "\n")
