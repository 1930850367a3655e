"""The record of every call by the app and every delivery to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Entry:
    """One exchange. `name` is a Web API method, or the kind of what was delivered."""

    at: float
    side: Literal["call", "delivery"]
    name: str
    sent: dict[str, Any]
    answer: Any
    note: str = ""


@dataclass(frozen=True)
class Refusal:
    """A payload that Slack would not take, and why."""

    method: str
    payload: dict[str, Any]
    problems: list[str]


class Journal:
    """Keeps the newest entries. Tokens never enter it."""

    def __init__(self, most: int = 20_000) -> None:
        self._entries: deque[Entry] = deque(maxlen=most)

    def write(self, entry: Entry) -> None:
        self._entries.append(entry)

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._entries))

    def as_json(self) -> list[dict[str, Any]]:
        return [asdict(entry) for entry in self]
