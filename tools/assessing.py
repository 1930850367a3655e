"""Assess a request with a model: structured, clamped, and checked by code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gate.talk import Brief
from gate.task import Assessment, Decided, Missing, Question, Usage
from tools.context import Known
from tools.controls import ASSESS, STEPS, questions, read
from tools.dialogue import Asked, Message, Model, ModelRefused, Request, Results, Said, Words
from tools.gate_toolset import Unusable
from tools.history import conversation
from tools.prompt import assess_prompt

TRIES = 3
CAUTIOUS = Assessment(
    50, True, 3, reason="The model's assessment could not be used, so this is planned first."
)
REASON = 300  # characters
DEFAULTS = {
    Missing.PURPOSE: "What is this for: what should be different afterwards?",
    Missing.INPUTS: "What should I work on: which files, people, tickets or places?",
    Missing.OUTPUTS: "What should come out of it, and where should it go?",
    Missing.CONSTRAINTS: "Is there anything that I have to keep to: limits, dates, what must not be touched?",
}


async def assess(model: Model, known: Known, characters: int) -> Assessment:
    """What the model makes of the request. A model that gives nothing usable leads to a plan, which is looked at;
    one that refuses is taken for simple, so that the reply can say why. Raises Unavailable."""
    usage = Usage()
    tries: list[Message] = []
    for _ in range(TRIES):
        now = [
            Words(f"There are these servers:\n{known.marks.data('servers', known.tools.directory())}"),
            *tries,
        ]
        request = Request(assess_prompt(), conversation(known, now, characters), (ASSESS,), must=True)
        try:
            answered = await model.ask(request)
        except ModelRefused as error:
            return Assessment(0, True, 1, reason=f"Not assessed. {error}", usage=usage)
        usage += answered.usage
        try:
            return _read(answered.said, known.brief, usage)
        except Unusable as error:
            tries += _sent_back(answered.said, str(error))
    return Assessment(CAUTIOUS.complexity, True, CAUTIOUS.steps, reason=CAUTIOUS.reason, usage=usage)


def _sent_back(said: Said, why: str) -> list[Message]:
    text = f"This could not be used: {why} Call assess once more."
    return [said, Results((text,) * len(said.calls))] if said.calls else [said, Words(text)]


def _read(said: Said, brief: Brief, usage: Usage) -> Assessment:
    """Raises Unusable. A model that writes its JSON as text is understood too."""
    asked = next((call for call in said.calls if call.name == ASSESS.name), None)
    asked = asked or (Asked(ASSESS.name, _bare(said.text)) if said.text and not said.calls else None)
    if asked is None:
        raise Unusable("there is no call of assess.")
    found = read(ASSESS, asked.args)
    missing = tuple(dict.fromkeys(Missing(one) for one in found["missing"]))
    clear = bool(found["clear"])
    return Assessment(
        complexity=_within(found["complexity"], 0, 100),
        clear=clear,
        steps=_within(found["steps"], 0, STEPS),
        missing=missing,
        questions=_open(found, clear, missing, brief.decided),
        reason=" ".join(str(found.get("reason", "")).split())[:REASON],
        usage=usage,
    )


def _open(
    found: Mapping[str, Any], clear: bool, missing: Sequence[Missing], decided: Sequence[Decided]
) -> tuple[Question, ...]:
    """The questions that were not answered yet. A request that is not clear is never without one."""
    known = {one.id for one in decided} | {_same(one.question) for one in decided}
    asked = [q for q in questions(found["questions"]) if q.id not in known and _same(q.text) not in known]
    if asked or clear or decided:
        return tuple(asked)
    made = [{"question": DEFAULTS[kind], "missing": kind.value} for kind in missing or (Missing.PURPOSE,)]
    return questions(made)


def _same(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip("?. ")


def _within(value: float, least: int, most: int) -> int:
    return round(min(max(value, least), most))


def _bare(text: str) -> str:
    """JSON that somebody put between fences."""
    return text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
