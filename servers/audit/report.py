"""The report: sums and entries as Markdown. The same entries give the same text, so a preview is what is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement

from servers.audit.log import LOG, Line, Log
from servers.audit.models import Counted
from servers.audit.shown import counted, masked
from servers.days import Days

MOST_ENTRIES = 600  # a preview has ten seconds, and makes the whole file
LONGEST_CELL = 160  # characters
_MARKS = re.compile(r"([`*|])")


@dataclass(frozen=True)
class Asked:
    """Which entries a report is about. Days in words; empty: no limit."""

    since: str
    until: str
    session: str
    up_to: int | None = None  # the last entry that counts, by number
    before: datetime | None = None  # only what is older than this


@dataclass(frozen=True)
class Report:
    """The entries and what they come to."""

    title: str
    period: str
    up_to: int
    total: int
    lines: Sequence[Line]  # the newest, oldest first
    unbroken: bool

    @property
    def what(self) -> str:
        return f"{self.total} {'entry' if self.total == 1 else 'entries'}, {self.period}"

    def text(self, shown: int) -> str:
        """As Markdown, with at most so many of the entries."""
        listed = self.lines[-shown:] if shown else []
        left_out = self.total - len(listed)
        chain = (
            "no number is missing and each entry names the one before" if self.unbroken else "IT IS BROKEN"
        )
        parts = [
            f"# {marked(self.title)}" if self.title else "",
            f"{self.what}, up to number {self.up_to}. The chain: {chain}.",
            "## Tools",
            sums(counted(self.lines)) or "No tool was called.",
            "## Entries",
            f"{left_out} older ones are not listed." if left_out else "",
            _table(["No.", "Time (UTC)", "Who", "Event", "Tool", "What"], [_row(line) for line in listed])
            or "There are none.",
        ]
        return "\n\n".join(part for part in parts if part) + "\n"


def made(log: Log, days: Days, asked: Asked, title: str) -> Report:
    """The report of what was asked for. Raises ToolError for words that mean no day."""
    end = log.last() if asked.up_to is None else asked.up_to
    where = [*within(days, asked), LOG.c.seq <= end]
    lines = log.newest(where, MOST_ENTRIES)[::-1]
    return Report(
        title=title,
        period=_period(days, asked),
        up_to=lines[-1].seq if lines else 0,
        total=len(lines) if len(lines) < MOST_ENTRIES else log.count(where),
        lines=lines,
        unbroken=log.unbroken(lines[0].seq, lines[-1].seq) if lines else True,
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


def _row(line: Line) -> list[str]:
    said = line.reason or line.arguments or line.result or ""
    status = f"{line.event}: {line.result_status}" if line.result_status else line.event
    at = line.timestamp.strftime("%Y-%m-%d %H:%M:%S")
    return [str(line.seq), at, line.actor, status, line.tool_name, masked(said)[:LONGEST_CELL]]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    every = [head, ["---"] * len(head), *([marked(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in every)


def marked(text: str) -> str:
    """Text that Markdown leaves as it is."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
