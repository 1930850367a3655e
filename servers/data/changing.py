"""The tools that change something. Each has a way back, and refuses when its target is not what was shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.arguments import Clock
from servers.data import records, rows, shown, writing
from servers.data.models import DatabaseArg, RecordsArg, RowsChanged
from servers.data.reading import ChangesArg, CsvColumns, CsvRows, RecordArg, as_csv, csv_target
from servers.filesystem import landing
from servers.filesystem.answers import spoken
from servers.filesystem.models import ExpectedArg, Written
from servers.filesystem.roots import Place, Roots
from servers.making import put

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
ExpectedRows = Annotated[
    Digest | None, Field(description="SHA-256 over the rows as the preview showed them. Empty: as they are.")
]


@dataclass(frozen=True)
class Changing:
    """The changing tools over some roots, with the clock that dates what they keep."""

    roots: Roots
    clock: Clock

    @spoken
    def write_csv(
        self, path: RecordsArg, columns: CsvColumns, rows: CsvRows, expected_sha256: ExpectedArg = None
    ) -> Written:
        """Write a .csv or .tsv file, in place of one that is there: that one is kept in the trash for 30 days."""
        place, _ = csv_target(self.roots, path)
        return put(place, as_csv(place, columns, rows).encode(), expected_sha256, self.clock(), Written)

    @spoken
    def write_sqlite(
        self, path: DatabaseArg, changes: ChangesArg, expected: ExpectedRows = None
    ) -> RowsChanged:
        """Insert, update and delete rows of a SQLite database, all or none. The rows before are kept for 30 days."""
        place = landing.file(self.roots, path)
        return _changed(place, *writing.write(place, changes, expected, self.clock()))

    @spoken
    def restore_rows(self, record: RecordArg, expected: ExpectedRows = None) -> RowsChanged:
        """Put rows back to what they were before a change. Without `expected` they must be as the change left them."""
        place, kept = records.load(self.roots, record)
        return _changed(place, *writing.restore(place, kept, expected, self.clock()))


def _changed(place: Place, touched: list[rows.Touched], record: str) -> RowsChanged:
    if not touched:
        raise ToolError("Nothing has changed: the rows are so already.")
    counts = shown.counts(touched)
    return RowsChanged(
        path=place.said,
        rows=len(touched),
        added=counts["added"],
        changed=counts["changed"],
        removed=counts["removed"],
        record=record,
        state=rows.digest((row.shape.table, row.key, row.after) for row in touched),
    )
