"""What a search of messages asks for: words in any order, "several together", and words in one field."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

TEXTS = ("subject", "body", "attached", "sender", "recipient")  # of a message, in the order of the index
SAID = ("subject", "body", "attached")  # where words are looked for that name no field
_FIELDS = {
    "from": "sender",
    "von": "sender",
    "to": "recipient",
    "an": "recipient",
    "subject": "subject",
    "betreff": "subject",
}
_WANTED = re.compile(rf'(?:\b({"|".join(_FIELDS)}):)?(?:"([^"]+)"|([^\s"]+))', re.IGNORECASE)


class Term(NamedTuple):
    """A word, or several one after the other, and the texts of which one must hold it."""

    words: str
    texts: tuple[str, ...]


def terms(asked: str, texts: tuple[str, ...] = SAID) -> list[Term]:
    """All that must be there. `from:ann` looks at the sender alone, `subject:"q3 report"` at the subject."""
    found = []
    for name, quoted, word in _WANTED.findall(asked):
        if words := plain(quoted or word):
            found.append(Term(words, (_FIELDS[name.lower()],) if name else texts))
    return found


def plain(text: str) -> str:
    """A text as it is compared: small letters, one space between words."""
    return " ".join(text.casefold().replace("\0", " ").split())


@dataclass(frozen=True)
class Wanted:
    """The terms, all of which must be there, and the days between which a message was written."""

    terms: Sequence[Term]
    since: date | None
    until: date | None
    zone: ZoneInfo

    def in_time(self, written: str | None) -> bool:
        """Whether a message of that moment is wanted; one without a moment is not, where days are asked for."""
        if not (self.since or self.until):
            return True
        if written is None:
            return False
        day = datetime.fromisoformat(written).astimezone(self.zone).date()
        return not (self.since and day < self.since) and not (self.until and day > self.until)
