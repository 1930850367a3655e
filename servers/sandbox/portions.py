"""Many files in one call, where a bad one among them must not take the others along."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from servers.sandbox import calling
from servers.sandbox.calling import LATER, STOPPED, Job, Result, count

T = TypeVar("T")


@dataclass(frozen=True)
class Portions(Generic[T]):
    """How many files are given to one call, and for how many seconds calls are made."""

    job: Callable[[list[T]], Job]
    at_once: int
    seconds: float = 25.0

    def results(self, files: list[T]) -> Iterator[tuple[list[T], Result]]:
        """The result for each portion, or for the first files of it that its task went `through`: the others come next.
        Those that it calls `late` come once more at the end, each alone. Where one is stopped, its files are opened
        alone: none is to blame before.

        When the time is over, what is left is not begun, but for a first one.
        """
        deadline, told = time.monotonic() + self.seconds, False
        left = [files[at : at + self.at_once] for at in range(0, len(files), self.at_once)][::-1]
        while left:
            some = left.pop()
            result = _checked(self.job(some)) if time.monotonic() < deadline or not told else LATER
            if result.stopped and result.begun and len(some) > 1:
                left += [[file] for file in reversed(some)]
                continue
            through, late = _progress(result.told, len(some))
            left += [some[through:]] if some[through:] else []
            left[:0] = [[some[number]] for number in late]
            told = True
            yield some[:through], result


def _checked(job: Job) -> Result:
    """The result of a task over several files, which counts as stopped where what it went through makes no sense."""
    result = calling.SANDBOX.call(job)
    try:
        _progress(result.told, len(job.blobs))
    except (ValueError, TypeError):
        return STOPPED
    return result


def _progress(told: dict[str, Any], many: int) -> tuple[int, list[int]]:
    """How many of so many files a task went through, and the numbers of those that it puts off: of several, not of one.
    Raises ValueError and TypeError for anything else."""
    through = count(told.get("through", many), many)
    late = sorted({count(number, through - 1) for number in told.get("late", ())}, reverse=True)
    if not through or (late and many == 1):
        raise ValueError("no progress")
    return through, late
