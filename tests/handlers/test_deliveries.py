"""Whatever Slack sends twice counts once, and what could not be kept is sent again."""

from __future__ import annotations

import asyncio

import pytest

from bot import slack_app
from gate.rules.planner_port import Call, Propose
from tests.slack_app import ANN, BEN, INSTALLED, OPS, Edge, joined
from workspace.faults import Duplication

WRITE = Propose((Call("desk", "write", {"path": "a.md", "content": "hello"}),))


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("duplication", ["twice", "late", "everywhere"])
async def test_a_mention_that_comes_again_is_handled_once(edge: Edge, duplication: Duplication) -> None:
    edge.ws.faults.duplicate("app_mention", duplication)
    edge.ws.faults.duplicate("message", duplication)
    card = await edge.propose("write", path="a.md", content="hello")
    await edge.ws.wait_for(
        lambda: len(edge.ws.deliveries("app_mention")) >= (1 if duplication == "everywhere" else 2)
    )
    await edge.settled()
    assert len(edge.planner.seen) == 1
    assert len(edge.ws.by_app(OPS, card.said.ts)) == 1


async def test_one_event_three_times_at_once_is_one_event(edge: Edge) -> None:
    edge.planner.script = [WRITE, WRITE, WRITE]
    ts = edge.ws.state.next_ts()
    event = {"type": "app_mention", "user": ANN, "text": "<@UBOT> do it", "channel": OPS, "ts": ts}
    payload = {"type": "event_callback", "team_id": "T1", "event_id": "E1", "event": event}
    answers = await asyncio.gather(*[edge.ws.forge.send("events_api", payload) for _ in range(3)])
    assert all(answer.ok for answer in answers)
    await edge.settled()
    assert len(edge.planner.seen) == 1


@pytest.mark.parametrize("duplication", ["twice", "late"])
async def test_a_click_that_comes_again_counts_once(edge: Edge, duplication: Duplication) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    edge.ws.faults.duplicate("block_actions", duplication)
    await card.click("confirm")
    await edge.ws.wait_for(lambda: len(edge.ws.deliveries("block_actions")) == 2)
    await edge.settled()
    assert len(edge.desk.calls) == 1
    assert card.text == "Wrote a.md"


async def test_two_people_who_confirm_at_once_are_told_who_was_first(edge: Edge) -> None:
    card = await edge.propose("poke", at="a.md")
    outcomes = await asyncio.gather(*[edge.ws.as_(u).click(card.message, "confirm") for u in (BEN, "U_CLEO")])
    await edge.settled()
    assert all(outcome.ok for outcome in outcomes)
    assert len(edge.desk.calls) == 1
    told = edge.hints(BEN) + edge.hints("U_CLEO")
    assert len(told) == 1
    assert told[0].startswith("This was already confirmed by <@")


async def test_a_submission_that_comes_twice_counts_once(edge: Edge) -> None:
    edge.desk.notes["a.md"] = "hello"
    card = await edge.propose("shred", path="a.md")
    await card.click("review")
    modal = await card.modal(ANN, "typed")
    edge.ws.faults.duplicate("view_submission", "twice")
    await edge.ann.submit(modal, {"phrase": {"phrase": (await card.action()).phrase}})
    await edge.settled()
    assert len(edge.desk.calls) == 1
    assert card.text == "Shredded a.md"


async def test_without_a_database_slack_sends_again_and_it_counts_once(
    hasty: Edge, no_traceback: None
) -> None:
    hasty.planner.script = [WRITE, WRITE]
    hasty.ledger.away = True
    said = await hasty.ann.say(OPS, "<@UBOT> do it")
    failed = await hasty.ws.wait_for(
        lambda: [e for e in hasty.ws.deliveries("app_mention") if not e.note.startswith("ok")]
    )
    assert failed[0].note.startswith("http_error" if hasty.mode == "http" else "http_timeout")
    assert hasty.planner.seen == []
    hasty.ledger.away = False
    await hasty.ws.wait_for(lambda: hasty.ws.by_app(OPS, said.ts))
    await hasty.settled()
    assert len(hasty.planner.seen) == 1
    assert len(hasty.ws.by_app(OPS, said.ts)) == 1


async def test_without_a_database_a_click_is_answered_and_changes_nothing(
    edge: Edge, no_traceback: None
) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    edge.ledger.away = True
    assert (await card.click("confirm")).ok
    await edge.told(ANN, "nothing changed. Please try again")
    edge.ledger.away = False
    assert (await card.action()).state == "prepared"
    await card.click("confirm")
    assert card.text == "Wrote a.md"


@pytest.mark.slow
async def test_a_lost_socket_is_replaced_by_one_with_a_fresh_address(ready_url: str, redis_url: str) -> None:
    """The SDK alone would try the used address for ever."""
    async with joined("http", ready_url, redis_url) as edge:
        edge.ws.faults.refuse_handshakes = 1
        sockets = slack_app.Sockets(edge.bolt, INSTALLED.app_token, wake=1)
        await edge.ws.deliver_to()
        await sockets.start()
        try:
            await edge.ws.settled(timeout=30)
            card = await edge.propose("write", path="a.md", content="hello")
            assert card.text == "Prepared: Write a.md"
            assert len(edge.ws.calls("apps.connections.open")) >= 2
        finally:
            await sockets.stop()
