"""An MCP server over the log of the bot: what was called, who confirmed it, reports as text and as PDF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from servers.audit.log import Log
from servers.audit.tools import CARDS, Tools
from servers.command_line import Arguments, Clock, utc_now, zone
from servers.days import Days
from servers.folders import House, assembled

__all__ = ["configured", "server"]


ABOUT = (
    "The log of the bot: every tool call, and who confirmed or rejected it. It is only read; reports go to files. Days "
    "are written 2026-11-24, or today, friday. The time zone is {}."
)


def server(
    database: str,
    roots: Sequence[Path],
    team: str = "",
    timezone: ZoneInfo | None = None,
    clock: Clock = utc_now,
) -> MCPServer:
    """The server over the log in this database. `team`: only what happened in one Slack workspace.

    Raises ValueError with a sentence when the database is none of the bot, or a folder is missing.
    """
    house, days = House.at(roots, clock), Days(clock, timezone or zone("UTC"))
    tools = Tools(Log.at(database, team), days, house.roots, house.clock)
    about = ABOUT.format(days.zone.key)
    return assembled("audit", "Audit log", about, house, CARDS, tools)


def configured(words: Sequence[str | Path]) -> MCPServer:
    """The server as its arguments say. Raises ValueError with a sentence."""
    parser = Arguments(prog="python -m servers.audit", description="An MCP server over the log of the bot.")
    parser.add_argument(
        "--database",
        required=True,
        metavar="URL",
        help="as DATABASE_URL of the bot, or the path of its SQLite file",
    )
    parser.add_argument("--root", action="append", type=Path, required=True, metavar="DIR")
    parser.add_argument("--team", default="", help="show only this Slack workspace")
    parser.add_argument("--timezone", default="UTC", metavar="ZONE", help="like Europe/Berlin")
    found = parser.parse_args([str(word) for word in words])
    try:
        return server(found.database, found.root, found.team, zone(found.timezone))
    except ToolError as error:
        raise ValueError(str(error)) from error
