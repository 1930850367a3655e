"""An MCP server over the host that it runs on: what it is, what runs, its screen, and the applications it may open.

`python -m servers.system --application NAME=PROGRAM` serves it on standard input and output. An application is started
by its path, never through a shell. A picture of the screen is made small enough to be sent.
"""

from __future__ import annotations

import base64
import io
import os
import platform
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Annotated, Any, Literal, NamedTuple

import psutil
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, ImageContent, TextContent
from PIL import Image, ImageGrab
from pydantic import AwareDatetime, BaseModel, Field

from servers.command_line import Arguments, serve
from servers.filesystem import answers, disk, path_arguments
from servers.filesystem.answers import spoken
from servers.filesystem.models import Sha256
from servers.filesystem.paths import Place, Roots, spot
from servers.tool_metadata import ITEMS, Card, bound, call, change, mcp_server, reading

_NAME = re.compile(r"[\w][\w .-]{0,39}")
_FORM = "Write an application as NAME=PROGRAM, such as editor=/usr/bin/gedit: “{}” is not like that."
SETTLING = 0.5  # seconds in which an application that cannot start has ended
LARGEST = 1_500_000  # bytes of a picture that is sent as PNG
Screen = Callable[[], Image.Image]
_NO_SCREEN = (
    "This host has no screen that can be seen ({why}). Start the server in a session with one; on Wayland install grim "
    "or gnome-screenshot."
)


@dataclass(frozen=True)
class Application:
    """One that may be opened: the words it is started with, the first of them a whole path."""

    name: str
    words: tuple[str, ...]

    @property
    def command(self) -> str:
        return shlex.join(self.words)


def named(said: str) -> Application:
    """From `NAME=PROGRAM [ARGUMENTS]`. Raises ValueError with a sentence."""
    name, _, rest = said.partition("=")
    try:
        words = tuple(shlex.split(rest))
    except ValueError:
        raise ValueError(_FORM.format(said)) from None
    if not _NAME.fullmatch(name) or not words:
        raise ValueError(_FORM.format(said))
    program = Path(words[0])
    if not program.is_absolute() or not program.is_file() or not os.access(program, os.X_OK):
        raise ValueError(
            f"{program} is not the whole path of a program that can be started. Name it in full."
        )
    return Application(name, words)


def allowed(known: Mapping[str, Application], name: str) -> Application:
    """The application of this name. Raises ToolError for one that is not on the list."""
    found = known.get(name) or next((one for one in known.values() if one.name.lower() == name.lower()), None)
    if found is None:
        there = f"These may be opened: {', '.join(known)}." if known else "None may be opened."
        raise ToolError(
            f"“{name}” may not be opened here. {there} An operator adds to them with --application."
        )
    return found


def start(application: Application, *files: Path) -> int | None:
    """Start it with these files. Returns its process id, or None when it has handed over to another and ended.

    Raises ToolError when it cannot start, or ends at once with an error.
    """
    silent = subprocess.DEVNULL
    try:
        program = subprocess.Popen(
            [*application.words, *map(str, files)],
            stdin=silent,
            stdout=silent,
            stderr=silent,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(
            f"{application.name} cannot be started: {error.strerror}. Ask the operator."
        ) from None
    Thread(target=program.wait, daemon=True).start()  # so that no dead process stays behind
    try:
        ended = program.wait(timeout=SETTLING)
    except subprocess.TimeoutExpired:
        return program.pid
    if ended:
        raise ToolError(
            f"{application.name} ended at once with the code {ended}. Perhaps this host has no screen to show it on."
        )
    return None


class Picture(NamedTuple):
    """What was on the screen, ready to be sent."""

    data: bytes
    kind: str  # image/png or image/jpeg
    whole: tuple[int, int]
    size: tuple[int, int]


def grabbed() -> Image.Image:
    """All of the screen. Raises ToolError with a sentence where there is none."""
    try:
        return ImageGrab.grab()
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolError(_NO_SCREEN.format(why=str(error).rstrip(".") or "it cannot be taken")) from None


def picture(screen: Screen, width: int) -> Picture:
    """The screen, at most so many pixels wide."""
    seen = screen().convert("RGB")
    whole = seen.size
    if seen.width > width:
        seen = seen.resize((width, max(seen.height * width // seen.width, 1)), Image.Resampling.LANCZOS)
    data, kind = _encoded(seen, "PNG"), "image/png"
    if len(data) > LARGEST:
        data, kind = _encoded(seen, "JPEG"), "image/jpeg"
    return Picture(data, kind, whole, seen.size)


def _encoded(seen: Image.Image, form: str) -> bytes:
    out = io.BytesIO()
    seen.save(out, form)
    return out.getvalue()


Sort = Literal["memory", "cpu", "started", "name"]
ApplicationArg = Annotated[
    str, Field(min_length=1, max_length=40, description="One of those that the look at the system names.")
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
class Tools:
    """The tools over one host."""

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


_STARTED = [
    {"that": "{result.command}", "equals": "{args.expected_command}", "why": "another command was started"}
]
_SHOWN: dict[str, Any] = {
    "noun": "{args.application}",
    "preview": ITEMS,
    "recoverable": "It stays open until somebody at the host closes it",
}

CARDS: dict[str, Card] = {
    "get_system_info": reading("System information", "Look at the host"),
    "list_processes": reading("List processes", "List what runs on the host"),
    "take_screenshot": reading("Take screenshot", "Take a picture of the screen"),
    "preview_open": reading(
        "Preview opening",
        "Look at what {args.application} would open",
        looks=["path"],
        ids=["application"],  # as below
    ),
    "open_application": change(
        "Open application",
        "Open",
        "Open {args.application} on the host",
        targets={"ids": ["application"]},  # its server finds them in any letters
        capture={"plan": call("preview_open", application="{args.application}")},
        bind=bound("expected_command"),
        expect=_STARTED,
        **_SHOWN,
    ),
    "open_file_with": change(
        "Open file with application",
        "Open",
        "Open {args.path} with {args.application} on the host",
        targets={"paths": ["path"], "ids": ["application"]},
        capture={"plan": call("preview_open", application="{args.application}", path="{args.path}")},
        bind=bound("expected_command", "expected_sha256"),
        expect=_STARTED,
        **_SHOWN,
    ),
}


ABOUT = "The host where this server runs. It opens only these applications: {}. Files are opened in these folders: {}."


def server(
    applications: Sequence[Application] = (), roots: Sequence[Path] = (), screen: Screen = grabbed
) -> MCPServer:
    """The server over this host, with the applications that may be opened and the folders whose files may be.

    Raises ValueError with a sentence when a folder is missing or two share a name.
    """
    known = {one.name: one for one in applications}
    house = Roots.at(roots) if roots else Roots(())
    about = ABOUT.format(", ".join(known) or "none", ", ".join(root.name for root in house.roots) or "none")
    return mcp_server("system", "System", about, CARDS, [Tools(known, house, screen)], house.places)


def configured(words: Sequence[str | Path]) -> MCPServer:
    """The server as its arguments say. Raises ValueError with a sentence."""
    parser = Arguments(prog="python -m servers.system", description="An MCP server over this host.")
    parser.add_argument(
        "--application",
        action="append",
        default=[],
        metavar="NAME=PROGRAM",
        help="one that may be opened: its whole path, and arguments that always come first",
    )
    parser.add_argument(
        "--root", action="append", default=[], type=Path, metavar="DIR", help="whose files may be opened"
    )
    found = parser.parse_args([str(word) for word in words])
    return server([named(said) for said in found.application], found.root)


if __name__ == "__main__":
    serve(configured)
