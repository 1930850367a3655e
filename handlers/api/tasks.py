"""Tasks over the API: opened, looked at, told something, paused, stopped and decided, by the flows of the cards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from gate.actions.button_press import PressResult, TaskPress
from gate.rules import access
from gate.rules.access import Token, TokenKind
from gate.rules.action import Json, Ref, Session
from gate.rules.ids import derive_id
from gate.rules.permissions import TaskVerb, account
from gate.rules.planner_port import Incoming
from gate.rules.ports import StaleTask, World
from gate.rules.settings import BadSwitches, Switches, weakened_switches, with_switches
from gate.rules.task import Task
from gate.rules.task_states import TaskState
from gate.tasks import (
    approval_mode,
    clarify,
    control,
    converse,
    feedback,
    plan,
    review_queue,
    steer,
    undo_all,
)
from gate.tasks.create_task import open_task, too_many_tasks
from gate.tasks.task_transitions import already_decided, load_task
from handlers.api import task_models as models
from handlers.api import task_responses as shapes
from handlers.api.actions import open_session, place, thread_key
from handlers.api.route import ApiRequest, ApiResponse, Problem, a_known_place, not_found, require_ok

Flow = Callable[[World, TaskPress], Awaitable[PressResult]]
MAX_ATTEMPTS = 20  # at a task that others change at the same time
TAKES_INSTRUCTIONS = (TaskState.CLARIFYING, TaskState.PLANNING, TaskState.RUNNING)
NOT_NOW = (
    "This task takes no instruction as it stands: answer what it asks (see “asks”), or open another one."
)
LESS = (
    "An agent's token cannot name {names} like this: people would see less of the task or be asked less. Leave it out; "
    "its person can say `mode auto` in the thread."
)
LOOKED_AT = {
    "approval_mode": "manual"
}  # of a task that says nothing of it: a person looks at each step's result
# `review` asks for more looks, before and after, and says nothing of who lets a task go on.
SAYS_OF_IT = {"approval_mode", "confidence", "preset"}
PLAN_FLOWS: dict[str, Flow] = {
    "approve_all": plan.approve_all,
    "step_by_step": plan.step_by_step,
    "replan": plan.replan,
    "cancel": plan.cancel,
}
RESUME_FLOWS: dict[str, Flow] = {
    "continue": control.resume,
    "retry": control.retry,
    "skip": control.skip_step,
}
SATISFACTION_FLOWS: dict[str, Flow] = {
    "done": feedback.satisfied,
    "changes": feedback.needs_changes,
    "start_over": feedback.start_over,
}


async def load_visible(request: ApiRequest[Any]) -> Task:
    """The task. Raises Problem 404 if it does not exist or the token may not see it."""
    services = request.services
    found = await services.world.ledger.task(request.id)
    if found is None:
        raise not_found("task")
    subject = await services.subject(task=found)
    if not access.sees(services.world.policy, request.token, request.person, subject).allowed:
        raise not_found("task")
    return found


async def current_response(request: ApiRequest[Any], task_id: str, status: int = 200) -> ApiResponse:
    """The current state of the task, as the response."""
    found = await request.world.ledger.task(task_id)
    if found is None:
        raise not_found("task")
    return ApiResponse(await _task_model(request, found), status)


async def _task_model(request: ApiRequest[Any], task: Task) -> Callable[..., models.Task]:
    """What makes the response, beside the event loop."""
    waiting = await request.services.pages.waiting_of(task)
    return partial(
        shapes.task, request.token, task, waiting, await review_queue.paused_at(request.world, task)
    )


def press(request: ApiRequest[Any], task: Task, number: int, seal: str = "", **more: Any) -> TaskPress:
    """A press by the token's person on the card with this number."""
    return TaskPress(Ref(task.id, number, seal[:16]), request.token.team, request.token.user, **more)


async def create(request: ApiRequest[models.CreateTask]) -> ApiResponse:
    """POST /tasks: as if the token's person had written it to the bot, in a thread of its own."""
    services, params, token = request.services, request.params, request.token
    ruling = account(await services.world.people.fresh(token.team, token.user))
    if not ruling.allowed:
        raise Problem(403, "account", ruling.reason)
    key = f"api:{request.idempotency_id or services.world.ids.new()}"
    task_id = derive_id("task", key)
    placed = await place(request)
    switches = _switches(token, services.world.switches(placed.channel), params.switches)
    agent = token.kind is TokenKind.AGENT
    _require_room(await too_many_tasks(services.world, placed, token.user, agent))
    session = await open_session(request, placed, thread_key(task_id), params.text)
    incoming = Incoming(key, session, token.user, params.text, session.thread, True)
    _require_room(await open_task(services.world, incoming, switches, agent=agent))
    return await current_response(request, task_id, 201)


def _require_room(refusal: str) -> None:
    """Raises Problem where a task is refused because of those that are under way."""
    if refusal:
        raise Problem(429, "too_many_tasks", refusal, headers={"Retry-After": "10"})


def _switches(token: Token, base: Switches, params: Mapping[str, Json]) -> Switches:
    """Those of a new task. An agent does not say for itself that people look at less. Raises Problem."""
    looked_at = with_switches(base, LOOKED_AT)
    named = SAYS_OF_IT & params.keys() and token.kind is TokenKind.PERSON
    try:
        switches = with_switches(base if named else looked_at, params)
    except BadSwitches as wrong:
        raise Problem(422, "bad_switches", str(wrong)) from None
    less = weakened_switches(looked_at, switches) if token.kind is TokenKind.AGENT else ()
    if less:
        raise Problem(403, "agents_do_not_decide", LESS.format(names=", ".join(less)))
    return switches


async def get(request: ApiRequest[Any]) -> ApiResponse:
    """GET /tasks/{id}"""
    return ApiResponse(await _task_model(request, await load_visible(request)))


async def listing(request: ApiRequest[models.ListTasks]) -> ApiResponse:
    """GET /tasks: what was asked for by, or through, this token; newest first."""
    params = request.params
    with a_known_place():
        found = await request.services.pages.tasks(
            request.token, after=params.after or "", limit=params.limit
        )
    tasks = [await _task_model(request, one) for one in found.items]
    return ApiResponse(partial(shapes.page, tasks, found.items[-1].id if found.more else None))


async def instruct(request: ApiRequest[models.Instruct]) -> ApiResponse:
    """PATCH /tasks/{id}: an instruction, as a reply of the requester in the thread."""
    task = await load_visible(request)
    world, token = request.world, request.token
    key = f"api:{request.idempotency_id or world.ids.new()}"
    incoming = Incoming(key, task.session, token.user, request.params.instruction, "", False)
    for _ in range(MAX_ATTEMPTS):
        found = await load_task(world, press(request, task, 0), TaskVerb.STEER)
        if isinstance(found, PressResult):
            require_ok(found)
            break
        if found.state not in TAKES_INSTRUCTIONS or found.questions:
            raise Problem(409, "late", already_decided(found).text if found.is_finished else NOT_NOW)
        try:
            require_ok(await steer.instruct(world, incoming, found))
            break
        except StaleTask:
            continue
    return await current_response(request, task.id)


async def set_mode(request: ApiRequest[models.SetMode]) -> ApiResponse:
    """POST /tasks/{id}/mode: as `mode …` in the thread, by the requester. It says what is to be, so it needs no
    number."""
    task = await load_visible(request)
    changes = request.params.model_dump(exclude_none=True)
    require_ok(await approval_mode.set_mode(request.world, press(request, task, 0), changes))
    return await current_response(request, task.id)


async def decide_plan(request: ApiRequest[models.DecidePlan]) -> ApiResponse:
    """POST /tasks/{id}/plan: a decision on exactly the plan that was seen."""
    task, params = await load_visible(request), request.params
    pressed = press(request, task, params.number, params.seal, text=params.text)
    world = request.world
    if params.decision == "modify":
        changes = [
            plan.StepChange(one.id, one.place, one.drop, one.ask, one.note, one.arguments)
            for one in params.changes
        ]
        require_ok(await plan.modify(world, pressed, changes))
    else:
        require_ok(await PLAN_FLOWS[params.decision](world, pressed))
    return await current_response(request, task.id)


async def answers(request: ApiRequest[models.Clarify]) -> ApiResponse:
    """POST /tasks/{id}/clarify"""
    task, params = await load_visible(request), request.params
    pressed = press(request, task, params.number, values=params.answers)
    require_ok(await (clarify.answer if params.answers else clarify.skip)(request.world, pressed))
    return await current_response(request, task.id)


async def requirements(request: ApiRequest[models.Requirements]) -> ApiResponse:
    """POST /tasks/{id}/requirements"""
    task, params = await load_visible(request), request.params
    flow = converse.confirm_requirements if params.decision == "confirm" else converse.keep_talking
    require_ok(await flow(request.world, press(request, task, params.number)))
    return await current_response(request, task.id)


async def pause(request: ApiRequest[Any]) -> ApiResponse:
    """POST /tasks/{id}/pause: after the current step. Pausing is always safe, so it needs no number."""
    task = await load_visible(request)
    require_ok(
        await control.pause(request.world, press(request, task, task.plan.version if task.plan else 0))
    )
    return await current_response(request, task.id)


async def resume(request: ApiRequest[models.GoOn]) -> ApiResponse:
    """POST /tasks/{id}/continue"""
    task, params = await load_visible(request), request.params
    require_ok(
        await RESUME_FLOWS[params.how](request.world, press(request, task, params.number, text=params.text))
    )
    return await current_response(request, task.id)


async def stop(request: ApiRequest[Any]) -> ApiResponse:
    """POST /tasks/{id}/stop: what runs right now finishes; nothing else starts."""
    task = await load_visible(request)
    require_ok(await control.stop(request.world, press(request, task, 0)))
    return await current_response(request, task.id)


async def verdict(request: ApiRequest[models.Verdict]) -> ApiResponse:
    """POST /tasks/{id}/satisfaction"""
    task, params = await load_visible(request), request.params
    require_ok(
        await SATISFACTION_FLOWS[params.verdict](
            request.world, press(request, task, params.number, text=params.text)
        )
    )
    return await current_response(request, task.id)


async def request_undo(request: ApiRequest[models.UndoTask]) -> ApiResponse:
    """POST /tasks/{id}/undo: *Undo all*."""
    task = await load_visible(request)
    seal = task.plan.seal if task.plan else ""
    require_ok(await undo_all.undo_all(request.world, press(request, task, request.params.number, seal)))
    return await current_response(request, task.id, 202)


async def audit(request: ApiRequest[models.ListAudit]) -> ApiResponse:
    """GET /audit: what this person did, or asked for; of an agent, what is about its proposals."""
    token, params = request.token, request.params
    session = Session.of(params.session_id) if params.session_id else None
    ledger = request.world.ledger
    entries = await ledger.audit_tail(team=token.team, user=token.user, session=session, limit=params.limit)
    if token.kind is TokenKind.AGENT:
        mine = await request.services.tokens.makers({line.entry.action for line in entries})
        entries = tuple(
            line for line in entries if token.id in (line.entry.token, mine.get(line.entry.action))
        )
    return ApiResponse(partial(shapes.audit, token, entries))
