"""The tools that change the index. The one before is kept whole for 30 days, so that each has an exact way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.arguments import Clock
from servers.filesystem import change as files
from servers.filesystem.answers import spoken
from servers.filesystem.roots import Place, Roots
from servers.knowledge import store
from servers.knowledge.indexing import difference, take
from servers.knowledge.models import ExpectedFiles, ExpectedIndex, FolderArg, Indexed, RecordArg
from servers.knowledge.reading import folder, indexed


@dataclass(frozen=True)
class Changing:
    """The changing tools over some roots, with the clock that dates what they keep."""

    roots: Roots
    clock: Clock

    @spoken
    def index_folder(
        self,
        path: FolderArg,
        recursive: Annotated[bool, Field(description="With the folders in it.")] = True,
        expected_index: ExpectedIndex = None,
        expected_files: ExpectedFiles = None,
    ) -> Indexed:
        """Take the text of a folder's files into the index, and out of it what is gone. The files stay as they are."""
        place = folder(self.roots, path)
        return self._change(place, (place, recursive), expected_index, expected_files)

    @spoken
    def update_index(
        self,
        path: FolderArg = ".",
        expected_index: ExpectedIndex = None,
        expected_files: ExpectedFiles = None,
    ) -> Indexed:
        """Bring the index of folders that were indexed up to date: new, changed and removed files."""
        return self._change(self.roots.find(path), None, expected_index, expected_files)

    def _change(
        self, place: Place, new: tuple[Place, bool] | None, index: str | None, shown: str | None
    ) -> Indexed:
        """Change the index of a root: one new folder, or all that are in it."""
        with files.alone(place.root):
            before = _agreed(place, index)
            with store.opened(before) as base:
                change = difference(base, self.roots, [new] if new else indexed(self.roots, base, place))
                change.must_be_something()
                if shown is not None and change.digest != shown:
                    raise ToolError(
                        "The files have changed since they were shown. Look again, then ask again."
                    )
                base.execute("BEGIN")
                if new:
                    base.execute("REPLACE INTO folder VALUES (?, ?)", [new[0].inner, new[1]])
                parts = take(base, self.roots, change)
                base.execute("COMMIT")
                after = base.serialize()
            record = store.replace(place.root, before, after, self.clock())
        return Indexed(
            path=place.said,
            added=len(change.added),
            changed=len(change.changed),
            removed=len(change.removed),
            chunks=parts,
            skipped=change.skipped[:50],
            record=record,
            sha256=store.named(after),
        )

    @spoken
    def restore_index(self, record: RecordArg, expected_index: ExpectedIndex = None) -> Indexed:
        """Put an earlier index back, exactly as it was. The one that gives way is kept."""
        root, earlier = store.kept(self.roots, record)
        place = self.roots.place(root, ())
        with files.alone(root):
            before = _agreed(place, expected_index)
            if before == earlier:
                raise ToolError("Nothing has changed: the index is that one already.")
            kept = store.replace(root, before, earlier, self.clock())
        return Indexed(
            path=place.said,
            added=0,
            changed=0,
            removed=0,
            chunks=0,
            skipped=[],
            record=kept,
            sha256=store.named(earlier),
        )


def _agreed(place: Place, expected: str | None) -> bytes:
    data = store.stored(place.root)
    if expected is not None and store.named(data) != expected:
        raise ToolError("The index has changed since it was shown. Look again, then ask again.")
    return data
