"""The planner without a model: sentences and runbooks from a file, or `server.tool key=value`, to proposed calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gate.rules.action import Action, CallClass
from gate.rules.checks_in_a_row import STEPS, checked_in_a_row
from gate.rules.planner_port import (
    Call,
    Clarify,
    Done,
    ListPending,
    Mode,
    PlannerAssessment,
    PlannerContext,
    PlannerReply,
    Propose,
    ProposePlan,
    Reply,
    Say,
    Turn,
)
from gate.rules.ports import Tools
from gate.rules.task import Assessment, Missing, Question, Step
from tools.phrases.back_references import told_of
from tools.phrases.conversation import talked
from tools.phrases.interpret import MOST_CALLS, TOO_MANY, Meant, Understanding
from tools.phrases.phrase_file import load_phrases
from tools.phrases.phrasebook import PhraseBook
from tools.phrases.plan_draft import Piece, TooMuch, Unclear, class_of, planned
from tools.phrases.replan import Changing
from tools.phrases.runbook_steps import AT_ONCE, Seen, seen, step_misfits
from tools.phrases.tokenize import Heard, hear
from tools.phrases.typed_values import clipped

CALL = 10
DESTRUCTIVE = 15  # more
# The most that a request of at most two calls gets; below 30 is simple (docs/promises.md TASK-09).
SIMPLE = 29
FEW = 2
TOGETHER = 5 * STEPS  # for the checks of several messages, between which others are served: 3 s at the most
__all__ = ["PhraseBook", "Phrases", "load_phrases", "misfits"]


def assessed(meant: Meant, tools: Tools) -> Assessment:
    """10 for each call, and 15 more for each that its recipe or its server calls destructive; at most 100. One or
    two calls are simple, so at most 29; but calls that take results of others, or are only known after a look, are
    a plan, so at least 30. Questions with an assumption are given too; only one without makes it unclear."""
    destroying = sum(destroys(piece, tools) for piece in meant.pieces)
    calls = len(meant.pieces) + len(meant.looks)
    if meant.lookups:  # what each instruction comes to is not known yet
        calls = max(calls, len(meant.said))
    complexity = min(100, CALL * calls + DESTRUCTIVE * destroying)
    if calls <= FEW:
        complexity = min(SIMPLE, complexity)
    if meant.looks or in_order(meant.pieces, tools):
        complexity = max(SIMPLE + 1, complexity)
    reason = f"{calls} call{'s' if calls != 1 else ''}" + (
        f", {destroying} destructive" if destroying else ""
    )
    if meant.looks:
        reason = "it looks first, and then knows its steps"
    if meant.needed:
        reason = "a value is missing" if len(meant.needed) == 1 else f"{len(meant.needed)} values are missing"
    return Assessment(
        complexity=complexity,
        steps=max(1, calls),
        missing=(Missing.VALUE,) if meant.needed else (),
        questions=meant.questions,
        reason=reason,
    )


def in_order(pieces: Sequence[Piece], tools: Tools) -> bool:
    """Whether some call needs what an earlier one does: its result, a path that it makes, or one that it changes.
    Each is looked at once, however many there are."""
    given, changed, made, folders = set[str](), set[str](), _Places(), _Places()
    for piece in pieces:
        if piece.refs or not changed.isdisjoint(piece.takes) or not given.isdisjoint(piece.takes):
            return True
        if any(map(made.hold, piece.takes)) or any(folders.hold(f"{path}/") for path in piece.into):
            return True
        spec = tools.find(piece.call.server, piece.call.tool)
        if spec is None or class_of(spec) is not CallClass.READ:
            changed.update(piece.takes)
        given.update(piece.gives)
        made.add(piece.gives)
        folders.add(piece.folders)
    return False


class _Places:
    """Paths that something may be in."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._lengths: set[int] = set()  # a path is cut at these alone, however many folders it has

    def add(self, paths: Sequence[str]) -> None:
        bare = [path.rstrip("/") for path in paths]
        self._paths.update(bare)
        self._lengths.update(map(len, bare))

    def hold(self, path: str) -> bool:
        return any(path[n : n + 1] == "/" and path[:n] in self._paths for n in self._lengths)


def destroys(piece: Piece, tools: Tools) -> bool:
    spec = tools.find(piece.call.server, piece.call.tool)
    return spec is not None and class_of(spec) is CallClass.DESTRUCTIVE


@dataclass(frozen=True, slots=True)
class Phrases:
    """Implements gate.rules.planner_port.Planner. Keeps nothing: the same words give the same answer."""

    book: PhraseBook
    tools: Tools

    follows = False  # phrases say all they have to say at once

    async def assess(self, turn: Turn, brief: PlannerContext) -> PlannerAssessment:
        """By rule (tools/phrases/planner.py). What is not understood is clear, and one step: the reply says what can be
        written, and what waits beside it. Both readings share what they check."""
        with checked_in_a_row():
            return self._assessed(turn, brief)

    def _assessed(self, turn: Turn, brief: PlannerContext) -> PlannerAssessment:
        understanding = Understanding(
            self.book, self.tools, files=False
        )  # where they are changes no complexity
        heard = hear(turn.text)
        if special := self._special(heard, understanding):
            return PlannerAssessment(
                Assessment(complexity=0, steps=1, reason="a question to me"), PlannerReply(special)
            )
        try:
            found = assessed(understanding.read(heard, brief.decided), self.tools)
        except Unclear as unclear:
            told = PlannerReply(Say(str(unclear))) if isinstance(unclear, TooMuch) else None  # not read again
            return PlannerAssessment(Assessment(complexity=10, steps=1, reason="none of my phrases"), told)
        own = _own(turn, brief)
        reply = self._understood(
            turn.text, own, replace(understanding, files=True, told=told_of(own.earlier, self.book.phrases))
        )
        return PlannerAssessment(found, PlannerReply(reply) if isinstance(reply, Propose) else None)

    async def reply(self, turn: Turn, brief: PlannerContext, pending: tuple[Action, ...]) -> PlannerReply:
        """Propose what the words mean, or say what was not understood. Never half of it."""
        if not all(_only_looks(turn, exchange.reply) for exchange in turn.exchanges):
            return PlannerReply(Done())
        if turn.mode in (Mode.PLAN, Mode.TALK):
            with checked_in_a_row(TOGETHER):
                making = self._plan if turn.mode is Mode.PLAN else self._talk
                return PlannerReply(await making(turn, brief))
        here = [one for one in pending if one.session == turn.session and one.requester == turn.requester]
        return PlannerReply(
            self.understand(turn.text, _own(turn, brief), seen(turn.exchanges), waits(here, self.tools))
        )

    def understand(
        self, text: str, brief: PlannerContext | None = None, known: Seen | None = None, waits: str = ""
    ) -> Reply:
        """One message to one reply. `known`: what was read for it so far. `waits`: what waits beside it, in words."""
        told = told_of(brief.earlier, self.book.phrases) if brief else ()
        return self._understood(
            text, brief, Understanding(self.book, self.tools, known or {}, waits=waits, told=told)
        )

    def _understood(self, text: str, brief: PlannerContext | None, understanding: Understanding) -> Reply:
        heard = hear(text)
        special = self._special(heard, understanding)
        if special:
            return special
        try:
            meant = understanding.read(heard, brief.decided if brief else ())
        except Unclear as unclear:
            return Say(str(unclear))
        if meant.needed:
            return Clarify(meant.needed)
        if meant.lookups:
            return Propose(meant.lookups[:AT_ONCE], lookup=True)
        if meant.looks:
            return Say(PLANS)
        if in_order(meant.pieces, self.tools):  # what is not known yet cannot be proposed as a call
            return ProposePlan(planned(meant.pieces), _assumed(meant, brief), own=True)
        if len(meant.pieces) > MOST_CALLS:  # of a runbook: a phrase says so earlier
            return Say(TOO_MANY.format(count=len(meant.pieces)))
        return Propose(tuple(piece.call for piece in meant.pieces))

    def _special(self, heard: Heard, understanding: Understanding) -> Reply | None:
        """Help, the list of runbooks, what waits."""
        answer = understanding.answer(heard)
        if answer:
            return Say(answer)
        return ListPending() if understanding.asks_what_waits(heard) else None

    async def _talk(self, turn: Turn, brief: PlannerContext) -> Reply:
        understanding = Understanding(self.book, self.tools)
        return self._special(hear(turn.text), understanding) or await talked(turn, brief, understanding)

    async def _plan(self, turn: Turn, brief: PlannerContext) -> Reply:
        """A plan of what is left to do: from what was asked for, or from the plan before and what was said of it."""
        understanding = Understanding(self.book, self.tools, seen(turn.exchanges))
        old = [_kept(step) for step in brief.left]
        note = ""
        if not old and not brief.done:
            try:
                meant = await understanding.several(_texts(turn, brief), brief.decided)
            except Unclear as unclear:
                return Say(str(unclear))
            if meant.needed:
                return Clarify(meant.needed)
            if meant.lookups:
                return Propose(meant.lookups[:AT_ONCE], lookup=True)
            if meant.looks:
                return Propose(meant.looks[:AT_ONCE], lookup=True)
            old, note = [*meant.pieces], _assumed(meant, brief)
        changing = Changing(old, brief.done, understanding, brief.decided)
        for text in _new(brief):
            changing.take(text)
            await asyncio.sleep(0)  # others are served between two of them
        if changing.lookups:
            return Propose(tuple(changing.lookups[:AT_ONCE]), lookup=True)
        if changing.questions:
            return Clarify(tuple(changing.questions))
        said = "\n".join(filter(None, [note, *changing.notes]))
        same = brief.left and changing.notes and changing.pieces == [_kept(step) for step in brief.left]
        if same or not changing.pieces:  # not to go on as if nothing had been said
            return Say(said or NOTHING_LEFT)
        return ProposePlan(planned(changing.pieces), said, own=True)


def _only_looks(turn: Turn, reply: Reply) -> bool:
    """Whether a reply only asked for reads that the next one is made of."""
    return isinstance(reply, Propose) and (reply.lookup or turn.mode is Mode.PLAN)


def _own(turn: Turn, brief: PlannerContext) -> PlannerContext:
    """Without what others asked for before it: “it” is something of the same person's."""
    last = brief.earlier[-1] if brief.earlier else None
    return replace(brief, earlier=()) if last and last.requester != turn.requester else brief


PLANS = "This runbook looks around and then makes a plan, and planning is switched off here."
NOTHING_LEFT = "Nothing is left to do. Write what else you want."


def waits(actions: Sequence[Action], tools: Tools) -> str:
    """What is said of the card that waits where something was not understood; "" where there is none, or several."""
    if len(actions) != 1:
        return ""
    proposal = actions[0].proposal
    spec = tools.find(proposal.server, proposal.tool)
    ours = spec.recipe.bind if spec else {}  # what a preview puts in is not the requester's to set
    texts = [
        key for key, value in json.loads(proposal.args).items() if isinstance(value, str) and key not in ours
    ]
    example = f"`set {texts[0]} to …`, " if texts else ""
    return (
        "Your card above still waits, as it was: press a button on it, or write "
        f"{example}`change 'this' to 'that'` or `cancel`."
    )


def _texts(turn: Turn, brief: PlannerContext) -> tuple[str, ...]:
    return brief.requirements or (brief.request or turn.text,)


def _new(brief: PlannerContext) -> list[str]:
    """What was said about the plan and not taken in yet, each once."""
    said = [brief.reason, *(one.text for one in brief.instructions if not one.used)]
    return [text for text in dict.fromkeys(said) if text.strip()]


def _kept(step: Step) -> Piece:
    """A step of the plan before, as it stands."""
    return Piece(
        step.id, Call(step.server, step.tool, step.args), step.title, step.refs, ask=step.ask, step=step.id
    )


def _assumed(meant: Meant, brief: PlannerContext | None) -> str:
    """The values that nobody gave, so that they can be seen on the plan."""
    known = {one.id for one in brief.decided} if brief else set()
    return "\n".join(_line(q) for q in meant.questions if q.id not in known)


def _line(question: Question) -> str:
    name = question.id.partition(":")[2].replace("_", " ")
    told = question.sentence or f"{name} is {clipped(question.assumption, 60)}"
    return f"Assumed: {clipped(told, 120)}"


def misfits(book: PhraseBook, tools: Tools) -> list[str]:
    """Phrases and runbooks whose arguments their tools do not take, for a check after the servers have connected."""
    wrong = []
    for phrase in book.phrases:
        spec = tools.find(phrase.server, phrase.tool)
        properties = spec.schema.get("properties", {}) if spec else {}
        for key in phrase.args.keys() - properties.keys() if spec else ():
            wrong.append(
                f"The phrase “{phrase.patterns[0].say}” gives {phrase.full_name} an unknown argument `{key}`."
            )
    return wrong + [text for runbook in book.runbooks for text in step_misfits(runbook, book.phrases, tools)]
