"""A claim that is lost before its call is sent, and a call that ends after a person settled its action."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gate.actions import execute, expiry, resolve_unknown
from gate.rules.action import Action
from gate.rules.action_states import State
from gate.rules.ports import Unavailable
from gate.rules.tool import ToolSpec
from tests.gate.fake_tools import Desk
from tests.gate.gate_setup import TEAM, FixedClock, Scene


class Turn(FixedClock):
    """The clocks of a process that a test sets forward, one by one, and whose claim is renewed when it says so."""

    def __init__(self) -> None:
        self.wall, self.ran = datetime.now(UTC), 0.0
        self.beats = asyncio.Event()

    def now(self) -> datetime:
        return self.wall

    def uptime(self) -> float:
        return self.ran

    async def sleep(self, seconds: float) -> None:
        await self.beats.wait()
        await super().sleep(seconds)


class Waiting(Desk):
    """A desk whose tools are listed once more behind the claim: `meanwhile` happens then."""

    def __init__(self, meanwhile: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self.listed, self.meanwhile = 0, meanwhile

    async def declared(self, server: str, tool: str) -> ToolSpec | None:
        self.listed += 1
        if self.listed == 2:
            await self.meanwhile()
        return await super().declared(server, tool)


async def approved(stage: Scene) -> Action:
    action = await stage.prepare(path="a.md", content="hello")
    assert (await stage.confirm(action)).code == "confirmed"
    return await stage.now(action.id)


async def carried_out(stage: Scene, clock: Turn, meanwhile: Callable[[], Awaitable[None]]) -> Action:
    """An action whose process has that happen to it between the claim and the call."""
    stage.world = replace(stage.world, tools=(desk := Waiting(meanwhile)))
    stage.desk = desk
    action = await approved(stage)
    await execute.execute(replace(stage.world, clock=clock), action.id)
    assert desk.listed == 2
    return await stage.now(action.id)


async def lost_and_settled(stage: Scene, action_id: str, happened: bool = False) -> None:
    """Another process finds that nobody renews the claim, and a person says what became of it."""
    stage.travel(61)
    await expiry.overdue(stage.world)
    unknown = await stage.now(action_id)
    assert unknown.state is State.UNKNOWN
    assert (await resolve_unknown.resolve(stage.world, stage.press(unknown), happened)).code == "settled"


async def test_a_process_whose_clocks_all_stood_still_does_not_send_what_others_settled(stage: Scene):
    async def suspended() -> None:
        (action,) = [one for one in await stage.ledger.due(61) if one.kind == "action"]
        await lost_and_settled(stage, action.id)

    after = await carried_out(stage, Turn(), suspended)
    assert stage.desk.calls == []
    assert after.state is State.FAILED
    assert "its call was not sent" in after.outcome.text


@pytest.mark.parametrize(("wall", "uptime"), [(3600, 0), (0, 3600), (3600, 3600), (-3600, 31)])
async def test_a_process_that_stood_still_by_one_of_its_clocks_does_not_send(
    stage: Scene, wall: float, uptime: float
):
    clock = Turn()

    async def still() -> None:
        clock.wall += timedelta(seconds=wall)
        clock.ran += uptime

    after = await carried_out(stage, clock, still)
    assert stage.desk.calls == []
    assert (after.state, after.outcome.kind) == (State.FAILED, "not_sent")


async def test_a_short_wait_does_not_cost_the_claim(stage: Scene):
    clock = Turn()

    async def short() -> None:
        clock.wall += timedelta(seconds=-3600)
        clock.ran += 29

    assert (await carried_out(stage, clock, short)).state is State.SUCCEEDED
    assert len(stage.desk.calls) == 1


async def test_a_claim_that_is_renewed_meanwhile_is_held_for_longer(stage: Scene):
    clock = Turn()

    async def waits() -> None:
        (due,) = await stage.ledger.due(61)
        for _ in range(2):
            clock.ran += 20
            before = (await stage.now(due.id)).revision
            clock.beats.set()
            while (await stage.now(due.id)).revision == before:  # noqa: ASYNC110 - the run of the beat
                await asyncio.sleep(0.01)
            clock.beats.clear()

    assert (await carried_out(stage, clock, waits)).state is State.SUCCEEDED
    assert len(stage.desk.calls) == 1


async def test_a_claim_that_was_renewed_too_late_by_the_database_is_not_used(stage: Scene):
    """The clocks of a suspended machine may stand still, and its heart beat before anybody judged."""
    clock = Turn()

    async def suspended() -> None:
        (due,) = await stage.ledger.due(61)
        stage.travel(31)
        before = (await stage.now(due.id)).revision
        clock.beats.set()
        while (await stage.now(due.id)).revision == before:  # noqa: ASYNC110 - the run of the beat
            await asyncio.sleep(0.01)

    after = await carried_out(stage, clock, suspended)
    assert stage.desk.calls == []
    assert (after.state, after.outcome.kind) == (State.FAILED, "not_sent")


async def test_a_process_that_does_not_reach_the_ledger_does_not_send(
    stage: Scene, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as broken:

        async def away(action_id: str) -> Action | None:
            broken.undo()  # it is there again for what is written then
            raise Unavailable("gone")

        async def cut_off() -> None:
            broken.setattr(stage.ledger, "action", away)

        after = await carried_out(stage, Turn(), cut_off)
    assert stage.desk.calls == []
    assert (after.state, after.outcome.kind) == (State.FAILED, "not_sent")


@pytest.mark.parametrize(
    ("behave", "happened", "state", "kind", "said"),
    [
        ("well", False, State.FAILED, "success", "its call ended and said that it ran"),
        ("says no", True, State.SUCCEEDED, "error", "its call ended with an error"),
    ],
)
async def test_what_became_of_a_call_after_a_person_settled_it_is_on_record(
    stage: Scene, behave: str, happened: bool, state: State, kind: str, said: str
):
    stage.desk.gate, stage.desk.behave = asyncio.Event(), behave
    action = await approved(stage)
    running = asyncio.create_task(execute.execute(replace(stage.world, clock=Turn()), action.id))
    await asyncio.wait_for(stage.desk.entered.wait(), 5)
    await lost_and_settled(stage, action.id, happened)
    stage.desk.gate.set()
    await asyncio.wait_for(running, 5)
    await stage.play()
    after = await stage.now(action.id)
    assert (after.state, said in after.outcome.text) == (state, True)
    assert stage.wall.cards[action.id].outcome == after.outcome
    (entry,) = [line.entry for line in await ended_late(stage)]
    assert (entry.action, entry.outcome, entry.result) == (action.id, kind, "")


async def test_a_late_end_that_was_written_unheard_is_on_record_once(stage: Scene):
    stage.desk.gate = asyncio.Event()
    action = await approved(stage)
    running = asyncio.create_task(execute.execute(replace(stage.world, clock=Turn()), action.id))
    await asyncio.wait_for(stage.desk.entered.wait(), 5)
    begun = await stage.now(action.id)
    await lost_and_settled(stage, action.id)
    stage.desk.gate.set()
    await asyncio.wait_for(running, 5)
    after = await stage.now(action.id)
    outcome = replace(after.outcome, kind="success")
    await execute.record_outcome(stage.world, begun, outcome, None, withheld=False)
    assert len(await ended_late(stage)) == 1


async def test_an_end_that_was_written_unheard_is_no_late_one(stage: Scene):
    action = await approved(stage)
    await stage.play()
    after = await stage.now(action.id)
    begun = replace(after, state=State.EXECUTING, revision=after.revision - 1)
    await execute.record_outcome(stage.world, begun, after.outcome, None, withheld=False)
    assert (await stage.now(action.id)) == after
    assert await ended_late(stage) == []


async def ended_late(stage: Scene):
    return [
        one for one in await stage.ledger.audit_tail(team=TEAM, limit=100) if one.entry.event == "ended_late"
    ]
