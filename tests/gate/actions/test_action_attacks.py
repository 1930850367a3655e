"""Attacks on the gate: a yes that was meant for something else, a rule that came too late, a way around."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from gate.actions import button_press, edit, execute, reissue, undo
from gate.actions.button_press import PressResult
from gate.actions.prepare import CallRequest, prepare
from gate.rules.action import CallClass, Risk
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from gate.rules.permissions import Verb
from gate.rules.planner_port import Call, CancelPending, Propose
from gate.rules.policy import Rule
from gate.rules.previews import MAX_AFFECTED, build
from gate.rules.templates import TemplateError, expand
from gate.rules.tool import InvalidAnswer, Recipe, Show
from gate.sentences import thread_commands
from tests.cpu_time import within
from tests.gate.gate_setup import ANN, BEN, CLEO, TEAM, Scene, nothing_ran

OPS = Approvers(groups=frozenset({"S_OPS"}))


async def done(stage: Scene, content: str = "new"):
    action = await stage.prepare(path="a.md", content=content)
    assert (await stage.confirm(action)).code == "confirmed"
    await stage.play()
    return await stage.now(action.id)


async def drifted_undo(stage: Scene):
    """An undo that waits for a person, because its target changed since."""
    stage.desk.notes["a.md"] = "old"
    action = await done(stage)
    stage.desk.notes["a.md"] = "newer work of somebody"
    await undo.request_undo(stage.world, stage.press(action))
    await stage.play()
    (asked,) = await stage.ledger.pending(action.session.team, user=ANN)
    return asked


async def test_a_yes_written_before_the_new_preview_was_made_confirms_nothing(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    before = (await stage.ledger.now()).timestamp() - 1
    await edit.submit(stage.world, stage.press(action), {"path": "a.md", "content": "goodbye"})
    await stage.play()
    assert (await stage.now(action.id)).version == 3
    with nothing_ran(stage):
        await stage.say("yes", ts=f"{before:.6f}", mentioned=False)
        await stage.say("@bot yes", ts=f"{before - 1:.6f}")
    assert (await stage.now(action.id)).state is State.PREPARED
    after = (await stage.ledger.now()).timestamp() + 1
    await stage.say("yes", ts=f"{after:.6f}")
    assert stage.desk.notes == {"a.md": "goodbye"}


async def test_a_yes_written_before_the_new_card_was_drawn_confirms_nothing(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    await edit.submit(stage.world, stage.press(action), {"path": "a.md", "content": "goodbye"})
    await edit.refresh_preview(stage.world, action.id, 2)
    ts = (await stage.ledger.now()).timestamp() + 5  # the preview is made, and Slack is slow to take it
    stage.travel(10)
    with nothing_ran(stage):
        await stage.play()
        await stage.say("yes", ts=f"{ts:.6f}")
    assert (await stage.now(action.id)).state is State.PREPARED


async def test_an_undo_cannot_be_edited_into_another_call(stage: Scene):
    stage.rule(Rule("ops", ("desk.put_back",), approvers=OPS))
    asked = await drifted_undo(stage)
    with nothing_ran(stage):
        said = await edit.submit(stage.world, stage.press(asked), {"path": "b.md", "content": "mine"})
        await stage.play()
    assert isinstance(said, button_press.PressResult)
    assert not said.ok
    assert (await stage.now(asked.id)).version == asked.version


async def test_an_undo_that_was_voided_is_shown_anew_once_and_can_then_be_confirmed(stage: Scene):
    stage.rule(Rule("ops", ("desk.put_back",), approvers=OPS))
    asked = await drifted_undo(stage)
    stage.desk.redefine("put_back")
    assert (await stage.confirm(asked)).code == "changed"
    await stage.play()
    assert (await stage.confirm(await stage.now(asked.id))).code == "confirmed"
    await stage.play()
    assert stage.desk.notes == {"a.md": "old"}


async def test_a_rule_about_what_the_recipe_binds_counts_from_the_first_card_on(stage: Scene):
    stage.rule(Rule("never on nothing", ("desk.write",), always=True, texts=("^absent$",)))
    action = await stage.prepare(path="a.md", content="hello")
    assert action.always_gated
    assert (await stage.confirm(action, typed=action.phrase)).code == "confirmed"


async def test_a_rule_that_bound_arguments_would_hide_still_holds(stage: Scene):
    exact = {"properties": {"path": True, "content": True}, "additionalProperties": False}
    stage.rule(Rule("exact", ("desk.write",), at_least=CallClass.DESTRUCTIVE, schema=exact))
    action = await stage.prepare(path="a.md", content="hello")
    assert action.cls is CallClass.DESTRUCTIVE
    sly = await stage.prepare(path="b.md", content="hello", expected="anything")
    assert sly.cls is CallClass.DESTRUCTIVE
    assert (await stage.confirm(action, typed=action.phrase)).code == "confirmed"


async def test_a_rule_about_what_was_bound_may_refuse(stage: Scene):
    stage.rule(Rule("never on nothing", ("desk.write",), deny=True, texts=("^absent$",)))
    with pytest.raises(AssertionError, match="Refused"):
        await stage.prepare(path="a.md", content="hello")


async def test_the_planner_withdraws_nothing_that_somebody_else_asked_for(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    stage.world = replace(stage.world, policy=replace(stage.world.policy, admins=frozenset({BEN})))
    stage.planner.script = [CancelPending(action.id)]
    await stage.say("tidy up", user=BEN)
    assert (await stage.now(action.id)).state is State.PREPARED


async def test_a_private_action_is_looked_at_by_nobody_else(stage: Scene):
    stage.rule(Rule("private", ("desk.write",), private=True), admins=frozenset({CLEO}))
    action = await stage.prepare(path="a.md", content="hello")
    for user, allowed in ((ANN, True), (BEN, False), (CLEO, True)):
        said = await button_press.load_action(stage.world, stage.press(action, user), Verb.LOOK)
        assert isinstance(said, button_press.PressResult) is not allowed


async def test_what_cannot_all_be_listed_cannot_be_confirmed():
    from tests.gate.fake_tools import SPECS

    spec = replace(SPECS["shred"], recipe=Recipe(show=Show("affected", items="{capture.all.items}")))
    things = [{"name": f"{n}.md"} for n in range(MAX_AFFECTED + 1)]
    assert build(spec, {}, {"all": {"items": things[:-1]}}).is_complete
    assert not build(spec, {}, {"all": {"items": things}}).is_complete


async def test_a_deny_is_not_softened_by_a_preview_that_is_too_long(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    stage.rule(Rule("frozen", ("desk.write",), deny=True))
    stage.world = replace(stage.world, fits=lambda a: False)
    await stage.confirm(action)
    await stage.play()
    assert (await stage.now(action.id)).state is State.CANCELLED


async def test_a_row_that_was_changed_behind_our_back_is_called_off_whatever_it_holds(stage: Scene):
    for bad in (b"\xff", b"{", b"[]", b'{"path":"b.md","content":"evil"}'):
        action = await stage.prepare(path="a.md", content="hello")
        assert (await stage.confirm(action)).code == "confirmed"
        approved = await stage.now(action.id)
        async with stage.ledger.begin() as tx:
            await tx.update_action(approved, proposal=replace(approved.proposal, args=bad))
        with nothing_ran(stage):
            await execute.execute(stage.world, action.id)
        after = await stage.now(action.id)
        assert after.state is State.CANCELLED
        assert "not the one that was shown" in after.decision


async def test_replacing_words_cannot_fill_the_memory(stage: Scene):
    action = await stage.prepare(path="a.md", content="a" * 2000)
    with within(1, time.process_time):
        said = await edit.edit_by_text(
            stage.world, stage.press(action), thread_commands.Replace("a", "b" * 40_000)
        )
        assert isinstance(said, InvalidAnswer)


@pytest.mark.parametrize(
    "text",
    [
        "change '" + "x' to '" * 5_700 + "z",
        "change '" + "' " * 20_000,
        "change '" + ("'" + " " * 200) * 200 + "z",
        "set " + " " * 40_000 + "x",
        "please " + " " * 40_000,
        "no " + " " * 40_000,
    ],
)
def test_no_sentence_takes_long_to_read(text: str):
    with within(1, time.process_time):
        thread_commands.edit(text)
        thread_commands.is_yes(text)
        thread_commands.is_no(text)
        thread_commands.command(text)


def test_a_number_beyond_all_sizes_is_a_problem_of_the_template():
    with pytest.raises(TemplateError):
        expand("{n|size}", {"n": 10**400})


async def test_one_reply_of_the_planner_says_only_once_that_it_was_too_much(stage: Scene):
    calls = tuple(Call("desk", "nothing", {"at": str(n)}) for n in range(40))
    stage.planner.script = [Propose(calls)]
    await stage.say("do it all")
    assert len([note for note in stage.wall.notes if note.kind == "refused"]) <= 13


async def test_what_a_private_tool_answers_is_shown_to_who_asked_alone(stage: Scene):
    stage.rule(Rule("private", ("desk.look",), private=True))
    stage.planner.script = [Propose((Call("desk", "look", {"path": "a.md"}),))]
    await stage.say("what is in it?")
    (note,) = [note for note in stage.wall.notes if note.kind == "read"]
    assert note.to == ANN


async def test_nobody_has_more_waiting_than_the_limit_however_fast_they_ask(stage: Scene):
    calls = [Call("desk", "write", {"path": f"{n}.md", "content": "x"}) for n in range(30)]
    asked = [CallRequest(f"a{n}", stage.session, ANN, call) for n, call in enumerate(calls)]
    await asyncio.gather(*(prepare(stage.world, one) for one in asked))
    assert len(await stage.ledger.pending(TEAM, user=ANN)) == stage.world.limits.pending_per_user


async def test_a_risk_that_the_proposer_gave_stays_after_an_edit_and_when_it_is_asked_again(stage: Scene):
    call = Call("desk", "write", {"path": "a.md", "content": "new"}, Risk.CRITICAL)
    asked = CallRequest("a1", stage.session, ANN, call)
    await prepare(stage.world, asked)
    await stage.play()
    action = await stage.now("a1")
    assert action.risk is Risk.CRITICAL
    said = await edit.submit(stage.world, stage.press(action), {"path": "b.md", "content": "new"})
    assert isinstance(said, PressResult)
    await stage.play()
    edited = await stage.now("a1")
    assert (edited.version, edited.risk) == (3, Risk.CRITICAL)
    stage.travel(400)
    await stage.play(timers=True)
    assert (await reissue.reissue_by_press(stage.world, stage.press(await stage.now("a1")))).ok
    await stage.play()
    (again,) = await stage.ledger.pending("T1")
    assert again.risk is Risk.CRITICAL
