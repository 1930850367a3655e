"""The data tools, each with its card and its undo. Their docstrings are what people and models read."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Annotated, Any

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers import csv_lines, formulas
from servers.command_line import Clock
from servers.data import sources, writing
from servers.data.models import (
    AlikeArg,
    Anomalies,
    Anomaly,
    Cell,
    Change,
    ColumnsArg,
    CsvPlan,
    Database,
    DatabaseArg,
    Duplicates,
    Group,
    Name,
    RecordsArg,
    Rows,
    RowsChanged,
    RowsPlan,
    RowsState,
    TableArg,
    TwinsCall,
    TwinsPlan,
)
from servers.filesystem import answers, path_arguments
from servers.filesystem.answers import counted, spoken
from servers.filesystem.models import ExpectedArg, ExpectedKept, Written
from servers.filesystem.paths import Place, Roots
from servers.filesystem.trash import KEEP
from servers.folders import WAYS_BACK, bytes_of, makes, put, target
from servers.sandbox.calling import listed, unbroken, written
from servers.sqlite.files import MOST_CHANGES
from servers.tool_metadata import Card, bound, call, change, reading

MOST_ANOMALIES = 500
MOST_TEXT = 1 << 20  # bytes of a CSV file whose replacement can be shown

ChangesArg = Annotated[
    list[Change], Field(min_length=1, max_length=MOST_CHANGES, description="Carried out in this order.")
]
CsvColumns = Annotated[list[Name], Field(min_length=1, max_length=200, description="The first line.")]
CsvRows = Annotated[
    list[list[Cell]], Field(max_length=5_000, description="Lists of values, each as long as `columns`.")
]
RecordArg = Annotated[str, Field(max_length=64, description="The record that a change of rows gave.")]


@dataclass(frozen=True)
class Tools:
    """The tools over some roots, with the clock that says what today is and dates what is kept."""

    roots: Roots
    clock: Clock

    @sources.failing
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
        limit: Annotated[
            int, Field(ge=1, le=sources.MOST_ROWS, description="Rows at most.")
        ] = sources.MOST_ROWS,
    ) -> Rows:
        """Ask a SQLite database one question. It is opened for reading only, and stopped after 5 seconds."""
        place = path_arguments.file(self.roots, path)
        told = sources.select(place, sql, parameters or [], limit)
        with unbroken(place.said):
            more = told["more"]
            return Rows(
                path=place.said,
                columns=told["columns"],
                rows=told["rows"],
                count=len(told["rows"]),
                truncated=more,
                note="There are more rows. Ask more precisely, or for fewer columns." if more else "",
                tables=told["tables"],
            )

    @spoken
    def describe_database(self, path: DatabaseArg) -> Database:
        """List the tables and views of a SQLite database with their columns."""
        place = path_arguments.file(self.roots, path)
        tables, many, whole = sources.tables(place)
        with unbroken(place.said):
            found, more = answers.fitting(tables)
        more = more or len(found) < many
        note = f"{len(found):,} of {many:,} tables and views are listed, the first by name." if more else ""
        return Database(
            path=place.said, tables=found, truncated=more, note=note, sha256=whole.sha256, size=whole.size
        )

    @sources.failing
    @spoken
    def deduplicate_records(
        self,
        path: RecordsArg,
        columns: ColumnsArg = None,
        table: TableArg = None,
        alike: AlikeArg = None,
    ) -> Duplicates:
        """Find records that are there twice, also in other case or spacing, and say which to keep. Changes nothing."""
        told = sources.looked(self.roots, path, table, "twins", columns=columns, alike=alike)
        about = told.about
        with unbroken(told.said):
            groups = map(Group.model_validate, listed(told.data, told.said))
            fitting, _ = answers.fitting(groups)
        total, many, left = about["records"], about["groups"], about["unique"]
        truncated = len(fitting) < many
        shown = f" The first {len(fitting)} groups are listed." if truncated else ""
        return Duplicates(
            path=told.said,
            records=total,
            assumed=about["assumed"],
            compared=about["compared"],
            groups=fitting,
            unique=left,
            keep=about["keep"],
            truncated=truncated,
            summary=f"{counted(total, 'record')}, {counted(total - left, 'duplicate')} in {counted(many, 'group')}; "
            f"without duplicates: {left}.{shown}",
            tables=[*told.tables],
        )

    @sources.failing
    @spoken
    def summarize_anomalies(
        self, path: RecordsArg, columns: ColumnsArg = None, table: TableArg = None
    ) -> Anomalies:
        """Say what stands out in a table: values far off, gaps, impossible days, wrong totals, duplicates, ids twice.

        Each with its rows and column. Numbers and days are read as the column writes them; `assumed` says how.
        """
        today = self.clock().date().isoformat()
        told = sources.looked(self.roots, path, table, "anomalies", columns=columns, today=today)
        about = told.about
        with unbroken(told.said):
            things = map(Anomaly.model_validate, listed(told.data, told.said))
            fitting, more = answers.fitting(things, MOST_ANOMALIES)
        more = more or about["more"]
        named = ", ".join(dict.fromkeys(one.column for one in fitting)) or "none"
        many = counted(len(fitting), "unusual thing")
        said = f"more than {many}: these are the first" if more else many
        return Anomalies(
            path=told.said,
            records=about["records"],
            columns=about["columns"],
            assumed=about["assumed"],
            anomalies=fitting,
            truncated=more,
            summary=f"{counted(about['records'], 'record')}, {said}, in these columns: {named}.",
            tables=[*told.tables],
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
        after = as_csv(sources.sign_for(place), columns, rows)
        if not (answers.fits(before) and answers.fits(after)):
            raise ToolError(f"{place.said} is too large to show what would change. Write to another name.")
        note = formulas.note(formulas.formulas([columns, *rows]))
        return CsvPlan(path=place.said, before=before, after=after, sha256=sha256, rows=len(rows), note=note)

    @sources.failing
    @spoken
    def preview_without_duplicates(self, call: TwinsCall) -> TwinsPlan:
        """Show which rows write_without_duplicates would leave out, and where it would write. Changes nothing."""
        goal = target(self.roots, call.destination, ".csv", ".tsv")
        told = _without(self.roots, call, "plan")
        return TwinsPlan(
            path=goal.place.said,
            rows=told.about["rows"],
            left_out=told.about["left_out"],
            removed=told.data.decode(errors="replace"),
            expected=_digest(told, goal.sha256),
            note=formulas.note(told.about["formulas"]) + goal.gives_way(told.said),
            tables=[*told.tables],
        )

    @sources.failing
    @spoken
    def preview_write_sqlite(self, path: DatabaseArg, changes: ChangesArg) -> RowsPlan:
        """Show every row that write_sqlite would change, tried on a copy in memory. Changes nothing."""
        place = path_arguments.file(self.roots, path)
        plan = writing.preview(place, changes, self.clock())
        if plan.get("rows") == 0:
            said = "That would change nothing: the rows have these values already."
            raise sources.FailedReading(said, place.said, plan.get("tables", ()))
        return _plan(place, plan)

    @sources.failing
    @spoken
    def preview_restore_rows(self, record: RecordArg) -> RowsPlan:
        """Show every row that restore_rows would put back. Changes nothing."""
        return _plan(*writing.preview_back(self.roots, record, self.clock()))

    @sources.failing
    @spoken
    def check_rows(self, record: RecordArg) -> RowsState:
        """Say whether the rows of a record are still as the change left them."""
        place, told = writing.standing(self.roots, record)
        with unbroken(place.said):
            return RowsState.model_validate({**told, "record": record, "path": place.said})

    @spoken
    def write_csv(
        self, path: RecordsArg, columns: CsvColumns, rows: CsvRows, expected_sha256: ExpectedArg = None
    ) -> Written:
        """Write a .csv or .tsv file, in place of one that is there: that one is kept in the trash for 30 days.

        In place of a .csv file, values are parted by the same sign as in it; else by commas.
        """
        place, _ = csv_target(self.roots, path)
        text = as_csv(sources.sign_for(place), columns, rows)
        return put(place, text.encode(), expected_sha256, self.clock(), Written)

    @sources.failing
    @spoken
    def write_without_duplicates(
        self,
        source: RecordsArg,
        destination: Annotated[str, Field(description="The .csv or .tsv file; it may be the source.")],
        columns: ColumnsArg = None,
        table: TableArg = None,
        alike: AlikeArg = None,
        expected: ExpectedRows = None,
    ) -> Written:
        """Write a .csv or .tsv file with the records of another, each once: the first of those that say the same.

        A .csv file gets the sign between values that its source has.
        """
        place, sha256 = csv_target(self.roots, destination)
        call = TwinsCall(source=source, destination=destination, columns=columns, table=table, alike=alike)
        with TemporaryFile() as made:
            told = _without(self.roots, call, "without", into=made, sign=sources.sign_for(place, source))
            if expected not in (None, _digest(told, sha256)):
                raise ToolError(
                    f"{told.said}, or the file to be written, has changed since it was shown. "
                    "Look at it again, then ask again."
                )
            return put(place, written(made), sha256, self.clock(), Written)

    @spoken
    def write_sqlite(
        self, path: DatabaseArg, changes: ChangesArg, expected: ExpectedRows = None
    ) -> RowsChanged:
        """Insert, update and delete rows of a SQLite database, all or none. The rows before are kept for 30 days."""
        place = path_arguments.file(self.roots, path)
        return _changed(place, writing.write(place, changes, expected, self.clock()))

    @spoken
    def restore_rows(
        self, record: RecordArg, expected: ExpectedRows = None, expected_record: ExpectedKept = None
    ) -> RowsChanged:
        """Put rows back to what they were before a change. Without `expected` they must be as the change left them."""
        return _changed(*writing.restore(self.roots, (record, expected_record), expected, self.clock()))


def _without(roots: Roots, call: TwinsCall, task: str, **args: Any) -> sources.Told:
    """What is said of a file without duplicates. Raises ToolError where every row stays."""
    wanted = {"columns": call.columns, "alike": call.alike, **args}
    told = sources.looked(roots, call.source, call.table, task, **wanted)
    if not told.about["left_out"]:
        raise sources.FailedReading(
            f"There are no duplicates in {told.said}, compared by {', '.join(told.about['compared'])}. Name fewer "
            "columns, or say how alike they must be.",
            told.said,
            told.tables,
        )
    return told


def _digest(told: sources.Told, target: str) -> str:
    """SHA-256 over the records that were looked at and what they take the place of."""
    return hashlib.sha256(f"{told.source} {target}".encode()).hexdigest()


def _plan(place: Place, plan: dict[str, Any]) -> RowsPlan:
    with unbroken(place.said):
        if not answers.fits(plan["difference"]):
            said = "That changes more than can be shown. Change fewer rows at once."
            raise sources.FailedReading(said, place.said, plan["tables"])
        items = [{"name": name, "kind": "other"} for name in plan["items"]]
        return RowsPlan.model_validate({**plan, "path": place.said, "items": items})


def csv_target(roots: Roots, path: str) -> tuple[Place, str]:
    """Where a CSV file would go, and the SHA-256 of what is there."""
    found = target(roots, path, ".csv", ".tsv")
    return found.place, found.sha256


def as_csv(sign: str, columns: list[str], rows: list[list[Cell]]) -> str:
    """The lines of the file, `sign` between values. Raises ToolError for a row of another length than `columns`."""
    for number, row in enumerate(rows, 1):
        if len(row) != len(columns):
            raise ToolError(
                f"Row {number} has {len(row)} values for {len(columns)} columns. Give each one value."
            )
    out = io.StringIO()
    csv_lines.write(out, sign, [columns, *([_plain(value) for value in row] for row in rows)])
    return out.getvalue()


def _plain(value: Cell) -> Cell:
    return str(value).lower() if isinstance(value, bool) else value


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
ExpectedRows = Annotated[
    Digest | None, Field(description="SHA-256 over the rows as the preview showed them. Empty: as they are.")
]


def _changed(place: Place, done: writing.Written) -> RowsChanged:
    counts = {name: done.counts.get(name, 0) for name in ("added", "changed", "removed")}
    return RowsChanged(
        path=place.said,
        rows=sum(counts.values()),
        record=done.record,
        state=done.state,
        kept=done.kept,
        **counts,
    )


_DIFFERENCE = {"kind": "text", "after": "{capture.plan.difference}"}
_ROWS: dict[str, Any] = {
    "recoverable": "The rows before are kept in .countersign/data",
    "keeps_days": KEEP.days,
    "bind": bound("expected"),
    "undo": [
        {
            "when": "{capture.plan.can_undo}",
            **call(
                "restore_rows",
                record="{result.record}",
                expected="{result.state}",
                expected_record="{result.kept}",
            ),
        }
    ],
    "drift": {**call("check_rows", record="{result.record}"), "same": {"state": "{result.state}"}},
}

_INSIDE = ["table", "call.table", "changes[].table"]  # by which tools of this server are told of a table
_OF_TABLES: dict[str, list[str]] = {"inside": _INSIDE, "found_in": ["tables[]"]}
_TABLES: dict[str, list[str]] = {"inside": _INSIDE, "reported_in": ["{capture.plan.tables}"]}

CARDS: dict[str, Card] = {
    # SQLite finds the names of tables, which a statement names, in any letters.
    "query_sqlite": reading("Ask a database", "Ask {args.path}", paths=["path"], ids=["sql"], **_OF_TABLES),
    "describe_database": reading("Describe database", "Look at {args.path}", paths=["path"]),
    "deduplicate_records": reading(
        "Find duplicate records", "Find duplicates in {args.path}", paths=["path"], **_OF_TABLES
    ),
    "summarize_anomalies": reading(
        "Find what stands out", "Look for anomalies in {args.path}", paths=["path"], **_OF_TABLES
    ),
    "preview_csv": reading("Preview a CSV file", "Look at {args.path}", paths=["path"]),
    "preview_without_duplicates": reading(
        "Preview a file without duplicates",
        "Find duplicates in {args.call.source}",
        paths=["call.source"],
        looks=["call.destination"],
        nested=["call"],
        **_OF_TABLES,
    ),
    "preview_write_sqlite": reading(
        "Preview changes of rows", "Try changes on a copy of {args.path}", paths=["path"], **_OF_TABLES
    ),
    "preview_restore_rows": reading(
        "Preview putting rows back", "Look at the record {args.record}", found=["path"], **_OF_TABLES
    ),
    "check_rows": reading("Check rows", "Look at the record {args.record}", found=["path"], **_OF_TABLES),
    "write_csv": makes(
        "Write CSV file",
        "Write",
        "Write {args.rows|counted:row} to {args.path}{capture.plan.note}",
        targets={"paths": ["path"], "reported": ["{capture.plan.path}"]},
        noun="{args.path|name}",
        capture={
            "plan": call("preview_csv", path="{args.path}", columns="{args.columns}", rows="{args.rows}")
        },
        bind=bound(expected_sha256="sha256"),
        preview={
            "kind": "diff",
            "before": "{capture.plan.before}",
            "after": "{capture.plan.after}",
            "path": "{capture.plan.path}",
        },
    ),
    "write_without_duplicates": makes(
        "Write without duplicates",
        "Write",
        "Write {capture.plan.rows|counted:row} of {args.source} to {args.destination}, leaving out "
        "{capture.plan.left_out|counted:duplicate}{capture.plan.note}",
        targets={"paths": ["source", "destination"], "reported": ["{capture.plan.path}"], **_TABLES},
        noun="{args.destination|name}",
        capture={"plan": call("preview_without_duplicates", call="{args}")},
        bind=bound("expected"),
        preview={"kind": "text", "after": "{capture.plan.removed}"},
    ),
    "write_sqlite": change(
        "Write rows",
        "Write",
        "{capture.plan.effect} {args.path}",
        targets={"paths": ["path"], "reported": ["{capture.plan.path}"], **_TABLES},
        noun="{args.path|name}",
        capture={"plan": call("preview_write_sqlite", path="{args.path}", changes="{args.changes}")},
        preview={**_DIFFERENCE, "of": "changes"},
        **_ROWS,
    ),
    "restore_rows": change(
        "Put rows back",
        "Put back",
        "Put back {capture.plan.counted} of {capture.plan.path}",
        targets={"ids": ["record"], "reported": ["{capture.plan.path}"], **_TABLES},
        noun="{capture.plan.path|name}",
        capture={"plan": call("preview_restore_rows", record="{args.record}")},
        preview=_DIFFERENCE,
        **{**_ROWS, "bind": bound("expected", expected_record="kept")},
    ),
    **WAYS_BACK,
}
