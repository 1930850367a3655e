"""The tools that only read. Their docstrings are what people and models read of them."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.arguments import Clock
from servers.data import odd, query, records, rows, shown, tables, twins, writing
from servers.data.models import (
    Anomalies,
    Cell,
    Change,
    CsvPlan,
    Database,
    DatabaseArg,
    Duplicates,
    Name,
    RecordsArg,
    Rows,
    RowsPlan,
    RowsState,
    TableArg,
)
from servers.filesystem import landing, room
from servers.filesystem.answers import spoken
from servers.filesystem.roots import Place, Roots
from servers.making import bytes_of, target

MOST_TEXT = 1 << 20  # bytes of a CSV file whose replacement can be shown

ChangesArg = Annotated[
    list[Change], Field(min_length=1, max_length=rows.MOST_CHANGES, description="Carried out in this order.")
]
ColumnsArg = Annotated[
    list[Name] | None, Field(description="Only these columns. Empty: all of them.", max_length=100)
]
CsvColumns = Annotated[list[Name], Field(min_length=1, max_length=200, description="The first line.")]
CsvRows = Annotated[
    list[list[Cell]], Field(max_length=5_000, description="Lists of values, each as long as `columns`.")
]
RecordArg = Annotated[str, Field(max_length=64, description="The record that a change of rows gave.")]


@dataclass(frozen=True)
class Reading:
    """The reading tools over some roots, with the clock that says what today is."""

    roots: Roots
    clock: Clock

    @spoken
    def query_sqlite(
        self,
        path: DatabaseArg,
        sql: Annotated[
            str, Field(min_length=1, max_length=20_000, description="One SELECT. It cannot write.")
        ],
        parameters: Annotated[
            list[Cell] | dict[str, Cell] | None, Field(description="Values for ? or :name in the statement.")
        ] = None,
        limit: Annotated[int, Field(ge=1, le=query.MOST_ROWS, description="Rows at most.")] = query.MOST_ROWS,
    ) -> Rows:
        """Ask a SQLite database one question. It is opened for reading only, and stopped after 5 seconds."""
        place = landing.file(self.roots, path)
        with query.reading(place) as base:
            columns, found, more = query.select(base, sql, parameters or [], limit)
        note = "There are more rows. Ask more precisely, or for fewer columns." if more else ""
        return Rows(path=place.said, columns=columns, rows=found, count=len(found), truncated=more, note=note)

    @spoken
    def describe_database(self, path: DatabaseArg) -> Database:
        """List the tables and views of a SQLite database with their columns."""
        place = landing.file(self.roots, path)
        with query.reading(place) as base:
            found, _ = room.fitting(query.tables(base))
        whole = query.whole(place)
        return Database(path=place.said, tables=found, sha256=whole.sha256, size=whole.size)

    @spoken
    def deduplicate_records(
        self,
        path: RecordsArg,
        columns: ColumnsArg = None,
        table: TableArg = None,
        alike: Annotated[
            float | None,
            Field(ge=0.5, le=1, description="Also nearly the same, like 0.9. Empty: the same only."),
        ] = None,
    ) -> Duplicates:
        """Find records that are there twice, also in other case or spacing, and say which to keep. Changes nothing."""
        found = tables.records(self.roots, path, table)
        compared = found.chosen(columns)
        groups = twins.groups(found, compared, alike)
        extra = {row for group in groups for row in group.rows[1:]}
        listed, more = room.fitting(groups, twins.MOST_GROUPS)
        keep = [row for row in range(1, len(found.rows) + 1) if row not in extra]
        return Duplicates(
            path=found.said,
            records=len(found.rows),
            compared=compared,
            groups=listed,
            unique=len(keep),
            keep=keep if len(keep) <= 5_000 else [],
            truncated=more,
            summary=f"{len(found.rows)} records, {len(extra)} of them again in {len(groups)} groups; "
            f"{len(keep)} are left without them.",
        )

    @spoken
    def summarize_anomalies(
        self, path: RecordsArg, columns: ColumnsArg = None, table: TableArg = None
    ) -> Anomalies:
        """Say what stands out in a table: values far off, gaps, mixed types, odd days, twins. Changes nothing."""
        found = tables.records(self.roots, path, table)
        chosen = found.chosen(columns)
        listed, more = room.fitting(odd.anomalies(found, chosen, self.clock().date()), 500)
        named = ", ".join(dict.fromkeys(one.column for one in listed)) or "none"
        return Anomalies(
            path=found.said,
            records=len(found.rows),
            columns=chosen,
            anomalies=listed,
            truncated=more,
            summary=f"{len(found.rows)} records, {len(listed)} things stand out, in these columns: {named}.",
        )

    @spoken
    def preview_csv(self, path: RecordsArg, columns: CsvColumns, rows: CsvRows) -> CsvPlan:
        """Show the text that write_csv would write, and the one it would replace."""
        place, sha256 = csv_target(self.roots, path)
        before = ""
        if sha256 != "absent":
            data, _ = bytes_of(place, MOST_TEXT, sha256)
            try:
                before = data.decode("utf-8-sig")
            except UnicodeDecodeError:
                raise ToolError(f"{place.said} is not UTF-8 text. Write to another name.") from None
        after = as_csv(place, columns, rows)
        if not (room.fits(before) and room.fits(after)):
            raise ToolError(f"{place.said} is too large to show what would change. Write to another name.")
        return CsvPlan(path=place.said, before=before, after=after, sha256=sha256, rows=len(rows))

    @spoken
    def preview_write_sqlite(self, path: DatabaseArg, changes: ChangesArg) -> RowsPlan:
        """Show every row that write_sqlite would change, tried on a copy in memory. Changes nothing."""
        place = landing.file(self.roots, path)
        touched, back = writing.trial(place, lambda watch, _: rows.apply(watch.base, watch.tables, changes))
        if not touched:
            raise ToolError("That would change nothing: the rows are so already.")
        return _plan(place, touched, writing.was(touched), back)

    @spoken
    def preview_restore_rows(self, record: RecordArg) -> RowsPlan:
        """Show every row that restore_rows would put back. Changes nothing."""
        place, kept = records.load(self.roots, record)
        _, state, _ = writing.standing(self.roots, record)

        def doing(watch: rows.Watch, now: writing.Base) -> None:
            rows.put_back(watch, now, [row.touched(watch.tables) for row in kept])

        touched, back = writing.trial(place, doing, strict=False)
        return _plan(place, touched, state, back)

    @spoken
    def check_rows(self, record: RecordArg) -> RowsState:
        """Say whether the rows of a record are still as the change left them."""
        place, state, as_left = writing.standing(self.roots, record)
        return RowsState(record=record, path=place.said, state=state, as_left=as_left)


def _plan(place: Place, touched: list[rows.Touched], expected: str, back: bool) -> RowsPlan:
    difference = shown.difference(touched)
    if not room.fits(difference):
        raise ToolError("That changes more than can be shown. Change fewer rows at once.")
    return RowsPlan(
        path=place.said,
        difference=difference,
        items=shown.items(touched),
        rows=len(touched),
        expected=expected,
        can_undo=back,
    )


def csv_target(roots: Roots, path: str) -> tuple[Place, str]:
    """Where a CSV file would go, and the SHA-256 of what is there."""
    found = target(roots, path, ".csv", ".tsv")
    return found.place, found.sha256


def as_csv(place: Place, columns: list[str], rows: list[list[Cell]]) -> str:
    """The lines of the file. Raises ToolError for a row that is longer or shorter than the columns."""
    for number, row in enumerate(rows, 1):
        if len(row) != len(columns):
            raise ToolError(
                f"Row {number} has {len(row)} values for {len(columns)} columns. Give each one value."
            )
    out = io.StringIO()
    sign = tables.DELIMITERS[place.parts[-1].lower()[-4:]]
    writer = csv.writer(out, delimiter=sign, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([[_plain(value) for value in row] for row in rows])
    return out.getvalue()


def _plain(value: Cell) -> Cell:
    return str(value).lower() if isinstance(value, bool) else value
