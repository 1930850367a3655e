"""Conversation without a model: what is a phrase is noted, and planned once it is to be built."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress

from gate.rules.action import CallClass
from gate.rules.checks_in_a_row import checked_in_a_row, steps_for_one
from gate.rules.planner_port import Implement, Mode, PlannerContext, Propose, Reply, Say, Turn
from gate.sentences.build_intent import intent
from tools.phrases.interpret import MOST, MOST_CALLS, Meant, Understanding
from tools.phrases.plan_draft import TooMuch, Unclear, class_of
from tools.phrases.tokenize import Heard, hear
from tools.phrases.typed_values import bullets, clipped

# What *Implement now* stands for in gate/tasks/converse.py
COMPILE = "Please compile what is to be built now."
ONCE = "A free conversation needs a model. I note each line that is one of my phrases, until you write “implement it”."
NOTHING = (
    "None of what you said is one of my phrases, so there is nothing to plan yet. Write `help` to see them."
)
KEPT = "That is none of my phrases, so nothing of it will be planned. Write `help` to see them."
TOO_MANY = f"That has more than {MOST} lines, so nothing of it will be planned. Please give me at most {MOST} at once."
TOO_MANY_NOTED = (
    f"You asked for more than {MOST_CALLS} things. Please begin a new thread, and ask for fewer there."
)
MOST_TALKED = 100_000  # characters of earlier messages: 0.05 s, in steps of up to 0.02 s
TALKED_MUCH = "We have talked for longer than I can go through at once. Please begin a new thread."
NOT_HERE = "I keep this. Going from talk to doing is switched off here."


async def talked(turn: Turn, brief: PlannerContext, understanding: Understanding) -> Reply:
    """The reply to one message of a conversation."""
    try:
        return await _talked(turn, brief, understanding)
    except TooMuch as much:
        return Say(str(much))


async def _talked(turn: Turn, brief: PlannerContext, understanding: Understanding) -> Reply:
    before = [t for t in brief.earlier if t.mode is Mode.TALK and t.task == turn.task and t.id != turn.id]
    wanted = turn.text.strip() == COMPILE or intent(turn.text).kind == "implement"
    with checked_in_a_row():
        here = [] if wanted and turn.text.strip() == COMPILE else noted(turn.text, understanding)
        looks = None if wanted else _reads(turn.text, understanding)
    if wanted:
        if not brief.switches.allow_execution_transition:
            return Say(NOT_HERE)
        if sum(len(t.text) for t in before) > MOST_TALKED:
            return Say(TALKED_MUCH)
        found = [*await _noted_before(before, understanding), *here]
        if len(found) > MOST_CALLS:
            return Say(TOO_MANY_NOTED)
        return Implement(tuple(found)) if found else Say(NOTHING)
    if looks:
        return Propose(tuple(piece.call for piece in looks.pieces))
    said = [] if _said_once(before) else [ONCE]
    if here:
        said.append(f"Noted:\n{bullets([clipped(line) for line in here])}")
    elif len(_instructions(hear(turn.text), understanding)) > MOST:
        said.append(TOO_MANY)
    return Say("\n".join(said) or KEPT)


async def _noted_before(turns: Sequence[Turn], understanding: Understanding) -> list[str]:
    """What was noted of each turn, until that is more than can be asked for. Others are served between two of them.
    Nothing was noted of one with too much in it. Raises TooMuch where they have too much together."""
    found = list[str]()
    for turn in turns:
        with suppress(TooMuch):
            found += noted(turn.text, understanding)
        if not steps_for_one(1):
            raise TooMuch(TALKED_MUCH)
        if len(found) > MOST_CALLS:
            break
        await asyncio.sleep(0)
    return found


def noted(text: str, understanding: Understanding) -> list[str]:
    """The lines that are phrases, as they were typed; none of them where all of them only look at something, or
    where there are more than one message can have. Raises TooMuch."""
    with checked_in_a_row():
        if _reads(text, understanding):
            return []
        heard = hear(text)
        lines = _instructions(heard, understanding)
        if len(lines) > MOST:
            return []
        return [understanding.typed(line, heard) for line in lines if understanding.known(line, heard)]


def _instructions(heard: Heard, understanding: Understanding) -> list[str]:
    """The message cut into its instructions; none of what is not clear. Raises TooMuch."""
    try:
        return understanding.instructions(heard)
    except TooMuch:
        raise
    except Unclear:
        return []


def _reads(text: str, understanding: Understanding) -> Meant | None:
    """What the message means, where it only looks at something: that can be done at once. Raises TooMuch."""
    try:
        meant = understanding.read(hear(text))
    except TooMuch:
        raise
    except Unclear:
        return None
    specs = [understanding.tools.find(p.call.server, p.call.tool) for p in meant.pieces]
    reads = bool(specs) and all(spec and class_of(spec) is CallClass.READ for spec in specs)
    return meant if reads and not any(piece.refs for piece in meant.pieces) else None


def _said_once(before: Sequence[Turn]) -> bool:
    return any(ONCE in text for text in _texts(before))


def _texts(turns: Sequence[Turn]) -> Iterator[str]:
    for turn in turns:
        for exchange in turn.exchanges:
            if isinstance(exchange.reply, Say):
                yield exchange.reply.text
