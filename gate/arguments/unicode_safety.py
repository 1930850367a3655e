"""Text that may not look like what it is: blank, invisible, reordering and look-alike characters, mixed scripts."""

from __future__ import annotations

import re
import sys
import unicodedata
from array import array
from collections.abc import Iterator
from functools import cache, lru_cache

WORD = re.compile(r"\w+")
PLAIN_MARKS = str.maketrans("<>*~`", "‹›∗∼'")
EMOJI_NAME = re.compile(r"(:[\w+'-]{1,60}):")
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
# The same for the hyphen, with longer dashes: in prose they are ordinary, in names they are not.
DASHES = frozenset("\u02d7\u06d4\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\u2796\u2cba\ufe58")
JOINTS = frozenset("-_")  # whose wide forms are ordinary in East Asian text alone
TOKEN, HAS_LETTER = re.compile(r"\S+"), re.compile("[A-Za-z]")
OF_A_NAME = re.compile(
    r"[/\\@_]|\.\w{1,8}\W{0,3}$"
)  # in a piece of text that is a path, an address or a file
# Roman numerals of one character, in words or names that have others
NUMBERS = re.compile(r"\d{2,}+")
NUMERALS = re.compile(r"(?<=[A-Za-z0-9_/\\-])[\u2160-\u217f]|[\u2160-\u217f](?=[A-Za-z0-9_/\\-]|\.\w)")
SEPARATORS = frozenset("/\\.:@")
ELLIPSIS = "\u2026"  # ordinary prose, and three dots separate nothing
INFORMATION = "\u2139"  # an emoji, although a letter by its category
EAST = frozenset(
    "CJK HIRAGANA KATAKANA HANGUL BOPOMOFO IDEOGRAPHIC".split()
)  # written together, and with Latin
TOGETHER = EAST | {"LATIN"}
# First words of letters' names that name no script.
SCRIPTLESS = frozenset(
    "FEMININE MASCULINE MICRO OHM KELVIN ANGSTROM FULLWIDTH HALFWIDTH MATHEMATICAL DOUBLE BLACK SCRIPT PLANCK "
    "INFORMATION MODIFIER SUPERSCRIPT SUBSCRIPT ALEF BET GIMEL DALET TURNED ROTATED CIRCLED".split()
)
MOST_DIFFERENT = 10_000  # characters of one text; of the longest ones in Chinese some 5,000 are different
# What is known of each code point, for a text may have more of them than a cache of fixed size holds.
_TRAITS = bytearray(sys.maxunicode + 1)
_WIDTHS = bytearray(sys.maxunicode + 1)  # codes of the classes below
_SCRIPTS, _SCRIPT_NAMES = array("H", bytes(2 * (sys.maxunicode + 1))), [""]  # places in the list of names
# Classes of characters, each a character in the place of its own.
OTHER, WIDE, LETTER, STRANGE, STRANGE_LETTER, ANY_SCRIPT, FIRST_SCRIPT = *" wlst_", 0x100
WIDE_RUN, IS_STRANGE, NO_OTHER = re.compile("[wlst]+"), re.compile("[st]"), re.compile("[^ ]+")
_KNOWN, _INVISIBLE, _LOOKALIKE, _WIDE, _MARK, _OVERLAY = 1, 2, 4, 8, 16, 32
MARK, MARKS = "m", re.compile("m+")
EUROPEAN = frozenset("LATIN GREEK CYRILLIC".split())
# How the names of marks begin that stand on letters of any script, but for those that name one behind it
ANY_LETTER = "COMBINING"
NAMED_BEHIND = frozenset("LATIN GREEK CYRILLIC GLAGOLITIC DEVANAGARI GRANTHA OLD KATAKANA".split())
OVERLAY = re.compile(r"\bOVERLAY\b|BACKSLASH")  # such a mark makes another character of what it is drawn over
# Marks on one letter: those of any script, of which usual writing has three at most; all
MOST_OF_ANY, MOST_MARKS = 4, 8


def is_deceptive(text: str) -> bool:
    """Whether some of the text may not look like what it is. Text of very many different characters counts as that.

    Such text is shown with the characters spelled out, and never confirmed by one click.
    """
    if len(text) > MOST_DIFFERENT and len(set(text)) > MOST_DIFFERENT:
        return True
    return any(not _of_emoji(text, i) for i in deceptive_positions(text))


def deceptive_positions(text: str) -> Iterator[int]:
    """Where a character stands that draws nothing, reorders others or looks like another one, in order.

    Newline, tab and carriage return are ordinary, and so is what its own script uses among its own letters.
    """
    if text.isascii() and text.translate(_PLAIN).isprintable():
        return
    chars = set(text)
    odd = _having(_INVISIBLE | _LOOKALIKE, chars)
    eastern = _east_asian_runs(text, chars) if any(map(_wide, odd)) else frozenset[int]()
    homeless = {char for char in odd if not _home_script(char)}  # whatever stands beside them
    strange = _in_mixed_words(text, chars) | _strange_marks(text, chars) | _dashes_in_names(text)
    strange |= {found.start() for found in NUMERALS.finditer(text)} | _digits_beside_others(text)
    for index, char in enumerate(text) if odd or strange else ():
        if index in strange or (
            char in odd
            and index not in eastern
            and (char in homeless or not _matches_neighbours(text, index))
        ):
            yield index


_PLAIN = {ord(char): " " for char in HARMLESS}


def is_invisible(char: str) -> bool:
    """Whether a character draws nothing by itself. The ideographic space is judged by its place."""
    return bool(_traits(char) & _INVISIBLE)


def is_lookalike(char: str) -> bool:
    """Whether a character looks like a separator of paths and addresses, or like an ASCII letter or digit."""
    return bool(_traits(char) & _LOOKALIKE)


def _wide(char: str) -> bool:
    return bool(_traits(char) & _WIDE)


def _having(traits: int, chars: set[str]) -> set[str]:
    """Those that have one of the traits. A text may have 75,000 different ones: no call for each."""
    known = _TRAITS
    return {char for char in chars if (known[ord(char)] or _traits(char)) & traits}


def _traits(char: str) -> int:
    found = _TRAITS[ord(char)]
    if not found:
        found = _KNOWN | (_INVISIBLE * _draws_nothing(char)) | (_LOOKALIKE * _looks_like_another(char))
        found |= _WIDE * _is_wide(char)
        if unicodedata.category(char)[0] == "M":
            found |= _MARK | _OVERLAY * (OVERLAY.search(unicodedata.name(char, "")) is not None)
        _TRAITS[ord(char)] = found
    return found


def _is_wide(char: str) -> bool:
    return unicodedata.east_asian_width(char) in "WF"


def _draws_nothing(char: str) -> bool:
    if char == " " or char in HARMLESS:
        return False
    if unicodedata.category(char) in INVISIBLE or IGNORABLE.match(char):
        return True
    return BLANK_NAME.search(unicodedata.name(char, "")) is not None


def _looks_like_another(char: str) -> bool:
    if char.isascii() or char in (ELLIPSIS, INFORMATION):
        return False
    plain = unicodedata.normalize("NFKC", char)
    if (
        char in LOOKALIKE_LETTERS
        or (plain in JOINTS and _is_wide(char))
        or (len(plain) <= 2 and not SEPARATORS.isdisjoint(plain))
    ):
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


def _east_asian_runs(text: str, chars: set[str]) -> frozenset[int]:
    """Where wide characters are ordinary: in runs of them that hold an East Asian letter."""
    found: set[int] = set()
    known = _WIDTHS
    classes = {ord(char): known[ord(char)] or _width_class(char) for char in chars}
    for run in WIDE_RUN.finditer(text.translate(classes)):
        if LETTER in run[0] or STRANGE_LETTER in run[0]:
            found.update(range(*run.span()))
            found.difference_update(run.start() + one.start() for one in IS_STRANGE.finditer(run[0]))
    return frozenset(found)


def _width_class(char: str) -> int:
    """The code of the character's class, which is kept."""
    letter = _script(char) in EAST and not is_lookalike(char)
    of_letter, of_other = (LETTER, WIDE) if _ordinary_there(char) else (STRANGE_LETTER, STRANGE)
    found = _WIDTHS[ord(char)] = ord((of_letter if letter else of_other) if _wide(char) else OTHER)
    return found


def _ordinary_there(char: str) -> bool:
    return char == "\u3000" or not is_invisible(char)


def _of_emoji(text: str, index: int) -> bool:
    return text[index] in JOINERS and index > 0 and unicodedata.category(text[index - 1]) in ("So", "Sk")


def _script(char: str) -> str:
    """The script of a letter, digit or mark as its name begins; "" for what belongs to none."""
    return _first_word(char) if unicodedata.category(char)[0] in "LMNP" else ""


@cache  # of some 150,000 characters at most, which takes 25 MB
def _first_word(char: str) -> str:
    name = unicodedata.name(char, "").replace("-", " ").partition(" ")[0]
    return sys.intern(name) if name.isupper() else ""


def _in_mixed_words(text: str, chars: set[str]) -> set[int]:
    """Where letters and digits that are not ASCII stand in words of several scripts that are not usually written
    together."""
    known = _SCRIPTS
    places = {ord(char): known[ord(char)] or _place_of_script(char) for char in chars}
    classes = _script_classes(set(places.values()))
    if len(set(classes.values()) - {ANY_SCRIPT, OTHER}) < 2:
        return set()
    classed = text.translate(dict(zip(places, map(classes.__getitem__, places.values()), strict=True)))
    return {
        i
        for word in NO_OTHER.finditer(classed)
        if len(set(word[0]) - {ANY_SCRIPT}) > 1
        for i in range(*word.span())
        if not text[i].isascii() and (text[i].isalpha() or text[i].isdecimal())
    }


def _digits_beside_others(text: str) -> set[int]:
    """Where digits of another script stand in one number with those of ASCII."""
    return {
        at
        for found in NUMBERS.finditer(text)
        if any(map(str.isascii, found[0])) and not found[0].isascii()
        for at in range(*found.span())
        if not text[at].isascii()
    }


def _script_classes(places: set[int]) -> dict[int, str]:
    """A class for each place in the list of scripts: one for those that are written together."""
    found: dict[int, str] = {}
    for place in places:
        script = _SCRIPT_NAMES[place]
        apart = script not in TOGETHER
        found[place] = (
            script if script in (ANY_SCRIPT, OTHER) else chr(FIRST_SCRIPT + (place if apart else 0))
        )
    return found


def _dashes_in_names(text: str) -> set[int]:
    """Where dashes that look like a hyphen stand in names: in paths, addresses and names of files, and in texts that
    are one word."""
    if DASHES.isdisjoint(text):
        return set()
    tokens = [*TOKEN.finditer(text)]
    return {
        token.start() + at
        for token in tokens
        if HAS_LETTER.search(token[0]) and (len(tokens) == 1 or OF_A_NAME.search(token[0]))
        for at, char in enumerate(token[0])
        if char in DASHES
    }


def _strange_marks(text: str, chars: set[str]) -> set[int]:
    """Where marks of another script stand on letters of a European one or on signs of ASCII, or beside the first of a
    word; where marks are drawn over anything but a sign of mathematics; and where more marks stand on one letter than
    can be told apart."""
    marks = _having(_MARK, chars)
    if not marks:
        return set()
    found: set[int] = set()
    seen: dict[tuple[str, str, str], frozenset[int]] = {}  # in a long text most letters with marks come again
    for run in MARKS.finditer(
        text.translate({ord(char): MARK if char in marks else OTHER for char in chars})
    ):
        begin, end = run.span()
        place = (text[begin - 1 : begin], text[begin:end], text[end : end + 1])
        strange = seen.get(place)
        if strange is None:
            strange = seen[place] = _strange_in(*place)
        if strange:
            found.update(begin + at for at in strange)
    return found


def _strange_in(before: str, marks: str, after: str) -> frozenset[int]:
    """Which of the marks of one letter, with what stands before and after them."""
    found: set[int] = set()
    base = after if not before or before.isspace() else before
    if _is_european(base):
        own = {_script(base), ANY_LETTER}
        found.update(at for at, mark in enumerate(marks) if _script_of_mark(mark) not in own)
    if not before or unicodedata.category(before) != "Sm":
        found.update(at for at, mark in enumerate(marks) if _traits(mark) & _OVERLAY)
    of_any = [at for at, mark in enumerate(marks) if _first_word(mark) == ANY_LETTER]
    found.update(of_any[MOST_OF_ANY:], range(MOST_MARKS, len(marks)))
    return frozenset(at for at in found if not is_invisible(marks[at]))  # those are judged by their places


def _is_european(char: str) -> bool:
    return bool(char) and (
        (char.isascii() and not char.isspace())
        or _script(char) in EUROPEAN
        or _script(char) in SCRIPTLESS - {"HALFWIDTH"}
    )


@cache  # of some 2,500 marks
def _script_of_mark(char: str) -> str:
    """The script of a mark, which a name like COMBINING CYRILLIC TITLO has in its second place."""
    first, _, rest = unicodedata.name(char, "").replace("-", " ").partition(" ")
    second = rest.partition(" ")[0]
    return second if first == ANY_LETTER and second in NAMED_BEHIND else first


def _script_of_digit(char: str) -> str:
    """The script of a digit whose letters have the same; "" for one of any, and for what is none. Persian and Urdu have
    digits of their own among the letters of Arabic (“EXTENDED ARABIC-INDIC DIGIT”)."""
    script = _script(char) if char.isdecimal() and not char.isascii() else ""
    return {"EXTENDED": "ARABIC", "FULLWIDTH": "", "MATHEMATICAL": ""}.get(script, script)


def _place_of_script(char: str) -> int:
    """Where the script of a letter or a digit stands in the list; ANY_SCRIPT stands for what is in words of any, OTHER
    for what ends a word."""
    script = _script(char) if char.isalpha() else _script_of_digit(char)
    if not script or script in SCRIPTLESS:
        script = ANY_SCRIPT if WORD.match(char) else OTHER
    if script not in _SCRIPT_NAMES:
        _SCRIPT_NAMES.append(script)
    place = _SCRIPTS[ord(char)] = _SCRIPT_NAMES.index(script)
    return place


def quoted(text: str, most: int = 200) -> str:
    """A foreign fragment for one of our own sentences: one line, and nothing in it can become a mention, bold, struck
    through, code or an emoji."""
    line = " ".join(EMOJI_NAME.sub(r"\1∶", text[: most * 4].translate(PLAIN_MARKS)).split())
    return line if len(line) <= most else line[: most - 1] + "…"
