"""The OCR tools, each with its card. Their docstrings are what people and models read of them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.cards import Card, reading
from servers.filesystem import answers
from servers.filesystem.answers import spoken
from servers.filesystem.paths import Roots
from servers.folders import bytes_of, named
from servers.ocr import page_text
from servers.ocr.page_text import (
    EitherArg,
    ImageArg,
    ImageText,
    LanguageArg,
    PageArg,
    PageText,
    PdfArg,
    PdfText,
    Structured,
    TableRead,
    Word,
)
from servers.sandbox.calling import Job, Limits, answered

PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif")
LARGEST = 30 << 20  # bytes of a file that goes in
LIMITS = Limits(seconds=50)
PAGES_AT_ONCE = 10
UNSURE = 0.6
_MISSING = (
    "Tesseract is not installed on this host. Install the package tesseract-ocr (on Debian and Ubuntu: apt-get install "
    "tesseract-ocr; on macOS: brew install tesseract), then try again."
)


@dataclass(frozen=True)
class Reading:
    """The tools over some roots."""

    roots: Roots

    @spoken
    def extract_text_from_image(
        self, path: ImageArg, page: PageArg = 1, language: LanguageArg = "eng"
    ) -> ImageText:
        """Read the text in a picture: a scan, a photo of a page, a screenshot."""
        seen = self._seen(path, PICTURES, first=page, limit=1, language=language)
        [one] = seen.found
        return ImageText(
            path=seen.path,
            pages=seen.pages,
            sha256=seen.sha256,
            note=_note([one], seen.pages),
            **_text(one).model_dump(),
        )

    @spoken
    def extract_text_from_pdf(
        self,
        path: PdfArg,
        first_page: PageArg = 1,
        pages: Annotated[int, Field(ge=1, le=PAGES_AT_ONCE, description="Pages at most.")] = 5,
        language: LanguageArg = "eng",
    ) -> PdfText:
        """Read the pages of a PDF as people see them, scanned ones too. It takes seconds for each page."""
        seen = self._seen(path, (".pdf",), first=first_page, limit=pages, language=language)
        read, cut = answers.fitting(_text(one) for one in seen.found)
        if cut and not read:
            raise ToolError(
                f"Page {first_page} of {seen.path} holds more text than one answer. Take a part of it."
            )
        following = first_page + len(read)
        return PdfText(
            path=seen.path,
            pages=seen.pages,
            read=read,
            next_page=following if following <= seen.pages else None,
            sha256=seen.sha256,
            note=_note(seen.found, 1),
        )

    @spoken
    def extract_structured_data(
        self, path: EitherArg, page: PageArg = 1, language: LanguageArg = "eng"
    ) -> Structured:
        """Find values behind labels (“Total: 12.50”), dates, amounts and addresses on one page or picture."""
        seen = self._seen(path, (*PICTURES, ".pdf"), first=page, limit=1, language=language)
        [one] = seen.found
        found = page_text.lines(one.words)
        labelled, more = answers.fitting(page_text.fields(one.words), 200)
        mentioned, others = answers.fitting(page_text.mentions(found), 200)
        return Structured(
            path=seen.path,
            page=page,
            fields=labelled,
            mentions=mentioned,
            confidence=page_text.sure(one.words),
            sha256=seen.sha256,
            truncated=more or others,
            note=_note([one], 1),
        )

    @spoken
    def extract_table(self, path: EitherArg, page: PageArg = 1, language: LanguageArg = "eng") -> TableRead:
        """Read the table on one page or picture. What stands beside the table becomes rows too."""
        seen = self._seen(path, (*PICTURES, ".pdf"), first=page, limit=1, language=language, table=True)
        [one] = seen.found
        rows = page_text.rows(one.words)
        return TableRead(
            path=seen.path,
            page=page,
            columns=len(rows[0]) if rows else 0,
            rows=rows[: answers.MOST_ENTRIES],
            confidence=page_text.sure(one.words),
            sha256=seen.sha256,
            truncated=len(rows) > answers.MOST_ENTRIES,
            note=_note([one], 1) if rows else "There is nothing in columns on it. Try extract_text.",
        )

    def _seen(self, path: str, endings: tuple[str, ...], **asked: Any) -> Seen:
        """The words on some pages of a file. `asked` as the sandbox takes it: first, limit, language, table."""
        place, ending = named(self.roots, path, *endings)
        program = shutil.which("tesseract")
        if program is None:
            raise ToolError(_MISSING)
        data, sha256 = bytes_of(place, LARGEST)
        args = {"ending": ending, "program": program, **asked}
        parts = [
            Path(program).resolve().parents[1] / name for name in ("lib", "share")
        ]  # what it needs to run
        job = Job("formats.words", [data], args, reads=parts, program=program, scratch=True, limits=LIMITS)
        told, _ = answered(job, place.said)
        found = [Page(one["page"], page_text.words(one["words"]), one["turned"]) for one in told["found"]]
        return Seen(place.said, sha256, told["pages"], found)


@dataclass(frozen=True)
class Page:
    """The words on one page. `turned`: by how many degrees clockwise it was turned to be upright."""

    number: int
    words: list[Word]
    turned: int = 0


@dataclass(frozen=True)
class Seen:
    """A file, how many pages it has, and what stands on those that were read."""

    path: str
    sha256: str
    pages: int
    found: list[Page]


def _text(page: Page) -> PageText:
    return PageText(page=page.number, text=page_text.text(page.words), confidence=page_text.sure(page.words))


def _note(read: list[Page], pictures: int) -> str:
    every = [word for page in read for word in page.words]
    notes = (
        [f"There are {pictures} pictures in this file: ask for the others by page."] if pictures > 1 else []
    )
    if not every:
        notes.append("No text was found on it.")
    elif page_text.sure(every) < UNSURE:
        notes.append("It is hard to read, so much of this may be wrong: hold it against the picture.")
    lying = [str(page.number) for page in read if page.turned]
    if lying:
        notes.append(f"Turned upright before it was read: page {', '.join(lying)}.")
    return " ".join(notes)


CARDS: dict[str, Card] = {
    "extract_text_from_image": reading(
        "Read text in a picture", "Read the text in {args.path}", paths=["path"]
    ),
    "extract_text_from_pdf": reading(
        "Read text in a scanned PDF", "Read the pages of {args.path}", paths=["path"]
    ),
    "extract_structured_data": reading(
        "Find values in a picture", "Read the values in {args.path}", paths=["path"]
    ),
    "extract_table": reading("Read a table in a picture", "Read the table in {args.path}", paths=["path"]),
}
