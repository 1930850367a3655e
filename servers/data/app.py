"""Puts the server together: its folders, their trash, and its tools with their cards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer

from servers.arguments import Clock, utc_now
from servers.data.changing import Changing
from servers.data.reading import Reading
from servers.data.recipes import CARDS
from servers.folders import House, assembled

ABOUT = "SQLite databases and tables in files: reading cannot write, writing shows every row before."


def server(roots: Sequence[Path], clock: Clock = utc_now) -> MCPServer:
    """The server over these folders. `clock` gives aware times: it dates what is kept for the way back.

    Raises ValueError with a sentence when a folder is missing or two share a name.
    """
    house = House.at(roots, clock)
    reading, changing = Reading(house.roots, house.clock), Changing(house.roots, house.clock)
    return assembled("data", "Data", ABOUT, house, CARDS, reading, changing)
