"""The first request about a task: the model assesses it, or begins with it; the answer is validated by code."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gate.rules.planner_port import (
    PlannerAssessment,
    PlannerContext,
    PlannerInterrupted,
    PlannerReply,
    Propose,
)
from gate.rules.task import Assessment, Missing, Question, SettledPoint, Usage
from tools.model.context import PromptInputs, interrupted
from tools.model.control_tools import ASSESS, MAX_STEPS, parse_control, to_questions
from tools.model.history import conversation
from tools.model.model_port import (
    AssistantMessage,
    Memo,
    Message,
    Model,
    ModelRefused,
    Request,
    Response,
    Round,
    ToolCall,
    UserMessage,
    dump_memo,
)
from tools.model.prompt import assess_prompt
from tools.model.responses import ResponseReader
from tools.model.tool_offer import OfferedTools
from tools.model.toolset import InvalidCall

MAX_TRIES = 3
MAX_ROUNDS = 6  # with the searches for tools
CALL = 10  # complexity of one call that is made at once
BEGUN = "it takes only calls that can be made at once"
NOT_HERE = "Not here: make the calls that carry out the whole request, or call assess."
FALLBACK = Assessment(50, 3, reason="The model's assessment could not be used, so this is planned first.")
MAX_REASON = 300  # characters
DEFAULT_QUESTION = "What is this for: what should be different afterwards?"


class FirstRequest:
    """The first request about a task, repeated until its answer can be used."""

    def __init__(self, model: Model, inputs: PromptInputs, offered: OfferedTools, characters: int) -> None:
        self._model, self._inputs, self._offered, self._characters = model, inputs, offered, characters
        self._responses = ResponseReader(inputs, offered)
        self._begins = may_begin(inputs.brief)
        self._started_at = time.monotonic()
        self._rounds: list[Round] = []
        self._found: list[str] = []
        self._usage = Usage()

    async def assess(self) -> PlannerAssessment:
        """The model's assessment of the request, or the calls that carry it out, where those are few.
        Raises PlannerUnavailable and Interrupted.

        A model that gives nothing usable leads to a plan, which the requester reviews. One that refuses leads to a
        simple request, so that the reply can say why.
        """
        while sum(one.repair for one in self._rounds) < MAX_TRIES and len(self._rounds) < MAX_ROUNDS:
            if self._rounds and await interrupted(self._inputs.brief):
                raise PlannerInterrupted
            try:
                response = await self._model.ask(self._request())
            except ModelRefused as error:
                return PlannerAssessment(Assessment(0, 1, reason=f"Not assessed. {error}", usage=self._usage))
            self._usage += response.usage
            if found := self._read(response):
                return found
        return PlannerAssessment(replace(FALLBACK, usage=self._usage))

    def _request(self) -> Request:
        messages: list[Message] = []
        if not self._begins:
            servers = self._inputs.fence.own_data("servers", self._inputs.tools.directory())
            messages.append(UserMessage(f"There are these servers:\n{servers}"))
        messages += [message for one in self._rounds for message in one.messages]
        prompt = assess_prompt(self._begins, self._offered.directory if self._begins else "")
        tools = (ASSESS, *(self._offered.to_begin_with(self._found) if self._begins else ()))
        return Request(
            prompt, conversation(self._inputs, messages, self._characters), tools, tool_required=True
        )

    def _read(self, response: Response) -> PlannerAssessment | None:
        """What a response comes to. None: the model is asked once more."""
        message = response.message
        if self._begins and message.calls and not any(call.name == ASSESS.name for call in message.calls):
            return self._begun(response)
        try:
            return PlannerAssessment(_parse_assessment(message, self._inputs.brief, self._usage))
        except InvalidCall as error:
            text = f"This could not be used: {error} Call assess once more."
            results = (text,) * len(message.calls)
            self._rounds.append(Round(message, results, repair=True, note="" if results else text))
            return None

    def _begun(self, response: Response) -> PlannerAssessment | None:
        """The calls of a response as the first reply. None where they cannot be used, or only searched for tools."""
        read = self._responses.read(response.message, response.truncated)
        if isinstance(read.reply, Propose):
            self._rounds.append(read.round)
            seconds = time.monotonic() - self._started_at
            found = (*self._found, *read.found_tools)
            memo = dump_memo(Memo(tuple(self._rounds), (), found, seconds, begun=True))
            calls = len(read.reply.calls)
            return PlannerAssessment(
                Assessment(min(CALL * calls, 100), calls, reason=BEGUN, usage=self._usage),
                PlannerReply(read.reply, memo, self._usage),
            )
        rejected = read.round
        if read.reply is not None:  # a control tool that is not offered here
            rejected = Round(response.message, (NOT_HERE,) * len(response.message.calls), repair=True)
        self._rounds.append(rejected)
        self._found += read.found_tools
        return None


def may_begin(brief: PlannerContext) -> bool:
    """Whether the first answer may be the calls themselves: only where a simple request is neither asked about nor
    planned nor talked about, and nothing was done for it yet."""
    switches = brief.switches
    simple = switches.auto_approve_simple and not switches.conversational
    new = not (brief.done or brief.left or brief.requirements or brief.instructions)
    return simple and new and switches.intelligent_routing == "minimal"


def _parse_assessment(message: AssistantMessage, brief: PlannerContext, usage: Usage) -> Assessment:
    """The assessment in a message. JSON that the model wrote as text is accepted too. Raises InvalidCall."""
    call = next((call for call in message.calls if call.name == ASSESS.name), None)
    if call is None and message.text and not message.calls:
        call = ToolCall(ASSESS.name, _without_fence(message.text))
    if call is None:
        raise InvalidCall("there is no call of assess.")
    args = parse_control(ASSESS, call.args)
    questions = _open_questions(args, bool(args["clear"]), brief.decided)
    return Assessment(
        complexity=_clamped(args["complexity"], 0, 100),
        steps=_clamped(args["steps"], 0, MAX_STEPS),
        missing=tuple(dict.fromkeys(one.missing for one in to_questions(args["questions"]) or questions)),
        questions=questions,
        reason=" ".join(str(args.get("reason", "")).split())[:MAX_REASON],
        usage=usage,
        open_ended=bool(args.get("conversation", False)),
    )


def _open_questions(
    args: Mapping[str, Any], clear: bool, decided: Sequence[SettledPoint]
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
    return to_questions([{"question": DEFAULT_QUESTION, "missing": Missing.PURPOSE.value}])


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip("?. ")


def _clamped(value: float, least: int, most: int) -> int:
    return round(min(max(value, least), most))


def _without_fence(text: str) -> str:
    """JSON without a Markdown code fence around it."""
    return text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
