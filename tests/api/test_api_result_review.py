"""A result that is held for its review, as agents over HTTP and over MCP get it: only what a person lets out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gate.actions import result_review
from gate.rules.approvers import Approvers
from gate.rules.planner_port import Call, Propose, Say
from gate.rules.policy import Rule
from gate.rules.reviews import Phase, Review
from gate.rules.task_states import TaskState
from gate.tasks import control
from tests.api.api_server import Api, Client
from tests.api.test_api_actions import WRITE, proposed, seen
from tests.api.test_api_reviews import decided
from tests.api.test_gateway import AT_ONCE, ERAS, called, confirmed, connected, status, ticket_for, words
from tests.gate.gate_setup import BEN, CLEO, TEAM
from tests.gate.plan_setup import on_pause

SECRET = "hello"  # what `called` writes, and the desk gives back


def reviewing(api: Api, *tools: str) -> None:
    world = api.gate.world
    policy = replace(world.policy, reviews=(Review("look", Phase.AFTER, tools=tools or ("desk.*",)),))
    api.gate.world = replace(world, policy=policy)


async def line_of(ann: Client) -> Any:
    """What waits for Ann's review."""
    (line,) = (await ann.get("/pending-review"))["reviews"]
    assert line["trigger_phase"] == "AFTER_EXECUTION"
    return line


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("answer", ["release", "edit", "reject"])
async def test_a_client_of_the_gateway_gets_what_a_person_lets_out(api: Api, mode: str, answer: str) -> None:
    reviewing(api)
    ann = await api.client()
    async with connected(await api.agent(), mode) as mcp:
        ticket = await ticket_for(mcp)
        await confirmed(api)
        asked = {"ticket": ticket}
        first = await mcp.call_tool("gate_result", asked, meta=AT_ONCE)
        assert "What it gave is not here yet: it waits in Slack for U_ANN" in words(first)
        assert (status(first), first.is_error, SECRET in str(first)) == ("review", False, False)
        again = await called(mcp, meta=AT_ONCE)  # the same call joins the one that waits
        assert again.structured_content == first.structured_content
        more: dict[str, Any] = {"edited": {"text": "fine", "sha": "s"}} if answer == "edit" else {}
        decision = "REJECT" if answer == "reject" else "APPROVE"
        await ann.post("/resume", decided(await line_of(ann), decision, comment="because", **more))
        last = await mcp.call_tool("gate_result", asked, meta=AT_ONCE)
    assert [tool for tool, _ in api.gate.desk.calls] == ["write"]
    assert words(last).startswith("It ran, confirmed by U_ANN. U_ANN has")
    assert (last.is_error, SECRET in str(last)) == (answer == "reject", answer == "release")
    if answer == "edit":
        assert last.structured_content == {"sha": "s"}
        assert "changed it: what follows is theirs" in words(last)
    if answer == "reject":
        assert "dropped, and nothing of it is told here" in words(last)
        assert "Their reason: “because”" in words(last)


@pytest.mark.parametrize("mode", ERAS)
async def test_a_held_call_waits_on_the_line_until_the_result_is_released(api: Api, mode: str) -> None:
    reviewing(api, "desk.look")
    api.gate.desk.notes["a.md"] = SECRET
    ann = await api.client()
    async with connected(await api.agent(), mode) as mcp:
        early = await mcp.call_tool("desk__look", {"path": "a.md"}, meta=AT_ONCE)
        assert (status(early), SECRET in str(early)) == ("review", False)
        reads = api.gate.desk.reads
        await ann.post("/resume", decided(await line_of(ann)))
        late = await mcp.call_tool("gate_result", {"ticket": early.structured_content["ticket"]})  # type: ignore[index]
    assert words(late).startswith("It ran. U_ANN has reviewed its result and let it out.")
    assert late.structured_content is not None
    assert late.structured_content["content"] == SECRET
    assert api.gate.desk.reads == reads


async def test_an_agent_sees_nothing_of_it_in_any_answer_of_the_api(api: Api) -> None:
    reviewing(api, "desk.look")
    api.gate.desk.notes["a.md"] = SECRET
    ann, agent = await api.client(), await api.agent()
    call = {"tool": "desk.look", "arguments": {"path": "a.md"}}
    made = (await agent.post("/actions", call, 201))["action"]
    assert (made["status"], made["result_review"], made["outcome"]["text"]) == (
        "PAUSED_FOR_REVIEW",
        "waiting",
        "",
    )
    seen = [await agent.get(f"/actions/{made['id']}"), await agent.get("/actions"), await agent.get("/audit")]
    status_, problem = await agent.ask("GET", f"/pending-review-detail/{made['id']}")
    assert (status_, problem["code"]) == (403, "not_yet")
    assert (await ann.get(f"/pending-review-detail/{made['id']}"))["data"]["content"] == SECRET
    await ann.post("/resume", decided(await line_of(ann), "REJECT"))
    seen += [
        await agent.get(f"/actions/{made['id']}"),
        await agent.get(f"/history?execution_id={made['id']}"),
    ]
    assert SECRET not in str(seen)
    assert (seen[3]["result_review"], seen[3]["result_reviewed_by"]) == ("rejected", "U_ANN")
    assert (await ann.get(f"/history?execution_id={made['id']}"))["reviews"][0]["original_data"][
        "content"
    ] == SECRET


# promise: REVIEW-23
async def test_who_comes_second_over_the_api_gets_409_and_a_sentence(api: Api) -> None:
    reviewing(api, "desk.look")
    api.gate.desk.notes["a.md"] = SECRET
    ann, agent = await api.client(), await api.agent()
    await agent.post("/actions", {"tool": "desk.look", "arguments": {"path": "a.md"}}, 201)
    line = await line_of(ann)
    await ann.post("/resume", decided(line))
    got, problem = await ann.ask("POST", "/resume", decided(line, "REJECT"))
    assert (got, problem["detail"]) == (409, "U_ANN has released its result already.")


@pytest.mark.parametrize(("decision", "told"), [("APPROVE", False), ("REJECT", True)])
async def test_an_agent_is_told_a_comment_only_where_its_window_says_so(
    api: Api, decision: str, told: bool
) -> None:
    reviewing(api, "desk.look")
    ann, agent = await api.client(), await api.agent()
    call = {"tool": "desk.look", "arguments": {"path": "a.md"}}
    made = (await agent.post("/actions", call, 201))["action"]
    more = {} if told else {"edited": {"text": "fine", "exists": True, "sha": "s", "content": ""}}
    await ann.post("/resume", decided(await line_of(ann), decision, comment="I took out a name", **more))
    for client, hears in ((agent, told), (ann, True)):
        for path in (f"/history?execution_id={made['id']}", "/audit"):
            assert ("I took out a name" in str(await client.get(path))) == hears


async def test_of_people_only_who_may_release_a_result_reads_what_is_held_or_rejected(api: Api) -> None:
    """Others may have said yes to the call, and see the action."""
    api.gate.rule(
        Rule("two others", ("desk.write",), approvers=Approvers(needed=2)), admins=frozenset({CLEO})
    )
    reviewing(api, "desk.write")
    ann, ben, cleo = await api.client(), await api.client(user=BEN), await api.client(user=CLEO)
    action = await proposed(api, ann, {**WRITE, "arguments": {"path": "a.md", "content": SECRET}})
    for voter in (ben, cleo):
        await voter.post(f"/actions/{action['id']}/confirm", seen(action))
    await api.gate.play()
    path = f"/pending-review-detail/{action['id']}"
    code, held = await ben.ask("GET", path)
    assert (code, held["code"]) == (403, "not_yet")
    assert SECRET in str(await cleo.get(path))
    await ann.post("/resume", decided(await line_of(ann), "REJECT"))
    past = [await client.get(f"/history?execution_id={action['id']}") for client in (ben, cleo, ann)]
    assert [len(one["reviews"]) for one in past] == [1, 1, 1]
    assert [SECRET in str(one) for one in past] == [False, True, True]


@pytest.mark.parametrize("reviewed", ["changed", "rejected"])
async def test_a_changed_or_rejected_result_stays_so_where_its_task_then_goes_on(
    api: Api, reviewed: str
) -> None:
    """Every step of the agent's task waits for a person: who lets it go on has not let out the true result."""
    reviewing(api, "desk.write")
    agent, stage = await api.agent(), api.gate
    stage.planner.script += [
        Propose((Call("desk", "write", {"path": "a.md", "content": SECRET}),)),
        Say("done"),
    ]
    made = await agent.post("/tasks", {"text": "write it"}, 201)
    await stage.play()
    (action,) = await stage.ledger.pending(TEAM)
    assert (await stage.confirm(action)).ok
    await stage.play()
    press = stage.press(await stage.now(action.id))
    if reviewed == "changed":
        assert (await result_review.approve(stage.world, press, {"text": "fine"})).ok
    else:
        assert (await result_review.reject(stage.world, press)).ok
    await stage.play()
    path = f"/actions/{action.id}"
    before = await agent.get(path)
    assert SECRET not in str(before["outcome"])
    task = await stage.ledger.task(made["id"])
    assert task is not None
    if task.state is TaskState.PAUSED:
        assert (await control.resume(stage.world, on_pause(task))).ok
        await stage.play()
    assert await agent.get(path) == before
    ended = await stage.ledger.task(made["id"])
    turn = await stage.ledger.turn(ended.turn) if ended else None
    assert turn is not None
    assert SECRET not in str([exchange.reports for exchange in turn.exchanges])
    (step,) = (await agent.get(f"/tasks/{made['id']}"))["plan"]["steps"]
    assert SECRET not in str(step["result"])
