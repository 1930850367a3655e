"""What the tools answer and what the trash remembers. Paths are as people write them; times are UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, FailFast, Field

T = TypeVar("T")
# What others may have written, in a record or as the answer of a confined process: its first error is the last that is
# looked for. To collect 100,000 is one step of 0.2 s, in which no other thread runs.
Given = Annotated[list[T], FailFast()]
GivenMap = Annotated[dict[str, T], FailFast()]

PathArg = Annotated[str, Field(description="A path inside the allowed folders, like reports/q3.md.")]
PathsArg = Annotated[
    str | list[str], Field(description="One path, or a list of at most 100 paths in the same allowed folder.")
]
Sha256 = Annotated[str, Field(pattern=r"^(absent|[0-9a-f]{64})$")]
TrashIdArg = Annotated[
    str,
    Field(description="The id of something in the trash, as the list of the trash has it.", max_length=64),
]
TrashIdsArg = Annotated[
    str | list[str],
    Field(description="An id of the trash, a list of at most 100, or “all” for everything in it."),
]
ExpectedArg = Annotated[
    Sha256 | None,
    Field(description="SHA-256 it must have now, or “absent” when it must not exist. Empty: anything."),
]
ExpectedTarget = Annotated[
    Sha256 | None,
    Field(description="SHA-256 of what the new file takes the place of, or “absent”. Empty: anything."),
]
ExpectedPath = Annotated[
    str | None, Field(description="The full path where it must land. Empty: wherever destination leads.")
]
ExpectedMap = Annotated[
    dict[str, Sha256] | None,
    Field(description="Path to SHA-256: each file must be as this says. Empty: as they are."),
]
ExpectedKept = Annotated[
    Sha256 | None,
    Field(description="SHA-256 over what is kept, as the change that kept it gave it. Empty: any."),
]
Entry = Annotated[
    Sha256 | None,
    Field(description="SHA-256 over what is kept there, path and all, which a way back has to name"),
]
MOST_PATHS = 100  # in one call, so in one entry of the trash
ExpectedMade = Annotated[Sha256 | None, Field(description="SHA-256 the new file must have. Empty: any.")]
Kind = Literal["file", "folder", "link", "event", "other", "absent"]


class Strict(BaseModel):
    """Arguments of a tool as a preview is given them: a misspelt one is refused."""

    model_config = ConfigDict(extra="forbid")


class Item(BaseModel):
    """One thing among several, as a card lists it."""

    name: str
    kind: Kind
    size: int | None = Field(default=None, description="bytes; none for folders")
    modified: datetime | None = None


class Listing(BaseModel):
    path: str
    roots: list[str] = Field(description="names of all allowed folders")
    items: list[Item]
    truncated: bool = Field(description="whether there is more than is listed")
    summary: str = Field(default="", description="that nothing is there, where that is so")
    note: str = ""


class FileText(BaseModel):
    path: str
    kind: Literal["text", "binary"]
    encoding: str
    text: str
    offset: int = Field(description="first byte shown")
    next_offset: int | None = Field(default=None, description="where to go on reading; none at the end")
    size: int
    sha256: str = Field(description="of the whole file")
    note: str = ""


class Match(BaseModel):
    path: str
    kind: Kind
    size: int | None = None
    line: int | None = Field(default=None, description="first line that contains the text")
    excerpt: str | None = None


class Matches(BaseModel):
    path: str
    matches: list[Match]
    truncated: bool
    summary: str = Field(default="", description="that nothing was found, where that is so")
    note: str = ""


class Metadata(BaseModel):
    path: str
    exists: bool
    kind: Kind
    size: int | None = None
    modified: datetime | None = None
    sha256: str | None = Field(
        default=None, description="of a file; “absent” where nothing is; none for the rest"
    )
    mode: str | None = Field(default=None, description="as ls shows it")
    links: int | None = Field(default=None, description="how many names this file has on the disk")
    entries: int | None = Field(default=None, description="of a folder: how many names are in it")
    summary: str = Field(default="", description="that nothing is there, where that is so")


class Described(Item):
    exists: bool
    sha256: str | None = None


class Description(BaseModel):
    what: str = Field(description="in a few words: the path, or “3 files: a, b, c”")
    noun: str = Field(description="the file's name, or “3 files”")
    items: list[Described]
    count: int
    size: int = Field(description="bytes of all together")
    expected: dict[str, str] = Field(description="path to SHA-256 or “absent”, as delete_file wants it")
    touched: list[str] = Field(description="every path that it is about, with all that is in a folder")


class Before(BaseModel):
    """A text file as it is now, whole, for the difference that a write would make."""

    path: str
    exists: bool
    text: str
    sha256: str
    size: int


class Transfer(BaseModel):
    """Where a move or a copy would really go."""

    source: str
    destination: str
    folder: bool = Field(description="whether it is a folder, with all in it")
    sha256: str
    size: int
    items: list[Item]
    touched: list[str] = Field(description="every path that it is about, with all that is in a folder")


class NewFolder(BaseModel):
    """A folder as it would be made. `top`: the first of its path that is not there; those below it are made, too."""

    path: str
    top: str
    items: list[Item]


class MadeFolder(BaseModel):
    path: str
    top: str = Field(description="the first folder of its path that was made")
    expected: dict[str, str] = Field(description="top to SHA-256 of it with all in it")


class Written(BaseModel):
    path: str
    sha256: str
    size: int
    replaced: bool
    trash_id: str | None = Field(description="where the previous version is kept, to restore it")
    entry: Entry = None
    kept_until: datetime | None = None
    expected: dict[str, str] = Field(description="path to SHA-256 of what was written")


class Moved(BaseModel):
    source: str
    destination: str
    sha256: str
    size: int
    expected: dict[str, str] = Field(description="destination to SHA-256")


class Deleted(BaseModel):
    trash_id: str
    entry: Entry
    paths: list[str]
    count: int
    size: int
    kept_in: str
    kept_until: datetime
    after: dict[str, str] = Field(description="path to “absent”: what is there now")


class Restored(BaseModel):
    paths: list[str]
    replaced: bool
    trash_id: str | None = Field(description="where what was replaced is kept now")
    entry: Entry
    sha256: str | None = Field(description="of the file, when it is one")
    expected: dict[str, str] = Field(description="path to SHA-256 of what is there now")


class Restoring(BaseModel):
    """What restoring an entry of the trash would do."""

    trash_id: str
    what: str = Field(description="in a few words: the path, or “3 files: a, b, c”")
    noun: str
    paths: list[str]
    items: list[Item]
    touched: list[str] = Field(description="every path that it is about, with all that is in a folder")
    expected_sha256: Sha256
    expected_entry: Sha256 = Field(description="over all that the entry holds and where it goes")


class TrashedFile(BaseModel):
    """A file in the trash, or a folder with all that is in it."""

    path: str = Field(description="inside its root")
    sha256: str
    size: int
    kind: Literal["file", "folder"] = "file"


LAST = datetime(9999, 1, 1, tzinfo=UTC)  # days can be added to what is before


class Manifest(BaseModel):
    """One folder in the trash: its files are named 0, 1, 2 … in the order of `files`."""

    id: str
    reason: Literal["deleted", "replaced"]
    deleted_at: Annotated[AwareDatetime, Field(lt=LAST)]
    files: Annotated[Given[TrashedFile], Field(max_length=MOST_PATHS)]


class TrashEntry(BaseModel):
    trash_id: str
    reason: Literal["deleted", "replaced"]
    deleted_at: datetime
    kept_until: datetime
    items: list[Item]


class Purging(BaseModel):
    """What purging entries of the trash would remove for good."""

    what: str = Field(description="in a few words: the path, or “3 files: a, b, c”")
    noun: str
    items: list[Item]
    trash_ids: list[str]
    expected: Sha256 = Field(description="of all that these entries hold")


class Purged(BaseModel):
    trash_ids: list[str]
    count: int = Field(description="files and folders that are gone")
    size: int


class Trash(BaseModel):
    entries: list[TrashEntry]
    truncated: bool
