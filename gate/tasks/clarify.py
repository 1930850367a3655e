"""Clarify: what is missing is asked for before anything else happens; then the request takes its way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gate.actions.button_press import PressResult, TaskPress
from gate.arguments.unicode_safety import quoted
from gate.rules import advisers, jobs
from gate.rules.grant_ports import WORDS_OF_OTHERS
from gate.rules.ids import derive_id
from gate.rules.permissions import TaskVerb
from gate.rules.planner_port import (
    Exchange,
    Mode,
    PlannerAssessment,
    PlannerContext,
    PlannerInterrupted,
    PlannerReply,
    Turn,
)
from gate.rules.plans import with_heard
from gate.rules.ports import PlannerUnavailable, Tx, World
from gate.rules.routing import Route, can_be_skipped, route
from gate.rules.task import Assessment, Flow, Plan, Question, SettledPoint, StopRequest, Task
from gate.rules.task_states import TaskEvent, TaskState
from gate.tasks.replies import with_reply_steps, within_limits
from gate.tasks.slow_answers import MODEL, telling_if_late
from gate.tasks.task_transitions import (
    already_decided,
    fail_task,
    move_task,
    planner_away,
    planner_context,
    press_task,
    say_in_thread,
    start_turn,
    turn_of,
    update_task,
)

MOST = 4000  # characters of one answer
FLOW_STARTS = {
    Flow.SIMPLE: (TaskEvent.ACT, Mode.ACT),
    Flow.PLAN: (TaskEvent.PLAN, Mode.PLAN),
    Flow.TALK: (TaskEvent.TALK, Mode.TALK),
}
NEEDS_ANSWER = "I cannot go on without an answer to this: {question} Answer it, or cancel."
UNANSWERED = "Nobody answered my question in time, so I have let this go."
AGAIN = "If you still need it, please mention me again."
FREE = "whatever seems sensible"  # where a question is skipped for which the planner had no assumption
NO_ANSWER = "There is no answer in this. Please write one, or press *Skip*."


@dataclass(frozen=True, slots=True)
class FirstReply:
    """How a simple request begins: a turn with its first exchange, and the plan with the calls of that."""

    turn: Turn
    plan: Plan | None


async def assess(world: World, task: Task) -> bool:
    """Look at the request, then ask or begin a turn. False: nothing comes next before the answer, or the end of the
    turn."""
    if task.questions:
        return False
    turn = turn_of(task, Mode.ACT, task.text, task.created_at)
    brief = replace(await planner_context(world, task), interrupted=lambda: _changed(world, task))
    try:
        found = await _assessed(world, turn, brief)
    except PlannerInterrupted:
        return True
    except PlannerUnavailable:
        async with world.ledger.begin() as tx:
            await tx.note(planner_away(turn))
        raise
    way = route(found.assessment, task.switches, task.decided, task.asked)
    first = _first_reply(world, task, turn, found.reply) if way.flow is Flow.SIMPLE else None
    if first and first.plan and first.plan is not task.plan:
        first = replace(first, plan=with_heard(task, first.plan, brief.told_by))
    task = replace(task, input=advisers.having_heard(task.input, brief.told_by))
    async with world.ledger.begin() as tx:
        if found.foreign:
            await tx.grants.taint(task.session, WORDS_OF_OTHERS, False)
        await _store_first_reply(
            tx, task, found.assessment, way, first
        )  # raises StaleTask where it has changed meanwhile
    return False


async def _assessed(world: World, turn: Turn, brief: PlannerContext) -> PlannerAssessment:
    """What the planner makes of a request; where it is a model that takes long, people are told."""
    assessing = world.planner.assess(turn, brief)
    if not world.planner.follows:
        return await assessing
    return await telling_if_late(world, turn.session, derive_id(turn.id, "assess"), MODEL, assessing)


async def _changed(world: World, task: Task) -> bool:
    now = await world.ledger.task(task.id)
    return now is None or now.revision != task.revision


def _first_reply(world: World, task: Task, turn: Turn, reply: PlannerReply | None) -> FirstReply | None:
    """The turn that begins with what the planner replied already, and the plan of it. None where somebody has said more
    since, which the planner is to take in first, and where what was begun goes on as a plan."""
    if reply is None or task.instructions or task.planned or task.wish is not StopRequest.NONE:
        return None
    made = Exchange(within_limits(world, reply.reply), memo=reply.memo, usage=reply.usage)
    plan = with_reply_steps(world, task, turn, 0, made.reply)
    return FirstReply(replace(turn, exchanges=(made,)), plan)


async def _store_first_reply(
    tx: Tx, task: Task, found: Assessment, way: Route, first: FirstReply | None
) -> None:
    planning = replace(task.planning, usage=task.planning.usage + found.usage)
    if way.stuck:
        await fail_task(tx, task, way.stuck)
        return
    flow = Flow.PLAN if task.planned else way.flow  # a plan that was begun goes on as one
    if (way.ask or flow is not Flow.SIMPLE) and await ended_by_another(tx, task):
        return
    if way.ask:
        asking = replace(task.clarification, questions=way.ask, asked=task.asked + 1, assessment=found)
        await update_task(tx, task, "asked", clarification=asking, planning=planning)
        return
    event, mode = FLOW_STARTS[flow]
    clear = replace(task.clarification, assessment=found, decided=(*task.decided, *way.assumed))
    if first is None:
        planning = replace(planning, turn=await start_turn(tx, task, mode, task.text))
        await move_task(tx, task, event, note=way.reason, flow=flow, clarification=clear, planning=planning)
        return
    planning = replace(planning, turn=first.turn.id)
    now = await move_task(
        tx, task, event, note=way.reason, flow=flow, clarification=clear, planning=planning, plan=first.plan
    )
    turn = await tx.open_turn(replace(first.turn, at=await tx.now()))
    tx.enqueue(jobs.turn(turn.id, "begin", turn, now))


async def ended_by_another(tx: Tx, task: Task) -> Task | None:
    """The task, which would talk, ask or plan in a thread that another one holds: that is said, and it ends. None where
    the thread is free."""
    other = await tx.thread_holder(task.session)
    if other is None or other.id == task.id:
        return None
    return await fail_task(tx, task, thread_busy_reason(other, task.requester))


def thread_busy_reason(other: Task, user: str) -> str:
    """Why a thread takes no further task that this person wants to be planned or talked about."""
    whose = "You have" if other.requester == user else f"<@{other.requester}> has"
    return f"{whose} a task open in this thread. Finish or stop it first, or mention me in a new thread."


async def ask_questions(tx: Tx, task: Task, questions: tuple[Question, ...]) -> Task:
    """The planner found on the way that something is missing."""
    asking = replace(task.clarification, questions=questions, asked=task.asked + 1)
    return await move_task(tx, task, TaskEvent.ASK, clarification=asking, flow=Flow.NONE)


async def expire_questions(world: World, task_id: str, asked: int) -> None:
    """Nobody answered in time: let the task go, so that its thread is free, and say so. Does nothing when it has been
    answered, or something else was asked since."""
    async with world.ledger.begin() as tx:
        task = await tx.task(task_id)
        if task is None or task.state is not TaskState.CLARIFYING or not task.questions:
            return
        if task.asked == asked:
            over = await move_task(tx, task, TaskEvent.CANCEL, reason=UNANSWERED)
            await say_in_thread(tx, over, f"<@{task.requester}> {UNANSWERED} {AGAIN}", "unanswered")


async def answer(world: World, press: TaskPress) -> PressResult:
    """The form was submitted, or the requester answered in the thread. Raises Unavailable: nothing changed."""

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        if task.state is not TaskState.CLARIFYING or not task.questions:
            return _late(task)
        given = [_submitted_answers(q, press.values, press.user) for q in task.questions]
        answered = tuple(one for one in given if one)
        if not answered:
            return PressResult(False, "empty", NO_ANSWER, task=task)
        left = tuple(q for q, one in zip(task.questions, given, strict=True) if not one and not q.assumption)
        assumed = tuple(
            SettledPoint(q.id, q.text, q.assumption, "")
            for q, one in zip(task.questions, given, strict=True)
            if not one and q.assumption
        )
        return await _store_answers(tx, task, press.user, answered + assumed, left)

    return await press_task(world, press, TaskVerb.ANSWER, lambda task: task.asked, do)


async def skip(world: World, press: TaskPress) -> PressResult:
    """Go on with stated assumptions. Where a value is needed, say so. Raises Unavailable."""

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        if task.state is not TaskState.CLARIFYING or not task.questions:
            return _late(task)
        needed = next((q for q in task.questions if not can_be_skipped(q)), None)
        if needed:
            return PressResult(False, "needed", NEEDS_ANSWER.format(question=quoted(needed.text)), task=task)
        assumed = tuple(SettledPoint(q.id, q.text, q.assumption or FREE, "") for q in task.questions)
        return await _store_answers(tx, task, press.user, assumed, ())

    return await press_task(world, press, TaskVerb.ANSWER, lambda task: task.asked, do)


def _late(task: Task) -> PressResult:
    return (
        already_decided(task)
        if task.is_finished
        else PressResult(False, "late", "This was answered already.", task=task)
    )


def _submitted_answers(question: Question, values: Mapping[str, str], user: str) -> SettledPoint | None:
    text = values.get(question.id, "").strip()[:MOST]
    return SettledPoint(question.id, question.text, text, user) if text else None


async def _store_answers(
    tx: Tx, task: Task, user: str, decided: tuple[SettledPoint, ...], left: tuple[Question, ...]
) -> Task:
    ids = {one.id for one in decided}
    before = tuple(one for one in task.decided if one.id not in ids)
    found = replace(task.clarification, decided=before + decided, questions=left)
    now = await update_task(tx, task, "answered", user, clarification=found)
    if not left:
        tx.enqueue(jobs.task(now.id, now.revision))
    return now


def answers_in_reply(task: Task, text: str) -> dict[str, str]:
    """The answers in a thread reply: one line for each question where there are as many, else all for the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) != len(task.questions):
        lines = [text.strip()]
    return {question.id: line for question, line in zip(task.questions, lines, strict=False)}
