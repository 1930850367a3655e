"""`python -m bot audit …`: prove that nothing in the log was changed or cut off, and take it elsewhere."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict

from bot.cli import CommandError
from bot.offline import database
from bot.settings import Settings
from gate.audit import Line
from storage import chain


async def verify(settings: Settings, head: str, count: int) -> int:
    """Check the chain, through an earlier head when one is given. 1 when it is broken."""
    anchor = _anchor(head, count)
    async with database(settings) as engine:
        found = await chain.verify(engine, settings.audit_key(make=False), anchor)
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
        sys.stdout.write(_words(await chain.head(engine)) + "\n")


async def export(settings: Settings) -> None:
    """Write every entry as one line of JSON, in order, with what is needed to check the chain."""
    async with database(settings) as engine:
        async for line in chain.entries(engine):
            sys.stdout.write(json.dumps(_plain(line), ensure_ascii=False) + "\n")


def _anchor(head: str, count: int) -> chain.Head | None:
    if not head and not count:
        return None
    if count < 1 or not re.fullmatch("[0-9a-f]{64}", head):
        raise CommandError(
            "Give both --head, 64 hexadecimal digits, and --count, as `audit head` shows them."
        )
    return chain.Head(count, head)


def _words(end: chain.Head) -> str:
    return f"--head {end.mac} --count {end.seq}"


def _plain(line: Line) -> dict[str, object]:
    place = {"seq": line.seq, "at": line.at.isoformat(timespec="microseconds")}
    return {**place, **asdict(line.entry), "prev": line.prev, "mac": line.mac}
