"""The index of a root: its file in `.countersign/knowledge`, and which files it would take in."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from datetime import datetime
from typing import Any, BinaryIO

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import answers, disk, listing, paths, text, trash
from servers.filesystem.models import Item
from servers.filesystem.paths import Place, Root, Roots, Spot, opened, private
from servers.sandbox import protocol
from servers.sandbox.calling import (
    JSON_OUTPUT,
    Blob,
    Job,
    Limits,
    Streamed,
    answered,
    count,
    filled,
    pieces,
    size_of,
    unbroken,
)
from servers.text_encoding import HEAD

LARGEST = 128 << 20  # bytes
_FOLDER, _NAME = "knowledge", "index.sqlite"
_ID = re.compile(r"^[0-9]{8}T[0-9]{6}-[0-9a-f]{16}$")
_WHAT = "The index in .countersign/knowledge"
_LIMITS = Limits(seconds=60, memory=2 << 30, output=JSON_OUTPUT, told=protocol.MOST_JSON)
_WRITING = replaced(_LIMITS, output=LARGEST + (16 << 20))  # an index, which is not looked into here


@contextmanager
def stored(root: Root) -> Iterator[Blob]:
    """The index as it is on disk, open and not held; nothing when there is none."""
    if not os.path.lexists(root.path / ".countersign" / _FOLDER / _NAME):
        yield b""
        return
    with private(root, _FOLDER, make=False) as folder, _streamed(Spot(folder, _NAME, "The index")) as index:
        yield index


@contextmanager
def _streamed(spot: Spot) -> Iterator[Blob]:
    with disk.reading(spot) as file:
        size = os.fstat(file).st_size
        if size > LARGEST:
            raise ToolError(f"The index is larger than {LARGEST >> 20} MB. Index smaller folders.")
        yield Streamed(file, size) if size else b""


def copied(index: Blob, copy: BinaryIO) -> Blob:
    """An index that nobody else can change meanwhile, in a file of ours and not in memory."""
    with unbroken(_WHAT):
        return filled(copy, pieces(index)) if index else b""


def named(index: Blob) -> str:
    """SHA-256 of an index, or “absent”."""
    if not index:
        return disk.ABSENT
    digest = hashlib.sha256()
    with unbroken(_WHAT):
        for piece in pieces(index):
            digest.update(piece)
    return digest.hexdigest()


def read_only(root: Root, task: str, **args: Any) -> dict[str, Any]:
    """What a task says about the index of a root. Raises ToolError when it is broken."""
    with stored(root) as index:
        return ask(index, task, **args)[0]


def ask(
    data: Blob, task: str, *blobs: Blob, into: BinaryIO | None = None, **args: Any
) -> tuple[dict[str, Any], bytes]:
    """What a task of the sandbox gives about an index. Raises ToolError when it is broken."""
    limits = _WRITING if into else _LIMITS
    return answered(Job(f"knowledge.{task}", [data, *blobs], args, limits=limits, into=into), _WHAT)


@dataclass(frozen=True)
class Known:
    """What is in an index: the SHA-256 of each file. `missing`: parts that would get a vector by the next change."""

    files: dict[str, str]
    missing: int = 0


def folders(data: Blob) -> list[tuple[str, bool]]:
    """The folders of an index, each with whether what is below counts."""
    told, _ = ask(data, "folders")
    with unbroken(_WHAT):
        return [(str(path), bool(recursive)) for path, recursive in told["folders"]]


def known(data: Blob) -> Known:
    told, files = ask(data, "known")
    with unbroken(_WHAT):
        found = dict[str, str]()
        for line in files.splitlines():
            some = protocol.whole(protocol.parsed(line), line)
            found.update((str(path), str(sha256)) for path, sha256 in some.items())
        return Known(found, count(told["missing"], protocol.MOST_JSON))


def replace(root: Root, before: Blob, after: Blob, at: datetime) -> str:
    """Put a new index in place of the one before, which is kept. Returns the id of that record.

    For who is alone in the root. An empty `after` means: no index.
    """
    if size_of(after) > LARGEST:
        raise ToolError(f"The index would be larger than {LARGEST >> 20} MB. Index fewer files.")
    record = f"{at:%Y%m%dT%H%M%S}-{secrets.token_hex(8)}"
    with private(root, _FOLDER) as folder, private(root, _FOLDER, "before") as kept:
        trash.remove_old(root, at, _FOLDER, "before")
        trash.must_have_room(kept, size_of(before), "knowledge/before")
        trash.remove_staged(root, _FOLDER)
        _write(Spot(kept, record, "The index"), before)
        os.fsync(kept)
        index = Spot(folder, _NAME, "The index")
        if after:
            staged = disk.temporary(folder, "The index")
            _write(staged, after)
            os.replace(staged.name, index.name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            disk.remove(index)
        os.fsync(folder)
    return record


def _write(spot: Spot, data: Blob) -> None:
    with disk.staging(spot, 0o600) as file:
        for piece in pieces(data):
            disk.write_all(file, piece)


@contextmanager
def kept(roots: Roots, record: str) -> Iterator[tuple[Root, Blob]]:
    """The index before a change, open and not held, and its root. Raises ToolError when there is no such record."""
    with ExitStack() as stack:
        for root in roots.roots if _ID.match(record) else ():
            try:
                folder = stack.enter_context(private(root, _FOLDER, "before", make=False))
                index = stack.enter_context(_streamed(Spot(folder, record, "The record")))
            except ToolError:
                continue
            yield root, index
            return
    raise ToolError("There is no record of that id; perhaps its 30 days are over. Index the folder anew.")


SECONDS = 8.0  # less than a preview may take
MOST_FILES = 1_000  # in one call: as many as a card can list
LARGEST_TEXT = 4 << 20  # bytes of one file
LARGEST_DOCUMENT = 20 << 20
MOST_DOCUMENTS = 40  # new ones in one call: each is opened in a process of its own
DOCUMENTS = (".pdf", ".docx", ".xlsx", ".html", ".htm")
MOST_MARKED = 400  # new mails and captions in one call, which are small
MARKED = (".eml", ".mbox", ".vtt", ".srt")  # texts that are read without what they have besides


@dataclass(frozen=True)
class Seen:
    """A file that can be taken in."""

    said: str
    size: int
    sha256: str

    @property
    def document(self) -> bool:
        return self.said.lower().endswith(DOCUMENTS)

    @property
    def marked(self) -> bool:
        return self.said.lower().endswith(MARKED)


@dataclass
class Change:
    """How an index differs from the folders it is about."""

    added: list[Seen] = field(default_factory=list)
    changed: list[Seen] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: int = 0
    skipped: list[str] = field(default_factory=list)
    missing: int = 0  # parts of the index without a vector

    @property
    def digest(self) -> str:
        """SHA-256 over all that would be taken in or out."""
        new = [[one.said, one.sha256] for one in (*self.added, *self.changed)]
        return hashlib.sha256(json.dumps([new, self.removed, self.missing]).encode()).hexdigest()

    @property
    def touched(self) -> list[str]:
        """The files that are taken in or out: a rule may be about any of them."""
        return [*(one.said for one in (*self.added, *self.changed)), *self.removed]

    @property
    def items(self) -> list[Item]:
        """One line for each file, as a card lists them."""
        named = [(one.said, "new", one.size) for one in self.added]
        named += [(one.said, "changed", one.size) for one in self.changed]
        named += [(said, "gone, taken out", 0) for said in self.removed]
        files = [Item(name=f"{said} ({what})", kind="file", size=size) for said, what, size in named]
        parts = f"{answers.counted(self.missing, 'part')} in the index will be found by what they mean, too"
        return [*files, *([Item(name=parts, kind="other")] if self.missing else [])]

    def leave(self, files: Sequence[str]) -> None:
        """Leave these out: the index stays as it is about them, so that the next update finds them again."""
        self.added = [one for one in self.added if one.said not in files]
        self.changed = [one for one in self.changed if one.said not in files]

    def must_be_something(self) -> None:
        """Raise ToolError when nothing is to be done, or more than one call takes."""
        for what, files in (
            ("new or changed", len(self.added) + len(self.changed)),
            ("gone", len(self.removed)),
        ):
            if files > MOST_FILES:
                raise ToolError(
                    f"{files:,} files are {what}; at most {MOST_FILES:,} at once. Take one of the indexed folders at a "
                    "time, or move .countersign/knowledge away and index anew."
                )
        if not self.items:
            skipped = (
                f" ({answers.counted(len(self.skipped), 'file')} with secrets or without text that can be read)"
                if self.skipped
                else ""
            )
            raise ToolError(f"Nothing has changed: the index is as the files are{skipped}.")
        documents = sum(one.document for one in (*self.added, *self.changed))
        if documents > MOST_DOCUMENTS:
            raise ToolError(
                f"There are {documents} new documents; at most {MOST_DOCUMENTS} at once. Take a smaller folder."
            )
        marked = sum(one.marked for one in (*self.added, *self.changed))
        if marked > MOST_MARKED:
            raise ToolError(
                f"There are {marked} new mails and captions; at most {MOST_MARKED} at once. Take a smaller folder."
            )


def shown(roots: Roots, root: Root, inner: str) -> str:
    """A path of the index, which is inside its root, as people write it."""
    return roots.place(root, tuple(inner.split("/"))).said


def difference(index: Known, roots: Roots, places: list[tuple[Place, bool]]) -> Change:
    """What is new, changed or gone below these folders of one root, against the files of its index.

    Raises ToolError for too much at once.
    """
    root = places[0][0].root
    known = {shown(roots, root, inner): sha256 for inner, sha256 in index.files.items()}
    change, found = Change(missing=index.missing), set()
    for place, recursive in places:
        for one in _files(place, recursive, change):
            if one.said in found:
                continue
            found.add(one.said)
            _sort(one, known, change)
    change.removed = [said for said in sorted(known) if said not in found and _below(roots, said, places)]
    return change


def _sort(one: Seen, known: dict[str, str], change: Change) -> None:
    if one.said not in known:
        change.added.append(one)
    elif known[one.said] != one.sha256:
        change.changed.append(one)
    else:
        change.unchanged += 1


def _below(roots: Roots, said: str, places: list[tuple[Place, bool]]) -> bool:
    parts = roots.find(said).parts
    return any(
        parts[: len(place.parts)] == place.parts and (recursive or len(parts) == len(place.parts) + 1)
        for place, recursive in places
    )


def _files(place: Place, recursive: bool, change: Change) -> Iterator[Seen]:
    budget, count, others = listing.Budget(SECONDS), 0, listing.OtherNames(place)
    with opened(place) as top:
        for here, info in listing.visit(top, listing.start(place), budget, recursive):
            if not stat.S_ISREG(info.st_mode):
                continue
            count += 1
            if count > MOST_FILES:
                raise ToolError(f"There are more than {MOST_FILES:,} files. Index smaller folders.")
            seen = _secret(here.said, info, others) or _seen(here)
            if isinstance(seen, Seen):
                yield seen
            else:
                change.skipped.append(f"{here.said} ({seen})")
    change.skipped += [f"{said} (it may not be entered)" for said in budget.closed]
    change.skipped += filter(None, [budget.lost])
    if budget.spent:
        raise ToolError(budget.spent.replace("Look in", "Index"))


def _secret(said: str, info: os.stat_result, others: listing.OtherNames) -> str:
    """Why a file counts as secret; "" where it does not."""
    if others.is_secret(said):
        return "a secret file by its name"
    return "another name of a secret file" if others.refusal(said, info) else ""


def _seen(here: Spot) -> Seen | str:
    """The file, when it is text or a document of a size that is read; else why it is left out."""
    if paths.shown(here.name) != here.name:
        return "its name is no plain text: rename it"
    try:
        with disk.reading(here) as file:
            head, size = text.read_at(file, 0, HEAD), os.fstat(file).st_size
            seen = Seen(here.said, size, "")
            if not seen.document and text.encoding(head) is None:
                return "is not text"
            most = LARGEST_DOCUMENT if seen.document else LARGEST_TEXT
            if size <= most:  # no other one is hashed
                found = disk.measure(file, here.said)
                size = found.size
    except ToolError:
        return "cannot be opened"
    return Seen(here.said, size, found.sha256) if size <= most else f"larger than {most >> 20} MB"
