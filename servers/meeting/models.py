"""What the meeting tools take and answer."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from servers.filesystem.models import Item, Sha256, Written

SourceArg = Annotated[
    str, Field(description="Notes or a transcript in the allowed folders: .txt, .md, .docx, .vtt or .srt.")
]
NewArg = Annotated[
    str, Field(description="Where the minutes go: .md or .docx; one that is there goes to the trash.")
]
TitleArg = Annotated[
    str, Field(max_length=200, description="Their title. Empty: the first heading, or the file's name.")
]
ExpectedTarget = Annotated[
    Sha256 | None,
    Field(description="SHA-256 of what the new file takes the place of, or “absent”. Empty: anything."),
]
ExpectedMade = Annotated[Sha256 | None, Field(description="SHA-256 the new file must have. Empty: any.")]


class ActionItem(BaseModel):
    what: str
    owner: str = Field(description="empty where nobody is named")
    due: str = Field(description="in the words of the notes; empty where no day is named")
    due_date: date | None = Field(description="where the words mean one day for certain")
    line: int = Field(description="where it stands in the notes, from 1")


class Decision(BaseModel):
    what: str
    line: int


class Minutes(BaseModel):
    """What the notes say of a meeting."""

    title: str
    held: date | None = Field(description="where the notes say it")
    attendees: list[str]
    decisions: list[Decision]
    actions: list[ActionItem]


class Call(BaseModel):
    """The arguments of generate_minutes, as a preview is given them."""

    model_config = ConfigDict(extra="forbid")

    source: SourceArg
    destination: NewArg
    title: TitleArg = ""


class Plan(BaseModel):
    """The minutes that would be written."""

    path: str
    items: list[Item]
    difference: str = Field(description="the whole text, against what is there now")
    expected_target: Sha256
    expected_made: Sha256
    minutes: Minutes


class Made(Written):
    attendees: int
    decisions: int
    actions: int
