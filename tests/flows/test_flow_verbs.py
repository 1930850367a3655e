"""The four verbs of spec 002: the same gate for programs."""

from __future__ import annotations

import asyncio

import pytest

from gate.flows import verbs
from gate.states import State
from tests.flows.scene import ANN, BEN, TEAM, Scene

WRITE = {"path": "a.md", "content": "hello"}


async def prepared(stage: Scene, tool: str = "desk.write", args: object = None, risk: str = "medium"):
    return await verbs.prepare_action(stage.world, tool, args or WRITE, risk, ANN, stage.session.key)


# promise: VERB-01, VERB-04
async def test_prepare_shows_and_does_not_run(stage: Scene):
    made = await prepared(stage)
    assert set(made) >= {"action_id", "preview", "expires_at", "risk_level"}
    assert "content: hello" in made["preview"]
    assert made["risk_level"] == "medium"
    assert stage.desk.calls == []
    listed = await verbs.list_pending_actions(stage.world, TEAM, ANN)
    assert [one["action_id"] for one in listed] == [made["action_id"]]
    assert await verbs.list_pending_actions(stage.world, TEAM, BEN) == []


async def test_a_callers_risk_may_raise_and_never_lower(stage: Scene):
    assert (await prepared(stage, risk="critical"))["risk_level"] == "critical"
    assert (await prepared(stage, risk="low"))["risk_level"] == "medium"


# promise: VERB-02
async def test_confirm_waits_for_the_outcome(stage: Scene):
    made = await prepared(stage)
    waiting = asyncio.create_task(verbs.confirm_action(stage.world, made["action_id"], ANN, seconds=1000))
    async with asyncio.timeout(60):
        while not waiting.done():
            if (await stage.now(made["action_id"])).state is not State.PREPARED:  # stored, so its run is due
                await stage.play()
            await asyncio.wait({waiting}, timeout=0.01)
    done = await waiting
    assert (done["status"], done["executed_tool"]) == ("success", "desk.write")
    assert done["result"]["content"] == "hello"
    assert done["execution_time"] >= 0


async def test_confirm_says_executing_when_it_is_not_over_in_time(stage: Scene):
    made = await prepared(stage)
    assert (await verbs.confirm_action(stage.world, made["action_id"], ANN))["status"] == "executing"


# promise: VERB-05
@pytest.mark.parametrize("user", [BEN, "U_NOBODY"])
async def test_the_user_must_match(stage: Scene, user: str):
    made = await prepared(stage)
    with pytest.raises(verbs.Refusal) as refused:
        await verbs.confirm_action(stage.world, made["action_id"], user)
    assert refused.value.code == "not_allowed"
    with pytest.raises(verbs.Refusal):
        await verbs.cancel_action(stage.world, made["action_id"], user)


# promise: VERB-03
async def test_cancelled_is_over(stage: Scene):
    made = await prepared(stage)
    assert (await verbs.cancel_action(stage.world, made["action_id"], ANN))["status"] == "cancelled"
    with pytest.raises(verbs.Refusal) as refused:
        await verbs.confirm_action(stage.world, made["action_id"], ANN)
    assert refused.value.code == "late"


async def test_a_destructive_one_needs_the_phrase_here_too(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    made = await prepared(stage, "desk.shred", {"path": "a.md"})
    with pytest.raises(verbs.Refusal) as refused:
        await verbs.confirm_action(stage.world, made["action_id"], ANN)
    assert refused.value.code == "needs_phrase"
    assert (await verbs.confirm_action(stage.world, made["action_id"], ANN, phrase=made["phrase"]))[
        "status"
    ] == "executing"


async def test_a_read_is_answered_at_once(stage: Scene):
    answer = await prepared(stage, "desk.look", {"path": "a.md"})
    assert (answer["status"], answer["result"]["exists"]) == ("success", False)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ('{"path": "a", "path": "b"}', "twice"),
        ('{"path": NaN}', "NaN"),
        ("[" * 10_000, "nested"),
        ('{"path": "\\ud800", "content": "x"}', "surrogate"),
        ('{"path": "a.md"}', "content"),
        ("not json", "JSON"),
        ('{"path": "a.md", "content": "' + "x" * 1_000_000 + '"}', "long"),
    ],
)
async def test_bad_arguments_get_a_sentence_and_change_nothing(stage: Scene, args: str, says: str):
    with pytest.raises(verbs.Refusal, match=says):
        await prepared(stage, args=args)
    assert await verbs.list_pending_actions(stage.world, TEAM, ANN) == []


async def test_an_unknown_tool_or_risk_is_named(stage: Scene):
    with pytest.raises(verbs.Refusal, match=r"desk\.write"):
        await prepared(stage, "desk.wrte")
    with pytest.raises(verbs.Refusal, match="risk level"):
        await prepared(stage, risk="enormous")
    with pytest.raises(verbs.Refusal, match="no such action"):
        await verbs.confirm_action(stage.world, "nothing", ANN)
