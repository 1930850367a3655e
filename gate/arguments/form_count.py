"""What it takes to look at the forms of the targets of one call, counted before they are made."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from gate.arguments.escapes import unescaped
from gate.arguments.listed_names import may_hold_paths, secret_words
from gate.arguments.secret_files import LONGEST_END
from gate.arguments.secret_patterns import names_meant
from gate.arguments.text_cache import Remembered
from gate.arguments.text_forms import (
    PLAIN,
    Forms,
    grows,
    other_variants,
    path_variants,
    plain_variants,
    text_variants,
    versions,
)
from gate.rules.action import Json

MAX_ALTERNATIVES_OF_A_CALL = 2_000  # each takes up to 0.05 ms to be held against the names of secret files
MOST_WORK_OF_A_CALL = 6_000  # targets that are not plain, each of which takes up to 0.015 ms
COST_OF_A_FORM = 3  # as against a target without other forms
COST_OF_A_TEXT = 4  # of one without other forms: to find that takes as long as to make one
# The same for one with signs of calls, variables or encodings, or with a way up: all its forms are made.
COST_OF_SIGNS = 5
SIGNS = re.compile(r"[(=%$@~]|\.\.")
# The same for a text or a name that is held against the names of gated files as a pattern
COST_OF_A_PATTERN = 2
PATTERN = re.compile(r"[*?\[\]{}]")
# Characters of all targets that are searched for names, each of which takes up to 0.0001 ms, and how many of them the
# beginning of a name, a line and another sign take as long as: the last two where a word is called as a secret file is
MOST_SEARCHED, COST_OF_A_BEGINNING, COST_OF_A_LINE, COST_OF_ANOTHER_SIGN = 450_000, 6, 80, 10
COST_OF_ANY_LINE, COST_OF_ANY_SIGN = 20, 6  # where none is, and some sign of a path
SEPARATORS = re.compile(r"[,;|&?=]")
COST_OF_AN_ENCODED_WORD = 400  # of a header of mail
BEGINNINGS = re.compile(r"[/\\=\s@,;&|]|(?<=[/\\=\s@,;&|])[.#]")  # a hidden file takes as long as two
BEGINNINGS_IN_WORDS = re.compile(r"[/\\@&]|(?<=[/\\@&])[.#]")
LINES = re.compile(r"[\0\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
OTHER_SIGNS = re.compile(r"[,;|:@(\['\"`\u2018-\u201f\u3001]")
# Characters that take as long as one form, and copies of a text as long as one target
LONG_FORM, COPIES = 600, 13
# Values that are no texts, of which so many take as long to be copied and gone over as one text; for how many a list or
# an object counts, also an empty one.
PER_PLACE, OF_A_LIST = 3, 4
MOST_MEANT = 45  # of those that one pattern means, which are up to 70


def _forms_to_count(text: str, of: Forms) -> tuple[str, ...]:
    """The forms of a text, without what it can mean as a pattern of names, which is counted apart."""
    if of is path_variants:
        return plain_variants(text)
    return (*plain_variants(text), *other_variants(text)) if of is text_variants else of(text)


def too_many_forms(copied: Iterable[tuple[Collection[tuple[str, Forms]], int]]) -> bool:
    """Whether these texts, each with what gives its forms, have more of them, or stand for more names, than are looked
    at for one call. Those that are copied together stand in so many places, or each in one. It stops counting there, so
    that it takes no longer than what is looked at."""
    count, seen = FormCount(0), set[tuple[str, Forms]]()
    for texts, places in copied:
        count.texts += len(texts)
        count.repeats += max(0, places - len(texts))
        if count.is_over or any(count.is_over_with(*one) for one in texts if one not in seen):
            return True
        seen.update(texts)
    return False


@dataclass(slots=True)
class FormCount:
    """What it takes to look at so many texts, counted one by one, some of which stand in more places than one."""

    texts: int
    repeats: int = 0
    names: int = 0
    work: int = 0
    widest: int = 0
    repeated: int = 0
    searched: int = 0

    def is_over_with(self, text: str, of: Forms) -> bool:
        """Count a text, with what gives its forms. Whether it is then more than is looked at for one call."""
        if PLAIN.fullmatch(text):
            return False
        self.searched += COST_OF_AN_ENCODED_WORD * text.count("=?")
        self.searched += cost_of_search(text) if of in (path_variants, text_variants) else 0
        if self.searched > MOST_SEARCHED or grows(text):
            return True
        forms = (text, *(_forms_to_count(text, of)))
        self.searched += COST_OF_A_BEGINNING * sum(map(_beginnings_at_its_end, forms))
        meant = sum(map(names_meant, forms)) if of in (path_variants, text_variants) else 0
        self.names += meant
        signs = COST_OF_SIGNS if SIGNS.search(text) else COST_OF_A_PATTERN if PATTERN.search(text) else 0
        others = len(forms) - text.isascii() + sum(map(len, forms)) // LONG_FORM
        self.work += signs + 1 + COST_OF_A_FORM * others if signs or others else COST_OF_A_TEXT
        if self.searched > MOST_SEARCHED or self.names > MAX_ALTERNATIVES_OF_A_CALL:
            return True
        self.widest = max(self.widest, len(forms))
        # A pattern has the names that it means as forms, too, which are not made before they are counted. Names of
        # fields recur in rows, so what is in several places takes less than it would.
        self.repeated = max(self.repeated, len(forms) // 3, MOST_MEANT if meant else 0)
        return self.is_over

    @property
    def is_over(self) -> bool:
        """Whether it is more than is done for one call, as far as it is counted."""
        copies = self.widest * self.texts + self.repeated * self.repeats
        return self.work + copies // COPIES > MOST_WORK_OF_A_CALL


def _beginnings_at_its_end(form: str) -> int:
    """At how many places a name can begin in what is searched of a form."""
    return len(BEGINNINGS.findall(form, max(0, len(form) - LONGEST_END)))


def _to_search(text: str) -> tuple[str, ...]:
    """A text, and what its escapes stand for where that has words which are called as secret files are."""
    meant = unescaped(text)
    return (text, meant) if meant != text and secret_words(meant) else (text,)


@Remembered
def cost_of_search(text: str) -> int:
    """What it takes to look for names in a text and in what it is decoded to; more than the most where it is more."""
    cost = 0
    plain = {one: None for seen in versions(text) for one in _to_search(seen)}
    for one in plain:
        cost += len(one) + COST_OF_A_BEGINNING * len(BEGINNINGS_IN_WORDS.findall(one))
        if cost > MOST_SEARCHED:
            break
        if secret_words(one):
            cost += COST_OF_A_LINE * len(LINES.findall(one))
            cost += COST_OF_ANOTHER_SIGN * len(OTHER_SIGNS.findall(one))
        elif may_hold_paths(one):
            cost += COST_OF_ANY_LINE * len(LINES.findall(one)) + COST_OF_ANY_SIGN * len(
                SEPARATORS.findall(one)
            )
    return cost


def count_without_texts(value: Json) -> int:
    """How many values there are in it that are no texts, at any depth, a list or object as several: each is copied with
    what stands beside it."""
    left, count = [value], 0
    while left:
        one = left.pop()
        count += OF_A_LIST if isinstance(one, Mapping | list) else not isinstance(one, str)
        if isinstance(one, Mapping):
            left += one.values()
        elif isinstance(one, list):
            left += one
    return count
