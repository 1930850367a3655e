"""The record of a story: every event, who decided, and a chain that shows tampering."""

from __future__ import annotations

from sqlalchemy import text

from gate.actions import claim_click, undo
from gate.actions.prepare import CallRequest, prepare
from gate.rules.action_states import State
from gate.rules.planner_port import Call
from tests.gate.gate_setup import ANN, BEN, TEAM, Scene


async def events(stage: Scene) -> list[tuple[str, str, str | None, bool]]:
    lines = await stage.ledger.audit_tail(team=TEAM, limit=50)
    return [
        (line.entry.event, line.entry.actor, line.entry.status, line.entry.user_confirmed)
        for line in reversed(lines)
    ]


async def test_a_whole_story_is_on_the_record(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await stage.prepare(path="a.md", content="new")
    await stage.confirm(action, BEN)
    await stage.confirm(action)
    await stage.play()
    await undo.request_undo(stage.world, stage.press(await stage.now(action.id)))
    await stage.play()
    found = await events(stage)
    assert [name for name, *_ in found] == [
        "proposed",
        "turned_away",
        "confirmed",
        "started",
        "succeeded",
        "undo_asked",
        "confirmed",
        "started",
        "succeeded",
        "undone",
    ]
    assert ("confirmed", ANN, None, True) in found
    assert ("succeeded", ANN, "success", True) in found
    assert found[1] == ("turned_away", BEN, None, False)


# promise: ACT-19, ACT-20, ACT-21
async def test_the_entry_of_a_call_has_the_fields_of_the_spec(stage: Scene):
    action = await stage.prepare(path="a.md", content="new")
    await stage.confirm(action)
    await stage.play()
    look = Call("desk", "look", {"path": "a.md"})
    await prepare(stage.world, CallRequest(stage.world.ids.new(), stage.session, ANN, look))
    lines = await stage.ledger.audit_tail(team=TEAM, limit=50)
    read, call = [line for line in lines if line.entry.status == "success"][:2]
    for line, tool, confirmed in ((call, "desk.write", True), (read, "desk.look", False)):
        entry = line.entry
        assert (entry.session, entry.tool, entry.user_confirmed) == (stage.session.key, tool, confirmed)
        assert '"path":"a.md"' in entry.arguments
        assert "new" in entry.result
        assert entry.execution_ms is not None
        assert line.at <= await stage.ledger.now()


async def test_an_error_is_on_the_record_as_one(stage: Scene):
    stage.desk.behave = "says no"
    action = await stage.prepare(path="a.md", content="new")
    await stage.confirm(action)
    await stage.play()
    assert ("failed", ANN, "error", True) in await events(stage)


async def test_a_rejection_is_no_confirmation(stage: Scene):
    action = await stage.prepare(path="a.md", content="new")
    await claim_click.reject(stage.world, stage.press(action, reason="no"))
    assert ("rejected", ANN, "rejected_by_user", False) in await events(stage)


async def test_expiry_and_reads_are_nobodys_decision(stage: Scene):
    await stage.prepare(path="a.md", content="new")
    stage.travel(301)
    await stage.play(timers=True)
    assert ("expired", "system", None, False) in await events(stage)


async def test_a_stored_action_that_was_tampered_with_never_runs(stage: Scene):
    action = await stage.prepare(path="a.md", content="new")
    async with stage.ledger._engine.begin() as connection:
        await connection.execute(
            text("UPDATE actions SET proposal = replace(proposal, 'new', 'evil') WHERE id = :id"),
            {"id": action.id},
        )
    said = await stage.confirm(action)
    await stage.play()
    assert not said.ok
    assert stage.desk.calls == []
    assert (await stage.now(action.id)).state is State.PREPARED
