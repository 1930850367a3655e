"""One action's card, in every state and class."""

from __future__ import annotations

from collections.abc import Sequence

from gate.action import Action, Class, Verdict, Vote
from gate.states import State
from views import buttons, held, preview
from views.kit import (
    Block,
    Message,
    actions,
    context,
    escaped,
    line,
    mention,
    mrkdwn,
    pack,
    plain,
    rich,
    sentence,
    words,
)
from views.result import SAID, happened
from views.words import CLASSES, SEQUELS, decided, may_confirm, moment, tally, title, why

S = State
TEXT = 300  # characters of the top-level text
SUMMARY = 300

DESTROYS = ":warning: *This is destructive.* Press *Review…*, read what is affected, and type the phrase."
TYPED = ":warning: *This cannot go by one click.* Press *Review…*, read all of it, and type the phrase."
BLIND = "While this is so, it cannot be confirmed."
SHORTENED = "This card cannot show all of it: *Review…* does."


def card(action: Action, votes: Sequence[Vote] = ()) -> Message:
    """The card of an action as it stands. `votes`: all votes on it."""
    return Message(headline(action), _blocks(action, votes))


def headline(action: Action) -> str:
    """The top-level text: title and summary, escaped, no other fact."""
    start = f"{title(action)}: "
    return start + escaped(action.preview.summary, TEXT - len(start))


def confirmable(action: Action) -> bool:
    """Whether the card may lead to a yes at all: what cannot be shown whole cannot be confirmed."""
    if action.state is not S.PREPARED or not action.preview.whole:
        return False
    if action.verdict is Verdict.TYPED:
        return bool(action.phrase) and preview.reviewable(action)
    return action.verdict is Verdict.CONFIRM and preview.fits(action)


def facts(action: Action) -> list[Block]:
    """The preview on the card."""
    fit = preview.fits(action)
    return pack(preview.whole(action.preview) if fit else preview.short(action.preview))


def _blocks(action: Action, votes: Sequence[Vote]) -> list[Block]:
    if action.state is S.PREPARED:
        return _prepared(action, votes)
    if action.state in (S.APPROVED, S.EXECUTING):
        return _working(action, votes)
    return _over(action, votes)


def _prepared(action: Action, votes: Sequence[Vote]) -> list[Block]:
    told = action.preview
    around = [*preview.warnings(told), *preview.consequences(told)]
    return [
        head(action),
        about(action),
        *_caution(action),
        *_reviewed(action),
        *facts(action),
        *pack(around),
        *_reason(action),
        *pack(preview.prose(told)),
        *_note(tally(action, votes)),
        *_note(f"May confirm: {may_confirm(action)}. Expires {moment(action.expires_at)}."),
        actions(*_choices(action)),
    ]


def _working(action: Action, votes: Sequence[Vote]) -> list[Block]:
    stop = [actions(buttons.cancel(action))] if action.state is S.APPROVED else []
    return [head(action), about(action), *facts(action), *_note(decided(action, votes)), *stop]


def _over(action: Action, votes: Sequence[Vote]) -> list[Block]:
    return [head(action), about(action), *ending(action, votes, SAID), *_afterwards(action)]


def ending(action: Action, votes: Sequence[Vote], most: int) -> list[Block]:
    """What became of it and who decided, with about `most` characters of the tool's answer."""
    sequel = SEQUELS.get(action.state, "")
    return [
        *happened(action, most),
        *held.asking(action),
        *held.judged(action),
        *_given(action),
        *_note(" ".join(filter(None, [decided(action, votes), sequel]))),
    ]


def _given(action: Action) -> list[Block]:
    """The reason of a rejection or a cancellation: a person's words in quotes, ours without."""
    if not action.decision:
        return []
    return [context(plain(f"“{action.decision}”" if action.decided_by else action.decision, 600))]


def head(action: Action) -> Block:
    """Title and summary."""
    return rich(line(words(f"{title(action)}: ", "bold"), words(action.preview.summary, most=SUMMARY)))


def about(action: Action) -> Block:
    """Who asked, what kind of call it is, how risky, and which tool."""
    again = " again" if action.renews else ""
    edited = f" · edited by {mention(action.edited_by)}" if action.edited_by else ""
    asked = f"Asked{again} by {mention(action.requester)}{edited}"
    return context(mrkdwn(f"{asked} · *{CLASSES[action.cls]}* · {action.risk} risk"), plain(action.name, 200))


def _caution(action: Action) -> list[Block]:
    if not action.preview.whole:
        sign = {"type": "emoji", "name": "warning"}
        return [rich(line(sign, words(f" {action.preview.problem}", most=1000))), context(mrkdwn(BLIND))]
    if action.verdict is not Verdict.TYPED:
        return []
    own = DESTROYS if action.cls is Class.DESTRUCTIVE else TYPED
    return [sentence(own if preview.fits(action) else f"{own} {SHORTENED}")]


def _reviewed(action: Action) -> list[Block]:
    """That the operator wants it reviewed, and what each answer does."""
    if not action.review:
        return []
    told = "Paused for review before it runs: *Edit* changes what it is given, and shows it to you anew."
    return [context(mrkdwn(told), plain(f"Review: {action.review}", 200))]


def _reason(action: Action) -> list[Block]:
    if action.cls is Class.UNKNOWN:
        return [context(mrkdwn("*Not reviewed by an operator*: read every argument."), _because(action))]
    return [context(_because(action))] if why(action) else []


def _because(action: Action) -> Block:
    return plain(f"Why you are asked: {action.reason}", 500)


def _note(own: str) -> list[Block]:
    return [context(mrkdwn(own))] if own else []


def _choices(action: Action) -> list[Block]:
    """Confirm or Review… first, where there may be a yes; an undo is not edited: it is what was recorded."""
    typed = action.verdict is Verdict.TYPED
    yes = [buttons.review(action) if typed else buttons.confirm(action)] if confirmable(action) else []
    edit = [] if action.undoes else [buttons.edit(action)]
    return [*yes, *edit, buttons.cancel(action), buttons.more(action)]


def _afterwards(action: Action) -> list[Block]:
    """What can still be done with an action that is over."""
    if action.held:
        return [actions(*buttons.held(action), buttons.full(action))]
    if action.state is S.UNKNOWN:
        return [actions(*buttons.settle(action, action.checkable), buttons.full(action))]
    if action.state is S.EXPIRED:
        return [actions(buttons.renew(action), buttons.full(action))]
    if action.state is S.SUCCEEDED and action.inverse:
        if action.undo_open:
            return [actions(buttons.undo(action), buttons.full(action))]
        until = (
            f" until {moment(action.inverse.until, '{date_short} {time}')}" if action.inverse.until else ""
        )
        later = f"To take it back: `/undo`, or mention me here with `undo`{until}."
        return [*_note(later), actions(buttons.full(action))]
    return [actions(buttons.full(action))]
