"""A mail server to try things with: it takes every mail, delivers none, and keeps each in a folder to be looked at."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from pathlib import Path

LONGEST_LINE = 2000
LARGEST = 20 << 20  # bytes of a mail
ADDRESS = re.compile(rb"(?:FROM|TO):\s*<([^<>\s]*)>", re.IGNORECASE)
EXTENSIONS = b"250-postbox\r\n250-8BITMIME\r\n250 SIZE %d\r\n" % LARGEST


class Postbox:
    """SMTP on this machine alone (RFC 5321, without delivering)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.StreamWriter] = set()

    async def start(self) -> int:
        """Listen on a free port, and return it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._server = await asyncio.start_server(self._met, "127.0.0.1", 0, limit=LONGEST_LINE)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        if self._server:
            self._server.close()
            for writer in self._talks:
                writer.close()
            await self._server.wait_closed()

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._talks.add(writer)
        with suppress(
            ConnectionError, asyncio.IncompleteReadError, ValueError
        ):  # ValueError: an endless line
            await _Talk(reader, writer, self.folder).hold()
        self._talks.discard(writer)
        writer.close()


class _Talk:
    """One conversation."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, folder: Path) -> None:
        self.reader, self.writer, self.folder = reader, writer, folder
        self.sender: bytes | None = None
        self.recipients: list[bytes] = []

    async def hold(self) -> None:
        await self._say(b"220 postbox\r\n")
        while line := await self.reader.readline():
            verb = line[:4].upper().strip()
            if verb == b"QUIT":
                return await self._say(b"221 bye\r\n")
            await self._say(await self._answer(verb, line))

    async def _answer(self, verb: bytes, line: bytes) -> bytes:
        found = ADDRESS.search(line)
        if verb in (b"EHLO", b"HELO", b"RSET", b"NOOP"):
            self.sender, self.recipients = None, []
            return EXTENSIONS if verb == b"EHLO" else b"250 OK\r\n"
        if verb == b"MAIL" and found:
            self.sender, self.recipients = found[1], []
            return b"250 OK\r\n"
        if verb == b"RCPT" and found and self.sender is not None:
            self.recipients.append(found[1])
            return b"250 OK\r\n"
        if verb == b"DATA" and self.recipients:
            await self._say(b"354 go on\r\n")
            return await self._take()
        return b"503 not now\r\n" if verb in (b"MAIL", b"RCPT", b"DATA") else b"500 not known\r\n"

    async def _take(self) -> bytes:
        mail, size = [], 0
        while (line := await self.reader.readline()) not in (b".\r\n", b""):
            size += len(line)
            if size <= LARGEST:
                mail.append(line[1:] if line.startswith(b".") else line)
        if not line:
            return b""  # it broke off: there is no mail
        if size > LARGEST:
            return b"552 too large\r\n"
        envelope = b"X-Envelope-From: %s\r\nX-Envelope-To: %s\r\n" % (
            self.sender,
            b", ".join(self.recipients),
        )
        number = len(list(self.folder.glob("*.eml"))) + 1
        (self.folder / f"{number:04}.eml").write_bytes(envelope + b"".join(mail))
        return b"250 taken\r\n"

    async def _say(self, text: bytes) -> None:
        self.writer.write(text)
        await self.writer.drain()
