"""A result that waits for its review outside of plans: what stands on its card, and the windows of its two edits."""

from __future__ import annotations

from collections.abc import Mapping

from gate.rules.action import Action, Json
from gate.rules.reviews import COMMENT, step_result
from views import edit_form
from views.block_kit import (
    Block,
    boxes,
    context,
    field,
    line,
    mention,
    mrkdwn,
    pack,
    plain,
    sentence,
    text_input,
    words,
)
from views.form_fields import Form, json_text
from views.tool_results import in_words

RESULT = "result"  # begins the blocks of what the call gave
COMMENTED = "comment"
SHOWN = 1_500  # characters of a changed result on a card


def asking(action: Action) -> list[Block]:
    """That the operator wants the result reviewed, and what each answer does."""
    if not action.under_review:
        return []
    undo = "you are offered to undo the call" if action.inverse else "there is nothing to undo"
    told = (
        "Paused for review after it ran: whoever asked for it gets nothing of this before it is released. "
        "*Change result…* changes what they get; the true result stays on record. *Reject result…* drops it: "
        f"they are told so, and {undo}."
    )
    return [context(mrkdwn(told), plain(f"Review: {action.under_review}", 200))]


def judged(action: Action) -> list[Block]:
    """What somebody made of the result."""
    found = action.judged
    if found is None:
        return []
    comment = [plain(f"“{found.comment}”", 600)] if found.comment else []
    by = mention(found.by)
    if not found.kept:
        undo = " What it changed is still changed." if action.inverse else ""
        return [context(mrkdwn(f"{by} rejected its result, so it is dropped.{undo}"), *comment)]
    if found.revised is None:
        return [context(mrkdwn(f"{by} released its result."), *comment)]
    shown = in_words(found.revised, json_text(found.revised))
    given = [line(words("What was given in its place:", "bold")), *boxes(shown[:SHOWN])]
    more = [line(words(f"… {len(shown) - SHOWN:,} more characters", "italic"))] if len(shown) > SHOWN else []
    return [*pack([*given, *more]), context(mrkdwn(f"{by} changed its result."), *comment)]


def change(action: Action) -> list[Block]:
    """What the call gave, to be changed; nothing where all of it is too long for Slack's inputs."""
    told = context(
        mrkdwn("Whoever asked for the call gets this; what it truly gave stays on record beside it.")
    )
    inputs = edit_form.blocks(form(action))
    return [told, *inputs, _comment()] if any(one["type"] == "input" for one in inputs) else []


def form(action: Action) -> Form:
    """The fields of what the call gave."""
    return result_form(step_result(action))


def result_form(given: Mapping[str, Json]) -> Form:
    """The fields of a result; one that is emptied stays, empty."""
    return Form({"required": [*given]}, given, prefix=RESULT)


def refuse(action: Action) -> list[Block]:
    """Why nobody is to get the result."""
    undo = "You can undo the call afterwards." if action.inverse else "There is nothing to undo."
    return [sentence(f"What the call gave is dropped; whoever asked for it is told so. {undo}"), _comment()]


def _comment() -> Block:
    element = text_input(COMMENTED, most=COMMENT)
    hint = "It is kept with your decision, and told to whoever asked where you reject."
    return field(COMMENTED, "Comment", element, hint=hint, optional=True)
