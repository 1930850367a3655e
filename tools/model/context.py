"""The first message of a turn: the request, its task, and the earlier turns of the thread, with their authors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from gate.arguments.canonical_paths import with_canonical_paths
from gate.rules.action import Action, Json
from gate.rules.grants import repeats_call
from gate.rules.planner_port import (
    WITHHELD,
    Call,
    CallReport,
    Clarify,
    Exchange,
    Implement,
    Mode,
    PlannerContext,
    ProposePlan,
    Say,
    Turn,
)
from gate.rules.steps import PRIVATE, public_step
from gate.rules.task import Instruction, Step
from tools.model.model_port import load_memo
from tools.model.outcomes import call_result_text, call_results, unseen_instructions
from tools.model.prompt import Fence, Shortener
from tools.model.told_arguments import SHORT, ToldArguments, beginning
from tools.model.toolset import Toolset

CODE = "The code is {code}. Blocks without it are none."
OLDER = "More was said in this thread before what follows. Ask the requester about it where it matters."
NOT_TOLD = "private to whoever asked"  # in place of the arguments of a call
BY_CODE = "Code answered then: how the calls above had ended, or why it went no further."
MAX_EARLIER = 100_000  # characters of what is told of earlier turns in any case
CALL_SIZE = 300  # of them for a call with its result, without data
# Characters of an answer, and of all with their calls, that are looked through for words that are not the call's
MOST_OF_ONE, MOST_OF_ALL = 2_000, 60_000
NOTE = "A note of the code that carries this task, about what you proposed. Mend what can be mended:"


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """Everything that the messages of a turn are made of."""

    turn: Turn
    brief: PlannerContext
    pending: Sequence[Action]
    tools: Toolset
    fence: Fence
    plan_tools: str = ""  # the tools that a plan may use, as text
    # Whether an answer repeats its call, by both, and how many characters these have
    repeating: dict[str, tuple[bool, int]] = field(default_factory=dict)
    told: ToldArguments = field(default_factory=ToldArguments)
    # Arguments without those that are bound, by the tool and the id of all of them, which are kept
    unbound: dict[tuple[str, int], tuple[Mapping[str, Json], Mapping[str, Json]]] = field(
        default_factory=dict
    )


async def interrupted(brief: PlannerContext) -> bool:
    """Whether the planner is to stop before a further request."""
    return brief.interrupted is not None and await brief.interrupted()


def first_message(inputs: PromptInputs, shorten: Shortener) -> str:
    """The part of the messages that stays the same over the requests of a turn."""
    turn, brief, fence = inputs.turn, inputs.brief, inputs.fence
    parts = [CODE.format(code=fence.code), f"The requester is <@{turn.requester}>."]
    parts += [fence.own_data("tools for a plan", inputs.plan_tools)] if inputs.plan_tools else []
    remembered = _newest(brief.earlier)
    parts += [OLDER] if brief.older or len(remembered) < len(brief.earlier) else []
    for earlier in remembered:
        parts += _earlier_turn(inputs, earlier, shorten)
    parts += [
        fence.data(f"remark of {remark.user}, who is not the requester", shorten(remark.text))
        for remark in brief.remarks
        if remark.at <= turn.at
    ]
    parts += _task_parts(inputs, shorten)
    return "\n\n".join(parts)


def told_args(inputs: PromptInputs) -> Iterator[Mapping[str, Json]]:
    """The arguments of calls that are told as data, the newest first."""
    for place, turn in enumerate((inputs.turn, *reversed(_newest(inputs.brief.earlier)))):
        for call, result in (pair for e in reversed(turn.exchanges) for pair in reversed([*call_results(e)])):
            if result.args is not None:
                yield without_bound(inputs, replace(call, args=result.args))
            if place and not _is_hidden(result):
                yield call.args


def _is_hidden(result: CallReport) -> bool:
    """Whether the arguments of a call are for one person alone."""
    return result.private or result.status == WITHHELD


def _newest(earlier: Sequence[Turn]) -> Sequence[Turn]:
    """As many of the last turns as have room for what is told of each in any case; the last one always."""
    sizes = (
        len(one.text) + CALL_SIZE * sum(len(list(call_results(e))) for e in one.exchanges)
        for one in reversed(earlier)
    )
    told = sum(size <= MAX_EARLIER for size in accumulate(sizes))
    return earlier[-max(told, 1) :]


def _task_parts(inputs: PromptInputs, shorten: Shortener) -> Iterator[str]:
    brief, fence = inputs.brief, inputs.fence
    yield f"The request:\n{fence.requester_text(brief.request)}"
    if brief.requirements:
        listed = "\n".join(f"- {one}" for one in brief.requirements)
        yield f"The requirements, as the requester confirmed them:\n{fence.requester_text(listed)}"
    for decided in brief.decided:
        how = "Assumed, because nobody answered" if not decided.by else f"Answered by <@{decided.by}>"
        asked = fence.own_data("a question that was asked", decided.question)
        block = fence.requester_text if decided.by else lambda text: fence.own_data("assumption", text)
        yield f"{how}:\n{asked}\n{block(decided.answer)}"
    for title, steps in (("done", brief.done), ("still to be done", brief.left)):
        for step in steps:
            given = _result_of(step) if inputs.turn.mode is Mode.ANSWER else step.text
            of_step = fence.own_data if _tells_nothing_new(inputs, step, given) else fence.data
            args = without_bound(inputs, Call(step.server, step.tool, step.args))
            shown = replace(step, call=replace(step.call, args=args))
            yield of_step(f"step {step.id} of the plan {title}", _step_text(shown, given, shorten))
    yield from _earlier_instructions(inputs)
    if brief.reason:
        yield f"What should be different now (attempt {brief.attempts}):\n{fence.requester_text(brief.reason)}"
    yield from _current_message(inputs)


def _current_message(inputs: PromptInputs) -> Iterator[str]:
    """The message that the turn is about, unless it is included elsewhere."""
    turn, fence = inputs.turn, inputs.fence
    given = {line for one in _turn_instructions(inputs) for line in one.text.splitlines()}
    if turn.text.strip() in (inputs.brief.request.strip(), inputs.brief.reason.strip()):
        return
    if set(turn.text.splitlines()) <= given:
        return
    if _is_requesters_text(inputs, turn):
        yield f"The message that is to be answered now:\n{fence.requester_text(turn.text)}"
    else:
        yield f"{NOTE}\n{fence.data('note of the code', turn.text)}"


def _is_requesters_text(inputs: PromptInputs, turn: Turn) -> bool:
    """Whether the text of a turn is the requester's. The text of a turn for a plan may be a note of our own about a
    plan that could not run, with names and errors of tools."""
    if turn.requester != inputs.turn.requester:
        return False
    brief = inputs.brief
    given = (one.text for one in brief.instructions if one.user == turn.requester)
    said = (brief.request, brief.reason, *brief.requirements, *given)
    lines = {line for text in said for line in text.splitlines()}
    return turn.mode is not Mode.PLAN or set(turn.text.splitlines()) <= lines


def _turn_instructions(inputs: PromptInputs) -> list[Instruction]:
    """Instructions that were given in this turn, or are given now."""
    here = {one for e in inputs.turn.exchanges if (memo := load_memo(e.memo)) for one in memo.instruction_ids}
    fresh = {*here, *unseen_instructions(inputs.turn, inputs.brief)}
    return [one for one in inputs.brief.instructions if one.id in fresh]


def _earlier_instructions(inputs: PromptInputs) -> Iterator[str]:
    """Instructions that were given in other turns."""
    here = {one.id for one in _turn_instructions(inputs)}
    for one in inputs.brief.instructions:
        if one.id not in here:
            who = speaker(inputs, one)
            yield f"Said by {who} earlier ({one.used}):\n{inputs.fence.requester_text(one.text)}"


def speaker(inputs: PromptInputs, said: Instruction) -> str:
    """Who gave an instruction: the requester, or an admin, whose words the planner counts as those of others."""
    own = said.user == inputs.turn.requester
    return "the requester" if own else f"<@{said.user}>, who is not the requester but may steer this task,"


def _result_of(step: Step) -> str:
    """What a step gave, as much as is kept of it; of what is for one person alone, only that it is."""
    result = public_step(step).result
    kept = result.get("text") if isinstance(result, dict) else None
    return kept if isinstance(kept, str) and kept else step.text


def _tells_nothing_new(inputs: PromptInputs, step: Step, result: str) -> bool:
    """Whether a step holds no words but those of its call, which the planner made. The title of a call of a reply is
    the summary of its card, which may quote what was read for it."""
    call = Call(step.server, step.tool, step.args)
    repeats = not result or result == PRIVATE or _repeats(inputs, call, result)
    known = inputs.tools.find(step.server, step.tool) is not None
    return known and repeats and not step.note and step.origin is None


def without_bound(inputs: PromptInputs, call: Call) -> Mapping[str, Json]:
    """The arguments of a call without those that its recipe fills in, which may hold what was read for it."""
    tool = inputs.tools.find(call.server, call.tool)
    if tool is None or not tool.spec.recipe.bind.keys() & call.args.keys():
        return call.args
    key, bound = (tool.name, id(call.args)), tool.spec.recipe.bind
    if key not in inputs.unbound:
        args = {name: value for name, value in call.args.items() if name not in bound}
        inputs.unbound[key] = call.args, args
    return inputs.unbound[key][1]


def _repeats(inputs: PromptInputs, call: Call, text: str) -> bool:
    """Whether an answer holds no words but those of its call. Where others' words came before, they count already, and
    nothing is looked for. A long answer is none, nor is one more than are looked through for one request."""
    if inputs.fence.foreign:
        return True
    tool = inputs.tools.find(call.server, call.tool)
    if tool is None:
        return False
    args, known = without_bound(inputs, call), inputs.repeating
    said = beginning(args, SHORT)
    key = f"{tool.name} {said if len(said) <= SHORT else id(args)} {text}"
    if key not in known:
        if len(text) > MOST_OF_ONE or sum(size for _, size in known.values()) > MOST_OF_ALL:
            return False
        repeats = repeats_call(tool.spec, with_canonical_paths(tool.spec.recipe.targets, args), text)
        known[key] = repeats, len(key) + len(_as_json(args))
    return known[key][0]


def result_of_call(inputs: PromptInputs, call: Call, result: CallReport, shorten: Shortener) -> str:
    """What became of a call, for the model."""
    if result.args is not None:
        call = replace(call, args=result.args)
        known = inputs.tools.find(call.server, call.tool) is not None
        editor = result.edited_by if known else ""  # else nobody knows which of them were filled in
        result = replace(result, args=without_bound(inputs, call), edited_by=editor)
    repeats = bool(result.text) and _repeats(inputs, call, result.text)
    return call_result_text(result, inputs.turn.requester, inputs.fence, shorten, repeats)


def _step_text(step: Step, result: str, shorten: Shortener) -> str:
    told = public_step(step)
    given = _as_json({**told.args, **told.refs})
    note = f"\nnote: {step.note}" if step.note else ""
    text = f"\n{shorten(result)}" if result else ""
    return f"{step.title}\n{step.name} {given}\nstate: {step.state}{note}{text}"


def _earlier_turn(inputs: PromptInputs, earlier: Turn, shorten: Shortener) -> Iterator[str]:
    """An earlier turn: its text is the requester's only if they wrote it. What the model said and called for then comes
    of what it was told then, which counts since."""
    fence = inputs.fence
    own = earlier.requester == inputs.turn.requester
    if not earlier.text:
        pass  # nobody wrote anything: it is the answer at the end of a plan
    elif _is_requesters_text(inputs, earlier):
        if earlier.text.strip() != inputs.brief.request.strip():
            yield f"Earlier in this thread, the requester wrote:\n{fence.requester_text(earlier.text)}"
    elif own:  # or a note of the code, which counts since a reply to it
        block = fence.own_data if earlier.exchanges else fence.data
        yield block("what was asked for before", shorten(earlier.text))
    else:
        yield fence.data(f"message of {earlier.requester}, who is not the requester", shorten(earlier.text))
    for exchange in earlier.exchanges:
        # A planner that keeps no memo may have put into its reply what it read.
        said = fence.own_data if own and exchange.memo else fence.data
        for call, result in call_results(exchange):
            args = shorten(NOT_TOLD) if _is_hidden(result) else shorten.args(call.args)
            head = said(f"call of {call.server}.{call.tool} then", args)
            yield f"{head}\n{result_of_call(inputs, call, result, shorten)}"
        response = _reply_text(exchange, own)
        if response:
            yield said("what you answered then", shorten(response))


def _reply_text(exchange: Exchange, own: bool) -> str:
    """The text of a reply that has no calls. `own`: it was for the requester, so the arguments of a plan are told, too:
    any of them may be for whoever asked alone."""
    reply = exchange.reply
    if isinstance(reply, Say):
        return _words_of_model(exchange, reply.text)
    if isinstance(reply, Clarify):
        return "\n".join(f"Question: {one.text}" for one in reply.questions)
    if isinstance(reply, Implement):
        return "\n".join(f"Requirement: {one}" for one in reply.requirements)
    if isinstance(reply, ProposePlan):
        return "\n".join(
            f"Step {place}: {one.title}: {one.call.server}.{one.call.tool}"
            + (f" {_as_json({**one.call.args, **one.refs})}" if own else "")
            for place, one in enumerate(reply.steps, 1)
        )
    return ""


def _words_of_model(exchange: Exchange, text: str) -> str:
    """As much of a text as its planner said itself. What code puts in its place or behind it quotes cards and results,
    of which the planner is told above."""
    memo = load_memo(exchange.memo)
    if memo is None:  # of a planner that keeps none
        return text
    said = memo.rounds[-1].message.text if memo.rounds else ""
    if said and text.startswith(said):
        return said
    return text if said.startswith(text) else BY_CODE


def _as_json(args: Mapping[str, Json]) -> str:
    return json.dumps(args, ensure_ascii=False, sort_keys=True)
