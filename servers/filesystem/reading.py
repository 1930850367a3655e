"""The tools that only read. Their docstrings are what people and models read of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.filesystem import answers, disk, landing, look, restore, room, search, text, watch
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
    Restoring,
    Transfer,
    Trash,
    TrashIdArg,
)
from servers.filesystem.roots import Roots

Limit = Annotated[int, Field(ge=1, le=room.MOST_ENTRIES, description="At most this many.")]


@dataclass(frozen=True)
class Reading:
    """The reading tools over some roots."""

    roots: Roots

    @spoken
    def list_dir(self, path: PathArg, recursive: bool = False, limit: Limit = room.MOST_ENTRIES) -> Listing:
        """List what is in a folder, with sizes and times. “.” is the first allowed folder."""
        place = self.roots.find(path)
        items, note = look.listing(place, recursive, limit)
        names = [root.name for root in self.roots.roots]
        return Listing(path=place.said, roots=names, items=items, truncated=bool(note), note=note)

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
        limit: Limit = room.MOST_ENTRIES,
    ) -> Matches:
        """Find files below a folder by name, and by a text they contain. Upper and lower case are the same."""
        return search.search(self.roots.find(path), pattern, contains, limit, look.Budget())

    @spoken
    def get_metadata(self, path: PathArg) -> Metadata:
        """Say whether something is at a path, and its kind, size, time, mode and SHA-256."""
        return look.metadata(self.roots.find(path))

    @spoken
    def describe_paths(
        self,
        paths: PathsArg,
        files_only: Annotated[bool, Field(description="Refuse what delete_file would refuse.")] = False,
    ) -> Description:
        """Describe several paths at once, with the hashes that delete_file wants."""
        places = landing.several(self.roots, paths)
        return answers.summed([look.described(place, files_only) for place in places])

    @spoken
    def preview_write(self, path: PathArg) -> Before:
        """Read the whole text that write_file would replace; empty where there is no file yet."""
        return text.before(landing.file(self.roots, path))

    @spoken
    def preview_transfer(self, source: PathArg, destination: PathArg) -> Transfer:
        """Say which file a move or copy would take and where it would go; an existing folder takes it in."""
        return landing.transfer(self.roots, source, destination)

    @spoken
    def preview_restore(self, trash_id: TrashIdArg) -> Restoring:
        """Say what restoring an entry of the trash would bring back, and what it would replace."""
        files, places, now = restore.preview(self.roots, trash_id)
        replaces = now != [disk.ABSENT] * len(now)
        if replaces and len(now) > 1:
            raise ToolError("Something is where these files were. Move it away first, then restore them.")
        note = " (in place of the present one, which goes to the trash)" if replaces else ""
        said = [place.said for place in places]
        return Restoring(
            trash_id=trash_id,
            what=answers.in_words(said),
            noun=answers.noun(said),
            items=[
                Item(name=name + note, kind="file", size=file.size)
                for name, file in zip(said, files, strict=True)
            ],
            expected_sha256=now[0],
        )

    @spoken
    def list_trash(self, limit: Limit = 100) -> Trash:
        """List what was deleted or replaced in the last 30 days, newest first, with the ids for restore_file."""
        entries, more = room.fitting(answers.trash_entries(self.roots), limit)
        return Trash(entries=entries, truncated=more)

    @spoken
    def list_changes(self, path: PathArg) -> Changes:
        """Say what was added, changed or removed in a watched folder since the last look at it."""
        place, watching = self.roots.find(path), watch.watching(self.roots)
        watched = watch.stored(place)
        if watched is None:
            return Changes(path=place.said, watched=False, look=0, since=None, changes=[], watching=watching)
        last = watched.looks[-1]
        changes, more = room.fitting(
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
