"""The planner with a model: it reads, proposes, asks and speaks. It can run nothing and confirm nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from gate.action import Action
from gate.policy import Policy
from gate.talk import Brief, Replied, Reply, Say, Turn
from gate.task import Assessment, Usage
from gate.world import Tools, Unavailable
from tools.assessing import assess
from tools.context import Known
from tools.dialogue import Memo, Message, Model, ModelRefused, Request, Round, dumped, loaded
from tools.gate_toolset import ALL_AT_ONCE, Toolset
from tools.history import conversation
from tools.marks import Marks
from tools.offering import Offering
from tools.outcomes import news, spent, statement
from tools.prompt import system_prompt
from tools.responses import Responses

CHARACTERS = 4  # that make a token, as an estimate
ENOUGH = (
    "I stopped here: this took more {what} than I may take for one request. Please ask for less at a time."
)
UNUSABLE = "I could not make a usable proposal of this. {why} Please put it in other words, or ask for less at a time."
AFTER_A_NO = "I stop here. Tell me if something else should be done."


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What one turn may take. Requests, repairs, seconds of thinking and tokens count over all of its replies."""

    requests: int = 24
    repairs: int = 6  # responses that could not be used and were sent back
    seconds: float = 240.0
    tokens: int = 600_000  # in and out
    context: int = 60_000  # tokens of one request; old outputs are left out above it
    schemas: int = ALL_AT_ONCE  # tokens of tools that are sent as they are; above, they are searched for


LIMITS = ModelLimits()


@dataclass(frozen=True, slots=True)
class ModelPlanner:
    """Implements gate.talk.Planner. Keeps nothing: what it has to remember is in the memos of the exchanges.

    `key`: a secret for the codes that mark data, any bytes.
    """

    model: Model
    tools: Tools
    policy: Policy
    key: bytes
    limits: ModelLimits = LIMITS

    follows = True

    async def assess(self, turn: Turn, brief: Brief) -> Assessment:
        """How complex, how clear, and what is missing. Raises Unavailable."""
        known, _ = self._known(turn, brief, ())
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await assess(self.model, known, self.limits.context * CHARACTERS)
        except TimeoutError:
            raise Unavailable("the model took too long to assess this") from None

    async def reply(self, turn: Turn, brief: Brief, pending: tuple[Action, ...]) -> Replied:
        """The next thing to propose, ask or say. Raises Unavailable."""
        known, offering = self._known(turn, brief, pending)
        if spent(turn, brief, offering.reads):
            return Replied(Say(f"{statement(turn, offering.reads)}\n{AFTER_A_NO}"))
        return await Thinking(self.model, known, offering, self.limits).reply()

    def searches(self, channel: str) -> bool:
        """Whether there are so many tools that a model has to search for them."""
        return Toolset(self.tools, self.policy, channel).searched(self.limits.schemas)

    def _known(self, turn: Turn, brief: Brief, pending: Sequence[Action]) -> tuple[Known, Offering]:
        tools = Toolset(self.tools, self.policy, turn.session.channel)
        offering = Offering(tools, turn, brief, tools.searched(self.limits.schemas))
        return Known(turn, brief, pending, tools, Marks(self.key, turn.id), offering.cards()), offering


class Thinking:
    """One reply in the making: requests to the model until there is something to store."""

    def __init__(self, model: Model, known: Known, offering: Offering, limits: ModelLimits) -> None:
        self._model, self._known, self._offering, self._limits = model, known, offering, limits
        self._memos = [memo for exchange in known.turn.exchanges if (memo := loaded(exchange.memo))]
        self._responses = Responses(known, offering)
        self._began = time.monotonic()
        self._rounds: list[Round] = []
        self._found: list[str] = []
        self._usage = Usage()

    async def reply(self) -> Replied:
        """Raises Unavailable."""
        left = self._limits.seconds - sum(memo.seconds for memo in self._memos)
        if left <= 0:
            return self._replied(Say(ENOUGH.format(what="time")))
        try:
            async with asyncio.timeout(left):
                return self._replied(await self._think())
        except TimeoutError:
            raise Unavailable("the model took too long to answer") from None
        except ModelRefused as error:
            return self._replied(Say(str(error)))

    def _replied(self, reply: Reply) -> Replied:
        took = time.monotonic() - self._began
        heard = news(self._known.turn, self._known.brief)
        return Replied(reply, dumped(Memo(tuple(self._rounds), heard, tuple(self._found), took)), self._usage)

    async def _think(self) -> Reply:
        """Ask until there is a reply, or a limit is reached."""
        while not (over := self._over()):
            answered = await self._model.ask(self._request())
            self._usage += answered.usage
            meaning = self._responses.read(answered.said)
            self._rounds.append(meaning.round)
            self._found += meaning.found
            if meaning.reply is not None:
                return meaning.reply
            if meaning.why and self._repairs > self._limits.repairs:
                return Say(UNUSABLE.format(why=meaning.why))
        return Say(ENOUGH.format(what=over))

    @property
    def _repairs(self) -> int:
        return sum(one.repair for one in self._rounds) + sum(memo.repairs for memo in self._memos)

    def _over(self) -> str:
        """Which limit of the turn is reached, in a word."""
        used = sum((exchange.usage for exchange in self._known.turn.exchanges), self._usage)
        if used.requests >= self._limits.requests:
            return "requests to the model"
        return "tokens" if used.input_tokens + used.output_tokens >= self._limits.tokens else ""

    def _request(self) -> Request:
        now: list[Message] = [message for one in self._rounds for message in one.messages]
        found = [name for memo in self._memos for name in memo.found] + self._found
        return Request(
            system_prompt(self._known.turn.mode, self._known.brief.switches, self._offering.directory),
            conversation(self._known, now, self._limits.context * CHARACTERS),
            self._offering.offers(found),
        )
