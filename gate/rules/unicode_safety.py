"""Text that may not look like what it is: blank, invisible, reordering and look-alike characters, mixed scripts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

WORD = re.compile(r"\w+")
HARMLESS = "\n\t\r"
JOINERS = "\u200d\ufe0f\ufe0e"  # part of emoji, when one stands before
INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp", "Zs"})
# Unicode's Default_Ignorable_Code_Point, as far as general categories do not say it.
IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# Characters without ink whose category says nothing of it; Unicode names them so.
BLANK_NAME = re.compile(
    r"BRAILLE PATTERN BLANK|\bFILLER\b|NULL NOTEHEAD|HIEROGLYPH (FULL|HALF) BLANK|OBJECT REPLACEMENT"
)
# Unicode's confusables.txt for / \ . : and @, beside those whose compatibility form is one of them.
LOOKALIKES = frozenset(
    "\u1735\u2041\u2044\u2215\u2571\u27cb\u29f8\u2cc6\u2f03\u3033\u30ce\u31d3\u4e3f\U0001d23a"
    "\u2216\u27cd\u29f5\u29f9\u2572\u31d4\u4e36\U0001d20f\U0001d23b"
    "\u0660\u06f0\u0701\u0702\ua4f8\ua60e\U00010a50\U0001d16d"
    "\u02d0\u02f8\u0589\u05c3\u0703\u0704\u0903\u0a83\u16ec\u1803\u1809\u205a\u2236\ua4fd\ua789"
)
# The same for Latin letters, beside those whose compatibility form is an ASCII letter and those of usual alphabets.
LETTER_LOOKALIKES = frozenset(
    "\u0251\u0261\u026a\u0237\u1d04\u1d0f\u1d1c\u1d20\u1d21\u1d22\ua731\u028f\u1d8c\u01c0\ua79f\uab52\uab4e\u01bd"
)
LOOKALIKE_LETTERS = LOOKALIKES | LETTER_LOOKALIKES
SEPARATORS = frozenset("/\\.:@")
ELLIPSIS = "\u2026"  # ordinary prose, and three dots separate nothing
INFORMATION = "\u2139"  # an emoji, although a letter by its category
EAST = frozenset(
    "CJK HIRAGANA KATAKANA HANGUL BOPOMOFO IDEOGRAPHIC".split()
)  # written together, and with Latin
# First words of letters' names that name no script.
SCRIPTLESS = frozenset(
    "FEMININE MASCULINE MICRO OHM KELVIN ANGSTROM FULLWIDTH HALFWIDTH MATHEMATICAL DOUBLE BLACK SCRIPT PLANCK "
    "INFORMATION MODIFIER SUPERSCRIPT SUBSCRIPT ALEF BET GIMEL DALET TURNED ROTATED CIRCLED".split()
)


def is_deceptive(text: str) -> bool:
    """Whether some of the text may not look like what it is.

    Such text is shown with the characters spelled out, and never confirmed by one click.
    """
    return any(not _of_emoji(text, i) for i in deceptive_positions(text))


def deceptive_positions(text: str) -> Iterator[int]:
    """Where a character stands that draws nothing, reorders others or looks like another one, in order.

    Newline, tab and carriage return are ordinary, and so is what its own script uses among its own letters.
    """
    if text.isascii() and text.translate(_PLAIN).isprintable():
        return
    odd = {char for char in set(text) if is_invisible(char) or is_lookalike(char)}
    mixed = {i for word in WORD.finditer(text) if _mixed(word[0]) for i in _foreign(word)}
    eastern = _east_asian_runs(text) if any(map(_wide, odd)) else frozenset[int]()
    for index, char in enumerate(text) if odd or mixed else ():
        if index in mixed or (char in odd and index not in eastern and not _matches_neighbours(text, index)):
            yield index


_PLAIN = {ord(char): " " for char in HARMLESS}


@lru_cache(maxsize=8192)
def is_invisible(char: str) -> bool:
    """Whether a character draws nothing by itself. The ideographic space is judged by its place."""
    if char == " " or char in HARMLESS:
        return False
    if unicodedata.category(char) in INVISIBLE or IGNORABLE.match(char):
        return True
    return bool(BLANK_NAME.search(unicodedata.name(char, "")))


@lru_cache(maxsize=8192)
def is_lookalike(char: str) -> bool:
    """Whether a character looks like a separator of paths and addresses, or like an ASCII letter or digit."""
    if char.isascii() or char in (ELLIPSIS, INFORMATION):
        return False
    plain = unicodedata.normalize("NFKC", char)
    if char in LOOKALIKE_LETTERS or (len(plain) <= 2 and not SEPARATORS.isdisjoint(plain)):
        return True
    written = unicodedata.category(char) in ("Lu", "Ll", "Nd")
    return written and plain.isascii() and plain.isalnum()  # several of a ligature


def _matches_neighbours(text: str, index: int) -> bool:
    """Whether the character belongs to the script of a letter beside it."""
    own = _home_script(text[index])
    around = text[max(0, index - 1) : index] + text[index + 1 : index + 2] if own else ""
    return any(_script(other) == own for other in around)


@lru_cache(maxsize=8192)
def _home_script(char: str) -> str:
    """The script among whose letters the character is ordinary; "" where there is none."""
    own = "" if is_invisible(char) or _wide(char) else _script(char)
    return "" if own in SCRIPTLESS or own == "LATIN" else own


def _east_asian_runs(text: str) -> frozenset[int]:
    """Where wide characters are ordinary: in runs of them that hold an East Asian letter."""
    found: set[int] = set()
    start, letters = 0, False
    for index in range(len(text) + 1):
        char = text[index] if index < len(text) else " "
        if _wide(char):
            letters = letters or (_script(char) in EAST and not is_lookalike(char))
            continue
        found.update(i for i in range(start, index if letters else start) if _ordinary_there(text[i]))
        start, letters = index + 1, False
    return frozenset(found)


def _ordinary_there(char: str) -> bool:
    return char == "\u3000" or not is_invisible(char)


@lru_cache(maxsize=8192)
def _wide(char: str) -> bool:
    return unicodedata.east_asian_width(char) in "WF"


def _of_emoji(text: str, index: int) -> bool:
    return text[index] in JOINERS and index > 0 and unicodedata.category(text[index - 1]) in ("So", "Sk")


@lru_cache(maxsize=8192)
def _script(char: str) -> str:
    """The script of a letter, digit or mark as its name begins; "" for what belongs to none."""
    if unicodedata.category(char)[0] not in "LMNP":
        return ""
    name = re.split(r"[ -]", unicodedata.name(char, ""), maxsplit=1)[0]
    return name if name.isupper() else ""


def _mixed(word: str) -> bool:
    """Whether letters of several scripts stand in one word that are not usually written together."""
    if word.isascii():
        return False
    found = {_script(c) for c in set(word) if c.isalpha()} - SCRIPTLESS - {""}
    return len(found) > 1 and not found <= EAST | {"LATIN"}


def _foreign(word: re.Match[str]) -> Iterator[int]:
    """Where the letters of a mixed word stand that are not ASCII."""
    return (word.start() + i for i, char in enumerate(word[0]) if not char.isascii() and char.isalpha())


def quoted(text: str, most: int = 200) -> str:
    """A foreign fragment for one of our own sentences: one line, and nothing in it can become a mention."""
    line = " ".join(text.replace("<", "‹").replace(">", "›").split())
    return line if len(line) <= most else line[: most - 1] + "…"
