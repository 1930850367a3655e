"""A reviewer changes one form of a result, its words or its fields: nobody gets the old content in the other one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gate.rules.action import Json
from tests.api.api_server import Api, Client
from tests.api.test_api_events import listening
from tests.api.test_api_result_review import line_of, reviewing
from tests.api.test_api_result_review_steps import NOTE, paused, ways
from tests.api.test_api_reviews import decided
from tests.api.test_gateway import AT_ONCE, ERAS, connected, words
from tests.gate.actions.test_action_result_review import held, judged
from tests.gate.tasks.test_task_with_model import LOOK, thinking
from tests.model_stub import calls, says

CLEAN = "nothing to see"
HOWS = ("fields", "text", "text as JSON", "no text")


def changed(true: Mapping[str, Json], how: str) -> dict[str, Json]:
    """What a reviewer sends who takes the note out in one place."""
    fields = {key: value for key, value in true.items() if key != "text"}
    if how == "fields":
        return {**true, "content": CLEAN}
    if how == "text":
        return {**true, "text": CLEAN}
    if how == "text as JSON":
        return {**true, "text": json.dumps({**fields, "content": CLEAN})}
    return {**fields, "content": CLEAN}


async def look_held(api: Api, agent: Client, ann: Client) -> tuple[Any, Any]:
    """A read whose result waits: the action, and its line in the list with what it gave."""
    reviewing(api, "desk.look")
    api.gate.desk.notes["a.md"] = NOTE
    made = (await agent.post("/actions", {"tool": "desk.look", "arguments": {"path": "a.md"}}, 201))["action"]
    return made, await line_of(ann)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("how", HOWS)
async def test_no_answer_of_the_api_has_the_old_content(api: Api, how: str) -> None:
    agent, ann = await api.agent(), await api.client()
    made, line = await look_held(api, agent, ann)
    true = (await ann.get(f"/pending-review-detail/{made['id']}"))["data"]
    assert NOTE in true["text"]
    assert true["content"] == NOTE
    await ann.post("/resume", decided(line, edited=changed(true, how)))
    own = f"/actions/{made['id']}"
    told = [
        await agent.get(one)
        for one in (own, "/actions?state=all", "/audit", f"/history?execution_id={made['id']}")
    ]
    async with agent.raw("GET", own, Accept="text/plain") as response:
        told.append(await response.text())
    async with listening(agent, since="0") as stream:
        told += [await stream.next() for _ in range(3)]
    assert NOTE not in str(told)
    outcome = told[0]["outcome"]
    assert CLEAN in outcome["text"]
    assert (outcome["result"] is None) == (how == "text")
    assert told[0]["result_review"] == "edited"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("how", HOWS)
async def test_neither_part_of_a_tool_result_over_mcp_has_it(api: Api, how: str, mode: str) -> None:
    reviewing(api, "desk.look")
    api.gate.desk.notes["a.md"] = NOTE
    ann = await api.client()
    async with connected(await api.agent(), mode) as mcp:
        early = await mcp.call_tool("desk__look", {"path": "a.md"}, meta=AT_ONCE)
        line = await line_of(ann)
        true = (await ann.get(f"/pending-review-detail/{line['execution_id']}"))["data"]
        await ann.post("/resume", decided(line, edited=changed(true, how)))
        late = await mcp.call_tool(
            "gate_result", {"ticket": early.structured_content["ticket"]}, meta=AT_ONCE
        )  # type: ignore[index]
    assert NOTE not in str(late)
    assert CLEAN in words(late)
    assert (late.structured_content or {}).get("content") == (None if how == "text" else CLEAN)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("how", HOWS)
async def test_an_agent_whose_task_it_was_gets_nothing_of_it_of_a_step(api: Api, how: str) -> None:
    agent, ann = await api.agent(), await api.client()
    path, task, line = await paused(api, agent, ann, "look")
    true = (await ann.get(f"/pending-review-detail/{task['id']}"))["data"]
    await ann.post("/resume", decided(line, edited=changed(true, how)))
    await api.gate.play()
    told = await ways(agent, path, await ann.get(path))
    assert NOTE not in str(told)
    assert CLEAN in told[0]["plan"]["steps"][0]["result"]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("how", HOWS)
async def test_a_model_is_told_what_was_released_and_nothing_else(api: Api, how: str) -> None:
    stage = api.gate
    stage.desk.notes["a.md"] = NOTE
    reviewing(api, "desk.look")
    async with thinking(stage, [calls(LOOK), says("done")]) as stub:
        await stage.say("look at a.md")
        ann = await api.client()
        line = await line_of(ann)
        true = (await ann.get(f"/pending-review-detail/{line['execution_id']}"))["data"]
        await ann.post("/resume", decided(line, edited=changed(true, how)))
        await stage.play()
    last = stub.requests[-1]
    assert NOTE not in last.text
    assert CLEAN in last.text


async def test_the_record_has_the_true_result_beside_the_released_one(api: Api) -> None:
    action = await held(api.gate)
    true = await (await api.client()).get(f"/pending-review-detail/{action.id}")
    await judged(api.gate, action, edited=changed(true["data"], "fields"))
    found = await (await api.client()).get(f"/history?execution_id={action.id}")
    (record,) = found["reviews"]
    assert record["original_data"] == true["data"]
    assert json.loads(record["modified_data"]["text"])["content"] == CLEAN
