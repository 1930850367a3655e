"""What the server says of its tools: titles, hints, schemas, and recipes that name only what is there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import Tool

from servers.filesystem import server
from tests.servers.files import Ask, Mode, files, sample
from tools.recipes.reader import read_recipe
from tools.recipes.validation import ToolSchemas, recipe_problems

READS = {
    "list_dir",
    "read_file",
    "search_files",
    "get_metadata",
    "describe_paths",
    "list_trash",
    "list_changes",
    "preview_write",
    "preview_transfer",
    "preview_folder",
    "preview_restore",
    "preview_purge",
}
WRITES = {
    "write_file",
    "create_folder",
    "move_file",
    "copy_file",
    "watch_folder",
    "unwatch_folder",
    "restore_file",
}
DESTROYS = {"delete_file", "purge_trash"}
FINAL = {"purge_trash"}


async def listed(tmp_path: Path, mode: Mode = "auto") -> dict[str, Tool]:
    async with Client(server([sample(tmp_path)]), mode=mode) as client:
        return {tool.name: tool for tool in (await client.list_tools()).tools}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_says_all_that_the_gate_wants_to_know(tmp_path: Path, mode: Mode) -> None:
    tools = await listed(tmp_path, mode)
    assert set(tools) == READS | WRITES | DESTROYS
    for name, tool in tools.items():
        recipe = gate(tool)
        assert tool.title
        assert tool.description
        assert tool.output_schema
        assert tool.annotations
        assert tool.annotations.title == tool.title
        assert tool.annotations.read_only_hint is (name in READS)
        assert tool.annotations.destructive_hint is (name in DESTROYS)
        assert tool.annotations.idempotent_hint is (name in READS)
        assert tool.annotations.open_world_hint is False
        assert recipe["class"] == (
            "read" if name in READS else "destructive" if name in DESTROYS else "write"
        )
        assert recipe["confirmationRequired"] is (name not in READS)
        assert recipe["summary"]
        assert recipe["verb"]
        assert recipe["notifies"] == "nobody"


async def test_every_recipe_is_one_that_the_gate_can_use(tmp_path: Path) -> None:
    tools = await listed(tmp_path)
    shapes = {name: ToolSchemas(tool.input_schema, tool.output_schema) for name, tool in tools.items()}
    for name, tool in tools.items():
        recipe = read_recipe(gate(tool))
        assert recipe_problems(recipe, name, shapes) == []
        assert {read.tool for read in recipe.capture.values()} <= READS
        if name not in READS:
            assert bool(recipe.undo) is (name not in FINAL)
            assert recipe.drift is None if name in FINAL else recipe.drift.read.tool in READS
            assert recipe.recoverable


async def test_an_argument_the_tool_does_not_have_is_refused(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        await ask.refused("write_file", path="notes.md", content="x", expected_sha="absent")
        await ask.refused("write_file", path="notes.md", content="x", expected_sha256="deadbeef")
        await ask.refused("write_file", path="notes.md")
    assert (root / "notes.md").read_text() == "one\ntwo\n"


@pytest.mark.slow
async def test_the_server_runs_on_standard_input_and_output(tmp_path: Path) -> None:
    root, other = sample(tmp_path), tmp_path / "other"
    other.mkdir()
    arguments = ["-m", "servers.filesystem", "--root", str(root), "--root", str(other)]
    command = StdioServerParameters(command=sys.executable, args=arguments, cwd=Path(__file__).parents[2])
    async with Client(command, read_timeout_seconds=60) as client:
        ask = Ask(client)
        written = await ask("write_file", path="other/a.txt", content="hello\n", expected_sha256="absent")
        assert written["path"] == "other/a.txt"
        assert (await ask("read_file", path="other/a.txt"))["text"] == "hello\n"
        assert (await ask("read_file", path="reports/q3.md"))["path"] == "sample/reports/q3.md"
        assert "“..”" in await ask.refused("read_file", path="../a")
    assert (other / "a.txt").read_bytes() == b"hello\n"


def test_a_root_that_cannot_be_used_stops_the_start_with_a_sentence(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (tmp_path / "twin" / "sample").mkdir(parents=True)
    for roots in ([tmp_path / "missing"], [root, tmp_path / "twin" / "sample"], [root / "notes.md"], []):
        with pytest.raises(ValueError, match=r"\.$"):
            server(roots)


def test_a_root_inside_of_another_stops_the_start(tmp_path: Path) -> None:
    """A file in there would have two names, of which a rule may be about the other one."""
    root = sample(tmp_path)
    (tmp_path / "linked").symlink_to(root / "reports")
    for inner in (root / "reports", tmp_path / "linked"):
        for roots in ([root, inner], [inner, root]):
            with pytest.raises(ValueError, match=r"^The root \S*\w is inside the root \S*sample, so"):
                server(roots)
    (tmp_path / "sample two").mkdir()
    server([root, tmp_path / "sample two"])


def gate(tool: Tool) -> dict[str, Any]:
    assert tool.meta
    found = tool.meta["dev.countersign/gate"]
    assert isinstance(found, dict)
    return found
