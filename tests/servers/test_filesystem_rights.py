"""A file that takes the place of another, or is a copy of it, gives nobody a right that they did not have."""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path
from typing import Any

import pytest

from servers.filesystem import rights, server
from tests.servers.files import files, sample, sha
from tests.servers.gate_around_server import gated

ACL = "system.posix_acl_access"
OLD = sha("one\ntwo\n")
SOMEBODY, GROUP = 1234, 4321
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def listed(somebody: int, group: int, mask: int, other: int = 0) -> bytes:
    entries = ((1, 6, -1), (2, somebody, SOMEBODY), (4, group, -1), (16, mask, -1), (32, other, -1))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)


def give(path: Path, access_list: bytes) -> None:
    try:
        os.setxattr(path, ACL, access_list)
    except (AttributeError, OSError):
        pytest.skip("no access lists here")


def access(path: Path) -> bytes:
    return os.getxattr(path, ACL) if ACL in os.listxattr(path) else b""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def refused(*_: Any) -> None:
    raise PermissionError(1, "Operation not permitted")


async def test_the_access_list_of_a_file_is_that_of_the_next_version_and_of_a_copy(tmp_path: Path) -> None:
    root = sample(tmp_path)
    file, copy = root / "notes.md", root / "copy.md"
    give(file, only_somebody := listed(6, 0, 6))
    async with gated(tmp_path / "logs", "filesystem", server([root])) as gate:
        await gate.do("copy_file", source="notes.md", destination="copy.md")
        written = await gate.do("write_file", path="notes.md", content="new")
        assert (access(file), access(copy)) == (only_somebody, only_somebody)
        give(file, listed(0, 0, 6))
        await gate.undo(written)
    assert file.read_text() == "one\ntwo\n"
    assert access(file) == only_somebody


async def test_a_list_that_files_of_our_folder_have_from_above_is_not_that_of_the_next_version(
    tmp_path: Path,
) -> None:
    root = sample(tmp_path)
    file = root / "notes.md"
    file.chmod(0o640)
    give(file, listed(6, 0, 6))
    os.removexattr(file, ACL)
    file.chmod(0o640)
    os.setxattr(root, "system.posix_acl_default", listed(6, 0, 6))
    async with files(root) as ask:
        await ask("write_file", path="notes.md", content="new", expected_sha256=OLD)
    assert (mode(file), access(file)) == (0o640, b"")


@pytest.mark.parametrize(
    ("access_list", "left"),
    [(listed(6, 0, 6, 4), 0o600), (listed(4, 6, 6, 6), 0o644)],
    ids=["group may not", "somebody may read"],
)
async def test_a_list_that_cannot_be_kept_leaves_what_each_of_them_might(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, access_list: bytes, left: int
) -> None:
    root = sample(tmp_path)
    give(root / "notes.md", access_list)
    monkeypatch.setattr(os, "setxattr", refused)
    async with files(root) as ask:
        await ask("write_file", path="notes.md", content="new", expected_sha256=OLD)
    assert mode(root / "notes.md") == left


@as_root
async def test_owner_and_group_stay_through_a_write_and_its_undo(tmp_path: Path) -> None:
    root = sample(tmp_path)
    file = root / "notes.md"
    os.chown(file, SOMEBODY, GROUP)
    async with gated(tmp_path / "logs", "filesystem", server([root])) as gate:
        done = await gate.do("write_file", path="notes.md", content="new")
        assert (file.stat().st_uid, file.stat().st_gid) == (SOMEBODY, GROUP)
        await gate.undo(done)
    assert (file.stat().st_uid, file.stat().st_gid) == (SOMEBODY, GROUP)


@as_root
@pytest.mark.parametrize(("before", "after"), [(0o660, 0o600), (0o664, 0o644), (0o604, 0o600)])
def test_another_group_has_only_what_everybody_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, after: int
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for path in (old, new):
        path.touch()
    old.chmod(before)
    os.chown(old, SOMEBODY, GROUP)
    monkeypatch.setattr(os, "fchown", refused)
    with old.open() as original, new.open("w") as file:
        rights.keep(file.fileno(), original.fileno())
    assert mode(new) == after
