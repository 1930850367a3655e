"""The door: whatever a handler does, Slack has its answer in time and the person a sentence."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bot.slack_messages import Hints
from gate.rules.ports import Unavailable
from handlers.slack import payloads
from handlers.slack.home import HomeAfter
from handlers.slack.listener import ListenerFactory, Opening, Reply
from tests.slack_app import ANN, OPS, Edge, said_in
from views import modals


@pytest.fixture
def edge(both_modes: Edge) -> Edge:
    """Each answer by both ways."""
    return both_modes


@pytest.fixture
def unhurried() -> None:
    """Here time is the subject."""


async def raises(_: Any) -> Reply:
    raise KeyError("a slip of ours")


async def hangs(_: Any) -> Reply:
    await asyncio.sleep(5)
    return Reply(text="too late")


async def has_no_store(_: Any) -> Reply:
    raise Unavailable("the database does not answer")


async def answers(_: Any) -> Reply:
    return Reply(text="Hello <@U_ANN>.")


SENTENCES = {
    raises: "Something went wrong on my side (id id",
    hangs: "This takes longer than usual",
    has_no_store: "nothing changed. Please try again",
    answers: "Hello <@U_ANN>.",
}
EVERY = pytest.mark.parametrize("handler", SENTENCES, ids=lambda handler: handler.__name__)
Handler = Callable[[Any], Awaitable[Reply | Opening]]


def listeners(edge: Edge) -> ListenerFactory:
    return ListenerFactory(Hints(edge.cards._client, edge.cards), edge.world.ids.new, HomeAfter(edge.world))


async def send(edge: Edge, kind: Any, payload: dict[str, Any]) -> Any:
    """The answer, which has to come within Slack's three seconds."""
    started = time.monotonic()
    answer = await edge.ws.forge.send(kind, payload)
    assert time.monotonic() - started < 2.8
    assert answer.ok
    return answer.body


@pytest.mark.slow(but=1)
@EVERY
async def test_a_click_is_answered_in_time_and_with_a_sentence(edge: Edge, handler: Handler) -> None:
    edge.bolt.action("tried")(listeners(edge).listener(payloads.click, handler))
    said = await edge.ann.say(OPS, "hello")
    await send(edge, "interactive", edge.ws.forge.click(ANN, said, action_id="tried", value="x"))
    await edge.told(ANN, SENTENCES[handler])


@pytest.mark.slow
@EVERY
async def test_a_submitted_modal_shows_the_sentence_itself(http: Edge, handler: Handler) -> None:
    http.bolt.view("tried")(listeners(http).listener(payloads.submission, handler, modals.message))
    view = http.ws.forge.view(callback_id="tried")
    body = await send(http, "interactive", http.ws.forge.submission(ANN, view))
    assert body["response_action"] == "update"
    assert SENTENCES[handler] in str(body["view"])
    assert http.hints() == []


@pytest.mark.slow
@EVERY
async def test_a_command_is_answered_in_time(http: Edge, handler: Handler) -> None:
    http.bolt.command("/tried")(listeners(http).listener(payloads.slash_command, handler))
    await send(http, "slash_commands", http.ws.forge.command(ANN, OPS, "/tried"))
    await http.told(ANN, SENTENCES[handler])


async def test_what_is_malformed_is_acknowledged_and_dropped(http: Edge, no_traceback: None) -> None:
    card = await http.propose("write", path="a.md", content="hello")
    payload = http.ws.forge.click(ANN, card.message, action_id="confirm", value=card.value)
    payload["user"] = {"id": ["U_ANN"]}
    await send(http, "interactive", payload)
    assert (await card.action()).state == "prepared"
    assert http.hints() == []


async def test_a_modal_whose_content_fails_says_so(http: Edge) -> None:
    async def content(view_id: str) -> dict[str, Any]:
        raise KeyError("a slip of ours")

    async def opens(what: payloads.Click) -> Opening:
        return Opening(what.trigger_id, content)

    http.bolt.action("tried")(listeners(http).listener(payloads.click, opens))
    said = await http.ann.say(OPS, "hello")
    await send(http, "interactive", http.ws.forge.click(ANN, said, action_id="tried", value="x"))
    await http.ws.wait_for(lambda: http.ann.modal and "I could not fetch this" in said_in(http.ann.modal))


async def test_a_modal_that_would_break_slacks_rules_is_not_sent(http: Edge) -> None:
    async def content(view_id: str) -> dict[str, Any]:
        return {"type": "modal", "title": {"type": "plain_text", "text": "x" * 25}, "blocks": []}

    async def opens(what: payloads.Click) -> Opening:
        return Opening(what.trigger_id, content)

    http.bolt.action("tried")(listeners(http).listener(payloads.click, opens))
    said = await http.ann.say(OPS, "hello")
    await send(http, "interactive", http.ws.forge.click(ANN, said, action_id="tried", value="x"))
    await http.ws.wait_for(lambda: http.ann.modal and "did not take" in said_in(http.ann.modal))


async def test_without_redis_a_confirm_is_answered_and_nothing_runs(
    edge: Edge, monkeypatch: pytest.MonkeyPatch, no_traceback: None
) -> None:
    card = await edge.propose("write", path="a.md", content="hello")

    async def away(action_id: str) -> None:
        raise Unavailable("Redis does not answer")

    with monkeypatch.context() as gone:
        gone.setattr(edge.world.leases, "get", away)
        await card.click("confirm")
    await edge.told(ANN, "nothing changed. Please try again")
    assert edge.desk.calls == []
    await card.click("confirm")
    assert card.text == "Wrote a.md"
