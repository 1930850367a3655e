"""Deploys: SIGTERM lets a running call end, and replicas replaced one by one lose nothing and do nothing twice."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from gate.rules.action_states import State
from tests.chaos.action_scenario import assert_nothing_is_left, staged
from tests.chaos.recording_server import ASKED, DONE, strikes
from tests.chaos.replicas import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
New = Callable[[Path], str]
ROUNDS = 2  # times that both replicas are replaced
AT_ONCE = 4  # stories side by side


async def test_sigterm_lets_a_running_call_end_and_the_next_process_says_so(
    home: Path, new_sqlite: New, redis_url: str
) -> None:
    async with staged(home, new_sqlite(home), redis_url) as stage:
        first = await stage.fleet.start(sockets=True)
        await stage.ws.settled()
        story = await stage.ask("draining", before=1.5)
        await story.confirm()
        await until(lambda: strikes(stage.bell.log, ASKED)["draining"], "the call")
        first.signal(signal.SIGTERM)
        assert await first.ended() == 0
        assert strikes(stage.bell.log, DONE)["draining"] == 1
        action = await story.now()
        assert action is not None
        assert action.state is State.SUCCEEDED
        await stage.fleet.start(sockets=True)
        action = await story.end()
        assert "unknown" not in await story.events()
        await assert_nothing_is_left(stage)
        await story.assert_shown(action)


async def test_replacing_both_replicas_under_a_stream_of_actions_loses_nothing(
    home: Path, new_postgres: New, redis_url: str, claim: Callable[[str], None]
) -> None:
    async with staged(home, new_postgres(home), redis_url) as stage:
        for _ in range(2):
            await stage.fleet.start(sockets=True)
        await stage.ws.settled(receivers=2)
        deployed = asyncio.Event()
        told = []

        async def stream(number: int) -> None:
            count = 0
            while not deployed.is_set():
                count += 1
                story = await stage.ask(f"m{number}-{count}", before=0.1)
                told.append(story)
                await story.confirm()
                await story.end()

        async def deploy() -> None:
            for _ in range(ROUNDS * 2):
                old = next(replica for replica in stage.fleet.replicas if replica.alive)
                before = len(told)
                await stage.fleet.start(sockets=True)
                await stage.ws.settled(receivers=3, timeout=60)
                old.signal(signal.SIGTERM)
                assert await old.ended() == 0
                await until(lambda before=before: len(told) > before, "the next action")
            deployed.set()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(deploy())
            for number in range(AT_ONCE):
                tasks.create_task(stream(number))
        await assert_nothing_is_left(stage)
        for story in told:
            action = await story.end()
            assert action.state is State.SUCCEEDED
            await story.assert_struck(1)
            await story.assert_shown(action)
            assert len(story.cards) == 1
        claim(
            f"rolling restart: n={len(told)} actions over {ROUNDS * 2} restarts, 0 lost, 0 double, 0 unknown"
        )
