"""Which encoding the bytes of a text have: what a mark or UTF-8 itself shows, else the most likely one."""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass

from charset_normalizer import from_bytes

HEAD = 64 * 1024  # bytes at the start of a file that decide
SAMPLE = 8 * 1024  # bytes that a guess is made from
LIKELY = {  # the encodings that are guessed, and their names; of equally good ones the first
    "cp1252": "Windows-1252",
    "cp1254": "Windows-1254",
    "cp1250": "Windows-1250",
    "cp1251": "Windows-1251",
    "koi8_r": "KOI8-R",
    "cp1253": "Windows-1253",
    "cp1255": "Windows-1255",
    "shift_jis": "Shift JIS",
    "euc_jp": "EUC-JP",
    "gb18030": "GB 18030",
    "big5": "Big5",
    "cp949": "Windows-949",
}
# What a language must fit better by, so that another encoding is likelier than these, which most such files have.
USUAL = {"cp1252": 0.06, "cp1254": 0.06}
WORST = 0.3  # share of odd characters from which charset-normalizer drops an encoding
ZEROS = 4  # zero bytes from which a text may be UTF-16 without its mark
DAMAGED = 10  # characters beyond ASCII for each byte that is no UTF-8, where it is UTF-8 all the same
MARKED = 1  # the same behind its mark

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_SIGNS = "€‚„…‘’“”•–—™§©«®°»\u00a0".encode("cp1252")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b")) + b"\x7f"


@dataclass(frozen=True, slots=True)
class Encoding:
    """The name of a codec, and what people call it where it was guessed."""

    name: str
    guess: str = ""

    def decoded(self, data: bytes) -> str:
        """The text without its mark; what cannot be read is replaced by U+FFFD."""
        return self.unmarked(data).decode(self.name, "replace")

    def unmarked(self, data: bytes) -> bytes:
        """The bytes without their mark. That of UTF-8 may stand before another encoding, where files were joined."""
        mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else "\ufeff".encode(self.name, "ignore")
        return data.removeprefix(mark)


def detect(head: bytes, whole: bool) -> Encoding | None:
    """The encoding of a text that begins so, or is just this when `whole`; None where it is no text."""
    enough = DAMAGED
    for mark, name in _MARKS:
        if head.startswith(mark):
            if _is_in(name, head, whole):
                return Encoding(name)
            if mark != codecs.BOM_UTF8:
                return Encoding(name, f"{name[:6].upper()} with errors")
            head, enough = head.removeprefix(mark), MARKED
            break
    if b"\0" in head:
        return _unmarked_utf16(head[:SAMPLE])
    if _is_in("utf-8", head, whole):
        return Encoding("utf-8")
    if len(head.translate(None, _CONTROLS)) < len(head):
        return None
    return _damaged_utf8(head, enough) or _signs_alone(head) or _likely(_telling(head))


def _is_in(name: str, head: bytes, whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(name)("strict").decode(head, final=whole)
    except UnicodeDecodeError:
        return False
    return True


def _unmarked_utf16(head: bytes) -> Encoding | None:
    """UTF-16 without its mark: nearly every character of a Western text has a zero byte, always on one side."""
    low, high = head[::2].count(0), head[1::2].count(0)
    name = "utf-16-le" if high > low else "utf-16-be"
    if max(low, high) < ZEROS or min(low, high) * 10 > max(low, high) or max(low, high) * 6 < len(head):
        return None
    text = head[: len(head) // 2 * 2].decode(name, "replace")
    is_text = all(unicodedata.category(c) != "Cc" or c in "\t\n\r\f" for c in text)
    return Encoding(name, "UTF-16") if is_text else None


def _signs_alone(head: bytes) -> Encoding | None:
    """Windows-1252, where all that is beyond ASCII are signs such as “€” and “–”, alone or after each other: its
    neighbours have nearly all of them in the same places, and no language in them to be known by."""
    signs = b"".join(_BEYOND_ASCII.findall(head))
    return Encoding("cp1252", LIKELY["cp1252"]) if not signs.translate(None, _SIGNS) else None


def _damaged_utf8(head: bytes, enough: int) -> Encoding | None:
    """UTF-8 with a few bytes that are none, such as where two files were joined."""
    text = head.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    beyond = len(text) - len(text.encode("ascii", "ignore")) - broken
    return Encoding("utf-8", "UTF-8 with errors") if beyond > enough * broken else None


def _telling(head: bytes) -> bytes:
    """The part of a text that says most: from a little before its first character beyond ASCII, in whole words, which
    no character of several bytes reaches out of."""
    found = _BEYOND_ASCII.search(head)
    begin = max(0, found.start() - SAMPLE // 8) if found else 0
    sample = head[begin : begin + SAMPLE]
    end = max(sample.rfind(b"\n"), sample.rfind(b" "))
    return sample[:end] if len(head) > begin + SAMPLE and end > 0 else sample


def _likely(sample: bytes) -> Encoding:
    """By how odd the characters are, then by how well they fit a language (charset-normalizer measures both)."""
    best, name = (1.0, 0.0), "cp1252"
    measured = {
        alike: found
        for found in from_bytes(sample, cp_isolation=list(LIKELY), threshold=WORST)
        for alike in [found.encoding, *found.could_be_from_charset]
    }
    for candidate in LIKELY.keys() & measured.keys():
        found = measured[candidate]
        score = (round(found.chaos, 2), -found.coherence - USUAL.get(candidate, 0.0))
        if (*score, [*LIKELY].index(candidate)) < (*best, [*LIKELY].index(name)):
            best, name = score, candidate
    return Encoding(name, LIKELY[name])
