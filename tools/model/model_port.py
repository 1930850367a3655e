"""The API of a model in terms of our own: configuration, messages, tools and requests, whatever the provider."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from gate.rules.action import Json
from gate.rules.task import Usage

PROVIDERS = ("openai", "anthropic")
OUTPUT_TOKENS = 16_384  # of one response, unless configured


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """One model of one provider. `base_url` "" stands for the provider's own address. Loads no provider's library."""

    provider: str  # one of PROVIDERS
    name: str
    key: str = field(repr=False)
    base_url: str = field(default="", repr=False)
    seconds: float = 60.0  # for one request
    retry_seconds: float = 10.0  # for which temporary errors are retried before people are told
    output_tokens: int = OUTPUT_TOKENS  # of one response

    @property
    def full_name(self) -> str:
        return f"{self.provider}:{self.name}"


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as it is described to the model."""

    name: str
    description: str
    schema: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call of a model: `args` is the text that it wrote, whether or not it is JSON."""

    name: str
    args: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One message of a model. `extra`: provider-specific content that has to be sent back, such as signatures."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    extra: str = ""


@dataclass(frozen=True, slots=True)
class ToolResults:
    """The results of the tool calls of the message before: one text for each, in their order."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Text for the model besides results."""

    text: str


Message = UserMessage | AssistantMessage | ToolResults


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the model. `tool_required`: it has to call one of the tools."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    tool_required: bool = False
    output_tokens: int = 0  # of the answer; 0: as configured


@dataclass(frozen=True, slots=True)
class Response:
    """A model's answer to one request, and the tokens that it took. `truncated`: it ended at the output limit."""

    message: AssistantMessage
    usage: Usage
    truncated: bool = False


class ModelRefused(Exception):
    """The model does not answer, and a retry would not help. Its text is a sentence for people."""


class Model(Protocol):
    """A model that can be asked."""

    async def ask(self, request: Request) -> Response:
        """One request. Raises PlannerUnavailable for temporary errors, else ModelRefused."""


@dataclass(frozen=True, slots=True)
class Round:
    """One message of the model within a reply, with its results. A result of None is pending: people decide it.
    `note`: a message to the model where there was no call to answer."""

    message: AssistantMessage
    results: tuple[str | None, ...] = ()
    repair: bool = False  # it was rejected, and the model asked again
    note: str = ""

    @property
    def messages(self) -> tuple[Message, ...]:
        results = (ToolResults(tuple(text or "" for text in self.results)),) if self.results else ()
        message = (self.message,) if self.message.text or self.message.calls else ()
        return (*message, *results, *((UserMessage(self.note),) if self.note else ()))

    def with_results(self, texts: Sequence[str]) -> Round:
        """The round with its pending results filled in, in order."""
        left = iter(texts)
        return replace(self, results=tuple(next(left, "") if r is None else r for r in self.results))


@dataclass(frozen=True, slots=True)
class Memo:
    """What the planner stores with one of its replies: its rounds, the ids of the instructions that it was given
    before, the tools that it found, and the seconds that it took. `begun`: the first request was answered with it."""

    rounds: tuple[Round, ...] = ()
    instruction_ids: tuple[str, ...] = ()
    found_tools: tuple[str, ...] = ()
    seconds: float = 0.0
    begun: bool = False

    @property
    def repairs(self) -> int:
        return sum(one.repair for one in self.rounds)


def dump_memo(memo: Memo) -> str:
    """The memo as JSON text."""
    rounds = [
        {
            "text": one.message.text,
            "calls": [[call.name, call.args] for call in one.message.calls],
            "extra": one.message.extra,
            "results": list(one.results),
            "repair": one.repair,
            "note": one.note,
        }
        for one in memo.rounds
    ]
    data = {
        "rounds": rounds,
        "heard": memo.instruction_ids,
        "found": memo.found_tools,
        "seconds": round(memo.seconds, 3),
        **({"begun": True} if memo.begun else {}),
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def load_memo(text: str) -> Memo | None:
    """The memo of a reply; None where there is none, because another planner made the reply."""
    if not text:
        return None
    data = json.loads(text)
    rounds = tuple(
        Round(
            AssistantMessage(
                one["text"], tuple(ToolCall(name, args) for name, args in one["calls"]), one["extra"]
            ),
            tuple(one["results"]),
            one["repair"],
            one["note"],
        )
        for one in data["rounds"]
    )
    return Memo(rounds, tuple(data["heard"]), tuple(data["found"]), data["seconds"], "begun" in data)
