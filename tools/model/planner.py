"""The planner with a model: it reads, proposes, asks and answers. It can neither run nor confirm anything."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gate.rules.action import Action
from gate.rules.planner_port import (
    Done,
    Mode,
    PlannerAssessment,
    PlannerContext,
    PlannerInterrupted,
    PlannerReply,
    Reply,
    Say,
    Turn,
)
from gate.rules.policy import Policy
from gate.rules.ports import PlannerUnavailable, Tools
from gate.rules.task import Usage
from gate.rules.tool_offers import ToolOffers
from tools.model.assessment_request import FirstRequest
from tools.model.context import PromptInputs, interrupted
from tools.model.history import conversation
from tools.model.model_port import Memo, Message, Model, ModelRefused, Request, Round, dump_memo, load_memo
from tools.model.outcomes import ends_after_refusal, outcome_summary, unseen_instructions
from tools.model.prompt import Fence, system_prompt
from tools.model.responses import SENT_ONCE_MORE, ResponseReader
from tools.model.tool_offer import OfferedTools
from tools.model.toolset import MAX_SCHEMA_TOKENS, Toolset

CHARS_PER_TOKEN = 4  # an estimate
LIMIT_REACHED = (
    "I stopped here: this took more {what} than I may take for one request. Please ask for less at a time."
)
UNUSABLE = "I could not make a usable proposal of this. {why} Please put it in other words, or ask for less at a time."
AFTER_REFUSAL = "I stop here. Tell me if something else should be done."


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """Limits of one turn. Requests, repairs, seconds and tokens are counted over all of its replies."""

    requests: int = 24
    repairs: int = 6  # responses that were rejected and sent back
    seconds: float = 240.0
    tokens: int = 600_000  # in and out
    context: int = 60_000  # tokens of one request; above it, old outputs are shortened
    schemas: int = MAX_SCHEMA_TOKENS  # tokens of definitions that are sent; above, tools are searched for


LIMITS = ModelLimits()


@dataclass(frozen=True, slots=True)
class ModelPlanner:
    """Implements gate.rules.planner_port.Planner. What it has to remember of a turn is in the memos of the
    exchanges.

    `key`: a secret for the codes that mark data, any bytes.
    """

    model: Model
    tools: Tools
    policy: Policy
    key: bytes
    limits: ModelLimits = LIMITS
    offers: ToolOffers = field(default_factory=ToolOffers)

    follows = True

    async def assess(self, turn: Turn, brief: PlannerContext) -> PlannerAssessment:
        """How complex and how clear a request is, and what it lacks; or the calls that carry it out at once. Raises
        PlannerUnavailable."""
        inputs, offered = self._inputs(turn, brief, ())
        try:
            async with asyncio.timeout(self.limits.seconds):
                first = FirstRequest(self.model, inputs, offered, self.limits.context * CHARS_PER_TOKEN)
                return replace(await first.assess(), foreign=inputs.fence.foreign)
        except TimeoutError:
            raise PlannerUnavailable("the model took too long to assess this") from None

    async def reply(self, turn: Turn, brief: PlannerContext, pending: tuple[Action, ...]) -> PlannerReply:
        """The next proposal, question or text. Raises PlannerUnavailable."""
        inputs, offered = self._inputs(turn, brief, pending)
        if ends_after_refusal(turn, brief, offered.is_read):
            told = outcome_summary(turn, offered.is_read, offered.name_of)
            return PlannerReply(Say(f"{told}\n{AFTER_REFUSAL}"), dump_memo(Memo()))
        return await ReplyLoop(self.model, inputs, offered, self.limits).reply()

    def searches(self, channel: str) -> bool:
        """Whether there are so many tools that the model has to search them."""
        return self._toolset(channel).exceeds(self.limits.schemas)

    def _toolset(self, channel: str) -> Toolset:
        return Toolset(self.tools, self.policy, channel, self.offers)

    def _inputs(
        self, turn: Turn, brief: PlannerContext, pending: Sequence[Action]
    ) -> tuple[PromptInputs, OfferedTools]:
        tools = self._toolset(turn.session.channel)
        needs_search = turn.mode is not Mode.ANSWER and tools.exceeds(self.limits.schemas)
        offered = OfferedTools(tools, turn, brief, needs_search)
        fence = Fence(self.key, turn.id)
        fence.foreign = _others_said(turn, brief) or any(not tool.spec.believed for tool in tools)
        return PromptInputs(turn, brief, pending, tools, fence, offered.tools_for_plans()), offered


def _others_said(turn: Turn, brief: PlannerContext) -> bool:
    """Whether somebody but the requester has said what is to be done, as an admin may."""
    said = {one.user for one in brief.instructions} | {one.by for one in brief.decided if one.by}
    return not said <= {turn.requester}


class ReplyLoop:
    """One reply: asks the model until there is something to store."""

    def __init__(
        self, model: Model, inputs: PromptInputs, offered: OfferedTools, limits: ModelLimits
    ) -> None:
        self._model, self._inputs, self._offered, self._limits = model, inputs, offered, limits
        self._memos = [memo for exchange in inputs.turn.exchanges if (memo := load_memo(exchange.memo))]
        self._responses = ResponseReader(inputs, offered)
        self._started_at = time.monotonic()
        self._rounds: list[Round] = []
        self._found: list[str] = []
        self._usage = Usage()

    async def reply(self) -> PlannerReply:
        """The reply, or a text for the requester that says which limit is reached. Raises PlannerUnavailable."""
        seconds_left = self._limits.seconds - sum(memo.seconds for memo in self._memos)
        if seconds_left <= 0:
            return self._to_replied(self._without_reply(LIMIT_REACHED.format(what="time")))
        try:
            async with asyncio.timeout(seconds_left):
                return self._to_replied(await self._run())
        except TimeoutError:
            raise PlannerUnavailable("the model took too long to answer") from None
        except ModelRefused as error:
            return self._to_replied(self._without_reply(str(error)))

    def _without_reply(self, why: str) -> Reply:
        """The reason, for the requester; nothing at the end of a plan, whose results are shown without the model."""
        return Done() if self._inputs.turn.mode is Mode.ANSWER else Say(why)

    def _to_replied(self, reply: Reply) -> PlannerReply:
        seconds = time.monotonic() - self._started_at
        given = unseen_instructions(self._inputs.turn, self._inputs.brief)
        return PlannerReply(
            reply,
            dump_memo(Memo(tuple(self._rounds), given, tuple(self._found), seconds)),
            self._usage,
            self._inputs.fence.foreign,
        )

    async def _run(self) -> Reply:
        """Ask until there is a reply, or a limit is reached."""
        while not (reached := self._reached_limit()):
            if self._rounds and await interrupted(self._inputs.brief):
                raise PlannerInterrupted
            response = await self._model.ask(self._request())
            self._usage += response.usage
            interpretation = self._responses.read(response.message, response.truncated)
            self._rounds.append(interpretation.round)
            self._found += interpretation.found_tools
            if interpretation.reply is not None:
                return interpretation.reply
            if interpretation.error and self._gives_up():
                return self._without_reply(UNUSABLE.format(why=interpretation.error))
        return self._without_reply(LIMIT_REACHED.format(what=reached))

    @property
    def _repairs(self) -> int:
        return sum(one.repair for one in self._rounds) + sum(memo.repairs for memo in self._memos)

    def _gives_up(self) -> bool:
        """After too many rejected responses, and after two in a row that are empty or cut off: a third costs as much
        and gives no more."""
        unusable = [one.note in SENT_ONCE_MORE for one in self._rounds[-2:]]
        return self._repairs > self._limits.repairs or unusable == [True, True]

    def _reached_limit(self) -> str:
        """The limit of the turn that is reached, in words; "" when none is."""
        used = sum((exchange.usage for exchange in self._inputs.turn.exchanges), self._usage)
        if used.requests >= self._limits.requests:
            return "requests to the model"
        return "tokens" if used.input_tokens + used.output_tokens >= self._limits.tokens else ""

    def _system_prompt(self) -> str:
        switches, offered = self._inputs.brief.switches, self._offered
        return system_prompt(self._inputs.turn.mode, switches, offered.directory, offered.is_carried_out)

    def _request(self) -> Request:
        messages: list[Message] = [message for one in self._rounds for message in one.messages]
        found = [name for memo in self._memos for name in memo.found_tools] + self._found
        return Request(
            self._system_prompt(),
            conversation(self._inputs, messages, self._limits.context * CHARS_PER_TOKEN),
            self._offered.definitions(found),
        )
