"""Lists: what waits, what can be undone, what is on the record, help, and the App Home."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gate.rules.action import Json
from gate.rules.audit import Line
from gate.rules.ports import UndoEntry
from gate.tasks.pending import Undecided
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
from views.pending_entry import entry, top, where
from views.wording import NOBODY, moment, past

MOST = 12  # entries with buttons in one message; three blocks each
HOME = "home"

AUDIT_TEXT = 9_000  # characters of the record in one message

NO_RECORD = "Nothing is on the record yet."
NOTHING_WAITS = "Nothing waits for a decision."
ASK = "To have something done, mention me in a channel with what you need, or write to me directly."
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


def pending(waiting: Sequence[Undecided], viewer: str, page: int = 0) -> Message:
    """A page of what waits for one person, oldest first; the last one where there is no such page any more."""
    text = f"{len(waiting)} waiting" if waiting else NOTHING_WAITS
    return Message(text, [header("Waiting for a decision"), *_pending(waiting, viewer, page)])


def undo(entries: Sequence[UndoEntry]) -> Message:
    """What can be taken back, newest first, a button each."""
    text = f"{len(entries)} that can be undone" if entries else NOTHING_TO_UNDO
    return Message(text, [header("Can be undone"), *_undo(entries)])


def audit(lines: Sequence[Line]) -> Message:
    """The newest entries of the record, newest first, as many as one message holds."""
    if not lines:
        return Message(NO_RECORD, [sentence(NO_RECORD)])
    entries, room = [], AUDIT_TEXT
    for found in sorted(lines, key=lambda line: -line.seq):
        made = bullets([_audited(found)])
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
    waiting: Sequence[Undecided],
    viewer: str,
    entries: Sequence[UndoEntry],
    allowed: Sequence[Block] = (),
    page: int = 0,
) -> dict[str, Json]:
    """The App Home of one person: what waits for them, what they can take back, and how it works. `allowed`: what
    views/grants.py says of their grants. `page`: of what waits."""
    grants = [header("Allowed without asking"), *allowed, divider()] if allowed else []
    blocks = [
        header("Waiting for you"),
        *_pending(waiting, viewer, page),
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


def _pending(waiting: Sequence[Undecided], viewer: str, page: int) -> list[Block]:
    if not waiting:
        return [sentence(NOTHING_WAITS), context(mrkdwn(ASK))]
    last = (len(waiting) - 1) // MOST
    at = max(0, min(page, last))
    listed = waiting[at * MOST : (at + 1) * MOST]
    tops = Counter(top(one.record) for one in listed)
    shown = [block for one in listed for block in entry(one, viewer, alike=tops[top(one.record)] > 1)]
    turning = buttons.turning(at, last)
    row = [actions(*turning)] if turning else []
    return [*shown, *_rest(len(waiting), at * MOST + len(listed)), *row]


def _undo(entries: Sequence[UndoEntry]) -> list[Block]:
    if not entries:
        return [sentence(NOTHING_TO_UNDO)]
    return [*(block for one in entries[:MOST] for block in _undoable(one)), *_rest(len(entries))]


def _undoable(one: UndoEntry) -> list[Block]:
    action = one.action
    told = action.preview.summary
    shown = f"Undone: {told}" if one.undone else past(told) or f"Done: {told}"
    inverse = action.inverse
    until = f" · until {moment(inverse.until, '{date_short} {time}')}" if inverse and inverse.until else ""
    made = [
        rich(line(words(shown, "bold", most=200))),
        context(mrkdwn(f"{moment(one.at, '{date_short} {time}')} · {where(action)}{until}")),
    ]
    return made if one.undone else [*made, actions(buttons.undo(action), buttons.full(action))]


def _rest(count: int, shown: int = MOST) -> list[Block]:
    return [context(mrkdwn(f"… and {count - shown:,} more."))] if count > shown else []


def _audited(logged: Line) -> Block:
    """One line: when, what, who, which tool, how it ended. Arguments stay in the log."""
    said = logged.entry
    who = words(NOBODY[said.actor]) if NOBODY.get(said.actor) else person(said.actor)
    through = f" (API token {said.token})" if said.token else ""
    tool = f" · {said.tool}" if said.tool else ""
    ended = f" · {said.outcome or said.status}" if said.outcome or said.status else ""
    reason = f" · {said.reason}" if said.reason else ""
    refused = naming(clip(inline(reason), 200)) if said.event == "turned_away" else []  # why: our own words
    return line(
        words(f"#{logged.seq} {logged.at:%Y-%m-%d %H:%M:%S} "),
        words(said.event, "bold", most=40),
        words(" by "),
        who,
        words(f"{through}{tool}{ended}{'' if refused else reason}", most=200),
        *refused,
    )
