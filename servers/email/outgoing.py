"""What a draft would send: to whom, which bytes, and the text that shows all of it before."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.utils import format_datetime
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from servers.email.models import ADDRESS, Plan, few, mailbox
from servers.filesystem import disk

LISTS = ("To", "Cc", "Bcc")
REPLACED = {"date", "bcc"}  # the first is said anew when it is sent, the second is nobody's business
FIELD = re.compile(rb"[\x21-\x39\x3b-\x7e]+[ \t]*:")
MOST_HEADERS = 256 << 10  # bytes before the text
_EMPTY_LINE = re.compile(rb"\r?\n\r?\n")


@dataclass(frozen=True)
class Outgoing:
    """A mail that is ready, but for its date."""

    data: bytes  # with \n at the end of lines, as drafts are kept
    lists: dict[str, tuple[Address, ...]]
    sender: Address
    subject: str
    header_id: str
    message: str  # all that people should see before

    @property
    def envelope(self) -> list[str]:
        """Everybody who gets it, once."""
        found: dict[str, str] = {}
        for each in (each for group in self.lists.values() for each in group):
            found.setdefault(mailbox(each), each.addr_spec)
        return list(found.values())

    @property
    def what(self) -> str:
        first, more = self.envelope[0], len(self.envelope) - 1
        return f"{self.subject}, to {first}" + (f" and {more} more" if more else "")

    @property
    def noun(self) -> str:
        return f"to {self.envelope[0]}" if len(self.envelope) == 1 else f"to {len(self.envelope)} people"

    def people(self, name: str) -> str | None:
        """The addresses in one of the lists, with commas; None where nobody is in it."""
        return ", ".join(each.addr_spec for each in self.lists[name]) or None

    @property
    def recipients(self) -> str:
        return ", ".join(
            f"{each.addr_spec} ({name})" if name != "To" else each.addr_spec
            for name, group in self.lists.items()
            for each in group
        )

    def wire(self, at: datetime) -> bytes:
        """The bytes for the mail server: without Bcc, dated now, every line ended as SMTP wants it."""
        whole = b"Date: " + format_datetime(at).encode() + b"\n" + self._undated()
        ended = _with_newlines(whole if whole.endswith((b"\r", b"\n")) else whole + b"\n")
        return ended.replace(b"\n", b"\r\n")

    def shown(self, but: str = "") -> str:
        """SHA-256 of all that is shown and of all that goes out but its date: to whom, and which bytes. `but`: without
        this header, which is made anew each time."""
        people = [self.sender.addr_spec, *self.envelope]
        said = json.dumps([self.message, self.recipients, *people]).encode()
        return disk.sha256(b"\n".join([said, self._undated(but)]))

    def _undated(self, but: str = "") -> bytes:
        head, body = divided(self.data)
        kept = b"".join(field for name, field in fields(head) if name not in {*REPLACED, but})
        return kept + b"\n" + body


def told(facts: dict[str, Any], data: bytes, sender: Address) -> Outgoing:
    """From what the sandbox says of a draft. Raises ToolError for an address that is none."""
    lists = {name: tuple(map(_address, facts["lists"][name])) for name in LISTS}
    few(lists.values())
    return Outgoing(data, lists, sender, facts["subject"], facts["header_id"], facts["message"])


def _address(parts: list[str]) -> Address:
    found = Address(*parts)
    if not ADDRESS.fullmatch(found.addr_spec):
        raise ToolError("The draft names what is no address. Write it anew.")
    return found


def plan(out: Outgoing, sha256: str, shown: str, files: list[str]) -> Plan:
    """The mail as the gate shows it. `files`: those that it was made of."""
    return Plan(
        what=out.what,
        noun=out.noun,
        recipients=out.recipients,
        addresses=out.envelope,
        to=out.people("To"),
        cc=out.people("Cc"),
        bcc=out.people("Bcc"),
        subject=out.subject,
        message=out.message,
        sha256=sha256,
        shown=shown,
        files=files,
    )


def divided(data: bytes) -> tuple[bytes, bytes]:
    """Head and body, without the empty line between them. Line ends become \\n in the head. Raises ToolError for a
    head that is too long."""
    found = _EMPTY_LINE.search(data, 0, MOST_HEADERS)
    if not found and len(data) > MOST_HEADERS:
        raise ToolError(f"The draft has more than {MOST_HEADERS >> 10} KB of headers. Write the mail anew.")
    head, body = (data[: found.start()], data[found.end() :]) if found else (data, b"")
    return head.replace(b"\r\n", b"\n") + b"\n", body


def _with_newlines(data: bytes) -> bytes:
    """Every end of a line as \\n. Each step is one search, also where a mail is nothing but ends of lines."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def fields(head: bytes) -> list[tuple[str, bytes]]:
    """Each header with its lower-case name, folded lines kept with it. Raises ToolError for a line that is none."""
    found: list[tuple[str, list[bytes]]] = []
    for line in head.splitlines(keepends=True):
        if line[:1] in b" \t" and found:
            found[-1][1].append(line)
        elif FIELD.match(line):
            found.append((line.split(b":")[0].strip().decode("ascii").lower(), [line]))
        elif line.strip():
            raise ToolError(
                "The draft has a line among its headers that is none. Write the mail anew as a draft."
            )
    return [(name, b"".join(lines)) for name, lines in found]
