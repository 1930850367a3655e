"""One cause is one workflow, and what takes long in it keeps nobody else waiting: the product as it is wired."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bot.demo import local, sample_files
from bot.settings import Settings
from bot.wiring import Rig, build
from gate.rules.planner_port import Planner, PlannerAssessment, PlannerContext, PlannerReply, Turn
from gate.rules.ports import World
from gate.rules.task_states import TaskState
from tests.bot.test_engine_runs import until
from tests.product import OPS, Product
from workspace.server import Workspace

ANN = "U_ANN"


@dataclass
class Slow:
    """A planner that thinks until it is let go on."""

    inner: Planner
    follows: bool = False
    go: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[str] = field(default_factory=list)

    async def assess(self, turn: Turn, brief: PlannerContext) -> PlannerAssessment:
        return replace(await self.inner.assess(turn, brief), reply=None)

    async def reply(self, turn: Turn, brief: PlannerContext, pending: Any) -> PlannerReply:
        self.asked.append(turn.text)
        if "slow" in turn.text:
            await self.go.wait()
        return await self.inner.reply(turn, brief, pending)


@asynccontextmanager
async def slowly(home: Path) -> AsyncIterator[tuple[Product, Slow]]:
    planners: list[Slow] = []

    def dress(world: World) -> World:
        planners.append(Slow(world.planner))
        return replace(world, planner=planners[0])

    settings = Settings.load({"COUNTERSIGN_HOME": str(home)}, home)
    ws, files = Workspace(), sample_files(home / "files")
    try:
        async with build(
            local(settings, await ws.start(), ws.installation, files), rig=Rig(dress=dress)
        ) as parts:
            await ws.settled()
            yield Product(ws, files, parts), planners[0]
            planners[0].go.set()
    finally:
        await ws.stop()


def cards(product: Product, thread: str) -> list[str]:
    """What the bot has posted in a thread."""
    return [message.text for message in product.ws.by_app(OPS, thread)]


@pytest.mark.slow
async def test_a_slow_planner_keeps_neither_a_stop_nor_another_thread_waiting(tmp_path: Path) -> None:
    async with slowly(tmp_path) as (product, planner):
        ann = product.ws.as_(ANN)
        first = await ann.say(OPS, "<@UBOT> write 'slow' to a.md")
        await until(lambda: len(planner.asked) == 1)
        other = await ann.say(OPS, "<@UBOT> write 'quick' to b.md")
        await until(lambda: any("b.md" in text for text in cards(product, other.ts)))
        await ann.say(OPS, "<@UBOT> stop", first.ts)
        await product.task(first.ts, TaskState.STOPPED_BY_USER)
        assert not planner.go.is_set()


@pytest.mark.slow
async def test_a_message_and_a_click_are_one_workflow_each_besides_their_cards(tmp_path: Path) -> None:
    async with slowly(tmp_path) as (product, _):
        ann = product.ws.as_(ANN)
        said = await ann.say(OPS, "<@UBOT> write 'quick' to b.md")
        await until(lambda: any("b.md" in text for text in cards(product, said.ts)))
        card = next(message for message in product.ws.by_app(OPS, said.ts) if "b.md" in message.text)
        assert (await ann.click(card, "confirm")).ok
        await until(lambda: product.text("b.md") == "quick")
        await until(lambda: any(text.startswith("Wrote") for text in cards(product, said.ts)))
        assert await names(tmp_path) - CARDS == {"take_in", "carry_out"}


CARDS = {"draw", "draw_task", "post", "card"}


async def names(home: Path) -> set[str]:
    """The names of all workflows that were written."""

    def read() -> set[str]:
        engine = sa.create_engine(f"sqlite:///{home / 'countersign.db'}")
        try:
            with engine.connect() as connection:
                return set(connection.scalars(sa.text("SELECT name FROM workflow_status")))
        finally:
            engine.dispose()

    return await asyncio.to_thread(read)
