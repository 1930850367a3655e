"""Text as CommonMark leaves it."""

from __future__ import annotations

import re

_SIGNS = re.compile(r"[\\`*\[]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=#?\w{1,31};)|~(?=~)|(?<=~)~|#$")


def escaped(text: str) -> str:
    """The text of a line with a backslash before each sign that would be a mark in the middle of it or at its end.
    Those at the beginning of a line, and "|" in a table, are not among them."""
    return _SIGNS.sub(r"\\\g<0>", text)
