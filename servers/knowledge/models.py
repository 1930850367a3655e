"""What the knowledge tools take and answer."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from servers.filesystem.models import Item, Sha256, Strict

FolderArg = Annotated[str, Field(description="A folder in the allowed folders; “.” is the first of them.")]
WithinArg = Annotated[
    str, Field(description="Only what is below this folder. Empty: everything in the index.")
]
ChunkArg = Annotated[str, Field(max_length=4_200, description="A part of a file, as a search names it.")]
RecordArg = Annotated[str, Field(max_length=64, description="The record that a change of the index gave.")]
ExpectedIndex = Annotated[
    Sha256 | None, Field(description="SHA-256 the index must have now, or “absent”. Empty: any.")
]
ExpectedFiles = Annotated[
    str | None,
    Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 over the files as they were shown. Empty: any."),
]


class Hit(BaseModel):
    """One part of a file that fits."""

    chunk: str
    path: str
    first_line: int
    last_line: int
    score: float = Field(description="higher fits better; only for comparing within one answer")
    excerpt: str


class Hits(BaseModel):
    asked: str
    hits: list[Hit]
    files: int = Field(description="how many files are in the index")
    truncated: bool = False
    note: str = ""


class Source(BaseModel):
    chunk: str
    path: str
    first_line: int
    last_line: int
    quote: str
    changed_since: bool = Field(description="whether the file is another one now than when it was indexed")


class Answered(BaseModel):
    question: str
    found: bool
    answer: str = Field(
        description="sentences of the sources, word for word; with sampling, lines of a model, each with the number of "
        "the source whose quote was found in its file"
    )
    sources: list[Source]
    note: str = ""


class IndexState(BaseModel):
    path: str = Field(description="the allowed folder that the index belongs to")
    sha256: Sha256
    folders: list[str]
    files: int
    chunks: int
    found_by_meaning: int = Field(
        description="of the parts, those that are also found by what they mean", default=0
    )


class Plan(BaseModel):
    """How the index would change."""

    path: str
    items: list[Item]
    touched: list[str] = Field(
        description="the files that are taken in or out; of more than 500 the folders that they are in"
    )
    added: int
    changed: int
    removed: int
    unchanged: int
    skipped: list[str] = Field(
        description="files that are left out, whole or in part, each with the reason, at most 50"
    )
    expected_index: Sha256
    expected_files: str


class Indexed(BaseModel):
    path: str
    added: int
    changed: int
    removed: int
    chunks: int
    skipped: list[str]
    record: str = Field(description="where the index before is kept, to restore it")
    kept: Sha256 = Field(description="SHA-256 over that record, which a way back has to name")
    sha256: Sha256 = Field(description="of the index now")


class Restoring(BaseModel):
    record: str
    path: str
    items: list[Item]
    expected_index: Sha256
    expected_record: Sha256 = Field(description="over the index that comes back")


class FolderCall(Strict):
    """The arguments of index_folder, as a preview is given them."""

    path: str
    recursive: bool = True


class UpdateCall(Strict):
    """The arguments of update_index, as a preview is given them."""

    path: str = "."
