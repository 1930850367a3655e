"""Files that are there twice, and files that could go. Nothing here changes anything."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import disk, look, room
from servers.filesystem.roots import Roots, Spot, spot
from servers.security.models import Cleanup, Duplicates, Proposal, Twins
from servers.security.patterns import SECRETS
from servers.security.scan import Looked, files, of_file

SECONDS = 15.0
_TEMPORARY = re.compile(
    r"~\$.*|.*(~|\.(tmp|temp|bak|old|swp|part|crdownload|log\.\d+))|\.DS_Store|Thumbs\.db|desktop\.ini",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Seen:
    """One file on a walk."""

    said: str
    name: str
    size: int
    modified: datetime
    sha256: str = ""


def twins(roots: Roots, path: str, smallest: int) -> Duplicates:
    """Groups of files with the same bytes, those that waste most first. Raises ToolError."""
    place, budget = roots.find(path), look.Budget(SECONDS)
    seen = [one for one in _walk(roots, path, budget) if one.size >= smallest]
    groups = _same(roots, seen, budget)
    listed, more = room.fitting(groups, 500)
    wasted = sum(group.size * (len(group.paths) - 1) for group in groups)
    note = "There are more groups. Look at a smaller folder." if more else budget.spent
    return Duplicates(
        path=place.said,
        files=len(seen),
        groups=listed,
        extra=[said for group in listed for said in group.paths if said != _kept(group.paths)],
        wasted=wasted,
        truncated=more or bool(budget.spent),
        note=note,
        summary=f"{len(seen)} files, {len(groups)} groups of twins; {wasted} bytes are there more than once.",
    )


def _walk(roots: Roots, path: str, budget: look.Budget) -> list[Seen]:
    found = []
    for here, size in files(roots.find(path), budget):
        info = disk.status(here)
        if info is not None:
            found.append(Seen(here.said, here.name, size, disk.modified(info)))
    return found


def _same(roots: Roots, seen: list[Seen], budget: look.Budget) -> list[Twins]:
    sizes: dict[int, list[Seen]] = defaultdict(list)
    for one in seen:
        sizes[one.size].append(one)
    alike: dict[tuple[int, str], list[str]] = defaultdict(list)
    for size, ones in sizes.items():
        for one in ones if len(ones) > 1 and size else ():
            if budget.left() and (sha256 := _hash(roots, one.said)):
                alike[size, sha256].append(one.said)
    groups = [
        Twins(paths=sorted(paths), size=key[0], sha256=key[1])
        for key, paths in alike.items()
        if len(paths) > 1
    ]
    return sorted(groups, key=lambda group: (-group.size * (len(group.paths) - 1), group.paths))


def _hash(roots: Roots, said: str) -> str:
    """SHA-256 of a file that was seen before; nothing when it is gone or cannot be read."""
    try:
        with spot(roots.find(said)) as here:
            return disk.examine(here).sha256
    except (ToolError, OSError):
        return ""


def cleanup(roots: Roots, path: str, now: datetime, old_days: int, large: int) -> Cleanup:
    """What could go, be moved or be encrypted below a folder, each with its reason. Raises ToolError."""
    place, looked = roots.find(path), Looked(look.Budget(SECONDS))
    seen = _walk(roots, path, looked.budget)
    proposals = [*_proposals(roots, seen, now - timedelta(days=old_days), large, looked)]
    listed, more = room.fitting(proposals, 500)
    sizes = {one.said: one.size for one in seen}
    going = {
        said for one in proposals if one.action.startswith("delete") for said in one.paths if said != one.keep
    }
    free = sum(sizes[said] for said in going)
    return Cleanup(
        path=place.said,
        files=len(seen),
        proposals=listed,
        size=free,
        truncated=more or bool(looked.budget.spent),
        note="There are more. Look at a smaller folder." if more else looked.budget.spent,
        summary=f"{len(seen)} files looked at, {len(proposals)} proposals; deleting would free {free} bytes. "
        "Nothing was changed.",
    )


def _proposals(
    roots: Roots, seen: list[Seen], before: datetime, large: int, looked: Looked
) -> Iterator[Proposal]:
    named: set[str] = set()
    for group in _same(roots, seen, looked.budget):
        keep = _kept(group.paths)
        extra = [said for said in group.paths if said != keep]
        named.update(extra)
        why = f"The same bytes as {keep}."
        yield _proposal("duplicate", extra, group.size * len(extra), why, "delete").model_copy(
            update={"keep": keep}
        )
    for one in seen:
        if one.said in named:
            continue
        if _TEMPORARY.fullmatch(one.name):
            yield _proposal("temporary", [one.said], one.size, "Left over by a program.", "delete")
        elif one.size == 0:
            yield _proposal("empty", [one.said], 0, "There is nothing in it.", "delete")
        elif one.modified < before:
            yield _proposal(
                "old", [one.said], one.size, f"Not changed since {one.modified:%Y-%m-%d}.", "move to archive"
            )
        elif one.size >= large:
            yield _proposal("large", [one.said], one.size, f"{one.size >> 20} MB.", "move to archive")
    yield from _sensitive(roots, seen, named, looked)


def _kept(paths: list[str]) -> str:
    """Of twins, the one to keep: the one closest to the top, with the shortest name."""
    return min(paths, key=lambda said: (said.count("/"), len(said), said))


def _sensitive(roots: Roots, seen: list[Seen], named: set[str], looked: Looked) -> Iterator[Proposal]:
    for one in seen:
        if one.said in named or one.size > 1 << 20 or not looked.budget.left():
            continue
        if kinds := _secrets(roots, one.said, looked):
            yield _proposal("sensitive", [one.said], one.size, f"It holds: {', '.join(kinds)}.", "encrypt")


def _secrets(roots: Roots, said: str, looked: Looked) -> list[str]:
    try:
        with spot(roots.find(said)) as here:
            here = Spot(here.folder, here.name, said)
            return sorted({finding.kind for finding in of_file(here, SECRETS, looked)})
    except (ToolError, OSError):
        return []


def _proposal(kind: str, paths: list[str], size: int, why: str, action: str) -> Proposal:
    said = f"{action} {', '.join(paths[:3])}" + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    return Proposal.model_validate({"kind": kind, "paths": paths, "size": size, "why": why, "action": said})
