"""Looking through files for what should not lie around: bounded in time, bytes and findings."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from mcp.server.mcpserver.exceptions import ToolError

from servers.document import apart
from servers.filesystem import disk, look, room, text
from servers.filesystem.roots import Place, Roots, Spot, opened, spot
from servers.security.models import Finding, Scan
from servers.security.patterns import Pattern, hits

SECONDS = 10.0
LARGEST = 8 << 20  # bytes of a text that is looked through
MOST_FINDINGS = 1_000
DOCUMENTS = (".pdf", ".docx", ".xlsx")


@dataclass
class Looked:
    """How far a look through files has come."""

    budget: look.Budget = field(default_factory=lambda: look.Budget(SECONDS))
    files: int = 0
    skipped: list[str] = field(default_factory=list)


def scan(roots: Roots, path: str, patterns: tuple[Pattern, ...]) -> Scan:
    """Every finding in a file, or in all files below a folder. Raises ToolError."""
    place, looked = roots.find(path), Looked()
    found, more = room.fitting(_findings(place, patterns, looked), MOST_FINDINGS)
    kinds = Counter(one.kind for one in found)
    told = ", ".join(f"{count} × {kind}" for kind, count in kinds.most_common()) or "nothing"
    note = "There is more. Look at a smaller folder." if more else looked.budget.spent
    if looked.skipped:
        note = f"{note} {len(looked.skipped)} files could not be looked into: see skipped.".strip()
    return Scan(
        path=place.said,
        files=looked.files,
        findings=found,
        paths=list(dict.fromkeys(one.path for one in found)),
        kinds=dict(kinds),
        skipped=looked.skipped[:50],
        truncated=more or bool(looked.budget.spent),
        note=note,
        summary=f"{looked.files} files looked through, and found: {told}.",
    )


def _findings(place: Place, patterns: tuple[Pattern, ...], looked: Looked) -> Iterator[Finding]:
    if folder(place):
        for here, _ in files(place, looked.budget):
            yield from of_file(here, patterns, looked)
        return
    with spot(place) as here:
        if place.said.lower().endswith(DOCUMENTS):
            yield from _of_text(place.said, _document(here), patterns, looked.budget)
            looked.files += 1
            return
        before = looked.files
        yield from of_file(here, patterns, looked)
        if looked.files == before:
            raise ToolError(
                f"{place.said} is not text, or larger than {LARGEST >> 20} MB. Name another file."
            )


def folder(place: Place) -> bool:
    """Whether a folder is there. Raises ToolError when nothing is."""
    if not place.parts:
        return True
    with spot(place) as here:
        info = disk.status(here)
    if info is None:
        raise ToolError(f"{place.said} does not exist. Check the path with list_dir.")
    return stat.S_ISDIR(info.st_mode)


def files(place: Place, budget: look.Budget) -> Iterator[tuple[Spot, int]]:
    """Every plain file below a folder, with its size. A spot holds only until the next one is asked for."""
    with opened(place) as top:
        for here, info in look.visit(top, look.start(place), budget, deep=True):
            if stat.S_ISREG(info.st_mode):
                yield here, info.st_size


def _document(here: Spot) -> str:
    with disk.reading(here) as file:
        data = text.read_at(file, 0, LARGEST + 1)
    if len(data) > LARGEST:
        raise ToolError(f"{here.said} is larger than {LARGEST >> 20} MB. Name another file.")
    ending = here.name[here.name.rindex(".") :].lower()
    return apart.run("text", here.said, [data], ending=ending)[1].decode()


def of_file(here: Spot, patterns: tuple[Pattern, ...], looked: Looked) -> Iterator[Finding]:
    try:
        with disk.reading(here) as file:
            data = text.read_at(file, 0, LARGEST + 1)
    except ToolError:
        looked.skipped.append(here.said)
        return
    name = text.encoding(data[: text.HEAD])
    if name == "binary" or len(data) > LARGEST:
        looked.skipped.append(here.said)
        return
    looked.files += 1
    yield from _of_text(here.said, data.decode(name, "replace"), patterns, looked.budget)


def _of_text(
    said: str, content: str, patterns: tuple[Pattern, ...], budget: look.Budget
) -> Iterator[Finding]:
    for number, line in enumerate(content.splitlines(), 1):
        for hit in hits(line, patterns, budget.left):
            yield Finding(path=said, line=number, kind=hit.kind, sure=hit.sure, shown=hit.shown)
