"""Changes to files: each is one rename that loses nothing, then looked at again, and put back when it was not so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from typing import Any, TypeVar

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import disk, rename, trash, whole
from servers.filesystem.disk import Found
from servers.filesystem.models import Manifest, TrashedFile, Written
from servers.filesystem.roots import Place, Root, Spot, private, spot

Answer = TypeVar("Answer", bound=Written)


@contextmanager
def alone(*roots: Root) -> Iterator[None]:
    """The only change going on in these roots."""
    with ExitStack() as stack:
        for root in sorted(set(roots), key=lambda root: root.path):
            stack.enter_context(disk.lock(stack.enter_context(private(root))))
        yield


def create(place: Place, data: bytes) -> Found:
    """Write a new file. Raises ToolError when the name is taken by the time the bytes are ready."""
    with alone(place.root), spot(place) as target, private(place.root, "tmp") as folder:
        staged = disk.temporary(folder, place.said)
        with disk.staging(staged) as file:
            disk.write_all(file, data)
        return _publish(staged, target)


def put(
    place: Place, data: bytes, expected: str | None, at: datetime, kind: type[Answer], **more: Any
) -> Answer:
    """Write the bytes. `expected`: SHA-256 that is replaced, or “absent”; None: whatever is there.

    Returns a `kind` with `more` in it. Raises ToolError when something else is there; then nothing has changed.
    """
    with spot(place) as here:
        exists = disk.status(here) is not None
    trash_id = None
    if exists and expected != disk.ABSENT:
        found, trash_id = replace(place, data, expected, at)
    else:
        disk.agree(place.said, None, expected)
        found = create(place, data)
    return kind(
        path=place.said,
        sha256=found.sha256,
        size=found.size,
        replaced=trash_id is not None,
        trash_id=trash_id,
        kept_until=at + trash.KEEP if trash_id else None,
        expected={place.said: found.sha256},
        **more,
    )


def _publish(staged: Spot, target: Spot) -> Found:
    found = whole.examine(staged)
    try:
        rename.put(staged, target)
    except FileExistsError:
        raise taken(target.said) from None
    finally:
        whole.remove(staged)
    disk.settle(target)
    return found


def taken(said: str) -> ToolError:
    """The refusal to write onto a name that is not free."""
    return ToolError(
        f"{said} has changed since it was shown: it exists now. Choose another name, or look again."
    )


def replace(place: Place, data: bytes, expected: str | None, at: datetime) -> tuple[Found, str]:
    """Write over an existing file; the version before stays in the trash. Returns the new file and the trash id."""
    with alone(place.root):
        return exchange(place, lambda file: disk.write_all(file, data), expected, at)


def exchange(
    place: Place, fill: Callable[[int], None], expected: str | None, at: datetime, mode: int | None = None
) -> tuple[Found, str]:
    """As replace, for who is alone already. `fill` writes the new bytes; `mode` None keeps the mode.

    The new bytes are staged in the trash entry itself and exchanged with the file, so that the previous version
    lands where it will be kept and the name is never without a file.
    """
    with spot(place) as target:
        before = disk.sole(place.said, disk.examine(target))
        disk.agree(place.said, before, expected)
        kept = TrashedFile(path=place.inner, sha256=before.sha256, size=before.size)
        with trash.added(place.root, "replaced", at, [kept]) as (manifest, entry):
            mine = Spot(entry, "0", place.said)
            with disk.staging(mine, before.mode if mode is None else mode) as file:
                fill(file)
            after = disk.examine(mine)
            try:
                _swap_checked(mine, target, after.sha256, before.sha256)
            except ToolError:
                _account(mine, entry, manifest)
                raise
            disk.settle(target, mine)
        return after, manifest.id


def _swap_checked(mine: Spot, target: Spot, new: str, old: str) -> None:
    """Exchange the two, then see whether what came out is `old`; when not, put everything back and raise."""
    try:
        rename.swap(mine, target)
        if _is(mine, old):
            return
        rename.swap(mine, target)
        if not _is(mine, new):  # written once more meanwhile: the newest goes back, the one between is kept
            rename.swap(mine, target)
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
        return whole.examine(at).sha256 == sha256
    except ToolError:
        return False


def move(source: Place, destination: Place, expected: str | None) -> Found:
    """Rename a file or a folder onto a free name. Raises ToolError when either end is not as it was shown."""
    with alone(source.root, destination.root), spot(source) as start, spot(destination) as end:
        before = whole.examine(start)
        disk.agree(source.said, before, expected)
        try:
            rename.put(start, end)
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
                disk.agree(source.said, whole.examine(start, staged), expected)
            except BaseException:
                whole.remove(staged)
                raise
            return _publish(staged, end)


def delete(
    places: Sequence[Place], expected: Mapping[str, str] | None, at: datetime
) -> tuple[Manifest, list[Found]]:
    """Move files and folders to the trash of their root, all or none."""
    root = places[0].root
    with ExitStack() as stack:
        stack.enter_context(alone(root))
        spots = [stack.enter_context(spot(place)) for place in places]
        found = [whole.examine(here) for here in spots]
        for here, file in zip(spots, found, strict=True):
            disk.agree(here.said, file, None if expected is None else expected[here.said])
        kept = [
            TrashedFile(path=place.inner, sha256=file.sha256, size=file.size, kind=disk.kind(file.mode))
            for place, file in zip(places, found, strict=True)
        ]
        manifest, entry = stack.enter_context(trash.added(root, "deleted", at, kept))
        _take(spots, [Spot(entry, str(n), here.said) for n, here in enumerate(spots)], found)
        return manifest, found


def _take(spots: list[Spot], bins: list[Spot], found: list[Found]) -> None:
    moved: list[tuple[Spot, Spot]] = []
    try:
        for here, there, file in zip(spots, bins, found, strict=True):
            rename.put(here, there)
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
            rename.put(there, here)
        except FileExistsError:
            blocked.append(here.said)
    if blocked:
        names = ", ".join(blocked)
        raise ToolError(
            f"{names} was written anew meanwhile. Both versions are kept: see list_dir and list_trash."
        )
