"""What the phrase file says, as values: phrases, and runbooks of several steps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gate.rules.action import Json

TOOL = re.compile(r"([A-Za-z0-9_-]{1,40})\.([A-Za-z0-9_./-]{1,128})")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to say something. Slots: "" text, ":rest" to the end, ":quoted", ":number", ":day", ":time", ":title"
    text whose end tells of no time, "..." a list.

    `words`: what every such sentence holds, in this order and in small letters: where they are missing the pattern
    is not tried, which could take long."""

    say: str
    regex: re.Pattern[str]
    slots: Mapping[str, str]
    words: tuple[str, ...] = ()

    def possible(self, lowered: str) -> bool:
        """Whether a text, given in small letters, holds those words."""
        at = 0
        for word in self.words:
            at = lowered.find(word, at) + len(word)
            if at < len(word):
                return False
        return True

    @property
    def to_the_end(self) -> bool:
        return ":rest" in self.slots.values()


# What a slot stands for: something that exists, a place to put something, a file that may be new, a new folder, or a
# new name in the folder of the slot `source`. `known` is something that exists, too; of it and of a place one word is
# a path.
NameKind = Literal["there", "known", "place", "new", "folder", "beside"]


@dataclass(frozen=True, slots=True)
class Phrase:
    """What can be said, and the call that it means. `names`: the slots that name files or folders."""

    patterns: tuple[Pattern, ...]
    server: str
    tool: str
    args: Mapping[str, Json]
    each: str = ""  # the list slot that gives one call for each of its items
    example: str = ""
    names: Mapping[str, NameKind] = field(default_factory=dict)

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
class Read:
    """A read whose result is a list: `rows` is the list's field, `path` the field of an item that holds its path. An
    item of the kind `folder` is one."""

    server: str
    tool: str
    args: Mapping[str, Json]
    rows: str
    path: str


@dataclass(frozen=True, slots=True)
class Lookup:
    """How names are looked up: `find` takes {word}, a part of the name; `inside` takes {folder}."""

    find: Read
    inside: Read


@dataclass(frozen=True, slots=True)
class PhraseBook:
    """All phrases and runbooks, in the order of the file."""

    phrases: tuple[Phrase, ...] = ()
    pending: tuple[Pattern, ...] = ()  # sentences that ask what waits
    runbooks: tuple[Runbook, ...] = ()
    lookup: Lookup | None = None  # of names in phrases; without it they are taken as they are typed
