"""Converse: talk over several turns, until it is to be built; then what was understood is confirmed first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gate.actions.button_press import PressResult, TaskPress
from gate.rules.permissions import TaskVerb
from gate.rules.planner_port import Implement, Incoming, Mode, Turn
from gate.rules.ports import StaleTask, Tx, World
from gate.rules.task import Flow, Specification, Task
from gate.rules.task_states import TaskEvent, TaskState
from gate.sentences.build_intent import Intent, intent
from gate.tasks import replies
from gate.tasks.task_transitions import (
    lock_unchanged,
    move_task,
    press_task,
    say_in_thread,
    start_turn,
    update_task,
)

PRESSED = "you pressed *Implement now*"
ASKED = "Please compile what is to be built now."
PLANNER = "it reads as if you want this built now"
COMPILING = "I am putting together what was said already."
NOT_ALLOWED = "Going from talk to doing is switched off here."
MOST = 100  # requirements
MOST_COMPILED = 20_000  # characters of what was said, where it is taken word by word
TALKED_MUCH = (
    "We have talked for longer than I can put together word by word. Please begin a new thread, and say there in one "
    "message what is to be built."
)


async def advance_conversation(world: World, task: Task) -> bool:
    """See how the conversation's turn stands. False while the planner is at it, or a person is to speak."""
    found = await world.ledger.turn(task.turn)
    if found is None or not replies.is_finished(world.planner, found) or task.requirements:
        return False
    last = found.exchanges[-1].reply if found.exchanges else None
    seen = implement_intent(task, found.text)
    compile_it = isinstance(last, Implement) or seen
    if not compile_it or not task.switches.allow_execution_transition:
        return False
    if (
        not isinstance(last, Implement) and not world.planner.follows
    ):  # it has said why there is nothing to build
        await _talk_on(world, task)
        return False
    listed = last.requirements if isinstance(last, Implement) else ()
    texts = () if listed else await _requirements_from_texts(world, task, found)
    if sum(map(len, texts)) > MOST_COMPILED and found.text == ASKED:
        await _talk_on(world, task, TALKED_MUCH)
        return False
    requirements = tuple(listed or texts)[:MOST]
    async with world.ledger.begin() as tx:
        now = await lock_unchanged(tx, task)
        because = now.because or (seen.because if seen else PLANNER)
        if world.planner.follows and not isinstance(last, Implement) and found.text != ASKED:
            spoken = await start_turn(tx, now, Mode.TALK, ASKED)
            asking = Specification(because=because)
            planning = replace(now.planning, turn=spoken)
            await update_task(tx, now, "intent seen", planning=planning, specification=asking)
            return False
        compiled = Specification(requirements=requirements, because=because)
        await update_task(tx, now, "compiled", specification=compiled)
    return False


async def _talk_on(world: World, task: Task, why: str = "") -> None:
    """Nothing is compiled: say why, where the planner has not, and let *Implement now* be pressed again."""
    if task.because:
        async with world.ledger.begin() as tx:
            now = await lock_unchanged(tx, task)
            await update_task(tx, now, "nothing to build", specification=Specification())
            if why:
                await say_in_thread(tx, now, why, now.turn)


def implement_intent(task: Task, text: str) -> Intent | None:
    """The intent to build that code sees in what the requester wrote; None for talk."""
    if task.because:
        return Intent("implement", task.because)
    seen = intent(text)
    return seen if seen.kind == "implement" else None


async def _requirements_from_texts(world: World, task: Task, found: Turn) -> list[str]:
    """Without a planner's own list: all that the requester said, in their words."""
    turns = await world.ledger.history(task.session, task.since)
    mine = [one for one in turns if one.task == task.id]
    return list(_lines(mine, found))


def _lines(turns: list[Turn], last: Turn) -> Iterator[str]:
    for one in turns:
        text = one.text.strip()
        if text and text != ASKED and (one.id != last.id or intent(text).kind == "talk"):
            yield text


async def add_message(world: World, task: Task, incoming: Incoming) -> None:
    """The requester said something in the conversation."""
    async with world.ledger.begin() as tx:
        now = await tx.task(task.id)
        if now is None or now.state is not TaskState.TALKING:
            raise StaleTask(now)
        spoken = await start_turn(tx, now, Mode.TALK, incoming.text)
        # A card with requirements that stands there is an old one from now on.
        newer = now.attempts + bool(now.requirements)
        planning = replace(now.planning, turn=spoken, attempts=newer)
        await update_task(tx, now, "heard", now.requester, planning=planning, specification=Specification())
        await tx.finish_message(incoming.key)


def _number(task: Task) -> int:
    return task.attempts


async def implement(world: World, press: TaskPress) -> PressResult:
    """*Implement now*: compile what was said, to be confirmed. Raises Unavailable: then nothing changed."""

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        if task.state is not TaskState.TALKING:
            raise StaleTask(task)
        if not task.switches.allow_execution_transition:
            return PressResult(False, "not_allowed", NOT_ALLOWED, task=task)
        if task.requirements:
            return PressResult(False, "late", "What I understood is on its card already.", task=task)
        if task.because:  # another turn would throw away the planner's answer that is on its way
            return PressResult(True, "compiling", COMPILING, task=task)
        spoken = await start_turn(tx, task, Mode.TALK, ASKED)
        planning = replace(task.planning, turn=spoken)
        asking = Specification(because=PRESSED)
        return await update_task(tx, task, "implement", press.user, planning=planning, specification=asking)

    return await press_task(world, press, TaskVerb.IMPLEMENT, _number, do)


async def confirm_requirements(world: World, press: TaskPress) -> PressResult:
    """Yes, that is what is to be built: plan it. Raises Unavailable: then nothing changed."""

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        if task.state is not TaskState.TALKING or not task.requirements:
            raise StaleTask(task)
        planning = await move_task(tx, task, TaskEvent.PLAN, press.user, flow=Flow.PLAN)
        spoken = await start_turn(tx, planning, Mode.PLAN, "\n".join(planning.requirements))
        return await tx.update_task(planning, planning=replace(planning.planning, turn=spoken))

    return await press_task(world, press, TaskVerb.IMPLEMENT, _number, do)


async def keep_talking(world: World, press: TaskPress) -> PressResult:
    """Not yet: the conversation goes on. Raises Unavailable: then nothing changed."""

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        if task.state is not TaskState.TALKING or not task.requirements:
            raise StaleTask(task)
        # The card with these requirements is an old one from now on.
        again = replace(task.planning, attempts=task.attempts + 1)
        return await update_task(
            tx, task, "kept talking", press.user, planning=again, specification=Specification()
        )

    return await press_task(world, press, TaskVerb.IMPLEMENT, _number, do)
