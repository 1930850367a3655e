"""Reads the regular expressions of schemas, and compiles those that certainly do not take long to be compiled."""

from __future__ import annotations

import re
from functools import lru_cache
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

MAX_PATTERN = 2_000  # characters of one: reading it takes time too
MOST_COMPILING = 16_000  # microseconds that one may take to be compiled
# The same for each character, and for a range of a class beyond Latin-1 or where case is ignored, of which `re` makes a
# map of 65,536 characters.
PER_CHARACTER, PER_WIDE_RANGE, PER_FOLDED_RANGE, FOLDED_PER_MICROSECOND = 8, 1_300, 60, 16
PER_WIDE_CLASS = 100  # of single characters beyond Latin-1: a map as well
LATIN = 0xFF
SINGLE = {constants.LITERAL, constants.NOT_LITERAL, constants.ANY, constants.IN}
REPEATS = {constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT}
BYTES_OF_A_ROUND, BYTES_OF_A_GROUP = 64, 16
# How many times longer comparing a character takes: for each category of a class, which is looked up in the tables of
# Unicode; for a class with a map beyond Latin-1; and where case is ignored, which `re` does by a call for each
# character that is repeated
PER_CATEGORY, MAPPED, FOLDED = 6, 2, 8
UNREADABLE = (re.error, OverflowError, RecursionError)


class Reading(NamedTuple):
    """A pattern's syntax tree, and the microseconds that it may take to be compiled."""

    tree: Any
    cost: int


def reading(pattern: str) -> Reading | None:
    """None where the pattern is too long, or Python cannot read it."""
    return None if len(pattern) > MAX_PATTERN else _read(pattern)


@lru_cache(maxsize=4)  # a tree may take half a megabyte: it is asked for several times in a row
def _read(pattern: str) -> Reading | None:
    try:
        tree = parser.parse(pattern)
    except UNREADABLE:
        return None
    return Reading(tree, _cost(pattern, tree))


def compiling(pattern: str) -> int:
    """The microseconds that a pattern takes to be compiled if it is compiled at all, else those to read it."""
    return MAX_PATTERN if len(pattern) > MAX_PATTERN else _compiling(pattern)


@lru_cache(maxsize=4096)
def _compiling(pattern: str) -> int:
    read = reading(pattern)
    return len(pattern) if read is None else min(read.cost, MOST_COMPILING)


def slowness(pattern: str) -> int:
    """How many times longer than others the slowest class of a pattern takes to be compared with a character, at most.
    Of a text that somebody chose for it, all are compared with that."""
    return 1 if len(pattern) > MAX_PATTERN else _slowness(pattern)


@lru_cache(maxsize=4096)
def _slowness(pattern: str) -> int:
    read = reading(pattern)
    if read is None:
        return 1
    folded, most, stack = bool(read.tree.state.flags & re.IGNORECASE), 0, [read.tree]
    while stack:
        value = stack.pop()
        if isinstance(value, parser.SubPattern | list | tuple):
            most = max(most, PER_CATEGORY * _categories(value) + (MAPPED if _is_wide_class(value) else 0))
            folded |= _ignores_case(value)
            stack += value
    return 1 + most + (FOLDED if folded else 0)


def bytes_of_a_round(pattern: str) -> int:
    """The bytes that `re` keeps for each round of a repeated group, measured with those that it has in it; 0 where none
    is repeated."""
    return 0 if len(pattern) > MAX_PATTERN else _bytes_of_a_round(pattern)


@lru_cache(maxsize=4096)
def _bytes_of_a_round(pattern: str) -> int:
    read = reading(pattern)
    if read is None:
        return 0
    stack = [read.tree]
    while stack:
        value = stack.pop()
        if isinstance(value, tuple) and len(value) == 2 and value[0] in REPEATS and not is_one(value[1][2]):
            groups: int = read.tree.state.groups
            return BYTES_OF_A_ROUND + BYTES_OF_A_GROUP * groups
        stack += value if isinstance(value, parser.SubPattern | list | tuple) else ()
    return 0


def is_one(repeated: Any) -> bool:
    """Whether what is repeated is one character."""
    return len(repeated) == 1 and repeated[0][0] in SINGLE


def compiled(pattern: str) -> re.Pattern[str] | None:
    """None where it cannot be compiled, or not soon."""
    return None if len(pattern) > MAX_PATTERN else _compiled(pattern)


@lru_cache(maxsize=1024)  # one may take 0.1 MB
def _compiled(pattern: str) -> re.Pattern[str] | None:
    read = reading(pattern)
    if read is None or read.cost > MOST_COMPILING:
        return None
    try:
        return re.compile(pattern)
    except UNREADABLE:
        return None


def _cost(pattern: str, tree: Any) -> int:
    folded, cost, folding = bool(tree.state.flags & re.IGNORECASE), len(pattern) * PER_CHARACTER, 0
    stack: list[Any] = [tree]
    while stack:
        value = stack.pop()
        if isinstance(value, tuple) and value and value[0] is constants.RANGE:
            first, last = value[1]
            cost += PER_WIDE_RANGE if last > LATIN else 0
            folding += PER_FOLDED_RANGE + (last - first) // FOLDED_PER_MICROSECOND
        elif isinstance(value, parser.SubPattern | list | tuple):
            cost += PER_WIDE_CLASS if _is_wide_class(value) else 0
            folded |= _ignores_case(value)
            stack += value
    return cost + folding if folded else cost


def _ignores_case(value: Any) -> bool:
    """Whether this is a group with flags of its own, and one of them says so. Python takes each of them many times."""
    if not isinstance(value, tuple) or len(value) != 2 or value[0] is not constants.SUBPATTERN:
        return False
    _, added, _, _ = value[1]
    return bool(added & re.IGNORECASE)


def _categories(value: Any) -> int:
    """How many categories there are in a class, if this is one."""
    if not isinstance(value, tuple) or len(value) != 2 or value[0] is not constants.IN:
        return 0
    return sum(kind is constants.CATEGORY for kind, _ in value[1])


def _is_wide_class(value: Any) -> bool:
    """Whether this is a class with a single character beyond Latin-1."""
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and value[0] is constants.IN
        and any(kind is constants.LITERAL and code > LATIN for kind, code in value[1])
    )
