"""What is said in the thread of an open task: an instruction of its requester, or context by others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.actions import undo
from gate.rules.planner_port import Call, Done, Mode, Propose, ProposedStep, ProposePlan, Say
from gate.rules.task import Assessment, StopRequest, Task
from gate.rules.task_states import TaskState as S
from gate.tasks import control, plan_review
from tests.gate.gate_setup import ANN, BEN, CLEO, TEAM, Scene
from tests.gate.plan_setup import approved, keep, look, on_pause, on_plan, planned, shred, write

READ = Propose((Call("desk", "look", {"path": "a.md"}),))
WRITE = Propose((Call("desk", "write", {"path": "a.md", "content": "new"}),))


async def now(stage: Scene) -> Task:
    return (await stage.ledger.tasks_of(stage.session))[0]


async def waiting(stage: Scene) -> Task:
    """A task of Ann's whose one call waits for her."""
    stage.planner.script = [WRITE]
    await stage.say("write it")
    return await now(stage)


async def test_what_the_requester_says_meanwhile_reaches_the_next_reply(stage: Scene):
    await waiting(stage)
    await stage.say("and mention the date", mentioned=False)
    task = await now(stage)
    assert [one.text for one in task.unused] == ["and mention the date"]
    assert any(text.startswith("Got it.") for text in stage.texts)
    (action,) = await stage.ledger.pending(TEAM)
    await stage.confirm(action)
    await stage.play()
    assert [one.text for one in stage.planner.briefs[-1].instructions] == ["and mention the date"]
    assert (await now(stage)).instructions[0].used == "in reply 2"


async def test_an_instruction_is_kept_once_and_put_on_the_record(stage: Scene):
    await waiting(stage)
    await stage.say("and mention the date", mentioned=False, ts="4100000000.000000")
    await stage.say("and mention the date", mentioned=False, ts="4100000000.000000")
    assert len((await now(stage)).instructions) == 1
    lines = await stage.ledger.audit_tail(team=TEAM, limit=50)
    assert [line.entry.actor for line in lines if line.entry.event == "task_user_instruction"] == [ANN]


async def test_what_follows_an_instruction_is_covered_by_no_grant(stage: Scene):
    await waiting(stage)
    assert not (await now(stage)).request.asks
    await stage.say("dziękuję bardzo", mentioned=False)
    assert (await now(stage)).request.asks


async def test_others_do_not_steer(stage: Scene):
    await waiting(stage)
    await stage.say("rather delete everything", user=BEN, mentioned=False)
    assert (await now(stage)).instructions == ()


@pytest.mark.parametrize("text", ["call it b.md instead", "stop", "pause", "start over"])
async def test_somebody_else_who_wants_to_steer_is_told_who_may(stage: Scene, text: str):
    await waiting(stage)
    before = len(stage.texts)
    await stage.say(text, user=BEN, mentioned=False)
    (said,) = stage.texts[before:]
    assert f"Only <@{ANN}>" in said
    task = await now(stage)
    assert (task.instructions, task.wish) == ((), StopRequest.NONE)


STEERING = [
    "skip the last step",
    "please drop steps 2 and 3",
    "could you pause the plan?",
    "skip the last one",
    "retry",
]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("mentioned", [False, True])
@pytest.mark.parametrize("text", STEERING)
async def test_somebody_else_who_steers_a_plan_is_told_who_may(stage: Scene, text: str, mentioned: bool):
    await planned(stage, write("a.md"), write("b.md"))
    before, revision = len(stage.texts), (await now(stage)).plan
    await stage.say(text, user=BEN, mentioned=mentioned)
    (said,) = stage.texts[before:]
    assert f"Only <@{ANN}> and admins say how this task goes on" in said
    assert "For something of your own, mention me." in said
    (task,) = await stage.ledger.tasks_of(stage.session)
    assert (task.plan, task.instructions) == (revision, ())


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "text",
    ["I would skip lunch today", "the last step was hard", "nice plan!", "is step 2 done?", "run, Ann, run"],
)
async def test_what_somebody_else_says_beside_a_plan_is_not_answered(stage: Scene, text: str):
    await planned(stage, write("a.md"), write("b.md"))
    before = len(stage.texts)
    await stage.say(text, user=BEN, mentioned=False)
    assert stage.texts[before:] == []


async def test_a_request_of_somebody_else_beside_a_plan_is_taken_as_one(stage: Scene):
    await planned(stage, write("a.md"), write("b.md"))
    stage.planner.script = [WRITE]
    await stage.say("move the plan to the archive", user=BEN)
    assert len(await stage.ledger.tasks_of(stage.session)) == 2


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("text", ["nice", "the report is in the other folder, I think", "thanks!"])
async def test_what_somebody_else_remarks_is_not_answered(stage: Scene, text: str):
    await waiting(stage)
    before = len(stage.texts)
    await stage.say(text, user=BEN, mentioned=False)
    assert stage.texts[before:] == []


async def test_a_late_instruction_is_not_lost(stage: Scene):
    await waiting(stage)
    (action,) = await stage.ledger.pending(TEAM)
    await stage.confirm(action)
    stage.planner.script = [Done(), Say("with the date")]
    reply = stage.planner.reply

    async def slow(turn, brief, pending):
        stage.planner.reply = reply
        said = await reply(turn, brief, pending)
        await stage.say("and the date", mentioned=False)  # while that reply is on its way
        return said

    stage.planner.reply = slow
    await stage.play()
    assert stage.planner.seen[-1].text == "and the date"
    assert "with the date" in stage.texts


async def test_stop_ends_a_simple_task_and_its_waiting_card(stage: Scene):
    await waiting(stage)
    await stage.say("stop")
    assert (await now(stage)).state is S.STOPPED_BY_USER
    assert await stage.ledger.pending(TEAM) == ()
    assert stage.desk.calls == []


async def test_stop_by_somebody_else_is_refused_and_by_an_admin_is_not(stage: Scene):
    await waiting(stage)
    await stage.say("stop", user=BEN)
    assert (await now(stage)).state is S.RUNNING
    assert any("Only" in text for text in stage.texts)
    stage.rule(admins=frozenset({CLEO}))
    await stage.say("stop", user=CLEO)
    assert (await now(stage)).state is S.STOPPED_BY_USER


async def test_stop_and_status_where_nothing_is_under_way_say_so(stage: Scene):
    await stage.say("stop")
    await stage.say("status")
    assert any("Nothing is under way" in text for text in stage.texts)
    assert any("Nothing was asked" in text for text in stage.texts)


async def test_status_names_the_task(stage: Scene):
    task = await waiting(stage)
    await stage.say("status", user=BEN)
    (note,) = [one for one in stage.wall.notes if one.kind == "status"]
    assert (note.body["task"], note.to) == (task.id, BEN)


async def test_somebody_else_may_ask_for_something_small_meanwhile(stage: Scene):
    await waiting(stage)
    stage.planner.script = [READ]
    await stage.say("read a.md", user=BEN)
    tasks = await stage.ledger.tasks_of(stage.session)
    assert {task.requester: task.state for task in tasks} == {BEN: S.DONE, ANN: S.RUNNING}
    assert stage.planner.seen[-1].mode is Mode.ACT


async def test_a_word_in_brackets_is_explained_where_no_model_could_know_it(stage: Scene):
    stage.planner.follows = False
    await stage.say("[foo] write it")
    assert await stage.ledger.tasks_of(stage.session) == ()
    assert "I do not know [foo] in front of a request" in stage.texts[-1]
    stage.planner.follows, stage.planner.script = True, [Say("Written.")]
    await stage.say("[urgent] write it")
    assert (await now(stage)).text == "[urgent] write it"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("text", ["call it b.md instead", "stop", "pause"])
async def test_somebody_else_who_wants_to_steer_a_plan_is_told_who_may(stage: Scene, text: str):
    await approved(stage, await planned(stage, shred("a.md"), write("b.md")))
    assert (await now(stage)).state is S.RUNNING
    before = len(stage.texts)
    await stage.say(text, user=BEN, mentioned=False)
    assert any(f"Only <@{ANN}>" in said for said in stage.texts[before:])
    assert (await now(stage)).instructions == ()


@pytest.mark.parametrize("mentioned", [False, True])
async def test_stop_is_about_one_s_own_task_also_where_that_of_another_holds_the_thread(
    stage: Scene, mentioned: bool
):
    stage.planner.script = [Propose((Call("desk", "write", {"path": "a.md", "content": "x"}),))]
    await stage.say("write it")
    stage.planner.assessments = [Assessment(90, 5)]
    stage.planner.script = [ProposePlan((write("b.md"),))]
    await stage.say("[complex] do more", BEN)
    await stage.say("mode manual", mentioned=mentioned)
    his, hers = await stage.ledger.tasks_of(stage.session)
    assert (his.state, his.switches.approval_mode) == (S.PLAN_REVIEW, "auto")
    assert (hers.state, hers.switches.approval_mode) == (S.RUNNING, "manual")
    await stage.say("stop", mentioned=mentioned)
    his, hers = await stage.ledger.tasks_of(stage.session)
    assert (his.state, his.input.remarks) == (S.PLAN_REVIEW, ())
    assert (hers.state, hers.ended_by) == (S.STOPPED_BY_USER, ANN)
    assert await stage.ledger.pending(TEAM) == ()
    assert not any("BEN" in text for text in stage.texts)


@pytest.mark.parametrize("planned_first", [True, False])
async def test_stop_finds_a_task_behind_however_many_newer_ones(stage: Scene, planned_first: bool):
    if planned_first:
        stage.planner.assessments = [Assessment(90, 5)]
    call = Call("desk", "write", {"path": "a.md", "content": "x"})
    stage.planner.script = [ProposePlan((write("a.md"),)) if planned_first else Propose((call,))]
    await stage.say("[complex] write it" if planned_first else "write it")
    (first,) = await stage.ledger.tasks_of(stage.session)
    for number in range(20):
        stage.planner.script = [Propose((Call("desk", "look", {"path": "a.md"}),))]
        await stage.say(f"look {number}", BEN)
    assert (
        first.id not in {task.id for task in await stage.ledger.tasks_of(stage.session, 20, CLEO)}
        or planned_first
    )
    await stage.say("stop")
    now = await stage.ledger.task(first.id)
    assert now is not None
    assert now.state is S.STOPPED_BY_USER
    assert not any("Nothing is under way" in text for text in stage.texts)


@pytest.mark.parametrize("who", [ANN, BEN])
async def test_an_approved_step_that_is_put_before_a_backup_asks(stage: Scene, who: str):
    """In the words of an admin, or in the requester's own: nobody said that the backup may come later, or not at all."""
    stage.world = replace(stage.world, policy=replace(stage.world.policy, admins=frozenset({BEN})))
    task = await planned(stage, write("first.md"), write("backup.md"), write("live.md"))
    assert (await plan_review.approve_all(stage.world, on_plan(task))).ok
    _, backup, live = (await now(stage)).plan.steps  # type: ignore[union-attr]
    stage.planner.script = [ProposePlan((keep(live), keep(backup)))]
    await stage.say("please hurry a bit", user=who)
    (asked,) = await stage.ledger.pending(TEAM)
    assert "live.md" in asked.preview.summary
    assert set(stage.desk.notes) == {"first.md"}
    await stage.confirm(asked)
    await stage.play()
    assert set(stage.desk.notes) == {"first.md", "live.md", "backup.md"}


async def without_its_backup(stage: Scene) -> Task:
    """An approved plan of a backup, which has failed, and of what was to follow it."""
    stage.world = replace(stage.world, policy=replace(stage.world.policy, admins=frozenset({BEN})))
    task = await planned(stage, write("backup.md"), write("live.md"))
    stage.desk.behave = "says no"
    await approved(stage, task)
    stage.desk.behave = ""
    return await now(stage)


@pytest.mark.parametrize("who", [ANN, BEN])
async def test_what_was_to_follow_a_backup_that_failed_asks_where_a_new_plan_leaves_it_out(
    stage: Scene, who: str
):
    task = await without_its_backup(stage)
    assert task.plan
    await stage.say("please put the backup into another folder first", user=who)
    stage.planner.script.append(ProposePlan((keep(task.plan.steps[1]),)))
    assert (await control.resume(stage.world, on_pause(await now(stage)))).ok
    await stage.play()
    (asked,) = await stage.ledger.pending(TEAM)
    assert "live.md" in asked.preview.summary
    assert stage.desk.notes == {}


async def test_what_was_to_follow_a_backup_that_failed_asks_where_an_admin_skips_that(stage: Scene):
    task = await without_its_backup(stage)
    assert (await control.skip_step(stage.world, on_pause(task, BEN))).ok
    await stage.play()
    (asked,) = await stage.ledger.pending(TEAM)
    assert "live.md" in asked.preview.summary
    assert stage.desk.notes == {}


@pytest.mark.parametrize(("who", "asked_about"), [(BEN, ["Write live.md"]), (ANN, [])])
async def test_what_was_to_follow_a_backup_asks_where_an_admin_has_taken_that_back(
    stage: Scene, who: str, asked_about: list[str]
):
    stage.rule(admins=frozenset({BEN}))
    task = await approved(
        stage, await planned(stage, write("backup.md"), write("live.md"), review="after_step")
    )
    assert task.plan
    backup = await stage.now(task.plan.steps[0].action)
    assert (await undo.request_undo(stage.world, stage.press(backup, who))).ok
    await stage.play()
    assert stage.desk.notes == {}
    assert (await control.resume(stage.world, on_pause(await now(stage), who))).ok
    await stage.play()
    assert [one.preview.summary for one in await stage.ledger.pending(TEAM)] == asked_about


async def test_what_was_to_follow_a_backup_that_failed_runs_where_its_requester_skips_that(stage: Scene):
    task = await without_its_backup(stage)
    assert (await control.skip_step(stage.world, on_pause(task))).ok
    await stage.play()
    assert set(stage.desk.notes) == {"live.md"}


@pytest.mark.parametrize("other", [look("live.md"), write("elsewhere.md")])
@pytest.mark.parametrize("who", [ANN, BEN])
async def test_what_was_to_follow_a_backup_that_failed_asks_where_another_call_takes_its_place(
    stage: Scene, who: str, other: ProposedStep
):
    """A read asks nobody, and who confirms the other write need not be who approved the plan."""
    task = await without_its_backup(stage)
    assert task.plan
    backup, live = task.plan.steps
    stage.planner.script.append(ProposePlan((replace(other, step=backup.id), keep(live))))
    assert (await control.retry(stage.world, on_pause(task, who, "rather this instead"))).ok
    await stage.play()
    for asked in await stage.ledger.pending(TEAM):
        if "elsewhere.md" in asked.preview.summary:
            assert (await stage.confirm(asked)).ok
            await stage.play()
    (asked,) = await stage.ledger.pending(TEAM)
    assert "live.md" in asked.preview.summary
    assert "live.md" not in stage.desk.notes


async def test_what_was_to_follow_a_backup_that_failed_runs_once_that_was_made_after_all(stage: Scene):
    task = await without_its_backup(stage)
    assert task.plan
    stage.planner.script.append(ProposePlan(tuple(map(keep, task.plan.steps))))
    assert (await control.retry(stage.world, on_pause(task, BEN, "it should work now"))).ok
    await stage.play()
    (asked,) = await stage.ledger.pending(TEAM)
    assert "backup.md" in asked.preview.summary
    assert (await stage.confirm(asked)).ok
    await stage.play()
    assert set(stage.desk.notes) == {"backup.md", "live.md"}
