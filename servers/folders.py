"""Servers over folders, and the files that their tools make: shown before, written in one step, taken back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from servers.command_line import Arguments, Clock, serve
from servers.filesystem import disk, file_ops, path_arguments, trash
from servers.filesystem.file_ops import Answer
from servers.filesystem.models import Item
from servers.filesystem.paths import Place, Roots, spot
from servers.filesystem.text import read_at
from servers.filesystem.tools import CARDS, Tools
from servers.sandbox import calling
from servers.sandbox.calling import Blob, Streamed, filled, pieces, unbroken
from servers.tool_metadata import Card, mcp_server
from servers.tool_metadata import change as changing

LARGEST_MADE = 128 << 20  # bytes

# What the way back of a made file needs, as the filesystem server has it.
WAYS_BACK: dict[str, Card] = {
    name: CARDS[name]
    for name in ("get_metadata", "describe_paths", "preview_restore", "delete_file", "restore_file")
}
_BACK = {key: CARDS["write_file"].recipe[key] for key in ("recoverable", "keeps_days", "undo", "drift")}


@dataclass(frozen=True)
class Target:
    """Where a file would be made, and what is there now."""

    place: Place
    sha256: str  # or “absent”
    size: int

    @property
    def item(self) -> Item:
        """As a card lists it, saying whether something gives way."""
        if self.sha256 == disk.ABSENT:
            return Item(name=f"{self.place.said} (new)", kind="file")
        return Item(name=f"{self.place.said}{self.gives_way()}", kind="file", size=self.size)

    def gives_way(self, source: str = "") -> str:
        """What a sentence says of a file that gives way, other than the one that the new one is made from; or ""."""
        if self.sha256 == disk.ABSENT or self.place.said == source:
            return ""
        return " (in place of the present one, which goes to the trash)"

    def must_not_be(self, source: str) -> None:
        """Raise ToolError when the file that it is made from is at the same path."""
        if self.place.said == source:
            raise ToolError("Source and destination are the same file. Choose another name.")


def makes(title: str, verb: str, summary: str, **more: Any) -> Card:
    """The card of a tool that makes one file and answers as Written does."""
    return changing(title, verb, summary, **_BACK, **more)


def named(roots: Roots, path: str, *endings: str) -> tuple[Place, str]:
    """The place of a file that is read, and which of the endings it has; "" where any will do. Raises ToolError."""
    place = path_arguments.file(roots, path)
    ending = next((one for one in endings if place.said.lower().endswith(one)), "")
    if endings and not ending:
        raise ToolError(f"{place.said} must end in {' or '.join(endings)}. Name such a file.")
    return place, ending


def target(roots: Roots, path: str, *endings: str) -> Target:
    """Look at where a file would be made. Raises ToolError for what would be refused."""
    place = path_arguments.file(roots, path)
    if endings and not place.parts[-1].lower().endswith(endings):
        raise ToolError(f"{place.said} must end in {' or '.join(endings)}. Choose such a name.")
    with spot(place) as here:
        found = disk.find(here)
    if found:
        disk.sole(place.said, found)
    return Target(place, found.sha256 if found else disk.ABSENT, found.size if found else 0)


def put(
    place: Place, data: Blob, expected: str | None, at: datetime, kind: type[Answer], **more: Any
) -> Answer:
    """Write the bytes. `expected`: SHA-256 that is replaced, or “absent”; None: whatever is there.

    Returns a `kind` with `more` in it. Raises ToolError when something else is there; then nothing has changed.
    """
    size = calling.size_of(data)
    if size > LARGEST_MADE:
        raise ToolError(
            f"{place.said} would be {size} bytes long, more than {LARGEST_MADE}. Make it smaller."
        )
    return file_ops.put(place, data, expected, at, kind, **more)


def put_shown(
    goal: Target,
    data: bytes,
    shown: tuple[str | None, str | None],
    at: datetime,
    kind: type[Answer],
    **more: Any,
) -> Answer:
    """As `put`, for bytes that a preview made too. `shown`: the SHA-256 of what gives way and of the new file as they
    were shown; None: anything. Raises ToolError when either is another one now."""
    before, made = shown
    if made is not None and disk.sha256(data) != made:
        raise ToolError(f"What {goal.place.said} is made of has changed since it was shown. Ask again.")
    return put(goal.place, data, before, at, kind, **more)


def bytes_of(place: Place, most: int, expected: str | None = None) -> tuple[bytes, str]:
    """A file's bytes and their SHA-256. Raises ToolError when it is larger than `most` or not `expected`."""
    with spot(place) as here, disk.reading(here) as file:
        data = read_at(file, 0, most + 1)
    _must_fit(place, len(data), most)
    sha256 = disk.sha256(data)
    disk.must_be(place.said, sha256, expected)
    return data, sha256


@contextmanager
def copied(place: Place, most: int, expected: str | None = None) -> Iterator[Streamed]:
    """As bytes_of, in a file of ours and not in memory: nobody else can change them meanwhile."""
    with TemporaryFile() as copy:
        with streamed(place, most) as source, unbroken(place.said):
            found = filled(copy, pieces(source))
        disk.must_be(place.said, disk.measure(found.file, place.said).sha256, expected)
        yield found


def _must_fit(place: Place, size: int, most: int) -> None:
    if size > most:
        raise ToolError(
            f"{place.said} is larger than {most >> 20} MB, the most this tool reads. Take a part of it."
        )


@contextmanager
def streamed(place: Place, most: int) -> Iterator[Streamed]:
    """A file, open and not held. Raises ToolError when it is larger than `most`."""
    with spot(place) as here, disk.reading(here) as file:
        size = os.fstat(file).st_size
        _must_fit(place, size, most)
        yield Streamed(file, size)


def size_of(place: Place) -> int:
    """How many bytes a file has now. Raises ToolError when it is none."""
    with spot(place) as here, disk.reading(here) as file:
        return os.fstat(file).st_size


PATHS = "Paths are relative to the first; with several folders, begin a path with the folder's name."


@dataclass(frozen=True)
class House:
    """The folders of a server, and the clock that dates what they keep: it purges their trash once a day."""

    roots: Roots
    clock: Clock

    @classmethod
    def at(cls, folders: Sequence[Path], clock: Clock) -> House:
        """Their trash is purged now. Raises ValueError with a sentence when a folder is missing or two share a name."""
        roots = Roots.at(folders)
        daily = trash.Daily(roots, clock)
        daily.purge(clock())
        return cls(roots, daily.now)

    @property
    def file_tools(self) -> Tools:
        """The tools of the filesystem server over these folders: they lead back from a file that was made."""
        return Tools(self.roots, self.clock)


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
    everyone = (*owners, house.file_tools)
    folders = ", ".join(root.name for root in house.roots.roots)
    said = (
        f"{about} The allowed folders: {folders}. {PATHS} "
        f"Files that give way stay {trash.KEEP.days} days in the trash."
    )
    return mcp_server(name, title, said, cards, everyone, house.roots.places)


def alone(name: str, about: str, server: Callable[[Sequence[Path]], MCPServer]) -> None:
    """Serve what `server` makes of the folders behind `--root`, on standard input and output."""

    def made(given: Sequence[str | Path]) -> MCPServer:
        parser = Arguments(prog=f"python -m servers.{name}", description=about)
        parser.add_argument("--root", action="append", type=Path, required=True, metavar="DIR")
        try:
            return server(parser.parse_args([str(word) for word in given]).root)
        except ToolError as error:
            raise ValueError(str(error)) from error

    serve(made)
