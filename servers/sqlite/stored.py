"""The values in the rows of a database: which are the same, and how they are kept as JSON. Runs in the sandbox.

SQLite reads a text that is no valid UTF-16 as another one; so the bytes that are stored are looked at as well.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from servers.sandbox.protocol import Refused

Stored = str | int | float | bytes | None
Image = tuple[Stored, ...]
UTF_8 = "UTF-8"  # of which Python reads no text that is none


def encoding(base: sqlite3.Connection) -> str:
    """How a database keeps its texts, by the name that Python has for it, too."""
    return str(base.execute("PRAGMA main.encoding").fetchone()[0])


def text_bytes(expressions: Iterable[str]) -> str:
    """What selects the bytes of these where they are texts."""
    return ", ".join(f"CASE typeof({one}) WHEN 'text' THEN CAST({one} AS BLOB) END" for one in expressions)


def must_be_as_stored(table: str, values: Iterable[object], data: Iterable[object], code: str) -> None:
    """Raise Refused for a text that was read as another than it is."""
    for value, kept in zip(values, data, strict=True):
        if isinstance(value, str) and value.encode(code) != kept:
            raise Refused(
                f"A text in {table} is no valid {code}, so it can neither be shown nor put back. Change it by hand."
            )


class Later(str):
    """Stands for a value that nobody knows before it is done: a time of day, a number by chance."""


def exact(image: Image | None) -> object:
    """Equal for two images only where types and bits are: 1 and 1.0 are two things in a table, and 0.0 and -0.0."""
    return None if image is None else [(type(one), one.hex() if type(one) is float else one) for one in image]


def encoded(image: Image | None) -> list[object] | None:
    """An image as JSON that keeps every type and every bit."""
    return None if image is None else [_encode(value) for value in image]


def _encode(value: Stored) -> object:
    if isinstance(value, Later):
        return {"later": True}
    if isinstance(value, bytes):
        return {"blob": value.hex()}
    return {"real": value.hex()} if isinstance(value, float) else value


def decoded(kept: list[object] | None) -> Image | None:
    """The image again."""
    return None if kept is None else tuple(_decode(value) for value in kept)


def _decode(value: object) -> Stored:
    if isinstance(value, dict):
        return bytes.fromhex(value["blob"]) if "blob" in value else float.fromhex(value["real"])
    assert value is None or isinstance(value, str | int)
    return value
