"""Which files an index would take in, and taking them in."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from mcp.server.mcpserver.exceptions import ToolError

from servers.document import apart
from servers.filesystem import disk, look, text
from servers.filesystem.models import Item
from servers.filesystem.roots import Place, Root, Roots, Spot, opened, spot
from servers.knowledge.chunks import chunks

SECONDS = 8.0  # less than a preview may take
MOST_FILES = 1_000  # in one call: as many as a card can list
LARGEST_TEXT = 4 << 20  # bytes of one file
LARGEST_DOCUMENT = 20 << 20
MOST_DOCUMENTS = 40  # new ones in one call: each is opened in a process of its own
DOCUMENTS = (".pdf", ".docx", ".xlsx", ".html", ".htm")


@dataclass(frozen=True)
class Seen:
    """A file that can be taken in."""

    said: str
    size: int
    sha256: str

    @property
    def document(self) -> bool:
        return self.said.lower().endswith(DOCUMENTS)


@dataclass
class Change:
    """How an index differs from the folders it is about."""

    added: list[Seen] = field(default_factory=list)
    changed: list[Seen] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: int = 0
    skipped: list[str] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """SHA-256 over all that would be taken in or out."""
        new = [[one.said, one.sha256] for one in (*self.added, *self.changed)]
        return hashlib.sha256(json.dumps([new, self.removed]).encode()).hexdigest()

    @property
    def items(self) -> list[Item]:
        """One line for each file, as a card lists them."""
        named = [(one.said, "new", one.size) for one in self.added]
        named += [(one.said, "changed", one.size) for one in self.changed]
        named += [(said, "gone, taken out", 0) for said in self.removed]
        return [Item(name=f"{said} ({what})", kind="file", size=size) for said, what, size in named]

    def must_be_something(self) -> None:
        """Raise ToolError when nothing is to be done, or more than one call takes."""
        if not self.items:
            skipped = f" ({len(self.skipped)} files hold no text that can be read)" if self.skipped else ""
            raise ToolError(f"Nothing has changed: the index is as the files are{skipped}.")
        documents = sum(one.document for one in (*self.added, *self.changed))
        if documents > MOST_DOCUMENTS:
            raise ToolError(
                f"There are {documents} new documents; at most {MOST_DOCUMENTS} at once. Take a smaller folder."
            )


def shown(roots: Roots, root: Root, inner: str) -> str:
    """A path of the index, which is inside its root, as people write it."""
    return roots.place(root, tuple(inner.split("/"))).said


def difference(base: sqlite3.Connection, roots: Roots, places: list[tuple[Place, bool]]) -> Change:
    """What is new, changed or gone below these folders of one root. Raises ToolError for too much at once."""
    root = places[0][0].root
    listed = base.execute("SELECT path, sha256 FROM file").fetchall()
    known = {shown(roots, root, inner): sha256 for inner, sha256 in listed}
    change, found = Change(), set()
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
    budget, count = look.Budget(SECONDS), 0
    with opened(place) as top:
        for here, info in look.visit(top, look.start(place), budget, recursive):
            if not stat.S_ISREG(info.st_mode):
                continue
            count += 1
            if count > MOST_FILES:
                raise ToolError(f"There are more than {MOST_FILES:,} files. Index smaller folders.")
            if seen := _seen(here):
                yield seen
            else:
                change.skipped.append(here.said)
    if budget.spent:
        raise ToolError(budget.spent.replace("Look in", "Index"))


def _seen(here: Spot) -> Seen | None:
    """The file, when it is text or a document of a size that is read; else None."""
    try:
        with disk.reading(here) as file:
            found = disk.measure(file, here.said)
            head = text.read_at(file, 0, text.HEAD)
    except ToolError:
        return None
    seen = Seen(here.said, found.size, found.sha256)
    if seen.document:
        return seen if found.size <= LARGEST_DOCUMENT else None
    return seen if text.encoding(head) != "binary" and found.size <= LARGEST_TEXT else None


def take(base: sqlite3.Connection, roots: Roots, change: Change) -> int:
    """Make the index what the change says. Returns how many parts were written."""
    written = 0
    for said in (*change.removed, *(one.said for one in change.changed)):
        base.execute("DELETE FROM chunk WHERE path = ?", [roots.find(said).inner])
        base.execute("DELETE FROM file WHERE path = ?", [roots.find(said).inner])
    for one in sorted((*change.added, *change.changed), key=lambda one: one.said):
        inner = roots.find(one.said).inner
        base.execute("INSERT INTO file VALUES (?, ?, ?)", [inner, one.sha256, one.size])
        parts = [[inner, n, *chunk] for n, chunk in enumerate(chunks(_text(roots, one, change)), 1)]
        base.executemany("INSERT INTO chunk(path, n, first, last, text) VALUES (?, ?, ?, ?, ?)", parts)
        written += len(parts)
    return written


def _text(roots: Roots, one: Seen, change: Change) -> str:
    """The text of a file; of one that cannot be opened nothing, and it is named among the skipped."""
    with spot(roots.find(one.said)) as here, disk.reading(here) as file:
        data = text.read_at(file, 0, LARGEST_DOCUMENT + 1)
    if disk.sha256(data) != one.sha256:
        raise ToolError(f"{one.said} has changed while it was read. Ask again.")
    if not one.document:
        return data.decode(text.encoding(data[: text.HEAD]), "replace").removeprefix("\ufeff")
    try:
        ending = one.said[one.said.rindex(".") :].lower()
        return apart.run("text", one.said, [data], ending=ending)[1].decode()
    except ToolError:
        change.skipped.append(one.said)
        return ""
