"""The tools that only read. Their docstrings are what people and models read of them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from servers.document import apart
from servers.document.making import built, ending, source
from servers.document.models import (
    CallArg,
    Comparison,
    DocumentArg,
    Extract,
    Form,
    FormField,
    MakeArg,
    PdfArg,
    Plan,
    Sheet,
)
from servers.filesystem import disk, room
from servers.filesystem.answers import spoken
from servers.filesystem.roots import Roots

MOST_ROWS = 2_000
_NO_TEXT = "There is no text in it; perhaps it is a picture of text. Try the OCR tools."


@dataclass(frozen=True)
class Reading:
    """The reading tools over some roots."""

    roots: Roots

    @spoken
    def extract_text(
        self,
        path: DocumentArg,
        offset: Annotated[int, Field(ge=0, description="First character to show.")] = 0,
        limit: Annotated[int, Field(ge=100, le=200_000, description="Characters at most.")] = 100_000,
    ) -> Extract:
        """Read the text of a PDF, Word, spreadsheet, HTML or text file. Pages of a PDF are divided by a form feed."""
        said, data, _ = source(self.roots, path)
        pages, text = self._text(said, data)
        shown = text[offset : offset + limit]
        while not room.fits(shown):
            shown = shown[: len(shown) // 2]
        end = offset + len(shown)
        return Extract(
            path=said,
            pages=pages,
            text=shown,
            offset=offset,
            next_offset=end if end < len(text) else None,
            characters=len(text),
            sha256=disk.sha256(data),
            note="" if text.strip() else _NO_TEXT,
        )

    def _text(self, said: str, data: bytes) -> tuple[int, str]:
        told, text = apart.run("text", said, [data], ending=ending(said))
        return told["pages"], text.decode()

    @spoken
    def diff_documents(self, first: DocumentArg, second: DocumentArg) -> Comparison:
        """Compare the text of two documents line by line; they may be of different kinds."""
        files = [source(self.roots, path) for path in (first, second)]
        old, new = (self._text(said, data)[1].splitlines() for said, data, _ in files)
        lines = list(difflib.unified_diff(old, new, files[0][0], files[1][0], lineterm=""))
        difference, more = _fitting(lines)
        return Comparison(
            first=files[0][0],
            second=files[1][0],
            same_bytes=files[0][1] == files[1][1],
            same_text=not lines,
            added=sum(line.startswith("+") for line in lines[2:]),
            removed=sum(line.startswith("-") for line in lines[2:]),
            difference=difference,
            truncated=more,
        )

    @spoken
    def read_spreadsheet(
        self,
        path: Annotated[str, Field(description="An .xlsx, .csv or .tsv file in the allowed folders.")],
        sheet: Annotated[str, Field(max_length=100, description="The sheet. Empty: the first.")] = "",
        first_row: Annotated[int, Field(ge=1, le=100_000, description="1 is the top row.")] = 1,
        limit: Annotated[int, Field(ge=1, le=MOST_ROWS, description="Rows at most.")] = 500,
    ) -> Sheet:
        """Read rows of a spreadsheet: values as they were last worked out, days as 2026-11-21."""
        said, data, _ = source(self.roots, path, ".xlsx", ".csv", ".tsv")
        told, _ = apart.run(
            "sheet", said, [data], ending=ending(said), name=sheet, first=first_row, limit=limit
        )
        rows, cut = _rows(told["rows"])
        more = cut or told["more"]
        return Sheet(
            path=said,
            sheet=told["sheet"],
            sheets=told["sheets"],
            first_row=first_row,
            rows=rows,
            next_row=first_row + len(rows) if more else None,
            note="There are more rows: go on at next_row." if more else "",
        )

    @spoken
    def list_form_fields(self, path: PdfArg) -> Form:
        """List the fields of a PDF form, with what stands in them."""
        said, data, _ = source(self.roots, path, ".pdf")
        told, _ = apart.run("fields", said, [data])
        found, more = room.fitting(FormField(name=name, **one) for name, one in told["fields"].items())
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
        )


def _fitting(lines: list[str]) -> tuple[str, bool]:
    text = "\n".join(lines)
    if room.fits(text):
        return text, False
    while not room.fits(text):
        text = text[: len(text) // 2]
    return text.rpartition("\n")[0], True


def _rows(
    rows: list[list[str | int | float | bool | None]],
) -> tuple[list[list[str | int | float | bool | None]], bool]:
    left = room.MOST_CHARACTERS
    for n, row in enumerate(rows):
        left -= sum(2 * len(str(value)) + 14 for value in row) + 20
        if left < 0:
            return rows[: max(n, 1)], True
    return rows, False
