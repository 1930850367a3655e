"""The report as a PDF, made in memory: shown by the preview, and written by the tool, byte for byte."""

from __future__ import annotations

from dataclasses import dataclass

from mcp.server.mcpserver.exceptions import ToolError

from servers.audit.log import Log
from servers.audit.models import ExportCall
from servers.audit.report import MOST_ENTRIES, Asked, Report, made
from servers.days import Days
from servers.document import apart
from servers.filesystem import disk
from servers.filesystem.models import Item
from servers.filesystem.roots import Roots
from servers.making import Target, target


@dataclass(frozen=True)
class Built:
    """A new file and where it would go."""

    target: Target
    report: Report
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
    """What export_audit_pdf would write. Raises ToolError, also for more entries than anybody reads.

    The log goes on while the report is looked at and confirmed, which are entries themselves. So what is not told
    where to end holds whole hours only: the same call makes the same file until the hour is over.
    """
    goal = target(roots, call.path, ".pdf")
    hour = days.now().replace(minute=0, second=0, microsecond=0) if call.up_to is None else None
    report = made(log, days, Asked(call.since, call.until, call.session, call.up_to, hour), call.title)
    if not report.total:
        raise ToolError(
            f"There are no entries {report.period}. To take in the newest, say up to which number: it is {log.last()}."
        )
    if report.total >= MOST_ENTRIES:
        raise ToolError(
            f"These are {report.total:,} entries, and a report holds fewer than {MOST_ENTRIES:,}. Name fewer days."
        )
    within = apart.Limits(seconds=50)
    content = report.text(MOST_ENTRIES)
    told, data = apart.run(
        "make", goal.place.said, [], within, content=content, to=".pdf", title="", lenient=True
    )
    return Built(goal, report, data, told["pages"])
