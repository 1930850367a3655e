"""Which of all that could be written comes closest to a line that fits nothing: by its words, then by its letters."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from tools.phrases.matching import VALUE
from tools.phrases.sentence_patterns import SLOT, plain

WORD = re.compile(r"[a-z]{2,30}")
AT_WILL = re.compile(r"\[[^\[\]]*\]")  # words of a sentence that may be left out
EMPTY = frozenset(
    "an the my me you your it its is are am be do does did can could would will please pls of in on to into for from "
    "at by with and or this that these there some any have has had we us our want need like let lets just so as if "
    "up out hey hi hello thanks thank".split()
)
MOST_WORDS = 16  # of the line
LETTERS = 160  # of the line, for the comparison by letters
ALIKE = 0.82  # of two words' letters: a slip of the finger; `remove` is no `move`
SAME_BEGINNING = 4  # letters
HINTED = (
    0.6  # what a word counts that stands in a tool's name or in a description, not in the sentence itself
)
STRANGE = 0.5  # what a word counts that nothing here knows: a name, most likely
BY_WORDS, BY_LETTERS = 0.8, 0.2
ENOUGH = 0.52


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that could be written. `text` is what is shown of it, `says` the sentences that mean it, `hints`
    other words about it; `about` tells what is the same thing, `server` where it belongs ("": to several)."""

    text: str
    says: Sequence[str]
    hints: str
    about: str
    server: str = ""


def closest(line: str, choices: Iterable[Choice], most: int) -> list[Choice]:
    """The choices that come closest, the best first, one for each thing; none where nothing is close."""
    known = [_Known(choice) for choice in choices]
    typed = VALUE.sub("{}", line.lower())[:LETTERS]
    weights = _weights(words_of(typed)[:MOST_WORDS], known)
    scored = [(-one.score(typed, weights), place, one.choice) for place, one in enumerate(known)]
    found: dict[str, Choice] = {}
    for score, _, choice in sorted(scored, key=lambda entry: entry[:2]):
        if score <= -ENOUGH and len(found) < most:
            found.setdefault(choice.about, choice)
    return list(found.values())


def words_of(text: str) -> list[str]:
    """The words that say something, each once, without the ending of the plural."""
    return list(dict.fromkeys(_one(word) for word in WORD.findall(text.lower()) if word not in EMPTY))


class _Known:
    """A choice, and the words by which it is found."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        says = [SLOT.sub(" ", say) for say in choice.says]
        self.said = {word for say in says for word in words_of(AT_WILL.sub(" ", say))}
        hints = [choice.hints.replace("_", " "), *(part for say in says for part in AT_WILL.findall(say))]
        self.hinted = {word for hint in hints for word in words_of(hint)} - self.said

    def score(self, typed: str, weights: Sequence[tuple[frozenset[str], float]]) -> float:
        """0 to 1: how much of the line it accounts for, and how alike it is written."""
        total = sum(weight for _, weight in weights)
        own = sum(weight * self._counts(meant) for meant, weight in weights)
        if not own:
            return 0.0
        letters = max(SequenceMatcher(None, typed, plain(say)[:LETTERS]).ratio() for say in self.choice.says)
        return BY_WORDS * own / total + BY_LETTERS * letters

    def _counts(self, meant: frozenset[str]) -> float:
        return 1.0 if meant & self.said else HINTED if meant & self.hinted else 0.0


def _weights(typed: Sequence[str], known: Sequence[_Known]) -> list[tuple[frozenset[str], float]]:
    """For each word of the line, the words here that it stands for, and what it counts: the rarer, the more."""
    spread: dict[str, int] = {}
    for one in known:
        for word in one.said | one.hinted:
            spread[word] = spread.get(word, 0) + 1
    rarest = math.log(1 + len(known))
    found = []
    for word in typed:
        meant = _meant(word, spread)
        often = max((spread[one] for one in meant), default=0)
        found.append((meant, math.log(1 + len(known) / often) if often else STRANGE * rarest))
    return found


def _meant(word: str, known: Iterable[str]) -> frozenset[str]:
    """The known words that a typed one stands for: itself, else those that begin alike or are nearly spelt so."""
    known = set(known)
    return frozenset({word} if word in known else (one for one in known if _alike(word, one)))


def _alike(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) < SAME_BEGINNING or len(long) - len(short) > 3:
        return False
    if long.startswith(short):
        return True
    return len({*short} & {*long}) >= 3 and SequenceMatcher(None, one, other).ratio() > ALIKE


def _one(word: str) -> str:
    """A word without the ending of the plural."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
