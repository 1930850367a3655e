"""Which phrase a line is: politeness and closing punctuation aside, and also where its last values are missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tools.phrases.phrasebook import Pattern, Phrase
from tools.phrases.sentence_patterns import beginnings
from tools.phrases.typed_values import items

LONGEST = 2000  # characters of one instruction, quoted values not counted
SHORT = 300  # characters of one that ends too early: its values are single words
POLITE = re.compile(
    r"(?:(?:(?:hey|hi|hello|ok|okay|now|please|pls|plz|and|thanks|thank you|thx|danke|bitte|"
    r"(?:can|could|would|will) (?:you|u))\b|:[a-z0-9_+-]{1,60}:)[ \t,!]*)+",
    re.I,
)
THANKS = re.compile(
    r"(?<![ \t,])[ \t,]*+\b(?:please|pls|plz|bitte|(?:many )?(?:thanks|thx)(?: a lot| so much)?|"
    r"thank you(?: so much)?|ty|cheers|danke|vielen dank)[ \t]*+$",
    re.IGNORECASE,
)
EMOJI = re.compile(r"(?:(?<!\S):[a-z0-9_+-]{1,60}:[ \t]*+){1,3}$")
FULL_STOP = re.compile(r"(?<=[\w\0)])[ \t]*[.!?]+[ \t]*$")
VALUE = re.compile(r"\0\d+\0|(?<!\S)\S*[./*\d]\S*")


@dataclass(frozen=True, slots=True)
class Found:
    """A phrase that fits, and what its slots hold. `missing`: the last slots, where the line ends too early."""

    phrase: Phrase
    pattern: Pattern
    slots: Mapping[str, str]
    missing: tuple[str, ...] = ()

    @property
    def slot_length(self) -> int:
        """Characters inside of slots: the fewer, the more exactly the phrase fits."""
        return sum(map(len, self.slots.values()))


def best(phrases: Iterable[Phrase], line: str) -> Found | None:
    """The phrase that leaves least to its slots; the first in the file among equals."""
    if len(line) > LONGEST:
        return None
    fits = [
        Found(phrase, pattern, slots)
        for phrase in phrases
        for pattern in phrase.patterns
        if (slots := match(pattern, line)) is not None
    ]
    return min(fits, key=lambda found: found.slot_length, default=None)


def begun(phrases: Iterable[Phrase], line: str) -> Found | None:
    """The one phrase that the line is, but for its last slots. None where two would fit as well, or where a slot
    that is there holds words rather than a value: then it is more likely another sentence."""
    if len(line) > SHORT:
        return None
    found = sorted(_begun(phrases, line), key=lambda one: len(one.missing))
    same = {id(one.phrase) for one in found if len(one.missing) == len(found[0].missing)}
    return found[0] if len(same) == 1 else None


def _begun(phrases: Iterable[Phrase], line: str) -> Iterator[Found]:
    for phrase in phrases:
        for pattern in phrase.patterns:
            for part in beginnings(pattern.say):
                slots = match(part, line)
                if slots is not None and all(map(_value, slots.values())):
                    missing = tuple(name for name in pattern.slots if name not in slots)
                    yield Found(phrase, pattern, slots, missing)


def _value(part: str) -> bool:
    return all(VALUE.fullmatch(item) for item in items(part))


def match(pattern: Pattern, line: str) -> dict[str, str] | None:
    """What the slots hold when the line is this phrase, politeness and punctuation aside. None for a longer line."""
    if len(line) > LONGEST:
        return None
    for text in spoken(line, pattern.to_the_end):
        found = pattern.regex.fullmatch(text) if pattern.possible(_lowered(text)) else None
        if found:
            return found.groupdict()
    return None


@lru_cache(maxsize=64)
def _lowered(text: str) -> str:
    return text.lower()


@lru_cache(maxsize=64)  # each line is held against hundreds of patterns
def spoken(line: str, to_the_end: bool = False) -> tuple[str, ...]:
    """The line as it is and without its polite beginning, each without closing punctuation and thanks; text that
    goes to the end of the line keeps its own."""
    line = line.strip()
    polite = POLITE.match(line)
    begun = [line[start:] for start in dict.fromkeys((0, polite.end() if polite else 0))]
    if to_the_end:
        return tuple(begun)
    return tuple(_ended(_ended(rest)) for rest in begun)


def _ended(text: str) -> str:
    """Without emoji, closing punctuation and thanks, each once, at its end."""
    return THANKS.sub("", FULL_STOP.sub("", EMOJI.sub("", text).rstrip())).rstrip()
