"""Every change is taken back by the way its recipe names, byte for byte, and never over a later change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gate.rules.previews import summary_of
from gate.rules.templates import expand, holds
from gate.sentences.past_tense import past
from servers.filesystem import server
from servers.tool_metadata import META
from tests.servers import gate_around_server
from tests.servers.files import Ask, Mode, files, sample, sha, tree


@dataclass
class Done:
    """A change that was made, with all its recipe may use to take it back."""

    recipe: dict[str, Any]
    scope: dict[str, Any]

    @property
    def result(self) -> dict[str, Any]:
        found = self.scope["result"]
        assert isinstance(found, dict)
        return found


class Gate:
    """As small as a reader of recipes can be: capture, bind, call; drift, undo."""

    def __init__(self, ask: Ask, recipes: dict[str, dict[str, Any]]) -> None:
        self.ask, self.recipes = ask, recipes

    async def do(self, tool: str, **args: Any) -> Done:
        recipe = self.recipes[tool]
        scope: dict[str, Any] = {"args": args, "capture": {}}
        for name, read in recipe.get("capture", {}).items():
            scope["capture"][name] = await self.ask(read["tool"], **expand(read["args"], scope))
        for part in ("summary", "noun", "preview"):
            expand(recipe[part], scope)
        bound = {name: expand(template, scope) for name, template in recipe.get("bind", {}).items()}
        scope["args"] = args | bound
        scope["result"] = await self.ask(tool, **scope["args"])
        return Done(recipe, scope)

    async def unchanged(self, done: Done) -> bool:
        drift = done.recipe["drift"]
        now = await self.ask(drift["tool"], **expand(drift["args"], done.scope))
        return all(now[name] == expand(template, done.scope) for name, template in drift["same"].items())

    def way_back(self, done: Done) -> dict[str, Any]:
        for way in done.recipe["undo"]:
            if holds(way.get("when", "{args}"), done.scope) and not holds(
                way.get("unless", "{none}"), done.scope
            ):
                return {"tool": way["tool"], "args": expand(way["args"], done.scope)}
        raise AssertionError("no way back")

    async def undo(self, done: Done) -> dict[str, Any]:
        assert await self.unchanged(done)
        way = self.way_back(done)
        return await self.ask(way["tool"], **way["args"])

    async def undo_refused(self, done: Done) -> str:
        way = self.way_back(done)
        return await self.ask.refused(way["tool"], **way["args"])


@asynccontextmanager
async def gated(*roots: Path, mode: Mode = "auto") -> AsyncIterator[Gate]:
    async with files(*roots, mode=mode) as ask:
        tools = (await ask.client.list_tools()).tools
        yield Gate(ask, {tool.name: (tool.meta or {})[META] for tool in tools})


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("write_file", {"path": "notes.md", "content": "new\n"}),
    ("write_file", {"path": "reports/new.md", "content": "new\n"}),
    ("write_file", {"path": "notes.md", "content": "one\ntwo\n"}),
    ("move_file", {"source": "notes.md", "destination": "archive"}),
    ("move_file", {"source": "notes.md", "destination": "other.md"}),
    ("move_file", {"source": "./reports//q3.md", "destination": "."}),
    ("copy_file", {"source": "notes.md", "destination": "archive/"}),
    ("delete_file", {"path": "notes.md"}),
    ("delete_file", {"path": ["notes.md", "reports/q3.md", "reports/q4.md"]}),
]


# promise: ACT-10, ACT-11, ACT-12, ACT-13
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(("tool", "args"), CHANGES)
async def test_every_change_is_taken_back_byte_for_byte(
    tmp_path: Path, tool: str, args: dict[str, Any], mode: Mode
) -> None:
    root = sample(tmp_path)
    (root / "notes.md").chmod(0o640)
    before, times = tree(root), ages(root)
    async with gated(root, mode=mode) as gate:
        done = await gate.do(tool, **args)
        assert tree(root) != before or args.get("content") == "one\ntwo\n"
        await gate.undo(done)
    assert tree(root) == before
    assert ages(root) == times


async def test_with_two_roots_changes_are_taken_back_too(tmp_path: Path) -> None:
    root, other = sample(tmp_path), tmp_path / "other"
    other.mkdir()
    before = tree(root)
    async with gated(other, root) as gate:
        done = [
            await gate.do("write_file", path="sample/notes.md", content="new"),
            await gate.do("move_file", source="sample/notes.md", destination="other"),
            await gate.do("copy_file", source="notes.md", destination="sample/archive"),
            await gate.do("delete_file", path=["sample/archive/notes.md", "sample/reports/q3.md"]),
        ]
        for step in reversed(done):
            await gate.undo(step)
    assert tree(root) == before
    assert tree(other) == {}


@pytest.mark.parametrize("current", [None, "written since\n"])
async def test_a_restore_is_taken_back_too(tmp_path: Path, current: str | None) -> None:
    root = sample(tmp_path)
    async with gated(root) as gate:
        deleted = await gate.do("delete_file", path="notes.md")
        if current:
            (root / "notes.md").write_text(current)
        before = tree(root)
        done = await gate.do("restore_file", trash_id=deleted.result["trash_id"])
        assert (root / "notes.md").read_text() == "one\ntwo\n"
        assert done.result["replaced"] is (current is not None)
        await gate.undo(done)
    assert tree(root) == before


async def test_a_restore_says_what_it_would_replace(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with gated(root) as gate:
        one = await gate.do("delete_file", path="notes.md")
        two = await gate.do("delete_file", path=["reports/q3.md", "reports/q4.md"])
        free = await gate.ask("preview_restore", trash_id=one.result["trash_id"])
        (root / "notes.md").write_text("since")
        (root / "reports/q3.md").write_text("since")
        taken = await gate.ask("preview_restore", trash_id=one.result["trash_id"])
        several = await gate.ask.refused("preview_restore", trash_id=two.result["trash_id"])
        refused = await gate.ask.refused("restore_file", trash_id=two.result["trash_id"])
    assert (free["expected_sha256"], free["items"][0]["name"]) == ("absent", "notes.md")
    assert taken["expected_sha256"] == sha("since")
    assert "in place of the present one" in taken["items"][0]["name"]
    assert "Move it away first" in several
    assert "exists now" in refused
    assert not (root / "reports/q4.md").exists()


# promise: ACT-18
@pytest.mark.parametrize(
    ("tool", "args", "where"),
    [
        ("write_file", {"path": "notes.md", "content": "new\n"}, "notes.md"),
        ("write_file", {"path": "reports/new.md", "content": "new\n"}, "reports/new.md"),
        ("move_file", {"source": "notes.md", "destination": "archive"}, "archive/notes.md"),
        ("move_file", {"source": "notes.md", "destination": "archive"}, "notes.md"),
        ("copy_file", {"source": "notes.md", "destination": "archive"}, "archive/notes.md"),
        ("delete_file", {"path": "notes.md"}, "notes.md"),
        ("delete_file", {"path": ["reports/q4.md", "notes.md"]}, "notes.md"),
    ],
)
async def test_no_undo_overwrites_what_was_written_after_the_action(
    tmp_path: Path, tool: str, args: dict[str, Any], where: str
) -> None:
    root = sample(tmp_path)
    async with gated(root) as gate:
        done = await gate.do(tool, **args)
        (root / where).write_text("later\n")
        before = tree(root)
        if (tool, where) != ("move_file", "notes.md"):  # there, only the way back is blocked
            assert not await gate.unchanged(done)
        assert "changed since" in await gate.undo_refused(done)
    assert tree(root) == before


async def test_an_undo_works_once(tmp_path: Path) -> None:
    root = sample(tmp_path)
    for tool, args in CHANGES:
        async with gated(root) as gate:
            done = await gate.do(tool, **args)
            await gate.undo(done)
            before = tree(root)
            if args.get("content") != "one\ntwo\n":
                assert await gate.undo_refused(done)
            assert tree(root) == before


async def test_a_long_story_is_taken_back_step_by_step(tmp_path: Path) -> None:
    root = sample(tmp_path)
    states, done = [], []
    story: list[tuple[str, dict[str, Any]]] = [
        ("write_file", {"path": "notes.md", "content": "second"}),
        ("write_file", {"path": "notes.md", "content": "third"}),
        ("copy_file", {"source": "notes.md", "destination": "archive"}),
        ("write_file", {"path": "archive/notes.md", "content": "fourth"}),
        ("delete_file", {"path": ["notes.md", "archive/notes.md"]}),
        ("write_file", {"path": "notes.md", "content": "fifth"}),
        ("move_file", {"source": "notes.md", "destination": "reports"}),
    ]
    async with gated(root) as gate:
        for tool, args in story:
            states.append(tree(root))
            done.append(await gate.do(tool, **args))
        for step, state in zip(reversed(done), reversed(states), strict=True):
            await gate.undo(step)
            assert tree(root) == state


async def test_a_watch_and_its_end_are_taken_back(tmp_path: Path) -> None:
    root = sample(tmp_path)

    def kept() -> list[bytes]:
        return [path.read_bytes() for path in sorted((root / ".countersign" / "watches").glob("*"))]

    async with gated(root) as gate:
        first = await gate.do("watch_folder", path="reports", recursive=True)
        after_first = kept()
        (root / "reports/q5.md").write_text("Q5\n")
        second = await gate.do("watch_folder", path="reports", recursive=True)
        after_second = kept()
        ended = await gate.do("unwatch_folder", path="reports")
        assert kept() == []
        await gate.undo(ended)
        assert kept() == after_second
        await gate.undo(second)
        assert kept() == after_first
        await gate.undo(first)
        assert kept() == []
        await gate.do("watch_folder", path="reports")
        await gate.do("watch_folder", path="reports")
        assert not await gate.unchanged(first)
        assert "changed since" in await gate.undo_refused(first)


async def test_a_watch_that_was_brought_back_is_ended_as_it_was(tmp_path: Path) -> None:
    async with gate_around_server.gated(tmp_path / "logs", "filesystem", server([sample(tmp_path)])) as gate:
        for _ in range(2):
            await gate.do("watch_folder", path="reports")
        await gate.do("unwatch_folder", path="reports")
        resumed = await gate.do("watch_folder", path="reports", resume=True)
        assert (await gate.undo(resumed))["ended"]
        assert not (await gate("list_changes", path="reports"))["watched"]
        assert (await gate("watch_folder", path="reports", resume=True))["look"] == 2


def ages(root: Path) -> dict[str, int]:
    return {name: (root / name).stat().st_mtime_ns for name in tree(root) if (root / name).is_file()}


async def test_a_card_says_replace_where_the_file_is_there_and_write_where_it_is_not(tmp_path: Path) -> None:
    async with gate_around_server.gated(tmp_path / "logs", "filesystem", server([sample(tmp_path)])) as gate:
        new = await gate.look("write_file", path="new.md", content="hello")
        old = await gate.look("write_file", path="notes.md", content="hello")
    assert new.preview.summary == "Write 5 B to new.md"
    assert old.preview.summary == "Replace notes.md"


async def test_a_card_says_in_words_that_a_file_is_created_empty_or_loses_all_that_is_in_it(
    tmp_path: Path,
) -> None:
    async with gate_around_server.gated(tmp_path / "logs", "filesystem", server([sample(tmp_path)])) as gate:
        size = (await gate("get_metadata", path="notes.md"))["size"]
        new = await gate.look("write_file", path="new.md", content="")
        emptied = await gate.look("write_file", path="notes.md", content="")
        spec = gate.spec("write_file")
    assert new.preview.summary == "Create new.md (empty)"
    assert emptied.preview.summary == f"Empty notes.md, all {size} B of it"
    assert past(emptied.preview.summary) == f"Emptied notes.md, all {size} B of it"
    assert summary_of(spec, {"path": "a.md", "content": ""}) == "Write a.md as an empty file"
    assert summary_of(spec, {"path": "a.md", "content": "x"}) == "Write 1 B to a.md"
