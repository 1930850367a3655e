"""The calls of a reply are steps: modes, pause, stop, steering and undo-all of a request without a shown plan."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from sqlalchemy import event

from gate.actions import claim_click, reissue, resolve_unknown, undo
from gate.actions.button_press import TaskPress
from gate.actions.prepare import Answered, CallRequest, prepare
from gate.rules.action import Ref
from gate.rules.action_states import State
from gate.rules.ids import derive_id
from gate.rules.planner_port import MAX_TOLD, Call, PlannerInterrupted, Propose, Say
from gate.rules.plans import is_taken_back
from gate.rules.ports import Note, StaleTask, Tx
from gate.rules.task import Flow, PauseReason, Task
from gate.rules.task_states import TaskState as S
from gate.rules.tool import Answer
from gate.tasks import control, step_review, undo_all
from gate.tasks.replies import TOO_MANY
from tests.gate.gate_setup import ANN, BEN, TEAM, Scene
from tests.gate.plan_setup import confirmed, entries, on_pause, pressed, states, steps, wrote


def write(path: str, content: str = "new") -> Call:
    return Call("desk", "write", {"path": path, "content": content})


def look(path: str) -> Call:
    return Call("desk", "look", {"path": path})


async def newest(stage: Scene) -> Task:
    return (await stage.ledger.tasks_of(stage.session))[0]


async def asked(stage: Scene, *calls: Call, text: str = "write it down", after: tuple[Any, ...] = ()) -> Task:
    """A simple request whose one reply makes these calls."""
    stage.planner.script = [Propose(calls), *after]
    await stage.say(text)
    return await newest(stage)


async def one(stage: Scene, path: str):
    """The action that waits and is about this path."""
    return next(a for a in await stage.ledger.pending(TEAM) if path in a.preview.summary)


async def test_more_calls_than_a_reply_may_make_are_refused_in_one_sentence(stage: Scene):
    most = stage.world.limits.calls_per_turn
    task = await asked(stage, *(look(f"{number}.md") for number in range(most + 30)))
    assert states(task) == ["done"] * most
    turn = await stage.ledger.turn(task.turn)
    assert turn is not None
    (exchange,) = [one for one in turn.exchanges if isinstance(one.reply, Propose)]
    assert isinstance(exchange.reply, Propose)
    assert (len(exchange.reply.calls), exchange.reply.surplus, len(exchange.reports)) == (most, 30, most)
    note = await stage.ledger.note(derive_id("note", turn.id, 0, most, "refused"))
    assert note is not None
    assert (note.body["name"], note.body["reasons"]) == ("30 more calls", [TOO_MANY])


async def test_the_calls_of_one_reply_are_steps_that_wait_for_nothing(stage: Scene):
    task = await asked(stage, write("a.md"), look("b.md"), write("c.md"))
    assert (task.flow, task.planned, states(task)) == (Flow.SIMPLE, False, ["asked", "done", "asked"])
    assert [step.title for step in steps(task)] == ["Write a.md", "Look b.md", "Write c.md"]
    turn = await stage.ledger.turn(task.turn)
    assert turn is not None
    assert [step.action for step in steps(task)] == [
        derive_id("action", turn.id, 0, 0), "", derive_id("action", turn.id, 0, 2),
    ]  # fmt: skip
    for action in await stage.ledger.pending(TEAM):
        assert (action.task, action.turn) == (task.id, turn.id)


async def test_steps_of_a_reply_are_decided_in_any_order_and_fail_alone(stage: Scene):
    await asked(stage, write("a.md"), write("b.md"), write("c.md"))
    asked_before = len(stage.planner.seen)
    await stage.confirm(await one(stage, "c.md"))
    await stage.play()
    said = await claim_click.reject(stage.world, stage.press(await one(stage, "a.md"), reason="not that one"))
    assert said.ok
    await stage.play()
    assert (wrote(stage), len(stage.planner.seen)) == (["c.md"], asked_before)
    await stage.confirm(await one(stage, "b.md"))
    await stage.play()
    task = await newest(stage)
    assert states(task) == ["failed", "done", "done"]
    told = stage.planner.seen[-1].exchanges[0].reports
    assert [each.status for each in told] == ["rejected", "succeeded", "succeeded"]
    assert (task.state, task.result) == (
        S.SATISFACTION,
        "1 rejected, 2 done: Write a.md; Wrote b.md; Wrote c.md",
    )


async def test_later_replies_append_steps_that_ask_for_themselves(stage: Scene):
    await asked(stage, write("a.md"), after=(Propose((write("b.md"),)),))
    task = await confirmed(stage)
    assert ([step.id for step in steps(task)], states(task)) == (["s1", "s2"], ["done", "asked"])
    assert (task.state, wrote(stage)) == (S.RUNNING, ["a.md"])


def transactions(stage: Scene) -> list[list[str]]:
    """The tables that each transaction from now on inserts into or updates, in order."""
    done: list[list[str]] = [[]]

    def sent(_conn: Any, _cursor: Any, text: str, *_: Any) -> None:
        done[-1] += re.findall(r"^(?:INSERT INTO|UPDATE) (\w+)", text)

    engine = stage.ledger._engine.sync_engine
    event.listen(engine, "before_cursor_execute", sent)
    event.listen(engine, "commit", lambda _conn: done.append([]))
    return done


async def test_a_read_without_a_model_ends_its_request_in_one_transaction(stage: Scene):
    stage.planner.follows = False
    written = transactions(stage)
    task = await asked(stage, look("a.md"), text="look at it")
    assert (task.state, states(task), task.result) == (S.DONE, ["done"], "1 done: Looked a.md")
    (end,) = [tables for tables in written if "taints" in tables]
    assert (end.count("tasks"), end.count("notes"), end.count("exchanges")) == (1, 1, 1)
    assert len(await entries(stage, "read")) == 1


async def test_a_read_stays_on_record_where_its_task_has_changed_meanwhile(stage: Scene):
    async def keep(tx: Tx, read: Answered) -> None:
        await tx.note(Note("n1", stage.session, "read", {"text": read.answer.text}))
        raise StaleTask(None)

    wanted = CallRequest("r1", stage.session, ANN, look("a.md"))
    with pytest.raises(StaleTask):
        await prepare(stage.world, wanted, keep=keep)
    (entry,) = await entries(stage, "read")
    assert (entry.action, entry.tool) == ("r1", "desk.look")
    assert await stage.ledger.note("n1") is None


async def test_a_write_without_a_model_ends_its_request_in_one_transaction(stage: Scene):
    stage.planner.follows = False
    await asked(stage, write("a.md"))
    written = transactions(stage)
    task = await confirmed(stage)
    assert (task.state, task.result) == (S.SATISFACTION, "1 done: Wrote a.md")
    assert task.changed
    (end,) = [tables for tables in written if "tasks" in tables]
    assert (end.count("tasks"), end.count("exchanges"), "audit_log" in end) == (1, 1, True)
    turn = await stage.ledger.turn(task.turn)
    assert turn is not None
    assert [one.status for one in turn.exchanges[0].reports] == ["succeeded"]


async def test_a_request_without_a_model_ends_once_all_calls_of_its_reply_have(stage: Scene):
    stage.planner.follows = False
    task = await asked(stage, look("a.md"), write("b.md"), look("c.md"))
    assert (task.state, states(task)) == (S.RUNNING, ["done", "asked", "done"])
    task = await confirmed(stage)
    assert (task.state, states(task)) == (S.SATISFACTION, ["done", "done", "done"])
    turn = await stage.ledger.turn(task.turn)
    assert turn is not None
    assert [one.status for one in turn.exchanges[0].reports] == ["succeeded"] * 3


async def test_a_planner_is_told_as_much_of_a_long_answer_as_it_takes_in(stage: Scene):
    stage.planner.follows = False
    stage.desk.notes["a.md"] = "word " * 40_000
    task = await asked(stage, look("a.md"))
    turn = await stage.ledger.turn(task.turn)
    assert turn is not None
    (told,) = turn.exchanges[0].reports
    assert len(told.text) == MAX_TOLD
    assert re.search(r"word w?o?r?d?\n\(cut here: 200\d\d\d characters in all\)$", told.text)


# Modes


async def test_manual_waits_after_the_step_of_a_simple_request(stage: Scene):
    await asked(stage, write("a.md"), text="[manual] do it", after=(Propose((write("b.md"),)),))
    replies = len(stage.planner.seen)
    task = await confirmed(stage)
    assert (task.state, task.why, states(task)) == (S.PAUSED, PauseReason.REVIEW, ["done"])
    assert task.reason.startswith("“Write a.md” is done. ")
    assert len(stage.planner.seen) == replies
    await pressed(stage, control.resume, on_pause(task))
    task = await newest(stage)
    assert (task.state, states(task), len(stage.planner.seen)) == (S.RUNNING, ["done", "asked"], replies + 1)


async def test_manual_waits_after_a_read_of_a_simple_request(stage: Scene):
    task = await asked(stage, look("a.md"), text="[manual] look at it")
    assert (task.state, task.why) == (S.PAUSED, PauseReason.REVIEW)
    await pressed(stage, control.resume, on_pause(task))
    assert (await newest(stage)).state is S.DONE


async def test_manual_asks_for_the_calls_of_one_reply_one_after_the_other(stage: Scene):
    task = await asked(stage, write("a.md"), write("b.md"), text="[manual] do both")
    assert states(task) == ["asked", "waiting"]
    task = await confirmed(stage)
    assert (task.state, task.pauses, states(task)) == (S.PAUSED, 1, ["done", "waiting"])
    await pressed(stage, control.resume, on_pause(task))
    assert states(await newest(stage)) == ["done", "asked"]
    task = await confirmed(stage)
    assert (task.state, task.pauses, states(task)) == (S.PAUSED, 2, ["done", "done"])
    assert wrote(stage) == ["a.md", "b.md"]
    await pressed(stage, control.resume, on_pause(task))
    assert (await newest(stage)).state is S.SATISFACTION


async def test_manual_goes_on_to_the_next_call_of_a_reply_when_one_is_cancelled(stage: Scene):
    await asked(stage, write("a.md"), write("b.md"), text="[manual] do both")
    assert (await claim_click.cancel(stage.world, stage.press(await one(stage, "a.md")))).ok
    await stage.play()
    task = await newest(stage)
    assert (states(task), wrote(stage)) == (["failed", "asked"], [])


async def test_siblings_that_were_asked_before_manual_are_looked_at_one_after_the_other(stage: Scene):
    await asked(stage, write("a.md"), write("b.md"))
    await stage.say("mode manual")
    task = await confirmed(stage, await one(stage, "a.md"))
    assert task.state is S.PAUSED
    task = await confirmed(stage, await one(stage, "b.md"))
    assert (task.pauses, states(task), wrote(stage)) == (1, ["done", "asked"], ["a.md", "b.md"])
    await pressed(stage, control.resume, on_pause(task))
    task = await newest(stage)
    assert (task.state, task.pauses, states(task)) == (S.PAUSED, 2, ["done", "done"])
    await pressed(stage, control.resume, on_pause(task))
    assert (await newest(stage)).state is S.SATISFACTION


async def test_a_rejected_result_of_a_simple_request_is_not_told_to_its_planner(stage: Scene):
    await asked(stage, look("a.md"), text="[manual] look at it")
    stage.desk.notes["a.md"] = "secret"
    task = await newest(stage)
    await pressed(stage, step_review.reject_output, on_pause(task, text="private"))
    task = await newest(stage)
    assert (task.state, task.why) == (S.PAUSED, PauseReason.DOUBT)
    await pressed(stage, control.skip_step, on_pause(task))
    told = stage.planner.seen[-1].exchanges[0].reports[0]
    assert told.status == "dropped"
    assert "private" in told.text


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "answer",
    [
        Answer("Error: no room left", {"error": "no room left"}),
        Answer(
            "Error: no room left, nothing was written", {"result": "Error: no room left, nothing was written"}
        ),
        Answer('{"success": false}', {"result": '{"success": false}'}),
        Answer("Permission denied", {"result": "Permission denied"}),
    ],
)
async def test_a_simple_request_whose_result_says_that_it_failed_waits_for_a_person(
    stage: Scene, answer: Answer
):
    change = stage.desk._change
    stage.desk._change = lambda tool, given: answer
    await asked(stage, write("a.md"))
    task = await confirmed(stage)
    assert (task.state, task.why, states(task)) == (S.PAUSED, PauseReason.DOUBT, ["failed"])
    stage.desk._change = change
    await pressed(stage, control.retry, on_pause(task))
    task = await confirmed(stage)
    assert (task.state, states(task), wrote(stage)) == (S.SATISFACTION, ["done"], ["a.md", "a.md"])


async def test_what_an_earlier_try_of_a_simple_request_did_is_not_called_taken_back(stage: Scene):
    change = stage.desk._change
    stage.desk._change = lambda tool, given: Answer("Permission denied", {"result": "Permission denied"})
    await asked(stage, write("a.md"))
    task = await confirmed(stage)
    stage.desk._change = change
    await pressed(stage, control.retry, on_pause(task))
    task = await confirmed(stage)
    (step,) = steps(task)
    await undo.request_undo(stage.world, stage.press(await stage.now(step.action)))
    await stage.play()
    assert (await stage.now(step.action)).state is State.UNDONE
    assert not is_taken_back(await newest(stage))


# Pause and stop


async def test_pause_keeps_the_planner_from_being_asked_until_continue(stage: Scene):
    await asked(stage, write("a.md"), after=(Propose((write("b.md"),)),))
    await stage.say("pause", mentioned=False)
    replies = len(stage.planner.seen)
    task = await confirmed(stage)
    assert (task.state, task.why, len(stage.planner.seen)) == (S.PAUSED, PauseReason.WISH, replies)
    await stage.say("continue", mentioned=False)
    assert ((await newest(stage)).state, len(stage.planner.seen)) == (S.RUNNING, replies + 1)


async def test_stop_takes_effect_before_what_a_reply_calls_for_begins(stage: Scene):
    reply = stage.planner.reply

    async def slow(turn, brief, pending):
        said = await reply(turn, brief, pending)
        await stage.say("stop")  # while the model thinks
        return said

    stage.planner.reply = slow
    task = await asked(stage, look("a.md"), write("a.md"))
    assert (task.state, task.plan, len(stage.planner.seen)) == (S.STOPPED_BY_USER, None, 1)
    assert await stage.ledger.pending(TEAM) == ()
    assert (stage.desk.reads, wrote(stage)) == (0, [])


async def test_a_planner_hears_of_a_stop_while_it_assesses(stage: Scene):
    heard = []

    async def thinks(turn, brief):
        heard.append(await brief.interrupted())
        await stage.say("stop")
        heard.append(await brief.interrupted())
        raise PlannerInterrupted

    stage.planner.assess = thinks
    task = await asked(stage, write("a.md"))
    assert (task.state, heard, stage.planner.seen) == (S.STOPPED_BY_USER, [False, True], [])


async def test_a_planner_that_asks_its_model_more_than_once_hears_of_a_stop_in_between(stage: Scene):
    heard = []

    async def thinks(turn, brief, pending):
        assert brief.interrupted is not None
        heard.append(await brief.interrupted())
        await stage.say("stop")
        heard.append(await brief.interrupted())
        raise PlannerInterrupted

    stage.planner.reply = thinks
    task = await asked(stage)
    assert (task.state, heard) == (S.STOPPED_BY_USER, [False, True])


async def test_a_reply_that_came_while_the_task_was_to_pause_is_taken_up_by_continue(stage: Scene):
    reply = stage.planner.reply

    async def slow(turn, brief, pending):
        stage.planner.reply = reply
        said = await reply(turn, brief, pending)
        await stage.say("pause", mentioned=False)  # while the model thinks
        return said

    stage.planner.reply = slow
    task = await asked(stage, write("a.md"))
    assert (task.state, task.plan, await stage.ledger.pending(TEAM)) == (S.PAUSED, None, ())
    await stage.say("continue", mentioned=False)
    task = await newest(stage)
    assert (task.state, states(task), len(stage.planner.seen)) == (S.RUNNING, ["asked"], 1)


async def test_stop_withdraws_every_sibling_that_waits(stage: Scene):
    await asked(stage, write("a.md"), write("b.md"))
    await stage.say("stop", mentioned=False)
    task = await newest(stage)
    assert (task.state, await stage.ledger.pending(TEAM)) == (S.STOPPED_BY_USER, ())
    made = [await stage.now(step.action) for step in steps(task)]
    assert [action.state for action in made] == [State.CANCELLED] * 2


async def test_stop_at_a_pause_ends_it_also_where_a_sibling_has_run_meanwhile(stage: Scene):
    await asked(stage, write("a.md"), write("b.md"))
    await stage.say("mode manual")
    await confirmed(stage, await one(stage, "a.md"))
    task = await confirmed(stage, await one(stage, "b.md"))
    assert (task.state, states(task)) == (S.PAUSED, ["done", "asked"])
    await pressed(stage, control.stop, on_pause(task))
    assert ((await newest(stage)).state, wrote(stage)) == (S.STOPPED_BY_USER, ["a.md", "b.md"])


async def test_stop_lets_a_call_that_runs_finish_and_asks_the_planner_nothing_more(stage: Scene):
    await asked(stage, write("a.md"), after=(Propose((write("b.md"),)),))
    replies, stage.desk.gate = len(stage.planner.seen), asyncio.Event()
    await stage.confirm(await one(stage, "a.md"))
    playing = asyncio.create_task(stage.play())
    await stage.desk.entered.wait()
    said = await control.stop(stage.world, on_pause(await newest(stage)))
    assert (said.code, said.text) == ("stopping", control.STOPPING)
    stage.desk.gate.set()
    await playing
    await stage.play()
    task = await newest(stage)
    assert (task.state, states(task), wrote(stage)) == (S.STOPPED_BY_USER, ["done"], ["a.md"])
    assert (len(stage.planner.seen), await stage.ledger.pending(TEAM)) == (replies, ())


# Steering


async def test_a_change_next_to_a_waiting_card_takes_its_place_at_once(stage: Scene):
    await asked(stage, write("one.md"), after=(Propose((write("two.md"),)),))
    before = await one(stage, "one.md")
    await stage.say("call it two instead", mentioned=False)
    assert (await stage.now(before.id)).state is State.SUPERSEDED
    assert await entries(stage, "superseded")
    waits = await one(stage, "two.md")
    assert [told.status for told in stage.planner.seen[-1].exchanges[0].reports] == ["cancelled"]
    assert stage.planner.briefs[-1].instructions[-1].text == "call it two instead"
    assert not (await stage.confirm(before)).ok
    await stage.confirm(waits)
    await stage.play()
    assert wrote(stage) == ["two.md"]


async def test_a_change_that_somebody_else_wants_withdraws_nothing(stage: Scene):
    await asked(stage, write("one.md"))
    await stage.say("call it two instead", user=BEN, mentioned=False)
    assert (await one(stage, "one.md")).state is State.PREPARED


async def test_what_is_only_added_leaves_the_card_waiting(stage: Scene):
    await asked(stage, write("one.md"))
    await stage.say("and mention the date", mentioned=False)
    assert (await one(stage, "one.md")).state is State.PREPARED


# Asked again


async def test_an_expired_sibling_can_be_asked_again_while_its_task_runs(stage: Scene):
    await asked(stage, write("a.md"), write("b.md"))
    first = await one(stage, "a.md")
    await stage.world.leases.drop(first.id)  # as if its time were over
    assert (await stage.confirm(first)).code == "expired"
    await stage.play()
    assert states(await newest(stage)) == ["failed", "asked"]
    said = await reissue.reissue_by_press(stage.world, stage.press(await stage.now(first.id)))
    assert said.ok, said
    await stage.play()
    task = await newest(stage)
    assert states(task) == ["asked", "asked"]
    for path in ("b.md", "a.md"):
        await confirmed(stage, await one(stage, path))
    task = await newest(stage)
    assert (task.state, task.result) == (S.SATISFACTION, "2 done: Wrote a.md; Wrote b.md")


# Undo all


async def test_undo_all_of_a_simple_request_goes_back_from_what_was_done_last(stage: Scene):
    await asked(stage, write("a.md"), write("b.md"))
    await confirmed(stage, await one(stage, "b.md"))
    task = await confirmed(stage, await one(stage, "a.md"))
    assert task.plan is not None
    press = TaskPress(Ref(task.id, task.plan.version, task.plan.seal[:16]), TEAM, ANN)
    stage.desk.calls.clear()
    await pressed(stage, undo_all.undo_all, press)
    task = await newest(stage)
    assert [(await stage.now(step.action)).state for step in steps(task)] == [State.UNDONE] * 2
    assert [args["path"] for _, args in stage.desk.calls] == ["a.md", "b.md"]


# From a version without steps


async def test_a_call_that_was_prepared_before_calls_were_steps_ends_as_one(stage: Scene):
    """As it stands after an upgrade: a reply on record, its action without a task, and a task without a plan."""
    stage.planner.script = [Propose((write("a.md"),)), Say("all done")]
    call, seen = write("a.md"), []
    ask = stage.world.planner.reply

    async def reply(turn, brief, pending):
        if not seen:
            seen.append(turn)
            await prepare(
                stage.world,
                CallRequest(derive_id("action", turn.id, 0, 0), turn.session, ANN, call, turn.id, 0),
            )
        return await ask(turn, brief, pending)

    stage.planner.reply = reply
    await stage.say("write it")
    (action,) = await stage.ledger.pending(TEAM)
    assert (action.task, action.step) == ("", "")
    task = await confirmed(stage, action)
    assert (states(task), wrote(stage)) == (["done"], ["a.md"])
    assert "all done" in stage.texts


async def test_what_drifted_is_asked_again_alone_where_its_task_ends_at_that_moment(
    stage: Scene, monkeypatch: pytest.MonkeyPatch
):
    """The run that asks again has read the task before the run that ends it has written."""
    stage.planner.follows = False
    await asked(stage, write("a.md"))
    old = await one(stage, "a.md")
    assert (await claim_click.cancel(stage.world, stage.press(old))).ok
    await stage.play()
    assert (await newest(stage)).is_finished
    monkeypatch.setattr(reissue, "may_become", lambda task, step, action: True)
    await reissue.reissue(stage.world, old.id, ANN, "drift")
    new = await one(stage, "a.md")
    assert (new.renews, new.step) == (old.id, "")


@pytest.mark.parametrize(
    ("happened", "state", "result"),
    [(True, "done", "1 done: Wrote a.md"), (False, "failed", "1 failed: Write a.md")],
)
async def test_a_call_of_unknown_outcome_counts_as_a_person_says(
    stage: Scene, happened: bool, state: str, result: str
) -> None:
    task = await asked(stage, write("a.md"))
    stage.desk.behave = "breaks the line"
    waits = await one(stage, "a.md")
    before = await confirmed(stage, waits)
    assert (states(before), before.result) == (["failed"], "1 of unknown outcome: Write a.md")
    action = await stage.now(waits.id)
    assert (await resolve_unknown.resolve(stage.world, stage.press(action), happened)).ok
    await stage.play()
    after = await newest(stage)
    assert (after.id, states(after), after.result) == (task.id, [state], result)
    assert "<@U_ANN> says that it" in steps(after)[0].text
    assert len(stage.desk.calls) == 1
