"""The names closest to one that is not there. As difflib finds them, among names that are few and short enough."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LETTERS = 64  # of a name that is compared
NAMES = 60  # that are compared, those most similar in length and letters


def close_matches(word: str, known: Iterable[str], n: int = 3, cutoff: float = 0.6) -> list[str]:
    """Up to `n` of the known names, the closest first. Comparing takes time quadratic in the length of a name."""
    if len(word) > LETTERS:
        return []
    likely = [name for name in known if len(name) <= LETTERS]
    if len(likely) > NAMES:
        letters = set(word)
        likely.sort(key=lambda name: (abs(len(name) - len(word)) - len(letters & {*name}), name))
    return get_close_matches(word, likely[:NAMES], n, cutoff)
