"""A server over folders, put together from cards, on its own or inside a bot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from servers.arguments import Arguments, Clock, serve
from servers.cards import Card, tool
from servers.filesystem import trash
from servers.filesystem.changing import Changing
from servers.filesystem.reading import Reading
from servers.filesystem.roots import Roots

VERSION = "1.0"
PATHS = "Paths are relative to the first; with several folders, begin a path with the folder's name."


@dataclass(frozen=True)
class House:
    """The folders of a server, and the clock that dates what they keep: it purges their trash once a day."""

    roots: Roots
    clock: Clock

    @classmethod
    def at(cls, folders: Sequence[Path], clock: Clock) -> House:
        """Raises ValueError with a sentence when a folder is missing or two share a name."""
        roots = Roots.at(folders)
        return cls(roots, trash.Daily(roots, clock).now)


def assembled(
    name: str,
    title: str,
    about: str,
    house: House,
    cards: Mapping[str, Card],
    *owners: object,
) -> MCPServer:
    """A server of these cards. Each tool is the method of that name of the first owner that has one; what leads
    back from a file that was made is the filesystem server's."""
    everyone = (*owners, Reading(house.roots), Changing(house.roots, house.clock))
    folders = ", ".join(root.name for root in house.roots.roots)
    return MCPServer(
        f"countersign-{name}",
        title=title,
        version=VERSION,
        instructions=f"{about} The allowed folders: {folders}. {PATHS} "
        f"Files that give way stay {trash.KEEP.days} days in the trash.",
        tools=[
            tool(next(getattr(owner, key) for owner in everyone if hasattr(owner, key)), card)
            for key, card in cards.items()
        ],
        log_level="WARNING",
    )


def alone(name: str, about: str, server: Callable[[Sequence[Path]], MCPServer], words: Sequence[str]) -> None:
    """Serve what `server` makes of the folders behind `--root`, on standard input and output."""

    def made(given: Sequence[str | Path]) -> MCPServer:
        parser = Arguments(prog=f"python -m servers.{name}", description=about)
        parser.add_argument("--root", action="append", type=Path, required=True, metavar="DIR")
        try:
            return server(parser.parse_args([str(word) for word in given]).root)
        except ToolError as error:
            raise ValueError(str(error)) from error

    serve(made, words)
