"""`unknown` is for the dead: never while a call is alive, and the truth of one who was only frozen is still welcome."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from gate.rules.action_states import State
from tests.chaos.action_scenario import Stage, Told, assert_nothing_is_left, staged
from tests.chaos.recording_server import ASKED, DONE, strikes
from tests.chaos.replicas import LIMITS, until
from workspace.faults import Silent

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
New = Callable[[Path], str]


async def struck(stage: Stage, story: Told, event: str = ASKED) -> None:
    """Until the bell was asked, or has sounded."""
    await until(lambda: strikes(stage.bell.log, event)[story.mark], f"{story.mark} to be {event}")


async def test_a_call_far_longer_than_its_claim_stays_known_while_its_process_lives(
    home: Path, new_postgres: New, redis_url: str
) -> None:
    async with staged(home, new_postgres(home), redis_url) as stage:
        await asyncio.gather(stage.fleet.start(), stage.fleet.start())
        await stage.reach()
        story = await stage.ask("long", before=3 * LIMITS.claim)
        await story.confirm()
        action = await story.end()
        assert action.state is State.SUCCEEDED
        assert "unknown" not in await story.events()
        await story.assert_struck(1)
        await assert_nothing_is_left(stage)


async def test_the_truth_of_a_frozen_process_replaces_unknown_when_it_thaws(
    home: Path, new_postgres: New, redis_url: str
) -> None:
    async with staged(home, new_postgres(home), redis_url) as stage:
        frozen = await stage.fleet.start()
        await stage.reach()
        story = await stage.ask("frozen", before=1.0)
        await story.confirm()
        await struck(stage, story)
        frozen.signal(signal.SIGSTOP)
        await stage.fleet.start()
        lost = await story.end(State.UNKNOWN)
        await story.assert_shown(lost)
        frozen.signal(signal.SIGCONT)
        found = await story.end(State.SUCCEEDED)
        await story.assert_struck(1)
        await assert_nothing_is_left(stage)
        await story.assert_shown(found)
        events = await story.events()
        assert events.index("unknown") < events.index("succeeded")
        assert events.count("started") == 1


@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
async def test_a_card_that_slack_took_from_one_who_died_before_hearing_so_is_found_again(
    method: str, home: Path, new_sqlite: New, redis_url: str
) -> None:
    async with staged(home, new_sqlite(home), redis_url) as stage:
        first = await stage.fleet.start()
        await stage.reach()
        stage.ws.faults.on(method, Silent(accepted=True))
        story = await stage.ask("m1")
        await until(lambda: story.cards, "the card")
        if method == "chat.update":
            await story.confirm()
            await struck(stage, story, DONE)
            await until(lambda: stage.ws.calls(method), "a card redrawn")
        first.signal(signal.SIGKILL)
        assert await first.ended() == -signal.SIGKILL
        await stage.fleet.start()
        await stage.reach()
        if method == "chat.postMessage":
            await story.confirm()
        action = await story.end()
        await assert_nothing_is_left(stage)
        await story.assert_shown(action)
        assert len(story.cards) == 1
        assert len(stage.ws.calls("chat.postMessage")) == 1
