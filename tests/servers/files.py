"""A folder, a filesystem server over it, and a client: what every test of the server starts from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from mcp import Client
from mcp_types import TextContent

from servers.filesystem import server

Mode = Literal["auto", "legacy"]


def sample(folder: Path) -> Path:
    """A root named `sample` with a few files."""
    root = folder / "sample"
    for name, text in {"notes.md": "one\ntwo\n", "reports/q3.md": "Q3\n", "reports/q4.md": "Q4\n"}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "archive").mkdir()
    return root


def sha(data: bytes | str) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def tree(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file a person can see: its bytes and its mode. Folders with their mode."""
    return {
        str(path.relative_to(root)): (path.read_bytes() if path.is_file() else b"", path.lstat().st_mode)
        for path in sorted(root.rglob("*"))
        if ".countersign" not in path.parts and not path.is_symlink()
    }


class Ask:
    """Calls tools: a result, or the sentence of a refusal."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, /, **args: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, args, read_timeout_seconds=60)
        assert not result.is_error, result.content
        assert isinstance(result.structured_content, dict)
        return result.structured_content

    async def refused(self, tool: str, /, **args: Any) -> str:
        result = await self.client.call_tool(tool, args, read_timeout_seconds=60)
        assert result.is_error, result.structured_content
        [content] = result.content
        assert isinstance(content, TextContent)
        text = content.text.removeprefix(f"Error executing tool {tool}")
        assert text, "a crash has no sentence"
        return text.removeprefix(": ")


@asynccontextmanager
async def files(
    *roots: Path, mode: Mode = "auto", clock: Callable[[], datetime] | None = None
) -> AsyncIterator[Ask]:
    """A client of a server over these roots."""
    app = server(roots, clock) if clock else server(roots)
    async with Client(app, mode=mode, read_timeout_seconds=60) as client:
        yield Ask(client)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def move(self, **by: float) -> None:
        self.time += timedelta(**by)


def same_age(path: Path, like: os.stat_result) -> None:
    """Give a file the times of an earlier look, as somebody who hides a change would."""
    os.utime(path, ns=(like.st_atime_ns, like.st_mtime_ns))
