"""Ask again: a fresh preview of what expired, or of what drifted before it could run."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from gate.actions import undo
from gate.actions.action_versions import audit_entry
from gate.actions.button_press import Press, PressResult, already_decided, load_action
from gate.actions.edit import without_bound_args
from gate.actions.prepare import CallRequest, Refused, prepare
from gate.arguments.tool_names import tool_in_words
from gate.arguments.unicode_safety import quoted
from gate.rules import jobs
from gate.rules.action import Action, Ref
from gate.rules.action_states import State
from gate.rules.advisers import of_task
from gate.rules.canonical_json import stored_args
from gate.rules.ids import derive_id
from gate.rules.permissions import Verb
from gate.rules.planner_port import Call
from gate.rules.plans import step_of
from gate.rules.ports import Note, World
from gate.tasks.step_action import StepNotCurrent, may_become, step_renewer

REISSUABLE = (State.EXPIRED, State.CANCELLED)
STEP_NOT_CURRENT = (
    "Its task does not wait for this step any more. Use the newest card in the thread, or ask for it anew."
)


async def reissue_by_press(world: World, press: Press) -> PressResult:
    """The requester pressed *Ask again*. Raises Unavailable: then nothing changed."""
    action = await load_action(world, press, Verb.RENEW)
    if isinstance(action, PressResult):
        return action
    if action.state is not State.EXPIRED:
        return already_decided(action)
    if action.undoes:  # a way back is asked for at what it takes back
        return await undo.request_undo(world, replace(press, ref=Ref(action.undoes, 0, "")), action)
    async with world.ledger.begin(world.limits.decision) as tx:
        tx.audit(audit_entry("asked_again", action, press.user))
        tx.enqueue(jobs.renew(action.id, press.user, world.ids.new()))
    return PressResult(True, "renewing", action=action)


def _why(old: Action) -> str:
    """Why a call is asked again that somebody had confirmed, in a sentence; "" where they only were too late."""
    if old.state is not State.CANCELLED or not old.resolution.own:
        return ""
    return f"{quoted(old.decision).rstrip('.')}, so please look again."  # it may tell what a server said


async def reissue(world: World, action_id: str, user: str, cause: str) -> None:
    """Prepare the same call anew. Its id is derived, so pressing twice makes one."""
    old = await world.ledger.action(action_id)
    if old is None or old.state not in REISSUABLE:
        return
    spec = world.tools.find(old.server, old.tool)
    args = without_bound_args(spec, stored_args(old.args)) if spec else stored_args(old.args)
    call = Call(old.server, old.tool, args, old.risk, old.prose)
    asked = CallRequest(
        derive_id("renew", old.id),
        old.session,
        old.requester,
        call,
        old.turn,
        old.call,
        old.id,
        again=_why(old),
        assumed=old.proposal.source.assumed,
        instructed=old.proposal.source.instructed,
        private=old.private,
        edited=(old.edited_by, old.proposed),
    )
    task = await world.ledger.task(old.task) if old.step else None
    step = step_of(task.plan, old.step) if task else None
    result = None
    if task is not None and step is not None and may_become(task, step, old.id):
        said = asked.instructed | of_task(task)
        of_step = replace(asked, task=old.task, step=old.step, title=step.title, instructed=said)
        with contextlib.suppress(StepNotCurrent):  # just now, as where all that came of a reply has ended
            result = await prepare(world, of_step, step_renewer(old))
    if result is None:
        alone = not old.step or old.turn  # a step of a plan that was shown is asked for with its plan alone
        result = await prepare(world, asked) if alone else Refused(old.name, (STEP_NOT_CURRENT,))
    if isinstance(result, Refused):
        body = {"name": result.summary or tool_in_words(result.name), "reasons": list(result.reasons)}
        note = Note(derive_id("renew refused", old.id, cause), old.session, "refused", body, user)
        async with world.ledger.begin() as tx:
            await tx.note(note)
