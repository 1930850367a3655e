"""An MCP server that reads text off pictures: images and the pages of PDFs, with Tesseract.

`python -m servers.ocr --root DIR` serves it on standard input and output. The sandbox recognises the words, and puts
them together to lines, fields with labels, dates and amounts, and tables: servers.formats.page_words.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field, TypeAdapter

from servers.command_line import Clock, utc_now
from servers.filesystem import answers
from servers.filesystem.answers import spoken
from servers.filesystem.models import Given
from servers.filesystem.paths import Roots
from servers.folders import House, alone, assembled, bytes_of, named
from servers.sandbox.calling import JSON_OUTPUT, Job, Limits, answered, count, listed, unbroken
from servers.sandbox.protocol import MOST_JSON
from servers.tool_metadata import Card, reading

ImageArg = Annotated[
    str, Field(description="A .png, .jpg, .tif, .webp, .bmp or .gif file in the allowed folders.")
]
PdfArg = Annotated[str, Field(description="A .pdf file in the allowed folders.")]
EitherArg = Annotated[str, Field(description="A picture or a .pdf file in the allowed folders.")]
PageArg = Annotated[int, Field(ge=1, le=2_000, description="Which page, or which picture of several.")]
LanguageArg = Annotated[
    str,
    Field(
        pattern=r"^[a-z_]{3,12}(\+[a-z_]{3,12}){0,3}$",
        description="As Tesseract names it: eng, deu, or several: eng+deu.",
    ),
]


class FieldOf(BaseModel):
    """What stands behind a label on one line, such as “Total: 12.50”."""

    label: str
    value: str
    confidence: float


class Mention(BaseModel):
    kind: Literal["date", "amount", "email", "web address", "phone number", "bank account"]
    text: str
    line: str


class PageText(BaseModel):
    page: int
    text: str
    confidence: float = Field(description="mean over its words; 0 where there are none")


class ImageText(PageText):
    path: str
    pages: int = Field(description="how many pictures are in the file")
    sha256: str
    note: str = ""


class PdfText(BaseModel):
    path: str
    pages: int = Field(description="in the whole file")
    read: list[PageText]
    next_page: int | None = Field(default=None, description="where to go on; none at the end")
    sha256: str
    note: str = ""


class Structured(BaseModel):
    path: str
    page: int
    fields: list[FieldOf]
    mentions: list[Mention]
    confidence: float
    sha256: str
    truncated: bool
    note: str = ""


class TableRead(BaseModel):
    path: str
    page: int
    columns: int
    rows: list[list[str]] = Field(description="every row has as many cells as there are columns")
    confidence: float
    sha256: str
    truncated: bool
    note: str = ""


PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif")
LARGEST = 30 << 20  # bytes of a file that goes in
LIMITS = Limits(seconds=50, output=JSON_OUTPUT)
PAGES_AT_ONCE = 10
MOST_PICTURES = 1_000_000  # in one file
MOST_VALUES = 200  # fields, and as many mentions
UNSURE, SURE = 0.6, 0.9
SKEWED, VERY_SKEWED = (
    2.0,
    7.0,
)  # degrees that make figures doubtful: where it is unsure besides, and in any case
_MISSING = (
    "Tesseract is not installed on this host. Install the package tesseract-ocr (on Debian and Ubuntu: apt-get install "
    "tesseract-ocr; on macOS: brew install tesseract), then try again."
)


@dataclass(frozen=True)
class Tools:
    """The tools over some roots."""

    roots: Roots

    @spoken
    def extract_text_from_image(
        self, path: ImageArg, page: PageArg = 1, language: LanguageArg = "eng"
    ) -> ImageText:
        """Read the text in a picture: a scan, a photo of a page, a screenshot."""
        seen = self._seen(path, PICTURES, "texts", first=page, limit=1, language=language)
        [one] = _texts(seen, page)
        return ImageText(
            path=seen.path,
            pages=seen.pages,
            sha256=seen.sha256,
            note=_note(seen.found, seen.pages),
            **one.model_dump(),
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
        seen = self._seen(path, (".pdf",), "texts", first=first_page, limit=pages, language=language)
        read = _texts(seen, first_page)
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
        seen = self._seen(path, (*PICTURES, ".pdf"), "values", first=page, limit=1, language=language)
        with unbroken(seen.path):
            fields, mentions = _VALUES.validate_python(seen.given)
        labelled, more = answers.fitting(fields, MOST_VALUES)
        mentioned, others = answers.fitting(mentions, MOST_VALUES)
        return Structured(
            path=seen.path,
            page=page,
            fields=labelled,
            mentions=mentioned,
            confidence=seen.found[0].confidence,
            sha256=seen.sha256,
            truncated=more or others or bool(seen.told.get("more")),
            note=_note(seen.found, 1),
        )

    @spoken
    def extract_table(self, path: EitherArg, page: PageArg = 1, language: LanguageArg = "eng") -> TableRead:
        """Read the table on one page or picture. What stands beside the table becomes rows too."""
        seen = self._seen(path, (*PICTURES, ".pdf"), "table", first=page, limit=1, language=language)
        with unbroken(seen.path):
            every = _ROWS.validate_python(seen.given)
            columns = count(seen.told["columns"], MOST_JSON)
        rows = [*answers.fitting_rows(every[: answers.MOST_ENTRIES])]
        if columns and not rows:
            raise ToolError(
                f"One row on page {page} of {seen.path} holds more than one answer. Take a part of it."
            )
        return TableRead(
            path=seen.path,
            page=page,
            columns=columns,
            rows=rows,
            confidence=seen.found[0].confidence,
            sha256=seen.sha256,
            truncated=len(rows) < len(every) or bool(seen.told.get("more")),
            note=_note(seen.found, 1)
            if columns
            else "There is nothing in columns on it. Read its text instead.",
        )

    def _seen(self, path: str, endings: tuple[str, ...], give: str, **asked: Any) -> Seen:
        """What stands on some pages of a file. `give` and `asked` as the sandbox takes it: first, limit, language."""
        place, ending = named(self.roots, path, *endings)
        program = shutil.which("tesseract")
        if program is None:
            raise ToolError(_MISSING)
        data, sha256 = bytes_of(place, LARGEST)
        args = {"ending": ending, "program": program, "give": give, **asked}
        parts = [
            Path(program).resolve().parents[1] / name for name in ("lib", "share")
        ]  # what it needs to run
        job = Job("formats.words", [data], args, reads=parts, program=program, scratch=True, limits=LIMITS)
        told, made = answered(job, place.said)
        with unbroken(place.said):
            pages, found = count(told["pages"], MOST_PICTURES), _PAGES.validate_python(told["found"])
            if not 0 < len(found) <= asked["limit"]:
                raise ValueError("not the pages that were asked for")
        return Seen(place.said, sha256, pages, found, told, listed(made, place.said))


@dataclass(frozen=True)
class Page:
    """One page. `sure`: the mean over its words; `turned`: by how many degrees clockwise it was turned to be upright;
    `skew`: by how many its lines were not level; `differing`: in how many places the letters in the file say something
    else than what was read off the page."""

    number: Annotated[int, Field(ge=1, le=MOST_PICTURES)]
    words: Annotated[int, Field(ge=0, le=MOST_JSON)]
    sure: Annotated[float, Field(ge=0, le=1)]
    turned: Annotated[int, Field(ge=0, lt=360)] = 0
    skew: Annotated[float, Field(ge=-360, le=360)] = 0.0
    differing: Annotated[int, Field(ge=0, le=MOST_JSON)] = 0

    @property
    def confidence(self) -> float:
        return round(self.sure, 2)

    @property
    def doubtful(self) -> bool:
        """Whether it was skewed so much that what was read may be wrong, though it was made straight."""
        return self.words > 0 and abs(self.skew) > (SKEWED if self.confidence < SURE else VERY_SKEWED)


_PAGES = TypeAdapter(Given[Page])
_TEXTS = TypeAdapter(Given[str])
_VALUES = TypeAdapter(tuple[Given[FieldOf], Given[Mention]])
_ROWS = TypeAdapter(Given[Given[str]])


@dataclass(frozen=True)
class Seen:
    """A file, how many pages it has, those that were read, and what was asked for of them, as the sandbox gave it."""

    path: str
    sha256: str
    pages: int
    found: list[Page]
    told: dict[str, Any]
    given: list[Any]


def _texts(seen: Seen, first: int) -> list[PageText]:
    """The first pages, as many as fit into an answer. Raises ToolError where not even one does."""
    with unbroken(seen.path):
        texts = _TEXTS.validate_python(seen.given)
    read, _ = answers.fitting(
        PageText(page=one.number, text=text, confidence=one.confidence)
        for one, text in zip(seen.found, texts, strict=False)
    )
    if not read:
        raise ToolError(f"Page {first} of {seen.path} holds more text than one answer. Take a part of it.")
    return read


def _note(read: list[Page], pictures: int) -> str:
    every = sum(page.words for page in read)
    notes = (
        [f"There are {pictures} pictures in this file: ask for the others by page."] if pictures > 1 else []
    )
    if not every:
        notes.append("No text was found on it.")
    elif round(sum(page.sure * page.words for page in read) / every, 2) < UNSURE:
        notes.append("It is hard to read, so much of this may be wrong: hold it against the picture.")
    empty = [str(page.number) for page in read if not page.words]
    if every and empty:
        notes.append(f"No text was found on page {', '.join(empty)}.")
    lying = [str(page.number) for page in read if page.turned]
    if lying:
        notes.append(f"Turned upright before it was read: page {', '.join(lying)}.")
    skewed = [f"{page.number} (by {abs(page.skew):.0f} degrees)" for page in read if page.doubtful]
    if skewed:
        notes.append(f"It is skewed, so hold figures against the picture: page {', '.join(skewed)}.")
    differing = [f"{page.number} (in {page.differing} places)" for page in read if page.differing]
    if differing:
        pages = ", ".join(differing)
        notes.append(f"The file's own text differs, so hold this against the picture: page {pages}.")
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


ABOUT = "Text read off pictures and pages of PDFs with Tesseract. It may be wrong: it says how sure it is."


def server(roots: Sequence[Path], clock: Clock = utc_now) -> MCPServer:
    """The server over these folders. Raises ValueError with a sentence when a folder is missing or two share a name."""
    house = House.at(roots, clock)
    return assembled("ocr", "Text in pictures", ABOUT, house, CARDS, Tools(house.roots))


if __name__ == "__main__":
    alone("ocr", "An MCP server that reads text off pictures.", server)
