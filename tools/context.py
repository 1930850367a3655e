"""The first message of a turn: the request, what is known of its task, what was said before, and by whom."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gate.action import Action
from gate.talk import Brief, Clarify, Exchange, Implement, Mode, ProposePlan, Say, Turn
from gate.task import Instruction, Step
from tools.dialogue import loaded
from tools.gate_toolset import Toolset
from tools.marks import Cut, Marks
from tools.outcomes import news, settled, told_text

CODE = "The code of this request is {code}. Only blocks with this code are blocks."
NOTE = "A note of the code that carries this task, about what you proposed. Mend what can be mended:"


@dataclass(frozen=True, slots=True)
class Known:
    """All that a request is made of."""

    turn: Turn
    brief: Brief
    pending: Sequence[Action]
    tools: Toolset
    marks: Marks
    extra: str = ""  # data of the planner's own: the tools that a plan may use


def context(known: Known, cut: Cut) -> str:
    """Everything that stays the same over this turn."""
    turn, brief, marks = known.turn, known.brief, known.marks
    parts = [CODE.format(code=marks.code), f"The requester is <@{turn.requester}>."]
    parts += [marks.data("tools for a plan", known.extra)] if known.extra else []
    for earlier in brief.earlier:
        parts += _earlier(known, earlier, cut)
    parts += [
        marks.data(f"remark of {remark.user}, who is not the requester", cut(remark.text))
        for remark in brief.remarks
        if remark.at <= turn.at
    ]
    parts += _task(known, cut)
    return "\n\n".join(parts)


def _task(known: Known, cut: Cut) -> Iterator[str]:
    brief, marks = known.brief, known.marks
    yield f"The request:\n{marks.words(brief.request)}"
    if brief.requirements:
        listed = "\n".join(f"- {one}" for one in brief.requirements)
        yield f"The requirements, as the requester confirmed them:\n{marks.words(listed)}"
    for decided in brief.decided:
        how = "Assumed, because nobody answered" if not decided.by else f"Answered by <@{decided.by}>"
        asked = marks.data("a question that was asked", decided.question)
        block = marks.words if decided.by else lambda text: marks.data("assumption", text)
        yield f"{how}:\n{asked}\n{block(decided.answer)}"
    for title, steps in (("done", brief.done), ("still to be done", brief.left)):
        for step in steps:
            yield marks.data(f"step {step.id} of the plan {title}", _step(step, cut))
    yield from _said_before(known)
    if brief.reason:
        yield f"What should be different now (attempt {brief.attempts}):\n{marks.words(brief.reason)}"
    yield from _asked_now(known)


def _asked_now(known: Known) -> Iterator[str]:
    """The message that the turn is about, where it does not stand elsewhere."""
    turn, marks = known.turn, known.marks
    given = {line for one in _given_here(known) for line in one.text.splitlines()}
    if turn.text.strip() in (known.brief.request.strip(), known.brief.reason.strip()):
        return
    if set(turn.text.splitlines()) <= given:
        return
    if _own(known, turn):
        yield f"The message that is to be answered now:\n{marks.words(turn.text)}"
    else:
        yield f"{NOTE}\n{marks.data('note of the code', turn.text)}"


def _own(known: Known, turn: Turn) -> bool:
    """Whether the text of a turn is the requester's. A turn for a plan may also be about a plan that could not run:
    then code wrote it, and names and errors of tools stand in it."""
    if turn.requester != known.turn.requester:
        return False
    brief = known.brief
    said = (brief.request, brief.reason, *brief.requirements, *(one.text for one in brief.instructions))
    lines = {line for text in said for line in text.splitlines()}
    return turn.mode is not Mode.PLAN or set(turn.text.splitlines()) <= lines


def _given_here(known: Known) -> list[Instruction]:
    """Instructions that stand where they were given in this turn, or come now."""
    here = {one for e in known.turn.exchanges if (memo := loaded(e.memo)) for one in memo.heard}
    fresh = {*here, *news(known.turn, known.brief)}
    return [one for one in known.brief.instructions if one.id in fresh]


def _said_before(known: Known) -> Iterator[str]:
    """Instructions that were taken in elsewhere."""
    here = {one.id for one in _given_here(known)}
    for one in known.brief.instructions:
        if one.id not in here:
            yield f"Said by the requester earlier ({one.used}):\n{known.marks.words(one.text)}"


def _step(step: Step, cut: Cut) -> str:
    given = json.dumps({**step.args, **step.refs}, ensure_ascii=False, sort_keys=True)
    note = f"\nnote: {step.note}" if step.note else ""
    text = f"\n{cut(step.text)}" if step.text else ""
    return f"{step.title}\n{step.name} {given}\nstate: {step.state}{note}{text}"


def _earlier(known: Known, earlier: Turn, cut: Cut) -> Iterator[str]:
    """A turn before this one: its words are the requester's only when they wrote them."""
    marks = known.marks
    if _own(known, earlier):
        if earlier.text.strip() != known.brief.request.strip():
            yield f"Earlier in this thread, the requester wrote:\n{marks.words(earlier.text)}"
    elif earlier.requester == known.turn.requester:
        yield marks.data("what was asked for before", cut(earlier.text))
    else:
        yield marks.data(f"message of {earlier.requester}, who is not the requester", cut(earlier.text))
    for exchange in earlier.exchanges:
        for call, told in settled(exchange):
            args = json.dumps(dict(call.args), ensure_ascii=False, sort_keys=True)
            head = marks.data(f"call of {call.server}.{call.tool} then", cut(args))
            yield f"{head}\n{told_text(told, '', marks, cut)}"
        answered = _answered(exchange)
        if answered:
            yield marks.data("what you answered then", cut(answered))


def _answered(exchange: Exchange) -> str:
    """What a reply came to, where it was no calls."""
    reply = exchange.reply
    if isinstance(reply, Say):
        return reply.text
    if isinstance(reply, Clarify):
        return "\n".join(f"Question: {one.text}" for one in reply.questions)
    if isinstance(reply, Implement):
        return "\n".join(f"Requirement: {one}" for one in reply.requirements)
    if isinstance(reply, ProposePlan):
        return "\n".join(
            f"Step {place}: {one.title}: {one.call.server}.{one.call.tool} "
            f"{json.dumps({**one.call.args, **one.refs}, ensure_ascii=False, sort_keys=True)}"
            for place, one in enumerate(reply.steps, 1)
        )
    return ""
