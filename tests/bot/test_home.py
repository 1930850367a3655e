"""What lies in the home is read by nobody else of the machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bot import data_folder
from bot.settings import Settings, SettingsError
from tests.product import running_product


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    """The usual mask, under which everybody may read what is made without a mode."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def wide(folder: Path) -> list[str]:
    """What others have any right to, by its path below the folder."""
    found = [folder, *folder.rglob("*")]
    return sorted(
        str(one.relative_to(folder))
        for one in found
        if not one.is_symlink() and stat.S_IMODE(one.lstat().st_mode) & 0o077
    )


@pytest.mark.slow
async def test_nothing_that_a_running_service_makes_in_its_home_can_be_read_by_others(tmp_path: Path) -> None:
    place = tmp_path / "home"
    place.mkdir()
    async with running_product(place, first=True):
        names = {one.name for one in place.rglob("*")}
        assert {
            "countersign.db",
            "countersign.db-wal",
            "countersign.db-shm",
            "audit.key",
            "audit.sealed",
            "redis",
        } <= names
        # The files that a served folder holds have the rights that its server gives them.
        found = [name for name in wide(place) if not name.startswith("files")]
    assert found == []


def test_an_older_home_is_tightened_with_a_notice(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place, elsewhere = tmp_path / "home", tmp_path / "other.db"
    (place / "logs").mkdir(parents=True)
    for path in (place / "countersign.db", place / "logs" / "a.log", elsewhere):
        path.write_text("secret")
    outside = tmp_path / "outside"
    outside.write_text("not ours")
    (place / "logs" / "link").symlink_to(outside)
    (place / "theirs").mkdir()
    settings = Settings.load(
        {"COUNTERSIGN_HOME": str(place), "DATABASE_URL": f"sqlite:///{elsewhere}"}, tmp_path
    )
    data_folder.prepare(settings)
    assert wide(place) == ["theirs"]  # which nobody else can reach any more
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o600
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644
    assert [record.getMessage() for record in caplog.records] == [
        f"5 files and folders of {place} could be read by others of this machine: now only by this user."
    ]
    caplog.clear()
    data_folder.prepare(settings)
    assert not caplog.records


def test_a_home_that_is_a_file_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    settings = Settings.load({"COUNTERSIGN_HOME": str(tmp_path / "home")}, tmp_path)
    with pytest.raises(
        SettingsError, match=r"The home .*/home cannot be used \(file exists\): give this user"
    ):
        data_folder.prepare(settings)


def test_processes_of_one_home_may_start_at_the_same_moment(tmp_path: Path) -> None:
    settings = Settings.load({"COUNTERSIGN_HOME": str(tmp_path / "home")}, tmp_path)
    with ThreadPoolExecutor(8) as starting:
        for prepared in [starting.submit(data_folder.prepare, settings) for _ in range(400)]:
            prepared.result()
    assert list((tmp_path / "home").iterdir()) == []
