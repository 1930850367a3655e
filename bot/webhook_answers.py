"""What is read of the answer to a webhook: its status and its headers. aiohttp would parse 256 KiB of it at once."""

from __future__ import annotations

import asyncio
from functools import partial
from io import BytesIO
from typing import Any

from aiohttp import ClientError, TCPConnector
from aiohttp.client_proto import ResponseHandler

# Of one answer up to its body. aiohttp takes 128 headers, and skips 1xx responses before an answer without end.
MAX_BYTES, MAX_LINES, MAX_INTERIM = 64 * 1024, 300, 5
SWITCHED = 101  # is no 1xx response before an answer, but the answer
TOO_MUCH = (
    f"It sent more than {MAX_BYTES >> 10} KiB, {MAX_LINES} lines or {MAX_INTERIM} responses of 1xx "
    "before an answer."
)


class EndlessAnswer(ClientError):
    """No answer within the bounds. Its text is a sentence."""


class BoundedConnector(TCPConnector):
    """A connector whose connections read little. aiohttp has no public way to choose their protocol."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self._factory = partial(_bounded_answer, asyncio.get_running_loop())


class BoundedAnswer(ResponseHandler):
    """The connection of one request. It is closed at the end of the head of the answer: nobody reads the body, and
    one in chunks of a byte takes aiohttp 15 ms for 64 KiB."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._bytes = self._lines = self._interim = 0
        self._answered = False

    def data_received(self, data: bytes) -> None:
        for line in BytesIO(data):  # a head ends with the end of a line
            if self._answered or self.exception() is not None:
                return
            self._bytes += len(line)
            self._lines += line.endswith(b"\n")
            if self._bytes <= MAX_BYTES and self._lines <= MAX_LINES:
                super().data_received(line)
            if not self._answered and self._is_too_much():
                self.set_exception(EndlessAnswer(TOO_MUCH))
            if (self._answered or self.exception() is not None) and self.transport is not None:
                self.transport.close()

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Called by aiohttp with the head of a response."""
        code = data[0].code
        self._answered = code >= 200 or code == SWITCHED
        self._interim += not self._answered
        super().feed_data(data, size)

    def _is_too_much(self) -> bool:
        return self._bytes > MAX_BYTES or self._lines > MAX_LINES or self._interim > MAX_INTERIM


def _bounded_answer(loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return BoundedAnswer(loop)
