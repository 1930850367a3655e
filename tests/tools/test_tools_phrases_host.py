"""Plain sentences about the clipboard, the host, pictures, the log and meetings mean calls, and take none from others."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from gate.rules.planner_port import Propose
from gate.rules.tool import ToolSpec
from servers.audit import server as audit
from servers.clipboard import server as clipboard
from servers.document import server as document
from servers.filesystem import server as filesystem
from servers.meeting import server as meeting
from servers.ocr import server as ocr
from servers.system import server as system
from tests.tools.mcp_hosts import hosting
from tests.tools.phrases_setup import FILE, Listed, understood
from tools.mcp.server_config import ServerConfig
from tools.phrases.phrase_file import load_phrases
from tools.phrases.planner import Phrases, misfits

TABLE: list[tuple[str, str, dict[str, Any]]] = [
    ("what is in the clipboard?", "clipboard.get_clipboard", {}),
    ("show me my clipboard history", "clipboard.clipboard_history", {}),
    ('copy "a, b" to the clipboard', "clipboard.set_clipboard", {"text": "a, b"}),
    ("set the clipboard to hello there", "clipboard.set_clipboard", {"text": "hello there"}),
    ("restore the clipboard record 12", "clipboard.restore_clipboard", {"record": "12"}),
    ("system information", "system.get_system_info", {}),
    ("how much memory is left?", "system.get_system_info", {}),
    ("what is running", "system.list_processes", {}),
    ("is firefox running", "system.list_processes", {"contains": "firefox"}),
    ("take a screenshot", "system.take_screenshot", {}),
    ("open the application editor", "system.open_application", {"application": "editor"}),
    ("open a.md with editor", "system.open_file_with", {"path": "a.md", "application": "editor"}),
    ("read the picture a.png", "ocr.extract_text_from_image", {"path": "a.png"}),
    ("extract the text of the photo a.jpg", "ocr.extract_text_from_image", {"path": "a.jpg"}),
    ("read the scanned pdf a.pdf", "ocr.extract_text_from_pdf", {"path": "a.pdf"}),
    ("extract the values of the receipt a.png", "ocr.extract_structured_data", {"path": "a.png"}),
    ("read the table in the picture a.png", "ocr.extract_table", {"path": "a.png"}),
    ("show the tool log", "audit.get_tool_log", {}),
    ("show the audit log since yesterday", "audit.get_tool_log", {"since": "yesterday"}),
    ("show the tool log of task", "audit.get_tool_log", {"tool": "task"}),
    ("what did U123 do", "audit.get_tool_log", {"actor": "U123"}),
    ("sum up the last session", "audit.get_session_summary", {}),
    ("summarize the session T1:C1:1.2", "audit.get_session_summary", {"session": "T1:C1:1.2"}),
    ("generate an audit report", "audit.generate_audit_report", {}),
    ("make an audit report since 2026-11-01", "audit.generate_audit_report", {"since": "2026-11-01"}),
    ("export the audit report to a.pdf", "audit.export_audit_pdf", {"path": "a.pdf"}),
    (
        "export the audit report since 2026-11-01 to a.pdf",
        "audit.export_audit_pdf",
        {"path": "a.pdf", "since": "2026-11-01"},
    ),
    (
        "make the minutes of a.md into b.md",
        "meeting.generate_minutes",
        {"source": "a.md", "destination": "b.md"},
    ),
    ("read a.md", "filesystem.read_file", {"path": "a.md"}),
    ("open a.md", "filesystem.read_file", {"path": "a.md"}),
    ("what is in reports", "filesystem.list_dir", {"path": "reports"}),
    ("copy a.md to archive", "filesystem.copy_file", {"source": "a.md", "destination": "archive"}),
    ("extract the text of a.pdf", "document.extract_text", {"path": "a.pdf"}),
]
# What is looked at for a card, or is the filesystem server's own.
UNSAID = {"get_metadata", "describe_paths", "preview_restore", "restore_file", "delete_file"}
SPOKEN_OF = {"clipboard", "system", "ocr", "audit", "meeting"}


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path) -> Phrases:
    """The bundled phrases over the real tools of these servers, beside those with the most alike phrases."""
    folder = tmp_path_factory.mktemp("host")
    shutil.copyfile(migrated_sqlite, folder / "bot.db")
    apps = {name: made([folder]) for name, made in (("filesystem", filesystem), ("document", document))}
    apps |= {"ocr": ocr([folder]), "meeting": meeting([folder]), "system": system()}
    apps |= {"clipboard": clipboard(folder / "kept"), "audit": audit(str(folder / "bot.db"), [folder])}

    async def listed() -> dict[str, ToolSpec]:
        configs = [ServerConfig(name=name, inproc="x") for name in apps]
        async with hosting(folder, *configs, inproc=apps) as host:
            return {spec.full_name: spec for spec in host.specs()}

    return Phrases(load_phrases(FILE), Listed(asyncio.run(listed())))


@pytest.mark.parametrize(("text", "tool", "args"), TABLE, ids=[text for text, *_ in TABLE])
def test_a_sentence_means_one_call(planner: Phrases, text: str, tool: str, args: dict[str, Any]) -> None:
    reply = understood(planner, text)
    assert isinstance(reply, Propose), reply
    assert [(f"{call.server}.{call.tool}", dict(call.args)) for call in reply.calls] == [(tool, args)]


def test_every_tool_can_be_reached_in_words(planner: Phrases) -> None:
    said = {tool for _, tool, _ in TABLE}
    left = {spec.full_name for spec in planner.tools.specs() if spec.server in SPOKEN_OF} - said
    assert {
        name for name in left if ".preview_" not in name and name.partition(".")[2] not in UNSAID
    } == set()


def test_every_phrase_fits_its_tool_and_every_example_is_understood(planner: Phrases) -> None:
    assert misfits(planner.book, planner.tools) == []
    for phrase in planner.book.phrases:
        if phrase.example and planner.tools.find(phrase.server, phrase.tool):
            reply = understood(planner, phrase.example)
            assert isinstance(reply, Propose), phrase.example
            assert reply.calls[0].tool == phrase.tool
