"""The buttons on the cards of a task. Each calls one function of `gate/` (a flow) or opens a modal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from gate.actions.button_press import NOT_FOUND, PressResult, TaskPress
from gate.actions.claim_click import CARD_NOT_POSTED, NOT_OUR_CARD, POSTED_CHECK_SECONDS, POSTED_CHECKS
from gate.rules.action import Ref
from gate.rules.permissions import TaskVerb
from gate.rules.ports import OpenedModal, World
from gate.rules.task import Plan, Question, Task
from gate.rules.task_states import TaskState
from gate.rules.tool import ToolSpec
from gate.tasks import clarify, control, converse, feedback, plan, step_review, undo_all
from gate.tasks.task_transitions import OLD_CARD, load_task
from handlers.slack.listener import Opening, Reply, reply_for
from handlers.slack.payloads import Click, input_values, opened_by
from views import modals, task_modals
from views import task_buttons as buttons
from views.task_questions import GIVEN, WORDS, block_of

SATISFACTION = "satisfaction"
Flow = Callable[[World, TaskPress], Awaitable[PressResult]]
Handler = Callable[[Click], Awaitable[Reply | Opening]]
ModalView = Callable[[World, Task], dict[str, Any] | None]


ANYWHERE = "anywhere"  # what only ends something, or looks anew, may also stand in a list
FLOWS: Mapping[str, tuple[str, Flow]] = {  # action_id -> the kind of card that has it, its flow
    buttons.ASSUME: ("question", clarify.skip),
    buttons.APPROVE: ("plan", plan.approve_all),
    buttons.STEPWISE: ("plan", plan.step_by_step),
    buttons.CANCEL: (ANYWHERE, plan.cancel),
    buttons.ASK_AGAIN: (ANYWHERE, plan.renew_plan),
    buttons.PAUSE: ("plan", control.pause),
    buttons.STOP: (ANYWHERE, control.stop),
    buttons.RESUME: ("pause", control.resume),
    buttons.HOLD: ("pause", control.hold),
    buttons.RETRY: ("pause", control.retry),
    buttons.SKIP: ("pause", control.skip_step),
    buttons.ABORT: ("pause", control.abort),
    buttons.SATISFIED: (SATISFACTION, feedback.positive_feedback),
    buttons.START_OVER: (SATISFACTION, feedback.start_over),
    buttons.IMPLEMENT: ("", converse.implement),
    buttons.CONFIRM: ("requirements", converse.confirm_requirements),
    buttons.KEEP_TALKING: ("requirements", converse.keep_talking),
    buttons.UNDO_ALL: ("plan", undo_all.undo_all),
    buttons.UNDO_STEP: ("pause", step_review.undo_rejected),
}
# action_id -> the permission it needs, the current number of the card, the view (None if there is nothing to show)
MODALS: Mapping[str, tuple[TaskVerb, Callable[[Task], int], ModalView]] = {
    buttons.ANSWER: (
        TaskVerb.ANSWER,
        lambda task: task.asked,
        lambda _, task: task_modals.answers(task) if task.questions else None,
    ),
    buttons.CHANGES: (
        TaskVerb.SATISFY,
        lambda task: task.ends,
        lambda _, task: task_modals.changes(task) if task.state is TaskState.SATISFACTION else None,
    ),
    buttons.REVISE: (TaskVerb.REVIEW, lambda task: task.pauses, lambda _, task: task_modals.revise(task)),
    buttons.REFUSE: (TaskVerb.REVIEW, lambda task: task.pauses, lambda _, task: task_modals.refuse(task)),
    buttons.MODIFY: (
        TaskVerb.MODIFY,
        lambda task: _version(task),
        lambda world, task: (
            task_modals.modify(task, task.plan, specs_of(world, task.plan)) if task.plan else None
        ),
    ),
    buttons.REPLAN: (
        TaskVerb.REPLAN,
        lambda task: _version(task),
        lambda _, task: _of_plan(task_modals.replan, task),
    ),
    buttons.DECIDE: (
        TaskVerb.APPROVE,
        lambda task: _version(task),
        lambda _, task: _of_plan(task_modals.approval, task),
    ),
    buttons.WHOLE: (
        TaskVerb.LOOK,
        lambda task: _version(task),
        lambda _, task: _of_plan(task_modals.everything, task),
    ),
}


def specs_of(world: World, plan: Plan) -> dict[str, ToolSpec]:
    """The tools of the steps of a plan, by the steps' ids, as far as they are there now."""
    found = ((step.id, world.tools.find(step.server, step.tool)) for step in plan.steps)
    return {step: spec for step, spec in found if spec is not None}


def answers(questions: tuple[Question, ...], values: Mapping[str, Any]) -> dict[str, str]:
    """The answers by question id: the text, or the full text of the chosen option."""
    found = input_values(values)
    return {
        question.id: _answer(question, found.get(block_of(question), {}).get(GIVEN, ""))
        for question in questions
    }


def _answer(question: Question, raw: str) -> str:
    if not question.options or not (raw.isascii() and raw.isdigit() and len(raw) < 4):
        return raw
    return question.options[int(raw)] if int(raw) < len(question.options) else ""


class TaskButtons:
    """The handlers of block_actions of tasks."""

    def __init__(self, world: World) -> None:
        self._world = world

    def all(self) -> dict[str, Handler]:
        """action_id -> handler."""
        flows = {key: self._flow(kind, flow) for key, (kind, flow) in FLOWS.items()}
        modals_by_id = {key: self._modal(key) for key in MODALS}
        feedback_sides = self._sides(flows[buttons.SATISFIED], modals_by_id[buttons.CHANGES])
        return {**flows, **modals_by_id, buttons.SUBMIT: self.submit, buttons.SATISFIED: feedback_sides}

    @staticmethod
    def _sides(positive: Handler, negative: Handler) -> Handler:
        """The handler of Slack's feedback buttons, whose two sides share an id, and of the plain button in their
        place."""

        async def handle(click: Click) -> Reply | Opening:
            ref = Ref.parse(click.value)
            if ref is None or ref.receipt != buttons.POOR:
                return await positive(click)
            return await negative(replace(click, value=buttons.value(ref.id, ref.version)))

        return handle

    def _flow(self, kind: str, flow: Flow) -> Handler:
        async def handle(click: Click) -> Reply:
            text = input_values(click.values).get(WORDS, {}).get(WORDS, "")
            press = _press(click, text=text)
            if press is None:
                return Reply(text=NOT_FOUND)
            wrong_card = await self._wrong_card(kind, click, press)
            return Reply(text=wrong_card) if wrong_card else reply_for(await flow(self._world, press), click)

        return handle

    async def submit(self, click: Click) -> Reply:
        """Submits the answers in the inputs of the question card."""
        press = _press(click)
        task = await self._world.ledger.task(press.ref.id) if press else None
        if press is None or task is None:
            return Reply(text=NOT_FOUND)
        wrong_card = await self._wrong_card("question", click, press)
        if wrong_card:
            return Reply(text=wrong_card)
        given = answers(task.questions, click.values)
        answered = TaskPress(press.ref, press.team, press.user, values=given)
        return Reply(text=(await clarify.answer(self._world, answered)).text)

    async def _wrong_card(self, kind: str, click: Click, press: TaskPress) -> str:
        """The refusal of a click that is not on the current card of this kind; "" if it is. A yes counts only there.

        `kind` is "" for buttons that several cards have, or ANYWHERE.
        """
        if kind == ANYWHERE:
            return ""
        if not click.message_ts or click.in_private_list:
            return NOT_OUR_CARD
        if not kind:
            return ""
        key = await self._key(kind, press)
        for _ in range(POSTED_CHECKS):  # a visible card may not be in the ledger yet
            posted = await self._world.ledger.posted(key)
            if posted is None:
                return OLD_CARD
            if posted.ts:
                return "" if posted.ts == click.message_ts else NOT_OUR_CARD
            await self._world.clock.sleep(POSTED_CHECK_SECONDS)
        return CARD_NOT_POSTED

    async def _key(self, kind: str, press: TaskPress) -> str:
        """Names the card in the ledger. A task that changed one thing asks about it on the card of that, where an
        earlier version has not asked in a message of its own."""
        own = f"{press.ref.id}:{kind}:{press.ref.version}"
        if kind != SATISFACTION or await self._world.ledger.posted(own) is not None:
            return own
        task = await self._world.ledger.task(press.ref.id)
        return (task.asked_on if task else "") or own

    def _modal(self, key: str) -> Handler:
        async def handle(click: Click) -> Reply | Opening:
            press = _press(click)
            if press is None:
                return Reply(text=NOT_FOUND)

            async def render(view_id: str) -> dict[str, Any]:
                return opened_by(click, await self._render(key, press, view_id))

            return Opening(click.trigger_id, render)

        return handle

    async def _render(self, key: str, press: TaskPress, view_id: str) -> dict[str, Any]:
        """The view of an opened modal; the ledger records that it was opened for this person and version."""
        verb, number, build = MODALS[key]
        task = await load_task(self._world, press, verb)
        if isinstance(task, PressResult):
            return modals.message(task.text or NOT_FOUND)
        view = build(self._world, task) if number(task) == press.ref.version else None
        if view is None:
            return modals.message(OLD_CARD)
        sheet = OpenedModal(
            view_id, view["callback_id"], press.user, press.ref.id, press.ref.version, press.ref.receipt
        )
        async with self._world.ledger.begin() as tx:
            await tx.save_modal(sheet)
        return view


def _press(click: Click, text: str = "") -> TaskPress | None:
    ref = Ref.parse(click.value)
    return TaskPress(ref, click.team, click.user, text=text) if ref else None


def _version(task: Task) -> int:
    return task.plan.version if task.plan else 0


def _of_plan(build: Callable[..., dict[str, Any]], task: Task) -> dict[str, Any] | None:
    return build(task, task.plan) if task.plan else None
