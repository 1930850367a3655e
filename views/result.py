"""What became of an action: what the tool said, and what that means."""

from __future__ import annotations

from gate.action import Action, Outcome
from gate.states import State
from views.kit import Block, boxes, line, pack, rich, sentence, visible, words
from views.readable import brief

SAID = 1_500  # characters of a tool's answer on a card
S = State

NOT_KNOWN = (
    "The line broke or the process died while the tool ran, so nobody knows whether it happened. "
    "I will not try again by myself. Please look, then tell me."
)
NOT_SENT = "It was never sent to the tool, so nothing was changed."
ERROR = "The tool answered with an error. It may have done a part of its work before that."


def happened(action: Action, most: int) -> list[Block]:
    """The outcome as blocks, with about `most` characters of the answer; nothing for what never ran."""
    outcome = action.outcome
    if action.state is S.UNKNOWN:
        return [sentence(NOT_KNOWN), *_said(outcome, most)]
    if action.state is S.FAILED and outcome:
        meaning = {"not_sent": NOT_SENT, "error": ERROR}.get(outcome.kind)
        return [*([sentence(meaning)] if meaning else []), *_said(outcome, most)]
    if action.state in (S.SUCCEEDED, S.UNDOING) or (action.state is S.UNDONE and most > SAID):
        return _said(outcome, most)
    return []


def _said(outcome: Outcome | None, most: int) -> list[Block]:
    """What the tool said, at most about `most` characters of it; how much is missing is said."""
    if outcome is None or not outcome.text:
        return []
    short = brief(outcome.structured) if most <= SAID and outcome.kind == "success" else None
    text = outcome.text if short is None else short
    shown = text[:most]
    while len(visible(shown)) > 2 * most:  # spelled-out characters take more room
        shown = shown[: len(shown) // 2]
    hidden = len(text) - len(shown)
    more = [line(words(f"… {hidden:,} more characters", "italic"))] if hidden else []
    label = "The tool said:" if outcome.kind in ("success", "error") else "What is known:"
    return [rich(line(words(label, "bold"))), *pack([*boxes(shown), *more])]
