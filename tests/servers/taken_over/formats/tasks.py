"""A process that a document has taken over: it gives 36 MB of text with a wide sign in it, or says too much of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.servers.taken_over import Answer

TEXT = b"x" * (32 << 20) + "😀".encode()


def text(data: bytes, **args: Any) -> Answer:
    if data.startswith(b"says "):
        return {"pages": 0, "sheets": [], "guessed": "x" * int(data.split()[1])}, b"some text"
    return {"pages": 0, "sheets": [], "guessed": ""}, b"\xff" if data == b"no text" else TEXT


def compare(first: bytes, second: bytes, endings: Sequence[str], **args: Any) -> Answer:
    counts = {"added": 1, "removed": 0, "changed": 0}
    return {**counts, "sheets": [], "found": [{}, {}], "guessed": ["", ""]}, TEXT


PAGE = {"number": 1, "words": 1, "sure": 0.9, "turned": 0, "skew": 0.0}
FIELD = b'{"label": "a", "value": "b", "confidence": 1}'
PAGES: dict[str, tuple[object, bytes]] = {
    "no page": ([], b"[[], []]"),
    "two pages": ([PAGE] * 2, b"[[], []]"),
    "very many pages": ([PAGE] * 500, b"[[], []]"),
    "no number": ([PAGE | {"skew": "much"}], b"[[], []]"),
    "a huge number": ([PAGE | {"words": 1 << 80}], b"[[], []]"),
    "no list": (PAGE, b"{}"),
    "other things": ([PAGE], b"[[7], [7]]"),
    "more lists": ([PAGE], b"[" + b"[]," * 1_000_000 + b"[]]"),
    "one long text": ([PAGE], b'["' + b"x" * (30 << 20) + b'"]'),
    "very many things": ([PAGE], b"[[" + b",".join([FIELD] * 40_000) + b"], []]"),
}
TABLES = {
    "few rows": b"[" + b",".join([b'["a", "b"]'] * 9) + b"]",
    "wide rows": b"[" + b",".join([b"[" + b",".join([b'""'] * 3_000) + b"]"] * 60) + b"]",
    "one row": b"[[" + b",".join([b'""'] * 60_000) + b"]]",
}


def words(data: bytes, **args: Any) -> Answer:
    if body := TABLES.get(data.decode()):
        return {"pages": 1, "columns": 2, "found": [PAGE]}, body
    found, body = PAGES[data.decode()]
    return {"pages": 1, "columns": 2, "found": found}, body


TASKS = {"text": text, "compare": compare, "words": words}
