"""Steps: begin those that are ready, and follow those that have begun; code decides when to pause."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gate.actions.claim_click import drop_lease
from gate.actions.prepare import Answered, Keep, Refused, prepare
from gate.arguments.tool_names import tool_in_words
from gate.rules import jobs, plans
from gate.rules.action import Action, CallClass, Json, Verdict
from gate.rules.action_states import State
from gate.rules.autonomy import ApprovalMode
from gate.rules.ids import derive_id
from gate.rules.ledger_ports import TaskParts
from gate.rules.planner_port import Clarify, Done, Mode, ProposePlan, Turn
from gate.rules.ports import Note, StaleTask, Tx, World
from gate.rules.previews import plainly, summary_of
from gate.rules.reviews import Phase, matched_names
from gate.rules.steps import PRIVATE, judged
from gate.rules.task import Flow, PauseReason, Plan, Step, StepState, StopRequest, Task
from gate.rules.task_states import TaskEvent, TaskState
from gate.tasks import clarify, pause_requests, replies, step_check, undo_all
from gate.tasks.plan_preview import call_to_begin
from gate.tasks.slow_answers import server_name, telling_if_late
from gate.tasks.step_action import (
    NotPreviewable,
    failed_step,
    failure_text,
    step_done,
    step_inserter,
    store_begun_step,
    with_adviser,
)
from gate.tasks.step_check import StepAssessment
from gate.tasks.task_transitions import (
    IN_WORDS,
    end_by_user,
    lock_unchanged,
    move_task,
    next_pause,
    start_turn,
    update_step,
    update_task,
    with_step,
    without_pause,
)

UNDER_WAY = (State.PREPARED, State.APPROVED, State.EXECUTING)
WENT_WELL = (State.SUCCEEDED, State.UNDOING)
MAY_END = (
    PauseReason.STEP,
    PauseReason.LAPSED,
    PauseReason.WISH,
)  # a step may come to its end in such a pause
EACH_STEP_ASKS = "Every step waits for a person here."


@dataclass(frozen=True, slots=True)
class Progress:
    """What one run has done with the steps of a task. `begun`: the task once an action that is new was begun here, by
    the id of its step; another run comes when that ends. `ended`: the actions that are known to be at their end, by id.
    `turns`: those whose replies the steps are of, by id, with what their planner has been told here."""

    begun: dict[str, Task] = field(default_factory=dict)
    ended: dict[str, Action] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)


async def run_next(world: World, task: Task, turn: Turn | None = None) -> bool:
    """Do what comes next of a task that runs. False while a person, a tool or the planner is at it. Safe to repeat, and
    at the same time as another run: whatever starts something is written together with its step. `turn`: the task's, as
    it stood just now, where the caller knows."""
    if await _advance_once(world, task, Progress()) is not None:
        return True
    if task.plan and task.plan.begun:
        return False
    return await (_reply_over(world, task, turn) if task.flow is Flow.SIMPLE else _plan_over(world, task))


async def advance(world: World, task: Task, seen: Progress) -> Task | None:
    """Take the steps of a task as far as they go, without what comes after the last of them; the task then."""
    now: Task | None = task
    while now is not None and now.state is TaskState.RUNNING:
        try:
            after = await _advance_once(world, now, seen)
        except StaleTask:
            after = await world.ledger.task(task.id)
            if after is None:
                return None
        if after is None:
            return now
        now = after
    return now


async def _advance_once(world: World, task: Task, seen: Progress) -> Task | None:
    """Follow what has begun, begin what is ready, and do what somebody wished once nothing runs; the task as it stands
    then, None where nothing was to be done."""
    plan = task.plan or Plan(0, ())
    for step in plan.begun:
        if step.id not in seen.begun and (followed := await _follow_action(world, task, step, seen)):
            return followed
    ready = [step for step in plan.ready if _may_begin(task, step)]
    if ready:
        return await _begin(world, task, ready[0], seen)
    if plan.begun and not await pause_requests.only_waits(world, task, plan):
        return None
    return await pause_requests.stop_or_pause(world, task)


def _may_begin(task: Task, step: Step) -> bool:
    """Nothing begins once somebody wants it to wait, or has said something that the plan is to take in. The calls of
    one reply begin together: they may share a card."""
    if step.origin is None:
        return task.wish is StopRequest.NONE and not task.unused
    begun = task.plan.begun if task.plan else ()
    siblings = [one for one in begun if one.origin and one.origin.group == step.origin.group != ""]
    return task.wish is StopRequest.NONE or (task.wish is StopRequest.PAUSE and bool(siblings))


async def _plan_over(world: World, task: Task) -> bool:
    """Nothing of the plan runs: take in what people said, have the planner answer, or end."""
    if task.plan is None:
        return False
    # The planner is not told of what was taken back, so then it is not asked for an answer.
    back = await undo_all.taken_back(world, task.plan)
    turn = await world.ledger.turn(task.turn) if world.planner.follows and not back else None
    async with world.ledger.begin() as tx:
        now = await lock_unchanged(tx, task)
        assert now.plan is not None
        if now.unused:
            spoken = await start_turn(tx, now, Mode.PLAN, now.unused_text)
            planning = replace(now.planning, turn=spoken)
            request = replace(now.request, asks=now.request.asks or now.plan.current is None)
            over = await move_task(tx, now, TaskEvent.REPLAN, planning=planning, reason="", request=request)
        elif turn is not None and turn.mode is not Mode.ANSWER:
            asked = await start_turn(tx, now, Mode.ANSWER, "")
            over = await tx.update_task(now, planning=replace(now.planning, turn=asked), reason="")
        elif turn is not None and not replies.is_finished(world.planner, turn):
            tx.enqueue(jobs.turn(turn.id, f"task:{now.revision}" if turn.exchanges else "begin"))
            over = now
        else:
            result = " ".join(filter(None, [plans.summary(now.plan), back]))
            over = await finish(tx, now, result, replies.answer_of(turn))
    return over.state is TaskState.PLANNING


async def _reply_over(world: World, task: Task, turn: Turn | None) -> bool:
    """Nothing that a reply called for runs: the planner is asked again, or it ends."""
    if turn is None or turn.id != task.turn:
        turn = await world.ledger.turn(task.turn)
    if turn is None:
        return False
    if not replies.is_finished(world.planner, turn):
        async with world.ledger.begin() as tx:
            cause = f"task:{task.revision}" if turn.exchanges else "begin"
            tx.enqueue(jobs.turn(turn.id, cause))
        return False
    ended = replies.turn_result(task, turn)
    async with world.ledger.begin() as tx:
        if task.unused and world.planner.follows:  # said while the last reply was on its way
            again = await start_turn(tx, task, Mode.ACT, task.unused_text)
            request, planning = replace(task.request, asks=True), replace(task.planning, turn=again)
            await tx.update_task(task, request=request, planning=planning)
            return False
        if world.planner.follows and _has_no_answer(world, turn):
            await replies.show_reads(tx, turn, task)
        now = await _close_turn(tx, task, turn, ended)
    return now.state is TaskState.PLANNING  # in any other state, somebody else comes next


def _has_no_answer(world: World, turn: Turn) -> bool:
    """Whether its planner has ended it without a word. One that took too many steps was told so by us."""
    return isinstance(turn.exchanges[-1].reply, Done) and len(turn.exchanges) <= world.limits.turns_depth


async def _close_turn(tx: Tx, task: Task, turn: Turn, ended: replies.TurnResult) -> Task:
    last = turn.exchanges[-1].reply if turn.exchanges else None
    if isinstance(last, Clarify | ProposePlan) and (gone := await clarify.ended_by_another(tx, task)):
        return gone
    if isinstance(last, Clarify):
        return await clarify.ask_questions(tx, task, last.questions)
    if isinstance(last, ProposePlan):  # it is more than it looked: the plan is made of this very reply
        return await move_task(tx, task, TaskEvent.REPLAN, flow=Flow.PLAN)
    if ended.told and all(one.status in replies.NOTHING_RAN for one in ended.told):
        outcome = replace(task.outcome, result=ended.result)
        return await move_task(tx, task, TaskEvent.CANCEL, outcome=outcome, reason="Nothing of it ran.")
    if not ended.told:  # only words
        return await move_task(tx, task, TaskEvent.SETTLE, outcome=replace(task.outcome, result=IN_WORDS))
    return await finish(tx, task, ended.result)


async def finish(tx: Tx, task: Task, result: str, closing: str = "") -> Task:
    """A task has run to its end: ask whether it was what they needed, where it changed something or had a plan, unless
    nobody is to be asked. `closing`: what the planner says of a plan in the end."""
    wanted = task.switches.satisfaction
    asks = task.changed or (task.planned and wanted == "every")
    ended: TaskParts = {
        "pause": replace(task.pause, wish=StopRequest.NONE),
        "outcome": replace(task.outcome, result=result),
    }
    if task.plan is not None and task.plan.closing != closing:
        ended["plan"] = replace(task.plan, closing=closing)
    if wanted == "never" or not asks:
        return await move_task(tx, task, TaskEvent.SETTLE, **ended)
    ended["outcome"] = replace(ended["outcome"], ends=task.ends + 1)
    return await move_task(tx, task, TaskEvent.FINISH, **ended)


async def _begin(world: World, task: Task, step: Step, seen: Progress) -> Task | None:
    assert task.plan is not None
    try:
        args = plans.fill_arguments(task.plan, step)
    except plans.MissingResult as lacking:
        return await _pause_before(world, task, step, str(lacking))
    asked = await call_to_begin(world, task, step, args)
    kept: list[Task] = []
    try:
        keep = _read_keeper(world, task, step, seen, kept)
        preparing = prepare(world, asked, step_inserter(task, step, seen.begun), keep)
        made = await telling_if_late(world, asked.session, asked.id, server_name(asked.call), preparing)
    except NotPreviewable as unseen:
        made = Refused(step.name, (str(unseen),), private=unseen.private)
    if isinstance(made, Refused):
        return await _refused(world, task, step, made)
    if isinstance(made, Answered):
        return kept[0] if kept else await _read(world, task, step, made, seen)
    if made.action.state is State.APPROVED:
        await drop_lease(world, made.action)
    if step.id in seen.begun:
        return seen.begun[step.id]
    now = await world.ledger.task(task.id)
    if now is None or now.revision != task.revision:
        return now
    async with world.ledger.begin() as tx:  # there already without its step, as after a restored backup
        return await store_begun_step(tx, task, step, made.action)


async def _refused(world: World, task: Task, step: Step, made: Refused) -> Task:
    """The gate does not ask for it: of a reply, its planner is told; of a plan, a person decides what becomes of it."""
    assert task.plan is not None
    step = judged(step, private=True) if made.private else step
    if step.origin is None:
        reason = f"{plans.label(task.plan, step)} cannot run: {made.told}"
        return await _pause_before(world, task, step, reason, made if made.private else None)
    turn = await world.ledger.turn(step.origin.turn)
    async with world.ledger.begin() as tx:
        now = await _fail(tx, task, plans.with_failure(step, made.told), made.told)
        if turn is not None:
            await replies.report_refusal(tx, turn, (step.origin.reply, step.origin.call), made)
    return now


async def _pause_before(
    world: World, task: Task, step: Step, reason: str, alone: Refused | None = None
) -> Task:
    """Wait for a person instead of beginning a step. `alone`: what its requester is told besides, and nobody else."""
    async with world.ledger.begin() as tx:
        if alone is not None:
            key = derive_id("step refused", task.id, step.id, step.attempt)
            body: dict[str, Json] = {
                "name": alone.summary or tool_in_words(alone.name),
                "reasons": list(alone.reasons),
            }
            await tx.note(Note(key, task.session, "refused", body, task.requester))
        return await _fail(tx, task, plans.with_failure(step, reason), reason)


async def _fail(tx: Tx, task: Task, step: Step, reason: str, why: PauseReason = PauseReason.STEP) -> Task:
    """The step did not go through: wait for a person, or stop where that was wished. Of a reply, its planner
    is told."""
    plan = with_step(task, step).plan
    if step.origin is not None:
        return await tx.update_task(task, plan=plan)
    if task.wish is StopRequest.STOP:
        return await end_by_user(tx, await tx.update_task(task, plan=plan), task.ended_by)
    return await move_task(tx, task, TaskEvent.PAUSE, plan=plan, reason=reason, pause=next_pause(task, why))


async def _read(world: World, task: Task, step: Step, read: Answered, seen: Progress) -> Task:
    """A read has run: keep its answer for later steps. Reads never pause, unless they fail or each step is to be
    looked at by a person."""
    if read.answer.is_error and step.origin is None:
        said = PRIVATE if read.private else read.answer.text
        reason = f"{plans.label(task.plan or Plan(0, ()), step)} failed: {said}"
        async with world.ledger.begin() as tx:
            if read.private:
                await _show_alone(tx, task, step, read)
            return await _fail(tx, task, plans.with_failure(judged(step, read.private), reason), reason)
    turn = _single_turn(step, seen)
    if turn is None and step.origin is not None:
        turn = await world.ledger.turn(step.origin.turn)
    async with world.ledger.begin() as tx:
        return await _store_answer(tx, world, (task, turn), step, read, seen)


def _read_keeper(world: World, task: Task, step: Step, seen: Progress, kept: list[Task]) -> Keep | None:
    """Keeps the answer of a read in the transaction that puts it on record, and puts the task as it stands then into
    `kept`. None where more has to be read for that."""
    turn = _single_turn(step, seen)
    if turn is None:
        return None

    async def keep(tx: Tx, read: Answered) -> None:
        kept.append(await _store_answer(tx, world, (task, turn), step, read, seen))

    return keep


def _single_turn(step: Step, seen: Progress) -> Turn | None:
    """The turn whose reply called for a read, where it is known. Of several calls, another one may have been reported
    on meanwhile."""
    turn = seen.turns.get(step.origin.turn) if step.origin else None
    return turn if turn and step.origin and replies.is_single(turn, step.origin.reply) else None


async def _store_answer(
    tx: Tx, world: World, of: tuple[Task, Turn | None], step: Step, read: Answered, seen: Progress
) -> Task:
    """Write down the answer of a step of a task, and tell the planner whose turn called for it."""
    task, turn = of
    assert task.plan is not None
    done = _with_read_result(task.plan, step, read)
    if turn is not None:
        turn = await replies.report_step_read(tx, turn, step, read, not world.planner.follows)
        seen.turns[turn.id] = turn
    elif read.private:
        await _show_alone(tx, task, step, read)
    if read.answer.is_error:
        return await _fail(tx, task, plans.with_failure(done, done.text), done.text)
    return await _store_read(tx, world, task, done, turn)


def _with_read_result(plan: Plan, step: Step, read: Answered) -> Step:
    step = judged(step, read.private)
    done = plans.with_result(plan, step, read.answer.text, read.answer.structured)
    seen = replace(done.preflight, cls=CallClass.READ, verdict=Verdict.RUN)
    output = replace(done.output, text=PRIVATE) if read.private else done.output
    return replace(done, title=step.title.strip() or _title_of_read(read), preflight=seen, output=output)


def _title_of_read(read: Answered) -> str:
    """What a read without a title is called: everybody sees it, so what is private is called as its tool is."""
    if read.private:
        return plainly(read.spec, {})
    return summary_of(read.spec, read.args, plainly(read.spec, read.args))


async def _store_read(tx: Tx, world: World, task: Task, done: Step, turn: Turn | None) -> Task:
    """Write a read down that went through; let somebody look at it where they want that. `turn`: whose reply called
    for it, told of it."""
    asks = task.wish is not StopRequest.STOP and done.origin is None
    wanted = world.policy.review(Phase.AFTER, done.name, matched_names(done)) if asks else ""
    if wanted or (task.switches.approval_mode == ApprovalMode.MANUAL and task.wish is StopRequest.NONE):
        return await step_check.wait_for_review(
            tx, task, done, step_check.review_reason(wanted) or EACH_STEP_ASKS
        )
    after = with_step(task, done)
    if turn is not None and _ends_turn(world, after, turn):
        return await _close_turn(tx, after, turn, replies.turn_result(after, turn))
    return await update_step(tx, task, done, "step_done", plans.step_sentence(done))


def _ends_turn(world: World, task: Task, turn: Turn) -> bool:
    """Whether nothing of a task comes after this step of the one reply that its planner gives: then its end is written
    down with the step."""
    assert task.plan is not None
    return (
        (task.state, task.flow, task.turn, task.wish)
        == (TaskState.RUNNING, Flow.SIMPLE, turn.id, StopRequest.NONE)
        and not world.planner.follows
        and not task.plan.undoing
        and all(step.is_finished for step in task.plan.steps)
        and replies.is_finished(world.planner, turn)
    )


async def _show_alone(tx: Tx, task: Task, step: Step, read: Answered) -> None:
    body = {
        "name": plainly(read.spec, {}),
        "summary": plans.step_sentence(step),
        "arguments": dict(read.args),
        "structured": read.answer.structured,
        "text": read.answer.text,
        "clipped": read.answer.clipped,
        "open_world": bool(read.spec.hints.open_world),
        "error": read.answer.is_error,
    }
    key = derive_id("step read", task.id, step.id, step.attempt)
    await tx.note(Note(key, task.session, "read", body, task.requester))


async def _follow_action(world: World, task: Task, step: Step, seen: Progress) -> Task | None:
    """A step has begun: see what became of its action. None while that is under way."""
    action = seen.ended.get(step.action) or await world.ledger.action(step.action)
    if action is None or action.state in UNDER_WAY or action.under_review:
        return None
    seen.ended[action.id] = action
    found = await _assess_result(world, task, step, action)
    turn = await _turn_told_of(world, step, action, seen)
    async with world.ledger.begin() as tx:
        if found is not None:
            return await _store_success(tx, world, (task, turn), step, found)
        return await _store_failure(tx, task, step, action)


async def _turn_told_of(world: World, step: Step, action: Action, seen: Progress) -> Turn | None:
    """The turn whose one reply called for this alone, as it stands once its planner is told what became of it; None of
    every other, and where it is not known here."""
    turn = seen.turns.get(step.origin.turn) if step.origin else None
    if turn is None or len(turn.exchanges) != 1 or not replies.is_single(turn, 0):
        return None
    told = await replies.report_of_action(world, action, 0)
    return replace(turn, exchanges=(replace(turn.exchanges[0], reports=(told,)),))


async def _assess_result(world: World, task: Task, step: Step, action: Action) -> StepAssessment | None:
    """What is found out about a step that went through; None of one that did not, or whose result was rejected."""
    rejected = action.judged is not None and not action.judged.kept
    well = action.state in WENT_WELL and not rejected
    return await step_check.assess_step(world, task, step, action) if well else None


async def _store_success(
    tx: Tx, world: World, of: tuple[Task, Turn | None], step: Step, found: StepAssessment
) -> Task:
    """Write down that a step of a task went through, and go on, end, or let somebody look at it. The turn: see
    `_turn_told_of`."""
    task, turn = of
    assert task.plan is not None

    async def end(now: Task) -> Task | None:
        if turn is None or not _ends_turn(world, now, turn):
            return None
        await tx.record_reports(turn.id, 0, turn.exchanges[0].reports)
        return await _close_turn(tx, now, turn, replies.turn_result(now, turn))

    done = step_done(task.plan, step, found.action)
    return await step_check.finish_step(tx, world, task, done, found, end)


async def _store_failure(tx: Tx, task: Task, step: Step, action: Action) -> Task:
    """Write down why a step did not go through, and wait for a person, or stop."""
    assert task.plan is not None
    why, reason = failure_text(task.plan, step, action)
    failed = failed_step(task.plan, step, action)
    ran = action.state in (State.UNKNOWN, *WENT_WELL) and action.cls is not CallClass.READ
    outcome = replace(task.outcome, changed=task.changed or ran)
    task = await tx.update_task(task, outcome=outcome, plan=with_adviser(task.plan, action))
    return await _fail(tx, task, failed, reason, why)


async def recheck_paused_step(world: World, task: Task) -> bool:
    """A task is paused, and a step of it was decided on since. Where the task waits because of that step, and it has
    gone through after all, go on. Where somebody has paused it while the step waited, write down what became of it, and
    wait again. False where nothing is new."""
    step = task.plan.current if task.plan else None
    if step is None or not step.action or task.why not in MAY_END:
        return False
    action = await world.ledger.action(step.action)
    if action is None or action.state in UNDER_WAY:
        return False
    if task.why is PauseReason.WISH:
        return step.state is StepState.ASKED and not action.under_review and await _follow_on(world, task)
    found = await _assess_result(world, task, step, action)
    async with world.ledger.begin() as tx:
        now = await lock_unchanged(tx, task)
        if found is not None:
            running = await move_task(tx, now, TaskEvent.CONTINUE, **without_pause(now, now.plan))
            await _store_success(tx, world, (running, None), step, found)
            return True
        return await _update_failure(tx, now, step, action)


async def _follow_on(world: World, task: Task) -> bool:
    """Let a paused task see to the step that it waited at: what somebody wished still holds, so it begins nothing."""
    async with world.ledger.begin() as tx:
        now = await lock_unchanged(tx, task)
        wish = StopRequest.STOP if now.wish is StopRequest.STOP else StopRequest.PAUSE
        pause = replace(now.pause, why=PauseReason.NONE, wish=wish)
        await move_task(
            tx, now, TaskEvent.CONTINUE, pause=pause, reason="", note="The step that waited is over."
        )
    return True


async def _update_failure(tx: Tx, task: Task, step: Step, action: Action) -> bool:
    """Say what has become of it since, if that is news. Nobody has to be asked anew for it."""
    assert task.plan is not None
    why, reason = failure_text(task.plan, step, action)
    if task.wish is StopRequest.STOP:
        await end_by_user(tx, task, task.ended_by)
        return True
    if (step.state, task.why, task.reason) != (StepState.FAILED, why, reason):
        failed = failed_step(task.plan, step, action)
        advised = replace(task, plan=with_adviser(task.plan, action))
        plan, pause = with_step(advised, failed).plan, replace(task.pause, why=why)
        await update_task(tx, task, "step_settled", plan=plan, pause=pause, reason=reason)
    return False
