"""What the phrase file says, as values: phrases, and runbooks of several steps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gate.action import Json

TOOL = re.compile(r"([A-Za-z0-9_-]{1,40})\.([A-Za-z0-9_./-]{1,128})")


class BadPhrases(Exception):
    """What is wrong in the phrase file: one sentence for each mistake."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to say something. Slots: "" text, ":rest" to the end, ":quoted", ":number", "..." a list."""

    say: str
    regex: re.Pattern[str]
    slots: Mapping[str, str]

    @property
    def to_the_end(self) -> bool:
        return ":rest" in self.slots.values()


@dataclass(frozen=True, slots=True)
class Phrase:
    """What can be said, and the call that it means."""

    patterns: tuple[Pattern, ...]
    server: str
    tool: str
    args: Mapping[str, Json]
    each: str = ""  # the list slot that gives one call for each of its items
    example: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.server}.{self.tool}"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One value that a runbook takes. `kind`: string, number, list or enum; without a default it is asked for."""

    name: str
    question: str
    kind: str = "string"
    default: Json = None
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """One read that a runbook needs before its steps are known. `each`: a list parameter, or a list that an
    earlier look gives, as `looks.NAME.field`."""

    name: str
    server: str
    tool: str
    args: Mapping[str, Json] = field(default_factory=dict)
    each: str = ""


@dataclass(frozen=True, slots=True)
class RunStep:
    """One step of a runbook: a sentence (`say`), or a tool and its arguments. `each`: the list, of a parameter or
    of a look, that gives one call for each of its items, but for those in the list `without`.
    `{steps.NAME.field}` in an argument is a result of an earlier step."""

    name: str
    say: str = ""
    server: str = ""
    tool: str = ""
    args: Mapping[str, Json] = field(default_factory=dict)
    each: str = ""
    without: str = ""
    ask: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class Runbook:
    """A named plan with parameters."""

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    steps: tuple[RunStep, ...]
    looks: tuple[Look, ...] = ()
    example: str = ""


@dataclass(frozen=True, slots=True)
class PhraseBook:
    """All phrases and runbooks, in the order of the file."""

    phrases: tuple[Phrase, ...] = ()
    pending: tuple[Pattern, ...] = ()  # sentences that ask what waits
    runbooks: tuple[Runbook, ...] = ()
