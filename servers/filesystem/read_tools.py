"""The tools that only read, each with its card. Their docstrings are what people and models read of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.cards import Card, reading
from servers.filesystem import answers, disk, file_ops, listing, path_arguments, text, watch
from servers.filesystem.answers import spoken
from servers.filesystem.models import (
    Before,
    Changes,
    Description,
    FileText,
    Item,
    Listing,
    Matches,
    Metadata,
    PathArg,
    PathsArg,
    Purging,
    Restoring,
    Transfer,
    Trash,
    TrashIdArg,
    TrashIdsArg,
)
from servers.filesystem.paths import Roots

Limit = Annotated[int, Field(ge=1, le=answers.MOST_ENTRIES, description="At most this many.")]


@dataclass(frozen=True)
class Reading:
    """The reading tools over some roots. `folders`: whether whole folders may be deleted there."""

    roots: Roots
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
        return text.page(self.roots.find(path), offset, limit)

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
        """Describe several paths at once, with the hashes that delete_file wants."""
        places = path_arguments.several(self.roots, paths)
        if not to_delete:
            return answers.summed([listing.described(place, whole_folders) for place in places])
        for place in places:
            path_arguments.deletable(self.roots, place, self.folders)
        found = [listing.hashed(place) for place in places]
        if sum(1 + len(inside) for _, inside in found) > listing.MOST_SHOWN:
            raise ToolError(
                f"These hold more than {listing.MOST_SHOWN} names, too many to be shown. Name fewer."
            )
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
    def preview_restore(self, trash_id: TrashIdArg) -> Restoring:
        """Say what restoring an entry of the trash would bring back, and what it would replace."""
        files, places, now = file_ops.preview(self.roots, trash_id)
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
                Item.model_validate({"name": name + note, "kind": file.kind, "size": file.size})
                for name, file in zip(said, files, strict=True)
            ],
            expected_sha256=now[0],
        )

    @spoken
    def preview_purge(self, trash_id: TrashIdsArg) -> Purging:
        """Say what purge_trash would remove for good."""
        return file_ops.plan(self.roots, trash_id)

    @spoken
    def list_trash(self, limit: Limit = 100) -> Trash:
        """List what was deleted or replaced in the last 30 days, newest first, with the ids for restore_file."""
        entries, more = answers.fitting(answers.trash_entries(self.roots), limit)
        return Trash(entries=entries, truncated=more)

    @spoken
    def list_changes(self, path: PathArg) -> Changes:
        """Say what was added, changed or removed in a watched folder since the last look at it."""
        place, watching = self.roots.find(path), watch.watching(self.roots)
        watched = watch.stored(place)
        if watched is None:
            return Changes(path=place.said, watched=False, look=0, since=None, changes=[], watching=watching)
        last = watched.looks[-1]
        changes, more = answers.fitting(
            watch.differences(place, last.seen, watch.take(place, watched.recursive))
        )
        return Changes(
            path=place.said,
            watched=True,
            look=last.number,
            since=last.at,
            changes=changes,
            truncated=more,
            watching=watching,
        )


READING_CARDS: dict[str, Card] = {
    "list_dir": reading("List folder", "List {args.path|place}", looks=["path"]),
    "read_file": reading("Read file", "Read {args.path}", paths=["path"]),
    "search_files": reading("Search files", "Search {args.path|place} for {args|sought}", looks=["path"]),
    "get_metadata": reading("File details", "Look at {args.path}", looks=["path"]),
    "describe_paths": reading("Describe paths", "Look at {args.paths}", looks=["paths"]),
    "list_trash": reading("List trash", "List the trash"),
    "list_changes": reading("List changes", "List what changed in {args.path|place}", looks=["path"]),
    "preview_write": reading("Preview a write", "Read {args.path}", paths=["path"]),
    "preview_transfer": reading(
        "Preview a move or copy",
        "Look at {args.source} and {args.destination}",
        looks=["source", "destination"],
    ),
    "preview_restore": reading("Preview a restore", "Look at {args.trash_id} in the trash"),
    "preview_purge": reading("Preview a purge", "Look at {args.trash_id} in the trash"),
}
