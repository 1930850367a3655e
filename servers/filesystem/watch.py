"""Watched folders, with their tools: what was there at the last looks, kept in `.countersign/watches/`, and now."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Annotated, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, FailFast, Field, ValidationError

from servers.filesystem import answers, disk, listing, paths, trees
from servers.filesystem.answers import spoken
from servers.filesystem.file_ops import alone
from servers.filesystem.models import Given, GivenMap, PathArg
from servers.filesystem.paths import Place, Root, Roots, Spot, opened, private
from servers.tool_metadata import Card, call, change, reading

MOST_WATCHED = 5_000  # names in one watched folder
MOST_WATCHES = 50  # folders of one root
LOOKS_KEPT = 4
MOST_NEWS = 50
HOURS = 8  # for which the gate looks for changes
LARGEST = 8 << 20  # bytes of them
_HEAD = 64 << 10  # bytes of one that hold the longest path, however it is written
_PATH = re.compile(rb'\{"path":("(?:[^"\\]|\\.)*+")')

_OTHERWISE = "{} is watched {} the folders in it. Ask for that again, or stop watching it first."

# Kind, size, modified and changed in ns, inode: a write moves one of them.
Mark = Annotated[tuple[str, int, int, int, int], FailFast()]


class Change(BaseModel):
    path: str
    change: Literal["added", "changed", "removed"]


class News(BaseModel):
    """One change for people. `mark` is another one where the same file changes once more."""

    text: str
    mark: str


class Changes(BaseModel):
    path: str
    watched: bool
    look: int = Field(description="number of the last look; 0 where nothing is watched")
    since: datetime | None = Field(description="when that look was taken")
    changes: list[Change]
    truncated: bool = False
    watching: list[str] = Field(description="all watched folders")
    news: list[News] = Field(default=[], description="the changes since `look`, where one is given")
    over: str = Field(default="", description="why nothing more comes of the watch that took `look`")


class Watching(BaseModel):
    path: str
    look: int
    resumed: bool
    entries: int
    changes: list[Change] = Field(description="since the look before this one")
    truncated: bool = False


class Unwatched(BaseModel):
    path: str
    ended: bool = Field(description="false: only the last look was taken back")
    look: int = Field(description="number of the look that stands now; 0 when the watch has ended")


class Look(BaseModel):
    """What was in the folder once: path below it to its mark."""

    number: int
    at: datetime
    seen: GivenMap[Mark]


class Watch(BaseModel):
    """One watched folder and its last looks, the newest at the end."""

    path: str  # inside its root
    recursive: bool
    looks: Given[Look]


def take(place: Place, recursive: bool) -> dict[str, Mark]:
    """Everything in the folder now. Raises ToolError when that is too much to watch."""
    budget, seen = listing.Budget(visits=MOST_WATCHED), dict[str, Mark]()
    with opened(place) as folder:
        for here, info in listing.visit(folder, "", budget, recursive):
            times = (0, 0) if disk.kind(info.st_mode) == "folder" else (info.st_mtime_ns, info.st_ctime_ns)
            size = 0 if disk.kind(info.st_mode) == "folder" else info.st_size
            seen[here.said] = (disk.kind(info.st_mode), size, *times, info.st_ino)
    if budget.spent:
        raise ToolError(
            f"{place.said} holds more than {MOST_WATCHED} names, or too long ones. Watch a folder further down."
        )
    return seen


def differences(place: Place, then: Mapping[str, Mark], now: Mapping[str, Mark]) -> list[Change]:
    """What was added, changed or removed between two looks, by path."""
    found = []
    for path in sorted(then.keys() | now.keys()):
        if then.get(path) != now.get(path):
            word: Literal["added", "changed", "removed"] = (
                "added" if path not in then else "removed" if path not in now else "changed"
            )
            found.append(Change(path=f"{listing.start(place)}/{path}".lstrip("/"), change=word))
    return found


def news(place: Place, then: Mapping[str, Mark], now: Mapping[str, Mark]) -> list[News]:
    """The same for people: the first MOST_NEWS, and a line that counts the rest."""
    found = differences(place, then, now)
    start = f"{listing.start(place)}/".lstrip("/")
    told = [
        News(text=f"{one.path} ({one.change})", mark=_mark(one, now.get(one.path.removeprefix(start))))
        for one in found
    ]
    rest = told[MOST_NEWS:]
    if rest:
        all_of_it = hashlib.sha256("".join(one.mark for one in rest).encode()).hexdigest()[:16]
        told[MOST_NEWS:] = [News(text=f"and {len(rest):,} more", mark=all_of_it)]
    return told


def _mark(change: Change, mark: Mark | None) -> str:
    return hashlib.sha256(f"{change.path}\0{change.change}\0{mark}".encode()).hexdigest()[:16]


def stored(place: Place) -> Watch | None:
    """The watch on a folder, if there is one."""
    with suppress(ToolError), private(place.root, "watches", make=False) as folder:
        return _read(Spot(folder, _file(place), place.said))
    return None


def begin(place: Place, recursive: bool, at: datetime) -> tuple[Watch, list[Change]]:
    """Start to watch a folder, or look at a watched one again. Returns the watch and what differs since then."""
    with alone(place.root), private(place.root, "watches") as folder:
        here = Spot(folder, _file(place), place.said)
        known = _read(here)
        if known is None and len([*_files(folder)]) >= MOST_WATCHES:
            raise ToolError(f"{MOST_WATCHES} folders are watched here already. Stop watching one first.")
        watch = known or Watch(path=place.inner, recursive=recursive, looks=[])
        if watch.recursive != recursive:
            raise ToolError(_OTHERWISE.format(place.said, "with" if watch.recursive else "without"))
        last = watch.looks[-1] if watch.looks else None
        fresh = Look(number=last.number + 1 if last else 1, at=at, seen=take(place, watch.recursive))
        watch.looks = [*watch.looks, fresh][-LOOKS_KEPT:]
        _write(here, watch)
        return watch, differences(place, last.seen, fresh.seen) if last else []


def resumed(place: Place) -> Watch:
    """Bring back the watch on a folder that was ended last. Raises ToolError when there is none, or a newer one."""
    with alone(place.root), private(place.root, "ended") as ended, private(place.root, "watches") as folder:
        here = Spot(folder, _file(place), place.said)
        try:
            disk.rename_to_free_name(Spot(ended, here.name, place.said), here)
        except FileExistsError:
            raise ToolError(f"{place.said} is watched again already.") from None
        except FileNotFoundError:
            raise ToolError(
                f"No ended watch on {place.said} is kept. Watch the folder anew, without resume."
            ) from None
        watch = _read(here)
        if watch is None:
            raise ToolError(
                f"The kept watch on {place.said} cannot be read. Watch the folder anew, without resume."
            )
        return watch


def end(place: Place, number: int | None) -> Watch | None:
    """Stop watching; with `number`, take back only that look, which must be the last one. Returns what is left."""
    with alone(place.root), private(place.root, "watches") as folder, private(place.root, "ended") as ended:
        here = Spot(folder, _file(place), place.said)
        watch = _read(here)
        if watch is None:
            raise ToolError(f"{place.said} is not watched. Look at what changed to see which folders are.")
        if number is not None and watch.looks[-1].number != number:
            raise ToolError(
                f"{place.said} has changed since: it was looked at again. Nothing was taken back."
            )
        if number is None or number == 1:
            os.replace(here.name, here.name, src_dir_fd=folder, dst_dir_fd=ended)
            return None
        if len(watch.looks) == 1:
            raise ToolError(
                f"The look before this one at {place.said} is no longer kept. End the watch without a look."
            )
        watch.looks.pop()
        _write(here, watch)
        return watch


def watching(roots: Roots) -> list[str]:
    """All watched folders, as people write them, by the names and the heads of their files alone: what is further down
    may be anything, and is looked at where one of them is asked for."""
    return sorted(place.said for root in roots.roots for place in _places(roots, root))


def _places(roots: Roots, root: Root) -> Iterator[Place]:
    """The folders that are watched, without what no watch of ours is about."""
    with suppress(ToolError), private(root, "watches", make=False) as folder:
        for name in islice(_files(folder), MOST_WATCHES):
            with suppress(ToolError):
                path = _path(Spot(folder, name, name))
                if path is not None and _file(place := roots.place(root, paths.split(path))) == name:
                    yield place


def _files(folder: int) -> Iterator[str]:
    return (name for name in trees.some_names(folder, trees.MOST_OURS) if name.endswith(".json"))


def _path(here: Spot) -> str | None:
    """The path of a watch, which its file begins with. Raises ToolError where it cannot be opened."""
    with disk.reading(here) as file:
        found = _PATH.match(os.pread(file, _HEAD, 0))
    with suppress(ValueError):
        return str(json.loads(found[1])) if found else None
    return None


def _file(place: Place) -> str:
    return hashlib.sha256(place.inner.encode()).hexdigest()[:32] + ".json"


def _read(here: Spot) -> Watch | None:
    if disk.status(here) is None:
        return None
    try:
        found = Watch.model_validate_json(disk.json_record(here, LARGEST))
    except (ToolError, ValidationError):
        return None
    return found if found.looks else None


def _write(here: Spot, watch: Watch) -> None:
    """Keep a watch, without its first looks where all of them are too long. Raises ToolError where one is."""
    while len(data := watch.model_dump_json().encode()) > LARGEST:
        del watch.looks[0]
        if not watch.looks:
            raise ToolError(f"The names in {here.said} are too long to watch. Watch a folder further down.")
    fresh = disk.temporary(here.folder, here.said)
    with disk.staging(fresh) as file:
        disk.write_all(file, data)
    os.replace(fresh.name, here.name, src_dir_fd=here.folder, dst_dir_fd=here.folder)
    disk.settle(here)


@dataclass(frozen=True)
class Watches:
    """The tools that watch folders of some roots, with the clock that dates their looks."""

    roots: Roots
    clock: Callable[[], datetime]

    @spoken
    def list_changes(
        self,
        path: PathArg,
        look: Annotated[int, Field(ge=0, description="The look that is followed; 0: none.")] = 0,
    ) -> Changes:
        """Say what was added, changed or removed in a watched folder since the last look at it."""
        place = self.roots.find(path)
        watched = stored(place)
        listed = [said for said in watching(self.roots) if watched or said != place.said]
        if watched is None:
            none = Changes(path=place.said, watched=False, look=0, since=None, changes=[], watching=listed)
            return none.model_copy(update={"over": "It is not watched any more."}) if look else none
        last, now = watched.looks[-1], take(place, watched.recursive)
        found, more = answers.fitting(differences(place, last.seen, now))
        fresh = look == last.number
        return Changes(
            path=place.said,
            watched=True,
            look=last.number,
            since=last.at,
            changes=found,
            truncated=more,
            watching=listed,
            news=news(place, last.seen, now) if fresh else [],
            over="" if fresh or not look else "Somebody has begun to watch it anew.",
        )

    @spoken
    def watch_folder(
        self,
        path: PathArg,
        recursive: Annotated[bool, Field(description="Watch the folders in it too.")] = False,
        resume: Annotated[bool, Field(description="Bring back the watch that was ended last.")] = False,
    ) -> Watching:
        """Watch a folder: list_changes then says what changed since this look. Watching again is the next look."""
        if resume and recursive:
            raise ToolError("A watch is brought back as it was. Leave out recursive, or watch anew.")
        place = self.roots.find(path)
        watched, found = (resumed(place), []) if resume else begin(place, recursive, self.clock())
        changes, more = answers.fitting(found)
        return Watching(
            path=place.said,
            look=watched.looks[-1].number,
            resumed=resume,
            entries=len(watched.looks[-1].seen),
            changes=changes,
            truncated=more,
        )

    @spoken
    def unwatch_folder(
        self,
        path: PathArg,
        look: Annotated[
            int, Field(ge=0, description="Take back only this look, the last one. 0: end the watch.")
        ] = 0,
    ) -> Unwatched:
        """Stop watching a folder, or take back the last look at it."""
        place = self.roots.find(path)
        left = end(place, look or None)
        return Unwatched(path=place.said, ended=left is None, look=left.looks[-1].number if left else 0)


_LISTED = ["changes[].path", "watching[]"]


def _card(title: str, verb: str, summary: str, **undo: Any) -> Card:
    return change(
        title,
        verb,
        summary,
        targets={"looks": ["path"], "listed": _LISTED[:1]},
        risk="low",
        noun="{args.path|name}",
        preview={"kind": "fields"},
        drift={**call("list_changes", path="{result.path}"), "same": {"look": "{result.look}"}},
        **undo,
    )


CARDS: dict[str, Card] = {
    "list_changes": reading(
        "List changes", "List what changed in {args.path|place}", looks=["path"], listed=_LISTED
    ),
    "watch_folder": _card(
        "Watch folder",
        "Watch",
        f"Start watching {{args.path|place}}: for {HOURS} hours, what changes is told here",
        follow={
            **call("list_changes", path="{result.path}", look="{result.look}"),
            "title": "Changes in {result.path}",
            "hours": HOURS,
        },
        recoverable="The watch is taken back",
        undo=[
            {"when": "{args.resume}", **call("unwatch_folder", path="{result.path}")},
            {"unless": "{args.resume}", **call("unwatch_folder", path="{result.path}", look="{result.look}")},
        ],
    ),
    "unwatch_folder": _card(
        "Stop watching folder",
        "Unwatch",
        "Stop watching {args.path|place}",
        recoverable="Until the folder is watched anew",
        undo=[{"unless": "{args.look}", **call("watch_folder", path="{result.path}", resume=True)}],
    ),
}
