"""What became of an action: what the tool said, and what that means."""

from __future__ import annotations

from gate.rules.action import Action
from gate.rules.states import State
from views.block_kit import Block, boxes, line, pack, rich, sentence, visible, words
from views.tool_results import in_words, news
from views.wording import past, size

SAID = 1_500  # characters of a tool's answer on a card
S = State

NOT_KNOWN = (
    "The line broke or the process died while the tool ran, so nobody knows whether it happened. "
    "I will not try again by myself. Please look, then tell me."
)
NOT_SENT = "It was never sent to the tool, so nothing was changed."
ERROR = "The tool answered with an error. It may have done a part of its work before that."
MEANS = {"not_sent": NOT_SENT, "error": ERROR}


def happened(action: Action, most: int) -> list[Block]:
    """The outcome as blocks, with about `most` characters of the answer; nothing for what never ran."""
    outcome = action.outcome
    if action.state is S.UNKNOWN:
        return [sentence(NOT_KNOWN), *_said(action, most)]
    if action.state is S.FAILED and outcome:
        meaning = MEANS.get(outcome.kind)
        return [*([sentence(meaning)] if meaning else []), *_said(action, most)]
    if action.state in (S.SUCCEEDED, S.UNDOING) or (action.state is S.UNDONE and most > SAID):
        return _said(action, most)
    return []


def answer(action: Action) -> str:
    """What the tool said, as people read it; of what went well, what it says beyond that it is done."""
    outcome = action.outcome
    if outcome is None:
        return ""
    if outcome.kind != "success":
        return in_words(None, outcome.text)
    return news(in_words(outcome.structured, outcome.text), _known(action))


def _known(action: Action) -> str:
    """What its card and its call tell already."""
    told = action.preview
    facts = [fact.value for fact in told.facts]
    things = [f"{thing.name} {size(thing.size)} {thing.kind}" for thing in told.affected]
    return "\n".join([told.summary, past(told.summary), *facts, *things])


def _said(action: Action, most: int) -> list[Block]:
    """What the tool said, at most about `most` characters of it; how much is missing is said."""
    outcome = action.outcome
    text = (answer(action) if most <= SAID else outcome.text) if outcome else ""
    if outcome is None or not text:
        return []
    shown = text[:most]
    while len(visible(shown)) > 2 * most:  # spelled-out characters take more room
        shown = shown[: len(shown) // 2]
    hidden = len(text) - len(shown)
    more = [line(words(f"… {hidden:,} more characters", "italic"))] if hidden else []
    if outcome.kind in ("success", "error"):
        return pack([*boxes(shown), *more])
    return [rich(line(words("What is known:", "bold"))), *pack([*boxes(shown), *more])]
