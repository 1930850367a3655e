"""Texts of others in the lines of a preview, where none of them may begin a line of its own."""

from __future__ import annotations

import re

UNWRITABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"
)  # breaks a line, moves in it, or is no text


def one_line(text: str) -> str:
    """The text in one line: what would break it stands there as an escape, as `\\n`."""
    return UNWRITABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
