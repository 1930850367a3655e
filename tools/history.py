"""What a model is sent of a turn: the context, then each response with what came of it, then what waits now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from gate.talk import CancelPending, Exchange, ListPending, Propose, Say, Told
from gate.task import Instruction
from tools.context import Known, context
from tools.dialogue import Asked, Memo, Message, Results, Round, Said, Words, loaded
from tools.marks import Cut
from tools.outcomes import news, settled, told_text

STEPWISE = 8  # old outputs are left out so many at a time, so that what is sent changes seldom


def conversation(known: Known, now: Sequence[Message], characters: int) -> tuple[Message, ...]:
    """The messages, with the rounds of `now` at their end, in about so many characters.

    What is cut is the text of data alone, the oldest first. The requester's words, decisions, calls, what became
    of them and what waits are never left out.
    """
    oldest = 0
    while True:
        cut = Cut(oldest)
        messages = (*_messages(known, cut), *now, *_now(known, Cut()))
        if oldest >= cut.seen or sum(map(_size, messages)) <= characters:
            return messages
        oldest += STEPWISE


def _size(message: Message) -> int:
    if isinstance(message, Said):
        return len(message.text) + len(message.extra) + sum(len(c.name) + len(c.args) for c in message.calls)
    return sum(map(len, message.texts)) if isinstance(message, Results) else len(message.text)


def _messages(known: Known, cut: Cut) -> Iterator[Message]:
    yield Words(context(known, cut))
    for exchange in known.turn.exchanges:
        yield from _exchange(known, exchange, cut)
    fresh = set(news(known.turn, known.brief))
    yield from _instructions(known, [one for one in known.brief.instructions if one.id in fresh])


def _exchange(known: Known, exchange: Exchange, cut: Cut) -> Iterator[Message]:
    memo = loaded(exchange.memo) or _without_memo(known, exchange)
    if memo is None:
        return
    heard = [one for one in known.brief.instructions if one.id in memo.heard]
    yield from _instructions(known, heard)
    for one in memo.rounds:
        yield from one.told(_told(known, exchange, cut)).messages


def _told(known: Known, exchange: Exchange, cut: Cut) -> list[str]:
    """One text for each call of a reply that people or code had to settle."""
    if isinstance(exchange.reply, Propose):
        requester = known.turn.requester
        return [told_text(told, requester, known.marks, cut) for _, told in settled(exchange)]
    told = exchange.told[0] if exchange.told else Told(0, "succeeded", "")
    if isinstance(exchange.reply, CancelPending):
        return [told_text(told, known.turn.requester, known.marks, cut)]
    if isinstance(exchange.reply, ListPending):
        return ["status: succeeded. The requester sees the list now."]
    return ["status: succeeded. It is with the requester now."]


def _without_memo(known: Known, exchange: Exchange) -> Memo | None:
    """A reply that another planner made, as if the model had made it."""
    reply = exchange.reply
    if isinstance(reply, Say):
        return Memo((Round(Said(reply.text)),))
    if not isinstance(reply, Propose):
        return None
    asked = []
    for call in reply.calls:
        tool = known.tools.of(call.server, call.tool)
        args = json.dumps(dict(call.args), ensure_ascii=False)
        asked.append(Asked(tool.name if tool else f"{call.server}__{call.tool}", args))
    return Memo((Round(Said("", tuple(asked)), (None,) * len(asked)),))


def _now(known: Known, cut: Cut) -> Iterator[Message]:
    """What changes from one request to the next: at the end, so that all before it stays as it was."""
    turn, brief, marks = known.turn, known.brief, known.marks
    parts = [
        marks.data(f"remark of {remark.user}, who is not the requester", cut(remark.text))
        for remark in brief.remarks
        if remark.at > turn.at
    ]
    if known.pending:
        waits = "\n".join(f"{a.id}: {a.name}, {a.preview.summary}" for a in known.pending)
        parts.append(f"What waits for a person now, by id:\n{marks.data('pending actions', waits)}")
    if parts:
        yield Words("\n\n".join(parts))


def _instructions(known: Known, said: Sequence[Instruction]) -> Iterator[Message]:
    if said:
        words = "\n".join(known.marks.words(one.text) for one in said)
        yield Words(
            f"The requester says, while this is under way (take it in before anything else):\n{words}"
        )
