"""What truly became of the calls of a turn: told to the model, told to people, and what is not asked again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from gate.action import Json
from gate.canonical import BadArguments, canonical
from gate.claims import claims_outcome
from gate.talk import Brief, Call, Exchange, Mode, Propose, Say, Told, Turn
from tools.dialogue import loaded
from tools.marks import Cut, Marks

Reads = Callable[[Call], bool]
STATUSES = {
    "succeeded": "It ran, and this is its answer.",
    "undone": "It ran, and was taken back afterwards.",
    "failed": "It was tried and failed. What it says:",
    "denied": "It was not allowed and did not run.",
    "refused": "It was refused by code and did not run.",
    "rejected": "A person said no. It did not run, and is not to be tried again as it is.",
    "cancelled": "It was withdrawn. It did not run.",
    "expired": "Nobody decided in time. It did not run.",
    "unknown": "Nobody knows whether it happened. It must not be tried again before somebody has looked.",
    "waiting": "It waits for a person and has not run.",
    "held": "It ran. What it gave is not known here: a person has to look at it first.",
    "dropped": "It ran. A person rejected what it gave, so that is dropped; what it changed is still changed.",
}
NOES = frozenset({"rejected", "denied", "cancelled"})
PATIENCE = 2  # replies after a no, before the turn ends
SHOWN = 200  # characters of a reason or a result in a statement
WORDS = {
    "succeeded": "was done",
    "undone": "was done and taken back",
    "failed": "failed",
    "denied": "was not allowed",
    "refused": "was refused",
    "rejected": "was rejected",
    "cancelled": "was cancelled",
    "expired": "expired: nobody decided in time",
    "unknown": "may or may not have happened",
    "waiting": "waits for a decision",
    "held": "was done; its result waits for a review",
    "dropped": "was done; its result was rejected",
}
LEFT_OUT = "The planner's own words told it otherwise, so they are left out."
NOTHING = "Nothing was changed for this message."


def told_text(told: Told, requester: str, marks: Marks, cut: Cut) -> str:
    """The result of a call for the model: status and deciders by code, the rest as data.

    The reason of the requester's own no is their own words.
    """
    lines = [f"status: {told.status}. {STATUSES.get(told.status, '')}".rstrip()]
    if told.args is not None:
        who = f"<@{told.by}>" if told.by else "a person"
        lines.append(f"Edited by {who} before it was decided. The arguments were, in the end:")
        lines.append(marks.data("arguments after the edit", cut(json.dumps(told.args, ensure_ascii=False))))
    elif told.by:
        lines.append(f"Decided by <@{told.by}>.")
    if told.text:
        own = told.status in NOES and told.by == requester
        lines.append(marks.words(told.text) if own else marks.data(f"result {told.status}", cut(told.text)))
    return "\n".join(lines)


def settled(exchange: Exchange) -> Iterator[tuple[Call, Told]]:
    """Each proposed call with what became of it; `waiting` where that was not written down."""
    if isinstance(exchange.reply, Propose):
        by_place = {told.call: told for told in exchange.told}
        for place, call in enumerate(exchange.reply.calls):
            yield call, by_place.get(place, Told(place, "waiting", ""))


def statement(turn: Turn, reads: Reads) -> str:
    """What truly happened to the changes of this turn, in plain words."""
    lines = [
        f"• `{call.server}.{call.tool}` {_happened(told)}"
        for exchange in turn.exchanges
        for call, told in settled(exchange)
        if not reads(call)
    ]
    return "\n".join(["What truly happened:", *lines]) if lines else NOTHING


def _happened(told: Told) -> str:
    by = f" by <@{told.by}>" if told.by and told.status in NOES else ""
    reason = f": {_short(told.text)}" if told.text and told.status in (*NOES, "failed", "refused") else "."
    return f"{WORDS.get(told.status, told.status)}{by}{reason}"


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= SHOWN else plain[: SHOWN - 1] + "…"


def supported(text: str, turn: Turn, reads: Reads) -> bool:
    """Whether code may post these words of the planner's: they claim no outcome, or every change of this turn
    truly succeeded."""
    all_told = [pair for exchange in turn.exchanges for pair in settled(exchange)]
    changes = [told.status for call, told in all_told if not reads(call)]
    has_read = any(reads(call) and told.status == "succeeded" for call, told in all_told)
    if changes and all(status == "succeeded" for status in changes):
        return True
    return not claims_outcome(text, recounting=not changes and (has_read or turn.mode is Mode.TALK))


def truthful(text: str, turn: Turn, reads: Reads) -> Say:
    """The planner's words; where they claim an outcome that was not, what truly happened instead."""
    if supported(text, turn, reads):
        return Say(text)
    return Say(f"{statement(turn, reads)}\n{LEFT_OUT}")


def refusals(turn: Turn, brief: Brief) -> dict[str, str]:
    """Calls that are not to be asked again in this task, by `key`, with the reason.

    What the requester says afterwards lifts it: then they may be asked anew.
    """
    found: dict[str, str] = {}
    for other in (*brief.earlier, turn):
        if other.id != turn.id and (not turn.task or other.task != turn.task or other.text != turn.text):
            continue
        for exchange in other.exchanges:
            memo = loaded(exchange.memo)
            if memo and memo.heard:
                found.clear()
            found |= {key(call): _reason(told) for call, told in settled(exchange) if told.status in NOES}
    return {} if news(turn, brief) else found


def _reason(told: Told) -> str:
    return f"it was {told.status}{f' by <@{told.by}>' if told.by else ''}"


def key(call: Call) -> str:
    """What makes two calls the same one."""
    return f"{call.server}.{call.tool} {_bytes(call.args)}"


def _bytes(args: Mapping[str, Json]) -> str:
    try:
        return canonical(dict(args)).decode()
    except BadArguments:
        return repr(args)


def news(turn: Turn, brief: Brief) -> tuple[str, ...]:
    """Ids of instructions that no reply of this turn was given yet."""
    memos = [memo for exchange in turn.exchanges if (memo := loaded(exchange.memo))]
    heard = {one for memo in memos for one in memo.heard}
    return tuple(one.id for one in brief.instructions if not one.used and one.id not in heard)


def spent(turn: Turn, brief: Brief, reads: Reads) -> bool:
    """Whether the turn is to end: PATIENCE replies came after a no, and no change that people agreed to, nor a
    new word of the requester."""
    since = -1
    for exchange in turn.exchanges:
        memo = loaded(exchange.memo)
        since = -1 if memo and memo.heard else since
        pairs = [(call, told.status) for call, told in settled(exchange)]
        if since >= 0:
            since += 1
        if any(status == "succeeded" and not reads(call) for call, status in pairs):
            since = -1
        elif since < 0 and any(status in NOES for _, status in pairs):
            since = 0
    return since >= PATIENCE and not news(turn, brief)
