"""What people type, before any phrase is looked for: links undone, quotes set aside, sentences apart."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from gate.rules.action import Json

LINK = re.compile(r"<(?:https?://|mailto:)([^|<>\s]++)\|([^<>\n]++)>|<(https?://[^|<>\s]++)>")
CLOSING = {'"': '"', "“": "”", "„": "“", "«": "»", "`": "`", "'": "'", "‘": "’"}
WORDLIKE = {"'", "‘"}  # also apostrophes: they open only where a word begins, and close only where one ends
MOST_BROKEN = 100
NEAR = 1000  # characters in which such a quote must close
FENCE = "```"
ESCAPED = re.compile(r'\\["\\]|(")')  # a quote behind a backslash does not end what another one began
UNESCAPED = re.compile(r'\\(["\\nt])')
ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}
OPENING = re.compile(r"""[{\["“„«`'‘]""")  # where a value may begin
MOST_OPENINGS = 5_000  # of one text: who quotes more than that writes no instruction
MARK = re.compile("\0(\\d+)\0")
THEN = re.compile(
    r"(?<![ \t])(?:[ \t]*+[,;.][ \t]++|[ \t]++)(?:and[ \t]++)?then[ \t]++|(?<![ \t])[ \t]*+;[ \t]++",
    re.IGNORECASE,
)
FIRST = re.compile(r"[ \t]*+first(?:[ \t]*+,)?[ \t]++", re.IGNORECASE)
AND = re.compile(r"(?<![ \t])[ \t]*+(?:,[ \t]++)?(?<=[ \t])and[ \t]++", re.IGNORECASE)
SENTENCE = re.compile(r"[.!?][ \t]++")
WIDE = re.compile(
    r"[ \t]{20}"
)  # a text with such a gap is not searched for words around blanks: it would take too long
# The first line of a letter: `Hi Ann,`
GREETING = re.compile(
    r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|day)|hallo|lieber?)[ \t]++"
    r"(?!.{0,60}\b(?:please|can|could|you)\b)\w[^\n:]{0,60}[,!]",
    re.IGNORECASE,
)
BULLET = re.compile(r"[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+")


@dataclass
class Heard:
    """A text with every quoted or JSON value replaced by a mark, so that no value is mistaken for words."""

    text: str
    raw: list[str] = field(default_factory=list)
    values: list[Json] = field(default_factory=list)

    def aside(self, raw: str, value: Json) -> str:
        """The mark for a value."""
        self.raw.append(raw)
        self.values.append(value)
        return f"\0{len(self.values) - 1}\0"

    def value(self, part: str) -> Json:
        """What a part of the text means: a quoted value as it is, anything else as it was typed."""
        alone = MARK.fullmatch(part.strip())
        return self.values[int(alone[1])] if alone else self.typed(part).strip()

    def typed(self, part: str) -> str:
        """A part as it was typed, quotes and all."""
        return MARK.sub(lambda found: self.raw[int(found[1])], part)

    def is_quoted(self, part: str) -> bool:
        return MARK.fullmatch(part.strip()) is not None


def hear(text: str) -> Heard:
    """Undo Slack's links, set quoted values and JSON aside."""
    text = LINK.sub(_unlinked, text.replace("\0", " ").replace("\r\n", "\n"))
    heard, taken, quotes = Heard(""), 0, _Quotes(text)
    out: list[str] = []
    for opening in islice(OPENING.finditer(text), MOST_OPENINGS):
        at = opening.start()
        end, value = (at, None) if at < taken else _quoted(text, at, quotes)
        if end > at:
            out += (text[taken:at], heard.aside(text[at:end], value))
            taken = end
    heard.text = "".join([*out, text[taken:]]).strip()
    return heard


def quote(text: str) -> str:
    """The text in the quotes that bring it through unchanged."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _unlinked(found: re.Match[str]) -> str:
    """Slack makes a link of `notes.md`, which could be a host in Moldova: give back what was typed."""
    return found[2] or found[3]


class _Quotes:
    """Where quotations of a text end: each kind of end is looked for once, however many of them begin."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: dict[str, list[int]] = {}
        self.broken = 0  # values that began like JSON and were none: each costs a look at the whole text

    def end(self, opening: str, at: int) -> int:
        """The first place from `at` on that ends a quotation which `opening` began; -1 for none."""
        if opening not in self._ends:
            self._ends[opening] = self._found(opening)
        ends = self._ends[opening]
        first = bisect_left(ends, at)
        return ends[first] if first < len(ends) else -1

    def _found(self, opening: str) -> list[int]:
        if opening == '"':
            return [found.start(1) for found in ESCAPED.finditer(self._text) if found[1]]
        closing, text = CLOSING.get(opening, opening), self._text
        ends = [found.start() for found in re.finditer(f"(?={re.escape(closing)})", text)]
        if opening not in WORDLIKE:
            return ends
        return [end for end in ends if not text[end + 1 : end + 2].isalnum()]


def _quoted(text: str, at: int, quotes: _Quotes) -> tuple[int, Json]:
    """Where the value that begins here ends, and the value; the same place when none begins."""
    if text.startswith(FENCE, at):
        end = quotes.end(FENCE, at + 3)
        return (at, None) if end < 0 else (end + 3, text[at + 3 : end].removeprefix("\n"))
    opening = text[at]
    if opening in "{[" and text[max(0, at - 2) : at].rstrip(" ").endswith("="):
        found = _json(text, at) if quotes.broken < MOST_BROKEN else (at, None)
        quotes.broken += found[0] == at
        return found
    if opening not in CLOSING or (opening in WORDLIKE and at and text[at - 1].isalnum()):
        return at, None
    end = quotes.end(opening, at + 1)
    if end < 0 or (opening in WORDLIKE and end >= at + NEAR):
        return at, None
    if opening == '"':
        return end + 1, UNESCAPED.sub(lambda found: ESCAPES[found[1]], text[at + 1 : end])
    return (at, None) if end == at + 1 else (end + 1, text[at + 1 : end])


def _no_twins(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON number")


STRICT = json.JSONDecoder(object_pairs_hook=_no_twins, parse_constant=_no_constant)


def _json(text: str, at: int) -> tuple[int, Json]:
    try:
        value, end = STRICT.raw_decode(text, at)
    except (ValueError, RecursionError):
        return at, None
    return end, value


def lines(heard: Heard) -> list[str]:
    """One instruction a line, bullets taken off. A block of text alone on its line belongs to the one before."""
    found: list[str] = []
    for line in heard.text.split("\n"):
        if found and heard.is_quoted(line):
            found[-1] += f" {line}"
        elif line.strip():
            bullet = BULLET.match(line)
            found.append(line[bullet.end() :] if bullet else line)
    return found


def headed(heard: Heard) -> str:
    """The first line with all that follows as its content, where it ends in a colon or a letter follows; else
    nothing. What begins behind the colon belongs to that content."""
    first, _, rest = heard.text.partition("\n")
    first, rest = first.strip(), rest.strip("\n")
    letter = GREETING.fullmatch(rest.partition("\n")[0].strip()) is not None
    head, colon, begins = first.rpartition(":")
    if colon and GREETING.fullmatch(begins.strip()):
        first, rest, letter = f"{head}:", f"{begins.strip()}\n{rest}", True
    if not rest.strip() or not (letter or first.endswith(":")):
        return ""
    content = heard.value(rest) if heard.is_quoted(rest) else heard.typed(rest)
    return f"{first.removesuffix(':')}: {heard.aside(heard.typed(rest), content)}"


def is_letter(heard: Heard) -> bool:
    """Whether a text of several lines is a letter, or one below a line of its own."""
    first, _, rest = heard.text.partition("\n")
    begins = (first, first.rpartition(":")[2], rest.lstrip("\n").partition("\n")[0])
    return bool(rest.strip()) and any(GREETING.fullmatch(line.strip()) for line in begins)


def joints(line: str) -> Iterator[tuple[str, str]]:
    """Every way to cut a line at a "then": what stands before it, and what after; the earliest first. The "first"
    that belongs to a "then" is left out."""
    for before, after in _cut(line, THEN):
        first = FIRST.match(before)
        yield before[first.end() if first else 0 :], after


def conjunctions(line: str) -> Iterator[tuple[str, str]]:
    """The same at an "and"."""
    return _cut(line, AND)


def sentences(line: str) -> Iterator[tuple[str, str]]:
    """The same at the end of a sentence."""
    return _cut(line, SENTENCE)


def _cut(line: str, joint: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    for cut in joint.finditer(line) if not WIDE.search(line) else ():
        if cut.start() > 0 and cut.end() < len(line):
            yield line[: cut.start()], line[cut.end() :]
