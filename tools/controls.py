"""The tools that are no tools: how a model asks, plans, hands over, searches and withdraws."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gate.action import Action, Json
from gate.switches import Switches
from gate.talk import CancelPending, Clarify, Implement, ListPending, Mode, Planned, ProposePlan, Reply
from gate.task import Missing, Question, Step
from gate.template import TemplateError, names
from tools.dialogue import Offer
from tools.gate_toolset import Toolset, Unusable, arguments
from tools.schema import problems

FIND = "find_tools"
QUESTIONS, OPTIONS, STEPS, REQUIREMENTS = 4, 5, 30, 20
SENTENCE = 300  # characters of a question, a title, a requirement

TEXT: Json = {"type": "string", "minLength": 1}


def _object(required: Sequence[str], **properties: Json) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: Json, least: int = 0, **more: Json) -> dict[str, Json]:
    return {"type": "array", "items": items, "minItems": least, **more}


QUESTION = _object(
    ["question", "missing"],
    question=TEXT,
    missing={"enum": [kind.value for kind in Missing if kind is not Missing.VALUE]},
    options=_list(TEXT, description="What can be chosen from, where there are few."),
    assumption={
        "type": "string",
        "description": "What to go on with when nobody answers; leave out if nothing.",
    },
)
STEP = _object(
    ["tool", "title"],
    tool={**TEXT, "description": "The tool's full name, server__tool."},
    title={**TEXT, "description": "What it does, in a few words."},
    arguments={"type": "object", "description": "What is known now."},
    from_results={
        "type": "object",
        "additionalProperties": TEXT,
        "description": "Arguments that an earlier step's result will give, by name, such as {steps.1.trash_id}: 1 is "
        "the place in this list, or the id of a step that is done.",
    },
    ask_here={
        "type": "boolean",
        "description": "The requester wants to be asked at this step, whatever is approved.",
    },
    keep={"type": "string", "description": "The id of the step of the plan before that this one is, if any."},
)
ASSESSMENT = _object(
    ["complexity", "steps", "clear", "missing", "questions"],
    complexity={"type": "number"},
    steps={"type": "number"},
    clear={"type": "boolean"},
    missing=_list({"enum": [kind.value for kind in Missing if kind is not Missing.VALUE]}),
    questions=_list(QUESTION),
    reason={"type": "string"},
)
ASSESS = Offer("assess", "Say how complex and how clear the request is.", ASSESSMENT)
ASK = Offer(
    "ask_requester",
    "Ask the requester for what is missing and cannot be found out by reading. They get a form; this ends your turn.",
    _object(["questions"], questions=_list(QUESTION, 1)),
)
PLAN = Offer(
    "propose_plan",
    "Propose a plan: all steps still to be done, in order. The requester looks at it and decides; this ends your turn.",
    _object(["steps"], steps=_list(STEP, 1, maxItems=STEPS), note={"type": "string"}),
)
IMPLEMENT = Offer(
    "implement",
    "The requester clearly wants it done now: list all requirements that were agreed on, for them to confirm.",
    _object(["requirements"], requirements=_list(TEXT, 1, maxItems=REQUIREMENTS)),
)
LIST = Offer("list_pending", "Show the requester which prepared actions wait for a person.", _object([]))
CANCEL = Offer(
    "cancel_pending",
    "Withdraw a prepared action of the requester that waits, because they do not want it any more.",
    _object(["action"], action={**TEXT, "description": "Its id, as in the list of what waits."}),
)
SEARCH = Offer(
    FIND,
    "Find tools by what they do. The best five are offered to you afterwards.",
    _object(["query"], query={**TEXT, "description": "Service, verb and thing: “github list open issues”."}),
)
ALL = {offer.name: offer for offer in (ASK, PLAN, IMPLEMENT, LIST, CANCEL, SEARCH)}


def controls(mode: Mode, switches: Switches, searched: bool) -> tuple[Offer, ...]:
    """Which of them there are in a turn like this, in a fixed order."""
    there = {
        Mode.ACT: [ASK, *([PLAN] if switches.enable_planning else []), LIST, CANCEL],
        Mode.PLAN: [ASK, PLAN],
        Mode.TALK: [*([IMPLEMENT] if switches.allow_execution_transition else []), LIST, CANCEL],
    }[mode]
    return (*there, *([SEARCH] if searched else []))


def read(offer: Offer, written: str) -> dict[str, Any]:
    """The arguments of a control tool. Raises Unusable when they break its schema."""
    args = arguments(written)
    wrong = problems(offer.schema, args)
    if wrong:
        raise Unusable(f"{offer.name}: " + " ".join(problem.text for problem in wrong[:3]))
    return args


def reply(
    name: str,
    written: str,
    tools: Toolset,
    pending: Sequence[Action],
    plan: tuple[Sequence[Step], Sequence[Step]],
) -> Reply:
    """What the call of a control tool means; `plan`: its steps that are done, and those that are left.

    Raises Unusable.
    """
    args = read(ALL[name], written)
    if name == ASK.name:
        return Clarify(questions(args["questions"]))
    if name == PLAN.name:
        return _plan(args, tools, *plan)
    if name == IMPLEMENT.name:
        return Implement(tuple(_clipped(one) for one in args["requirements"]))
    if name == CANCEL.name:
        if all(action.id != args["action"] for action in pending):
            raise Unusable("cancel_pending: no action of that id waits.")
        return CancelPending(args["action"])
    return ListPending()


def shown(schema: Mapping[str, Json]) -> str:
    """A schema as text, the same for the same schema."""
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def questions(given: Sequence[Mapping[str, Any]]) -> tuple[Question, ...]:
    """Questions as they are asked. The id comes from the words, so the same question has the same one again."""
    made: dict[str, Question] = {}
    for one in given[:QUESTIONS]:
        text = _clipped(one["question"])
        mark = hashlib.sha256(" ".join(text.lower().split()).encode()).hexdigest()[:8]
        options = tuple(dict.fromkeys(_clipped(option, 75) for option in one.get("options", ())))[:OPTIONS]
        assumption = _clipped(one.get("assumption", ""))
        made[f"q{mark}"] = Question(f"q{mark}", text, Missing(one["missing"]), options, assumption)
    return tuple(made.values())


def _plan(args: Mapping[str, Any], tools: Toolset, done: Sequence[Step], left: Sequence[Step]) -> ProposePlan:
    known = {step.id for step in left}
    steps: list[Planned] = []
    for place, one in enumerate(args["steps"], 1):
        refs = one.get("from_results", {})
        sources = {str(earlier) for earlier in range(1, place)} | {step.id for step in done}
        try:
            _check_refs(refs, sources)
            _no_templates(one.get("arguments", {}))
            call = tools.step(one["tool"], one.get("arguments", {}), refs)
        except Unusable as error:
            raise Unusable(f"Step {place}: {error}") from None
        kept = one.get("keep", "")
        kept = kept if kept in known else ""
        steps.append(Planned(call, _clipped(one["title"]), refs, kept, bool(one.get("ask_here"))))
    return ProposePlan(tuple(steps), _clipped(args.get("note", ""), 2 * SENTENCE))


def _check_refs(refs: Mapping[str, str], sources: set[str]) -> None:
    for name, template in refs.items():
        try:
            paths = names(template)
        except TemplateError as error:
            raise Unusable(f"from_results.{name}: {error}.") from None
        if not paths or any(len(p) < 3 or p[0] != "steps" or p[1] not in sources for p in paths):
            raise Unusable(
                f"from_results.{name} must name a field of an earlier step's result, such as {{steps.1.id}}: "
                f"{template[:80]} does not."
            )


def _no_templates(args: Mapping[str, Json]) -> None:
    """A placeholder among the arguments would be taken as the text that it is."""
    for name, value in args.items():
        if isinstance(value, str) and "{steps." in value:
            raise Unusable(f"give `{name}` in from_results, not in arguments, to have it filled in.")


def _clipped(text: str, most: int = SENTENCE) -> str:
    plain = re.sub(r"\s+", " ", text).strip()
    return plain if len(plain) <= most else plain[: most - 1] + "…"
