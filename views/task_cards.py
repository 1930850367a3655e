"""The cards that should stand in the thread for a task as it is now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gate.rules.task import Flow, Task
from gate.rules.task_states import TaskState
from views import task_pause as pauses
from views import task_questions as asks
from views.block_kit import Message
from views.task_plan import replaced, review
from views.task_progress import progress

S = TaskState


@dataclass(frozen=True, slots=True)
class TaskCard:
    """One message of a task.

    plain: the same without Slack's newest blocks, for where they are refused. closed: nothing can be pressed on it
    and nothing on it will change any more. earlier: it is only mended where it stands open, never posted. spent: the
    other cards and the record tell all of it, so it is deleted where it stands.
    """

    key: str
    message: Message
    plain: Message | None = None
    closed: bool = False
    earlier: bool = False
    spent: bool = False


def cards(task: Task) -> tuple[TaskCard, ...]:
    """The current card of each kind, and of each kind the one before, closed; in the order they came to be."""
    return (*_questions(task), *_requirements(task), *_plans(task), *_pauses(task), *_satisfactions(task))


def _questions(task: Task) -> Iterator[TaskCard]:
    if task.asked > 1:
        yield _closing(task, "question", task.asked - 1, asks.question_over(task))
    if task.asked:
        waits = task.state is S.CLARIFYING and bool(task.questions)
        yield TaskCard(_key(task, "question", task.asked), asks.question(task), closed=not waits)


def _requirements(task: Task) -> Iterator[TaskCard]:
    """`attempts` numbers them while it is talked about; afterwards it counts the runs."""
    if task.flow is not Flow.TALK and not task.requirements:
        return
    if task.state is not S.TALKING:
        yield _closing(task, "requirements", task.attempts, asks.requirements(task))
        return
    if task.attempts > 1:
        yield _closing(task, "requirements", task.attempts - 1, asks.talked_on(task))
    if task.requirements:
        yield TaskCard(_key(task, "requirements", task.attempts), asks.requirements(task))
    else:
        yield _closing(task, "requirements", task.attempts, asks.talked_on(task))


def _plans(task: Task) -> Iterator[TaskCard]:
    plan = task.plan
    if plan is None or not task.planned or task.flow is Flow.SIMPLE:
        return
    if plan.version > 1:
        yield _closing(task, "plan", plan.version - 1, replaced(task, plan.version - 1))
    key = _key(task, "plan", plan.version)
    if task.state is S.PLAN_REVIEW:
        yield TaskCard(key, review(task, plan))
    else:
        yield TaskCard(key, progress(task, plan, as_plan=True), progress(task, plan, as_plan=False))


def _pauses(task: Task) -> Iterator[TaskCard]:
    """A pause after which it went on leaves no message behind; one in which a result was rejected does."""
    if task.pauses > 1:
        yield _paused(task, task.pauses - 1, pauses.went_on(task, task.pauses - 1))
    if task.pauses and task.state is S.PAUSED:
        yield TaskCard(_key(task, "pause", task.pauses), pauses.pause(task))
    elif task.pauses:
        yield _paused(task, task.pauses, pauses.pause(task))


def _paused(task: Task, number: int, message: Message) -> TaskCard:
    spent = pauses.passed(task, number)
    return TaskCard(_key(task, "pause", number), message, closed=True, earlier=True, spent=spent)


def _satisfactions(task: Task) -> Iterator[TaskCard]:
    if task.ends > 1:
        yield _closing(task, "satisfaction", task.ends - 1, asks.satisfied_before(task))
    if task.ends and not task.asked_on:
        asking, plain = task.state is S.SATISFACTION, asks.satisfaction(task, plainly=True)
        newest = (asks.satisfaction(task), plain) if asking or task.is_finished else (plain, None)
        card = TaskCard(_key(task, "satisfaction", task.ends), *newest)
        yield replace(card, closed=not asking, earlier=not asking)


def _closing(task: Task, kind: str, number: int, message: Message) -> TaskCard:
    return TaskCard(_key(task, kind, number), message, closed=True, earlier=True)


def _key(task: Task, kind: str, number: int) -> str:
    return f"{task.id}:{kind}:{number}"
