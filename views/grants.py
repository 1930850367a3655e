"""Grants as people see them: the window in which one is given, and the list from which it is taken back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from gate.rules.action import Action
from gate.rules.grants import HOURS, Grant, Pattern, describe_patterns, tool_of
from views import buttons, preview
from views.block_kit import (
    Block,
    Message,
    actions,
    context,
    field,
    header,
    line,
    mention,
    mrkdwn,
    option,
    pack,
    rich,
    select,
    sentence,
    words,
)
from views.card import about, head
from views.modals import GRANT, View, modal
from views.wording import moment

WHICH, HOW_LONG = "grant_which", "grant_hours"  # block and action ids of the two menus
MOST = 12  # entries with buttons in one message; three blocks each
NONE = "Nothing is allowed here without asking."
ABOUT = (
    "*Allow* confirms this call, and lets later ones of this kind run without asking: yours, in this thread, for as "
    "long as you say. What destroys something, or is always gated, asks each time all the same; so does everything "
    "once this thread has read something from outside, once a model has read anything in it, or once the tool has "
    "changed."
)


def window(action: Action, kinds: Sequence[Sequence[Pattern]]) -> View:
    """What may be granted on an action, whose whole preview stands above."""
    which = [option(_label(kind), str(place)) for place, kind in enumerate(kinds)]
    hours = [option("1 hour" if count == 1 else f"{count} hours", str(count)) for count in HOURS]
    told = action.preview
    blocks = [
        head(action),
        about(action),
        *pack(preview.whole(told)),
        *pack([*preview.warnings(told), *preview.consequences(told)]),
        sentence(ABOUT),
        field(WHICH, "Which calls?", select(WHICH, which, which[0])),
        field(HOW_LONG, "For how long?", select(HOW_LONG, hours, hours[0])),
    ]
    return modal(GRANT, "Always allow", blocks, action, "Allow")


def _label(kind: Sequence[Pattern]) -> str:
    told = describe_patterns(kind)
    return told[:1].upper() + told[1:]


def listed(grants: Sequence[Grant], void: Collection[str] = ()) -> Message:
    """What stands, the newest first, a button each. `void`: the ids of those whose tool has changed since."""
    count = len(grants)
    text = f"{count} that run without asking" if count else NONE
    return Message(text, [header("Allowed without asking"), *entries(grants, void)])


def entries(grants: Sequence[Grant], void: Collection[str] = ()) -> list[Block]:
    if not grants:
        return [sentence(NONE)]
    left = len(grants) - MOST
    more = [context(mrkdwn(f"… and {left:,} more."))] if left > 0 else []
    return [*(block for grant in grants[:MOST] for block in _entry(grant, grant.id in void)), *more]


def _entry(grant: Grant, void: bool) -> Iterable[Block]:
    changed = " · *its tool has changed since, so it covers nothing*" if void else ""
    until = moment(grant.until, "{date_short} {time}")
    given = f"Given by {mention(grant.user)} for their own calls · until {until}{changed}"
    return (
        rich(
            line(
                words(f"{tool_of(grant)} ", "bold", most=120),
                words(describe_patterns(grant.patterns), most=200),
            )
        ),
        context(mrkdwn(given)),
        actions(buttons.revoke(grant.id)),
    )
