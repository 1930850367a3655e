"""The tools that change something. Each has a way back, and refuses when its target is not what was shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.filesystem import change, disk, landing, purge, restore, room, trash, watch, whole
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
from servers.filesystem.names import PRIVATE
from servers.filesystem.roots import Place, Roots

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
        place, data = landing.file(self.roots, path), _encoded(content)
        return change.put(place, data, expected_sha256, self.clock(), Written)

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
        return _moved(start, end, change.move(start, end, expected_sha256))

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
        return _moved(start, end, change.copy(start, end, expected_sha256))

    def _ends(self, source: str, destination: str, expected: str | None) -> tuple[Place, Place]:
        start = landing.thing(self.roots, source)
        end = landing.end_of(self.roots, start, destination)
        whole.free(self.roots, start, end)
        if expected is not None and end.said != expected:
            raise ToolError(
                f"{destination} has changed since it was shown: {expected} is now {end.said}. Ask again."
            )
        return start, end

    @spoken
    def delete_file(self, path: PathsArg, expected: ExpectedMap = None) -> Deleted:
        """Delete a file or a folder, or a list of them, all or none. They stay in the trash for 30 days."""
        places, at = landing.several(self.roots, path), self.clock()
        if len({place.root for place in places}) > 1:
            raise ToolError("These files are in different roots. Delete those of one root at a time.")
        for place in places:
            landing.deletable(self.roots, place, self.folders)
        if expected is not None and set(expected) != {place.said for place in places}:
            raise ToolError("“expected” must name exactly the paths to delete. Take it from describe_paths.")
        manifest, found = change.delete(places, expected, at)
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
        back = restore.restore(self.roots, trash_id, expected_sha256, self.clock())
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
        return purge.carry_out(self.roots, trash_id, expected)

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
        changes, more = room.fitting(found)
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
