"""Tasks over the API: asked for in words, decided by their person, paused and stopped, told in the promised words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gate.rules.planner_port import Call, Incoming, Propose, ProposedStep, ProposePlan, Say
from gate.rules.task import Assessment
from gate.tasks import inbox
from tests.api.api_server import Api, Client
from tests.gate.gate_setup import ANN, BEN, TEAM

TEXT = "write a, then b"


def wanted(api: Api, *names: str) -> None:
    """The planner will propose to write these."""
    steps = tuple(
        ProposedStep(Call("desk", "write", {"path": name, "content": "x"}), f"Write {name}") for name in names
    )
    api.gate.planner.assessments.append(Assessment(80, len(names)))
    api.gate.planner.script.append(ProposePlan(steps))


async def planned(api: Api, client: Client, *names: str, **more: Any) -> Any:
    """A task whose plan waits for its decision, as its client is told of it, with the seal that people are shown."""
    wanted(api, *names)
    made = await client.post("/tasks", {"text": TEXT, **more}, 201)
    await api.gate.play()
    told, stored = await client.get(f"/tasks/{made['id']}"), await api.gate.ledger.task(made["id"])
    assert stored is not None
    return {**told, "plan": {**told["plan"], "seal": stored.plan.seal}} if stored.plan else told


def seen(task: Any, **more: Any) -> dict[str, Any]:
    return {"number": task["asks"]["number"], **more}


async def in_mode(api: Api, task_id: str, mode: str = "auto") -> None:
    """Its person says in the thread who lets the task go on: an agent cannot say that for itself."""
    task = await api.gate.ledger.task(task_id)
    assert task is not None
    said = Incoming(f"mode:{task_id}", task.session, ANN, f"mode {mode}", "4100000000.000001", True)
    await inbox.receive(api.gate.world, said)
    await api.gate.play()


async def test_a_plan_is_shown_approved_and_carried_out(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    task = await planned(api, agent, "a.md", "b.md")
    api.gate.planner.answers = [Say("Both are written.")]
    await in_mode(api, task["id"])
    assert (task["state"], task["status"]) == ("plan_review", "waiting_approval")
    assert task["asks"]["kind"] == "plan"
    assert "a.md" in task["plan"]["steps"][0]["preview"]["text"]
    path = f"/tasks/{task['id']}"
    approval = seen(task, decision="approve_all", seal=task["plan"]["seal"])
    status, problem = await agent.ask("POST", f"{path}/plan", approval)
    assert (status, problem["code"]) == (403, "agents_do_not_decide")
    await ann.post(f"{path}/plan", approval)
    await api.gate.play()
    assert api.gate.desk.notes == {"a.md": "x", "b.md": "x"}
    done = await ann.get(path)
    assert done["asks"]["kind"] == "satisfaction"
    assert done["plan"]["answer"] == "Both are written."
    assert (await ann.post(f"{path}/satisfaction", seen(done, verdict="done")))["state"] == "done"
    await api.gate.play()
    assert api.gate.wall.tasks[task["id"]].state == "done"  # the card in Slack follows


async def test_another_plan_than_the_one_that_was_seen_is_not_approved(api: Api) -> None:
    ann = await api.client()
    task = await planned(api, ann, "a.md", "b.md")
    path = f"/tasks/{task['id']}/plan"
    first, second = task["plan"]["steps"]
    changes = [{"id": second["id"], "place": 1}, {"id": first["id"], "place": 2, "drop": True}]
    await ann.post(path, seen(task, decision="modify", seal=task["plan"]["seal"], changes=changes))
    await api.gate.play()
    status, problem = await ann.ask(
        "POST", path, seen(task, decision="approve_all", seal=task["plan"]["seal"])
    )
    assert (status, problem["code"]) == (409, "stale")
    now = await ann.get(f"/tasks/{task['id']}")
    assert [step["id"] for step in now["plan"]["steps"]] == [second["id"]]


# promise: REVIEW-01
async def test_an_api_task_that_names_no_review_waits_after_each_step(api: Api) -> None:
    ann = await api.client()
    task = await planned(api, ann, "a.md", "b.md")
    path = f"/tasks/{task['id']}"
    await ann.post(f"{path}/plan", seen(task, decision="approve_all", seal=task["plan"]["seal"]))
    await api.gate.play()
    paused = await ann.get(path)
    assert (paused["status"], paused["asks"]["kind"]) == ("PAUSED_FOR_REVIEW", "pause")
    await ann.post(f"{path}/continue", seen(paused))
    status, problem = await ann.ask("POST", f"{path}/continue", seen(paused))
    assert status == 409
    assert problem["code"] in ("late", "stale")


# promise: GATE-21
async def test_a_task_with_a_waiting_step_has_the_status_waiting_approval(api: Api) -> None:
    ann = await api.client()
    task = await planned(api, ann, "a.md", switches={"approval_mode": "auto"})
    path = f"/tasks/{task['id']}"
    await ann.post(f"{path}/plan", seen(task, decision="step_by_step", seal=task["plan"]["seal"]))
    await api.gate.play()
    waiting = await ann.get(path)
    assert waiting["status"] == "waiting_approval"
    action = await ann.get(f"/actions/{waiting['waiting'][0]}")
    assert (action["task_id"], action["step_id"]) == (task["id"], task["plan"]["steps"][0]["id"])


async def test_an_agent_sees_its_task_with_the_steps_and_stops_it(api: Api) -> None:
    agent, other, ann = await api.agent(), await api.agent(), await api.client()
    task = await planned(api, agent, "a.md")
    path = f"/tasks/{task['id']}"
    await ann.post(f"{path}/plan", seen(task, decision="step_by_step", seal=task["plan"]["seal"]))
    await api.gate.play()
    assert len((await agent.get("/actions"))["actions"]) == 1
    assert [one["id"] for one in (await agent.get("/tasks"))["tasks"]] == [task["id"]]
    assert (await other.get("/tasks"))["tasks"] == []
    assert (await other.ask("POST", f"{path}/stop"))[0] == 404
    assert (await agent.post(f"{path}/stop"))["state"] == "stopped_by_user"


# promise: GATE-25
async def test_an_instruction_is_kept_as_a_reply_in_the_thread_would_be(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    made = await agent.post("/tasks", {"text": TEXT}, 201)
    path = f"/tasks/{made['id']}"
    status, problem = await agent.ask("PATCH", path, {"instruction": "use b"})
    assert (status, problem["code"]) == (403, "agents_do_not_decide")
    status, told = await ann.ask("PATCH", path, {"instruction": "use b"}, Idempotency_Key="k")
    again = await ann.ask("PATCH", path, {"instruction": "use b"}, Idempotency_Key="k")
    assert (status, [said["text"] for said in told["instructions"]]) == (200, ["use b"])
    assert again[1] == told
    await ann.post(f"{path}/stop")
    status, problem = await ann.ask("PATCH", path, {"instruction": "use c"})
    assert (status, problem["code"]) == (409, "late")


async def test_what_the_planner_proposes_for_a_token_names_that_token(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    task = await planned(api, agent, "a.md")
    await ann.post(
        f"/tasks/{task['id']}/plan", seen(task, decision="step_by_step", seal=task["plan"]["seal"])
    )
    await api.gate.play()
    found = [line.entry for line in await api.gate.ledger.audit_tail(team=TEAM, limit=100)]
    by = {entry.event: entry.token for entry in found}
    assert by["task_opened"] == by["proposed"] == agent.token.id
    assert {entry.actor for entry in found if entry.token == ann.token.id} == {ANN}


async def test_what_a_simple_task_of_a_token_proposes_names_that_token(api: Api) -> None:
    agent = await api.agent()
    api.gate.planner.script = [Propose((Call("desk", "write", {"path": "a.md", "content": "x"}),))]
    await agent.post("/tasks", {"text": TEXT}, 201)
    await api.gate.play()
    (entry,) = [
        line.entry
        for line in await api.gate.ledger.audit_tail(team=TEAM, limit=100)
        if line.entry.event == "proposed"
    ]
    assert (entry.actor, entry.token) == (ANN, agent.token.id)


async def test_what_a_simple_task_proposes_waits_in_it_and_its_agent_sees_it(api: Api) -> None:
    agent, other = await api.agent(), await api.agent()
    api.gate.planner.script = [Propose((Call("desk", "write", {"path": "a.md", "content": "x"}),))]
    made = await agent.post("/tasks", {"text": TEXT}, 201)
    await api.gate.play()
    task = await agent.get(f"/tasks/{made['id']}")
    (waiting,) = task["waiting"]
    assert task["status"] == "waiting_approval"
    assert (await agent.get(f"/actions/{waiting}"))["tool"] == "desk.write"
    assert [one["id"] for one in (await agent.get("/actions"))["actions"]] == [waiting]
    assert (await other.ask("GET", f"/actions/{waiting}"))[0] == 404
    assert (await other.get("/actions"))["actions"] == []


async def test_the_same_task_asked_for_twice_is_one(api: Api) -> None:
    agent = await api.agent()
    one = await agent.post("/tasks", {"text": TEXT}, 201, Idempotency_Key="k")
    two = await agent.post("/tasks", {"text": TEXT}, 201, Idempotency_Key="k")
    assert one["id"] == two["id"]
    assert len((await agent.get("/tasks"))["tasks"]) == 1


async def test_somebody_elses_task_does_not_exist(api: Api) -> None:
    ann, ben = await api.client(), await api.client(user=BEN)
    task = await planned(api, ann, "a.md")
    for method, path, sent in (
        ("GET", "", None),
        ("PATCH", "", {"instruction": "x"}),
        ("POST", "/plan", seen(task, decision="approve_all", seal=task["plan"]["seal"])),
        ("POST", "/stop", {}),
        ("POST", "/mode", {"approval_mode": "auto"}),
    ):
        assert (await ben.ask(method, f"/tasks/{task['id']}{path}", sent))[0] == 404
    assert (await ann.get(f"/tasks/{task['id']}"))["requester"] == ANN


# promise: GATE-23
@pytest.mark.parametrize(
    ("switches", "mode", "threshold"),
    [
        ({}, "manual", 0.8),
        ({"approval_mode": "auto"}, "auto", 0.8),
        ({"approval_mode": "confidence_threshold"}, "confidence_threshold", 0.8),
        ({"confidence": 0.9}, "confidence_threshold", 0.9),
        ({"approval_mode": "confidence_threshold", "confidence": 1}, "confidence_threshold", 1.0),
        ({"plan_approval": False}, "manual", 0.8),
        ({"preset": "conversational"}, "auto", 0.8),
    ],
)
async def test_a_task_names_its_mode_when_it_is_opened(
    api: Api, switches: dict[str, Any], mode: str, threshold: float
) -> None:
    ann = await api.client()
    made = await ann.post("/tasks", {"text": TEXT, "switches": switches}, 201)
    kept = await api.gate.ledger.task(made["id"])
    assert kept
    assert (kept.switches.approval_mode, kept.switches.confidence) == (mode, threshold)
    assert kept.switches.review == "none"


@pytest.mark.parametrize(
    "switches",
    [
        {"approval_mode": "auto"},
        {"approval_mode": "confidence_threshold"},
        {"confidence": 1},
        {"plan_approval": False},
        {"enable_planning": "no"},
        {"pause_enabled": False},
        {"satisfaction": "never"},
        {"preset": "simple"},
    ],
    ids=str,
)
async def test_an_agent_does_not_say_that_people_look_at_less(api: Api, switches: dict[str, Any]) -> None:
    agent = await api.agent()
    status, problem = await agent.ask("POST", "/tasks", {"text": TEXT, "switches": switches})
    assert (status, problem["code"]) == (403, "agents_do_not_decide")
    assert next(iter(switches.keys() - {"confidence", "preset"}), "") in problem["detail"]
    assert (await agent.get("/tasks"))["tasks"] == []


@pytest.mark.parametrize(
    "switches", [{"review": "both"}, {"preset": "complex"}, {"preset": "conversational"}], ids=str
)
async def test_an_agent_may_ask_for_more_looks_and_stays_in_mode_manual(
    api: Api, switches: dict[str, Any]
) -> None:
    made = await (await api.agent()).post("/tasks", {"text": f"[auto] {TEXT}", "switches": switches}, 201)
    kept = await api.gate.ledger.task(made["id"])
    assert kept
    assert kept.switches.approval_mode == "manual"


@pytest.mark.parametrize("review", ["none", "before_step", "after_step", "both"])
async def test_asking_for_no_review_hands_no_step_over_to_nobody(api: Api, review: str) -> None:
    """`review` is the second key: it adds looks, and never says who lets a task go on."""
    made = await (await api.agent()).post("/tasks", {"text": TEXT, "switches": {"review": review}}, 201)
    kept = await api.gate.ledger.task(made["id"])
    assert kept
    assert (kept.switches.approval_mode, kept.switches.review) == ("manual", review)


async def test_a_mode_that_is_named_is_the_one_it_runs_in(api: Api) -> None:
    """In auto, two steps of a known kind go on alone; a task that names nothing waits after its first."""
    ann = await api.client()
    for switches, status in (({"approval_mode": "auto"}, "satisfaction"), ({}, "PAUSED_FOR_REVIEW")):
        task = await planned(api, ann, "a.md", "b.md", switches=switches)
        path = f"/tasks/{task['id']}"
        await ann.post(f"{path}/plan", seen(task, decision="approve_all", seal=task["plan"]["seal"]))
        await api.gate.play()
        assert (await ann.get(path))["status"] == status


# promise: GATE-23
async def test_the_requester_changes_the_mode_of_a_task_and_is_told_it(api: Api) -> None:
    ann = await api.client()
    task = await planned(api, ann, "a.md", "b.md")
    path = f"/tasks/{task['id']}"
    assert (task["switches"]["approval_mode"], task["switches"]["confidence"]) == ("manual", 0.8)
    sure = await ann.post(f"{path}/mode", {"approval_mode": "confidence_threshold", "confidence": 0.9})
    assert (sure["switches"]["approval_mode"], sure["switches"]["confidence"]) == (
        "confidence_threshold",
        0.9,
    )
    await ann.post(f"{path}/mode", {"approval_mode": "auto"})
    entries = await api.gate.ledger.audit_tail(team=TEAM, limit=100)
    changes = [one.entry for one in entries if one.entry.event == "task_mode_changed"]
    assert [(one.actor, one.token) for one in changes] == [(ANN, ann.token.id)] * 2
    await ann.post(f"{path}/plan", seen(task, decision="approve_all", seal=task["plan"]["seal"]))
    await api.gate.play()
    assert (await ann.get(path))["state"] == "satisfaction"  # in mode manual it waits after its first step


async def test_nobody_but_the_requester_changes_the_mode(api: Api) -> None:
    """In Slack an admin cannot, either; an agent's person can, and the agent never."""
    agent, ann, ben = await api.agent(), await api.client(), await api.client(user=BEN)
    world = api.gate.world
    api.gate.world = replace(world, policy=replace(world.policy, admins=frozenset({BEN})))
    task = await planned(api, agent, "a.md")
    path, sent = f"/tasks/{task['id']}/mode", {"approval_mode": "auto"}
    for other, code in ((agent, "agents_do_not_decide"), (ben, "not_allowed")):
        status, problem = await other.ask("POST", path, sent)
        assert (status, problem["code"]) == (403, code)
    assert (await ann.get(f"/tasks/{task['id']}"))["switches"]["approval_mode"] == "manual"
    assert (await ann.post(path, sent))["switches"]["approval_mode"] == "auto"


async def test_a_task_that_is_over_takes_no_mode_and_no_task_a_wrong_one(api: Api) -> None:
    ann = await api.client()
    task = await planned(api, ann, "a.md")
    path = f"/tasks/{task['id']}"
    for sent in ({}, {"approval_mode": "both"}, {"approval_mode": "auto", "confidence": 0.1}):
        status, problem = await ann.ask("POST", f"{path}/mode", sent)
        assert (status, problem["code"]) == (422, "bad_request")
    await ann.post(f"{path}/stop")
    await api.gate.play()
    status, problem = await ann.ask("POST", f"{path}/mode", {"approval_mode": "auto"})
    assert (status, problem["code"]) == (409, "late")
    assert (await ann.get(path))["switches"]["approval_mode"] == "manual"


@pytest.mark.parametrize(
    "switches", [{"review": "perhaps"}, {"nonsense": True}, {"approval_mode": "both"}, {"confidence": 0.1}]
)
async def test_a_wrong_switch_is_a_problem(api: Api, switches: dict[str, Any]) -> None:
    ann = await api.client()
    status, problem = await ann.ask("POST", "/tasks", {"text": TEXT, "switches": switches})
    assert (status, problem["code"]) == (422, "bad_switches")


async def test_pages_of_tasks_follow_each_other(api: Api) -> None:
    ann = await api.client()
    made = [(await ann.post("/tasks", {"text": f"{TEXT} {n}"}, 201))["id"] for n in range(3)]
    first = await ann.get("/tasks?limit=2")
    rest = await ann.get(f"/tasks?limit=2&after={first['next']}")
    assert [one["id"] for one in (*first["tasks"], *rest["tasks"])] == made[::-1]
    assert rest["next"] is None


@pytest.mark.parametrize("path", ["/tasks?after=nothing", "/actions?state=all&after=nothing"])
async def test_a_page_behind_nothing_is_a_problem_and_no_empty_page(api: Api, path: str) -> None:
    ann = await api.client()
    await ann.post("/tasks", {"text": TEXT}, 201)
    status, problem = await ann.ask("GET", path)
    assert (status, problem["code"]) == (400, "unknown_place")
    assert problem["detail"].endswith("or leave “after” out.")


async def test_a_task_that_is_refused_opens_no_thread(api: Api) -> None:
    client = await api.agent()
    statuses = [
        (await client.ask("POST", "/tasks", {"text": f"list files {number}"}))[0] for number in range(40)
    ]
    assert statuses.count(429) > 10
    assert len(api.threads.opened) == statuses.count(201)
    await client.post("/tasks", {"text": "list files", "switches": {"review": "all"}}, 422)
    assert len(api.threads.opened) == statuses.count(201)
