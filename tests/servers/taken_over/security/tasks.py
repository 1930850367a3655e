"""A process that a file has taken over: it finds a text that is longer than all that it was given."""

from __future__ import annotations

from typing import Any

from tests.servers.taken_over import Answer


def find(*files: bytes, **args: Any) -> Answer:
    long = "x" * 200_000
    found: list[Any] = [[[1, long, "certain", "x"]] if data == b"long" else [] for data in files]
    return {"found": found, "partly": [long for _ in files]}, b""


TASKS = {"find": find}
