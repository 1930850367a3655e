"""Excel files, and the packages that Word and Excel files are. Runs in the sandbox."""

from __future__ import annotations

import io
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from typing import Any, NamedTuple
from xml.sax import SAXException
from xml.sax.handler import ContentHandler

from defusedxml import DefusedXmlException
from defusedxml.sax import parseString
from openpyxl import Workbook, load_workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.utils.exceptions import InvalidFileException
from openpyxl.worksheet._reader import WorkSheetParser
from openpyxl.worksheet._writer import WorksheetWriter

from servers.formats.tables import MOST_COLUMNS, MOST_DIGITS, Cell
from servers.sandbox.protocol import Refused

MOST_ENTRIES = 5_000
MOST_BYTES = 50 << 20  # of all parts, unpacked
MOST_RATIO = 100
MOST_NUMBERED = 1_048_576  # rows of a sheet, in the format
MOST_LETTERS = 32_767  # of one cell
MOST_NAMED = 5  # cells that a note names
_TOO_LARGE = 10**MOST_DIGITS  # for a number that is calculated with
FIRST_OWN_FORMAT = 164  # the number of the first format of numbers that a file gives itself
_XML = (".xml", ".rels", ".vml")
_FORMULA_TAG = re.compile(rb"<(?:\w{1,20}:)?f[\s/>]")
_WORK_OUT = re.compile(rb"<(?:\w{1,20}:)?calcPr\b[^<>]*\bfullCalcOnLoad=[\"'](?:1|true)")


def opened(data: bytes) -> zipfile.ZipFile:
    """The archive, after a look at its list: no bomb, no link, no path that leads elsewhere. Raises Refused."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise Refused("is not a file of that kind, or it is broken. Save it anew.") from None
    parts = archive.infolist()
    whole = sum(part.file_size for part in parts)
    if len(parts) > MOST_ENTRIES or whole > MOST_BYTES or whole > MOST_RATIO * max(len(data), 1):
        raise Refused(f"unpacks to {whole >> 20} MB in {len(parts)} parts, which no honest document does.")
    end = 0
    for part in sorted(parts, key=lambda part: part.header_offset):
        if part.header_offset < end:
            raise Refused("has parts that lie over each other, which no honest document has.")
        end = part.header_offset + part.compress_size
        _plain(part)
    return archive


def _plain(part: zipfile.ZipInfo) -> None:
    odd = part.filename.startswith("/") or ".." in part.filename.split("/") or "\\" in part.filename
    if odd or stat.S_ISLNK(part.external_attr >> 16) or part.flag_bits & 1:
        raise Refused("has a part that is a link, is encrypted or would lie elsewhere. Save it anew.")


def checked(data: bytes) -> None:
    """Raise Refused for a package that is no plain one: every XML part is read, and may define nothing."""
    with opened(data) as archive:
        for part in archive.infolist():
            try:
                content = archive.read(part)
                if part.filename.lower().endswith(_XML):
                    parseString(content, ContentHandler(), forbid_dtd=True)
            except (DefusedXmlException, SAXException):
                raise Refused(
                    "holds XML that is broken or defines things of its own. Save it anew."
                ) from None
            except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, zlib.error):
                raise Refused("is broken. Save it anew.") from None


def steady(data: bytes) -> bytes:
    """The same package without the time of its making, so that the same content is the same file."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            content = old.read(part)
            if part.filename == "docProps/core.xml":
                content = re.sub(rb"<dcterms:(created|modified)[^<>]*+>[^<]*+</dcterms:\1>", b"", content)
            fresh = zipfile.ZipInfo(part.filename, (1980, 1, 1, 0, 0, 0))
            fresh.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(fresh, content)
    return out.getvalue()


def sheet_names(data: bytes) -> list[str]:
    """The names of the sheets of an Excel file that have cells: a chart may be a sheet, too."""
    book = _book(data)
    try:
        return [sheet.title for sheet in book.worksheets]
    finally:
        book.close()


class SheetPart(NamedTuple):
    """A sheet with cells, and the part of the package that it is in."""

    name: str
    path: str
    is_shown: bool


def sheet_parts(data: bytes) -> list[SheetPart]:
    """The sheets with cells, and where each is."""
    book = _book(data)
    try:
        return [SheetPart(page.title, page._worksheet_path, _is_shown(page)) for page in book.worksheets]
    finally:
        book.close()


def first_sheet(data: bytes) -> str:
    """The name of the first sheet with cells that is shown."""
    book = _book(data)
    try:
        return _first(book)
    finally:
        book.close()


def _first(book: Any) -> str:
    shown = [*filter(_is_shown, book.worksheets), *book.worksheets]
    return str(shown[0].title)


def _is_shown(page: Any) -> bool:
    return bool(page.sheet_state == "visible")


def _book(data: bytes) -> Any:
    checked(data)
    try:
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    except (InvalidFileException, KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise Refused("is not an Excel file that can be opened. Save it anew as .xlsx.") from error
    if not book.worksheets:  # of the strict form no sheet is found
        raise Refused(
            "has no sheet with cells that can be read; perhaps it is a “Strict Open XML” file. Save it as an ordinary "
            ".xlsx file."
        )
    return book


def sheet_cells(data: bytes, sheet: str) -> tuple[str, Iterator[list[Cell]]]:
    book = _book(data)
    names = [page.title for page in book.worksheets]
    name = sheet or _first(book)
    if name in {page.title for page in book.chartsheets}:
        raise Refused(
            f"has a chart for its sheet “{name}”, without cells. Sheets with cells: {', '.join(names)}."
        )
    if name not in names:
        raise Refused(f"has no sheet “{sheet}”. The sheets are: {', '.join(names)}.")
    return name, _values(book[name])


def _values(sheet: Any) -> Iterator[list[Cell]]:
    """The rows as they stand in the file: the size that it gives for the sheet may be another one."""
    before, zeros = 0, _zeros(sheet.parent)
    try:
        with sheet._get_source() as source:
            for number, cells in _parser(sheet, source).parse():
                _forward([before, number])
                yield from ([] for _ in range(before + 1, number))
                yield _row(cells, zeros)
                before = number
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise Refused("has a sheet that is broken. Save it anew.") from error


def _parser(sheet: Any, source: Any) -> Any:
    book = sheet.parent
    return WorkSheetParser(
        source,
        sheet._shared_strings,
        data_only=True,
        epoch=book.epoch,
        date_formats=book._date_formats,
        timedelta_formats=book._timedelta_formats,
    )


def _zeros(book: Any) -> dict[int, int]:
    """The styles of cells that show a number with zeros before it, such as a postcode, and how many digits it has."""
    own = {FIRST_OWN_FORMAT + n: str(form) for n, form in enumerate(book._number_formats)}
    forms = (own.get(style.numFmtId, "") for style in book._cell_styles)
    return {n: len(form) for n, form in enumerate(forms) if len(form) > 1 and not form.strip("0")}


def _row(cells: Sequence[dict[str, Any]], zeros: Mapping[int, int]) -> list[Cell]:
    places = [cell["column"] for cell in cells]
    _forward([0, *places])
    if any(cell["value"] not in (None, "") for cell in cells if cell["column"] > MOST_COLUMNS):
        raise Refused(f"has more than {MOST_COLUMNS} columns. Take a part of it.")
    row: list[Cell] = [None] * min(max(places, default=0), MOST_COLUMNS)
    for cell in cells:
        if cell["column"] <= MOST_COLUMNS:
            value = _value(cell["value"])
            digits = zeros.get(cell.get("style_id", 0), 0)
            whole = digits and isinstance(value, int) and not isinstance(value, bool)
            row[cell["column"] - 1] = f"{value:0{digits}d}" if whole else value
    return row


def _forward(numbers: Sequence[int]) -> None:
    """Raise Refused where rows or cells go back: readers differ on which of two in one place counts."""
    if numbers[-1] > MOST_NUMBERED or any(one >= other for one, other in pairwise(numbers)):
        raise Refused(
            "has rows or cells of a sheet out of their order. Save it anew in a spreadsheet program."
        )


def unworked(data: bytes, sheet: str | None = None) -> str:
    """What is to be said of formulas whose value is not in the file, and of charts, as the end of a sentence.

    `sheet`: only those of this one, "" for the first that is shown; None for all.
    """
    book = _book(data)
    one = _first(book) if sheet == "" else sheet
    empty, told = list[str](), 0
    with opened(data) as archive:
        for page in book.worksheets:
            content = archive.read(page._worksheet_path) if one in (None, page.title) else b""
            if _FORMULA_TAG.search(content):
                found = _Formulas()
                parseString(content, found, forbid_dtd=True)
                place = f"{page.title}!" if len(book.worksheets) > 1 else ""
                empty += [place + cell for cell in found.empty]
                told += found.told
        # XlsxWriter stores 0 as the value of each formula, and asks for all to be worked out.
        left = told if _WORK_OUT.search(_book_part(archive)) else 0
    charts = [page.title for page in book.chartsheets] if not sheet else []
    book.close()
    return "; it ".join(filter(None, [_empty(empty), _left(left), _drawn(charts)]))


def _book_part(archive: zipfile.ZipFile) -> bytes:
    return archive.read("xl/workbook.xml") if "xl/workbook.xml" in archive.namelist() else b""


def _empty(cells: Sequence[str]) -> str:
    if not cells:
        return ""
    named = ", ".join(cells[:MOST_NAMED]) + (", …" if cells[MOST_NAMED:] else "")
    many = f"{len(cells):,} cells" if len(cells) > 1 else "a cell"
    return (
        f"has {many} with a formula and no value in the file ({named}), read as empty: open and save it once in a "
        "spreadsheet program"
    )


def _drawn(charts: Sequence[str]) -> str:
    if not charts:
        return ""
    return f"has sheets that are charts, which are not read ({', '.join(charts)[:200]})"


def _left(count: int) -> str:
    if not count:
        return ""
    return (
        f"leaves {count:,} formula{'s' if count > 1 else ''} to be worked out when it is opened: the values in the "
        "file may be wrong until a spreadsheet program has saved it"
    )


class _Formulas(ContentHandler):
    """Looks for formulas in the XML of a sheet. `empty`: the cells without a value; `told`: how many have one."""

    def __init__(self) -> None:
        super().__init__()
        self.empty, self.told = list[str](), 0
        self._cell, self._formula, self._in_value, self._value = "", False, False, False

    def startElement(self, name: str, attrs: Any) -> None:
        match name.rpartition(":")[2]:
            case "c":
                self._cell, self._formula = attrs.get("r", "?"), False
                self._value = attrs.get("t") == "str"  # a formula may say "" and mean it
            case "f":
                self._formula = True
            case "v":
                self._in_value = True

    def characters(self, content: str) -> None:
        self._value |= self._in_value

    def endElement(self, name: str) -> None:
        match name.rpartition(":")[2]:
            case "v":
                self._in_value = False
            case "c" if self._formula:
                self.told += self._value
                self.empty += [] if self._value else [self._cell]


def _value(value: Any) -> Cell:
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        seconds = round(abs(value).total_seconds())
        sign = "-" if value < timedelta() else ""
        return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, int) and abs(value) >= _TOO_LARGE:
        return str(value)
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


class _Sheet(WorksheetWriter):  # type: ignore[misc]
    """What openpyxl writes a sheet with, by way of a file, which stays where none can be removed."""

    def cleanup(self) -> None:
        with suppress(PermissionError):
            super().cleanup()


def write_excel(table: Sequence[Sequence[Cell]]) -> bytes:
    """An Excel file with one sheet; the same rows give the same bytes. Text stays text: nothing becomes a formula."""
    if any(isinstance(value, str) and len(value) > MOST_LETTERS for row in table for value in row):
        raise Refused(
            f"has a cell of more than {MOST_LETTERS:,} letters, which no Excel file holds. Shorten it."
        )
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")
    sheet._writer = _Sheet(sheet)
    sheet._writer.write_top()
    for row in table:
        sheet.append([_written(sheet, value) for value in row])
    out = io.BytesIO()
    book.save(out)
    return steady(out.getvalue())


def _written(sheet: Any, value: Cell) -> Any:
    if not isinstance(value, str):
        return value
    cell = WriteOnlyCell(sheet, "".join(c for c in value if c in "\t\n" or ord(c) >= 32))
    cell.data_type = "s"
    return cell
