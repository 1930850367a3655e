"""Watching folders: what changed since the last look, across restarts, and how a watch ends."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from servers.filesystem import disk, watch
from servers.filesystem.paths import Spot
from tests.servers.files import Clock, files, same_age, sample


def told(changes: dict[str, Any]) -> list[tuple[str, str]]:
    return [(change["path"], change["change"]) for change in changes["changes"]]


async def test_a_watch_outlives_the_server_and_tells_what_changed(tmp_path: Path) -> None:
    root, clock = sample(tmp_path), Clock()
    async with files(root, clock=clock) as ask:
        first = await ask("watch_folder", path="reports")
        nothing = await ask("list_changes", path="reports")
    like = (root / "reports/q3.md").stat()
    (root / "reports/q3.md").write_text("3Q\n")
    same_age(root / "reports/q3.md", like)
    (root / "reports/q4.md").unlink()
    (root / "reports/q5.md").write_text("Q5\n")
    (root / "reports/deeper").mkdir()
    (root / "reports/deeper/x").touch()
    async with files(root, clock=clock) as ask:
        changed = await ask("list_changes", path="reports")
        again = await ask("list_changes", path="reports")
        clock.move(hours=1)
        second = await ask("watch_folder", path="reports")
        (root / "reports/deeper/y").touch()
        quiet = await ask("list_changes", path="reports")
    assert (first["look"], first["entries"]) == (1, 2)
    assert told(nothing) == []
    assert told(changed) == [
        ("reports/deeper", "added"),
        ("reports/q3.md", "changed"),
        ("reports/q4.md", "removed"),
        ("reports/q5.md", "added"),
    ]
    assert again == changed
    assert (second["look"], told(second)) == (2, told(changed))
    assert (quiet["since"], told(quiet)) == ("2026-03-01T13:00:00Z", [])


async def test_a_whole_root_is_watched_without_our_own_folder(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        await ask("watch_folder", path=".", recursive=True)
        await ask("delete_file", path="reports/q3.md")
        await ask("copy_file", source="notes.md", destination="archive")
        changes = await ask("list_changes", path=".")
    assert told(changes) == [("archive/notes.md", "added"), ("reports/q3.md", "removed")]
    assert changes["watching"] == ["."]


async def test_so_many_folders_are_watched_at_once_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "MOST_WATCHES", 2)
    async with files(sample(tmp_path)) as ask:
        await ask("watch_folder", path="reports")
        await ask("watch_folder", path="archive")
        assert "2 folders are watched here already" in await ask.refused("watch_folder", path=".")
        assert (await ask("watch_folder", path="reports"))["look"] == 2
        await ask("unwatch_folder", path="archive")
        await ask("watch_folder", path=".")


async def test_a_watch_ends_and_says_what_else_is_watched(tmp_path: Path) -> None:
    root, other = sample(tmp_path), tmp_path / "other"
    other.mkdir()
    async with files(root, other) as ask:
        await ask("watch_folder", path="reports")
        await ask("watch_folder", path="other")
        assert (await ask("list_changes", path="archive"))["watching"] == ["other", "sample/reports"]
        ended = await ask("unwatch_folder", path="reports")
        unknown = await ask("list_changes", path="reports")
        assert "is not watched" in await ask.refused("unwatch_folder", path="reports")
        assert "No ended watch" in await ask.refused("watch_folder", path="archive", resume=True)
        await ask("watch_folder", path="reports")
        assert "watched again already" in await ask.refused("watch_folder", path="reports", resume=True)
    assert ended == {"path": "sample/reports", "ended": True, "look": 0}
    assert (unknown["watched"], unknown["look"], unknown["watching"]) == (False, 0, ["other"])


async def test_a_folder_is_watched_with_the_folders_in_it_or_without_and_not_otherwise(
    tmp_path: Path,
) -> None:
    async with files(sample(tmp_path)) as ask:
        await ask("watch_folder", path="reports")
        assert "watched without the folders in it" in await ask.refused(
            "watch_folder", path="reports", recursive=True
        )
        await ask("watch_folder", path="archive", recursive=True)
        assert "watched with the folders in it" in await ask.refused("watch_folder", path="archive")
        await ask("unwatch_folder", path="reports")
        assert "brought back as it was" in await ask.refused(
            "watch_folder", path="reports", recursive=True, resume=True
        )


async def test_what_cannot_be_watched_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MOST_WATCHED", 1_100)
    root = sample(tmp_path)
    for number in range(watch.MOST_WATCHED + 1):
        (root / "archive" / str(number)).touch()
    async with files(root) as ask:
        assert "cannot be entered" in await ask.refused("watch_folder", path="notes.md")
        assert "does not exist" in await ask.refused("watch_folder", path="none")
        assert "more than 1100 names" in await ask.refused("watch_folder", path="archive")
        os.unlink(root / "archive" / "0")
        await ask("watch_folder", path="archive")
        for number in range(watch.MOST_WATCHED):
            (root / "archive" / str(number + 1)).rename(root / "archive" / f"{number}.renamed")
        changes = await ask("list_changes", path="archive")
    assert (len(changes["changes"]), changes["truncated"]) == (1_000, True)


async def test_only_the_last_look_is_taken_back_and_only_as_far_as_is_kept(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        for _ in range(watch.LOOKS_KEPT + 2):
            last = await ask("watch_folder", path="reports")
        assert "changed since" in await ask.refused("unwatch_folder", path="reports", look=last["look"] - 1)
        for number in range(last["look"], last["look"] - watch.LOOKS_KEPT + 1, -1):
            left = await ask("unwatch_folder", path="reports", look=number)
            assert left == {"path": "reports", "ended": False, "look": number - 1}
        assert "no longer kept" in await ask.refused("unwatch_folder", path="reports", look=left["look"])
        assert (await ask("list_changes", path="reports"))["watched"]


async def test_a_watch_file_that_cannot_be_read_is_as_none(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        await ask("watch_folder", path="reports")
        [path] = (root / ".countersign" / "watches").iterdir()
        path.write_text("{")
        assert not (await ask("list_changes", path="reports"))["watched"]
        assert (await ask("watch_folder", path="reports"))["look"] == 1


@pytest.mark.parametrize(
    "looks",
    [
        "[]",
        '[{"number":1,"at":"2026-03-01T12:00:00Z","seen":{'
        + '"a":["file",1,1,1,1],' * 26_000
        + '"b":["file",1,1,1,1]}}]',
        "[" * 26_000 + "]" * 26_000,
        "[{}" + ",{}" * 26_000 + "]",
        "[0" + ",0" * 160_000 + "]",
    ],
)
async def test_a_record_that_this_server_has_not_written_is_no_watch(tmp_path: Path, looks: str) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        await ask("watch_folder", path="reports")
        (kept,) = (root / ".countersign/watches").iterdir()
        kept.write_text('{"path":"reports","recursive":false,"looks":' + looks + "}")
        found = await ask("list_changes", path="reports")
        assert not found["watched"]
        assert found["watching"] == []
        assert "is not watched" in await ask.refused("unwatch_folder", path="reports")


async def test_of_other_watches_only_the_heads_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """50 records of others, each validated as a whole, held up a bot for 4 s."""
    root, whole, json_record = sample(tmp_path), list[str](), disk.json_record

    def counting(spot: Spot, *limits: int) -> bytes:
        whole.append(spot.said)
        return json_record(spot, *limits)

    async with files(root) as ask:
        for folder in ("reports", "archive", "."):
            await ask("watch_folder", path=folder)
        for kept in (root / ".countersign/watches").iterdir():
            (kept.parent / f"z{kept.name}").write_text(kept.read_text())
        monkeypatch.setattr(disk, "json_record", counting)
        found = await ask("list_changes", path="reports")
    assert found["watching"] == [".", "archive", "reports"]
    assert whole == ["reports"]


@pytest.mark.parametrize("path", ["../x", ".countersign", "a\\u0000b", "a\\ud800b", "\\x", "x" * 70_000])
async def test_a_watch_on_what_is_no_path_is_left_out_of_the_watched_folders(
    tmp_path: Path, path: str
) -> None:
    """One of them made every list of changes fail."""
    root = sample(tmp_path)
    async with files(root) as ask:
        await ask("watch_folder", path="reports")
        (kept,) = (root / ".countersign/watches").iterdir()
        kept.with_name("z.json").write_text(kept.read_text().replace('"reports"', f'"{path}"', 1))
        assert (await ask("list_changes", path="reports"))["watching"] == ["reports"]


@pytest.mark.parametrize("more", ["[]", "0"])
async def test_a_forged_manifest_in_the_trash_is_left_alone(tmp_path: Path, more: str) -> None:
    """One of 18,000 files took 70 ms in one step."""
    root = sample(tmp_path)
    async with files(root) as ask:
        await ask("delete_file", path="notes.md")
        (entry,) = (root / ".countersign/trash").iterdir()
        manifest = entry / "manifest.json"
        manifest.write_text(manifest.read_text()[:-1] + f',"more":[{f"{more}," * 2_000}{more}]' + "}")
        assert (await ask("list_trash"))["entries"] == []


async def test_of_long_names_fewer_looks_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        await ask("watch_folder", path="reports")
        (kept,) = (root / ".countersign/watches").iterdir()
        monkeypatch.setattr(watch, "LARGEST", 2 * kept.stat().st_size - 60)
        assert (await ask("watch_folder", path="reports"))["look"] == 2
        (root / "reports" / ("n" * 200)).touch()
        (root / "reports" / ("m" * 200)).touch()
        assert "too long to watch" in await ask.refused("watch_folder", path="reports")
        assert (await ask("list_changes", path="reports"))["look"] == 2
