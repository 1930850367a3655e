"""Regular expressions from schemas, searched only where that is certain to end soon.

The alternative, a worker with a time limit, costs a process, and its answer would depend on the load of the machine.
Here a pattern's syntax gives the degree by which its work grows with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

# Python's own parser of patterns: undocumented, and the one that decides what `re` will do.
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from tools.mcp.limits import PATTERN_WORK as WORK

CHARS_PER_STEP = 4_000  # characters searched in the time of one step of a schema
MAX_CONSTANT_REPEAT = 100  # a repeat up to this often counts as constant
UNBOUNDED = 99  # the degree of a pattern that no text is short enough for


def matches(pattern: str, text: str) -> bool | None:
    """Whether the pattern is found in the text; None when that cannot be decided safely.

    None means: not Python's syntax (JSON Schema uses ECMAScript's), or work that might not end soon.
    """
    compiled, degree = _compiled(pattern)
    if compiled is None or max(len(text), 2) ** degree > WORK:
        return None
    return compiled.search(text) is not None


def search_steps(pattern: str, text: str) -> int:
    """The steps of a schema validation that searching the text for the pattern counts for."""
    compiled, degree = _compiled(pattern)
    work = max(len(text), 2) ** min(degree, 12)
    return 1 if compiled is None or work > WORK else 1 + work // CHARS_PER_STEP


def always_checkable(pattern: str, length: int) -> bool:
    """Whether the pattern can be searched in every text of up to `length` characters, as rules of operators
    require."""
    compiled, degree = _compiled(pattern)
    return compiled is not None and length**degree <= WORK


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> tuple[re.Pattern[str] | None, int]:
    try:
        compiled = re.compile(pattern)
        parsed = parser.parse(pattern)
    except (re.error, OverflowError, RecursionError):
        return None, UNBOUNDED
    anchored = bool(parsed) and parsed[0][0] is constants.AT
    return compiled, min(UNBOUNDED, _degree(parsed) + (0 if anchored else 1))


def _degree(parsed: Iterable[Any]) -> int:
    """How often an unbounded repeat follows another: n ** degree bounds the backtracking over n characters."""
    total = 0
    for kind, value in parsed:
        if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            low, high, body = value
            inner = _degree(body)
            is_unbounded = high > MAX_CONSTANT_REPEAT or low > MAX_CONSTANT_REPEAT
            if is_unbounded and (inner or _has_choice(body)):
                return UNBOUNDED  # a choice inside a repeat: exponential
            total += inner * min(int(high), UNBOUNDED) + (1 if is_unbounded else 0)
        elif kind is constants.BRANCH:
            total += max(_degree(branch) for branch in value[1])
        elif kind is constants.SUBPATTERN:
            total += _degree(value[-1])
        elif kind in (constants.ASSERT, constants.ASSERT_NOT):
            total += _degree(value[1])
        elif kind in (constants.GROUPREF, constants.GROUPREF_EXISTS):
            return UNBOUNDED
        elif kind in (constants.ATOMIC_GROUP, constants.POSSESSIVE_REPEAT):
            total += 1
    return min(total, UNBOUNDED)


def _has_choice(parsed: Iterable[Any]) -> bool:
    """Whether there is more than one way to match: a branch, or a repeat that may end early."""
    for kind, value in parsed:
        if kind is constants.BRANCH:
            return True
        if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            low, high, body = value
            if low != high or _has_choice(body):
                return True
        if kind is constants.SUBPATTERN and _has_choice(value[-1]):
            return True
        if kind in (constants.ASSERT, constants.ASSERT_NOT) and _has_choice(value[1]):
            return True
    return False
