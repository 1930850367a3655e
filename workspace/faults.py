"""What can go wrong on demand, on both sides: calls that the app makes, and deliveries to the app."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class RateLimited:
    """HTTP 429 with Retry-After in seconds."""

    retry_after: int = 1


@dataclass(frozen=True)
class ServerError:
    """HTTP 500."""


@dataclass(frozen=True)
class BadGateway:
    """HTTP 502 with a page of HTML."""


@dataclass(frozen=True)
class Dropped:
    """The connection breaks, before or after the call took effect."""

    accepted: bool = False


@dataclass(frozen=True)
class Silent:
    """No answer until the workspace stops."""

    accepted: bool = False


@dataclass(frozen=True)
class Slow:
    """The right answer, late."""

    seconds: float = 1.0


@dataclass(frozen=True)
class Refused:
    """`{"ok": false}` with this error code, for example `ratelimited` or `channel_not_found`."""

    error: str


Fault = RateLimited | ServerError | BadGateway | Dropped | Silent | Slow | Refused
# twice: two receivers (or one, doubled) get it at the same time. late: delivered again after it was
# answered well. everywhere: every connection or URL gets it.
Doubling = Literal["twice", "late", "everywhere"]


class Faults:
    """A script: each fault is used up once per `times`, in the order it was written."""

    def __init__(self) -> None:
        self._calls: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self._deliveries: defaultdict[str, deque[Doubling]] = defaultdict(deque)
        self.refuse_handshakes = 0

    def on(self, method: str, fault: Fault, times: int = 1) -> None:
        """The next `times` calls of this Web API method (`*`: any; `response_url`) meet the fault."""
        self._calls[method].extend([fault] * times)

    def deliver(self, kind: str, how: Doubling, times: int = 1) -> None:
        """The next deliveries are doubled. Kind: an event type, block_actions, view_submission,
        view_closed, slash_commands, or `*`."""
        self._deliveries[kind].extend([how] * times)

    def take(self, method: str) -> Fault | None:
        queue = self._calls[method] or self._calls["*"]
        return queue.popleft() if queue else None

    def take_delivery(self, kind: str) -> Doubling | None:
        queue = self._deliveries[kind] or self._deliveries["*"]
        return queue.popleft() if queue else None
