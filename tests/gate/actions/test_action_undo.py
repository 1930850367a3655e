"""Undo: once, by the right person, and never over a byte written after the action."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from gate.actions import reissue, undo
from gate.actions.undo_drift import TOOL_CHANGED
from gate.rules.action import Action, CallClass, Verdict
from gate.rules.action_states import State
from gate.rules.events import of_action
from gate.rules.ids import derive_id
from gate.rules.permissions import Verb, may
from gate.rules.policy import Rule
from gate.rules.receipt import intact
from gate.rules.tool import Answer, Recipe, ServerUnavailable, Trust, Undo
from storage.tables import undo_stack
from tests.gate.fake_tools import TEXT, schema
from tests.gate.gate_setup import ANN, BEN, TEAM, Scene
from views import rendering


async def done(stage: Scene, **args: str):
    action = await stage.prepare(**(args or {"path": "a.md", "content": "new"}))
    assert (await stage.confirm(action)).code == "confirmed"
    await stage.play()
    return await stage.now(action.id)


async def press(stage: Scene, action, user: str = ANN):
    said = await undo.request_undo(stage.world, stage.press(action, user))
    await stage.play()
    return said


async def test_one_click_puts_the_old_content_back(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    assert action.undo_open
    assert (await press(stage, action)).code == "undoing"
    assert stage.desk.notes == {"a.md": "old"}
    assert (await stage.now(action.id)).state is State.UNDONE
    assert await stage.ledger.undoable(action.session.team, user=ANN) == ()


async def test_what_was_new_is_taken_away_without_a_phrase(stage: Scene):
    action = await done(stage)
    await press(stage, action)
    assert stage.desk.notes == {}


async def test_a_tool_that_has_changed_since_asks_before_it_undoes(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    stage.desk.redefine("put_back", changed=True, description="Publishes the text on the web site")
    assert (await press(stage, action)).code == "undoing"
    assert stage.desk.notes == {"a.md": "new"}
    (asked,) = await stage.ledger.pending(TEAM)
    assert asked.undoes == action.id
    assert asked.preview.notes[0] == TOOL_CHANGED
    assert (await stage.confirm(asked)).code == "confirmed"
    await stage.play()
    assert stage.desk.notes == {"a.md": "old"}


async def test_a_changed_tool_does_not_hide_that_the_target_changed_too(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    stage.desk.notes["a.md"] = "of Ben"
    stage.desk.redefine("put_back", changed=True)
    await press(stage, action)
    (asked,) = await stage.ledger.pending(TEAM)
    assert asked.preview.notes[0] == TOOL_CHANGED
    assert asked.preview.notes[1].startswith("Changed since: ")


async def test_a_call_that_fits_its_tool_no_longer_is_no_way_back(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    needs = schema(["path", "content", "site"], path=TEXT, content=TEXT, expected=TEXT, site=TEXT)
    stage.desk.redefine("put_back", reviewed=True, schema=needs)
    await press(stage, action)
    assert stage.desk.notes == {"a.md": "new"}
    assert await stage.ledger.pending(TEAM) == ()
    (gone,) = [one for one in stage.wall.cards.values() if one.undoes == action.id]
    assert gone.state is State.CANCELLED
    assert "`site` is missing" in gone.resolution.reason


async def test_a_schema_that_cannot_be_followed_keeps_no_undo_back(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    elsewhere = {"properties": {"expected": {"$ref": "https://example.com/x.json"}}}
    stage.desk.specs_now["put_back"] = replace(stage.desk.specs_now["put_back"], schema=elsewhere)
    await press(stage, action)
    assert stage.desk.notes == {"a.md": "old"}


async def test_many_clicks_undo_once(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    await asyncio.gather(*(undo.request_undo(stage.world, stage.press(action)) for _ in range(6)))
    await stage.play()
    assert [name for name, _ in stage.desk.calls] == ["write", "put_back"]


async def test_nobody_else_undoes(stage: Scene):
    action = await done(stage)
    assert (await press(stage, action, BEN)).code == "not_allowed"
    assert stage.desk.notes == {"a.md": "new"}


async def test_when_the_target_changed_since_a_person_is_asked_first(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    stage.desk.notes["a.md"] = "newer work of somebody"
    await press(stage, action)
    assert stage.desk.notes == {"a.md": "newer work of somebody"}
    (asked,) = await stage.ledger.pending(action.session.team, user=ANN)
    assert asked.undoes == action.id
    assert any("Changed since" in note for note in asked.preview.notes)
    assert (await stage.confirm(asked)).code == "confirmed"
    await stage.play()
    assert stage.desk.notes == {"a.md": "old"}
    assert (await stage.now(action.id)).state is State.UNDONE


def write_without_expectations(stage: Scene) -> None:
    """Nothing that puts a text back says what it expects to be there."""
    tools = stage.desk.specs_now
    back = Undo("put_back", {"path": "{args.path}", "content": "{capture.before.content}"})
    tools["write"] = replace(tools["write"], recipe=replace(tools["write"].recipe, undo=[back]))
    tools["put_back"] = replace(
        tools["put_back"], recipe=replace(tools["put_back"].recipe, capture={}, bind={})
    )


async def given_undo_that_asks(stage: Scene) -> tuple[Action, Action]:
    """A done action whose target was changed since, and its undo, which tells of that on a card."""
    write_without_expectations(stage)
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    stage.desk.notes["a.md"] = "newer"
    await press(stage, action)
    (asked,) = await stage.ledger.pending(action.session.team, user=ANN)
    return action, asked


async def test_what_changes_between_the_look_and_the_undo_is_not_overwritten(stage: Scene):
    """As where the process dies between the two."""
    write_without_expectations(stage)
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    await undo.request_undo(stage.world, stage.press(action))
    undo_id, _ = await undo.undo_slot(stage.world, action)
    await undo.run_undo(stage.world, undo_id)
    stage.desk.notes["a.md"] = "written by somebody else"
    await stage.play()
    assert stage.desk.notes == {"a.md": "written by somebody else"}
    called_off = await stage.now(undo_id)
    assert (called_off.state, called_off.decision) == (
        State.CANCELLED,
        "a.md changed after it was looked at.",
    )
    assert (await stage.now(action.id)).undo_open
    await press(stage, action)
    (asked,) = await stage.ledger.pending(action.session.team, user=ANN)
    assert any("Changed since" in note for note in asked.preview.notes)


@pytest.mark.parametrize("changed", [("a.md", "work of an hour"), None])
async def test_a_confirmed_undo_overwrites_only_the_change_that_its_card_told_of(
    stage: Scene, changed: tuple[str, str] | None
):
    action, asked = await given_undo_that_asks(stage)
    assert any("Changed since" in note for note in asked.preview.notes)
    assert not asked.checkable
    stage.desk.notes = {"a.md": "newer", **dict([changed] if changed else [])}
    assert (await stage.confirm(asked)).code == "confirmed"
    await stage.play()
    undone = await stage.now(asked.id)
    if changed is None:
        assert (undone.state, stage.desk.notes) == (State.SUCCEEDED, {"a.md": "old"})
    else:
        assert undone.decision == "a.md changed after it was looked at."
        assert (undone.state, stage.desk.notes) == (State.CANCELLED, dict([changed]))
        assert (await stage.now(action.id)).undo_open


async def test_an_undo_that_is_shown_anew_tells_of_the_change_as_well(stage: Scene):
    """Its tool changed after the card was made."""
    action, asked = await given_undo_that_asks(stage)
    stage.desk.redefine("put_back")
    assert (await stage.confirm(asked)).code == "changed"
    await stage.play()
    (anew,) = await stage.ledger.pending(action.session.team, user=ANN)
    assert anew.version > asked.version
    assert any("Changed since" in note for note in anew.preview.notes)
    assert (anew.preview.summary, anew.preview.verb) == (asked.preview.summary, "Undo")
    stage.desk.notes["a.md"] = "work of an hour"
    assert (await stage.confirm(anew)).code == "confirmed"
    await stage.play()
    assert stage.desk.notes == {"a.md": "work of an hour"}
    assert (await stage.now(anew.id)).state is State.CANCELLED


async def test_an_undo_that_is_shown_anew_is_as_private_as_what_it_takes_back_is_by_now(stage: Scene):
    action, asked = await given_undo_that_asks(stage)
    assert not asked.private
    stage.rule(Rule("salaries", ("desk.write",), private=True))  # which does not name what takes it back
    stage.desk.redefine("put_back")
    assert (await stage.confirm(asked)).code == "changed"
    await stage.play()
    (anew,) = await stage.ledger.pending(action.session.team, user=ANN)
    assert anew.private


async def test_an_undo_whose_target_cannot_be_looked_at_again_says_that(
    stage: Scene, monkeypatch: pytest.MonkeyPatch
):
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    await undo.request_undo(stage.world, stage.press(action))
    undo_id, _ = await undo.undo_slot(stage.world, action)
    await undo.run_undo(stage.world, undo_id)

    async def away(*_: Any, **__: Any) -> Answer:
        raise ServerUnavailable("desk is not connected")

    monkeypatch.setattr(stage.desk, "call", away)
    await stage.play()
    called_off = await stage.now(undo_id)
    assert called_off.state is State.CANCELLED
    assert called_off.decision == "I could not look whether it changed since."
    assert (await stage.now(action.id)).undo_open


async def test_an_undo_that_a_person_is_asked_about_goes_by_the_rules_of_that_moment(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    stage.desk.notes["a.md"] = "newer work of somebody"
    await undo.request_undo(stage.world, stage.press(action))
    stage.rule(Rule("mind this", ("desk.put_back",), always=True, private=True))
    stage.desk.redefine("put_back")
    await stage.play()
    (asked,) = await stage.ledger.pending(action.session.team, user=ANN)
    assert (asked.verdict, asked.always_gated, asked.private) == (Verdict.TYPED, True, True)
    assert asked.definition == stage.desk.specs_now["put_back"].definition
    assert intact(asked)


async def test_a_failed_undo_gives_the_action_back(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    stage.desk.behave = "says no"
    await press(stage, action)
    again = await stage.now(action.id)
    assert (again.state, again.undo_open) == (State.SUCCEEDED, True)
    stage.desk.behave = "well"
    await press(stage, again)
    assert (await stage.now(action.id)).state is State.UNDONE


# promise: ACT-17
async def test_the_button_and_the_history_stay_for_as_long_as_undo_is_possible(stage: Scene):
    action = await done(stage)
    stage.travel(29 * 24 * 3600)
    await stage.play(timers=True)
    assert (await stage.now(action.id)).undo_open
    (entry,) = await stage.ledger.undoable(action.session.team, user=ANN)
    assert entry.action.id == action.id
    assert (await press(stage, await stage.now(action.id))).code == "undoing"


# promise: ACT-09
async def test_each_change_leaves_an_entry_with_the_fields_of_the_spec(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    async with stage.ledger.begin() as tx:
        (entry,) = (await tx.execute(select(undo_stack))).mappings()
    assert (entry["session_id"], entry["tool_name"], entry["undone"]) == (stage.session, "desk.write", False)
    assert entry["timestamp"] <= await stage.ledger.now()
    assert entry["action_type"]
    assert "old" in str(entry["original_state"])
    assert "new" in str(entry["new_state"])
    await press(stage, action)
    async with stage.ledger.begin() as tx:
        assert (await tx.execute(select(undo_stack.c.undone))).scalars().all() == [True]


async def test_after_its_days_it_cannot_be_undone(stage: Scene):
    action = await done(stage)
    stage.travel(31 * 24 * 3600)
    assert (await press(stage, action)).code == "no_undo"


@pytest.mark.parametrize("behave", ["says no", "breaks the line"])
async def test_what_did_not_succeed_offers_no_undo(stage: Scene, behave: str):
    stage.desk.behave = behave
    action = await done(stage)
    assert (await press(stage, action)).code == "late"


# What only one person may see


HR = Rule("hr", ("desk.write",), private=True)
CARDS = ("changed since", "fails", "says nothing", "expired and asked again", "voided by new rules")


async def undo_of_private(stage: Scene, how: str) -> Action:
    """The undo of a write that is for Ann alone, as far as it goes."""
    stage.desk.notes["pay.md"] = "old pay"
    action = await done(stage, path="pay.md", content="new pay")
    stage.desk.behave = {"fails": "says no", "says nothing": "breaks the line"}.get(how, "well")
    if stage.desk.behave == "well":
        stage.desk.notes["pay.md"] = "newer pay"
    await press(stage, action)
    if how == "expired and asked again":
        stage.travel(24 * 3600)
        await stage.play(timers=True)
        (expired,) = [one for one in stage.wall.cards.values() if one.undoes]
        assert expired.state is State.EXPIRED
        await reissue.reissue_by_press(stage.world, stage.press(expired))
        await stage.play()
    if how == "voided by new rules":
        (asked,) = await stage.ledger.pending(action.session.team, user=ANN)
        stage.desk.redefine("put_back")
        assert (await stage.confirm(asked)).code == "changed"
        await stage.play()
    return [one for one in stage.wall.cards.values() if one.undoes][-1]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("how", CARDS)
async def test_the_undo_of_a_private_call_is_as_private(stage: Scene, how: str):
    stage.rule(HR)
    shown = await undo_of_private(stage, how)
    assert shown.private
    assert rendering.of_action(shown, ()).direct == ANN
    ben, ann = stage.directory.people[BEN], stage.directory.people[ANN]
    looks = [may(stage.world.policy, Verb.LOOK, shown, person).allowed for person in (ann, ben)]
    assert looks == [True, False]
    told = [event.body for event in of_action(0, shown)]
    assert "pay" not in str(told)


async def test_the_undo_of_a_call_that_a_rule_makes_private_since_is_private(stage: Scene):
    stage.desk.notes["pay.md"] = "old pay"
    action = await done(stage, path="pay.md", content="new pay")
    stage.rule(HR)
    stage.desk.notes["pay.md"] = "newer pay"
    await press(stage, action)
    (asked,) = await stage.ledger.pending(action.session.team, user=ANN)
    assert asked.private


async def test_what_changed_since_is_named_on_a_private_card_without_its_values(stage: Scene):
    stage.rule(HR)
    shown = await undo_of_private(stage, "changed since")
    assert shown.preview.notes == ("Changed since: sha.",)


async def test_what_a_private_read_found_changed_is_named_without_its_values(stage: Scene):
    stage.rule(Rule("quiet reads", ("desk.look",), private=True))
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    stage.desk.notes["a.md"] = "newer"
    await press(stage, action)
    (asked,) = await stage.ledger.pending(TEAM, user=ANN)
    assert asked.preview.notes == ("Changed since: sha.",)


async def test_the_log_names_what_changed_since_and_no_value(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    stage.desk.notes["a.md"] = "newer"
    await press(stage, action)
    (asked,) = await stage.ledger.pending(action.session.team, user=ANN)
    assert "sha was" in asked.preview.notes[0]
    (line,) = [one for one in await stage.ledger.audit_tail(team=TEAM) if one.entry.event == "drifted"]
    assert line.entry.reason == "Changed since: sha."


async def test_an_undo_whose_tool_is_looked_at_in_private_runs_and_is_private(stage: Scene):
    stage.rule(Rule("salaries are private", ("desk.look",), texts=("^hr/",), private=True))
    write = stage.desk.specs_now["write"]
    blind = Recipe(cls=CallClass.WRITE, undo=[Undo("shred", {"path": "{args.path}"})])
    stage.desk.specs_now["write"] = replace(write, recipe=blind)
    action = await done(stage, path="hr/pay.csv", content="x")
    assert (await press(stage, action)).ok
    assert (await stage.now(action.id)).state is State.UNDONE
    assert (await stage.now(derive_id("undo", action.id, 0))).private


async def test_an_undo_at_another_server_asks_where_nothing_tells_of_a_change(stage: Scene):
    write_without_expectations(stage)
    spec = stage.desk.specs_now["write"]
    stage.desk.specs_now["write"] = replace(spec, recipe=replace(spec.recipe, drift=None))
    stage.desk.specs_now["put_back"] = replace(stage.desk.specs_now["put_back"], trust=Trust.REVIEWED)
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    stage.desk.notes["a.md"] = "work of an hour"
    await press(stage, action)
    assert stage.desk.notes == {"a.md": "work of an hour"}
    (asked,) = await stage.ledger.pending(action.session.team, user=ANN)
    assert "Nothing tells whether it changed since." in asked.preview.notes
    assert (await stage.confirm(asked)).code == "confirmed"
    await stage.play()
    assert stage.desk.notes == {"a.md": "old"}


@pytest.mark.parametrize("how", ["changed since", "changed back since", "never looked at"])
async def test_asking_again_for_an_undo_shows_what_it_would_do_and_waits(stage: Scene, how: str):
    """It is the undo that the person has asked for before, and no yes to what is there by now."""
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    if how == "never looked at":
        assert (await undo.request_undo(stage.world, stage.press(action))).ok
        stage.done |= {run.key for run in stage.runs if run.name == "undo"}
    else:
        stage.desk.notes["a.md"] = "of Ben"
        assert (await press(stage, action)).ok
    stage.travel(4000)
    await stage.play(timers=True)
    (expired,) = [one for one in stage.wall.cards.values() if one.undoes]
    assert expired.state is State.EXPIRED
    stage.desk.notes["a.md"] = now = "of Ben" if how == "changed since" else "new"
    for _ in range(2):
        assert (await reissue.reissue_by_press(stage.world, stage.press(expired))).ok
    await stage.play()
    assert stage.desk.notes == {"a.md": now}
    (asked,) = await stage.ledger.pending(TEAM)
    assert (asked.undoes, asked.renews, asked.preview.summary) == (action.id, expired.id, "Write a.md")
    assert "press" not in asked.preview.problem
    assert [note.startswith("Changed since: ") for note in asked.preview.notes] == (
        [True] if how == "changed since" else []
    )
    assert (await stage.confirm(asked)).code == "confirmed"
    await stage.play()
    assert stage.desk.notes == {"a.md": "old"}
    assert (await stage.now(action.id)).state is State.UNDONE


async def test_an_undo_that_is_asked_again_does_not_run_over_what_changes_while_its_card_waits(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    stage.desk.notes["a.md"] = "of Ben"
    await press(stage, action)
    stage.travel(4000)
    await stage.play(timers=True)
    stage.desk.notes["a.md"] = "new"
    (expired,) = [one for one in stage.wall.cards.values() if one.undoes]
    await reissue.reissue_by_press(stage.world, stage.press(expired))
    await stage.play()
    (asked,) = await stage.ledger.pending(TEAM)
    stage.desk.notes["a.md"] = "of Cleo"
    await stage.confirm(asked)
    await stage.play()
    assert stage.desk.notes == {"a.md": "of Cleo"}
