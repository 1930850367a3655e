"""The sample files of the stories: made once, and left alone then."""

from __future__ import annotations

import shutil
from pathlib import Path

from bot.demo_stories import sample_stories
from tests.servers.files import tree


def test_the_folders_of_the_stories_are_made_once_and_left_alone_then(tmp_path: Path) -> None:
    sample_stories(tmp_path)
    before = tree(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} >= {"contracts", "downloads", "private", "receipts"}
    (tmp_path / "downloads" / "offer.md").unlink()
    (tmp_path / "receipts" / "books.sqlite").write_bytes(b"mine")
    sample_stories(tmp_path)
    after = tree(tmp_path)
    assert before.keys() - after.keys() == {"downloads/offer.md"}
    assert (tmp_path / "receipts" / "books.sqlite").read_bytes() == b"mine"


def test_a_home_from_before_the_stories_gets_their_folders_beside_its_own(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    shutil.rmtree(sample_stories(tmp_path) / "private")
    assert (sample_stories(tmp_path) / "private" / "mail-server.txt").exists()
    assert (tmp_path / "reports").exists()
