"""Reviews over the API: listed, looked at, decided by one of many, and on record."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from gate.rules.reviews import Phase, Review
from tests.api.api_server import Api, Client
from tests.api.test_api_tasks import planned, seen
from tests.gate.gate_setup import BEN


async def reviewed(api: Api, ann: Client, phase: Phase) -> tuple[Any, Any]:
    """A task that is paused for review at its first step, and its line in the list."""
    world = api.gate.world
    policy = replace(world.policy, reviews=(Review("look", phase, tools=("desk.write",)),))
    api.gate.world = replace(world, policy=policy)
    task = await planned(api, ann, "a.md", "b.md", switches={"approval_mode": "auto"})
    approval = seen(task, decision="approve_all", seal=task["plan"]["seal"])
    await ann.post(f"/tasks/{task['id']}/plan", approval)
    await api.gate.play()
    task = await ann.get(f"/tasks/{task['id']}")
    assert task["status"] == "PAUSED_FOR_REVIEW"
    (line,) = (await ann.get("/pending-review"))["reviews"]
    assert (line["execution_id"], line["trigger_phase"]) == (task["id"], phase.value)
    return task, line


def decided(line: Any, decision: str = "APPROVE", **more: Any) -> dict[str, Any]:
    return {
        **{key: line[key] for key in ("execution_id", "node_id", "version")},
        "decision": decision,
        **more,
    }


# promise: REVIEW-07, REVIEW-21
async def test_inputs_are_edited_looked_at_anew_and_approved(api: Api) -> None:
    ann = await api.client()
    task, line = await reviewed(api, ann, Phase.BEFORE)
    detail = await ann.get(f"/pending-review-detail/{task['id']}")
    assert detail["data"]["path"] == "a.md"
    status, problem = await ann.ask("POST", "/resume", decided(line, edited={"path": 7, "content": "x"}))
    assert (status, problem["errors"][0]["pointer"]) == (422, "/edited/path")
    edited = decided(line, edited={"path": "c.md", "content": "x"})
    assert (await ann.post("/resume", edited))["code"] == "edited"
    await api.gate.play()
    assert (await ann.ask("POST", "/resume", decided(line)))[0] == 409
    (again,) = (await ann.get("/pending-review"))["reviews"]
    await ann.post("/resume", decided(again, comment="that file"))
    await api.gate.play()
    assert "c.md" in api.gate.desk.notes
    (record,) = (await ann.get(f"/history?execution_id={task['id']}"))["reviews"]
    assert (record["original_data"]["path"], record["modified_data"]["path"]) == ("a.md", "c.md")
    assert (record["comment"], record["decision"]) == ("that file", "APPROVE")
    assert (await ann.get("/history"))["reviews"] == [record]


# promise: REVIEW-21
async def test_outputs_are_decided_by_one_of_many(api: Api) -> None:
    ann = await api.client()
    _, line = await reviewed(api, ann, Phase.AFTER)
    answers = await asyncio.gather(
        *(ann.ask("POST", "/resume", decided(line, "REJECT" if n % 2 else "APPROVE")) for n in range(20))
    )
    assert sorted(status for status, _ in answers) == [200] + [409] * 19


async def test_what_is_somebody_elses_does_not_exist_and_agents_do_not_decide(api: Api) -> None:
    ann, ben, agent = await api.client(), await api.client(user=BEN), await api.agent()
    task, line = await reviewed(api, ann, Phase.AFTER)
    for other in (ben, agent):
        assert (await other.get("/pending-review"))["reviews"] == []
        assert (await other.ask("GET", f"/pending-review-detail/{task['id']}"))[0] == 404
        assert (await other.get(f"/history?execution_id={task['id']}"))["reviews"] == []
    assert (await ben.ask("POST", "/resume", decided(line)))[0] == 404
    assert (await agent.ask("POST", "/resume", decided(line)))[0] == 403


async def test_the_decisions_on_one_execution_come_in_pages(api: Api) -> None:
    ann = await api.client()
    task, line = await reviewed(api, ann, Phase.BEFORE)
    await ann.post("/resume", decided(line))
    await api.gate.play()
    (record,) = await api.gate.ledger.reviews.of(api.gate.session.team, task["id"])
    for _ in range(4):
        async with api.gate.ledger.begin() as tx:
            await tx.reviews.save(replace(record, original_data={"text": "x" * 400_000}), api.gate.session)
    path = f"/history?execution_id={task['id']}"
    first = await ann.get(path)
    second = await ann.get(f"{path}&after={first['next']}")
    found = [one["id"] for page in (first, second) for one in page["reviews"]]
    assert (len(first["reviews"]), len(found), second["next"]) == (4, 5, None)
    assert found == sorted(found)
