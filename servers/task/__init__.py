"""An MCP server over a list of tasks in one SQLite file: what is due, a briefing, changes that can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from mcp.server import MCPServer

from servers.command_line import Arguments, Clock, utc_now, zone
from servers.days import Days
from servers.task.store import Store
from servers.task.tools import CARDS, Tools
from servers.tool_metadata import mcp_server

__all__ = ["configured", "server"]


def server(file: Path, timezone: ZoneInfo | None = None, clock: Clock = utc_now) -> MCPServer:
    """The server over this file, which is made when it is not there. `timezone` (UTC when none) says what today is.

    Raises ValueError with a sentence when the file cannot be used.
    """
    store, days = Store.at(file), Days(clock, timezone or zone("UTC"))
    about = (
        "A list of tasks, each with a number that stays its own. Days are written 2026-11-24, or today, tomorrow, "
        f"friday, in 3 days. The time zone is {days.zone.key}."
    )
    return mcp_server("task", "Tasks", about, CARDS, [Tools(store, days)])


def configured(words: Sequence[str | Path]) -> MCPServer:
    """The server as its arguments say. Raises ValueError with a sentence."""
    parser = Arguments(prog="python -m servers.task", description="An MCP server over a list of tasks.")
    parser.add_argument("--file", type=Path, required=True, help="the SQLite file; made when missing")
    parser.add_argument("--timezone", type=str, default="UTC", metavar="ZONE", help="like Europe/Berlin")
    found = parser.parse_args([str(word) for word in words])
    return server(found.file, zone(found.timezone))
