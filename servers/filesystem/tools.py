"""The tools over files, each with its preview, its card and its undo.

A change is refused when its target is not what was shown. The docstrings of the tools are what people and models read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.filesystem import answers, disk, file_ops, listing, path_arguments, text, trash, trees
from servers.filesystem.answers import spoken
from servers.filesystem.file_ops import Wanted
from servers.filesystem.models import (
    Before,
    Deleted,
    Description,
    ExpectedArg,
    ExpectedKept,
    ExpectedMap,
    ExpectedPath,
    FileText,
    Item,
    Listing,
    MadeFolder,
    Matches,
    Metadata,
    Moved,
    NewFolder,
    PathArg,
    PathsArg,
    Purged,
    Purging,
    Restored,
    Restoring,
    Sha256,
    Transfer,
    Trash,
    TrashIdArg,
    TrashIdsArg,
    Written,
)
from servers.filesystem.paths import PRIVATE, Place, Roots
from servers.filesystem.trash import KEEP
from servers.tool_metadata import ITEMS, Card, bound, call, change, reading, unchanged

LARGEST_WRITE = 1 << 20  # bytes of UTF-8

Limit = Annotated[int, Field(ge=1, le=answers.MOST_ENTRIES, description="At most this many.")]


@dataclass(frozen=True)
class Tools:
    """The tools over some roots, with the clock that dates what they keep.

    `folders`: whether whole folders may be deleted there.
    """

    roots: Roots
    clock: Callable[[], datetime]
    folders: bool = False

    @spoken
    def list_dir(
        self, path: PathArg, recursive: bool = False, limit: Limit = answers.MOST_ENTRIES
    ) -> Listing:
        """List what is in a folder, with sizes and times. “.” is the first allowed folder."""
        place = self.roots.find(path)
        items, note = listing.listing(place, recursive, limit)
        names = [root.name for root in self.roots.roots]
        summary = "" if items or note else f"{place.said} is empty."
        return Listing(
            path=place.said, roots=names, items=items, truncated=bool(note), summary=summary, note=note
        )

    @spoken
    def read_file(
        self,
        path: PathArg,
        offset: Annotated[int, Field(ge=0, description="First byte to show.")] = 0,
        limit: Annotated[
            int, Field(ge=16, le=text.MOST_BYTES, description="Bytes at most.")
        ] = text.MOST_BYTES,
    ) -> FileText:
        """Read a file as text, at most 240 KB at a time. What is not text is described by size and SHA-256."""
        place = self.roots.find(path)
        return text.page(place, offset, limit, listing.OtherNames(place).refusal)

    @spoken
    def search_files(
        self,
        path: PathArg,
        pattern: Annotated[
            str, Field(min_length=1, max_length=200, description="A pattern like *.md or 2026/*.csv.")
        ],
        contains: Annotated[
            str | None, Field(max_length=200, description="Text on one line of the file.")
        ] = None,
        limit: Limit = answers.MOST_ENTRIES,
    ) -> Matches:
        """Find files below a folder by name, and by a text they contain. Upper and lower case are the same."""
        return listing.search(self.roots.find(path), pattern, contains, limit, listing.Budget())

    @spoken
    def get_metadata(self, path: PathArg) -> Metadata:
        """Say whether something is at a path, and its kind, size, time, mode and SHA-256."""
        return listing.metadata(self.roots.find(path))

    @spoken
    def describe_paths(
        self,
        paths: PathsArg,
        to_delete: Annotated[bool, Field(description="Refuse what delete_file would refuse.")] = False,
        whole_folders: Annotated[bool, Field(description="Hash folders too, with all in them.")] = False,
    ) -> Description:
        """Describe several paths at once, with the hashes that delete_file wants, up to 1 GB in all."""
        places = path_arguments.several(self.roots, paths)
        if not to_delete:
            return answers.summed(listing.described(places, whole_folders))
        for place in places:
            path_arguments.deletable(self.roots, place, self.folders)
        found = listing.hashed(places)
        listing.bearable([one for top, inside in found for one in (top, *inside)])
        return answers.summed([top for top, _ in found], [inside for _, inside in found])

    @spoken
    def preview_write(self, path: PathArg) -> Before:
        """Read the whole text that write_file would replace; empty where there is no file yet."""
        return text.before(path_arguments.file(self.roots, path))

    @spoken
    def preview_transfer(self, source: PathArg, destination: PathArg) -> Transfer:
        """Say what a move or copy would take and where it would go; an existing folder takes it in."""
        return path_arguments.transfer(self.roots, source, destination)

    @spoken
    def preview_folder(self, path: PathArg) -> NewFolder:
        """Say which folders create_folder would make; an error where something is there already."""
        place, missing = path_arguments.new_folder(self.roots, path)
        items = [Item(name=one.said, kind="folder") for one in missing]
        return NewFolder(path=place.said, top=missing[0].said, items=items)

    @spoken
    def preview_restore(self, trash_id: TrashIdArg) -> Restoring:
        """Say what restoring an entry of the trash would bring back, and what it would replace."""
        files, places, now, inside, entry = file_ops.preview(self.roots, trash_id)
        replaces = now != [disk.ABSENT] * len(now)
        if replaces and (len(now) > 1 or files[0].kind == "folder" or not now[0]):
            raise ToolError("Something is where this was. Move it away first, then restore it.")
        note = " (in place of the present one, which goes to the trash)" if replaces else ""
        said, word = [place.said for place in places], answers.things(file.kind for file in files)
        return Restoring(
            trash_id=trash_id,
            what=answers.in_words(said, word),
            noun=answers.noun(said, word),
            paths=said,
            items=[
                *(
                    Item.model_validate({"name": name + note, "kind": file.kind, "size": file.size})
                    for name, file in zip(said, files, strict=True)
                ),
                *inside,
            ],
            touched=[*said, *(item.name for item in inside)],
            expected_sha256=now[0],
            expected_entry=entry,
        )

    @spoken
    def preview_purge(self, trash_id: TrashIdsArg) -> Purging:
        """Say what purge_trash would remove for good."""
        return file_ops.plan(self.roots, trash_id)

    @spoken
    def list_trash(self, limit: Limit = 100) -> Trash:
        """List what was deleted or replaced in the last 30 days, newest first, with the ids for restore_file."""
        entries, more = answers.fitting(answers.trash_entries(self.roots, budget := trash.Budget()), limit)
        return Trash(entries=entries, truncated=more or budget.spent)

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
    def create_folder(
        self,
        path: PathArg,
        expected_top: Annotated[
            str | None, Field(description="The first folder of the path that is not there. Empty: whichever.")
        ] = None,
    ) -> MadeFolder:
        """Make an empty folder, and those above it that are not there."""
        place, missing = path_arguments.new_folder(self.roots, path)
        top = missing[0].said
        if expected_top not in (None, top):
            raise ToolError(
                f"{expected_top} is there by now, which it was not when this was shown. Ask again."
            )
        found = file_ops.make_folders(missing)
        return MadeFolder(path=place.said, top=top, expected={top: found.sha256})

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
            raise ToolError("These files are in different allowed folders. Delete those of one at a time.")
        for place in places:
            path_arguments.deletable(self.roots, place, self.folders)
        if expected is not None and set(expected) != {place.said for place in places}:
            raise ToolError(
                "“expected” must name exactly the paths to delete. Look at the paths again and take it from there."
            )
        kept, found = file_ops.delete(places, expected, at)
        return Deleted(
            trash_id=kept.id,
            entry=kept.entry,
            paths=[place.said for place in places],
            count=len(places),
            size=sum(file.size for file in found),
            kept_in="/".join((*places[0].prefix, PRIVATE, "trash", kept.id)),
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
        expected_entry: ExpectedKept = None,
    ) -> Restored:
        """Bring back from the trash, to where it was. A file that it takes the place of goes to the trash."""
        back = file_ops.restore(self.roots, Wanted(trash_id, expected_sha256, expected_entry), self.clock())
        paths, kept = [place.said for place in back.places], back.replaced
        return Restored(
            paths=paths,
            replaced=kept is not None,
            trash_id=kept.id if kept else None,
            entry=kept.entry if kept else None,
            sha256=back.sha256[0] if len(paths) == 1 else None,
            expected=dict(zip(paths, back.sha256, strict=True)),
        )

    @spoken
    def purge_trash(
        self,
        trash_id: TrashIdsArg,
        expected: Annotated[
            Sha256 | None, Field(description="SHA-256 of all that the preview showed. Empty: as it is.")
        ] = None,
    ) -> Purged:
        """Remove entries of the trash for good. Nothing brings them back, and what relies on them is not undone."""
        return file_ops.carry_out(self.roots, trash_id, expected)


def _encoded(content: str) -> bytes:
    try:
        data = content.encode()
    except UnicodeEncodeError:
        raise ToolError("The text holds half a character. Write it in whole characters.") from None
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


FROM_TRASH = {"trash_id": "{result.trash_id}", "expected_entry": "{result.entry}"}
_IN_TRASH = "Look at {args.trash_id} in the trash"
_TRASH = "stays in .countersign/trash"
_TOUCHED = ["touched[]"]
_NEW_EMPTY = {"when": "{capture.before.path}", "unless": "{args.content}"}
_EMPTIED = "Empty {args.path}, all {capture.before.size|size} of it"
_BOTH_PLACES = "{capture.plan.source} to {capture.plan.destination}"


def _same(paths: str, expected: str) -> dict[str, Any]:
    args = {"paths": paths, "whole_folders": True}
    return {"tool": "describe_paths", "args": args, "same": {"expected": expected}}


def _from_trash(made: str) -> list[dict[str, Any]]:
    """How a file that was written is taken back: what gave way comes back, or nothing is there again."""
    old = call("restore_file", **FROM_TRASH, expected_sha256="{result.sha256}")
    new = call("delete_file", path=made, expected="{result.expected}")
    return [{"when": "{result.replaced}", **old}, {"unless": "{result.replaced}", **new}]


def _transfer(title: str, verb: str, undo: dict[str, Any]) -> Card:
    return change(
        title,
        verb,
        f"{verb} {{args.source}} to {{args.destination}}",
        summaries=[{"when": "{capture.plan.folder}", "summary": f"{verb} the folder {_BOTH_PLACES}"}],
        targets={"paths": ["source", "destination"], "reported": ["{capture.plan.touched}"]},
        noun="{args.source|name}",
        capture={"plan": call("preview_transfer", source="{args.source}", destination="{args.destination}")},
        bind=bound(expected_sha256="sha256", expected_destination="destination"),
        preview=ITEMS,
        recoverable="Nothing is overwritten",
        undo=[undo],
        drift=_same("{result.destination}", "{result.expected}"),
    )


_WRITE = change(
    "Write file",
    "Write",
    "Write {args.content|size} to {args.path}",
    summaries=[
        {"when": "{capture.before.text}", "unless": "{args.content}", "summary": _EMPTIED},
        {"when": "{capture.before.exists}", "summary": "Replace {args.path}"},
        {**_NEW_EMPTY, "summary": "Create {args.path} (empty)"},
        {"unless": "{args.content}", "summary": "Write {args.path} as an empty file"},
    ],
    targets={"paths": ["path"], "reported": ["{capture.before.path}"]},
    noun="{args.path|name}",
    capture={"before": call("preview_write", path="{args.path}")},
    bind={"expected_sha256": "{capture.before.sha256}"},
    preview={
        "kind": "diff",
        "before": "{capture.before.text}",
        "after": "{args.content}",
        "path": "{capture.before.path}",
    },
    recoverable=f"An earlier version, if there is one, {_TRASH}",
    keeps_days=KEEP.days,
    undo=_from_trash("{result.path}"),
    drift=unchanged("get_metadata", path="{result.path}"),
)

_FOLDER = change(
    "Create folder",
    "Create",
    "Create the folder {args.path}",
    targets={"paths": ["path"], "reported": ["{capture.plan.path}"]},
    risk="low",
    noun="{args.path|name}",
    capture={"plan": call("preview_folder", path="{args.path}")},
    bind=bound(expected_top="top"),
    preview=ITEMS,
    recoverable="Nothing is overwritten",
    undo=[call("delete_file", path="{result.top}", expected="{result.expected}")],
    drift=_same("{result.top}", "{result.expected}"),
)

_DELETE = change(
    "Delete files and folders",
    "Delete",
    "Delete {capture.targets.what}",
    targets={"paths": ["path"], "reported": ["{capture.targets.touched}"]},
    cls="destructive",
    risk="high",
    noun="{capture.targets.noun}",
    capture={"targets": call("describe_paths", paths="{args.path}", to_delete=True)},
    bind={"expected": "{capture.targets.expected}"},
    preview={"kind": "affected", "items": "{capture.targets.items}"},
    recoverable=f"What is deleted {_TRASH}",
    keeps_days=KEEP.days,
    undo=[call("restore_file", **FROM_TRASH)],
    drift=_same("{result.paths}", "{result.after}"),
)

_RESTORE = change(
    "Restore from trash",
    "Restore",
    "Restore {capture.plan.what} from the trash",
    targets={"ids": ["trash_id"], "reported": ["{capture.plan.touched}"]},
    noun="{capture.plan.noun}",
    capture={"plan": call("preview_restore", trash_id="{args.trash_id}")},
    bind=bound("expected_sha256", "expected_entry"),
    preview=ITEMS,
    recoverable=f"What it replaces, if anything, {_TRASH}",
    keeps_days=KEEP.days,
    undo=_from_trash("{result.paths}"),
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
    capture={"plan": call("preview_purge", trash_id="{args.trash_id}")},
    bind=bound("expected"),
    preview=ITEMS,
    recoverable="Nothing brings it back",
    expect=[{"that": "{result.count}", "least": 1, "why": "nothing was removed"}],
)

CARDS: dict[str, Card] = {
    "list_dir": reading("List folder", "List {args.path|place}", looks=["path"], listed=["items[].name"]),
    "read_file": reading("Read file", "Read {args.path}", paths=["path"]),
    "search_files": reading(
        "Search files",
        "Search {args.path|place} for {args|sought}",
        looks=["path"],
        found=["matches[excerpt].path"],
        listed=["matches[].path"],
    ),
    "get_metadata": reading("File details", "Look at {args.path|place}", looks=["path"]),
    "describe_paths": reading(
        "Describe paths", "Look at {args.paths|place}", looks=["paths"], listed=_TOUCHED
    ),
    "list_trash": reading("List trash", "List the trash", listed=["entries[].items[].name"]),
    "preview_write": reading("Preview a write", "Read {args.path}", paths=["path"]),
    "preview_transfer": reading(
        "Preview a move or copy",
        "Look at {args.source|place} and {args.destination|place}",
        looks=["source", "destination"],
        listed=_TOUCHED,
    ),
    "preview_folder": reading("Preview a new folder", "Look at {args.path|place}", looks=["path"]),
    "preview_restore": reading("Preview a restore", _IN_TRASH, listed=_TOUCHED),
    "preview_purge": reading("Preview a purge", _IN_TRASH, listed=["items[].name"]),
    "write_file": _WRITE,
    "create_folder": _FOLDER,
    "move_file": _transfer(
        "Move file or folder",
        "Move",
        call(
            "move_file",
            source="{result.destination}",
            destination="{result.source}",
            expected_sha256="{result.sha256}",
            expected_destination="{result.source}",
        ),
    ),
    "copy_file": _transfer(
        "Copy file or folder",
        "Copy",
        call("delete_file", path="{result.destination}", expected="{result.expected}"),
    ),
    "delete_file": _DELETE,
    "restore_file": _RESTORE,
    "purge_trash": _PURGE,
}
