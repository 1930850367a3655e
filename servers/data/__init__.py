"""An MCP server over records: SQLite read without a doubt, tables looked through, rows and CSV files written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer

from servers.command_line import Clock, utc_now
from servers.data.tools import CARDS, Tools
from servers.folders import House, assembled

__all__ = ["server"]


ABOUT = "SQLite databases and tables in files: reading cannot write, writing shows every row before."


def server(roots: Sequence[Path], clock: Clock = utc_now) -> MCPServer:
    """The server over these folders. `clock` gives aware times: it dates what is kept for the way back.

    Raises ValueError with a sentence when a folder is missing or two share a name.
    """
    house = House.at(roots, clock)
    return assembled("data", "Data", ABOUT, house, CARDS, Tools(house.roots, house.clock))
