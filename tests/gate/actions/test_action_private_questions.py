"""What a server asks in the middle of a private or reviewed call is kept in the log as its length and hash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gate.actions import result_review, undo
from gate.rules.audit import READ_ALONE
from gate.rules.planner_port import Call, ProposedStep
from gate.rules.previews import measured
from gate.rules.reviews import Phase
from gate.rules.server_questions import ASK_PERSON, FormRequest
from gate.rules.tool import Answer, Undo
from tests.gate.actions.test_action_privacy import PAY, TOLD, ask, desk, logged, read_by_anybody, told
from tests.gate.gate_setup import Scene
from tests.gate.plan_setup import approved, entries, planned
from tests.gate.tasks.test_task_step_review import reviewing

__all__ = ["desk"]


@pytest.fixture
def asking(desk: Scene) -> Scene:
    """A desk whose reads ask something that quotes what they found, and get no answer."""
    return asked_by(desk, "look")


def asked_by(desk: Scene, *tools: str) -> Scene:
    """The desk, whose calls of these tools ask something that quotes what they found, and get no answer."""
    real = desk.desk.call

    async def call(
        server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        ask_person = ASK_PERSON.get()
        if ask_person and tool in tools:
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


QUESTION = f"{TOLD}. Show it?"


async def test_the_log_keeps_of_a_question_in_a_call_whose_result_is_reviewed_only_length_and_hash(
    stage: Scene,
) -> None:
    reviewing(asked_by(stage, "write"), Phase.AFTER)
    action = await stage.prepare(path="a.md", content="x")
    assert (await stage.confirm(action)).ok
    await stage.play()
    assert (await stage.now(action.id)).under_review
    assert [entry.reason for entry in await entries(stage, "question_asked")] == [measured(QUESTION)]
    assert (await result_review.reject(stage.world, stage.press(await stage.now(action.id)))).ok
    assert TOLD not in await logged(stage)


async def test_the_log_keeps_of_a_question_in_a_step_reviewed_by_its_title_only_length_and_hash(
    stage: Scene,
) -> None:
    reviewing(asked_by(stage, "write"), Phase.AFTER, steps=("do it",))
    call = Call("desk", "write", {"path": "a.md", "content": "x"})
    await approved(stage, await planned(stage, ProposedStep(call, "do it"), ProposedStep(call, "do another")))
    assert [entry.reason for entry in await entries(stage, "question_asked")] == [measured(QUESTION)]


async def test_the_log_keeps_of_a_question_in_a_reviewed_read_only_length_and_hash(stage: Scene) -> None:
    reviewing(asked_by(stage, "look"), Phase.AFTER, "desk.look")
    await ask(stage, path="a.md")
    assert [entry.reason for entry in await entries(stage, "question_asked")] == [measured(QUESTION)]


async def test_the_log_keeps_of_a_question_in_an_undo_of_what_was_not_let_out_only_length_and_hash(
    stage: Scene,
) -> None:
    reviewing(asked_by(stage, "put_back"), Phase.AFTER)
    spec = stage.desk.specs_now["write"]
    back = Undo("put_back", {"path": "{args.path}", "content": "{result.sha}"})
    stage.desk.specs_now["write"] = replace(spec, recipe=replace(spec.recipe, undo=[back]))
    action = await stage.prepare(path="a.md", content="x")
    assert (await stage.confirm(action)).ok
    await stage.play()
    assert (await result_review.reject(stage.world, stage.press(await stage.now(action.id)))).ok
    assert (await undo.request_undo(stage.world, stage.press(await stage.now(action.id)))).ok
    await stage.play()
    assert [entry.reason for entry in await entries(stage, "question_asked")] == [measured(QUESTION)]
