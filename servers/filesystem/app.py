"""Puts the server together: its tools, each with its card."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from mcp.server import MCPServer

from servers.cards import tool
from servers.filesystem import trash
from servers.filesystem.changing import Changing
from servers.filesystem.reading import Reading
from servers.filesystem.recipes import CARDS
from servers.filesystem.roots import Roots

VERSION = "1.0"


def utc_now() -> datetime:
    return datetime.now(UTC)


def server(roots: Sequence[Path], clock: Callable[[], datetime] = utc_now) -> MCPServer:
    """The server over these folders. `clock` gives aware times: it dates the trash, and purges it now and daily.

    Raises ValueError with a sentence when a folder is missing or two share a name, ToolError when `.countersign`
    in one of them is not a folder of ours.
    """
    house = Roots.at(roots)
    for root in house.roots:
        trash.purge(root, clock())
    reading, changing = Reading(house, True), Changing(house, trash.Daily(house, clock).now, True)
    names = ", ".join(root.name for root in house.roots)
    return MCPServer(
        "countersign-filesystem",
        title="Files",
        version=VERSION,
        instructions=f"Files in these folders: {names}. Paths are relative to the first; with several folders, "
        f"begin a path with the folder's name. Deleted and replaced files stay {trash.KEEP.days} days in the trash.",
        tools=[
            tool(getattr(reading if card.reads else changing, name), card) for name, card in CARDS.items()
        ],
        log_level="WARNING",
    )
