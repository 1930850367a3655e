"""Interprets a response of the model: a reply to store, a search to answer, or an error to send back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from gate.rules.checks_in_a_row import checked_in_a_row
from gate.rules.planner_port import Call, Clarify, Done, Mode, Propose, ProposePlan, Reply, Say
from tools.model import control_tools
from tools.model.context import PromptInputs
from tools.model.model_port import AssistantMessage, Round, ToolCall
from tools.model.outcomes import (
    call_key,
    denied_calls,
    failed_calls,
    is_supported,
    outcome_summary,
    plan_bears_out,
    without_false_claims,
)
from tools.model.tool_offer import OfferedTools
from tools.model.toolset import InvalidCall

MAX_SAY = 8000  # characters
MAX_PROSE = 600
CALL_NOT_ALLOWED = {
    Mode.PLAN: "It changes something, and nothing is changed while planning: put it into the plan with propose_plan.",
    Mode.TALK: "It changes something, and this is a conversation: nothing is changed before it is to be built.",
    Mode.ANSWER: "Nothing can be called any more: every step is over. Answer in words.",
}
FAILED_TWICE = (
    "I stop here: {name} failed twice in the same way, so I do not try it again. It said: {why}\nTell me if "
    "something else should be done."
)
CALLED_WITH_OTHERS = "Not done: {name} has to be called alone."
MOST_REJECTED = 3  # calls of one response that are told why; those behind them are not looked at
MOST_SEARCHES = 3  # of one response: each goes through all tools
NOT_SEARCHED = (
    f"Not done: a response may search {MOST_SEARCHES} times. Search again where something is still missing."
)
NOT_DONE = "Not done: another call of the same response could not be used. Make all of them again."
NOT_AGAIN = "refused: {why}, and is not asked again. Say so, or do something else."
EMPTY_RESPONSE = (
    "There was neither text nor a call in your response. Say something to the requester, or call a tool."
)
TRUNCATED = (
    "Your response was cut off at the limit of its length, so none of it was used. Write a shorter one: less text, or "
    "fewer and smaller calls."
)
CUT_OFF = "Its answer was longer than it may be."
SENT_ONCE_MORE = (EMPTY_RESPONSE, TRUNCATED)
CUT_TEXT = "\n\n_(My answer was cut off here, at the limit of its length.)_"
CLAIMED_OUTCOME = (
    "What became of calls is told by code, and not so. Ask without saying that something was done."
)


@dataclass(frozen=True, slots=True)
class Interpretation:
    """What a response stands for. Without a reply the model is asked again; `error`: why the response was
    rejected."""

    round: Round
    reply: Reply | None = None
    found_tools: tuple[str, ...] = ()
    error: str = ""


class RejectedResponse(Exception):
    """A response that is sent back, with one result for each of its calls."""

    def __init__(self, results: Sequence[str]) -> None:
        super().__init__(next((text for text in results if text != NOT_DONE), NOT_DONE))
        self.results = tuple(results)


class ResponseReader:
    """Interprets the responses of one turn."""

    def __init__(self, inputs: PromptInputs, offered: OfferedTools) -> None:
        self._inputs, self._offered = inputs, offered
        self._denied = denied_calls(inputs.turn, inputs.brief)
        self._failed = failed_calls(inputs.turn, inputs.brief, offered.is_read)

    def read(self, message: AssistantMessage, truncated: bool = False) -> Interpretation:
        """What a response stands for. Calls of a truncated one are not used; its text alone is, and says so."""
        if truncated and (message.calls or not message.text):
            # Its calls are left out of the history: a provider refuses arguments that are not JSON.
            kept = Round(AssistantMessage(message.text), note=TRUNCATED, repair=True)
            return Interpretation(kept, error=CUT_OFF)
        if truncated:
            message = replace(message, text=f"{message.text[: MAX_SAY - len(CUT_TEXT)]}{CUT_TEXT}")
        if not message.calls:
            return self._text_reply(message)
        searches = [
            self._offered.needs_search and call.name == control_tools.FIND_TOOLS for call in message.calls
        ]
        found: list[str] = []
        results = [
            (self._search(call, found) if nth <= MOST_SEARCHES else NOT_SEARCHED) if search else None
            for call, search, nth in zip(message.calls, searches, accumulate(searches), strict=True)
        ]
        rest = [call for call, search in zip(message.calls, searches, strict=True) if not search]
        try:
            with checked_in_a_row():
                reply = self._reply_to_calls(message, rest) if rest else None
        except RejectedResponse as error:
            rejected = Round(message, tuple(results)).with_results(error.results)
            return Interpretation(replace(rejected, repair=True), found_tools=tuple(found), error=str(error))
        return Interpretation(Round(message, tuple(results)), reply, tuple(found))

    def _text_reply(self, message: AssistantMessage) -> Interpretation:
        if message.text and self._inputs.turn.mode is Mode.ANSWER:
            said = message.text[:MAX_SAY]
            borne_out = plan_bears_out(said, self._inputs.brief.done)
            return Interpretation(Round(message), Say(said) if borne_out else Done())
        if message.text:
            turn, earlier, offered = self._inputs.turn, self._inputs.brief.earlier, self._offered
            reply = without_false_claims(
                message.text[:MAX_SAY], turn, earlier, offered.is_read, offered.name_of
            )
            return Interpretation(Round(message), reply)
        if self._inputs.turn.exchanges:
            return Interpretation(Round(message), Done())
        return Interpretation(Round(message, note=EMPTY_RESPONSE, repair=True), error="It gave no answer.")

    def _search(self, call: ToolCall, found: list[str]) -> str:
        """The answer to a search, which needs no decision; adds the tools that it found to `found`."""
        try:
            query = control_tools.parse_control(control_tools.SEARCH, call.args)["query"]
        except InvalidCall as error:
            return str(error)
        text, names = self._offered.search(query, self._inputs.fence)
        found += names
        return text

    def _reply_to_calls(self, message: AssistantMessage, calls: Sequence[ToolCall]) -> Reply:
        """The reply for calls of tools, or for one call of a control tool. Raises RejectedResponse."""
        control = next((call for call in calls if call.name in control_tools.ALL), None)
        if control is None:
            return self._proposal(message, calls)
        if len(calls) > 1:
            raise RejectedResponse([CALLED_WITH_OTHERS.format(name=control.name)] * len(calls))
        try:
            return self._control_reply(message, control)
        except InvalidCall as error:
            raise RejectedResponse([str(error)]) from None

    def _control_reply(self, message: AssistantMessage, control: ToolCall) -> Reply:
        brief, pending = self._inputs.brief, self._inputs.pending
        if control.name not in {offer.name for offer in self._offered.controls}:
            raise InvalidCall(f"{control.name} is not there in this turn.")
        reply = control_tools.to_reply(
            control.name, control.args, self._inputs.tools, pending, (brief.done, brief.left)
        )
        if isinstance(reply, ProposePlan):
            self._require_not_denied(reply)
            return replace(reply, note=self._prose(reply.note or message.text))
        texts = [one.text for one in reply.questions] if isinstance(reply, Clarify) else []
        if any(not self._supported(text) for text in texts):
            raise InvalidCall(CLAIMED_OUTCOME)
        return reply

    def _proposal(self, message: AssistantMessage, calls: Sequence[ToolCall]) -> Reply:
        """A proposal of all calls of a response; the end of the turn where one of them has failed too often. Raises
        RejectedResponse where one is invalid."""
        results, rejected = list[Call | str](), 0
        for call in calls:
            results.append(self._call(call) if rejected < MOST_REJECTED else NOT_DONE)
            rejected += isinstance(results[-1], str)
        proposed = [one for one in results if isinstance(one, Call)]
        if len(proposed) < len(results):
            raise RejectedResponse([one if isinstance(one, str) else NOT_DONE for one in results])
        again = next((call for call in proposed if call_key(call) in self._failed), None)
        if again is not None:
            return self._failed_too_often(again)
        proposed[0] = replace(proposed[0], prose=self._prose(message.text))
        return Propose(tuple(proposed))

    def _failed_too_often(self, call: Call) -> Say:
        name_of, is_read = self._offered.name_of, self._offered.is_read
        told = FAILED_TWICE.format(name=name_of(call), why=self._failed[call_key(call)])
        return Say(f"{outcome_summary(self._inputs.turn, is_read, name_of)}\n{told}")

    def _call(self, tool_call: ToolCall) -> Call | str:
        """The proposed call, or why it is rejected."""
        try:
            call = self._inputs.tools.parse_call(tool_call.name, tool_call.args)
            if not self._offered.may_call(self._inputs.tools.require(tool_call.name)):
                return CALL_NOT_ALLOWED[self._inputs.turn.mode]
        except InvalidCall as error:
            return str(error)
        if call_key(call) in self._denied:
            return NOT_AGAIN.format(why=self._denied[call_key(call)])
        return call

    def _require_not_denied(self, plan: ProposePlan) -> None:
        """Raises InvalidCall where a step makes a call to which somebody said no before."""
        for number, step in enumerate(plan.steps, 1):
            if call_key(step.call) in self._denied:
                raise InvalidCall(f"Step {number}: {NOT_AGAIN.format(why=self._denied[call_key(step.call)])}")

    def _prose(self, text: str) -> str:
        """The text beside a proposal; none where it claims what has not happened."""
        return text[:MAX_PROSE] if self._supported(text[:MAX_SAY]) else ""

    def _supported(self, text: str) -> bool:
        return is_supported(text, self._inputs.turn, self._offered.is_read)
