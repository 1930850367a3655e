"""An undo whose way back names an id is held against the rules by the words that its reads tell of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gate.actions import undo
from gate.actions.prepare import CallRequest, Prepared, Refused, prepare
from gate.rules.action import Action
from gate.rules.action_states import State
from gate.rules.always_gated import ALWAYS
from gate.rules.planner_port import Call
from gate.rules.policy import Rule
from servers.clipboard import server as clipboard
from servers.task import server as task
from tests.gate.gate_setup import ANN, Scene
from tests.servers.files import Clock
from tests.servers.gate_around_server import gated
from tests.servers.test_clipboard_tools import Memory

HELD = {"title": "legal hold: the papers", "notes": "says the court"}
FREE = {"title": "the papers", "notes": "none"}
PAYROLL = "payroll 2026: Ann 100,000"
SECRET = "payroll AKIA" + "IOSFODNN7EXAMPLE"
NO_PAYROLL = Rule("no payroll", ("clipboard.*",), deny=True, texts=("(?i)payroll",))
TITLED = {"required": ["title"], "properties": {"title": {"pattern": "^legal hold"}}}
NOTED = {"required": ["notes"], "properties": {"notes": {"pattern": "court"}}}
HOLDS = {
    "text": Rule("hold", ("task.delete_task",), deny=True, texts=("(?i)legal hold",)),
    "title": Rule("hold", ("task.delete_task",), deny=True, schema=TITLED),
    "notes": Rule("hold", ("task.delete_task",), deny=True, schema=NOTED),
}


async def ask(stage: Scene, server: str, tool: str, **args: Any) -> Any:
    asked = CallRequest(stage.world.ids.new(), stage.session, ANN, Call(server, tool, args))
    return await prepare(stage.world, asked)


async def carried_out(stage: Scene, server: str, tool: str, **args: Any) -> Action:
    made = await ask(stage, server, tool, **args)
    assert isinstance(made, Prepared), made
    await stage.play()
    assert (await stage.confirm(await stage.now(made.action.id))).ok
    await stage.play()
    return await stage.now(made.action.id)


async def undone(stage: Scene, action: Action) -> Action:
    """The undo of an action, after a click on Undo."""
    assert (await undo.request_undo(stage.world, stage.press(action))).ok
    await stage.play()
    found = await stage.ledger.action(undo.derive_id("undo", action.id, 0))
    assert found
    return found


@pytest.mark.parametrize("rule", HOLDS)
async def test_an_undo_deletes_no_task_that_a_rule_denies_by_its_words(
    stage: Scene, tmp_path: Path, rule: str
):
    async with gated(tmp_path / "logs", "task", task(tmp_path / "t.sqlite", None, Clock())) as gate:
        stage.world = replace(stage.world, tools=gate.host)
        stage.rule(*ALWAYS)
        held = await carried_out(
            stage, "task", "create_task", title="legal hold: the papers", notes="says the court"
        )
        other = await carried_out(stage, "task", "create_task", title="water the plants")
        stage.rule(HOLDS[rule])
        back = await undone(stage, held)
        assert (back.state, back.decision) == (
            State.CANCELLED,
            "The policy does not allow this (“hold”).",
        )
        assert (await undone(stage, other)).state is State.SUCCEEDED
        assert [one["id"] for one in (await gate("list_tasks"))["tasks"]] == [1]
        assert isinstance(await ask(stage, "task", "delete_task", task_id=1), Refused)


@pytest.mark.parametrize("rule", HOLDS)
@pytest.mark.parametrize("words", [HELD, FREE], ids=["away from them", "back to them"])
async def test_an_undo_changes_no_task_that_a_rule_denies_by_its_words(
    stage: Scene, tmp_path: Path, rule: str, words: dict[str, str]
):
    async with gated(tmp_path / "logs", "task", task(tmp_path / "t.sqlite", None, Clock())) as gate:
        stage.world = replace(stage.world, tools=gate.host)
        stage.rule(*ALWAYS)
        await gate("create_task", **(FREE if words == HELD else HELD))
        await gate("create_task", title="water the plants", notes="twice")
        changed = await carried_out(stage, "task", "update_task", task_id=1, **words)
        other = await carried_out(stage, "task", "update_task", task_id=2, title="water the tree")
        stage.rule(replace(HOLDS[rule], tools=("task.restore_task",)))
        request = await undo.request_undo(stage.world, stage.press(changed))
        await stage.play()
        assert (await undone(stage, other)).state is State.SUCCEEDED
        assert (await gate("get_task", task_id=1))["title"] == words["title"]
        assert request.ok is (words == HELD), "what is put back stands in the call itself"


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (PAYROLL, "The policy does not allow this (“no payroll”)."),
        (SECRET, "could not look what this undo would touch"),
    ],
    ids=["words", "a secret"],
)
async def test_an_undo_puts_no_text_into_the_clipboard_that_a_rule_denies(
    stage: Scene, tmp_path: Path, before: str, why: str
):
    board = Memory(before)
    async with gated(tmp_path / "logs", "clipboard", clipboard(tmp_path / "kept", board, Clock())) as gate:
        stage.world = replace(stage.world, tools=gate.host)
        stage.rule(*ALWAYS, NO_PAYROLL)
        action = await carried_out(stage, "clipboard", "set_clipboard", text="hello")
        back = await undone(stage, action)
        assert back.state is State.CANCELLED
        assert why in back.decision
        assert board.held.text == "hello"


async def test_a_text_that_a_rule_denies_is_not_put_back_by_its_id(stage: Scene, tmp_path: Path):
    board = Memory(PAYROLL)
    async with gated(tmp_path / "logs", "clipboard", clipboard(tmp_path / "kept", board, Clock())) as gate:
        stage.world = replace(stage.world, tools=gate.host)
        stage.rule(*ALWAYS, NO_PAYROLL)
        await carried_out(stage, "clipboard", "set_clipboard", text="hello")
        record = (await gate("clipboard_history"))["entries"][1]["record"]
        assert isinstance(await ask(stage, "clipboard", "restore_clipboard", record=record), Refused)


@pytest.mark.parametrize(
    "before", ["shopping list", SECRET.removeprefix("payroll ")], ids=["words", "a secret"]
)
async def test_an_undo_puts_other_texts_back(stage: Scene, tmp_path: Path, before: str):
    board = Memory(before)
    elsewhere = replace(NO_PAYROLL, tools=("clipboard.set_clipboard",))
    async with gated(tmp_path / "logs", "clipboard", clipboard(tmp_path / "kept", board, Clock())) as gate:
        stage.world = replace(stage.world, tools=gate.host)
        stage.rule(*ALWAYS, NO_PAYROLL if before == "shopping list" else elsewhere)
        action = await carried_out(stage, "clipboard", "set_clipboard", text="hello")
        assert (await undone(stage, action)).state is State.SUCCEEDED
        assert board.held.text == before
