"""All bundled servers together: every tool of ACT-01 with its class, the page about them, and each on its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import Tool

from servers.calendar import server as calendar
from servers.task import server as task
from tests.servers.all_servers import MAKERS, log, one, tools
from tests.servers.gate_around_server import META, check_cards, gated
from tests.servers.tools_table import PATH, final, page

# The three lists of docs/promises.md ACT-01.
READ = """
filesystem.list_dir filesystem.read_file filesystem.search_files filesystem.get_metadata
ocr.extract_text_from_image ocr.extract_text_from_pdf ocr.extract_structured_data ocr.extract_table
document.extract_text document.diff_documents document.read_spreadsheet
security.scan_for_pii security.scan_for_secrets security.find_duplicates security.propose_cleanup
knowledge.search_documents knowledge.ask_about_files knowledge.get_related_chunks
calendar.list_events calendar.find_free_slots email.list_drafts email.search_emails email.summarize_thread
task.list_tasks task.get_overdue task.daily_briefing
data.query_sqlite data.deduplicate_records data.summarize_anomalies
audit.get_tool_log audit.get_session_summary audit.generate_audit_report
clipboard.get_clipboard clipboard.clipboard_history
system.get_system_info system.take_screenshot system.list_processes
"""
WRITE = """
filesystem.write_file filesystem.move_file filesystem.copy_file filesystem.watch_folder
document.convert_format document.create_pdf document.fill_pdf_form document.merge_pdfs document.create_docx
knowledge.index_folder knowledge.update_index calendar.create_event calendar.create_time_block email.draft_email
task.create_task task.update_task data.write_csv data.write_sqlite audit.export_audit_pdf clipboard.set_clipboard
system.open_application system.open_file_with meeting.generate_minutes security.encrypt_file security.decrypt_file
"""
DESTRUCTIVE = "filesystem.delete_file email.send_draft"
LISTS = {"read": READ, "write": WRITE, "destructive": DESTRUCTIVE}
# The undo table of docs/promises.md ACT-10 to ACT-15: what each must be taken back by.
UNDO = {
    "filesystem.move_file": {"move_file"},
    "filesystem.delete_file": {"restore_file"},
    "filesystem.write_file": {"restore_file", "delete_file"},
    "filesystem.copy_file": {"delete_file"},
    "calendar.create_event": {"delete_event"},
    "task.create_task": {"delete_task"},
}
FINAL = {"filesystem.purge_trash", "email.send_draft", "system.open_application", "system.open_file_with"}
Listed = dict[str, list[Tool]]


@pytest.fixture
async def listed(tmp_path: Path) -> Listed:
    return await tools(tmp_path)


@pytest.mark.parametrize("name", MAKERS)
async def test_every_argument_that_may_be_a_text_is_taken_as_it_is(name: str, tmp_path: Path) -> None:
    """A preview is given the same arguments inside of one of its own, where nothing else reads them."""
    taken = 0
    for tool in one(tmp_path, name)._tool_manager.list_tools():
        for key, about in tool.parameters["properties"].items():
            if {"type": "string"} in about.get("anyOf", [about]) or about.get("type") == "string":
                for text in ("null", " null\n", "[1]", "{}"):
                    assert tool.fn_metadata.pre_parse_json({key: text}) == {key: text}, (tool.name, key)
                taken += 1
    assert taken or name == "system"


async def test_a_place_and_notes_that_say_null_are_written_as_their_cards_show(tmp_path: Path) -> None:
    (tmp_path / "calendar" / "null").mkdir(parents=True)
    async with gated(tmp_path / "log1", "calendar", calendar([tmp_path / "calendar"])) as gate:
        event = await gate.do(
            "create_event", title="T", start="2026-12-01 10:00", calendar="null", location="null"
        )
    assert event.scope["capture"]["plan"]["folder"] == "null"
    assert "LOCATION:null" in (tmp_path / "calendar" / event.result["file"]).read_text()
    assert event.result["file"].startswith("null/")
    async with gated(tmp_path / "log2", "task", task(tmp_path / "tasks.sqlite")) as gate:
        await gate.do("create_task", title="Pay", notes="old")
        changed = await gate.do("update_task", task_id=1, title="null", notes="null")
    assert "+ title: null" in changed.scope["capture"]["plan"]["change"]
    assert (changed.result["title"], changed.result["notes"]) == ("null", "null")


# promise: ACT-01
async def test_every_tool_of_the_spec_is_there_with_its_class(listed: Listed) -> None:
    classes = {
        f"{server}.{tool.name}": (tool.meta or {})[META]["class"]
        for server, found in listed.items()
        for tool in found
    }
    wanted = {name: cls for cls, names in LISTS.items() for name in names.split()}
    assert {name: classes.get(name) for name in wanted} == wanted
    assert len(wanted) == 64


async def test_every_tool_says_all_that_the_gate_wants_to_know(listed: Listed) -> None:
    for server, found in listed.items():
        classes = {tool.name: (tool.meta or {})[META]["class"] for tool in found}
        check_cards(found, classes, frozenset(name.partition(".")[2] for name in FINAL))
        assert server not in {"ocr"} or set(classes.values()) == {"read"}


async def test_what_nothing_takes_back_is_known_and_the_undo_table_of_the_spec_holds(listed: Listed) -> None:
    assert final(listed) == FINAL
    ways = {
        f"{server}.{tool.name}": {way["tool"] for way in (tool.meta or {})[META].get("undo", [])}
        for server, found in listed.items()
        for tool in found
    }
    assert {name: ways[name] for name in UNDO} == UNDO


async def test_the_page_about_the_tools_is_what_the_code_says(listed: Listed) -> None:
    assert PATH.read_text("utf-8") == page(listed), "write it anew: python -m tests.servers.tools_table"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("server", "words", "tool"),
    [
        ("audit", ["--database", "{folder}/bot.db", "--root", "{folder}"], "get_tool_log"),
        ("clipboard", ["--folder", "{folder}/kept"], "clipboard_history"),
        ("meeting", ["--root", "{folder}"], "list"),
        ("ocr", ["--root", "{folder}"], "list"),
        ("system", ["--application", f"python={sys.executable}"], "get_system_info"),
    ],
)
async def test_a_server_runs_on_standard_input_and_output(
    tmp_path: Path, server: str, words: list[str], tool: str
) -> None:
    log(tmp_path / "bot.db")
    args = ["-m", f"servers.{server}", *(word.format(folder=tmp_path) for word in words)]
    command = StdioServerParameters(command=sys.executable, args=args, cwd=Path(__file__).parents[2])
    async with Client(command, read_timeout_seconds=60) as client:
        assert (await client.list_tools()).tools
        assert tool == "list" or not (await client.call_tool(tool, {})).is_error
