"""Actions over the API: proposed by an agent, decided by a person, and the same in Slack."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest

from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from gate.rules.policy import Rule
from tests.api.api_server import Api, Client
from tests.gate.gate_setup import ANN, BEN, CHANNEL, CLEO, DORA, GIL, SAM, TEAM

WRITE = {"tool": "desk.write", "arguments": {"path": "a.md", "content": "new"}}
DELETE = {"tool": "desk.shred", "arguments": {"path": "a.md"}}


async def proposed(api: Api, client: Client, sent: Any = WRITE) -> Any:
    """The action as its client is told of it, with the receipt that people are shown."""
    made = (await client.post("/actions", sent, 201))["action"]
    await api.gate.play()
    return {**made, "receipt": (await api.gate.now(made["id"])).receipt}


def seen(action: Any, **more: Any) -> dict[str, Any]:
    return {"version": action["version"], "receipt": action["receipt"], **more}


# promise: VERB-01
async def test_a_proposal_shows_what_would_run_and_runs_nothing(api: Api) -> None:
    agent = await api.agent()
    action = await proposed(api, agent)
    stored = await api.gate.now(action["id"])
    assert {"id", "preview", "expires_at", "risk_level"} <= set(action)
    assert datetime.fromisoformat(action["expires_at"]) == stored.expires_at
    assert (action["status"], action["risk_level"]) == ("pending", "medium")
    assert "content: new" in action["preview"]["text"]
    assert (api.gate.desk.calls, stored.state) == ([], State.PREPARED)


async def test_the_risk_that_a_proposer_names_may_raise_and_never_lower(api: Api) -> None:
    agent = await api.agent()
    for asked, stands in (("critical", "critical"), ("low", "medium")):
        assert (await proposed(api, agent, {**WRITE, "risk_level": asked}))["risk_level"] == stands


@pytest.mark.parametrize(
    "session", ["", "T1", "T1:C1", "::", "T1::1", "T1:C_OPS:1", "T1:C_OPS:.....", "T1:C_OPS:1.1.1"]
)
async def test_a_session_of_another_form_is_refused(api: Api, session: str) -> None:
    agent = await api.agent()
    status, problem = await agent.ask("POST", "/actions", {**WRITE, "session_id": session})
    assert (status, problem["code"]) == (422, "bad_request")
    assert (await agent.get("/actions"))["actions"] == []


# promise: GATE-06, VERB-02
async def test_an_agent_proposes_and_a_person_confirms(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    action = await proposed(api, agent)
    assert action["status"] == "pending"
    assert "a.md" in action["preview"]["text"]
    assert action["id"] in api.gate.wall.cards  # asked about in Slack, too
    done = await ann.post(f"/actions/{action['id']}/confirm", seen(action))
    assert done["status"] == "executing"
    await api.gate.play()
    assert (await agent.get(f"/actions/{action['id']}"))["status"] == "success"
    assert api.gate.wall.cards[action["id"]].state is State.SUCCEEDED  # the card follows
    assert api.gate.desk.notes["a.md"] == "new"


# promise: API-01
async def test_what_was_decided_in_slack_is_decided_for_the_api(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    action = await proposed(api, agent)
    stored = await api.gate.now(action["id"])
    assert (await api.gate.confirm(stored)).ok
    status, problem = await ann.ask("POST", f"/actions/{action['id']}/confirm", seen(action))
    assert (status, problem["code"]) == (409, "late")
    assert ANN in problem["detail"]


# promise: REVIEW-23
async def test_fifty_confirmations_at_once_have_one_winner(api: Api) -> None:
    ann = await api.client()
    action = await proposed(api, ann)
    path = f"/actions/{action['id']}/confirm"
    answers = await asyncio.gather(*(ann.ask("POST", path, seen(action)) for _ in range(50)))
    assert sorted(status for status, _ in answers) == [200] + [409] * 49
    await api.gate.play()
    assert [name for name, _ in api.gate.desk.calls].count("write") == 1


# promise: API-02
@pytest.mark.parametrize(
    ("verb", "sent"),
    [
        ("confirm", {}),
        ("reject", {"reason": "no"}),
        ("edit", {"arguments": {"path": "b.md", "content": "x"}}),
        ("renew", None),
        ("settle", None),
        ("undo", None),
    ],
)
async def test_an_agent_decides_nothing(api: Api, verb: str, sent: Any) -> None:
    agent = await api.agent()
    action = await proposed(api, agent)
    status, problem = await agent.ask(
        "POST", f"/actions/{action['id']}/{verb}", seen(action, **sent) if sent is not None else {}
    )
    assert (status, problem["code"]) == (403, "agents_do_not_decide")
    assert (await api.gate.now(action["id"])).revision == 1


# promise: VERB-03, VERB-04
async def test_an_agent_lists_and_withdraws_its_own_alone(api: Api) -> None:
    one, other = await api.agent(), await api.agent()
    action = await proposed(api, one)
    assert [a["id"] for a in (await one.get("/actions"))["actions"]] == [action["id"]]
    assert (await other.get("/actions"))["actions"] == []
    for method, path in (("GET", ""), ("POST", "/cancel")):
        status, problem = await other.ask(method, f"/actions/{action['id']}{path}")
        assert (status, problem["code"]) == (404, "gone")
    await one.post(f"/actions/{action['id']}/cancel", {"reason": "changed my mind"})
    stored = await api.gate.now(action["id"])
    assert stored.state is State.CANCELLED
    assert "nightly" in stored.decision
    status, problem = await (await api.client()).ask("POST", f"/actions/{action['id']}/confirm", seen(action))
    assert (status, problem["code"]) == (409, "late")
    await api.gate.play()
    assert api.gate.desk.calls == []
    assert (await one.get("/actions"))["actions"] == []


# promise: VERB-04
async def test_what_waits_is_listed_by_session(api: Api) -> None:
    agent = await api.agent()
    task = await agent.post("/tasks", {"text": "look around"}, 201)
    threads = [task["session_id"], api.open_scene(agent).key]
    made = [await proposed(api, agent, {**WRITE, "session_id": thread}) for thread in threads]
    for client in (agent, await api.client()):
        for thread, action in zip(threads, made, strict=True):
            listed = (await client.get(f"/actions?session_id={thread}"))["actions"]
            assert [one["id"] for one in listed] == [action["id"]]


# promise: API-03, VERB-05
@pytest.mark.parametrize(("user", "status"), [(BEN, 404), (GIL, 401), (SAM, 401), (DORA, 401)])
async def test_for_everybody_else_it_does_not_exist(api: Api, user: str, status: int) -> None:
    action = await proposed(api, await api.agent())
    other = await api.client(user=user)
    for method, path, sent in (
        ("GET", "", None),
        ("POST", "/confirm", seen(action)),
        ("POST", "/cancel", {}),
    ):
        got, _ = await other.ask(method, f"/actions/{action['id']}{path}", sent)
        assert got == status
    assert (await api.gate.now(action["id"])).state is State.PREPARED


async def test_a_named_approver_sees_lists_and_decides_it(api: Api) -> None:
    api.gate.rule(Rule("ops decide", ("desk.write",), approvers=Approvers(groups=frozenset({"S_OPS"}))))
    ann, ben = await api.client(), await api.client(user=BEN)
    action = await proposed(api, ann)
    path = f"/actions/{action['id']}/confirm"
    status, problem = await ann.ask("POST", path, seen(action))
    assert (status, problem["code"]) == (403, "not_allowed")
    assert [a["id"] for a in (await ben.get("/actions"))["actions"]] == [action["id"]]
    assert (await ben.post(path, seen(action)))["decided_by"] == BEN


async def test_a_typed_phrase_is_typed_by_people(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    api.gate.desk.notes["a.md"] = "old"
    action = await proposed(api, agent, DELETE)
    assert action["needs_phrase"]
    assert action["phrase"] == ""  # an agent is not told
    shown = await ann.get(f"/actions/{action['id']}")
    path = f"/actions/{action['id']}/confirm"
    for phrase, code in ((None, "needs_phrase"), ("delete", "wrong_phrase")):
        status, problem = await ann.ask("POST", path, seen(shown, phrase=phrase))
        assert (status, problem["code"]) == (422, code)
    await ann.post(path, seen(shown, phrase=shown["phrase"]))
    await api.gate.play()
    assert "a.md" not in api.gate.desk.notes


async def test_an_old_version_is_not_confirmed(api: Api) -> None:
    ann = await api.client()
    action = await proposed(api, ann)
    edited = {"arguments": {"path": "a.md", "content": "newer"}}
    await ann.post(f"/actions/{action['id']}/edit", seen(action, **edited))
    await api.gate.play()
    path = f"/actions/{action['id']}/confirm"
    status, problem = await ann.ask("POST", path, seen(action))
    assert (status, problem["code"]) == (409, "stale")
    now = await ann.get(f"/actions/{action['id']}")
    wrong = now["receipt"][:16] + "0" * 48
    status, problem = await ann.ask("POST", path, {"version": now["version"], "receipt": wrong})
    assert (status, problem["code"]) == (409, "stale")
    await ann.post(path, seen(now))
    await api.gate.play()
    assert api.gate.desk.notes["a.md"] == "newer"


async def test_a_name_that_is_repeated_before_each_of_many_values_is_refused_at_once(api: Api) -> None:
    agent = await api.agent()
    called = {"tool": "desk.write", "arguments": {"path": {"k" * 22_000: [1] * 14_000}, "content": "x"}}
    status, problem = await agent.ask("POST", "/actions", called)
    assert (status, problem["code"]) == (400, "bad_json")
    assert problem["detail"] == "A name in the body is 22,000 characters long; at most 1,000 can be shown."


async def test_wrong_arguments_are_reported_field_by_field(api: Api) -> None:
    ann = await api.client()
    action = await proposed(api, ann)
    status, problem = await ann.ask(
        "POST", f"/actions/{action['id']}/edit", seen(action, arguments={"path": 7, "content": "x"})
    )
    assert (status, problem["code"]) == (422, "unfit")
    assert problem["errors"][0]["pointer"] == "/arguments/path"


async def test_a_read_runs_at_once(api: Api) -> None:
    agent = await api.agent()
    made = await agent.post("/actions", {"tool": "desk.look", "arguments": {"path": "a.md"}}, 201)
    assert made["action"] is None
    assert made["answer"]["status"] == "success"


async def test_a_refusal_says_why(api: Api) -> None:
    agent = await api.agent()
    status, problem = await agent.ask("POST", "/actions", {"tool": "desk.wirte", "arguments": {}})
    assert (status, problem["code"]) == (422, "refused")
    assert "desk.write" in problem["detail"]


async def test_it_is_undone_by_the_api_and_the_list_shows_all(api: Api) -> None:
    ann = await api.client()
    action = await proposed(api, ann)
    await ann.post(f"/actions/{action['id']}/confirm", seen(action))
    await api.gate.play()
    assert (await ann.get(f"/actions/{action['id']}"))["can_undo"]
    await ann.post(f"/actions/{action['id']}/undo", None, 202)
    await api.gate.play()
    assert (await ann.get(f"/actions/{action['id']}"))["state"] == "undone"
    assert action["id"] in {a["id"] for a in (await ann.get("/actions?state=all"))["actions"]}
    assert (await ann.get("/actions"))["actions"] == []


async def test_what_expired_is_asked_again(api: Api) -> None:
    ann = await api.client()
    action = await proposed(api, ann)
    api.gate.travel(301)
    await api.gate.play(timers=True)
    assert (await ann.get(f"/actions/{action['id']}"))["state"] == "expired"
    await ann.post(f"/actions/{action['id']}/renew", None, 202)
    await api.gate.play()
    found = (await ann.get("/actions?state=all"))["actions"]
    assert {a["state"] for a in found} == {"expired", "prepared"}


async def test_a_rejection_ends_it_and_keeps_its_reason(api: Api) -> None:
    ann = await api.client()
    action = await proposed(api, ann)
    ended = await ann.post(f"/actions/{action['id']}/reject", seen(action, reason="too early"))
    assert (ended["state"], ended["decision"]) == ("rejected", "too early")


# promise: API-06
async def test_pages_follow_each_other_without_gaps(api: Api) -> None:
    ann = await api.client()
    made = [
        await proposed(api, ann, {**WRITE, "arguments": {"path": f"{n}.md", "content": "x"}})
        for n in range(5)
    ]
    for state in ("pending", "all"):
        found: list[str] = []
        after = ""
        while True:
            page = await ann.get(f"/actions?state={state}&limit=2" + (f"&after={after}" if after else ""))
            found += [a["id"] for a in page["actions"]]
            after = page["next"]
            if not after:
                break
        assert found == [a["id"] for a in reversed(made)]


# promise: API-10
async def test_the_preview_comes_as_text_where_that_is_asked_for(api: Api) -> None:
    agent = await api.agent()
    action = await proposed(api, agent)
    async with agent.raw("GET", f"/actions/{action['id']}", Accept="text/plain") as response:
        text = await response.text()
        assert response.content_type == "text/plain"
    assert action["preview"]["text"] in text
    assert "Waits for" in text


async def test_what_a_terminal_would_obey_is_spelled_out_in_the_preview_as_text(api: Api) -> None:
    """Else a text could clear the screen, and write the preview of another call in its place."""
    agent = await api.agent()
    content = (
        "\x1b[H\x1b[2J\x1b[1G\x1b[KWrite notes.md\x1b[8m\u202e\u200b\u2028\x85\v\f\r\nCan be undone: yes"
    )
    made = await agent.post(
        "/actions", {"tool": "desk.write", "arguments": {"path": "pay.md", "content": content}}, 201
    )
    async with agent.raw("GET", f"/actions/{made['action']['id']}", Accept="text/plain") as response:
        text = await response.text()
    for shown in (text, made["action"]["preview"]["text"]):
        assert not {"\x1b", "\u202e", "\u200b"} & set(shown)
        assert "\\u{1b}[2J" in shown
        assert "\\u{2028}\\u{85}\\u{b}\\u{c}\\u{d}\n" in shown
        assert shown.splitlines().count("Can be undone: yes") <= 1


async def test_an_agent_proposes_only_in_its_own_channels(api: Api) -> None:
    agent = await api.agent()
    for place in (
        {"channel": "C_ELSE"},
        {"session_id": f"{TEAM}:C_ELSE:1.0"},
        {"session_id": f"T2:{CHANNEL}:1.0"},
    ):
        status, problem = await agent.ask("POST", "/actions", {**WRITE, **place})
        assert (status, problem["code"]) == (403, "place")
        assert "may propose in" in problem["detail"]
    assert api.threads.opened == {}


# promise: VERB-02
async def test_a_confirm_request_may_wait_for_the_end_of_the_call(api: Api) -> None:
    ann = await api.client()
    action = await proposed(api, ann)

    runs, confirmed = api.gate.runs, asyncio.Event()
    api.gate.ledger.on_events = confirmed.set

    async def work() -> None:
        while not any(run.name == "carry_out" for run in runs):
            await confirmed.wait()
            confirmed.clear()
        await api.gate.play()

    working = asyncio.create_task(work())
    done = await ann.post(f"/actions/{action['id']}/confirm", seen(action, wait=20))
    await working
    assert done["status"] == "success"
    assert (done["tool"], done["outcome"]["status"]) == ("desk.write", "success")
    assert done["outcome"]["result"]["content"] == "new"
    assert done["outcome"]["execution_time"] >= 0


async def test_the_audit_shows_what_was_theirs(api: Api) -> None:
    agent, ann, ben = await api.agent(), await api.client(), await api.client(user=BEN)
    action = await proposed(api, agent)
    other = await proposed(api, ann)
    mine = {line["action_id"] for line in (await agent.get("/audit"))["lines"]}
    assert mine == {action["id"]}
    assert {action["id"], other["id"]} <= {line["action_id"] for line in (await ann.get("/audit"))["lines"]}
    assert (await ben.get("/audit"))["lines"] == []


# promise: API-22
async def test_the_record_names_the_token_beside_the_person(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    action = await proposed(api, agent)
    await ann.post(f"/actions/{action['id']}/confirm", seen(action))
    await api.gate.play()
    lines = [one for one in (await ann.get("/audit"))["lines"] if one["action_id"] == action["id"]]
    by = {one["event"]: (one["actor"], one["token_id"]) for one in lines}
    assert by["proposed"] == (ANN, agent.token.id)
    assert by["confirmed"] == (ANN, ann.token.id)
    assert by["started"][1] is None  # nobody's request: what follows from it
    kept = await api.gate.ledger.audit_tail(team=TEAM, user=ANN)
    assert all(secret not in str(kept) for secret in (agent.text, ann.text))


async def test_a_yes_in_slack_to_what_a_token_proposed_names_no_token(api: Api) -> None:
    action = await api.gate.now((await proposed(api, await api.agent()))["id"])
    await api.gate.play()
    assert (await api.gate.confirm(action)).ok
    lines = await api.gate.ledger.audit_tail(team=TEAM, user=ANN)
    assert [one.entry.token for one in lines if one.entry.event == "confirmed"] == [""]


async def test_an_admin_withdraws_for_others(api: Api) -> None:
    api.gate.rule(admins=frozenset({CLEO}))
    action = await proposed(api, await api.agent())
    cleo = await api.client(user=CLEO)
    await cleo.post(f"/actions/{action['id']}/cancel", {})
    assert (await api.gate.now(action["id"])).decided_by == CLEO


async def test_who_waits_for_the_end_of_a_call_reads_it_less_often_the_longer_it_takes(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look reads the whole call: 600 of them in 30 seconds, by twenty at once, delayed others thirteen times."""
    gaps: list[float] = []

    async def sleep(_: object, seconds: float) -> None:
        gaps.append(seconds)
        await asyncio.sleep(0)

    action, ann = await proposed(api, await api.agent()), await api.client(user=ANN)
    monkeypatch.setattr(type(api.gate.world.clock), "sleep", sleep)
    told = await ann.post(f"/actions/{action['id']}/confirm", seen(action, wait=30))
    looked = [gap for gap in gaps if gap <= 1]
    assert (len(looked) < 60, looked[0], sum(looked)) == (True, 0.05, pytest.approx(30))
    assert told["status"] in {"approved", "executing"}
