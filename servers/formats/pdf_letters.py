"""The letters that a page of a PDF has in its file, where they stand in its picture. Runs in the sandbox."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pypdfium2
from PIL import Image, ImageStat
from pypdfium2 import raw

UNSEEN = (3, 7)  # how PDF says that letters are not drawn
INK = 40  # of 255: how much darker or lighter than the paper letters are that people see
ALIKE = 0.6  # of the words that Tesseract is sure of: so many must be the same, else the letters say something else
SURE = 0.8
UNSEEN_SURE = 0.5  # how sure letters are where Tesseract saw none
FAR = 3  # heights of a word between two words of one line, at most
UNREAD = 100_000  # the number of a block that Tesseract does not have
# What Tesseract often takes for one another, as one sign. No two digits become the same one.
_CONFUSED = str.maketrans("oølłi|zs§bß,'’‐‑–—−", "00111125588...-----")
_MONEY = "€$£¥"
Word = list[Any]  # text, x, y, width, height, how sure, and its line: as Tesseract tells of one


class Letters(NamedTuple):
    """A word of the file, by pixels of the picture."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


def letters(page: pypdfium2.PdfPage, drawn: Any, seen: Image.Image) -> list[Letters]:
    """The words that people see on a page. `drawn`: the bitmap of it, `seen`: the same as a picture."""
    try:
        found, places = page.get_textpage(), drawn.get_posconv(page)
        return [word for word in _words(found, places) if _is_seen(word, seen)]
    except (pypdfium2.PdfiumError, ValueError, OverflowError):
        return []


def _words(found: Any, places: Any) -> Iterator[Letters]:
    text, boxes = "", list[tuple[float, float, float, float]]()
    for n in range(found.count_chars() + 1):
        char = chr(raw.FPDFText_GetUnicode(found, n)) if n < found.count_chars() else " "
        if char.isspace() or ord(char) < 32:
            if text:
                yield _placed(text, boxes, places)
            text, boxes = "", []
        elif _is_drawn(found, n):
            text += char
            boxes.append(found.get_charbox(n))


def _is_drawn(found: Any, n: int) -> bool:
    of = raw.FPDFText_GetTextObject(found, n)
    return not of or raw.FPDFTextObj_GetTextRenderMode(of) not in UNSEEN


def _placed(text: str, boxes: Sequence[tuple[float, float, float, float]], places: Any) -> Letters:
    corners = [
        places.to_bitmap(x, y) for left, low, right, high in boxes for x, y in ((left, low), (right, high))
    ]
    across, down = [x for x, _ in corners], [y for _, y in corners]
    return Letters(text, min(across), min(down), max(across), max(down))


def _is_seen(word: Letters, seen: Image.Image) -> bool:
    box = (int(word.left) - 1, int(word.top) - 1, int(word.right) + 2, int(word.bottom) + 2)
    if box[0] >= seen.width or box[1] >= seen.height or box[2] <= 0 or box[3] <= 0:
        return False
    darkest, lightest = ImageStat.Stat(seen.crop(box)).extrema[0]
    return lightest - darkest >= INK


class Merged(NamedTuple):
    """Words of a page. `differing`: in how many places the file says something else than what was read off it;
    `agreed`: whether the two say the same in most places, so that the page was read the way it lies."""

    words: list[Word]
    differing: int = 0
    agreed: bool = False


class _Pair(NamedTuple):
    """The words that stand in one place: those of Tesseract, and those of the file."""

    read: list[Word]
    there: list[Letters]

    @property
    def alike(self) -> bool:
        return look_alike("".join(word[0] for word in self.read), "".join(one.text for one in self.there))

    @property
    def is_sure(self) -> bool:
        return any(word[5] >= SURE for word in self.read)

    @property
    def length(self) -> int:
        return sum(len(_plain(one.text)) for one in self.there)

    def words(self) -> list[Word]:
        """Those of the file, but where Tesseract is sure of another word, and no surer than what confirms them."""
        if self.alike:
            sure = 1.0
        elif self.is_sure:
            return self.read
        else:
            sure = min((word[5] for word in self.read), default=UNSEEN_SURE)
        line = self.read[0][6] if self.read else [0, 0, 0]
        return [_word(one, sure, line) for one in self.there]


def exact(read: Sequence[Word], there: Sequence[Letters]) -> Merged:
    """The words that Tesseract read, with the letters of the file where these look like them or it is not sure, in the
    same lines. What it read where the file has no letters, such as in a picture, stays; so does all where the two do
    not say the same."""
    pairs, others = _paired(read, there)
    told = [pair for pair in pairs if pair.is_sure]
    same = sum(pair.length for pair in told if pair.alike)
    if not same or same < ALIKE * sum(pair.length for pair in told):
        return Merged(list(read), sum(not pair.alike for pair in told))
    made = [word for pair in pairs for word in pair.words()]
    rest = [word for word in others if _stands_alone(word, there)]
    return Merged([*made, *rest], sum(not pair.alike for pair in pairs), agreed=True)


def _paired(read: Sequence[Word], there: Sequence[Letters]) -> tuple[list[_Pair], list[Word]]:
    """The places in which the file has letters, and the words of Tesseract that are in none of them."""
    over = [[n for n, word in enumerate(read) if _is_over(word, one)] for one in there]
    first = [*range(len(read))]  # of the words in one place; by way of others

    def place(n: int) -> int:
        while first[n] != n:
            first[n] = first[first[n]]
            n = first[n]
        return n

    for found in over:
        for n in found[1:]:
            first[place(n)] = place(found[0])
    pairs: dict[int, _Pair] = {}
    for number, (one, found) in enumerate(zip(there, over, strict=True)):
        at = place(found[0]) if found else len(read) + number
        pairs.setdefault(at, _Pair([], [])).there.append(one)
    others: list[Word] = []
    for n, word in enumerate(read):
        (pairs[place(n)].read if place(n) in pairs else others).append(word)
    return [*pairs.values()], others


def exact_lines(read: Sequence[Word], there: Sequence[Letters]) -> Merged:
    """The same in the order in which Tesseract reads a page, which knows its columns, and with its lines. What it did
    not see is a line of its own, behind what stands above it."""
    merged = exact(read, there)
    if merged.words == list(read):
        return merged
    placed: list[tuple[float, int, Word]] = []
    missed: list[Word] = []
    for word in merged.words:
        at = _near(word, read)
        if at is None:
            missed.append(word)
        else:
            number, side = at
            placed.append((number + side / 2, word[1], [*word[:6], read[number][6]]))
    every = sorted([*placed, *_apart(missed, read)], key=lambda one: one[:2])
    return merged._replace(words=[word for *_, word in every])


def _near(word: Word, read: Sequence[Word]) -> tuple[int, int] | None:
    """The word of Tesseract that a word is, or stands beside in a line, and on which side of it; None for none."""
    left, right = word[1], word[1] + word[3]
    row = [n for n, other in enumerate(read) if _level(word, other)]
    if not row:
        return None
    gap = {n: max(read[n][1] - right, left - read[n][1] - read[n][3]) for n in row}
    near = min(row, key=lambda n: gap[n])
    if gap[near] > FAR * max(word[4], read[near][4]):
        return None
    return near, 0 if gap[near] <= 0 else 1 if left > read[near][1] else -1


def _level(word: Word, other: Word) -> bool:
    """Whether two words stand in one line: most of the lower one is as high as the other."""
    shared = min(word[2] + word[4], other[2] + other[4]) - max(word[2], other[2])
    return bool(shared * 2 > min(word[4], other[4]))


def _apart(missed: Sequence[Word], read: Sequence[Word]) -> Iterator[tuple[float, int, Word]]:
    lines: list[Word] = []
    for word in sorted(missed, key=lambda one: (one[2], one[1])):
        if not (lines and _level(word, lines[-1])):
            lines.append(word)
        above = [n for n, other in enumerate(read) if other[2] + other[4] <= lines[-1][2] + lines[-1][4] / 2]
        at = max(above, default=-1) + 0.5 + len(lines) / (4 * len(missed) + 4)
        yield at, word[1], [*word[:6], [UNREAD + len(lines), 0, 0]]


def _word(one: Letters, sure: float, line: list[int]) -> Word:
    place = [
        round(one.left),
        round(one.top),
        max(round(one.right - one.left), 1),
        max(round(one.bottom - one.top), 1),
    ]
    return [one.text, *place, sure, line]


def _is_over(word: Word, one: Letters) -> bool:
    """Whether a word of Tesseract is where letters of the file are: it covers them, or is a part of them. Letters that
    are much higher are others, such as a mark across the page."""
    if one.top > word[2] + word[4] or one.bottom < word[2]:
        return False
    return _shared(word, one) > 0.5 or (_is_within(word, one) and word[4] * 2 >= one.bottom - one.top)


def _shared(word: Word, one: Letters) -> float:
    """How much of the letters' place a word of Tesseract covers, from 0 to 1."""
    across = min(word[1] + word[3], one.right) - max(word[1], one.left)
    down = min(word[2] + word[4], one.bottom) - max(word[2], one.top)
    area: float = max((one.right - one.left) * (one.bottom - one.top), 1.0)
    return float(max(across, 0.0) * max(down, 0.0) / area)


def _is_within(word: Word, one: Letters) -> bool:
    """Whether the middle of a word is within letters of the file."""
    x, y = word[1] + word[3] / 2, word[2] + word[4] / 2
    return bool(one.left <= x <= one.right and one.top <= y <= one.bottom)


def _stands_alone(word: Word, there: Sequence[Letters]) -> bool:
    """Whether a word that was read is no line of a table, and no part of letters of the file, read badly."""
    return bool(_plain(word[0])) and (word[5] >= SURE or not any(_is_within(word, one) for one in there))


def look_alike(read: str, there: str) -> bool:
    """Whether two words differ at most in what Tesseract confuses: accents, letters such as O and 0, and signs that
    change no number and no address."""
    signs = _MONEY + (".-@%" if any(map(str.isalnum, read + there)) else "")
    return _folded(read, signs) == _folded(there, signs)


def _folded(text: str, signs: str) -> str:
    parts = unicodedata.normalize("NFKD", text.lower()).translate(_CONFUSED).rstrip(".")
    return "".join(c for c in parts if c.isalnum() or c in signs).replace("rn", "m")


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
