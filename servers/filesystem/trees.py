"""A file, or a folder with all that is in it, as one thing: hashed, copied, removed. Links are never followed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import disk, paths, rights
from servers.filesystem.disk import Found
from servers.filesystem.paths import Place, Roots, Spot

MOST_NAMES = 2_000  # in one folder, at any depth
MOST_OURS = 100_000  # names of a folder in `.countersign` that are looked at: others may have put more there
DEEPEST = 64
MOST_CHARACTERS = 1 << 20  # characters of these names, each with the folders that it is in
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Part(NamedTuple):
    """One thing in a folder, by its path below it."""

    path: str
    kind: str  # file or folder
    size: int


@dataclass
class Tally:
    """What was seen of a folder so far."""

    said: str
    device: int
    parts: list[Part] = field(default_factory=list)
    size: int = 0
    lines: list[str] = field(default_factory=list)
    characters: int = 0

    def take(self, path: str, kind: str, mode: int, found: Found | None = None) -> None:
        self.parts.append(Part(paths.shown(path), kind, found.size if found else 0))
        self.size += found.size if found else 0
        self.lines.append(f"{kind} {mode & 0o777:o} {found.sha256 if found else '-'} {path}\0")
        self.characters += len(path)
        if len(self.parts) > MOST_NAMES or self.characters > MOST_CHARACTERS or path.count("/") >= DEEPEST:
            raise ToolError(
                f"{self.said} holds more than {MOST_NAMES} names, or longer ones, or more than {DEEPEST} folders in "
                "each other. Take the folders in it one by one."
            )
        if self.size > disk.LARGEST:
            raise ToolError(f"{self.said} holds more than 1 GB. Take the folders in it one by one.")

    @property
    def sha256(self) -> str:
        """Over every path, mode and content: it changes with anything in the folder."""
        return hashlib.sha256("".join(self.lines).encode("utf-8", "surrogateescape")).hexdigest()


def examine(spot: Spot, copy_to: Spot | None = None) -> Found:
    """The plain file or the folder at a spot, hashed, and copied when a free spot is given.

    Raises ToolError for anything that is no plain file with one name, in a folder too, and for what is too large.
    """
    info = disk.status(spot)
    if info is not None and stat.S_ISDIR(info.st_mode):
        return parts(spot, copy_to)[0]
    if copy_to is None:
        return disk.sole(spot.said, disk.examine(spot))
    with disk.reading(spot) as file, disk.staging(copy_to, like=file) as copy:
        return disk.measure(file, spot.said, copy_to=copy)


def parts(spot: Spot, copy_to: Spot | None = None) -> tuple[Found, list[Part]]:
    """As examine, for a folder; and what is in it."""
    with _entered(spot) as folder, _made(copy_to) as copy:
        info = os.fstat(folder)
        tally = Tally(spot.said, info.st_dev)
        tally.lines.append(f"folder {info.st_mode & 0o777:o}\0")
        _through(folder, "", tally, copy)
        if copy is not None:
            _finished(copy, folder)
    return Found(tally.sha256, tally.size, info.st_mode, disk.modified(info), 1), tally.parts


def together(spots: Sequence[Spot]) -> list[tuple[Found, list[Part]]]:
    """What goes at once, each as by `parts`. Raises ToolError for more than 1 GB in all: of files before one is hashed,
    of folders before the next one is."""
    stand = [disk.status(spot) for spot in spots]
    sizes = [info.st_size if info and stat.S_ISREG(info.st_mode) else 0 for info in stand]
    found = list[tuple[Found, list[Part]]]()
    for number, (spot, info) in enumerate(zip(spots, stand, strict=True)):
        _must_fit(sizes)
        found.append(parts(spot) if info and stat.S_ISDIR(info.st_mode) else (examine(spot), []))
        sizes[number] = found[-1][0].size
    _must_fit(sizes)
    return found


def _must_fit(sizes: Sequence[int]) -> None:
    if len(sizes) > 1 and sum(sizes) > disk.LARGEST:
        raise ToolError("These hold more than 1 GB in all. Delete fewer of them at once.")


def some_names(folder: int, most: int = MOST_NAMES + 2) -> list[str]:
    """The names in a folder; of a very full one as many as are too many. To put a million of them in order would hold
    up all threads, and so would one call that gives them all: here others run in between."""
    with os.scandir(folder) as entries:
        return [entry.name for entry in islice(entries, most)]


def _through(folder: int, below: str, tally: Tally, copy: int | None) -> None:
    """Every name in a folder, in order, and below it."""
    for name in sorted(some_names(folder)):
        path = below + name
        here = Spot(folder, name, f"{tally.said}/{paths.shown(path)}")
        there = None if copy is None else Spot(copy, name, here.said)
        if paths.is_private(name):
            raise ToolError(
                f"{tally.said} holds another allowed folder, at {paths.shown(below) or '.'}. It stays."
            )
        info = disk.status(here)
        if info is None or not stat.S_ISDIR(info.st_mode):
            found = disk.sole(here.said, examine(here, there))
            tally.take(path, "file", found.mode, found)
        else:
            _into(here, path, tally, there)


def _into(here: Spot, path: str, tally: Tally, there: Spot | None) -> None:
    with _entered(here) as inner, _made(there) as copy:
        info = os.fstat(inner)
        if info.st_dev != tally.device:
            raise ToolError(
                f"{here.said} is another disk, mounted there. Take the folders beside it one by one."
            )
        tally.take(path, "folder", info.st_mode)
        _through(inner, path + "/", tally, copy)
        if copy is not None:
            _finished(copy, inner)


def _enter(spot: Spot) -> int:
    try:
        return os.open(spot.name, _FOLDER, dir_fd=spot.folder)
    except OSError as error:
        raise ToolError(f"{spot.said} cannot be entered: {error.strerror}.") from None


@contextmanager
def _entered(spot: Spot) -> Iterator[int]:
    folder = _enter(spot)
    try:
        yield folder
    finally:
        os.close(folder)


@contextmanager
def _made(spot: Spot | None) -> Iterator[int | None]:
    """A new folder at a spot of ours; none when there is no spot."""
    if spot is None:
        yield None
        return
    os.mkdir(spot.name, 0o700, dir_fd=spot.folder)
    with _entered(spot) as folder:
        yield folder


def _finished(copy: int, folder: int) -> None:
    os.fsync(copy)
    rights.keep(copy, folder)


def remove(spot: Spot) -> None:
    """Remove what is at a spot of ours, whatever it is; nothing is there is fine too."""
    info = disk.status(spot)
    if info is None:
        return
    if stat.S_ISDIR(info.st_mode):
        _empty(spot)
        os.rmdir(spot.name, dir_fd=spot.folder)
    else:
        disk.remove(spot)


class _Level(NamedTuple):
    """A folder that is being emptied."""

    which: tuple[int, int]  # its device and inode
    folders: list[str]  # that are still in it


def _empty(spot: Spot) -> None:
    """Remove all that is in a folder of ours. One folder is open at a time, and none is entered by recursion: others
    nest them deeper than Python calls itself, or than a process may have files open.

    A link that took the place of a folder is not followed: its mode is that of a folder elsewhere.
    """
    here = _enter(spot)
    try:
        levels = [_without_files(here)]
        while levels[-1].folders or len(levels) > 1:
            if folders := levels[-1].folders:
                here = _moved(here, folders[-1], spot.said)
                levels.append(_without_files(here))
                continue
            levels.pop()
            here = _moved(here, "..", spot.said)
            info = os.fstat(here)
            if (info.st_dev, info.st_ino) != levels[-1].which:
                raise ToolError(f"{spot.said} was moved while it was removed. Look at it by hand.")
            os.rmdir(levels[-1].folders.pop(), dir_fd=here)
    finally:
        os.close(here)


def _moved(here: int, name: str, said: str) -> int:
    """A folder in an open one, or the one above it, open in its place. Raises ToolError."""
    there = _enter(Spot(here, name, said))
    os.close(here)
    return there


def _without_files(folder: int) -> _Level:
    with suppress(PermissionError):  # somebody else's, which we may be allowed to empty all the same
        os.fchmod(folder, 0o700)  # one that its owner may only read keeps its names
    with os.scandir(folder) as scan:
        found = [(one.name, one.is_dir(follow_symlinks=False)) for one in scan]
    for name in [name for name, is_folder in found if not is_folder]:
        os.unlink(name, dir_fd=folder)
    info = os.fstat(folder)
    return _Level((info.st_dev, info.st_ino), [name for name, is_folder in found if is_folder])


def free(roots: Roots, source: Place, destination: Place | None = None) -> None:
    """Raise ToolError when `source` holds an allowed folder, or the destination lies in it."""
    own = source.root.path.joinpath(*source.parts)
    if any(root.path == own or own in root.path.parents for root in roots.roots):
        raise ToolError(f"{source.said} holds an allowed folder of this server, which stays where it is.")
    if destination is None:
        return
    end = destination.root.path.joinpath(*destination.parts)
    if own in end.parents:
        raise ToolError(f"{destination.said} lies in {source.said} itself. Choose a place outside of it.")
