"""A process that a document has taken over: it gives 36 MB of text with a wide sign in it, or says too much of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.servers.taken_over import Answer

TEXT = b"x" * (32 << 20) + "😀".encode()


def text(data: bytes, **args: Any) -> Answer:
    if data.startswith(b"says "):
        return {"pages": 0, "guessed": "x" * int(data.split()[1])}, b"some text"
    return {"pages": 0, "guessed": ""}, b"\xff" if data == b"no text" else TEXT


def compare(first: bytes, second: bytes, endings: Sequence[str], **args: Any) -> Answer:
    return {"added": 1, "removed": 0, "changed": 0, "found": [{}, {}], "guessed": ["", ""]}, TEXT


TASKS = {"text": text, "compare": compare}
