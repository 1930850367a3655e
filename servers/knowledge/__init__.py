"""An MCP server that knows what is in files: an index of their text, searched and asked, with sources."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer

from servers.command_line import Clock, utc_now
from servers.folders import House, assembled
from servers.knowledge.tools import CARDS, Changing, Reading

__all__ = ["server"]


ABOUT = "An index of the text in files: searched, asked, and kept up to date."


def server(roots: Sequence[Path], clock: Clock = utc_now) -> MCPServer:
    """The server over these folders. `clock` gives aware times: it dates the earlier indexes that are kept.

    Raises ValueError with a sentence when a folder is missing or two share a name.
    """
    house = House.at(roots, clock)
    reading, changing = Reading(house.roots), Changing(house.roots, house.clock)
    return assembled("knowledge", "Knowledge", ABOUT, house, CARDS, reading, changing)
