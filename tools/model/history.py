"""The messages of a turn: the context, then each reply of the model with its results, then the current state."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby

from gate.rules.action import Action
from gate.rules.canonical_json import stored_args
from gate.rules.planner_port import Call, CallReport, CancelPending, Exchange, ListPending, Propose, Say
from gate.rules.task import Instruction
from tools.model.context import PromptInputs, first_message, result_of_call, speaker, told_args, without_bound
from tools.model.model_port import (
    AssistantMessage,
    Memo,
    Message,
    Round,
    ToolCall,
    ToolResults,
    UserMessage,
    load_memo,
)
from tools.model.outcomes import call_result_text, call_results, unseen_instructions
from tools.model.prompt import Shortener
from tools.model.told_arguments import beginning

SURPLUS = (
    "status: refused. There were too many calls: this one and those after it, {count:,} in all, did not run."
)
SURPLUS_TOO = "status: refused."
MAX_PENDING = 300  # characters of the arguments of what waits
SHORTEN_STEP = 8  # old outputs are shortened in groups of this size, so that the messages change seldom


def conversation(
    inputs: PromptInputs, new_messages: Sequence[Message], characters: int
) -> tuple[Message, ...]:
    """The messages, with `new_messages` at their end, in about `characters` characters.

    Only data is shortened, the oldest first. The requester's words, decisions, calls, their outcomes and what is
    pending are never left out.
    """
    inputs.told.write(told_args(inputs), characters)
    without_data = Shortener(sys.maxsize, inputs.told)
    rest = sum(map(_size, _all_messages(inputs, new_messages, without_data)))
    left_out = _left_out(without_data.saved, characters - rest)
    return _all_messages(inputs, new_messages, Shortener(left_out, inputs.told))


def _all_messages(
    inputs: PromptInputs, new_messages: Sequence[Message], shorten: Shortener
) -> tuple[Message, ...]:
    return (*_messages(inputs, shorten), *new_messages, *_current_state(inputs, Shortener()))


def _left_out(saved: Sequence[int], room: int) -> int:
    """How many of the oldest pieces are left out, so that the others need no more than `room`. `saved`: the characters
    that each saves when it is."""
    oldest, needed = 0, sum(saved)
    while needed > room and oldest < len(saved):
        needed -= sum(saved[oldest : oldest + SHORTEN_STEP])
        oldest += SHORTEN_STEP
    return oldest


def _size(message: Message) -> int:
    if isinstance(message, AssistantMessage):
        return len(message.text) + len(message.extra) + sum(len(c.name) + len(c.args) for c in message.calls)
    return sum(map(len, message.texts)) if isinstance(message, ToolResults) else len(message.text)


def _messages(inputs: PromptInputs, shorten: Shortener) -> Iterator[Message]:
    yield UserMessage(first_message(inputs, shorten))
    for exchange in inputs.turn.exchanges:
        yield from _exchange(inputs, exchange, shorten)
    unseen = set(unseen_instructions(inputs.turn, inputs.brief))
    yield from _instructions(inputs, [one for one in inputs.brief.instructions if one.id in unseen])


def _exchange(inputs: PromptInputs, exchange: Exchange, shorten: Shortener) -> Iterator[Message]:
    memo = load_memo(exchange.memo)
    if memo is None:
        inputs.fence.foreign = True  # another planner may have put into it what it read
        memo = _memo_of_reply(inputs, exchange)
    if memo is None:
        return
    instructions = [one for one in inputs.brief.instructions if one.id in memo.instruction_ids]
    yield from _instructions(inputs, instructions)
    for one in memo.rounds:
        yield from one.with_results(_call_results(inputs, exchange, shorten)).messages


def _call_results(inputs: PromptInputs, exchange: Exchange, shorten: Shortener) -> list[str]:
    """One text for each call of a reply that people or code decided."""
    if isinstance(exchange.reply, Propose):
        texts = [result_of_call(inputs, call, result, shorten) for call, result in call_results(exchange)]
        surplus = exchange.reply.surplus  # a provider wants a result of each call
        return [*texts, SURPLUS.format(count=surplus), *[SURPLUS_TOO] * (surplus - 1)] if surplus else texts
    result = exchange.reports[0] if exchange.reports else CallReport(0, "succeeded", "")
    if isinstance(exchange.reply, CancelPending):
        return [call_result_text(result, inputs.turn.requester, inputs.fence, shorten)]
    if isinstance(exchange.reply, ListPending):
        return ["status: succeeded. The requester sees the list now."]
    return ["status: succeeded. It is with the requester now."]


def _memo_of_reply(inputs: PromptInputs, exchange: Exchange) -> Memo | None:
    """A reply of another planner, as if the model had made it."""
    reply = exchange.reply
    if isinstance(reply, Say):
        return Memo((Round(AssistantMessage(reply.text)),))
    if not isinstance(reply, Propose):
        return None
    tool_calls = []
    for call in reply.calls:
        tool = inputs.tools.find(call.server, call.tool)
        args = json.dumps(dict(call.args), ensure_ascii=False)
        tool_calls.append(ToolCall(tool.name if tool else f"{call.server}__{call.tool}", args))
    return Memo((Round(AssistantMessage("", tuple(tool_calls)), (None,) * len(tool_calls)),))


def _current_state(inputs: PromptInputs, shorten: Shortener) -> Iterator[Message]:
    """What differs from one request to the next. It comes last, so that everything before it stays the same."""
    turn, brief, fence = inputs.turn, inputs.brief, inputs.fence
    parts = [
        fence.data(f"remark of {remark.user}, who is not the requester", shorten(remark.text))
        for remark in brief.remarks
        if remark.at > turn.at
    ]
    if inputs.pending:
        waits = "\n".join(_pending_line(inputs, action) for action in inputs.pending)
        parts.append(f"What waits for a person now, by id:\n{fence.own_data('pending actions', waits)}")
    if parts:
        yield UserMessage("\n\n".join(parts))


def _pending_line(inputs: PromptInputs, action: Action) -> str:
    """An action by its id, and what the model itself has called for in this conversation by its arguments as well. No
    summary: it may quote what was read for it, and of an action that came through the API, others have written it."""
    turns = (inputs.turn, *(turn for turn in inputs.brief.earlier if turn.requester == inputs.turn.requester))
    own = action.turn in {turn.id for turn in turns} or action.task in {
        turn.task for turn in turns if turn.task
    }
    if action.private or not own or inputs.tools.find(action.server, action.tool) is None:
        return f"{action.id}: {action.name}"
    args = without_bound(inputs, Call(action.server, action.tool, stored_args(action.args)))
    return f"{action.id}: {action.name} {beginning(args, MAX_PENDING)[:MAX_PENDING]}"


def _instructions(inputs: PromptInputs, instructions: Sequence[Instruction]) -> Iterator[Message]:
    parts = []
    for who, said in groupby(instructions, partial(speaker, inputs)):
        words = "\n".join(inputs.fence.requester_text(one.text) for one in said)
        head = f"{who[0].upper()}{who[1:]} says, while this is under way (take it in before anything else):"
        parts.append(f"{head}\n{words}")
    if parts:
        yield UserMessage("\n\n".join(parts))
