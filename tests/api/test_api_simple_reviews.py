"""Reviews of a simple request's calls: its task says what it is paused at, and that is found under the task's id."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gate.rules.planner_port import Call, Propose
from gate.rules.reviews import Phase, Review
from tests.api.api_server import Api, Client
from tests.api.test_api_actions import seen
from tests.api.test_api_reviews import decided, reviewed


async def simple(api: Api, ann: Client, phase: Phase, *calls: Call) -> Any:
    """A simple request with these calls, of which those that write wait for a review."""
    world = api.gate.world
    policy = replace(world.policy, reviews=(Review("look", phase, tools=("desk.write",)),))
    api.gate.world = replace(world, policy=policy)
    api.gate.planner.script.append(Propose(calls))
    made = await ann.post("/tasks", {"text": "write", "switches": {"approval_mode": "auto"}}, 201)
    await api.gate.play()
    return await ann.get(f"/tasks/{made['id']}")


def write(path: str) -> Call:
    return Call("desk", "write", {"path": path, "content": "x"})


def paused(one: Any) -> tuple[str, str | None, str | None]:
    return one["status"], one["paused_node_id"], one["paused_phase"]


NOT_PAUSED = (None, None)


# promise: REVIEW-20
async def test_a_simple_request_names_the_call_that_is_reviewed_before_it_runs(api: Api) -> None:
    ann = await api.client()
    task = await simple(api, ann, Phase.BEFORE, write("a.md"))
    path = f"/tasks/{task['id']}"
    detail = await ann.get(f"/pending-review-detail/{task['id']}")
    assert paused(task) == ("PAUSED_FOR_REVIEW", detail["node_id"], "BEFORE_EXECUTION")
    assert detail["data"]["path"] == "a.md"
    assert paused(await ann.get(f"/actions/{detail['execution_id']}"))[1:] == paused(task)[1:]
    await ann.post("/resume", decided({**detail, "execution_id": task["id"]}))
    await api.gate.play()
    assert api.gate.desk.notes == {"a.md": "x"}
    assert paused(await ann.get(path))[1:] == NOT_PAUSED
    assert (await ann.ask("GET", f"/pending-review-detail/{task['id']}"))[0] == 404


async def test_a_simple_request_names_the_call_whose_result_is_reviewed(api: Api) -> None:
    ann, agent = await api.client(), await api.agent()
    task = await simple(api, ann, Phase.AFTER, write("a.md"))
    assert paused(task) == ("waiting_approval", *NOT_PAUSED)
    (waiting,) = task["waiting"]
    action = await ann.get(f"/actions/{waiting}")
    await ann.post(f"/actions/{waiting}/confirm", seen(action))
    await api.gate.play()
    assert paused(await ann.get(f"/tasks/{task['id']}")) == ("PAUSED_FOR_REVIEW", waiting, "AFTER_EXECUTION")
    assert paused(await ann.get(f"/actions/{waiting}")) == ("PAUSED_FOR_REVIEW", waiting, "AFTER_EXECUTION")
    detail = await ann.get(f"/pending-review-detail/{task['id']}")
    assert (detail["node_id"], detail["data"]["exists"]) == (waiting, True)
    assert (await agent.ask("GET", f"/pending-review-detail/{task['id']}"))[0] == 404
    await ann.post("/resume", decided(detail))
    await api.gate.play()
    assert paused(await ann.get(f"/tasks/{task['id']}"))[1:] == NOT_PAUSED


async def test_the_reviewed_call_is_found_behind_one_that_waits_without_a_review(api: Api) -> None:
    ann = await api.client()
    shred = Call("desk", "shred", {"path": "old.md"})
    api.gate.desk.notes["old.md"] = "x"
    task = await simple(api, ann, Phase.BEFORE, shred, write("a.md"))
    assert len(task["waiting"]) == 2
    detail = await ann.get(f"/pending-review-detail/{task['id']}")
    assert paused(task) == ("PAUSED_FOR_REVIEW", detail["node_id"], "BEFORE_EXECUTION")
    assert detail["tool"] == "desk.write"


# promise: REVIEW-04
async def test_of_a_plan_the_paused_node_is_its_step(api: Api) -> None:
    for phase in Phase:
        ann = await api.client()
        task, line = await reviewed(api, ann, phase)
        assert paused(task) == ("PAUSED_FOR_REVIEW", line["node_id"], phase.value)
        assert line["node_id"] == task["plan"]["steps"][0]["id"]
        await ann.post("/resume", decided(line, "REJECT"))
        await api.gate.play()
        assert paused(await ann.get(f"/tasks/{task['id']}"))[1:] == NOT_PAUSED
