"""Steer: what is said in the thread of an open task goes where it belongs: an answer, an instruction, a verdict."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from gate.actions.button_press import PressResult, TaskPress
from gate.actions.claim_click import drop_lease
from gate.actions.review_log import step_under_review
from gate.rules import advisers
from gate.rules.action import Action, Ref
from gate.rules.action_states import State
from gate.rules.permissions import TaskVerb, may_task
from gate.rules.planner_port import Incoming
from gate.rules.ports import LedgerEvent, StaleTask, Unavailable, World
from gate.rules.reviews import Phase, matched_names
from gate.rules.task import Flow, Instruction, PauseReason, Remark, StopRequest, Task
from gate.rules.task_states import TaskState
from gate.sentences import thread_commands
from gate.sentences.feedback import FeedbackKind, classify_feedback, is_thanks
from gate.tasks import clarify, control, converse, feedback, plan
from gate.tasks.early_messages import UNSEEN, is_before_pause, is_early
from gate.tasks.plain_words import AMBIGUOUS, why_undecided
from gate.tasks.step_action import supersede_pending
from gate.tasks.task_transitions import (
    FULL,
    count_words,
    say_in_thread,
    too_many_instructions,
    update_task,
    with_instruction,
)

MOST = 4000  # characters of one instruction
LOOKS = 20  # at a task that others change at the same time
REMARKS = 20  # kept of one task, and who has made any
RECEIPT = "Got it. It applies {when}."
ON_CARD = (
    "The operator wants this result reviewed, so words alone do not decide on it, and nothing changed. "
    "Press a button on its card; what I should know before it goes on belongs into its field."
)
REMARK = (
    "Only <@{requester}> and admins say how this task goes on, so nothing changes by this. For something of your own, "
    "mention me."
)
DECIDE = (
    "I take this as thanks, and nothing is decided by it. Please press a button on the card that waits here."
)
UNCLEAR = (
    "I do not know whether anything should be different, so nothing runs. Please say what to change, or press "
    "*Yes, done*. For something new, mention me."
)
WAITS = "It waits for you: nothing of it runs before you have decided."
STILL_PAUSED = (
    "This is still paused, and I took nothing in. What I should know before it goes on, please say with a mention of "
    "me, or write it on the card of the pause. *Continue* there lets it go on as it is."
)
PAUSED_SINCE = (
    "It was paused after you wrote this, so it still pauses. If it may go on, please write “continue” again."
)
S = TaskState
ASSESSING = (S.CLARIFYING, S.PLANNING, S.RUNNING)
TaskPressFlow = Callable[[World, TaskPress], Awaitable[PressResult]]
WORDS: dict[TaskState, dict[str, TaskPressFlow]] = {
    S.RUNNING: {
        "hold": control.pause,
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
        "stop": control.stop,
        "abort": control.abort,
        "retry": control.retry,
        "skip": control.skip_step,
    },
}
LESS = (
    control.hold,
    control.stop,
    control.abort,
)  # let nothing go on, so that they count whenever they were written


async def handle_thread_message(world: World, incoming: Incoming) -> PressResult | None:
    """Take a message as being about an open task of its thread. None when it is about none. Raises Unavailable."""
    for _ in range(LOOKS):
        try:
            return await _handle(world, incoming)
        except StaleTask:
            continue  # it moved on meanwhile: look again
    raise Unavailable("the task did not stand still")


async def _handle(world: World, incoming: Incoming) -> PressResult | None:
    if incoming.ts == incoming.session.thread:
        return None  # it began the thread: no task was there yet to be steered
    tasks = await world.ledger.tasks_of(incoming.session, 20, incoming.user)
    holder = next((task for task in tasks if task.holds_thread), None)
    mine = [task for task in tasks if task.requester == incoming.user]
    if holder is None:
        return await _handle_simple(world, incoming, mine) or _refuse_others(incoming, tasks)
    under_way = [task for task in mine if task.state in (*ASSESSING, S.PAUSED)] if holder not in mine else []
    found = await _handle_simple(world, incoming, under_way) if under_way else None
    return found or await _handle_in_task(world, incoming, holder)


def _refuse_others(incoming: Incoming, tasks: Sequence[Task]) -> PressResult | None:
    """An answer to somebody who wants to steer a simple task of another person; what mentions the bot is a request."""
    other = next(
        (t for t in tasks if t.requester != incoming.user and t.state in (*ASSESSING, S.PAUSED)), None
    )
    said = "" if other is None else _steering_refusal(incoming, other)
    return PressResult(False, "not_allowed", said, task=other) if said else None


async def _handle_in_task(world: World, incoming: Incoming, task: Task) -> PressResult | None:
    person = await world.people.known(incoming.session.team, incoming.user)
    if not may_task(world.policy, TaskVerb.STEER, task, person).allowed:
        return await _answer_other(world, incoming, task)
    own = incoming.user == task.requester
    controlled = await _control(world, incoming, task)
    if controlled is not None:
        return controlled
    if not own and task.state not in (S.RUNNING, S.PAUSED):
        return await _keep_remark(world, incoming, task)
    if is_thanks(incoming.text) and (taken := _answer_thanks(incoming, task)) is not None:
        return taken
    return await ABOUT[task.state](world, incoming, task)


async def _answer_other(world: World, incoming: Incoming, task: Task) -> PressResult | None:
    """What somebody says who may not steer the task. None of what mentions the bot and is no steering: a request."""
    if not incoming.mentioned:
        return await _keep_remark(world, incoming, task)
    said = _steering_refusal(incoming, task)
    return PressResult(False, "not_allowed", said, task=task) if said else None


def _answer_thanks(incoming: Incoming, task: Task) -> PressResult | None:
    """Thanks in the thread of an open task are no instruction to it, and decide nothing; a plain yes, and an answer
    to its question, may. None where it is to be heard as anything else is."""
    if task.state is S.CLARIFYING and task.questions:
        return None
    if task.state in (S.PLAN_REVIEW, S.PAUSED) or (task.state is S.TALKING and task.requirements):
        return (
            None
            if thread_commands.is_yes(incoming.text)
            else PressResult(False, "unclear", DECIDE, task=task)
        )
    return None if task.state is S.TALKING else PressResult(True, "thanks", task=task)


def _card_number(task: Task) -> int:
    """The number of the card that now stands for this task."""
    if task.state is S.CLARIFYING:
        return task.asked
    if task.state is S.PAUSED:
        return task.pauses
    if task.state is S.SATISFACTION:
        return task.ends
    if task.state is S.TALKING:
        return task.attempts
    return task.plan.version if task.plan else 0


def _press(task: Task, incoming: Incoming, number: int, text: str = "") -> TaskPress:
    seal = task.plan.seal[:16] if task.plan else "0"
    ref = Ref(task.id, number, seal)
    return TaskPress(ref, incoming.session.team, incoming.user, text=text, message=incoming.key)


async def _clarifying(world: World, incoming: Incoming, task: Task) -> PressResult:
    if not task.questions:
        return await instruct(world, incoming, task)
    press = _press(task, incoming, task.asked)
    if thread_commands.is_hold(incoming.text) and thread_commands.begins_with_wait(incoming.text):
        return PressResult(True, "waits", WAITS, task=task)
    if _is_short_no(incoming):
        return await plan.cancel(world, press)
    if thread_commands.is_yes(incoming.text) and (why := await why_undecided(world, incoming, task)):
        return _undecided(task, why)
    if await is_early(world, incoming, task):
        return _undecided(task, UNSEEN)
    answers = clarify.answers_in_reply(task, incoming.text)
    return await clarify.answer(world, replace(press, values=answers))


def _is_short_no(incoming: Incoming) -> bool:
    return thread_commands.is_no(incoming.text) and len(incoming.text) < 20


def _undecided(task: Task, why: str) -> PressResult:
    return PressResult(False, "ambiguous" if why == AMBIGUOUS else "undecided", why, task=task)


async def _talking(world: World, incoming: Incoming, task: Task) -> PressResult:
    if task.requirements and thread_commands.is_yes(incoming.text):
        if why := await why_undecided(world, incoming, task):
            return _undecided(task, why)
        return await converse.confirm_requirements(world, _press(task, incoming, task.attempts))
    await converse.add_message(world, task, incoming)
    return PressResult(True, "heard", task=task)


async def _reviewing(world: World, incoming: Incoming, task: Task) -> PressResult:
    """A plain yes approves what the plan's card lists, a no cancels it, “hold on” leaves it, anything else is a reason
    to plan again."""
    assert task.plan is not None
    press = _press(task, incoming, task.plan.version, incoming.text)
    if thread_commands.is_hold(incoming.text):
        return PressResult(True, "waits", WAITS, task=task)
    if thread_commands.is_yes(incoming.text):
        why = await why_undecided(world, incoming, task)
        return _undecided(task, why) if why else await plan.approve_all(world, press)
    return await (plan.cancel if _is_short_no(incoming) else plan.replan)(world, press)


async def _paused(world: World, incoming: Incoming, task: Task) -> PressResult:
    """A word of control, a plain yes, or to the bot what to know before it goes on, by which it does not go on. Words
    count only where they can be meant for the card of this pause; of a result that the operator wants reviewed, only a
    plain yes."""
    flow, press = _control_by_word(incoming, task), _press(task, incoming, task.pauses)
    if flow in LESS:
        return await flow(world, press)
    if _is_short_no(incoming):
        return await control.stop(world, press)
    yes = thread_commands.is_yes(incoming.text)
    if not yes and _is_reviewed(world, task):
        return PressResult(False, "review", ON_CARD, task=task)
    if why := await why_undecided(world, incoming, task):
        return _undecided(task, why)
    if flow is not None:
        return await flow(world, press)
    if yes and incoming.user != task.requester:
        return PressResult(False, "paused", STILL_PAUSED, task=task)
    if yes:
        return await (control.retry if task.why is PauseReason.STEP else control.resume)(world, press)
    goes_on = task.why is PauseReason.SUMMARY  # by itself, soon
    if not (incoming.mentioned or goes_on):  # it may be for somebody else, or against going on
        return PressResult(False, "paused", STILL_PAUSED, task=task)
    if too_many_instructions(task):
        return PressResult(False, "full", FULL, task=task)
    spoken = replace(press, text=incoming.text)
    return await (control.resume if goes_on else control.take_in)(world, spoken)


def _is_reviewed(world: World, task: Task) -> bool:
    """Whether a task waits at a result that the operator wants reviewed."""
    step = step_under_review(task)
    return step is not None and bool(world.policy.review(Phase.AFTER, step.name, matched_names(step)))


async def instruct(world: World, incoming: Incoming, task: Task) -> PressResult:
    """Keep an instruction, and say at once that it is kept. Taken in before the next step or model call; where it asks
    for something else than what waits of a reply, that is withdrawn."""
    replaces = await _asks_for_other(world, incoming, task)
    gone: tuple[Action, ...] = ()
    async with world.ledger.begin() as tx:
        now = await tx.task(task.id)
        if now is None or now.state not in ASSESSING or now.questions:
            raise StaleTask(now)
        if any(one.id == incoming.key for one in now.instructions):
            return PressResult(True, "steered", task=now)
        if too_many_instructions(now):
            return PressResult(False, "full", FULL, task=now)
        said = Instruction(incoming.key, incoming.user, incoming.text[:MOST], await tx.now())
        now = await update_task(tx, now, "user_instruction", incoming.user, **with_instruction(now, said))
        await count_words(tx, now, incoming.user)
        body = {"instruction": said.text, "user": said.user, "id": said.id}
        tx.publish(LedgerEvent("steer_instruction", now.session, now.id, body))
        when = "after the current step" if now.state is S.RUNNING else "to the plan that I am making"
        if replaces:
            now, gone = await supersede_pending(tx, now, incoming.user)
            when = "now, and what waited is withdrawn" if gone else when
        await say_in_thread(tx, now, RECEIPT.format(when=when), incoming.key)
        await tx.finish_message(incoming.key)
    for action in gone:
        await drop_lease(world, action)
    return PressResult(True, "steered", task=now)


async def _keep_remark(world: World, incoming: Incoming, task: Task) -> PressResult:
    """What somebody else says: context, not an instruction."""
    async with world.ledger.begin() as tx:
        now = await tx.task(task.id)
        if now is None or now.is_finished:
            raise StaleTask(now)
        said = Remark(incoming.user, incoming.text[:MOST], await tx.now())
        remarks = (*now.input.remarks, said)
        heard = advisers.having_heard(now.input, (one.user for one in remarks))
        await tx.update_task(now, input=replace(heard, remarks=remarks[-REMARKS:]))
        await tx.finish_message(incoming.key)
    return PressResult(True, "remarked", _steering_refusal(incoming, task), task=task)


def _steering_refusal(incoming: Incoming, task: Task) -> str:
    """Who may steer the task, where somebody else wants to; "" for what is a remark, or with a mention a request."""
    changes = classify_feedback(incoming.text) in (FeedbackKind.CHANGE, FeedbackKind.OVER)
    asks = (
        _control_by_word(incoming, task) is not None
        or thread_commands.is_about_steps(incoming.text)
        or (changes and not incoming.mentioned)
    )
    return REMARK.format(requester=task.requester) if asks else ""


ABOUT: dict[TaskState, Callable[[World, Incoming, Task], Awaitable[PressResult]]] = {
    S.CLARIFYING: _clarifying,
    S.TALKING: _talking,
    S.PLANNING: instruct,
    S.PLAN_REVIEW: _reviewing,
    S.RUNNING: instruct,
    S.PAUSED: _paused,
}


async def _handle_simple(world: World, incoming: Incoming, mine: list[Task]) -> PressResult | None:
    """A reply to a simple task of theirs: a verdict on its result, a word such as “stop”, or an instruction while the
    planner is at it. A mention asks for something new, unless it is a verdict, such a word, or asks for another thing
    than what waits. Thanks never do."""
    running = next(
        (t for t in mine if t.state in (*ASSESSING, S.PAUSED) and t.flow in (Flow.SIMPLE, Flow.NONE)), None
    )
    controlled = await _control(world, incoming, running) if running else None
    if controlled is not None:
        return controlled
    ended = next((task for task in mine if task.state is S.SATISFACTION), None)
    if ended is not None and not (running and await is_early(world, incoming, ended)):
        verdict = await _verdict(world, incoming, ended)
        if verdict is not None:
            return verdict
    if is_thanks(incoming.text):
        return await _answer_simple_thanks(world, incoming, running)
    if running is None or (incoming.mentioned and not await _asks_for_other(world, incoming, running)):
        return None
    if running.state is S.PAUSED:
        return await _paused(world, incoming, running)
    return await instruct(world, incoming, running) if world.planner.follows else None


async def _control(world: World, incoming: Incoming, task: Task) -> PressResult | None:
    """What came of a single word such as “stop” or “continue”. None where it is none for a task as it stands."""
    flow = _control_by_word(incoming, task)
    if flow is None:
        return None
    if task.state is S.PAUSED:
        return await _paused(world, incoming, task)
    if flow is control.unpause and task.wish is StopRequest.PAUSE:
        early = await is_before_pause(world, incoming, task)
        if why := PAUSED_SINCE if early else await why_undecided(world, incoming, task):
            return _undecided(task, why)
    return await flow(world, _press(task, incoming, _card_number(task)))


def _control_by_word(incoming: Incoming, task: Task) -> TaskPressFlow | None:
    """What a single word such as “stop” or “continue” asks of a task as it stands."""
    text = incoming.text
    word = "stop" if thread_commands.is_stop(text) else text.strip(" .!\n").lower()
    return WORDS.get(task.state, {}).get("hold" if _asks_to_wait(text, task) else word)


def _asks_to_wait(text: str, task: Task) -> bool:
    """Whether a task is to wait. One that is paused stays so whatever is said besides “wait”; to one that runs, more
    than that is an instruction, and the card of a simple request waits as it is."""
    if task.state is S.PAUSED:
        return thread_commands.begins_with_hold(text)
    return task.planned and thread_commands.is_hold(text)


async def _answer_simple_thanks(world: World, incoming: Incoming, task: Task | None) -> PressResult:
    if task is not None and task.state is S.PAUSED and _answer_thanks(incoming, task) is None:
        return await _paused(world, incoming, task)
    waiting = await world.ledger.pending(incoming.session.team, user=incoming.user, session=incoming.session)
    asks = bool(waiting) or (task is not None and task.state is S.PAUSED)
    return PressResult(False, "unclear", DECIDE) if asks else PressResult(True, "thanks")


async def _asks_for_other(world: World, incoming: Incoming, task: Task) -> bool:
    """Whether a message asks for something else than what waits of a reply."""
    if (
        task.state is not S.RUNNING
        or not world.planner.follows
        or classify_feedback(incoming.text) is not FeedbackKind.CHANGE
    ):
        return False
    begun = [step for step in task.plan.begun if step.origin] if task.plan else []
    found = [await world.ledger.action(step.action) for step in begun]
    return any(action is not None and action.state is State.PREPARED for action in found)


async def _verdict(world: World, incoming: Incoming, task: Task) -> PressResult | None:
    press = _press(task, incoming, task.ends, incoming.text)
    reading = classify_feedback(incoming.text)
    if incoming.mentioned and reading in (FeedbackKind.CHANGE, FeedbackKind.OTHER):
        return None
    if await is_early(world, incoming, task):
        thanks = reading is FeedbackKind.THANKS and not thread_commands.is_yes(incoming.text)
        return PressResult(True, "thanks", task=task) if thanks else _undecided(task, UNSEEN)
    if reading is FeedbackKind.THANKS:
        return await feedback.satisfied(world, press)
    if reading is FeedbackKind.OVER:
        return await feedback.start_over(world, press)
    if _is_short_no(incoming) and not incoming.mentioned:
        return PressResult(False, "empty", feedback.CHANGE_MISSING, task=task)
    if reading is FeedbackKind.UNCLEAR:
        return PressResult(False, "unclear", UNCLEAR, task=task)
    return await feedback.needs_changes(world, press)


async def stop(world: World, incoming: Incoming) -> PressResult:
    """`@bot stop`: end the task that is open in this thread. What runs right now finishes first."""
    tasks = await world.ledger.tasks_of(incoming.session, 20, incoming.user)
    running = [task for task in tasks if not task.is_finished and task.state is not S.SATISFACTION]
    own = [task for task in running if task.requester == incoming.user]
    if not running:
        return PressResult(False, "none", "Nothing is under way in this thread.")
    task = (own or running)[0]
    return await control.stop(world, _press(task, incoming, _card_number(task)))
