"""The buttons: each id beside what it looks like. A button carries `Action.button` and no fact.

`views/card.py` says when an action's card has it, and `handlers/slack/buttons.py` what a press does.
"""

from __future__ import annotations

from collections.abc import Sequence

from gate.rules import batch_receipt
from gate.rules.action import Action, Verdict
from gate.rules.action_states import State
from gate.rules.grants import never_grantable_reason
from gate.rules.policy import is_only_claimed
from views.block_kit import Block, button, option, overflow

CONFIRM = "confirm"
REVIEW = "review"
EDIT = "edit"
CANCEL = "cancel"
UNDO = "undo"
RENEW = "renew"
HAPPENED = "settle_happened"
NOT_HAPPENED = "settle_not"
CHECK = "settle_check"
FULL = "full"
MORE = "more"  # the overflow menu; its options are REJECT, FULL, GRANT and ONLY_READS
REJECT = "reject"
GRANT = "grant"
ONLY_READS = "only_reads"
REVOKE = "revoke"  # of a grant, in a list

EARLIER = "pending_earlier"  # of a list: its page before, and its next one
LATER = "pending_later"

CONFIRM_ALL = "confirm_all"  # on a card of several
APART = "show_apart"
RELEASE = "held_release"  # of a result that waits for its review; the other two open windows
CHANGE = "held_change"
REFUSE = "held_reject"


def confirm(action: Action) -> Block:
    return button("Confirm", CONFIRM, action.button, "primary")


def confirm_all(group: str, covered: Sequence[Action]) -> Block:
    """A yes to each of exactly these."""
    return button("Confirm all", CONFIRM_ALL, batch_receipt.batch_button(group, covered), "primary")


def apart(action: Action) -> Block:
    return button("Show on its own card", APART, action.button)


def review(action: Action) -> Block:
    return button("Review…", REVIEW, action.button, "danger")


def confirm_whole(action: Action) -> Block:
    """For where not all of it is shown: the window that shows all of it, and takes the yes."""
    typed = action.verdict is Verdict.TYPED
    return review(action) if typed else button("Confirm…", REVIEW, action.button, "primary")


def reject(action: Action) -> Block:
    return button("Reject…", MORE, tagged(REJECT, action.button))


def edit(action: Action) -> Block:
    return button("Edit", EDIT, action.button)


def cancel(action: Action) -> Block:
    return button("Cancel", CANCEL, action.button)


def undo(action: Action) -> Block:
    return button("Undo", UNDO, action.button)


def renew(action: Action) -> Block:
    return button("Ask again", RENEW, action.button, "primary")


def full(action: Action) -> Block:
    return button("Show everything", FULL, action.button)


def settle(action: Action, check: bool) -> list[Block]:
    """The answers to "did it happen?"; *Check* only where a read can tell."""
    made = [
        button("It happened", HAPPENED, action.button),
        button("It did not", NOT_HAPPENED, action.button),
    ]
    return [*made, button("Check", CHECK, action.button)] if check else made


def result_review(action: Action) -> list[Block]:
    """The answers to a result that waits for its review."""
    return [
        button("Release result", RELEASE, action.button, "primary"),
        button("Change result…", CHANGE, action.button),
        refuse(action),
    ]


def refuse(action: Action) -> Block:
    return button("Reject result…", REFUSE, action.button)


def more(action: Action) -> Block:
    choices = [
        option("Reject with a reason…", tagged(REJECT, action.button)),
        option("Show everything", tagged(FULL, action.button)),
    ]
    if action.state is State.PREPARED and not never_grantable_reason(action):
        choices.append(option("Always allow in this thread…", tagged(GRANT, action.button)))
    if action.state is State.PREPARED and is_only_claimed(action.proposal.decision):
        choices.append(option("It only reads: do not ask again…", tagged(ONLY_READS, action.button)))
    return overflow(MORE, choices)


def revoke(grant_id: str) -> Block:
    return button("Take back", REVOKE, f"{grant_id}.1.0")


def turning(page: int, last: int) -> list[Block]:
    """From one page of a list to those beside it, counted from 0; a button carries the page that it leads to."""
    earlier = [button("Show earlier ones", EARLIER, str(page - 1))] if page > 0 else []
    return [*earlier, button("Show more", LATER, str(page + 1))] if page < last else earlier


def tagged(kind: str, button_value: str) -> str:
    """What an option or a modal carries: which choice, and `Action.button`."""
    return f"{kind}:{button_value}"


def untagged(value: str) -> tuple[str, str]:
    """The choice and the button's value again; ("", value) when there is no choice in it."""
    kind, colon, rest = value.partition(":")
    return (kind, rest) if colon else ("", value)
