"""What the tests of limits on CPU time are held against."""

from __future__ import annotations

import pytest

from tests import cpu_time
from tests.cpu_time import cpu_seconds, fixed_work, seconds, slowness, within


def times(number: int) -> None:
    for _ in range(number):
        fixed_work()


@pytest.mark.slow
def test_a_machine_of_half_the_speed_takes_half_of_its_own_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    here = cpu_seconds(fixed_work, 20)
    monkeypatch.setattr(cpu_time, "REFERENCE", here / 2)
    assert 1.5 < slowness() < 3
    assert 0.6 * here < seconds(lambda: times(2), 10) < 1.6 * here


def test_a_quicker_machine_makes_no_limit_stricter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_time, "REFERENCE", 60.0)
    assert slowness() == 1


@pytest.mark.slow
def test_what_takes_longer_than_its_limit_on_the_same_machine_fails() -> None:
    limit = cpu_seconds(fixed_work, 20) * 10 / slowness()
    with pytest.raises(AssertionError, match="on this machine"), within(limit):
        times(30)
    assert seconds(lambda: times(30), 3, limit) > limit
