"""From arguments to the bytes of a draft: addresses that are addresses, one line where one line belongs."""

from __future__ import annotations

import email.policy
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime

from mcp.server.mcpserver.exceptions import ToolError

from servers.email import parse

STORED = email.policy.SMTP.clone(cte_type="7bit", linesep="\n")
MOST_RECIPIENTS = 100
ADDRESS = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)
ENTRY = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^",])+')  # what stands between commas that are not quoted
ONE = re.compile(
    r'(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^<>"@,;:()\[\]\\]*))\s*<(?P<at>[^<>\s]+)>|(?P<bare>\S+)'
)
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class Letterhead:
    """What a new mail has besides what was asked for."""

    sender: Address
    written: datetime
    header_id: str  # <…@…>
    answers: tuple[str, ...] = ()  # Message-IDs of the thread it answers, the last one last


def people(text: str, name: str) -> tuple[Address, ...]:
    """The addresses in a list with commas. Raises ToolError naming the one that is none."""
    if CONTROL.search(text):
        raise ToolError(f"{name} has a line break or another character that no address has. Write one line.")
    entries = [entry for entry in ENTRY.findall(text) if entry.strip()]
    found = [ONE.fullmatch(entry.strip()) for entry in entries]
    if ENTRY.sub("", text).strip(" ,") or not all(
        one and ADDRESS.fullmatch(one["at"] or one["bare"]) for one in found
    ):
        raise ToolError(f"{name} holds “{text}”, which is not all addresses. Write Ann <ann@example.com>, …")
    return tuple(_address(one) for one in found if one)


def _address(one: re.Match[str]) -> Address:
    name = (
        re.sub(r"\\(.)", r"\1", one["quoted"]) if one["quoted"] is not None else (one["plain"] or "").strip()
    )
    return Address(name, addr_spec=one["at"] or one["bare"])


def sender(text: str) -> Address:
    """The one address that mails are sent from. Raises ValueError with a sentence."""
    try:
        [found] = people(text, "--from")
    except (ToolError, ValueError):
        raise ValueError(f"--from is “{text}”. Give one address, like Ann <ann@example.com>.") from None
    return found


def line(text: str, name: str) -> str:
    if CONTROL.search(text):
        raise ToolError(f"The {name} has a line break or another character that is not text. Write one line.")
    return text.strip()


def mailbox(address: Address) -> str:
    """What makes two addresses the same: case counts before the @ and not behind it (RFC 5321, 2.4)."""
    return f"{address.username}@{address.domain.lower()}"


def few(groups: Iterable[Iterable[Address]]) -> None:
    """Raises ToolError for a mail to nobody, or to too many."""
    count = len({mailbox(address) for group in groups for address in group})
    if not count:
        raise ToolError("Nobody would get this mail. Name somebody in to, cc or bcc.")
    if count > MOST_RECIPIENTS:
        raise ToolError(f"{count} people would get this mail. Write to at most {MOST_RECIPIENTS} at once.")


def composed(head: Letterhead, fields: dict[str, str]) -> EmailMessage:
    """A plain text mail. `fields`: to, cc, bcc, subject, body. Raises ToolError with what to mend."""
    lists = {name: people(fields.get(name, ""), name) for name in ("to", "cc", "bcc")}
    few(lists.values())
    body = fields["body"].replace("\r\n", "\n").replace("\r", "\n")
    if UNWRITABLE.search(body):
        raise ToolError("The text has characters that no mail can carry. Leave them out.")
    mail = EmailMessage(policy=STORED)
    try:
        mail["From"] = head.sender
        for name, found in lists.items():
            if found:
                mail[name.capitalize()] = found
        mail["Subject"] = line(fields["subject"], "subject")
        mail["Date"] = format_datetime(head.written)
        mail["Message-ID"] = head.header_id
        if head.answers:
            mail["In-Reply-To"] = head.answers[-1]
            mail["References"] = " ".join(head.answers)
        mail.set_content(body if body.endswith("\n") else body + "\n")
    except (ValueError, MessageError) as error:
        raise ToolError(f"That cannot be written as a mail: {error}.") from error
    return mail


def from_line(sender: Address) -> bytes:
    """The From header of a mail that has none."""
    mail = EmailMessage(policy=STORED)
    mail["From"] = sender
    return mail.as_bytes(policy=STORED).rstrip(b"\n") + b"\n"


HEADER_ID = re.compile(r"<[^<>\s]{1,900}>")


def thread_of(mail: EmailMessage) -> tuple[str, ...]:
    """The Message-IDs that an answer to this mail names: the thread before it, then itself."""
    before = HEADER_ID.findall(parse.header(mail, "References"))[-20:]
    own = HEADER_ID.findall(parse.header(mail, "Message-ID"))[:1]
    return tuple(dict.fromkeys([*before, *own]))
