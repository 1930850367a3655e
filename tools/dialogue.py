"""A conversation with a model in our own words: what is asked, answered and kept, whatever the provider."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from gate.action import Json
from gate.task import Usage


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as the model is told of it."""

    name: str
    description: str
    schema: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Asked:
    """One tool call of a model: `args` is the text that it wrote, whether or not it is JSON."""

    name: str
    args: str


@dataclass(frozen=True, slots=True)
class Said:
    """One response of a model. `extra`: what only its provider understands and wants back, such as signatures."""

    text: str = ""
    calls: tuple[Asked, ...] = ()
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Results:
    """What became of the calls of the response before: one text for each of them, in their order."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """What is told to the model besides results."""

    text: str


Message = Words | Said | Results


@dataclass(frozen=True, slots=True)
class Request:
    """All that is sent to the model at once. `must`: it has to call one of the offered tools."""

    system: str
    messages: tuple[Message, ...]
    offers: tuple[Offer, ...] = ()
    must: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    said: Said
    usage: Usage


class ModelRefused(Exception):
    """The model does not answer, and trying again would not help. Its text is a sentence for people."""


class Model(Protocol):
    """The line to a model."""

    async def ask(self, request: Request) -> Answered:
        """One request. Raises Unavailable for what gets better by itself, else ModelRefused."""


@dataclass(frozen=True, slots=True)
class Round:
    """One response within a reply. A result of None is still to come: it is what people decide. `note`: what is
    told to the model after it, where there was no call to answer."""

    said: Said
    results: tuple[str | None, ...] = ()
    repair: bool = False  # it was sent back because it could not be used
    note: str = ""

    @property
    def messages(self) -> tuple[Message, ...]:
        results = (Results(tuple(text or "" for text in self.results)),) if self.results else ()
        said = (self.said,) if self.said.text or self.said.calls else ()
        return (*said, *results, *((Words(self.note),) if self.note else ()))

    def told(self, texts: Sequence[str]) -> Round:
        """With the results that were still to come, in order."""
        left = iter(texts)
        return replace(self, results=tuple(next(left, "") if r is None else r for r in self.results))


@dataclass(frozen=True, slots=True)
class Memo:
    """What the planner keeps with one of its replies: its rounds, which instructions it was given before, the
    tools that it found, and the seconds that it took."""

    rounds: tuple[Round, ...] = ()
    heard: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def repairs(self) -> int:
        return sum(one.repair for one in self.rounds)


def dumped(memo: Memo) -> str:
    """The memo as JSON text."""
    rounds = [
        {
            "text": one.said.text,
            "calls": [[call.name, call.args] for call in one.said.calls],
            "extra": one.said.extra,
            "results": list(one.results),
            "repair": one.repair,
            "note": one.note,
        }
        for one in memo.rounds
    ]
    kept = {"rounds": rounds, "heard": memo.heard, "found": memo.found, "seconds": round(memo.seconds, 3)}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


def loaded(text: str) -> Memo | None:
    """The memo of a reply; None where there is none, because another planner made the reply."""
    if not text:
        return None
    kept = json.loads(text)
    rounds = tuple(
        Round(
            Said(one["text"], tuple(Asked(name, args) for name, args in one["calls"]), one["extra"]),
            tuple(one["results"]),
            one["repair"],
            one["note"],
        )
        for one in kept["rounds"]
    )
    return Memo(rounds, tuple(kept["heard"]), tuple(kept["found"]), kept["seconds"])
