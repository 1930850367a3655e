"""The audit tools, each with its card and its undo. Their docstrings are what people and models read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field
from sqlalchemy import ColumnElement

from servers.audit.log import LOG, Log
from servers.audit.report import (
    LISTED,
    Asked,
    BeforeArg,
    DayArg,
    Entries,
    ExportCall,
    Exported,
    NewArg,
    PartArg,
    Plan,
    Report,
    SessionArg,
    Status,
    Summary,
    TitleArg,
    UpToArg,
    built,
    counted,
    entry,
    made,
    sums,
    within,
)
from servers.command_line import Clock
from servers.days import Days
from servers.filesystem import answers
from servers.filesystem.answers import spoken
from servers.filesystem.models import ExpectedMade, ExpectedTarget
from servers.filesystem.paths import Roots
from servers.folders import WAYS_BACK, makes, put_shown
from servers.tool_metadata import ITEMS, Card, bound, call, reading


@dataclass(frozen=True)
class Tools:
    """The tools over one log and the folders that reports go to, with the clock that dates what gives way."""

    log: Log
    days: Days
    roots: Roots
    clock: Clock

    def get_tool_log(  # noqa: PLR0913 - one argument for each thing to look for, so that a form asks for each
        self,
        tool: Annotated[
            str, Field(max_length=200, description="Part of its name, like filesystem. Empty: all.")
        ] = "",
        session: SessionArg = "",
        actor: Annotated[str, Field(max_length=40, description="A Slack user id. Empty: everybody.")] = "",
        status: Annotated[Status | None, Field(description="Empty: all.")] = None,
        since: DayArg = "",
        until: DayArg = "",
        every_event: Annotated[
            bool, Field(description="What led to the calls too: proposed, shown, confirmed.")
        ] = False,
        before: BeforeArg = None,
        limit: Annotated[int, Field(ge=1, le=500, description="At most this many.")] = 50,
    ) -> Entries:
        """List tool calls that ran, failed or were rejected, the newest first: who, what, when, how long."""
        where = within(self.days, Asked(since, until, session))
        where += _where(tool, actor, status, every_event)
        paged = [*where, LOG.c.seq < before] if before is not None else where
        lines = self.log.newest(paged, limit + 1)
        audience = self.log.audience(lines)
        shown, cut = answers.fitting((entry(line, audience) for line in lines[:limit]), limit)
        more = cut or len(lines) > limit
        return Entries(
            entries=shown, total=self.log.count(where), next_before=shown[-1].seq if more and shown else None
        )

    def get_session_summary(self, session: SessionArg = "") -> Summary:
        """Sum up one session: who took part, which tools were called, what became of it. Empty: the newest one."""
        found = session or self._newest()
        where = [LOG.c.session_id == found]
        span = self.log.span(where)
        if not span.entries:
            raise ToolError(
                f"Nothing is on record of “{found}”. Look at the record of calls for the names of sessions."
            )
        tools = counted(self.log, where)
        people = [one for one in self.log.actors(where) if one not in ("system", "policy", "")]
        calls = sum(one.calls for one in tools)
        return Summary(
            session=found,
            first_at=span.first_at,
            last_at=span.last_at,
            entries=span.entries,
            actors=people,
            tools=tools,
            text=f"{answers.counted(calls, 'call')} of {answers.counted(len(tools), 'tool')} by "
            f"{', '.join(people) or 'nobody'}.\n\n{sums(tools)}\n",
        )

    def _newest(self) -> str:
        found = self.log.newest([LOG.c.session_id != ""], 1)
        return found[0].session_id if found else ""

    def generate_audit_report(
        self,
        since: DayArg = "",
        until: DayArg = "",
        session: SessionArg = "",
        up_to: UpToArg = None,
    ) -> Report:
        """Report on some days or a session as Markdown: sums by tool, the entries, whether the chain is whole.

        Only `python -m bot audit verify`, which has the key, proves that nothing was changed.
        """
        report = made(self.log, self.days, Asked(since, until, session, up_to), "Audit report")
        shown = LISTED
        while not answers.fits(text := report.text(shown)):
            shown //= 2
        return Report(
            text=text,
            entries=report.total,
            up_to=report.up_to,
            unbroken=report.unbroken,
            truncated=report.total > shown,
        )

    @spoken
    def preview_export(self, call: ExportCall) -> Plan:
        """Make the PDF that export_audit_pdf would write, in memory, and say what it is. Changes nothing."""
        file = built(self.log, self.days, self.roots, call)
        return Plan(
            path=file.target.place.said,
            what=file.report.what,
            items=[file.item],
            expected_target=file.target.sha256,
            expected_made=file.sha256,
            pages=file.pages,
            size=len(file.data),
        )

    @spoken
    def export_audit_pdf(  # noqa: PLR0913 - one argument for each thing a form asks for
        self,
        path: NewArg,
        since: DayArg = "",
        until: DayArg = "",
        session: SessionArg = "",
        title: TitleArg = "Audit report",
        up_to: UpToArg = None,
        part: PartArg = 1,
        expected_target: ExpectedTarget = None,
        expected_made: ExpectedMade = None,
    ) -> Exported:
        """Write a report on some days or a session as a PDF: sums by tool, and every entry, 600 in one file.

        Without `up_to`, the number of the last entry, it holds whole hours only: what is older than this hour.
        """
        call = ExportCall(
            path=path, since=since, until=until, session=session, title=title, up_to=up_to, part=part
        )
        file = built(self.log, self.days, self.roots, call)
        more = {
            "pages": file.pages,
            "entries": file.report.total,
            "next_part": part + 1 if part < file.report.parts else None,
        }
        shown = (expected_target, expected_made)
        return put_shown(file.target, file.data, shown, self.clock(), Exported, **more)


def _where(tool: str, actor: str, status: str | None, every_event: bool) -> list[ColumnElement[bool]]:
    out: list[ColumnElement[bool]] = [LOG.c.tool_name != ""]
    if not every_event:
        out.append(LOG.c.result_status.is_not(None))
    if tool:
        out.append(LOG.c.tool_name.contains(tool, autoescape=True))
    if actor:
        out.append(LOG.c.actor == actor)
    if status:
        out.append(LOG.c.result_status == status)
    return out


CARDS: dict[str, Card] = {
    "get_tool_log": reading("Tool log", "List what tools were called"),
    "get_session_summary": reading("Session summary", "Sum up a session"),
    "generate_audit_report": reading("Audit report", "Report on the log"),
    "preview_export": reading(
        "Preview an audit report", "Look at what the report would be", looks=["call.path"], nested=["call"]
    ),
    "export_audit_pdf": makes(
        "Export audit report",
        "Export",
        "Export {capture.plan.what} as {args.path}",
        targets={"paths": ["path"]},
        noun="{args.path|name}",
        capture={"plan": call("preview_export", call="{args}")},
        bind=bound("expected_target", "expected_made"),
        preview=ITEMS,
    ),
    **WAYS_BACK,
}
