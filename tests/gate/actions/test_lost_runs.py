"""Runs that are lost before they begin: a sweep has the card drawn and the message read all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.job_routes import jobs
from gate.actions import expiry
from gate.rules.jobs import Run, card_of_run
from gate.rules.planner_port import Call, Incoming, Propose, Reply
from gate.tasks import inbox
from tests.gate.gate_setup import ANN, CHANNEL, TEAM, Scene

TS = "1600000000.000000"
WRITE = Propose((Call("desk", "write", {"path": "a.md", "content": "hello"}),))
TWO = Propose(tuple(Call("desk", "write", {"path": path, "content": "x"}) for path in ("a.md", "b.md")))
LOOK = Propose((Call("desk", "look", {"path": "a.md"}),))


async def receive(stage: Scene, ts: str = TS) -> None:
    """A mention that begins a thread, or goes into the one that a scene has."""
    session = stage.session if ts == TS else replace(stage.session, thread=ts)
    said = Incoming(f"{TEAM}:{CHANNEL}:{ts}", session, ANN, "please", ts, True)
    await inbox.receive(stage.world, said)


async def play_without_cards(stage: Scene) -> None:
    """Carry out what is due, but for the runs that draw: those are lost."""
    while due := [run for run in stage.runs if run.key not in stage.done]:
        drawing = [run.key for run in due if run.name == "card"]
        stage.done.update(drawing)
        if len(drawing) < len(due):
            await carry_out(stage, [run for run in due if run.name != "card"])


async def carry_out(stage: Scene, runs: list[Run]) -> None:
    for run in runs:
        stage.done.add(run.key)
        await jobs(stage.world)[run.name].work(*run.args)


@pytest.mark.parametrize(("reply", "cards", "notes"), [(WRITE, 1, 0), (TWO, 2, 0), (LOOK, 0, 1)])
async def test_a_card_whose_run_was_lost_is_drawn_a_minute_later(
    stage: Scene, reply: Reply, cards: int, notes: int
) -> None:
    stage.planner.script = [reply]
    await receive(stage)
    await play_without_cards(stage)
    await expiry.restart_given_up(stage.world)
    await stage.play()
    assert (len(stage.wall.cards), len(stage.wall.notes)) == (0, 0), "a minute is not over yet"
    stage.travel(61)
    await expiry.restart_given_up(stage.world)
    await stage.play()
    assert (len(stage.wall.cards), len(stage.wall.notes)) == (cards, notes)
    before = len(stage.runs)
    stage.travel(61)
    await expiry.restart_given_up(stage.world)
    assert len(stage.runs) == before, "what is drawn is not drawn again"


async def test_a_card_that_is_lost_each_time_is_given_up(stage: Scene) -> None:
    stage.planner.script = [WRITE]
    await receive(stage)
    await play_without_cards(stage)
    for _ in range(20):
        stage.travel(61)
        await expiry.restart_given_up(stage.world)
    assert len([run for run in stage.runs if run.name == "card"]) == 10


@pytest.mark.parametrize(("reply", "cards", "notes"), [(WRITE, 1, 0), (LOOK, 0, 1)])
async def test_a_card_whose_run_was_begun_and_given_up_is_drawn_a_minute_later(
    stage: Scene, reply: Reply, cards: int, notes: int
) -> None:
    stage.planner.script = [reply]
    await receive(stage)
    await play_without_cards(stage)
    given_up = [run.key for run in stage.runs if run.name == "card"]
    for key in given_up:
        await stage.ledger.begin_drawing(card_of_run(key)[0])
    stage.travel(61)
    await expiry.restart_given_up(stage.world)
    await stage.play()
    assert (len(stage.wall.cards), len(stage.wall.notes)) == (0, 0), (
        "it has begun: nothing says that it is over"
    )
    await expiry.restart_given_up(stage.world, given_up)
    await stage.play()
    assert (len(stage.wall.cards), len(stage.wall.notes)) == (cards, notes)
    before = len(stage.runs)
    stage.travel(61)
    await expiry.restart_given_up(stage.world, given_up)
    assert len(stage.runs) == before, "the run that followed has drawn it"


async def test_a_card_that_is_given_up_each_time_is_asked_for_twice_more(stage: Scene) -> None:
    stage.planner.script = [WRITE]
    await receive(stage)
    await play_without_cards(stage)
    for _ in range(6):
        given_up = [run.key for run in stage.runs if run.name == "card"]
        await stage.ledger.begin_drawing(card_of_run(given_up[0])[0])
        stage.travel(61)
        await expiry.restart_given_up(stage.world, given_up)
    assert len([run for run in stage.runs if run.name == "card"]) == 3


async def test_a_message_whose_run_was_lost_is_read_a_minute_later(stage: Scene) -> None:
    stage.planner.script = [LOOK]
    await receive(stage)
    stage.runs.clear()
    await expiry.restart_given_up(stage.world)
    await expiry.restart_given_up(stage.world)
    assert len(stage.runs) == 1
    await stage.play()
    assert [note.kind for note in stage.wall.notes] == ["read"]
    await expiry.restart_given_up(stage.world)
    assert not [run for run in stage.runs if run.key not in stage.done]


async def test_messages_of_several_threads_whose_runs_were_lost_are_all_read(stage: Scene) -> None:
    stage.planner.script, stage.planner.follows = [LOOK, LOOK], False
    threads = [TS, "1600000001.000000"]
    for ts in threads:
        await receive(stage, ts)
    stage.runs.clear()
    await expiry.restart_given_up(stage.world)
    await stage.play()
    assert len({note.session.thread for note in stage.wall.notes}) == len(threads)


async def test_what_time_leads_to_is_work_for_whoever_asked(stage: Scene) -> None:
    stage.planner.script = [WRITE]
    await receive(stage)
    await stage.play()
    before = len(stage.runs)
    stage.travel(3600)
    await expiry.overdue(stage.world)
    assert {(run.name, run.owner) for run in stage.runs[before:]} >= {("turn", ANN), ("card", ANN)}
    assert {run.owner for run in stage.runs[before:]} == {ANN}
