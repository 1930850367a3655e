"""Tasks that answer what a file has them answer, as code would that has taken over their process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

Answer = tuple[dict[str, Any], bytes]
HEAD = {
    "records": 1, "groups": 1, "unique": 1, "assumed": [], "compared": [], "keep": [], "columns": ["a"], "missing": 0,
    "more": False,
}  # fmt: skip
BODIES: dict[str, Callable[[], bytes]] = {
    "lists": lambda: b"[" + b"[]," * 10_000_000 + b"[]]",
    "fewer lists": lambda: b"[" + b"[]," * 1_000_000 + b"[]]",
    "one long text": lambda: b'["' + b"x" * (100 << 20) + b'"]',
    "lines": lambda: b"[]\n" * 10_000_000,
    "names": lambda: b"{" + b",".join(b'"%d":0' % n for n in range(500_000)) + b"}",
    "another thing": lambda: b"[7]",
    "no text": lambda: b"\xff\xfe",
}


class Lies(dict[str, Callable[..., Answer]]):
    """Every task there is. Each answers with the one of BODIES whose name is in the file."""

    def __missing__(self, name: str) -> Callable[..., Answer]:
        return lie


def lie(*blobs: bytes, files: Sequence[int] = (), **args: Any) -> Answer:
    data = os.pread(files[0], 1 << 20, 0) if files else blobs[0]
    return HEAD, next(body() for name, body in BODIES.items() if b"<%s>" % name.encode() in data)
