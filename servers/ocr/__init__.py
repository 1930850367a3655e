"""An MCP server that reads text off pictures: images and the pages of PDFs, with Tesseract."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer

from servers.command_line import Clock, utc_now
from servers.folders import House, assembled
from servers.ocr.tools import CARDS, Reading

__all__ = ["server"]


ABOUT = "Text read off pictures and pages of PDFs with Tesseract. It may be wrong: it says how sure it is."


def server(roots: Sequence[Path], clock: Clock = utc_now) -> MCPServer:
    """The server over these folders. Raises ValueError with a sentence when a folder is missing or two share a name."""
    house = House.at(roots, clock)
    return assembled("ocr", "Text in pictures", ABOUT, house, CARDS, Reading(house.roots))
