"""The steps of a runbook, with values: each to its calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gate.rules.action import Class, Json
from gate.rules.ports import Tools
from gate.rules.templates import PLACEHOLDER, expand, names
from gate.rules.tool import ToolSpec
from tools.phrases.direct_call import unfit
from tools.phrases.matching import best
from tools.phrases.phrase_to_calls import made, meant, sentence_of, slots_of
from tools.phrases.phrasebook import Look, Parameter, Phrase, Runbook, RunStep
from tools.phrases.plan_draft import RESULT, Later, Piece, Unclear
from tools.phrases.runbook_reads import is_look, rounds, trial
from tools.phrases.tokenize import Heard, hear, quote
from tools.phrases.tool_class import class_of
from tools.phrases.typed_values import clipped, words

# A word with placeholders in it, such as `reports/{file}`: it becomes one value, whatever is put in.
WORD = re.compile(r"(?<![^\s,;:{}])[^\s,;:{}]*+(?:\{[^{}]*+\}[^\s,;:{}]*+)++")
TRIAL: dict[str, Json] = {"string": "x", "number": 1, "list": ["x"], "enum": "x"}


def pieces(
    runbook: Runbook, values: Mapping[str, Json], phrases: Sequence[Phrase], tools: Tools
) -> list[Piece]:
    """All calls of the runbook, in order. Keys are the names of its steps, with a number where one runs for each
    of several. A step that takes an empty list from a look is left out. Raises Unclear."""
    several = {step.name for step in runbook.steps if step.each}
    found = []
    for step in runbook.steps:
        if _of_nothing(step, values):
            continue
        for place, item in enumerate(rounds(step.each, values, step.without), 1):
            scope, ending = {**values, **item}, f"-{place}" if step.each else ""
            for piece in _step(step, scope, ending, phrases, tools):
                refs = {name: _of_same(ref, several, ending) for name, ref in piece.refs.items()}
                found.append(replace(piece, refs=refs))
    return found


def _of_nothing(step: RunStep, values: Mapping[str, Json]) -> bool:
    """Whether it takes a list that a look found empty: there is nothing to do it to."""
    alone = [PLACEHOLDER.fullmatch(value) for value in step.args.values() if isinstance(value, str)]
    taken = [*alone, *PLACEHOLDER.finditer(step.say)]
    return any(expand(found[0], values) == [] for found in taken if found and is_look(found[1]))


def _of_same(template: str, several: set[str], ending: str) -> str:
    """A result of a step that runs for each of several: the one for the same item."""
    return RESULT.sub(lambda ref: f"{ref[0]}{ending}" if ref[1] in several else ref[0], template)


def _step(
    step: RunStep, scope: Mapping[str, Json], ending: str, phrases: Sequence[Phrase], tools: Tools
) -> Iterator[Piece]:
    calls = _said(step, scope, phrases, tools) if step.say else _called(step, scope, tools)
    for number, piece in enumerate(calls):
        key = f"{step.name}{ending}" + (f"-also-{number}" if number else "")
        title = clipped(str(expand(step.title, scope))) if step.title else piece.title
        yield replace(piece, key=key, title=title, ask=step.ask)


def _called(step: RunStep, scope: Mapping[str, Json], tools: Tools) -> Iterator[Piece]:
    spec = tools.find(step.server, step.tool)
    if spec is None:
        raise Unclear(f"This runbook uses `{step.server}.{step.tool}`, but that tool is not there now.")
    args = {name: _filled(value, scope) for name, value in step.args.items()}
    yield made(spec, args, f"{spec.title or spec.full_name}", step.name, tools)


def _filled(template: Json, scope: Mapping[str, Json]) -> Json:
    """An argument with its values; one that a step will give stays a template."""
    if isinstance(template, str) and RESULT.search(template):
        return Later(template)
    return expand(template, scope)


def _said(
    step: RunStep, scope: Mapping[str, Json], phrases: Sequence[Phrase], tools: Tools
) -> Iterator[Piece]:
    heard = spoken(step.say, scope)
    found = best(phrases, heard.text)
    if found is None:
        raise Unclear(f"This runbook says “{clipped(step.say)}”, which fits no phrase with these values.")
    slots = slots_of(found, heard)
    yield from meant(found.phrase, slots, sentence_of(found.phrase, slots), tools)


def spoken(say: str, scope: Mapping[str, Json]) -> Heard:
    """A step's sentence with values put in, each set aside so that none is mistaken for words."""
    heard = hear(say)
    heard.text = WORD.sub(lambda word: _aside(heard, word[0], scope), heard.text)
    return heard


def _aside(heard: Heard, word: str, scope: Mapping[str, Json]) -> str:
    value: Json = Later(word) if RESULT.search(word) else expand(word, scope)
    if isinstance(value, list):
        return ", ".join(heard.aside(quote(words(item)), item) for item in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return words(value)
    return heard.aside(quote(words(value)), value)


def unsaid(step: RunStep, parameters: Sequence[Parameter], phrases: Sequence[Phrase]) -> Iterator[str]:
    """What is wrong with a step's sentence, seen when the file is read."""
    if any(PLACEHOLDER.search(raw) for raw in hear(step.say).raw):
        yield "write the placeholders of `say` outside of quotes; values are kept together without them"
        return
    heard = spoken(step.say, _trial(step, parameters))
    found = best(phrases, heard.text)
    if found is None:
        yield f"“{step.say}” fits none of the phrases"
        return
    results = [v for v in heard.values if isinstance(v, Later)]
    slots = slots_of(found, heard)
    if found.phrase.each:
        slots |= {found.phrase.each: slots[found.phrase.each][0]}
    alone = [expand(template, slots) for template in found.phrase.args.values()]
    if any(
        not any(result is arg for arg in alone) or not PLACEHOLDER.fullmatch(result) for result in results
    ):
        yield "a result of a step must be a whole argument here; use `call` and `args` instead"


def needs(runbook: Runbook, phrases: Sequence[Phrase]) -> list[tuple[str, str]]:
    """Server and tool of each look and step, also of those that are said in a sentence."""
    return [_tool(step, runbook.parameters, phrases) for _, _, step in _numbered(runbook)]


def step_misfits(runbook: Runbook, phrases: Sequence[Phrase], tools: Tools) -> Iterator[str]:
    """Looks and steps whose arguments their tool does not take, or that use what none before gives."""
    gives: dict[tuple[str, ...], ToolSpec | None] = {}
    for kind, place, step in _numbered(runbook):
        where = f"The runbook {runbook.name}, {kind} {place}: "
        server, tool = _tool(step, runbook.parameters, phrases)
        spec = gives[f"{kind}s", step.name] = tools.find(server, tool)
        if spec and isinstance(step, Look) and class_of(spec) is not Class.READ:
            yield f"{where}`{spec.full_name}` changes something, and a look only reads."
        if spec and step.tool:
            later = {name for name, value in step.args.items() if names(value)}
            wrong = unfit(spec, {k: v for k, v in step.args.items() if k not in later}, tools, later)
            if wrong:
                yield f"{where}{wrong.text}"
        said = "" if isinstance(step, Look) else step.say
        listed = f"{{{step.each}}}" if is_look(step.each) else ""
        for path in sorted(names([said, listed, dict(step.args)])):
            source = gives.get(path[:2]) if len(path) > 2 else None
            fields = (source.output_schema or {}).get("properties") if source else None
            if fields and path[2] not in fields:
                yield f"{where}`{source.full_name}` gives no `{path[2]}`." if source else ""


def _numbered(runbook: Runbook) -> Iterator[tuple[str, int, Look | RunStep]]:
    for place, look in enumerate(runbook.looks, 1):
        yield "look", place, look
    for place, step in enumerate(runbook.steps, 1):
        yield "step", place, step


def _tool(
    step: RunStep | Look, parameters: Sequence[Parameter], phrases: Sequence[Phrase]
) -> tuple[str, str]:
    if isinstance(step, Look) or step.tool:
        return step.server, step.tool
    found = best(phrases, spoken(step.say, _trial(step, parameters)).text)
    return (found.phrase.server, found.phrase.tool) if found else ("", "")


def _trial(step: RunStep, parameters: Sequence[Parameter]) -> dict[str, Json]:
    given = {p.name: TRIAL[p.kind] for p in parameters} | ({step.each: "x"} if step.each else {})
    return trial(sorted(names([step.say])), given)
