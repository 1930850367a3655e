"""Webhooks over the API: whoever made one, and admins, see, end and re-key it; it is told what its token may see."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from bot.webhook_audience import WebhookAudience
from bot.webhooks import Deliveries, Sender
from gate.actions import webhook_registration as flow
from gate.rules.access import EventFilter
from gate.rules.policy import Rule
from gate.rules.ports import Unavailable
from gate.rules.webhooks import is_subscribed, key_of
from storage.tokens import TokenStore
from storage.webhooks import HookStore
from tests.api.api_server import Api, Client
from tests.api.test_api_actions import proposed, seen
from tests.gate.gate_setup import ANN, BEN, CLEO, TEAM

URL = "https://example.com/hook"


class Post(Sender):
    """Remembers what it is to send, to whom."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def post(self, url: str, body: bytes, sent: dict[str, str], owner: str = "") -> int:
        self.sent.append(url)
        return 200


class Out:
    """The deliveries of this API's scene."""

    def __init__(self, api: Api) -> None:
        self.api, self.own, self.abroad = api, Post(), Post()
        self.store, tokens = api.services.hooks, api.services.tokens
        assert isinstance(self.store, HookStore)
        assert isinstance(tokens, TokenStore)
        self.receivable = WebhookAudience(api.services.world, tokens).receivable
        self.deliveries = Deliveries(
            self.store, api.gate.ledger, self.own, receivable=self.receivable, abroad=self.abroad
        )

    async def all(self) -> list[str]:
        """Where everything went that has happened since the last time."""
        before, gate = len(self.abroad.sent), self.api.gate
        await self.store.fan_out(gate.ledger, self.receivable)
        for run in [one for one in gate.runs if one.name == "deliver" and one.key not in gate.done]:
            gate.done.add(run.key)
            await self.deliveries.deliver(*run.args)
        return self.abroad.sent[before:]


@pytest.fixture
async def out(api: Api) -> Out:
    return Out(api)


async def made(client: Client, url: str = URL, **more: Any) -> Any:
    return await client.post("/webhooks", {"url": url, **more}, 201)


async def mine(client: Client) -> list[str]:
    return [one["id"] for one in (await client.get("/webhooks"))["webhooks"]]


# promise: API-21
async def test_a_webhook_is_made_listed_rekeyed_and_removed(api: Api) -> None:
    ann = await api.client()
    hook = await made(ann, kinds=["approval_requested"], channels=["C_OPS"])
    assert len(key_of(hook["secret"])) == 32
    (listed,) = (await ann.get("/webhooks"))["webhooks"]
    assert listed == {**hook, "secret": None, "created_at": listed["created_at"]}
    assert (listed["token_id"], listed["state"]) == (ann.token.id, "ok")
    fresh = await ann.post(f"/webhooks/{hook['id']}/rotate")
    assert len(key_of(fresh["secret"])) == 32
    kept = await api.services.hooks.get(hook["id"])
    assert kept
    assert (kept.secret, kept.former) == (fresh["secret"], hook["secret"])
    assert (await ann.ask("DELETE", f"/webhooks/{hook['id']}"))[0] == 200
    assert await mine(ann) == []
    for method, path in (("DELETE", ""), ("POST", "/rotate")):
        status, problem = await ann.ask(method, f"/webhooks/{hook['id']}{path}")
        assert (status, problem["code"]) == (404, "gone")


async def test_its_secret_is_said_once_also_to_the_same_request(api: Api) -> None:
    ann = await api.client()
    first = await ann.post("/webhooks", {"url": URL}, 201, Idempotency_Key="k")
    again = await ann.post("/webhooks", {"url": URL}, 201, Idempotency_Key="k")
    assert first["secret"]
    assert again == {**first, "secret": None}
    assert await mine(ann) == [first["id"]]


# promise: API-21
async def test_only_who_made_it_and_admins_know_of_a_webhook(api: Api) -> None:
    api.gate.rule(admins=frozenset({CLEO}))
    agent, ann, ben, cleo = [
        await api.agent(), await api.client(), await api.client(user=BEN), await api.client(user=CLEO)
    ]  # fmt: skip
    other = await api.agent()
    hook = await made(agent)
    assert await mine(agent) == await mine(ann) == await mine(cleo) == [hook["id"]]
    for stranger in (ben, other):
        assert await mine(stranger) == []
        for method, path in (("DELETE", ""), ("POST", "/rotate")):
            status, _ = await stranger.ask(method, f"/webhooks/{hook['id']}{path}")
            assert status == 404
    assert await mine(agent) == [hook["id"]]
    assert (await cleo.ask("DELETE", f"/webhooks/{hook['id']}"))[0] == 200


# promise: API-15
@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://example.com/", "https to port 443"),
        ("https://example.com:8443/", "https to port 443"),
        ("https://127.0.0.1/", "not an address of the open internet"),
        ("https://[::1]/", "not an address of the open internet"),
        ("https://169.254.169.254/latest", "not an address of the open internet"),
        ("https://[::ffff:10.0.0.1]/", "not an address of the open internet"),
        ("https://127.1/", "written plainly"),
        ("https://me:pw@example.com/", "no user"),
        ("nonsense", "begins with https://"),
    ],
)
async def test_a_url_that_leads_inside_is_refused_at_once(api: Api, url: str, told: str) -> None:
    ann = await api.client()
    status, problem = await ann.ask("POST", "/webhooks", {"url": url})
    assert (status, problem["code"]) == (422, "bad_url")
    assert told in problem["detail"]
    assert await mine(ann) == []


async def test_a_token_has_so_many_webhooks_at_most(api: Api) -> None:
    ann, most = await api.client(), api.services.bounds.webhooks
    answers = await asyncio.gather(
        *(ann.ask("POST", "/webhooks", {"url": f"{URL}/{n}"}) for n in range(most + 2))
    )
    assert sorted(status for status, _ in answers) == [201] * most + [422] * 2
    assert len(await mine(ann)) == most


async def test_the_last_one_may_be_asked_for_again_where_its_answer_was_lost(api: Api) -> None:
    ann, most = await api.client(), api.services.bounds.webhooks
    for n in range(most):
        await made(ann, url=f"{URL}/{n}")
    *_, last = await api.services.hooks.of_team(ann.token.team)
    assert (await flow.add(api.services.world, ann.token, last, most)).ok
    assert len(await mine(ann)) == most


async def test_making_and_ending_one_is_on_the_record_without_its_path(api: Api) -> None:
    agent = await api.agent()
    hook = await made(agent, url="https://example.com/secret-path?key=1")
    await agent.post(f"/webhooks/{hook['id']}/rotate")
    await agent.ask("DELETE", f"/webhooks/{hook['id']}")
    lines = (await agent.get("/audit"))["lines"]
    events = [(one["event"], one["token_id"], one["user_confirmed"]) for one in reversed(lines)]
    assert events == [
        (event, agent.token.id, False) for event in ("webhook_added", "webhook_rotated", "webhook_removed")
    ]
    assert {one["reason"] for one in lines} == {"example.com: all events"}


# promise: API-21
async def test_a_webhook_gets_only_what_its_token_may_see(api: Api, out: Out) -> None:
    agent, other, ben = await api.agent(), await api.agent(), await api.client(user=BEN)
    for name, client in (("agent", agent), ("other", other), ("ben", ben)):
        await made(client, url=f"https://example.com/{name}", kinds=["approval_requested"])
    await proposed(api, agent)
    assert await out.all() == ["https://example.com/agent"]
    api.gate.rule(admins=frozenset({BEN}))
    await proposed(api, other)
    assert sorted(await out.all()) == ["https://example.com/ben", "https://example.com/other"]
    assert out.own.sent == []


async def test_a_webhook_ends_with_its_token(api: Api, out: Out) -> None:
    agent, ann = await api.agent(), await api.client()
    await made(agent)
    await proposed(api, agent)
    assert await out.all()
    tokens = api.services.tokens
    assert isinstance(tokens, TokenStore)
    other = await api.agent()
    await proposed(api, agent)
    await tokens.revoke(agent.token.id)
    assert await out.all() == []
    assert [one["state"] for one in (await ann.get("/webhooks"))["webhooks"]] == ["token_over"]
    assert await mine(other) == []


async def test_a_webhook_of_an_agent_is_told_nothing_once_its_person_is_deactivated(
    api: Api, out: Out
) -> None:
    agent, people = await api.agent(), api.gate.directory.people
    await made(agent)
    await proposed(api, agent)
    people[ANN] = replace(people[ANN], is_deleted=True)
    assert await out.all() == []


async def test_nothing_is_lost_while_slack_does_not_say_who_somebody_is(api: Api, out: Out) -> None:
    ann, agent, other = await api.client(), await api.agent(), await api.agent(user=BEN)
    for name, client in (("ann", ann), ("agent", agent), ("other", other)):
        await made(client, url=f"https://example.com/{name}", kinds=["approval_requested"])
    await proposed(api, agent)
    await proposed(api, other)
    gone = api.gate.directory.people.pop(ANN)
    with pytest.raises(Unavailable, match="whose token"):
        await out.all()
    assert any(run.name == "deliver" for run in api.gate.runs)  # the others have theirs all the same
    api.gate.directory.people[ANN] = gone
    told = sorted(await out.all())
    assert told == [f"https://example.com/{name}" for name in ("agent", "ann", "other")]


async def test_no_webhook_is_told_of_the_undo_of_what_is_private_to_a_person(api: Api) -> None:
    api.gate.rule(Rule("hr", ("desk.write",), private=True))
    ann = await api.client()
    await made(ann)
    (hook,) = await api.services.hooks.of_team(TEAM)
    action = await proposed(api, ann)
    await ann.post(f"/actions/{action['id']}/confirm", seen(action))
    await api.gate.play()
    api.gate.desk.notes[action["arguments"]["path"]] = "newer"
    await ann.post(f"/actions/{action['id']}/undo", None, 202)
    await api.gate.play()
    told = await api.services.events.between(0, 10_000, EventFilter(TEAM))
    assert [one.kind for one in told].count("approval_requested") == 2
    assert not any(is_subscribed(hook, one) for one in told)
