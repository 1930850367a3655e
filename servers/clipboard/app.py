"""Puts the server together: its tools, each with its card, over one clipboard and the folder of its history."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer

from servers.arguments import Arguments, Clock, utc_now
from servers.cards import tool
from servers.clipboard.changing import Changing
from servers.clipboard.history import History
from servers.clipboard.host import Clipboard, Host
from servers.clipboard.reading import Reading
from servers.clipboard.recipes import CARDS

VERSION = "1.0"
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
    return MCPServer(
        "countersign-clipboard",
        title="Clipboard",
        version=VERSION,
        instructions=ABOUT,
        tools=[
            tool(getattr(reading if card.reads else changing, name), card) for name, card in CARDS.items()
        ],
        log_level="WARNING",
    )


def configured(words: Sequence[str | Path]) -> MCPServer:
    """The server as its arguments say. Raises ValueError with a sentence."""
    parser = Arguments(prog="python -m servers.clipboard", description="An MCP server over the clipboard.")
    parser.add_argument("--folder", type=Path, required=True, metavar="DIR", help="where its history is kept")
    return server(parser.parse_args([str(word) for word in words]).folder)
