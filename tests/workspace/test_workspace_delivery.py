"""How events and clicks reach one or several replicas, once, twice, late, or not at all."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import aiohttp
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler

from tests.workspace.bolt_apps import INSTALLED, Connected, bolt_for
from workspace.delivery import Attempt, SignedHttp, pick
from workspace.server import Workspace

Heard = list[tuple[str, str]]


async def replicas(ws: Workspace, connected: Connected, count: int) -> Heard:
    """Joins replicas that write down what they hear: their number and the event_id."""
    heard: Heard = []

    def replica(name: str) -> Any:
        app = bolt_for(ws)

        async def hear(body: dict[str, Any]) -> None:
            heard.append((name, body["event_id"]))

        async def press(ack: Any, body: dict[str, Any]) -> None:
            heard.append((name, body["actions"][0]["action_ts"]))
            await ack()

        app.event("message")(hear)
        app.action("go")(press)
        return app

    for number in range(count):
        await connected.join(replica(str(number)))
    return heard


async def test_an_event_goes_to_one_replica(ws: Workspace, connected: Connected) -> None:
    heard = await replicas(ws, connected, 3)
    ann = ws.as_("U_ANN")
    for n in range(8):
        await ann.say(ann.im, str(n))
    await ws.wait_for(lambda: len(heard) == 8 and len(ws.deliveries("message")) == 8)
    assert set(Counter(event_id for _, event_id in heard).values()) == {1}


async def test_an_event_told_to_go_twice_reaches_two_replicas(ws: Workspace, connected: Connected) -> None:
    heard = await replicas(ws, connected, 2)
    ws.faults.duplicate("message", "twice")
    await ws.as_("U_ANN").say("D_ANN", "hello")
    await ws.wait_for(lambda: len(heard) == 2)
    assert {name for name, _ in heard} == {"0", "1"}
    assert len({event_id for _, event_id in heard}) == 1


async def test_an_event_told_to_go_everywhere_does(ws: Workspace, connected: Connected) -> None:
    heard = await replicas(ws, connected, 3)
    ws.faults.duplicate("message", "everywhere")
    await ws.as_("U_ANN").say("D_ANN", "hello")
    await ws.wait_for(lambda: len(heard) == 3)
    assert {name for name, _ in heard} == {"0", "1", "2"}


async def test_a_late_retry_comes_after_success(ws: Workspace, connected: Connected) -> None:
    heard = await replicas(ws, connected, 1)
    ws.faults.duplicate("message", "late")
    await ws.as_("U_ANN").say("D_ANN", "hello")
    await ws.wait_for(lambda: len(ws.deliveries("message")) == 2 and len(heard) == 2)
    assert [entry.note for entry in ws.deliveries("message")] == ["ok (try 0)", "ok (try 1)"]


async def test_a_click_can_arrive_twice(ws: Workspace, connected: Connected) -> None:
    heard = await replicas(ws, connected, 2)
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
    posted = await bolt_for(ws).client.chat_postMessage(
        channel="C_GENERAL", text="x", blocks=[{"type": "actions", "elements": [button]}]
    )
    ws.faults.duplicate("block_actions", "twice")
    assert (await ws.as_("U_ANN").click(posted["ts"], "go")).ok
    await ws.wait_for(lambda: len(heard) == 2)
    assert heard[0][1] == heard[1][1]
    assert {name for name, _ in heard} == {"0", "1"}


def test_a_single_replica_gets_a_duplicated_event_twice() -> None:
    chance = Random(1)
    assert list(pick(["a"], "twice", chance)) == ["a", "a"]
    assert sorted(pick(["a", "b"], "twice", chance)) == ["a", "b"]
    assert {pick(["a", "b"], None, chance)[0] for _ in range(20)} == {"a", "b"}


async def test_without_an_app_a_command_fails_in_a_sentence(ws: Workspace) -> None:
    outcome = await ws.as_("U_ANN").command("/pending")
    assert outcome.error == "/pending failed because Countersign did not respond."


async def test_a_refused_handshake_uses_up_its_ticket(ws: Workspace) -> None:
    client = bolt_for(ws).client
    ws.faults.refuse_handshakes = 1
    urls = [(await client.apps_connections_open(app_token=INSTALLED.app_token))["url"] for _ in range(2)]
    async with aiohttp.ClientSession() as session:
        for url, status in ((urls[0], 503), (urls[0], 404), (urls[1], 101)):
            assert await upgrade(session, url) == status


async def upgrade(session: aiohttp.ClientSession, url: str) -> int:
    try:
        async with session.ws_connect(url) as socket:
            await socket.receive_json()
            return 101
    except aiohttp.WSServerHandshakeError as refused:
        return refused.status


async def test_a_client_told_to_refresh_connects_anew(ws: Workspace) -> None:
    handler = AsyncSocketModeHandler(bolt_for(ws), INSTALLED.app_token)
    await handler.connect_async()
    await ws.settled()
    await ws.sockets.disconnect()
    await ws.wait_for(lambda: len(ws.calls("apps.connections.open")) == 2, timeout=15)
    await ws.settled(timeout=15)
    await handler.close_async()


async def test_a_delivery_over_a_stopped_transport_counts_as_not_connected():
    line = SignedHttp(["http://127.0.0.1:9"], "secret", 1.0)
    assert (await line.send("http://127.0.0.1:9", "interactive", {}, Attempt())).reason == "connection_failed"
    await line.stop()
    assert (await line.send("http://127.0.0.1:9", "interactive", {}, Attempt())).reason == "connection_failed"
