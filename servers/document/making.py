"""The file that a call would make, made in memory: shown by the preview, and written by the tool, byte for byte."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from servers.document import apart
from servers.document.models import ConvertCall, CreateCall, FillCall, MergeCall
from servers.filesystem import disk, landing
from servers.filesystem.models import Item
from servers.filesystem.roots import Roots
from servers.making import Target, bytes_of, target

LARGEST = 20 << 20  # bytes of a file that goes in
READABLE = (".pdf", ".docx", ".xlsx", ".csv", ".tsv", ".json", ".html", ".htm", ".md", ".txt")
_TEXTS = (".csv", ".tsv", ".json", ".html", ".htm", ".md", ".txt")
MOST_DIFFERENCE = 100_000  # characters


@dataclass(frozen=True)
class Built:
    """A new file and where it would go."""

    target: Target
    sources: list[Item]
    data: bytes
    pages: int = 0
    difference: str = ""

    @property
    def items(self) -> list[Item]:
        made = self.target.item
        pages = f", {self.pages} page{'s' if self.pages > 1 else ''}" if self.pages else ""
        return [*self.sources, Item(name=made.name + pages, kind="file", size=len(self.data))]

    @property
    def sha256(self) -> str:
        return disk.sha256(self.data)


def ending(said: str) -> str:
    """The kind of a file by its name. Raises ToolError for one that is not read or made here."""
    name = said.lower()
    found = next((one for one in READABLE if name.endswith(one)), None)
    if found is None:
        raise ToolError(f"{said} is of no kind that is known here. Known are: {', '.join(READABLE)}.")
    return found


def source(roots: Roots, path: str, *endings: str) -> tuple[str, bytes, Item]:
    """A file that goes in: what it is called, its bytes, and its line on a card."""
    place = landing.file(roots, path)
    if endings and not place.said.lower().endswith(endings):
        raise ToolError(f"{place.said} must end in {' or '.join(endings)}. Name such a file.")
    data, _ = bytes_of(place, LARGEST)
    return place.said, data, Item(name=place.said, kind="file", size=len(data))


def create(to: str) -> Callable[[Roots, CreateCall], Built]:
    """Makes a document out of Markdown."""

    def made(roots: Roots, call: CreateCall) -> Built:
        goal = target(roots, call.path, to)
        told, data = apart.run("make", goal.place.said, content=call.content, to=to, title=call.title)
        return Built(goal, [], data, told.get("pages", 0))

    return made


def convert(roots: Roots, call: ConvertCall) -> Built:
    """The same document in another format."""
    said, data, item = source(roots, call.source)
    kind, to = ending(said), ending(call.destination)
    goal = target(roots, call.destination, to)
    if goal.place.said == said:
        raise ToolError("Source and destination are the same file. Choose another name.")
    title = goal.place.parts[-1].rpartition(".")[0]
    told, made = apart.run("convert", said, [data], ending=kind, to=to, title=title)
    return Built(goal, [item], made, told.get("pages", 0), _difference(goal, to, made))


def _difference(goal: Target, to: str, made: bytes) -> str:
    """The lines of a text file that would be written, against those that are there."""
    before = b"" if goal.sha256 == disk.ABSENT else bytes_of(goal.place, LARGEST, goal.sha256)[0]
    if to not in _TEXTS or b"\0" in before:
        return ""
    old, new = (text.decode("utf-8", "replace").splitlines(keepends=True) for text in (before, made))
    said = goal.place.said
    lines = "".join(difflib.unified_diff(old, new, f"{said} (now)", f"{said} (after)"))
    return lines if len(lines) <= MOST_DIFFERENCE else ""


def merge(roots: Roots, call: MergeCall) -> Built:
    """Several PDFs, one after the other."""
    goal = target(roots, call.destination, ".pdf")
    found = [source(roots, path, ".pdf") for path in call.sources]
    if sum(len(data) for _, data, _ in found) > 2 * LARGEST:
        raise ToolError(f"These files are more than {2 * LARGEST >> 20} MB together. Take fewer.")
    told, made = apart.run("merge", goal.place.said, [data for _, data, _ in found])
    items = [
        item.model_copy(update={"name": f"{item.name}, {pages} page{'s' if pages > 1 else ''}"})
        for (_, _, item), pages in zip(found, told["pages"], strict=True)
    ]
    return Built(goal, items, made, sum(told["pages"]))


def fill(roots: Roots, call: FillCall) -> Built:
    """A PDF form with values in it."""
    said, data, item = source(roots, call.path, ".pdf")
    goal = target(roots, call.destination, ".pdf")
    given = call.values if isinstance(call.values, dict) else {one.field: one.value for one in call.values}
    values = {name: _word(value) for name, value in given.items()}
    told, made = apart.run("fill", said, [data], values=values)
    before, after = ({name: one["value"] for name, one in told[key].items()} for key in ("before", "after"))
    return Built(goal, [item], made, told["pages"], _fields(before, after))


def _word(value: str | bool) -> str:
    return value if isinstance(value, str) else "yes" if value else "no"


def _fields(before: dict[str, str], after: dict[str, str]) -> str:
    lines = [
        line
        for name, new in after.items()
        if (old := before.get(name, "")) != new
        for line in (f"-{name}: {old}", f"+{name}: {new}")
    ]
    if not lines:
        raise ToolError("That would change nothing: the form says so already.")
    return "\n".join(lines) + "\n"


MAKERS: dict[str, tuple[type[Any], Callable[[Roots, Any], Built]]] = {
    "create_pdf": (CreateCall, create(".pdf")),
    "create_docx": (CreateCall, create(".docx")),
    "convert_format": (ConvertCall, convert),
    "merge_pdfs": (MergeCall, merge),
    "fill_pdf_form": (FillCall, fill),
}


def built(roots: Roots, make: str, call: dict[str, Any]) -> Built:
    """What this tool would make with these arguments. Raises ToolError."""
    kind, maker = MAKERS[make]
    try:
        return maker(roots, kind.model_validate(call))
    except ValidationError as error:
        raise ToolError(_wrong(error)) from None


def _wrong(error: ValidationError) -> str:
    found: Sequence[Any] = error.errors()
    said = "; ".join(f"`{'.'.join(map(str, one['loc']))}`: {one['msg']}" for one in found[:3])
    return f"These arguments do not fit: {said}."
