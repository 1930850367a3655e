"""A turn: one message of the requester, the planner's replies to it, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gate import runs
from gate.action import Action, Json, Ref, Verdict
from gate.canonical import parse
from gate.derive import derived
from gate.flows.decide import cancel
from gate.flows.life import brief_of, moved
from gate.flows.look import decided
from gate.flows.prepare import Answered, Asked, Prepared, Refused, prepare
from gate.flows.press import Press
from gate.flows.together import asked_of
from gate.plans import boundary
from gate.previews import summary_of
from gate.reviews import released
from gate.states import State
from gate.talk import (
    Brief,
    Call,
    CancelPending,
    Clarify,
    Done,
    Exchange,
    Implement,
    ListPending,
    Mode,
    Planner,
    Propose,
    ProposePlan,
    Reply,
    Say,
    Told,
    Turn,
)
from gate.task import Flow, Instruction, Task
from gate.task_states import TaskEvent
from gate.world import Note, Unavailable, World

WAITING = "waiting"
HELD, DROPPED = "held", "dropped"  # it has run; a person has to look at its result, or has rejected it
OPEN = (WAITING, HELD)
NOT_NOW = {
    Mode.PLAN: "Not now: this changes something. Put it into the plan.",
    Mode.TALK: "Not now: this is a conversation, and nothing is changed before it is to be built.",
}
BROKEN = "Something went wrong on my side, so I stopped here. Nothing more of it will run. Please ask in other words."
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
    every reply is stored before it is acted on, and what it makes has derived ids.

    Raises Unavailable: then the run is tried again; and what else went wrong, once people have been told."""
    try:
        await _go_on(world, turn_id)
    except Unavailable:
        raise
    except Exception:
        turn = await world.ledger.turn(turn_id)
        if turn is not None:
            await _give_up(world, turn)
        raise


async def _give_up(world: World, turn: Turn) -> None:
    """A fault of ours: say so, and do not leave the task open for ever."""
    await _note(world, turn, len(turn.exchanges), "answer", {"text": BROKEN})
    async with world.ledger.begin() as tx:
        task = await tx.task(turn.task) if turn.task else None
        if task is not None and not task.over:
            await moved(tx, task, TaskEvent.FAIL, reason=BROKEN)


async def _go_on(world: World, turn_id: str) -> None:
    turn = await world.ledger.turn(turn_id)
    while turn is not None:
        last = turn.exchanges[-1] if turn.exchanges else None
        if last is None or _settled(last):
            if over(world.planner, turn):
                return await _tell_task(world, turn)
            if len(turn.exchanges) >= world.limits.turns_depth:
                await _note(world, turn, len(turn.exchanges), "answer", {"text": TOO_MANY})
                return await _end(world, turn)
            if not await _ask(world, turn):
                return
        elif not await _act(world, turn, len(turn.exchanges) - 1, last):
            return
        turn = await world.ledger.turn(turn_id)


def over(planner: Planner, turn: Turn) -> bool:
    """Whether a turn has come to its end: the planner has nothing more to do, and nothing of it waits."""
    last = turn.exchanges[-1] if turn.exchanges else None
    if last is None or not _settled(last):
        return False
    if _looking(turn, last.reply):
        return False
    return isinstance(last.reply, Say | Clarify | ProposePlan | Implement | Done) or not planner.follows


async def _ask(world: World, turn: Turn) -> bool:
    """One reply of the planner, stored before anything is done with it. False when the turn's task has been ended
    meanwhile: then the planner is not asked any more."""
    task = await world.ledger.task(turn.task) if turn.task else None
    if task is not None and task.over:
        return False
    brief = await brief_of(world, task) if task else Brief(turn.text)
    pending = await world.ledger.pending(turn.session.team, user=turn.requester, session=turn.session)
    said = await world.planner.reply(turn, brief, pending)
    index = len(turn.exchanges)
    async with world.ledger.begin() as tx:
        made = Exchange(said.reply, memo=said.memo, usage=said.usage)
        first = await tx.exchange(turn.id, index, made) is made
        now = await tx.task(turn.task) if task and first else None
        if now and (said.usage.requests or brief.instructions):
            taken = now.instructions if _looking(turn, said.reply) else _used(now, brief, index)
            await tx.keep_task(now, usage=now.usage + said.usage, instructions=taken)
    return True


def _looking(turn: Turn, reply: Reply) -> bool:
    """Whether it only reads before it plans: what people said is taken in by the plan that comes of it."""
    return turn.mode is Mode.PLAN and isinstance(reply, Propose)


def _used(task: Task, brief: Brief, index: int) -> tuple[Instruction, ...]:
    """The instructions, those marked that this reply has taken in."""
    seen = {one.id for one in brief.instructions}
    where = boundary(task) if task.flow is Flow.PLAN else f"in reply {index + 1}"
    return tuple(replace(i, used=i.used or where) if i.id in seen else i for i in task.instructions)


async def _end(world: World, turn: Turn) -> None:
    """Close a turn that took too long, so that its task can go on."""
    async with world.ledger.begin() as tx:
        await tx.exchange(turn.id, len(turn.exchanges), Exchange(Done()))
        if turn.task:
            tx.enqueue(runs.task(turn.task, f"{turn.id}:end"))


async def _tell_task(world: World, turn: Turn) -> None:
    """Let its task look at it: once for each end, as an expired call may be asked again and a done one taken back."""
    if turn.task:
        back = sum(one.state is State.UNDONE for one in await world.ledger.of_turn(turn.id))
        told = ",".join(one.status for one in turn.exchanges[-1].told)
        async with world.ledger.begin() as tx:
            tx.enqueue(runs.task(turn.task, f"{turn.id}:{len(turn.exchanges)}:{told}:{back}"))


def _settled(exchange: Exchange) -> bool:
    """Whether everything that the reply asked for has come to an end."""
    if isinstance(exchange.reply, Done | Clarify | ProposePlan | Implement):
        return True
    count = len(exchange.reply.calls) if isinstance(exchange.reply, Propose) else 1
    return len(exchange.told) == count and all(told.status not in OPEN for told in exchange.told)


async def _act(world: World, turn: Turn, index: int, exchange: Exchange) -> bool:
    """Do what a stored reply asks for. False when people have to act before the turn can go on."""
    reply = exchange.reply
    asked = asked_of(world, turn, index, reply.calls) if isinstance(reply, Propose) else ()
    if isinstance(reply, Propose):
        told = tuple([await _propose(world, turn, index, one) for one in asked])
    else:
        told = (await _other(world, turn, index, reply),)
    async with world.ledger.begin() as tx:
        await tx.told(turn.id, index, told)
        for one in asked:
            if one.group and told[one.index].status == WAITING:
                tx.enqueue(runs.draw(one.id, 1))
    return all(one.status not in OPEN for one in told)


async def _propose(world: World, turn: Turn, index: int, asked: Asked) -> Told:
    place, call = asked.index, asked.call
    existing = await world.ledger.action(asked.id)
    if existing is not None:
        return await _truth(world, existing, place)
    most = world.limits.calls_per_turn
    if place >= most:  # one note for all of them
        refused = Refused(f"{call.server}.{call.tool}", (TOO_MANY,))
        return replace(await _told_refused(world, turn, index, most, refused), call=place)
    if turn.mode is not Mode.ACT and not _reads(world, turn, call):
        return Told(place, "refused", NOT_NOW[turn.mode])
    result = await prepare(world, asked)
    if isinstance(result, Prepared):
        status = HELD if result.action.held else WAITING
        return Told(place, status, result.action.preview.summary)
    if isinstance(result, Refused):
        return await _told_refused(world, turn, index, place, result)
    return await _told_read(world, turn, index, place, result)


def _reads(world: World, turn: Turn, call: Call) -> bool:
    spec = world.tools.find(call.server, call.tool)
    if spec is None:
        return True  # refused in a moment, with the closest names
    return decided(world, spec, dict(call.args), turn.session.channel).verdict is Verdict.RUN


async def _told_refused(world: World, turn: Turn, index: int, place: int, refused: Refused) -> Told:
    body = {"name": refused.name, "reasons": list(refused.reasons)}
    await _note(world, turn, index, "refused", body, place)
    return Told(place, "refused", " ".join(refused.reasons))


async def _told_read(world: World, turn: Turn, index: int, place: int, read: Answered) -> Told:
    body = {
        "name": read.spec.full_name,
        "summary": summary_of(read.spec, read.args),
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


async def _truth(world: World, action: Action, place: int) -> Told:
    """What the planner is told of a call: what really became of it, and who decided."""
    renewed = await world.ledger.action(derived("renew", action.id))
    if renewed is not None:
        return await _truth(world, renewed, place)
    if not action.over and action.state is not State.UNKNOWN:
        return Told(place, HELD if action.held else WAITING, action.preview.summary)
    if action.judged is not None and not action.judged.kept:
        return Told(place, DROPPED, action.judged.comment, None, action.judged.by)
    text = outcome.text if (outcome := released(action)) else action.decision
    changed = parse(action.args) if action.edited_by else None
    return Told(place, STATUS[action.state], text, changed, action.edited_by or action.decided_by)


async def _other(world: World, turn: Turn, index: int, reply: object) -> Told:
    if isinstance(reply, Say):
        talk = turn.mode is Mode.TALK
        body = {"text": reply.text, "task": turn.task} if talk else {"text": reply.text}
        await _note(world, turn, index, "talk" if talk else "text", body)
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
