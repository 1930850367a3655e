"""The planner over Anthropic's API: another wire format, the same rules."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from gate.rules.planner_port import Say
from gate.rules.policy import Policy
from gate.rules.ports import Unavailable
from gate.rules.task import Usage
from tests.model_stub import says
from tests.tools.model_setup import (
    ANN,
    FILES,
    ListedTools,
    brief,
    planning,
    proposed,
    rejected,
    reply,
    then,
    turn,
)
from tools.model.model_port import ModelConfig
from tools.model.planner import ModelPlanner
from tools.model.provider_client import ProviderModel

DELETE = {"type": "tool_use", "id": "toolu_1", "name": "files__delete_file", "input": {"path": "a.md"}}


@asynccontextmanager
async def anthropic(*answers: list[dict[str, Any]] | int) -> AsyncIterator[tuple[ModelPlanner, list[Any]]]:
    """A planner, and what it sends. An answer is a list of content blocks, or a status."""
    left, sent = list(answers), []

    async def messages(request: web.Request) -> web.Response:
        sent.append(await request.json())
        answer = left.pop(0)
        if isinstance(answer, int):
            error = {"type": "error", "error": {"type": "api_error", "message": "it failed"}}
            return web.json_response(error, status=answer)
        usage = {"input_tokens": 40, "output_tokens": 7}
        body = {"id": "m", "type": "message", "role": "assistant", "model": "stub", "content": answer}
        return web.json_response({**body, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage})

    app = web.Application()
    app.router.add_post("/v1/messages", messages)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    config = ModelConfig(provider="anthropic", name="claude-stub", key="k", base_url=url, retry_seconds=0.0)
    model = ProviderModel(config)
    try:
        yield ModelPlanner(model, ListedTools(FILES), Policy("1"), b"a key"), sent
    finally:
        await model.close()
        await runner.cleanup()


@pytest.mark.slow
async def test_a_turn_has_a_proposal_its_rejection_and_a_final_text() -> None:
    final_text = [{"type": "text", "text": "You said no, so it stays."}]
    async with anthropic([{"type": "text", "text": "First this."}, DELETE], final_text) as (planner, sent):
        asked = turn("delete a.md")
        first = await reply(planner, asked)
        last = await reply(planner, then(asked, first, rejected(0, "we need it")))
    assert proposed(first) == [("files.delete_file", {"path": "a.md"})]
    assert first.usage == Usage(1, 40, 7)
    assert last.reply == Say("You said no, so it stays.")
    assert [message["role"] for message in sent[1]["messages"]] == ["user", "assistant", "user"]
    (result,) = sent[1]["messages"][2]["content"]
    (call,) = (part for part in sent[1]["messages"][1]["content"] if part["type"] == "tool_use")
    assert result["tool_use_id"] == call["id"]
    assert "status: rejected" in json.dumps(result)
    assert "we need it" in json.dumps(result)
    assert ANN in json.dumps(result)


@pytest.mark.slow
async def test_the_constant_part_of_a_request_is_marked_for_caching() -> None:
    async with anthropic([{"type": "text", "text": "I see."}]) as (planner, sent):
        await reply(planner, turn())
    assert "CRITICAL RULE" in sent[0]["system"][0]["text"]
    assert sent[0]["system"][-1]["cache_control"]["type"] == "ephemeral"
    assert sent[0]["tools"][-1]["cache_control"]["type"] == "ephemeral"


async def test_the_assessment_has_to_be_a_call() -> None:
    found = {"complexity": 20, "steps": 1, "clear": True, "questions": []}
    call = {"type": "tool_use", "id": "toolu_2", "name": "assess", "input": found}
    async with anthropic([call]) as (planner, sent):
        made = (await planner.assess(turn(), brief())).assessment
    assert made.complexity == 20
    assert sent[0]["tool_choice"]["type"] == "any"


async def test_thinking_is_stored_and_sent_back_with_its_signature() -> None:
    thought = {"type": "thinking", "thinking": "I should ask first.", "signature": "sig-1"}
    async with anthropic([thought, DELETE], [{"type": "text", "text": "I see."}]) as (planner, sent):
        asked = turn()
        await reply(planner, then(asked, await reply(planner, asked), rejected()))
    blocks = sent[1]["messages"][1]["content"]
    assert {"type": "thinking", "thinking": "I should ask first.", "signature": "sig-1"} in blocks


@pytest.mark.parametrize("status", [429, 500, 529])
async def test_a_temporary_error_is_retried_later(status: int) -> None:
    async with anthropic(status) as (planner, _):
        with pytest.raises(Unavailable):
            await reply(planner, turn())


async def test_a_history_of_one_provider_continues_with_another() -> None:
    thought = {"type": "thinking", "thinking": "I should ask first.", "signature": "sig-1"}
    async with anthropic([thought, DELETE]) as (planner, _):
        asked = turn()
        after = then(asked, await reply(planner, asked), rejected())
    async with planning([says("I see.")]) as (other, stub):
        assert (await reply(other, after)).reply == Say("I see.")
    assert [name for name, _ in stub.requests[0].called] == ["files__delete_file"]
