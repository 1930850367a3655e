"""Puts the server together: its tools, each with its card, over this host, its allow list and its folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer

from servers.arguments import Arguments
from servers.cards import tool
from servers.filesystem.roots import Roots
from servers.system.applications import Application, named
from servers.system.changing import Changing
from servers.system.reading import Reading
from servers.system.recipes import CARDS
from servers.system.screen import Screen, grabbed

VERSION = "1.0"
ABOUT = "The host where this server runs. It opens only these applications: {}. Files are opened in these folders: {}."


def server(
    applications: Sequence[Application] = (), roots: Sequence[Path] = (), screen: Screen = grabbed
) -> MCPServer:
    """The server over this host, with the applications that may be opened and the folders whose files may be.

    Raises ValueError with a sentence when a folder is missing or two share a name.
    """
    known = {one.name: one for one in applications}
    house = Roots.at(roots) if roots else Roots(())
    reading, changing = Reading(known, house, screen), Changing(known, house)
    return MCPServer(
        "countersign-system",
        title="System",
        version=VERSION,
        instructions=ABOUT.format(
            ", ".join(known) or "none", ", ".join(root.name for root in house.roots) or "none"
        ),
        tools=[
            tool(getattr(reading if card.reads else changing, name), card) for name, card in CARDS.items()
        ],
        log_level="WARNING",
    )


def configured(words: Sequence[str | Path]) -> MCPServer:
    """The server as its arguments say. Raises ValueError with a sentence."""
    parser = Arguments(prog="python -m servers.system", description="An MCP server over this host.")
    parser.add_argument(
        "--application",
        action="append",
        default=[],
        metavar="NAME=PROGRAM",
        help="one that may be opened: its whole path, and arguments that always come first",
    )
    parser.add_argument(
        "--root", action="append", default=[], type=Path, metavar="DIR", help="whose files may be opened"
    )
    found = parser.parse_args([str(word) for word in words])
    return server([named(said) for said in found.application], found.root)
