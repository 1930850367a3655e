"""Drafts made ready to be sent: what is shown of one is what its mail is built of. Runs in the sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.headerregistry import Address
from email.message import EmailMessage
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from servers.email import rebuilt
from servers.email.messages import (
    HEADER_ID,
    STORED,
    Letterhead,
    attachments,
    composed,
    content,
    date,
    decoded,
    header,
    header_ids,
    is_text,
    message,
    partly,
    parts,
    too_long,
    value,
)
from servers.email.models import ADDRESS, CONTROL, few
from servers.email.outgoing import LISTS, divided, fields
from servers.lines import one_line

ONCE = ("From", "To", "Cc", "Bcc", "Subject", "Sender", "Reply-To", "Message-ID", "References", "In-Reply-To")
UNSHOWN = {
    "date",
    "message-id",
    "references",
    "in-reply-to",
    "mime-version",
    *(name.lower() for name in ONCE),
}
NO_SUBJECT = "(no subject)"
Lists = dict[str, tuple[Address, ...]]


def ready(data: bytes, sender: Address, edits: dict[str, str]) -> tuple[dict[str, Any], bytes]:
    """The mail that a draft would send, changed as asked: facts for `outgoing.told`, and its bytes. They are built anew
    of what was read in the draft, and shown as they are read again.

    Raises ToolError with what to mend, which quotes nothing of the draft: a rule may keep its mailbox.
    """
    mail = message(data, "The draft")
    _plain_headers(data, mail)
    if "From" not in mail:
        data = _from_line(sender) + data
        mail = message(data, "The draft")
    if edits:
        mail = _edited(mail, sender, edits)
        data = mail.as_bytes(policy=STORED)
        mail = message(data, "The draft")
    few([_list(mail, name) for name in LISTS])
    _from(mail, sender)
    guessed = partly(mail)
    data = rebuilt.written(mail)
    mail = message(data, "The draft")
    lists = {name: _list(mail, name) for name in LISTS}
    _from(mail, sender)
    facts = {
        "lists": {
            name: [[each.display_name, each.username, each.domain] for each in found]
            for name, found in lists.items()
        },
        "subject": header(mail, "Subject") or NO_SUBJECT,
        "header_id": header(mail, "Message-ID"),
        "message": "\n".join([_shown(mail, lists), *guessed]),
    }
    return facts, data


def _from_line(sender: Address) -> bytes:
    """The From header of a mail that has none."""
    mail = EmailMessage(policy=STORED)
    mail["From"] = sender
    return mail.as_bytes(policy=STORED).rstrip(b"\n") + b"\n"


def _plain_headers(data: bytes, mail: EmailMessage) -> None:
    """Refuse headers that different programs would understand differently."""
    head, _ = divided(data)
    names = [name for name, _ in fields(head)]
    twice = [name for name in ONCE if names.count(name.lower()) > 1]
    if twice:
        raise ToolError(f"The draft has two {twice[0]} headers. Write the mail anew as a draft.")
    if re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)", head) or any(
        n.startswith("resent-") for n in names
    ):
        raise ToolError(
            "The draft has headers that are not sent as they are. Write the mail anew as a draft."
        )
    decoded = [str(value(mail, name)) for name in mail]
    unread = any(too_long(*one) for part in mail.walk() for one in part.raw_items())
    if unread or len(names) != len(mail.keys()) or any(CONTROL.search(one) for one in decoded):
        raise ToolError("The draft has headers that cannot be read. Write the mail anew as a draft.")


def _edited(mail: EmailMessage, sender: Address, edits: dict[str, str]) -> EmailMessage:
    if mail.is_multipart() or mail.get_content_type() != "text/plain":
        raise ToolError(
            "The draft is more than plain text, so it is sent as it is. Change it in a mail program."
        )
    fields = {name.lower(): header(mail, name) for name in (*LISTS, "Subject")}
    fields["body"] = content(mail)
    written = date(mail)
    header_id = header(mail, "Message-ID")
    if written is None or not HEADER_ID.fullmatch(header_id):
        raise ToolError("The draft has no date or no Message-ID. Write the mail anew as a draft.")
    answers = tuple(header_ids(header(mail, "References")))
    return composed(Letterhead(sender, written, header_id, answers), fields | edits)


def _list(mail: EmailMessage, name: str) -> tuple[Address, ...]:
    field = mail.get(name)
    if field is None:
        return ()
    if field.defects or any(group.display_name for group in field.groups):
        raise ToolError(f"The draft's {name} cannot be read. Write it anew.")
    for each in field.addresses:
        if not ADDRESS.fullmatch(each.addr_spec):
            raise ToolError(f"The draft's {name} holds what is no address. Write it anew.")
    return tuple(field.addresses)


def _from(mail: EmailMessage, sender: Address) -> None:
    field = mail.get("From")
    found = [each.addr_spec.lower() for each in getattr(field, "addresses", ())]
    if found != [sender.addr_spec.lower()]:
        raise ToolError(f"The draft is not from {sender}, as whom this server sends. Write it anew.")


def _shown(mail: EmailMessage, lists: Lists) -> str:
    """All that people should see before: headers, text, HTML as it is written, and a line for each attachment."""
    texts = [*_headers(mail, lists), "", *_bodies(mail)]
    return "\n".join([*texts, *attachments(mail)])


def _headers(mail: EmailMessage, lists: Lists) -> Iterator[str]:
    yield f"From: {header(mail, 'From')}"
    for name, group in lists.items():
        if group:
            yield f"{name}: {', '.join(map(str, group))}" + (
                " (the others do not see this)" * (name == "Bcc")
            )
    yield f"Subject: {header(mail, 'Subject') or NO_SUBJECT}"
    for written, raw in mail.raw_items():
        name = written.lower()
        if name in ("reply-to", "sender") or not (name in UNSHOWN or name.startswith("content-")):
            yield f"{name.title()}: {decoded(name, raw)}"


def _bodies(mail: EmailMessage) -> Iterator[str]:
    for part in parts(mail):
        if is_text(part):
            if part.get_content_subtype() != "plain":
                yield f"[as {one_line(part.get_content_subtype())}:]"
            yield content(part).rstrip("\n")
