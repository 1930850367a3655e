"""An MCP server that looks after files: personal data, secrets, twins, what could go, and encryption with age."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer

from servers.command_line import Clock, utc_now
from servers.folders import House, assembled
from servers.security.tools import CARDS, Changing, Reading

__all__ = ["server"]


ABOUT = "Looks after files: personal data, secrets, twins, what could go, and encryption with age."


def server(roots: Sequence[Path], clock: Clock = utc_now) -> MCPServer:
    """The server over these folders. `clock` gives aware times: it says what is old, and dates what is kept.

    Raises ValueError with a sentence when a folder is missing or two share a name.
    """
    house = House.at(roots, clock)
    reading, changing = Reading(house.roots, clock), Changing(house.roots, house.clock)
    return assembled("security", "Security", ABOUT, house, CARDS, reading, changing)
