"""Which files the arguments of a change mean, and where a moved or copied one would land."""

from __future__ import annotations

import stat

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import disk
from servers.filesystem.disk import Found
from servers.filesystem.models import Item, Transfer
from servers.filesystem.roots import Place, Roots, spot

MOST_PATHS = 100


def file(roots: Roots, path: str) -> Place:
    """The place of one file. Raises ToolError for the root itself and for a path written as a folder."""
    place = roots.find(path)
    if place.folder or not place.parts:
        raise ToolError(f"{place.said} is written as a folder. Name a file.")
    return place


def several(roots: Roots, paths: str | list[str]) -> list[Place]:
    """The places of one path or a list of them. Raises ToolError for none, too many, or one twice."""
    listed = [paths] if isinstance(paths, str) else paths
    if not 1 <= len(listed) <= MOST_PATHS:
        raise ToolError(f"{len(listed)} paths were given. Give between 1 and {MOST_PATHS}.")
    places = [roots.find(path) for path in listed]
    if len({(place.root, place.parts) for place in places}) < len(places):
        raise ToolError("One path is in the list twice. Name each file once.")
    return places


def end_of(roots: Roots, source: Place, destination: str) -> Place:
    """Where a file would go: into a folder that exists under its own name, else to the name given."""
    place = roots.find(destination)
    if not place.parts:
        return place.child(source.parts[-1])
    with spot(place) as here:
        info = disk.status(here)
    if info and stat.S_ISDIR(info.st_mode):
        return place.child(source.parts[-1])
    if place.folder:
        raise ToolError(f"The folder {place.said} does not exist. Check the path with list_dir.")
    return place


def transfer(roots: Roots, source: str, destination: str) -> Transfer:
    """A move or copy as it would be. Raises ToolError for what would be refused."""
    start = file(roots, source)
    end = end_of(roots, start, destination)
    found = _movable(start)
    with spot(end) as there:
        if disk.status(there):
            raise ToolError(f"{end.said} exists already, and nothing is overwritten. Choose another name.")
    item = Item(name=f"{start.said} → {end.said}", kind="file", size=found.size, modified=found.modified)
    return Transfer(
        source=start.said, destination=end.said, sha256=found.sha256, size=found.size, items=[item]
    )


def _movable(place: Place) -> Found:
    with spot(place) as here:
        return disk.sole(place.said, disk.examine(here))
