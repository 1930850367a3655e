"""The stories of `make run`: sample files for the runbooks that need several servers, and those servers over them."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from gate.rules.tool import Trust
from tools.mcp.server_config import ServerConfig

SAMPLE = Path(__file__).parent.parent / "manifests" / "sample-stories"
FOLDERS = ("contracts", "downloads", "private", "receipts")
EMPTY = ("documents", "pictures")  # where downloads are sorted into
SERVERS = ("data", "document", "ocr")


def sample_stories(files: Path) -> Path:
    """The folders of the stories, each as the last run left it, or the sample where it is not there yet."""
    for name in FOLDERS:
        if not (files / name).exists():
            shutil.copytree(SAMPLE / name, files / name)
    for name in EMPTY:
        (files / name).mkdir(exist_ok=True)
    books = files / "receipts" / "books.sqlite"
    if not books.exists():
        with closing(sqlite3.connect(books)) as base:
            base.executescript((SAMPLE / "bookings.sql").read_text("utf-8"))
    return files


def story_servers(files: Path) -> tuple[ServerConfig, ...]:
    """The servers that the stories need besides the filesystem's and the desk's, over the same folder. The key of
    encrypted files is beside it."""
    key = ("--root", str(files), "--key-file", str(files.parent / "keys" / "age-identity.txt"))
    security = ServerConfig(
        name="security", inproc="servers.security:configured", args=key, trust=Trust.BUNDLED
    )
    others = (
        ServerConfig(name=name, inproc=f"servers.{name}:server", args=(str(files),), trust=Trust.BUNDLED)
        for name in SERVERS
    )
    return (*others, security)
