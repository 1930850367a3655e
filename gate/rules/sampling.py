"""What a tool's server may ask a model in the middle of a call (MCP sampling), and on whose record that goes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SamplingBounds:
    """What the servers that may sample can take. `hour_tokens`: of one server, in both directions."""

    requests: int = 4  # of one call
    answer_tokens: int = 2048  # of one answer
    hour_tokens: int = 200_000
    prompt_chars: int = 60_000  # of one request, system prompt included
    seconds: float = 30.0  # for one answer


@dataclass(frozen=True, slots=True)
class Prompt:
    """A server's request: its system prompt, and its messages as role ("user" or "assistant") and text."""

    system: str
    messages: tuple[tuple[str, str], ...]
    max_tokens: int

    @property
    def text(self) -> str:
        """All of it, for people and for its digest."""
        told = [f"{role}: {text}" for role, text in self.messages]
        return "\n".join([*([f"system: {self.system}"] if self.system else []), *told])


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer: data, which leads to no call."""

    text: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Sampled:
    """One request as it goes on the record. `refused`: why there is no answer. `again`: the answer of an equal request
    was used, and no model asked."""

    server: str
    tool: str
    prompt: str
    digest: str  # SHA-256 of the prompt
    answer: str = ""
    refused: str = ""
    tokens: tuple[int, int] = (0, 0)  # in, out
    again: bool = False
    withheld: bool = False  # neither prompt nor answer may be kept


class NotSampled(Exception):
    """There is no answer. Its text is a sentence for the server and for people."""


class Sampler(Protocol):
    """A model that answers servers."""

    async def complete(self, prompt: Prompt) -> Completion:
        """The model's answer, without any tools. Raises NotSampled."""


@dataclass(frozen=True, slots=True)
class SamplingRecord:
    """What holds for the sampling requests of one call. `write` puts one on record, or raises NotSampled.
    `refusal` takes a server, its tool, and the files whose content is in a prompt: why no model is given it, or ""."""

    write: Callable[[Sampled], Awaitable[None]]
    refusal: Callable[[str, str, Sequence[str]], Awaitable[str]] | None = None


# Of the calls that are made now; None: these may not sample.
RECORD: ContextVar[SamplingRecord | None] = ContextVar("sampling record", default=None)


@contextmanager
def recorded_by(record: SamplingRecord) -> Iterator[None]:
    """Within it, sampling requests of called tools go on this record."""
    before = RECORD.set(record)
    try:
        yield
    finally:
        RECORD.reset(before)
