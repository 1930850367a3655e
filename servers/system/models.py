"""What the system tools take and answer. Sizes are bytes, times are UTC."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, Field

from servers.filesystem.models import Sha256

Sort = Literal["memory", "cpu", "started", "name"]
ApplicationArg = Annotated[
    str, Field(min_length=1, max_length=40, description="One of those that get_system_info names.")
]
FileArg = Annotated[str, Field(description="A file in the allowed folders.")]
ExpectedCommand = Annotated[
    str | None, Field(description="What must be started, as it was shown. Empty: whatever the name means.")
]
ExpectedFile = Annotated[Sha256 | None, Field(description="SHA-256 the file must have. Empty: any.")]


class Disk(BaseModel):
    mount: str
    size: int
    free: int


class SystemInfo(BaseModel):
    host: str
    system: str = Field(description="like Linux 6.1.0")
    machine: str = Field(description="like x86_64")
    processors: int
    load: list[float] = Field(description="mean of runnable processes in the last 1, 5 and 15 minutes")
    memory: int
    memory_available: int
    disks: list[Disk]
    booted_at: AwareDatetime
    applications: list[str] = Field(description="those that may be opened")
    folders: list[str] = Field(description="those whose files may be opened")


class Process(BaseModel):
    pid: int
    name: str
    user: str
    status: str
    memory: int = Field(description="resident")
    cpu_seconds: float = Field(description="since it was started")
    started_at: AwareDatetime


class Processes(BaseModel):
    processes: list[Process]
    total: int = Field(description="how many fit, listed or not")
    truncated: bool


class Screenshot(BaseModel):
    """What was taken; the picture itself is another part of the answer."""

    kind: str = Field(description="image/png or image/jpeg")
    width: int
    height: int
    screen_width: int
    screen_height: int
    size: int
    sha256: str


class Thing(BaseModel):
    """The application and the file, as a card lists them."""

    name: str
    kind: Literal["application", "file"]
    size: int | None = None


class Plan(BaseModel):
    """What would be started."""

    items: list[Thing]
    expected_command: str
    expected_sha256: Sha256 | None = Field(default=None, description="of the file")


class Opened(BaseModel):
    application: str
    command: str
    pid: int | None = Field(description="none when it handed over to a process that ran already")
