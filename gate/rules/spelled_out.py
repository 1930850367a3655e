"""Text of others as people are to see it: what is not what it looks like is spelled out."""

from __future__ import annotations

import re
from functools import lru_cache

from gate.arguments.unicode_safety import deceptive_positions

# Characters of a text whose visible form is remembered: 256 of them take 10 MB at the very most
SHORT = 4_096
# Besides what `deceptive_positions` finds: a backslash that reads as one of our escapes, and
# what breaks a line or moves in it.
_ESCAPE_OR_RETURN = re.compile(r"\\(?=u\{[0-9A-Fa-f]+\})|\r")
_ESCAPE_OR_BREAK = re.compile(r"\\(?=u\{[0-9A-Fa-f]+\})|[\r\n\t]")


def visible(text: str, *, lines: bool = True) -> str:
    r"""The text with every character that is not what it looks like written as \u{hex}; newlines and tabs stay with
    `lines`.

    Reversible: a backslash that would read as such an escape is itself written as \u{5c}.
    """
    if text.isascii() and text.isprintable() and "\\u{" not in text:
        return text  # nearly all that is shown, in a hundredth of the time
    return _spelled_out_before(text, lines) if len(text) <= SHORT else _spelled_out(text, lines)


def _spelled_out(text: str, lines: bool) -> str:
    own = _ESCAPE_OR_RETURN if lines else _ESCAPE_OR_BREAK
    odd = [*deceptive_positions(text), *(match.start() for match in own.finditer(text))]
    if not odd:
        return text
    shown = list(text)
    spelled = {char: f"\\u{{{ord(char):x}}}" for char in {text[index] for index in odd}}
    for index in odd:
        shown[index] = spelled[text[index]]
    return "".join(shown)


# One card asks some ten times for the same text: whether it fits, whether it is shown whole, in each of its places.
_spelled_out_before = lru_cache(maxsize=256)(_spelled_out)


def inline(text: str) -> str:
    """Visible, and on one line."""
    return visible(text, lines=False)
