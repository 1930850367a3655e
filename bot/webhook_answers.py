"""What is read of the answer to a webhook: aiohttp skips 1xx responses without end, and parses 256 KiB at once."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from aiohttp import ClientError, TCPConnector
from aiohttp.client_proto import ResponseHandler

MAX_BYTES = 64 * 1024  # of one answer, its body included
MAX_INTERIM = 5  # 1xx responses before it
PIECE = 1024  # bytes that are parsed at once
SWITCHED = 101  # is no 1xx response before an answer, but the answer
TOO_MUCH = f"It sent more than {MAX_BYTES >> 10} KiB or {MAX_INTERIM} responses of 1xx before an answer."


class EndlessAnswer(ClientError):
    """No answer within the bounds. Its text is a sentence."""


class BoundedConnector(TCPConnector):
    """A connector whose connections read little. aiohttp has no public way to choose their protocol."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self._factory = partial(_bounded_answer, asyncio.get_running_loop())


class BoundedAnswer(ResponseHandler):
    """The connection of one request. What is behind the bounds is dropped unread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._bytes = self._interim = 0
        self._answered = False

    def data_received(self, data: bytes) -> None:
        for start in range(0, max(1, len(data)), PIECE):
            piece = data[start : start + PIECE]
            self._bytes += len(piece)
            if self._bytes <= MAX_BYTES and self._interim <= MAX_INTERIM:
                super().data_received(piece)
        if self._bytes > MAX_BYTES or self._interim > MAX_INTERIM:
            self._refuse()

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Called by aiohttp with the head of a response and its body."""
        code = data[0].code
        is_interim = code < 200 and code != SWITCHED
        self._interim += is_interim
        if self._interim <= MAX_INTERIM:
            self._answered = self._answered or not is_interim
            super().feed_data(data, size)

    def _refuse(self) -> None:
        if not self._answered and self.transport is not None:
            self.set_exception(EndlessAnswer(TOO_MUCH))
            self.transport.close()


def _bounded_answer(loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return BoundedAnswer(loop)
