"""What the clipboard tools take and answer. Times are UTC."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, BaseModel, Field

LONGEST = 50_000  # characters that are set at once
EMPTY: Final = "empty"
OTHER: Final = "other"
Kind = Literal["text", "empty", "other"]

TextArg = Annotated[str, Field(max_length=LONGEST, description="The text to put there; “” empties it.")]
RecordArg = Annotated[
    str, Field(pattern=r"^(empty|[0-9]{1,12}|m[0-9a-f]{16})$", description="From clipboard_history.")
]
Mark = Annotated[str, Field(pattern=r"^(empty|other|[0-9a-f]{64})$")]
ExpectedArg = Annotated[
    Mark | None,
    Field(description="SHA-256 of the text that must be there now, “empty” or “other”. Empty: anything."),
]


class Content(BaseModel):
    """What is in the clipboard."""

    kind: Kind = Field(description="other: no text, or more of it than this server takes")
    text: str = ""
    characters: int = 0
    sha256: Mark
    truncated: bool = False
    note: str = ""


class Past(BaseModel):
    """A text that this server put into the clipboard, or that gave way to one."""

    record: str
    at: AwareDatetime
    why: Literal["set", "replaced"]
    text: str
    characters: int
    truncated: bool


class Pasts(BaseModel):
    entries: list[Past]
    truncated: bool
    note: str = ""


class Plan(BaseModel):
    """What setting the clipboard would change."""

    change: str = Field(description="the lines that go (-) and come (+)")
    expected_sha256: Mark = Field(description="of what is there now")
    restorable: bool = Field(description="whether what is there now can be put back")


class Placed(BaseModel):
    characters: int
    sha256: Mark = Field(description="of what is there now")
    record: str | None = Field(description="of what gave way, for restore_clipboard; none when it is lost")
