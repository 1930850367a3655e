"""How much a message of JSON has: parsing it, and comparing it with types, takes time for each value."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate

from gate.rules.action import Json

MAX_MESSAGE_BYTES = 4 * 1024 * 1024  # of one message of a server; pictures in an answer take the most
MAX_CONTAINERS = 25_000  # lists and objects in it
MAX_DEPTH = 190  # of lists and objects in it; the SDK's parser reads 200
MAX_VALUES = 60_000  # commas and colons in it, as many as its values and names
MAX_DIGITS = 400  # of one number: to write out a longer one takes time by the square of its length
# Values and names in what the SDK compares with its types, at 10 to 25 microseconds for each that is wrong: all but
# structured content, metadata and the definitions of tools.
MAX_TYPED_VALUES = 3_000
OPENED_OR_CLOSED = bytes(1 if byte in b"[{" else 255 for byte in range(256))  # 255 is -1 as a signed byte
NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
PIECE = 16 * 1024  # bytes that are counted at once
LONG_NUMBER = b"0" * (MAX_DIGITS + 1)
DIGITS_AS_ZERO = bytes(ord("0") if chr(byte) in "0123456789" else ord(" ") for byte in range(256))
# A string, or the beginning of one that ends later. A line's end is never in one, and in an event stream the next line
# may be another field.
STRING = re.compile(rb'"(?:[^"\\\r\n]++|\\[^\r\n])*+\\?"?')
UNCLOSED = re.compile(
    rb'(?:[^"]++|"(?:[^"\\\r\n]++|\\[^\r\n])*+\\?["\r\n])*+"(?:[^"\\\r\n]++|\\[^\r\n])*+(?P<escape>\\?)\Z'
)


def utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def extent(whole: Json, max_values: int, max_chars: int, size: Callable[[str], int] = len) -> tuple[int, int]:
    """Two for each entry of its lists and objects, and the characters of its texts, names and whole numbers, or what
    else their `size` is: what was counted until one of them was too large. Takes bounded time, however large and deep
    it is."""
    stack, values, chars = [whole], 1, 0
    while stack and values <= max_values and chars <= max_chars:
        value = stack.pop()
        if isinstance(value, dict | list):
            values += 2 * len(value)
            if values > max_values:
                break
        if isinstance(value, dict):
            chars += sum(map(size, value))
            stack += value.values()
        elif isinstance(value, list):
            stack += value
        elif isinstance(value, str):
            chars += size(value)
        elif isinstance(value, int):
            chars += value.bit_length() // 3
    return values, chars


def has_more_values(whole: Json, most: int) -> bool:
    return extent(whole, most, MAX_MESSAGE_BYTES)[0] > most


class MessageSize:
    """How much a message of JSON has, fed in pieces: parsing takes time for each value, however short the text is.

    The longest message is parsed and compared with its type in 20 ms, so in less than 0.1 s also on a machine that
    takes four times as long, and a piece of 16 KiB takes a millisecond to count.
    """

    def __init__(self) -> None:
        self.containers = self.values = self.bytes = self.depth = self._level = 0
        self.has_long_number = False
        self._open = b""  # of a string, or an escape, that goes on in the next piece
        self._digits = b""  # at the end of the last piece

    def feed(self, piece: bytes) -> None:
        """Count the next piece. Brackets, commas, colons and digits in quoted text do not count."""
        self.bytes += len(piece)
        text = self._open + piece
        unclosed = UNCLOSED.match(text)
        self._open = b"" if unclosed is None else b'"' + unclosed["escape"]
        plain = STRING.sub(b"", text)
        self.containers += plain.count(b"[") + plain.count(b"{")
        self.values += plain.count(b",") + plain.count(b":")
        digits = self._digits + plain.translate(DIGITS_AS_ZERO)
        self.has_long_number = self.has_long_number or LONG_NUMBER in digits
        self._digits = digits[-MAX_DIGITS:]
        steps = memoryview(plain.translate(OPENED_OR_CLOSED, NOT_BRACKETS)).cast("b")
        levels = list(accumulate(steps, initial=self._level))
        self.depth, self._level = max(self.depth, *levels), levels[-1]

    @property
    def too_large(self) -> bool:
        return (
            self.bytes > MAX_MESSAGE_BYTES
            or self.containers > MAX_CONTAINERS
            or self.values > MAX_VALUES
            or self.depth > MAX_DEPTH
            or self.has_long_number
        )
