"""What a file hides from whoever opens it, and a conversion of it writes all the same. Runs in the sandbox."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from typing import Any
from xml.sax.handler import ContentHandler

from defusedxml.sax import parseString
from openpyxl.utils.cell import column_index_from_string

from servers.formats import office
from servers.sandbox.protocol import Refused

_HIDES = re.compile(
    r"display:none|visibility:(?:hidden|collapse)|opacity:-[.0-9]|"
    r"(?:opacity|font(?:-size)?):\+?+(?:(?=[0.])0{0,99}+\.?+0{0,99}+(?![.0-9])|[.0-9]{1,99}+e-)"
)
_CLOSED = {"dialog", "details"}  # shown where they are open
# What they hold is shown only where a browser does not know them, or nowhere.
_STAND_IN = {"datalist", "noframes", "noembed", "iframe", "audio", "video", "object", "canvas"}
_NO_TEXT = {"script", "style", "template", "noscript", "title", "svg", "input", "link", "meta", "img"}
_UNTIL_ASKED = ("hidden", "popover")
_YES = ("1", "true", "on")


def told(parts: int, comments: int) -> str:
    """What is to be said of them, as the end of a sentence; "" where there are none."""
    one = f"hides {parts:,} part{'s' if parts > 1 else ''} of its text, written here too" if parts else ""
    other = (
        f"has {comments:,} comment{'s' if comments > 1 else ''} in it, written here too" if comments else ""
    )
    return "; it ".join(filter(None, [one, other]))


def in_page(text: str) -> int:
    """How many elements of an HTML page, and how many of its style sheets, hide something."""
    page = _Page()
    page.feed(text)
    page.close()
    return page.hidden


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.hidden, self._code = 0, ""
        self._around, self._is_counted = Counter[str](), False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._code = tag if tag in ("style", "script") else ""
        if tag in _STAND_IN:
            self._around[tag] += 1
            return
        known = dict(attrs)
        closed = tag in _CLOSED and "open" not in known
        hides = closed or not known.keys().isdisjoint(_UNTIL_ASKED) or _hides(known.get("style") or "")
        self.hidden += hides and tag not in _NO_TEXT

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)  # a browser takes <iframe/> for one that begins

    def handle_endtag(self, tag: str) -> None:
        self._code = ""
        if self._around[tag]:
            self._around[tag] -= 1
            self._is_counted = self._is_counted and self._around.total() > 0

    def handle_data(self, data: str) -> None:
        if self._code:
            self.hidden += self._code == "style" and _hides(data)
        elif data.strip() and self._around.total() and not self._is_counted:
            self.hidden, self._is_counted = self.hidden + 1, True


def _hides(style: str) -> bool:
    """Whether styles of CSS hide something; where a sign is written as its number, they may."""
    first, *others = style.lower().split("/*")
    plain = "".join([first, *(one.partition("*/")[2] for one in others)])
    return "\\" in plain or _HIDES.search("".join(plain.split())) is not None


def in_book(data: bytes, only: str = "") -> int:
    """How many sheets with cells, rows and columns of an Excel file are hidden; with `only`, in that sheet alone."""
    sheets = [sheet for sheet in office.sheet_parts(data) if only in ("", sheet.name)]
    try:
        with office.opened(data) as archive:
            return sum(_in_sheet(archive.read(sheet.path), sheet.is_shown) for sheet in sheets)
    except (KeyError, ValueError) as error:
        raise Refused("has a sheet that is broken. Save it anew.") from error


def _in_sheet(content: bytes, is_shown: bool) -> int:
    found = _Sheet()
    parseString(content, found, forbid_dtd=True)
    return found.hidden + (found.says_something and not is_shown)


class _Sheet(ContentHandler):
    """Looks for rows and columns that are hidden and hold something."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = 0
        self._spans = list[range]()
        self._row_is_hidden, self._column = False, 0
        self._used = set[int]()

    @property
    def says_something(self) -> bool:
        return bool(self._used)

    @property
    def hidden(self) -> int:
        return self.rows + sum(any(one in span for one in self._used) for span in self._spans)

    def startElement(self, name: str, attrs: Any) -> None:
        match name.rpartition(":")[2]:
            case "col" if _is_none(attrs, "width"):
                self._spans.append(range(int(attrs.get("min", 1)), int(attrs.get("max", 1)) + 1))
            case "row":
                self._row_is_hidden, self._column = _is_none(attrs, "ht"), 0
            case "c":
                letters = attrs.get("r", "").rstrip("0123456789")
                self._column = column_index_from_string(letters) if letters else self._column + 1
            case "v" | "is":
                self._used.add(self._column)
                self.rows += self._row_is_hidden
                self._row_is_hidden = False  # it is counted by now


def _is_none(attrs: Any, size: str) -> bool:
    """Whether a row or a column is hidden, or of no size."""
    return attrs.get("hidden", "") in _YES or not attrs.get(size, "1").strip("0.")
