"""The changing tools: what was shown is what is changed, nothing is overwritten, all or none, one writer wins."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import answers, disk, trash, trees
from servers.filesystem.paths import Roots, Spot
from servers.folders import House
from tests.servers.files import Ask, Clock, files, same_age, sample, sha, tree

OLD = "one\ntwo\n"


def kept(root: Path, trash_id: str, number: int = 0) -> Path:
    return root / ".countersign" / "trash" / trash_id / str(number)


async def test_a_new_file_is_written_only_where_none_is(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        written = await ask("write_file", path="reports/new.md", content="new\r\n", expected_sha256="absent")
        again = await ask.refused("write_file", path="reports/new.md", content="x", expected_sha256="absent")
        no_folder = await ask.refused("write_file", path="none/new.md", content="x")
        a_folder = await ask.refused("write_file", path="reports", content="x")
        as_folder = await ask.refused("write_file", path="fresh/", content="x")
    assert (root / "reports/new.md").read_bytes() == b"new\r\n"
    assert written["replaced"] is False
    assert written["trash_id"] is None
    assert written["expected"] == {"reports/new.md": sha("new\r\n")}
    assert "changed since" in again
    assert "“none” does not exist" in no_folder
    assert "is a folder" in a_folder
    assert "Name a file" in as_folder
    assert os.listdir(root / ".countersign" / "tmp") == []


async def test_the_version_before_a_write_is_kept_with_its_mode_and_times(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "notes.md").chmod(0o640)
    before = (root / "notes.md").stat()
    async with files(root) as ask:
        written = await ask("write_file", path="notes.md", content="new", expected_sha256=sha(OLD))
    after, old = (root / "notes.md").stat(), kept(root, written["trash_id"])
    assert (root / "notes.md").read_text() == "new"
    assert stat.S_IMODE(after.st_mode) == 0o640
    assert old.read_text() == OLD
    assert (old.stat().st_ino, old.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert written["replaced"] is True


@pytest.mark.parametrize(
    ("tool", "args", "word"),
    [
        (
            "write_file",
            {"path": "notes.md", "content": "x", "expected_sha256": sha(OLD)},
            "has other content",
        ),
        (
            "move_file",
            {"source": "notes.md", "destination": "a.md", "expected_sha256": sha(OLD)},
            "other content",
        ),
        (
            "copy_file",
            {"source": "notes.md", "destination": "a.md", "expected_sha256": sha(OLD)},
            "other content",
        ),
        ("delete_file", {"path": "notes.md", "expected": {"notes.md": sha(OLD)}}, "has other content"),
    ],
)
async def test_a_change_of_the_same_size_and_age_is_still_seen(
    tmp_path: Path, tool: str, args: dict[str, Any], word: str
) -> None:
    root = sample(tmp_path)
    like = (root / "notes.md").stat()
    (root / "notes.md").write_text("ONE\nTWO\n")
    same_age(root / "notes.md", like)
    before = tree(root)
    async with files(root) as ask:
        refusal = await ask.refused(tool, **args)
        assert (await ask("list_trash"))["entries"] == []
    assert "changed since it was shown" in refusal
    assert word in refusal
    assert tree(root) == before


async def test_what_is_gone_is_said_to_be_gone(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        written = await ask.refused("write_file", path="none.md", content="x", expected_sha256=sha(OLD))
        deleted = await ask.refused("delete_file", path="none.md", expected={"none.md": sha(OLD)})
        moved = await ask.refused("move_file", source="none.md", destination="a.md")
    assert "is gone" in written
    assert "does not exist" in deleted
    assert "does not exist" in moved


async def test_move_and_copy_go_into_folders_and_never_over_anything(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        moved = await ask("move_file", source="reports/q3.md", destination="archive")
        copied = await ask("copy_file", source="reports/q4.md", destination="./archive/")
        renamed = await ask("move_file", source="notes.md", destination="notes.txt")
        onto_file = await ask.refused("move_file", source="reports/q4.md", destination="archive/q3.md")
        copy_onto = await ask.refused("copy_file", source="notes.txt", destination="archive/q3.md")
        onto_self = await ask.refused("move_file", source="notes.txt", destination="notes.txt")
        no_folder = await ask.refused("move_file", source="notes.txt", destination="none/")
        top = await ask("move_file", source="archive/q3.md", destination=".")
    assert moved["destination"] == "archive/q3.md"
    assert copied["destination"] == "archive/q4.md"
    assert renamed["sha256"] == sha(OLD)
    assert top["destination"] == "q3.md"
    assert "exists now" in onto_file
    assert "exists now" in copy_onto
    assert "exists now" in onto_self
    assert "does not exist" in no_folder
    assert {path: data for path, (data, _) in tree(root).items() if data} == {
        "archive/q4.md": b"Q4\n",
        "notes.txt": OLD.encode(),
        "q3.md": b"Q3\n",
        "reports/q4.md": b"Q4\n",
    }


async def test_a_destination_that_became_a_folder_is_not_entered_unseen(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        plan = await ask("preview_transfer", source="notes.md", destination="later")
        (root / "later").mkdir()
        bound = {"expected_sha256": plan["sha256"], "expected_destination": plan["destination"]}
        refusal = await ask.refused("move_file", source="notes.md", destination="later", **bound)
    assert "changed since it was shown" in refusal
    assert (root / "notes.md").exists()


async def test_previews_refuse_what_the_change_would_refuse(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "image.bin").write_bytes(b"\xff\xfe\0")
    (root / "big.txt").write_text("x" * 300_000)
    async with files(root) as ask:
        assert "exists already" in await ask.refused(
            "preview_transfer", source="notes.md", destination="image.bin"
        )
        assert "does not exist" in await ask.refused("preview_transfer", source="none", destination="archive")
        assert "not UTF-8" in await ask.refused("preview_write", path="image.bin")
        assert "too large to show" in await ask.refused("preview_write", path="big.txt")
        assert "does not exist" in await ask.refused("preview_write", path="none/x")
        assert "does not exist" in await ask.refused("describe_paths", paths="none", to_delete=True)
        whole = await ask("preview_write", path="notes.md")
        fresh = await ask("preview_write", path="new.md")
    assert (whole["text"], whole["sha256"], whole["exists"]) == (OLD, sha(OLD), True)
    assert (fresh["text"], fresh["sha256"], fresh["exists"]) == ("", "absent", False)


async def test_a_delete_goes_to_the_trash_with_a_manifest(tmp_path: Path) -> None:
    root, clock = sample(tmp_path), Clock()
    async with files(root, clock=clock) as ask:
        seen = await ask("describe_paths", paths=["notes.md", "reports/q3.md"], to_delete=True)
        deleted = await ask("delete_file", path=["notes.md", "reports/q3.md"], expected=seen["expected"])
        [entry] = (await ask("list_trash"))["entries"]
    assert seen["what"] == "2 files: notes.md, reports/q3.md"
    assert [(item["name"], item["size"]) for item in seen["items"]] == [("notes.md", 8), ("reports/q3.md", 3)]
    assert deleted["kept_in"] == f".countersign/trash/{deleted['trash_id']}"
    assert (deleted["count"], deleted["size"]) == (2, 11)
    assert deleted["kept_until"] == "2026-03-31T12:00:00Z"
    assert kept(root, deleted["trash_id"], 1).read_text() == "Q3\n"
    manifest = (root / deleted["kept_in"] / "manifest.json").read_text()
    for fact in ('"reports/q3.md"', sha(OLD), "2026-03-01T12:00:00Z"):
        assert fact in manifest
    assert (entry["trash_id"], entry["reason"], len(entry["items"])) == (deleted["trash_id"], "deleted", 2)


async def test_a_list_is_deleted_whole_or_not_at_all(tmp_path: Path) -> None:
    root = sample(tmp_path)
    before = tree(root)
    both = ["notes.md", "reports/q3.md"]
    async with files(root) as ask:
        hashes = (await ask("describe_paths", paths=both))["expected"]
        stale = {**hashes, "reports/q3.md": sha("something else")}
        assert "changed since" in await ask.refused("delete_file", path=both, expected=stale)
        assert "does not exist" in await ask.refused("delete_file", path=["notes.md", "none"])
        assert "twice" in await ask.refused("delete_file", path=["notes.md", "./notes.md"])
        assert "exactly the paths" in await ask.refused("delete_file", path="notes.md", expected=hashes)
        assert "exactly the paths" in await ask.refused("delete_file", path=both, expected={})
        assert "between 1 and 100" in await ask.refused("delete_file", path=[])
        assert "between 1 and 100" in await ask.refused("delete_file", path=["notes.md"] * 101)
        assert (await ask("list_trash"))["entries"] == []
    assert tree(root) == before


async def test_a_list_of_which_one_changes_while_it_is_deleted_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = sample(tmp_path)
    real = disk.rename_to_free_name

    def meddled(source: Spot, target: Spot) -> None:
        real(source, target)
        if source.name == "q3.md":
            kept_now = (
                root / ".countersign" / "trash" / os.listdir(root / ".countersign" / "trash")[0] / target.name
            )
            kept_now.write_text("Q3 late\n")  # by somebody who had it open

    monkeypatch.setattr(disk, "rename_to_free_name", meddled)
    async with files(root) as ask:
        refusal = await ask.refused("delete_file", path=["notes.md", "reports/q3.md", "reports/q4.md"])
        assert (await ask("list_trash"))["entries"] == []
    assert "Nothing was deleted" in refusal
    assert (root / "notes.md").read_text() == OLD
    assert (root / "reports/q3.md").read_text() == "Q3 late\n"


@pytest.mark.parametrize("second", [None, "third", "remove"])
async def test_a_write_that_meets_another_at_the_last_moment_gives_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: str | None
) -> None:
    """Somebody writes between the look and the exchange, and perhaps again between the exchange and its return."""
    root = sample(tmp_path)
    real, turns = disk.swap, iter(["first", second])

    def meddled(mine: Spot, theirs: Spot) -> None:
        turn = next(turns, None)
        if turn == "remove":
            (root / "notes.md").unlink()
        elif turn:
            (root / "new").write_text(turn)
            (root / "new").replace(root / "notes.md")
        real(mine, theirs)

    monkeypatch.setattr(disk, "swap", meddled)
    async with files(root) as ask:
        refusal = await ask.refused("write_file", path="notes.md", content="mine", expected_sha256=sha(OLD))
        assert second != "third" or (root / "notes.md").read_text() == "third"
        entries = (await ask("list_trash"))["entries"]
        if second:  # what stood between is not lost either
            (root / "notes.md").unlink(missing_ok=True)
            await ask("restore_file", trash_id=entries[0]["trash_id"])
    assert "changed since" in refusal
    assert len(entries) == (1 if second else 0)
    assert (root / "notes.md").read_text() == "first"
    assert not [path for path in root.rglob("*") if path.is_file() and path.read_text() == "mine"]


async def test_of_many_writers_who_saw_the_same_one_wins(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root) as one, files(root) as two:
        calls = [
            (one, two)[n % 2].client.call_tool(
                "write_file", {"path": "notes.md", "content": f"writer {n}", "expected_sha256": sha(OLD)}
            )
            for n in range(16)
        ]
        answers = await asyncio.gather(*calls)
        [won] = [answer.structured_content for answer in answers if not answer.is_error]
        assert won
        [entry] = (await one("list_trash"))["entries"]
    assert sha((root / "notes.md").read_bytes()) == won["sha256"]
    assert kept(root, entry["trash_id"]).read_text() == OLD


async def test_of_many_who_create_move_delete_or_restore_the_same_one_wins(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root) as one, files(root) as two:

        async def race(tool: str, **args: Any) -> dict[str, Any]:
            answers = await asyncio.gather(*(ask.client.call_tool(tool, args) for ask in (one, two) * 4))
            [won] = [answer.structured_content for answer in answers if not answer.is_error]
            assert isinstance(won, dict)
            refused = [str(answer.content) for answer in answers if answer.is_error]
            assert all(f"tool {tool}: " in text for text in refused), refused
            return won

        await race("write_file", path="new.md", content="new", expected_sha256="absent")
        await race("copy_file", source="new.md", destination="copy.md", expected_sha256=sha("new"))
        await race("move_file", source="new.md", destination="moved.md", expected_sha256=sha("new"))
        deleted = await race("delete_file", path=["moved.md", "copy.md"])
        await race("restore_file", trash_id=deleted["trash_id"])
        assert (await one("list_trash"))["entries"] == []
    assert (root / "moved.md").read_text() == (root / "copy.md").read_text() == "new"


async def test_a_change_waits_for_another_process_and_then_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = sample(tmp_path)
    monkeypatch.setattr(disk, "LOCK_SECONDS", 0.05)
    async with files(root) as ask:
        await ask("write_file", path="a.md", content="a")
        lock = os.open(root / ".countersign" / "lock", os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_SH)  # as anybody who is not alone
        busy = await ask.refused("write_file", path="b.md", content="b")
        os.close(lock)
        await ask("write_file", path="b.md", content="b")
    assert "Try again in a minute" in busy


@pytest.mark.timeout(60)
async def test_no_write_lands_on_a_state_that_was_not_shown(tmp_path: Path) -> None:
    """Somebody replaces the file all the time: what a write took the place of is what was shown for it."""
    root, stop = sample(tmp_path), threading.Event()
    target, aside = root / "notes.md", tmp_path / "aside"

    def mutate() -> None:
        for number in range(10_000):
            aside.write_text(f"version {number}")
            aside.replace(target)
            if stop.wait(number % 20 / 1_000):
                return

    thread = threading.Thread(target=mutate)
    wrote: list[tuple[str, str]] = []
    refused: set[str] = set()
    async with files(root) as ask:
        thread.start()
        for turn in range(1_000):
            answer = await ask.client.call_tool("preview_write", {"path": "notes.md"})
            seen = answer.structured_content
            if seen:
                args = {"path": "notes.md", "content": f"mine {turn}", "expected_sha256": seen["sha256"]}
                answer = await ask.client.call_tool("write_file", args)
            if answer.is_error:
                assert "changed since" in str(answer.content)
                refused.add(f"mine {turn}")
            elif seen and answer.structured_content:
                wrote.append((seen["text"], answer.structured_content["trash_id"]))
            if turn > 60 and wrote and refused:
                break
        stop.set()
        thread.join()
    assert wrote
    assert refused
    for shown, trash_id in wrote:
        assert kept(root, trash_id).read_text() == shown
    assert not [path for path in root.rglob("*") if path.is_file() and path.read_text() in refused]


async def test_disks_without_the_two_renames_lose_nothing_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(source: Spot, target: Spot, exchange: bool) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(disk, "_flagged", unsupported)
    root = sample(tmp_path)
    before = tree(root)
    async with files(root) as ask:
        written = await ask("write_file", path="notes.md", content="new", expected_sha256=sha(OLD))
        stale = await ask.refused("write_file", path="notes.md", content="x", expected_sha256=sha(OLD))
        moved = await ask("move_file", source="reports/q3.md", destination="archive")
        taken = await ask.refused("move_file", source="reports/q4.md", destination="archive/q3.md")
        deleted = await ask("delete_file", path="archive/q3.md")
        await ask("restore_file", trash_id=deleted["trash_id"])
        await ask("move_file", source=moved["destination"], destination=moved["source"])
        await ask("restore_file", trash_id=written["trash_id"], expected_sha256=written["sha256"])
    assert "changed since" in stale
    assert "changed since" in taken
    assert tree(root) == before


async def test_text_that_is_no_text_or_too_much_is_not_written(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        assert "NUL" in await ask.refused("write_file", path="a.md", content="a\0b")
        assert "half a character" in await ask.refused("write_file", path="a.md", content="a\ud800")
        assert "at most 1048576" in await ask.refused("write_file", path="a.md", content="é" * 600_000)
        await ask("write_file", path="full.md", content="x" * (1 << 20))
        await ask("write_file", path="empty.md", content="")
        await ask("write_file", path="x.json", content="{}")
    assert not (root / "a.md").exists()
    assert (root / "full.md").stat().st_size == 1 << 20
    assert (root / "empty.md").read_bytes() == b""


async def test_a_file_too_large_to_look_through_is_left_alone(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "huge.bin").touch()
    os.truncate(root / "huge.bin", (1 << 30) + 1)
    async with files(root) as ask:
        for tool, args in {
            "delete_file": {"path": "huge.bin"},
            "move_file": {"source": "huge.bin", "destination": "archive"},
            "copy_file": {"source": "huge.bin", "destination": "archive"},
            "read_file": {"path": "huge.bin"},
        }.items():
            assert "larger than 1 GB" in await ask.refused(tool, **args)
        assert (await ask("get_metadata", path="huge.bin"))["sha256"] is None
    assert os.listdir(root / ".countersign" / "tmp") == []


# promise: ACT-07
async def test_the_trash_is_kept_for_thirty_days_and_purged_at_start_and_daily(tmp_path: Path) -> None:
    root, clock = sample(tmp_path), Clock()
    async with files(root, clock=clock) as ask:
        first = await ask("delete_file", path="notes.md")
        clock.move(days=15)
        second = await ask("delete_file", path="reports/q3.md")
        clock.move(days=14, hours=23)
        await ask("write_file", path="a.md", content="a")
        assert await in_trash(ask) == {first["trash_id"], second["trash_id"]}
        clock.move(hours=1)  # thirty days, but the last purge was an hour ago
        await ask("write_file", path="b.md", content="b")
        assert await in_trash(ask) == {first["trash_id"], second["trash_id"]}
        clock.move(days=1)
        await ask("write_file", path="c.md", content="c")
        assert await in_trash(ask) == {second["trash_id"]}
        assert "perhaps its 30 days are over" in await ask.refused("restore_file", trash_id=first["trash_id"])
    clock.move(days=14)
    async with files(root, clock=clock) as ask:
        assert await in_trash(ask) == set()
    assert os.listdir(root / ".countersign" / "trash") == []


async def test_the_other_servers_over_folders_purge_the_trash_when_they_start(tmp_path: Path) -> None:
    root, clock = sample(tmp_path), Clock()
    async with files(root, clock=clock) as ask:
        await ask("delete_file", path="notes.md")
    clock.move(days=29)
    House.at([root], clock)
    assert len(os.listdir(root / ".countersign" / "trash")) == 1
    clock.move(days=2)
    House.at([root], clock)
    assert os.listdir(root / ".countersign" / "trash") == []


def test_a_purge_takes_only_what_it_knows_and_what_a_crash_left(tmp_path: Path) -> None:
    root, clock = sample(tmp_path), Clock()
    [found] = Roots.at([root]).roots
    (root / ".countersign" / "tmp").mkdir(parents=True)
    for name in (staged := disk.temporary(0, "").name), "draft.md":
        (root / ".countersign" / "tmp" / name).write_text("half")
    strange = root / ".countersign" / "trash" / "20200101T000000-0123456789abcdef"
    strange.mkdir(parents=True)
    (strange / "manifest.json").write_text("{}")
    (strange / "0").write_text("unknown")
    assert trash.purge(found, clock())[0] == 0
    assert (strange / "0").read_text() == "unknown"
    assert os.listdir(root / ".countersign" / "tmp") == ["draft.md"], staged


def test_of_a_very_full_folder_no_more_names_are_put_in_order_than_are_too_many(tmp_path: Path) -> None:
    for number in range(trees.MOST_NAMES + 10):
        (tmp_path / f"{number}.txt").touch()
    with open_folder(tmp_path) as folder:
        assert len(trees.some_names(folder)) == trees.MOST_NAMES + 2


@contextmanager
def open_folder(path: Path) -> Iterator[int]:
    folder = os.open(path, os.O_RDONLY)
    try:
        yield folder
    finally:
        os.close(folder)


async def in_trash(ask: Ask) -> set[str]:
    return {entry["trash_id"] for entry in (await ask("list_trash"))["entries"]}


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EXDEV, errno.ENOENT])
def test_what_a_disk_refuses_is_said_in_a_sentence(number: int) -> None:
    @answers.spoken
    def tool(path: str) -> str:
        raise OSError(number, "raw words of the system", path)

    with pytest.raises(ToolError, match=r"^[A-Z][^/]*\.$") as told:
        tool("/machine/path")
    assert "raw words" not in str(told.value)


def test_what_a_disk_never_should_say_stays_a_crash_that_is_logged() -> None:
    @answers.spoken
    def tool() -> str:
        raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        tool()


async def test_a_folder_is_made_with_those_above_it_and_taken_back_as_one(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        shown = await ask("preview_folder", path="reports/2027/q1/")
        assert not (root / "reports/2027").exists()
        made = await ask("create_folder", path="reports/2027/q1", expected_top=shown["top"])
        back = await ask("delete_file", path=made["top"], expected=made["expected"])
    assert [item["name"] for item in shown["items"]] == ["reports/2027", "reports/2027/q1"]
    assert (made["path"], made["top"]) == ("reports/2027/q1", "reports/2027")
    assert back["paths"] == ["reports/2027"]
    assert not (root / "reports/2027").exists()
    assert os.listdir(root / ".countersign" / "tmp") == []


async def test_a_new_folder_takes_files_and_is_then_not_taken_back_unseen(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        made = await ask("create_folder", path="new")
        await ask("write_file", path="new/a.md", content="x")
        refused = await ask.refused("delete_file", path="new", expected=made["expected"])
    assert "changed" in refused
    assert (root / "new/a.md").read_text() == "x"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("reports", "is there already"),
        (".", "is an allowed folder itself"),
        ("notes.md", "is no folder"),
        ("notes.md/inner", "is no folder"),
        ("../outside", "cannot be part"),
        (".countersign/new", "countersign"),
        ("link/new", "link"),
    ],
)
async def test_no_folder_is_made_where_something_is_or_outside(tmp_path: Path, path: str, words: str) -> None:
    root = sample(tmp_path)
    (root / "link").symlink_to(tmp_path)
    before = tree(root)
    async with files(root) as ask:
        for tool in ("preview_folder", "create_folder"):
            assert words in await ask.refused(tool, path=path)
    assert tree(root) == before


async def test_a_folder_that_has_come_to_be_since_it_was_shown_stops_the_making(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "2027").mkdir()
    async with files(root) as ask:
        refused = await ask.refused("create_folder", path="2027/q1", expected_top="2027")
    assert "is there by now" in refused
    assert os.listdir(root / "2027") == []
