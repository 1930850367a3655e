"""The end of what the trash holds, on purpose and before its days are over: exactly the entries that were shown."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import answers, change, trash
from servers.filesystem.look import MOST_SHOWN
from servers.filesystem.models import Item, Purged, Purging, TrashedFile
from servers.filesystem.roots import Root, Roots, private

EVERYTHING = "all"
MOST = 100  # entries at once


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
    with change.alone(*roots.roots):
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
        wanted = [manifest.id for root in roots.roots for manifest in trash.entries(root)]
        if not wanted:
            raise ToolError("The trash is empty: there is nothing to purge.")
    elif not 1 <= len(wanted) <= MOST or len(set(wanted)) < len(wanted):
        raise ToolError(f"Give between 1 and {MOST} ids of the trash, each once. See list_trash.")
    found = [_entry(roots, trash_id) for trash_id in wanted]
    if sum(len(entry.files) for entry in found) > MOST_SHOWN:
        raise ToolError(f"These hold more than {MOST_SHOWN} files, too many to be shown. Name fewer of them.")
    return found


def _entry(roots: Roots, trash_id: str) -> Entry:
    root = trash.home(roots, trash_id)
    manifest = next((one for one in trash.entries(root) if one.id == trash_id), None)
    if manifest is None:
        raise ToolError(f"{trash_id} holds nothing that is known. See list_trash.")
    with private(root, "trash", trash_id, make=False) as entry:
        return Entry(root, trash_id, [file for _, file in trash.stored(entry, manifest)])


def _digest(found: list[Entry]) -> str:
    held = [[entry.trash_id, [file.model_dump() for file in entry.files]] for entry in found]
    return hashlib.sha256(repr(held).encode()).hexdigest()
