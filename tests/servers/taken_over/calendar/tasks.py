"""A process that a calendar has taken over: it tells of more problems, and of longer ones, than there are."""

from __future__ import annotations

from typing import Any

from tests.servers.taken_over import Answer


def between(*files: bytes, **args: Any) -> Answer:
    return {"found": [], "problems": ["x" * 1_000_000, *["y"] * 100_000]}, b""


TASKS = {"between": between}
