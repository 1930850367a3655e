"""From what was found or done to what a tool answers; and from what a disk refuses to a sentence."""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import trash
from servers.filesystem.models import Described, Description, Item, Manifest, TrashEntry
from servers.filesystem.roots import Root, Roots

P = ParamSpec("P")
R = TypeVar("R")

_SENTENCES = {
    errno.EACCES: "The server may not do that there. Ask whoever set up the folder for the right.",
    errno.EPERM: "The server may not do that there. Ask whoever set up the folder for the right.",
    errno.ENOENT: "Something on that path was removed meanwhile. Look again with list_dir.",
    errno.ENOSPC: "The disk is full. Free some space and try again.",
    errno.EDQUOT: "The disk quota is used up. Free some space and try again.",
    errno.EROFS: "That folder can only be read. Choose another one.",
    errno.EXDEV: "That would cross from one disk to another. Copy the file, then delete the first one.",
    errno.ENAMETOOLONG: "That name is too long for the disk. Choose a shorter one.",
}


def spoken(tool: Callable[P, R]) -> Callable[P, R]:
    """A tool whose refusals by the disk are sentences. What is not in the list above stays a crash, and is logged."""

    @wraps(tool)
    def told(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return tool(*args, **kwargs)
        except OSError as error:
            if error.errno not in _SENTENCES:
                raise
            raise ToolError(_SENTENCES[error.errno]) from error

    return told


def summed(items: list[Described]) -> Description:
    """Several paths and what to call them together."""
    return Description(
        what=in_words([item.name for item in items]),
        noun=noun([item.name for item in items]),
        items=items,
        count=len(items),
        size=sum(item.size or 0 for item in items),
        expected={item.name: item.sha256 or item.kind for item in items},
    )


def in_words(paths: list[str]) -> str:
    """`a.md`, or `5 files: a.md, b.md, c.md and 2 more`."""
    if len(paths) == 1:
        return paths[0]
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f"{noun(paths)}: {', '.join(paths[:3])}{more}"


def noun(paths: list[str]) -> str:
    return paths[0].rpartition("/")[2] if len(paths) == 1 else f"{len(paths)} files"


def trash_entries(roots: Roots) -> list[TrashEntry]:
    """All entries of all roots, newest first."""
    found = [_entry(roots, root, manifest) for root in roots.roots for manifest in trash.entries(root)]
    return sorted(found, key=lambda entry: entry.deleted_at, reverse=True)


def _entry(roots: Roots, root: Root, manifest: Manifest) -> TrashEntry:
    return TrashEntry(
        trash_id=manifest.id,
        reason=manifest.reason,
        deleted_at=manifest.deleted_at,
        kept_until=manifest.deleted_at + trash.KEEP,
        items=[
            Item(name=roots.place(root, tuple(file.path.split("/"))).said, kind="file", size=file.size)
            for file in manifest.files
        ],
    )
