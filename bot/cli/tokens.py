"""`python -m bot tokens …`: who may use the HTTP API, as what, where, and for how long."""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Sequence
from datetime import timedelta

from bot.audit_key import changing_key, fitting_seals
from bot.cli.database import database
from bot.cli.main import CommandError
from bot.settings import Settings
from gate.rules.access import Token, TokenKind, format_token, is_valid_token
from storage.tokens import TokenStore
from views.block_kit import visible

MOST_DAYS = 90
MOST_NAME = 80
SHAPES = {
    "--user": (
        re.compile(r"[UW][A-Z0-9_]+"),
        "a member ID such as U0123ABCD (profile, three dots, copy member ID)",
    ),
    "--team": (re.compile(r"[TE][A-Z0-9_]+"), "a workspace ID such as T0123ABCD"),
    "--channel": (re.compile(r"[CGD][A-Z0-9_]+"), "a channel ID such as C0123ABCD, not a name"),
}


def must_be_ids(*given: tuple[str, str]) -> None:
    """Each option with its value, which has to be an ID of Slack. Raises CommandError, which says where to find one."""
    for option, value in given:
        shape, told = SHAPES[option]
        if not shape.fullmatch(value):
            raise CommandError(f"{option} {visible(value)[:40]}: this must be {told}.")


async def new(  # noqa: PLR0913  # one for each option of the command
    settings: Settings, kind: str, user: str, team: str, channel: Sequence[str], name: str, days: int
) -> None:
    """Make a token and write it to standard output: nobody can show it again."""
    must_be_ids(("--user", user), ("--team", team), *(("--channel", one) for one in channel))
    if not 1 <= days <= MOST_DAYS:
        raise CommandError(f"--days must be from 1 to {MOST_DAYS}.")
    if len(name) > MOST_NAME:
        raise CommandError(f"--name can have {MOST_NAME} characters at most.")
    if kind == TokenKind.AGENT and not channel:
        raise CommandError("An agent needs at least one --channel: that is where people are asked.")
    token_id, secret = secrets.token_hex(8), secrets.token_hex(32)
    async with database(settings) as engine:
        seals, key = await changing_key(settings, engine)
        store = TokenStore(engine, seals, audit_key=key)
        now = await store.now()
        until = now + timedelta(days=days)
        made = Token(token_id, TokenKind(kind), name or kind, team, user, tuple(channel), now, until)
        await store.add(made, secret)
    sys.stdout.write(format_token(made.kind, token_id, secret) + "\n")
    sys.stderr.write(f"Keep it safe: it is not shown again. It counts until {until:%Y-%m-%d %H:%M} UTC.\n")


async def listing(settings: Settings) -> None:
    """One line for each token."""
    async with database(settings) as engine:
        store = TokenStore(engine, await fitting_seals(settings, engine))
        now = await store.now()
        for one in await store.all():
            state = (
                "counts" if is_valid_token(one, now).allowed else "revoked" if one.revoked_at else "expired"
            )
            where = ",".join(one.channels) or "-"
            sys.stdout.write(
                f"{one.id}  {one.kind:<6}  {one.team}  {one.user}  {where}  until {one.expires_at:%Y-%m-%d}  "
                f"{state:<7}  {visible(one.name, lines=False)}\n"
            )


async def revoke(settings: Settings, token: str) -> None:
    """End a token: its next request, and within seconds its open streams, are refused."""
    async with database(settings) as engine:
        seals, key = await changing_key(settings, engine)
        if not await TokenStore(engine, seals, audit_key=key).revoke(token):
            raise CommandError(
                f"There is no token {visible(token)[:40]} that still counts: `tokens list` shows all."
            )
    sys.stdout.write(f"Revoked {token}.\n")
