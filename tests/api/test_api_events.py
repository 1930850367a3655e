"""GET /events: told in order, to those it concerns, from where they were; and ended when the token is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import ClientResponse

from gate.rules.access import EventFilter, StreamEvent, TokenKind
from gate.rules.ports import LedgerEvent
from gate.rules.task import Assessment, Missing, Question
from handlers.api.event_history import HISTORY_PAGE, History
from handlers.api.event_stream import BUFFER_SIZE, Feed
from storage.tokens import TokenStore
from tests.api.api_server import Api, Client
from tests.api.test_api_actions import WRITE, proposed
from tests.api.test_api_actions import seen as version
from tests.api.test_api_tasks import planned, seen
from tests.gate.gate_setup import ANN, BEN, TEAM


class Stream:
    """What a client reads."""

    def __init__(self, response: ClientResponse) -> None:
        self.response = response
        self.last = ""

    async def next(self) -> dict[str, Any]:
        """The next event that is one; its data, with what stands before it checked."""
        found: dict[str, str] = {}
        async with asyncio.timeout(20):
            while True:
                line = (await self.response.content.readline()).decode()
                if not line:
                    raise EOFError
                if line == "\n" and "data" in found:
                    break
                name, _, value = line.rstrip("\n").partition(": ")
                found[name] = value
        data: dict[str, Any] = json.loads(found["data"])
        assert data["type"] == found["event"]
        self.last = found.get("id", "")
        return data

    async def until(self, kind: str) -> dict[str, Any]:
        while (found := await self.next())["type"] != kind:
            pass
        return found


@asynccontextmanager
async def listening(client: Client, query: str = "", since: str = "") -> AsyncIterator[Stream]:
    headers = {"Last_Event_ID": since} if since else {}
    async with client.raw("GET", f"/events{query}", None, **headers) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "text/event-stream"
        while (await response.content.readline()) != b"retry: 2000\n":
            pass
        yield Stream(response)


# promise: GATE-20
async def test_an_approval_is_asked_for_with_the_fields_of_the_spec(api: Api) -> None:
    agent = await api.agent()
    async with listening(agent, "?kind=approval_requested") as stream:
        action = await proposed(api, agent)
        told = await stream.next()
    fields = "task_id subtask_id reason proposed_action risk_level details auto_approve_timeout".split()
    assert set(fields) <= told.keys()
    assert told["action_id"] == action["id"]
    assert told["proposed_action"] == action["preview"]["summary"]
    assert told["auto_approve_timeout"] is None
    assert told["risk_level"] in ("low", "medium", "high", "critical")


# promise: GATE-20
async def test_a_plan_asks_for_an_approval_each_time_that_another_one_is_shown(api: Api) -> None:
    agent, ann = await api.agent(), await api.client()
    async with listening(agent, "?kind=approval_requested") as stream:
        task = await planned(api, agent, "a.md", "b.md")
        told = await stream.next()
        first, second = task["plan"]["steps"]
        changes = [{"id": second["id"], "place": 1}, {"id": first["id"], "place": 2, "drop": True}]
        sent = seen(task, decision="modify", seal=task["plan"]["seal"], changes=changes)
        await ann.post(f"/tasks/{task['id']}/plan", sent)
        await api.gate.play()
        again = await stream.next()
    assert (told["task_id"], told["subtask_id"]) == (task["id"], task["id"])
    assert (told["proposed_action"], told["risk_level"]) == ("Carry out its plan", "medium")
    assert told["auto_approve_timeout"] is None
    wanted = {"asks": "plan", "number": 1, "steps": 2, "tools": ["desk.write"]}
    assert told["details"] == wanted
    assert again["details"] == {**wanted, "number": again["details"]["number"], "steps": 1}
    assert again["details"]["number"] == (await ann.get(f"/tasks/{task['id']}"))["asks"]["number"]


# promise: GATE-20
async def test_a_question_asks_for_an_approval_without_its_words(api: Api) -> None:
    ann = await api.client()
    question = Question("where", "Where does it go: to the secret folder?", Missing.OUTPUTS)
    api.gate.planner.assessments.append(Assessment(50, 1, (Missing.OUTPUTS,), (question,)))
    async with listening(ann, "?kind=approval_requested") as stream:
        made = await ann.post("/tasks", {"text": "write it"}, 201)
        await api.gate.play()
        told = await stream.next()
    assert told["details"] == {"asks": "question", "number": 1}
    assert "secret" not in json.dumps(told)
    task = await ann.get(f"/tasks/{made['id']}")
    assert (task["state"], task["status"]) == ("clarifying", "waiting_approval")
    assert (task["asks"]["kind"], task["asks"]["number"]) == ("question", 1)
    await ann.post(f"/tasks/{made['id']}/clarify", {"number": 1, "answers": {"where": "to notes"}})
    assert (await ann.get(f"/tasks/{made['id']}"))["status"] != "waiting_approval"


# promise: REVIEW-12, REVIEW-18, REVIEW-26, REVIEW-27
async def test_a_pause_and_its_end_are_told_with_the_fields_of_the_spec(api: Api) -> None:
    ann = await api.client()
    task = await planned(api, ann, "a.md", "b.md")
    path = f"/tasks/{task['id']}"
    async with listening(ann) as stream:
        await ann.post(f"{path}/plan", seen(task, decision="approve_all", seal=task["plan"]["seal"]))
        await api.gate.play()
        paused = await stream.until("workflow_paused")
        await ann.post(f"{path}/continue", seen(await ann.get(path)))
        resumed = await stream.until("workflow_resumed")
    assert paused.keys() == {"type", "executionId", "nodeId", "triggerPhase", "timestamp"}
    assert (paused["executionId"], paused["nodeId"]) == (task["id"], task["plan"]["steps"][0]["id"])
    assert paused["triggerPhase"] == "AFTER_EXECUTION"
    assert resumed.keys() == {"type", "executionId", "timestamp"}
    assert paused["timestamp"] <= resumed["timestamp"]
    assert paused["timestamp"] > 1_700_000_000_000  # milliseconds


# promise: GATE-26
async def test_an_instruction_is_an_event(api: Api) -> None:
    ann = await api.client()
    made = await ann.post("/tasks", {"text": "something"}, 201)
    async with listening(ann, f"?kind=steer_instruction&task_id={made['id']}") as stream:
        await ann.ask("PATCH", f"/tasks/{made['id']}", {"instruction": "use b"})
        assert (await stream.next())["instruction"] == "use b"


# promise: API-12, REVIEW-28
async def test_a_stream_resumes_after_the_last_event_id(api: Api) -> None:
    ann = await api.client()
    async with listening(ann) as stream:
        one = await proposed(api, ann)
        await stream.until("approval_requested")
    two = await proposed(api, ann)
    await ann.post(f"/actions/{one['id']}/confirm", version(one))
    async with listening(ann, since=stream.last) as again:
        missed = [await again.next() for _ in range(3)]
    assert [(told["type"], told["action_id"]) for told in missed] == [
        ("action_changed", two["id"]),
        ("approval_requested", two["id"]),
        ("action_changed", one["id"]),
    ]


async def test_a_stream_reports_deleted_events_as_a_gap(api: Api) -> None:
    ann = await api.client()
    await proposed(api, ann)
    await api.gate.ledger.purge(await api.gate.ledger.now())
    await proposed(api, ann)
    async with listening(ann, since="1") as _:
        pass
    async with ann.raw("GET", "/events", None, Last_Event_ID="1") as response:
        assert (await response.content.readline()) == b"event: stream_gap\n"


@pytest.mark.parametrize("since", ["x", "-1", "1e3", "9" * 19])
async def test_a_malformed_last_event_id_is_a_problem(api: Api, since: str) -> None:
    status, problem = await (await api.client()).ask("GET", "/events", None, Last_Event_ID=since)
    assert (status, problem["code"]) == (400, "bad_last_event_id")


# promise: API-11
async def test_a_stream_has_only_events_that_its_token_may_see(api: Api) -> None:
    agent, other, ann, ben = (
        await api.agent(),
        await api.agent(),
        await api.client(),
        await api.client(user=BEN),
    )
    first = await proposed(api, agent)
    for client in (other, ben):
        async with listening(client, since="0") as stream:
            await proposed(api, agent)
            mine = await proposed(api, client)
            assert (await stream.next())["action_id"] == mine["id"]
    async with listening(ann, since="0") as stream:
        assert (await stream.next())["action_id"] == first["id"]


# promise: API-13
async def test_a_stream_ends_soon_after_its_token(hasty: Api) -> None:
    ann = await hasty.client()
    tokens = hasty.services.tokens
    assert isinstance(tokens, TokenStore)
    async with listening(ann) as stream:
        await tokens.revoke(ann.token.id)
        with pytest.raises(EOFError):
            await stream.next()


@pytest.mark.parametrize("kind", TokenKind)
async def test_a_stream_ends_soon_after_the_account_of_its_person(hasty: Api, kind: TokenKind) -> None:
    client = await hasty.client(kind)
    people = hasty.gate.directory.people
    async with listening(client) as stream:
        people[ANN] = replace(people[ANN], is_deleted=True)
        with pytest.raises(EOFError):
            await stream.next()


async def test_a_token_has_so_many_streams(hasty: Api) -> None:
    ann = await hasty.client()
    async with listening(ann), listening(ann):
        status, problem = await ann.ask("GET", "/events")
        assert (status, problem["code"]) == (429, "too_many_streams")
    async with listening(await hasty.client()):
        pass


async def test_a_client_that_does_not_read_is_disconnected(hasty: Api) -> None:
    """The socket's buffers fill, the write waits, and the stream ends: nothing is kept for one reader."""
    ann = await hasty.client()
    host, port = hasty.base.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
    writer.write(
        f"GET /events HTTP/1.1\r\nHost: x\r\nAuthorization: {ann.headers['Authorization']}\r\n\r\n".encode()
    )
    await reader.readuntil(b"retry: 2000")
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    made = await ann.post("/tasks", {"text": "anything"}, 201)
    for _ in range(60):
        async with hasty.gate.ledger.begin() as tx:
            for _ in range(100):
                tx.publish(LedgerEvent("task_changed", hasty.gate.session, made["id"], {"fill": "x" * 2000}))
    async with asyncio.timeout(60):
        while hasty.open[ann.token.id]:
            await asyncio.wait_for(hasty.feed.wait(hasty.feed.last, 0.1), 5)
    writer.close()


async def test_open_streams_end_when_the_service_does(api: Api) -> None:
    ann = await api.client()
    async with listening(ann) as stream:
        await api.feed.close()
        with pytest.raises(EOFError):
            await stream.next()


async def test_every_subscriber_of_a_feed_gets_every_event_once(api: Api) -> None:
    ann = await api.client()

    async def hear(count: int) -> list[str]:
        async with listening(ann) as stream:
            ready.release()
            return [(await stream.next())["action_id"] for _ in range(count)]

    ready = asyncio.Semaphore(0)
    hearing = [asyncio.create_task(hear(8)) for _ in range(8)]
    for _ in hearing:
        await ready.acquire()
    made = [(await ann.post("/actions", WRITE, 201))["action"]["id"] for _ in range(4)]
    expected = [one for one in made for _ in range(2)]
    for heard in hearing:
        assert await heard == expected


async def test_a_subscriber_behind_the_buffer_reads_the_table(api: Api) -> None:
    """Who is behind what is kept in memory gets it all the same, in order, once."""
    ann = await api.client()
    feed = Feed(api.services.events, 60)
    await feed.subscribe()
    start = feed.last
    await proposed(api, ann)
    feed.notify()
    await feed.wait(start, 20)
    feed._buffer.clear()
    feed._buffer_start = feed.last
    found = await feed.after(start)
    assert [one.event.kind for one in found] == ["action_changed", "approval_requested"]
    assert len(found) < BUFFER_SIZE
    await feed.unsubscribe()


class EmptyEvents:
    """Implements handlers.api.ports.Events: without events, and remembers what was read."""

    def __init__(self) -> None:
        self.read: list[int] = []

    async def after(self, seq: int, limit: int) -> list[StreamEvent]:
        return []

    async def between(self, seq: int, until: int, wanted: EventFilter) -> list[StreamEvent]:
        self.read.append(seq)
        return []

    async def ends(self) -> tuple[int, int]:
        return 0, 0


async def test_the_streams_of_one_token_read_the_history_one_after_the_other_and_rest() -> None:
    events, rested, resting = EmptyEvents(), asyncio.Event(), asyncio.Event()

    async def rest(seconds: float) -> None:
        resting.set()
        await rested.wait()

    history, wanted = History(events, rest), EventFilter(TEAM)
    own = [asyncio.create_task(history.page("t1", seq, seq + 1, wanted)) for seq in range(22)]
    await resting.wait()
    other = asyncio.create_task(history.page("t2", 100, 101, wanted))
    resting.clear()
    await resting.wait()
    assert events.read == [0, 100]
    rested.set()
    await asyncio.gather(other, *own)
    assert events.read == [0, 100, *range(1, 22)]


async def test_a_stream_that_is_far_behind_gets_what_it_asks_for_and_nothing_twice(api: Api) -> None:
    ann = await api.client()
    await proposed(api, ann)
    async with api.gate.ledger.begin() as tx:
        for number in range(HISTORY_PAGE):
            tx.publish(LedgerEvent("task_changed", api.gate.session, f"t{number}", {"state": "running"}))
    last = await proposed(api, ann)
    wanted = EventFilter(TEAM, "approval_requested")
    found = await api.services.events.between(0, 10 * HISTORY_PAGE, wanted)
    assert [event.kind for event in found] == ["approval_requested"] * 2
    assert not await api.services.events.between(0, 10 * HISTORY_PAGE, EventFilter("T_OTHER"))
    async with listening(ann, "?kind=approval_requested", since="1") as stream:
        told = [await stream.next() for _ in range(2)]
        again = await proposed(api, ann)
        told.append(await stream.next())
    assert [one["action_id"] for one in told[1:]] == [last["id"], again["id"]]
