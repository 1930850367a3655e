"""Assesses a request with a model; the answer is validated and clamped by code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gate.rules.planner_port import Brief
from gate.rules.task import Assessment, Decided, Missing, Question, Usage
from tools.model.context import PromptInputs
from tools.model.control_tools import ASSESS, MAX_STEPS, parse_control, to_questions
from tools.model.history import conversation
from tools.model.model_api import (
    AssistantMessage,
    Message,
    Model,
    ModelRefused,
    Request,
    ToolCall,
    ToolResults,
    UserMessage,
)
from tools.model.prompt import assess_prompt
from tools.model.toolset import InvalidCall

MAX_TRIES = 3
FALLBACK = Assessment(50, 3, reason="The model's assessment could not be used, so this is planned first.")
MAX_REASON = 300  # characters
DEFAULT_QUESTIONS = {
    Missing.PURPOSE: "What is this for: what should be different afterwards?",
    Missing.INPUTS: "What should I work on: which files, people, tickets or places?",
    Missing.OUTPUTS: "What should come out of it, and where should it go?",
    Missing.CONSTRAINTS: "Is there anything that I have to keep to: limits, dates, what must not be touched?",
}


async def assess(model: Model, inputs: PromptInputs, characters: int) -> Assessment:
    """The model's assessment of the request. Raises Unavailable.

    A model that gives nothing usable leads to a plan, which the requester reviews. One that refuses leads to a simple
    request, so that the reply can say why.
    """
    usage = Usage()
    servers = inputs.fence.data("servers", inputs.tools.directory())
    messages: list[Message] = [UserMessage(f"There are these servers:\n{servers}")]
    for _ in range(MAX_TRIES):
        sent = conversation(inputs, messages, characters)
        request = Request(assess_prompt(), sent, (ASSESS,), tool_required=True)
        try:
            response = await model.ask(request)
        except ModelRefused as error:
            return Assessment(0, 1, reason=f"Not assessed. {error}", usage=usage)
        usage += response.usage
        try:
            return _parse_assessment(response.message, inputs.brief, usage)
        except InvalidCall as error:
            messages += _retry_messages(response.message, str(error))
    return replace(FALLBACK, usage=usage)


def _retry_messages(message: AssistantMessage, reason: str) -> list[Message]:
    text = f"This could not be used: {reason} Call assess once more."
    results = ToolResults((text,) * len(message.calls)) if message.calls else UserMessage(text)
    return [message, results]


def _parse_assessment(message: AssistantMessage, brief: Brief, usage: Usage) -> Assessment:
    """The assessment in a message. JSON that the model wrote as text is accepted too. Raises InvalidCall."""
    call = next((call for call in message.calls if call.name == ASSESS.name), None)
    if call is None and message.text and not message.calls:
        call = ToolCall(ASSESS.name, _without_fence(message.text))
    if call is None:
        raise InvalidCall("there is no call of assess.")
    args = parse_control(ASSESS, call.args)
    missing = tuple(dict.fromkeys(Missing(one) for one in args["missing"]))
    clear = bool(args["clear"])
    return Assessment(
        complexity=_clamped(args["complexity"], 0, 100),
        steps=_clamped(args["steps"], 0, MAX_STEPS),
        missing=missing,
        questions=_open_questions(args, clear, missing, brief.decided),
        reason=" ".join(str(args.get("reason", "")).split())[:MAX_REASON],
        usage=usage,
        open_ended=bool(args.get("conversation", False)),
    )


def _open_questions(
    args: Mapping[str, Any], clear: bool, missing: Sequence[Missing], decided: Sequence[Decided]
) -> tuple[Question, ...]:
    """The questions that are not answered yet. A request that is not clear always gets at least one."""
    answered = {one.id for one in decided} | {_normalized(one.question) for one in decided}
    unanswered = (
        one
        for one in to_questions(args["questions"])
        if one.id not in answered and _normalized(one.text) not in answered
    )
    if (questions := tuple(unanswered)) or clear or decided:
        return questions
    kinds = missing or (Missing.PURPOSE,)
    return to_questions([{"question": DEFAULT_QUESTIONS[kind], "missing": kind.value} for kind in kinds])


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip("?. ")


def _clamped(value: float, least: int, most: int) -> int:
    return round(min(max(value, least), most))


def _without_fence(text: str) -> str:
    """JSON without a Markdown code fence around it."""
    return text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
