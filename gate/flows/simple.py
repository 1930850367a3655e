"""The simple flow: act at once through the gates; then ask whether it was what they needed."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gate import runs
from gate.action import Action, Class
from gate.derive import derived
from gate.flows import clarify, turn
from gate.flows.decide import end
from gate.flows.life import begun_turn, moved, pressed, retold, unchanged
from gate.flows.press import Said, TaskPress
from gate.people import TaskVerb
from gate.previews import summary_of
from gate.states import Event, State
from gate.talk import Call, Clarify, Mode, Propose, ProposePlan, Told, Turn
from gate.task import Flow, Task
from gate.task_states import TaskEvent
from gate.world import Stale, Tx, World

NAMED = 3  # calls named in a result
NOTHING_RAN = {"cancelled", "rejected", "expired", "refused"}
WORDS = {
    "succeeded": "done",
    "undone": "done and taken back",
    "unknown": "of unknown outcome",
    "dropped": "done with its result rejected",
}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a simple task came to its end."""

    result: str
    changed: bool
    told: tuple[Told, ...]


async def go_on(world: World, task: Task) -> bool:
    """See how the turn stands. False while the planner or a person is at it."""
    found = await world.ledger.turn(task.turn)
    if found is None or not turn.over(world.planner, found):
        return False
    made = await world.ledger.of_turn(found.id)
    ended = _ended(world, found, made)
    async with world.ledger.begin() as tx:
        now = await unchanged(tx, task)
        if now.unused and world.planner.follows:  # said while the last reply was on its way
            again = await begun_turn(tx, now, Mode.ACT, now.unused[-1].text)
            await tx.keep_task(now, turn=again)
            return False
        await _close(tx, world, now, found, ended)
    return True


async def look_back(world: World, task: Task) -> bool:
    """While it is asked whether that was what they needed: what was taken back since is not called done. False:
    nothing comes after it."""
    found = await world.ledger.turn(task.turn)
    if found is not None:
        await retold(world, task, _ended(world, found, await world.ledger.of_turn(found.id)).result)
    return False


async def _close(tx: Tx, world: World, task: Task, found: Turn, ended: Ended) -> None:
    last = found.exchanges[-1].reply if found.exchanges else None
    if isinstance(last, Clarify):
        await clarify.ask(tx, world, task, last.questions)
        return
    if isinstance(last, ProposePlan):  # it is more than it looked: the plan is made of this very reply
        await moved(tx, task, TaskEvent.REPLAN, flow=Flow.PLAN)
        return
    if ended.told and all(one.status in NOTHING_RAN for one in ended.told):
        await moved(tx, task, TaskEvent.CANCEL, result=ended.result, reason="Nothing of it ran.")
    elif not ended.told:  # only words
        await moved(tx, task, TaskEvent.SETTLE, result="Answered in words.")
    else:
        await finish(tx, world, task, ended.result, ended.changed)


async def finish(tx: Tx, world: World, task: Task, result: str, changed: bool) -> Task:
    """A task has run to its end: ask whether it was what they needed, unless nobody is to be asked."""
    wanted = task.switches.satisfaction
    if wanted == "never" or (wanted == "changes" and not changed):
        return await moved(tx, task, TaskEvent.SETTLE, result=result, changed=changed)
    ends = task.ends + 1
    now = await moved(tx, task, TaskEvent.FINISH, result=result, changed=changed, ends=ends)
    tx.enqueue(runs.settle_task(task.id, ends, world.limits.settle))
    return now


def _ended(world: World, found: Turn, made: Sequence[Action]) -> Ended:
    """What came of the turn, as it is now; `1 done, 1 done and taken back: Move a.md; Write b.md`."""
    told = tuple(_told(found, made))
    changed = any(
        action.outcome and action.outcome.kind in ("success", "unknown") and action.cls is not Class.READ
        for action in made
    )
    return Ended(_tally(told) + _named(world, found, made), changed, told)


def _named(world: World, found: Turn, made: Sequence[Action]) -> str:
    """What was asked for, in the words of the cards: `: Move a.md; Read b.md`."""
    names = [action.preview.summary for action in made if not action.renews]
    names += [_summary(world, call) for call in _reads(found) if not _held(made, call)]
    shown = [name for name in dict.fromkeys(names) if name]
    more = [f"{len(shown) - NAMED} more"] if len(shown) > NAMED else []
    return f": {'; '.join([*shown[:NAMED], *more])}" if shown else ""


def _reads(found: Turn) -> Iterator[Call]:
    for exchange in found.exchanges:
        if isinstance(exchange.reply, Propose):
            told = {one.call for one in exchange.told if one.status == "succeeded"}
            yield from (call for place, call in enumerate(exchange.reply.calls) if place in told)


def _held(made: Sequence[Action], call: Call) -> bool:
    return any((action.server, action.tool) == (call.server, call.tool) for action in made)


def _summary(world: World, call: Call) -> str:
    spec = world.tools.find(call.server, call.tool)
    return summary_of(spec, call.args, spec.title) if spec else ""


def _told(found: Turn, made: Sequence[Action]) -> Iterator[Told]:
    """What became of each call, as its planner was told; and where it was taken back since, that."""
    back = set(_origins(made))
    for index, exchange in enumerate(found.exchanges):
        for one in exchange.told if isinstance(exchange.reply, Propose) else ():
            undone = derived("action", found.id, index, one.call) in back
            yield replace(one, status=turn.STATUS[State.UNDONE]) if undone else one


def _origins(made: Sequence[Action]) -> Iterator[str]:
    """The ids under which the calls were first asked for that were taken back."""
    by_id = {action.id: action for action in made}
    for action in made:
        if action.state is State.UNDONE:
            while action.renews in by_id:
                action = by_id[action.renews]
            yield action.id


def _tally(told: Sequence[Told]) -> str:
    """`2 done, 1 rejected`: counted by code from what truly happened."""
    counts = Counter(WORDS.get(one.status, one.status) for one in told)
    return ", ".join(f"{count} {word}" for word, count in counts.items())


async def stop(world: World, press: TaskPress) -> Said:
    """End a simple task: what waits of it is withdrawn; what runs right now finishes. Raises Unavailable."""
    found = await world.ledger.task(press.ref.id)
    made = await world.ledger.of_turn(found.turn) if found and found.turn else ()

    async def do(tx: Tx, task: Task) -> Task:
        for action in made:
            now = await tx.action(action.id)
            if now is not None and now.state in (State.PREPARED, State.APPROVED):
                with contextlib.suppress(Stale):  # its time has just run out
                    await end(tx, now, Event.CANCEL, press.user, "the task was stopped")
        return await moved(tx, task, TaskEvent.STOP, press.user, ended_by=press.user)

    return await pressed(world, press, TaskVerb.STOP, lambda task: press.ref.version, do)
