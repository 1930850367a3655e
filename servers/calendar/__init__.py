"""An MCP server over folders of iCalendar files: events, free time, time zones, changes that can be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from servers.calendar.tools import CARDS, Tools, new_id
from servers.command_line import Arguments, Clock, utc_now, zone
from servers.days import Days
from servers.filesystem import trash
from servers.folders import House
from servers.tool_metadata import mcp_server

__all__ = ["configured", "server"]


def server(
    folders: Sequence[Path],
    timezone: ZoneInfo | None = None,
    clock: Clock = utc_now,
    ids: Callable[[], str] = new_id,
) -> MCPServer:
    """The server over the iCalendar files in these folders; new events go to the first.

    `timezone` (UTC when none) is the one that times without a zone are said and shown in. Raises ValueError with a
    sentence when a folder is missing or two share a name.
    """
    house, days = House.at(folders, clock), Days(clock, timezone or zone("UTC"))
    owners = (Tools(house.roots, days, ids), house.file_tools)
    about = (
        "Events in iCalendar files. Times are written 2026-11-24 14:00, tomorrow 9:30 or friday 2pm; a day alone is "
        f"all day. The time zone is {days.zone.key}. Deleted events stay {trash.KEEP.days} days in the trash."
    )
    return mcp_server("calendar", "Calendar", about, CARDS, owners, house.roots.places)


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
