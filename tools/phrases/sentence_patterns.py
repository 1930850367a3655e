"""Sentences with slots, such as `move {source...} to {destination}`: what recognises them, and which one a line is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tools.phrases.days_and_times import DAY, TIME, WHEN
from tools.phrases.phrasebook import Pattern, Phrase
from tools.phrases.typed_values import items

SLOT = re.compile(r"\{([a-z_]+)(\.\.\.|:rest|:number|:quoted|:day|:time|:when|:there|:title)?\}")
TOKEN = re.compile(r"\{[^{}]*\}|\] |[()\[\]|]|[ \t]+|[^{}()\[\]| \t]+")
GROUP = re.compile(r"\[[^][()]*\]|\([^][()]*\)")
BLANK = r"[ \t]+"
NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
NUMBER = rf"#?(?:\d{{1,9}}|{'|'.join(NUMBERS)})(?![\w:./-])"
DIGITS = re.compile(r"\d+")
PATTERNS = {
    "": r"(?P<{}>\S.*?)",
    "...": r"(?P<{}>\S.*?)",
    ":title": r"(?P<{}>\S.*?)",
    ":rest": r"(?P<{}>.+)",
    ":number": f"(?P<{{}}>{NUMBER.replace('{', '{{').replace('}', '}}')})",
    ":quoted": "(?P<{}>\0\\d+\0)",
    ":day": f"(?P<{{}}>{DAY.replace('{', '{{').replace('}', '}}')})",
    ":there": r"(?P<{}>(?:in[ \t]+)?there)",
    ":when": f"(?P<{{}}>{WHEN.replace('{', '{{').replace('}', '}}')})",
    ":time": f"(?P<{{}}>{TIME.replace('{', '{{').replace('}', '}}')})",
}
EXACT = (":number", ":day", ":time", ":when")  # what stands in such a slot is known by its form
LONGEST = 2000  # characters of one instruction, quoted values not counted
# Of one with so many slots: where any words may stand in each, the work grows with a power of the length.
LONGEST_OF = {3: 1000, 4: 500, 5: 300}
ANY_LENGTH = min(LONGEST_OF.values())  # no pattern is too short for a line up to this length
MOST_SLOTS = 5  # of which those with more slots are as long as these
SHORT = 300  # characters of one that ends too early: its values are single words
POLITE = re.compile(
    r"(?:(?:(?:hey|hi|hello|ok|okay|now|please|pls|plz|and|thanks|thank you|thx|danke|bitte|"
    r"(?:can|could|would|will) (?:you|u)|i(?: would|['’]d) like (?:you )?to|i (?:want|need) you to)\b|"
    r":[a-z0-9_+-]{1,60}:)[ \t,!]*)+",
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


def number(part: str) -> int:
    """The number in a slot for one: 2, #2 or two."""
    digits = DIGITS.search(part)
    return int(digits[0]) if digits else NUMBERS.index(part.lower()) + 1


@lru_cache(maxsize=4096)  # a file of phrases is read again and again, and more are in it than `re` keeps
def compiled(say: str) -> Pattern:
    """What recognises this sentence. Raises re.error."""
    slots = {name: kind or "" for name, kind in SLOT.findall(say)}
    return Pattern(say, re.compile(_regex(say), re.IGNORECASE | re.DOTALL), slots, _words(say))


def _words(say: str) -> tuple[str, ...]:
    """The words outside of choices, of what may be left out, and of slots."""
    left = GROUP.sub(" ", say)
    while left != say:
        say, left = left, GROUP.sub(" ", left)
    return tuple(SLOT.sub(" ", left).lower().split())


@lru_cache(maxsize=4096)
def beginnings(say: str) -> tuple[Pattern, ...]:
    """The sentence without its last slots, with and without the word before them. At least one slot stays."""
    return tuple(compiled(text) for text in dict.fromkeys(_cut(say)) if SLOT.search(text))


def _cut(say: str) -> Iterator[str]:
    slots = list(SLOT.finditer(say))
    if not slots or slots[-1].end() != len(say):
        return
    for before, last in zip(reversed(slots[:-1]), reversed(slots[1:]), strict=True):
        yield _without_option(say[: last.start()].rstrip())
        yield say[: before.end()]


def _without_option(say: str) -> str:
    """Without what may be left out at its end: a bracket needs the blank that follows it."""
    while say.endswith("]"):
        say = say[: say.rindex("[")].rstrip()
    return say


def plain(say: str) -> str:
    """A sentence with its slots emptied and its choices made, to compare others with."""
    return SLOT.sub("{}", bare(say))


def bare(say: str) -> str:
    """A sentence with its choices made, its slots kept."""
    return re.sub(r"\(([^|()]*+)[^()]*+\)", r"\1", re.sub(r"\[[^\[\]]*\] ", "", say))


def _regex(say: str) -> str:
    """`(show|read) [the file] {path}`: brackets hold what may be left out, with the blank that follows it."""
    out, fixed = [], {"(": "(?:", ")": ")", "|": "|", "[": "(?:(?:", "] ": ")" + BLANK + ")?"}
    for token in TOKEN.findall(say.strip()):
        slot = SLOT.fullmatch(token)
        if slot:
            out.append(PATTERNS[slot[2] or ""].format(slot[1]))
        elif token in fixed:
            out.append(fixed[token])
        else:
            out.append(BLANK if token.isspace() else re.escape(token))
    return "".join(out)


@dataclass(frozen=True, slots=True)
class Found:
    """A phrase that fits, and what its slots hold. `missing`: the last slots, where the line ends too early."""

    phrase: Phrase
    pattern: Pattern
    slots: Mapping[str, str]
    missing: tuple[str, ...] = ()

    @property
    def slot_length(self) -> int:
        """Characters in slots that take any words: the fewer, the more exactly the phrase fits."""
        return sum(len(text) for name, text in self.slots.items() if self.pattern.slots[name] not in EXACT)


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
    """The one phrase that the line is, but for its last slots. None where two of different tools would fit as well, or
    where a slot that is there holds words rather than a value: then it is more likely another sentence."""
    if len(line) > SHORT:
        return None
    found = sorted(_begun(phrases, line), key=lambda one: len(one.missing))
    same = {(one.phrase.full_name, one.missing) for one in found if len(one.missing) == len(found[0].missing)}
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
    if len(line) > ANY_LENGTH and len(line) > longest(pattern):
        return None
    for text in spoken(line, pattern.to_the_end):
        found = pattern.regex.fullmatch(text) if pattern.possible(_lowered(text)) else None
        if found:
            return found.groupdict()
    return None


def longest(pattern: Pattern) -> int:
    """How many characters of a line are held against a pattern, quoted values not counted."""
    anywhere = sum(kind in ("", "...", ":title") for kind in pattern.slots.values())
    return LONGEST_OF.get(min(anywhere, MOST_SLOTS), LONGEST)


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
