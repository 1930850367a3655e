"""How much work the checks of several calls by their schemas may take together: those of one reply of a model.

Each check has its limit; without another one for all, thirty calls of a tool with a hostile schema hold up the loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

STEPS = 8_000  # as a single check counts them (tools/mcp/limits.py): 0.6 s at the most
_left: ContextVar[list[int] | None] = ContextVar("steps left for checks in a row", default=None)


@contextmanager
def checked_in_a_row() -> Iterator[None]:
    """Within it, checks share these steps."""
    token = _left.set([STEPS])
    try:
        yield
    finally:
        _left.reset(token)


def steps_for_one(most: int) -> int:
    """How many steps the next check may take: `most` where it stands alone."""
    left = _left.get()
    return most if left is None else max(0, min(most, left[0]))


def count_steps(taken: int) -> None:
    """Takes the steps of a check from those of all in its row."""
    left = _left.get()
    if left is not None:
        left[0] -= taken
