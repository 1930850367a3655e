"""What an agent's token is told on every route: what it proposed, and no receipt, no phrase and no seal of that."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from gate.actions import claim_click
from gate.actions.prepare import CallRequest, Prepared, prepare
from gate.actions.reissue import reissue_by_press
from gate.rules.access import TokenKind
from gate.rules.action import Action, Session
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from gate.rules.grants import Grant
from gate.rules.ids import derive_id
from gate.rules.planner_port import Call, CancelPending, Propose, ProposedStep, ProposePlan, Say
from gate.rules.policy import Rule
from gate.rules.reviews import Phase, Review
from gate.rules.task import Assessment, Task
from gate.tasks import control, plan
from handlers.api.route import Route
from handlers.api.routes import ROUTES
from tests.api.api_server import Api, Client
from tests.api.test_api_actions import WRITE as NEW
from tests.api.test_api_events import listening
from tests.api.test_gateway import AT_ONCE, connected
from tests.gate.gate_setup import ANN, BEN, CHANNEL, TEAM
from tests.gate.plan_setup import confirmed, on_pause, on_plan, planned, proposes, write

OWN, OTHERS = "canary-own", ("canary-person", "canary-ben", "canary-agent")
SEEN = {"version": 1, "receipt": "0" * 16}
# What is sent to each route that takes something; the ids are filled in.
BODIES: Mapping[str, Any] = {
    "confirmAction": SEEN,
    "rejectAction": {**SEEN, "reason": "no"},
    "editAction": {**SEEN, "arguments": {"path": "x"}},
    "settleAction": {"happened": True},
    "instructTask": {"instruction": "do more"},
    "decidePlan": {"decision": "approve_all", "number": 1},
    "answerQuestions": {"number": 1},
    "confirmRequirements": {"number": 1, "decision": "confirm"},
    "continueTask": {"number": 1},
    "settleTask": {"number": 1, "verdict": "done"},
    "undoTask": {"number": 1},
}
# They make something new, or are about webhooks, which tests/api/test_api_webhooks.py is about; or are a stream.
ELSEWHERE = {
    "proposeAction",
    "createTask",
    "addWebhook",
    "removeWebhook",
    "rotateWebhook",
    "streamEvents",
    "resumeExecution",
}


@dataclass(frozen=True)
class Proposed:
    """An action that waits for its phrase, and a task whose plan waits, of one maker."""

    action: Action
    task: Task


async def made(api: Api, canary: str, client: Client | None, user: str = ANN) -> Proposed:
    """By an agent over the API; without one, by somebody in Slack."""
    stage = api.gate
    stage.desk.notes[f"{canary}.md"] = "x"
    plan = ProposePlan(
        (ProposedStep(Call("desk", "write", {"path": f"{canary}.md", "content": canary}), canary),)
    )
    if client is None:
        action = await stage.prepare("shred", user, path=f"{canary}.md")
        stage.planner.assessments.append(Assessment(80, 2))
        stage.planner.script.append(plan)
        await stage.say(canary, user, ts=f"19{len(stage.done):08}.000000")
        task = next(one for one in await stage.ledger.tasks_of(stage.session) if one.text == canary)
        return Proposed(action, task)
    sent = {"tool": "desk.shred", "arguments": {"path": f"{canary}.md"}}
    action_id = (await client.post("/actions", sent, 201))["action"]["id"]
    stage.planner.assessments.append(Assessment(80, 2))
    stage.planner.script.append(plan)
    task_id = (await client.post("/tasks", {"text": canary}, 201))["id"]
    await stage.play()
    task = await stage.ledger.task(task_id)
    assert task is not None
    return Proposed(await stage.now(action_id), task)


async def everything(api: Api) -> tuple[Client, Proposed, tuple[Proposed, ...]]:
    """An agent, what it has proposed, and what others have."""
    agent, other = await api.agent(), await api.agent()
    mine = await made(api, OWN, agent)
    person = await made(api, OTHERS[0], None)
    stage = api.gate
    await stage.say("cancel that", BEN)
    ben = Proposed(await stage.prepare("shred", BEN, path=f"{OTHERS[1]}.md"), person.task)
    return agent, mine, (person, ben, await made(api, OTHERS[2], other))


def secrets(*things: Proposed) -> set[str]:
    """What only people are told, each also by its first sixteen characters."""
    found = {one for thing in things for one in (thing.action.receipt, thing.action.phrase)}
    found |= {thing.task.plan.seal for thing in things if thing.task.plan}
    code = {thing.action.phrase.rsplit(" ", 1)[-1] for thing in things}
    assert all(found)
    return {one[:16] if len(one) == 64 else one for one in found} | code


def targets(route: Route, thing: Proposed) -> list[str]:
    """The paths of a route for the action and the task of somebody."""
    if "{id}" not in route.path:
        return [route.path]
    if route.path.startswith("/actions"):
        return [route.path.replace("{id}", thing.action.id)]
    if route.path.startswith("/tasks"):
        return [route.path.replace("{id}", thing.task.id)]
    return [route.path.replace("{id}", one) for one in (thing.action.id, thing.task.id)]


def asked() -> list[Route]:
    return [route for route in ROUTES if route.name not in ELSEWHERE]


async def answer(client: Client, route: Route, path: str) -> tuple[int, str]:
    sent = BODIES.get(route.name, {} if route.method == "POST" else None)
    async with client.raw(route.method, path, sent) as response:
        return response.status, await response.text()


async def test_what_others_asked_for_does_not_exist_for_an_agent(api: Api) -> None:
    agent, mine, others = await everything(api)
    for route, thing in product(asked(), others):
        for path in targets(route, thing):
            status, text = await answer(agent, route, path)
            assert status == 200 if "{id}" not in route.path else status in (403, 404), (path, text)
            assert not any(canary in text for canary in OTHERS), (path, text)
            assert not any(secret in text for secret in secrets(mine, *others)), (path, text)


LISTS = (
    "/actions",
    "/actions?state=all",
    "/tasks?limit=100",
    "/audit?limit=100",
    "/pending-review",
    "/history",
)


async def test_its_lists_hold_what_it_proposed_and_nothing_else(api: Api) -> None:
    agent, mine, others = await everything(api)
    found = {path: str(await agent.get(path)) for path in LISTS}
    assert all(OWN in found[path] for path in LISTS[:3])
    assert not any(canary in str(found) for canary in OTHERS)
    assert not any(secret in str(found) for secret in secrets(mine, *others))


async def test_of_its_own_it_is_told_no_receipt_no_phrase_and_no_seal(api: Api) -> None:
    agent, mine, _ = await everything(api)
    for route in asked():
        for path in targets(route, mine):
            status, text = await answer(agent, route, path)
            assert status < 500, text
            assert not any(secret in text for secret in secrets(mine)), (path, text)
            if route.people_only:
                assert status == 403, (path, text)


async def test_the_text_form_and_the_events_of_an_action_have_no_receipt_and_no_phrase(api: Api) -> None:
    agent, mine, others = await everything(api)
    async with agent.raw("GET", f"/actions/{mine.action.id}", Accept="text/plain") as response:
        text = await response.text()
    assert OWN in text
    async with listening(agent, since="0") as stream:
        events: list[Any] = []
        while len(events) < 3:
            events.append(await stream.next())
        told = f"{text} {events}"
    assert not any(secret in told for secret in secrets(mine, *others))
    assert not any(canary in told for canary in OTHERS)


async def test_no_event_of_the_stream_has_a_receipt_or_a_phrase_for_anybody(api: Api) -> None:
    _, mine, others = await everything(api)
    found = [str(one.body) for one in await api.services.events.after(0, 1000)]
    assert found
    assert not any(secret in body for secret in secrets(mine, *others) for body in found)


async def test_a_ticket_over_mcp_is_valid_for_its_own_token_only(api: Api) -> None:
    agent, mine, others = await everything(api)
    async with connected(agent) as mcp:
        for thing in others:
            for ticket in (thing.action.id, thing.task.id):
                answered = await mcp.call_tool("gate_result", {"ticket": ticket}, meta=AT_ONCE)
                assert "There is no such ticket" in str(answered.content)
        own = await mcp.call_tool("gate_result", {"ticket": mine.action.id}, meta=AT_ONCE)
    assert "It has not run" in str(own.content)
    assert not any(secret in str(own) for secret in secrets(mine))


async def test_people_are_shown_what_their_decisions_have_to_name(api: Api) -> None:
    _, mine, _ = await everything(api)
    ann = await api.client(TokenKind.PERSON, ANN)
    action = await ann.get(f"/actions/{mine.action.id}")
    assert (action["receipt"], action["phrase"]) == (mine.action.receipt, mine.action.phrase)
    assert mine.task.plan is not None
    assert (await ann.get(f"/tasks/{mine.task.id}"))["plan"]["seal"] == mine.task.plan.seal


@pytest.mark.parametrize("where", ["a new thread", "one that both asked in"])
async def test_the_context_of_an_agents_task_and_of_a_persons_do_not_mix(api: Api, where: str) -> None:
    """A planner is told what was said in a thread before: of people nothing for an agent, and the other way round."""
    stage, agent = api.gate, await api.agent()
    stage.planner.script = [Propose((Call("desk", "look", {"path": "a.md"}),))]
    await stage.say("the secret of Ann")
    sent = {"text": "the wish of an agent"}
    if where == "one that both asked in":
        sent["session_id"] = api.open_scene(agent).key
    await agent.post("/tasks", sent, 201)
    await stage.play()
    assert "the secret of Ann" not in str(stage.planner.briefs[-1])
    await stage.say("and another thing")
    assert "the secret of Ann" in str(stage.planner.briefs[-1])
    assert "the wish of an agent" not in str(stage.planner.briefs[-1])


# Grants of its person


async def granted_to_ann(api: Api, session: Session) -> Grant:
    """A grant of Ann's for the tool that the agent calls, in the thread in which it calls it, for any arguments."""
    spec = api.gate.desk.specs_now["write"]
    async with api.gate.ledger.begin() as tx:
        now = await tx.now()
        grant = Grant(
            id="g1", session=session, user=ANN, server="desk", tool="write", patterns=(),
            definition=spec.definition, given_at=now, until=now + timedelta(hours=1),
        )  # fmt: skip
        assert await tx.grants.give(grant)
    return grant


WRITE = Call("desk", "write", {"path": "b.md", "content": "x"})


async def by_action(api: Api, agent: Client, session: Session) -> None:
    sent = {"tool": "desk.write", "arguments": dict(WRITE.args), "session_id": session.key}
    await agent.post("/actions", sent, 201)


async def by_task(api: Api, agent: Client, session: Session) -> None:
    api.gate.planner.script = [Propose((WRITE,))]
    await agent.post("/tasks", {"text": "write it", "session_id": session.key}, 201)


async def by_plan(api: Api, agent: Client, session: Session) -> None:
    api.gate.planner.assessments.append(Assessment(80, 2))
    api.gate.planner.script = [ProposePlan((ProposedStep(WRITE, "one"),))]
    switches = (
        {"plan_approval": False, "approval_mode": "auto"} if agent.token.kind is TokenKind.PERSON else {}
    )
    made = await agent.post(
        "/tasks", {"text": "write it", "session_id": session.key, "switches": switches}, 201
    )
    if not switches:
        await api.gate.play()
        task = await api.gate.ledger.task(made["id"])
        assert task is not None
        await plan.step_by_step(api.gate.world, on_plan(task))


async def by_mcp(api: Api, agent: Client, session: Session) -> None:
    """The thread of its calls is one of its own, in which its person may have granted something, too."""
    async with connected(agent) as mcp:
        await mcp.call_tool("desk__write", dict(WRITE.args), meta=AT_ONCE)


@pytest.mark.parametrize("kind", TokenKind)
@pytest.mark.parametrize("by", [by_action, by_task, by_plan, by_mcp])
async def test_nothing_that_comes_through_a_token_uses_the_grants_of_its_person(
    api: Api, by: Callable[[Api, Client, Session], Awaitable[None]], kind: TokenKind
) -> None:
    """Also where it is a person's own: whatever holds the token is a program, and it may be an agent."""
    stage, client = api.gate, await api.client(kind)
    session = api.open_scene(client)
    if by is by_mcp:
        api.threads.opened.clear()
        session = replace(
            session, thread=await api.threads.open(f"api:{client.token.id}", CHANNEL, client.token, "")
        )
    await granted_to_ann(api, session)
    if session == stage.session:
        assert (await stage.prepare(path="c.md", content="x", key="own")).state is State.SUCCEEDED
    calls = list(stage.desk.calls)
    await by(api, client, session)
    await stage.play()
    assert stage.desk.calls == calls
    (action,) = await stage.ledger.pending(TEAM)
    assert (action.session, action.grant, action.requester) == (session, "", ANN)
    # Hers may, but where a planner may be told what the program asked for.
    assert (await stage.prepare(path="d.md", content="x", key="later")).state is (
        State.SUCCEEDED if by is by_action else State.PREPARED
    )


async def test_an_approval_by_a_grant_does_not_begin_once_its_maker_is_known(api: Api) -> None:
    """Looked at once more when it begins: an approval that was written by an older version does not outlive it."""
    stage, agent = api.gate, await api.agent()
    await granted_to_ann(api, stage.session)
    stage.desk.behave = "absent"
    action = await prepare(stage.world, CallRequest("late", stage.session, ANN, WRITE))
    assert isinstance(action, Prepared)
    assert (action.action.state, action.action.grant) == (State.APPROVED, "g1")
    async with stage.ledger.begin() as tx:
        await tx.record_token(agent.token.id, "late")
    stage.desk.behave = "well"
    await stage.play()
    assert stage.desk.calls == []
    assert (await stage.now("late")).state is State.CANCELLED


async def test_what_a_token_tells_a_task_of_slack_is_not_covered_by_its_persons_grant(api: Api) -> None:
    """The task was asked for in Slack; what comes through the token is a program's all the same."""
    stage, ann = api.gate, await api.client()
    await granted_to_ann(api, stage.session)
    auto = {"plan_approval": False, "approval_mode": "auto"}
    task = await planned(stage, write("b.md", ask=True), write("c.md"), **auto)
    stage.planner.script.append(proposes(write("of-the-token.md")))
    await ann.ask("PATCH", f"/tasks/{task.id}", {"instruction": "write of-the-token.md instead"})
    await confirmed(stage)
    (action,) = await stage.ledger.pending(TEAM)
    assert (action.preview.summary, action.grant) == ("Write of-the-token.md", "")


@pytest.mark.parametrize("renewals", [0, 1, 2])
async def test_a_plain_yes_confirms_nothing_that_an_agent_asked_for(api: Api, renewals: int) -> None:
    """It may have put its card between a question and the answer to it; *Ask again* makes it nobody else's."""
    stage, agent = api.gate, await api.agent()
    api.open_scene(agent)
    stage.planner.script = [Say("hi")]
    await stage.say("hello", ts="1700000100.000000")
    sent = {"tool": "desk.write", "arguments": dict(WRITE.args), "session_id": stage.session.key}
    await agent.post("/actions", sent, 201)
    await stage.play()
    for _ in range(renewals):
        (action,) = await stage.ledger.pending(TEAM)
        stage.travel(1000)
        await stage.play(timers=True)
        await reissue_by_press(stage.world, stage.press(await stage.now(action.id)))
        await stage.play()
    await stage.say("yes", mentioned=False, ts="4100000200.000000")
    assert stage.desk.calls == []
    assert "what an agent asked for" in stage.texts[-1]
    (action,) = await stage.ledger.pending(TEAM)
    assert (await agent.get(f"/actions/{action.id}"))["id"] == action.id


async def asked_again(api: Api, agent: Client, name: str) -> Action:
    """A call of an agent's task, as its person asks it again once it has expired and the task is over."""
    stage = api.gate
    stage.planner.script = [Propose((write(name).call,)), Say("done")]
    sent = {"text": f"write {name}", "session_id": stage.session.key}
    await agent.post("/tasks", sent, 201)
    await stage.play()
    (action,) = [one for one in await stage.ledger.pending(TEAM) if name in one.preview.summary]
    stage.travel(1000)
    await stage.play(timers=True)
    assert (await reissue_by_press(stage.world, stage.press(await stage.now(action.id)))).ok
    await stage.play()
    return await stage.now(derive_id("renew", action.id))


async def test_a_plain_yes_confirms_no_call_of_an_agents_task_that_is_asked_again(api: Api) -> None:
    stage, agent = api.gate, await api.agent()
    api.open_scene(agent)
    stage.planner.script = [Say("hi")]
    await stage.say("hello", ts="1700000100.000000")
    fresh = await asked_again(api, agent, "a.md")
    assert (fresh.state, fresh.task) == (State.PREPARED, "")
    await stage.say("yes", mentioned=False, ts="4100000200.000000")
    assert stage.desk.calls == []
    assert "what an agent asked for" in stage.texts[-1]


async def test_what_is_asked_again_of_an_agents_task_leaves_room_for_the_actions_of_its_person(
    api: Api,
) -> None:
    stage, agent = api.gate, await api.agent()
    api.open_scene(agent)
    stage.world = replace(stage.world, limits=replace(stage.world.limits, pending_per_user=2))
    fresh = await asked_again(api, agent, "a.md")
    assert (fresh.state, fresh.task) == (State.PREPARED, "")
    assert (await agent.ask("POST", "/actions", NEW))[0] == 422
    assert isinstance(await prepare(stage.world, CallRequest("hers", stage.session, ANN, WRITE)), Prepared)


async def test_only_of_what_is_stored_is_it_noted_who_proposed_it(api: Api) -> None:
    agent = await api.agent()
    api.gate.desk.notes["a.md"] = "read"
    look = {"tool": "desk.look", "arguments": {"path": "a.md"}}
    for number in range(3):
        await agent.post("/actions", look, 201)
        await agent.post("/actions", {"tool": f"desk.nothing{number}", "arguments": {}}, 422)
    action = (await agent.post("/actions", NEW, 201))["action"]
    task = await agent.post("/tasks", {"text": "list files"}, 201)
    lines = await api.gate.ledger.audit_tail(team=TEAM, limit=50)
    ids = {line.entry.action for line in lines} | {task["id"]}
    assert len(ids - {""}) == 8
    assert set(await api.services.tokens.makers(ids)) == {action["id"], task["id"]}


async def test_an_agents_task_is_told_of_and_withdraws_nothing_that_is_not_its_own(api: Api) -> None:
    """Its answer is told to the agent, and the token may withdraw nothing else over the API, either."""
    ann, agent, other = await api.client(), await api.agent(), await api.agent()
    task = await agent.post("/tasks", {"text": "hello"}, 201)
    await api.gate.play(timers=True)
    theirs = (await other.post("/actions", NEW, 201))["action"]
    hers = (await ann.post("/actions", {**NEW, "session_id": task["session_id"]}, 201))["action"]
    seen = list[Sequence[Action]]()
    reply = api.gate.planner.reply

    async def replied(turn: Any, brief: Any, pending: Sequence[Action]) -> Any:
        seen.append(pending)
        return await reply(turn, brief, pending)

    api.gate.planner.reply = replied  # type: ignore[method-assign]
    for one in (hers, theirs):
        api.gate.planner.script = [CancelPending(one["id"]), Say("withdrew it")]
        sent = {"text": "withdraw all that waits here", "session_id": task["session_id"]}
        await agent.post("/tasks", sent, 201)
        await api.gate.play(timers=True)
        assert (await ann.get(f"/actions/{one['id']}"))["state"] == "prepared"
    assert seen
    assert not any(seen)


async def test_an_agents_task_is_told_of_and_withdraws_no_undo_that_its_person_asked_for(api: Api) -> None:
    stage = api.gate
    stage.planner.script = [Propose((Call("desk", "write", {"path": "a.md", "content": "x"}),)), Say("done")]
    agent, ann = await api.agent(), await api.client()
    task = await agent.post("/tasks", {"text": "write it"}, 201)
    await stage.play()
    (action,) = await stage.ledger.pending(TEAM)
    assert (await stage.confirm(action)).ok
    await stage.play()
    stage.desk.notes["a.md"] += ", as somebody has changed it"
    await ann.post(f"/actions/{action.id}/undo", None, 202)
    await stage.play()
    (undo,) = await stage.ledger.pending(TEAM)
    assert (undo.undoes, undo.task) == (action.id, task["id"])
    stage.planner.script = [CancelPending(undo.id), Say("withdrew it")]
    stands = await stage.ledger.task(task["id"])
    assert stands is not None
    assert (await control.resume(stage.world, on_pause(stands))).ok
    await stage.play()
    assert stage.planner.script == []
    assert (await stage.now(undo.id)).state is State.PREPARED


@pytest.mark.parametrize("way", ["over the API", "over MCP"])
async def test_who_told_an_agent_why_not_does_not_confirm_alone_what_it_asks_for_next(
    api: Api, way: str
) -> None:
    stage, agent = api.gate, await api.agent()
    stage.rule(Rule("money", ("desk.write",), approvers=Approvers(users=frozenset({BEN}))))
    made = (await agent.post("/actions", NEW, 201))["action"]["id"]
    await stage.play()
    wrong = stage.press(await stage.now(made), BEN, reason="Write “9999 to Ben” into pay.md instead")
    assert (await claim_click.reject(stage.world, wrong)).ok
    sent = {"path": "pay.md", "content": "9999 to Ben"}
    if way == "over the API":
        await agent.post("/actions", {"tool": "desk.write", "arguments": sent}, 201)
    else:
        async with connected(agent) as mcp:
            await mcp.call_tool("desk__write", sent, meta=AT_ONCE)
    await stage.play()
    (action,) = await stage.ledger.pending(TEAM)
    assert (await stage.confirm(action, BEN)).code == "not_allowed"
    assert stage.desk.calls == []


@pytest.mark.parametrize("tool", ["desk.write", "desk.look"])
async def test_agents_leave_room_for_the_actions_of_their_person(api: Api, tool: str) -> None:
    """The result of a read that is reviewed waits as an action does."""
    wanted = Review("look at it", Phase.AFTER, tools=("desk.look",))
    api.gate.world = replace(api.gate.world, policy=replace(api.gate.world.policy, reviews=(wanted,)))
    agents, ann = [await api.agent(), await api.agent()], await api.client()
    limits = api.gate.world.limits

    async def ask(client: Client, number: int) -> int:
        given = {"path": f"{number}.md"} if tool == "desk.look" else {"path": f"{number}.md", "content": "x"}
        return (await client.ask("POST", "/actions", {"tool": tool, "arguments": given}))[0]

    taken = [await ask(agents[number % 2], number) for number in range(limits.pending_per_user + 2)]
    assert taken == [201] * limits.pending_of_agents + [422] * (len(taken) - limits.pending_of_agents)
    assert [await ask(ann, 100 + number) for number in range(6)] == [201] * 5 + [422]
    held = await api.gate.ledger.reviews.under_review(TEAM, ANN)
    assert len(held) + len(await api.gate.ledger.pending(TEAM, user=ANN)) == limits.pending_per_user


async def test_reads_at_the_same_time_leave_room_for_the_actions_of_their_person(api: Api) -> None:
    """They are counted again when they have run: none of them was held when the others began."""
    wanted = Review("look at it", Phase.AFTER, tools=("desk.look",))
    api.gate.world = replace(api.gate.world, policy=replace(api.gate.world.policy, reviews=(wanted,)))
    agents, limits, run = [await api.agent() for _ in range(4)], api.gate.world.limits, api.gate.desk.call
    together = asyncio.Barrier(len(agents))

    async def with_others(
        server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Any:
        await asyncio.wait_for(together.wait(), 5)
        return await run(server, tool, args, seconds, definition)

    api.gate.world = replace(api.gate.world, limits=replace(limits, pending_per_user=4))
    api.gate.desk.call = with_others  # type: ignore[method-assign]
    asked = [
        agent.ask("POST", "/actions", {"tool": "desk.look", "arguments": {"path": "a.md"}})
        for agent in agents
    ]
    assert sorted(status for status, _ in await asyncio.gather(*asked)) == [201, 201, 422, 422]
    assert len(await api.gate.ledger.reviews.under_review(TEAM, ANN)) == 2


async def test_the_tasks_of_agents_leave_room_for_the_actions_of_their_person(api: Api) -> None:
    """What the planner proposes in a task that an agent's token opened is the agents'."""
    agent, stage = await api.agent(), api.gate
    stage.world = replace(stage.world, limits=replace(stage.world.limits, pending_per_user=4))
    for name in ("a.md", "b.md", "c.md"):
        stage.planner.script.append(Propose((write(name).call,)))
        await agent.post("/tasks", {"text": f"write {name}"}, 201)
        await stage.play()
    assert len(await stage.ledger.pending(TEAM, user=ANN)) == 2
    assert isinstance(await prepare(stage.world, CallRequest("hers", stage.session, ANN, WRITE)), Prepared)


async def test_agents_leave_room_for_the_tasks_of_their_person(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    most = api.gate.world.limits.requests_of_agents
    taken = [await agent.ask("POST", "/tasks", {"text": f"list {number}"}) for number in range(most + 2)]
    assert [status for status, _ in taken] == [201] * most + [429] * 2
    assert "left for the person" in taken[-1][1]["detail"]
    await ann.post("/tasks", {"text": "list mine"}, 201)
