"""What a person typed into a private step of an agent's task, by every way in which the agent could get it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from bot.job_routes import jobs
from bot.wiring import KEEP_INBOX
from gate.actions import claim_click, reissue, undo
from gate.rules.action import Action, CallClass
from gate.rules.action_states import State
from gate.rules.canonical_json import stored_args
from gate.rules.events import of_action
from gate.rules.plan_changes import StepChange
from gate.rules.planner_port import Call, Propose, ProposedStep, ProposePlan, Say
from gate.rules.policy import Rule
from gate.rules.reviews import Phase, Review
from gate.rules.task import Assessment, Task
from gate.tasks import control
from gate.tasks import plan as flow
from tests.api.api_server import Api, Client
from tests.api.test_api_actions import WRITE, seen
from tests.api.test_api_events import listening
from tests.api.test_api_result_review_steps import ways
from tests.api.test_gateway import AT_ONCE, connected
from tests.gate.gate_setup import ANN, TEAM
from tests.gate.plan_setup import on_pause, on_plan, proposes, waiting, write
from views.card import card

TYPED = "Ben earns 98,000, as typed"
CHANGED = (StepChange("s1", 1, args={"path": "hr/x.md", "content": TYPED}), StepChange("s2", 2))


async def planned(api: Api, agent: Client) -> str:
    """The id of an agent's task whose plan writes a letter and a note."""
    api.gate.planner.assessments.append(Assessment(80, 2))
    calls = [Call("desk", "write", {"path": path, "content": "?"}) for path in ("hr/x.md", "a.md")]
    api.gate.planner.script.append(ProposePlan(tuple(ProposedStep(one, "write") for one in calls)))
    made = await agent.post("/tasks", {"text": "do it"}, 201)
    return str(made["id"])


async def now(api: Api, task_id: str) -> Task:
    """The task once nothing runs."""
    await api.gate.play()
    task = await api.gate.ledger.task(task_id)
    assert task is not None
    return task


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("reviewed", [None, Phase.BEFORE, Phase.AFTER], ids=str)
async def test_an_agent_is_told_nothing_of_what_its_person_typed_into_a_private_step(
    api: Api, reviewed: Phase | None
) -> None:
    stage = api.gate
    stage.rule(Rule("letters are private", ("desk.write",), texts=(r"^hr/",), private=True))
    reviews = (Review("look", reviewed, tools=("desk.write",)),) if reviewed else ()
    stage.world = replace(stage.world, policy=replace(stage.world.policy, reviews=reviews))
    agent, ann = await api.agent(), await api.client()
    made = await planned(api, agent)
    path = f"/tasks/{made}"

    async def told() -> str:
        return repr(await ways(agent, path, await ann.get(path)))

    assert (await flow.modify(stage.world, on_plan(await now(api, made)), CHANGED)).ok
    assert TYPED not in await told()
    assert (await flow.step_by_step(stage.world, on_plan(await now(api, made)))).ok
    await now(api, made)
    assert TYPED not in await told()
    assert TYPED in repr(await ann.get(path))
    assert (await stage.confirm(await waiting(stage))).ok
    task = await now(api, made)
    assert TYPED not in await told()
    if reviewed is Phase.AFTER:
        assert (await control.resume(stage.world, on_pause(task))).ok
        await now(api, made)
        assert TYPED not in await told()


@pytest.mark.parametrize("reviewed", [None, Phase.BEFORE, Phase.AFTER], ids=str)
async def test_an_agent_is_told_nothing_of_its_call_that_its_person_made_a_private_one(
    api: Api, reviewed: Phase | None
) -> None:
    """It was shown what the file held, which it never asked for, and what was typed."""
    stage = api.gate
    stage.rule(Rule("letters are private", ("desk.*",), texts=(r"^hr/",), private=True))
    reviews = (Review("look", reviewed, tools=("desk.write",)),) if reviewed else ()
    stage.world = replace(stage.world, policy=replace(stage.world.policy, reviews=reviews))
    stage.desk.notes["hr/x.md"] = held = "Ben earns 60,000"
    agent, ann = await api.agent(), await api.client()
    sent = {"tool": "desk.write", "arguments": {"path": "a.md", "content": "x"}}
    made = (await agent.post("/actions", sent, 201))["action"]["id"]
    path = f"/actions/{made}"

    async def told() -> str:
        pages = (path, "/actions?state=all", "/audit?limit=100", f"/history?execution_id={made}")
        found = [await agent.get(one) for one in pages]
        async with agent.raw("GET", path, Accept="text/plain") as response:
            return repr([*found, await response.text()])

    def is_told(words: str) -> bool:
        return any(one in words for one in (TYPED, held, "hr/x.md"))

    seen = await ann.get(path)
    now = {"version": seen["version"], "receipt": seen["receipt"]}
    await ann.post(f"{path}/edit", {**now, "arguments": {"path": "hr/x.md", "content": TYPED}})
    await stage.play()
    assert is_told(repr(await ann.get(path)))
    assert not is_told(await told())
    assert (await stage.confirm(await stage.now(made))).ok
    await stage.play()
    assert stage.desk.notes["hr/x.md"] == TYPED
    assert not is_told(await told())


@pytest.mark.parametrize("how", ["edited by its person", "a step of its task"])
async def test_an_agent_is_not_told_which_rule_makes_a_private_call_ask(api: Api, how: str) -> None:
    stage = api.gate
    named = "the dismissal of Bob"
    stage.rule(Rule(named, ("desk.write",), texts=(r"^hr/",), private=True, at_least=CallClass.DESTRUCTIVE))
    agent, ann = await api.agent(), await api.client()
    letter = {"path": "hr/x.md", "content": TYPED}
    if how == "edited by its person":
        sent = {"tool": "desk.write", "arguments": {"path": "a.md", "content": "x"}}
        made = (await agent.post("/actions", sent, 201))["action"]["id"]
        seen = await ann.get(f"/actions/{made}")
        now = {"version": seen["version"], "receipt": seen["receipt"]}
        await ann.post(f"/actions/{made}/edit", {**now, "arguments": letter})
    else:
        stage.planner.script += [Propose((Call("desk", "write", letter),)), Say("done")]
        await agent.post("/tasks", {"text": "write it"}, 201)
    await stage.play()
    (action,) = await stage.ledger.pending(TEAM)
    pages = (f"/actions/{action.id}", "/actions?state=all", "/audit?limit=100")
    told: list[Any] = [await agent.get(one) for one in pages]
    told += [event.body for event in of_action(0, action)]
    assert named in action.reason
    assert named not in repr(told)


async def test_an_agent_is_told_nothing_of_a_private_step_that_has_left_the_plan(api: Api) -> None:
    stage = api.gate
    stage.rule(Rule("letters are private", ("desk.write",), texts=(r"^hr/",), private=True))
    reviews = (Review("look", Phase.BEFORE, tools=("desk.write",)),)
    stage.world = replace(stage.world, policy=replace(stage.world.policy, reviews=reviews))
    agent, ann = await api.agent(), await api.client()
    made = await planned(api, agent)

    assert (await flow.modify(stage.world, on_plan(await now(api, made)), CHANGED)).ok
    assert (await flow.step_by_step(stage.world, on_plan(await now(api, made)))).ok
    await now(api, made)
    assert (await claim_click.cancel(stage.world, stage.press(await waiting(stage)))).ok
    stage.planner.script.append(proposes(write("z.md")))
    assert (await flow.replan(stage.world, replace(on_plan(await now(api, made)), text="do it otherwise"))).ok
    await now(api, made)
    history = f"/history?execution_id={made}"
    assert len((await agent.get(history))["reviews"]) == 1
    assert TYPED not in repr(await agent.get(history))
    assert TYPED in repr(await ann.get(history))


async def test_an_agent_is_told_nothing_of_an_undo_that_is_private_alone(api: Api) -> None:
    stage = api.gate
    agent, ann = await api.agent(), await api.client()
    made = await planned(api, agent)
    assert (await flow.approve_all(stage.world, on_plan(await now(api, made)))).ok
    task = await now(api, made)
    assert task.plan
    for name in ("write", "shred", "restore"):
        if spec := stage.desk.specs_now.get(name):
            bound = replace(spec.recipe, bind={"expected": "{capture.before.content}"})
            stage.desk.specs_now[name] = replace(spec, recipe=bound)
    stage.rule(Rule("salaries are private", ("desk.look",), texts=(r"^hr/",), private=True))
    stage.desk.notes["hr/x.md"] = TYPED
    action = await stage.ledger.action(task.plan.steps[0].action)
    assert action
    await undo.request_undo(stage.world, stage.press(action))
    await stage.play()
    undo_id, there = await undo.undo_slot(stage.world, action)
    assert there
    assert there.private
    assert TYPED in repr(await ann.get(f"/actions/{undo_id}"))
    assert TYPED not in repr([await agent.get(f"/actions/{undo_id}"), await agent.get("/actions?state=all")])


@pytest.mark.parametrize("deny", [False, True])
async def test_the_name_of_a_private_rule_is_told_to_no_agent(api: Api, deny: bool) -> None:
    """Its name may say what the call is about."""
    stage, agent = api.gate, await api.agent()
    stage.rule(Rule("LAYOFFS", ("desk.write",), private=True, deny=deny, at_least=CallClass.DESTRUCTIVE))
    status, told = await agent.ask("POST", "/actions", WRITE)
    assert (status, "LAYOFFS" in json.dumps(told)) == (422 if deny else 201, False)
    for path in ("/actions", *([] if deny else [f"/actions/{told['action']['id']}"])):
        assert "LAYOFFS" not in json.dumps(await agent.get(path))
    assert not any(
        "LAYOFFS" in str(line.entry) for line in await stage.ledger.audit_tail(team=TEAM, limit=100)
    )


@pytest.mark.parametrize("confirmed", [False, True])
async def test_a_private_rule_that_comes_later_is_not_named_where_it_calls_an_action_off(
    api: Api, confirmed: bool
) -> None:
    stage, agent = api.gate, await api.agent()
    made = (await agent.post("/actions", WRITE, 201))["action"]["id"]
    await stage.play()
    rule = Rule("LAYOFFS", ("desk.*",), private=True, deny=True)
    if not confirmed:
        stage.rule(rule)
    await stage.confirm(await stage.now(made), ANN)
    if confirmed:
        stage.rule(rule)
    await stage.play()
    ended = await stage.now(made)
    assert (ended.state, "does not allow this" in ended.decision) == (State.CANCELLED, True)
    assert "LAYOFFS" not in str(card(ended, (), None))
    assert "LAYOFFS" not in json.dumps(await agent.get(f"/actions/{made}"))
    assert not any(
        "LAYOFFS" in str(line.entry) for line in await stage.ledger.audit_tail(team=TEAM, limit=100)
    )


@pytest.mark.parametrize("answer_is_lost", [False, True])
async def test_an_agent_that_repeats_its_proposal_is_told_nothing_of_what_its_person_typed_into_it(
    api: Api, answer_is_lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = api.gate
    stage.rule(Rule("letters are private", ("desk.write",), texts=(r"^hr/",), private=True))
    stage.desk.notes["hr/x.md"] = held = "Ben earns 60,000"
    agent, ann = await api.agent(), await api.client()
    if answer_is_lost:
        monkeypatch.setattr(api.services.answers, "keep", lost)
    await agent.ask("POST", "/actions", WRITE, Idempotency_Key="k1")
    monkeypatch.undo()
    await stage.play()
    (action,) = await stage.ledger.pending(TEAM)
    path = f"/actions/{action.id}"
    typed = {"path": "hr/x.md", "content": TYPED}
    await ann.post(f"{path}/edit", seen(await ann.get(path), arguments=typed))
    await stage.play()
    assert TYPED in repr(await ann.get(path))
    stage.travel(25 * 3600)
    await stage.ledger.purge(await stage.ledger.now() - KEEP_INBOX)
    again = await agent.post("/actions", WRITE, 201, Idempotency_Key="k1")
    assert again["action"]["id"] == action.id
    assert TYPED not in repr(again)
    assert held not in repr(again)


async def lost(*answer: object) -> None:
    """The process dies before it keeps its answer."""
    raise OSError("killed")


async def renewed(api: Api, ann: Client, action: Action, how: str) -> Action:
    """What asks the same again, once the task of the action is over."""
    stage = api.gate
    if how == "drifted as its task ended":
        assert (await stage.confirm(action)).ok
        stage.desk.notes[stored_args(action.args)["path"]] = "CHANGED SINCE"
        work = jobs(stage.world)
        while due := [run for run in stage.runs if run.key not in stage.done and not run.delay]:
            run = min(due, key=lambda one: one.name == "renew")  # another replica may be as late
            stage.done.add(run.key)
            await work[run.name].work(*run.args)
    else:
        stage.travel(1000)
        await stage.play(timers=True)
        if how == "expired, by button":
            assert (await reissue.reissue_by_press(stage.world, stage.press(await stage.now(action.id)))).ok
        else:
            await ann.post(f"/actions/{action.id}/renew", None, 202)
        await stage.play()
    (fresh,) = await stage.ledger.pending(TEAM)
    assert (fresh.renews, fresh.step, bool(fresh.turn)) == (action.id, "", True)
    return fresh


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("private", [True, False], ids=["private", "shown to all"])
@pytest.mark.parametrize(
    "how", ["expired, by button", "expired, over the API", "drifted as its task ended", "asked again twice"]
)
async def test_an_agent_is_told_nothing_of_a_call_of_its_task_that_is_asked_again_once_that_is_over(
    api: Api, how: str, private: bool
) -> None:
    """Nobody looks at what it gives, as somebody does in the task."""
    stage = api.gate
    if private:
        stage.rule(Rule("letters are private", ("desk.*",), texts=(r"^hr/",), private=True))
    stage.desk.notes["hr/x.md"] = held = "Ben earns 60,000"
    agent, ann = await api.agent(), await api.client()
    made = await agent.post("/tasks", {"text": "write a letter"}, 201)
    stage.planner.script += [
        Propose((Call("desk", "write", {"path": "hr/x.md", "content": TYPED}),)),
        Say("done"),
    ]
    await stage.play()
    (action,) = await stage.ledger.pending(TEAM)
    given = hashlib.sha256(TYPED.encode()).hexdigest()
    kept = (TYPED, held, "hr/x.md", "CHANGED SINCE", given) if private else (given,)

    async def leaked(of: Action) -> list[str]:
        path = f"/tasks/{made['id']}"
        found = await ways(agent, path, await ann.get(path))
        for one in ("", "?format=text", "/undo"):
            found.append(await agent.ask("POST" if one == "/undo" else "GET", f"/actions/{of.id}{one}"))
        found.append(await agent.ask("GET", f"/pending-review-detail/{of.id}"))
        async with connected(agent) as client:
            for name, args in (("gate_list", {"all": True}), ("gate_result", {"ticket": of.id})):
                found.append(await client.call_tool(name, args, meta=AT_ONCE))
        listed = [await agent.get(path), await agent.get("/audit?limit=100")]
        return [one for one in kept if one in repr(found)] + [of.id for one in listed if of.id in repr(one)]

    async with listening(agent) as stream:
        first = "expired, by button" if how == "asked again twice" else how
        fresh = await renewed(api, ann, action, first)
        if how == "asked again twice":
            fresh = await renewed(api, ann, fresh, first)
        assert await leaked(fresh) == []
        assert (await stage.confirm(fresh)).ok
        await stage.play()
        assert stage.desk.notes["hr/x.md"] == TYPED
        assert given in repr(await ann.get(f"/actions/{fresh.id}"))
        assert await leaked(fresh) == []
        await agent.post("/tasks", {"text": "the last event"}, 201)
        while (event := await stream.next())["type"] != "task_changed" or event["task_id"] == made["id"]:
            assert fresh.id not in repr(event)
