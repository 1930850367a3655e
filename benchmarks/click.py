"""The time from the click on Confirm to the tool call and to the updated card, without other load."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from aiohttp import ClientSession

from benchmarks.measure import Row, heading, line, percentile
from benchmarks.people import DONE, WORKING, Asked, People, file_of
from benchmarks.service import Bench, began, running
from bot.settings import Settings
from bot.wiring import ALL

TOOL_GOAL, CARD_GOAL = 50.0, 300.0  # ms, p95
TITLE = "click: press on Confirm → …, one at a time, a write of the bundled filesystem server"


@dataclass(frozen=True)
class Pressed:
    """Milliseconds after the click."""

    acknowledged: float
    tool: float
    redrawn: float  # the card shows that the press counted
    result: float  # the card shows the result


async def run(bench: Bench, quick: bool) -> None:
    print(heading(TITLE))
    for database in bench.databases:
        found = await _pressed(bench, await bench.new_settings(database), 15 if quick else 200)
        _show(f"{database}: acknowledged", [one.acknowledged for one in found])
        _show(f"{database}: tool begins", [one.tool for one in found], TOOL_GOAL)
        _show(f"{database}: card redrawn", [one.redrawn for one in found], CARD_GOAL)
        _show(f"{database}: card with the result", [one.result for one in found])


def _show(what: str, took: list[float], goal: float | None = None) -> None:
    note = f"p50 {percentile(took, 50):.0f}, max {max(took):.0f} ms"
    print(line(Row(f"{what}, p95", percentile(took, 95), n=len(took), goal=goal, note=note)), flush=True)


async def _pressed(bench: Bench, settings: Settings, times: int) -> list[Pressed]:
    pauses = random.Random(1)
    first, presses = next(bench.numbers) * 10_000, []
    async with running(settings, ALL) as (bot,), ClientSession() as session:
        people = People(bench.slack, session, [bot.url])
        for number in range(first, first + times + 3):
            asked = await people.ask(number)
            await asyncio.sleep(0.2 + pauses.uniform(0, 0.3))  # at any moment of the engine's rhythm
            presses.append((asked, *await people.confirm(asked)))
            await people.done(asked)
    tools = began(settings.home)
    return [_times(*press, tools) for press in presses[3:]]  # the first ones warm it up


def _times(asked: Asked, pressed: float, acknowledged: float, tools: dict[str, float]) -> Pressed:
    redrawn, done = asked.card.at(WORKING, DONE), asked.card.at(DONE)
    assert redrawn
    assert done
    moments = (acknowledged, tools[file_of(asked.number)], redrawn, done)
    return Pressed(*((moment - pressed) * 1000 for moment in moments))
