"""Slack's rate tiers, enforced when asked: how long a call has to wait."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Mapping

from workspace.state import Clock

# calls per window of 60 seconds
TIERS: Mapping[str, int] = {
    "chat.update": 50,
    "chat.delete": 50,
    "conversations.replies": 50,
    "conversations.history": 50,
    "agents.sessions.setStatus": 50,
    "reactions.add": 50,
    "chat.postEphemeral": 100,
    "views.open": 100,
    "views.push": 100,
    "views.update": 100,
    "views.publish": 100,
    "users.info": 100,
}
POSTS_PER_CHANNEL = 5  # a short burst; then one each second


class Rates:
    """A sliding window per method, and one per channel for posts."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._calls: defaultdict[tuple[str, str], deque[float]] = defaultdict(deque)

    def wait(self, method: str, channel: str) -> int:
        """Whole seconds to wait before this call would be taken; 0 takes it, and counts it."""
        if method == "chat.postMessage":
            return self._count((method, channel), POSTS_PER_CHANNEL, float(POSTS_PER_CHANNEL))
        most = TIERS.get(method)
        return self._count((method, ""), most, 60.0) if most else 0

    def _count(self, key: tuple[str, str], most: int, window: float) -> int:
        now, calls = self._clock(), self._calls[key]
        while calls and calls[0] <= now - window:
            calls.popleft()
        if len(calls) >= most:
            return max(1, math.ceil(calls[0] + window - now))
        calls.append(now)
        return 0
