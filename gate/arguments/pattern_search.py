"""The patterns of rules that are held against the texts of a call."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import accumulate

from gate.arguments.production_files import PRODUCTION, ends_as_production
from gate.arguments.secret_files import SECRET_FILE, ends_as_secret

# Patterns that match only at the end of a text: in a long one, the rest need not be searched
OF_ENDS: Mapping[str, Callable[[str], bool]] = {SECRET_FILE: ends_as_secret, PRODUCTION: ends_as_production}
FLAGS = re.compile(r"\(\?[a-zA-Z]+\)")  # of a whole pattern, which begins with them
# Characters of a call that are searched for what else is always gated: up to 0.001 ms for each
MOST_SEARCHED = 100_000


def searching(pattern: str) -> Callable[[str], object]:
    """What finds this pattern in a text."""
    return OF_ENDS.get(pattern) or re.compile(pattern).search


def found_patterns(patterns: Collection[str], texts: Collection[str]) -> set[str]:
    """Those of the patterns that are found in some of the texts."""
    return {pattern for pattern in patterns if any(map(searching(pattern), texts))}


def found_in_any_case(patterns: Collection[str], texts: Collection[str]) -> set[str]:
    """The same, in whatever letters; but for those of ends, which are so anyhow."""
    cased = {in_any_case(pattern): pattern for pattern in patterns if pattern not in OF_ENDS}
    return {cased[pattern] for pattern in found_patterns(cased, texts)}


def in_any_case(pattern: str) -> str:
    """The pattern, found in whatever letters."""
    flags = FLAGS.match(pattern)
    if flags is None:
        return f"(?i:{pattern})"
    return f"{flags[0][:-1]}i){pattern[flags.end() :]}"


def as_long_together(texts: Sequence[str], most: int) -> Sequence[str]:
    """The first of these texts that have no more characters than that."""
    lengths = accumulate(map(len, texts))
    return [text for text, length in zip(texts, lengths, strict=True) if length <= most]
