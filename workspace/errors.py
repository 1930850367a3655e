"""Errors of Slack's Web API and of Slack's client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


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
