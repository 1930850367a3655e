"""Reads the regular expressions of schemas, and compiles those that certainly do not take long to be compiled."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
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
CLASS = {constants.IN}
REPEATS = {constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT}
BYTES_OF_A_ROUND, BYTES_OF_A_GROUP = 64, 16
# How many times longer comparing a character takes: for each category of a class, which is looked up in the tables of
# Unicode; for a class with a map beyond Latin-1; and where case is ignored, which `re` does by a call for each
# character that is repeated
PER_CATEGORY, PER_MAP, FOLDED = 6, 2, 8
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
    return _measured(pattern).slowness


def bytes_of_a_round(pattern: str) -> int:
    """The bytes that `re` keeps for each round of a repeated group, measured with those that it has in it; 0 where none
    is repeated."""
    return _measured(pattern).bytes_of_a_round


class _Measures(NamedTuple):
    slowness: int = 1
    bytes_of_a_round: int = 0


def _measured(pattern: str) -> _Measures:
    return _Measures() if len(pattern) > MAX_PATTERN else _of_tree(pattern)


@lru_cache(maxsize=4096)
def _of_tree(pattern: str) -> _Measures:
    if (read := reading(pattern)) is None:
        return _Measures()
    folded, slowest, kept = bool(read.tree.state.flags & re.IGNORECASE), 0, 0
    for part in _parts(read.tree):
        if _is_op(part, CLASS):
            categories = sum(kind is constants.CATEGORY for kind, _ in part[1])
            slowest = max(slowest, PER_CATEGORY * categories + (PER_MAP if _is_wide_class(part) else 0))
        elif _is_op(part, REPEATS) and not is_one(part[1][2]):
            kept = BYTES_OF_A_ROUND + BYTES_OF_A_GROUP * read.tree.state.groups
        folded |= _ignores_case(part)
    return _Measures(1 + slowest + (FOLDED if folded else 0), kept)


def _parts(tree: Any) -> Iterator[Any]:
    """Everything in a syntax tree, at any depth."""
    stack = [tree]
    while stack:
        value = stack.pop()
        yield value
        if isinstance(value, parser.SubPattern | list | tuple):
            stack += value


def _is_op(value: Any, ops: Collection[Any]) -> bool:
    """Whether this is one of these operations with its argument. They are numbers to Python, as characters are: the
    range from `,` to `z` begins as a repetition does."""
    return isinstance(value, tuple) and len(value) == 2 and any(value[0] is op for op in ops)


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
    for part in _parts(tree):
        if _is_op(part, {constants.RANGE}):
            first, last = part[1]
            cost += PER_WIDE_RANGE if last > LATIN else 0
            folding += PER_FOLDED_RANGE + (last - first) // FOLDED_PER_MICROSECOND
        cost += PER_WIDE_CLASS if _is_wide_class(part) else 0
        folded |= _ignores_case(part)
    return cost + folding if folded else cost


def _ignores_case(value: Any) -> bool:
    """Whether this is a group with flags of its own, and one of them says so. Python takes each of them many times."""
    if not _is_op(value, {constants.SUBPATTERN}):
        return False
    _, added, _, _ = value[1]
    return bool(added & re.IGNORECASE)


def _is_wide_class(value: Any) -> bool:
    """Whether this is a class with a single character beyond Latin-1."""
    return _is_op(value, CLASS) and any(kind is constants.LITERAL and code > LATIN for kind, code in value[1])
