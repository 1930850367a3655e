"""The time from the click on Confirm to the tool call and to the updated card, without other load."""

from __future__ import annotations

import asyncio
import itertools
import random
from dataclasses import dataclass
from pathlib import Path

from aiohttp import ClientSession

from benchmarks.measure import Row, heading, line, percentile
from benchmarks.people import DONE, WORKING, Asked, People, file_of
from benchmarks.service import SQLITE, Bench, began, running
from benchmarks.tools import sizes
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
    await beside(bench, quick)


async def beside(bench: Bench, quick: bool) -> None:
    """The same on SQLite beside work of other tools in the same bot, in turns with no such work."""
    print(heading(f"{TITLE}, beside work of other tools"))
    for work, share in (
        ("scan", "a scan of 10,000 files for secrets"),
        ("table", "a table of 1,000,000 rows"),
    ):
        alone, busy = await _in_turns(bench, await bench.new_settings(SQLITE), work, 8 if quick else 25)
        limit = 2 * percentile([one.tool for one in alone], 95)
        _show("alone: tool begins", [one.tool for one in alone])
        _show(f"beside {share}: tool begins", [one.tool for one in busy], limit)


async def _in_turns(
    bench: Bench, settings: Settings, work: str, times: int
) -> tuple[list[Pressed], list[Pressed]]:
    """Presses alone and beside the work, in four blocks."""
    much, order = settings.home / "much", settings.home / "work"
    much.mkdir()
    if work == "scan":
        sizes.tree(much, 10_000)
    else:
        with (much / "t.csv").open("w") as file:
            file.writelines(sizes.records(1_000_000))
    pauses, presses = random.Random(1), {"": list[Press](), work: list[Press]()}
    numbers = itertools.count(next(bench.numbers) * 10_000)
    async with running(settings, ALL) as (bot,), ClientSession() as session:
        people = People(bench.slack, session, [bot.url])
        for name in ("", work, "", work):
            order.write_text(name)
            await _turned(settings.home / "working", bool(name))
            done = [await _press(people, next(numbers), pauses) for _ in range(times + 2)]
            presses[name] += done[2:]  # the first ones warm it up
    tools = began(settings.home)
    alone, busy = ([_times(*press, tools) for press in found] for found in presses.values())
    return alone, busy


async def _turned(state: Path, begun: bool) -> None:
    """Waits until the work has begun, or has ended, which another process says by a file."""
    while state.exists() != begun:  # noqa: ASYNC110, ASYNC240
        await asyncio.sleep(0.1)


Press = tuple[Asked, float, float]


async def _press(people: People, number: int, pauses: random.Random) -> Press:
    asked = await people.ask(number)
    await asyncio.sleep(0.2 + pauses.uniform(0, 0.3))  # at any moment of the engine's rhythm
    pressed = (asked, *await people.confirm(asked))
    await people.done(asked)
    return pressed


def _show(what: str, took: list[float], goal: float | None = None) -> None:
    note = f"p50 {percentile(took, 50):.0f}, max {max(took):.0f} ms"
    print(line(Row(f"{what}, p95", percentile(took, 95), n=len(took), goal=goal, note=note)), flush=True)


async def _pressed(bench: Bench, settings: Settings, times: int) -> list[Pressed]:
    pauses = random.Random(1)
    first, presses = next(bench.numbers) * 10_000, list[Press]()
    async with running(settings, ALL) as (bot,), ClientSession() as session:
        people = People(bench.slack, session, [bot.url])
        for number in range(first, first + times + 3):
            presses.append(await _press(people, number, pauses))
    tools = began(settings.home)
    return [_times(*press, tools) for press in presses[3:]]  # the first ones warm it up


def _times(asked: Asked, pressed: float, acknowledged: float, tools: dict[str, float]) -> Pressed:
    redrawn, done = asked.card.at(WORKING, DONE), asked.card.at(DONE)
    assert redrawn
    assert done
    moments = (acknowledged, tools[file_of(asked.number)], redrawn, done)
    return Pressed(*((moment - pressed) * 1000 for moment in moments))
