"""The outcomes of the calls of a turn, as text for the model and for people, and which calls are not repeated."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from gate.rules.action import CallClass
from gate.rules.planner_port import (
    CODE,
    Call,
    CallReport,
    Exchange,
    Mode,
    PlannerContext,
    Propose,
    Say,
    Turn,
)
from gate.rules.steps import Step, StepState
from gate.sentences.outcome_claims import claims_outcome
from gate.sentences.past_tense import past
from tools.model.model_port import load_memo
from tools.model.prompt import Fence, Shortener

NameOf = Callable[[Call], str]
IsRead = Callable[[Call], bool]
STATUS_SENTENCES = {
    "succeeded": "It ran. Its answer:",
    "undone": "It ran, and was taken back afterwards.",
    "failed": "It was tried and failed. What it says:",
    "denied": "It was not allowed and did not run.",
    "refused": "It was refused by code and did not run.",
    "withheld": "It is private to one person and did not run.",
    "rejected": "A person said no. It did not run, and is not to be tried again as it is.",
    "cancelled": "It was withdrawn. It did not run.",
    "expired": "Nobody decided in time. It did not run.",
    "unknown": "Nobody knows whether it happened. It must not be tried again before somebody has looked.",
    "waiting": "It waits for a person and has not run.",
    "held": "It ran. What it gave is not known here: a person has to look at it first.",
    "dropped": "It ran. A person rejected what it gave, so that is dropped; what it changed is still changed.",
}
OPEN = ("waiting", "held")
REFUSALS = frozenset({"rejected", "denied", "cancelled"})
REPLIES_AFTER_REFUSAL = 2  # replies of the model after a refusal, before the turn ends
MOST_FAILURES = 2  # of the same call, after which a turn does not make it again
MAX_SHOWN = 200  # characters of a reason or a result in a summary
STATUS_WORDS = {
    "failed": "failed",
    "denied": "was not allowed",
    "refused": "was refused",
    "withheld": "is private, and was not done",
    "rejected": "was rejected",
    "cancelled": "was cancelled",
    "expired": "expired: nobody decided in time",
    "unknown": "may or may not have happened",
    "waiting": "waits for a decision",
}
PAST_WORDS = {  # behind what was done, in the past
    "succeeded": "",
    "undone": "; taken back since",
    "held": "; its result waits for a review",
    "dropped": "; its result was rejected",
}
LEFT_OUT = "The model described this differently, so its text is left out."
NOTHING_CHANGED = "Nothing was changed for this message."
EARLIER = "Earlier in this thread:"
MAX_EARLIER = 5  # changes that are named


def call_result_text(
    result: CallReport, requester: str, fence: Fence, shorten: Shortener, repeats: bool = False
) -> str:
    """The result of a call for the model: status and deciders as text of our own, everything else as data. `repeats`:
    its answer holds no words but those of the call.

    The reason of the requester's own refusal is their own text.
    """
    lines = [f"status: {result.status}. {STATUS_SENTENCES.get(result.status, '')}".rstrip()]
    if result.args is not None:
        who = f"<@{result.edited_by}>" if result.edited_by else "a person"
        lines.append(f"Edited by {who} before it was decided. The arguments were, in the end:")
        block = fence.own_data if result.edited_by == requester else fence.data
        lines.append(block("arguments after the edit", shorten.args(result.args)))
    if result.by and (result.args is None or result.edited_by):
        lines.append(f"Decided by <@{result.by}>.")
    if result.text and result.status in REFUSALS and result.author == requester:
        lines.append(fence.requester_text(result.text))
    elif result.text and result.status not in OPEN:  # what waits is described by its call
        known = repeats or result.private or result.author == CODE
        lines.append((fence.own_data if known else fence.data)("result", shorten(result.text)))
    return "\n".join(lines)


def call_results(exchange: Exchange) -> Iterator[tuple[Call, CallReport]]:
    """Each proposed call with its result; `waiting` where none is recorded."""
    if isinstance(exchange.reply, Propose):
        by_place = {result.call: result for result in exchange.reports}
        for place, call in enumerate(exchange.reply.calls):
            yield call, by_place.get(place, CallReport(place, "waiting", ""))


def outcome_summary(turn: Turn, is_read: IsRead, name_of: NameOf) -> str:
    """What became of the changes of this turn, for people."""
    lines = _change_lines(turn, is_read, name_of)
    return "\n".join(["This is what happened:", *lines]) if lines else NOTHING_CHANGED


def _change_lines(turn: Turn, is_read: IsRead, name_of: NameOf) -> list[str]:
    return [
        f"• {_outcome_line(_shorten(result.summary) or name_of(call), result)}"
        for exchange in turn.exchanges
        for call, result in call_results(exchange)
        if not is_read(call)
    ]


def _outcome_line(what: str, result: CallReport) -> str:
    if result.status in PAST_WORDS:
        return f"{past(what) or f'{what} was done'}{PAST_WORDS[result.status]}."
    by = f" by <@{result.by}>" if result.by and result.status in REFUSALS else ""
    reason = (
        f": {_shorten(result.text)}"
        if result.text and result.status in (*REFUSALS, "failed", "refused")
        else "."
    )
    return f"{what} {STATUS_WORDS.get(result.status, result.status)}{by}{reason}"


def _shorten(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= MAX_SHOWN else plain[: MAX_SHOWN - 1] + "…"


def is_supported(text: str, turn: Turn, is_read: IsRead) -> bool:
    """Whether the planner's text may be posted: it claims no outcome, or every change of this turn succeeded."""
    results = [pair for exchange in turn.exchanges for pair in call_results(exchange)]
    changes = [result.status for call, result in results if not is_read(call)]
    has_read = any(is_read(call) and result.status == "succeeded" for call, result in results)
    if changes and all(status == "succeeded" for status in changes):
        return True
    return not claims_outcome(text, recounting=not changes and (has_read or turn.mode is Mode.TALK))


def plan_bears_out(text: str, steps: Sequence[Step]) -> bool:
    """Whether the planner's text about a plan that is over may be shown: it claims no outcome, or every change of it
    was done."""
    changes = [step.state for step in steps if step.cls is not CallClass.READ]
    if changes and all(state is StepState.DONE for state in changes):
        return True
    return not claims_outcome(text, recounting=not changes)


def without_false_claims(
    text: str, turn: Turn, earlier: Sequence[Turn], is_read: IsRead, name_of: NameOf
) -> Say:
    """The planner's text; a summary of the real outcomes where it claims one that did not happen.

    Text of a turn without changes may be about those of the `earlier` turns of the thread ("Yes, I added it"): it
    stays, and the summary of them is added to it.
    """
    if is_supported(text, turn, is_read):
        return Say(text)
    before = [line for one in earlier for line in _change_lines(one, is_read, name_of)]
    if before and not _change_lines(turn, is_read, name_of):
        return Say("\n".join([text, "", f"{NOTHING_CHANGED} {EARLIER}", *before[-MAX_EARLIER:]]))
    return Say(f"{outcome_summary(turn, is_read, name_of)}\n{LEFT_OUT}")


def denied_calls(turn: Turn, brief: PlannerContext) -> dict[str, str]:
    """Calls that are not proposed again in this task, by `call_key`, with the reason.

    A later instruction of the requester lifts this: then they may be proposed again.
    """
    denied: dict[str, str] = {}
    for other in (*brief.earlier, turn):
        if other.id != turn.id and (not turn.task or other.task != turn.task or other.text != turn.text):
            continue
        for exchange in other.exchanges:
            memo = load_memo(exchange.memo)
            if memo and memo.instruction_ids:
                denied.clear()
            denied |= {
                call_key(call): _reason(result)
                for call, result in call_results(exchange)
                if result.status in REFUSALS
            }
    return {} if unseen_instructions(turn, brief) else denied


def failed_calls(turn: Turn, brief: PlannerContext, is_read: IsRead) -> dict[str, str]:
    """Calls that are not made again in this turn, by `call_key`, with what came of them: each failed MOST_FAILURES
    times with the same arguments, and nothing was changed or said since."""
    counts: Counter[str] = Counter()
    texts: dict[str, str] = {}
    for exchange in turn.exchanges:
        memo = load_memo(exchange.memo)
        pairs = list(call_results(exchange))
        changed = any(result.status == "succeeded" and not is_read(call) for call, result in pairs)
        if changed or (memo and memo.instruction_ids):
            counts.clear()
        failed = [
            (call_key(call), result) for call, result in pairs if result.status in ("failed", "refused")
        ]
        counts.update(key for key, _ in failed)
        texts |= {key: result.text for key, result in failed}
    if unseen_instructions(turn, brief):
        return {}
    return {key: _shorten(texts[key]) for key, count in counts.items() if count >= MOST_FAILURES}


def _reason(result: CallReport) -> str:
    return f"it was {result.status}{f' by <@{result.by}>' if result.by else ''}"


def call_key(call: Call) -> str:
    """Equal for two calls of the same tool with the same arguments."""
    return f"{call.server}.{call.tool} {json.dumps(dict(call.args), sort_keys=True, default=repr)}"


def unseen_instructions(turn: Turn, brief: PlannerContext) -> tuple[str, ...]:
    """Ids of the instructions that no reply of this turn was given yet."""
    memos = [memo for exchange in turn.exchanges if (memo := load_memo(exchange.memo))]
    instruction_ids = {one for memo in memos for one in memo.instruction_ids}
    return tuple(one.id for one in brief.instructions if not one.used and one.id not in instruction_ids)


def ends_after_refusal(turn: Turn, brief: PlannerContext, is_read: IsRead) -> bool:
    """Whether the turn ends: REPLIES_AFTER_REFUSAL replies came after a refusal, without an approved change or a new
    instruction since."""
    replies_since = -1
    for exchange in turn.exchanges:
        memo = load_memo(exchange.memo)
        replies_since = -1 if memo and memo.instruction_ids else replies_since
        pairs = [(call, result.status) for call, result in call_results(exchange)]
        if replies_since >= 0:
            replies_since += 1
        if any(status == "succeeded" and not is_read(call) for call, status in pairs):
            replies_since = -1
        elif replies_since < 0 and any(status in REFUSALS for _, status in pairs):
            replies_since = 0
    return replies_since >= REPLIES_AFTER_REFUSAL and not unseen_instructions(turn, brief)
