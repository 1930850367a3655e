"""The knowledge tools, each with its card and its undo. Their docstrings are what people and models read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Annotated, Any, BinaryIO, NamedTuple

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Sample
from pydantic import Field

from servers.command_line import Clock
from servers.filesystem import answers, file_ops
from servers.filesystem.answers import counted, spoken
from servers.filesystem.models import ExpectedKept, Item
from servers.filesystem.paths import Place, Root, Roots, opened
from servers.filesystem.trash import KEEP, fingerprint, must_be_kept
from servers.knowledge import indexing
from servers.knowledge.indexed_files import is_there, sha256_now
from servers.knowledge.indexing import Change, difference, shown
from servers.knowledge.models import (
    Answered,
    ChunkArg,
    ExpectedFiles,
    ExpectedIndex,
    FolderArg,
    FolderCall,
    Hit,
    Hits,
    Indexed,
    IndexState,
    Plan,
    RecordArg,
    Restoring,
    Source,
    UpdateCall,
    WithinArg,
)
from servers.knowledge.taking import taken
from servers.model_answers import Answer, about, answer_text, asking, cited, refusal, samples
from servers.sandbox.calling import Blob, pieces, unbroken
from servers.tool_metadata import ITEMS, Card, bound, call, change, reading, unchanged

Limit = Annotated[int, Field(ge=1, le=50, description="At most this many.")]
QueryArg = Annotated[str, Field(min_length=1, max_length=500, description="Words to look for.")]
QuestionArg = Annotated[str, Field(min_length=1, max_length=500, description="A question in plain words.")]
PASSAGES = 12  # parts that a model is asked about
TASK = """\
Answer the question from the numbered parts of files, in the language of the question and as briefly as it allows. Where
they do not answer it, write nothing. The question: """
_NEAR = (
    "Found by what it means: no sentence holds the words of the question, so look whether this answers it."
)
_NEAR_PARTS = "Some of these hold none of the words: they were found by what they mean."
_EMPTY = "Nothing is in the index yet. Index a folder first."


class _Passage(NamedTuple):
    """A part of a file. `changed`: the file is another one now than when it was indexed."""

    hit: Hit
    text: str
    changed: bool


@dataclass(frozen=True)
class Reading:
    """The reading tools over some roots."""

    roots: Roots

    def _scopes(self, within: str) -> list[tuple[Root, str]]:
        """The roots to look in, each with the folder in it."""
        if not within:
            return [(root, "") for root in self.roots.roots]
        place = self.roots.find(within)
        return [(place.root, place.inner)]

    def _hits(self, root: Root, told: list[dict[str, Any]]) -> list[Hit]:
        """Those whose files are there still: a file that was moved is kept by the rules about where it is now."""
        hits = [Hit.model_validate(one) for one in told]
        return [self._said(root, hit) for hit in hits if is_there(self.roots, root, hit.path)]

    def _said(self, root: Root, hit: Hit) -> Hit:
        path = shown(self.roots, root, hit.path)
        return hit.model_copy(update={"path": path, "chunk": f"{path}#{hit.chunk.rpartition('#')[2]}"})

    @spoken
    def search_documents(self, query: QueryArg, path: WithinArg = "", limit: Limit = 10) -> Hits:
        """Search the indexed files for words; all of them where that is possible, else some. Best first.

        With the package for embeddings, where no part holds all words: also parts that say it in other words."""
        found, files, near = [], 0, False
        for root, within in self._scopes(path):
            told = indexing.read_only(root, "search", query=query, within=within, limit=limit + 1)
            found += self._hits(root, told["hits"])
            files += told["files"]
            near = near or told["near"]
        found.sort(key=lambda hit: -hit.score)
        hits, more = answers.fitting(found, limit)
        by_words = "" if hits else "No indexed file holds these words."
        note = _EMPTY if not files else _NEAR_PARTS if near else by_words
        return Hits(asked=query, hits=hits, files=files, truncated=more, note=note)

    @property
    def ask_about_files(self) -> Callable[..., Answered]:
        """The tool, which asks the client's model where there is one."""
        return asking(self._ask_about_files, self._asked_of_model)

    @spoken
    def _ask_about_files(
        self, question: QuestionArg, path: WithinArg = "", limit: Limit = 3, told: Answer = None
    ) -> Answered:
        """Answer a question with sentences from the indexed files, word for word, each with its source.

        With sampling, a model answers in lines of its own, each with a quotation that was found in its source."""
        if told is None:
            return self._by_quotes(question, path, limit)
        passages = self._passages(question, path)
        kept, dropped = cited(answer_text(told), [passage.text for passage in passages])
        count = "One line of its was" if dropped == 1 else f"{dropped} of its lines were"
        lost = f"{count} dropped: what they quote is not there." if dropped else ""
        if not kept:
            why = (
                f"no model answered ({refused})" if (refused := refusal(told)) else "a model found no answer"
            )
            found = self._by_quotes(question, path, limit)
            note = " ".join(filter(None, [found.note, f"Found by its words alone: {why}.", lost]))
            return found.model_copy(update={"note": note})
        cites = [(passages[one.source - 1], one.quotation) for one in kept]
        sources = [_source(passage.hit, quote, passage.changed) for passage, quote in cites]
        answer = "\n".join(f"{one.text} [{number}]" for number, one in enumerate(kept, 1))
        note = " ".join(filter(None, ["Answered by a model from the quotes.", lost, _changed(sources)]))
        return Answered(question=question, found=True, answer=answer, sources=sources, note=note)

    def _asked_of_model(self, question: str, ctx: Context[Any, Any], path: str = "") -> Sample | None:
        """What the model is asked; None where there is no model, or nothing to ask it about."""
        passages = self._passages(question, path) if samples(ctx) else []
        files = list(dict.fromkeys(passage.hit.path for passage in passages))
        return about(TASK + question, [passage.text for passage in passages], files)

    def _passages(self, question: str, path: str) -> list[_Passage]:
        """The parts of files that a model is asked about, best first."""
        found = []
        for root, within in self._scopes(path):
            told = indexing.read_only(root, "passages", question=question, within=within, limit=PASSAGES)
            for one in told["found"]:
                hit = Hit.model_validate(one["hit"])
                if (now := sha256_now(self.roots, root, hit.path)) is None:
                    continue
                changed = one["sha256"] != now
                found.append(_Passage(self._said(root, hit), one["text"], changed))
        return sorted(found, key=lambda passage: -passage.hit.score)[:PASSAGES]

    def _by_quotes(self, question: str, path: str, limit: int) -> Answered:
        """The sentences that say most about the question."""
        said, near = list[Source](), list[Source]()
        files = 0
        for root, within in self._scopes(path):
            told = indexing.read_only(root, "quotes", question=question, within=within, limit=limit)
            files += told["files"]
            for one in told["found"]:
                hit = Hit.model_validate(one["hit"])
                if (now := sha256_now(self.roots, root, hit.path)) is None:
                    continue
                changed = one["sha256"] != now
                kind = near if told["near"] else said
                kind.append(_source(self._said(root, hit), one["quote"], changed))
        sources = said or near
        note = _EMPTY if not files else "" if sources else "No indexed file says something about that."
        note = " ".join(filter(None, ["" if said or not near else _NEAR, _changed(sources) or note]))
        answer = " ".join(source.quote for source in sources[:limit])
        return Answered(
            question=question, found=bool(sources), answer=answer, sources=sources[:limit], note=note
        )

    @spoken
    def get_related_chunks(self, chunk: ChunkArg, limit: Limit = 5) -> Hits:
        """Find parts of files that are about the same as one part, by the rare words that they share."""
        path, _, number = chunk.rpartition("#")
        place = self.roots.find(path)
        at = int(number[:9]) if number.isdecimal() else 0  # parts are counted from 1
        told = indexing.read_only(place.root, "related", path=place.inner, number=at, limit=limit)
        if told["hits"] is None:
            raise ToolError(
                f"There is no part “{chunk[:100]}” in the index. Search first, and take one that is found."
            )
        return Hits(asked=chunk, hits=self._hits(place.root, told["hits"]), files=told["files"])

    @spoken
    def check_index(self, path: FolderArg) -> IndexState:
        """Say what is in the index of an allowed folder."""
        root = self.roots.find(path).root
        with indexing.stored(root) as index:
            counts, _ = indexing.ask(index, "counts")
            folders, sha256 = [inner for inner, _ in indexing.folders(index)], indexing.named(index)
        return IndexState(
            path=self.roots.place(root, ()).said,
            sha256=sha256,
            folders=[shown(self.roots, root, folder) if folder else "." for folder in folders],
            files=counts["files"],
            chunks=counts["chunks"],
            found_by_meaning=counts["vectors"],
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
        with indexing.stored(place.root) as index:
            folders = indexing.folders(index)
        return self._plan(place, indexed(self.roots, folders, place))

    def _plan(self, place: Place, places: list[tuple[Place, bool]]) -> Plan:
        with indexing.stored(place.root) as index:
            known, sha256 = indexing.known(index), indexing.named(index)
        change = difference(known, self.roots, places)
        change.must_be_something()
        return planned(place, change, sha256)

    @spoken
    def preview_restore_index(self, record: RecordArg) -> Restoring:
        """Say what restoring an earlier index would bring back. Changes nothing."""
        with indexing.kept(self.roots, record) as (root, before), indexing.stored(root) as now:
            sizes = [indexing.ask(index, "counts")[0]["files"] for index in (now, before)]
            said, sha256 = self.roots.place(root, ()).said, indexing.named(now)
            with unbroken(f"The record {record}"):
                kept = fingerprint(said, pieces(before))
        name = f"the index: from {counted(sizes[0], 'file')} back to {sizes[1]:,}"
        return Restoring(
            record=record,
            path=said,
            items=[Item(name=name, kind="other")],
            expected_index=sha256,
            expected_record=kept,
        )


def planned(place: Place, change: Change, index: str) -> Plan:
    """A change of an index as a preview tells it."""
    return Plan(
        path=place.said,
        items=change.items,
        touched=change.touched,
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


def indexed(roots: Roots, folders: list[tuple[str, bool]], place: Place) -> list[tuple[Place, bool]]:
    """The folders that were indexed, at or below a place. Raises ToolError when there are none."""
    found = [
        (roots.place(place.root, tuple(filter(None, inner.split("/")))), recursive)
        for inner, recursive in folders
    ]
    chosen = [one for one in found if one[0].parts[: len(place.parts)] == place.parts]
    if not chosen:
        raise ToolError(f"No folder in {place.said} is in the index. Index one first.")
    return chosen


def _changed(sources: Sequence[Source]) -> str:
    """A sentence where a source is no longer what was indexed."""
    changed = any(source.changed_since for source in sources)
    return "Some of these files have changed since: update the index, then ask again." if changed else ""


def _source(hit: Hit, quote: str, changed: bool) -> Source:
    return Source(
        chunk=hit.chunk,
        path=hit.path,
        first_line=hit.first_line,
        last_line=hit.last_line,
        quote=quote,
        changed_since=changed,
    )


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
        """Change the index of a root: one new folder, or all that are in it. None is held in memory.

        Files are opened before others have to wait, so what was read is held against what is there by then: a text
        against its file when it is read, the index when it is replaced."""
        at = self.clock()  # which may purge the trash: nobody else may have this root for it
        with TemporaryFile() as copy, TemporaryFile() as made:
            before = _agreed(place, index, copy)
            places = [new] if new else indexed(self.roots, indexing.folders(before), place)
            change = difference(indexing.known(before), self.roots, places)
            change.must_be_something()
            if shown is not None and change.digest != shown:
                raise ToolError("The files have changed since they were shown. Look again, then ask again.")
            after, parts = taken(before, self.roots, change, new, made)
            was, sha256 = indexing.named(before), indexing.named(after)
            with file_ops.alone(place.root):
                with indexing.stored(place.root) as now:
                    _must_be(now, was)
                record = indexing.replace(place.root, before, after, at)
            kept = fingerprint(self.roots.place(place.root, ()).said, pieces(before))
        return Indexed(
            path=place.said,
            added=len(change.added),
            changed=len(change.changed),
            removed=len(change.removed),
            chunks=parts,
            skipped=change.skipped[:50],
            record=record,
            kept=kept,
            sha256=sha256,
        )

    @spoken
    def restore_index(
        self, record: RecordArg, expected_index: ExpectedIndex = None, expected_record: ExpectedKept = None
    ) -> Indexed:
        """Put an earlier index back, exactly as it was. The one that gives way is kept."""
        at = self.clock()
        with TemporaryFile() as first, TemporaryFile() as second:
            with indexing.kept(self.roots, record) as (root, found):
                earlier = indexing.copied(found, first)
            place, sha256 = self.roots.place(root, ()), indexing.named(earlier)
            must_be_kept(fingerprint(place.said, pieces(earlier)), expected_record)
            with file_ops.alone(root):
                before = _agreed(place, expected_index, second)
                if indexing.named(before) == sha256:
                    raise ToolError("Nothing has changed: the index is that one already.")
                name = indexing.replace(root, before, earlier, at)
            kept = fingerprint(place.said, pieces(before))
        return Indexed(
            path=place.said,
            added=0,
            changed=0,
            removed=0,
            chunks=0,
            skipped=[],
            record=name,
            kept=kept,
            sha256=sha256,
        )


def _agreed(place: Place, expected: str | None, copy: BinaryIO) -> Blob:
    """The index of a root, as it was shown."""
    with indexing.stored(place.root) as index:
        data = indexing.copied(index, copy)
    if expected is not None:
        _must_be(data, expected)
    return data


def _must_be(index: Blob, expected: str) -> None:
    if indexing.named(index) != expected:
        raise ToolError("The index has changed since it was shown. Look again, then ask again.")


_BACK: dict[str, Any] = {
    "preview": ITEMS,
    "recoverable": "The index before is kept in .countersign/knowledge",
    "keeps_days": KEEP.days,
    "undo": [
        call(
            "restore_index",
            record="{result.record}",
            expected_index="{result.sha256}",
            expected_record="{result.kept}",
        )
    ],
    "drift": unchanged("check_index", path="{result.path}"),
}
_FILES = bound("expected_index", "expected_files")

_AS_ASKED = {"looks": ["call.path"], "nested": ["call"], "listed": ["items[].name", "skipped[]"]}
CARDS: dict[str, Card] = {
    "search_documents": reading(
        "Search documents",
        "Search the indexed files for {args.query}",
        looks=["path"],
        found=["hits[].path"],
        listed=["hits[].path"],
    ),
    "ask_about_files": reading(
        "Ask about files",
        "Ask the indexed files: {args.question}",
        looks=["path"],
        found=["sources[].path"],
        listed=["sources[].path"],
    ),
    "get_related_chunks": reading(
        "Find related parts",
        "Look for parts like {args.chunk}",
        paths=["chunk"],
        found=["hits[].path"],
        listed=["hits[].path"],
    ),
    "check_index": reading(
        "Check the index", "Look at the index of {args.path|place}", looks=["path"], listed=["folders[]"]
    ),
    "preview_index": reading(
        "Preview indexing",
        "Look at what would be indexed",
        **_AS_ASKED,
    ),
    "preview_update": reading(
        "Preview an update of the index",
        "Look at what would be updated",
        **_AS_ASKED,
    ),
    "preview_restore_index": reading(
        "Preview putting an index back", "Look at the record {args.record}", listed=["items[].name"]
    ),
    "index_folder": change(
        "Index folder",
        "Index",
        "Index {args.path|place}: {capture.plan.added|counted:new file}",
        targets={"looks": ["path"], "reported": ["{capture.plan.touched}"]},
        risk="low",
        noun="{args.path|name}",
        capture={"plan": call("preview_index", call="{args}")},
        bind=_FILES,
        **_BACK,
    ),
    "update_index": change(
        "Update index",
        "Update",
        "Update the index of {capture.plan.path|place}",
        targets={"looks": ["path"], "reported": ["{capture.plan.touched}"]},
        risk="low",
        noun="{capture.plan.path|name}",
        capture={"plan": call("preview_update", call="{args}")},
        bind=_FILES,
        **_BACK,
    ),
    "restore_index": change(
        "Put the index back",
        "Put back",
        "Put back the index of {capture.plan.path|place}",
        risk="low",
        noun="{capture.plan.path|name}",
        capture={"plan": call("preview_restore_index", record="{args.record}")},
        bind=bound("expected_index", "expected_record"),
        **_BACK,
    ),
}
