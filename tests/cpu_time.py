"""CPU time of a piece of work, in seconds of the machine on which the limits of the tests were set.

A machine that is slow, or whose cores others use, takes two or three times as long for the same work. So what is
over its limit is held against a fixed piece of work that is timed right after it, in the same thread, and for as long:
the best of a few short tries finds the machine at its quickest, which the work had not all the time."""

from __future__ import annotations

import gc
import json
import math
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

REFERENCE = 0.0098  # seconds of `fixed_work` on a quiet machine: the best of 300, AMD EPYC, Python 3.11
WORDS = re.compile(r"\w+|[^\w\s]")
TEXT = "select a.name, count(*) from orders a join people b on a.id = b.id where b.city in ('x', 'y') " * 12


def fixed_work() -> int:
    """What most of the product's own work is made of: patterns, texts, dicts, JSON and plain loops."""
    counts: dict[str, int] = {}
    for _ in range(24):
        for found in WORDS.finditer(TEXT):
            word = found.group().casefold()
            counts[word] = counts.get(word, 0) + len(word)
        json.loads(json.dumps([{"name": word, "count": count} for word, count in counts.items()]))
    return sum(number * number % 7 for number in range(120_000)) + len(counts)


def slowness(lasting: float = 0.0) -> float:
    """How many times longer this thread takes for the same work than on the reference machine, over as many CPU seconds
    as `lasting` says, at most 3; at least 1: a quicker machine makes no limit stricter."""
    spent, runs = 0.0, 0
    while runs < 3 or spent < min(lasting, 3):
        spent, runs = spent + _taken(fixed_work), runs + 1
    return max(1.0, spent / runs / REFERENCE)


def cpu_seconds(run: Callable[[], object], tries: int = 1) -> float:
    """CPU seconds of this thread on this machine, the best of several tries: for what is compared in one test. Without
    the garbage collector, which takes the longer the more tests ran before."""
    with _uncollected():
        return min(_taken(run) for _ in range(tries))


def seconds(run: Callable[[], object], tries: int = 1, enough: float = 0.0) -> float:
    """The same in seconds of the reference machine; of several tries until one takes less than `enough`, which is all
    that a test of a limit has to know."""
    best = math.inf
    with _uncollected():
        for _ in range(tries):
            taken = _taken(run)
            best = min(best, taken if taken < enough else taken / slowness(taken))
            if best < enough:
                break
    return best


def _taken(run: Callable[[], object]) -> float:
    begun = time.thread_time()
    run()
    return time.thread_time() - begun


@contextmanager
def _uncollected() -> Iterator[None]:
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@contextmanager
def within(limit: float, clock: Callable[[], float] = time.thread_time) -> Iterator[None]:
    """Fails when what is done meanwhile takes `limit` seconds of the reference machine or more: of this thread, or of
    all of this process (`time.process_time`). Without the garbage collector, as above."""
    with _uncollected():
        begun = clock()
        yield
        taken = clock() - begun
    assert taken < limit or taken / slowness(taken) < limit, f"{taken:.3f} s on this machine"
