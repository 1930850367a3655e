"""What a draft would send: to whom, which bytes, and the text that shows all of it before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime

from mcp.server.mcpserver.exceptions import ToolError

from servers.email import compose, parse
from servers.email.models import Plan
from servers.filesystem import disk

LISTS = ("To", "Cc", "Bcc")
ONCE = ("From", "To", "Cc", "Bcc", "Subject", "Sender", "Reply-To", "Message-ID", "References", "In-Reply-To")
REPLACED = {"date", "bcc"}  # the first is said anew when it is sent, the second is nobody's business
UNSHOWN = {
    "date",
    "message-id",
    "references",
    "in-reply-to",
    "mime-version",
    *(name.lower() for name in ONCE),
}
FIELD = re.compile(rb"[\x21-\x39\x3b-\x7e]+[ \t]*:")


@dataclass(frozen=True)
class Outgoing:
    """A mail that is ready, but for its date."""

    mail: EmailMessage
    data: bytes  # with \n at the end of lines, as drafts are kept
    lists: dict[str, tuple[Address, ...]]
    sender: Address

    @property
    def subject(self) -> str:
        return parse.header(self.mail, "Subject") or "(no subject)"

    @property
    def envelope(self) -> list[str]:
        """Everybody who gets it, once."""
        found: dict[str, str] = {}
        for each in (each for group in self.lists.values() for each in group):
            found.setdefault(compose.mailbox(each), each.addr_spec)
        return list(found.values())

    @property
    def what(self) -> str:
        first, more = self.envelope[0], len(self.envelope) - 1
        return f"{self.subject}, to {first}" + (f" and {more} more" if more else "")

    @property
    def noun(self) -> str:
        return f"to {self.envelope[0]}" if len(self.envelope) == 1 else f"to {len(self.envelope)} people"

    @property
    def recipients(self) -> str:
        return ", ".join(
            f"{each.addr_spec} ({name})" if name != "To" else each.addr_spec
            for name, group in self.lists.items()
            for each in group
        )

    def wire(self, at: datetime) -> bytes:
        """The bytes for the mail server: without Bcc, dated now, every line ended as SMTP wants it."""
        head, body = _divided(self.data)
        kept = b"".join(field for name, field in _fields(head) if name not in REPLACED)
        whole = b"Date: " + format_datetime(at).encode() + b"\n" + kept + b"\n" + body
        return re.sub(rb"\r\n|\r|\n", b"\r\n", whole if whole.endswith(b"\n") else whole + b"\n")

    def shown(self) -> str:
        """All that people should see before: headers, text, HTML as it is written, and a line for each attachment."""
        return "\n".join([*self._headers(), "", *_bodies(self.mail), *parse.attachments(self.mail)])

    def _headers(self) -> Iterator[str]:
        yield f"From: {parse.header(self.mail, 'From')}"
        for name, group in self.lists.items():
            if group:
                yield f"{name}: {', '.join(map(str, group))}" + (
                    " (the others do not see this)" * (name == "Bcc")
                )
        yield f"Subject: {self.subject}"
        for name in dict.fromkeys(name.lower() for name in self.mail):
            if name in ("reply-to", "sender") or not (name in UNSHOWN or name.startswith("content-")):
                yield f"{name.title()}: {parse.header(self.mail, name)}"


def _bodies(mail: EmailMessage) -> Iterator[str]:
    for part in parse.parts(mail):
        if parse.is_text(part):
            if part.get_content_subtype() != "plain":
                yield f"[as {part.get_content_subtype()}:]"
            yield parse.content(part).rstrip("\n")


def ready(data: bytes, sender: Address, edits: dict[str, str]) -> Outgoing:
    """The mail that these bytes of a draft would send, changed as asked. Raises ToolError with what to mend."""
    mail = parse.message(data, "The draft")
    _plain_headers(data, mail)
    if "From" not in mail:
        data = compose.from_line(sender) + data
        mail = parse.message(data, "The draft")
    if edits:
        mail = _edited(mail, sender, edits)
        data = mail.as_bytes(policy=compose.STORED)
        mail = parse.message(data, "The draft")
    lists = {name: _list(mail, name) for name in LISTS}
    compose.few(lists.values())
    _from(mail, sender)
    return Outgoing(mail, data, lists, sender)


def _plain_headers(data: bytes, mail: EmailMessage) -> None:
    """Refuse headers that different programs would understand differently."""
    head, _ = _divided(data)
    names = [name for name, _ in _fields(head)]
    twice = [name for name in ONCE if names.count(name.lower()) > 1]
    if twice:
        raise ToolError(f"The draft has two {twice[0]} headers. Write it anew with draft_email.")
    if re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)", head) or any(
        n.startswith("resent-") for n in names
    ):
        raise ToolError(
            "The draft has headers that are not sent as they are. Write it anew with draft_email."
        )
    if len(names) != len(mail.keys()):
        raise ToolError("The draft has headers that cannot be read. Write it anew with draft_email.")


def _edited(mail: EmailMessage, sender: Address, edits: dict[str, str]) -> EmailMessage:
    if mail.is_multipart() or mail.get_content_type() != "text/plain":
        raise ToolError(
            "The draft is more than plain text, so it is sent as it is. Change it in a mail program."
        )
    fields = {name.lower(): parse.header(mail, name) for name in (*LISTS, "Subject")}
    fields["body"] = parse.content(mail)
    written = parse.date(mail)
    header_id = parse.header(mail, "Message-ID")
    if written is None or not compose.HEADER_ID.fullmatch(header_id):
        raise ToolError("The draft has no date or no Message-ID. Write it anew with draft_email.")
    answers = tuple(compose.HEADER_ID.findall(parse.header(mail, "References")))
    return compose.composed(compose.Letterhead(sender, written, header_id, answers), fields | edits)


def _list(mail: EmailMessage, name: str) -> tuple[Address, ...]:
    field = mail.get(name)
    if field is None:
        return ()
    if field.defects or any(group.display_name for group in field.groups):
        raise ToolError(f"The draft's {name} cannot be read: {parse.header(mail, name)}. Write it anew.")
    for each in field.addresses:
        if not compose.ADDRESS.fullmatch(each.addr_spec):
            raise ToolError(f"The draft's {name} holds {each.addr_spec}, which is no address. Write it anew.")
    return tuple(field.addresses)


def _from(mail: EmailMessage, sender: Address) -> None:
    field = mail.get("From")
    found = [each.addr_spec.lower() for each in getattr(field, "addresses", ())]
    if found != [sender.addr_spec.lower()]:
        raise ToolError(
            f"The draft is from {parse.header(mail, 'From')}, but this server sends as {sender}. Write it anew."
        )


def plan(out: Outgoing, sha256: str) -> Plan:
    """The mail as the gate shows it."""
    message = out.shown()
    return Plan(
        what=out.what,
        noun=out.noun,
        recipients=out.recipients,
        message=message,
        sha256=sha256,
        shown=disk.sha256(message.encode("utf-8", "surrogatepass")),
    )


def _divided(data: bytes) -> tuple[bytes, bytes]:
    """Head and body, without the empty line between them. Line ends become \\n in the head."""
    found = re.search(rb"\r?\n\r?\n", data)
    head, body = (data[: found.start()], data[found.end() :]) if found else (data, b"")
    return head.replace(b"\r\n", b"\n") + b"\n", body


def _fields(head: bytes) -> list[tuple[str, bytes]]:
    """Each header with its lower-case name, folded lines kept with it. Raises ToolError for a line that is none."""
    found: list[tuple[str, bytes]] = []
    for line in head.splitlines(keepends=True):
        if line[:1] in b" \t" and found:
            found[-1] = (found[-1][0], found[-1][1] + line)
        elif FIELD.match(line):
            found.append((line.split(b":")[0].strip().decode("ascii").lower(), line))
        elif line.strip():
            raise ToolError(
                "The draft has a line among its headers that is none. Write it anew with draft_email."
            )
    return found
