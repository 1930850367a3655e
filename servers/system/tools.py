"""The system tools, each with its card. Their docstrings are what people and models read of them."""

from __future__ import annotations

import base64
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import psutil
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, ImageContent, TextContent
from pydantic import AwareDatetime, BaseModel, Field

from servers.cards import ITEMS, Card, bound, call, change, reading
from servers.filesystem import answers, disk, path_arguments
from servers.filesystem.answers import spoken
from servers.filesystem.models import Sha256
from servers.filesystem.paths import Place, Roots, spot
from servers.system.host import Application, Screen, allowed, picture, start

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


_ASKED = ["pid", "name", "username", "status", "memory_info", "cpu_times", "create_time"]
_ORDER: dict[Sort, Any] = {
    "memory": lambda one: -one.memory,
    "cpu": lambda one: -one.cpu_seconds,
    "started": lambda one: -one.started_at.timestamp(),
    "name": lambda one: one.name.casefold(),
}


@dataclass(frozen=True)
class Reading:
    """The looking tools over one host."""

    applications: Mapping[str, Application]
    roots: Roots
    screen: Screen

    def get_system_info(self) -> SystemInfo:
        """What the host is: system, processors, memory, disks, and which applications may be opened."""
        memory = psutil.virtual_memory()
        return SystemInfo(
            host=platform.node(),
            system=f"{platform.system()} {platform.release()}",
            machine=platform.machine(),
            processors=psutil.cpu_count() or 1,
            load=[round(part, 2) for part in psutil.getloadavg()],
            memory=memory.total,
            memory_available=memory.available,
            disks=list(_disks()),
            booted_at=_moment(psutil.boot_time()),
            applications=list(self.applications),
            folders=[root.name for root in self.roots.roots],
        )

    def list_processes(
        self,
        contains: Annotated[str, Field(max_length=100, description="Part of the name. Empty: all.")] = "",
        sort: Annotated[Sort, Field(description="The most or newest first.")] = "memory",
        limit: Annotated[int, Field(ge=1, le=500, description="At most this many.")] = 30,
    ) -> Processes:
        """List what runs on the host: name, user, memory and time used. No command lines: they hold secrets."""
        found = [one for one in _processes() if contains.casefold() in one.name.casefold()]
        shown, more = answers.fitting(sorted(found, key=_ORDER[sort]), limit)
        return Processes(processes=shown, total=len(found), truncated=more)

    def take_screenshot(
        self,
        width: Annotated[
            int, Field(ge=100, le=3840, description="Pixels at most; it is made smaller.")
        ] = 1280,
    ) -> Annotated[CallToolResult, Screenshot]:
        """Take a picture of the whole screen of the host, as it is now."""
        made = picture(self.screen, width)
        facts = Screenshot(
            kind=made.kind,
            width=made.size[0],
            height=made.size[1],
            screen_width=made.whole[0],
            screen_height=made.whole[1],
            size=len(made.data),
            sha256=disk.sha256(made.data),
        )
        shown = ImageContent(type="image", data=base64.b64encode(made.data).decode(), mime_type=made.kind)
        return CallToolResult(
            content=[TextContent(type="text", text=facts.model_dump_json(indent=2)), shown],
            structured_content=facts.model_dump(mode="json"),
        )

    @spoken
    def preview_open(self, application: ApplicationArg, path: FileArg | None = None) -> Plan:
        """What open_application or open_file_with would start."""
        found = allowed(self.applications, application)
        items = [Thing(name=f"{found.name}: {found.command}", kind="application")]
        sha256 = None
        if path is not None:
            place, seen = looked(self.roots, path)
            items.append(Thing(name=place.said, kind="file", size=seen.size))
            sha256 = seen.sha256
        return Plan(items=items, expected_command=found.command, expected_sha256=sha256)


def looked(roots: Roots, path: str) -> tuple[Place, disk.Found]:
    """The file at a path. Raises ToolError when it is none, or no folder is allowed."""
    if not roots.roots:
        raise ToolError("No files may be opened here. An operator names their folders with --root.")
    place = path_arguments.file(roots, path)
    with spot(place) as here:
        return place, disk.sole(place.said, disk.examine(here))


def _disks() -> Iterator[Disk]:
    for part in psutil.disk_partitions(all=False):
        try:
            usage = psutil.disk_usage(part.mountpoint)
        except OSError:
            continue  # an empty drive, or one that may not be looked at
        yield Disk(mount=part.mountpoint, size=usage.total, free=usage.free)


def _processes() -> Iterator[Process]:
    for one in psutil.process_iter(_ASKED):
        info = one.info  # what may not be read is None
        yield Process(
            pid=info["pid"],
            name=info["name"] or "",
            user=info["username"] or "",
            status=str(info["status"] or ""),
            memory=info["memory_info"].rss if info["memory_info"] else 0,
            cpu_seconds=round(info["cpu_times"].user + info["cpu_times"].system, 2)
            if info["cpu_times"]
            else 0,
            started_at=_moment(info["create_time"] or 0),
        )


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@dataclass(frozen=True)
class Changing:
    """The tools that open something."""

    applications: Mapping[str, Application]
    roots: Roots

    @spoken
    def open_application(
        self, application: ApplicationArg, expected_command: ExpectedCommand = None
    ) -> Opened:
        """Open an application of the allow list on the host where this server runs."""
        found = self._agreed(application, expected_command)
        return Opened(application=found.name, command=found.command, pid=start(found))

    @spoken
    def open_file_with(
        self,
        path: FileArg,
        application: ApplicationArg,
        expected_command: ExpectedCommand = None,
        expected_sha256: ExpectedFile = None,
    ) -> Opened:
        """Open a file in an application of the allow list on the host where this server runs."""
        found = self._agreed(application, expected_command)
        place, seen = looked(self.roots, path)
        disk.agree(place.said, seen, expected_sha256)
        pid = start(found, place.root.path.joinpath(*place.parts))
        return Opened(application=found.name, command=found.command, pid=pid)

    def _agreed(self, name: str, expected: str | None) -> Application:
        found = allowed(self.applications, name)
        if expected is not None and found.command != expected:
            raise ToolError(
                f"{name} has changed since it was shown: it means {found.command} now. Ask again."
            )
        return found


_SHOWN: dict[str, Any] = {
    "noun": "{args.application}",
    "preview": ITEMS,
    "recoverable": "It stays open until somebody at the host closes it",
}

CARDS: dict[str, Card] = {
    "get_system_info": reading("System information", "Look at the host"),
    "list_processes": reading("List processes", "List what runs on the host"),
    "take_screenshot": reading("Take screenshot", "Take a picture of the screen"),
    "preview_open": reading("Preview opening", "Look at what {args.application} would open", looks=["path"]),
    "open_application": change(
        "Open application",
        "Open",
        "Open {args.application} on the host",
        capture={"plan": call("preview_open", application="{args.application}")},
        bind=bound("expected_command"),
        **_SHOWN,
    ),
    "open_file_with": change(
        "Open file with application",
        "Open",
        "Open {args.path} with {args.application} on the host",
        targets={"paths": ["path"]},
        capture={"plan": call("preview_open", application="{args.application}", path="{args.path}")},
        bind=bound("expected_command", "expected_sha256"),
        **_SHOWN,
    ),
}
