"""The undo of a call whose result nobody has let out: it may quote that result, and an agent sees it."""

from __future__ import annotations

from typing import Any

import pytest

from gate.rules.action_states import State
from tests.api.api_server import Api, Client
from tests.api.test_api_actions import seen
from tests.api.test_api_events import listening
from tests.api.test_api_result_review import line_of, reviewing
from tests.api.test_api_result_review_steps import GIVEN, SECRETS, paused, ways
from tests.api.test_api_reviews import decided

SHA = SECRETS["write"][
    :12
]  # of what a write of “x” gives, and its undo is called with; a note shows so much of it
WRITE = {"tool": "desk.write", "arguments": {"path": "b.md", "content": "x"}}


async def ran(api: Api, agent: Client, ann: Client) -> str:
    """A call of the agent's that has run, and whose result waits."""
    made = (await agent.post("/actions", WRITE, 201))["action"]
    action = await ann.get(f"/actions/{made['id']}")
    await ann.post(f"/actions/{action['id']}/confirm", seen(action))
    await api.gate.play()
    return str(action["id"])


async def undone(api: Api, agent: Client, ann: Client, action: str) -> list[Any]:
    """All that the agent is told of its undo, from the press of a person to its end."""
    assert (await agent.get(f"/actions/{action}"))["can_undo"]
    await ann.post(f"/actions/{action}/undo", None, 202)
    made = (await ann.get("/actions?state=all"))["actions"][0]
    assert made["id"] != action
    path = f"/actions/{made['id']}"
    told = [await agent.get(path)]
    await api.gate.play()
    told += [
        await agent.get(path),
        await agent.get("/actions?state=all"),
        await agent.get("/audit?limit=100"),
    ]
    async with agent.raw("GET", path, Accept="text/plain") as response:
        told.append(await response.text())
    original = await api.gate.ledger.action(action)
    assert original is not None
    assert SHA in str(original.inverse)
    return told


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("how", ["waits", "release", "edit", "reject"])
async def test_an_agent_is_told_no_more_by_the_undo_than_by_the_call(api: Api, how: str) -> None:
    agent, ann = await api.agent(), await api.client()
    reviewing(api, "desk.write")
    action = await ran(api, agent, ann)
    if how != "waits":
        more = {"edited": {"text": "fine"}} if how == "edit" else {}
        line = await line_of(ann)
        await ann.post("/resume", decided(line, "REJECT" if how == "reject" else "APPROVE", **more))
    told = await undone(api, agent, ann, action)
    assert told[1]["state"] == "succeeded"
    assert (SHA in str(told)) == (how == "release")
    assert told[1]["result_review"] is None


@pytest.mark.parametrize("how", ["edit", "reject"])
async def test_the_undo_of_a_step_tells_an_agent_no_more_than_the_step(api: Api, how: str) -> None:
    agent, ann = await api.agent(), await api.client()
    path, task, line = await paused(api, agent, ann, "write")
    more = {"edited": {"text": "fine"}} if how == "edit" else {}
    await ann.post("/resume", decided(line, "REJECT" if how == "reject" else "APPROVE", **more))
    told = await undone(api, agent, ann, task["plan"]["steps"][0]["action_id"])
    assert SHA not in str([*told, await agent.get(path)])


async def test_an_undo_that_needs_a_confirmation_tells_an_agent_no_more(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    reviewing(api, "desk.write")
    action = await ran(api, agent, ann)
    api.gate.desk.notes["b.md"] = "somebody else's"
    told = await undone(api, agent, ann, action)
    assert told[1]["state"] == "prepared"
    async with listening(agent, since="0") as stream:
        asked = await stream.until("approval_requested")
        while asked["action_id"] != told[1]["id"]:
            asked = await stream.until("approval_requested")
    assert "affected" not in asked["details"]  # names of it may be the result's
    assert SHA not in str([*told, asked])


async def test_what_waits_for_a_review_is_the_call_and_not_its_undo(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    reviewing(api, "desk.write")
    action = await ran(api, agent, ann)
    await ann.post(f"/actions/{action}/undo", None, 202)
    assert (await line_of(ann))["execution_id"] == action
    undo = (await ann.get("/actions?state=all"))["actions"][0]
    assert (undo["id"] != action, undo["status"], undo["result_review"]) == (True, "pending", None)


async def test_an_agent_cannot_withdraw_what_a_person_takes_back(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    action = await ran(api, agent, ann)
    await ann.post(f"/actions/{action}/undo", None, 202)
    undo = (await ann.get("/actions?state=all"))["actions"][0]
    status, problem = await agent.ask("POST", f"/actions/{undo['id']}/cancel")
    assert (status, problem["code"]) == (403, "agents_do_not_decide")
    await api.gate.play()
    assert (await ann.get(f"/actions/{action}"))["state"] == "undone"


ANSWERS = {"says no": State.FAILED, "breaks the line": State.UNKNOWN, "drifts": State.PREPARED}


async def taken_back(api: Api, ann: Client, path: str, answer: str) -> Any:
    """The task after *Undo all*, at whose step the tool quotes what the step gave."""
    secret = SECRETS["write"]
    if answer == "drifts":
        api.gate.desk.notes["b.md"] = "somebody else's"
    api.gate.desk.behave, api.gate.desk.refusal = answer, f"b.md is {secret} no more."
    task = await ann.get(path)
    await ann.post(f"{path}/undo", {"number": task["plan"]["version"]}, 202)
    await api.gate.play()
    assert ANSWERS[answer] in [one.state for one in api.gate.wall.cards.values() if one.undoes]
    return await ann.get(path)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("how", ["waits", "release", "edit", "reject"])
async def test_undo_all_quotes_no_result_that_nobody_has_let_out(api: Api, how: str, answer: str) -> None:
    agent, ann = await api.agent(), await api.client()
    path, _, line = await paused(api, agent, ann, "write")
    if how != "waits":
        more = {"edited": GIVEN} if how == "edit" else {}
        await ann.post("/resume", decided(line, "REJECT" if how == "reject" else "APPROVE", **more))
        await api.gate.play()
    task = await ann.get(path)
    if how == "release":
        await ann.post(f"{path}/continue", {"number": task["asks"]["number"], "how": "continue"})
    else:
        await ann.post(f"{path}/stop")
    await api.gate.play()
    task = await taken_back(api, ann, path, answer)
    told = await ways(agent, path, task)
    said = [note.body for note in api.gate.wall.notes]
    if how != "release":
        assert SECRETS["write"][:12] not in str([*told, *said])
    elif answer == "says no":
        assert SECRETS["write"] in str(said)
