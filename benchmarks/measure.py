"""Percentiles, output lines with baseline and goal, and the state of the machine."""

from __future__ import annotations

import math
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def percentile(values: Sequence[float], rank: float) -> float:
    """The nearest-rank percentile; NaN without values."""
    if not values:
        return math.nan
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * rank / 100) - 1)]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


@dataclass(frozen=True)
class Row:
    """One figure. `goal`: its maximum, or with `least` its minimum, in the same unit."""

    what: str
    value: float
    unit: str = "ms"
    n: int = 1
    baseline: float | None = None
    goal: float | None = None
    least: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        met = self.value >= self.goal if self.least else self.value <= self.goal
        return f"{'≥' if self.least else '≤'} {shown(self.goal)} {self.unit}: {'met' if met else 'MISSED'}"


HEAD = ("", "value", "n", "baseline", "ratio", "goal", "")
WIDTHS = (44, 14, 7, 14, 8, 22, 0)


def shown(value: float) -> str:
    """Three significant digits; more only before the decimal point."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def line(row: Row) -> str:
    base = row.baseline
    cells = (
        row.what,
        f"{shown(row.value)} {row.unit}",
        str(row.n),
        "" if base is None else f"{shown(base)} {row.unit}",
        "" if not base else f"{row.value / base:.1f} ×",
        row.verdict,
        row.note,
    )
    return _laid_out(cells)


def heading(title: str) -> str:
    return f"\n{title}\n{_laid_out(HEAD)}"


def _laid_out(cells: Sequence[str]) -> str:
    texts = (
        cell.ljust(width) if place == 0 else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells[:-1], WIDTHS, strict=False))
    )
    return ("  ".join(texts) + "  " + cells[-1]).rstrip()


def machine() -> str:
    """The machine and its load average; with a load above about 0.5 the figures are noisy."""
    model = next((said for said in _lines("/proc/cpuinfo") if said.startswith("model name")), "").partition(
        ": "
    )[2]
    cores, load = os.cpu_count(), os.getloadavg()[0]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    kind = model or platform.machine()
    return (
        f"{kind}, {cores} cores, Python {version}; load before the start {load:.1f}; fsync {fsync():.2f} ms"
    )


def fsync(times: int = 50) -> float:
    """Milliseconds of one small write with fsync, on the disk of the databases."""
    took: list[float] = []
    with tempfile.TemporaryFile() as file:
        for _ in range(times):
            with timed(took):
                file.write(b"x" * 512)
                file.flush()
                os.fsync(file.fileno())
    return median(took)


@contextmanager
def timed(into: list[float]) -> Iterator[None]:
    """Adds the milliseconds of the block."""
    begun = time.perf_counter()
    yield
    into.append((time.perf_counter() - begun) * 1000)


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def cpu_seconds(pid: int) -> float:
    """CPU seconds of this process with its threads, without child processes."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_kb(pid: int) -> int:
    """The anonymous memory of the process."""
    return int(next(said for said in _lines(f"/proc/{pid}/status") if said.startswith("RssAnon")).split()[1])
