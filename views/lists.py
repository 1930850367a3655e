"""Lists: what waits, what can be undone, what is on the record, help, and the App Home."""

from __future__ import annotations

from collections.abc import Sequence

from gate.rules.action import Action, Class, Json
from gate.rules.audit import Line
from gate.rules.ports import UndoEntry
from views import buttons
from views.block_kit import (
    Block,
    Message,
    actions,
    bullets,
    clip,
    coded,
    context,
    divider,
    escaped,
    header,
    inline,
    line,
    mention,
    mrkdwn,
    naming,
    pack,
    parts,
    person,
    rich,
    sentence,
    weight,
    words,
)
from views.past_tense import past
from views.wording import CLASSES, NOBODY, effect, moment

MOST = 12  # entries with buttons in one message; three blocks each
HOME = "home"

AUDIT_TEXT = 9_000  # characters of the record in one message

NO_RECORD = "Nothing is on the record yet."
NOTHING_WAITS = "Nothing waits for a decision."
RELEASE = "release or change its result on its card"
NOTHING_TO_UNDO = "There is nothing that I could take back."
HOW_TO = (
    "Mention me in a channel and say what you want done, or write to me directly.\n"
    "• What only reads runs at once.\n"
    "• What changes something waits for you: I show what would happen, you *Confirm*, *Edit* or *Cancel*.\n"
    "• What destroys something also wants a phrase typed.\n"
    "• What is done can often be taken back with *Undo*."
)
COMMANDS = (
    "`/pending` what waits for you, `/undo` what can be taken back, `/audit` the record (`/audit 20`: twenty "
    "entries), `/countersign help` this text.\n"
    "Inside threads mention me instead: `pending`, `undo`, `audit`, `cancel`, `status`, `stop`, `help`, and `grants`: "
    "what runs there unasked.\n"
    "A plain “yes” or “no” in the thread answers a single waiting action that is not destructive. `mode manual`, "
    "`mode auto` or `mode confidence 0.9` says how a task goes on after each step."
)


def pending(waiting: Sequence[Action]) -> Message:
    """What waits, oldest first. To confirm or to release, people go to the card, where all of it is shown."""
    count = len(_asked(waiting))
    text = f"{count} waiting" if count else NOTHING_WAITS
    return Message(text, [header("Waiting for a decision"), *_pending(_asked(waiting))])


def _asked(waiting: Sequence[Action]) -> list[Action]:
    """Without an undo in its first version: its target is being looked at, and nobody was asked anything."""
    return [action for action in waiting if not action.undoes or action.version > 1]


def undo(entries: Sequence[UndoEntry]) -> Message:
    """What can be taken back, newest first, a button each."""
    text = f"{len(entries)} that can be undone" if entries else NOTHING_TO_UNDO
    return Message(text, [header("Can be undone"), *_undo(entries)])


def audit(lines: Sequence[Line]) -> Message:
    """The newest entries of the record, newest first, as many as one message holds."""
    if not lines:
        return Message(NO_RECORD, [sentence(NO_RECORD)])
    entries, room = [], AUDIT_TEXT
    for entry in sorted(lines, key=lambda line: -line.seq):
        made = bullets([_audited(entry)])
        room -= weight(made)
        if room < 0:
            break
        entries.append(made)
    rest = _rest(len(lines), len(entries))
    return Message(f"{len(entries)} entries of the record", [header("On the record"), *pack(entries), *rest])


def help_text(guide: str = "") -> Message:
    """What I do, the commands, and what a planner says of its servers."""
    head = "How to work with me"
    return Message(head, [header(head), sentence(HOW_TO), sentence(COMMANDS), *_guide(guide)])


def guided(guide: str) -> Message:
    """Help about one server."""
    return Message(escaped(" ".join(guide.split()), 300), _guide(guide))


def _guide(text: str) -> list[Block]:
    """Names in it come from servers, and examples from a file: nothing in them is parsed."""
    return pack([line(*coded(part)) for part in parts(text)]) if text else []


def home(
    waiting: Sequence[Action], entries: Sequence[UndoEntry], allowed: Sequence[Block] = ()
) -> dict[str, Json]:
    """The App Home of one person: what waits for them, what they can take back, and how it works. `allowed`: what
    views/grants.py says of their grants."""
    grants = [header("Allowed without asking"), *allowed, divider()] if allowed else []
    blocks = [
        header("Waiting for you"),
        *_pending(_asked(waiting)),
        divider(),
        header("Your history"),
        *_undo(entries),
        divider(),
        *grants,
        header("How to work with me"),
        sentence(HOW_TO),
        sentence(COMMANDS),
    ]
    return {"type": "home", "callback_id": HOME, "blocks": blocks}


def _pending(waiting: Sequence[Action]) -> list[Block]:
    if not waiting:
        return [sentence(NOTHING_WAITS)]
    shown = [block for action in waiting[:MOST] for block in _waits(action)]
    return [*shown, *_rest(len(waiting))]


def _waits(action: Action) -> list[Block]:
    until = RELEASE if action.held else f"expires {moment(action.expires_at)}"
    kind = "" if action.cls is Class.WRITE else f" · *{CLASSES[action.cls]}*"
    about = f"{_where(action)}{kind} · {until}"
    no = buttons.refuse(action) if action.held else buttons.cancel(action)
    return [
        rich(line(words(effect(action), "bold", most=200))),
        context(mrkdwn(f"Asked by {mention(action.requester)} {about}")),
        actions(buttons.full(action), no),
    ]


def _undo(entries: Sequence[UndoEntry]) -> list[Block]:
    if not entries:
        return [sentence(NOTHING_TO_UNDO)]
    return [*(block for entry in entries[:MOST] for block in _undoable(entry)), *_rest(len(entries))]


def _undoable(entry: UndoEntry) -> list[Block]:
    action = entry.action
    told = action.preview.summary
    shown = f"Undone: {told}" if entry.undone else past(told) or f"Done: {told}"
    inverse = action.inverse
    until = f" · until {moment(inverse.until, '{date_short} {time}')}" if inverse and inverse.until else ""
    made = [
        rich(line(words(shown, "bold", most=200))),
        context(mrkdwn(f"{moment(entry.at, '{date_short} {time}')} · {_where(action)}{until}")),
    ]
    return made if entry.undone else [*made, actions(buttons.undo(action), buttons.full(action))]


def _where(action: Action) -> str:
    channel = action.session.channel
    return f"in <#{channel}>" if channel[:1] in ("C", "G") else "in a direct message"


def _rest(count: int, shown: int = MOST) -> list[Block]:
    return [context(mrkdwn(f"… and {count - shown:,} more."))] if count > shown else []


def _audited(entry: Line) -> Block:
    """One line: when, what, who, which tool, how it ended. Arguments stay in the log."""
    said = entry.entry
    who = words(NOBODY[said.actor]) if NOBODY.get(said.actor) else person(said.actor)
    through = f" (API token {said.token})" if said.token else ""
    tool = f" · {said.tool}" if said.tool else ""
    ended = f" · {said.outcome or said.status}" if said.outcome or said.status else ""
    reason = f" · {said.reason}" if said.reason else ""
    refused = naming(clip(inline(reason), 200)) if said.event == "turned_away" else []  # why: our own words
    return line(
        words(f"#{entry.seq} {entry.at:%Y-%m-%d %H:%M:%S} "),
        words(said.event, "bold", most=40),
        words(" by "),
        who,
        words(f"{through}{tool}{ended}{'' if refused else reason}", most=200),
        *refused,
    )
