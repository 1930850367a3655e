"""The sentences people read: titles by state, classes, who decided, times and sizes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from gate.rules.action import Action, Affected, CallClass, Verdict, Vote
from gate.rules.action_states import State
from gate.rules.confidence import admitted_failure
from gate.rules.permissions import deciders
from gate.sentences.past_tense import past
from gate.sentences.plurals import counted
from views.block_kit import mention, mentions

S = State
# "Prepared" before, "Done" or the past tense only after it is done: no other word may promise more.
TITLES = {
    S.PREPARED: "Prepared",
    S.APPROVED: "Working",
    S.EXECUTING: "Working",
    S.SUCCEEDED: "Done",
    S.FAILED: "Failed",
    S.UNKNOWN: "Not known whether it happened",
    S.CANCELLED: "Cancelled",
    S.REJECTED: "Rejected",
    S.EXPIRED: "Expired",
    S.SUPERSEDED: "Replaced",
    S.UNDOING: "Undoing",
    S.UNDONE: "Undone",
}
UNDO_TITLES = {
    **TITLES,
    S.PREPARED: "Prepared to undo",
    S.APPROVED: "Undoing",
    S.EXECUTING: "Undoing",
    S.SUCCEEDED: "Undone",
    S.FAILED: "Undo failed",
    S.UNKNOWN: "Not known whether the undo happened",
    S.CANCELLED: "Undo cancelled",
    S.REJECTED: "Undo rejected",
    S.EXPIRED: "Undo expired",
}
CLASSES = {
    CallClass.READ: "reads only",
    CallClass.WRITE: "changes something",
    CallClass.DESTRUCTIVE: "destructive",
    CallClass.UNKNOWN: "not reviewed by an operator",
}
# What a final card says of the world. Of a failure only the outcome can tell.
SEQUELS = {
    S.CANCELLED: "Nothing ran.",
    S.REJECTED: "Nothing ran.",
    S.EXPIRED: "Nobody confirmed it in time. Nothing ran.",
    S.SUPERSEDED: "Something else was asked for instead. Nothing ran.",
    S.UNDONE: "It has been taken back since.",
}
DELETING = ("delete", "remove", "purge")
KIND = re.compile(r"[a-z]{1,20}")
NOBODY = {"": "", "system": "the system", "policy": "the policy"}


def title(action: Action) -> str:
    if action.state is S.SUCCEEDED and action.under_review:
        return "Done, its result waits for review"
    if admits_failure(action):
        return "Its tool says that the undo failed" if action.undoes else "Its tool says that it failed"
    return (UNDO_TITLES if action.undoes else TITLES)[action.state]


def admits_failure(action: Action) -> bool:
    """Whether the result of what went through says in words that nothing came of it."""
    outcome = action.outcome
    well = action.state is S.SUCCEEDED and not action.under_review and outcome is not None
    return bool(well and outcome and admitted_failure(outcome.text, outcome.structured))


def effect(action: Action) -> str:
    """The first line: what it would do, or did, and before that how it stands where that is anything else."""
    told = action.preview.summary
    if action.state is S.PREPARED:
        return f"Undo: {told}" if action.undoes else told
    plainly = action.state is S.SUCCEEDED and not action.under_review and not action.undoes
    plainly = plainly and not admits_failure(action)
    return (past(told) if plainly else "") or f"{title(action)}: {told}"


def top_line(action: Action) -> str:
    """The same where nothing around it says that it waits: in notifications and among other lines."""
    waits = action.state is S.PREPARED
    return f"{title(action)}: {action.preview.summary}" if waits else effect(action)


def person(user: str) -> str:
    """Who acted, as a mention where it was somebody."""
    return NOBODY[user] if user in NOBODY else mention(user)


def confirmers(action: Action, votes: Sequence[Vote]) -> tuple[str, ...]:
    """Who said yes to this version, in order."""
    return tuple(dict.fromkeys(v.person for v in votes if v.yes and v.version == action.version))


def decided(action: Action, votes: Sequence[Vote]) -> str:
    """Who decided, in one sentence; "" while nobody has."""
    by = person(action.decided_by)
    if action.state is S.PREPARED or action.state in (S.EXPIRED, S.SUPERSEDED):
        return ""
    if action.state in (S.CANCELLED, S.REJECTED):
        return f"{TITLES[action.state]} by {by}." if by and not action.resolution.own else ""
    yes = confirmers(action, votes)
    if not yes:
        return f"Decided by {by}." if by else ""
    settled = f" {by} said what became of it." if by and action.decided_by not in yes else ""
    if action.grant:
        return (
            f"Nobody was asked: allowed in this thread by {mentions(yes)} (grant `{action.grant}`).{settled}"
        )
    return f"Confirmed by {mentions(yes)}.{settled}"


def decides_alone(action: Action) -> bool:
    """Whether it is the requester who decides, and nobody besides."""
    return not action.approvers.named and action.approvers.needed <= 1


def may_confirm(action: Action) -> str:
    """Who may confirm; the requester only when that is a Slack account."""
    return mention(action.requester) if decides_alone(action) else deciders(action)


def signed(action: Action, votes: Sequence[Vote]) -> str:
    """Who let it run and when it was done: `@ann, 9:42`; "" where there is more to say of that."""
    yes = confirmers(action, votes)
    settled = yes and action.decided_by and action.decided_by not in yes
    by = mentions(yes) if yes else person(action.decided_by)
    if action.grant or settled or not by:
        return ""
    at = action.outcome.at if action.outcome else None
    return f"{by}, {moment(at, '{time}')}" if at else by


def amount(affected: Sequence[Affected]) -> str:
    """How many things, counted by their kind: `1 file`, `2 files and 1 folder`, `3 things`."""
    kinds = Counter(thing.kind for thing in affected)
    if "other" in kinds or not all(KIND.fullmatch(kind) for kind in kinds):
        return f"{len(affected):,} thing{'s' * (len(affected) != 1)}"
    named = [counted(count, kind) for kind, count in sorted(kinds.items())]
    return " and ".join(filter(None, [", ".join(named[:-1]), *named[-1:]]))


def reversible(undo: str) -> str:
    """Whether it can be taken back, as a part of a sentence of ours and of the recipe's words."""
    word, _, rest = undo.partition(":")
    if word == "no":
        return f"cannot be undone:{rest}" if rest else "cannot be undone"
    if word == "partly":
        return f"can be undone in part:{rest}"
    return f"can be undone{undo.removeprefix('yes').replace(',', '', 1)}" if undo.startswith("yes") else undo


def loses(action: Action) -> str:
    """Of what destroys: what is lost and for how long it can be had back."""
    told = action.preview
    deletes = bool(told.affected) and told.verb.lower() in DELETING
    lost = [f"This deletes {amount(told.affected)}."] if deletes else []
    back = [f"{'It' if lost else 'This'} {reversible(told.undo)}."] if told.undo else []
    if lost and told.undo.startswith("yes, for "):
        back = [f"Undo {told.undo.removeprefix('yes, ')}."]
    kept = [] if told.undo.startswith("yes") or not told.recoverable else [f"{told.recoverable}."]
    return " ".join([*lost, *back, *kept]) or "This destroys something."


def tally(action: Action, votes: Sequence[Vote]) -> str:
    """How many of the needed people have said yes; "" where one is enough."""
    if action.approvers.needed <= 1:
        return ""
    yes = confirmers(action, votes)
    who = f": {mentions(yes)}" if yes else ""
    return f"{len(yes)} of {action.approvers.needed} have confirmed{who}."


def why(action: Action) -> str:
    """The policy's reason where people should know it, else "": a destructive action would be asked about anyway."""
    gated = action.always_gated and action.cls is not CallClass.DESTRUCTIVE
    unusual = gated or action.cls is CallClass.UNKNOWN or action.verdict is Verdict.DENY
    return action.reason if unusual else ""


def moment(at: datetime, form: str = "{time_secs}") -> str:
    """A time in the reader's own zone; `form` in Slack's tokens."""
    utc = at.astimezone(UTC)
    return f"<!date^{int(utc.timestamp())}^{form}|{utc:%Y-%m-%d %H:%M:%S} UTC>"


def size(count: int | None) -> str:
    """Bytes for people: `512 B`, `1.2 KB`; `?` when not known."""
    if count is None:
        return "?"
    amount, unit = float(count), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
