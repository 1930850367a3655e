"""Blocks that tell the requester's words from data, with a code that data can neither guess nor hold."""

from __future__ import annotations

import hashlib
import hmac
import re

OPENING = re.compile(r"<(?=\s*/?\s*(?:words|data)\b)", re.IGNORECASE)
LABEL = re.compile(r"[^\w.@: #/-]")
OUTPUT = 8000  # characters of one tool's answer
GIVEN_BACK = "…"


class Marks:
    """The blocks of one request: its code is made of a secret key and the request's id, so it stays the same over
    the model requests of one turn, which keeps the provider's cache of them."""

    def __init__(self, key: bytes, request: str) -> None:
        self.code = hmac.new(key, request.encode(), hashlib.sha256).hexdigest()[:16]

    def words(self, text: str) -> str:
        """The requester's own words."""
        return f"<words {self.code}>\n{self._harmless(text)}\n</words {self.code}>"

    def data(self, source: str, text: str) -> str:
        """Anything else. `source` says where it is from."""
        label = self._harmless(LABEL.sub("_", source)[:120])
        return f'<data {self.code} from="{label}">\n{self._harmless(text)}\n</data {self.code}>'

    def _harmless(self, text: str) -> str:
        """Without the code, and without what looks like the edge of a block."""
        return OPENING.sub("‹", text.replace(self.code, GIVEN_BACK))


class Cut:
    """Shortens what is data: the `oldest` pieces down to their length, the others to OUTPUT characters."""

    def __init__(self, oldest: int = 0) -> None:
        self.oldest, self.seen = oldest, 0

    def __call__(self, text: str) -> str:
        self.seen += 1
        if self.seen <= self.oldest and len(text) > OUTPUT // 20:
            return f"(left out to save room: {len(text)} characters)"
        if len(text) <= OUTPUT:
            return text
        return f"{text[:OUTPUT]}\n(cut here: {len(text)} characters in all)"
