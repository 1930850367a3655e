"""How much work checks by schemas may take together: of one reply or message, and of one call by all rules.

Each check has its limit; without another one for all, thirty calls of a tool with a hostile schema hold up the loop,
and so does one call with sixty forms under six rules about a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

STEPS = 8_000  # as a single check counts them (tools/mcp/limits.py): 0.6 s at the most
RULE_STEPS = 30_000  # for the checks of one call by all rules, whose schemas are simpler: 0.3 s
_left: ContextVar[list[int] | None] = ContextVar("steps left for checks in a row", default=None)


@contextmanager
def checked_in_a_row(steps: int = STEPS) -> Iterator[None]:
    """Within it, checks share these steps; where others share theirs around it, no more than is left of those."""
    mine = steps_for_one(steps)
    left = [mine]
    token = _left.set(left)
    try:
        yield
    finally:
        _left.reset(token)
        count_steps(mine - left[0])


def steps_for_one(most: int) -> int:
    """How many steps the next check may take: `most` where it stands alone."""
    left = _left.get()
    return most if left is None else max(0, min(most, left[0]))


def count_steps(taken: int) -> None:
    """Takes the steps of a check from those of all in its row."""
    left = _left.get()
    if left is not None:
        left[0] -= taken
