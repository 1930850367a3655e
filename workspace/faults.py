"""Errors of Slack's Web API and of its client, and injected faults: in calls, and duplicates of deliveries."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal


class SlackError(Exception):
    """An error response of the Web API. `problems` become `errors` and `response_metadata.messages`."""

    def __init__(self, code: str, problems: Sequence[str] = (), **extra: Any) -> None:
        super().__init__(code)
        self.code, self.problems, self.extra = code, list(problems), extra

    def body(self) -> dict[str, Any]:
        found: dict[str, Any] = {"ok": False, "error": self.code, **self.extra}
        if self.problems:
            found["errors"] = self.problems
            found["response_metadata"] = {"messages": [f"[ERROR] {p}" for p in self.problems]}
        return found


class NotPossible(Exception):
    """Slack's client does not offer this to the person; the message says why."""


@dataclass(frozen=True)
class RateLimited:
    """HTTP 429 with Retry-After in seconds."""

    retry_after: int = 1


@dataclass(frozen=True)
class ServerError:
    """HTTP 500."""


@dataclass(frozen=True)
class BadGateway:
    """HTTP 502 with an HTML body."""


@dataclass(frozen=True)
class Dropped:
    """The connection is closed without a response; `accepted`: after the call took effect."""

    accepted: bool = False


@dataclass(frozen=True)
class Silent:
    """No response until the workspace stops; `accepted`: the call takes effect."""

    accepted: bool = False


@dataclass(frozen=True)
class Slow:
    """The correct response after a delay."""

    seconds: float = 1.0


@dataclass(frozen=True)
class Refused:
    """`{"ok": false}` with this error code, for example `ratelimited` or `channel_not_found`."""

    error: str


Fault = RateLimited | ServerError | BadGateway | Dropped | Silent | Slow | Refused
# twice: to two receivers (or to one, twice) at the same time. late: again after a successful response.
# everywhere: to every connection or URL.
Duplication = Literal["twice", "late", "everywhere"]


class Faults:
    """Queues of faults, used in the order in which they were added, each `times` times."""

    def __init__(self) -> None:
        self._calls: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self._deliveries: defaultdict[str, deque[Duplication]] = defaultdict(deque)
        self.refuse_handshakes = 0

    def on(self, method: str, fault: Fault, times: int = 1) -> None:
        """The next `times` calls of a Web API method, `response_url` or `*` (any) fail this way."""
        self._calls[method].extend([fault] * times)

    def duplicate(self, kind: str, duplication: Duplication, times: int = 1) -> None:
        """The next `times` deliveries are duplicated. `kind`: an event type, block_actions, view_submission,
        view_closed, slash_commands, or `*`."""
        self._deliveries[kind].extend([duplication] * times)

    def next_call_fault(self, method: str) -> Fault | None:
        queue = self._calls[method] or self._calls["*"]
        return queue.popleft() if queue else None

    def next_duplication(self, kind: str) -> Duplication | None:
        queue = self._deliveries[kind] or self._deliveries["*"]
        return queue.popleft() if queue else None
