"""One task in the local Slack: its cards by their kind, and what people do with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gate.rules.planner_port import Call, ProposedStep, ProposePlan, Reply
from gate.rules.task import Assessment, Task
from tests.slack_app import AGES, ANN, OPS, Edge
from tests.views.samples import shown
from workspace.state import Message

MANY = Assessment(60, 4)


def write(path: str, content: str = "new", **more: Any) -> ProposedStep:
    return ProposedStep(Call("desk", "write", {"path": path, "content": content}), **more)


def look(path: str) -> ProposedStep:
    return ProposedStep(Call("desk", "look", {"path": path}))


def shred(path: str) -> ProposedStep:
    return ProposedStep(Call("desk", "shred", {"path": path}))


def proposes(*steps: ProposedStep, note: str = "") -> ProposePlan:
    return ProposePlan(steps, note)


@dataclass
class Story:
    """The task that came of one message."""

    edge: Edge
    said: Message

    async def task(self) -> Task:
        from gate.rules.action import Session

        found = await self.edge.ledger.tasks_of(Session("T1", OPS, self.said.ts))
        assert found
        return found[0]

    def card(self, kind: str) -> Message:
        """The newest card of this kind."""
        ours = self.edge.ws.by_app(OPS, self.said.ts)
        keys = {(m.metadata or {}).get("event_payload", {}).get("key", ""): m for m in ours}
        found = [m for key, m in keys.items() if f":{kind}:" in key]
        assert found, (kind, sorted(keys))
        return found[-1]

    def has(self, kind: str) -> bool:
        """Whether there is a card of this kind."""
        ours = self.edge.ws.by_app(OPS, self.said.ts)
        return any(f":{kind}:" in (m.metadata or {}).get("event_payload", {}).get("key", "") for m in ours)

    def text(self, kind: str) -> str:
        return shown(self.card(kind).blocks)

    def buttons(self, kind: str) -> list[str]:
        rows = [b for b in self.card(kind).blocks or [] if b["type"] in ("actions", "context_actions")]
        return [e["action_id"] for row in rows for e in row["elements"]]

    async def click(self, kind: str, button: str, user: str = ANN, **given: Any) -> Any:
        outcome = await self.edge.ws.as_(user).click(self.card(kind), button, **given)
        await self.edge.settled()
        return outcome

    async def window(self, callback: str, user: str = ANN) -> Any:
        """The window of this kind on top of this person's screen."""

        def find() -> Any:
            top = self.edge.ws.as_(user).modal
            return top if top and top.body["callback_id"] == callback else None

        return await self.edge.ws.wait_for(find, AGES)

    async def submit(self, given: Mapping[str, Mapping[str, Any]], user: str = ANN) -> Any:
        outcome = await self.edge.ws.as_(user).submit(None, given)
        await self.edge.settled()
        return outcome


async def begun(edge: Edge, *replies: Reply, assessment: Assessment = MANY, text: str = "tidy up") -> Story:
    """Ann asks for something; the planner answers with these."""
    edge.planner.assessments.append(assessment)
    edge.planner.script += replies
    said = await edge.ann.say(OPS, f"<@UBOT> {text}")
    await edge.ws.wait_for(lambda: edge.ws.by_app(OPS, said.ts), AGES)
    await edge.settled()
    return Story(edge, said)
