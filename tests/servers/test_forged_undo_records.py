"""What is kept to take a change back lies in a shared folder: another record under the same id is put back nowhere."""

from __future__ import annotations

import ctypes
import json
import os
import sqlite3
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from servers.data import server as data_server
from servers.filesystem import file_ops, server, trash, trees
from servers.filesystem.paths import Roots, Spot
from servers.filesystem.trash import Budget
from servers.knowledge import server as knowledge_server
from tests.servers.files import Clock, files, sample, sha, tree
from tests.servers.gate_around_server import Done, Gate, gated
from tests.servers.mail import maildir, mailing
from tests.servers.test_calendar_tools import calendar, event
from tests.servers.test_calendar_tools import sample as calendars

CHANGED = "somebody has changed it"
SWAP = 2  # the flag of renameat2


@asynccontextmanager
async def serving(root: Path) -> AsyncIterator[Gate]:
    async with gated(root.parent / "logs", "filesystem", server([root])) as gate:
        yield gate


def entry(root: Path) -> Path:
    [found] = (root / ".countersign" / "trash").iterdir()
    return found


def forge(there: Path, **more: Any) -> None:
    """Change what the manifest says of the one thing in an entry."""
    manifest = json.loads((there / "manifest.json").read_text())
    manifest["files"][0].update(more)
    (there / "manifest.json").write_text(json.dumps(manifest))


def another_path(there: Path) -> None:
    forge(there, path=".env")


def another_content(there: Path) -> None:
    (there / "0").write_text("exchanged\n")
    forge(there, sha256=sha("exchanged\n"), size=len("exchanged\n"))


def a_folder(there: Path) -> None:
    (there / "0").unlink()
    (there / "0" / ".ssh").mkdir(parents=True)
    (there / "0" / ".ssh" / "id_rsa").write_text("k")
    folder = os.open(there, os.O_RDONLY)
    found = trees.examine(Spot(folder, "0", "0"))
    os.close(folder)
    forge(there, sha256=found.sha256, size=found.size, kind="folder")


FORGED = [another_path, another_content, a_folder]
CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("delete_file", {"path": "notes.md"}),
    ("write_file", {"path": "notes.md", "content": "new\n"}),
]


@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.parametrize(("tool", "args"), CHANGES)
async def test_an_undo_refuses_another_entry_under_the_id_of_its_own(
    tmp_path: Path, tool: str, args: dict[str, Any], forged: Callable[[Path], None]
) -> None:
    root = sample(tmp_path)
    async with serving(root) as gate:
        done = await gate.do(tool, **args)
        forged(entry(root))
        before = tree(root)
        assert CHANGED in await gate.undo_refused(done)
        assert tree(root) == before


@pytest.mark.parametrize("forged", FORGED)
async def test_the_undo_of_a_restore_in_place_of_a_file_refuses_another_entry(
    tmp_path: Path, forged: Callable[[Path], None]
) -> None:
    root = sample(tmp_path)
    async with serving(root) as gate:
        first = await gate.do("write_file", path="notes.md", content="new\n")
        done = await gate.do("restore_file", trash_id=first.result["trash_id"])
        forged(entry(root))
        before = tree(root)
        assert CHANGED in await gate.undo_refused(done)
        assert tree(root) == before


@pytest.mark.parametrize("forged", FORGED)
async def test_a_restore_that_was_shown_refuses_another_entry(
    tmp_path: Path, forged: Callable[[Path], None]
) -> None:
    root = sample(tmp_path)
    async with serving(root) as gate:
        deleted = await gate("delete_file", path="notes.md")
        seen = await gate.look("restore_file", trash_id=deleted["trash_id"])
        forged(entry(root))
        before = tree(root)
        assert CHANGED in await gate.refused("restore_file", **seen.args)
        assert tree(root) == before


async def test_a_change_of_an_older_version_is_taken_back_without_a_digest(tmp_path: Path) -> None:
    root = sample(tmp_path)
    before = tree(root)
    async with files(root) as ask:
        deleted = await ask("delete_file", path="notes.md")
        await ask("restore_file", trash_id=deleted["trash_id"])
    assert tree(root) == before


@pytest.mark.parametrize("kind", ["file", "link", "other"])
async def test_a_folder_that_a_manifest_calls_something_else_is_neither_shown_nor_restored(
    tmp_path: Path, kind: str
) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        deleted = await ask("delete_file", path="notes.md")
        a_folder(entry(root))
        forge(entry(root), kind=kind)
        for tool in ("preview_restore", "restore_file"):
            assert await ask.refused(tool, trash_id=deleted["trash_id"])
    assert not (root / "notes.md").exists()


async def test_what_is_larger_in_all_than_comes_back_is_not_hashed(tmp_path: Path) -> None:
    """A hundred files of 1 GB without a byte on the disk were hashed for minutes."""
    root = sample(tmp_path)
    async with files(root) as ask:
        deleted = await ask("delete_file", path="notes.md")
        there = entry(root)
        manifest = json.loads((there / "manifest.json").read_text())
        manifest["files"] = [{"path": f"a{n}", "sha256": sha(""), "size": 1 << 30} for n in range(3)]
        (there / "manifest.json").write_text(json.dumps(manifest))
        for number in range(3):
            (there / str(number)).touch()
            os.truncate(there / str(number), 1 << 30)
        assert "more than 1 GB in all" in await ask.refused("preview_restore", trash_id=deleted["trash_id"])
        for size in (0, 1):
            manifest["files"] = [{"path": "a", "sha256": sha(""), "size": size}]
            (there / "manifest.json").write_text(json.dumps(manifest))
            assert "not what was put" in await ask.refused("preview_restore", trash_id=deleted["trash_id"])


async def test_more_than_comes_back_is_not_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = sample(tmp_path)
    before = tree(root)
    monkeypatch.setattr(trash.disk, "LARGEST", 10)
    async with files(root) as ask:
        refused = await ask.refused("delete_file", path=["notes.md", "reports/q3.md"])
    assert "more than 1 GB in all" in refused
    assert tree(root) == before


async def test_the_trash_is_listed_as_far_as_one_look_reaches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = sample(tmp_path)
    async with files(root, clock=(clock := Clock())) as ask:
        for path in ("notes.md", "reports/q3.md", "reports/q4.md"):
            await ask("delete_file", path=path)
            clock.move(minutes=1)
        monkeypatch.setattr(trash, "Budget", lambda: Budget(entries=2))
        found = await ask("list_trash")
        assert [one["items"][0]["name"] for one in found["entries"]] == ["reports/q4.md", "reports/q3.md"]
        assert found["truncated"]
        assert "too many" in await ask.refused("preview_purge", trash_id="all")
        oldest = min((root / ".countersign/trash").iterdir()).name
        assert (await ask("preview_purge", trash_id=oldest))["what"] == "notes.md"


async def test_a_manifest_of_more_files_than_one_call_takes_is_none(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        await ask("delete_file", path="notes.md")
        path = entry(root) / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["files"] *= 101
        path.write_text(json.dumps(manifest))
        assert (await ask("list_trash"))["entries"] == []


def test_a_link_in_the_place_of_a_folder_keeps_the_mode_of_what_it_leads_to(tmp_path: Path) -> None:
    """To remove a folder changed the mode of one outside, where the folder became a link at that moment."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    outside.chmod(0o755)
    (inside / "x").mkdir()
    (inside / "l").symlink_to(outside)
    folder, over = os.open(inside, os.O_RDONLY), Event()
    exchange = getattr(ctypes.CDLL(None), "renameat2", None)
    if exchange is None:
        pytest.skip("needs renameat2")

    def swap() -> None:
        while not over.is_set():
            exchange(folder, b"x", folder, b"l", SWAP)

    swapping = Thread(target=swap)
    swapping.start()
    try:
        for _ in range(3_000):
            try:
                trees._empty(Spot(folder, "x", "x"))
            except ToolError:
                continue
    finally:
        over.set()
        swapping.join()
        os.close(folder)
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755


@pytest.mark.slow
def test_no_preview_lists_a_folder_that_took_the_place_of_the_one_in_the_trash(tmp_path: Path) -> None:
    """What was hashed was one folder, and what was listed the one that had taken its place by then."""
    root = sample(tmp_path)
    for where in (root / "f", root / "decoy"):
        where.mkdir()
        for number in range(40):
            (where / f"{where.name}-{number}").write_text("x")
    exchange = getattr(ctypes.CDLL(None), "renameat2", None)
    if exchange is None:
        pytest.skip("needs renameat2")
    roots = Roots.at([root])
    kept, _ = file_ops.delete([roots.find("f")], None, Clock()())
    there, over = entry(root), Event()
    trashed, other = os.fsencode(there / "0"), os.fsencode(root / "decoy")

    def swap() -> None:
        while not over.wait(0.0007):
            exchange(-100, trashed, -100, other, SWAP)

    swapping, shown = Thread(target=swap), set[str]()
    swapping.start()
    try:
        for _ in range(500):
            with suppress(ToolError):
                found = file_ops.preview(roots, kept.id)
                shown |= {item.name.split("-")[0] for item in found.inside}
    finally:
        over.set()
        swapping.join()
    assert shown <= {"f/f"}


def bases(root: Path) -> None:
    root.mkdir()
    for name in ("a.sqlite", "b.sqlite"):
        with closing(sqlite3.connect(root / name)) as made:
            made.executescript(
                "CREATE TABLE t(id INTEGER PRIMARY KEY, pay TEXT); INSERT INTO t VALUES(1, '10');"
            )


def pay(path: Path) -> list[Any]:
    with closing(sqlite3.connect(path)) as made:
        return made.execute("SELECT pay FROM t").fetchall()


UPDATE = [{"table": "t", "op": "update", "where": {"id": 1}, "values": {"pay": "11"}}]


@asynccontextmanager
async def rows_changed(root: Path) -> AsyncIterator[tuple[Gate, Done, Path]]:
    """A change of rows, and its record."""
    bases(root)
    async with gated(root.parent / "logs", "data", data_server([root], Clock())) as gate:
        done = await gate.do("write_sqlite", path="a.sqlite", changes=UPDATE)
        yield gate, done, root / ".countersign/data" / done.result["record"]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(("old", "new"), [('"a.sqlite"', '"b.sqlite"'), ('"10"', '"99999"')])
async def test_rows_are_not_put_back_as_another_record_says(tmp_path: Path, old: str, new: str) -> None:
    root = tmp_path / "root"
    async with rows_changed(root) as (gate, done, record):
        seen = await gate.look("restore_rows", record=record.name)
        before = record.read_text()
        if "b.sqlite" in new:
            with closing(sqlite3.connect(root / "b.sqlite")) as made, made:
                made.execute("UPDATE t SET pay = '11'")
        record.write_text(before.replace(old, new))
        assert CHANGED in await gate.undo_refused(done)
        assert CHANGED in await gate.refused("restore_rows", **seen.args)
        assert pay(root / "a.sqlite") == [("11",)]
        assert pay(root / "b.sqlite") != [("99999",)]
        record.write_text(before)
        await gate.undo(done)
        assert pay(root / "a.sqlite") == [("10",)]


async def test_rows_of_an_older_version_are_put_back_without_a_digest(tmp_path: Path) -> None:
    async with rows_changed(tmp_path / "root") as (gate, done, record):
        await gate("restore_rows", record=record.name, expected=done.result["state"])
        assert pay(tmp_path / "root" / "a.sqlite") == [("10",)]


@pytest.mark.slow
async def test_an_index_is_not_put_back_from_another_record(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with gated(tmp_path / "logs", "knowledge", knowledge_server([root], Clock())) as gate:
        await gate.do("index_folder", path="reports")
        (root / "reports/q3.md").write_text("other\n")
        done = await gate.do("update_index")
        kept = root / ".countersign/knowledge/before"
        seen = await gate.look("restore_index", record=done.result["record"])
        [empty] = [one for one in kept.iterdir() if one.name != done.result["record"]]
        record = kept / done.result["record"]
        before = record.read_bytes()
        record.write_bytes(empty.read_bytes())
        assert CHANGED in await gate.undo_refused(done)
        assert CHANGED in await gate.refused("restore_index", **seen.args)
        record.write_bytes(before)
        await gate.undo(done)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.parametrize("alone", [True, False])
async def test_the_undo_of_a_deleted_event_refuses_another_entry(
    tmp_path: Path, alone: bool, forged: Callable[[Path], None]
) -> None:
    root = calendars(tmp_path)
    (root / "one.ics").write_text(event("DTSTART:20261124T120000Z", uid="only"))
    async with calendar(root) as gate:
        done = await gate.do("delete_event", event_id="only" if alone else "lunch@example.com")
        forged(entry(root))
        before = tree(root)
        assert CHANGED in await gate.undo_refused(done)
        assert tree(root) == before


@pytest.mark.slow
async def test_the_undo_of_a_deleted_draft_refuses_another_entry(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    async with mailing(home) as gate:
        made = await gate.do("draft_email", to="bob@example.com", subject="Kept", body="x")
        done = await gate.do("delete_draft", draft_id=made.result["draft_id"])
        another_content(entry(home))
        assert CHANGED in await gate.undo_refused(done)
