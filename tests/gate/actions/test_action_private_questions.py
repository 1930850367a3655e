"""What a server asks in the middle of a private call is told to whoever asked alone, and kept as length and hash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gate.rules.audit import READ_ALONE
from gate.rules.server_questions import ASK_PERSON, FormRequest
from gate.rules.tool import Answer
from tests.gate.actions.test_action_privacy import PAY, TOLD, ask, desk, logged, read_by_anybody, told
from tests.gate.gate_setup import Scene
from tests.gate.plan_setup import entries

__all__ = ["desk"]


@pytest.fixture
def asking(desk: Scene) -> Scene:
    """A desk whose reads ask something that quotes what they found, and get no answer."""
    real = desk.desk.call

    async def call(
        server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        ask_person = ASK_PERSON.get()
        if ask_person and tool == "look":
            form = {"type": "object", "properties": {TOLD: {"type": "boolean"}}}
            await ask_person(FormRequest("desk", f"{TOLD}. Show it?", form))
        return await real(server, tool, args, seconds, definition)

    desk.desk.call = call  # type: ignore[method-assign]
    desk.world = replace(desk.world, limits=replace(desk.world.limits, server_question=0.1))
    return desk


async def test_the_log_keeps_of_a_question_in_a_private_read_only_length_and_hash(
    asking: Scene, tmp_path: Path
) -> None:
    await ask(asking, path=PAY)
    found = [*await entries(asking, "question_asked"), *await entries(asking, "question_expired")]
    assert [entry.outcome for entry in found] == [READ_ALONE, READ_ALONE]
    assert TOLD not in await logged(asking) + await read_by_anybody(tmp_path) + await told(asking)


async def test_the_log_keeps_a_question_in_a_read_that_everybody_sees(asking: Scene) -> None:
    await ask(asking, path="drafts/a.md")
    assert [entry.reason for entry in await entries(asking, "question_asked")] == [f"{TOLD}. Show it?"]
