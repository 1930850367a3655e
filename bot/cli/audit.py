"""`python -m bot audit …`: prove that nothing in the log was changed or cut off, and take it elsewhere."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from dataclasses import asdict

from bot.audit_key import keyring
from bot.audit_key import rotate as rotated
from bot.cli.database import database
from bot.cli.main import CommandError
from bot.row_sealing import noted_head
from bot.settings import Settings
from gate.rules.audit import Line
from storage import audit_log
from storage.database import serve_alone
from storage.reseal import served

RUNNING = "A replica is serving from this database, or was half a minute ago: stop all of them first."


async def verify(settings: Settings, head: str, count: int) -> int:
    """Check the chain, through an earlier head: one that is given, else the one noted when rows were sealed. 1 when it
    is broken."""
    anchor = _anchor(head, count) or noted_head(settings)
    async with database(settings) as engine:
        found = await audit_log.verify(engine, keyring(settings), anchor)
    if found.broken_at is None:
        sys.stdout.write(f"ok: {found.count} entries\n{_words(found.head)}\n")
        return 0
    sys.stdout.write(
        f"BROKEN: entry {found.broken_at} is not as it was written, or is missing; the {found.count} before it are "
        f"as they were\n{_words(found.head)}\n"
    )
    return 1


async def head(settings: Settings) -> None:
    """Show the end of the log, in the form that `verify` takes."""
    async with database(settings) as engine:
        sys.stdout.write(_words(await audit_log.head(engine)) + "\n")


async def export(settings: Settings) -> None:
    """Write every entry as one line of JSON, in order, with what is needed to check the chain."""
    async with database(settings) as engine:
        try:
            async for line in audit_log.entries(engine):
                sys.stdout.write(json.dumps(_plain(line), ensure_ascii=False) + "\n")
        except audit_log.UnreadableEntry as unreadable:
            raise CommandError(f"{unreadable} What is above ends before it.") from None


async def rotate_key(settings: Settings) -> None:
    """Chain the log with a new key from here on. Entries of before stay checkable with the old one, which is kept."""
    with contextlib.closing(serve_alone(settings.database_url) or io.BytesIO()):
        async with database(settings) as engine:
            if not settings.alone and await served(engine):
                raise CommandError(RUNNING)
            seq = await rotated(settings, engine)
            end = await audit_log.head(engine)
    sys.stdout.write(
        f"Entry {seq} names the new key: keep a copy of it elsewhere, and this:\n{_words(end)}\n"
    )


def _anchor(head: str, count: int) -> audit_log.Head | None:
    if not head and not count:
        return None
    if count < 1 or not re.fullmatch("[0-9a-f]{64}", head):
        raise CommandError(
            "Give both --head, 64 hexadecimal digits, and --count, as `audit head` shows them."
        )
    return audit_log.Head(count, head)


def _words(end: audit_log.Head) -> str:
    return f"--head {end.mac} --count {end.seq}"


def _plain(line: Line) -> dict[str, object]:
    place = {"seq": line.seq, "at": line.at.isoformat(timespec="microseconds")}
    return {**place, **asdict(line.entry), "prev": line.prev, "mac": line.mac}
