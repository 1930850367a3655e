"""The tools that only look at the host. Their docstrings are what people and models read of them."""

from __future__ import annotations

import base64
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import psutil
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, ImageContent, TextContent
from pydantic import Field

from servers.filesystem import disk, landing, room
from servers.filesystem.answers import spoken
from servers.filesystem.roots import Place, Roots, spot
from servers.system.applications import Application, allowed
from servers.system.models import (
    ApplicationArg,
    Disk,
    FileArg,
    Plan,
    Process,
    Processes,
    Screenshot,
    Sort,
    SystemInfo,
    Thing,
)
from servers.system.screen import Screen, picture

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
        shown, more = room.fitting(sorted(found, key=_ORDER[sort]), limit)
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
    place = landing.file(roots, path)
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
