"""The desk of `make run`: sample tasks, a calendar and a mailbox, with the bundled servers over them."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from pathlib import Path

import yaml

from gate.rules.tool import Trust
from servers.task.store import Store, Task, add
from tools.mcp.server_config import ServerConfig

SAMPLE = Path(__file__).parent.parent / "manifests" / "sample-desk"
SENDER = "Ann Example <ann@example.com>"


def sample_desk(folder: Path, now: datetime) -> Path:
    """The desk to play at: the sample when it is not there yet, else as the last run left it."""
    if not folder.exists():
        for name in ("calendar", "mail"):
            shutil.copytree(SAMPLE / name, folder / name)
        tasks = yaml.safe_load((SAMPLE / "tasks.yaml").read_text("utf-8"))
        with Store.at(folder / "tasks.sqlite").changing() as db:
            for entry in tasks:
                add(db, _task(entry, now))
    return folder


def _task(entry: dict[str, str | int], now: datetime) -> Task:
    due = now.date() + timedelta(days=int(entry["due"])) if "due" in entry else None
    rest = {"status": "open", "priority": "normal", "notes": "", "completed_at": None} | entry
    return Task.model_validate(rest | {"id": 1, "due": due, "created_at": now, "updated_at": now})


def demo_servers(folder: Path, mail_port: int) -> tuple[ServerConfig, ...]:
    """The servers over a desk; mail goes to the mail server on this port of this machine."""
    post = ("--smtp-host", "127.0.0.1", "--smtp-port", str(mail_port), "--smtp-security", "none")
    return (
        _bundled("task", "--file", str(folder / "tasks.sqlite")),
        _bundled("calendar", "--folder", str(folder / "calendar")),
        _bundled("email", "--maildir", str(folder / "mail"), "--from", SENDER, *post),
    )


def _bundled(name: str, *words: str) -> ServerConfig:
    return ServerConfig(name=name, inproc=f"servers.{name}:configured", args=words, trust=Trust.BUNDLED)
