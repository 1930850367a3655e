"""Puts the server together: its tools, each with its card, over one file and one time zone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from mcp.server import MCPServer

from servers.arguments import Arguments, Clock, utc_now, zone
from servers.cards import tool
from servers.days import Days
from servers.task.changing import Changing
from servers.task.reading import Reading
from servers.task.recipes import CARDS
from servers.task.store import Store

VERSION = "1.0"


def server(file: Path, timezone: ZoneInfo | None = None, clock: Clock = utc_now) -> MCPServer:
    """The server over this file, which is made when it is not there. `timezone` (UTC when none) says what today is.

    Raises ValueError with a sentence when the file cannot be used.
    """
    store, days = Store.at(file), Days(clock, timezone or zone("UTC"))
    reading, changing = Reading(store, days), Changing(store, days)
    about = (
        "A list of tasks, each with a number that stays its own. Days are written 2026-11-24, or today, tomorrow, "
        f"friday, in 3 days. The time zone is {days.zone.key}."
    )
    return MCPServer(
        "countersign-task",
        title="Tasks",
        version=VERSION,
        instructions=about,
        tools=[
            tool(getattr(reading if card.reads else changing, name), card) for name, card in CARDS.items()
        ],
        log_level="WARNING",
    )


def configured(words: Sequence[str | Path]) -> MCPServer:
    """The server as its arguments say. Raises ValueError with a sentence."""
    parser = Arguments(prog="python -m servers.task", description="An MCP server over a list of tasks.")
    parser.add_argument("--file", type=Path, required=True, help="the SQLite file; made when missing")
    parser.add_argument("--timezone", type=str, default="UTC", metavar="ZONE", help="like Europe/Berlin")
    found = parser.parse_args([str(word) for word in words])
    return server(found.file, zone(found.timezone))
