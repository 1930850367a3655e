"""An SMTP server for trials: it accepts every mail, delivers none, and writes each to a folder."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import suppress
from pathlib import Path

MAX_LINE = 2000
MAX_BYTES = 20 << 20  # bytes of a mail
ADDRESS = re.compile(rb"(?:FROM|TO):\s*<([^<>\s]*)>", re.IGNORECASE)
EXTENSIONS = b"250-postbox\r\n250-8BITMIME\r\n250 SIZE %d\r\n" % MAX_BYTES


def _write_private(path: Path, data: bytes) -> None:
    """Writes a file with mode 0600."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)


class MailServer:
    """An SMTP server on 127.0.0.1 (RFC 5321 without delivery)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.StreamWriter] = set()

    async def start(self) -> int:
        """Listens on a free port; returns the port."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=MAX_LINE)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        if self._server:
            self._server.close()
            for writer in self._connections:
                writer.close()
            await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        with suppress(
            ConnectionError, asyncio.IncompleteReadError, ValueError
        ):  # ValueError: an endless line
            await _Session(reader, writer, self.folder).run()
        self._connections.discard(writer)
        writer.close()


class _Session:
    """One SMTP session."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, folder: Path) -> None:
        self.reader, self.writer, self.folder = reader, writer, folder
        self.sender: bytes | None = None
        self.recipients: list[bytes] = []

    async def run(self) -> None:
        await self._send(b"220 postbox\r\n")
        while line := await self.reader.readline():
            verb = line[:4].upper().strip()
            if verb == b"QUIT":
                return await self._send(b"221 bye\r\n")
            await self._send(await self._reply(verb, line))

    async def _reply(self, verb: bytes, line: bytes) -> bytes:
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
            await self._send(b"354 go on\r\n")
            return await self._receive_data()
        return b"503 not now\r\n" if verb in (b"MAIL", b"RCPT", b"DATA") else b"500 not known\r\n"

    async def _receive_data(self) -> bytes:
        mail, size = [], 0
        while (line := await self.reader.readline()) not in (b".\r\n", b""):
            size += len(line)
            if size <= MAX_BYTES:
                mail.append(line[1:] if line.startswith(b".") else line)
        if not line:
            return b""  # the connection broke: there is no mail
        if size > MAX_BYTES:
            return b"552 too large\r\n"
        envelope = b"X-Envelope-From: %s\r\nX-Envelope-To: %s\r\n" % (
            self.sender,
            b", ".join(self.recipients),
        )
        number = len(list(self.folder.glob("*.eml"))) + 1
        _write_private(self.folder / f"{number:04}.eml", envelope + b"".join(mail))
        return b"250 taken\r\n"

    async def _send(self, text: bytes) -> None:
        self.writer.write(text)
        await self.writer.drain()
