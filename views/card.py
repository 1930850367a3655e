"""One action in every state and class: on a card of its own, or as a part of one that it shares; and its outcome."""

from __future__ import annotations

from collections.abc import Sequence

from gate.rules import batch_receipt
from gate.rules.action import Action, CallClass, Risk, Verdict, Vote
from gate.rules.action_states import State
from gate.rules.task import LAST_WORDS, Task
from gate.rules.task_states import TaskState
from gate.sentences.past_tense import past
from views import buttons, preview, result_review_card, task_buttons
from views.block_kit import (
    Block,
    Message,
    actions,
    boxes,
    context,
    escaped,
    line,
    mention,
    mrkdwn,
    pack,
    plain,
    quoted,
    rich,
    sentence,
    shortened,
    visible,
    words,
)
from views.tool_results import gave, in_words, news
from views.wording import (
    CLASSES,
    SEQUELS,
    decided,
    decides_alone,
    effect,
    loses,
    may_confirm,
    moment,
    person,
    signed,
    size,
    tally,
    top_line,
    why,
)

SAID = 1_500  # characters of a tool's answer on a card
S = State
NOT_KNOWN = (
    "The line broke or the process died while the tool ran, so nobody knows whether it happened. "
    "I will not try again by myself. Please look, then tell me."
)
NOT_SENT = "It was never sent to the tool, so nothing was changed."
ERROR = "The tool answered with an error. It may have done a part of its work before that."
MEANS = {"not_sent": NOT_SENT, "error": ERROR}
Elements = list[Block]  # of rich text
TEXT = 300  # characters of the top-level text
SUMMARY, PART_SUMMARY = 300, 160
PROBLEM, PART_PROBLEM = 1000, 300
ASSUMED = 5  # assumptions on a card
PART_SAID = 160  # characters of a tool's answer on a part
TYPED = "This cannot go by one click: press Review…, read all of it, and type the phrase."
BLIND = "While this is so, it cannot be confirmed."
SHORTENED = "This card cannot show all of it: *Review…* does."
NO_ROOM = "There is no room here for all of it, so it cannot be confirmed here."
REVIEWED = "There is no room here for all of it: *Review…* shows it."
ELSEWHERE = "It stands on a card of its own in this thread."
MEETS_NEEDS = "Does this meet your needs?"
HIDDEN = "It is shown to whoever asked alone."


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


def answer(action: Action, most: int = SAID) -> str:
    """What the tool said, as people read it; of what went well, what it says beyond that it is done. Of a table the
    rows that fit into `most` characters."""
    outcome = action.outcome
    if outcome is None:
        return ""
    if outcome.kind != "success":
        return in_words(None, outcome.text, most)
    if action.under_review:  # whoever looks at it is to see all of it
        return news(in_words(outcome.structured, outcome.text, most), _known(action))
    return gave(outcome.structured, outcome.text, _known(action), most)


def _known(action: Action) -> str:
    """What its card and its call tell already."""
    told = action.preview
    facts = [fact.value for fact in told.facts]
    things = [f"{thing.name} {size(thing.size)} {thing.kind}" for thing in told.affected]
    return "\n".join([told.summary, past(told.summary), *facts, *things])


def _said(action: Action, most: int) -> list[Block]:
    """What the tool said, at most about `most` characters of it; how much is missing is said."""
    outcome = action.outcome
    text = (answer(action, most) if most <= SAID else outcome.text) if outcome else ""
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


def card(
    action: Action, votes: Sequence[Vote] = (), task: Task | None = None, plainly: bool = False
) -> Message:
    """The card of an action as it stands. `votes`: all votes on it. `task`: the one that it is a step of, which may ask
    on it whether it was what they needed, and whose planner may have had the last words about it. `plainly`: without
    Slack's newest blocks."""
    return Message(headline(action), _blocks(action, votes, task, plainly))


def in_a_line(action: Action) -> Message:
    """A card that may go, where Slack does not let us delete it."""
    return Message(headline(action), [head(action)])


def asks_here(action: Action, task: Task | None) -> bool:
    """Whether the task asks on this card. What is taken back is not asked about."""
    return is_asked_on(action, task) and action.state is S.SUCCEEDED


def is_asked_on(action: Action, task: Task | None) -> bool:
    """Whether the task asks on this card, or did so until the change was taken back."""
    asking = task is not None and task.state is TaskState.SATISFACTION and task.asked_on == action.id
    return asking and not action.under_review


def headline(action: Action) -> str:
    """The top-level text: what it is about and how it stands, escaped, no other fact."""
    return escaped(top_line(action), TEXT)


def confirmable(action: Action) -> bool:
    """Whether the card may lead to a yes at all: what cannot be shown whole cannot be confirmed."""
    if action.state is not S.PREPARED or not action.preview.is_complete:
        return False
    if action.verdict is Verdict.TYPED:
        return bool(action.phrase) and preview.reviewable(action)
    return action.verdict is Verdict.CONFIRM and preview.fits(action)


def _blocks(action: Action, votes: Sequence[Vote], task: Task | None, plainly: bool) -> list[Block]:
    if action.state is S.PREPARED:
        return _prepared(action, votes)
    if action.state in (S.APPROVED, S.EXECUTING):
        return [head(action), *_note(decided(action, votes)), *_row(action)]
    told = [
        head(action),
        *pack(_assumed(action)),
        *ending(action, votes, SAID),
        *_closing(action, task),
        *_note(_later(action)),
    ]
    if task is None or not asks_here(action, task):
        return [*told, *_row(action)]
    row = [*_afterwards(action), *task_buttons.satisfying(task, plainly), buttons.full(action)]
    return [*told, *_note(MEETS_NEEDS), *task_buttons.feedback(task, plainly), actions(*row)]


def _prepared(action: Action, votes: Sequence[Vote]) -> list[Block]:
    return [*waiting(action, votes), *_row(action, preview.fits(action))]


def waiting(action: Action, votes: Sequence[Vote]) -> list[Block]:
    """All of the card of an action that waits for its decision, but the buttons."""
    told = action.preview
    blind = [] if told.is_complete else [context(mrkdwn(BLIND))]
    typed = action.verdict is Verdict.TYPED and told.is_complete and not preview.fits(action)
    return [
        head(action),
        *pack([*_assumed(action), *_again(action), *_caution(action, PROBLEM)]),
        *blind,
        *([sentence(SHORTENED)] if typed else []),
        *_reviewed(action),
        *facts(action),
        *pack([*preview.warnings(told), *preview.notified(told)]),
        *_reason(action),
        *pack(preview.prose(action.prose)),
        context(*_under(action, votes)),
    ]


def part(number: int, action: Action, votes: Sequence[Vote], all_of_it: bool) -> list[Block]:
    """An action on a card that it shares. `votes`: on it alone. `all_of_it`: whether there is room for all of it."""
    shown = pack(whole(number, action) if all_of_it else short(number, action))
    return (
        [*shown, *_about_part(action, votes, all_of_it), *_row(action, all_of_it)] if action.shares else shown
    )


def short(number: int, action: Action) -> Elements:
    """Its place, its state and its one line; of what has ended, the result in a line."""
    return (
        [_line(action, number), *_again(action), *_caution(action), *_result(action)]
        if action.shares
        else _left(number, action)
    )


def whole(number: int, action: Action) -> Elements:
    """All that there is to be seen before a decision."""
    told = action.preview
    around = [*preview.warnings(told), *preview.notified(told), *preview.prose(action.prose)]
    return [
        _line(action, number),
        *_again(action),
        *_caution(action),
        *preview.brief(told, action.cls),
        *around,
    ]


def fills(action: Action) -> bool:
    """Whether it is one to be shown whole, where there is room: it waits for a decision."""
    asking = action.state is S.PREPARED
    return bool(action.shares) and asking and action.preview.is_complete and preview.fits(action)


def facts(action: Action) -> list[Block]:
    """The preview on the card."""
    told = action.preview
    return pack(preview.brief(told, action.cls) if preview.fits(action) else preview.short(told))


def head(action: Action) -> Block:
    """What it does, or what became of it."""
    return rich(_line(action))


def _line(action: Action, number: int = 0) -> Block:
    """The same, after its number on a card of several."""
    place, most = (f"{number}. ", PART_SUMMARY) if number else ("", SUMMARY)
    return line(words(f"{place}{shortened(effect(action), most)}", "bold"))


def _left(number: int, action: Action) -> Elements:
    """Of what has left the card; of what is private, nothing is told here."""
    place = words(f"{number}. ", "bold")
    if action.private:
        return [line(place, words(HIDDEN, "italic"))]
    return [line(place, words(action.preview.summary, most=PART_SUMMARY)), line(words(ELSEWHERE, "italic"))]


def assumed(action: Action) -> tuple[str, ...]:
    """What its planner went on with instead of asking, as far as a card has room."""
    return action.proposal.source.assumed[:ASSUMED]


def _assumed(action: Action) -> Elements:
    return [line(words("Assumed: "), words(one, "italic", most=PART_PROBLEM)) for one in assumed(action)]


def _again(action: Action) -> Elements:
    """Why it asks, although somebody has said yes before."""
    told = action.proposal.source.again if action.state is S.PREPARED else ""
    return [line(words(told, most=PART_PROBLEM))] if told else []


def _caution(action: Action, most: int = PART_PROBLEM) -> Elements:
    """Why it cannot be confirmed; of what destroys, what is lost and for how long it can be had back."""
    if action.state is not S.PREPARED:
        return []
    if not action.preview.is_complete:
        return [_warning(action.preview.problem, most)]
    if action.cls is CallClass.DESTRUCTIVE:
        return [_warning(loses(action), most)]
    return [_warning(TYPED, most)] if action.verdict is Verdict.TYPED else []


def _warning(text: str, most: int) -> Block:
    return line({"type": "emoji", "name": "warning"}, words(f" {text}", most=most))


def about(action: Action) -> Block:
    """Who asked, what kind of call it is, how risky, and which tool: for *Show everything*."""
    again = " again" if action.renews else ""
    edited = f" · edited by {mention(action.edited_by)}" if action.edited_by else ""
    kind = f"*{CLASSES[action.cls]}* · {action.risk} risk"
    asked = f"Asked{again} by {mention(action.requester)}{edited} · {kind}"
    return context(mrkdwn(asked), plain(action.name, 200))


def _about_part(action: Action, votes: Sequence[Vote], all_of_it: bool) -> list[Block]:
    """Why anybody is asked, whether it can be taken back, who may decide or did."""
    if action.state is not S.PREPARED:
        told = [*_given(action, 300), *_own(_came(action, votes), _later(action))]
        return [context(*told)] if told else []
    hidden = action.preview.is_complete and not all_of_it
    missing = (NO_ROOM if batch_receipt.is_coverable(action) else REVIEWED) if hidden else ""
    return [context(*_because(action, 300), *_own(missing), *_under(action, votes))]


def _under(action: Action, votes: Sequence[Vote]) -> list[Block]:
    """How large it is, whether it can be taken back, who changed it, who may decide, and until when."""
    told = action.preview
    back = "" if action.cls is CallClass.DESTRUCTIVE else preview.reversibility(told)
    shown = " · ".join(filter(None, [preview.sized(told), back]))
    shown = f"{shown[:1].upper()}{shown[1:]}"
    own = [
        _edited(action),
        _unusual(action),
        tally(action, votes),
        _decides(action),
        f"Expires {moment(action.expires_at, '{time}')}.",
    ]
    return [*([plain(shown, 500)] if shown else []), *_own(*own)]


def _unusual(action: Action) -> str:
    """How risky it is, where that is more than usual for its kind."""
    usual = (Risk.LOW, Risk.MEDIUM) if action.cls is CallClass.WRITE else (Risk.LOW, Risk.MEDIUM, Risk.HIGH)
    return "" if action.risk in usual else f"{action.risk.capitalize()} risk."


def _edited(action: Action) -> str:
    """That it is not what was asked for at first."""
    asked = action.renews and not action.proposal.source.again
    again = f"Asked again by {mention(action.requester)}." if asked else ""
    edited = f"Edited by {mention(action.edited_by)}." if action.edited_by else ""
    return " ".join(filter(None, [again, edited]))


def _own(*told: str) -> list[Block]:
    """Sentences of ours, one after the other."""
    text = " ".join(filter(None, told))
    return [mrkdwn(text)] if text else []


def _decides(action: Action) -> str:
    return "" if decides_alone(action) else f"May confirm: {may_confirm(action)}."


def _came(action: Action, votes: Sequence[Vote]) -> str:
    """Who decided, and what came of it."""
    sequel = f"Undone by {person(action.undo.by)}." if action.undo.by else SEQUELS.get(action.state, "")
    if action.state is S.SUPERSEDED and action.decided_by:
        sequel = f"{mention(action.decided_by)} asked for something else instead. Nothing ran."
    if action.state in (S.SUCCEEDED, S.UNDOING, S.UNDONE) and (by := signed(action, votes)):
        return " · ".join(filter(None, [by, sequel]))
    return " ".join(filter(None, [decided(action, votes), sequel]))


def ending(action: Action, votes: Sequence[Vote], most: int) -> list[Block]:
    """What became of it and who decided, with about `most` characters of the tool's answer."""
    given = [context(one) for one in _given(action, 600)]
    return [
        *happened(action, most),
        *result_review_card.asking(action),
        *result_review_card.judged(action),
        *given,
        *_note(_came(action, votes)),
    ]


def _result(action: Action) -> Elements:
    """What became of it, in a line, and what that means."""
    outcome = action.outcome
    if outcome is None or action.state not in (S.SUCCEEDED, S.FAILED, S.UNKNOWN, S.UNDOING):
        return []
    meaning = NOT_KNOWN if action.state is S.UNKNOWN else MEANS.get(outcome.kind, "")
    rows = [" ".join(row.split()) for row in answer(action).splitlines() if row.strip()]
    one_line = shortened(" · ".join(rows), PART_SAID)
    told = [line(words(meaning, "italic"))] if meaning else []
    return [*told, line(words(one_line, "code"))] if one_line else told


def _given(action: Action, most: int) -> list[Block]:
    """The reason of a rejection or a cancellation: a person's words in quotes, ours without, with whoever caused it."""
    if not action.decision or action.state is S.SUPERSEDED:
        return []
    if action.resolution.own and action.decided_by:
        return [mrkdwn(f"{escaped(action.decision, most)} by {mention(action.decided_by)}.")]
    return [plain(f"“{action.decision}”" if action.decided_by else action.decision, most)]


def _reviewed(action: Action) -> list[Block]:
    """That the operator wants it reviewed, and what each answer does."""
    if not action.review:
        return []
    told = "Paused for review before it runs: *Edit* changes what it is given, and shows it to you anew."
    return [context(mrkdwn(told), plain(f"Review: {action.review}", 200))]


def _reason(action: Action) -> list[Block]:
    told = _because(action, 500)
    return [context(*told)] if told else []


def _because(action: Action, most: int) -> list[Block]:
    """Why anybody is asked, where people should know it; of a tool that nobody has reviewed, whose it is."""
    if action.cls is CallClass.UNKNOWN and not action.always_gated:
        return [
            mrkdwn("*Not reviewed by an operator*: read every argument."),
            plain(f"Server: {action.server}", 200),
        ]
    return [plain(f"Why you are asked: {why(action)}", most)] if why(action) else []


def _note(own: str) -> list[Block]:
    return [context(mrkdwn(own))] if own else []


def _closing(action: Action, task: Task | None) -> list[Block]:
    """The planner's last words about what was done; none about what was taken back, or waits for its review."""
    if action.state is not S.SUCCEEDED or action.under_review or task is None or task.plan is None:
        return []
    said = [step.closing for step in task.plan.steps if step.closing and step.action == action.id]
    return pack(quoted(text, LAST_WORDS) for text in said)


def _later(action: Action) -> str:
    """How to take back what has no button for it any more."""
    if action.state is not S.SUCCEEDED or action.under_review or not action.inverse or action.undo_open:
        return ""
    until = f" until {moment(action.inverse.until, '{date_short} {time}')}" if action.inverse.until else ""
    return f"To take it back: `/undo`, or mention me here with `undo`{until}."


def _row(action: Action, all_of_it: bool = False) -> list[Block]:
    choices = _choices(action, all_of_it)
    return [actions(*choices)] if choices else []


def _choices(action: Action, all_of_it: bool) -> list[Block]:
    """What can be done with it now. An undo is not edited: it is what was recorded."""
    if action.state is S.PREPARED:
        edit = [] if action.undoes else [buttons.edit(action)]
        return [*_yes(action, all_of_it), *edit, buttons.cancel(action), buttons.more(action)]
    if action.state is S.APPROVED:
        return [buttons.cancel(action), buttons.full(action)]
    return [*_afterwards(action), buttons.full(action)]


def _yes(action: Action, all_of_it: bool) -> list[Block]:
    """Confirm only under all of it; what is typed is read in its modal."""
    typed = action.verdict is Verdict.TYPED
    if confirmable(action) and (typed or all_of_it):
        return [buttons.review(action) if typed else buttons.confirm(action)]
    return [buttons.apart(action)] if batch_receipt.is_coverable(action) else []


def _afterwards(action: Action) -> list[Block]:
    """What can still be done with an action that is over, besides looking at all of it."""
    if action.under_review:
        return buttons.result_review(action)
    if action.state is S.UNKNOWN:
        return buttons.settle(action, action.checkable)
    if action.state is S.EXPIRED:
        return [buttons.renew(action)]
    return (
        [buttons.undo(action)] if action.state is S.SUCCEEDED and action.inverse and action.undo_open else []
    )
