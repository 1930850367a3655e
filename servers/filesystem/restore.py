"""The way back from the trash: onto a free name, or in exchange for what is there now."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import change, disk, look, names, rename, trash
from servers.filesystem.models import TrashedFile
from servers.filesystem.roots import Place, Root, Roots, Spot, private, spot


@dataclass(frozen=True)
class Back:
    """What came back: where, its SHA-256, and the trash id of what it took the place of, if anything."""

    places: list[Place]
    sha256: list[str]
    replaced: str | None = None


def preview(roots: Roots, trash_id: str) -> tuple[list[TrashedFile], list[Place], list[str]]:
    """What an entry holds, where it would go back to, and the SHA-256 of what is there now (or “absent”)."""
    root = trash.home(roots, trash_id)
    with trash.opened(root, trash_id) as (held, _):
        files = [file for _, file in held]
    places = _targets(roots, root, files)
    return files, places, [look.metadata(place).sha256 or "" for place in places]


def _targets(roots: Roots, root: Root, files: list[TrashedFile]) -> list[Place]:
    return [roots.place(root, names.split(file.path)) for file in files]


def restore(roots: Roots, trash_id: str, expected: str, at: datetime) -> Back:
    """Bring an entry back. `expected` is the SHA-256 of what it may take the place of, or “absent”.

    Raises ToolError when what is there now is something else; then nothing has changed.
    """
    root = trash.home(roots, trash_id)
    with change.alone(root), private(root, "trash") as bins, trash.opened(root, trash_id) as (held, entry):
        files = [file for _, file in held]
        places = _targets(roots, root, files)
        replaced = None
        if expected == disk.ABSENT:
            _bring_back([there for there, _ in held], places)
        else:
            replaced = _exchange(held, places, expected, at)
        trash.drop_if_empty(bins, entry, trash_id)
        return Back(places, [file.sha256 for file in files], replaced)


def _bring_back(bins: list[Spot], places: list[Place]) -> None:
    moved: list[tuple[Spot, Spot]] = []
    with ExitStack() as stack:
        spots = [stack.enter_context(spot(place)) for place in places]
        try:
            for there, here in zip(bins, spots, strict=True):
                _put(there, here)
                moved.append((there, here))
        except BaseException:
            change.put_back(moved)
            raise
        disk.settle(*spots, *bins)


def _put(there: Spot, here: Spot) -> None:
    try:
        rename.put(there, here)
    except FileExistsError:
        raise change.taken(here.said) from None


def _exchange(held: list[tuple[Spot, TrashedFile]], places: list[Place], expected: str, at: datetime) -> str:
    if len(held) != 1 or held[0][1].kind == "folder":
        raise ToolError("This entry holds a folder or several files; they only go back to free names.")
    [(there, _)], [place] = held, places
    with disk.reading(there) as version:
        info = os.fstat(version)
        _, replaced = change.exchange(place, _copying(version, place.said), expected, at, mode=info.st_mode)
    disk.remove(there)
    return replaced


def _copying(version: int, said: str) -> Callable[[int], None]:
    def fill(file: int) -> None:
        disk.measure(version, said, copy_to=file)
        info = os.fstat(version)
        os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))

    return fill
