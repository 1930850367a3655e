"""The story with @modelcontextprotocol/server-filesystem: read, write, move, undo, and what it cannot take back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.foreign.thread import Thread
from tests.product import Product

pytestmark = [pytest.mark.node, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ProductAndFolder = tuple[Product, Path]


async def test_a_listing_is_answered_at_once(files_product: ProductAndFolder):
    product, folder = files_product
    thread = await Thread.ask(product, "disk.list_directory", path=str(folder))
    assert "[FILE] old.md" in thread.shown
    assert thread.buttons == []


async def test_a_write_over_a_file_shows_the_difference_and_can_be_taken_back(
    files_product: ProductAndFolder,
):
    product, folder = files_product
    thread = await Thread.ask(product, "disk.write_file", path=str(folder / "old.md"), content="one\nthree\n")
    assert "-two\n+three" in thread.shown
    assert "can be undone" in thread.shown
    assert thread.buttons == ["review", "edit", "cancel", "more"]  # nobody says where its links lead
    assert (folder / "old.md").read_text() == "one\ntwo\n"
    await thread.confirm()
    assert (folder / "old.md").read_text() == "one\nthree\n"
    await thread.undo()
    assert (folder / "old.md").read_text() == "one\ntwo\n"


ASKED = "Prepared to undo:"


async def test_an_undo_sees_that_somebody_went_on_writing(files_product: ProductAndFolder):
    product, folder = files_product
    thread = await Thread.ask(product, "disk.write_file", path=str(folder / "old.md"), content="three\n")
    await thread.confirm()
    (folder / "old.md").write_text("four\n")
    await thread.press("undo")
    await product.ws.wait_for(
        lambda: [m for m in product.ws.by_app("C_OPS", thread.ts) if m.text.startswith(ASKED)], 20
    )
    assert (folder / "old.md").read_text() == "four\n"


async def test_a_new_file_cannot_be_taken_back_and_the_card_says_so_before(files_product: ProductAndFolder):
    product, folder = files_product
    thread = await Thread.ask(product, "disk.write_file", path=str(folder / "new.md"), content="hello")
    assert "cannot be undone" in thread.shown
    assert "hello" in thread.shown
    await thread.confirm()
    assert "undo" not in thread.buttons
    assert (folder / "new.md").read_text() == "hello"


async def test_a_move_goes_and_comes_back(files_product: ProductAndFolder):
    product, folder = files_product
    source, destination = folder / "old.md", folder / "older.md"
    thread = await Thread.ask(product, "disk.move_file", source=str(source), destination=str(destination))
    await thread.confirm()
    assert (source.exists(), destination.exists()) == (False, True)
    await thread.undo_by_a_card()
    assert (source.exists(), destination.exists()) == (True, False)


async def test_a_folder_is_not_moved_where_a_rule_denies_what_is_in_it(files_product: ProductAndFolder):
    """Under its new name the file was read at once."""
    product, folder = files_product
    for name in ("team/hr/pay.md", "docs/team/hr/a.md", "empty"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("98,000") if path.suffix else path.mkdir()
    for source in (folder, folder / "team", folder / "team" / "hr"):
        thread = await Thread.ask(
            product, "disk.move_file", source=str(source), destination=str(folder / "open")
        )
        assert ("does not allow this (“personnel”)" in thread.shown, thread.buttons) == (True, [])
    for name in ("docs", "empty"):
        source, destination = folder / name, folder / "away"
        thread = await Thread.ask(
            product, "disk.move_file", source=str(source), destination=str(destination / name)
        )
        assert thread.buttons == ["review", "edit", "cancel", "more"]
    (folder / "away").mkdir()
    await thread.confirm()
    assert (folder / "away" / "empty").is_dir()


async def test_what_the_server_forbids_fails_and_nothing_happens(
    files_product: ProductAndFolder, tmp_path: Path
):
    product, _ = files_product
    thread = await Thread.ask(product, "disk.write_file", path=str(tmp_path / "out.md"), content="x")
    if "review" in thread.buttons:
        assert "outside allowed directories" in await thread.type_phrase("Failed")
    else:
        assert "outside allowed directories" in thread.shown
    assert not (tmp_path / "out.md").exists()
