"""Sentences with slots: `(move|mv) [the] {source...} to {destination}` to what recognises them, and back to words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from tools.phrases.phrasebook import Pattern

SLOT = re.compile(r"\{([a-z_]+)(\.\.\.|:rest|:number|:quoted|:day|:time|:title)?\}")
TOKEN = re.compile(r"\{[^{}]*\}|\] |[()\[\]|]|[ \t]+|[^{}()\[\]| \t]+")
GROUP = re.compile(r"\[[^][()]*\]|\([^][()]*\)")
BLANK = r"[ \t]+"
DAY = (
    r"(?:today|tomorrow|(?:next[ \t]+)?(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|"
    r"in[ \t]+\d{1,4}[ \t]+(?:day|week)s?|\d{4}-\d\d-\d\d)"
)
TIME = r"\d{1,2}(?::\d\d)?(?:[ \t]?[ap]m)?"
WEEKDAY = r"(?:mon|tue|tues|wed|wednes|thu|thurs|fri|sat|satur|sun)(?:day)?s?"
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
# A title that ends like this holds a moment that no slot took, or the half of one: `water the plants every`.
MOMENT = re.compile(
    r"(?:^|[ \t])(?:"
    r"(?:every|each)(?:[ \t]+(?:other|second|\d+))?"
    rf"[ \t]+(?:hour|day|weekday|week|month|quarter|year|morning|evening|night|{WEEKDAY})s?"
    rf"(?:[ \t]+at[ \t]+{TIME})?|daily|weekly|monthly|yearly|"
    r"(?:next|this|coming|end of(?:[ \t]+the)?)[ \t]+(?:week|weekend|month|quarter|year|morning|afternoon|evening)|"
    r"tonight|tmrw?|tomm?or+ow|2morrow|yesterday|eod|eow|eom|"
    rf"(?:{DAY}|{WEEKDAY})[ \t]+(?:morning|noon|afternoon|evening|night)|"
    r"in[ \t]+(?:an?|\d+|one|two|three|half an)[ \t]+(?:min|minute|hr|hour|day|week|month|year)s?|"
    rf"(?:the[ \t]+)?\d{{1,2}}(?:st|nd|rd|th)(?:[ \t]+of)?(?:[ \t]+{MONTH})?(?:[ \t]+\d{{4}})?|"
    rf"\d{{1,2}}\.?[ \t]+{MONTH}(?:[ \t]+\d{{4}})?|{MONTH}[ \t]+\d{{1,2}}(?:st|nd|rd|th)?|"
    r"(?:on|by|until|till|before)[ \t]+\d{1,2}[./]\d{1,2}(?:[./](?:\d{2,4})?)?|"
    r"(?:every|next|last|this|until|till|before|after|since|by|on|from|at|@|for|to|and|or|not|the)"
    r")[ \t]*$",
    re.IGNORECASE,
)
PATTERNS = {
    "": r"(?P<{}>\S.*?)",
    "...": r"(?P<{}>\S.*?)",
    ":title": r"(?P<{}>\S.*?)",
    ":rest": r"(?P<{}>.+)",
    ":number": r"(?P<{}>\d{{1,9}})",
    ":quoted": "(?P<{}>\0\\d+\0)",
    ":day": f"(?P<{{}}>{DAY.replace('{', '{{').replace('}', '}}')})",
    ":time": f"(?P<{{}}>{TIME.replace('{', '{{').replace('}', '}}')})",
}


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


def readable(say: str) -> str:
    """A sentence to show: `restore TRASH ID`."""
    return SLOT.sub(lambda slot: str(slot[1]).replace("_", " ").upper(), bare(say))


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
