"""What a caller and a confined task share: messages on the wire, refusals, and limits of time."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

MOST_JSON = 8 << 20  # bytes of a head: parsing more holds up the other threads of a bot
MOST_PARTS = 250_000  # lists and objects in it: those take longest, 8 MB of empty lists more than a second
MOST_VALUES = 500_000  # commas and colons outside of texts, as many as there are values and names
MOST_DIGITS = 400  # of a number in it: to read a longer one takes time by the square of its length
MOST_QUOTES = 200_000  # of a head whose texts are gone through
TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+\\?"?', re.DOTALL)  # also one that does not end

_DIGITS_AS_ZERO = bytes(ord("0") if chr(byte) in "0123456789" else ord(" ") for byte in range(256))
_LONG_NUMBER = b"0" * (MOST_DIGITS + 1)


class Refused(Exception):
    """Why a task does not open or make a file, as the end of a sentence that begins with the file's name."""


def packed(head: dict[str, Any], *blobs: bytes) -> bytes:
    """A head and what follows it: eight bytes of length, JSON, the rest."""
    text = json.dumps(head).encode()
    return b"".join([len(text).to_bytes(8, "big"), text, *blobs])


def unpacked(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The head, and all that follows it. Raises ValueError for bytes that `packed` did not make."""
    size = int.from_bytes(data[:8], "big")
    if len(data) < 8 or not 0 < size <= min(MOST_JSON, len(data) - 8):
        raise ValueError("no head")
    text = data[8 : 8 + size]
    if text.count(b"[") + text.count(b"{") > MOST_PARTS or _values(text) > MOST_VALUES:
        raise ValueError("a head of too many parts")
    try:
        head = _parsed(text)
    except RecursionError as error:
        raise ValueError("a head nested too deeply") from error
    if not isinstance(head, dict):
        raise ValueError("a head that is no object")
    return head, data[8 + size :]


def _parsed(text: bytes) -> Any:
    """JSON in UTF-8, as it was counted. Raises ValueError for a number with too many digits; in a text there may be as
    many."""
    if _LONG_NUMBER not in text.translate(_DIGITS_AS_ZERO):
        return json.loads(text.decode())
    return json.loads(
        text.decode(),
        parse_int=lambda found: int(_short(found)),
        parse_float=lambda found: float(_short(found)),
    )


def _short(digits: str) -> str:
    if len(digits) > MOST_DIGITS:
        raise ValueError("a head with a number of too many digits")
    return digits


def share(part: Any) -> float:
    """How much of what a head may hold a part of it takes, at most: 1 is all of it."""
    text = json.dumps(part)
    values = (text.count(",") + text.count(":")) / MOST_VALUES
    return max(len(text) / MOST_JSON, values, (text.count("[") + text.count("{")) / MOST_PARTS)


def _values(text: bytes) -> int:
    """The commas and colons of JSON: outside of its texts, unless those are too many to look for."""
    found = text.count(b",") + text.count(b":")
    if found > MOST_VALUES and text.count(b'"') <= MOST_QUOTES:
        plain = TEXT.sub(b"", text)
        return plain.count(b",") + plain.count(b":")
    return found


def whole_characters(head: dict[str, Any]) -> dict[str, Any]:
    """The head with "?" for each half of a surrogate pair, which a file can name and no answer can carry.

    Raises ValueError for one that is nested too deeply.
    """
    try:
        text = json.dumps(head, ensure_ascii=False)
        text.encode()
    except RecursionError as error:
        raise ValueError("a head nested too deeply") from error
    except UnicodeEncodeError:
        whole: dict[str, Any] = json.loads(text.encode("utf-8", "replace"))
        return whole
    return head


def exactly(read: Callable[[int], bytes], size: int) -> bytes:
    """So many bytes from a pipe or a socket. Raises EOFError when it ends before."""
    found = bytearray()
    while len(found) < size:
        if not (part := read(min(size - len(found), 1 << 20))):
            raise EOFError
        found += part
    return bytes(found)


class OutOfTime(BaseException):
    """The file took too long. No Exception: parsers catch those, and go on."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises OutOfTime inside when the process has used so many seconds. What does not return to Python goes on."""
    before = signal.signal(signal.SIGVTALRM, _over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _over(number: int, frame: FrameType | None) -> None:
    raise OutOfTime
