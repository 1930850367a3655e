"""From what was found or done to what a tool answers: what fits into it, in words; disk errors as sentences."""

from __future__ import annotations

import errno
import heapq
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

from servers.filesystem import trash
from servers.filesystem.models import Described, Description, Item, Manifest, TrashEntry
from servers.filesystem.paths import Root, Roots

MOST_ENTRIES = 1_000
MOST_CHARACTERS = 240 * 1024  # as indented JSON, the longer of the two forms in which an answer is sent

Entry = TypeVar("Entry", bound=BaseModel)
Row = TypeVar("Row", bound=Sequence[object])


def fitting(entries: Iterable[Entry], limit: int = MOST_ENTRIES) -> tuple[list[Entry], bool]:
    """The first entries, as many as asked for and as fit; and whether there are more."""
    taken: list[Entry] = []
    left = MOST_CHARACTERS
    for entry in entries:
        text = entry.model_dump_json(indent=2)
        left -= len(text) + 6 * (text.count("\n") + 1)
        if left < 0 or len(taken) == limit:
            return taken, True
        taken.append(entry)
    return taken, False


def fitting_rows(rows: Sequence[Row]) -> Sequence[Row]:
    """The first rows of a table, as many as fit with each value on a line of its own."""
    left = MOST_CHARACTERS
    for n, row in enumerate(rows):
        left -= sum(2 * len(str(value)) + 14 for value in row) + 20
        if left < 0:
            return rows[:n]
    return rows


def counted(amount: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{amount:,} {noun}{'s' * (amount != 1)}"


def fits(text: str) -> bool:
    """Whether a text fits, with its quotes and line breaks escaped."""
    return len(text) <= MOST_CHARACTERS and len(json.dumps(text, ensure_ascii=False)) <= MOST_CHARACTERS


P = ParamSpec("P")
R = TypeVar("R")

_SENTENCES = {
    errno.EACCES: "The server may not do that there. Ask whoever set up the folder for the right.",
    errno.EPERM: "The server may not do that there. Ask whoever set up the folder for the right.",
    errno.ENOENT: "Something on that path was removed meanwhile. Look again at what is there.",
    errno.ENOSPC: "The disk is full. Free some space and try again.",
    errno.EDQUOT: "The disk quota is used up. Free some space and try again.",
    errno.EBUSY: "That is in use, perhaps as the place of another disk. Leave it where it is.",
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


def summed(items: list[Described], inside: Sequence[Sequence[Item]] = ()) -> Description:
    """Several paths and what to call them together. `inside`: what is in each, shown below it."""
    held = list(zip(items, inside or [[]] * len(items), strict=True))
    shown = [[item, *(Described(**one.model_dump(), exists=True) for one in ones)] for item, ones in held]
    files = sum(one.kind == "file" for one in inside[0]) if len(inside) == 1 else 0
    more = f" (a folder with {files} {'file' if files == 1 else 'files'})" if len(inside) == 1 else ""
    word = things(item.kind for item in items)
    return Description(
        what=in_words([item.name for item in items], word)
        + (more if len(items) == 1 and items[0].kind == "folder" else ""),
        noun=noun([item.name for item in items], word),
        items=[one for each in shown for one in each],
        count=len(items),
        size=sum(item.size or 0 for item in items),
        expected={item.name: item.sha256 or item.kind for item in items},
        touched=[one.name for each in shown for one in each],
    )


def things(kinds: Iterable[str]) -> str:
    """What several of these are called together."""
    return "items" if "folder" in kinds else "files"


def in_words(paths: list[str], word: str = "files") -> str:
    """`a.md`, or `5 files: a.md, b.md, c.md and 2 more`."""
    if len(paths) == 1:
        return paths[0]
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f"{noun(paths, word)}: {', '.join(paths[:3])}{more}"


def noun(paths: list[str], word: str = "files") -> str:
    return paths[0].rpartition("/")[2] if len(paths) == 1 else f"{len(paths)} {word}"


def trash_entries(roots: Roots, budget: trash.Budget) -> Iterator[TrashEntry]:
    """The entries of all roots, newest first, as far as the budget reaches."""
    return heapq.merge(
        *(_entries(roots, root, budget) for root in roots.roots),
        key=lambda entry: entry.trash_id,
        reverse=True,
    )


def _entries(roots: Roots, root: Root, budget: trash.Budget) -> Iterator[TrashEntry]:
    return (_entry(roots, root, manifest) for manifest in trash.entries(root, budget))


def _entry(roots: Roots, root: Root, manifest: Manifest) -> TrashEntry:
    return TrashEntry(
        trash_id=manifest.id,
        reason=manifest.reason,
        deleted_at=manifest.deleted_at,
        kept_until=manifest.deleted_at + trash.KEEP,
        items=[
            Item.model_validate(
                {
                    "name": roots.place(root, tuple(file.path.split("/"))).said,
                    "kind": file.kind,
                    "size": file.size,
                }
            )
            for file in manifest.files
        ],
    )
