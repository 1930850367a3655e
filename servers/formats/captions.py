"""Captions of a meeting or a film, and which of them have no time that can be read. Runs in the sandbox."""

from __future__ import annotations

import html
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import webvtt
from webvtt.errors import MalformedCaptionError, MalformedFileError
from webvtt.models import Caption

from servers.sandbox.protocol import Refused
from servers.sentences import TURN

MOST_CUES = 50_000
MOST_NAMED = 5  # lines that a note names
LONGEST_SENTENCE = 1_000  # characters of one sentence over several captions
_VOICE = re.compile(r"<v(?:\.[^\s<>]*+)?+[ \t]++([^<>]++)>")
_TAG = re.compile(r"<[^<>]*>")
_DASH = re.compile(r"[-–—] ?(?=\S)")
_WORD = r"[A-ZÄÖÜÀ-ÞŁŚŻČŠŽ][\w'’.-]*"
_NAME = rf"{_WORD}(?: (?:[a-z]{{2,3}} )?{_WORD}){{0,3}}(?: \([^()]{{1,40}}\))?"
_NAMED = re.compile(rf"({_NAME}): +(\S.*)")
_LINE_END = re.compile(r"\r\n|\r|\n")
_LIKE_A_TIME = re.compile(r"\s*+\d[\d:.,]*+\s*+[-–—=]*+[>→]")
_NOT_SAID = ("WEBVTT", "NOTE", "STYLE", "REGION")


def read(content: str, ending: str) -> tuple[str, str]:
    """Captions as lines of who says what, one for each, by its number; and what is to be said of those without a time.

    A sentence that goes on in further captions is in the line of its first. Where several people speak in one, TURN
    stands between them.
    """
    content = content.lstrip("\ufeff")
    try:
        found = webvtt.from_buffer(io.StringIO(content), format=ending.removeprefix(".")).captions
    except (MalformedFileError, MalformedCaptionError, ValueError, IndexError) as error:
        raise Refused(f"holds no captions that can be read ({type(error).__name__}). Save it anew.") from None
    if len(found) > MOST_CUES:
        raise Refused(f"holds {len(found):,} captions, more than {MOST_CUES:,}. Take a part of it.")
    return "\n".join(_lines(found)), _told([*_untimed(content, ending, found)])


class _Turn(NamedTuple):
    """What somebody says in a caption. `voiced`: a tag names who; else the name stands before a colon, if at all."""

    who: str
    said: str
    voiced: bool

    @property
    def text(self) -> str:
        return f"{self.who}: {self.said}" if self.who else self.said


def _lines(found: Sequence[Caption]) -> list[str]:
    lines: list[str] = []
    before, open_at = _Turn("", "", False), -1
    for number, cue in enumerate(found):
        turns = _turns(cue)
        if open_at >= 0 and turns and _goes_on(before, turns[0], lines[open_at]):
            lines[open_at] += f" {turns[0].said}"
            before = turns.pop(0)._replace(who=before.who)
        lines.append(TURN.join(turn.text for turn in turns))
        if turns:
            before, open_at = turns[-1], number
    return lines


def _goes_on(before: _Turn, turn: _Turn, line: str) -> bool:
    """Whether a turn is the rest of the sentence that a line ends with."""
    same = before.who == turn.who or not (turn.voiced or turn.who)
    unfinished = not line.endswith((".", "!", "?", "…")) and len(line) < LONGEST_SENTENCE
    return same and before.voiced == turn.voiced and unfinished


def _turns(cue: Caption) -> list[_Turn]:
    """Who says what in a caption: by its tags, else a line that begins with a dash or a name is said by another one."""
    first, *voices = _VOICE.split(cue.raw_text)
    if voices:
        spoken = zip(voices[::2], voices[1::2], strict=True)
        told = [("", first, True), *((who, said, True) for who, said in spoken)]
    else:
        told = [(who, said, False) for who, said in _by_line(cue.raw_text.split("\n"))]
    made = [_Turn(_shown(who), _shown(said), voiced) for who, said, voiced in told]
    return [turn for turn in made if turn.said]


def _by_line(lines: Sequence[str]) -> list[tuple[str, str]]:
    shown = [*map(_shown, lines)]
    dashes = sum(map(bool, map(_DASH.match, shown))) > 1
    told: list[tuple[str, str]] = []
    for line in shown:
        text = _DASH.sub("", line) if dashes else line
        named = _NAMED.match(text)
        if not told or named or text != line:
            told.append((named[1], named[2]) if named else ("", text))
        else:
            told[-1] = (told[-1][0], f"{told[-1][1]} {text}")
    return told


def _shown(text: str) -> str:
    """A text without tags, and with the signs that are written as &amp;."""
    return " ".join(html.unescape(_TAG.sub("", text)).split())


def _told(numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    named = ", ".join(map(str, numbers[:MOST_NAMED])) + (", …" if numbers[MOST_NAMED:] else "")
    many = f"{len(numbers):,} captions" if len(numbers) > 1 else "a caption"
    where = f"line{'s' * (len(numbers) > 1)} {named}"
    return f"has {many} whose time cannot be read ({where}): left out, or read with the caption before"


def _untimed(content: str, ending: str, found: Sequence[Caption]) -> Iterator[int]:
    """The lines on which blocks begin of which some is in no caption, or that another one has swallowed."""
    read = Counter(line.strip() for cue in found for line in cue.lines)
    swallowed = {line for line in read if _LIKE_A_TIME.match(line)}
    for number, block in _blocks(content):
        said = list(_said(block, ending))
        missing = any(not read[line] and not line.isdigit() for line in said)
        read.subtract(line for line in said if read[line])
        if missing or not swallowed.isdisjoint(line.strip() for line in block):
            yield number


def _blocks(content: str) -> Iterator[tuple[int, list[str]]]:
    """Lines without an empty one between them, with the number of the first."""
    block: list[str] = []
    for number, line in enumerate([*_LINE_END.split(content), ""], 1):
        if line:
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _said(block: Sequence[str], ending: str) -> Iterator[str]:
    """The lines of a block that say something: no time, and no number or name before one."""
    silent = ending == ".vtt" and block[0].startswith(_NOT_SAID)
    for at, line in enumerate(block):
        after = block[at + 1] if at + 1 < len(block) else ""
        if _LIKE_A_TIME.match(line):
            silent = False
        elif not silent and not (_LIKE_A_TIME.match(after) and (at == 0 or line.strip().isdigit())):
            yield line.strip()
