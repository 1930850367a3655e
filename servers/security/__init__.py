"""An MCP server that looks after files: personal data, secrets, duplicates, what could go, and encryption with age."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from servers.command_line import Arguments, Clock, utc_now
from servers.filesystem.paths import Roots
from servers.folders import House, assembled
from servers.security.tools import CARDS, Keys, Tools, usual

__all__ = ["configured", "server"]


ABOUT = "Looks after files: personal data, secrets, duplicates, what could go, and encryption with age."


def server(roots: Sequence[Path], clock: Clock = utc_now, keys: Keys | None = None) -> MCPServer:
    """The server over these folders. `clock` gives aware times: it says what is old, and dates what is kept.

    `keys` None: a key of its own in the state folder of the user, never in the folders. Raises ValueError with a
    sentence when a folder is missing or two share a name.
    """
    house = House.at(roots, clock)
    tools = Tools(house.roots, house.clock, keys or Keys(usual()))
    return assembled("security", "Security", ABOUT, house, CARDS, tools)


def configured(words: Sequence[str | Path]) -> MCPServer:
    """The server as its arguments say. Raises ValueError with a sentence."""
    parser = Arguments(prog="python -m servers.security", description="An MCP server that looks after files.")
    parser.add_argument("--root", action="append", type=Path, required=True, metavar="DIR")
    parser.add_argument("--key-file", type=Path, help=f"the secret key, made when it is not there: {usual()}")
    parser.add_argument(
        "--recipient", action="append", default=[], metavar="age1…", help="who can always read"
    )
    parser.add_argument(
        "--no-key", action="store_true", help="encrypt for recipients alone; nothing is decrypted"
    )
    found = parser.parse_args([str(word) for word in words])
    try:
        file = None if found.no_key else found.key_file or usual()
        return server(found.root, keys=Keys.at(file, found.recipient, Roots.at(found.root)))
    except ToolError as error:
        raise ValueError(str(error)) from error
