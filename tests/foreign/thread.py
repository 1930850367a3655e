"""A person in a thread with the bot, without a browser: what they write, press and type, and what they see."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from tests.product import OPS, Product
from tests.slack_app import says
from workspace.person import Person
from workspace.state import Message

SECONDS = 20.0


@dataclass(frozen=True)
class Thread:
    product: Product
    person: Person
    ts: str
    place: int = 0  # of the answer, among what the bot wrote

    @classmethod
    async def ask(cls, product: Product, tool: str, user: str = "U_ANN", **args: Any) -> Thread:
        """Mention the bot with a call by name; return once it has answered."""
        person = product.ws.as_(user)
        given = " ".join(f"{name}={json.dumps(value)}" for name, value in args.items())
        said = await person.say(OPS, f"<@UBOT> {tool} {given}")
        await product.ws.wait_for(lambda: product.ws.by_app(OPS, said.ts), SECONDS)
        return cls(product, person, said.ts)

    @property
    def answer(self) -> Message:
        """What the bot wrote first: the card, where there is one; or at another place."""
        return self.product.ws.by_app(OPS, self.ts)[self.place]

    @property
    def shown(self) -> str:
        return "\n".join(text_in(block) for block in self.answer.blocks or [])

    @property
    def buttons(self) -> list[str]:
        rows = [block for block in self.answer.blocks or [] if block["type"] == "actions"]
        return [element["action_id"] for row in rows for element in row["elements"]]

    async def becomes(self, title: str) -> str:
        """Wait until the card says so; everything on it."""
        await self.product.ws.wait_for(lambda: says(self.answer.text, title), SECONDS)
        return self.shown

    async def press(self, button: str) -> None:
        """As people do: press once more where Slack says that the app did not answer in time and the button is still
        there, as after a machine stood still. It counts once, as any second press does."""
        outcome = await self.person.click(self.answer, button)
        if outcome.response and outcome.response.reason == "http_timeout":
            if button not in self.buttons:
                return
            outcome = await self.person.click(self.answer, button)
        assert outcome.ok, outcome

    async def confirm(self) -> str:
        """Press Confirm, or type the phrase where one is asked for; everything on the card once it is done."""
        if "review" in self.buttons:
            return await self.type_phrase()
        await self.press("confirm")
        return await self.becomes("Done")

    async def undo(self) -> str:
        await self.press("undo")
        return await self.becomes("Undone")

    async def undo_by_a_card(self) -> str:
        """Press Undo where nothing tells whether its target changed since, and say yes to the card that asks."""
        await self.press("undo")
        asked = replace(self, place=self.place + 1)
        await self.product.ws.wait_for(
            lambda: len(self.product.ws.by_app(OPS, self.ts)) > asked.place, SECONDS
        )
        assert "Nothing tells whether it changed since" in asked.shown
        await (asked.type_phrase("Undone") if "review" in asked.buttons else asked.press("confirm"))
        return await self.becomes("Undone")

    async def type_phrase(self, title: str = "Done") -> str:
        """Review, type the phrase, submit; everything on the card once it has this title."""
        await self.press("review")
        modal = await self.product.ws.wait_for(self._review, SECONDS)
        phrase = modal.blocks[[b["type"] for b in modal.blocks].index("input") - 1]["elements"][-1]
        typed = phrase["elements"][0]["text"]
        wrong = await self.person.submit(modal, {"phrase": {"phrase": typed.lower() + "?"}})
        assert wrong.fields, (wrong, self.person.modal)
        right = await self.person.submit(modal, {"phrase": {"phrase": typed}})
        assert right.ok, right
        return await self.becomes(title)

    def _review(self) -> Any:
        modal = self.person.modal
        return modal if modal and modal.body["callback_id"] == "typed" else None


def text_in(part: Any) -> str:
    """All that people read in a block, in one piece."""
    if isinstance(part, list):
        return "".join(map(text_in, part))
    if not isinstance(part, dict):
        return ""
    own = part.get("text", "")
    return own if isinstance(own, str) and own else "".join(map(text_in, part.values()))
