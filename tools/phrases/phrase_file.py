"""The phrase file, read strictly: sentences, the calls they mean, and how a sentence is recognised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator, model_validator

from gate.rules.action import Json
from gate.rules.templates import TemplateError, names
from tools.phrases.phrasebook import TOOL, Lookup, NameKind, Pattern, Phrase, PhraseBook, Read
from tools.phrases.runbook_file import RunbookSection, ToolName, problems_of, twins
from tools.phrases.sentence_patterns import SLOT, compiled
from tools.strict_config import Document, Place, Section, Wrong, fitting

__all__ = ["PhraseBook", "load_phrases", "read_phrases"]

GROUP = re.compile(r"[(\[][^()\[\]]*[)\]]")
WAITING = "pending"  # instead of a tool: show what waits


def _flaw(say: str) -> str:
    """What is wrong with a sentence; "" for nothing."""
    slots = [name for name, _ in SLOT.findall(say)]
    if len(set(slots)) != len(slots):
        return f"“{say}” has a slot twice"
    if set("{}") & set(SLOT.sub("", say)):
        return (
            f"“{say}” has a slot that cannot be read; a slot is {{name}}, {{name...}}, {{name:rest}}, "
            "{name:quoted}, {name:number}, {name:day}, {name:time} or {name:title}"
        )
    if re.search(r"\}\s*\{(?!\w+:(?:quoted|day))", say) or re.search(r":rest\}.", say):
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
        return Phrase(self.say, server, tool, self.args, self.each, self.example, self.names)


class ReadSection(Section):
    call: ToolName
    args: dict[str, Json]
    rows: str
    path: str

    def made(self) -> Read:
        server, _, tool = self.call.partition(".")
        return Read(server, tool, self.args, self.rows, self.path)


class LookupSection(Section):
    find: ReadSection
    inside: ReadSection

    def made(self) -> Lookup:
        return Lookup(self.find.made(), self.inside.made())


class FileSection(Section):
    phrases: tuple[PhraseSection, ...]
    runbooks: tuple[RunbookSection, ...] = ()
    lookup: LookupSection | None = None

    @model_validator(mode="after")
    def _fit_together(self) -> FileSection:
        if wrong := [*self._twins(), *twins(self.runbooks), *self._unsaid()]:
            raise Wrong(*wrong)
        return self

    def _twins(self) -> Iterator[tuple[Place, str]]:
        seen: set[str] = set()
        for place, phrase in enumerate(self.phrases):
            for pattern in phrase.say:
                shape = SLOT.sub("{}", pattern.say).lower()
                if shape in seen:
                    yield ("phrases", place, "say"), f"has “{pattern.say}”, which is there twice"
                seen.add(shape)

    def _unsaid(self) -> Iterator[tuple[Place, str]]:
        for place, runbook in enumerate(self.runbooks):
            for below, what in problems_of(runbook.made(), self.said()):
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
    lookup = read.lookup.made() if read.lookup else None
    return PhraseBook(read.said(), waiting, tuple(one.made() for one in read.runbooks), lookup)
