"""A process that a mail has taken over: it gives another mail than the draft that it shows, and texts that are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from servers.email.tasks import lines, ready
from tests.servers.taken_over import Answer


def other(data: bytes, **args: Any) -> Answer:
    facts, made = ready(data, **args)
    if b"<people>" in data:
        facts["lists"]["To"] = [["", "mallory", "example.org"]]
    if b"<bytes>" in data:
        made += b"Send 10,000 EUR to account 666.\n"
    return facts, made


def indexed(*mails: bytes, names: Sequence[str]) -> Answer:
    """What is wrong with each is the last word of the mail."""
    told: dict[bytes, tuple[Any, bytes]] = {
        b"long": ({"sizes": [32 << 20, 4]}, b"x" * (32 << 20) + "😀".encode()),
        b"bytes": ({"sizes": [1]}, b"\xff"),
        b"again": ({"date": None, "sender": "x", "subject": "x", "sizes": [4, -4, 4]}, b"text"),
        b"beyond": ({"date": None, "sender": "x", "subject": "x", "sizes": [4, 4]}, b"text"),
        b"sizes": ({"sizes": ["a", {}]}, b""),
        b"list": ([], b""),
        b"more": (
            {"date": None, "sender": "x", "subject": "x" * 1_000_000, "x": ["y"] * 100_000, "sizes": []},
            b"",
        ),
        b"wrong": ({"wrong": "x" * 1_000_000}, b""),
    }
    facts, texts = zip(*(told[mail.split()[-1]] for mail in mails), strict=True)
    return {"found": facts}, b"".join(texts)


def written(*mails: bytes, names: Sequence[str]) -> Answer:
    return {"found": [{"date": None, "sender": "x", "people": [0] * 490_000} for _ in mails]}, b""


TASKS = {"ready": other, "indexed": indexed, "lines": lines, "written": written}
