"""What servers ask a model while their tools run: on the record before it is answered, and in *Show everything*."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gate.actions import edit
from gate.actions.prepare import CallRequest, prepare
from gate.actions.sampling_records import (
    KEPT_ANSWER,
    KEPT_PROMPT,
    UNCONFIRMED,
    SamplingSubject,
    sampling_for,
    sampling_subject,
)
from gate.rules.planner_port import Call, ProposedStep
from gate.rules.policy import Rule
from gate.rules.ports import Unavailable
from gate.rules.previews import measured
from gate.rules.reviews import Phase, Review
from gate.rules.sampling import RECORD, NotSampled, Sampled
from gate.rules.tool import Answer
from tests.gate.fake_tools import Desk
from tests.gate.gate_setup import ANN, Scene
from tests.gate.plan_setup import approved, planned
from views import modals

ONE = Sampled("desk", "write", "user: Which colour?", "ab" * 32, "Blue.", tokens=(100, 20))


async def record(one: Sampled) -> None:
    found = RECORD.get()
    assert found
    await found.write(one)


async def test_a_request_is_an_audit_entry_and_shown_with_its_action(stage: Scene):
    action = await stage.prepare(path="a.md", content="new")
    with sampling_for(stage.world, await sampling_subject(stage.world, action)):
        await record(ONE)
        await record(replace(ONE, answer="", refused="one call may ask 4 times", tokens=(0, 0)))
    assert RECORD.get() is None
    first, second = await stage.ledger.sampled(action.session, action.id)
    told = json.loads(first.entry.arguments)
    assert told == {"sha256": "ab" * 32, "prompt": "user: Which colour?"}
    assert (first.entry.tool, first.entry.action, first.entry.requester) == ("desk.write", action.id, ANN)
    assert (first.entry.result, first.entry.status, first.entry.outcome) == ("Blue.", "success", "answered")
    assert first.entry.reason == "100 tokens in, 20 out"
    assert (second.entry.status, second.entry.reason) == ("error", "one call may ask 4 times")
    shown = json.dumps(modals.full(action, (), (first, second)))
    assert "desk.write asked the model (100 tokens in, 20 out)" in shown
    assert "Which colour?" in shown
    assert "Blue." in shown


async def test_what_is_withheld_leaves_its_digest_alone(stage: Scene):
    action = await stage.prepare(path="a.md", content="new")
    with sampling_for(stage.world, SamplingSubject(action.session, action.id, ANN, withheld=True)):
        await record(ONE)
        await record(replace(ONE, answer="", refused="hr/pay.csv is kept from models"))
    found, refused = await stage.ledger.sampled(action.session, action.id)
    assert refused.entry.reason == measured("hr/pay.csv is kept from models")
    assert (json.loads(found.entry.arguments), found.entry.result) == ({"sha256": "ab" * 32}, "")
    assert "Neither the question nor the answer is kept" in json.dumps(modals.full(action, (), (found,)))


@pytest.mark.parametrize(("path", "kept"), [("board.md", True), ("notes.md", False)])
async def test_no_model_is_told_what_a_look_reads_in_a_file_that_is_kept_from_others(
    stage: Scene, path: str, kept: bool
):
    """The look gave all of a secret file to the model before anybody had typed the phrase. The call is made as its card
    shows it."""
    stage.rule(Rule("board", ("desk.*",), private=True, texts=("board",)))
    refused, real = dict[str, str](), stage.desk.call

    async def call(server: str, tool: str, args: bytes, *more: Any) -> Answer:
        asked = RECORD.get()
        assert asked
        assert asked.refusal
        refused[tool] = await asked.refusal(server, tool, [])
        return await real(server, tool, args, *more)

    stage.desk.call = call  # type: ignore[method-assign]
    stage.desk.notes[path] = "TOKEN=hush"
    action = await stage.prepare(path=path, content="x")
    assert refused == {"look": UNCONFIRMED if kept else ""}
    await stage.confirm(action)
    await stage.play()
    assert refused["write"] == refused["look"]


async def test_long_requests_are_bounded_in_the_log_and_on_the_screen(stage: Scene):
    action = await stage.prepare(path="a.md", content="new")
    with sampling_for(stage.world, await sampling_subject(stage.world, action)):
        for _ in range(30):
            await record(replace(ONE, prompt="p" * 60_000, answer="a" * 60_000))
    found = await stage.ledger.sampled(action.session, action.id)
    assert len(found) == 20
    assert len(json.loads(found[0].entry.arguments)["prompt"]) == KEPT_PROMPT
    assert len(found[0].entry.result) == KEPT_ANSWER
    shown = json.dumps(modals.full(action, (), found))
    assert "and 16 more" in shown
    assert len(shown) < modals.VIEW_BYTES


async def test_what_cannot_be_put_on_record_is_not_answered(stage: Scene, monkeypatch: pytest.MonkeyPatch):
    action = await stage.prepare(path="a.md", content="new")

    def gone() -> None:
        raise Unavailable("the database is away")

    with sampling_for(stage.world, await sampling_subject(stage.world, action)):
        monkeypatch.setattr(stage.world.ledger, "begin", gone)
        with pytest.raises(NotSampled, match="could not be put on record"):
            await record(ONE)


class Asking(Desk):
    """A desk whose server asks the model in the middle of each call."""

    async def call(
        self, server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        await record(replace(ONE, tool=tool))
        return await super().call(server, tool, args, seconds, definition)


async def test_reads_previews_and_the_call_itself_are_recorded_for_their_action(stage: Scene):
    stage.desk.__class__ = Asking
    action = await stage.prepare(path="a.md", content="new")
    before = [line.entry.tool for line in await stage.ledger.sampled(stage.session, action.id)]
    await stage.confirm(action)
    await stage.play()
    after = [line.entry.tool for line in await stage.ledger.sampled(stage.session, action.id)]
    assert set(before) == {"desk.look"}  # the preview, before the action was written down
    assert (after.count("desk.write"), after[-1]) == (1, "desk.write")
    assert len(after) > len(before) + 1  # its target was looked at again
    await prepare(
        stage.world, CallRequest("a-read", stage.session, ANN, Call("desk", "look", {"path": "a.md"}))
    )
    (of_read,) = await stage.ledger.sampled(stage.session, "a-read")
    assert (of_read.entry.tool, of_read.entry.requester) == ("desk.look", ANN)


async def test_a_changed_call_is_looked_at_on_its_record(stage: Scene):
    action = await stage.prepare(path="a.md", content="new")
    stage.desk.__class__ = Asking
    await edit.submit(stage.world, stage.press(action), {"path": "b.md", "content": "new"})
    await stage.play()
    assert await stage.ledger.sampled(stage.session, action.id)


async def test_of_a_step_whose_result_is_reviewed_by_its_title_neither_question_nor_answer_is_kept(
    stage: Scene,
):
    reviews = (Review("look at it", Phase.AFTER, steps=("do it",)),)
    stage.world = replace(stage.world, policy=replace(stage.world.policy, reviews=reviews))
    call = Call("desk", "write", {"path": "a.md", "content": "x"})
    task = await planned(stage, ProposedStep(call, "do it"), ProposedStep(call, "do another"))
    await approved(stage, task)
    now = await stage.ledger.task(task.id)
    assert now is not None
    assert now.plan is not None
    action = await stage.now(now.plan.steps[0].action)
    assert (await sampling_subject(stage.world, action)).withheld
