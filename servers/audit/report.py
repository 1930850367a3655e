"""Entries of the log as they are answered, and reports on them as text and as PDF."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AwareDatetime, BaseModel, Field
from sqlalchemy import ColumnElement

from servers.audit.log import LOG, Audience, Line, Log
from servers.days import Days
from servers.detection.credentials import to_hide
from servers.detection.hits import hits
from servers.filesystem import disk
from servers.filesystem.models import Item, Sha256, Strict, Written
from servers.filesystem.paths import Roots
from servers.folders import Target, target
from servers.markdown_escapes import escaped
from servers.sandbox.calling import Limits, run

Status = Literal["success", "error", "rejected_by_user"]
SessionArg = Annotated[
    str, Field(max_length=300, description="A session, as the record of calls names it. Empty: all.")
]
DayArg = Annotated[
    str, Field(max_length=40, description="A day: 2026-11-24, today, friday. Empty: no limit.")
]
NewArg = Annotated[str, Field(description="Where the .pdf goes; one that is there goes to the trash.")]
TitleArg = Annotated[str, Field(max_length=200, description="A title, put on top.")]
UpToArg = Annotated[int | None, Field(ge=0, description="The last entry that counts, by number.")]
PartArg = Annotated[
    int, Field(ge=1, le=100_000, description="Which 600 entries, from the oldest on: a file holds no more.")
]
BeforeArg = Annotated[int | None, Field(ge=0, description="Only entries before this number. Empty: all.")]


class Entry(BaseModel):
    """One line of the log. Secrets in arguments and results are masked; long ones are cut, and left out is what not
    everybody may know."""

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


class ExportCall(Strict):
    """The arguments of export_audit_pdf, as a preview is given them."""

    path: NewArg
    since: DayArg = ""
    until: DayArg = ""
    session: SessionArg = ""
    title: TitleArg = "Audit report"
    up_to: UpToArg = None
    part: PartArg = 1


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
    entries: int = Field(description="in all parts together")
    next_part: int | None = Field(default=None, description="what to export next; none at the end")


LONGEST = 500  # characters of arguments and of a result


PRIVATE = "Not shown: it is private to whoever asked for it."
KEPT = "Not shown: of reads and of secret files the log tells no results."


def entry(line: Line, audience: Audience) -> Entry:
    arguments, result, reason = map(masked, told(line, audience))
    return Entry(
        seq=line.seq,
        at=line.timestamp,
        session=line.session_id,
        event=line.event,
        actor=line.actor,
        tool=line.tool_name,
        arguments=arguments,
        result=result,
        status=line.result_status,
        outcome=line.outcome,
        user_confirmed=line.user_confirmed,
        execution_ms=line.execution_time_ms,
        reason=reason,
        action=line.action_id,
        version=line.version,
    )


def told(line: Line, audience: Audience) -> tuple[str, str, str]:
    """The arguments, result and reason of an entry, without what not everybody may know of it."""
    if audience.is_private(line):
        return (
            PRIVATE if line.arguments else "",
            PRIVATE if line.result else "",
            PRIVATE if line.reason else "",
        )
    hidden = line.result and not audience.may_see_result(line)
    return line.arguments, KEPT if hidden else line.result, line.reason


def masked(text: str, longest: int = LONGEST) -> str:
    """The beginning of a text, without what looks like a password or a key. Only of what was looked at is anything
    shown; a private key that is not over by then goes on to its end. A text that is longer than `longest` says so."""
    shown = looked_at = text[: 4 * LONGEST]
    said, places = _without_escapes(text[: 8 * LONGEST])  # a secret that is cut off above is whole there
    for hit in reversed([hit for hit in hits(said, to_hide) if places[hit.start] < len(looked_at)]):
        shown = shown[: places[hit.start]] + hit.shown + shown[places[hit.end] :]
    begun = KEY_BEGUN.search(shown)
    shown = f"{shown[: begun.start()]}{UNFINISHED_KEY}" if begun else shown
    is_whole = len(shown) <= longest and len(text) == len(looked_at) and not begun
    return shown if is_whole else f"{shown[:longest]}… ({len(text)} characters)"


def _without_escapes(text: str) -> tuple[str, list[int]]:
    """The text with what JSON writes with letters as itself, and where each of its characters stood, and its end:
    behind a letter no word of its own would begin, and “\\u201c” is a quote."""
    parts, places, at = list[str](), list[int](), 0
    for escape in ESCAPE.finditer(text):
        parts += text[at : escape.start()], _itself(escape)
        places += *range(at, escape.start()), escape.start()
        at = escape.end()
    return "".join([*parts, text[at:]]), [*places, *range(at, len(text) + 1)]


def _itself(escape: re.Match[str]) -> str:
    char = chr(int(escape[1], 16)) if escape[1] else "\n" if escape[0] == "\\n" else " "
    return "\ufffd" if "\ud800" <= char <= "\udfff" else char  # half a character is none


def counted(log: Log, where: Sequence[ColumnElement[bool]]) -> list[Counted]:
    """How often each tool was called and what became of it, by name."""
    return [
        Counted(**{name: row[name] for name in Counted.model_fields})
        for row in (one._mapping for one in log.sums(where))
    ]


MOST_ENTRIES = 600  # of one file: a preview has ten seconds, and makes all of it
LISTED = 100  # entries in the text of a report
LONGEST_CELL = 160  # characters
ESCAPE = re.compile(r"\\(?:[nrtbf]|u001b\[[0-9;]{0,20}m|u([0-9a-fA-F]{4}))")  # also a whole one that colours
KEY_BEGUN, UNFINISHED_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY"), "(a private key)"


@dataclass(frozen=True)
class Asked:
    """Which entries a report is about. Days in words; empty: no limit."""

    since: str
    until: str
    session: str
    up_to: int | None = None  # the last entry that counts, by number
    before: datetime | None = None  # only what is older than this


@dataclass(frozen=True)
class LogReport:
    """The entries and what they come to."""

    title: str
    period: str
    up_to: int
    total: int
    tools: Sequence[Counted]  # of all entries
    lines: Sequence[Line]  # the newest, or those of one part, oldest first
    unbroken: bool
    audience: Audience  # of the lines
    part: int = 0  # from 1; 0 for a report that lists the newest

    @property
    def what(self) -> str:
        return f"{self.total} {'entry' if self.total == 1 else 'entries'}, {self.period}{self._of}"

    @property
    def _of(self) -> str:
        return f", part {self.part} of {self.parts}" if self.parts > 1 else ""

    @property
    def parts(self) -> int:
        return -(-self.total // MOST_ENTRIES) if self.part else 1

    def text(self, shown: int) -> str:
        """As Markdown, with at most so many of the entries."""
        listed = self.lines[-shown:] if shown else []
        left_out = self.total - len(listed)
        older = f"{left_out} older {'one is' if left_out == 1 else 'ones are'} not listed."
        beside = (
            f"{left_out} {'entry is' if left_out == 1 else 'entries are'} in the other parts."
            if self.part
            else older
        )
        chain = (
            "no number is missing and each entry names the one before" if self.unbroken else "IT IS BROKEN"
        )
        parts = [
            f"# {marked(self.title)}" if self.title else "",
            f"{self.what}, up to number {self.up_to}. The chain: {chain}.",
            "## Tools",
            sums(self.tools) or "No tool was called.",
            "## Entries",
            beside if left_out else "",
            _table(
                ["No.", "Time (UTC)", "Who", "Event", "Tool", "What"],
                [_row(line, self.audience) for line in listed],
            )
            or "There are none.",
        ]
        return "\n\n".join(part for part in parts if part) + "\n"


def made(log: Log, days: Days, asked: Asked, title: str, part: int = 0) -> LogReport:
    """The report of what was asked for. Raises ToolError for words that mean no day."""
    end = log.last() if asked.up_to is None else asked.up_to
    where = [*within(days, asked), LOG.c.seq <= end]
    span = log.span(where)
    paged = (
        log.page(where, (part - 1) * MOST_ENTRIES, MOST_ENTRIES) if part else log.newest(where, LISTED)[::-1]
    )
    return LogReport(
        title=title,
        period=_period(days, asked),
        up_to=span.last or 0,
        total=span.entries,
        tools=counted(log, where),
        lines=paged,
        audience=log.audience(paged),
        unbroken=log.unbroken(span.first, span.last) if span.entries else True,
        part=part,
    )


def within(days: Days, asked: Asked) -> list[ColumnElement[bool]]:
    """The entries of these days, the last of them whole, and of the session."""
    since, until = days.day(asked.since), days.day(asked.until)
    out: list[ColumnElement[bool]] = []
    if since:
        out.append(LOG.c.timestamp >= days.begins(since))
    if until:
        out.append(LOG.c.timestamp < days.begins(until + timedelta(days=1)))
    if asked.before:
        out.append(LOG.c.timestamp < asked.before)
    if asked.session:
        out.append(LOG.c.session_id == asked.session)
    return out


def _period(days: Days, asked: Asked) -> str:
    since, until = days.day(asked.since), days.day(asked.until)
    before = f"before {asked.before:%Y-%m-%d %H:%M} UTC" if asked.before else ""
    parts = (f"from {since}" if since else "", f"to {until}" if until else "", before)
    said = " ".join(part for part in parts if part)
    session = f", in {marked(asked.session)}" if asked.session else ""
    return (said or "of all time") + session


def sums(tools: Sequence[Counted]) -> str:
    head = ["Tool", "Calls", "Success", "Error", "Rejected", "Confirmed", "Milliseconds"]
    rows = [
        [one.tool, one.calls, one.success, one.error, one.rejected, one.confirmed, one.milliseconds]
        for one in tools
    ]
    return _table(head, [[str(cell) for cell in row] for row in rows])


def _row(line: Line, audience: Audience) -> list[str]:
    arguments, result, reason = told(line, audience)
    said = reason or arguments or result or ""
    status = f"{line.event}: {line.result_status}" if line.result_status else line.event
    at = line.timestamp.strftime("%Y-%m-%d %H:%M:%S")
    return [str(line.seq), at, line.actor, status, line.tool_name, masked(said, LONGEST_CELL)]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    every = [head, ["---"] * len(head), *([marked(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in every)


def marked(text: str) -> str:
    """Text that Markdown leaves as it is. What draws nothing, or turns the words around, is spelled out."""
    seen = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in " ".join(text.split())
    )
    return escaped(seen).replace("|", r"\|")


@dataclass(frozen=True)
class Built:
    """A new file and where it would go."""

    target: Target
    report: LogReport
    data: bytes
    pages: int

    @property
    def sha256(self) -> str:
        return disk.sha256(self.data)

    @property
    def item(self) -> Item:
        pages = f"{self.pages} page{'s' if self.pages > 1 else ''}"
        name = f"{self.target.item.name}, {pages}, {self.report.what}"
        return Item(name=name, kind="file", size=len(self.data))


def built(log: Log, days: Days, roots: Roots, call: ExportCall) -> Built:
    """What export_audit_pdf would write. Raises ToolError, also for a part behind the last.

    The log goes on while the report is looked at and confirmed, which are entries themselves. So what is not told
    where to end holds whole hours only: the same call makes the same file until the hour is over.
    """
    goal = target(roots, call.path, ".pdf")
    hour = days.now().replace(minute=0, second=0, microsecond=0) if call.up_to is None else None
    report = made(
        log, days, Asked(call.since, call.until, call.session, call.up_to, hour), call.title, call.part
    )
    if not report.total:
        raise ToolError(
            f"There are no entries {report.period}. To take in the newest, say up to which number: it is {log.last()}."
        )
    if not report.lines:
        raise ToolError(
            f"There is no part {call.part}: these entries fill {report.parts}. Name one of those."
        )
    within = Limits(seconds=50)
    content = report.text(MOST_ENTRIES)
    told, data = run(
        "formats.make", goal.place.said, [], within, content=content, to=".pdf", title="", lenient=True
    )
    return Built(goal, report, data, told["pages"])
