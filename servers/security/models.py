"""What the security tools are given and answer. Paths are as people write them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from servers.filesystem.models import Item, Sha256, Strict, Written

PlaceArg = Annotated[str, Field(description="A file, or a folder with all below it, in the allowed folders.")]
CursorArg = Annotated[
    str,
    Field(
        max_length=4_096, description="Where an earlier look stopped: its next_cursor. Empty: from the start."
    ),
]
FolderArg = Annotated[str, Field(description="A folder, with all below it.")]
Recipients = Annotated[
    list[str],
    Field(
        max_length=20, description="Public keys (age1…) of others who may read it. This server always may."
    ),
]
ExpectedSource = Annotated[Sha256 | None, Field(description="SHA-256 the file must have now. Empty: any.")]


class Finding(BaseModel):
    path: str
    line: int
    kind: str
    sure: Literal["certain", "likely", "perhaps"]
    shown: str = Field(description="what was found, masked")


class Scan(BaseModel):
    path: str
    files: int = Field(description="how many were looked through")
    findings: list[Finding]
    paths: list[str] = Field(description="the files with findings, each once")
    named: list[str] = Field(
        description="all files that this names: with findings, not looked into, or where it stopped"
    )
    kinds: dict[str, int]
    skipped: list[str] = Field(
        description="files that could not be looked into, or only in part, with the reason, at most 50"
    )
    truncated: bool = False
    next_cursor: str = Field(default="", description="where to go on; empty at the end")
    note: str = ""
    summary: str


class Twins(BaseModel):
    paths: list[str]
    size: int = Field(description="bytes of one")
    sha256: str


class Duplicates(BaseModel):
    path: str
    files: int
    groups: list[Twins]
    extra: list[str] = Field(description="all but one of each group: what could go")
    wasted: int = Field(description="bytes that would be free if one of each were kept")
    truncated: bool = False
    note: str = ""
    summary: str


class Proposal(BaseModel):
    kind: Literal["duplicate", "temporary", "empty", "old", "large", "sensitive"]
    paths: list[str]
    keep: str = Field(default="", description="of duplicates: the one to keep")
    size: int
    why: str
    action: str = Field(description="what could be done, as a tool call would say it")


class Cleanup(BaseModel):
    path: str
    files: int
    proposals: list[Proposal]
    size: int = Field(description="bytes of all files that could be deleted, each counted once")
    truncated: bool = False
    note: str = ""
    summary: str


class Recipient(BaseModel):
    recipient: str = Field(
        description="the public key of this server, to encrypt for it; “” before the first use"
    )


class Plan(BaseModel):
    """The file that would be made."""

    path: str
    touched: list[str] = Field(description="the file that would be made, and what the encrypted one is of")
    items: list[Item]
    expected_source: Sha256
    expected_target: Sha256
    recipients: list[str] = Field(
        description="who can read it then: “this server”, and public keys of others"
    )


class Made(Written):
    recipients: list[str] = Field(default=[], description="public keys that can read it")


class CryptCall(Strict):
    """The arguments of encrypt_file or decrypt_file, as a preview is given them."""

    path: str
    destination: str = ""
    recipients: Recipients = Field(default=[])
