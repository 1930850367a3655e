"""Ids derived from what they stand for, so that repeating a run finds what it made before."""

from __future__ import annotations

import base64
import hashlib


def derive_id(*parts: str | int) -> str:
    """A stable identifier of 26 lower-case letters and digits (130 bits) for these parts."""
    text = "\x1f".join(map(str, parts))
    return (
        base64.b32encode(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())[:26].decode().lower()
    )
