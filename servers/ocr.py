"""An MCP server that reads text off pictures: images and the pages of PDFs, with Tesseract.

`python -m servers.ocr --root DIR` serves it on standard input and output. The sandbox recognises the words; here they
are put together to lines, fields with labels, dates and amounts, and tables.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Literal, NamedTuple

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from servers.cards import Card, reading
from servers.command_line import Clock, utc_now
from servers.filesystem import answers
from servers.filesystem.answers import spoken
from servers.filesystem.paths import Roots
from servers.folders import House, alone, assembled, bytes_of, named
from servers.sandbox.calling import Job, Limits, answered

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


class FieldOf(BaseModel):
    """What stands behind a label on one line, such as “Total: 12.50”."""

    label: str
    value: str
    confidence: float


class Mention(BaseModel):
    kind: Literal["date", "amount", "email", "web address", "phone number", "bank account"]
    text: str
    line: str


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


class Word(NamedTuple):
    """One word, its place in pixels, and the block, paragraph and line that Tesseract gave it."""

    text: str
    left: int
    top: int
    width: int
    height: int
    sure: float
    line: tuple[int, int, int]

    @property
    def right(self) -> int:
        return self.left + self.width

    @property
    def middle(self) -> float:
        return self.top + self.height / 2


class Line(NamedTuple):
    text: str
    sure: float


def words(told: Iterable[Sequence[Any]]) -> list[Word]:
    """As the sandbox gives them."""
    return [Word._make([*one[:6], tuple(one[6])]) for one in told]


def sure(found: Sequence[Word]) -> float:
    """The mean over words; 0 where there are none."""
    return round(sum(word.sure for word in found) / len(found), 2) if found else 0.0


def lines(found: Iterable[Word]) -> list[Line]:
    grouped = [list(group) for _, group in groupby(found, key=lambda word: word.line)]
    return [Line(" ".join(word.text for word in group), sure(group)) for group in grouped]


def text(found: Iterable[Word]) -> str:
    """Lines, with an empty one between paragraphs."""
    paragraphs = [list(group) for _, group in groupby(found, key=lambda word: word.line[:2])]
    return "\n\n".join("\n".join(line.text for line in lines(group)) for group in paragraphs)


_LABEL = re.compile(r"^\W{0,3}([^\W\d_][^:]{0,39}?)\s?:\s+(\S.*)$")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_NUMBER = r"\d{1,3}(?:[.,' ]\d{3})*(?:[.,]\d{2})?|\d+(?:[.,]\d{2})?"
_MONEY = r"€|\$|£|¥|EUR|USD|GBP|CHF|JPY"
# In this order: where two see the same, the first counts.
_FORMS = {
    "email": r"[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}",
    "web address": r"https?://[^\s<>\"]{3,300}|www\.[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}(?:/\S{0,200})?",
    "bank account": r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?",
    "date": rf"\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|\d{{1,2}}\.? {_MONTH} \d{{4}}"
    rf"|{_MONTH} \d{{1,2}},? \d{{4}}",
    "amount": rf"(?:{_MONEY}) ?(?:{_NUMBER})|(?:{_NUMBER}) ?(?:{_MONEY})",
    "phone number": r"\+\d{1,3}(?:[ .()/-]{0,2}\d{1,4}){2,6}",  # with the code of the country
}
_PATTERNS = {kind: re.compile(rf"(?<!\w)(?<!\d[.,'])(?:{form})(?!\w)") for kind, form in _FORMS.items()}


# What receipts write without a colon: a total and its amount, a number of the paper.
_TOTAL = (
    r"(?:grand |sub)?total|amount due|balance due|to pay|summe|gesamt(?:betrag|summe)?|zu zahlen|betrag|netto"
    r"|brutto"
)
_PAPER = r"(?:receipt|invoice|order|bill|ticket|beleg|rechnung|rechnungs|bon|kunden|auftrags?)"
_TOTAL_LABEL = re.compile(rf"(?i)(?:{_TOTAL})\b")
_GAP = r"[\s.:_—-]{1,9}"
_BARE = re.compile(
    rf"(?i)^\W{{0,3}}((?:{_TOTAL})(?: (?:EUR|USD|GBP|CHF))?){_GAP}"
    rf"((?:{_MONEY})? ?\d[\d.,' ]{{0,14}}(?: ?(?:{_MONEY}))?)$"
    rf"|^\W{{0,3}}({_PAPER}(?:[\s-]?(?:no|nr|number|nummer))?\b[.:#]{{0,2}}|{_PAPER} ?#){_GAP}"
    rf"((?:(?-i:[A-Z0-9]{{1,3}}) ?- ?)?\S{{0,12}}\d\S{{0,20}}(?: \d{{1,8}})?)$"
)
_SHOP = re.compile(
    r"(?=(?:.{0,40}?[^\W\d_]){3})[^\d:@]{3,60}"
)  # a name: letters, and nothing that is counted


def _label(text: str) -> tuple[str, str] | None:
    """The label and the value of a line, with a colon between them or as receipts write them."""
    if match := _LABEL.match(text):
        return match[1].strip(), match[2].strip()
    match = _BARE.match(text.strip())
    return (match[1] or match[3], (match[2] or match[4]).strip()) if match else None


def labelled(lines: Iterable[Line]) -> list[FieldOf]:
    """`Label: value`, and totals and numbers as receipts write them. What stands on the next line is not guessed."""
    found = ((line, _label(line.text)) for line in lines)
    return [
        FieldOf(label=pair[0], value=pair[1], confidence=line.sure)
        for line, pair in found
        if pair and pair[0].lower() not in ("http", "https")
    ]


def fields(words: Sequence[Word]) -> list[FieldOf]:
    """As `labelled`, also where Tesseract takes labels and values for two columns; of a receipt also the shop, which
    stands at its top without a label."""
    read = lines(words)
    found = labelled(read)
    across = labelled(_across(words))
    known = {(field.label, field.value) for field in found}
    found += [field for field in across if (field.label, field.value) not in known]
    top = next((line for line in read if len(line.text.strip()) > 2), None)
    is_receipt = any(_TOTAL_LABEL.match(field.label) for field in found)
    if is_receipt and top and _SHOP.fullmatch(top.text.strip()) and not _label(top.text):
        return [FieldOf(label="Name at the top", value=top.text.strip(), confidence=top.sure), *found]
    return found


def _across(words: Sequence[Word]) -> list[Line]:
    """What stands beside each other on the page as one line, whatever columns it has."""
    if not words:
        return []
    height = median(word.height for word in words)
    return [Line(" ".join(word.text for word in row), sure(row)) for row in _rows(words, height)]


def mentions(lines: Iterable[Line]) -> Iterator[Mention]:
    """Dates, amounts, addresses and numbers, as they are written."""
    for line in lines:
        taken: list[tuple[int, int]] = []
        for kind, pattern in _PATTERNS.items():
            for match in pattern.finditer(line.text):
                if not any(match.start() < end and start < match.end() for start, end in taken):
                    taken.append(match.span())
                    yield Mention.model_validate({"kind": kind, "text": match[0], "line": line.text})


GAP = 0.9  # of a word's height: what is further apart stands in two cells
Cell = list[Word]


def rows(found: Sequence[Word]) -> list[list[str]]:
    """Rows of as many cells each; empty when the words stand in no columns."""
    if not found:
        return []
    height = median(word.height for word in found)
    laid = [_cells(row, height) for row in _rows(found, height)]
    edges = _columns([cell for row in laid if len(row) > 1 for cell in row])
    if len(edges) < 2:
        return []
    return [_placed(row, edges) for row in laid]


def _rows(found: Sequence[Word], height: float) -> list[list[Word]]:
    """Words whose middles are about as high."""
    out: list[list[Word]] = []
    for word in sorted(found, key=lambda word: word.middle):
        if out and word.middle - sum(w.middle for w in out[-1]) / len(out[-1]) < height * 0.6:
            out[-1].append(word)
        else:
            out.append([word])
    return [sorted(row, key=lambda word: word.left) for row in out]


def _cells(row: list[Word], height: float) -> list[Cell]:
    out: list[Cell] = []
    for word in row:
        if out and word.left - out[-1][-1].right < height * GAP:
            out[-1].append(word)
        else:
            out.append([word])
    return out


def _columns(cells: list[Cell]) -> list[tuple[int, int]]:
    """The strips that cells of any row stand in: two that overlap are one."""
    out: list[tuple[int, int]] = []
    for left, right in sorted((cell[0].left, cell[-1].right) for cell in cells):
        if out and left < out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], right))
        else:
            out.append((left, right))
    return out


def _placed(row: list[Cell], edges: list[tuple[int, int]]) -> list[str]:
    """The words of a row, each in the column that its cell overlaps most."""
    out: list[list[str]] = [[] for _ in edges]
    for cell in row:
        left, right = cell[0].left, cell[-1].right
        shared = [min(right, b) - max(left, a) for a, b in edges]
        out[shared.index(max(shared))].extend(word.text for word in cell)
    return [" ".join(words) for words in out]


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
class Tools:
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
        found = lines(one.words)
        labelled, more = answers.fitting(fields(one.words), 200)
        mentioned, others = answers.fitting(mentions(found), 200)
        return Structured(
            path=seen.path,
            page=page,
            fields=labelled,
            mentions=mentioned,
            confidence=sure(one.words),
            sha256=seen.sha256,
            truncated=more or others,
            note=_note([one], 1),
        )

    @spoken
    def extract_table(self, path: EitherArg, page: PageArg = 1, language: LanguageArg = "eng") -> TableRead:
        """Read the table on one page or picture. What stands beside the table becomes rows too."""
        seen = self._seen(path, (*PICTURES, ".pdf"), first=page, limit=1, language=language, table=True)
        [one] = seen.found
        found = rows(one.words)
        return TableRead(
            path=seen.path,
            page=page,
            columns=len(found[0]) if found else 0,
            rows=found[: answers.MOST_ENTRIES],
            confidence=sure(one.words),
            sha256=seen.sha256,
            truncated=len(found) > answers.MOST_ENTRIES,
            note=_note([one], 1) if found else "There is nothing in columns on it. Try extract_text.",
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
        found = [Page(one["page"], words(one["words"]), one["turned"]) for one in told["found"]]
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
    return PageText(page=page.number, text=text(page.words), confidence=sure(page.words))


def _note(read: list[Page], pictures: int) -> str:
    every = [word for page in read for word in page.words]
    notes = (
        [f"There are {pictures} pictures in this file: ask for the others by page."] if pictures > 1 else []
    )
    if not every:
        notes.append("No text was found on it.")
    elif sure(every) < UNSURE:
        notes.append("It is hard to read, so much of this may be wrong: hold it against the picture.")
    empty = [str(page.number) for page in read if not page.words]
    if every and empty:
        notes.append(f"No text was found on page {', '.join(empty)}.")
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


ABOUT = "Text read off pictures and pages of PDFs with Tesseract. It may be wrong: it says how sure it is."


def server(roots: Sequence[Path], clock: Clock = utc_now) -> MCPServer:
    """The server over these folders. Raises ValueError with a sentence when a folder is missing or two share a name."""
    house = House.at(roots, clock)
    return assembled("ocr", "Text in pictures", ABOUT, house, CARDS, Tools(house.roots))


if __name__ == "__main__":
    alone("ocr", "An MCP server that reads text off pictures.", server)
