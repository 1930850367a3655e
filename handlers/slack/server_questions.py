"""The buttons and the form of a question that a server asks in the middle of a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from gate.actions import server_questions
from gate.actions.button_press import Press, PressResult
from gate.actions.server_questions import NO_SUCH_QUESTION
from gate.rules.action import Ref
from gate.rules.ports import OpenedModal, World
from gate.rules.server_questions import ServerQuestion
from gate.rules.tool import InvalidAnswer
from handlers.slack import payloads
from handlers.slack.listener import Opening, Reply, errors
from handlers.slack.payloads import Click, Submission
from views import buttons, edit_form
from views import server_question as views
from views.form_fields import Form

SENT = "Thank you. I have passed it on."


class ServerQuestions:
    """The handlers of questions of servers."""

    def __init__(self, world: World) -> None:
        self._world = world

    def buttons(self) -> dict[str, Callable[[Click], Awaitable[Reply | Opening]]]:
        """action_id -> handler."""
        return {views.ANSWER: self.open, views.DECLINE: self.decline}

    def modals(self) -> dict[str, Callable[[Submission], Awaitable[Reply]]]:
        """callback_id -> handler."""
        return {views.FORM: self.submit}

    async def open(self, click: Click) -> Reply | Opening:
        """Opens a placeholder before the ledger is read. Whoever may not answer is told so, and sees no form."""
        pressed = _press(click.value, click.team, click.user)
        if pressed is None:
            return Reply(text=NO_SUCH_QUESTION)
        question = await server_questions.load_question(self._world, pressed)
        if isinstance(question, PressResult):
            return Reply(text=question.text)

        async def render(view_id: str) -> dict[str, Any]:
            view = views.form(question, self._fields(question))
            sheet = OpenedModal(
                view_id, server_questions.FORM_KIND, click.user, question.id, question.version, ""
            )
            async with self._world.ledger.begin() as tx:
                await tx.save_modal(sheet)
            return view

        return Opening(click.trigger_id, render)

    async def decline(self, click: Click) -> Reply:
        pressed = _press(click.value, click.team, click.user)
        if pressed is None:
            return Reply(text=NO_SUCH_QUESTION)
        return Reply(text=(await server_questions.decline(self._world, pressed)).text)

    async def submit(self, submission: Submission) -> Reply:
        """Sends what was typed, or shows what is wrong with it at each field."""
        kind, value = buttons.untagged(submission.metadata)
        pressed = _press(value, submission.team, submission.user, submission.view)
        if pressed is None or kind != views.FORM:
            return Reply(text=NO_SUCH_QUESTION)
        question = await server_questions.load_question(self._world, pressed)
        if isinstance(question, PressResult):
            return Reply(text=question.text)
        form = edit_form.shown(self._fields(question))
        filled = edit_form.values(form, payloads.input_values(submission.values))
        if filled.errors:
            return errors(filled.errors)
        said = await server_questions.answer(self._world, pressed, filled.args)
        if isinstance(said, InvalidAnswer):
            return errors(edit_form.field_errors(form, said.problems))
        return Reply(text=said.text or SENT)

    def _fields(self, question: ServerQuestion) -> Form:
        return views.fields(question, self._world.tools.problems)


def _press(value: str, team: str, user: str, view: str = "") -> Press | None:
    ref = Ref.parse(value)
    return Press(ref, team, user, view=view) if ref else None
