"""The modals: typed confirmation, edit form, reason of a rejection, everything, and short messages.

Each carries which action and version it is about, and no fact. The ids are for the handlers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from gate.rules.action import Action, Class, Json, Verdict, Vote
from gate.rules.audit import Line
from views import edit_form, preview, result_review_card, sampled
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
    rich,
    sentence,
    words,
)
from views.buttons import tagged
from views.card import about, confirmable, ending, head, waiting
from views.form_fields import Form
from views.outcome import SAID
from views.wording import may_confirm, moment

View = dict[str, Json]

TYPED = "typed"
EDIT = "edit"
REJECT = "reject"
FULL = "full"
GRANT = "grant"
ONLY_READS = "only_reads"
HELD_CHANGE = "held_change"
HELD_REJECT = "held_reject"
LOADING = "loading"
MESSAGE = "message"

PHRASE = "phrase"  # block and action id of the input of the typed modal
REASON = "reason"  # and of the rejection's
REASON_LENGTH = 500

VIEW_BLOCKS = 95
VIEW_BYTES = 240 * 1024
BLIND = "There is nothing here to confirm: the card says how it stands."
TOO_LONG = "This result is too long for Slack's input: it can be changed through the API, or rejected here."
DECIDED = "Its result does not wait for a review any more: the card says how it stands."
ANSWER = 30_000  # characters of a tool's answer, to begin with


def review(action: Action, votes: Sequence[Vote] = ()) -> View:
    """What its card shows, or where a phrase is needed the whole preview and the phrase; a message where it cannot be
    confirmed. `votes`: those on this version."""
    if not confirmable(action):
        return message(BLIND)
    blocks = _typed(action) if action.verdict is Verdict.TYPED else waiting(action, votes)
    return modal(TYPED, "Review", blocks, action, submit=action.preview.verb or "Confirm")


def _typed(action: Action) -> list[Block]:
    told = action.preview
    what = "destroys something" if action.cls is Class.DESTRUCTIVE else "cannot go by one click"
    return [
        sentence(f":warning: *This {what}.* Please read all of it."),
        head(action),
        context(mrkdwn(f"Asked by {mention(action.requester)}.")),
        *pack(preview.reviewed(told, action.cls)),
        *pack([*preview.warnings(told), *preview.consequences(told)]),
        *pack(preview.prose(action.prose)),
        rich(line(words("To go on, type exactly:", "bold")), *boxes(action.phrase)),
        field(PHRASE, "The phrase", {"type": "plain_text_input", "action_id": PHRASE}),
        context(mrkdwn(f"Expires {moment(action.expires_at)}.")),
    ]


def edit(action: Action, form: Form) -> View:
    """The form of the arguments."""
    blocks = edit_form.blocks(form)
    fields = any(block["type"] == "input" for block in blocks)
    note = sentence("Nothing runs yet: a changed call gets a new preview, and earlier votes are void.")
    return modal(EDIT, "Edit", [head(action), note, *blocks], action, "Preview again" if fields else "")


def reject(action: Action) -> View:
    element = {
        "type": "plain_text_input",
        "action_id": REASON,
        "multiline": True,
        "max_length": REASON_LENGTH,
    }
    hint = "People in the thread and the assistant will read it."
    blocks = [head(action), field(REASON, "Why not?", element, hint=hint)]
    return modal(REJECT, "Reject", blocks, action, "Reject")


def result_change(action: Action) -> View:
    """What the call gave, to be changed for whoever gets it; a message where there is no room."""
    blocks = result_review_card.change(action) if action.under_review else []
    if not blocks:
        return message(TOO_LONG if action.under_review else DECIDED)
    return modal(HELD_CHANGE, "Change the result", [head(action), *blocks], action, "Release this")


def result_rejection(action: Action) -> View:
    """Why nobody is to get what the call gave."""
    if not action.under_review:
        return message(DECIDED)
    return modal(
        HELD_REJECT, "Reject the result", [head(action), *result_review_card.refuse(action)], action, "Reject"
    )


def full(action: Action, votes: Sequence[Vote] = (), asked: Sequence[Line] = ()) -> View:
    """Everything that is known of an action, in pages; what even a modal cannot hold is counted. `asked`: what servers
    asked a model for it."""
    told = action.preview
    facts = preview.whole(told) if preview.reviewable(action) else preview.short(told)
    blocks = [
        head(action),
        about(action),
        *_decision(action),
        *pack(facts),
        *pack([*preview.warnings(told), *preview.consequences(told), *preview.prose(action.prose)]),
        *pack(sampled.asked(asked)),
    ]
    answer = ANSWER
    while True:
        made = modal(FULL, "Everything", [*blocks, *ending(action, votes, answer)], action)
        if _holds(made) or answer < SAID:
            return made
        answer //= 2


def _decision(action: Action) -> list[Block]:
    """Why it is asked, by which rule, who may decide until when, and the digests that its receipt is made of."""
    rule = action.proposal.decision.rule
    who = f"May confirm: {may_confirm(action)}. Expires {moment(action.expires_at)}."
    digests = f"Definition {action.definition} · policy {action.proposal.policy} · receipt {action.receipt}"
    return [
        context(plain(f"Why: {action.reason} (rule: {rule})", 500)),
        context(mrkdwn(who)),
        context(plain(digests, 600)),
    ]


def loading() -> View:
    """Opened at once, because a trigger lives three seconds; replaced as soon as there is something to show."""
    return _view(LOADING, "One moment", [sentence("Fetching the latest…")])


def message(own: str) -> View:
    """One of our own sentences, and nothing to do but close."""
    return _view(MESSAGE, "Countersign", [sentence(own)])


def _holds(view: View) -> bool:
    return len(view["blocks"]) <= VIEW_BLOCKS and len(json.dumps(view)) <= VIEW_BYTES


def modal(kind: str, title: str, blocks: list[Block], action: Action, submit: str = "") -> View:
    """A window about an action; without `submit` there is nothing to do but close it."""
    view = _view(kind, title, blocks, "Cancel" if submit else "Close")
    view["private_metadata"] = tagged(kind, action.button)
    return {**view, "submit": plain(submit, 24)} if submit else view


def _view(kind: str, title: str, blocks: list[Block], close: str = "Close") -> View:
    return {
        "type": "modal",
        "callback_id": kind,
        "title": plain(title, 24),
        "blocks": blocks,
        "close": plain(close, 24),
    }
