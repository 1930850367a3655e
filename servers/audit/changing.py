"""The one tool that writes: a report as a PDF, exactly the one that its preview made, or nothing."""

from __future__ import annotations

from dataclasses import dataclass

from mcp.server.mcpserver.exceptions import ToolError

from servers.arguments import Clock
from servers.audit.export import built
from servers.audit.log import Log
from servers.audit.models import (
    DayArg,
    ExpectedMade,
    ExpectedTarget,
    ExportCall,
    Exported,
    NewArg,
    SessionArg,
    TitleArg,
    UpToArg,
)
from servers.days import Days
from servers.filesystem.answers import spoken
from servers.filesystem.roots import Roots
from servers.making import put


@dataclass(frozen=True)
class Changing:
    """The writing tool over one log and some roots, with the clock that dates what gives way."""

    log: Log
    days: Days
    roots: Roots
    clock: Clock

    @spoken
    def export_audit_pdf(  # noqa: PLR0913 - one argument for each thing a form asks for
        self,
        path: NewArg,
        since: DayArg = "",
        until: DayArg = "",
        session: SessionArg = "",
        title: TitleArg = "Audit report",
        up_to: UpToArg = None,
        expected_target: ExpectedTarget = None,
        expected_made: ExpectedMade = None,
    ) -> Exported:
        """Write a report on some days or a session as a PDF: sums by tool, and every entry.

        Without `up_to`, the number of the last entry, it holds whole hours only: what is older than this hour.
        """
        call = ExportCall(path=path, since=since, until=until, session=session, title=title, up_to=up_to)
        file = built(self.log, self.days, self.roots, call)
        if expected_made is not None and file.sha256 != expected_made:
            raise ToolError(
                f"What {file.target.place.said} reports on has changed since it was shown. Ask again."
            )
        more = {"pages": file.pages, "entries": file.report.total}
        return put(file.target.place, file.data, expected_target, self.clock(), Exported, **more)
