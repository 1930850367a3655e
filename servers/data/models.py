"""What the data tools take and answer. Rows are numbered from 1, without the line of column names."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from servers.filesystem.models import Given, GivenMap, Item, Strict

Cell = str | int | float | bool | None
Name = Annotated[str, Field(min_length=1, max_length=200)]
DatabaseArg = Annotated[
    str, Field(description="A SQLite database in the allowed folders, like books.sqlite.")
]
RecordsArg = Annotated[
    str, Field(description="A .csv, .tsv, .json or .jsonl file, or a SQLite database (then say which table).")
]
TableArg = Annotated[Name | None, Field(description="The table, where the file is a SQLite database.")]


TablesRead = Annotated[
    Given[Annotated[str, Field(max_length=32_000)]],
    Field(max_length=1_000, description="the tables of a database that this was read of, below views, too"),
]


class Rows(BaseModel):
    path: str
    columns: list[str]
    rows: list[list[Cell]]
    count: int = Field(description="how many rows are given")
    truncated: bool = Field(description="whether there are more")
    note: str = ""
    tables: TablesRead = []


class Column(BaseModel):
    name: str
    type: str
    key: bool = Field(description="part of the primary key")
    required: bool


class Table(BaseModel):
    name: str
    kind: Literal["table", "view"]
    columns: Given[Column]


class Database(BaseModel):
    path: str
    tables: list[Table]
    truncated: bool = Field(default=False, description="whether there are others, which come later by name")
    note: str = ""
    sha256: str
    size: int


class Group(BaseModel):
    """Records that say the same: the first is the one to keep."""

    rows: Given[int]
    kind: Literal["same", "similar"]
    record: GivenMap[Cell] = Field(description="the first of them")
    differs: Given[str] = Field(description="columns in which they are not alike, letter by letter")


class Duplicates(BaseModel):
    path: str
    records: int
    assumed: list[str] = Field(description="how the file was read where it could be read otherwise")
    compared: list[str] = Field(description="the columns that were compared")
    groups: list[Group]
    unique: int = Field(description="records that would be left")
    keep: list[int] = Field(description="their row numbers, when there are at most 5,000")
    truncated: bool = False
    summary: str
    tables: TablesRead = []


ColumnsArg = Annotated[
    list[Name] | None, Field(description="Only these columns. Empty: all of them.", max_length=100)
]
AlikeArg = Annotated[
    float | None, Field(ge=0.5, le=1, description="Also nearly the same, like 0.9. Empty: the same only.")
]


class TwinsCall(Strict):
    """The arguments of write_without_duplicates, as a preview is given them."""

    source: str
    destination: str
    columns: ColumnsArg = None
    table: TableArg = None
    alike: AlikeArg = None


class TwinsPlan(BaseModel):
    """What a file without duplicates would be."""

    path: str
    rows: int = Field(description="that are written")
    left_out: int = Field(description="rows that are there again")
    removed: str = Field(description="the rows that are left out, and how the file was read")
    expected: str = Field(description="SHA-256 over the records and what they take the place of")
    note: str = Field(
        default="", description="of cells that begin like a formula, and of a file that gives way"
    )
    tables: TablesRead = []


class Anomaly(BaseModel):
    column: str
    kind: Literal[
        "outlier", "missing", "type", "rare", "date", "space", "duplicate", "id", "total", "notation"
    ]
    rows: Given[int] = Field(description="at most 100 of them")
    count: int
    values: Given[Cell] = Field(description="what stands there, in the order of the rows")
    why: str


class Anomalies(BaseModel):
    path: str
    records: int
    columns: list[str]
    assumed: list[str] = Field(description="how the file was read where it could be read otherwise")
    anomalies: list[Anomaly]
    truncated: bool = False
    summary: str
    tables: TablesRead = []


class CsvPlan(BaseModel):
    """What a file of comma-separated values is now and would be."""

    path: str
    before: str
    after: str
    sha256: str = Field(description="of the present file, or “absent”")
    rows: int
    note: str = Field(default="", description="what is said of cells that begin like a formula")


class Value(Strict):
    column: Name
    value: Cell


Values = Annotated[
    dict[str, Cell] | list[Value],
    Field(description="Column to value, like {“status”: “paid”}; or a list of {column, value}."),
]


class Change(Strict):
    """One change to one table. Values are bound as parameters; nothing in here is read as SQL."""

    table: Name
    op: Literal["insert", "update", "delete"]
    where: Values = Field(
        default={}, description="Which rows: all these columns have these values. Not for insert."
    )
    values: Values = Field(default={}, description="What to insert, or the columns to set. Not for delete.")


class RowsPlan(BaseModel):
    path: str
    difference: str = Field(description="every row that changes, before and after")
    items: Given[Item] = Field(description="how many rows of which table are added, changed or removed")
    rows: int
    counted: str = Field(description="the same in words: “1 row”")
    effect: str = Field(description="what is done to how many rows: “Add 1 row to”, “Change 2 rows of”")
    expected: str = Field(description="SHA-256 over the rows that change, as they are now")
    can_undo: bool = Field(description="whether they can be put back exactly, triggers and all")
    kept: str | None = Field(default=None, description="SHA-256 over the record that is put back")
    tables: TablesRead = Field(default=[], description="whose rows change, and that triggers read for it")


class RowsChanged(BaseModel):
    path: str
    rows: int
    added: int
    changed: int
    removed: int
    record: str = Field(description="where the rows before are kept, to put them back")
    state: str = Field(description="SHA-256 over these rows as they are now")
    kept: str = Field(description="SHA-256 over that record, which a way back has to name")


class RowsState(BaseModel):
    record: str
    path: str
    state: str = Field(description="SHA-256 over the rows of the record as they are now")
    as_left: bool = Field(description="whether they are still as the change left them")
    tables: TablesRead = Field(default=[], description="whose rows they are")
