"""What the audit tools take and answer. Times are UTC."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from servers.filesystem.models import Item, Sha256, Written

Status = Literal["success", "error", "rejected_by_user"]
SessionArg = Annotated[
    str, Field(max_length=300, description="A session, as get_tool_log names it. Empty: all.")
]
DayArg = Annotated[
    str, Field(max_length=40, description="A day: 2026-11-24, today, friday. Empty: no limit.")
]
NewArg = Annotated[str, Field(description="Where the .pdf goes; one that is there goes to the trash.")]
TitleArg = Annotated[str, Field(max_length=200, description="A title, put on top.")]
UpToArg = Annotated[int | None, Field(ge=0, description="The last entry that counts, by number.")]
BeforeArg = Annotated[int | None, Field(ge=0, description="Only entries before this number. Empty: all.")]
ExpectedTarget = Annotated[
    Sha256 | None,
    Field(description="SHA-256 of what the new file takes the place of, or “absent”. Empty: anything."),
]
ExpectedMade = Annotated[Sha256 | None, Field(description="SHA-256 the new file must have. Empty: any.")]


class Entry(BaseModel):
    """One line of the log. Secrets in arguments and results are masked; long ones are cut."""

    seq: int
    at: AwareDatetime
    session: str
    event: str
    actor: str = Field(description="a Slack user id, system or policy")
    tool: str
    arguments: str
    result: str
    status: str | None
    outcome: str
    user_confirmed: bool
    execution_ms: int | None
    reason: str
    action: str
    version: int


class Entries(BaseModel):
    entries: list[Entry] = Field(description="newest first")
    total: int = Field(description="how many fit, listed or not")
    next_before: int | None = Field(default=None, description="where to go on, as `before`; none at the end")


class Counted(BaseModel):
    tool: str
    calls: int
    success: int
    error: int
    rejected: int
    confirmed: int = Field(description="by a person")
    milliseconds: int = Field(description="of all calls together")


class Summary(BaseModel):
    session: str
    first_at: AwareDatetime | None
    last_at: AwareDatetime | None
    entries: int
    actors: list[str]
    tools: list[Counted]
    text: str


class Report(BaseModel):
    text: str = Field(description="Markdown")
    entries: int
    up_to: int = Field(description="number of the last entry that counts")
    unbroken: bool = Field(description="whether no number is missing and each entry names the one before")
    truncated: bool = Field(description="whether only the newest entries are listed; the sums are of all")


class ExportCall(BaseModel):
    """The arguments of export_audit_pdf, as a preview is given them."""

    model_config = ConfigDict(extra="forbid")

    path: NewArg
    since: DayArg = ""
    until: DayArg = ""
    session: SessionArg = ""
    title: TitleArg = "Audit report"
    up_to: UpToArg = None


class Plan(BaseModel):
    """The file that would be written."""

    path: str
    what: str = Field(description="in a few words: how many entries of which days")
    items: list[Item]
    expected_target: Sha256
    expected_made: Sha256
    pages: int
    size: int


class Exported(Written):
    pages: int
    entries: int
