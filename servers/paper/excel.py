"""Excel files, read a row at a time and written. Runs in the process apart."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from openpyxl import Workbook, load_workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.utils.exceptions import InvalidFileException

from servers.paper import packages
from servers.paper.blocks import Refused
from servers.paper.sheets import MOST_COLUMNS, Cell


def names(data: bytes) -> list[str]:
    """The names of the sheets of an Excel file."""
    book = _book(data)
    try:
        return list(book.sheetnames)
    finally:
        book.close()


def _book(data: bytes) -> Any:
    packages.checked(data)
    try:
        return load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    except (InvalidFileException, KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise Refused("is not an Excel file that can be opened. Save it anew as .xlsx.") from error


def cells(data: bytes, sheet: str) -> tuple[str, Iterator[list[Cell]]]:
    book = _book(data)
    name = sheet or (book.sheetnames[0] if book.sheetnames else "")
    if name not in book.sheetnames:
        raise Refused(f"has no sheet “{sheet}”. The sheets are: {', '.join(book.sheetnames)}.")
    return name, _values(book[name])


def _values(sheet: Any) -> Iterator[list[Cell]]:
    try:
        for row in sheet.iter_rows(values_only=True, max_col=MOST_COLUMNS):
            yield [_value(value) for value in row]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refused("has a sheet that is broken. Save it anew.") from error


def _value(value: Any) -> Cell:
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def write(table: Sequence[Sequence[Cell]]) -> bytes:
    """An Excel file with one sheet; the same rows give the same bytes. Text stays text: nothing becomes a formula."""
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")
    for row in table:
        sheet.append([_written(sheet, value) for value in row])
    out = io.BytesIO()
    book.save(out)
    return packages.steady(out.getvalue())


def _written(sheet: Any, value: Cell) -> Any:
    if not isinstance(value, str):
        return value
    kept = "".join(c for c in value if c in "\t\n" or ord(c) >= 32)[:32_767]
    cell = WriteOnlyCell(sheet, kept)
    cell.data_type = "s"
    return cell
