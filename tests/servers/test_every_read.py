"""Every read of every bundled server says which files the content in its result is of, or there is a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.servers.all_servers import tools
from tests.servers.gate_around_server import META

# Reads that name no file whose content they give, with neither `paths` nor `found`, by the reason.
WITHOUT_FILES: Mapping[str, str] = {
    "names, kinds, sizes, times and hashes of files, nothing that is in them": """
        audit.preview_export filesystem.list_changes filesystem.list_dir filesystem.list_trash
        filesystem.preview_folder filesystem.preview_purge
        filesystem.preview_transfer knowledge.check_index knowledge.preview_index knowledge.preview_restore_index
        knowledge.preview_update security.find_duplicates security.preview_decrypt security.preview_encrypt
        security.propose_cleanup system.preview_open
        *.describe_paths *.get_metadata *.preview_restore""",
    "what is found is masked, and a search for secrets is to look into secret files": """
        security.scan_for_pii security.scan_for_secrets""",
    "entries of the log of the bot, which keeps the results of private calls and of secret files out of it": """
        audit.generate_audit_report audit.get_session_summary audit.get_tool_log""",
    "a new mail, and of the one that it answers not more than that it is there, of which it is told": """
        email.preview_draft""",
    "tasks, which are no files": """
        task.daily_briefing task.get_overdue task.get_task task.list_tasks task.preview_delete task.preview_restore
        task.preview_task task.preview_update""",
    "the clipboard, which is no file, and what looks secret in it is masked": """
        clipboard.clipboard_history clipboard.get_clipboard clipboard.preview_clipboard
        clipboard.preview_restore_clipboard""",
    "this machine, its screen, or a public key": """
        security.show_recipient system.get_system_info system.list_processes system.take_screenshot""",
}


OF_FILES = {"describe_paths", "get_metadata", "preview_restore"}  # which all servers over files have


async def reads(folder: Path) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """What each read declares of its arguments and its result, and the fields of its result."""
    return {
        f"{server}.{tool.name}": (recipe["targets"], (tool.output_schema or {}).get("properties", {}))
        for server, listed in (await tools(folder)).items()
        for tool in listed
        for recipe in [(tool.meta or {})[META]]
        if recipe["class"] == "read"
    }


def shared(name: str) -> str:
    server, _, tool = name.partition(".")
    return f"*.{tool}" if tool in OF_FILES and server != "task" else name


async def test_every_read_that_gives_what_is_in_files_says_in_which(tmp_path: Path) -> None:
    every = await reads(tmp_path)
    silent = {shared(name) for name, (targets, _) in every.items() if not targets.keys() & {"paths", "found"}}
    excused = [name for names in WITHOUT_FILES.values() for name in names.split()]
    assert len(excused) == len(set(excused))
    assert silent == set(excused)


async def test_what_names_the_files_of_a_result_is_a_field_of_it(tmp_path: Path) -> None:
    found = {
        name: ([*targets.get("found", ()), *targets.get("found_in", ())], fields)
        for name, (targets, fields) in (await reads(tmp_path)).items()
        if targets.keys() & {"found", "found_in"}
    }
    assert {"data.preview_restore_rows", "data.query_sqlite"} <= found.keys()
    for name, (places, fields) in found.items():
        assert {re.split(r"[.\[]", place)[0] for place in places} <= fields.keys(), name
