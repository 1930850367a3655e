"""Regular expressions out of schemas, run only where they are sure to end soon.

A worker with a time limit was the alternative: it costs a process, and its answer would depend on the machine's
load. Here a pattern is measured once by its own syntax: how fast its work can grow with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

# Python's own parser of patterns: undocumented, and the one that decides what `re` will do.
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

WORK = 10_000_000  # steps of the matcher, about a second at most
LONG = 100  # a repeat up to this often counts as constant
NEVER = 99  # a degree that no text is short enough for


def matches(pattern: str, text: str) -> bool | None:
    """Whether the pattern is found in the text; None when that cannot be said safely.

    None means: not Python's syntax (JSON Schema means ECMAScript's), or work that might not end soon.
    """
    compiled, degree = _measured(pattern)
    if compiled is None or max(len(text), 2) ** degree > WORK:
        return None
    return compiled.search(text) is not None


def always_checkable(pattern: str, length: int) -> bool:
    """Whether the pattern can be answered for every text up to `length`: what an operator's rule needs."""
    compiled, degree = _measured(pattern)
    return compiled is not None and length**degree <= WORK


@lru_cache(maxsize=4096)
def _measured(pattern: str) -> tuple[re.Pattern[str] | None, int]:
    try:
        compiled = re.compile(pattern)
        parsed = parser.parse(pattern)
    except (re.error, OverflowError, RecursionError):
        return None, NEVER
    anchored = bool(parsed) and parsed[0][0] is constants.AT
    return compiled, min(NEVER, _degree(parsed) + (0 if anchored else 1))


def _degree(parsed: Iterable[Any]) -> int:
    """How often an unbounded repeat follows another: n ** degree bounds the backtracking over n characters."""
    total = 0
    for kind, value in parsed:
        if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            low, high, body = value
            inner = _degree(body)
            varies = high > LONG or low > LONG
            if varies and (inner or _chooses(body)):
                return NEVER  # a choice inside a repeat: exponential
            total += inner * min(int(high), NEVER) + (1 if varies else 0)
        elif kind is constants.BRANCH:
            total += max(_degree(branch) for branch in value[1])
        elif kind is constants.SUBPATTERN:
            total += _degree(value[-1])
        elif kind in (constants.ASSERT, constants.ASSERT_NOT):
            total += _degree(value[1])
        elif kind in (constants.GROUPREF, constants.GROUPREF_EXISTS):
            return NEVER
        elif kind in (constants.ATOMIC_GROUP, constants.POSSESSIVE_REPEAT):
            total += 1
    return min(total, NEVER)


def _chooses(parsed: Iterable[Any]) -> bool:
    """Whether there is more than one way through: a branch, or a repeat that may stop early."""
    for kind, value in parsed:
        if kind is constants.BRANCH:
            return True
        if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            low, high, body = value
            if low != high or _chooses(body):
                return True
        if kind is constants.SUBPATTERN and _chooses(value[-1]):
            return True
        if kind in (constants.ASSERT, constants.ASSERT_NOT) and _chooses(value[1]):
            return True
    return False
