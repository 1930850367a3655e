"""The buttons on a task's cards: each calls one flow, or opens a window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from gate.action import Ref
from gate.flows import clarify, control, converse, plan, review, satisfy, undo_plan
from gate.flows.decide import EARLY, EARLY_LOOKS, EARLY_PAUSE, NOT_MINE
from gate.flows.life import OLD_CARD, standing_task
from gate.flows.press import GONE, Said, TaskPress
from gate.people import TaskVerb
from gate.task import Question, Task
from gate.task_states import TaskState
from gate.world import Sheet, World
from handlers.door import Opening, Reply
from handlers.parse import Click, filled
from views import modals, task_modals
from views import task_buttons as buttons
from views.task_asks import GIVEN, WORDS, block_of

Flow = Callable[[World, TaskPress], Awaitable[Said]]
Window = Callable[[Task], dict[str, Any] | None]


FLOWS: Mapping[str, tuple[str, Flow]] = {  # action id -> which card it stands on, what it does
    buttons.ASSUME: ("question", clarify.skip),
    buttons.APPROVE: ("plan", plan.approve_all),
    buttons.STEPWISE: ("plan", plan.step_by_step),
    buttons.CANCEL: ("", plan.cancel),
    buttons.ASK_AGAIN: ("plan", plan.ask_again),
    buttons.PAUSE: ("plan", control.pause),
    buttons.STOP: ("", control.stop),
    buttons.RESUME: ("pause", control.resume),
    buttons.HOLD: ("pause", control.hold),
    buttons.RETRY: ("pause", control.retry),
    buttons.SKIP: ("pause", control.skip_step),
    buttons.ABORT: ("pause", control.abort),
    buttons.SATISFIED: ("satisfaction", satisfy.satisfied),
    buttons.START_OVER: ("satisfaction", satisfy.start_over),
    buttons.IMPLEMENT: ("", converse.implement),
    buttons.CONFIRM: ("requirements", converse.confirm_requirements),
    buttons.KEEP_TALKING: ("requirements", converse.keep_talking),
    buttons.UNDO_ALL: ("plan", undo_plan.undo_all),
    buttons.UNDO_STEP: ("pause", review.undo_rejected),
}
# action id -> who may open it, the card's number now, what it shows; None where there is nothing to show any more
WINDOWS: Mapping[str, tuple[TaskVerb, Callable[[Task], int], Window]] = {
    buttons.ANSWER: (
        TaskVerb.ANSWER,
        lambda task: task.asked,
        lambda task: task_modals.answers(task) if task.questions else None,
    ),
    buttons.CHANGES: (
        TaskVerb.SATISFY,
        lambda task: task.ends,
        lambda task: task_modals.changes(task) if task.state is TaskState.SATISFACTION else None,
    ),
    buttons.REVISE: (TaskVerb.REVIEW, lambda task: task.pauses, task_modals.revise),
    buttons.REFUSE: (TaskVerb.REVIEW, lambda task: task.pauses, task_modals.refuse),
    buttons.MODIFY: (
        TaskVerb.MODIFY,
        lambda task: _version(task),
        lambda task: _of_plan(task_modals.modify, task),
    ),
    buttons.REPLAN: (
        TaskVerb.REPLAN,
        lambda task: _version(task),
        lambda task: _of_plan(task_modals.replan, task),
    ),
    buttons.WHOLE: (
        TaskVerb.LOOK,
        lambda task: _version(task),
        lambda task: _of_plan(task_modals.everything, task),
    ),
}


def answers(questions: tuple[Question, ...], values: Mapping[str, Any]) -> dict[str, str]:
    """What was answered, by question id: the text, or the whole text of the option that was chosen."""
    found = filled(values)
    return {one.id: _answer(one, found.get(block_of(one), {}).get(GIVEN, "")) for one in questions}


def _answer(one: Question, raw: str) -> str:
    if not one.options or not (raw.isascii() and raw.isdigit() and len(raw) < 4):
        return raw
    return one.options[int(raw)] if int(raw) < len(one.options) else ""


class TaskButtons:
    """The handlers of one world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def all(self) -> dict[str, Callable[[Click], Awaitable[Reply | Opening]]]:
        """Action id -> handler."""
        flows = {key: self._flow(kind, flow) for key, (kind, flow) in FLOWS.items()}
        windows = {key: self._window(key) for key in WINDOWS}
        return {**flows, **windows, buttons.SUBMIT: self.submit}

    def _flow(self, kind: str, flow: Flow) -> Callable[[Click], Awaitable[Reply | Opening]]:
        async def handle(what: Click) -> Reply:
            text = filled(what.values).get(WORDS, {}).get(WORDS, "")
            press = _press(what, text=text)
            if press is None:
                return Reply(tell=GONE)
            elsewhere = await self._elsewhere(kind, what, press)
            return Reply(tell=elsewhere or (await flow(self._world, press)).text)

        return handle

    async def submit(self, what: Click) -> Reply:
        """The answers in the fields of the question card itself."""
        press = _press(what)
        task = await self._world.ledger.task(press.ref.id) if press else None
        if press is None or task is None:
            return Reply(tell=GONE)
        elsewhere = await self._elsewhere("question", what, press)
        if elsewhere:
            return Reply(tell=elsewhere)
        given = answers(task.questions, what.values)
        answered = TaskPress(press.ref, press.team, press.user, values=given)
        return Reply(tell=(await clarify.answer(self._world, answered)).text)

    async def _elsewhere(self, kind: str, what: Click, press: TaskPress) -> str:
        """What to say of a button that does not stand on the card that it belongs to: a yes counts only there.

        `kind` is "" for buttons that may stand in several places.
        """
        if not what.message_ts or what.listed:
            return NOT_MINE
        if not kind:
            return ""
        key = f"{press.ref.id}:{kind}:{press.ref.version}"
        for _ in range(EARLY_LOOKS):  # a card that people see already may take a moment more to be on record
            posted = await self._world.ledger.posted(key)
            if posted is None:
                return OLD_CARD
            if posted.ts:
                return "" if posted.ts == what.message_ts else NOT_MINE
            await self._world.clock.sleep(EARLY_PAUSE)
        return EARLY

    def _window(self, key: str) -> Callable[[Click], Awaitable[Reply | Opening]]:
        async def handle(what: Click) -> Reply | Opening:
            press = _press(what)
            if press is None:
                return Reply(tell=GONE)

            async def then(view_id: str) -> dict[str, Any]:
                return await self._content(key, press, view_id)

            return Opening(what.trigger, then)

        return handle

    async def _content(self, key: str, press: TaskPress, view_id: str) -> dict[str, Any]:
        """What belongs into an opened window, remembered as opened for this person and this version."""
        verb, number, make = WINDOWS[key]
        task = await standing_task(self._world, press, verb)
        if isinstance(task, Said):
            return modals.message(task.text or GONE)
        view = make(task) if number(task) == press.ref.version else None
        if view is None:
            return modals.message(OLD_CARD)
        sheet = Sheet(view_id, key, press.user, press.ref.id, press.ref.version, press.ref.receipt)
        async with self._world.ledger.begin() as tx:
            await tx.sheet(sheet)
        return view


def _press(what: Click, text: str = "") -> TaskPress | None:
    ref = Ref.parse(what.value)
    return TaskPress(ref, what.team, what.user, text=text) if ref else None


def _version(task: Task) -> int:
    return task.plan.version if task.plan else 0


def _of_plan(make: Callable[..., dict[str, Any]], task: Task) -> dict[str, Any] | None:
    return make(task, task.plan) if task.plan else None
