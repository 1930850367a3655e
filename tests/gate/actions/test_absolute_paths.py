"""Rules about a path hold for its absolute form wherever the policy is asked, also before anything was looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.cli.tools import decided
from gate.actions import edit
from gate.actions.button_press import PressResult
from gate.arguments.declared_targets import Root, Targets
from gate.rules.canonical_json import stored_args
from gate.rules.planner_port import Propose
from gate.rules.policy import Rule
from gate.tasks import plan
from tests.gate.gate_setup import ANN, TEAM, Scene
from tests.gate.plan_setup import on_plan, only, planned, pressed, write
from views import rendering

PAY = "/srv/files/hr/pay.md"
HR: dict[str, Any] = {"required": ["path"], "properties": {"path": {"pattern": "^hr/"}}}
KEPT = {
    kind: Rule("salaries", ("desk.write",), schema=HR, **{kind: True})  # type: ignore[arg-type]
    for kind in ("private", "deny")
}


@pytest.fixture
def desk(stage: Scene) -> Scene:
    """A desk that serves one folder, whose files may be named by their absolute paths."""
    targets = Targets(paths=("path",), roots=(Root("files", ("/srv/files",)),))
    for tool, spec in stage.desk.specs_now.items():
        stage.desk.specs_now[tool] = replace(spec, recipe=replace(spec.recipe, targets=targets))
    return stage


async def test_an_edit_to_an_absolute_path_that_a_private_rule_keeps_is_private_at_once(desk: Scene):
    desk.rule(KEPT["private"])
    action = await desk.prepare(path="a.md", content="x")
    said = await edit.submit(desk.world, desk.press(action), {"path": PAY, "content": "Ben earns 98,000"})
    assert isinstance(said, PressResult)
    assert said.code == "edited"
    now = await desk.now(action.id)
    assert (now.version, now.private) == (2, True)
    assert rendering.of_action(now, []).direct == ANN
    await desk.play()
    assert (await desk.now(action.id)).private


async def test_an_edit_to_an_absolute_path_that_a_rule_denies_changes_nothing(desk: Scene):
    desk.rule(KEPT["deny"])
    action = await desk.prepare(path="a.md", content="x")
    said = await edit.submit(desk.world, desk.press(action), {"path": PAY, "content": "x"})
    assert isinstance(said, PressResult)
    assert said.code == "denied"
    assert await desk.now(action.id) == action


async def test_a_step_of_a_plan_is_not_changed_to_an_absolute_path_that_a_rule_denies(desk: Scene):
    desk.rule(KEPT["deny"])
    task = await planned(desk, write("a.md"), write("b.md"))
    change = plan.StepChange("s1", 1, args={"path": PAY, "content": "x"})
    said = await pressed(desk, plan.modify, on_plan(task), (change,))
    assert not said.ok
    assert (await only(desk)).plan == task.plan


async def test_a_private_call_by_its_absolute_path_shares_no_card(desk: Scene):
    desk.rule(KEPT["private"])
    calls = tuple(step.call for step in (write("a.md"), write(PAY), write("b.md")))
    desk.planner.script.append(Propose(calls))
    await desk.say("write a, pay and b")
    pending = await desk.ledger.pending(TEAM)
    assert {stored_args(one.args)["path"] for one in pending if one.shares} == {"a.md", "b.md"}
    assert len(pending) == 3


async def test_policy_explain_judges_an_absolute_path_as_the_gate_does(desk: Scene):
    desk.rule(KEPT["deny"])
    spec = desk.desk.specs_now["write"]
    found = [decided(desk.world.policy, spec, {"path": path, "content": ""}) for path in (PAY, "hr/pay.md")]
    assert found[0].rule == "salaries"
    assert found[0] == found[1]
