"""An MCP server over the host that it runs on: what it is, what runs, its screen, and the applications it may open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer

from servers.cards import mcp_server
from servers.command_line import Arguments
from servers.filesystem.paths import Roots
from servers.system.host import Application, Screen, grabbed, named
from servers.system.tools import CARDS, Changing, Reading

__all__ = ["configured", "server"]
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
    about = ABOUT.format(", ".join(known) or "none", ", ".join(root.name for root in house.roots) or "none")
    return mcp_server("system", "System", about, CARDS, (reading, changing), house.places)


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
