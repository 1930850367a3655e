"""An MCP server over documents: PDF, Word, spreadsheets and text are read, compared, converted and made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer

from servers.command_line import Clock, utc_now
from servers.document.tools import CARDS, Tools
from servers.folders import House, assembled

__all__ = ["server"]


ABOUT = "PDF, Word, spreadsheet and text files: read, compared, converted and made."


def server(roots: Sequence[Path], clock: Clock = utc_now) -> MCPServer:
    """The server over these folders. `clock` gives aware times: it dates what is kept for the way back.

    Raises ValueError with a sentence when a folder is missing or two share a name.
    """
    house = House.at(roots, clock)
    return assembled("document", "Documents", ABOUT, house, CARDS, Tools(house.roots, house.clock))
