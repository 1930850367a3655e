"""An undo whose way back names an id is held against the rules by the paths that its reads tell."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gate.actions import undo
from gate.actions.prepare import CallRequest, Refused, prepare
from gate.arguments.declared_targets import Targets
from gate.rules.action import Action
from gate.rules.action_states import State
from gate.rules.always_gated import ALWAYS
from gate.rules.planner_port import Call
from gate.rules.policy import Policy, Rule
from gate.tasks import undo_all
from servers.filesystem import server as filesystem
from tests.gate.gate_setup import ANN, Scene
from tests.gate.plan_setup import approved, on_plan, only, planned, pressed, write
from tests.servers.gate_around_server import gated

CHANGES = ("files.*_file", "files.create_folder")
SCHEMA = {"required": ["path"], "properties": {"path": {"pattern": "(^|/)hr/"}}}
RULES = {
    "text": Rule("legal hold", CHANGES, deny=True, texts=(r"(^|/)hr/",)),
    "schema": Rule("legal hold", CHANGES, deny=True, schema=SCHEMA),
    "channel": Rule("legal hold", CHANGES, channels=("C-legal",), texts=(r"(^|/)hr/",)),
}
REASONS = {
    "text": "The policy does not allow this (“legal hold”).",
    "schema": "The policy does not allow this (“legal hold”).",
    "channel": "This may not be used in this channel (“legal hold”).",
}
CALLS = {"delete_file": {"path": "hr/pay.md"}, "write_file": {"path": "hr/pay.md", "content": "after\n"}}


def call(stage: Scene, tool: str, **args: str) -> CallRequest:
    return CallRequest(stage.world.ids.new(), stage.session, ANN, Call("files", tool, args))


async def carried_out(stage: Scene, tool: str, **args: str) -> Action:
    made = await prepare(stage.world, call(stage, tool, **args))
    await stage.play()
    action = await stage.now(made.action.id)  # type: ignore[union-attr]
    assert (await stage.confirm(action, **({"typed": action.phrase} if action.phrase else {}))).ok
    await stage.play()
    return await stage.now(action.id)


def below(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (root / "hr").iterdir() if path.is_file()}


async def undo_of(stage: Scene, action: Action) -> Action:
    found = await stage.ledger.action(undo.derive_id("undo", action.id, 0))
    assert found
    return found


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("late", [False, True], ids=["at once", "at the effect"])
async def test_an_undo_by_id_changes_nothing_that_a_rule_denies_by_its_path(
    stage: Scene, tmp_path: Path, rule: str, tool: str, late: bool
):
    root = tmp_path / "files"
    (root / "hr").mkdir(parents=True)
    (root / "hr" / "pay.md").write_text("before\n")
    async with gated(tmp_path / "logs", "files", filesystem([root])) as gate:
        stage.world = replace(stage.world, tools=gate.host)
        stage.rule(*ALWAYS)
        action = await carried_out(stage, tool, **CALLS[tool])
        left = below(root)
        if not late:
            stage.rule(RULES[rule])
        assert (await undo.request_undo(stage.world, stage.press(action))).ok
        if late:
            await undo.run_undo(stage.world, (await undo_of(stage, action)).id)
            stage.rule(RULES[rule])
        await stage.play()
        assert below(root) == left
        back = await undo_of(stage, action)
        assert (back.state, back.decision) == (State.CANCELLED, REASONS[rule])
        assert (await stage.now(action.id)).state is State.SUCCEEDED
        assert action.inverse
        args = {"trash_id": json.loads(action.inverse.args)["trash_id"]}
        assert isinstance(await prepare(stage.world, call(stage, "restore_file", **args)), Refused)


async def test_an_undo_elsewhere_goes_through_beside_such_a_rule(stage: Scene, tmp_path: Path):
    root = tmp_path / "files"
    root.mkdir()
    (root / "a.md").write_text("before\n")
    async with gated(tmp_path / "logs", "files", filesystem([root])) as gate:
        stage.world = replace(stage.world, tools=gate.host)
        stage.rule(*ALWAYS, RULES["text"], RULES["schema"])
        action = await carried_out(stage, "delete_file", path="a.md")
        assert (await undo.request_undo(stage.world, stage.press(action))).ok
        await stage.play()
        assert (root / "a.md").read_text() == "before\n"


def report_from_reads(stage: Scene, reported: str) -> None:
    spec = stage.desk.specs_now["put_back"]
    targets = Targets(paths=("path",), reported=(reported,))
    stage.desk.specs_now["put_back"] = replace(spec, recipe=replace(spec.recipe, targets=targets))


DENIED = Rule("legal hold", ("desk.put_back",), deny=True, texts=("^hr/",))


async def test_an_undo_that_cannot_be_looked_at_does_not_run_where_a_rule_denies_some(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    report_from_reads(stage, "{capture.before.place}")
    action = await stage.prepare(path="a.md", content="new")
    await stage.confirm(action)
    await stage.play()
    stage.rule(DENIED)
    action = await stage.now(action.id)
    assert (await undo.request_undo(stage.world, stage.press(action))).ok
    await stage.play()
    assert stage.desk.notes == {"a.md": "new"}
    assert "could not look" in (await undo_of(stage, action)).decision
    stage.world = replace(stage.world, policy=Policy("p3"))
    assert (await undo.request_undo(stage.world, stage.press(await stage.now(action.id)))).ok
    await stage.play()
    assert stage.desk.notes == {"a.md": "old"}


async def test_nothing_more_is_read_for_an_undo_where_no_rule_is_about_paths(stage: Scene):
    reads = []
    for rules in ((), (Rule("whatever", ("desk.put_back",), texts=("kept",), always=True),), (DENIED,)):
        stage.desk.notes["a.md"] = "old"
        report_from_reads(stage, "kept/{capture.before.sha}")
        stage.rule(*rules)
        action = await stage.prepare(path="a.md", content="new")
        await stage.confirm(action)
        await stage.play()
        before = stage.desk.reads
        assert (await undo.request_undo(stage.world, stage.press(await stage.now(action.id)))).ok
        await stage.play()
        assert stage.desk.notes == {"a.md": "old"}
        reads.append(stage.desk.reads - before)
    assert reads == [
        2,
        2,
        4,
    ]  # whether it changed, and the look, each before it is approved and at the effect


async def test_undo_all_stops_at_a_step_whose_undo_a_rule_denies_by_its_path(stage: Scene):
    stage.desk.notes |= {"a.md": "old a", "b.md": "old b"}
    report_from_reads(stage, "hr/{capture.before.sha}")
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    left = dict(stage.desk.notes)
    stage.rule(DENIED)
    assert (await pressed(stage, undo_all.undo_all, on_plan(task))).ok
    assert stage.desk.notes == left
    plan = (await only(stage)).plan
    assert plan
    assert "the policy does not allow this" in plan.undone.lower()
