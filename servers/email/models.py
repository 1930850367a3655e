"""What the mail tools take and answer; addresses that are addresses, and lines that are one line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from email.headerregistry import Address
from typing import Annotated, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from servers.filesystem.models import Entry, Item, Sha256, Strict

LONGEST_LIST, LONGEST_SUBJECT, LONGEST_BODY = 8000, 500, 40_000

MailboxArg = Annotated[
    str, Field(max_length=200, description="Only in this mailbox: INBOX, Sent, … Empty: in all.")
]
MessageArg = Annotated[
    str,
    Field(min_length=4, max_length=40, description="The id of a message, as a search of the mail has it."),
]
DraftArg = Annotated[
    str, Field(min_length=4, max_length=40, description="The id of the draft, as the list of drafts has it.")
]
ToArg = Annotated[
    str, Field(max_length=LONGEST_LIST, description="Addresses, with commas between: Ann <ann@example.com>.")
]
SubjectArg = Annotated[str, Field(max_length=LONGEST_SUBJECT, description="The subject, in one line.")]
BodyArg = Annotated[str, Field(max_length=LONGEST_BODY, description="The text of the mail.")]
ExpectedArg = Annotated[
    Sha256 | None, Field(description="SHA-256 the draft's file must have now. Empty: anything.")
]


class NewDraft(Strict):
    """The arguments of draft_email."""

    to: ToArg
    subject: SubjectArg
    body: BodyArg
    cc: ToArg | None = None
    bcc: ToArg | None = None
    in_reply_to: MessageArg | None = None


class Sending(Strict):
    """The arguments of send_draft. What is left out is sent as it was drafted."""

    draft_id: DraftArg
    to: ToArg | None = None
    cc: ToArg | None = None
    bcc: ToArg | None = None
    subject: SubjectArg | None = None
    body: BodyArg | None = None

    @property
    def edits(self) -> dict[str, str]:
        return self.model_dump(exclude={"draft_id"}, exclude_none=True)


class Line(BaseModel):
    """A message in a list."""

    message_id: str
    date: datetime | None
    sender: str
    subject: str
    mailbox: str
    unread: bool
    file: str


NamedField = Annotated[list[str], Field(description="the folders of messages that the note names")]


class Messages(BaseModel):
    messages: list[Line]
    truncated: bool
    note: str = ""
    folders: NamedField


class DraftLine(BaseModel):
    draft_id: str
    recipients: str
    subject: str
    saved: datetime
    size: int
    state: Literal["draft", "perhaps sent"]
    file: str


class Drafts(BaseModel):
    drafts: list[DraftLine]
    truncated: bool
    note: str = ""
    folders: NamedField


class Mail(BaseModel):
    """One message with everything that people read of it, or that it is not there."""

    exists: bool
    message_id: str
    what: str = Field(description="like “Minutes, to ann@example.com”")
    text: str = Field(description="headers, text, and a line for each attachment")
    file: str
    sha256: Sha256 = Field(description="of its file; “absent” where there is none")
    items: list[Item]


class Thread(BaseModel):
    """A thread, extracted by rule; with sampling, a model adds lines whose quotations were found."""

    subject: str
    messages: int
    first: datetime | None
    last: datetime | None
    text: str = Field(
        description="participants, dates, open questions, decisions, attachments, and what the last message says"
    )
    note: str = ""
    files: list[str] = Field(description="of the messages")
    folders: NamedField


class Plan(BaseModel):
    """A mail as it would be drafted or sent."""

    what: str = Field(description="like “Minutes, to ann@example.com and 2 more”")
    noun: str = Field(description="like “to 3 people”")
    recipients: str = Field(description="everybody who would get it, Bcc included")
    addresses: list[str] = Field(description="the same people, by their addresses alone")
    to: str | None = Field(description="of these, those in To, with commas; null: nobody")
    cc: str | None
    bcc: str | None
    subject: str
    message: str = Field(description="headers, text, and a line for each attachment")
    sha256: Sha256 = Field(description="of the draft's file as it is now")
    shown: str = Field(description="SHA-256 of `message`, of who gets it and of what is sent")
    files: list[str] = Field(description="of the draft, or of the message that is answered")


class Drafted(BaseModel):
    draft_id: str
    what: str
    file: str
    sha256: str


class Deleted(BaseModel):
    draft_id: str
    what: str
    file: str
    sha256: Sha256 = Field(description="“absent”: what is there now")
    trash_id: str = Field(description="where the draft is kept, to restore it")
    entry: Entry
    kept_until: datetime


class Sent(BaseModel):
    what: str
    recipients: str
    sent_at: datetime
    message_id: str = Field(description="the id of the copy in the sent mailbox")
    file: str = Field(description="where the copy is")
    header_id: str = Field(description="its Message-ID, as the recipients see it")
    note: str = ""


MOST_RECIPIENTS = 100
ADDRESS = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)
# What stands between commas that are not quoted.
ENTRY = re.compile(r'(?:"(?:[^"\\]|\\[\s\S])*+(?:"|\\?\Z)|[^",])++')
ONE = re.compile(
    r'(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^<>"@,;:()\[\]\\]*+))\s*+<(?P<at>[^<>\s]+)>|(?P<bare>\S+)'
)
# An encoded word (RFC 2047): Python's header classes decode one wherever it stands, line breaks in it included.
ENCODED = re.compile(r"=\?[^?]*\?[^?]*\?")
IN_CODE = "holds a text in the code of mail headers (=?…?=). Write the text itself."
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def people(text: str, name: str) -> tuple[Address, ...]:
    """The addresses in a list with commas. Raises ToolError naming the one that is none."""
    if CONTROL.search(text):
        raise ToolError(f"{name} has a line break or another character that no address has. Write one line.")
    if ENCODED.search(text):
        raise ToolError(f"{name} {IN_CODE}")
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
    if ENCODED.search(text):
        raise ToolError(f"The {name} {IN_CODE}")
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
