"""A server's question in the middle of a call: its message in the thread, and the form of its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gate.rules.action import Json
from gate.rules.server_questions import (
    MOST_TEXT,
    FieldKind,
    FormField,
    QuestionState,
    ServerQuestion,
    Unfit,
    form_fields,
)
from views.block_kit import (
    Block,
    Message,
    actions,
    button,
    context,
    escaped,
    field,
    line,
    mention,
    mrkdwn,
    option,
    plain,
    quote,
    rich,
    select,
    sentence,
    text_input,
    words,
)
from views.buttons import tagged
from views.form_fields import NUMBER
from views.modals import View, message
from views.wording import moment

ANSWER = "question_answer"
DECLINE = "question_decline"
FORM = "server_question"  # the callback id of the form

VALUE = "value"  # the action id of each input
CHECKED = "yes"  # the value of the box of a yes or no
MOST_SHOWN = 2_000
MOST_ABOUT = 200
BLANK = "field."  # begins the block id of each input; its place follows
WARNING = (
    ":warning: What you type goes to this server as it is. *Do not type passwords*, keys or other secrets: a server "
    "must not ask for them here."
)
NO_FORM = "This cannot be shown as a form."


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


def form(question: ServerQuestion) -> View:
    """The window with an input for each field; a message where the schema is no form."""
    try:
        fields = form_fields(question.schema)
    except Unfit:
        return message(NO_FORM)
    asks = line(words(question.server, "bold", most=80), words(" asks:"))
    return {
        "type": "modal",
        "callback_id": FORM,
        "title": plain("A server asks", 24),
        "blocks": [
            rich(asks, quote(question.message, MOST_SHOWN)),
            sentence(WARNING),
            *(_input(place, one) for place, one in enumerate(fields)),
        ],
        "close": plain("Cancel", 24),
        "submit": plain("Send to the server", 24),
        "private_metadata": tagged(FORM, question.button),
    }


def _input(place: int, one: FormField) -> Block:
    element, optional = _element(one), not one.required
    if one.kind is FieldKind.YES_NO:
        optional = True  # Slack wants a required box to be ticked
    if one.kind is FieldKind.SOME_OF and not one.schema.get("minItems"):
        optional = True
    return field(f"{BLANK}{place}", one.title or one.name, element, hint=_hint(one), optional=optional)


def _hint(one: FormField) -> str:
    """The server's description, and what the schema asks for."""
    formats = {
        "email": "An email address.",
        "uri": "A whole address.",
        "date": "A date: 2026-11-23.",
        "date-time": "A date with time and zone: 2026-11-23T09:30:00Z.",
    }
    format_of = one.schema.get("format")
    own = formats.get(format_of, "") if isinstance(format_of, str) else ""
    return " ".join(filter(None, [own, one.description]))


def _element(one: FormField) -> Block:
    labels = [option(label, str(index)) for index, (_, label) in enumerate(one.options)]
    values = [value for value, _ in one.options]
    match one.kind:
        case FieldKind.ONE_OF:
            chosen = labels[values.index(one.default)] if one.default is not None else None
            return select(VALUE, labels, chosen)
        case FieldKind.SOME_OF:
            made: Block = {"type": "multi_static_select", "action_id": VALUE, "options": labels}
            start = [labels[values.index(value)] for value in one.default or ()]
            return {**made, "initial_options": start} if start else made
        case FieldKind.YES_NO:
            box = option("Yes", CHECKED)
            made = {"type": "checkboxes", "action_id": VALUE, "options": [box]}
            return {**made, "initial_options": [box]} if one.default is True else made
        case FieldKind.NUMBER | FieldKind.INTEGER:
            return _number_input(one)
    most = one.schema.get("maxLength")
    long = not isinstance(most, int) or most > 200
    begin = one.default if isinstance(one.default, str) else ""
    return text_input(VALUE, begin, multiline=long and "format" not in one.schema, most=MOST_TEXT)


def _number_input(one: FormField) -> Block:
    made: Block = {
        "type": "number_input",
        "action_id": VALUE,
        "is_decimal_allowed": one.kind is FieldKind.NUMBER,
    }
    start = json.dumps(one.default) if one.default is not None else ""
    return {**made, "initial_value": start} if start and len(start) <= 32 else made


def values(question: ServerQuestion, state: Mapping[str, Json]) -> dict[str, Json]:
    """The answer as it was typed, by the names of the fields; what was left empty is left out. `state`:
    `view.state.values`. A number that is none is kept as text, for the rules of the field to say so."""
    found: dict[str, Json] = {}
    for place, one in enumerate(form_fields(question.schema)):
        given = (state.get(f"{BLANK}{place}") or {}).get(VALUE) or {}
        value = _value(one, given)
        if value is not None:
            found[one.name] = value
    return found


def _value(one: FormField, given: Mapping[str, Any]) -> Json:
    chosen = [str(each.get("value")) for each in given.get("selected_options") or ()]
    match one.kind:
        case FieldKind.YES_NO:
            return CHECKED in chosen
        case FieldKind.SOME_OF:
            picked = [_picked(one, index) for index in chosen]
            return picked if picked or one.required else None
        case FieldKind.ONE_OF:
            selected = given.get("selected_option")
            return _picked(one, str(selected.get("value"))) if selected else None
    text = given.get("value")
    if not isinstance(text, str) or not text:
        return None
    return text if one.kind is FieldKind.TEXT else _number(text)


def _picked(one: FormField, index: str) -> str:
    """The value of a chosen option; the index itself where there is no such option, which is none of the values."""
    usable = index.isascii() and index.isdigit() and len(index) < 4 and int(index) < len(one.options)
    return one.options[int(index)][0] if usable else f"no option {index}"


def _number(text: str) -> Json:
    found = NUMBER.fullmatch(text.strip())
    if found is None:
        return text
    return float(found[0]) if found[1] else int(found[0])


def errors(question: ServerQuestion, wrong: Mapping[str, str]) -> dict[str, str]:
    """Problems by the names of fields, as errors of the form's blocks."""
    places = {one.name: place for place, one in enumerate(form_fields(question.schema))}
    return {f"{BLANK}{places[name]}": text for name, text in wrong.items() if name in places}
