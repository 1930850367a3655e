"""Control tools: how a model asks questions, proposes plans, hands over, searches tools and withdraws actions."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gate.rules.action import Action, Json
from gate.rules.planner_port import (
    CancelPending,
    Clarify,
    Implement,
    ListPending,
    Mode,
    ProposedStep,
    ProposePlan,
    Reply,
)
from gate.rules.plans import MOST_NAMED, has_filter, names_too_many
from gate.rules.settings import Switches
from gate.rules.task import Missing, Question, Step
from gate.rules.templates import TemplateError, names
from tools.mcp.schema import problems
from tools.model.model_port import ToolDefinition
from tools.model.toolset import InvalidCall, Toolset, parse_arguments

FIND_TOOLS = "find_tools"
MAX_QUESTIONS, MAX_OPTIONS, MAX_STEPS, MAX_REQUIREMENTS = 4, 5, 30, 20
MAX_SENTENCE = 300  # characters of a question, a title, a requirement

TEXT: Json = {"type": "string", "minLength": 1}


def _object(required: Sequence[str], **properties: Json) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
    }


def _list(items: Json, least: int = 0, **more: Json) -> dict[str, Json]:
    return {"type": "array", "items": items, **({"minItems": least} if least else {}), **more}


QUESTION = _object(
    ["question", "missing"],
    question=TEXT,
    missing={"enum": [kind.value for kind in Missing if kind is not Missing.VALUE]},
    options={**_list(TEXT), "description": "where there are few"},
    assumption={"type": "string", "description": "to go on with, where safe"},
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
    ["complexity", "steps", "clear", "questions"],
    conversation={"type": "boolean", "description": "to think through together, not to do yet"},
    complexity={"type": "number", "description": "0: one read, 100: many dependent changes"},
    steps={"type": "number", "description": "tool calls"},
    clear={"type": "boolean", "description": "can be begun without asking"},
    questions={
        **_list(QUESTION),
        "description": "at most four; nothing that you can read or safely assume, or that was decided",
    },
    reason={"type": "string"},
)
ASSESS = ToolDefinition("assess", "Say how complex and clear the request is.", ASSESSMENT)
ASK = ToolDefinition(
    "ask_requester",
    "Ask the requester for what is missing and cannot be found out by reading. They get a form; this ends your turn.",
    _object(["questions"], questions=_list(QUESTION, 1)),
)
PLAN = ToolDefinition(
    "propose_plan",
    "Propose a plan: all steps still to be done, in order. The requester looks at it and decides; this ends your turn.",
    _object(["steps"], steps=_list(STEP, 1, maxItems=MAX_STEPS), note={"type": "string"}),
)
IMPLEMENT = ToolDefinition(
    "implement",
    "The requester clearly wants it done now: list all requirements that were agreed on, for them to confirm.",
    _object(["requirements"], requirements=_list(TEXT, 1, maxItems=MAX_REQUIREMENTS)),
)
LIST = ToolDefinition(
    "list_pending", "Show the requester which prepared actions wait for a person.", _object([])
)
CANCEL = ToolDefinition(
    "cancel_pending",
    "Withdraw a prepared action of the requester that waits, because they do not want it any more.",
    _object(["action"], action={**TEXT, "description": "Its id, as in the list of what waits."}),
)
SEARCH = ToolDefinition(
    FIND_TOOLS,
    "Find tools by what they do. The best five are offered to you afterwards.",
    _object(["query"], query={**TEXT, "description": "Service, verb and thing: “github list open issues”."}),
)
ALL = {offer.name: offer for offer in (ASK, PLAN, IMPLEMENT, LIST, CANCEL, SEARCH)}


def available_controls(mode: Mode, switches: Switches, needs_search: bool) -> tuple[ToolDefinition, ...]:
    """The control tools of a turn, in a fixed order."""
    tools = {
        Mode.ACT: [ASK, *([PLAN] if switches.enable_planning else []), LIST, CANCEL],
        Mode.PLAN: [ASK, PLAN],
        Mode.TALK: [*([IMPLEMENT] if switches.allow_execution_transition else []), LIST, CANCEL],
        Mode.ANSWER: [],
    }[mode]
    return (*tools, *([SEARCH] if needs_search else []))


def parse_control(offer: ToolDefinition, written: str) -> dict[str, Any]:
    """The arguments of a control tool. Raises InvalidCall when they break its schema."""
    args = parse_arguments(written)
    errors = problems(offer.schema, args)
    if errors:
        raise InvalidCall(f"{offer.name}: " + " ".join(problem.text for problem in errors[:3]))
    return args


def to_reply(
    name: str,
    written: str,
    tools: Toolset,
    pending: Sequence[Action],
    plan: tuple[Sequence[Step], Sequence[Step]],
) -> Reply:
    """The reply that a call of a control tool stands for; `plan`: the steps that are done, and those that are left.

    Raises InvalidCall.
    """
    args = parse_control(ALL[name], written)
    if name == ASK.name:
        return Clarify(to_questions(args["questions"]))
    if name == PLAN.name:
        return _to_plan(args, tools, *plan)
    if name == IMPLEMENT.name:
        return Implement(tuple(_shorten(one) for one in args["requirements"]))
    if name == CANCEL.name:
        if all(action.id != args["action"] for action in pending):
            raise InvalidCall("cancel_pending: no action of that id waits.")
        return CancelPending(args["action"])
    return ListPending()


def schema_text(schema: Mapping[str, Json]) -> str:
    """A schema as compact JSON."""
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def to_questions(given: Sequence[Mapping[str, Any]]) -> tuple[Question, ...]:
    """The model's questions as the requester is asked them. The id is a hash of the text, so that the same question
    has the same id again."""
    questions: dict[str, Question] = {}
    for one in given[:MAX_QUESTIONS]:
        text = _shorten(one["question"])
        digest = hashlib.sha256(" ".join(text.lower().split()).encode()).hexdigest()[:8]
        options = tuple(dict.fromkeys(_shorten(option, 75) for option in one.get("options", ())))[
            :MAX_OPTIONS
        ]
        assumption = _shorten(one.get("assumption", ""))
        questions[f"q{digest}"] = Question(f"q{digest}", text, Missing(one["missing"]), options, assumption)
    return tuple(questions.values())


def _to_plan(
    args: Mapping[str, Any], tools: Toolset, done: Sequence[Step], left: Sequence[Step]
) -> ProposePlan:
    known = {step.id for step in left}
    steps: list[ProposedStep] = []
    for place, one in enumerate(args["steps"], 1):
        refs = one.get("from_results", {})
        sources = {str(earlier) for earlier in range(1, place)} | {step.id for step in done}
        try:
            _check_refs(refs, sources)
            _refuse_templates(one.get("arguments", {}))
            call = tools.parse_step(one["tool"], one.get("arguments", {}), refs)
        except InvalidCall as error:
            raise InvalidCall(f"Step {place}: {error}") from None
        keep = one.get("keep", "")
        keep = keep if keep in known else ""
        title = _shorten(one["title"]) or one["tool"]  # else code makes one of what a read was given
        steps.append(ProposedStep(call, title, refs, keep, bool(one.get("ask_here"))))
    return ProposePlan(tuple(steps), _shorten(args.get("note", ""), 2 * MAX_SENTENCE))


def _check_refs(refs: Mapping[str, str], sources: set[str]) -> None:
    if names_too_many(refs):
        raise InvalidCall(f"from_results must name at most {MOST_NAMED} fields of results.")
    for name, template in refs.items():
        try:
            paths = names(template)
        except TemplateError as error:
            raise InvalidCall(f"from_results.{name}: {error}.") from None
        if has_filter(template):
            raise InvalidCall(
                f"from_results.{name} takes results as they are: leave out what begins with `|`."
            )
        if not paths or any(len(p) < 3 or p[0] != "steps" or p[1] not in sources for p in paths):
            raise InvalidCall(
                f"from_results.{name} must name a field of an earlier step's result, such as {{steps.1.id}}: "
                f"{template[:80]} does not."
            )


def _refuse_templates(args: Mapping[str, Json]) -> None:
    """Raise InvalidCall for a placeholder among the arguments, which would be passed on as text."""
    for name, value in args.items():
        if isinstance(value, str) and "{steps." in value:
            raise InvalidCall(f"give `{name}` in from_results, not in arguments, to have it filled in.")


def _shorten(text: str, max_chars: int = MAX_SENTENCE) -> str:
    plain = re.sub(r"\s+", " ", text).strip()
    return plain if len(plain) <= max_chars else plain[: max_chars - 1] + "…"
