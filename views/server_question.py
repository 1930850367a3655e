"""A server's question in the middle of a call: its message in the thread, and the form of its answer."""

from __future__ import annotations

from gate.rules.server_questions import Check, QuestionState, ServerQuestion, defaults
from views import edit_form
from views.block_kit import (
    Block,
    Message,
    actions,
    button,
    context,
    escaped,
    line,
    mention,
    mrkdwn,
    plain,
    quote,
    rich,
    sentence,
    words,
)
from views.buttons import tagged
from views.form_fields import Form
from views.modals import View
from views.wording import moment

ANSWER = "question_answer"
DECLINE = "question_decline"
FORM = "server_question"  # the callback id of the form

MOST_SHOWN = 2_000
MOST_ABOUT = 200
WARNING = (
    ":warning: What you type goes to this server as it is. *Do not type passwords*, keys or other secrets: a server "
    "must not ask for them here."
)


def card(question: ServerQuestion) -> Message:
    """What stands in the thread: the server's words are quoted, and nothing in them is parsed."""
    asks = line(
        words(question.server, "bold", most=80),
        words(" asks, for “"),
        words(question.about, most=MOST_ABOUT),
        words("”:"),
    )
    blocks = [rich(asks, quote(question.message, MOST_SHOWN)), *_ending(question)]
    return Message(escaped(f"{question.server} asks: {question.message}", 300), blocks)


def _ending(question: ServerQuestion) -> list[Block]:
    who = mention(question.actor)
    match question.state:
        case QuestionState.ANSWERED:
            return [sentence(f"Answered by {who}.")]
        case QuestionState.DECLINED:
            return [sentence(f"Declined by {who}.")]
        case QuestionState.EXPIRED:
            return [sentence(f"{question.reason} The server was told that there is no answer.")]
    return [answering(question), context(mrkdwn(f"The call waits until {moment(question.until)}."))]


def answering(question: ServerQuestion) -> Block:
    """The buttons of a question that waits."""
    return actions(
        button("Answer…", ANSWER, question.button, "primary"), button("Decline", DECLINE, question.button)
    )


def form(question: ServerQuestion, fields: Form) -> View:
    """The window with an input for each field."""
    asks = line(words(question.server, "bold", most=80), words(" asks:"))
    return {
        "type": "modal",
        "callback_id": FORM,
        "title": plain("A server asks", 24),
        "blocks": [
            rich(asks, quote(question.message, MOST_SHOWN)),
            sentence(WARNING),
            *edit_form.blocks(fields),
        ],
        "close": plain("Cancel", 24),
        "submit": plain("Send to the server", 24),
        "private_metadata": tagged(FORM, question.button),
    }


def fields(question: ServerQuestion, check: Check) -> Form:
    """The fields of its form, which begin with the defaults that keep their own rules."""
    return Form(question.schema, defaults(question.schema, check), prefix=FORM, titled=True)
