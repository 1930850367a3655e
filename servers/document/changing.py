"""The tools that make a file. Each writes exactly what its preview made, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from servers.arguments import Clock
from servers.document.making import built
from servers.document.models import (
    ContentArg,
    DocumentArg,
    ExpectedMade,
    ExpectedTarget,
    Made,
    NewArg,
    PdfArg,
    SourcesArg,
    TitleArg,
    ValuesArg,
)
from servers.filesystem.answers import spoken
from servers.filesystem.roots import Roots
from servers.making import put


@dataclass(frozen=True)
class Changing:
    """The making tools over some roots, with the clock that dates what they keep."""

    roots: Roots
    clock: Clock

    @spoken
    def create_pdf(
        self,
        path: NewArg,
        content: ContentArg,
        title: TitleArg = "",
        expected_target: ExpectedTarget = None,
        expected_made: ExpectedMade = None,
    ) -> Made:
        """Make a PDF of A4 pages from text with Markdown headings, lists and tables."""
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
        if made is not None and file.sha256 != made:
            raise ToolError(
                f"What {file.target.place.said} is made of has changed since it was shown. Ask again."
            )
        return put(file.target.place, file.data, target, self.clock(), Made, pages=file.pages)
