"""Steer: what is said in the thread of an open task goes where it belongs: an answer, an instruction, a verdict."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

from gate import plain
from gate.action import Ref
from gate.flows import after_step, clarify, control, converse, plan, satisfy, simple
from gate.flows.life import kept, told_in_thread
from gate.flows.press import Said, TaskPress
from gate.flows.reviewed import under_review
from gate.people import TaskVerb, may_task
from gate.reviews import Phase, names
from gate.stamps import later
from gate.talk import Incoming
from gate.task import Flow, Instruction, Remark, Task, Why
from gate.task_states import TaskState
from gate.world import Happening, StaleTask, Unavailable, World

MOST = 4000  # characters of one instruction
LOOKS = 20  # at a task that others change at the same time
REMARKS, INSTRUCTIONS = 20, 50  # kept of one task
RECEIPT = "Got it. It applies {when}."
FULL = "That is too many instructions for one task. Please stop it and ask anew with all of them."
UNSEEN = "The card was not there yet when you wrote this. Please look at it and answer again."
ON_CARD = (
    "The operator wants this result reviewed, so words alone do not decide on it, and nothing changed. "
    "Press a button on its card; what I should know before it goes on belongs into its field."
)
S = TaskState
ASSESSING = (S.CLARIFYING, S.PLANNING, S.RUNNING)
START_OVER = re.compile(r"(?:please\s+)?(?:start|begin) (?:over|again|anew|from scratch)[.! ]*", re.I)
SATISFIED = re.compile(
    r"(?:yes|yep|yeah|perfect|great|thanks|thank you|thx|(?:looks?|all) good|done|that'?s (?:it|all|perfect|great))"
    r"(?:[,! ]+(?:done|thanks|thank you|perfect|great|please|that'?s (?:it|all)))*[.! ]*",
    re.I,
)
Flowing = Callable[[World, TaskPress], Awaitable[Said]]
WORDS: dict[TaskState, dict[str, Flowing]] = {
    S.RUNNING: {
        "pause": control.pause,
        "stop": control.stop,
        "abort": control.stop,
        "continue": control.unpause,
        "go on": control.unpause,
        "resume": control.unpause,
    },
    S.PAUSED: {
        "continue": control.resume,
        "go on": control.resume,
        "resume": control.resume,
        "hold": control.hold,
        "wait": control.hold,
        "stop": control.stop,
        "abort": control.abort,
        "retry": control.retry,
        "skip": control.skip_step,
    },
}


async def heard(world: World, incoming: Incoming) -> Said | None:
    """Take a message as being about an open task of its thread. None when it is about none. Raises Unavailable."""
    for _ in range(LOOKS):
        try:
            return await _heard(world, incoming)
        except StaleTask:
            continue  # it moved on meanwhile: look again
    raise Unavailable("the task did not stand still")


async def _heard(world: World, incoming: Incoming) -> Said | None:
    tasks = await world.ledger.tasks_of(incoming.session, 20)
    holder = next((task for task in tasks if task.holds_thread), None)
    if holder is not None:
        return await _about(world, incoming, holder)
    return await _about_simple(world, incoming, [t for t in tasks if t.requester == incoming.user])


async def _about(world: World, incoming: Incoming, task: Task) -> Said | None:
    person = await world.people.known(incoming.session.team, incoming.user)
    if not may_task(world.policy, TaskVerb.STEER, task, person).allowed:
        return None if incoming.mentioned else await _remark(world, incoming, task)
    own = incoming.user == task.requester
    word = "stop" if plain.is_stop(incoming.text) else incoming.text.strip(" .!\n").lower()
    flow = WORDS.get(task.state, {}).get(word)
    if flow is not None:
        return await flow(world, _press(task, incoming, _round(task)))
    if not own and task.state not in (S.RUNNING, S.PAUSED):
        return await _remark(world, incoming, task)
    return await ABOUT[task.state](world, incoming, task)


def _round(task: Task) -> int:
    """The number of the card that now stands for this task."""
    if task.state is S.CLARIFYING:
        return task.asked
    if task.state is S.PAUSED:
        return task.pauses
    if task.state is S.SATISFACTION:
        return task.ends
    return task.plan.version if task.plan and task.state is not S.TALKING else task.attempts


def _press(task: Task, incoming: Incoming, number: int, text: str = "") -> TaskPress:
    seal = task.plan.seal[:16] if task.plan else "0"
    ref = Ref(task.id, number, seal)
    return TaskPress(ref, incoming.session.team, incoming.user, text=text, message=incoming.key)


async def _clarifying(world: World, incoming: Incoming, task: Task) -> Said:
    if not task.questions:
        return await instruct(world, incoming, task)
    press = _press(task, incoming, task.asked)
    if plain.is_no(incoming.text) and len(incoming.text) < 20:
        return await plan.cancel(world, press)
    answers = clarify.by_reply(task, incoming.text)
    return await clarify.answer(world, replace(press, values=answers))


async def _talking(world: World, incoming: Incoming, task: Task) -> Said:
    if task.requirements and plain.is_yes(incoming.text):
        if await _unseen(world, f"{task.id}:requirements:{task.attempts}", incoming):
            return Said(False, "unseen", UNSEEN, task=task)
        return await converse.confirm_requirements(world, _press(task, incoming, task.attempts))
    await converse.hear(world, task, incoming)
    return Said(True, "heard", task=task)


async def _reviewing(world: World, incoming: Incoming, task: Task) -> Said:
    """A plain yes approves what the plan's card lists, a no cancels it, anything else is a reason to plan again."""
    assert task.plan is not None
    press = _press(task, incoming, task.plan.version, incoming.text)
    if plain.is_yes(incoming.text):
        if await _unseen(world, f"{task.id}:plan:{task.plan.version}", incoming):
            return Said(False, "unseen", UNSEEN, task=task)
        return await plan.approve_all(world, press)
    if plain.is_no(incoming.text) and len(incoming.text) < 20:
        return await plan.cancel(world, press)
    return await plan.replan(world, press)


async def _unseen(world: World, key: str, incoming: Incoming) -> bool:
    """Whether the card came to say what it says after the message, or is not known to stand there."""
    posted = await world.ledger.posted(key)
    if posted is None or not posted.ts:
        return True
    since = f"{posted.at.timestamp():.6f}" if posted.at else posted.ts
    return later(since, incoming.ts)


async def _paused(world: World, incoming: Incoming, task: Task) -> Said:
    if plain.is_no(incoming.text) and len(incoming.text) < 20:
        return await control.stop(world, _press(task, incoming, task.pauses))
    text = "" if plain.is_yes(incoming.text) else incoming.text
    hindrance = await _unreviewed(world, incoming, task, text)
    if hindrance is not None:
        return hindrance
    flow = control.retry if task.why is Why.STEP and not text else control.resume
    return await flow(world, _press(task, incoming, task.pauses, text))


async def _unreviewed(world: World, incoming: Incoming, task: Task, text: str) -> Said | None:
    """Why a message is no decision on a result that the operator wants reviewed: it is not a plain yes, or not one
    to what the card shows."""
    step = under_review(task)
    if step is None or not world.policy.review(Phase.AFTER, step.name, names(step)):
        return None
    if text:
        return Said(False, "review", ON_CARD, task=task)
    if await _unseen(world, after_step.card_of(task), incoming):
        return Said(False, "unseen", UNSEEN, task=task)
    return None


async def instruct(world: World, incoming: Incoming, task: Task) -> Said:
    """Keep an instruction, and say at once that it is kept. Taken in before the next step or model call."""
    async with world.ledger.begin() as tx:
        now = await tx.task(task.id)
        if now is None or now.state not in ASSESSING or now.questions:
            raise StaleTask(now)
        if any(one.id == incoming.key for one in now.instructions):
            return Said(True, "steered", task=now)
        if len(now.instructions) >= INSTRUCTIONS:
            return Said(False, "full", FULL, task=now)
        said = Instruction(incoming.key, incoming.user, incoming.text[:MOST], await tx.now())
        now = await kept(tx, now, "user_instruction", incoming.user, instructions=(*now.instructions, said))
        body = {"instruction": said.text, "user": said.user, "id": said.id}
        tx.emit(Happening("steer_instruction", now.session, now.id, body))
        when = "after the current step" if now.state is S.RUNNING else "to the plan that I am making"
        await told_in_thread(tx, now, RECEIPT.format(when=when), incoming.key)
        await tx.done_with(incoming.key)
    return Said(True, "steered", task=now)


async def _remark(world: World, incoming: Incoming, task: Task) -> Said:
    """What somebody else says: context, not an instruction."""
    async with world.ledger.begin() as tx:
        now = await tx.task(task.id)
        if now is None or now.over:
            raise StaleTask(now)
        said = Remark(incoming.user, incoming.text[:MOST], await tx.now())
        await tx.keep_task(now, remarks=(*now.remarks, said)[-REMARKS:])
        await tx.done_with(incoming.key)
    return Said(True, "remarked", task=task)


ABOUT: dict[TaskState, Callable[[World, Incoming, Task], Awaitable[Said]]] = {
    S.CLARIFYING: _clarifying,
    S.TALKING: _talking,
    S.PLANNING: instruct,
    S.PLAN_REVIEW: _reviewing,
    S.RUNNING: instruct,
    S.PAUSED: _paused,
}


async def _about_simple(world: World, incoming: Incoming, mine: list[Task]) -> Said | None:
    """A reply to a simple task of theirs: a verdict on its result, or an instruction while the planner is at it.
    A mention with anything but a verdict asks for something new."""
    ended = next((task for task in mine if task.state is S.SATISFACTION), None)
    if ended is not None:
        verdict = await _verdict(world, incoming, ended)
        if verdict is not None:
            return verdict
    running = next((t for t in mine if t.state in ASSESSING and t.flow in (Flow.SIMPLE, Flow.NONE)), None)
    if running and world.planner.follows and not incoming.mentioned:
        return await instruct(world, incoming, running)
    return None


async def _verdict(world: World, incoming: Incoming, task: Task) -> Said | None:
    press = _press(task, incoming, task.ends, incoming.text)
    if SATISFIED.fullmatch(incoming.text.strip()):
        return await satisfy.satisfied(world, press)
    if START_OVER.fullmatch(incoming.text.strip()):
        return await satisfy.start_over(world, press)
    if incoming.mentioned:
        return None
    if plain.is_no(incoming.text) and len(incoming.text) < 20:
        return Said(False, "empty", satisfy.WHAT, task=task)
    return await satisfy.needs_changes(world, press)


async def stop(world: World, incoming: Incoming) -> Said:
    """`@bot stop`: end the task that is open in this thread. What runs right now finishes first."""
    tasks = await world.ledger.tasks_of(incoming.session, 20)
    running = [task for task in tasks if not task.over and task.state is not S.SATISFACTION]
    own = [task for task in running if task.requester == incoming.user]
    if not running:
        return Said(False, "none", "Nothing is under way in this thread.")
    task = (own or running)[0]
    if task.flow is Flow.SIMPLE:
        return await simple.stop(world, _press(task, incoming, _round(task)))
    return await control.stop(world, _press(task, incoming, _round(task)))
