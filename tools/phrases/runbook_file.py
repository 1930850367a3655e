"""The runbooks of the phrase file, read strictly: every mistake is named with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from gate.rules.action import Json
from gate.rules.templates import TemplateError, names
from tools.phrases.phrasebook import TOOL, Look, Parameter, Phrase, Runbook, RunStep
from tools.phrases.runbook_steps import ITEM, LOOKS, is_list, is_look, unsaid
from tools.strict_config import Place, Section, Wrong, fitting

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
VALUE = re.compile(r"[a-z][a-z0-9_]*")
STEPS = "steps"  # `{steps.NAME.field}`
Found = Iterator[tuple[Place, str]]  # what is wrong, each with its place in the runbook


def plain_name(label: str) -> str:
    """`Tidy-up drafts` and `tidy up  drafts` are the same name."""
    return " ".join(re.split(r"[-_\s]+", label.strip().casefold()))


ParameterName = Annotated[
    str,
    fitting(
        lambda name: VALUE.fullmatch(name) and name not in (STEPS, LOOKS, ITEM),
        "must be a word in small letters, and not `steps`, `looks` or `each`",
    ),
]
Option = Annotated[str, fitting(bool, "must be text")]
ToolName = Annotated[str, fitting(TOOL.fullmatch, "must be server.tool")]


class ParameterSection(Section):
    name: ParameterName
    question: Annotated[str, fitting(str.strip, "must say what to ask people for")]
    type: Literal["string", "number", "list", "enum"] = "string"
    default: Any = None
    options: tuple[Option, ...] = ()

    @model_validator(mode="after")
    def _of_its_type(self) -> ParameterSection:
        if bool(self.options) != (self.type == "enum"):
            raise Wrong((("options",), "belong to the type enum, and to no other"))
        if not _is(self.type, self.default, self.options):
            raise Wrong((("default",), "is no value of its type"))
        return self

    def made(self) -> Parameter:
        return Parameter(self.name, self.question, self.type, self.default, self.options)


class LookSection(Section):
    name: Annotated[str, fitting(VALUE.fullmatch, "must be a word in small letters")]
    call: ToolName
    args: dict[str, Json] = Field(default_factory=dict)
    each: str = ""

    def made(self) -> Look:
        server, _, tool = self.call.partition(".")
        return Look(self.name, server, tool, self.args, self.each)


class StepSection(Section):
    name: str = ""
    title: str = ""
    say: str = ""
    call: Annotated[str, fitting(lambda call: not call or TOOL.fullmatch(call), "must be server.tool")] = ""
    args: dict[str, Json] = Field(default_factory=dict)
    each: str = ""
    without: str = ""
    ask: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> StepSection:
        if bool(self.say) == bool(self.call):
            raise ValueError("must have either `say`, a sentence, or `call`, as server.tool")
        if self.say and self.args:
            raise Wrong((("args",), "belongs to `call`"))
        return self

    def made(self, place: int) -> RunStep:
        """`place`: the number of the step from 1, which names it where nothing else does."""
        server, _, tool = self.call.partition(".")
        name = self.name or str(place)
        return RunStep(name, self.say, server, tool, self.args, self.each, self.without, self.ask, self.title)


class RunbookSection(Section):
    name: Annotated[
        str, fitting(NAME.fullmatch, "must be words in small letters with hyphens between, like tidy-up")
    ]
    title: str = ""
    description: str = ""
    parameters: tuple[ParameterSection, ...] = ()
    looks: tuple[LookSection, ...] = ()
    steps: Annotated[tuple[StepSection, ...], fitting(bool, "must list at least one step")]
    example: str = ""

    def made(self) -> Runbook:
        return Runbook(
            self.name,
            self.title or self.name,
            self.description,
            tuple(one.made() for one in self.parameters),
            tuple(step.made(place) for place, step in enumerate(self.steps, 1)),
            tuple(one.made() for one in self.looks),
            self.example,
        )


def twins(runbooks: Sequence[RunbookSection]) -> Found:
    """Runbooks with the name or the title of an earlier one."""
    taken: set[str] = set()
    for place, one in enumerate(runbooks):
        labels = {plain_name(label): label for label in (one.name, one.title) if label}
        for label in labels.keys() & taken:
            yield ("runbooks", place), f"is called “{labels[label]}”, and there is a runbook of that name"
        taken |= labels.keys()


def problems_of(runbook: Runbook, phrases: Sequence[Phrase]) -> list[tuple[Place, str]]:
    """What is wrong with the names in a runbook, and then with its sentences. `phrases`: what its steps may say."""
    found = list(_names(runbook))
    return found or [
        (("steps", place, "say"), f"cannot be used: {why}")
        for place, step in enumerate(runbook.steps)
        if step.say
        for why in unsaid(step, runbook.parameters, phrases)
    ]


@dataclass
class _Known:
    """What placeholders may name at some place of a runbook."""

    parameters: Sequence[Parameter]
    looks: set[str] = field(default_factory=set)
    steps: dict[str, RunStep] = field(default_factory=dict)


def _names(runbook: Runbook) -> Found:
    """Every placeholder names a parameter, or a look or step before it, and every parameter is used."""
    used: set[str] = set()
    known = _Known(runbook.parameters)
    yield from _once("parameters", [one.name for one in runbook.parameters])
    yield from _once("looks", [one.name for one in runbook.looks])
    yield from _once(STEPS, [one.name for one in runbook.steps])
    for place, look in enumerate(runbook.looks):
        yield from _used(("looks", place), dict(look.args), look, known)
        used |= _starts(dict(look.args)) | {look.each}
        known.looks.add(look.name)
    for place, step in enumerate(runbook.steps):
        if not NAME.fullmatch(step.name) and step.name != str(place + 1):
            yield (STEPS, place, "name"), "must be words in small letters with hyphens between"
        template: Json = [step.say, dict(step.args), step.title]
        yield from _used((STEPS, place), template, step, known)
        yield from _results((STEPS, place), step)
        used |= _starts(template) | {step.each}
        known.steps[step.name] = step
    for place, parameter in enumerate(runbook.parameters):
        if parameter.name not in used:
            yield ("parameters", place), f"is used in no step: `{parameter.name}`"


def _once(key: str, given: list[str]) -> Found:
    for place, name in enumerate(given):
        if name in given[:place]:
            yield (key, place), f"has the name `{name}`, which is there twice"


def _starts(template: Json) -> set[str]:
    return {path[0] for path in _paths(template)}


def _paths(template: Json) -> set[tuple[str, ...]]:
    """The placeholders of a template; none where it cannot be read, which is told of once."""
    try:
        return names(template)
    except TemplateError:
        return set()


def _used(at: Place, template: Json, step: RunStep | Look, known: _Known) -> Found:
    """What is wrong with the values that a step or a look takes."""
    try:
        names(template)
    except TemplateError as error:
        yield at, f"cannot be filled in: {error}"
    for path in sorted(_paths(template)):
        if why := _unknown(path, step, known):
            yield at, f"takes {{{'.'.join(path)}}}, which {why}"
    if step.each and not is_list(step.each, known.parameters, known.looks):
        yield (*at, "each"), "must name a parameter of the type list, or a list that a look gives"
    without = step.without if isinstance(step, RunStep) else ""
    if without and not (step.each and is_look(without) and is_list(without, (), known.looks)):
        yield (*at, "without"), "belongs to `each`, and must name a list that a look gives"


def _unknown(path: tuple[str, ...], step: RunStep | Look, known: _Known) -> str:
    """Why a placeholder cannot be used here; "" where it can."""
    if path[0] == LOOKS:
        there = len(path) > 2 and path[1] in known.looks
        return "" if there else "must name an earlier look and a field of its result"
    if path[0] == ITEM and is_look(step.each):
        return ""
    if path[0] != STEPS:
        there = len(path) == 1 and path[0] in [one.name for one in known.parameters]
        return "" if there else "names no parameter"
    source = known.steps.get(path[1]) if len(path) > 2 else None
    if source is None:
        return "must name an earlier step and a field of its result"
    if isinstance(step, RunStep) and source.each and _items(source) != _items(step):
        return f"is one result for each of `{source.each}`: add `each: {source.each}` here"
    return ""


def _results(at: Place, step: RunStep) -> Found:
    """A result stands in an argument of its own, without parameters beside it: what people write is never read as a
    template."""
    for key, value in step.args.items():
        inner = _starts(value)
        if STEPS in inner and (not isinstance(value, str) or inner != {STEPS}):
            yield (*at, "args", key), "must be a text with the result of a step and no parameters beside it"
    if STEPS in _starts(step.title):
        yield (*at, "title"), "cannot show a result that is not there yet"


def _items(step: RunStep) -> tuple[str, str]:
    return step.each, step.without


def _is(kind: str, value: Json, options: Sequence[str]) -> bool:
    if value is None:
        return True
    if kind == "enum":
        return value in options
    if kind == "list":
        return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, str) and value != ""
