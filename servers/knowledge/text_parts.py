"""The parts, sections, sentences and words of a text that is taken into an index or asked about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from unicodedata import combining, normalize

SIZE = 1_200  # characters of a part, about
LONGEST_LINE = 4_000
_WORD = re.compile(r"\w+", re.UNICODE)
_SENTENCE = re.compile(r"(?<=[.!?…])[\"”’)]*\s+(?=[\w\"“‘(])|\n+")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s++(.*)")
_UNDERLINED = re.compile(r"(?m)^([^\W\d_][^\n]{0,99})\n(?:={3,}|-{3,})[ \t]*$")
_BEGINS = re.compile(r"\s*(?:[-*+•|>#]|\d{1,3}[.)]\s)|\w[\w ]{0,30}:\s")  # what is no rest of the line before
_END = re.compile(r"[.!?:;,]$")
# What ends with a full stop inside of a sentence.
_GOES_ON = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|No|Nr|Art|Abs|Str|ca|bzw|vgl|inkl|zzgl|max|min|approx|vs|e\.g|i\.e|cf|sog|Tel|"
    r"Sec|Sect|Par|Ch|Fig|Vol|pp|[Ee]xt|Kap|Abb|Ziff|lit|Bd|Anl|Mio|Mrd|Tsd)|"
    r"\b(?:[Dd](?:er|ie|as|em|en|es)|[Aa]m|[Ii]m|[Zz]u[mr]|[Vv]om|[Aa]b|[Bb]is|[Ss]eit|[Jj]ede[rnms]?) \d{1,3}|"
    r"(?:^|[\s(.])[A-Za-z]|^\d{1,3})\.$"
)
_DAY = re.compile(r"\b\d{1,2}\.$")
_MONTH = re.compile(r"[a-z]|(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)")
LONGEST_HEADING = 80  # characters of a line of capitals
WRAPPED = 50  # characters: a shorter line ended where its writer wanted
_STOP = set(
    "a about an and any are as at be been but by can did do does for from had has have how i in into is it its many "
    "me much my of on or our please say says tell that the their them there they this to was we were what when where "
    "which who whom whose why will with would you your "
    "ab aber als am an auch auf aus bei bis bitte da darf dass dem den der des die das du dürfen ein eine einem einen "
    "einer eines er es für geht gibt gilt habe haben ich ihr im ist kann können mein meine mich mir mit muss "
    "müssen nach nicht noch oder sein sich sie sind soll sollen um und uns unser unsere unter viel viele vom von vor "
    "wann waren warum was welche welchem welchen welcher welches wem wen wenn wer werden wie wird wir wo zu zum zur "
    "über".split()
)
_GERMAN_ENDINGS = ("ungen", "ern", "en", "em", "er", "es", "e", "n", "s")
LEAST_ROOT, LEAST_REST = 4, 4  # letters of a word inside of another one, and of what is left of that


class Chunk(NamedTuple):
    """One part of a text, with the numbers of its first and last line."""

    first: int
    last: int
    text: str


def chunks(text: str) -> Iterator[Chunk]:
    """The parts of a text in order. Nothing but empty lines is left out."""
    lines: list[str] = []
    first, size = 1, 0
    for number, line in enumerate(text.splitlines(), 1):
        for piece in _pieces(line):
            if lines and (
                size + len(piece) > SIZE
                or (size > SIZE / 2 and not piece.strip())
                or (size > SIZE / 4 and _HEADING.match(piece))
            ):
                yield from _chunk(first, lines, number - 1)
                lines, size = [], 0
            if not lines:
                first = number
            lines.append(piece)
            size += len(piece) + 1
    yield from _chunk(first, lines, first + len(lines) - 1)


def _pieces(line: str) -> list[str]:
    return [line[at : at + LONGEST_LINE] for at in range(0, len(line), LONGEST_LINE)] or [""]


def _chunk(first: int, lines: list[str], last: int) -> Iterator[Chunk]:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield Chunk(first, max(first, last), text)


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return [word.casefold() for word in _WORD.findall(text)]


def telling(text: str) -> list[str]:
    """The words that say what a question is about, each once; all of them when there are no others."""
    found = list(dict.fromkeys(words(text)))
    return [word for word in found if word not in _STOP] or found


class Section(NamedTuple):
    """What stands below one heading; the heading is "" where there is none."""

    heading: str
    sentences: list[str]


def sections(text: str) -> list[Section]:
    """A text by its headings: # in Markdown, a line over === or ---, a line of capitals. All are left out that say
    nothing but their heading."""
    found = [Section("", [])]
    for paragraph in _unwrapped(text):
        if heading := _heading(paragraph):
            found.append(Section(heading, []))
        else:
            found[-1].sentences.extend(sentences(paragraph))
    told = [one for one in found if one.sentences]
    return told or [Section("", [one.heading]) for one in found if one.heading]


def _heading(line: str) -> str:
    if match := _HEADING.fullmatch(line):
        return match[1].rstrip().rstrip("#").rstrip()
    return line if len(line) < LONGEST_HEADING and line.isupper() and not _END.search(line) else ""


def _unwrapped(text: str) -> Iterator[str]:
    """Lines, those put together that were one before somebody wrapped them at a width."""
    held: list[str] = []
    for line in _UNDERLINED.sub(r"# \1", text).splitlines():
        if held and not _goes_on(held[-1], line):
            yield " ".join(held)
            held = []
        held += [line.strip()] if line.strip() else []
    yield from [" ".join(held)] if held else []


def _goes_on(before: str, line: str) -> bool:
    """Whether a line is the rest of the one before it."""
    if not line.strip() or _HEADING.match(before) or _BEGINS.match(line) or _heading(before):
        return False
    room = len(before) >= WRAPPED or before.endswith(",")
    return room or (len(before) >= WRAPPED / 2 and line.lstrip()[0].islower())


def sentences(text: str) -> list[str]:
    """The sentences of a text, and the lines of what is none, such as a list."""
    found: list[str] = []
    for piece in filter(None, (piece.strip() for piece in _SENTENCE.split(text) if piece)):
        if found and (_GOES_ON.search(found[-1]) or (_DAY.search(found[-1]) and _MONTH.match(piece))):
            found[-1] += f" {piece}"
        else:
            found.append(piece)
    return found


def stem(word: str) -> str:
    """A word without its most common English endings: “ends”, “ended” and “ending” are one."""
    for ending in ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word.removesuffix("e") if len(word) > 4 else word


def root(word: str) -> str:
    """A word as words that are made of it hold it: without accents and its German ending."""
    plain = word.casefold()
    if not plain.isascii():
        plain = "".join(c for c in normalize("NFKD", plain) if not combining(c))
    for ending in _GERMAN_ENDINGS:
        if plain.endswith(ending) and len(plain) - len(ending) >= LEAST_ROOT:
            return plain.removesuffix(ending) + ("ung" if ending == "ungen" else "")
    return plain


def is_made_of(word: str, part: str) -> bool:
    """Whether a root is another form of the other one, or a compound with it: “kundigungsfrist” of “frist”."""
    if word == part:
        return True
    whole = len(part) >= LEAST_ROOT and len(word) - len(part) >= LEAST_REST
    return whole and (word.startswith(part) or word.endswith(part))
