"""An MCP server over folders of iCalendar files: events, free time, time zones, changes that can be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from servers.calendar.tools import CARDS, Changing, Reading, new_id
from servers.cards import mcp_server
from servers.command_line import Arguments, Clock, utc_now, zone
from servers.days import Days
from servers.filesystem import change_tools, read_tools, trash
from servers.filesystem.paths import Roots

__all__ = ["configured", "server"]


def server(
    folders: Sequence[Path],
    timezone: ZoneInfo | None = None,
    clock: Clock = utc_now,
    ids: Callable[[], str] = new_id,
) -> MCPServer:
    """The server over the iCalendar files in these folders; new events go to the first.

    `timezone` (UTC when none) is the one that times without a zone are said and shown in. Raises ValueError with a
    sentence when a folder is missing or two share a name, ToolError when `.countersign` in one is not ours.
    """
    roots, days = Roots.at(folders), Days(clock, timezone or zone("UTC"))
    for root in roots.roots:
        trash.purge(root, clock())
    owners = (
        Reading(roots, days),
        Changing(roots, days, ids),
        read_tools.Reading(roots),
        change_tools.Changing(roots, trash.Daily(roots, clock).now),
    )
    about = (
        "Events in iCalendar files. Times are written 2026-11-24 14:00, tomorrow 9:30 or friday 2pm; a day alone is "
        f"all day. The time zone is {days.zone.key}. Deleted events stay {trash.KEEP.days} days in the trash."
    )
    return mcp_server("calendar", "Calendar", about, CARDS, owners, roots.places)


def configured(words: Sequence[str | Path]) -> MCPServer:
    """The server as its arguments say. Raises ValueError with a sentence."""
    parser = Arguments(prog="python -m servers.calendar", description="An MCP server over iCalendar files.")
    parser.add_argument("--folder", type=Path, action="append", required=True, help="a folder of .ics files")
    parser.add_argument("--timezone", type=str, default="UTC", metavar="ZONE", help="like Europe/Berlin")
    found = parser.parse_args([str(word) for word in words])
    try:
        return server(found.folder, zone(found.timezone))
    except ToolError as error:
        raise ValueError(str(error)) from error
