"""The names closest to one that is not there. As difflib finds them, among names that are few and short enough."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from gate.rules.checks_in_a_row import count_steps, steps_for_one

LETTERS = 64  # of a name that is compared
NAMES = 60  # that are compared, those most similar in length and letters
# Pairs of letters that are compared, and names that are put in order, in the time of one step
PAIRS_PER_STEP, NAMES_PER_STEP = 1_200, 30


def close_matches(word: str, known: Iterable[str], n: int = 3, cutoff: float = 0.6) -> list[str]:
    """Up to `n` of the known names, the closest first. Comparing takes time quadratic in the length of a name: where
    checks in a row have no steps left, none is found."""
    if len(word) > LETTERS or not steps_for_one(1):
        return []
    likely = [name for name in known if len(name) <= LETTERS]
    if len(likely) > NAMES:
        letters = set(word)
        likely.sort(key=lambda name: (abs(len(name) - len(word)) - len(letters & {*name}), name))
    compared = likely[:NAMES]
    count_steps(len(word) * sum(map(len, compared)) // PAIRS_PER_STEP + len(likely) // NAMES_PER_STEP)
    return get_close_matches(word, compared, n, cutoff)
