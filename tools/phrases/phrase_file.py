"""The phrase file, read strictly: sentences, the calls they mean, how one is recognised, and its runbooks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator, model_validator

from gate.rules.action import Json
from gate.rules.templates import TemplateError, names
from tools.phrases.phrasebook import (
    ITEM,
    LOOKS,
    NAME,
    STEPS,
    TOOL,
    Look,
    Lookup,
    NameKind,
    Parameter,
    Pattern,
    Phrase,
    PhraseBook,
    Runbook,
    RunStep,
)
from tools.phrases.runbook_steps import is_list, is_look, unsaid
from tools.phrases.sentence_patterns import EXACT, SLOT, beginnings, compiled
from tools.strict_config import Document, Place, Section, Wrong, fitting

Found = Iterator[tuple[Place, str]]  # what is wrong, each with its place in the runbook
__all__ = ["PhraseBook", "load_phrases", "read_phrases"]
GROUP = re.compile(r"[(\[][^()\[\]]*[)\]]")
WAITING = "pending"  # instead of a tool: show what waits


def plain_name(label: str) -> str:
    """`Tidy-up drafts` and `tidy up  drafts` are the same name."""
    return " ".join(re.split(r"[-_\s]+", label.strip().casefold()))


def twins(runbooks: Sequence[Runbook]) -> Found:
    """Runbooks with the name or the title of an earlier one."""
    taken: set[str] = set()
    for place, one in enumerate(runbooks):
        labels = {plain_name(label): label for label in (one.name, one.title)}
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


def _flaw(say: str) -> str:
    """What is wrong with a sentence; "" for nothing."""
    slots = [name for name, _ in SLOT.findall(say)]
    if len(set(slots)) != len(slots):
        return f"“{say}” has a slot twice"
    if set("{}") & set(SLOT.sub("", say)):
        return (
            f"“{say}” has a slot that cannot be read; a slot is {{name}}, {{name...}}, {{name:rest}}, "
            "{name:quoted}, {name:number}, {name:day}, {name:time}, {name:when}, {name:there} or {name:title}"
        )
    if re.search(r"\}\s*\{(?!\w+:(?:quoted|day|when|there))", say) or re.search(r":rest\}.", say):
        return f"“{say}”: between two slots there must be a word, and nothing follows a rest"
    if say.endswith("]") or any("{" in group for group in GROUP.findall(say)):
        return f"“{say}”: no slot inside of brackets, and no word to leave out at the end"
    try:
        compiled(say)
    except re.error as error:
        return f"“{say}” cannot be read: {error}"
    return ""


def _patterns(says: Any) -> tuple[Pattern, ...]:
    says = [says] if isinstance(says, str) else says
    if not isinstance(says, list) or not says or not all(isinstance(say, str) and say for say in says):
        raise ValueError("must be a sentence or a list of sentences")
    if found := [flaw for say in says if (flaw := _flaw(say))]:
        raise Wrong(*(((), f"is wrong: {flaw}") for flaw in found))
    return tuple(map(compiled, says))


class PhraseSection(Section):
    say: Annotated[tuple[Pattern, ...], PlainValidator(_patterns)]
    call: Annotated[str, fitting(lambda call: call == WAITING or TOOL.fullmatch(call), "must be server.tool")]
    args: dict[str, Json] = Field(default_factory=dict)
    each: str = ""
    example: str = ""
    names: dict[str, NameKind] = Field(default_factory=dict)
    of_folder: str = ""
    hints: str = ""

    @model_validator(mode="after")
    def _slots_fit(self) -> PhraseSection:
        if self.call != WAITING and (wrong := list(self._misfits())):
            raise Wrong(*wrong)
        return self

    def _misfits(self) -> Iterator[tuple[Place, str]]:
        try:
            wanted = {path[0] for path in names(self.args)}
        except TemplateError as error:
            yield ("args",), f"cannot be filled in: {error}"
            return
        for pattern in self.say:
            for name in sorted(wanted ^ pattern.slots.keys()):
                yield ("say",), f"and `args` do not have the same slots: {name} in “{pattern.say}”"
            if "beside" in self.names.values() and "source" not in pattern.slots:
                yield ("names",), f"says “beside”, and “{pattern.say}” has no slot {{source}}"
            for name in sorted(self.names.keys() - pattern.slots.keys()):
                yield ("names", name), f"is no slot of “{pattern.say}”"
            if self.each and pattern.slots.get(self.each) != "...":
                yield ("each",), f"must be a list slot of “{pattern.say}”"

    def phrase(self) -> Phrase:
        server, _, tool = self.call.partition(".")
        return Phrase(
            self.say,
            server,
            tool,
            self.args,
            self.each,
            self.example,
            self.names,
            self.of_folder,
            self.hints,
        )


class FileSection(Section):
    phrases: tuple[PhraseSection, ...]
    runbooks: tuple[Runbook, ...] = ()
    lookup: Lookup | None = None

    @model_validator(mode="after")
    def _fit_together(self) -> FileSection:
        if wrong := [*self._twins(), *twins(self.runbooks), *self._unsaid()]:
            raise Wrong(*wrong)
        return self

    def _twins(self) -> Iterator[tuple[Place, str]]:
        seen: set[str] = set()
        for place, phrase in enumerate(self.phrases):
            for pattern in phrase.say:
                shape = SLOT.sub(
                    lambda slot: f"{{{slot[2] if slot[2] in EXACT else ''}}}", pattern.say
                ).lower()
                if shape in seen:
                    yield ("phrases", place, "say"), f"has “{pattern.say}”, which is there twice"
                seen.add(shape)

    def _unsaid(self) -> Iterator[tuple[Place, str]]:
        for place, runbook in enumerate(self.runbooks):
            for below, what in problems_of(runbook, self.said()):
                yield ("runbooks", place, *below), what

    def said(self) -> tuple[Phrase, ...]:
        return tuple(one.phrase() for one in self.phrases if one.call != WAITING)


def load_phrases(path: Path) -> PhraseBook:
    """Read the file. Raises ConfigError with everything that is wrong in it."""
    return read_phrases(Document.read(path))


def read_phrases(document: Document) -> PhraseBook:
    """The phrases and runbooks of a file. Raises ConfigError."""
    read = document.validated(FileSection)
    waiting = tuple(pattern for one in read.phrases if one.call == WAITING for pattern in one.say)
    for pattern in (pattern for one in read.phrases for pattern in one.say):
        beginnings(pattern.say)  # compiled and kept, so that no message waits for it
    return PhraseBook(read.said(), waiting, read.runbooks, read.lookup)
