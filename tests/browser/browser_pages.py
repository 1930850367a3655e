"""A person at a window of the workspace's page: what they do by mouse and keys, and what they see."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from playwright.async_api import Locator, Page, expect

OpenWindow = Callable[[str], Awaitable["Window"]]


@dataclass(frozen=True)
class Window:
    page: Page

    @property
    def thread(self) -> Locator:
        return self.page.get_by_test_id("thread")

    @property
    def channel(self) -> Locator:
        return self.page.get_by_test_id("channel")

    @property
    def modal(self) -> Locator:
        return self.page.get_by_test_id("modal")

    async def write(self, text: str) -> None:
        """In the channel."""
        await self.page.get_by_test_id("composer").fill(text)
        await self.page.get_by_test_id("composer").press("Enter")

    async def reply(self, text: str) -> None:
        """In the open thread."""
        await self.page.get_by_test_id("thread-composer").fill(text)
        await self.page.get_by_test_id("thread-composer").press("Enter")

    async def ask(self, text: str) -> None:
        """Mention the bot in the channel and open the thread of its answer."""
        await self.write(f"@Countersign {text}")
        await self.open(text)

    async def open(self, text: str) -> None:
        """Open the thread under the newest message with this text, once there are answers."""
        root = self.channel.locator(".message:not(.ephemeral)").filter(has_text=text).last
        await root.get_by_test_id("open-thread").click()

    def button(self, action: str, where: Locator | None = None) -> Locator:
        """The newest button with this action id: in the thread unless said otherwise."""
        return (where or self.thread).locator(f"[data-action-id={action}]").last

    async def press(self, action: str, where: Locator | None = None) -> None:
        await self.button(action, where).click()

    async def sees(self, *texts: str) -> None:
        """In the open thread, in due time."""
        for text in texts:
            await expect(self.thread).to_contain_text(text)

    async def is_asked(self, *texts: str) -> None:
        """By a card in the open thread that waits for a decision, with all of these texts."""
        card = self.thread.locator(".message").filter(has_text="Expires")
        for text in texts:
            card = card.filter(has_text=text)
        await expect(card.last).to_be_visible()

    async def is_told(self, text: str, where: Locator | None = None) -> None:
        """Alone, by a message that nobody else sees."""
        told = (where or self.thread).locator(".ephemeral").last
        await expect(told).to_contain_text(text)

    async def submit(self) -> None:
        await self.page.get_by_test_id("modal-submit").click()

    async def close(self) -> None:
        await self.page.get_by_test_id("modal-close").click()
        await expect(self.modal).to_have_count(0)
