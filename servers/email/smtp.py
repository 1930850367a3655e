"""Handing one mail to the mail server: to everybody or to nobody, and honest when nobody knows."""

from __future__ import annotations

import smtplib
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mcp.server.mcpserver.exceptions import ToolError

SECONDS = 20.0  # that the mail server may stay silent
ALL_SECONDS = 300.0  # for one mail, whatever the mail server says meanwhile
MOST_ANSWERED = 64 * 1024  # bytes of one answer
PIECE = 256 * 1024  # bytes that are handed over at once
STILL = "Nothing was sent, and the draft is still there."
Security = Literal["starttls", "tls", "none"]


class PerhapsSent(Exception):
    """The line broke after the mail was handed over, or the answer was none: nobody knows whether it was taken."""


@dataclass(frozen=True)
class Post:
    """The mail server, and how to speak to it. The password is read from its file for each mail."""

    host: str
    port: int = 587
    security: Security = "starttls"
    user: str = ""
    password_file: Path | None = None
    authorities: Path | None = None  # certificates to trust besides those of the system

    def __post_init__(self) -> None:
        if bool(self.user) is not bool(self.password_file):
            raise ValueError("Give --smtp-user and --smtp-password-file together.")
        if self.user and self.security == "none":
            raise ValueError(
                "A password is not sent without encryption. Use --smtp-security starttls or tls."
            )

    def send(self, sender: str, recipients: list[str], data: bytes) -> None:
        """Hand over one mail. Raises ToolError when it was surely not sent, PerhapsSent when nobody knows."""
        with self._line() as line:
            try:
                self._envelope(line, sender, recipients, data)
            except OSError as error:  # smtplib's own errors are OSErrors too
                raise ToolError(f"The mail server broke off ({_reason(error)}). {STILL}") from error
            _handed_over(line, data)

    @contextmanager
    def _line(self) -> Iterator[smtplib.SMTP]:
        try:
            line = self._connected()
        except smtplib.SMTPAuthenticationError as error:
            raise ToolError(
                f"The mail server does not take the user name and the password. Ask whoever set it up. {STILL}"
            ) from error
        except smtplib.SMTPNotSupportedError as error:
            raise ToolError(
                f"The mail server offers no encryption or no login. Ask whoever set it up. {STILL}"
            ) from error
        except OSError as error:
            raise ToolError(
                f"The mail server {self.host}:{self.port} cannot be used ({_reason(error)}). {STILL}"
            ) from error
        try:
            yield line
        finally:
            line.close()

    def _connected(self) -> smtplib.SMTP:
        secure = ssl.create_default_context(cafile=self.authorities)
        if self.security == "tls":
            line: smtplib.SMTP = _EncryptedLine(self.host, self.port, timeout=SECONDS, context=secure)
        else:
            line = _Line(self.host, self.port, timeout=SECONDS)
        try:
            if self.security == "starttls":
                line.starttls(context=secure)
            if self.password_file:
                line.login(self.user, self.password_file.read_text("utf-8").strip())
            line.ehlo_or_helo_if_needed()
        except BaseException:
            line.close()
            raise
        return line

    def _envelope(self, line: smtplib.SMTP, sender: str, recipients: list[str], data: bytes) -> None:
        """From whom and to whom. One recipient that is refused stops it for all. Raises ToolError or OSError."""
        options = [] if data.isascii() else ["BODY=8BITMIME"]
        if options and not line.has_extn("8bitmime"):
            raise ToolError(
                f"The mail server does not take this text as it is written. Write it anew. {STILL}"
            )
        _must(line.mail(sender, options), f"mail from {sender}")
        for recipient in recipients:
            _must(line.rcpt(recipient), f"mail to {recipient}")


class _Answers:
    """What the mail server says, line by line, until a time and up to a size: smtplib itself waits anew for each byte
    and keeps all lines of an answer."""

    def __init__(self, sock: socket.socket, ends: float) -> None:
        self._sock, self._ends, self._file = sock, ends, sock.makefile("rb")
        self.left = MOST_ANSWERED

    def readline(self, most: int) -> bytes:
        line = b""
        while len(line) < most and not line.endswith(b"\n"):
            self._sock.settimeout(_seconds_until(self._ends))
            if not (ahead := self._file.peek(1)):
                break
            line += self._file.read(min(ahead.find(b"\n") + 1 or len(ahead), most - len(line)))
        self.left -= len(line)
        if self.left < 0:
            raise OSError("its answer is too long")
        return line

    def close(self) -> None:
        self._file.close()


class _Line(smtplib.SMTP):
    """The line to a mail server, for ALL_SECONDS."""

    file: _Answers | None

    def __init__(self, *args: Any, **options: Any) -> None:
        self._ends = time.monotonic() + ALL_SECONDS
        super().__init__(*args, **options)

    def getreply(self) -> tuple[int, bytes]:
        if self.sock is not None:
            self.file = self.file or _Answers(self.sock, self._ends)
            self.file.left = MOST_ANSWERED
        return super().getreply()

    def send(self, s: Any) -> None:
        data = s.encode(self.command_encoding) if isinstance(s, str) else s
        for start in range(0, len(data), PIECE):
            if self.sock is not None:
                self.sock.settimeout(_seconds_until(self._ends))
            super().send(data[start : start + PIECE])


class _EncryptedLine(_Line, smtplib.SMTP_SSL):
    """The same, encrypted from the start."""


def _seconds_until(ends: float) -> float:
    if (left := ends - time.monotonic()) <= 0:
        raise TimeoutError(f"it took more than {ALL_SECONDS:.0f} seconds")
    return min(left, SECONDS)


def _must(answer: tuple[int, bytes], what: str) -> None:
    code, text = answer
    if code not in (250, 251):
        reason = " ".join(text.decode("utf-8", "replace").split())[:200]
        raise ToolError(f"The mail server takes no {what} ({code} {reason}). {STILL}")


def _handed_over(line: smtplib.SMTP, data: bytes) -> None:
    try:
        code, _ = line.docmd("data")
        if code != 354:  # it does not want to begin
            raise ToolError(f"The mail server takes no mail now ({code}). {STILL}")
        line.send(_quoted(data) + b".\r\n")
        code, text = line.getreply()
    except OSError as error:
        raise PerhapsSent(_reason(error)) from error
    if 400 <= code <= 599:
        _must((code, text), "mail like this")
    if not 200 <= code <= 299:  # the first digit decides; without any, the server has the mail all the same
        raise PerhapsSent("its answer says neither yes nor no")
    with suppress(OSError):  # it has been taken; how the line ends does not matter
        line.quit()


def _quoted(data: bytes) -> bytes:
    """Lines that begin with a dot with one more, as SMTP wants it: smtplib's own way takes a second for 15 MB of such
    lines, in which no other thread runs."""
    return (b"." if data.startswith(b".") else b"") + data.replace(b"\n.", b"\n..")


def _reason(error: OSError) -> str:
    return " ".join(str(error).split())[:150] or type(error).__name__
