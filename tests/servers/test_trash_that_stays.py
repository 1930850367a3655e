"""What cannot be purged stays where it is: no server fails to start for it, and no change is refused."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from email.headerregistry import Address
from pathlib import Path

import pytest

from servers import calendar, email, filesystem, folders
from servers.filesystem import disk, trash, trees
from servers.filesystem.paths import Roots, Spot
from servers.filesystem.trash import Budget
from tests.servers.files import Clock

OVER = "20200101T000000-0123456789abcdef"
DEEP = 3_000  # folders in each other: more than Python calls itself, and than a process may have files open


def nested(top: Path, count: int = DEEP) -> None:
    """Folders in each other, too deep for one path to name the last."""
    top.mkdir(parents=True)
    here = os.open(top, os.O_RDONLY)
    for _ in range(count):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


def ours(root: Path, *inside: str) -> Path:
    for path in (found := root / ".countersign", found.joinpath(*inside)):
        path.mkdir(parents=True, exist_ok=True)
    return path


def overdue(root: Path) -> Path:
    """An entry of the trash whose days are over, with a folder in it."""
    entry = ours(root, "trash", OVER)
    file = {"path": "x", "kind": "folder", "size": 0, "sha256": "0" * 64}
    manifest = {"id": OVER, "reason": "deleted", "deleted_at": "2020-01-01T00:00:00Z", "files": [file]}
    (entry / "manifest.json").write_text(json.dumps(manifest))
    return entry


def refuse_to_remove(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the kernel does where a folder is somebody else's."""
    unlink = os.unlink

    def refusing(path: str, *, dir_fd: int | None = None) -> None:
        if path == name:
            raise PermissionError(13, "Permission denied", path)
        unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", refusing)


def forged(root: Path, number: int) -> Path:
    """An entry with the manifest of another one: it is left alone."""
    entry = ours(root, "trash", f"2019{number % 12 + 1:02}01T000000-{number:016x}")
    (entry / "manifest.json").write_text("{}")
    return entry


@dataclass
class Reads:
    """The records that are read, and how often each was read under the lock."""

    root: Path
    monkeypatch: pytest.MonkeyPatch
    of: list[str] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)
    then: Callable[[], object] = lambda: None

    def __post_init__(self) -> None:
        read = disk.json_record

        def counting(spot: Spot, *limits: int) -> bytes:
            found, inode = read(spot, *limits), os.fstat(spot.folder).st_ino
            entries = (self.root / ".countersign" / "trash").iterdir()
            [name] = [path.name for path in entries if path.stat().st_ino == inode]
            self.of.append(name)
            with open(self.root / ".countersign" / "lock", "w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self.alone.append(name)
            self.then()
            return found

        self.monkeypatch.setattr(disk, "json_record", counting)


STARTS: dict[str, Callable[[Path], object]] = {
    "filesystem": lambda root: filesystem.server([root], Clock()),
    "email": lambda root: email.server(root, Address("Ann", "ann", "example.com"), clock=Clock()),
    "calendar": lambda root: calendar.server([root], clock=Clock()),
    "others": lambda root: folders.House.at([root], Clock()),
}


@pytest.fixture(params=STARTS)
def start(request: pytest.FixtureRequest) -> Callable[[Path], object]:
    return STARTS[request.param]


def root_of(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "cur").mkdir(parents=True)  # a Maildir too
    return root


def test_folders_in_each_other_are_purged_however_deep(
    tmp_path: Path, start: Callable[[Path], object]
) -> None:
    root = root_of(tmp_path)
    entry = overdue(root)
    nested(entry / "0")
    start(root)
    assert not entry.exists()


def test_what_may_not_be_removed_is_left_and_said_once(
    tmp_path: Path,
    start: Callable[[Path], object],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    root = root_of(tmp_path)
    entry = overdue(root)
    (entry / "0").mkdir()
    (entry / "0" / "theirs").write_text("x")
    other = entry.with_name(OVER.replace("2020", "2021"))
    other.mkdir()
    (other / "manifest.json").write_text((entry / "manifest.json").read_text().replace(OVER, other.name))
    refuse_to_remove("theirs", monkeypatch)
    start(root)
    start(root)
    assert (entry / "manifest.json").exists()
    assert not other.exists()
    [said] = [record.getMessage() for record in caplog.records if OVER in record.getMessage()]
    assert re.search(r"could not be removed \(Permission denied\).* tried again .* by hand\.", said)
    monkeypatch.undo()
    start(root)
    assert not entry.exists()


def test_a_server_starts_where_its_own_folder_is_a_link(
    tmp_path: Path, start: Callable[[Path], object]
) -> None:
    root = root_of(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (root / ".countersign").symlink_to(tmp_path / "elsewhere")
    start(root)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_what_a_crash_left_staged_is_no_reason_to_refuse_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_of(tmp_path)
    (ours(root, "tmp") / "theirs").write_text("x")
    refuse_to_remove("theirs", monkeypatch)
    [found] = Roots.at([root]).roots
    assert trash.purge(found, Clock()())[0] == 0


@pytest.mark.parametrize("inside", [("data",), ("knowledge", "before")])
def test_a_record_that_is_over_is_no_reason_to_refuse_a_change(
    tmp_path: Path, inside: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_of(tmp_path)
    kept = ours(root, *inside)
    nested(kept / OVER)
    stuck, last = OVER.replace("2020", "2021"), OVER.replace("2020", "9999").replace("0101", "1231")
    for name in (stuck, last):
        (kept / name).write_text("x")
    refuse_to_remove(stuck, monkeypatch)
    [found] = Roots.at([root]).roots
    trash.remove_old(found, Clock()(), *inside)
    assert {path.name for path in kept.iterdir()} == {stuck, last}


def test_a_folder_that_was_moved_while_it_was_emptied_leads_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder above is gone back to; where that is another one by then, nothing there is touched."""
    nested(tmp_path / "here" / "x", 1)
    (tmp_path / "there" / "d").mkdir(parents=True)
    (tmp_path / "there" / "kept").write_text("x")
    listed, seen = os.scandir, list[int]()

    def moving(folder: int) -> object:
        seen.append(folder)
        if len(seen) == 2:
            (tmp_path / "there" / "d").rmdir()
            (tmp_path / "here" / "x" / "d").rename(tmp_path / "there" / "d")
        return listed(folder)

    monkeypatch.setattr(os, "scandir", moving)
    folder = os.open(tmp_path / "here", os.O_RDONLY)
    with pytest.raises(trees.ToolError, match="was moved while it was removed"):
        trees.remove(Spot(folder, "x", "x"))
    os.close(folder)
    assert (tmp_path / "there" / "d").is_dir()
    assert (tmp_path / "there" / "kept").exists()


def test_no_manifest_is_read_of_what_is_not_over_by_its_name(
    tmp_path: Path, start: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_of(tmp_path)
    entry = overdue(root)
    young = ours(root, "trash", f"20260301T120000-{7:016x}")
    (young / "manifest.json").write_text((entry / "manifest.json").read_text().replace(OVER, young.name))
    reads = Reads(root, monkeypatch)
    start(root)
    assert not entry.exists()
    assert young.exists()
    assert reads.of == [OVER, OVER]
    assert reads.alone == [OVER]


@pytest.mark.parametrize("size", [2, 1 << 20])
def test_a_purge_looks_at_so_much_at_most_and_the_next_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """400 links to one file held up a start for 29 s, and as long every change in the folder."""
    root, clock = root_of(tmp_path), Clock()
    left = {forged(root, number).name for number in range(9)}
    for name in left:
        (root / ".countersign/trash" / name / "manifest.json").write_text("{" + " " * (size - 2) + "}")
    entry = overdue(root)
    reads = Reads(root, monkeypatch)
    monkeypatch.setattr(trash, "Budget", lambda: Budget(entries=2 if size == 2 else 99, size=2 << 20))
    daily = trash.Daily(Roots.at([root]), clock)
    seen = set[str]()
    for _ in range(6):
        reads.of.clear()
        clock.move(days=1)
        daily.now()
        assert len(set(reads.of)) <= 3
        seen |= set(reads.of)
    assert seen == left | {OVER}
    assert not entry.exists()
    assert reads.alone == [OVER]


def test_an_entry_that_has_become_another_since_it_was_looked_at_is_not_purged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_of(tmp_path)
    entry = overdue(root)
    reads = Reads(root, monkeypatch, then=lambda: (entry / "manifest.json").write_text("{}"))
    [found] = Roots.at([root]).roots
    assert trash.purge(found, Clock()())[0] == 0
    assert (entry / "manifest.json").read_text() == "{}"
    assert len(reads.of) == 2


def test_of_a_very_full_folder_of_ours_so_many_names_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, staged = root_of(tmp_path), "0123456789abcdef" * 2
    for number in range(9):
        forged(root, number)
        (ours(root, "tmp") / f"{number}{staged[1:]}").write_text("x")
    (ours(root, "tmp") / "theirs").write_text("x")
    monkeypatch.setattr(trees, "MOST_OURS", 5)
    [found] = Roots.at([root]).roots
    assert list(trash.entries(found, budget := Budget())) == []
    assert (budget.entries, budget.spent) == (trash.MOST_READ - 5, True)
    trash.purge(found, Clock()())
    assert len(os.listdir(root / ".countersign/tmp")) in (5, 6)
    for _ in range(2):
        trash.purge(found, Clock()())
    assert os.listdir(root / ".countersign/tmp") == ["theirs"]


def test_no_server_takes_all_names_of_a_folder_in_one_call() -> None:
    """400,000 names took 0.23 s, in which no other thread ran. The other one is the probe of a confined process."""
    sources = Path(trash.__file__).parents[1].rglob("*.py")
    assert {path.name for path in sources if "listdir(" in path.read_text()} == {"tasks.py"}
