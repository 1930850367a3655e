"""Ask again: a fresh preview of what expired, or of what drifted before it could run."""

from __future__ import annotations

from dataclasses import replace

from gate import runs
from gate.action import Action, Ref
from gate.canonical import parse
from gate.derive import derived
from gate.flows import undo
from gate.flows.edit import unbound
from gate.flows.prepare import Answered, Asked, Prepared, Refused, prepare
from gate.flows.press import Press, Said, late, standing
from gate.flows.seal import entry
from gate.flows.step_action import asks_again, current
from gate.people import Verb
from gate.plans import step_of
from gate.states import State
from gate.talk import Call
from gate.world import Note, World

OVER = (State.EXPIRED, State.CANCELLED)
MOVED_ON = (
    "Its task does not wait for this step any more. Use the newest card in the thread, or ask for it anew."
)


async def ask_again(world: World, press: Press) -> Said:
    """The requester pressed *Ask again*. Raises Unavailable: then nothing changed."""
    action = await standing(world, press, Verb.RENEW)
    if isinstance(action, Said):
        return action
    if action.state is not State.EXPIRED:
        return late(action)
    if action.undoes:  # a way back is asked for at what it takes back
        return await undo.ask(world, replace(press, ref=Ref(action.undoes, 0, "")))
    async with world.ledger.begin(world.limits.decision) as tx:
        tx.audit(entry("asked_again", action, press.user))
        tx.enqueue(runs.renew(action.id, press.user, world.ids.new()))
    return Said(True, "renewing", action=action)


async def renew(world: World, action_id: str, user: str, cause: str) -> None:
    """Prepare the same call anew. Its id is derived, so pressing twice makes one."""
    old = await world.ledger.action(action_id)
    if old is None or old.state not in OVER:
        return
    spec = world.tools.find(old.server, old.tool)
    args = unbound(spec, parse(old.args)) if spec else parse(old.args)
    call = Call(old.server, old.tool, args, prose=old.preview.prose)
    asked = Asked(derived("renew", old.id), old.session, old.requester, call, old.turn, old.call, old.id)
    if old.step:
        result = await _ask_step_again(world, replace(asked, task=old.task, step=old.step), old)
    else:
        result = await prepare(world, asked)
    if isinstance(result, Refused):
        body = {"name": result.name, "reasons": list(result.reasons)}
        note = Note(derived("renew refused", old.id, cause), old.session, "refused", body, user)
        async with world.ledger.begin() as tx:
            if await tx.note(note):
                tx.enqueue(runs.post(note.id))


async def _ask_step_again(world: World, asked: Asked, old: Action) -> Prepared | Refused | Answered:
    """A step of a plan asks again for as long as its task waits for just this."""
    task = await world.ledger.task(old.task)
    if not current(task, old.step, old.id):
        return Refused(old.name, (MOVED_ON,))
    step = step_of(task.plan, old.step) if task else None
    return await prepare(world, replace(asked, title=step.title if step else ""), asks_again(old))
