"""Words that were read off a page, put together: lines, fields with labels, dates and amounts, tables.

It runs in the sandbox: how many words a page has, and how long they are, says its file.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice, pairwise
from statistics import median
from typing import Any, NamedTuple

from servers.sandbox.protocol import first_of

MOST_VALUES = 200  # fields, and as many mentions, of one page
MOST_ROWS = 1_000
LONGEST = 2_000  # characters of a line in which something is looked for: longer ones are taken piece by piece


class FieldOf(NamedTuple):
    """What stands behind a label on one line, such as “Total: 12.50”."""

    label: str
    value: str
    confidence: float


class Mention(NamedTuple):
    """`kind`: one of `_FORMS`."""

    kind: str
    text: str
    line: str


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
    """As Tesseract tells of them."""
    return [Word._make([*one[:6], tuple(one[6])]) for one in told]


def sure(found: Sequence[Word]) -> float:
    """The mean over words; 0 where there are none."""
    return round(_mean(found), 2)


def _mean(found: Sequence[Word]) -> float:
    return sum(word.sure for word in found) / len(found) if found else 0.0


def lines(found: Iterable[Word]) -> list[Line]:
    grouped = [list(group) for _, group in groupby(found, key=lambda word: word.line)]
    return [Line(" ".join(word.text for word in group), sure(group)) for group in grouped]


def text(found: Iterable[Word]) -> str:
    """Lines, with an empty one between paragraphs."""
    paragraphs = [list(group) for _, group in groupby(found, key=lambda word: word.line[:2])]
    return "\n\n".join("\n".join(line.text for line in lines(group)) for group in paragraphs)


_LABEL = re.compile(r"^\W{0,3}([^\W\d_][^:]{0,39}?)\s?:\s+(\S.*)$")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_NUMBER = r"\d{1,3}(?:[.,' ]\d{3}){0,6}(?:[.,]\d{2})?|\d{1,20}(?:[.,]\d{2})?"
_MONEY = r"€|\$|£|¥|EUR|USD|GBP|CHF|JPY"
# In this order: where two see the same, the first counts. Each can be found in one way, whose length has an end.
_FORMS = {
    "email": r"[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}",
    "web address": r"https?://[^\s<>\"]{3,300}|www\.[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}(?:/\S{0,200})?",
    "bank account": r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?",
    "date": rf"\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|\d{{1,2}}\.? {_MONTH} \d{{4}}"
    rf"|{_MONTH} \d{{1,2}},? \d{{4}}",
    "amount": rf"(?:{_MONEY}) ?(?:{_NUMBER})|(?:{_NUMBER}) ?(?:{_MONEY})",
    "phone number": r"\+\d(?:[ .()/-]{0,2}\d){2,26}",  # with the code of the country
}
_PATTERNS = {kind: re.compile(rf"(?<!\w)(?<!\d[.,'])(?:{form})(?!\w)") for kind, form in _FORMS.items()}


# What receipts write without a colon: a total and its amount, a number of the paper.
_TOTAL = (
    r"(?:grand |sub)?total(?: due| amount)?|amount due|balance due|to pay|summe|gesamt(?:betrag|summe)?|zu zahlen"
    r"|betrag|netto|brutto"
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
# What stands above the name of somebody, on a line of its own.
_PARTY = re.compile(
    r"(?i)(?:bill(?:ed)?|invoiced?|sold|ship(?:ped)?|deliver(?:ed)?) to|from|seller|supplier|vendor|buyer|customer|"
    r"client|"
    r"rechnung(?:s?adresse| an)|rechnungsempfänger(?:in)?|rechnungssteller(?:in)?|empfänger(?:in)?|kunde|kundin|"
    r"lieferant(?:in)?|lieferadresse|verkäufer(?:in)?|käufer(?:in)?|absender(?:in)?"
)
_LETTERS = r"(?=(?:[\W\d_]{0,40}[^\W\d_]){3})"
_NAME = re.compile(_LETTERS + r"[^:@]{3,80}")
_SHOP = re.compile(
    r"(?i)(?!(?:invoice|receipt|bill|rechnung|quittung|beleg)$)" + _LETTERS + r"[^\d:@]{3,60}"
)  # a name: letters, and nothing that is counted; not what the paper is called


def _label(text: str) -> tuple[str, str] | None:
    """The label and the value of a line, with a colon between them or as receipts write them."""
    if match := _LABEL.match(text):
        return match[1].strip(), match[2].strip()
    match = _BARE.match(text.strip())
    return (match[1] or match[3], (match[2] or match[4]).strip()) if match else None


def labelled(lines: Iterable[Line]) -> list[FieldOf]:
    """`Label: value`, and totals and numbers as receipts write them. What stands on the next line is not guessed, but
    for names (`_parties`)."""
    found = ((line, _label(line.text)) for line in lines)
    return [
        FieldOf(label=pair[0], value=pair[1], confidence=line.sure)
        for line, pair in found
        if pair and pair[0].lower() not in ("http", "https") and not _PARTY.fullmatch(pair[1].rstrip(": "))
    ]


def fields(words: Sequence[Word]) -> list[FieldOf]:
    """As `labelled`, also where Tesseract takes labels and values for two columns; of a receipt also the shop, which
    stands at its top without a label."""
    read = lines(words)
    found = labelled(read)
    across = labelled(_across(words))
    across += _parties(words)
    known = {(field.label, field.value) for field in found}
    found += [field for field in across if (field.label, field.value) not in known]
    top = next((line for line in read if len(line.text.strip()) > 2), None)
    is_receipt = any(_TOTAL_LABEL.match(field.label) for field in found)
    if is_receipt and top and _SHOP.fullmatch(top.text.strip()) and not _label(top.text):
        return [FieldOf(label="Name at the top", value=top.text.strip(), confidence=top.sure), *found]
    return found


def _parties(words: Sequence[Word]) -> Iterator[FieldOf]:
    """The names below what says whose name comes, such as `Bill to:`, also where two stand beside each other."""
    height = median(word.height for word in words) if words else 0
    laid = [_cells(row, height) for row in _rows(words, height)]
    for above, below in pairwise(laid):
        lefts = [one[0].left for one in below]  # in their order, so that few are looked at for each label
        for cell in above:
            label, left = _said(cell).rstrip(": "), cell[0].left
            if _PARTY.fullmatch(label):
                near = below[bisect_right(lefts, left - 2 * height) : bisect_left(lefts, left + 2 * height)]
                named = ((_said(one), sure(one)) for one in near)
                yield from (FieldOf(label, name, known) for name, known in named if _NAME.fullmatch(name))


def _said(cell: Sequence[Word]) -> str:
    return " ".join(word.text for word in cell).strip()


def _across(words: Sequence[Word]) -> list[Line]:
    """What stands beside each other on the page as one line, whatever columns it has."""
    if not words:
        return []
    height = median(word.height for word in words)
    return [Line(" ".join(word.text for word in row), sure(row)) for row in _rows(words, height)]


def mentions(lines: Iterable[Line]) -> Iterator[Mention]:
    """Dates, amounts, addresses and numbers, as they are written."""
    for text in (piece for line in lines for piece in _pieces(line.text)):
        taken = bytearray(len(text))  # 1 where a character belongs to a mention
        for kind, pattern in _PATTERNS.items():
            for match in pattern.finditer(text):
                if 1 not in taken[match.start() : match.end()]:
                    taken[match.start() : match.end()] = b"\1" * len(match[0])
                    yield Mention(kind, match[0], text)


def _pieces(text: str) -> Iterator[str]:
    """A line, cut between words where it is too long to be searched as one. A word that is too long alone is left
    out."""
    start = 0
    while len(text) - start > LONGEST:
        end = text.rfind(" ", start, start + LONGEST + 1)
        if end > start:
            yield text[start:end]
        else:
            end = text.find(" ", start + 1)
        start = end + 1 if end >= 0 else len(text)
    yield text[start:]


GAP = 0.9  # of a word's height: what is further apart stands in two cells
Cell = list[Word]


def rows(found: Sequence[Word]) -> Iterator[list[str]]:
    """Rows of as many cells each; none when the words stand in no columns. One at a time: rows and columns may be as
    many as there are words."""
    height = median(word.height for word in found) if found else 0
    laid = [_cells(row, height) for row in _rows(found, height)]
    edges = _columns([cell for row in laid if len(row) > 1 for cell in row])
    return (_placed(row, edges) for row in laid if len(edges) > 1)


def _rows(found: Sequence[Word], height: float) -> list[list[Word]]:
    """Words whose middles are about as high."""
    out: list[list[Word]] = []
    middles = 0.0  # of the last row, added up
    for word in sorted(found, key=lambda word: word.middle):
        if out and word.middle - middles / len(out[-1]) < height * 0.6:
            out[-1].append(word)
            middles += word.middle
        else:
            out.append([word])
            middles = word.middle
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
    """The words of a row, each in the column that its cell overlaps most, or to which it is nearest."""
    out: list[list[str]] = [[] for _ in edges]
    for cell in row:
        left, right = cell[0].left, cell[-1].right
        first = max(bisect_right(edges, left, key=lambda edge: edge[1]) - 1, 0)  # ends before it, or within
        last = bisect_left(edges, right, key=lambda edge: edge[0])  # begins behind it
        shared = [min(right, b) - max(left, a) for a, b in edges[first : last + 1]]
        out[first + shared.index(max(shared))].extend(word.text for word in cell)
    return [" ".join(words) for words in out]


Given = tuple[dict[str, Any], bytes]  # what is told of all pages, and a list in JSON


def _texts(pages: Sequence[Sequence[Word]]) -> Given:
    """The texts of the first pages, as many as fit."""
    return {}, first_of(map(text, pages))[0]


def _values(pages: Sequence[Sequence[Word]]) -> Given:
    """The first fields and the first mentions of one page, as two lists, and whether there are more."""
    [found] = pages
    lists: Sequence[Iterable[FieldOf | Mention]] = (fields(found), mentions(lines(found)))
    told = [first_of(one._asdict() for one in islice(each, MOST_VALUES + 1)) for each in lists]
    return {"more": any(more for _, more in told)}, b"[%b]" % b",".join(one for one, _ in told)


def _table(pages: Sequence[Sequence[Word]]) -> Given:
    """The first rows of the table on one page, how many columns it has, and whether there are more rows."""
    [found] = pages
    wide = 0

    def each() -> Iterator[list[str]]:
        nonlocal wide
        for row in islice(rows(found), MOST_ROWS + 1):
            wide = len(row)
            yield row

    told, more = first_of(each())
    return {"columns": wide, "more": more}, told


_GIVEN: Mapping[str, Callable[[Sequence[Sequence[Word]]], Given]] = {
    "texts": _texts,
    "values": _values,
    "table": _table,
}


def given(pages: Sequence[Mapping[str, Any]], what: str) -> Given:
    """What stands on pages as Tesseract tells of them: their texts; or of one its values or its table. `found` says of
    each page its number, how many words it has, how sure they are, how it lay, and where its file differs."""
    read = [words(page["words"]) for page in pages]
    told, made = _GIVEN[what](read)
    found = [
        {
            "number": page["page"],
            "words": len(of),
            "sure": _mean(of),
            "turned": page["turned"],
            "skew": page["skew"],
            "differing": page["differing"],
        }
        for page, of in zip(pages, read, strict=True)
    ]
    return {**told, "found": found}, made
