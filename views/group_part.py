"""One action on a card that it shares with others: whole where there is room, else its one line and its state."""

from __future__ import annotations

from collections.abc import Sequence

from gate import groups
from gate.action import Action, Class, Verdict, Vote
from gate.states import State
from views import buttons, preview
from views.kit import Block, actions, clip, context, inline, line, mention, mrkdwn, pack, plain, words
from views.readable import brief
from views.result import ERROR, NOT_KNOWN, NOT_SENT
from views.words import CLASSES, SEQUELS, decided, may_confirm, moment, tally, title, why

S = State
Shown = list[Block]

SUMMARY = 160
PROBLEM = 300
SAID = 160  # characters of a tool's answer
MEANS = {"not_sent": NOT_SENT, "error": ERROR}
SHORTENED = "There is no room here for all of it, so it cannot be confirmed here."
REVIEWED = "There is no room here for all of it: *Review…* shows it."
DESTROYS = "This is destructive: press Review…, read what is affected, and type the phrase."
TYPED = "This cannot go by one click: press Review…, read all of it, and type the phrase."
ELSEWHERE = "It stands on a card of its own in this thread."
HIDDEN = "It is shown to whoever asked alone."


def short(number: int, action: Action) -> Shown:
    """Its place, its state and its one line; of what has ended, the result in a line."""
    if not action.shares:
        return _left(number, action)
    told = []
    if action.state is S.PREPARED:
        told = [_warning(action.preview.problem, PROBLEM)] if not action.preview.whole else _caution(action)
    return [_title(number, action), *told, *_result(action)]


def whole(number: int, action: Action) -> Shown:
    """All that there is to be seen before a decision."""
    told = action.preview
    around = [*preview.warnings(told), *preview.consequences(told), *preview.prose(told)]
    return [_title(number, action), *_caution(action), *preview.whole(told), *around]


def fills(action: Action) -> bool:
    """Whether it is one to be shown whole, where there is room: it waits for a decision, or is on its way."""
    asking = action.state in (S.PREPARED, S.APPROVED, S.EXECUTING)
    return bool(action.shares) and asking and action.preview.whole and preview.fits(action)


def blocks(number: int, action: Action, votes: Sequence[Vote], all_of_it: bool) -> list[Block]:
    """The part of one action. `votes`: on it alone. `all_of_it`: whether there is room for all of it."""
    shown = pack(whole(number, action) if all_of_it else short(number, action))
    if not action.shares:
        return shown
    choices = _choices(action, all_of_it)
    return [*shown, _about(action, votes, all_of_it), *([actions(*choices)] if choices else [])]


def _title(number: int, action: Action) -> Block:
    return line(words(f"{number}. {title(action)}: ", "bold"), words(action.preview.summary, most=SUMMARY))


def _left(number: int, action: Action) -> Shown:
    """Of what is private, nothing is told here."""
    if action.private:
        return [line(words(f"{number}. ", "bold"), words(HIDDEN, "italic"))]
    summary = words(action.preview.summary, most=SUMMARY)
    return [line(words(f"{number}. ", "bold"), summary), line(words(ELSEWHERE, "italic"))]


def _caution(action: Action) -> Shown:
    """Of what has to be typed, that it has."""
    if action.state is not S.PREPARED or action.verdict is not Verdict.TYPED:
        return []
    return [_warning(DESTROYS if action.cls is Class.DESTRUCTIVE else TYPED, PROBLEM)]


def _warning(text: str, most: int) -> Block:
    return line({"type": "emoji", "name": "warning"}, words(f" {text}", most=most))


def _result(action: Action) -> Shown:
    """What became of it, in a line, and what that means."""
    outcome = action.outcome
    if outcome is None or action.state not in (S.SUCCEEDED, S.FAILED, S.UNKNOWN, S.UNDOING):
        return []
    meaning = NOT_KNOWN if action.state is S.UNKNOWN else MEANS.get(outcome.kind, "")
    said = (brief(outcome.structured) if outcome.kind == "success" else None) or outcome.text
    one_line = clip(
        inline(" · ".join(" ".join(row.split()) for row in said.splitlines() if row.strip())), SAID
    )
    told = [line(words(meaning, "italic"))] if meaning else []
    return [*told, line(words(one_line, "code"))] if one_line else told


def _about(action: Action, votes: Sequence[Vote], all_of_it: bool) -> Block:
    """What kind of call it is and how risky, which tool, who may decide or did, and why anybody is asked."""
    edited = f" · edited by {mention(action.edited_by)}" if action.edited_by else ""
    kind = mrkdwn(f"*{CLASSES[action.cls]}* · {action.risk} risk{edited}")
    return context(kind, plain(action.name, 200), *_who(action, votes, all_of_it))


def _who(action: Action, votes: Sequence[Vote], all_of_it: bool) -> list[Block]:
    if action.state is not S.PREPARED:
        own = " ".join(filter(None, [decided(action, votes), SEQUELS.get(action.state, ""), _later(action)]))
        given = f"“{action.decision}”" if action.decided_by else action.decision
        return [*([plain(given, 300)] if action.decision else []), *([mrkdwn(own)] if own else [])]
    unread = action.cls is Class.UNKNOWN
    reason = [plain(f"Why you are asked: {action.reason}", 300)] if unread or why(action) else []
    missing = "" if all_of_it or not action.preview.whole else _missing(action)
    who = f"May confirm: {may_confirm(action)}. Expires {moment(action.expires_at)}."
    own = " ".join(filter(None, [missing, tally(action, votes), who]))
    return [*reason, mrkdwn(own)]


def _missing(action: Action) -> str:
    return SHORTENED if groups.coverable(action) else REVIEWED


def _later(action: Action) -> str:
    """How to take back what has no button for it any more."""
    if action.state is not S.SUCCEEDED or not action.inverse or action.undo_open:
        return ""
    return "To take it back: `/undo`, or mention me here with `undo`."


def _choices(action: Action, all_of_it: bool) -> list[Block]:
    if action.state is S.PREPARED:
        edit = [] if action.undoes else [buttons.edit(action)]
        return [*_yes(action, all_of_it), *edit, buttons.cancel(action), buttons.more(action)]
    if action.state is S.APPROVED:
        return [buttons.cancel(action)]
    if action.state is S.EXECUTING:
        return []
    return [*_afterwards(action), buttons.full(action)]


def _yes(action: Action, all_of_it: bool) -> list[Block]:
    """Confirm only under all of it; what is typed is read in its modal."""
    if action.verdict is Verdict.TYPED:
        readable = action.preview.whole and action.phrase and preview.reviewable(action)
        return [buttons.review(action)] if readable else []
    if not groups.coverable(action):
        return []
    return [buttons.confirm(action) if all_of_it else buttons.apart(action)]


def _afterwards(action: Action) -> list[Block]:
    if action.state is S.UNKNOWN:
        return buttons.settle(action, action.checkable)
    if action.state is S.EXPIRED:
        return [buttons.renew(action)]
    if action.state is S.SUCCEEDED and action.inverse and action.undo_open:
        return [buttons.undo(action)]
    return []
