"""Whole folders: moved, copied, deleted and brought back byte for byte; and the trash, purged on purpose."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gate.actions.preview import policy_decision
from gate.rules.action import Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.policy import Policy
from servers.filesystem import server
from servers.filesystem.trees import MOST_NAMES
from servers.meeting import server as meeting_server
from tests.servers.files import Clock, files, sample, tree
from tests.servers.gate_around_server import Gate, gated

Call = tuple[str, dict[str, Any]]
CHANGES: list[tuple[str, dict[str, Any], str]] = [
    (
        "move_file",
        {"source": "reports", "destination": "archive"},
        "reports → archive/reports (a folder with 3 files)",
    ),
    ("move_file", {"source": "reports/", "destination": "old reports"}, "reports → old reports"),
    (
        "move_file",
        {"source": "reports/deep", "destination": "."},
        "reports/deep → deep (a folder with 1 file)",
    ),
    ("move_file", {"source": "archive", "destination": "reports"}, "(an empty folder)"),
    (
        "copy_file",
        {"source": "reports", "destination": "archive"},
        "reports → archive/reports (a folder with 3 files)",
    ),
    ("copy_file", {"source": "reports", "destination": "twin"}, "reports → twin"),
    ("delete_file", {"path": "reports"}, "reports/deep/run.sh"),
    ("delete_file", {"path": ["archive", "notes.md", "reports/deep"]}, "archive"),
]


def folders(folder: Path) -> Path:
    """The sample, with a folder in a folder, a mode and an odd name."""
    root = sample(folder)
    (root / "reports" / "deep" / "empty").mkdir(parents=True)
    (root / "reports" / "deep" / "run.sh").write_text("echo hi")
    (root / "reports" / "deep" / "run.sh").chmod(0o750)
    (root / "reports" / "deep" / "empty").chmod(0o700)
    return root


@asynccontextmanager
async def gate_over(folder: Path, clock: Clock | None = None) -> AsyncIterator[tuple[Gate, Path]]:
    root = folders(folder)
    async with gated(folder / "logs", "filesystem", server([root], clock or Clock())) as gate:
        yield gate, root


def staged(root: Path) -> list[str]:
    return [str(path) for part in ("tmp", "trash") for path in (root / ".countersign" / part).glob("*")]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(("tool", "args", "shown"), CHANGES)
async def test_a_folder_is_shown_changed_and_taken_back_exactly(
    tmp_path: Path, tool: str, args: dict[str, Any], shown: str
) -> None:
    async with gate_over(tmp_path) as (gate, root):
        before = tree(root)
        seen = await gate.look(tool, **args)
        assert shown in "\n".join(one.name for one in seen.preview.affected)
        assert seen.preview.undo.startswith("yes")
        assert tree(root) == before
        done = await gate.go_on(tool, seen, args)
        assert tree(root) != before
        await gate.undo(done)
        assert tree(root) == before
        await gate.undo_refused(done)
        assert tree(root) == before


def grow(root: Path) -> None:
    (root / "reports" / "deep" / "new.md").write_text("new")


def rewrite(root: Path) -> None:
    (root / "reports" / "q3.md").write_text("q3\n")


def remode(root: Path) -> None:
    (root / "reports" / "deep" / "run.sh").chmod(0o777)


def lose(root: Path) -> None:
    (root / "reports" / "deep" / "empty").rmdir()


@pytest.mark.parametrize("spoil", [grow, rewrite, remode, lose])
@pytest.mark.parametrize(("tool", "args"), [CHANGES[0][:2], CHANGES[4][:2], CHANGES[6][:2]])
async def test_a_folder_in_which_something_changed_since_it_was_shown_is_left_alone(
    tmp_path: Path, tool: str, args: dict[str, Any], spoil: Callable[[Path], None]
) -> None:
    async with gate_over(tmp_path) as (gate, root):
        seen = await gate.look(tool, **args)
        spoil(root)
        spoilt = tree(root)
        assert "has changed since it was shown" in await gate.refused(tool, **seen.args)
        assert tree(root) == spoilt
        assert staged(root) == []


async def test_no_undo_touches_a_folder_that_was_written_to_after(tmp_path: Path) -> None:
    async with gate_over(tmp_path) as (gate, root):
        for tool, args in (CHANGES[0][:2], CHANGES[5][:2]):
            done = await gate.do(tool, **args)
            (root / done.result["destination"] / "by hand.md").write_text("mine")
            spoilt = tree(root)
            assert not await gate.unchanged(done)
            assert "has changed since" in await gate.undo_refused(done)
            assert tree(root) == spoilt
            (root / done.result["destination"] / "by hand.md").unlink()
            await gate.undo(done)
        gone = await gate.do("delete_file", path="reports")
        assert gone.preview.summary == "Delete reports (a folder with 3 files)"
        (root / "reports").mkdir()
        assert not await gate.unchanged(gone)
        assert "exists now" in await gate.undo_refused(gone)
        blocked = await gate.blind("restore_file", trash_id=gone.result["trash_id"])
        assert "Something is where this was" in blocked


async def test_what_is_no_plain_tree_stays_where_it_is(tmp_path: Path) -> None:
    root = folders(tmp_path)
    outside = tmp_path / "outside.txt"
    outside.write_text("x")
    odd: dict[str, Callable[[Path], object]] = {
        "link": lambda path: path.symlink_to(outside),
        "hard": lambda path: os.link(outside, path),
        "pipe": os.mkfifo,
        ".countersign": lambda path: path.mkdir(),
    }
    async with files(root) as ask:
        for name, make in odd.items():
            place = root / "archive" / name
            make(place)
            before = tree(root)
            for tool, args in (
                ("move_file", {"source": "archive", "destination": "moved"}),
                ("copy_file", {"source": "archive", "destination": "copied"}),
                ("delete_file", {"path": "archive"}),
                ("describe_paths", {"paths": "archive", "to_delete": True}),
            ):
                assert await ask.refused(tool, **args), (name, tool)
            assert tree(root) == before
            assert staged(root) == []
            place.rmdir() if place.is_dir() else place.unlink()
        await ask("delete_file", path="archive")
    assert outside.read_text() == "x"


async def test_a_folder_goes_neither_into_itself_nor_with_an_allowed_folder(tmp_path: Path) -> None:
    """Another server may serve one inside of it, and keeps its trash there."""
    root, other = folders(tmp_path), tmp_path / "other"
    other.mkdir()
    (root / "reports" / "deep" / ".countersign").mkdir()
    async with files(root, other) as ask:
        for tool in ("move_file", "copy_file", "preview_transfer"):
            for destination in ("sample/archive/x/y", "sample/archive"):
                said = await ask.refused(tool, source="sample/archive", destination=destination)
                assert "lies in" in said or "does not exist" in said
            inside = await ask.refused(tool, source="sample/archive", destination="sample/archive/x")
            assert "lies in sample/archive itself" in inside
            held = await ask.refused(tool, source="sample/reports", destination="sample/archive")
            assert "holds another allowed folder, at deep" in held
            own = await ask.refused(tool, source="other", destination="sample/archive")
            assert "allowed folder itself" in own
        assert "holds another allowed folder" in await ask.refused("delete_file", path="sample/reports")
        assert "holds an allowed folder" in await ask.refused("delete_file", path="other")
        twice = await ask.refused("delete_file", path=["sample/archive", "sample/archive/x"])
        assert "lies in sample/archive" in twice


@pytest.mark.parametrize(
    ("source", "destination"),
    [
        ("conf", "archive"),  # holds .env
        ("deploy", "old"),  # holds prod/app.yaml
        (".ssh", "backup"),  # holds config, which is a secret file only there
        ("plain", ".kube"),  # its config would become one
        ("plain", "deploy/prod/plain"),  # app.yaml would become production configuration
    ],
)
@pytest.mark.parametrize("tool", ["move_file", "copy_file"])
async def test_what_is_in_a_folder_is_judged_and_shown_as_if_it_were_named(
    tmp_path: Path, tool: str, source: str, destination: str
) -> None:
    async with gate_over(tmp_path) as (gate, root):
        for path in ("conf/.env", "deploy/prod/app.yaml", ".ssh/config", "plain/config", "plain/app.yaml"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text("x")
        gate.world.policy = Policy("test", ALWAYS)
        seen = await gate.look(tool, source=source, destination=destination)
        said = policy_decision(gate.world, gate.spec(tool), seen.args, "C", seen.capture)
        assert (said.verdict, said.always_gated) == (Verdict.TYPED, True)
        inside = [str(path.relative_to(root)) for path in (root / source).rglob("*")]
        assert sorted(one.name for one in seen.preview.affected[1:]) == sorted(inside)
        await gate("move_file", source=source, destination="elsewhere")
        gone = await gate("delete_file", path="elsewhere")
        back = await gate.look("restore_file", trash_id=gone["trash_id"])
        said = policy_decision(gate.world, gate.spec("restore_file"), back.args, "C", back.capture)
        assert (said.verdict is Verdict.TYPED) is (source in ("conf", "deploy"))


async def test_a_folder_of_ordinary_files_moves_by_a_click(tmp_path: Path) -> None:
    async with gate_over(tmp_path) as (gate, _):
        gate.world.policy = Policy("test", ALWAYS)
        seen = await gate.look("move_file", source="reports", destination="archive")
        said = policy_decision(gate.world, gate.spec("move_file"), seen.args, "C", seen.capture)
        assert said.verdict is Verdict.CONFIRM


async def test_servers_whose_work_is_files_delete_no_folders(tmp_path: Path) -> None:
    root = folders(tmp_path)
    async with gated(tmp_path / "logs", "meeting", meeting_server([root], Clock())) as gate:
        assert "is a folder" in await gate.blind("delete_file", path="archive")
        assert "is a folder" in await gate.refused("delete_file", path="archive")
    assert (root / "archive").is_dir()


async def test_too_much_in_a_folder_is_said(tmp_path: Path) -> None:
    root = folders(tmp_path)
    for number in range(MOST_NAMES + 1):
        (root / "archive" / f"{number}").mkdir()
    async with files(root) as ask:
        assert "more than 2000 names" in await ask.refused("move_file", source="archive", destination="x")
        for number in range(301, MOST_NAMES + 1):
            (root / "archive" / f"{number}").rmdir()
        assert "more than 300" in await ask.refused("describe_paths", paths="archive", to_delete=True)
        assert "more than 300" in await ask.refused("preview_transfer", source="archive", destination="x")
        await ask("move_file", source="archive", destination="x")


async def test_names_that_are_too_long_together_are_refused_before_they_are_judged(tmp_path: Path) -> None:
    root = folders(tmp_path)
    deep = root / "archive" / "/".join(["x" * 200] * 12)
    deep.mkdir(parents=True)
    for number in range(20):
        (deep / f"{number}").touch()
    async with files(root) as ask:
        said = await ask.refused("preview_transfer", source="archive", destination="x")
        assert "longer ones than can be shown" in said
        gone = await ask("delete_file", path="archive")
        assert "longer ones" in await ask.refused("preview_restore", trash_id=gone["trash_id"])
        await ask("restore_file", trash_id=gone["trash_id"])


async def test_a_folder_in_the_trash_goes_when_its_days_are_over(tmp_path: Path) -> None:
    root, clock = folders(tmp_path), Clock()
    async with files(root, clock=clock) as ask:
        await ask("delete_file", path="reports")
        [entry] = (await ask("list_trash"))["entries"]
        assert [(one["name"], one["kind"]) for one in entry["items"]] == [("reports", "folder")]
        clock.time += timedelta(days=31)
        await ask("write_file", path="new.md", content="x")
        assert (await ask("list_trash"))["entries"] == []
    assert staged(root) == []


async def test_a_folder_that_may_only_be_read_is_purged_too(tmp_path: Path) -> None:
    async with gate_over(tmp_path) as (gate, root):
        (root / "reports" / "deep").chmod(0o500)
        done = await gate.do("delete_file", path="reports")
        await gate.do("purge_trash", trash_id=done.result["trash_id"])
    assert staged(root) == []


async def test_the_trash_is_purged_of_exactly_what_was_shown_and_nothing_brings_it_back(
    tmp_path: Path,
) -> None:
    async with gate_over(tmp_path) as (gate, root):
        folder = await gate.do("delete_file", path="reports")
        note = await gate.do("delete_file", path="notes.md")
        done = await gate.do("purge_trash", trash_id=folder.result["trash_id"])
        assert done.preview.summary == "Remove reports from the trash for good"
        assert done.preview.undo.startswith("no")
        assert [one.name for one in done.preview.affected] == ["reports"]
        assert "Nothing with that id" in await gate.undo_refused(folder)
        seen = await gate.look("purge_trash", trash_id="all")
        (root / "late.md").write_text("late")
        late = await gate.do("delete_file", path="late.md")
        assert "The trash has changed" in await gate.refused("purge_trash", **seen.args)
        await gate.undo(late)
        await gate.undo(note)
        assert "trash is empty" in await gate.blind("purge_trash", trash_id="all")
        assert "Nothing with that id" in await gate.blind("purge_trash", trash_id="../../notes.md")
    assert staged(root) == []
