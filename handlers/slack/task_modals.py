"""Submissions of the modals of a task: answers, feedback, re-planning, a modified plan, step review."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from gate.actions.button_press import NOT_FOUND, TaskPress, is_genuine_modal
from gate.rules.action import Ref
from gate.rules.plans import step_of
from gate.rules.ports import World
from gate.rules.reviews import same
from gate.rules.task import Plan, Task
from gate.rules.tool import InvalidAnswer
from gate.tasks import clarify, feedback, plan, step_review
from gate.tasks.task_transitions import OLD_CARD
from handlers.slack import payloads
from handlers.slack.listener import Reply, errors, reply_for
from handlers.slack.payloads import Submission
from handlers.slack.task_buttons import Flow, answers, specs_of
from views import buttons as tags
from views import edit_form
from views import task_buttons as buttons
from views.task_form import ARGS, PLACE, block_of, changed, open_steps
from views.task_modals import FEEDBACK, revised
from views.task_questions import block_of as question_block


class TaskModals:
    """The handlers of view_submission of tasks."""

    def __init__(self, world: World) -> None:
        self._world = world

    def all(self) -> dict[str, Callable[[Submission], Awaitable[Reply]]]:
        """callback_id -> handler."""
        return {
            buttons.ANSWER: self.answer,
            buttons.CHANGES: self.changes,
            buttons.REPLAN: self.replan,
            buttons.MODIFY: self.modify,
            buttons.REVISE: self.revise,
            buttons.REFUSE: self.refuse,
            buttons.APPROVE: self._approving(plan.approve_all),
            buttons.STEPWISE: self._approving(plan.step_by_step),
        }

    def _approving(self, flow: Flow) -> Callable[[Submission], Awaitable[Reply]]:
        """The yes in the window that shows all of a plan."""

        async def approve(submission: Submission) -> Reply:
            found = await self._load(submission)
            return (
                found
                if isinstance(found, Reply)
                else reply_for(await flow(self._world, found[1]), submission)
            )

        return approve

    async def answer(self, submission: Submission) -> Reply:
        found = await self._load(submission)
        if isinstance(found, Reply):
            return found
        task, press = found
        given = answers(task.questions, submission.values)
        answered = TaskPress(press.ref, press.team, press.user, submission.view, values=given)
        said = await clarify.answer(self._world, answered)
        if said.code == "empty" and task.questions:
            return errors({question_block(task.questions[0]): said.text})
        return reply_for(said, submission)

    async def changes(self, submission: Submission) -> Reply:
        return await self._with_text(submission, feedback.needs_changes)

    async def replan(self, submission: Submission) -> Reply:
        return await self._with_text(submission, plan.replan)

    async def _with_text(self, submission: Submission, flow: Flow) -> Reply:
        """A modal with one text input, passed to the flow."""
        found = await self._load(submission)
        if isinstance(found, Reply):
            return found
        _, press = found
        text_entered = payloads.text_value(submission.values, FEEDBACK)
        said = await flow(
            self._world, TaskPress(press.ref, press.team, press.user, submission.view, text_entered)
        )
        return errors({FEEDBACK: said.text}) if said.code == "empty" else reply_for(said, submission)

    async def modify(self, submission: Submission) -> Reply:
        found = await self._load(submission)
        if isinstance(found, Reply):
            return found
        task, press = found
        made = task.plan
        if made is None or press.ref != Ref(task.id, made.version, made.seal[:16]):
            return Reply(text=OLD_CARD)
        specs = specs_of(self._world, made)
        filled = changed(made, payloads.input_values(submission.values), specs)
        if filled.errors:
            return errors(filled.errors)
        said = await plan.modify(self._world, press, filled.changes)
        if said.code == "unfit" and (block := _block(made, said.step, submission)):
            return errors({block: said.text})
        return Reply(text=said.text)

    async def revise(self, submission: Submission) -> Reply:
        """Releases a step's result, with the edit for later steps."""
        found = await self._load(submission)
        if isinstance(found, Reply):
            return found
        task, press = found
        made = revised(task)
        if made is None:
            return Reply(text=OLD_CARD)
        form = edit_form.shown(made)
        filled = edit_form.values(form, payloads.input_values(submission.values))
        if filled.errors:
            return errors(filled.errors)
        edited = None if same(filled.args, made.args) else filled.args
        press = replace(press, text=payloads.text_value(submission.values, FEEDBACK))
        said = await step_review.approve_output(self._world, press, edited=edited)
        if isinstance(said, InvalidAnswer):
            return errors(edit_form.field_errors(form, said.problems))
        return Reply(text=said.text)

    async def refuse(self, submission: Submission) -> Reply:
        """Rejects a step's result; the reason may be empty."""
        return await self._with_text(submission, step_review.reject_output)

    async def _load(self, submission: Submission) -> tuple[Task, TaskPress] | Reply:
        """The task and the press, if the ledger records that this modal was opened for this person; else a refusal."""
        kind, value = tags.untagged(submission.metadata)
        ref = Ref.parse(value)
        if ref is None or kind != submission.callback:
            return Reply(text=NOT_FOUND)
        press = TaskPress(ref, submission.team, submission.user, submission.view)
        task = await self._world.ledger.task(ref.id)
        if task is None or not await is_genuine_modal(self._world, press, kind):
            return Reply(text=OLD_CARD if task else NOT_FOUND)
        return task, press


def _block(plan: Plan, step_id: str, submission: Submission) -> str:
    """The block_id of this step in the form; else the first block of the form, or ""."""
    step = step_of(plan, step_id)
    likely = [*([step] if step else []), *open_steps(plan)]
    starts = [block_of(kind, one) for one in likely for kind in (ARGS, PLACE)]
    return next((block for start in starts for block in submission.values if block.startswith(start)), "")
