"""Whose words a model is told that the reason of a no is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.actions import confirm as decide
from gate.actions import edit
from gate.rules.action import Approvers
from gate.rules.policy import Rule
from tests.gate.gate_setup import ANN, BEN, Scene
from tests.gate.plan_setup import waiting
from tests.model_stub import ModelStub, calls, says
from tools.model.planner import ModelPlanner
from tools.model.provider_client import ProviderModel


async def ask(stage: Scene, text: str, number: int = 1) -> None:
    await stage.say(text, ANN, ts=f"4100000000.{number:06}")


@pytest.mark.parametrize("by", [ANN, BEN])
@pytest.mark.parametrize("edited", [True, False])
async def test_a_reason_is_the_requesters_own_only_where_they_have_decided(
    stage: Scene, by: str, edited: bool
) -> None:
    stage.rule(Rule("ben", ("desk.write",), approvers=Approvers(frozenset({BEN}))))
    async with ModelStub([calls(("desk__write", {"path": "a.md", "content": "x"})), says("I see.")]) as stub:
        model = ProviderModel(stub.config())
        stage.world = replace(
            stage.world, planner=ModelPlanner(model, stage.desk, stage.world.policy, b"a key")
        )
        await ask(stage, "write a.md")
        if edited:
            await edit.submit(
                stage.world, stage.press(await waiting(stage)), {"path": "a.md", "content": "y"}
            )
            await stage.play()
        assert (await decide.reject(stage.world, stage.press(await waiting(stage), by, reason="do c.md"))).ok
        await stage.play()
        await model.close()
    (told,) = stub.requests[-1].results
    kind, _, _ = told[told.rindex("\n<", 0, told.index("do c.md")) :].partition(" ")
    assert kind.strip() == ("<words" if by == ANN else "<data")
    assert ("Edited by <@U_ANN>" in told) is edited
    assert f"Decided by <@{by}>" in told
