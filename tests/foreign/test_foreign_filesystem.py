"""The story with @modelcontextprotocol/server-filesystem: read, write, move, undo, and what it cannot take back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.foreign.thread import Thread
from tests.whole import Whole

pytestmark = [pytest.mark.node, pytest.mark.slow]
House = tuple[Whole, Path]


async def test_a_listing_is_answered_at_once(files_house: House):
    house, folder = files_house
    thread = await Thread.ask(house, "disk.list_directory", path=str(folder))
    assert "[FILE] old.md" in thread.shown
    assert thread.buttons == []


async def test_a_write_over_a_file_shows_the_difference_and_can_be_taken_back(files_house: House):
    house, folder = files_house
    thread = await Thread.ask(house, "disk.write_file", path=str(folder / "old.md"), content="one\nthree\n")
    assert "-two\n+three" in thread.shown
    assert "Can be undone: yes" in thread.shown
    assert thread.buttons == ["confirm", "edit", "cancel", "more"]
    assert (folder / "old.md").read_text() == "one\ntwo\n"
    await thread.confirm()
    assert (folder / "old.md").read_text() == "one\nthree\n"
    await thread.undo()
    assert (folder / "old.md").read_text() == "one\ntwo\n"


ASKED = "Prepared to undo:"


async def test_an_undo_sees_that_somebody_went_on_writing(files_house: House):
    house, folder = files_house
    thread = await Thread.ask(house, "disk.write_file", path=str(folder / "old.md"), content="three\n")
    await thread.confirm()
    (folder / "old.md").write_text("four\n")
    await thread.press("undo")
    await house.ws.wait_for(
        lambda: [m for m in house.ws.by_app("C_OPS", thread.ts) if m.text.startswith(ASKED)], 20
    )
    assert (folder / "old.md").read_text() == "four\n"


async def test_a_new_file_cannot_be_taken_back_and_the_card_says_so_before(files_house: House):
    house, folder = files_house
    thread = await Thread.ask(house, "disk.write_file", path=str(folder / "new.md"), content="hello")
    assert "Can be undone: no" in thread.shown
    assert "hello" in thread.shown
    await thread.confirm()
    assert thread.buttons == ["full"]
    assert (folder / "new.md").read_text() == "hello"


async def test_a_move_goes_and_comes_back(files_house: House):
    house, folder = files_house
    source, destination = folder / "old.md", folder / "older.md"
    thread = await Thread.ask(house, "disk.move_file", source=str(source), destination=str(destination))
    await thread.confirm()
    assert (source.exists(), destination.exists()) == (False, True)
    await thread.undo()
    assert (source.exists(), destination.exists()) == (True, False)


async def test_what_the_server_forbids_fails_and_nothing_happens(files_house: House, tmp_path: Path):
    house, _ = files_house
    thread = await Thread.ask(house, "disk.write_file", path=str(tmp_path / "out.md"), content="x")
    if "confirm" in thread.buttons:
        await thread.press("confirm")
        assert "outside allowed directories" in await thread.becomes("Failed")
    else:
        assert "outside allowed directories" in thread.shown
    assert not (tmp_path / "out.md").exists()
