"""An MCP server over the clipboard of this host, with a history of what gave way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer

from servers.cards import mcp_server
from servers.clipboard.history import History
from servers.clipboard.host import Clipboard, Host
from servers.clipboard.tools import CARDS, Changing, Reading
from servers.command_line import Arguments, Clock, utc_now

__all__ = ["configured", "server"]
ABOUT = (
    "The clipboard of the host where this server runs. What this server puts there, and what gives way to it, is "
    "kept in a history of its own; what looks secret is not."
)


def server(folder: Path, clipboard: Clipboard | None = None, clock: Clock = utc_now) -> MCPServer:
    """The server over this host's clipboard, unless another is given. Its history is a file in `folder`.

    Raises ValueError with a sentence when the folder or the file in it cannot be used.
    """
    here, history = clipboard or Host(), History.at(folder, clock)
    reading, changing = Reading(here, history), Changing(here, history)
    return mcp_server("clipboard", "Clipboard", ABOUT, CARDS, (reading, changing))


def configured(words: Sequence[str | Path]) -> MCPServer:
    """The server as its arguments say. Raises ValueError with a sentence."""
    parser = Arguments(prog="python -m servers.clipboard", description="An MCP server over the clipboard.")
    parser.add_argument("--folder", type=Path, required=True, metavar="DIR", help="where its history is kept")
    return server(parser.parse_args([str(word) for word in words]).folder)
