"""Every bundled server, put together over an empty folder, and what its tools say of themselves."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from email.headerregistry import Address
from pathlib import Path

from mcp.server import MCPServer
from mcp_types import Tool

from servers.audit import server as audit
from servers.calendar import server as calendar
from servers.clipboard import server as clipboard
from servers.data import server as data
from servers.document import server as document
from servers.email import server as email
from servers.filesystem import server as filesystem
from servers.knowledge import server as knowledge
from servers.meeting import server as meeting
from servers.ocr import server as ocr
from servers.security import server as security
from servers.system import server as system
from servers.task import server as task

# The part of the bot's database that the audit server reads.
LOG = """CREATE TABLE audit_log(seq INTEGER PRIMARY KEY, session_id TEXT, timestamp INTEGER, tool_name TEXT,
    arguments TEXT, result TEXT, result_status TEXT, user_confirmed INTEGER, execution_time_ms INTEGER, event TEXT,
    actor TEXT, action_id TEXT, version INTEGER, outcome TEXT, reason TEXT, prev TEXT, mac TEXT, team TEXT);
INSERT INTO audit_log VALUES (1, 'T1:C1:1.1', 1767225600000000, 'task.create_task', '{}', '', 'success', 1, 5,
    'finished', 'U1', 'a1', 1, '', '', '', '', 'T1');
CREATE TABLE actions (id TEXT PRIMARY KEY, proposal TEXT);
"""


def log(path: Path) -> Path:
    """A database with one entry of 2026-01-01 in its log."""
    with closing(sqlite3.connect(path)) as base:
        base.executescript(LOG)
    return path


Maker = Callable[[Path], MCPServer]
OVER_FILES: dict[str, Callable[..., MCPServer]] = {
    "filesystem": filesystem,
    "data": data,
    "document": document,
    "knowledge": knowledge,
    "meeting": meeting,
    "ocr": ocr,
    "security": security,
}
MAKERS: dict[str, Maker] = {
    **{name: (lambda folder, make=make: make([folder / "files"])) for name, make in OVER_FILES.items()},
    "audit": lambda folder: audit(str(log(folder / "bot.db")), [folder / "files"]),
    "calendar": lambda folder: calendar([folder / "calendar"]),
    "clipboard": lambda folder: clipboard(folder / "clipboard"),
    "email": lambda folder: email(folder / "mail", Address("Ann", "ann", "example.com")),
    "system": lambda _: system(),
    "task": lambda folder: task(folder / "tasks.sqlite"),
}


def one(folder: Path, name: str) -> MCPServer:
    """One of them over the folders that it wants."""
    for part in ("files", "mail", "calendar"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    return MAKERS[name](folder)


def servers(folder: Path) -> dict[str, MCPServer]:
    """All of them, by name."""
    return {name: one(folder, name) for name in MAKERS}


async def tools(folder: Path) -> dict[str, list[Tool]]:
    """What each lists, by the server's name in order."""
    return {name: await app.list_tools() for name, app in sorted(servers(folder).items())}
