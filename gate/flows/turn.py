"""A turn: one message of the requester, the planner's replies to it, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gate import runs
from gate.action import Action, Json, Ref
from gate.canonical import parse
from gate.derive import derived
from gate.flows.decide import cancel
from gate.flows.prepare import Answered, Asked, Prepared, Refused, prepare
from gate.flows.press import Press
from gate.states import SETTLED, State
from gate.talk import Call, CancelPending, Done, Exchange, ListPending, Propose, Say, Told, Turn
from gate.template import TemplateError, expand
from gate.world import Note, World

WAITING = "waiting"
TOO_MANY = (
    "I stopped here: this took more steps than I may take for one request. Please ask for less at a time."
)
STATUS = {
    State.SUCCEEDED: "succeeded",
    State.UNDOING: "succeeded",
    State.UNDONE: "undone",
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
    State.REJECTED: "rejected",
    State.EXPIRED: "expired",
    State.SUPERSEDED: "cancelled",
    State.UNKNOWN: "unknown",
}


async def go_on(world: World, turn_id: str) -> None:
    """Ask the planner until it has nothing more to do, or people have to act first. Safe to repeat:
    every reply is stored before it is acted on, and what it makes has derived ids."""
    turn = await world.ledger.turn(turn_id)
    while turn is not None:
        last = turn.exchanges[-1] if turn.exchanges else None
        if last is None or _settled(last):
            if last is not None and (isinstance(last.reply, Done) or not _asks_again(world, last)):
                return
            if len(turn.exchanges) >= world.limits.turns_depth:
                return await _note(world, turn, len(turn.exchanges), "answer", {"text": TOO_MANY})
            pending = await world.ledger.pending(turn.session.team, user=turn.requester, session=turn.session)
            reply = await world.planner.reply(turn, pending)
            await _store(world, turn, len(turn.exchanges), Exchange(reply))
        elif not await _act(world, turn, len(turn.exchanges) - 1, last):
            return
        turn = await world.ledger.turn(turn_id)


def _asks_again(world: World, last: Exchange) -> bool:
    """Whether the planner wants to hear what came of its reply."""
    return world.planner.follows and not isinstance(last.reply, Say)


def _settled(exchange: Exchange) -> bool:
    """Whether everything that the reply asked for has come to an end."""
    count = len(exchange.reply.calls) if isinstance(exchange.reply, Propose) else 1
    if isinstance(exchange.reply, Done):
        return True
    return len(exchange.told) == count and all(told.status != WAITING for told in exchange.told)


async def _store(world: World, turn: Turn, index: int, exchange: Exchange) -> None:
    async with world.ledger.begin() as tx:
        await tx.exchange(turn.id, index, exchange)


async def _act(world: World, turn: Turn, index: int, exchange: Exchange) -> bool:
    """Do what a stored reply asks for. False when people have to act before the turn can go on."""
    reply = exchange.reply
    if isinstance(reply, Propose):
        told = tuple([await _propose(world, turn, index, i, call) for i, call in enumerate(reply.calls)])
    else:
        told = (await _other(world, turn, index, reply),)
    await _store(world, turn, index, Exchange(reply, told))
    return all(one.status != WAITING for one in told)


async def _propose(world: World, turn: Turn, index: int, place: int, call: Call) -> Told:
    action_id = derived("action", turn.id, index, place)
    existing = await world.ledger.action(action_id)
    if existing is not None:
        return await _truth(world, existing, place)
    most = world.limits.calls_per_turn
    if place >= most:  # one note for all of them
        refused = Refused(f"{call.server}.{call.tool}", (TOO_MANY,))
        return replace(await _told_refused(world, turn, index, most, refused), call=place)
    heard = turn.id if world.planner.follows else ""
    asked = Asked(action_id, turn.session, turn.requester, call, heard, place)
    result = await prepare(world, asked)
    if isinstance(result, Prepared):
        return Told(place, WAITING, result.action.preview.summary)
    if isinstance(result, Refused):
        return await _told_refused(world, turn, index, place, result)
    return await _told_read(world, turn, index, place, result)


async def _told_refused(world: World, turn: Turn, index: int, place: int, refused: Refused) -> Told:
    body = {"name": refused.name, "reasons": list(refused.reasons)}
    await _note(world, turn, index, "refused", body, place)
    return Told(place, "refused", " ".join(refused.reasons))


async def _told_read(world: World, turn: Turn, index: int, place: int, read: Answered) -> Told:
    body = {
        "name": read.spec.full_name,
        "summary": _summary(read),
        "arguments": dict(read.args),
        "structured": read.answer.structured,
        "text": read.answer.text,
        "clipped": read.answer.clipped,
        "open_world": bool(read.spec.hints.open_world),
        "error": read.answer.is_error,
    }
    to = turn.requester if read.private else ""
    await _keep(world, Note(derived("note", turn.id, index, place, "read"), turn.session, "read", body, to))
    return Told(place, "failed" if read.answer.is_error else "succeeded", read.answer.text)


def _summary(read: Answered) -> str:
    try:
        return str(expand(read.spec.recipe.summary, {"args": read.args}))
    except TemplateError:
        return ""


async def _truth(world: World, action: Action, place: int) -> Told:
    """What the planner is told of a call: what really became of it, and who decided."""
    renewed = await world.ledger.action(derived("renew", action.id))
    if renewed is not None:
        return await _truth(world, renewed, place)
    if action.state not in SETTLED and action.state is not State.UNKNOWN:
        return Told(place, WAITING, action.preview.summary)
    text = action.outcome.text if action.outcome else action.decision
    changed = parse(action.args) if action.edited_by else None
    return Told(place, STATUS[action.state], text, changed, action.edited_by or action.decided_by)


async def _other(world: World, turn: Turn, index: int, reply: object) -> Told:
    if isinstance(reply, Say):
        await _note(world, turn, index, "text", {"text": reply.text})
        return Told(0, "succeeded", "")
    if isinstance(reply, ListPending):
        await _note(world, turn, index, "pending", {})
        return Told(0, "succeeded", "")
    if isinstance(reply, CancelPending):
        return await _withdraw(world, turn, reply)
    return Told(0, "succeeded", "")


async def _withdraw(world: World, turn: Turn, reply: CancelPending) -> Told:
    """The planner may withdraw what the requester of this very turn has pending: that is always safe."""
    action = await world.ledger.action(reply.action)
    if action is None or action.requester != turn.requester:  # an admin may cancel more, a planner may not
        return Told(0, "refused", "They have no such action.")
    ref = Ref(action.id, action.version, action.receipt[:16])
    said = await cancel(
        world, Press(ref, turn.session.team, turn.requester, reason="withdrawn in the conversation")
    )
    return Told(0, "cancelled" if said.ok else "refused", said.text)


async def _note(
    world: World, turn: Turn, index: int, kind: str, body: Mapping[str, Json], place: int = 0
) -> None:
    await _keep(world, Note(derived("note", turn.id, index, place, kind), turn.session, kind, body))


async def _keep(world: World, note: Note) -> None:
    async with world.ledger.begin() as tx:
        if await tx.note(note):
            tx.enqueue(runs.post(note.id))
