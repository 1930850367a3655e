"""What the phrase file says: phrases, lookups of names, and runbooks, each section validated by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from gate.rules.action import Json
from tools.strict_config import Section, Wrong, fitting

TOOL = re.compile(r"([A-Za-z0-9_-]{1,40})\.([A-Za-z0-9_./-]{1,128})")
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
WORD = re.compile(r"[a-z][a-z0-9_]*")
STEPS = "steps"  # `{steps.NAME.field}`
LOOKS, ITEM = "looks", "each"  # `{looks.NAME.field}`, and `{each}` for one item of a list of it
ToolName = Annotated[str, fitting(TOOL.fullmatch, "must be server.tool")]


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to say something. Slots: "" text, ":rest" to the end, ":quoted", ":number", ":day", ":time", ":title"
    text whose end tells of no time, ":there" a word for a folder that was told of before, "..." a list.

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


# What a slot stands for: something that exists, a place to put something, a file that is written, a new name, a new
# folder, or a new name in the folder of the slot `source`. `known` may exist; of it one word is a path. `part` is
# looked for in names.
NameKind = Literal["there", "known", "place", "new", "fresh", "folder", "beside", "part"]


@dataclass(frozen=True, slots=True)
class Phrase:
    """What can be said, and the call that it means. `names`: the slots that name files or folders. `of_folder`: the
    sentence that is meant instead where the name is that of a folder. `hints`: first words
    of other sentences that may ask for it."""

    patterns: tuple[Pattern, ...]
    server: str
    tool: str
    args: Mapping[str, Json]
    each: str = ""  # the list slot that gives one call for each of its items
    example: str = ""
    names: Mapping[str, NameKind] = field(default_factory=dict)
    of_folder: str = ""
    hints: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.server}.{self.tool}"


class Parameter(Section):
    """One value that a runbook takes; without a default it is asked for."""

    name: Annotated[
        str,
        fitting(
            lambda name: WORD.fullmatch(name) and name not in (STEPS, LOOKS, ITEM),
            "must be a word in small letters, and not `steps`, `looks` or `each`",
        ),
    ]
    question: Annotated[str, fitting(str.strip, "must say what to ask people for")]
    kind: Literal["string", "number", "list", "enum"] = Field("string", alias="type")
    default: Any = None
    assumed: Annotated[str, fitting(lambda told: "{value}" in told, "must have `{value}` in it")] = ""
    options: tuple[Annotated[str, fitting(bool, "must be text")], ...] = ()

    @model_validator(mode="after")
    def _of_its_type(self) -> Parameter:
        if bool(self.options) != (self.kind == "enum"):
            raise Wrong((("options",), "belong to the type enum, and to no other"))
        if self.default is not None and not self._takes(self.default):
            raise Wrong((("default",), "is no value of its type"))
        return self

    def _takes(self, value: Json) -> bool:
        if self.kind == "enum":
            return value in self.options
        if self.kind == "list":
            return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)
        if self.kind == "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        return isinstance(value, str) and value != ""


class Calling(Section):
    """A tool by its full name, and its arguments."""

    call: ToolName
    args: dict[str, Json] = Field(default_factory=dict)

    @property
    def server(self) -> str:
        return self.call.partition(".")[0]

    @property
    def tool(self) -> str:
        return self.call.partition(".")[2]


class Look(Calling):
    """One read that a runbook needs before its steps are known. `each`: a list parameter, or a list that an
    earlier look gives, as `looks.NAME.field`."""

    name: Annotated[str, fitting(WORD.fullmatch, "must be a word in small letters")]
    each: str = ""


class RunStep(Calling):
    """One step of a runbook: a sentence (`say`), or a tool and its arguments. `each`: the list, of a parameter or
    of a look, that gives one call for each of its items, but for those in the list `without`.
    `{steps.NAME.field}` in an argument is a result of an earlier step."""

    name: str = ""  # its number where the file gives none
    title: str = ""
    say: str = ""
    call: Annotated[str, fitting(lambda call: not call or TOOL.fullmatch(call), "must be server.tool")] = ""
    each: str = ""
    without: str = ""
    ask: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> RunStep:
        if bool(self.say) == bool(self.call):
            raise ValueError("must have either `say`, a sentence, or `call`, as server.tool")
        if self.say and self.args:
            raise Wrong((("args",), "belongs to `call`"))
        return self


def _named(steps: tuple[RunStep, ...]) -> tuple[RunStep, ...]:
    """The steps, each with a name: its number from 1 where it has none."""
    return tuple(
        step if step.name else step.model_copy(update={"name": str(place)})
        for place, step in enumerate(steps, 1)
    )


class Runbook(Section):
    """A named plan with parameters."""

    name: Annotated[
        str, fitting(NAME.fullmatch, "must be words in small letters with hyphens between, like tidy-up")
    ]
    own_title: str = Field("", alias="title")
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    looks: tuple[Look, ...] = ()
    steps: Annotated[
        tuple[RunStep, ...], fitting(bool, "must list at least one step"), AfterValidator(_named)
    ]
    example: str = ""

    @property
    def title(self) -> str:
        return self.own_title or self.name


class Read(Calling):
    """A read whose result is a list: `rows` is the list's field, `path` the field of an item that holds its path. An
    item of the kind `folder` is one."""

    args: dict[str, Json]
    rows: str
    path: str


class Lookup(Section):
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
