"""Warnings about what one server sends, which may be wrong thousands of times a second."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from dataclasses import dataclass, field
from math import inf

REPORT_SECONDS = 60.0


@dataclass(slots=True)
class _Said:
    at: float = -inf
    since: int = 0  # how often it was not said since then


@dataclass(frozen=True, slots=True)
class RareWarnings:
    """Each of them at once, and then every REPORT_SECONDS at most, with how often it came meanwhile."""

    log: logging.Logger
    _said: dict[str, _Said] = field(default_factory=lambda: defaultdict(_Said))

    def say(self, warning: str, *args: object) -> None:
        """`warning` is a text of ours, which `args` complete: it is told apart by itself alone."""
        said, now = self._said[warning], time.monotonic()
        if now - said.at < REPORT_SECONDS:
            said.since += 1
            return
        more = f" ({said.since:,} more like this since the last one)" if said.since else ""
        said.at, said.since = now, 0
        self.log.warning(warning + more, *args)
