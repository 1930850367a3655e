"""What a step of a plan gave and a person has to look at, by every way in which an agent could get it before."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from gate.rules.access import Token, TokenKind
from gate.rules.planner_port import Call, ProposedStep, ProposePlan
from gate.rules.reviews import Phase, Review
from gate.rules.task import Assessment
from gate.tasks import control, step_check
from handlers.api import action_responses
from handlers.api.actions import redacted
from tests.api.api_server import Api, Client
from tests.api.test_api_events import listening
from tests.api.test_api_reviews import decided
from tests.api.test_api_tasks import in_mode, seen
from tests.api.test_gateway import AT_ONCE, connected, status, words
from tests.gate.fake_tools import answer
from tests.gate.gate_setup import ANN, CLEO, TEAM
from tests.gate.plan_setup import on_pause
from tests.gate.tasks.test_task_approval_modes import slowly

NOTE = "a note that nobody may have"
CALLS = {
    "look": Call("desk", "look", {"path": "a.md"}),
    "write": Call("desk", "write", {"path": "b.md", "content": "x"}),
}
# What the first call gives, and nothing else tells: of a write the hash of what is there now.
SECRETS = {"look": NOTE, "write": hashlib.sha256(b"x").hexdigest()}
GIVEN = {"text": "", "exists": True, "sha": "other", "content": "nothing to see"}


def reviewing(api: Api, *tools: str) -> None:
    reviews = (Review("look", Phase.AFTER, tools=tools),) if tools else ()
    api.gate.world = replace(api.gate.world, policy=replace(api.gate.world.policy, reviews=reviews))


async def begun(
    api: Api, agent: Client, ann: Client, first: str, mode: str = "manual", **switches: Any
) -> tuple[str, Any]:
    """An agent's task of two calls whose plan is approved, as far as it goes: its path, and how Ann sees it."""
    api.gate.desk.notes["a.md"] = NOTE
    then = Call("desk", "write", {"path": "c.md", "content": "y"})
    api.gate.planner.assessments.append(Assessment(80, 2))
    api.gate.planner.script.append(
        ProposePlan((ProposedStep(CALLS[first], "one"), ProposedStep(then, "two")))
    )
    made = await agent.post("/tasks", {"text": "do it", "switches": switches}, 201)
    await api.gate.play()
    await in_mode(api, made["id"], mode)
    path = f"/tasks/{made['id']}"
    task = await ann.get(path)
    await ann.post(f"{path}/plan", seen(task, decision="approve_all", seal=task["plan"]["seal"]))
    await api.gate.play()
    return path, await ann.get(path)


async def paused(api: Api, agent: Client, ann: Client, first: str) -> tuple[str, Any, Any]:
    """The same, where the operator wants the first step reviewed; with its line in the list."""
    reviewing(api, f"desk.{first}")
    path, task = await begun(api, agent, ann, first, review="none")
    assert task["status"] == "PAUSED_FOR_REVIEW"
    (line,) = (await ann.get("/pending-review"))["reviews"]
    return path, task, line


async def ways(agent: Client, path: str, task: Any) -> list[Any]:
    """All that the API tells the agent of it."""
    found = [await agent.get(one) for one in (path, "/tasks", "/actions?state=all", "/audit?limit=100")]
    found.append(await agent.get(f"/history?execution_id={task['id']}"))
    found.append(await agent.ask("GET", f"/pending-review-detail/{task['id']}"))
    for action in filter(None, (step["action_id"] for step in task["plan"]["steps"])):
        found.append(await agent.get(f"/actions/{action}"))
        async with agent.raw("GET", f"/actions/{action}", Accept="text/plain") as response:
            found.append(await response.text())
    return found


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("first", "how", "word"),
    [("look", "release", "released"), ("write", "edit", "edited"), ("write", "reject", "rejected")],
)
async def test_an_agent_gets_what_a_step_gave_as_a_person_lets_it_out(
    api: Api, first: str, how: str, word: str
) -> None:
    agent, ann = await api.agent(), await api.client()
    path, task, line = await paused(api, agent, ann, first)
    secret = SECRETS[first]
    told = await ways(agent, path, task)
    assert secret not in str(told)
    assert told[0]["plan"]["steps"][0]["result_review"] == "waiting"
    assert "waits for U_ANN to review it" in told[0]["asks"]["text"]
    if first == "write":  # its action is told as one outside of plans
        (its,) = told[2]["actions"]
        assert (its["status"], its["result_review"]) == ("PAUSED_FOR_REVIEW", "waiting")
        assert (its["outcome"]["text"], its["outcome"]["result"]) == ("", None)
    more = {"edited": GIVEN} if how == "edit" else {}
    await ann.post("/resume", decided(line, "REJECT" if how == "reject" else "APPROVE", **more))
    await api.gate.play()
    told = await ways(agent, path, await ann.get(path))
    assert (secret in str(told)) == (how == "release")
    assert ("nothing to see" in str(told)) == (how == "edit")
    step = told[0]["plan"]["steps"][0]
    assert (step["result_review"], step["result_reviewed_by"]) == (word, "U_ANN")


async def test_people_who_may_decide_see_an_unreleased_result(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    path, task, _ = await paused(api, agent, ann, "write")
    action = task["plan"]["steps"][0]["action_id"]
    for one in (path, f"/actions/{action}", f"/pending-review-detail/{task['id']}"):
        assert SECRETS["write"] in str(await ann.get(one))


async def test_no_event_has_an_unreleased_result(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    await paused(api, agent, ann, "write")
    found: list[Any] = []
    async with listening(agent, since="0") as stream:
        while not found or found[-1]["type"] != "workflow_paused":
            found.append(await stream.next())
    _, asked = [one for one in found if one["type"] == "approval_requested"]  # the plan comes first
    assert asked["reason"] == "A person is to look at what it gave."
    assert SECRETS["write"] not in str(found)


async def test_the_gateway_has_no_ticket_for_a_step(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    _, task, _ = await paused(api, agent, ann, "write")
    ticket = {"ticket": task["plan"]["steps"][0]["action_id"]}
    async with connected(agent) as mcp:
        result = await mcp.call_tool("gate_result", ticket, meta=AT_ONCE)
    assert (status(result), SECRETS["write"] in words(result)) == ("no_ticket", False)


async def test_a_stop_releases_no_result(api: Api) -> None:
    """An agent may stop its task, and so must not get by that what a person has to look at."""
    agent, ann = await api.agent(), await api.client()
    path, task, _ = await paused(api, agent, ann, "look")
    assert (await agent.post(f"{path}/stop"))["state"] == "stopped_by_user"
    await api.gate.play()
    told = await ways(agent, path, task)
    assert NOTE not in str(told)
    assert told[0]["plan"]["steps"][0]["result_review"] == "dropped"


@pytest.mark.parametrize("mode", ["manual", "auto"])
async def test_a_stop_during_the_call_releases_no_result(api: Api, mode: str) -> None:
    agent, ann = await api.agent(), await api.client()
    reviewing(api, *(["desk.write"] if mode == "auto" else []))
    api.gate.desk.gate = asyncio.Event()
    work = asyncio.create_task(begun(api, agent, ann, "write", mode=mode))
    await asyncio.wait_for(api.gate.desk.entered.wait(), 30)
    (task,) = (await agent.get("/tasks"))["tasks"]
    await agent.post(f"/tasks/{task['id']}/stop")
    api.gate.desk.gate.set()
    path, task = await work
    assert task["state"] == "stopped_by_user"
    assert SECRETS["write"] not in str(await ways(agent, path, task))
    assert SECRETS["write"] in str(await ann.get(path))


async def test_a_result_that_is_not_trusted_is_not_told(api: Api) -> None:
    """The step counts as failed; its tool has said that it went well, and nobody has let out what it gave."""
    agent, ann = await api.agent(), await api.client()
    failed = answer({"sha": SECRETS["write"], "error": f"no room for {SECRETS['write']}"})
    api.gate.desk._change = lambda tool, given: failed  # type: ignore[method-assign]
    path, task = await begun(api, agent, ann, "write")
    assert (task["asks"]["kind"], task["plan"]["steps"][0]["state"]) == ("pause", "failed")
    assert SECRETS["write"] in task["reason"]
    told = await ways(agent, path, task)
    async with listening(agent, since="0") as stream:
        told += [await stream.until("approval_requested") for _ in ("the plan", "the result")]
    assert told[-1]["subtask_id"] == task["plan"]["steps"][0]["id"]
    assert SECRETS["write"] not in str(told)
    assert "Nobody has released what it gave" in told[0]["reason"]
    before = task["plan"]["steps"][0]["action_id"]
    await ann.post(f"{path}/continue", seen(task, how="retry"))
    await api.gate.play()
    assert SECRETS["write"] not in str(await agent.get(f"/actions/{before}"))


async def test_what_is_shown_for_a_moment_is_not_told_in_it(api: Api) -> None:
    """Somebody may hold it, and reject it then."""
    agent, ann = await api.agent(), await api.client()
    slowly(api.gate)
    api.gate.desk.read_nothing_back()
    path, task = await begun(api, agent, ann, "write", mode="auto")
    now = await api.gate.ledger.task(task["id"])
    assert now is not None
    assert step_check.has_review_timeout(now)
    assert SECRETS["write"] not in str(await ways(agent, path, task))
    assert (await control.hold(api.gate.world, on_pause(now))).ok
    assert SECRETS["write"] not in str(await ways(agent, path, task))
    await ann.post(f"{path}/continue", seen(task))
    await api.gate.play()
    assert SECRETS["write"] in str(await ways(agent, path, task))


async def test_what_nobody_has_to_look_at_is_told_at_once(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    path, task = await begun(api, agent, ann, "look", mode="auto")
    told = await agent.get(path)
    assert NOTE in told["plan"]["steps"][0]["result"]
    assert told["plan"]["steps"][0]["result_review"] is None
    assert task["plan"]["steps"][0]["result"] == told["plan"]["steps"][0]["result"]


async def test_of_people_an_approver_is_not_told_what_nobody_has_let_out_of_a_step(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    _, task = await begun(api, agent, ann, "write")
    assert task["status"] == "PAUSED_FOR_REVIEW"
    action = await api.gate.ledger.action(task["plan"]["steps"][0]["action_id"])
    assert action is not None
    since = action.created_at
    for user, told in ((ANN, True), (CLEO, False)):
        token = Token("t", TokenKind.PERSON, "t", action.session.team, user, (), since, since)
        (shown,) = await redacted(SimpleNamespace(token=token, world=api.gate.world), [action])  # type: ignore[arg-type]
        assert (SECRETS["write"] in str(action_responses.action(token, shown))) is told


@pytest.mark.parametrize("first", ["look", "write"])
async def test_the_log_keeps_nothing_of_what_a_reviewed_step_gave_before_and_after_a_rejection(
    api: Api, first: str
) -> None:
    agent, ann = await api.agent(), await api.client()
    _, _, line = await paused(api, agent, ann, first)
    assert SECRETS[first] not in repr(await api.gate.ledger.audit_tail(team=TEAM, limit=1000))
    await ann.post("/resume", decided(line, "REJECT"))
    await api.gate.play()
    assert SECRETS[first] not in repr(await api.gate.ledger.audit_tail(team=TEAM, limit=1000))
