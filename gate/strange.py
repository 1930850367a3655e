"""Text that may not look like what it is: invisible, reordering and look-alike characters."""

from __future__ import annotations

import re
import unicodedata

WORD = re.compile(r"\w+")
SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE")
HARMLESS = "\n\t\r"
JOINERS = "\u200d\ufe0f\ufe0e"  # part of emoji, when one stands before


def strange(text: str) -> bool:
    """Whether the text holds characters of categories Cc, Cf, Co, Cn or Cs, or a word of mixed scripts.

    Such text is shown with the characters spelled out, and never confirmed by one click (trust.md T-07).
    """
    if text.isascii():
        return any(not c.isprintable() and c not in HARMLESS for c in text)
    return any(_hidden(text, i) for i in range(len(text))) or any(map(_mixed, WORD.findall(text)))


def _hidden(text: str, index: int) -> bool:
    char = text[index]
    if char in JOINERS and index and unicodedata.category(text[index - 1]) in ("So", "Sk"):
        return False
    if (
        "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
        or char in "\u034f\u115f\u1160\u3164"
    ):
        return True  # variation selectors and fillers: letters and marks that draw nothing
    return char not in HARMLESS and unicodedata.category(char) in ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp")


def _mixed(word: str) -> bool:
    found = {name.split(" ", 1)[0] for c in word if (name := unicodedata.name(c, ""))}
    return len(found.intersection(SCRIPTS)) > 1


def quoted(text: str, most: int = 200) -> str:
    """A foreign fragment for one of our own sentences: one line, and nothing in it can become a mention."""
    line = " ".join(text.replace("<", "‹").replace(">", "›").split())
    return line if len(line) <= most else line[: most - 1] + "…"
