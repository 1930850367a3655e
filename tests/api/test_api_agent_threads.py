"""An agent's token proposes only in threads that were opened for it, as its tasks hear what is said in theirs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from gate.rules.access import NOT_OPENED
from tests.api.api_server import Api, Client
from tests.api.test_api_actions import WRITE

ROUTES: Mapping[str, Any] = {"/actions": WRITE, "/tasks": {"text": "write it"}}


async def of_people(api: Api, agent: Client) -> str:
    """A thread in which its person asks the bot for something."""
    await api.gate.say("hello")
    return api.gate.session.key


async def of_nobody(api: Api, agent: Client) -> str:
    """A thread in which the bot has never been."""
    return api.gate.session.key


async def of_its_person(api: Api, agent: Client) -> str:
    """A thread that a token of its person opened for a task."""
    ann = await api.client()
    return str((await ann.post("/tasks", {"text": "write it"}, 201))["session_id"])


async def of_other_calls(api: Api, agent: Client) -> str:
    """The thread of the calls of another agent of its person."""
    other = await api.agent()
    return str((await other.post("/actions", WRITE, 201))["action"]["session_id"])


async def of_another_task(api: Api, agent: Client) -> str:
    """A thread that was opened for a task of another agent of its person."""
    other = await api.agent()
    return str((await other.post("/tasks", {"text": "write it"}, 201))["session_id"])


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("of", [of_people, of_nobody, of_its_person, of_other_calls, of_another_task])
async def test_an_agent_names_no_thread_that_it_did_not_open(
    api: Api, of: Callable[[Api, Client], Awaitable[str]], path: str
) -> None:
    """Else its task would take in what people say there, and tell it over the API."""
    agent = await api.agent()
    thread = await of(api, agent)
    status, problem = await agent.ask("POST", path, {**ROUTES[path], "session_id": thread})
    assert (status, problem["code"], problem["detail"]) == (403, "place", NOT_OPENED)
    assert ((await agent.get("/tasks"))["tasks"], (await agent.get("/actions"))["actions"]) == ([], [])


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("of", [of_people, of_nobody, of_its_person, of_other_calls, of_another_task])
async def test_a_persons_token_names_any_thread_of_its_channels(
    api: Api, of: Callable[[Api, Client], Awaitable[str]], path: str
) -> None:
    ann = await api.client()
    await ann.post(path, {**ROUTES[path], "session_id": await of(api, ann)}, 201)


async def test_an_agent_names_the_threads_that_were_opened_for_it(api: Api) -> None:
    agent = await api.agent()
    action = (await agent.post("/actions", WRITE, 201))["action"]
    task = await agent.post("/tasks", {"text": "write it"}, 201)
    assert action["session_id"] != task["session_id"]
    for thread in (action["session_id"], task["session_id"]):
        for path, sent in ROUTES.items():
            made = await agent.post(path, {**sent, "session_id": thread}, 201)
            assert made.get("action", made)["session_id"] == thread
