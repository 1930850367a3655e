"""Texts that are nearly the same, which may be chosen to take long to compare. Runs in the sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rapidfuzz.distance import Indel

WINDOW = 8  # texts next to each other in order that are held against each other
_NO_DIGIT = re.compile(r"\D+")


def leaders(texts: Sequence[str], share: float) -> list[int]:
    """For each text, the number of the first that it is put together with.

    Texts are alike whose similarity is at least `share`: the normalized indel similarity, twice the length of their
    longest common subsequence over the sum of their lengths.
    """
    leader = list(range(len(texts)))

    def first(at: int) -> int:
        while leader[at] != at:
            leader[at] = at = leader[leader[at]]
        return at

    digits = [_NO_DIGIT.sub("", text) for text in texts]
    for one, other in _neighbours(texts):
        # Numbers must be the same: 2025 and 2026 are no typing error.
        if digits[one] != digits[other] or first(one) == first(other):
            continue
        if Indel.normalized_similarity(texts[one], texts[other], score_cutoff=share) >= share:
            low, high = sorted((first(one), first(other)))
            leader[high] = low
    return [first(at) for at in range(len(texts))]


def _neighbours(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs of texts that stand near each other in order, read from the front and from the end: so a typing error is
    found at either of them."""
    forwards = sorted(range(len(texts)), key=lambda at: texts[at])
    backwards = sorted(range(len(texts)), key=lambda at: texts[at][::-1])
    for order in (forwards, backwards):
        for n, one in enumerate(order):
            yield from ((one, other) for other in order[n + 1 : n + 1 + WINDOW])
