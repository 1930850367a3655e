"""Which of the three flows a request takes, and what is asked first. Code decides, from what the planner found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gate.arguments.unicode_safety import quoted
from gate.rules.settings import Switches
from gate.rules.task import Assessment, Flow, Missing, Question, SettledPoint

SIMPLE_BELOW = 30  # complexity: docs/promises.md TASK-09
SIMPLE_STEPS = 2
ROUNDS = 3  # question cards for one task; after that it goes on, or says why it cannot


@dataclass(frozen=True, slots=True)
class Route:
    """The way a request goes. With questions to `ask`, nothing else happens before their answers."""

    flow: Flow
    reason: str
    ask: tuple[Question, ...] = ()
    assumed: tuple[SettledPoint, ...] = ()  # what is not asked, as the planner would have it
    stuck: str = ""  # why it cannot go on at all


def route(
    assessment: Assessment, switches: Switches, decided: Sequence[SettledPoint] = (), asked: int = 0
) -> Route:
    """Clarification first (docs/promises.md TASK-01). `aggressive` asks whatever the planner would ask; `minimal` only
    what it cannot assume. Questions that were answered or skipped are not asked again, and after three rounds only what
    nothing can be assumed for is missed. In a conversation nothing is asked or assumed beforehand."""
    answered = {one.id: one.by for one in decided}
    open_ = [q for q in assessment.questions if not _is_settled(q, answered)]
    needed = [q for q in open_ if not q.assumption]
    if needed and asked >= ROUNDS:
        return Route(
            Flow.NONE, "", stuck=f"I still miss this: {quoted(needed[0].text)} Please ask anew with it."
        )
    skipped = any(not by for by in answered.values())
    wanted = needed if switches.intelligent_routing == "minimal" or asked >= ROUNDS or skipped else open_
    way = _flow(assessment, switches)
    if wanted and way.flow is not Flow.TALK:
        return Route(Flow.NONE, "something is missing", tuple(wanted))
    assumed = tuple(SettledPoint(q.id, q.text, q.assumption, "") for q in open_ if _chosen(q))
    return way if way.flow is Flow.TALK else replace(way, assumed=assumed)


def _chosen(question: Question) -> bool:
    """Whether the planner has chosen what to go on with. The default of a tool's value is in the call itself."""
    return bool(question.assumption) and question.missing is not Missing.VALUE


def _is_settled(question: Question, answered: Mapping[str, str]) -> bool:
    """Whether it is not asked again. `answered`: who did, by question; "" where it was skipped or assumed. An answer to
    what nothing can be assumed for may not have been one."""
    if question.id not in answered:
        return False
    return bool(question.assumption) or (not answered[question.id] and can_be_skipped(question))


def can_be_skipped(question: Question) -> bool:
    """Whether it can go on without an answer: nothing stands in for a value that a tool needs."""
    return bool(question.assumption) or question.missing is not Missing.VALUE


def _flow(assessment: Assessment, switches: Switches) -> Route:
    if switches.conversational or assessment.open_ended:
        return Route(Flow.TALK, "this is a conversation, until somebody wants it built")
    if not switches.enable_planning:
        return Route(Flow.SIMPLE, "planning is switched off")
    few = assessment.steps <= SIMPLE_STEPS and assessment.complexity < SIMPLE_BELOW
    if few and switches.auto_approve_simple:
        return Route(Flow.SIMPLE, "it is simple: at most two steps")
    return Route(Flow.PLAN, "it takes several steps" if not few else "every plan is to be looked at")
