"""Lines of notes and transcripts as they come: numbered, without time stamps, with who speaks where it is said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_CUE = re.compile(r"(?:\d{1,2}:)?\d{1,2}:\d{2}[.,]\d{3} --> .*")
_STAMP = re.compile(r"^[\[(]?(?:\d{1,2}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?[\])]?\s*[-–]?\s*")
_VOICE = re.compile(r"<v(?:\.[\w.]+)? ([^>]{1,60})>")
_TAG = re.compile(r"</?[a-z][^>]{0,60}>")
_NAME = r"[^\W\d_][\w'’.-]*(?: [^\W\d_][\w'’.-]*){0,3}"
_SPEAKER = re.compile(rf"^({_NAME})(?: ?\([^)]{{1,40}}\))? ?: +(\S.*)$")
# Words that stand before a colon and are nobody's name.
LABELS = set(
    """action actions action item action items ai todo to-do next step next steps task tasks decision decisions decided
    agreed agreement resolved resolution attendees participants present attending absent apologies date when time where
    place location agenda topic topics subject title meeting minutes note notes summary background question questions
    risk risks issue issues update updates status goal goals purpose chair due owner follow-up follow up http https
    regrets invited link links re from to cc""".split()
) | {"action item", "action items", "next step", "next steps", "follow up", "in attendance", "not present"}


class Line(NamedTuple):
    """One line: its number in the file from 1, who says it if anybody, and what."""

    number: int
    speaker: str
    text: str
    raw: str  # with the marks of a list or a heading


def lines(text: str) -> list[Line]:
    """The lines that say something."""
    return list(_lines(text))


def _lines(text: str) -> Iterator[Line]:
    caption = _captions(text)
    for number, raw in enumerate(text.splitlines(), 1):
        said = raw.strip()
        if not said or said.startswith("WEBVTT") or _CUE.match(said) or (caption and said.isdigit()):
            continue
        voice = _VOICE.search(said)
        said = _STAMP.sub("", _TAG.sub("", _VOICE.sub("", said))).strip()
        plain = (
            re.sub(r"^(?:#{1,6}|[-*+•]|\d{1,3}[.)]) +", "", said).replace("**", "").replace("__", "").strip()
        )
        if voice:
            yield Line(number, voice[1].strip(), plain, said)
        elif plain:
            yield _spoken(number, plain, said)


def _captions(text: str) -> bool:
    return any(_CUE.match(line.strip()) for line in text.splitlines()[:20])


def _spoken(number: int, plain: str, said: str) -> Line:
    speaker = _SPEAKER.match(plain)
    if speaker and speaker[1].lower() not in LABELS and speaker[1][0].isupper():
        return Line(number, speaker[1], speaker[2].strip(), said)
    return Line(number, "", plain, said)
