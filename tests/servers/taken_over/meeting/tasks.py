"""A process that notes have taken over: it gives minutes in which nothing is what it should be."""

from __future__ import annotations

from typing import Any

from tests.servers.taken_over import Answer


def minutes(text: bytes, **args: Any) -> Answer:
    return {"attendees": [0] * 490_000}, b""


TASKS = {"minutes": minutes}
