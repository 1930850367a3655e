"""Changes to files, each one rename that loses nothing: writing, moving, deleting, restoring, purging."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import answers, disk, listing, paths, trash, trees
from servers.filesystem.disk import Found
from servers.filesystem.given_up import begin_change
from servers.filesystem.listing import MOST_SHOWN
from servers.filesystem.models import Item, Manifest, Purged, Purging, TrashedFile, Written
from servers.filesystem.paths import Place, Root, Roots, Spot, private, spot
from servers.filesystem.trash import Kept
from servers.sandbox.calling import Blob, pieces

Answer = TypeVar("Answer", bound=Written)


@contextmanager
def alone(*roots: Root) -> Iterator[None]:
    """The only change going on in these roots. It is not given up within, nor after it: others may follow it."""
    begin_change()
    with ExitStack() as stack:
        for root in sorted(set(roots), key=lambda root: root.path):
            stack.enter_context(disk.lock(stack.enter_context(private(root))))
        yield


def create(place: Place, data: Blob) -> Found:
    """Write a new file. Raises ToolError when the name is taken by the time the bytes are ready."""
    with alone(place.root):
        return make(place, data)


def make(place: Place, data: Blob) -> Found:
    """As create, for who is alone already."""
    with spot(place) as target, private(place.root, "tmp") as folder:
        staged = disk.temporary(folder, place.said)
        with disk.staging(staged) as file:
            _fill(file, data)
        return _publish(staged, target)


def _fill(file: int, data: Blob) -> None:
    for piece in pieces(data):
        disk.write_all(file, piece)


def make_folders(missing: Sequence[Place]) -> Found:
    """Make folders, each in the one before it, all or none; the first of them with all in it. Raises ToolError when its
    name is taken by then."""
    top = missing[0]
    with alone(top.root), spot(top) as target, private(top.root, "tmp") as folder:
        staged = disk.temporary(folder, top.said)
        path = staged.name
        os.mkdir(path, dir_fd=folder)
        for place in missing[1:]:
            path = f"{path}/{place.parts[-1]}"
            os.mkdir(path, dir_fd=folder)
        return _publish(staged, target)


def put(
    place: Place, data: Blob, expected: str | None, at: datetime, kind: type[Answer], **more: Any
) -> Answer:
    """Write the bytes. `expected`: SHA-256 that is replaced, or “absent”; None: whatever is there.

    Returns a `kind` with `more` in it. Raises ToolError when something else is there; then nothing has changed.
    """
    with spot(place) as here:
        exists = disk.status(here) is not None
    kept = None
    if exists and expected != disk.ABSENT:
        found, kept = replace(place, data, expected, at)
    else:
        disk.agree(place.said, None, expected)
        found = create(place, data)
    return kind(
        path=place.said,
        sha256=found.sha256,
        size=found.size,
        replaced=kept is not None,
        trash_id=kept.id if kept else None,
        entry=kept.entry if kept else None,
        kept_until=at + trash.KEEP if kept else None,
        expected={place.said: found.sha256},
        **more,
    )


def _publish(staged: Spot, target: Spot) -> Found:
    found = trees.examine(staged)
    try:
        disk.rename_to_free_name(staged, target)
    except FileExistsError:
        raise taken(target.said) from None
    finally:
        trees.remove(staged)
    disk.settle(target)
    return found


def taken(said: str) -> ToolError:
    """The refusal to write onto a name that is not free."""
    return ToolError(
        f"{said} has changed since it was shown: it exists now. Choose another name, or look again."
    )


def replace(place: Place, data: Blob, expected: str | None, at: datetime) -> tuple[Found, Kept]:
    """Write over an existing file; the version before stays in the trash. Returns the new file and that."""
    with alone(place.root):
        return exchange(place, lambda file: _fill(file, data), expected, at)


def exchange(
    place: Place, fill: Callable[[int], None], expected: str | None, at: datetime, like: int | None = None
) -> tuple[Found, Kept]:
    """As replace, for who is alone already. `fill` writes the new bytes; `like`: an open file whose
    owner and rights they have; None: those of the file there.

    The new bytes are staged in the trash entry itself and exchanged with the file, so that the previous version
    lands where it will be kept and the name is never without a file.
    """
    with spot(place) as target, disk.reading(target) as there:
        before = disk.sole(place.said, disk.measure(there, place.said))
        disk.agree(place.said, before, expected)
        kept = TrashedFile(path=place.recorded, sha256=before.sha256, size=before.size)
        with trash.added(place.root, "replaced", at, [kept]) as (manifest, entry):
            mine = Spot(entry, "0", place.said)
            with disk.staging(mine, like=there if like is None else like) as file:
                fill(file)
            after = disk.examine(mine)
            try:
                _swap_checked(mine, target, after.sha256, before.sha256)
            except ToolError:
                _account(mine, entry, manifest)
                raise
            disk.settle(target, mine)
        return after, Kept(manifest.id, trash.digest([(place.said, kept)]))


def _swap_checked(mine: Spot, target: Spot, new: str, old: str) -> None:
    """Exchange the two, then see whether what came out is `old`; when not, put everything back and raise."""
    try:
        disk.swap(mine, target)
        if _is(mine, old):
            return
        disk.swap(mine, target)
        if not _is(mine, new):  # written once more meanwhile: the newest goes back, the one between is kept
            disk.swap(mine, target)
    except FileNotFoundError:
        pass  # removed meanwhile: a change as well
    if _is(mine, new):
        disk.remove(mine)
    raise ToolError(
        f"{target.said} has changed since it was shown: it is being written. Look again, then ask again."
    )


def _account(mine: Spot, entry: int, manifest: Manifest) -> None:
    """Make the manifest say what the entry of a write that gave way really holds, if it still holds something."""
    with suppress(ToolError):
        found = disk.examine(mine)
        held = manifest.files[0].model_copy(update={"sha256": found.sha256, "size": found.size})
        trash.write(entry, manifest.model_copy(update={"files": [held]}))


def _is(at: Spot, sha256: str) -> bool:
    """Whether a plain file with these bytes and no second name is at a spot, or a folder of such."""
    try:
        return trees.examine(at).sha256 == sha256
    except ToolError:
        return False


def move(source: Place, destination: Place, expected: str | None) -> Found:
    """Rename a file or a folder onto a free name. Raises ToolError when either end is not as it was shown."""
    with alone(source.root, destination.root), spot(source) as start, spot(destination) as end:
        before = trees.examine(start)
        disk.agree(source.said, before, expected)
        try:
            disk.rename_to_free_name(start, end)
        except FileExistsError:
            raise taken(destination.said) from None
        if not _is(end, before.sha256):
            put_back([(start, end)])
            raise ToolError(
                f"{source.said} has changed since it was shown: it is being written. Try again later."
            )
        disk.settle(start, end)
        return before


def copy(source: Place, destination: Place, expected: str | None) -> Found:
    """Copy a file or a folder onto a free name. Raises ToolError when either end is not as it was shown."""
    with alone(destination.root), spot(source) as start, spot(destination) as end:
        if disk.status(end):
            raise taken(destination.said)
        with private(destination.root, "tmp") as folder:
            staged = disk.temporary(folder, destination.said)
            try:
                disk.agree(source.said, trees.examine(start, staged), expected)
            except BaseException:
                trees.remove(staged)
                raise
            return _publish(staged, end)


def delete(
    places: Sequence[Place], expected: Mapping[str, str] | None, at: datetime
) -> tuple[Kept, list[Found]]:
    """Move files and folders to the trash of their root, all or none. Raises ToolError for more than comes back."""
    root = places[0].root
    with ExitStack() as stack:
        stack.enter_context(alone(root))
        spots = [stack.enter_context(spot(place)) for place in places]
        found = [whole for whole, _ in trees.together(spots)]
        for here, file in zip(spots, found, strict=True):
            disk.agree(here.said, file, None if expected is None else expected[here.said])
        kept = [
            TrashedFile.model_validate(
                {
                    "path": place.recorded,
                    "sha256": file.sha256,
                    "size": file.size,
                    "kind": disk.kind(file.mode),
                }
            )
            for place, file in zip(places, found, strict=True)
        ]
        manifest, entry = stack.enter_context(trash.added(root, "deleted", at, kept))
        _take(spots, [Spot(entry, str(n), here.said) for n, here in enumerate(spots)], found)
        said = [place.said for place in places]
        return Kept(manifest.id, trash.digest(zip(said, kept, strict=True))), found


def _take(spots: list[Spot], bins: list[Spot], found: list[Found]) -> None:
    moved: list[tuple[Spot, Spot]] = []
    try:
        for here, there, file in zip(spots, bins, found, strict=True):
            disk.rename_to_free_name(here, there)
            moved.append((here, there))
            if not _is(there, file.sha256):
                raise ToolError(
                    f"{here.said} has changed since it was shown: it is being written. Nothing was deleted."
                )
    except BaseException:
        put_back(moved)
        raise
    disk.settle(*spots, *bins)


def put_back(moved: Sequence[tuple[Spot, Spot]]) -> None:
    """Take renames back, the last one first. Raises ToolError when a name was taken meanwhile: both are kept."""
    blocked = []
    for here, there in reversed(moved):
        try:
            disk.rename_to_free_name(there, here)
        except FileExistsError:
            blocked.append(here.said)
    if blocked:
        names = ", ".join(blocked)
        raise ToolError(
            f"{names} was written anew meanwhile. Both versions are kept: one in its folder, one in the trash."
        )


@dataclass(frozen=True)
class Back:
    """What came back: where, its SHA-256, and what it took the place of, if anything, as the trash keeps it."""

    places: list[Place]
    sha256: list[str]
    replaced: Kept | None = None


class Wanted(NamedTuple):
    """An entry that is to come back. `expected`: SHA-256 of what it may take the place of, or “absent”; `entry`: the
    digest of what it must hold, None: anything."""

    trash_id: str
    expected: str = disk.ABSENT
    entry: str | None = None


class Returning(NamedTuple):
    """What an entry holds, where it would go back to, the SHA-256 of what is there now (or “absent”), what is in the
    folders among it, and the digest of the entry."""

    files: list[TrashedFile]
    places: list[Place]
    now: list[str]
    inside: list[Item]
    entry: str


def preview(roots: Roots, trash_id: str) -> Returning:
    """What restoring an entry would bring back. Raises ToolError for a folder with more in it than a person reads."""
    root = trash.home(roots, trash_id)
    with trash.opened(root, trash_id) as (held, _):
        files = [file for _, file in held]
        places = _targets(roots, root, files)
        inside = [
            item
            for (there, file), place in zip(held, places, strict=True)
            if file.kind == "folder"
            for item in _inside(there, file, place.said)
        ]
    listing.bearable(inside)
    now = [one.sha256 or "" for one in listing.described(places)]
    return Returning(files, places, now, inside, _digest_of(places, files))


def _inside(there: Spot, file: TrashedFile, said: str) -> list[Item]:
    """What is in a folder of an entry, by the look that also gave its hash. Raises ToolError for another folder."""
    found, parts = trees.parts(there)
    trash.must_match(found, file)
    return listing.items(said, parts)


def _digest_of(places: Sequence[Place], files: Sequence[TrashedFile]) -> str:
    return trash.digest(zip((place.said for place in places), files, strict=True))


def _targets(roots: Roots, root: Root, files: list[TrashedFile]) -> list[Place]:
    return [roots.place(root, paths.split(file.path)) for file in files]


def restore(roots: Roots, wanted: Wanted, at: datetime) -> Back:
    """Bring an entry back.

    Raises ToolError when it, or what is there now, is something else than wanted; then nothing has changed.
    """
    root = trash.home(roots, wanted.trash_id)
    with alone(root), private(root, "trash") as bins, trash.opened(root, wanted.trash_id) as (held, entry):
        files = [file for _, file in held]
        places = _targets(roots, root, files)
        trash.must_be_kept(_digest_of(places, files), wanted.entry)
        replaced = None
        if wanted.expected == disk.ABSENT:
            _bring_back(held, places)
        else:
            replaced = _exchange(held, places, wanted.expected, at)
        trash.drop_if_empty(bins, entry, wanted.trash_id)
        return Back(places, [file.sha256 for file in files], replaced)


def _bring_back(held: list[tuple[Spot, TrashedFile]], places: list[Place]) -> None:
    moved: list[tuple[Spot, Spot]] = []
    with ExitStack() as stack:
        spots = [stack.enter_context(spot(place)) for place in places]
        try:
            for (there, file), here in zip(held, spots, strict=True):
                _put(there, here)
                moved.append((there, here))
                if not _is(here, file.sha256):
                    raise ToolError(f"{here.said} was changed in the trash just now. Look at it by hand.")
        except BaseException:
            put_back(moved)
            raise
        disk.settle(*spots, *(there for there, _ in held))


def _put(there: Spot, here: Spot) -> None:
    try:
        disk.rename_to_free_name(there, here)
    except FileExistsError:
        raise taken(here.said) from None


def _exchange(held: list[tuple[Spot, TrashedFile]], places: list[Place], expected: str, at: datetime) -> Kept:
    if len(held) != 1 or held[0][1].kind == "folder":
        raise ToolError("This entry holds a folder or several files; they only go back to free names.")
    [(there, kept)], [place] = held, places
    with disk.reading(there) as version:
        fill = _copying(version, place.said, kept.sha256)
        _, replaced = exchange(place, fill, expected, at, like=version)
    disk.remove(there)
    return replaced


def _copying(version: int, said: str, sha256: str) -> Callable[[int], None]:
    def fill(file: int) -> None:
        if disk.measure(version, said, copy_to=file).sha256 != sha256:
            raise ToolError(f"{said} was changed in the trash just now. Look at it by hand.")
        info = os.fstat(version)
        os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))

    return fill


EVERYTHING = "all"
MOST = 100  # entries at once
_TOO_MANY = f"These hold more than {MOST_SHOWN} files, too many to be shown. Name fewer of them."


class Entry(NamedTuple):
    """One entry: its root, its id, and what it really holds."""

    root: Root
    trash_id: str
    files: list[TrashedFile]


def plan(roots: Roots, ids: str | list[str]) -> Purging:
    """What would go. Raises ToolError for an id that is none."""
    found = _found(roots, ids)
    said = [
        (roots.place(entry.root, tuple(file.path.split("/"))).said, file)
        for entry in found
        for file in entry.files
    ]
    names = [name for name, _ in said]
    word = answers.things(file.kind for _, file in said)
    return Purging(
        what=answers.in_words(names, word),
        noun=answers.noun(names, word),
        items=[
            Item.model_validate({"name": name, "kind": file.kind, "size": file.size}) for name, file in said
        ],
        trash_ids=[entry.trash_id for entry in found],
        expected=_digest(found),
    )


def carry_out(roots: Roots, ids: str | list[str], expected: str | None) -> Purged:
    """Remove the entries. Raises ToolError when they do not hold what was shown; then nothing has changed."""
    with alone(*roots.roots):
        found = _found(roots, ids)
        if expected is not None and _digest(found) != expected:
            raise ToolError("The trash has changed since it was shown. Look at it again, then ask again.")
        for entry in found:
            with private(entry.root, "trash") as bins:
                trash.drop(entry.root, bins, entry.trash_id)
    files = [file for entry in found for file in entry.files]
    return Purged(
        trash_ids=[entry.trash_id for entry in found], count=len(files), size=sum(file.size for file in files)
    )


def _found(roots: Roots, ids: str | list[str]) -> list[Entry]:
    wanted = [ids] if isinstance(ids, str) else ids
    if wanted == [EVERYTHING]:
        wanted = _everything(roots)
        if not wanted:
            raise ToolError("The trash is empty: there is nothing to purge.")
    elif not 1 <= len(wanted) <= MOST or len(set(wanted)) < len(wanted):
        raise ToolError(
            f"Give between 1 and {MOST} ids of the trash, each once. “show the trash” lists them."
        )
    found, count = list[Entry](), 0
    for trash_id in wanted:
        root = trash.home(roots, trash_id)
        found.append(Entry(root, trash_id, trash.one(root, trash_id)))
        count += len(found[-1].files)
        if count > MOST_SHOWN:
            raise ToolError(_TOO_MANY)
    return found


def _everything(roots: Roots) -> list[str]:
    budget = trash.Budget()
    found = [manifest.id for root in roots.roots for manifest in trash.entries(root, budget)]
    if budget.spent:
        raise ToolError(_TOO_MANY)
    return found


def _digest(found: list[Entry]) -> str:
    held = [[entry.trash_id, [file.model_dump() for file in entry.files]] for entry in found]
    return hashlib.sha256(repr(held).encode()).hexdigest()
