"""What a caller and a confined task share: messages on the wire, refusals, and limits of time."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
MOST_JSON = 8 << 20  # bytes of a head: parsing more holds up the other threads of a bot
MOST_PARTS = 250_000  # lists and objects in it: those take longest, 8 MB of empty lists more than a second
MOST_VALUES = 500_000  # commas and colons outside of texts, as many as there are values and names
MOST_DIGITS = 400  # of a number in it: to read a longer one takes time by the square of its length
FEW_DIGITS = 40  # of one that is read in next to no time: 8 MB of longer ones take 0.3 s
MOST_TEXT = 8 << 20  # characters of a text that is made of a file
FEW_SMALL = 10_000  # numbers like 1e-310, of which 8 MB take 0.25 s
MOST_QUOTES = 300_000  # of JSON whose texts are gone through
MOST_LISTED = 512 << 10  # characters of a list that is given for an answer of a tool, which holds less
MOST_BODY = 4 << 20  # bytes of JSON besides a head: such a list takes half of it at most
MOST_BODY_PARTS = 25_000

_DIGITS_AS_ZERO = bytes(ord("0") if chr(byte) in "0123456789." else ord(" ") for byte in range(256))
_LONG_NUMBER = b"0" * (FEW_DIGITS + 1)
# Half of a surrogate pair stands in JSON in UTF-8 by its number alone.
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


class Refused(Exception):
    """Why a task does not open or make a file, as the end of a sentence that begins with the file's name. `tables`:
    those of a database whose rows may be why, where that is known."""

    def __init__(self, said: str, tables: Sequence[str] = ()) -> None:
        super().__init__(said)
        self.tables = tables


def packed(head: dict[str, Any], *blobs: bytes) -> bytes:
    """A head and what follows it: eight bytes of length, JSON, the rest."""
    text = json.dumps(head).encode()
    return b"".join([len(text).to_bytes(8, "big"), text, *blobs])


def head_size(data: bytes) -> int:
    """The length of a head, as the eight bytes before it say. Raises ValueError."""
    size = int.from_bytes(data, "big")
    if len(data) != 8 or not 0 < size <= MOST_JSON:
        raise ValueError("no head")
    return size


def head(text: bytes) -> dict[str, Any]:
    """A head out of its JSON. Raises ValueError."""
    found = parsed(text)
    if not isinstance(found, dict):
        raise ValueError("a head that is no object")
    return found


def first_of(found: Iterable[Any]) -> tuple[bytes, bool]:
    """The first things as a list in JSON, more than an answer of a tool holds; and whether others are left out."""
    taken, left = list[str](), MOST_LISTED
    for one in found:
        text = json.dumps(one, ensure_ascii=False)
        left -= len(text) + 2
        if left < 0:
            break
        taken.append(text)
    return f"[{', '.join(taken)}]".encode("utf-8", "replace"), left < 0


def body(text: bytes) -> Any:
    """What a task gave as JSON besides its head. Raises ValueError."""
    return whole(parsed(text, MOST_BODY, MOST_BODY_PARTS), text)


def parsed(text: bytes, most: int = MOST_JSON, parts: int = MOST_PARTS) -> Any:
    """JSON that may be anybody's, whose bytes, parts and values are counted first: to parse it is one step, in which no
    other thread runs. Raises ValueError."""
    if len(text) > most or has_more(text, parts):
        raise ValueError("JSON of too many parts")
    try:
        return _parsed(text)
    except RecursionError as error:
        raise ValueError("JSON nested too deeply") from error


def _parsed(text: bytes) -> Any:
    """JSON in UTF-8, as it was counted; where numbers are written as ordinary ones are not, with a step for each, so
    that other threads run in between. Raises ValueError for one with too many digits; in a text there may be
    as many."""
    small = text.count(b"e-") + text.count(b"E-")
    if small <= FEW_SMALL and _LONG_NUMBER not in text.translate(_DIGITS_AS_ZERO):
        return json.loads(text.decode())
    return json.loads(
        text.decode(),
        parse_int=lambda found: int(_short(found)),
        parse_float=lambda found: float(_short(found)),
    )


def _short(digits: str) -> str:
    if len(digits) > MOST_DIGITS:
        raise ValueError("JSON with a number of too many digits")
    return digits


def share(part: Any) -> float:
    """How much of what a head may hold a part of it takes, at most: 1 is all of it."""
    text = json.dumps(part)
    values = (text.count(",") + text.count(":")) / MOST_VALUES
    return max(len(text) / MOST_JSON, values, (text.count("[") + text.count("{")) / MOST_PARTS)


def has_more(text: bytes, parts: int, values: int = MOST_VALUES) -> bool:
    """Whether JSON has more parts or values, outside of its texts; unless those are too many to look for."""
    if _within(text, parts, values):
        return False
    return text.count(b'"') > MOST_QUOTES or not _within(_outside(text), parts, values)


def _outside(text: bytes) -> bytes:
    """JSON without its texts, also without one that does not end. Escapes stand in texts alone: where one stands
    elsewhere, no more of it is parsed."""
    return b"".join(text.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])


def _within(text: bytes, parts: int, values: int) -> bool:
    signs = text.count(b",") + text.count(b":")
    return text.count(b"[") + text.count(b"{") <= parts and signs <= values


def whole(found: Any, text: bytes) -> Any:
    """What was parsed from this text, with "?" for each half of a surrogate pair, which a file can name and no answer
    can carry. Raises ValueError."""
    try:
        return _whole(found) if _HALF.search(text) else found
    except RecursionError as error:
        raise ValueError("JSON nested too deeply") from error


def _whole(found: Any) -> Any:
    """A step for each value: other threads run in between."""
    if isinstance(found, str):
        return found if found.isascii() else found.encode("utf-8", "replace").decode()
    if isinstance(found, list):
        return [_whole(value) for value in found]
    if isinstance(found, dict):
        return {_whole(name): _whole(value) for name, value in found.items()}
    return found


def exactly(read: Callable[[int], bytes], size: int) -> bytes:
    """So many bytes from a pipe or a socket. Raises EOFError when it ends before."""
    found = bytearray()
    while len(found) < size:
        if not (part := read(min(size - len(found), 1 << 20))):
            raise EOFError
        found += part
    return bytes(found)


AGAIN = 0.2  # seconds


class OutOfTime(BaseException):
    """The file took too long. No Exception: parsers catch those, and go on."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises OutOfTime inside when the process has used so many seconds, and again after AGAIN of them: Python loses
    what is raised in a finalizer or the callback of a weak reference. What does not return to Python goes on."""
    before = signal.signal(signal.SIGVTALRM, _over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _over(number: int, frame: FrameType | None) -> None:
    raise OutOfTime


def in_turn(
    files: Sequence[bytes], tell: Callable[[int, bytes], T], seconds: float, together: float
) -> list[T | None]:
    """What is told of each file by its number, from the first on; None for one that takes more than `seconds` of
    processor time. None is begun when `together` seconds on the clock are over: the list is shorter then."""
    found, end = list[T | None](), time.monotonic() + together
    for number, data in enumerate(files):
        one: T | None = None
        with suppress(OutOfTime), time_limit(seconds):
            one = tell(number, data)
        found.append(one)
        if time.monotonic() > end:
            break
    return found
