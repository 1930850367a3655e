"""The names closest to one that is not there."""

from __future__ import annotations

import random

import pytest

from gate.rules.close_names import NAMES, close_matches

OTHERS = [
    f"{first}{second}xyzw" for first in "bcfghjk" for second in "aiouvmnpqrs"
]  # as long as the one meant


@pytest.mark.parametrize("seed", range(20))
def test_a_slip_finds_its_name_among_many_in_whatever_order_they_come(seed: int) -> None:
    assert len(OTHERS) > NAMES
    known = [*OTHERS, "delete"]
    random.Random(seed).shuffle(known)
    assert close_matches("delte", known, 1) == ["delete"]


def test_a_name_too_long_to_compare_is_close_to_none() -> None:
    assert close_matches("x" * 65, ["x" * 64]) == []
