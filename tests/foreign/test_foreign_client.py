"""Each bundled server alone, with a client that is not ours: the official TypeScript SDK, over standard input."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.foreign.conftest import NODE
from tests.foreign.install import npm_servers
from tests.servers.all_servers import log
from tests.warm import warm

pytestmark = [pytest.mark.node, pytest.mark.slow, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[2]
CLIENT = Path(__file__).with_name("other_client.mjs")
# As `python -m servers.NAME`, which each server's own tests start.
SERVER = Path(__file__).with_name("bundled_server.py")
Call = tuple[str, dict[str, Any]]

# For each server its arguments, calls that any host can answer, and a file pattern below its folder of what they make.
ALONE: dict[str, tuple[list[str], list[Call], str]] = {
    "filesystem": (
        ["--root", "{home}"],
        [
            ("list_dir", {"path": "."}),
            ("write_file", {"path": "new.md", "content": "hello\n"}),
        ],
        "new.md",
    ),
    "task": (
        ["--file", "{home}/tasks.sqlite"],
        [
            ("list_tasks", {}),
            ("create_task", {"title": "Send the report"}),
        ],
        "tasks.sqlite",
    ),
    "calendar": (
        ["--folder", "{home}", "--timezone", "UTC"],
        [
            ("list_events", {}),
            ("create_event", {"title": "Review", "start": "2026-11-23T10:00", "minutes": 30}),
        ],
        "**/*.ics",
    ),
    "email": (
        ["--maildir", "{home}/mail", "--from", "ann@example.com"],
        [
            ("list_drafts", {}),
            ("draft_email", {"to": "ben@example.com", "subject": "Report", "body": "Here it is."}),
        ],
        "mail/**/cur/*",
    ),
    "data": (
        ["--root", "{home}"],
        [
            ("deduplicate_records", {"path": "old.csv"}),
            ("write_csv", {"path": "new.csv", "columns": ["a"], "rows": [["1"]]}),
        ],
        "new.csv",
    ),
    "document": (
        ["--root", "{home}"],
        [
            ("extract_text", {"path": "old.md"}),
            ("create_docx", {"path": "new.docx", "content": "# Report"}),
        ],
        "new.docx",
    ),
    "knowledge": (
        ["--root", "{home}"],
        [
            ("check_index", {"path": "."}),
            ("index_folder", {"path": "."}),
        ],
        "**/*.sqlite",
    ),
    "security": (
        ["--root", "{home}"],
        [
            ("scan_for_pii", {"path": "old.md"}),
            ("encrypt_file", {"path": "old.md"}),
        ],
        "*.age",
    ),
    "meeting": (
        ["--root", "{home}"],
        [("generate_minutes", {"source": "old.md", "destination": "minutes.md"})],
        "minutes.md",
    ),
    "audit": (
        ["--database", "{home}/bot.db", "--root", "{home}"],
        [("get_tool_log", {}), ("export_audit_pdf", {"path": "new.pdf"})],
        "new.pdf",
    ),
    "clipboard": (["--folder", "{home}/clips"], [("clipboard_history", {})], ""),
    "system": ([], [("get_system_info", {}), ("list_processes", {})], ""),
    "ocr": (["--root", "{home}"], [], ""),  # its calls need Tesseract
}  # fmt: skip


def test_every_server_that_comes_along_is_tried() -> None:
    packages = {path.parent.name for path in ROOT.glob("servers/*/__main__.py")}
    modules = {path.stem for path in ROOT.glob("servers/*.py") if "__main__" in path.read_text("utf-8")}
    assert set(ALONE) == packages | modules


def _asked(home: Path, name: str) -> dict[str, Any]:
    """The folder with what its calls want, the command of the server over it, and the calls."""
    home.mkdir()
    log(home / "bot.db")
    (home / "old.md").write_text("Call 030 1234567\nAction: Ann will call back by 2026-12-01.\n")
    (home / "old.csv").write_text("a,b\n1,2\n1,2\n")
    (home / "mail").mkdir()
    arguments, calls, _ = ALONE[name]
    words = [argument.format(home=home) for argument in arguments]
    command = [*warm(SERVER, f"servers.{name}", *words)]
    return {"command": sys.executable, "args": command, "cwd": str(ROOT), "calls": calls}


Found = tuple[Path, dict[str, Any]]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Found]:
    """The folder of a server and what the client got from it; one process of Node asks all servers."""
    homes = {name: tmp_path_factory.mktemp("alone") / name for name in ALONE}
    asked = {name: _asked(home, name) for name, home in homes.items()}
    command = [NODE, str(CLIENT), str(npm_servers()), json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = json.loads(done.stdout)
    return lambda name: (homes[name], answers[name])


@pytest.mark.parametrize("name", ALONE)
def test_another_client_reads_and_writes_with_the_server_alone(
    name: str, found: Callable[[str], Found]
) -> None:
    home, answered = found(name)
    _, calls, made = ALONE[name]
    assert {tool for tool, _ in calls} <= set(answered["tools"]) != set()
    assert [(one["isError"], one["text"][:300]) for one in answered["answers"] if one["isError"]] == []
    assert len(answered["answers"]) == len(calls)
    assert not made or [path for path in home.glob(made) if path.is_file()]
