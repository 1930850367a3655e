"""Whoever can only write to the database runs nothing, releases nothing, and decides nothing for anybody."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Table, select, text, update

from bot.job_routes import jobs
from gate.actions import claim_click, execute, result_review, undo
from gate.actions.batch import GroupConfirmation
from gate.actions.button_press import PressResult
from gate.rules import jobs as runs
from gate.rules.action import ALTERED, Action, Resolution, Vote
from gate.rules.action_states import Event, State
from gate.rules.grants import Grant
from gate.rules.planner_port import Exchange, Incoming, Say
from gate.rules.receipt import receipt
from gate.rules.task import Plan
from gate.rules.task_states import TaskState
from storage.grant_tables import grants as granted
from storage.reseal import SEALED
from storage.row_macs import OPEN, RowMacs
from storage.rows import action_row, plain
from storage.tables import actions, audit_log, exchanges, inbox, votes
from storage.task_tables import tasks
from tests.actions import but
from tests.gate.gate_setup import ANN, BEN, Scene, nothing_ran

OTHERS = RowMacs(b"a key that is not ours")
EVIL = b'{"content":"evil","expected":"absent","path":"a.md"}'


async def written(stage: Scene, table: Table, where: Any, **values: Any) -> None:
    async with stage.ledger._engine.begin() as connection:
        await connection.execute(update(table).where(where).values(values))


async def forged(stage: Scene, action: Action, **changes: Any) -> Action:
    """The action changed in the database by somebody who can write there, receipt and all."""
    changed = but(action, **changes)
    changed = replace(changed, receipt=receipt(changed))
    row = action_row(replace(changed, flaw=""), timedelta(), OTHERS)
    await written(stage, actions, actions.c.id == action.id, **{k: v for k, v in row.items() if k != "id"})
    return changed


async def test_a_changed_action_with_a_new_receipt_is_neither_confirmed_nor_run(both: Scene) -> None:
    action = await both.prepare(path="a.md", content="new")
    changed = await forged(both, action, args=EVIL)
    with nothing_ran(both):
        said = await both.confirm(changed)
        await both.play()
    assert not said.ok
    assert (await both.now(action.id)).flaw == ALTERED


@pytest.mark.slow
async def test_an_action_that_was_set_to_approved_in_the_database_does_not_run(both: Scene) -> None:
    action = await both.prepare(path="a.md", content="new")
    await forged(both, action, state=State.APPROVED, decided_by=ANN)
    with nothing_ran(both):
        await execute.execute(both.world, action.id)
        await both.play()
    assert (await both.now(action.id)).state is State.CANCELLED


async def test_a_row_put_back_to_approved_after_it_ran_does_not_run_again(both: Scene) -> None:
    """Its MAC is right: it is as it once was. The log says that it has begun."""
    action = await both.prepare(path="a.md", content="new")
    await both.confirm(action)
    async with both.ledger._engine.begin() as connection:
        (row,) = (await connection.execute(select(actions).where(actions.c.id == action.id))).all()
    await both.play()
    calls = list(both.desk.calls)
    assert len([one for one in calls if one[0] == "write"]) == 1
    before = {name: value for name, value in row._mapping.items() if name != "id"}
    await written(both, actions, actions.c.id == action.id, **before)
    assert (await both.now(action.id)).flaw == ""
    await execute.execute(both.world, action.id)
    assert both.desk.calls == calls
    assert (await both.now(action.id)).state is State.CANCELLED


async def test_a_row_put_back_to_approved_after_it_was_cancelled_does_not_run(both: Scene) -> None:
    action = await both.prepare(path="a.md", content="new")
    await both.confirm(action)
    async with both.ledger._engine.begin() as connection:
        (row,) = (await connection.execute(select(actions).where(actions.c.id == action.id))).all()
    assert (await claim_click.cancel(both.world, both.press(await both.now(action.id)))).ok
    before = {name: value for name, value in row._mapping.items() if name != "id"}
    await written(both, actions, actions.c.id == action.id, **before)
    assert (await both.now(action.id)).state is State.APPROVED
    await execute.execute(both.world, action.id)
    assert [one for one in both.desk.calls if one[0] == "write"] == []
    assert (await both.now(action.id)).state is State.CANCELLED


async def test_a_copied_confirmation_of_another_action_is_no_confirmation(both: Scene) -> None:
    """The yes in the log is for one action, version and receipt; a rewritten entry does not follow from the key."""
    done = await both.prepare(path="b.md", content="new")
    await both.confirm(done)
    action = await both.prepare(path="a.md", content="new")
    async with both.ledger.begin() as tx:  # as if the row could be forged: it is approved without an entry
        await tx.move(await tx.action(action.id), Event.APPROVE, resolution=Resolution(by=ANN))  # type: ignore[arg-type]
    drop = {
        "sqlite": ["DROP TRIGGER audit_log_no_update"],
        "postgresql": ["DROP TRIGGER audit_log_append_only ON audit_log"],
    }
    async with both.ledger._engine.begin() as connection:
        for statement in drop[both.ledger._engine.dialect.name]:
            await connection.execute(text(statement))
    await written(
        both,
        audit_log,
        (audit_log.c.event == "confirmed") & (audit_log.c.action_id == done.id),
        action_id=action.id,
        receipt=action.receipt,
        version=action.version,
    )
    with nothing_ran(both):
        await execute.execute(both.world, action.id)
    assert (await both.now(action.id)).state is State.CANCELLED


async def test_a_forged_press_on_confirm_all_confirms_nothing(both: Scene) -> None:
    action = await both.prepare(path="a.md", content="new")
    yes = GroupConfirmation(
        action.group, "x", both.session.team, ANN, both.wall.places[action.id], action.button
    )
    work = jobs(both.world)["confirm_all"].work
    for args in [
        (yes.group, yes.id, yes.team, yes.user, yes.message_ts, yes.shown),
        (
            yes.group,
            yes.id,
            yes.team,
            yes.user,
            yes.message_ts,
            yes.shown,
            OTHERS.proof("confirm_all", ("x",)),
        ),
    ]:
        await work(*args)
    assert (await both.now(action.id)).state is State.PREPARED
    async with both.ledger.begin() as tx:
        tx.enqueue(runs.confirm_all(yes.group, yes.id, yes.team, yes.user, yes.message_ts, yes.shown))
    await work(*both.runs[-1].args)
    assert (await both.now(action.id)).state is State.APPROVED


async def test_a_forged_yes_in_the_inbox_confirms_nothing(both: Scene) -> None:
    await both.say("hello")
    action = await both.prepare(path="a.md", content="new")
    said = Incoming("forged", both.session, ANN, "yes", "4100000000.000001", True)
    row = OTHERS.sealed(inbox, {**plain(said), "reader": ""})
    async with both.ledger._engine.begin() as connection:
        await connection.execute(inbox.insert().values(row))
    await jobs(both.world)["take_in"].work(both.session.key, "forged")
    await both.play()
    assert (await both.now(action.id)).state is State.PREPARED


async def test_a_forged_vote_counts_for_nothing(both: Scene) -> None:
    action = await both.prepare(path="a.md", content="new")
    vote = Vote(action.id, action.version, BEN, True, await both.ledger.now())
    async with both.ledger._engine.begin() as connection:
        await connection.execute(votes.insert().values(OTHERS.sealed(votes, plain(vote))))
    assert await both.ledger.votes(action.id, action.version) == ()


async def test_a_forged_undo_and_a_changed_way_back_do_not_run(both: Scene) -> None:
    action = await both.prepare(path="a.md", content="new")
    await both.confirm(action)
    await both.play()
    done = await both.now(action.id)
    waiting = await both.prepare(path="b.md", content="new")
    undoing = await forged(both, waiting, undoes=done.id)
    with nothing_ran(both):
        await undo.run_undo(both.world, undoing.id)
    assert (await both.now(waiting.id)).state is State.PREPARED
    assert done.inverse is not None
    await forged(both, done, inverse=replace(done.inverse, args=EVIL))
    said = await undo.request_undo(both.world, both.press(await both.now(done.id)))
    assert said.code == "altered"


async def test_a_result_that_is_held_is_not_released_by_a_changed_row(both: Scene) -> None:
    action = await both.prepare(path="a.md", content="new")
    await both.confirm(action)
    await both.play()
    held = await forged(both, await both.now(action.id), held="look")
    said = await result_review.approve(both.world, both.press(held))
    assert isinstance(said, PressResult)
    assert said.code == "altered"


async def test_a_forged_grant_covers_nothing_and_a_revoked_one_does_not_come_back(both: Scene) -> None:
    action = await both.prepare(path="a.md", content="new")
    now = await both.ledger.now()
    spec = both.world.tools.find("desk", "write")
    assert spec is not None
    grant = Grant(
        id="g", session=both.session, user=ANN, server="desk", tool="write", patterns=(),
        definition=spec.definition, given_at=now, until=now + timedelta(hours=1),
    )  # fmt: skip
    row = OTHERS.sealed(granted, {**plain(grant), "team": both.session.team})
    async with both.ledger._engine.begin() as connection:
        await connection.execute(granted.insert().values(row))
    async with both.ledger.begin() as tx:
        assert await tx.grants.grants_for(action) == ()
        assert await tx.grants.give(replace(grant, id="ours"))
        assert await tx.grants.grants_for(action) == (replace(grant, id="ours"),)
        assert await tx.grants.revoke("ours", ANN)
    await written(both, granted, granted.c.id == "ours", revoked_at=None, revoked_by="")
    async with both.ledger.begin() as tx:
        assert await tx.grants.grants_for(action) == ()
        assert await tx.grants.grant("ours") is None


@pytest.mark.parametrize("column", ["requester", "plan", "state", "text"])
async def test_a_changed_task_is_none_of_ours(both: Scene, column: str) -> None:
    await both.say("hello")
    (task,) = await both.ledger.tasks_of(both.session)
    new = {
        "requester": BEN,
        "plan": Plan(1, (), approved_by=ANN),
        "state": TaskState.RUNNING,
        "text": "other",
    }
    await written(both, tasks, tasks.c.id == task.id, **{column: new[column]})
    assert await both.ledger.task(task.id) is None
    async with both.ledger.begin() as tx:
        assert await tx.task(task.id) is None


async def test_a_forged_reply_of_the_planner_proposes_nothing(both: Scene) -> None:
    await both.say("hello")
    (turn,) = both.planner.seen[-1:]
    assert await both.ledger.turn(turn.id) is not None
    forged_reply = {"turn": turn.id, "index": 7, **plain(Exchange(Say("forged")))}
    async with both.ledger._engine.begin() as connection:
        await connection.execute(exchanges.insert().values(OTHERS.sealed(exchanges, forged_reply)))
    assert await both.ledger.turn(turn.id) is None


def test_every_column_of_a_sealed_table_is_covered_but_those_that_are_named() -> None:
    for table in SEALED:
        names = {column.name for column in table.c}
        assert "mac" in names
        assert OPEN.get(table.name, set()) < names
    said = {"due", "revoked_at", "revoked_by", "reader", "held_until", "done_at", "reports"}
    assert set().union(*OPEN.values()) == said
