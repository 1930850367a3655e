"""Which of the three flows a request takes, and what is asked first. Code decides, from what the planner found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gate.switches import Switches
from gate.task import Assessment, Decided, Flow, Question

SIMPLE_BELOW = 30  # complexity, spec 001
SIMPLE_STEPS = 2
ROUNDS = 3  # question cards for one task; after that it goes on, or says why it cannot


@dataclass(frozen=True, slots=True)
class Route:
    """The way a request goes. With questions to `ask`, nothing else happens before their answers."""

    flow: Flow
    reason: str
    ask: tuple[Question, ...] = ()
    stuck: str = ""  # why it cannot go on at all


def route(
    assessment: Assessment, switches: Switches, decided: Sequence[Decided] = (), asked: int = 0
) -> Route:
    """Clarification first (spec 001). `aggressive` asks whatever the planner would ask; `minimal` only what it
    cannot assume. Questions that were answered or skipped are not asked again, and after three rounds only what
    nothing can be assumed for is missed."""
    known = {one.id for one in decided}
    open_ = [q for q in assessment.questions if q.id not in known or not q.assumption]
    needed = [q for q in open_ if not q.assumption]
    if needed and asked >= ROUNDS:
        return Route(Flow.NONE, "", stuck=f"I still miss this: {needed[0].text} Please ask anew with it.")
    skipped = any(not one.by for one in decided)
    wanted = needed if switches.intelligent_routing == "minimal" or asked >= ROUNDS or skipped else open_
    if wanted and not switches.conversational:
        return Route(Flow.NONE, "something is missing", tuple(wanted))
    return _flow(assessment, switches)


def _flow(assessment: Assessment, switches: Switches) -> Route:
    if switches.conversational:
        return Route(Flow.TALK, "this is a conversation, until somebody wants it built")
    if not switches.enable_planning:
        return Route(Flow.SIMPLE, "planning is switched off")
    few = assessment.steps <= SIMPLE_STEPS and assessment.complexity < SIMPLE_BELOW
    if few and switches.auto_approve_simple:
        return Route(Flow.SIMPLE, "it is simple: at most two steps")
    return Route(Flow.PLAN, "it takes several steps" if not few else "every plan is to be looked at")
