"""The four stories over several servers by mouse, as a new user: a sentence, a plan, an approval, and the disk."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime

import pytest
import pytest_asyncio
from playwright.async_api import expect

from bot.demo import sample_files
from bot.demo_servers import demo_servers, sample_desk
from bot.demo_stories import sample_stories, story_servers
from gate.rules.ports import Limits
from tests.browser.browser_pages import Window
from tests.browser.loops import on_one_loop
from tests.browser.page_fake import OpenPage
from tests.product import OPS, Product, running_product
from tests.services import unavailable
from workspace.state import Message

pytestmark = pytest.mark.browser

NOWHERE = 9  # a port at which nobody takes mail: nothing is sent here
# Three pictures are read before there is a plan: seconds each where the machine does much else
READING_MS = 90_000


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def product(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Product]:
    """One for all four: each story has a folder and a thread of its own."""
    home = tmp_path_factory.mktemp("stories")
    files = sample_stories(sample_files(home / "files"))
    desk = sample_desk(home / "desk", datetime.now(UTC))
    servers = (*demo_servers(desk, NOWHERE), *story_servers(files))
    async with running_product(home, limits=Limits(proceed=0.5), servers=servers) as running:
        yield running


@pytest.fixture(scope="session")
def tesseract() -> None:
    if not shutil.which("tesseract"):
        unavailable("there is no Tesseract: apt-get install tesseract-ocr", "REQUIRE_TESSERACT")


@on_one_loop
async def ann(product: Product, open_page: OpenPage) -> Window:
    return Window(await open_page(f"{product.ws.url}/?as=U_ANN"))


def remaining(product: Product) -> list[Message]:
    """Our messages in the newest thread, but for what one person alone sees."""
    posted = [message for message in product.ws.by_app(OPS) if message.visible_to is None]
    return [message for message in posted if message.thread_ts == posted[-1].thread_ts]


async def typed(ann: Window) -> None:
    """Open the newest Review…, type the phrase that it shows, and submit."""
    await ann.press("review")
    phrase = await ann.modal.locator("pre").last.inner_text()
    await ann.page.get_by_label("The phrase").fill(phrase.strip())
    await ann.submit()
    await expect(ann.modal).to_have_count(0)


@pytest.mark.slow
async def test_secrets_are_found_encrypted_and_put_into_the_trash_and_all_of_it_is_taken_back(
    product: Product, ann: Window
):
    before = product.names()
    await ann.ask("run clean-up-secrets for private")
    await ann.sees("3 steps", "1 deletion", "private/mail-server.txt.age", "private/backup.ini")
    await expect(ann.thread.get_by_text("tulip-harbour-29")).to_have_count(0)  # shown masked, always
    assert product.names() == before
    await ann.press("plan_approve")
    await ann.is_asked("Delete 2 files")
    assert {"private/mail-server.txt", "private/mail-server.txt.age"} <= product.names()
    await typed(ann)
    await ann.sees("3 of 3 steps done")
    gone = {"private/mail-server.txt", "private/backup.ini"}
    assert product.names() == before - gone | {f"{name}.age" for name in gone}
    await ann.press("task_undo_all")
    await ann.sees("Taken back: step 3", "step 1 (Encrypt")
    assert product.names() == before


@pytest.mark.slow
async def test_downloads_are_moved_into_their_folders_and_copies_go_to_the_trash(
    product: Product, ann: Window
):
    await ann.ask("run sort-downloads")
    await ann.sees("5 steps", "downloads/ticket.pdf", "documents/ticket.pdf", "pictures/holiday.png")
    await ann.press("plan_approve")
    await ann.is_asked("Delete 2 files")
    assert product.text("documents/offer.md") is not None
    await typed(ann)
    await ann.sees("5 of 5 steps done")
    assert [name for name in product.names() if name.startswith("downloads/")] == []
    sorted_into = {name for name in product.names() if name.startswith(("documents/", "pictures/"))}
    assert sorted_into == {
        "documents/minutes.txt",
        "documents/offer.md",
        "documents/ticket.pdf",
        "pictures/holiday.png",
    }


@pytest.mark.slow
async def test_contracts_are_compared_and_what_changed_is_written_down_and_drafted_as_shown(
    product: Product, ann: Window
):
    await ann.ask("run compare-contracts for contracts/lease-2026.md")
    await ann.sees("Before I start", "Which is the later version?", "Who is the draft for?")
    await ann.thread.get_by_label("Which is the later version?").fill("contracts/lease-2027.md")
    await ann.thread.get_by_label("Who is the draft for?").fill("bob@example.com")
    await ann.press("task_submit")
    await ann.sees("2 steps", "Lines changed: 3, removed: 0, added: 1.", "bob@example.com")
    assert product.text("contracts/changes.md") is None
    await ann.press("plan_approve")
    await ann.sees("2 of 2 steps done")
    written = product.text("contracts/changes.md") or ""
    assert "~2. The lease ends on 31 May [-2027-]{+2029+}." in written
    assert "[-1,900-]{+2,150+} EUR a month" in written
    drafts = [
        path.read_text("utf-8")
        for path in (product.files.parent / "desk" / "mail" / ".Drafts").rglob("*:2,*")
    ]
    assert ["What changed in lease-2027.md" in text for text in drafts] == [True]


@pytest.mark.slow
@pytest.mark.usefixtures("tesseract")
async def test_receipts_are_read_held_against_the_bookings_and_what_is_open_becomes_a_task(
    product: Product, ann: Window
):
    await ann.ask("run reconcile-receipts for receipts")
    await expect(ann.thread).to_contain_text("7 steps", timeout=READING_MS)
    await ann.sees("City Taxi", "Settle what is in receipts/open.csv")
    await ann.press("plan_approve")
    await ann.is_asked("Write 2 rows to receipts/open.csv", "no booking,receipts/taxi.png")
    assert product.text("receipts/open.csv") is None
    await ann.press("confirm")
    await ann.sees("7 of 7 steps done")
    report = product.text("receipts/open.csv") or ""
    assert report.splitlines()[1:] == [
        "no booking,receipts/taxi.png",
        "no receipt,2026-11-12 Hotel Mar 120.00",
    ]
    with closing(sqlite3.connect(product.files.parent / "desk" / "tasks.sqlite")) as tasks:
        found = tasks.execute("SELECT count(*) FROM task WHERE title = 'Settle what is in receipts/open.csv'")
        assert found.fetchone() == (1,)
    texts = [message.text for message in remaining(product)]
    assert len(texts) <= 4, texts
