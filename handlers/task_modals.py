"""The submitted windows of a task: answers, feedback, a reason to plan anew, and a modified plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from gate.action import Ref
from gate.canonical import BadArguments
from gate.canonical import parse as parse_json
from gate.flows import clarify, plan, review, satisfy
from gate.flows.edit import Unfit
from gate.flows.life import OLD_CARD
from gate.flows.press import GONE, Said, TaskPress, opened
from gate.plans import step_of
from gate.task import Plan, Task
from gate.world import World
from handlers import parse
from handlers.door import Reply
from handlers.modals import errors
from handlers.parse import Submission
from handlers.task_buttons import answers
from views import buttons as tags
from views import task_buttons as buttons
from views.task_asks import block_of as question_block
from views.task_form import ARGS, PLACE, block_of, changed, open_steps
from views.task_modals import FEEDBACK, RESULT, unchanged


class TaskModals:
    """The handlers of one world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def all(self) -> dict[str, Callable[[Submission], Awaitable[Reply]]]:
        """Callback id -> handler."""
        return {
            buttons.ANSWER: self.answer,
            buttons.CHANGES: self.changes,
            buttons.REPLAN: self.replan,
            buttons.MODIFY: self.modify,
            buttons.REVISE: self.revise,
            buttons.REFUSE: self.refuse,
        }

    async def answer(self, what: Submission) -> Reply:
        found = await self._standing(what)
        if isinstance(found, Reply):
            return found
        task, press = found
        given = answers(task.questions, what.values)
        answered = TaskPress(press.ref, press.team, press.user, what.view, values=given)
        said = await clarify.answer(self._world, answered)
        if said.code == "empty" and task.questions:
            return errors({question_block(task.questions[0]): said.text})
        return Reply(tell=said.text)

    async def changes(self, what: Submission) -> Reply:
        return await self._with_words(what, satisfy.needs_changes)

    async def replan(self, what: Submission) -> Reply:
        return await self._with_words(what, plan.replan)

    async def _with_words(
        self, what: Submission, flow: Callable[[World, TaskPress], Awaitable[Said]]
    ) -> Reply:
        """A window whose one input is what somebody wants to be different."""
        found = await self._standing(what)
        if isinstance(found, Reply):
            return found
        _, press = found
        words = parse.typed(what.values, FEEDBACK)
        said = await flow(self._world, TaskPress(press.ref, press.team, press.user, what.view, words))
        return errors({FEEDBACK: said.text}) if said.code == "empty" else Reply(tell=said.text)

    async def modify(self, what: Submission) -> Reply:
        found = await self._standing(what)
        if isinstance(found, Reply):
            return found
        task, press = found
        made = task.plan
        if made is None or press.ref != Ref(task.id, made.version, made.seal[:16]):
            return Reply(tell=OLD_CARD)
        filled = changed(made, parse.filled(what.values))
        if filled.errors:
            return errors(filled.errors)
        said = await plan.modify(self._world, press, filled.changes)
        if said.code == "unfit" and (block := _block(made, said.step, what)):
            return errors({block: said.text})
        return Reply(tell=said.text)

    async def revise(self, what: Submission) -> Reply:
        """What a step gave, changed for later steps."""
        found = await self._standing(what)
        if isinstance(found, Reply):
            return found
        task, press = found
        raw = parse.typed(what.values, RESULT)
        try:
            edited = None if unchanged(task, raw) else parse_json(raw or "{}")
        except BadArguments as error:
            return errors({RESULT: str(error)})
        press = replace(press, text=parse.typed(what.values, FEEDBACK))
        said = await review.approve_output(self._world, press, edited=edited)
        if isinstance(said, Unfit):
            return errors({RESULT: " ".join(one.text for one in said.problems[:3])})
        return Reply(tell=said.text)

    async def refuse(self, what: Submission) -> Reply:
        """What a step gave, rejected; the reason may be empty."""
        return await self._with_words(what, review.reject_output)

    async def _standing(self, what: Submission) -> tuple[Task, TaskPress] | Reply:
        """The task and the press of a window that was really opened for this person; else what to tell them."""
        kind, value = tags.untagged(what.metadata)
        ref = Ref.parse(value)
        if ref is None or kind != what.callback:
            return Reply(tell=GONE)
        press = TaskPress(ref, what.team, what.user, what.view)
        task = await self._world.ledger.task(ref.id)
        if task is None or not await opened(self._world, press, kind):
            return Reply(tell=OLD_CARD if task else GONE)
        return task, press


def _block(plan: Plan, step_id: str, what: Submission) -> str:
    """The block of the form that this step has there; else the first of the form, and "" where it has none."""
    step = step_of(plan, step_id)
    likely = [*([step] if step else []), *open_steps(plan)]
    blocks = [block_of(kind, one) for one in likely for kind in (ARGS, PLACE)]
    return next((block for block in blocks if block in what.values), "")
