"""The trash of a root: `.countersign/trash/<id>/` with a manifest and the files 0, 1, 2 …, kept 30 days."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from heapq import nlargest, nsmallest
from itertools import islice
from threading import Lock
from typing import NamedTuple

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from servers.filesystem import disk, trees
from servers.filesystem.given_up import unless_given_up
from servers.filesystem.models import MOST_PATHS, Manifest, TrashedFile
from servers.filesystem.paths import PRIVATE, Root, Roots, Spot, private

KEEP = timedelta(days=30)
MOST_RECORDED, MOST_RECORDS = 1 << 30, 5_000  # bytes and files of the records of one kind in a root
PURGE_EVERY = timedelta(days=1)
_log = logging.getLogger(__name__)
_ID = re.compile(r"^[0-9]{8}T[0-9]{6}-[0-9a-f]{16}$")
_MANIFEST = "manifest.json"
_LARGEST = 4 << 20  # bytes of one
_PARTS, _VALUES = 4 * MOST_PATHS, 20 * MOST_PATHS  # in one; ours has one part and eight values for each file
MOST_READ, MOST_BYTES = 2_000, 16 << 20  # entries, and bytes of their manifests, in one look at the trash
_OTHER = "What the trash holds of {path} is not what was put there. Look at it by hand."
_NONE = "Nothing with that id is in the trash; perhaps its 30 days are over. “show the trash” lists what is there."


class Kept(NamedTuple):
    """What was put into the trash: the id of its entry, and the digest of it (see `digest`)."""

    id: str
    entry: str


def digest(held: Iterable[tuple[str, TrashedFile]]) -> str:
    """SHA-256 over an entry: where each thing goes back to, as people write it, and what it is."""
    lines = [[said, file.kind, file.sha256, file.size] for said, file in held]
    return hashlib.sha256(json.dumps(lines).encode()).hexdigest()


def fingerprint(said: str, data: Iterable[bytes]) -> str:
    """SHA-256 over a record that is kept to take a change back, in pieces, and what it is about, as people write it."""
    digest = hashlib.sha256(said.encode() + b"\0")
    for piece in data:
        digest.update(piece)
    return digest.hexdigest()


def must_be_kept(have: str, expected: str | None) -> None:
    """Raise ToolError when what is kept under an id, by its digest, is not what was kept or shown: others may write in
    a shared folder. `expected` None: anything will do, as for a change of an older version."""
    if expected not in (None, have):
        raise ToolError(
            "What is kept under this id is not what was kept or shown: somebody has changed it. Nothing was put "
            "back. Look at it by hand."
        )


@contextmanager
def added(
    root: Root, reason: str, at: datetime, files: Sequence[TrashedFile]
) -> Iterator[tuple[Manifest, int]]:
    """A new entry, its manifest on disk before any file is: what a crash leaves half done can still be found.

    Yields the manifest and the entry's descriptor. When the block fails the entry goes, unless a file is in it.
    """
    name = f"{at:%Y%m%dT%H%M%S}-{secrets.token_hex(8)}"
    manifest = Manifest.model_validate({"id": name, "reason": reason, "deleted_at": at, "files": files})
    with private(root, "trash") as trash, private(root, "trash", name) as entry:
        write(entry, manifest)
        os.fsync(trash)
        try:
            yield manifest, entry
        except BaseException:
            drop_if_empty(trash, entry, name)
            raise


def home(roots: Roots, trash_id: str) -> Root:
    """The root whose trash holds this entry. Raises ToolError when there is none."""
    for root in roots.roots if _ID.match(trash_id) else ():
        with suppress(ToolError), private(root, "trash", trash_id, make=False):
            return root
    raise ToolError(_NONE)


@contextmanager
def opened(root: Root, trash_id: str) -> Iterator[tuple[list[tuple[Spot, TrashedFile]], int]]:
    """The files in an entry, each still what its manifest says, and the entry's descriptor. Raises ToolError."""
    with private(root, "trash", trash_id, make=False) as entry:
        manifest = _read(entry, trash_id)
        held = stored(entry, manifest) if manifest else []
        if not held:
            raise ToolError(_NONE)
        if sum(file.size for _, file in held) > disk.LARGEST:
            raise ToolError(f"{trash_id} holds more than 1 GB in all. Look at it by hand.")
        for spot, file in held:
            _must_be(spot, file)
        yield held, entry


def _must_be(spot: Spot, file: TrashedFile) -> None:
    """Raise ToolError for another thing than the manifest says, one of another size before it is hashed."""
    info = disk.status(spot)
    same = info is not None and disk.kind(info.st_mode) == file.kind
    if info is None or not same or (file.kind == "file" and info.st_size != file.size):
        raise ToolError(_OTHER.format(path=file.path))
    must_match(trees.examine(spot), file)


def must_match(found: disk.Found, file: TrashedFile) -> None:
    """Raise ToolError where what was found in an entry is not what its manifest says."""
    if (found.sha256, found.size, disk.kind(found.mode)) != (file.sha256, file.size, file.kind):
        raise ToolError(_OTHER.format(path=file.path))


def write(entry: int, manifest: Manifest) -> None:
    """Put the manifest in its entry, replacing an older one in one step."""
    fresh = disk.temporary(entry, _MANIFEST)
    with disk.staging(fresh) as file:
        disk.write_all(file, manifest.model_dump_json(indent=1).encode())
    os.replace(fresh.name, _MANIFEST, src_dir_fd=entry, dst_dir_fd=entry)
    os.fsync(entry)


def stored(entry: int, manifest: Manifest) -> list[tuple[Spot, TrashedFile]]:
    """The files of an entry that are really in it."""
    present = set(trees.some_names(entry))
    pairs = ((Spot(entry, str(n), file.path), file) for n, file in enumerate(manifest.files))
    return [(spot, file) for spot, file in pairs if spot.name in present]


@dataclass
class Budget:
    """What one look at the trash may still read, and whether it has ended for that."""

    entries: int = MOST_READ
    size: int = MOST_BYTES
    spent: bool = False

    def allows(self, size: int) -> bool:
        """Take one manifest of that size from it, where it has that."""
        self.entries, self.size = self.entries - 1, self.size - size
        self.spent = self.spent or self.entries < 0 or self.size < 0
        return not self.spent


def entries(root: Root, budget: Budget) -> Iterator[Manifest]:
    """The entries of a root that can be read and still hold something, newest first, one in memory at a time."""
    names, more = _names(root)
    for name in nlargest(MOST_READ + 1, names):  # the names begin with a time
        unless_given_up()
        if budget.spent:
            return
        with suppress(ToolError):
            yield from _known(root, name, budget)
    budget.spent = budget.spent or more


def _known(root: Root, name: str, budget: Budget) -> list[Manifest]:
    """The manifest of an entry; none of one that is not ours, and none for which the budget does not reach."""
    with private(root, "trash", name, make=False) as entry:
        manifest = _read(entry, name) if _allowed(entry, budget) else None
        return [manifest] if manifest and stored(entry, manifest) else []


def _allowed(entry: int, budget: Budget) -> bool:
    """Take the manifest of an entry from a budget, where it has that."""
    info = disk.status(Spot(entry, _MANIFEST, _MANIFEST))
    return budget.allows(min(info.st_size, _LARGEST) if info else 0)


def _names(root: Root) -> tuple[list[str], bool]:
    """The names of the entries, in any order, and whether there are more than are looked at."""
    with suppress(ToolError), private(root, "trash", make=False) as trash:
        names = trees.some_names(trash, trees.MOST_OURS + 1)
        return [name for name in names[: trees.MOST_OURS] if _ID.match(name)], len(names) > trees.MOST_OURS
    return [], False


def one(root: Root, trash_id: str) -> list[TrashedFile]:
    """What an entry of a root really holds. Raises ToolError where that cannot be told."""
    with private(root, "trash", trash_id, make=False) as entry:
        manifest = _read(entry, trash_id)
        held = stored(entry, manifest) if manifest else []
    if not held:
        raise ToolError(f"{trash_id} holds nothing that is known. “show the trash” lists them.")
    return [file for _, file in held]


def _read(entry: int, name: str) -> Manifest | None:
    """None for what is no manifest of ours: it is left alone, neither listed nor purged."""
    try:
        data = disk.json_record(Spot(entry, _MANIFEST, _MANIFEST), _LARGEST, _PARTS, _VALUES)
        found = Manifest.model_validate_json(data)
    except (ToolError, ValidationError):
        return None
    return found if found.id == name else None


def drop_if_empty(trash: int, entry: int, name: str) -> None:
    """Remove an entry that holds nothing but its manifest. One that holds a file stays, whatever went wrong."""
    if trees.some_names(entry) == [_MANIFEST]:
        os.unlink(_MANIFEST, dir_fd=entry)
        os.rmdir(name, dir_fd=trash)
        os.fsync(trash)


def remove_old(root: Root, at: datetime, *inside: str) -> None:
    """Remove the records in a folder of ours whose names say that their days are over. One that cannot be removed
    stays: see `leaving`."""
    with private(root, *inside) as folder:
        names = trees.some_names(
            folder, 2 * MOST_RECORDS
        )  # where there are more, there is no room for another
        clear(root, [name for name in names if _ID.match(name) and _old(name, at)], *inside)


def remove_staged(root: Root, *inside: str) -> None:
    """Remove what servers that were killed have staged in a folder of ours, for who is alone in the root and has staged
    nothing yet. What has another name is not ours: somebody may have given a folder of others this name."""
    with private(root, *inside) as folder:
        names = trees.some_names(folder, trees.MOST_OURS)
        clear(root, islice((name for name in names if disk.TEMPORARY.fullmatch(name)), MOST_READ), *inside)


def _old(name: str, at: datetime) -> bool:
    with suppress(ValueError):  # no day that there is, so no record of ours
        return datetime.strptime(name[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC) <= at - KEEP
    return False


def clear(root: Root, names: Iterable[str], *inside: str) -> None:
    """Remove what is under these names in a folder of ours. What cannot be removed stays: see `leaving`."""
    with private(root, *inside) as folder:
        for name in names:
            with leaving(root, *inside, name):
                trees.remove(Spot(folder, name, name))


@contextmanager
def leaving(root: Root, *inside: str) -> Iterator[None]:
    """Leave what cannot be removed in the block where it is, and say so once in a log: others may have made it so, and
    no start and no change waits for it."""
    try:
        yield
    except (OSError, ToolError) as error:
        _say_once(str(root.path.joinpath(PRIVATE, *inside)), getattr(error, "strerror", None) or str(error))


@lru_cache(1_000)
def _say_once(path: str, why: str) -> None:
    _log.warning(
        "%s is no longer needed and could not be removed (%s). Nothing else waits for it, and it is tried again every "
        "day. Let an operator remove it by hand.",
        path, why,
    )  # fmt: skip


def must_have_room(folder: int, size: int, name: str) -> None:
    """Raise ToolError where the records in a folder of ours, with one more of `size` bytes, would be too many. `name`:
    the folder's, in `.countersign`."""
    count, total = 1, size
    with os.scandir(folder) as records:
        for one in records:
            count, total = count + 1, total + one.stat(follow_symlinks=False).st_size
            if count > MOST_RECORDS:
                break
    if count > MOST_RECORDS or total > MOST_RECORDED:
        raise ToolError(
            "Nothing was changed: what is kept to undo earlier changes takes up all the room it has "
            f"({MOST_RECORDED >> 20:,} MB, {MOST_RECORDS:,} files). Each change is kept {KEEP.days} days. Try again "
            f"when older ones are over, or let an operator delete the oldest files in {PRIVATE}/{name}: the changes "
            "that they belong to can then not be undone."
        )


def purge(root: Root, now: datetime, ended: str = "") -> tuple[int, str]:
    """Remove what has been kept for 30 days, as far as a look at the trash reaches, and what a crash left staged. A
    change of somebody else waits for one entry at most. `ended`: where the purge before has ended.

    Returns how many entries went, and where this one has ended: the next one goes on there."""
    if not os.path.lexists(root.path / PRIVATE):
        return 0, ended
    with private(root) as ours, private(root, "trash") as trash:
        with disk.lock(ours):  # files are staged under it only: these belong to a write that never ended
            remove_staged(root, "tmp")
        gone, budget = 0, Budget()
        for name in _overdue(root, now, ended):
            if not _over(root, name, now, budget):
                if budget.spent:
                    break
            else:
                with disk.lock(ours), leaving(root, "trash", name):
                    if _over(root, name, now):
                        drop(root, trash, name)
                        gone += 1
            ended = name
    return gone, ended


def _overdue(root: Root, now: datetime, ended: str) -> list[str]:
    """Entries that are over by their names, those after `ended` first: as many as one purge may look at. Without
    `ended` they begin anywhere: servers that are often started anew would else look at the same ones forever."""
    last = f"{now - KEEP:%Y%m%dT%H%M%S}"
    names = [name for name in _names(root)[0] if name[: len(last)] <= last]
    after = ended or (secrets.choice(names) if names else "")
    return nsmallest(MOST_READ, names, key=lambda name: (name <= after, name))


def _over(root: Root, name: str, now: datetime, budget: Budget | None = None) -> bool:
    """Whether an entry is ours and its days are over; not of one for which the budget does not reach."""
    with suppress(ToolError, OSError), private(root, "trash", name, make=False) as entry:
        manifest = _read(entry, name) if budget is None or _allowed(entry, budget) else None
        return manifest is not None and manifest.deleted_at + KEEP <= now
    return False


def drop(root: Root, trash: int, name: str) -> None:
    """Remove an entry and all that it holds, for good: its manifest last, so that an entry of which something cannot be
    removed is still known."""
    with private(root, "trash", name, make=False) as entry:
        with os.scandir(entry) as scan:
            names = [one.name for one in scan if one.name != _MANIFEST]
        for held in (*names, _MANIFEST):
            trees.remove(Spot(entry, held, held))
    os.rmdir(name, dir_fd=trash)
    os.fsync(trash)


class Daily:
    """A clock over a clock: it gives the same time, and once a day it purges the trash first."""

    def __init__(self, roots: Roots, clock: Callable[[], datetime]) -> None:
        self._roots, self._clock, self._lock = roots, clock, Lock()
        self._due = clock() + PURGE_EVERY
        self._ended = dict[Root, str]()

    def now(self) -> datetime:
        time = self._clock()
        with self._lock:
            if due := time >= self._due:
                self._due = time + PURGE_EVERY
        if due:
            self.purge(time)
        return time

    def purge(self, time: datetime) -> None:
        """Purge the trash of all roots. Where that fails, a log says so: it is no reason to refuse a change, or a
        start."""
        for root in self._roots.roots:
            try:
                _, self._ended[root] = purge(root, time, self._ended.get(root, ""))
            except (OSError, ToolError) as error:
                _log.warning("the trash of %s was not purged: %s", root.name, error)
