"""Puts the server together: its folders, their trash, and its tools with their cards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer

from servers.arguments import Clock, utc_now
from servers.document.changing import Changing
from servers.document.reading import Reading
from servers.document.recipes import CARDS
from servers.folders import House, assembled

ABOUT = "PDF, Word, spreadsheet and text files: read, compared, converted and made."


def server(roots: Sequence[Path], clock: Clock = utc_now) -> MCPServer:
    """The server over these folders. `clock` gives aware times: it dates what is kept for the way back.

    Raises ValueError with a sentence when a folder is missing or two share a name.
    """
    house = House.at(roots, clock)
    reading, changing = Reading(house.roots), Changing(house.roots, house.clock)
    return assembled("document", "Documents", ABOUT, house, CARDS, reading, changing)
