"""What waits for a person: only what they have to decide on, for as long as they have to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.actions import undo
from gate.rules.action import Session
from gate.rules.approvers import Approvers
from gate.rules.messages import permalink
from gate.rules.policy import Rule
from gate.rules.task_states import TaskState as S
from gate.tasks import plan as flow
from gate.tasks.pending import waiting_for
from tests.gate.gate_setup import ANN, BEN, CLEO, TEAM, Scene
from tests.gate.plan_setup import on_plan, only, planned, pressed, write


async def ids(stage: Scene, user: str = ANN) -> list[str]:
    return [one.record.id for one in await waiting_for(stage.world, TEAM, user)]


async def test_an_undo_is_listed_once_somebody_has_to_decide_about_it(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    action = await stage.prepare(path="a.md", content="new")
    await stage.confirm(action)
    await stage.play()
    stage.desk.notes["a.md"] = "newer work of somebody"
    await undo.request_undo(stage.world, stage.press(await stage.now(action.id)))
    assert len(await stage.ledger.pending(TEAM, user=ANN)) == 1  # its target is being looked at
    assert await ids(stage) == []
    await stage.play()
    (asked,) = await waiting_for(stage.world, TEAM, ANN)
    assert getattr(asked.record, "undoes", "") == action.id


async def test_of_two_approvers_who_has_said_yes_is_not_asked_again(stage: Scene):
    two = Approvers(users=frozenset({BEN, CLEO}), needed=2)
    stage.rule(Rule("two", ("desk.write",), approvers=two))
    action = await stage.prepare(path="a.md", content="hello")
    assert (await ids(stage, BEN), await ids(stage, CLEO)) == ([action.id], [action.id])
    await stage.confirm(action, user=BEN)
    assert (await ids(stage, BEN), await ids(stage, CLEO)) == ([], [action.id])
    assert await ids(stage) == [action.id]


async def test_a_plan_is_listed_until_it_is_decided_and_a_finished_task_is_not(stage: Scene):
    task = await planned(stage, write("a.md"), write("b.md"))
    assert await ids(stage) == [task.id]
    assert await ids(stage, BEN) == []
    await pressed(stage, flow.approve_all, on_plan(task))
    assert await ids(stage) == []
    await stage.play()
    assert (await only(stage)).state is S.SATISFACTION
    assert await ids(stage) == []


async def test_an_entry_knows_where_its_card_stands_where_the_address_of_the_workspace_is_known(stage: Scene):
    task = await planned(stage, write("a.md"), write("b.md"))
    posted = await stage.ledger.posted(f"{task.id}:plan:1")
    (one,) = await waiting_for(stage.world, TEAM, ANN)
    ts, place = posted.ts.replace(".", ""), f"thread_ts={task.session.thread}&cid={task.session.channel}"
    assert one.link == f"{stage.world.address}archives/{task.session.channel}/p{ts}?{place}"
    unknown = replace(stage.world, address="")
    assert [one.link for one in await waiting_for(unknown, TEAM, ANN)] == [""]


@pytest.mark.parametrize(
    ("at", "told"),
    [
        (("D1", "2.000100"), "https://acme.slack.com/archives/D1/p2000100"),
        (("C1", "1.000100"), "https://acme.slack.com/archives/C1/p1000100"),
        ((), "https://acme.slack.com/archives/C1/p1000100"),
    ],
)
def test_a_message_outside_of_the_thread_or_at_its_root_has_a_link_without_a_thread(at, told):
    here = Session("T1", "C1", "1.000100")
    assert permalink("https://acme.slack.com/", here, *at) == told
