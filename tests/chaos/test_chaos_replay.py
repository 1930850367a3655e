"""What Slack, or somebody on the way, sends again: the same bytes, the same event, the same click, to any replica."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gate.rules.action_states import State
from tests.chaos.action_scenario import Stage, assert_nothing_is_left, staged
from tests.chaos.replicas import INSTALLED
from workspace.delivery import Attempt, Kind, SignedHttp, encode, sign

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
New = Callable[[Path], str]
RETRIES = [Attempt(number, "http_timeout") for number in (1, 2, 3)]


async def again(stage: Stage, kind: Kind, payload: dict[str, Any]) -> int:
    """Send it to each replica three times with one signature, and three times as a retry; how often in all."""
    content_type, body = encode(kind, payload)
    headers = {"Content-Type": content_type, **sign(INSTALLED.signing_secret, body)}
    urls, slack = stage.fleet.urls, SignedHttp(stage.fleet.urls, INSTALLED.signing_secret, 30)

    async def same(url: str) -> int:
        async with session.post(url, data=body.encode(), headers=headers) as response:
            return response.status

    async with aiohttp.ClientSession() as session:
        statuses = await asyncio.gather(*(same(url) for url in urls for _ in range(3)))
        answers = await asyncio.gather(*(slack.send(url, kind, payload, a) for url in urls for a in RETRIES))
    await slack.stop()
    assert set(statuses) == {200}
    assert all(answer.ok for answer in answers)
    return len(statuses) + len(answers)


@pytest.mark.parametrize("count", [4, pytest.param(1000, marks=[pytest.mark.soak, pytest.mark.timeout(0)])])
async def test_whatever_is_sent_again_is_handled_once(
    count: int, home: Path, new_postgres: New, redis_url: str, claim: Callable[[str], None]
) -> None:
    async with staged(home, new_postgres(home), redis_url) as stage:
        await asyncio.gather(stage.fleet.start(), stage.fleet.start())
        await stage.reach()
        sent = 0
        for number in range(count):
            story = await stage.ask(f"m{number}")
            await story.confirm()
            mention = stage.ws.deliveries("app_mention")[-1].sent
            assert mention["event"]["ts"] == story.said.ts
            sent += await again(stage, "events_api", mention)
            sent += await again(stage, "interactive", stage.ws.deliveries("block_actions")[-1].sent)
            action = await story.end()
            assert action.state is State.SUCCEEDED
            await story.assert_struck(1)
            await story.assert_shown(action)
            assert len(story.cards) == 1
        await assert_nothing_is_left(stage)
        (actions,) = await stage.rows("SELECT count(*) FROM actions")
        assert actions[0] == count
        claim(
            f"replay: n={count} mentions and clicks, sent again {sent} times to two replicas, each handled once"
        )
