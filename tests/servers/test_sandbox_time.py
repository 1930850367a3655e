"""The limit on the time that a file may take within the process that reads it."""

from __future__ import annotations

import time

import pytest

from servers.sandbox.protocol import AGAIN, OutOfTime, time_limit

LIMIT = 0.05  # seconds of CPU


def compute(seconds: float) -> None:
    ends = time.process_time() + seconds
    while time.process_time() < ends:
        pass


class Slow:
    """Computes for longer than the limit where Python loses what is raised."""

    def __del__(self) -> None:
        compute(4 * LIMIT)


def lose_and_go_on() -> None:
    Slow()
    compute(20 * AGAIN)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_limit_that_is_lost_in_a_finalizer_is_raised_again() -> None:
    with pytest.raises(OutOfTime), time_limit(LIMIT):
        lose_and_go_on()


def test_nothing_is_raised_after_a_limit_that_was_kept() -> None:
    with time_limit(LIMIT):
        compute(LIMIT / 10)
    compute(2 * LIMIT)
