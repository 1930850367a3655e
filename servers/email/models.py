"""What the tools take and answer. Times are UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from servers.filesystem.models import Item, Sha256

LONGEST_LIST, LONGEST_SUBJECT, LONGEST_BODY = 8000, 500, 40_000

MessageArg = Annotated[
    str, Field(min_length=4, max_length=40, description="The id of a message, from search_emails.")
]
DraftArg = Annotated[str, Field(min_length=4, max_length=40, description="The draft_id, from list_drafts.")]
ToArg = Annotated[
    str, Field(max_length=LONGEST_LIST, description="Addresses, with commas between: Ann <ann@example.com>.")
]
SubjectArg = Annotated[str, Field(max_length=LONGEST_SUBJECT, description="The subject, in one line.")]
BodyArg = Annotated[str, Field(max_length=LONGEST_BODY, description="The text of the mail.")]
ExpectedArg = Annotated[
    Sha256 | None, Field(description="SHA-256 the draft's file must have now. Empty: anything.")
]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


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


class Messages(BaseModel):
    messages: list[Line]
    truncated: bool
    note: str = ""


class DraftLine(BaseModel):
    draft_id: str
    recipients: str
    subject: str
    saved: datetime
    size: int
    state: Literal["draft", "perhaps sent"]


class Drafts(BaseModel):
    drafts: list[DraftLine]
    truncated: bool
    note: str = ""


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
    """A thread, extracted by rule: no model reads it."""

    subject: str
    messages: int
    first: datetime | None
    last: datetime | None
    text: str = Field(description="participants, dates, open questions, and what the last message says")
    note: str = ""


class Plan(BaseModel):
    """A mail as it would be drafted or sent."""

    what: str = Field(description="like “Minutes, to ann@example.com and 2 more”")
    noun: str = Field(description="like “to 3 people”")
    recipients: str = Field(description="everybody who would get it, Bcc included")
    message: str = Field(description="headers, text, and a line for each attachment")
    sha256: Sha256 = Field(description="of the draft's file as it is now")
    shown: str = Field(description="SHA-256 of `message`")


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
    trash_id: str = Field(description="where the draft is kept, for restore_file")
    kept_until: datetime


class Sent(BaseModel):
    what: str
    recipients: str
    sent_at: datetime
    message_id: str = Field(description="the id of the copy in the sent mailbox")
    file: str = Field(description="where the copy is")
    header_id: str = Field(description="its Message-ID, as the recipients see it")
    note: str = ""
