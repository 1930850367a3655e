"""The runbooks of the phrase file, read strictly: every mistake is named with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gate.action import Json
from gate.template import TemplateError, names
from tools.book import TOOL, Look, Parameter, Phrase, Runbook, RunStep
from tools.looks import ITEM, LOOKS, is_list, is_look
from tools.run_steps import unsaid

KEYS = {"name", "title", "description", "parameters", "looks", "steps", "example"}
PARAMETER = {"name", "question", "type", "default", "options"}
LOOK = {"name", "call", "args", "each"}
STEP = {"name", "title", "say", "call", "args", "each", "without", "ask"}
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "list": (list,),
    "enum": (str,),
}
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
VALUE = re.compile(r"[a-z][a-z0-9_]*")
STEPS = "steps"  # `{steps.NAME.field}`


def read_runbooks(
    entries: Sequence[Json], file: str, phrases: Sequence[Phrase], problems: list[str]
) -> tuple[Runbook, ...]:
    """The loaded YAML to runbooks; what is wrong is added to `problems`. `phrases`: what their steps may say."""
    found: list[Runbook] = []
    for place, entry in enumerate(entries, 1):
        reader = _Reader(entry, f"{file}, runbook {place}", phrases)
        runbook = reader.read()
        problems += reader.problems
        taken = {plain_name(label) for other in found for label in (other.name, other.title)}
        twins = dict.fromkeys(label for label in (runbook.name, runbook.title) if plain_name(label) in taken)
        problems += [
            f"{file}, runbook {place}: there is a runbook “{label}” already" for label in twins if label
        ]
        found.append(runbook)
    return tuple(found)


def plain_name(label: str) -> str:
    """`Tidy-up drafts` and `tidy up  drafts` are the same name."""
    return " ".join(re.split(r"[-_\s]+", label.strip().casefold()))


class _Reader:
    """Reads one entry. What is missing is read as empty, so that everything wrong can be named at once."""

    def __init__(self, entry: Json, where: str, phrases: Sequence[Phrase]) -> None:
        self.where, self.phrases = where, phrases
        self.problems: list[str] = []
        self.entry: dict[str, Any] = entry if isinstance(entry, dict) else {}

    def read(self) -> Runbook:
        name = self._text(self.entry, "name", "")
        self.where = f"{self.where} “{name}”" if name else self.where
        self._keys(self.entry, KEYS, "")
        if not NAME.fullmatch(name):
            self._wrong("`name` must be words in small letters with hyphens between, like tidy-up")
        parameters = tuple(self._parameter(raw, f"parameter {i}") for i, raw in self._list("parameters"))
        self._once("parameter", [p.name for p in parameters])
        looks = tuple(self._look(raw, f"look {i}: ") for i, raw in self._list("looks"))
        self._once("look", [look.name for look in looks])
        steps = tuple(self._step(raw, i) for i, raw in self._list("steps"))
        self._once("step", [step.name for step in steps])
        if not steps:
            self._wrong("`steps` must list at least one step")
        self._names(parameters, looks, steps)
        texts = [self._text(self.entry, key, "") for key in ("title", "description", "example")]
        return Runbook(name, texts[0] or name, texts[1], parameters, steps, looks, texts[2])

    def _wrong(self, what: str) -> None:
        self.problems.append(f"{self.where}: {what}")

    def _keys(self, entry: dict[str, Any], known: set[str], where: str) -> None:
        for key in entry.keys() - known:
            self._wrong(f"{where}the key `{key}` is not known")

    def _text(self, entry: dict[str, Any], key: str, where: str) -> str:
        value = entry.get(key, "")
        if not isinstance(value, str):
            self._wrong(f"{where}`{key}` must be text")
            return ""
        return value

    def _list(self, key: str) -> Iterator[tuple[int, dict[str, Any]]]:
        raw = self.entry.get(key, [])
        if not isinstance(raw, list) or not all(isinstance(item, dict) for item in raw):
            self._wrong(f"`{key}` must be a list of mappings")
            raw = []
        yield from enumerate(raw, 1)

    def _once(self, what: str, given: list[str]) -> None:
        for name in sorted({name for name in given if given.count(name) > 1}):
            self._wrong(f"the {what} `{name}` is there twice")

    def _parameter(self, raw: dict[str, Any], place: str) -> Parameter:
        self._keys(raw, PARAMETER, f"{place}: ")
        name, question = (self._text(raw, key, f"{place}: ") for key in ("name", "question"))
        kind, options, default = raw.get("type", "string"), raw.get("options", []), raw.get("default")
        if not VALUE.fullmatch(name) or name in (STEPS, LOOKS, ITEM):
            self._wrong(
                f"{place}: `name` must be a word in small letters, and not `{STEPS}`, `looks` or `each`"
            )
        if not question.strip():
            self._wrong(f"{place}: `question` must say what to ask people for")
        if kind not in TYPES:
            self._wrong(f"{place}: `type` must be one of {', '.join(TYPES)}")
            return Parameter(name, question)
        if not isinstance(options, list) or not all(isinstance(o, str) and o for o in options):
            self._wrong(f"{place}: `options` must be a list of texts")
            options = []
        if bool(options) != (kind == "enum"):
            self._wrong(f"{place}: `options` belong to the type enum, and to no other")
        if not _is(kind, default, options):
            self._wrong(f"{place}: `default` is no value of its type")
        return Parameter(name, question, kind, default, tuple(options))

    def _look(self, raw: dict[str, Any], where: str) -> Look:
        self._keys(raw, LOOK, where)
        name, call, each = (self._text(raw, key, where) for key in ("name", "call", "each"))
        tool, args = TOOL.fullmatch(call), raw.get("args", {})
        if not tool:
            self._wrong(f"{where}`call` must be server.tool")
        if not isinstance(args, dict):
            self._wrong(f"{where}`args` must be a mapping")
            args = {}
        if not VALUE.fullmatch(name):
            self._wrong(f"{where}`name` must be a word in small letters")
        return Look(name, tool[1] if tool else "", tool[2] if tool else "", args, each)

    def _step(self, raw: dict[str, Any], place: int) -> RunStep:
        where = f"step {place}: "
        self._keys(raw, STEP, where)
        say, call, each, without, title = (
            self._text(raw, key, where) for key in ("say", "call", "each", "without", "title")
        )
        name, args, ask = (
            self._text(raw, "name", where) or str(place),
            raw.get("args", {}),
            raw.get("ask", False),
        )
        tool = TOOL.fullmatch(call)
        if bool(say) == bool(call) or (call and not tool):
            self._wrong(f"{where}give either `say`, a sentence, or `call`, as server.tool")
        if not isinstance(args, dict) or (say and args):
            self._wrong(f"{where}`args` is a mapping, and belongs to `call`")
            args = {}
        if not NAME.fullmatch(name) and name != str(place):
            self._wrong(f"{where}`name` must be words in small letters with hyphens between")
        if not isinstance(ask, bool):
            self._wrong(f"{where}`ask` must be true or false")
        server, named = (tool[1], tool[2]) if tool else ("", "")
        return RunStep(name, say, server, named, args, each, without, ask is True, title)

    def _names(
        self, parameters: Sequence[Parameter], looks: Sequence[Look], steps: Sequence[RunStep]
    ) -> None:
        """Every placeholder names a parameter, or a look or step before it, and every parameter is used."""
        used: set[str] = set()
        known = _Known(parameters)
        for place, look in enumerate(looks, 1):
            used |= self._used(f"look {place}: ", dict(look.args), look, known)
            known.looks.add(look.name)
        for place, step in enumerate(steps, 1):
            used |= self._used(f"step {place}: ", [step.say, dict(step.args), step.title], step, known)
            self._results(f"step {place}: ", step)
            known.steps[step.name] = step
            self.problems += [f"{self.where}: step {place}: {w}" for w in self._unsaid(step, parameters)]
        for parameter in parameters:
            if parameter.name not in used:
                self._wrong(f"the parameter `{parameter.name}` is used in no step")

    def _unsaid(self, step: RunStep, parameters: Sequence[Parameter]) -> list[str]:
        return [*unsaid(step, parameters, self.phrases)] if step.say and not self.problems else []

    def _used(self, where: str, template: Json, step: RunStep | Look, known: _Known) -> set[str]:
        """The names that a step or a look takes its values from."""
        try:
            paths = names(template)
        except TemplateError as error:
            self._wrong(f"{where}{error}")
            paths = set()
        for path in sorted(paths):
            self._name(where, path, step, known)
        if step.each and not is_list(step.each, known.parameters, known.looks):
            self._wrong(f"{where}`each` must name a parameter of the type list, or a list that a look gives")
        without = step.without if isinstance(step, RunStep) else ""
        if without and not (step.each and is_look(without) and is_list(without, (), known.looks)):
            self._wrong(f"{where}`without` belongs to `each`, and must name a list that a look gives")
        return {path[0] for path in paths} | {step.each}

    def _name(self, where: str, path: tuple[str, ...], step: RunStep | Look, known: _Known) -> None:
        shown = f"{{{'.'.join(path)}}}"
        if path[0] == LOOKS:
            if len(path) < 3 or path[1] not in known.looks:
                self._wrong(f"{where}{shown} must name an earlier look and a field of its result")
            return
        if path[0] == ITEM and is_look(step.each):
            return
        if path[0] != STEPS:
            if path[0] not in [p.name for p in known.parameters] or len(path) > 1:
                self._wrong(f"{where}{shown} names no parameter")
            return
        source = known.steps.get(path[1]) if len(path) > 2 else None
        if source is None:
            self._wrong(f"{where}{shown} must name an earlier step and a field of its result")
        elif isinstance(step, RunStep) and source.each and _items(source) != _items(step):
            self._wrong(
                f"{where}{shown} is one result for each of `{source.each}`: add `each: {source.each}` here"
            )

    def _results(self, where: str, step: RunStep) -> None:
        """A result stands in an argument of its own, without parameters beside it: what people write is never
        read as a template."""
        for key, value in step.args.items():
            inner = names(value) if _readable(value) else set()
            if not any(path[0] == STEPS for path in inner):
                continue
            if not isinstance(value, str) or any(path[0] != STEPS for path in inner):
                self._wrong(
                    f"{where}`{key}`: a result of a step stands in a text without parameters beside it"
                )
        if any(path[0] == STEPS for path in (names(step.title) if _readable(step.title) else ())):
            self._wrong(f"{where}`title` cannot show a result that is not there yet")


@dataclass
class _Known:
    """What placeholders may name at some place of a runbook."""

    parameters: Sequence[Parameter]
    looks: set[str] = field(default_factory=set)
    steps: dict[str, RunStep] = field(default_factory=dict)


def _items(step: RunStep) -> tuple[str, str]:
    return step.each, step.without


def _readable(template: Json) -> bool:
    try:
        names(template)
    except TemplateError:
        return False
    return True


def _is(kind: str, value: Json, options: Sequence[str]) -> bool:
    if value is None:
        return True
    if kind == "enum":
        return value in options
    if kind == "list":
        return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)
    return isinstance(value, TYPES[kind]) and not isinstance(value, bool) and value != ""
