"""What the tests of limits on CPU time are held against."""

from __future__ import annotations

from itertools import cycle

import pytest

from tests import cpu_time
from tests.cpu_time import cpu_seconds, fixed_work, seconds, slowness, within


def piece() -> None:
    """What is timed by the clock of a test, which no other process makes later."""


SECONDS = {fixed_work: cpu_time.REFERENCE, piece: 0.3}


def times(number: int) -> None:
    for _ in range(number):
        fixed_work()


def test_a_machine_of_half_the_speed_takes_half_of_its_own_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_time, "_taken", lambda run: 2 * SECONDS[run])
    assert slowness() == 2
    assert slowness(lasting=1) == pytest.approx(2)
    assert seconds(piece, 3) == pytest.approx(SECONDS[piece])


def test_a_machine_is_as_slow_as_over_all_of_the_work_and_not_as_at_its_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = cycle([1, 1, 1, 5])
    monkeypatch.setattr(cpu_time, "_taken", lambda run: next(turns) * cpu_time.REFERENCE)
    assert slowness(lasting=80 * cpu_time.REFERENCE) == pytest.approx(2)


def test_a_quicker_machine_makes_no_limit_stricter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_time, "REFERENCE", 60.0)
    assert slowness() == 1


@pytest.mark.slow
def test_what_takes_longer_than_its_limit_on_the_same_machine_fails() -> None:
    limit = cpu_seconds(fixed_work, 20) * 10 / slowness()
    with pytest.raises(AssertionError, match="on this machine"), within(limit):
        times(30)
    assert seconds(lambda: times(30), 3, limit) > limit
