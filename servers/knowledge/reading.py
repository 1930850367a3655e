"""The tools that only read. Their docstrings are what people and models read of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.filesystem import disk, room
from servers.filesystem.answers import spoken
from servers.filesystem.models import Item
from servers.filesystem.roots import Place, Root, Roots, opened, spot
from servers.knowledge import asking, store
from servers.knowledge.indexing import Change, difference, shown
from servers.knowledge.models import (
    Answered,
    ChunkArg,
    FolderArg,
    FolderCall,
    Hit,
    Hits,
    IndexState,
    Plan,
    RecordArg,
    Restoring,
    Source,
    UpdateCall,
    WithinArg,
)

Limit = Annotated[int, Field(ge=1, le=50, description="At most this many.")]
QueryArg = Annotated[str, Field(min_length=1, max_length=500, description="Words to look for.")]
QuestionArg = Annotated[str, Field(min_length=1, max_length=500, description="A question in plain words.")]
_EMPTY = "Nothing is in the index yet. Index a folder first, with index_folder."


@dataclass(frozen=True)
class Reading:
    """The reading tools over some roots."""

    roots: Roots

    @contextmanager
    def _index(self, root: Root) -> Iterator[Connection]:
        with store.opened(store.stored(root)) as base:
            yield base

    def _scopes(self, within: str) -> list[tuple[Root, str]]:
        """The roots to look in, each with the folder in it."""
        if not within:
            return [(root, "") for root in self.roots.roots]
        place = self.roots.find(within)
        return [(place.root, place.inner)]

    def _said(self, root: Root, hit: Hit) -> Hit:
        path = shown(self.roots, root, hit.path)
        return hit.model_copy(update={"path": path, "chunk": f"{path}#{hit.chunk.rpartition('#')[2]}"})

    @spoken
    def search_documents(self, query: QueryArg, path: WithinArg = "", limit: Limit = 10) -> Hits:
        """Search the indexed files for words; all of them where that is possible, else some. Best first."""
        found, files = [], 0
        for root, within in self._scopes(path):
            with self._index(root) as base:
                found += [self._said(root, hit) for hit, _ in asking.search(base, query, within, limit + 1)]
                files += base.execute("SELECT count(*) FROM file").fetchone()[0]
        found.sort(key=lambda hit: -hit.score)
        hits, more = room.fitting(found, limit)
        note = _EMPTY if not files else "" if hits else "No indexed file holds these words."
        return Hits(asked=query, hits=hits, files=files, truncated=more, note=note)

    @spoken
    def ask_about_files(self, question: QuestionArg, path: WithinArg = "", limit: Limit = 3) -> Answered:
        """Answer a question with sentences from the indexed files, word for word, each with its source."""
        sources, files = [], 0
        for root, within in self._scopes(path):
            with self._index(root) as base:
                files += base.execute("SELECT count(*) FROM file").fetchone()[0]
                known = dict(base.execute("SELECT path, sha256 FROM file"))
                for hit, quote in asking.quotes(base, question, within, limit):
                    changed = known[hit.path] != _now(self.roots, root, hit.path)
                    sources.append(_source(self._said(root, hit), quote, changed))
        note = _EMPTY if not files else "" if sources else "No indexed file says something about that."
        if any(source.changed_since for source in sources):
            note = "Some of these files have changed since: run update_index, then ask again."
        answer = " ".join(source.quote for source in sources[:limit])
        return Answered(
            question=question, found=bool(sources), answer=answer, sources=sources[:limit], note=note
        )

    @spoken
    def get_related_chunks(self, chunk: ChunkArg, limit: Limit = 5) -> Hits:
        """Find parts of files that are about the same as one part, by the rare words that they share."""
        path, _, number = chunk.rpartition("#")
        place = self.roots.find(path)
        with self._index(place.root) as base:
            found = asking.related(base, place.inner, int(number), limit) if number.isdigit() else None
            files = base.execute("SELECT count(*) FROM file").fetchone()[0]
        if found is None:
            raise ToolError(f"There is no part “{chunk[:100]}” in the index. Take one from search_documents.")
        return Hits(asked=chunk, hits=[self._said(place.root, hit) for hit in found], files=files)

    @spoken
    def check_index(self, path: FolderArg) -> IndexState:
        """Say what is in the index of an allowed folder."""
        root = self.roots.find(path).root
        data = store.stored(root)
        with store.opened(data) as base:
            folders = [row[0] for row in base.execute("SELECT path FROM folder ORDER BY path")]
            files, parts = (
                base.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("file", "chunk")
            )
        return IndexState(
            path=self.roots.place(root, ()).said,
            sha256=store.named(data),
            folders=[shown(self.roots, root, folder) if folder else "." for folder in folders],
            files=files,
            chunks=parts,
        )

    @spoken
    def preview_index(self, call: FolderCall) -> Plan:
        """Say which files index_folder would take in or out. Changes nothing."""
        place = folder(self.roots, call.path)
        return self._plan(place, [(place, call.recursive)])

    @spoken
    def preview_update(self, call: UpdateCall) -> Plan:
        """Say which files update_index would take in or out. Changes nothing."""
        place = self.roots.find(call.path)
        with self._index(place.root) as base:
            places = indexed(self.roots, base, place)
        return self._plan(place, places)

    def _plan(self, place: Place, places: list[tuple[Place, bool]]) -> Plan:
        data = store.stored(place.root)
        with store.opened(data) as base:
            change = difference(base, self.roots, places)
        change.must_be_something()
        return planned(place, change, store.named(data))

    @spoken
    def preview_restore_index(self, record: RecordArg) -> Restoring:
        """Say what restoring an earlier index would bring back. Changes nothing."""
        root, before = store.kept(self.roots, record)
        now = store.stored(root)
        sizes = []
        for data in (now, before):
            with store.opened(data) as base:
                sizes.append(base.execute("SELECT count(*) FROM file").fetchone()[0])
        name = f"the index: from {sizes[0]} files back to {sizes[1]}"
        return Restoring(
            record=record,
            path=self.roots.place(root, ()).said,
            items=[Item(name=name, kind="other")],
            expected_index=store.named(now),
        )


def planned(place: Place, change: Change, index: str) -> Plan:
    """A change of an index as a preview tells it."""
    return Plan(
        path=place.said,
        items=change.items,
        added=len(change.added),
        changed=len(change.changed),
        removed=len(change.removed),
        unchanged=change.unchanged,
        skipped=change.skipped[:50],
        expected_index=index,
        expected_files=change.digest,
    )


def folder(roots: Roots, path: str) -> Place:
    """The place of a folder. Raises ToolError when it is none."""
    place = roots.find(path)
    with opened(place):
        return place


def indexed(roots: Roots, base: Connection, place: Place) -> list[tuple[Place, bool]]:
    """The folders that were indexed, at or below a place. Raises ToolError when there are none."""
    rows = base.execute("SELECT path, recursive FROM folder ORDER BY path").fetchall()
    found = [
        (roots.place(place.root, tuple(filter(None, inner.split("/")))), bool(recursive))
        for inner, recursive in rows
    ]
    chosen = [one for one in found if one[0].parts[: len(place.parts)] == place.parts]
    if not chosen:
        raise ToolError(f"No folder in {place.said} is in the index. Index one first, with index_folder.")
    return chosen


def _now(roots: Roots, root: Root, inner: str) -> str:
    """SHA-256 of a file as it is now; nothing when it is gone."""
    try:
        with spot(roots.place(root, tuple(inner.split("/")))) as here:
            return disk.examine(here).sha256
    except ToolError:
        return ""


def _source(hit: Hit, quote: str, changed: bool) -> Source:
    return Source(
        chunk=hit.chunk,
        path=hit.path,
        first_line=hit.first_line,
        last_line=hit.last_line,
        quote=quote,
        changed_since=changed,
    )
