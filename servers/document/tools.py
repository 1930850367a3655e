"""The document tools, each with its card and its undo. Their docstrings are what people and models read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from servers.command_line import Clock
from servers.document.comparing import in_words
from servers.document.conversion import (
    SHEETS,
    CallArg,
    ChangesArg,
    Comparison,
    ContentArg,
    DocumentArg,
    Extract,
    Form,
    FormField,
    Made,
    MakeArg,
    NewArg,
    PdfArg,
    Plan,
    Sheet,
    SourcesArg,
    TitleArg,
    ValuesArg,
    built,
    ending,
    source,
    tracked,
)
from servers.filesystem import answers, disk
from servers.filesystem.answers import spoken
from servers.filesystem.models import ExpectedMade, ExpectedTarget
from servers.filesystem.paths import Roots
from servers.folders import WAYS_BACK, makes, put_shown
from servers.lines import one_line
from servers.sandbox.calling import Limits, decoded, read, run, unbroken
from servers.sandbox.protocol import MOST_JSON, MOST_LISTED
from servers.tool_metadata import ITEMS, Card, bound, call, reading

MOST_ROWS = 2_000
_LONG_TOLD = Limits(told=MOST_JSON)  # of a task that lists rows or fields
_MORE = "There are more rows: ask for the next ones."
_NO_TEXT = "There is no text in it; perhaps it is a picture of text. Try the OCR tools."


@dataclass(frozen=True)
class Tools:
    """The tools over some roots, with the clock that dates what they keep."""

    roots: Roots
    clock: Clock

    @spoken
    def extract_text(
        self,
        path: DocumentArg,
        offset: Annotated[int, Field(ge=0, description="First character to show.")] = 0,
        limit: Annotated[int, Field(ge=100, le=200_000, description="Characters at most.")] = 100_000,
        changes: ChangesArg = "both",
    ) -> Extract:
        """Read the text of a PDF, Word, spreadsheet, HTML or text file. Pages of a PDF are divided by a form feed."""
        said, data, _ = source(self.roots, path)
        told, text = read("formats.text", said, data, ending=ending(said), changes=changes)
        notes = "; ".join(filter(None, [tracked(told.get("found", {}), changes), told["guessed"]]))
        shown = text[offset : offset + limit]
        with unbroken(said):
            sheets = SHEETS.validate_python(told["sheets"])
        while shown and not answers.fits("\n".join([*sheets, shown])):
            shown = shown[: len(shown) // 2]
        end = offset + len(shown)
        return Extract(
            path=said,
            pages=told["pages"],
            text=shown,
            offset=offset,
            next_offset=end if end < len(text) else None,
            characters=len(text),
            sha256=disk.sha256(data),
            note=_note(f"{said} {notes}." if notes else "", end < len(text)) if text.strip() else _NO_TEXT,
            sheets=sheets,
        )

    @spoken
    def diff_documents(
        self, first: DocumentArg, second: DocumentArg, changes: ChangesArg = "accepted"
    ) -> Comparison:
        """Compare the text of two documents, which may be of different kinds: lines, and words in a changed line."""
        files = [source(self.roots, path) for path in (first, second)]
        names = [said for said, _, _ in files]
        both = f"Of {names[0]} and {names[1]} one"
        told, text = run(
            "formats.compare",
            both,
            [data for _, data, _ in files],
            endings=[ending(said) for said in names],
            changes=changes,
        )
        difference, more = _fitting(decoded(text, both, MOST_LISTED))
        with unbroken(both):
            sheets = SHEETS.validate_python(told["sheets"])
        pairs = zip(told["found"], told["guessed"], strict=True)
        notes = ["; ".join(filter(None, [tracked(found, changes), guess])) for found, guess in pairs]
        return Comparison(
            first=names[0],
            second=names[1],
            same_bytes=files[0][1] == files[1][1],
            same_text=not text,
            added=told["added"],
            removed=told["removed"],
            changed=told["changed"],
            difference=difference,
            truncated=more,
            summary=in_words(names[0], names[1], told, difference),
            note=" ".join(f"{said} {note}." for said, note in zip(names, notes, strict=True) if note),
            sheets=sheets,
        )

    @spoken
    def read_spreadsheet(
        self,
        path: Annotated[str, Field(description="An .xlsx, .csv or .tsv file in the allowed folders.")],
        sheet: Annotated[
            str, Field(max_length=100, description="The sheet. Empty: the first that is shown.")
        ] = "",
        first_row: Annotated[int, Field(ge=1, le=100_000, description="1 is the top row.")] = 1,
        limit: Annotated[int, Field(ge=1, le=MOST_ROWS, description="Rows at most.")] = 500,
    ) -> Sheet:
        """Read rows of a spreadsheet: values as they were last worked out, days as 2026-11-21."""
        said, data, _ = source(self.roots, path, ".xlsx", ".csv", ".tsv")
        asked = {"ending": ending(said), "name": sheet, "first": first_row, "limit": limit}
        told, _ = run("formats.sheet", said, [data], _LONG_TOLD, **asked)
        every = told["rows"]
        rows = [*answers.fitting_rows(every)] or every[:1]
        more = len(rows) < len(every) or told["more"]
        return Sheet(
            path=said,
            sheet=told["sheet"],
            sheets=told["sheets"],
            first_row=first_row,
            rows=rows,
            next_row=first_row + len(rows) if more else None,
            note=" ".join(
                filter(None, [f"{said} {told['guessed']}." if told["guessed"] else "", _MORE if more else ""])
            ),
        )

    @spoken
    def list_form_fields(self, path: PdfArg) -> Form:
        """List the fields of a PDF form, with what stands in them."""
        said, data, _ = source(self.roots, path, ".pdf")
        told, _ = run("formats.fields", said, [data], _LONG_TOLD)
        found, more = answers.fitting(FormField(name=name, **one) for name, one in told["fields"].items())
        return Form(path=said, fields=found, truncated=more)

    @spoken
    def preview_document(self, make: MakeArg, call: CallArg) -> Plan:
        """Make the file that a tool of this server would make, in memory, and say what it is. Changes nothing."""
        made = built(self.roots, make, call)
        return Plan(
            path=made.target.place.said,
            items=made.items,
            difference=made.difference or "\n".join(f"+{item.name}" for item in made.items) + "\n",
            expected_target=made.target.sha256,
            expected_made=made.sha256,
            pages=made.pages,
            size=len(made.data),
            note=one_line(made.note),
            sheets=[*made.sheets],
        )

    @spoken
    def create_pdf(
        self,
        path: NewArg,
        content: ContentArg,
        title: TitleArg = "",
        expected_target: ExpectedTarget = None,
        expected_made: ExpectedMade = None,
    ) -> Made:
        """Make a PDF of A4 pages from text with Markdown headings, lists and tables.

        Chinese, Japanese and Korean are shown in a font of whoever reads it. Hebrew, Arabic and Persian run from right
        to left; with vowel signs they need a .docx file, and so do other scripts that join letters.
        """
        call = {"path": path, "content": content, "title": title}
        return self._make("create_pdf", call, expected_target, expected_made)

    @spoken
    def create_docx(
        self,
        path: NewArg,
        content: ContentArg,
        title: TitleArg = "",
        expected_target: ExpectedTarget = None,
        expected_made: ExpectedMade = None,
    ) -> Made:
        """Make a Word file from text with Markdown headings, lists and tables."""
        call = {"path": path, "content": content, "title": title}
        return self._make("create_docx", call, expected_target, expected_made)

    @spoken
    def convert_format(
        self,
        source: DocumentArg,
        destination: NewArg,
        expected_target: ExpectedTarget = None,
        expected_made: ExpectedMade = None,
    ) -> Made:
        """Write a document in another format, said by the ending of the destination. The source stays as it is."""
        call = {"source": source, "destination": destination}
        return self._make("convert_format", call, expected_target, expected_made)

    @spoken
    def merge_pdfs(
        self,
        sources: SourcesArg,
        destination: NewArg,
        expected_target: ExpectedTarget = None,
        expected_made: ExpectedMade = None,
    ) -> Made:
        """Put PDF files together, one after the other. The sources stay as they are."""
        call = {"sources": sources, "destination": destination}
        return self._make("merge_pdfs", call, expected_target, expected_made)

    @spoken
    def fill_pdf_form(
        self,
        path: PdfArg,
        values: ValuesArg,
        destination: NewArg,
        expected_target: ExpectedTarget = None,
        expected_made: ExpectedMade = None,
    ) -> Made:
        """Fill the form of a PDF and write it; the destination may be the same file, whose old version is kept."""
        call = {"path": path, "values": values, "destination": destination}
        return self._make("fill_pdf_form", call, expected_target, expected_made)

    def _make(self, make: str, call: dict[str, Any], target: str | None, made: str | None) -> Made:
        file = built(self.roots, make, call)
        return put_shown(file.target, file.data, (target, made), self.clock(), Made, pages=file.pages)


def _note(notes: str, more: bool) -> str:
    return " ".join(filter(None, [notes, "There is more text: ask for what follows." if more else ""]))


def _fitting(text: str) -> tuple[str, bool]:
    if answers.fits(text):
        return text, False
    while not answers.fits(text):
        text = text[: len(text) // 2]
    return text.rpartition("\n")[0], True


_INSIDE = ["sheet"]  # by which a tool of this server is told of a sheet
_OF_SHEETS: dict[str, list[str]] = {"inside": _INSIDE, "found_in": ["sheets[]"]}
_SHEETS: dict[str, list[str]] = {"inside": _INSIDE, "reported_in": ["{capture.plan.sheets}"]}

_LISTED = ITEMS
PATHS = {
    "convert_format": ["source", "destination"],
    "merge_pdfs": ["sources", "destination"],
    "fill_pdf_form": ["path", "destination"],
}
_TOLD = {"kind": "text", "after": "{capture.plan.difference}"}


def _makes(name: str, title: str, verb: str, summary: str, goal: str, preview: dict[str, str]) -> Card:
    return makes(
        title,
        verb,
        summary,
        noun=f"{{args.{goal}|name}}",
        capture={"plan": call("preview_document", make=name, call="{args}")},
        bind=bound("expected_target", "expected_made"),
        preview=preview,
        targets={"paths": PATHS.get(name, ["path"]), **(_SHEETS if name == "convert_format" else {})},
    )


CARDS: dict[str, Card] = {
    "extract_text": reading("Read document", "Read {args.path}", paths=["path"], **_OF_SHEETS),
    "diff_documents": reading(
        "Compare documents", "Compare {args.first} and {args.second}", paths=["first", "second"], **_OF_SHEETS
    ),
    "read_spreadsheet": reading(
        "Read spreadsheet",
        "Read {args.path}",
        paths=["path"],
        ids=["sheet"],
        inside=_INSIDE,
        found_in=["sheet"],
    ),
    "list_form_fields": reading("List form fields", "Read the form {args.path}", paths=["path"]),
    "preview_document": reading(
        "Preview a document",
        "Look at what {args.make} would make",
        paths=["call.path", "call.source", "call.destination", "call.sources"],
        nested=["call"],
        **_OF_SHEETS,
    ),
    "create_pdf": _makes("create_pdf", "Create PDF", "Create", "Create the PDF {args.path}", "path", _LISTED),
    "create_docx": _makes(
        "create_docx", "Create Word file", "Create", "Create the Word file {args.path}", "path", _LISTED
    ),
    "convert_format": _makes(
        "convert_format",
        "Convert document",
        "Convert",
        "Convert {args.source} to {args.destination}{capture.plan.note}",
        "destination",
        _TOLD,
    ),
    "merge_pdfs": _makes(
        "merge_pdfs",
        "Merge PDFs",
        "Merge",
        "Merge {args.sources|count} PDFs into {args.destination}{capture.plan.note}",
        "destination",
        _LISTED,
    ),
    "fill_pdf_form": _makes(
        "fill_pdf_form",
        "Fill PDF form",
        "Fill",
        "Fill {args.path} and write {args.destination}{capture.plan.note}",
        "destination",
        _TOLD,
    ),
    **WAYS_BACK,
}
