"""Tasks over the API: opened, looked at, told something, paused, stopped and decided, by the flows of the cards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from gate import access
from gate.access import Kind
from gate.action import Action, Ref, Session
from gate.derive import derived
from gate.flows import clarify, control, converse, plan, satisfy, steer, undo_plan
from gate.flows.life import late_task, standing_task
from gate.flows.open import open_task
from gate.flows.press import Said, TaskPress
from gate.ledger import Ledger
from gate.people import TaskVerb, account
from gate.switches import BadSwitches, switched
from gate.talk import Incoming
from gate.task import Task
from gate.task_states import TaskState
from gate.world import StaleTask, World
from handlers.api import task_models as models
from handlers.api import task_shapes as shapes
from handlers.api.actions import place
from handlers.api.problems import Problem, missing, unless
from handlers.api.route import Answer, Call

Flow = Callable[[World, TaskPress], Awaitable[Said]]
LOOKS = 20  # at a task that others change at the same time
LISTENS = (TaskState.CLARIFYING, TaskState.PLANNING, TaskState.RUNNING)
NOT_NOW = (
    "This task takes no instruction as it stands: answer what it asks (see “asks”), or open another one."
)
LOOKED_AT = {
    "approval_mode": "manual"
}  # of a task that says nothing of it: a person looks at each step's result
# `review` asks for more looks, before and after, and says nothing of who lets a task go on.
SAYS_OF_IT = {"approval_mode", "confidence", "preset"}
PLAN: dict[str, Flow] = {
    "approve_all": plan.approve_all,
    "step_by_step": plan.step_by_step,
    "replan": plan.replan,
    "cancel": plan.cancel,
}
ON: dict[str, Flow] = {"continue": control.resume, "retry": control.retry, "skip": control.skip_step}
ENDED: dict[str, Flow] = {
    "done": satisfy.satisfied,
    "changes": satisfy.needs_changes,
    "start_over": satisfy.start_over,
}


async def visible(call: Call[Any]) -> Task:
    """The task, where this token may know of it. Raises Problem: what is not theirs does not exist."""
    office = call.office
    found = await office.world.ledger.task(call.id)
    if found is None:
        raise missing("task")
    subject = await office.subject(task=found)
    if not access.sees(office.world.policy, call.token, call.person, subject).allowed:
        raise missing("task")
    return found


async def shown(call: Call[Any], task_id: str, status: int = 200) -> Answer:
    """The task as it stands now."""
    found = await call.office.world.ledger.task(task_id)
    if found is None:
        raise missing("task")
    return Answer(await _shape(call, found), status)


async def _shape(call: Call[Any], task: Task) -> models.Task:
    ledger = call.office.world.ledger
    waiting = await ledger.pending(task.session.team, session=task.session)
    return shapes.task(call.token, task, [one for one in waiting if await _task_of(ledger, one) == task.id])


async def _task_of(ledger: Ledger, action: Action) -> str:
    """The task that it is a step of, or without a plan, in whose turn it was proposed."""
    if action.task or not action.turn:
        return action.task
    turn = await ledger.turn(action.turn)
    return turn.task if turn else ""


def press(call: Call[Any], task: Task, number: int, seal: str = "", **more: Any) -> TaskPress:
    """A press by the token's person on the card with this number."""
    return TaskPress(Ref(task.id, number, seal[:16]), call.token.team, call.token.user, **more)


async def create(call: Call[models.CreateTask]) -> Answer:
    """POST /tasks: as if the token's person had written it to the bot, in a thread of its own."""
    office, given, token = call.office, call.given, call.token
    ruling = account(await office.world.people.fresh(token.team, token.user))
    if not ruling.allowed:
        raise Problem(403, "account", ruling.reason)
    key = f"api:{call.once or office.world.ids.new()}"
    task_id = derived("task", key)
    session = await place(office, call, given, f"api:{task_id}", given.text)
    named = SAYS_OF_IT & given.switches.keys()
    try:
        base = office.world.switches(session.channel)
        switches = switched(base, given.switches if named else {**LOOKED_AT, **given.switches})
    except BadSwitches as wrong:
        raise Problem(422, "bad_switches", str(wrong)) from None
    await office.tokens.made(token, task_id)
    incoming = Incoming(key, session, token.user, given.text, session.thread, True)
    await open_task(office.world, incoming, switches)
    return await shown(call, task_id, 201)


async def get(call: Call[Any]) -> Answer:
    """GET /tasks/{id}"""
    return Answer(await _shape(call, await visible(call)))


async def listing(call: Call[models.ListTasks]) -> Answer:
    """GET /tasks: what was asked for by, or through, this token; newest first."""
    given = call.given
    found = await call.office.pages.tasks(call.token, after=given.after or "", limit=given.limit + 1)
    page = found[: given.limit]
    tasks = [await _shape(call, one) for one in page]
    return Answer(models.TaskPage(tasks=tasks, next=page[-1].id if len(found) > given.limit else None))


async def instruct(call: Call[models.Instruct]) -> Answer:
    """PATCH /tasks/{id}: an instruction, as a reply of the requester in the thread."""
    task = await visible(call)
    world, token = call.office.world, call.token
    key = f"api:{call.once or world.ids.new()}"
    incoming = Incoming(key, task.session, token.user, call.given.instruction, "", False)
    for _ in range(LOOKS):
        found = await standing_task(world, press(call, task, 0), TaskVerb.STEER)
        if isinstance(found, Said):
            unless(found)
            break
        if found.state not in LISTENS or found.questions:
            raise Problem(409, "late", late_task(found).text if found.over else NOT_NOW)
        try:
            unless(await steer.instruct(world, incoming, found))
            break
        except StaleTask:
            continue
    return await shown(call, task.id)


async def decide_plan(call: Call[models.DecidePlan]) -> Answer:
    """POST /tasks/{id}/plan: a decision on exactly the plan that was seen."""
    task, given = await visible(call), call.given
    on = press(call, task, given.number, given.seal, text=given.text)
    world = call.office.world
    if given.decision == "modify":
        changes = [
            plan.StepChange(one.id, one.place, one.drop, one.ask, one.note, one.arguments)
            for one in given.changes
        ]
        unless(await plan.modify(world, on, changes))
    else:
        unless(await PLAN[given.decision](world, on))
    return await shown(call, task.id)


async def answers(call: Call[models.Clarify]) -> Answer:
    """POST /tasks/{id}/clarify"""
    task, given = await visible(call), call.given
    on = press(call, task, given.number, values=given.answers)
    unless(await (clarify.answer if given.answers else clarify.skip)(call.office.world, on))
    return await shown(call, task.id)


async def requirements(call: Call[models.Requirements]) -> Answer:
    """POST /tasks/{id}/requirements"""
    task, given = await visible(call), call.given
    flow = converse.confirm_requirements if given.decision == "confirm" else converse.keep_talking
    unless(await flow(call.office.world, press(call, task, given.number)))
    return await shown(call, task.id)


async def pause(call: Call[Any]) -> Answer:
    """POST /tasks/{id}/pause: after the current step. Pausing is always safe, so it needs no number."""
    task = await visible(call)
    unless(await control.pause(call.office.world, press(call, task, task.plan.version if task.plan else 0)))
    return await shown(call, task.id)


async def go_on(call: Call[models.GoOn]) -> Answer:
    """POST /tasks/{id}/continue"""
    task, given = await visible(call), call.given
    unless(await ON[given.how](call.office.world, press(call, task, given.number, text=given.text)))
    return await shown(call, task.id)


async def stop(call: Call[Any]) -> Answer:
    """POST /tasks/{id}/stop: what runs right now finishes; nothing else starts."""
    task = await visible(call)
    unless(await control.stop(call.office.world, press(call, task, 0)))
    return await shown(call, task.id)


async def verdict(call: Call[models.Verdict]) -> Answer:
    """POST /tasks/{id}/satisfaction"""
    task, given = await visible(call), call.given
    unless(await ENDED[given.verdict](call.office.world, press(call, task, given.number, text=given.text)))
    return await shown(call, task.id)


async def take_back(call: Call[models.UndoTask]) -> Answer:
    """POST /tasks/{id}/undo: *Undo all*."""
    task = await visible(call)
    seal = task.plan.seal if task.plan else ""
    unless(await undo_plan.undo_all(call.office.world, press(call, task, call.given.number, seal)))
    return await shown(call, task.id, 202)


async def record(call: Call[models.ListAudit]) -> Answer:
    """GET /audit: what this person did, or asked for; of an agent, what is about its proposals."""
    token, given = call.token, call.given
    session = Session.of(given.session_id) if given.session_id else None
    ledger = call.office.world.ledger
    lines = await ledger.audit_tail(team=token.team, user=token.user, session=session, limit=given.limit)
    if token.kind is Kind.AGENT:
        mine = await call.office.tokens.makers({line.entry.action for line in lines})
        lines = tuple(line for line in lines if token.id in (line.entry.token, mine.get(line.entry.action)))
    return Answer(models.Audit(lines=[shapes.line(token, line) for line in lines]))
