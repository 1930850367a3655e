"""What the document tools take and answer, and documents made in memory before they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from servers import differences, formulas
from servers.filesystem import disk
from servers.filesystem.models import Given, Item, Sha256, Strict, Written
from servers.filesystem.paths import Roots
from servers.folders import Target, bytes_of, named, size_of, target
from servers.lines import one_line
from servers.sandbox.calling import Job, Limits, answered, run, unbroken
from servers.sandbox.protocol import MOST_JSON

Cell = str | int | float | bool | None
DocumentArg = Annotated[
    str,
    Field(
        description="A .pdf, .docx, .xlsx, .csv, .tsv, .json, .html, .md or .txt file in the allowed folders."
    ),
]
ChangesArg = Annotated[
    Literal["accepted", "rejected", "both"],
    Field(description="Tracked changes of a Word file: as if accepted, as if rejected, or both, marked."),
]
PdfArg = Annotated[str, Field(description="A .pdf file in the allowed folders.")]
NewArg = Annotated[str, Field(description="Where the new file goes; one that is there goes to the trash.")]
TitleArg = Annotated[str, Field(max_length=200, description="A title, put on top. Empty: none.")]
ContentArg = Annotated[
    str,
    Field(
        min_length=1, max_length=60_000, description="Text with Markdown headings, lists, tables, **bold**."
    ),
]
SourcesArg = Annotated[list[str], Field(min_length=2, max_length=50, description="PDF files, in this order.")]

SheetsRead = Annotated[
    Given[Annotated[str, Field(max_length=1_000)]],
    Field(max_length=10_000, description="the sheets of a spreadsheet whose content is in this"),
]
SHEETS = TypeAdapter(SheetsRead)


class FieldValue(Strict):
    field: str
    value: str | bool


ValuesArg = Annotated[
    dict[str, str | bool] | list[FieldValue],
    Field(
        min_length=1,
        max_length=500,
        description="Field to value, for a box yes or no; or a list of {field, value}. The form lists its fields.",
    ),
]


class Extract(BaseModel):
    path: str
    pages: int = Field(description="of a PDF; 0 where there are none")
    text: str
    offset: int = Field(description="first character shown")
    next_offset: int | None = Field(default=None, description="where to go on reading; none at the end")
    characters: int = Field(description="in the whole document")
    sha256: str
    note: str = ""
    sheets: SheetsRead = []


class Comparison(BaseModel):
    first: str
    second: str
    same_bytes: bool
    same_text: bool
    added: int = Field(description="lines")
    removed: int
    changed: int = Field(description="lines in which words differ")
    difference: str = Field(
        description="lines with -, + or ~ before them; in a line with ~, [-words-] went and {+words+} came"
    )
    truncated: bool
    summary: str = Field(description="the same for people")
    note: str = ""
    sheets: SheetsRead = []


class Sheet(BaseModel):
    path: str
    sheet: str
    sheets: list[str] = Field(description="names of all sheets; empty for a text file")
    first_row: int
    rows: list[list[Cell]]
    next_row: int | None = Field(default=None, description="where to go on reading; none at the end")
    note: str = ""


class FormField(BaseModel):
    name: str
    kind: Literal["text", "checkbox", "choice", "signature", "other"]
    value: str
    choices: list[str]


class Form(BaseModel):
    path: str
    fields: list[FormField]
    truncated: bool = False


class Plan(BaseModel):
    """The file that would be made."""

    path: str
    items: list[Item] = Field(description="what goes in, and what comes out")
    difference: str = Field(description="what changes, line by line, where it can be told so")
    expected_target: Sha256 = Field(description="of what is there now")
    expected_made: Sha256 = Field(description="of the new file")
    pages: int
    size: int
    note: str = Field(default="", description="what is said of cells that begin like a formula")
    sheets: SheetsRead = []


class Made(Written):
    pages: int = Field(description="of a PDF; 0 where there are none")


class CreateCall(Strict):
    path: NewArg
    content: ContentArg
    title: TitleArg = ""


class ConvertCall(Strict):
    source: DocumentArg
    destination: NewArg


class MergeCall(Strict):
    sources: SourcesArg
    destination: NewArg


class FillCall(Strict):
    path: PdfArg
    values: ValuesArg
    destination: NewArg


CallArg = Annotated[dict[str, Any], Field(description="The arguments of that tool.")]
MakeArg = Annotated[
    Literal["create_pdf", "create_docx", "convert_format", "merge_pdfs", "fill_pdf_form"],
    Field(description="The tool whose result is to be shown."),
]


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
    note: str = ""
    sheets: Sequence[str] = ()

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
        raise ToolError(f"{said} is not a kind of file that I know. I know {', '.join(READABLE)}.")
    return found


def source(roots: Roots, path: str, *endings: str) -> tuple[str, bytes, Item]:
    """A file that goes in: what it is called, its bytes, and its line on a card."""
    place, _ = named(roots, path, *endings)
    data, _ = bytes_of(place, LARGEST)
    return place.said, data, Item(name=place.said, kind="file", size=len(data))


def create(to: str) -> Callable[[Roots, CreateCall], Built]:
    """Makes a document out of Markdown."""

    def made(roots: Roots, call: CreateCall) -> Built:
        goal = target(roots, call.path, to)
        told, data = run("formats.make", goal.place.said, content=call.content, to=to, title=call.title)
        return Built(goal, [], data, told.get("pages", 0))

    return made


def convert(roots: Roots, call: ConvertCall) -> Built:
    """The same document in another format."""
    said, data, item = source(roots, call.source)
    kind, to = ending(said), ending(call.destination)
    goal = target(roots, call.destination, to)
    goal.must_not_be(said)
    title = goal.place.parts[-1].rpartition(".")[0]
    args = {"ending": kind, "to": to, "title": title}
    told, made = answered(Job("formats.convert", [data], args, scratch=True), said)
    difference = _difference(goal, to, made)
    guessed = "; it ".join(filter(None, [tracked(told["found"], "both"), told["guessed"]]))
    notes = [
        formulas.note(told.get("formulas", 0)),
        _left_out(told.get("left_out", [])),
        f" (it {guessed})" if guessed else "",
        " (what changes in it is too much to be shown)" if difference is None else "",
    ]
    said_of_it, pages = "".join(notes), told.get("pages", 0)
    with unbroken(said):
        sheets = SHEETS.validate_python(told["sheets"])
    return Built(goal, [item], made, pages, difference or "", said_of_it, sheets)


def _left_out(sheets: Sequence[str]) -> str:
    return f" (the first sheet alone: left out is {', '.join(sheets)[:200]})" if sheets else ""


def tracked(found: dict[str, int], changes: str) -> str:
    """What is said of changes in a Word file that nobody accepted yet; "" where there are none."""
    came, went = found.get("inserted", 0), found.get("deleted", 0)
    if not came and not went:
        return ""
    shown = {"both": "shown as {++come++} and {--gone--}"}.get(changes, f"read as if all were {changes}")
    return f"has tracked changes ({came} added, {went} removed), {shown}"


def _difference(goal: Target, to: str, made: bytes) -> str | None:
    """The lines of a text file that would be written, against those that are there; "" for another file, None where
    they are too many."""
    before = b"" if goal.sha256 == disk.ABSENT else bytes_of(goal.place, LARGEST, goal.sha256)[0]
    if to not in _TEXTS or b"\0" in before:
        return ""
    return differences.of_file(goal.place.said, before, made, MOST_DIFFERENCE)


def _together(roots: Roots, paths: Sequence[str], *endings: str) -> list[tuple[str, bytes, Item]]:
    """Files that go in. Their sizes are added up before any is read: one may be named many times. Raises ToolError."""
    sizes, found = [size_of(named(roots, path, *endings)[0]) for path in paths], []
    for number, path in enumerate(paths):
        _must_fit(sum(sizes))
        found.append(source(roots, path, *endings))
        sizes[number] = len(found[-1][1])  # it may have grown
    _must_fit(sum(sizes))
    return found


def _must_fit(size: int) -> None:
    if size > 2 * LARGEST:
        raise ToolError(f"These files are more than {2 * LARGEST >> 20} MB together. Take fewer.")


def merge(roots: Roots, call: MergeCall) -> Built:
    """Several PDFs, one after the other."""
    goal = target(roots, call.destination, ".pdf")
    found = _together(roots, call.sources, ".pdf")
    told, made = run("formats.merge", goal.place.said, [data for _, data, _ in found])
    items = [
        item.model_copy(update={"name": f"{item.name}, {pages} page{'s' if pages > 1 else ''}"})
        for (_, _, item), pages in zip(found, told["pages"], strict=True)
    ]
    inside, signed = ", ".join(told["inside"])[:200], ", ".join(found[n - 1][0] for n in told["signed"])[:200]
    notes = [
        f" (left out: the files inside of them, {inside})" if inside else "",
        f" (no signature holds in the new file: signed is {signed})" if signed else "",
    ]
    return Built(goal, items, made, sum(told["pages"]), note="".join(notes))


def fill(roots: Roots, call: FillCall) -> Built:
    """A PDF form with values in it."""
    said, data, item = source(roots, call.path, ".pdf")
    goal = target(roots, call.destination, ".pdf")
    given = call.values if isinstance(call.values, dict) else {one.field: one.value for one in call.values}
    values = {name: _word(value) for name, value in given.items()}
    told, made = run("formats.fill", said, [data], Limits(told=MOST_JSON), values=values)
    before, after = ({name: _told(one) for name, one in told[key].items()} for key in ("before", "after"))
    return Built(goal, [item], made, told["pages"], _fields(before, after), goal.gives_way(said))


def _word(value: str | bool) -> str:
    return value if isinstance(value, str) else "yes" if value else "no"


def _told(field: Mapping[str, Any]) -> str:
    """The value of a field as people see it: a box may call its one state anything, “No” as well."""
    value: str = field["value"]
    if field["kind"] != "checkbox" or len({*field["choices"], "Off"}) > 2:
        return value
    return "not ticked" if value in ("", "Off") else "ticked"


def _fields(before: dict[str, str], after: dict[str, str]) -> str:
    lines = [
        line
        for name, new in after.items()
        if (old := before.get(name, "")) != new
        for line in map(one_line, (f"-{name}: {old}", f"+{name}: {new}"))
    ]
    if not lines:
        raise ToolError("That would change nothing: the form is filled in like this already.")
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
