"""The card of several actions, the calls of one reply: each with its own buttons, and one *Confirm all*."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gate.rules import batch_receipt
from gate.rules.action import OWN_CARD, Action, Verdict, Vote
from gate.rules.action_states import State
from views import buttons
from views import card as of_action
from views.block_kit import (
    Block,
    Message,
    actions,
    context,
    escaped,
    header,
    mention,
    mrkdwn,
    pack,
    plain,
    sentence,
    weight,
)
from views.wording import TITLES

ROOM = 11_500  # characters of rich text of all parts together, of the 12,000 of a message
BLOCKS = 46  # blocks of all parts together, of the 50 of a message
AROUND = 2  # blocks of a part beside what is shown: who decides, and the buttons
TEXT = 300
NUMBERS = 12


def card(members: Sequence[Action], votes: Sequence[Vote] = ()) -> Message:
    """The card of a group as it stands. `votes`: all votes on all of its actions."""
    shown = _fitted(members)
    parts = [
        block
        for number, action in enumerate(members, 1)
        for block in of_action.part(
            number, action, [vote for vote in votes if vote.action == action.id], action.id in shown
        )
    ]
    asked = f"Asked by {mention(members[0].requester)}. Each is a decision of its own."
    return Message(
        _text(members),
        [
            header(headline(members)),
            context(
                mrkdwn(asked), *(plain(f"Assumed: {told}", 300) for told in of_action.assumed(members[0]))
            ),
            *parts,
            *_together(members, shown),
        ],
    )


def headline(members: Sequence[Action]) -> str:
    """How many there are, and how they stand: `3 changes prepared`, `3 changes: 1 prepared, 2 done`."""
    count = "1 change" if len(members) == 1 else f"{len(members)} changes"
    here = Counter(TITLES[action.state].lower() for action in members if action.shares)
    apart = len(members) - sum(here.values())
    stand = [f"{here[name]} {name}" for name in dict.fromkeys(map(str.lower, TITLES.values())) if here[name]]
    stand += [f"{apart} on its own card" if apart == 1 else f"{apart} on their own cards"] if apart else []
    if len(stand) == 1 and not apart:
        return f"{count} {next(iter(here))}"
    return f"{count}: {', '.join(stand)}"


def in_part(members: Sequence[Action]) -> frozenset[str]:
    """The ids of those that could go by one click, but of which this card has no room to show all."""
    shown = _fitted(members)
    return frozenset(a.id for a in members if batch_receipt.is_coverable(a) and a.id not in shown)


def _text(members: Sequence[Action]) -> str:
    """The top-level text: the headline, and what each would do."""
    start = f"{headline(members)}: "
    told = "; ".join(action.preview.summary for action in members if not action.private)
    return start + escaped(told, TEXT - len(start))


def _fitted(members: Sequence[Action]) -> frozenset[str]:
    """The actions that are shown whole: those that one click can decide first, the shortest of them first."""
    numbered = list(enumerate(members, 1))
    least = [of_action.short(number, action) for number, action in numbered]
    room = ROOM - sum(map(_weight, least))
    blocks = BLOCKS - sum(len(pack(part)) + AROUND for part in least)
    wanted = []
    for (number, action), brief in zip(numbered, least, strict=True):
        if of_action.fills(action):
            full = of_action.whole(number, action)
            more = (_weight(full) - _weight(brief), len(pack(full)) - len(pack(brief)))
            wanted.append((_place(action), *more, number, action.id))
    shown = set()
    for _, characters, more_blocks, _, action_id in sorted(wanted):
        if characters <= room and more_blocks <= blocks:
            room, blocks = room - characters, blocks - more_blocks
            shown.add(action_id)
    return frozenset(shown)


def _weight(part: Sequence[Block]) -> int:
    return sum(map(weight, part))


def _place(action: Action) -> int:
    if action.state is not State.PREPARED:
        return 2
    return 0 if action.verdict is Verdict.CONFIRM else 1


def _together(members: Sequence[Action], shown: frozenset[str]) -> list[Block]:
    """What one yes to several covers, said before it is given. A single one has its own button."""
    numbered = list(enumerate(members, 1))
    covered = [
        (n, action) for n, action in numbered if batch_receipt.is_coverable(action) and action.id in shown
    ]
    waiting = [n for n, action in numbered if action.state is State.PREPARED and action.shares]
    if len(covered) < 2:
        return []
    numbers = [n for n, _ in covered]
    which = f"all {len(covered)}" if numbers == waiting else f"numbers {_listed(numbers)}"
    rest = [n for n in waiting if n not in numbers]
    left = f" {_listed(rest, 'Number')} {'is' if len(rest) == 1 else 'are'} not part of it." if rest else ""
    told = f"*Confirm all* is your yes to {which}, exactly as shown here.{left}"
    group = members[0].group.removesuffix(OWN_CARD)
    return [sentence(told), actions(buttons.confirm_all(group, [action for _, action in covered]))]


def _listed(numbers: Sequence[int], word: str = "") -> str:
    """`2`, `1 and 2`, `1, 2 and 3`, after a word that agrees with how many they are."""
    names = [str(number) for number in numbers]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{word}{'s' if len(names) > 1 else ''} {listed}" if word else listed
