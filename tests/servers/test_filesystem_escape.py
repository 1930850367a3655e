"""No path leads out of the roots: not by words, not by links, not by an exchange at the wrong moment."""

from __future__ import annotations

import json
import os
import threading
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from servers.filesystem import disk
from servers.filesystem.paths import Spot
from tests.servers.files import Ask, files, sample, tree

SECRET = "kept-from-everyone"

WORDS = [
    "../data-secret/secret.txt",
    "../../etc/passwd",
    "reports/../../data-secret/secret.txt",
    "reports/..",
    "..",
    "./..",
    "..//data-secret",
    "reports/../notes.md",
    "/etc/passwd",
    "/",
    "//etc/passwd",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd/notes.md",
    "/proc/self/fd/0",
    "/dev/stdin",
    "/dev/zero",
    "{parent}/data-secret/secret.txt",
    "{parent}/sample-secret/secret.txt",
    "{parent}/sampl",
    "{parent}/sample/../data-secret/secret.txt",
    "{parent}",
    "%2e%2e/data-secret/secret.txt",
    "%2E%2E%2Fdata-secret",
    "reports%2f..%2f..%2fsecret",
    ".%2e/data-secret",
    "..\\data-secret\\secret.txt",
    "reports\\..\\..\\x",
    "C:\\Windows\\win.ini",
    "\\\\server\\share",
    "notes.md\0.txt",
    "\0",
    "reports/\0/q3.md",
    "notes.md\n",
    "no\rtes.md",
    "no\ttes.md",
    "no\x1b[31mtes.md",
    "no\x7ftes.md",
    "no\x85tes.md",
    "no\u2028tes.md",
    "x" * 5_000,
    "a/" * 2_500,
    "x" * 300,
    "é" * 200,
    "~/.ssh/id_rsa/x",
    "file:///etc/passwd",
    "link-file",
    "link-folder",
    "link-folder/secret.txt",
    "link-out/secret.txt",
    "link-out/../notes.md",
    "link-up/data-secret/secret.txt",
    "link-self/notes.md",
    "link-loop",
    "link-loop/x",
    "link-proc/etc/passwd",
    "link-root/etc/passwd",
    "link-dangling",
    "reports/link-inner/secret.txt",
    "notes.md/x",
    "notes.md/../../x",
    "fifo/x",
    "reports /q3.md",
    "twin.md ",
    "caf\u00e9.txt",
    "cafe\u0301.txt",
]


def trapped(folder: Path) -> Path:
    """The sample with links out of it, a sibling with nearly its name, and names that look the same."""
    root = sample(folder)
    for name in ("data-secret", "sample-secret"):
        (folder / name).mkdir()
        (folder / name / "secret.txt").write_text(SECRET)
    for link, target in {
        "link-file": folder / "data-secret" / "secret.txt",
        "link-folder": folder / "data-secret",
        "link-out": Path("../data-secret"),
        "link-up": Path(".."),
        "link-self": Path("."),
        "link-loop": Path("link-loop"),
        "link-proc": Path("/proc/self/root"),
        "link-root": Path("/"),
        "link-dangling": folder / "data-secret" / "new.txt",
        "reports/link-inner": folder / "data-secret",
    }.items():
        (root / link).symlink_to(target)
    os.mkfifo(root / "fifo")
    (root / "reports ").mkdir()
    for name in ("twin.md", "twin.md ", "caf\u00e9.txt", "cafe\u0301.txt"):
        (root / name).write_text(name)
    return root


def outside(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.glob("*-secret/*"))}


def test_the_corpus_is_as_long_as_promised() -> None:
    assert len(set(WORDS)) >= 60


@pytest.mark.slow
async def test_no_words_lead_out_of_the_roots(tmp_path: Path) -> None:
    root = trapped(tmp_path)
    before, around = tree(root), outside(tmp_path)
    async with files(root) as ask:
        for words in WORDS:
            path = words.replace("{parent}", str(tmp_path))
            await refused_everywhere(ask, path)
    assert tree(root) == before
    assert outside(tmp_path) == around


async def refused_everywhere(ask: Ask, path: str) -> None:
    """Every tool refuses this path, soon, in a sentence that tells nothing of the disk around the roots."""
    started = time.monotonic()
    refusals = [
        await ask.refused("read_file", path=path),
        await ask.refused("preview_write", path=path),
        await ask.refused("list_dir", path=path),
        await ask.refused("search_files", path=path, pattern="*"),
        await ask.refused("write_file", path=path, content="x"),
        await ask.refused("move_file", source=path, destination="archive/x"),
        await ask.refused("move_file", source="notes.md", destination=path),
        await ask.refused("copy_file", source=path, destination="archive/x"),
        await ask.refused("copy_file", source="notes.md", destination=path),
        await ask.refused("delete_file", path=path),
        await ask.refused("delete_file", path=["notes.md", path]),
        await ask.refused("watch_folder", path=path),
    ]
    assert time.monotonic() - started < 12
    for refusal in refusals:
        assert SECRET not in refusal
        assert "root:" not in refusal


async def test_metadata_tells_nothing_of_what_a_link_points_to(tmp_path: Path) -> None:
    root = trapped(tmp_path)
    async with files(root) as ask:
        link = await ask("get_metadata", path="link-file")
        assert (link["kind"], link["sha256"]) == ("link", None)
        await ask.refused("get_metadata", path="link-folder/secret.txt")
        everything = await ask("list_dir", path=".", recursive=True)
        found = await ask("search_files", path=".", pattern="*", contains=SECRET)
    assert not [item for item in everything["items"] if "secret" in item["name"]]
    assert found["matches"] == []


async def test_a_file_with_a_second_name_is_not_changed(tmp_path: Path) -> None:
    root = trapped(tmp_path)
    secret = tmp_path / "data-secret" / "secret.txt"
    (root / "hard.txt").hardlink_to(secret)
    async with files(root) as ask:
        for tool, args in {
            "write_file": {"path": "hard.txt", "content": "x"},
            "preview_write": {"path": "hard.txt"},
            "move_file": {"source": "hard.txt", "destination": "archive"},
            "preview_transfer": {"source": "hard.txt", "destination": "archive"},
            "delete_file": {"path": "hard.txt"},
            "describe_paths": {"paths": "hard.txt", "to_delete": True},
        }.items():
            assert "hard link" in await ask.refused(tool, **args)
    assert secret.read_text() == SECRET
    assert (root / "hard.txt").stat().st_nlink == 2


async def test_a_folder_of_ours_that_is_a_link_is_not_used(tmp_path: Path) -> None:
    root = trapped(tmp_path)
    async with files(root) as ask:
        (root / ".countersign").symlink_to(tmp_path / "data-secret")
        await ask.refused("delete_file", path="notes.md")
        await ask.refused("write_file", path="notes.md", content="x")
        await ask.refused("watch_folder", path="reports")
        (root / ".countersign").unlink()
        (root / ".countersign").mkdir()
        (root / ".countersign" / "trash").symlink_to(tmp_path / "data-secret")
        await ask.refused("delete_file", path="notes.md")
    assert sorted(os.listdir(tmp_path / "data-secret")) == ["secret.txt"]
    assert (root / "notes.md").read_text() == "one\ntwo\n"


async def test_a_manifest_that_was_tampered_with_leads_nowhere(tmp_path: Path) -> None:
    root = trapped(tmp_path)
    async with files(root) as ask:
        trash_id = (await ask("delete_file", path="notes.md"))["trash_id"]
        manifest = root / ".countersign" / "trash" / trash_id / "manifest.json"
        original = manifest.read_text()
        for path in ("../data-secret/new.txt", "/etc/new", "link-folder/new.txt", ".countersign/x"):
            manifest.write_text(original.replace('"notes.md"', f'"{path}"'))
            await ask.refused("restore_file", trash_id=trash_id)
        manifest.write_text(original)
        (manifest.parent / "0").write_text("something else")
        assert "not what was put there" in await ask.refused("restore_file", trash_id=trash_id)
        for trash_id in (
            "../..",
            "x",
            "",
            "20260301T120000-0123456789abcdef",
            "20260301T120000-0123456789abcdef/..",
        ):
            assert "Nothing with that id" in await ask.refused("restore_file", trash_id=trash_id)
    assert not (root / "notes.md").exists()
    assert sorted(os.listdir(tmp_path / "data-secret")) == ["secret.txt"]


ENTRY = "20260301T120000-0123456789abcdef"
MANIFEST = {
    "id": ENTRY,
    "reason": "deleted",
    "deleted_at": "2020-03-01T12:00:00Z",
    "files": [{"path": "a.md", "sha256": "0" * 64, "size": 1}],
}


@pytest.mark.parametrize(
    "changed",
    [
        {"deleted_at": "2020-03-01T12:00:00"},
        {"deleted_at": "9999-12-31T00:00:00Z"},
        {"id": "20200101T000000-ffffffffffffffff"},
        {"id": "../../x"},
        {"reason": "x" * (5 << 20)},
    ],
)
async def test_an_entry_that_others_put_into_the_trash_stops_no_server(
    tmp_path: Path, changed: dict[str, str]
) -> None:
    entry = tmp_path / ".countersign" / "trash" / ENTRY
    entry.mkdir(parents=True)
    (entry / "0").write_text("x")
    (entry / "manifest.json").write_text(json.dumps({**MANIFEST, **changed}))
    async with files(tmp_path) as ask:
        assert (await ask("list_trash"))["entries"] == []
        assert "Nothing with that id" in await ask.refused("restore_file", trash_id=ENTRY)
    assert (entry / "0").exists()


async def test_a_manifest_of_eight_gigabytes_is_not_read(tmp_path: Path) -> None:
    entry = tmp_path / ".countersign" / "trash" / ENTRY
    entry.mkdir(parents=True)
    (entry / "0").write_text("x")
    (entry / "manifest.json").touch()
    os.truncate(entry / "manifest.json", 8 << 30)
    tracemalloc.start()
    try:
        async with files(tmp_path) as ask:
            assert (await ask("list_trash"))["entries"] == []
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("what", ["folder", "link"])
async def test_a_lock_that_others_put_in_its_place_is_named(
    tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It keeps the server from no start, where it is logged, and from each change."""
    lock = tmp_path / ".countersign" / "lock"
    lock.parent.mkdir()
    if what == "folder":
        lock.mkdir()
    else:
        lock.symlink_to(tmp_path / "elsewhere")
    async with files(tmp_path) as ask:
        assert "lock cannot be opened" in caplog.text
        assert "lock cannot be opened" in await ask.refused("write_file", path="a.md", content="a")
    assert not (tmp_path / "elsewhere").exists()
    assert not (tmp_path / "a.md").exists()


@pytest.mark.parametrize("becomes", ["link", "pipe", "folder"])
async def test_a_file_exchanged_between_the_look_and_the_opening_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, becomes: str
) -> None:
    root = trapped(tmp_path)
    real = disk.status

    def meddled(spot: Spot) -> os.stat_result | None:
        info = real(spot)
        (root / "notes.md").unlink(missing_ok=True)
        if becomes == "link":
            (root / "notes.md").symlink_to(tmp_path / "data-secret" / "secret.txt")
        elif becomes == "pipe":
            os.mkfifo(root / "notes.md")
        else:
            (root / "notes.md").mkdir()
        return info

    async with files(root) as ask:
        monkeypatch.setattr(disk, "status", meddled)
        refusal = await ask.refused("read_file", path="notes.md")
    assert SECRET not in refusal


FLIPS, ENOUGH = 1_500, 30


@contextmanager
def flipping(flip: Callable[[], None]) -> Iterator[Callable[[int], bool]]:
    """Flips something there and back in a thread, FLIPS times and until there were ENOUGH answers. Yields what takes
    how many there are, and says whether it still does."""
    failed: list[BaseException] = []
    enough = threading.Event()

    def run() -> None:
        flips = 0
        try:
            while flips < FLIPS or not enough.is_set():
                flip()
                flips += 1
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)

    def more(answers: int) -> bool:
        if answers > ENOUGH:
            enough.set()
        return thread.is_alive()

    thread.start()
    try:
        yield more
    finally:
        enough.set()
        thread.join()
    assert not failed, failed


async def hammered(
    ask: Ask, calls: list[tuple[str, dict[str, Any]]], more: Callable[[int], bool]
) -> Counter[bool]:
    """These calls again and again; every answer is free of the secret, every refusal a sentence, none takes long."""
    answers: Counter[bool] = Counter()
    while more(answers.total()):
        for tool, args in calls:
            started = time.monotonic()
            result = await ask.client.call_tool(tool, args)
            assert time.monotonic() - started < 5
            assert SECRET not in str(result)
            if result.is_error:
                assert str(result.content).count(f"Error executing tool {tool}: ") == 1, result
            answers[result.is_error] += 1
    return answers


def assert_nothing_got_out_or_in(root: Path, folder: Path) -> None:
    assert outside(folder) == {
        str(folder / name / "secret.txt"): SECRET.encode() for name in ("data-secret", "sample-secret")
    }
    for path in root.rglob("*"):
        assert path.is_symlink() or not path.is_file() or path.read_bytes() != SECRET.encode()


@pytest.mark.timeout(90)
async def test_a_file_that_becomes_a_link_at_any_moment_never_leads_out(tmp_path: Path) -> None:
    root = trapped(tmp_path)
    aside = tmp_path / "aside"

    def flip() -> None:
        aside.symlink_to(tmp_path / "data-secret" / "secret.txt")
        aside.replace(root / "race.txt")
        aside.write_text("inside")
        aside.replace(root / "race.txt")

    flip()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_file", {"path": "race.txt"}),
        ("search_files", {"path": ".", "pattern": "race*", "contains": SECRET}),
        ("write_file", {"path": "race.txt", "content": "written"}),
        ("copy_file", {"source": "race.txt", "destination": "copy.txt"}),
        ("delete_file", {"path": "copy.txt"}),
        ("move_file", {"source": "race.txt", "destination": "archive"}),
        ("delete_file", {"path": "archive/race.txt"}),
        ("delete_file", {"path": ["notes.md", "race.txt"]}),
    ]
    async with files(root) as ask:
        with flipping(flip) as more:
            answers = await hammered(ask, calls, more)
    assert answers.total() > ENOUGH
    assert_nothing_got_out_or_in(root, tmp_path)


@pytest.mark.timeout(90)
async def test_a_folder_that_becomes_a_link_at_any_moment_never_leads_out(tmp_path: Path) -> None:
    root = trapped(tmp_path)
    parked = tmp_path / "parked"
    box = root / "box"
    box.mkdir()
    (box / "secret.txt").write_text("inside")

    def flip() -> None:
        box.rename(parked)
        box.symlink_to(tmp_path / "data-secret")
        box.unlink()
        parked.rename(box)

    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_file", {"path": "box/secret.txt"}),
        ("list_dir", {"path": "box"}),
        ("search_files", {"path": ".", "pattern": "secret*", "contains": SECRET}),
        ("write_file", {"path": "box/secret.txt", "content": "written"}),
        ("write_file", {"path": "box/new.txt", "content": "written"}),
        ("copy_file", {"source": "box/secret.txt", "destination": "box/copy.txt"}),
        ("move_file", {"source": "box/copy.txt", "destination": "archive/back.txt"}),
        ("move_file", {"source": "archive/back.txt", "destination": "box/copy.txt"}),
        ("delete_file", {"path": ["box/copy.txt", "box/new.txt"]}),
    ]
    async with files(root) as ask:
        with flipping(flip) as more:
            answers = await hammered(ask, calls, more)
    assert answers[False] > 0
    assert answers[True] > 0
    assert_nothing_got_out_or_in(root, tmp_path)
