"""Which files the arguments of a change mean, and where a moved or copied one would land."""

from __future__ import annotations

import stat
from collections.abc import Sequence

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import disk, listing, trees
from servers.filesystem.models import MOST_PATHS, Item, Transfer
from servers.filesystem.paths import Place, Roots, spot


def file(roots: Roots, path: str) -> Place:
    """The place of one file. Raises ToolError for the root itself, for a path written as a folder, and for another name
    of a secret file."""
    place = roots.find(path)
    if place.folder or not place.parts:
        raise ToolError(f"{place.said} is written as a folder. Name a file.")
    return listing.unless_secret(place)


def thing(roots: Roots, path: str) -> Place:
    """The place of one file or folder. Raises ToolError for the root itself."""
    place = roots.find(path)
    if not place.parts:
        raise ToolError(
            f"{place.said} is an allowed folder itself, which stays where it is. Name something in it."
        )
    return Place(place.root, place.parts, place.prefix)


def several(roots: Roots, paths: str | list[str]) -> list[Place]:
    """The places of one path or a list of them. Raises ToolError for none, too many, or one twice."""
    listed = [paths] if isinstance(paths, str) else paths
    if not 1 <= len(listed) <= MOST_PATHS:
        raise ToolError(f"{len(listed)} paths were given. Give between 1 and {MOST_PATHS}.")
    places = [roots.find(path) for path in listed]
    if len({(place.root, place.parts) for place in places}) < len(places):
        raise ToolError("One path is in the list twice. Name each file once.")
    for place in places:
        held = [
            one
            for one in places
            if one.root == place.root and one.parts[:-1][: len(place.parts)] == place.parts
        ]
        if held and place.parts:
            raise ToolError(f"{held[0].said} lies in {place.said}. Name the folder alone, or what is in it.")
    return places


def end_of(roots: Roots, source: Place, destination: str) -> Place:
    """Where a file or a folder would go: into a folder that exists under its own name, else to the name given."""
    place = roots.find(destination)
    if not place.parts:
        return place.child(source.parts[-1])
    with spot(place) as here:
        info = disk.status(here)
    if info and stat.S_ISDIR(info.st_mode):
        return place.child(source.parts[-1])
    if place.folder:
        raise ToolError(
            f"The folder {place.said} does not exist. Create it first, or name one that is there."
        )
    return place


def transfer(roots: Roots, source: str, destination: str) -> Transfer:
    """A move or copy as it would be. Raises ToolError for what would be refused."""
    start = thing(roots, source)
    end = end_of(roots, start, destination)
    trees.free(roots, start, end)
    [(found, inside)] = listing.hashed([start])
    with spot(end) as there:
        if disk.status(there):
            raise ToolError(f"{end.said} exists already, and nothing is overwritten. Choose another name.")
    more = f" ({in_it(inside)})" if found.kind == "folder" else ""
    top = Item(
        name=f"{start.said} → {end.said}{more}", kind=found.kind, size=found.size, modified=found.modified
    )
    taken = [found.name, *(one.name for one in inside)]
    return Transfer(
        source=start.said,
        destination=end.said,
        folder=found.kind == "folder",
        sha256=found.sha256 or "",
        size=found.size or 0,
        items=[top, *inside],
        touched=[*taken, *(end.said + name.removeprefix(start.said) for name in taken)],
    )


def new_folder(roots: Roots, path: str) -> tuple[Place, list[Place]]:
    """The place of a folder that is to be made, and the folders of its path that are not there, from the top. Raises
    ToolError where something has its name."""
    place = thing(roots, path)
    for depth in range(1, len(place.parts) + 1):
        above = Place(place.root, place.parts[:depth], place.prefix)
        with spot(above) as here:
            info = disk.status(here)
        if info is None:
            trees.free(roots, above)
            return place, [
                Place(place.root, place.parts[:end], place.prefix)
                for end in range(depth, len(place.parts) + 1)
            ]
        if not stat.S_ISDIR(info.st_mode):
            raise ToolError(f"{above.said} is there already and is no folder. Choose another name.")
    raise ToolError(f"The folder {place.said} is there already.")


def deletable(roots: Roots, place: Place, folders: bool) -> None:
    """Raise ToolError for what may not be deleted: a root, what holds one, and, unless `folders`, any folder."""
    trees.free(roots, place)
    with spot(place) as here:
        info = disk.status(here)
    if info and stat.S_ISDIR(info.st_mode) and not folders:
        raise ToolError(f"{place.said} is a folder. This works on single files: name the files in it.")


def in_it(parts: Sequence[Item]) -> str:
    """In words, how much is in a folder."""
    files = sum(part.kind == "file" for part in parts)
    return f"a folder with {files} {'file' if files == 1 else 'files'}" if parts else "an empty folder"
