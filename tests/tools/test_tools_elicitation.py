"""What a real server asks over stdio, in both eras, comes to the person behind the call; the clock stands still."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from gate.rules.jobs import for_owner
from gate.rules.server_questions import ASK_PERSON, FormReply, FormRequest, form_of
from gate.rules.tool import OutcomeUnknown
from tests.tools.mcp_hosts import hosting
from tests.warm import warm
from tools.mcp.client import Host
from tools.mcp.server_config import ServerConfig
from tools.mcp.server_requests import LEFT, NOBODY, REASON, WHICH

SERVER = Path(__file__).with_name("asking_server.py")
ARGS = b'{"path": "a.md"}'
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


@asynccontextmanager
async def asking(logs: Path, mode: str = "legacy", **options: Any) -> AsyncIterator[Host]:
    config = ServerConfig(
        name="asking", command=sys.executable, args=warm(SERVER), mode=mode, **{"timeout": 30, **options}
    )
    async with hosting(logs, config) as host:
        yield host


class Ann:
    """Answers each question, after `seconds`."""

    def __init__(self, reply: FormReply, seconds: float = 0) -> None:
        self.reply, self.seconds = reply, seconds
        self.asked: list[FormRequest] = []
        self.waiting = asyncio.Event()
        self.cancelled = 0

    async def __call__(self, request: FormRequest) -> FormReply:
        self.asked.append(request)
        self.waiting.set()
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return self.reply


@contextmanager
def behind(person: Ann) -> Iterator[None]:
    token = ASK_PERSON.set(person)
    try:
        yield
    finally:
        ASK_PERSON.reset(token)


YES = FormReply("accept", {"name": "Ann", "size": "l"})


@MODES
async def test_a_question_is_answered_in_both_eras(tmp_path: Path, mode: str) -> None:
    ann = Ann(YES)
    async with asking(tmp_path, mode) as host:
        with behind(ann):
            answer = await host.call("asking", "choose", ARGS)
    assert json.loads(answer.text) == {"path": "a.md", "name": "Ann", "size": "l"}
    (request,) = ann.asked
    assert (request.server, request.message) == ("asking", "Which one?")
    assert form_of(request.schema)
    assert [*request.schema["properties"]] == ["name", "size"]


@pytest.mark.slow
@MODES
async def test_the_time_of_a_call_stands_still_while_a_person_is_asked(tmp_path: Path, mode: str) -> None:
    ann = Ann(YES, seconds=3)
    async with asking(tmp_path, mode, timeout=2) as host:
        with behind(ann):
            answer = await host.call("asking", "choose", ARGS)
    assert not answer.is_error


@MODES
async def test_a_question_that_is_declined_comes_to_the_server(tmp_path: Path, mode: str) -> None:
    async with asking(tmp_path, mode) as host:
        with behind(Ann(FormReply("decline", reason="no"))):
            answer = await host.call("asking", "choose", ARGS)
    assert answer.is_error


async def test_the_server_is_told_why_in_words(tmp_path: Path) -> None:
    async with asking(tmp_path) as host:
        with behind(Ann(FormReply("decline", reason="the person declined"))):
            answer = await host.call("asking", "ask", ARGS)
    assert json.loads(answer.text) == [
        {"action": "decline", "content": None, "meta": {REASON: "the person declined"}}
    ]


async def test_where_nobody_waits_for_the_call_it_is_declined_in_words(tmp_path: Path) -> None:
    async with asking(tmp_path) as host:
        answer = await host.call("asking", "ask", ARGS)
    (heard,) = json.loads(answer.text)
    assert (heard["action"], heard["meta"]) == ("decline", {REASON: NOBODY})


async def test_of_two_calls_over_one_legacy_line_nobody_is_asked_for_the_other(tmp_path: Path) -> None:
    ann, ben = Ann(YES), Ann(YES, seconds=60)
    async with asking(tmp_path) as host:
        with behind(ben):
            first = asyncio.create_task(host.call("asking", "ask", ARGS))
        await ben.waiting.wait()
        with behind(ann):
            second = await host.call("asking", "ask", ARGS)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
    (heard,) = json.loads(second.text)
    assert (heard["action"], heard["meta"]) == ("decline", {REASON: WHICH})
    assert ann.asked == []
    assert ben.cancelled == 1, "a call that is cancelled closes its question"


@pytest.mark.slow
@pytest.mark.parametrize("ended", ["cancelled", "timed out"])
async def test_a_call_that_nobody_waits_for_any_more_asks_nobody_else_on_its_legacy_line(
    tmp_path: Path, ended: str
) -> None:
    ann, ben = Ann(YES), Ann(YES)
    async with asking(tmp_path, timeout=3) as host:
        with behind(ben):
            first = asyncio.create_task(host.call("asking", "ask_late", ARGS))
        await host.call("asking", "begun", ARGS)
        if ended == "cancelled":
            first.cancel()
        (gone,) = await asyncio.gather(first, return_exceptions=True)
        assert isinstance(gone, OutcomeUnknown | asyncio.CancelledError)
        with behind(ann):
            late = await host.call("asking", "let_it_ask", ARGS)  # meanwhile the first one asks
            own = await host.call("asking", "ask", ARGS)
    assert json.loads(late.text)["meta"] == {REASON: LEFT}
    assert json.loads(own.text)[0]["meta"] == {REASON: LEFT}
    assert ann.asked == ben.asked == []


async def test_a_line_on_which_every_call_was_answered_asks_again(tmp_path: Path) -> None:
    ann = Ann(YES)
    async with asking(tmp_path) as host:
        for times in (1, 2):
            with behind(ann):
                await host.call("asking", "ask", ARGS)
            assert len(ann.asked) == times


async def test_calls_that_wait_for_people_leave_their_places_to_the_calls_of_others(tmp_path: Path) -> None:
    people = {name: Ann(YES, seconds=60) for name in ("U_ANN", "U_BEN")}
    async with asking(tmp_path, "auto", concurrency=2, timeout=4) as host:
        waiting = []
        for name, person in people.items():
            with behind(person), for_owner(name):
                waiting.append(asyncio.create_task(host.call("asking", "choose", ARGS)))
                await person.waiting.wait()
        with for_owner("U_CLEO"):
            assert (await host.call("asking", "ask", ARGS)).text
        for call in waiting:
            call.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        with for_owner("U_ANN"):
            assert (await host.call("asking", "ask", ARGS)).text


async def test_a_question_by_url_is_passed_on_as_such(tmp_path: Path) -> None:
    ann = Ann(FormReply("decline", reason="not by URL"))
    async with asking(tmp_path) as host:
        with behind(ann):
            answer = await host.call("asking", "by_url", ARGS)
    assert ann.asked == [FormRequest("asking", "Log in", url="https://example.com/login")]
    assert json.loads(answer.text)["action"] == "decline"


@pytest.mark.slow
async def test_a_server_that_does_not_ask_has_no_more_time_than_before(tmp_path: Path) -> None:
    async with asking(tmp_path, timeout=2) as host:
        with pytest.raises(OutcomeUnknown, match="did not answer in time"):
            await host.call("asking", "hang", ARGS)


@MODES
async def test_elicitation_is_not_declared_where_it_is_switched_off(tmp_path: Path, mode: str) -> None:
    ann = Ann(YES)
    async with asking(tmp_path, mode, elicitation=False) as host:
        with behind(ann):
            try:
                answer = await host.call("asking", "choose", ARGS)
                assert answer.is_error
            except OutcomeUnknown:
                pass
    assert ann.asked == []
