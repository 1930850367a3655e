"""Which of the files and names in a result somebody has asked for by name when they confirmed the call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from gate.arguments.declared_targets import Targets
from gate.arguments.forms_apart import texts_of
from gate.arguments.identifiers import fold
from gate.arguments.name_patterns import NamePattern, name_pattern
from gate.arguments.notations import is_file_argument
from gate.arguments.target_bounds import LONGEST_REPORTED
from gate.arguments.text_forms import path_variants, without_root
from gate.rules.action import Json
from gate.rules.gated_files import MAILBOX, Gated
from gate.rules.result_targets import entries

PATTERNS = frozenset({"pattern", "patterns", "glob", "globs"})  # arguments of a search that say which files
WILD = re.compile(r"[*?\[]")
# Of patterns that somebody asked for files by, and characters that are held against all of them: 0.3 s. What is more
# asks for nothing.
MOST_PATTERNS, LONGEST_PATTERN, MOST_COMPARED = 50, 256, 1_000_000
# Characters that are gone over for all names that may have been asked for, and places of one name: 0.1 s in all
MOST_SOUGHT, MOST_PLACES = 200_000_000, 100
BETWEEN = "\n\n"  # of texts, so that nothing is a word of two


def names_asked(confirmed: Mapping[str, Json], targets: Targets) -> tuple[str, ...]:
    """What arguments that somebody has confirmed ask for by a name, a pattern or a folder: what merely lies below the
    folder of a search, or has its words, was not in their question."""
    declared = {re.split(r"[.\[]", name)[0] for name in (*targets.paths, *targets.looks)}
    named = (
        text
        for name, value in confirmed.items()
        if name in declared or name in PATTERNS or is_file_argument(name)
        for text in texts_of(value)
        if len(text) <= LONGEST_REPORTED
    )
    return tuple(dict.fromkeys(named))


def not_asked_for(asked: Sequence[Gated], gated: Sequence[Gated]) -> Iterator[Gated | None]:
    """Those of the gated files that no name asks for which was confirmed under the same rule; None after each other.
    `asked`: the names, each with a rule that it was confirmed under."""
    names: dict[int, list[str]] = {}
    for name, rule in asked:
        names.setdefault(id(rule), []).append(name)
    under = {rule: _Asked.of(some) for rule, some in names.items()}
    left = MOST_COMPARED
    for path, rule in gated:
        by_name = under.get(id(rule), _Asked())
        left -= len(path) * len(by_name.patterns)
        yield None if by_name.asks_for(path, left > 0) else (path, rule)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What names ask for: `plain` parts of paths, and patterns of them."""

    plain: Sequence[str] = ()
    patterns: Sequence[NamePattern] = ()

    @classmethod
    def of(cls, names: Sequence[str]) -> _Asked:
        forms = dict.fromkeys(
            form.lower().rstrip("/").removeprefix("**/")
            for name in names
            for form in (name, *path_variants(name))
        )
        asked = dict.fromkeys(without_root(form) for form in forms if form.strip("*./"))
        return cls([f"/{form}/" for form in asked if not WILD.search(form)], _patterns(asked))

    def asks_for(self, path: str, with_patterns: bool) -> bool:
        inside = f"/{path.lower()}/"
        mailbox = MAILBOX.sub("", inside)
        if any(form in inside or form in mailbox for form in self.plain):
            return True
        return with_patterns and any(pattern.matches(inside) for pattern in self.patterns)


def _patterns(forms: Iterable[str]) -> list[NamePattern]:
    wild = (form for form in forms if len(form) <= LONGEST_PATTERN and WILD.search(form))
    return [name_pattern(f"*/{form}/*") for form in islice(wild, MOST_PATTERNS)]


def not_asked_by_word(targets: Targets, result: Json, args: Mapping[str, Json]) -> Iterator[str | None]:
    """The names in the entries of a result, folded, but for entries with a name that stands among the texts of the
    arguments, in whatever letters, as a word of its own: all that such an entry says was asked for. None after each
    name that was looked for; of more than can be, the others count as not asked for."""
    asked = frozenset(text.casefold() for text in texts_of(args))
    words, left, known = BETWEEN.join(asked), MOST_SOUGHT, dict[str, bool]()
    for names, _ in entries(targets, result):
        for name in names:
            if name not in known:
                left -= len(words)
                known[name] = (plain := name.casefold()) in asked or (left > 0 and _has_word(words, plain))
                yield None
        if not any(map(known.__getitem__, names)):
            yield from map(fold, names or [""])


def _has_word(text: str, word: str) -> bool:
    """Whether a word stands somewhere in a text, the first times that it does, with neither letters, digits nor `_`
    beside it."""
    end = 0
    for _ in range(MOST_PLACES):
        if (at := text.find(word, end)) < 0:
            return False
        end = at + max(1, len(word))
        beside = text[at - 1 : at] + text[end : end + 1]
        if not any(sign.isalnum() or sign == "_" for sign in beside):
            return True
    return False
