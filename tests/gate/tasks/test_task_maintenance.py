"""Nothing is stuck for ever: every action has a way out, every message is read, and no run multiplies."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from gate.actions import claim_click, execute, expiry, reissue, undo
from gate.rules.action import CallClass
from gate.rules.action_states import State
from gate.rules.planner_port import Call, Incoming, Propose, Say
from gate.rules.policy import Rule
from gate.rules.ports import Unavailable
from gate.rules.task_states import TaskState
from gate.tasks import inbox
from tests.gate.gate_setup import ANN, BEN, CHANNEL, TEAM, Scene


async def done(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await stage.prepare(path="a.md", content="new")
    assert (await stage.confirm(action)).code == "confirmed"
    await stage.play()
    return await stage.now(action.id)


async def asked_undo(stage: Scene, action):
    stage.desk.notes["a.md"] = "newer work of somebody"
    assert (await undo.request_undo(stage.world, stage.press(action))).code == "undoing"
    await stage.play()
    (asked,) = await stage.ledger.pending(TEAM, user=ANN)
    return asked


@pytest.mark.parametrize("end", ["expired", "cancelled"])
async def test_an_undo_that_was_not_confirmed_can_be_asked_for_again(stage: Scene, end: str):
    action = await done(stage)
    asked = await asked_undo(stage, action)
    if end == "cancelled":
        await claim_click.cancel(stage.world, stage.press(asked))
    else:
        stage.travel(301)
        await expiry.overdue(stage.world)
    await stage.play()
    assert (await stage.now(asked.id)).state == end
    again = await asked_undo(stage, action)
    assert again.id != asked.id
    assert (await stage.confirm(again)).code == "confirmed"
    await stage.play()
    assert stage.desk.notes == {"a.md": "old"}
    assert (await stage.now(action.id)).state is State.UNDONE


async def test_asking_again_for_an_undo_is_an_undo(stage: Scene):
    action = await done(stage)
    asked = await asked_undo(stage, action)
    stage.travel(301)
    await expiry.overdue(stage.world)
    assert (await reissue.reissue_by_press(stage.world, stage.press(asked))).ok
    await stage.play()
    (again,) = await stage.ledger.pending(TEAM, user=ANN)
    assert again.undoes == action.id
    await stage.confirm(again)
    await stage.play()
    assert (await stage.now(action.id)).state is State.UNDONE


async def test_one_action_has_one_undo_at_a_time_whoever_asks(stage: Scene):
    stage.world = replace(stage.world, policy=replace(stage.world.policy, admins=frozenset({BEN})))
    action = await done(stage)
    await asked_undo(stage, action)
    await undo.request_undo(stage.world, stage.press(await stage.now(action.id), BEN))
    await stage.play()
    waiting = await stage.ledger.pending(TEAM)
    assert [a.requester for a in waiting if a.undoes == action.id] in ([ANN], [])


async def test_ask_again_works_once_its_hindrance_is_gone(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    stage.travel(301)
    await expiry.overdue(stage.world)
    spec = stage.desk.specs_now.pop("write")
    await reissue.reissue_by_press(stage.world, stage.press(action))
    await stage.play()
    assert "refused" in stage.texts
    stage.desk.specs_now["write"] = spec
    await reissue.reissue_by_press(stage.world, stage.press(action))
    await stage.play()
    (fresh,) = await stage.ledger.pending(TEAM, user=ANN)
    assert fresh.renews == action.id


async def test_many_presses_on_ask_again_make_one_that_can_be_confirmed(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    stage.travel(301)
    await expiry.overdue(stage.world)
    for _ in range(3):
        await reissue.reissue_by_press(stage.world, stage.press(action))
    due = {run.key: run for run in stage.runs if run.name == "renew" and run.key not in stage.done}
    stage.done |= due.keys()
    await asyncio.gather(*(reissue.reissue(stage.world, *run.args) for run in due.values()))
    await stage.play()
    (fresh,) = await stage.ledger.pending(TEAM, user=ANN)
    assert (await stage.confirm(fresh)).code == "confirmed"


async def test_a_fault_of_ours_is_said_ends_the_task_and_does_not_hold_up_the_next_one(stage: Scene):
    broken = stage.desk.find

    def find(server: str, tool: str):
        if tool == "poison":
            raise RuntimeError("a fault of ours")
        return broken(server, tool)

    stage.desk.find = find
    stage.planner.script = [Propose((Call("desk", "poison", {}),))]
    with pytest.raises(RuntimeError):
        await stage.say("first")
    await stage.play()
    assert any("went wrong" in text for text in stage.texts)
    (task,) = await stage.ledger.tasks_of(stage.session)
    assert task.state is TaskState.FAILED
    stage.planner.script = [Say("hello")]
    await stage.say("second")
    assert "hello" in stage.texts


async def test_a_store_that_is_away_loses_no_message(stage: Scene):
    stage.planner.script = [Say("hello")]
    people = stage.directory.fresh

    async def away(team: str, user: str, seconds: float = 60):
        raise Unavailable("Slack is silent")

    stage.directory.fresh = away
    with pytest.raises(Unavailable):
        await stage.say("hello?", ts="4100000000.000000")
    stage.directory.fresh = people
    stage.done -= {run.key for run in stage.runs if run.name == "take_in"}
    await stage.play()
    assert stage.texts == ["hello"]


@pytest.mark.slow
async def test_what_is_approved_and_does_not_start_is_not_asked_for_without_end(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    await stage.confirm(action)
    before = len(stage.runs)
    stage.travel(31)
    for _ in range(400):
        stage.travel(2)
        await expiry.overdue(stage.world)
    assert 1 <= len(stage.runs) - before <= 10
    await stage.play()
    assert (await stage.now(action.id)).state is State.SUCCEEDED
    assert len(stage.desk.calls) == 1


async def test_one_action_that_cannot_be_settled_does_not_keep_the_janitor_from_the_rest(stage: Scene):
    first = await stage.prepare(path="a.md", content="hello")
    second = await stage.prepare(path="b.md", content="hello")
    stage.travel(301)
    begin = stage.ledger.begin
    moves = [0]

    @asynccontextmanager
    async def failing(seconds: float | None = None):
        moves[0] += 1
        if moves[0] == 1:
            raise RuntimeError("a fault of ours")
        async with begin(seconds) as tx:
            yield tx

    stage.ledger.begin = failing
    with pytest.raises(RuntimeError):
        await expiry.overdue(stage.world)
    states = {(await stage.now(a.id)).state for a in (first, second)}
    assert states == {State.PREPARED, State.EXPIRED}


async def test_a_beat_that_was_rolled_back_does_not_lose_the_claim(stage: Scene):
    stage.desk.gate = asyncio.Event()
    action = await stage.prepare(path="a.md", content="hello")
    await stage.confirm(action)
    begin, broken = stage.ledger.begin, asyncio.Event()

    @asynccontextmanager
    async def breaking(seconds: float | None = None):
        async with begin(seconds) as tx:
            yield tx
            if stage.desk.entered.is_set() and not broken.is_set():
                broken.set()
                raise Unavailable("the disk was full at COMMIT")

    stage.ledger.begin = breaking
    running = asyncio.create_task(execute.execute(stage.world, action.id))
    await asyncio.wait_for(stage.desk.entered.wait(), 5)
    await asyncio.wait_for(broken.wait(), 5)
    stage.travel(29)  # the claim would end soon; beats go on every 10 ms here
    await asyncio.sleep(0.2)
    stage.travel(2)
    await expiry.overdue(stage.world)
    state = (await stage.now(action.id)).state
    stage.desk.gate.set()
    await asyncio.wait_for(running, 5)
    assert state is State.EXECUTING


async def test_what_became_a_read_meanwhile_can_still_be_confirmed(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    stage.desk.redefine("write", recipe=replace(stage.desk.specs_now["write"].recipe, cls=CallClass.READ))
    assert (await stage.confirm(action)).code == "changed"
    await stage.play()
    fresh = await stage.now(action.id)
    assert fresh.verdict == "confirm"
    assert (await stage.confirm(fresh)).code == "confirmed"


async def test_the_planner_hears_of_what_the_rules_ended(stage: Scene):
    stage.planner.script = [Propose((Call("desk", "write", {"path": "a.md", "content": "hello"}),))]
    await stage.say("write it")
    (action,) = await stage.ledger.pending(TEAM, user=ANN)
    stage.rule(Rule("frozen", ("desk.write",), deny=True))
    await stage.confirm(action)
    await stage.play()
    assert (await stage.now(action.id)).state is State.CANCELLED
    assert stage.planner.seen[-1].exchanges[0].reports[0].status == "cancelled"


async def test_a_tool_that_is_gone_is_said_on_the_card(stage: Scene):
    action = await stage.prepare(path="a.md", content="hello")
    stage.desk.specs_now.pop("write")
    await stage.confirm(action)
    await stage.play()
    assert "not connected" in stage.wall.cards[action.id].preview.problem


async def test_a_reply_that_comes_before_the_first_message_was_answered_is_an_instruction(stage: Scene):
    stage.planner.script = [Say("to both")]
    kept = []
    for number, text in enumerate(("go", "but slowly")):
        ts = f"{4_100_000_000 + number}.000000"
        key = f"{TEAM}:{CHANNEL}:{ts}"
        kept.append(
            await inbox.receive(
                stage.world, Incoming(key, stage.session, ANN, text, ts, mentioned=not number)
            )
        )
    assert kept == [True, True]
    await stage.play()
    assert "to both" in stage.texts
    assert [one.text for one in stage.planner.briefs[0].instructions] == ["but slowly"]


async def test_a_message_that_takes_minutes_to_read_is_read_once(stage: Scene):
    looking, began, asked = asyncio.Event(), asyncio.Event(), []
    fresh = stage.directory.fresh

    async def slow(team: str, user: str, seconds: float = 60):
        asked.append(user)
        began.set()
        await looking.wait()
        return await fresh(team, user, seconds)

    stage.directory.fresh = slow
    stage.planner.script = [Say("well")]
    keys = []
    for number in range(2):
        ts = f"{4_100_000_000 + number}.000000"
        keys.append(f"{TEAM}:{CHANNEL}:{ts}")
        await inbox.receive(stage.world, Incoming(keys[-1], stage.session, ANN, f"m{number}", ts, True))
    first = asyncio.create_task(inbox.read_inbox(stage.world, stage.session.key, keys[0]))
    await asyncio.wait_for(began.wait(), 5)
    stage.travel(700)
    await asyncio.wait_for(inbox.read_inbox(stage.world, stage.session.key, keys[1]), 5)
    looking.set()
    await asyncio.wait_for(first, 5)
    tasks = await stage.ledger.tasks_of(stage.session)
    assert sorted(task.text for task in tasks) == ["m0", "m1"]
    assert len(asked) == 2
