"""The tools that change something, each with its card and its undo; refused when a target is not what was shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.cards import Card, change
from servers.filesystem import answers, disk, file_ops, path_arguments, trash, trees, watch
from servers.filesystem.answers import spoken
from servers.filesystem.models import (
    Deleted,
    ExpectedArg,
    Moved,
    PathArg,
    PathsArg,
    Purged,
    Restored,
    Sha256,
    TrashIdArg,
    TrashIdsArg,
    Unwatched,
    Watching,
    Written,
)
from servers.filesystem.paths import PRIVATE, Place, Roots
from servers.filesystem.trash import KEEP

LARGEST_WRITE = 1 << 20  # bytes of UTF-8

ExpectedPath = Annotated[
    str | None, Field(description="The full path where it must land. Empty: wherever destination leads.")
]
ExpectedMap = Annotated[
    dict[str, Sha256] | None,
    Field(description="Path to SHA-256: each file must be as this says. Empty: as they are."),
]


@dataclass(frozen=True)
class Changing:
    """The changing tools over some roots, with the clock that dates what they keep.

    `folders`: whether whole folders may be deleted there.
    """

    roots: Roots
    clock: Callable[[], datetime]
    folders: bool = False

    @spoken
    def write_file(
        self,
        path: PathArg,
        content: Annotated[str, Field(description="The whole text of the file, at most 1 MB.")],
        expected_sha256: ExpectedArg = None,
    ) -> Written:
        """Write a text file. A version before it is kept in the trash for 30 days."""
        place, data = path_arguments.file(self.roots, path), _encoded(content)
        return file_ops.put(place, data, expected_sha256, self.clock(), Written)

    @spoken
    def move_file(
        self,
        source: PathArg,
        destination: PathArg,
        expected_sha256: ExpectedArg = None,
        expected_destination: ExpectedPath = None,
    ) -> Moved:
        """Move or rename a file or folder. It goes into an existing folder under its name; nothing is overwritten."""
        start, end = self._ends(source, destination, expected_destination)
        return _moved(start, end, file_ops.move(start, end, expected_sha256))

    @spoken
    def copy_file(
        self,
        source: PathArg,
        destination: PathArg,
        expected_sha256: ExpectedArg = None,
        expected_destination: ExpectedPath = None,
    ) -> Moved:
        """Copy a file or a whole folder. It goes into an existing folder under its name; nothing is overwritten."""
        start, end = self._ends(source, destination, expected_destination)
        return _moved(start, end, file_ops.copy(start, end, expected_sha256))

    def _ends(self, source: str, destination: str, expected: str | None) -> tuple[Place, Place]:
        start = path_arguments.thing(self.roots, source)
        end = path_arguments.end_of(self.roots, start, destination)
        trees.free(self.roots, start, end)
        if expected is not None and end.said != expected:
            raise ToolError(
                f"{destination} has changed since it was shown: {expected} is now {end.said}. Ask again."
            )
        return start, end

    @spoken
    def delete_file(self, path: PathsArg, expected: ExpectedMap = None) -> Deleted:
        """Delete a file or a folder, or a list of them, all or none. They stay in the trash for 30 days."""
        places, at = path_arguments.several(self.roots, path), self.clock()
        if len({place.root for place in places}) > 1:
            raise ToolError("These files are in different roots. Delete those of one root at a time.")
        for place in places:
            path_arguments.deletable(self.roots, place, self.folders)
        if expected is not None and set(expected) != {place.said for place in places}:
            raise ToolError("“expected” must name exactly the paths to delete. Take it from describe_paths.")
        manifest, found = file_ops.delete(places, expected, at)
        prefix = "".join(f"{name}/" for name in places[0].prefix)
        return Deleted(
            trash_id=manifest.id,
            paths=[place.said for place in places],
            count=len(places),
            size=sum(file.size for file in found),
            kept_in=f"{prefix}{PRIVATE}/trash/{manifest.id}",
            kept_until=at + trash.KEEP,
            after={place.said: disk.ABSENT for place in places},
        )

    @spoken
    def restore_file(
        self,
        trash_id: TrashIdArg,
        expected_sha256: Annotated[
            Sha256,
            Field(description="SHA-256 of the file it takes the place of; “absent” when there must be none."),
        ] = disk.ABSENT,
    ) -> Restored:
        """Bring back from the trash, to where it was. A file that it takes the place of goes to the trash."""
        back = file_ops.restore(self.roots, trash_id, expected_sha256, self.clock())
        paths = [place.said for place in back.places]
        return Restored(
            paths=paths,
            replaced=back.replaced is not None,
            trash_id=back.replaced,
            sha256=back.sha256[0] if len(paths) == 1 else None,
            expected=dict(zip(paths, back.sha256, strict=True)),
        )

    @spoken
    def purge_trash(
        self,
        trash_id: TrashIdsArg,
        expected: Annotated[
            Sha256 | None, Field(description="SHA-256 of all that preview_purge showed. Empty: as it is.")
        ] = None,
    ) -> Purged:
        """Remove entries of the trash for good. Nothing brings them back, and what relies on them is not undone."""
        return file_ops.carry_out(self.roots, trash_id, expected)

    @spoken
    def watch_folder(
        self,
        path: PathArg,
        recursive: Annotated[bool, Field(description="Watch the folders in it too.")] = False,
        resume: Annotated[bool, Field(description="Bring back the watch that was ended last.")] = False,
    ) -> Watching:
        """Watch a folder: list_changes then says what changed since this look. Watching again is the next look."""
        place = self.roots.find(path)
        watched, found = (watch.resume(place), []) if resume else watch.begin(place, recursive, self.clock())
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
        left = watch.end(place, look or None)
        return Unwatched(path=place.said, ended=left is None, look=left.looks[-1].number if left else 0)


def _encoded(content: str) -> bytes:
    try:
        data = content.encode()
    except UnicodeEncodeError:
        raise ToolError(
            "The text holds half a character (a lone surrogate). Write it in whole characters."
        ) from None
    if len(data) > LARGEST_WRITE:
        raise ToolError(f"The text is {len(data)} bytes long. Write at most {LARGEST_WRITE} at once.")
    if b"\0" in data:
        raise ToolError("The text holds a NUL character, so it is not text. Leave it out.")
    return data


def _moved(start: Place, end: Place, found: disk.Found) -> Moved:
    return Moved(
        source=start.said,
        destination=end.said,
        sha256=found.sha256,
        size=found.size,
        expected={end.said: found.sha256},
    )


_TRASH = "stays in .countersign/trash"


def _same(paths: str, expected: str) -> dict[str, Any]:
    args = {"paths": paths, "whole_folders": True}
    return {"tool": "describe_paths", "args": args, "same": {"expected": expected}}


def _transfer(title: str, verb: str, undo: dict[str, Any]) -> Card:
    return change(
        title,
        verb,
        f"{verb} {{args.source}} to {{args.destination}}",
        targets={
            "paths": ["source", "destination"],
            "reported": ["{capture.plan.source}", "{capture.plan.destination}"],
        },
        noun="{args.source|name}",
        capture={
            "plan": {
                "tool": "preview_transfer",
                "args": {"source": "{args.source}", "destination": "{args.destination}"},
            }
        },
        bind={
            "expected_sha256": "{capture.plan.sha256}",
            "expected_destination": "{capture.plan.destination}",
        },
        preview={"kind": "affected", "items": "{capture.plan.items}"},
        recoverable="Nothing is overwritten",
        undo=[undo],
        drift=_same("{result.destination}", "{result.expected}"),
    )


_WRITE = change(
    "Write file",
    "Write",
    "Write {args.content|size} to {args.path}",
    targets={"paths": ["path"], "reported": ["{capture.before.path}"]},
    noun="{args.path|name}",
    capture={"before": {"tool": "preview_write", "args": {"path": "{args.path}"}}},
    bind={"expected_sha256": "{capture.before.sha256}"},
    preview={
        "kind": "diff",
        "before": "{capture.before.text}",
        "after": "{args.content}",
        "path": "{capture.before.path}",
    },
    recoverable=f"An earlier version, if there is one, {_TRASH}",
    keeps_days=KEEP.days,
    undo=[
        {
            "when": "{result.replaced}",
            "tool": "restore_file",
            "args": {"trash_id": "{result.trash_id}", "expected_sha256": "{result.sha256}"},
        },
        {
            "unless": "{result.replaced}",
            "tool": "delete_file",
            "args": {"path": "{result.path}", "expected": "{result.expected}"},
        },
    ],
    drift={"tool": "get_metadata", "args": {"path": "{result.path}"}, "same": {"sha256": "{result.sha256}"}},
)

_DELETE = change(
    "Delete files and folders",
    "Delete",
    "Delete {capture.targets.what}",
    targets={"paths": ["path"]},
    cls="destructive",
    risk="high",
    noun="{capture.targets.noun}",
    capture={"targets": {"tool": "describe_paths", "args": {"paths": "{args.path}", "to_delete": True}}},
    bind={"expected": "{capture.targets.expected}"},
    preview={"kind": "affected", "items": "{capture.targets.items}"},
    recoverable=f"What is deleted {_TRASH}",
    keeps_days=KEEP.days,
    undo=[{"tool": "restore_file", "args": {"trash_id": "{result.trash_id}"}}],
    drift=_same("{result.paths}", "{result.after}"),
)

_RESTORE = change(
    "Restore from trash",
    "Restore",
    "Restore {capture.plan.what} from the trash",
    targets={"ids": ["trash_id"], "reported": ["{capture.plan.paths}"]},
    noun="{capture.plan.noun}",
    capture={
        "plan": {
            "tool": "preview_restore",
            "args": {"trash_id": "{args.trash_id}"},
        }
    },
    bind={"expected_sha256": "{capture.plan.expected_sha256}"},
    preview={"kind": "affected", "items": "{capture.plan.items}"},
    recoverable=f"What it replaces, if anything, {_TRASH}",
    keeps_days=KEEP.days,
    undo=[
        {
            "when": "{result.replaced}",
            "tool": "restore_file",
            "args": {"trash_id": "{result.trash_id}", "expected_sha256": "{result.sha256}"},
        },
        {
            "unless": "{result.replaced}",
            "tool": "delete_file",
            "args": {"path": "{result.paths}", "expected": "{result.expected}"},
        },
    ],
    drift=_same("{result.paths}", "{result.expected}"),
)

_PURGE = change(
    "Purge trash",
    "Purge",
    "Remove {capture.plan.what} from the trash for good",
    targets={"ids": ["trash_id"]},
    cls="destructive",
    risk="critical",
    noun="{capture.plan.noun}",
    capture={"plan": {"tool": "preview_purge", "args": {"trash_id": "{args.trash_id}"}}},
    bind={"expected": "{capture.plan.expected}"},
    preview={"kind": "affected", "items": "{capture.plan.items}"},
    recoverable="Nothing brings it back",
)

_LOOK_DRIFT = {"tool": "list_changes", "args": {"path": "{result.path}"}, "same": {"look": "{result.look}"}}

CHANGING_CARDS: dict[str, Card] = {
    "write_file": _WRITE,
    "move_file": _transfer(
        "Move file or folder",
        "Move",
        {
            "tool": "move_file",
            "args": {
                "source": "{result.destination}",
                "destination": "{result.source}",
                "expected_sha256": "{result.sha256}",
                "expected_destination": "{result.source}",
            },
        },
    ),
    "copy_file": _transfer(
        "Copy file or folder",
        "Copy",
        {"tool": "delete_file", "args": {"path": "{result.destination}", "expected": "{result.expected}"}},
    ),
    "delete_file": _DELETE,
    "restore_file": _RESTORE,
    "purge_trash": _PURGE,
    "watch_folder": change(
        "Watch folder",
        "Watch",
        "Watch {args.path}",
        targets={"looks": ["path"]},
        risk="low",
        noun="{args.path|name}",
        preview={"kind": "fields"},
        recoverable="The watch is taken back",
        undo=[
            {
                "tool": "unwatch_folder",
                "args": {"path": "{result.path}", "look": "{result.look}"},
            }
        ],
        drift=_LOOK_DRIFT,
    ),
    "unwatch_folder": change(
        "Stop watching folder",
        "Unwatch",
        "Stop watching {args.path}",
        targets={"looks": ["path"]},
        risk="low",
        noun="{args.path|name}",
        preview={"kind": "fields"},
        recoverable="Until the folder is watched anew",
        undo=[
            {
                "unless": "{args.look}",
                "tool": "watch_folder",
                "args": {"path": "{result.path}", "resume": True},
            }
        ],
        drift=_LOOK_DRIFT,
    ),
}
