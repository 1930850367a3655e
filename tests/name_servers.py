"""A name server that never answers, beside one that does."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

from tools.name_lookups import MAX_PER_OWNER


class NameServers:
    """One does not answer for names that begin with `hangs` before `answer` is set; the other gives this machine."""

    def __init__(self) -> None:
        self.answer, self.asked = threading.Event(), list[str]()
        self.busy, self._loop = asyncio.Event(), asyncio.get_running_loop()

    def getaddrinfo(self, host: str, port: int, *_: object, **more: object) -> list[Any]:
        self.asked.append(host)
        if len(self.asked) == MAX_PER_OWNER:
            self._loop.call_soon_threadsafe(self.busy.set)
        if host.startswith("hangs"):
            self.answer.wait(60)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
