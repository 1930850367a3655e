"""What a runbook looks at before its steps are known, and its steps with values: each to its calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gate.arguments.tool_names import tool_in_words
from gate.rules.action import CallClass, Json
from gate.rules.planner_port import WITHHELD, Call, CallReport, Exchange, Propose
from gate.rules.ports import Tools
from gate.rules.templates import PLACEHOLDER, expand, look_up, names
from gate.rules.tool import ToolSpec
from tools.phrases.phrase_to_calls import made, meant, sentence_of, slots_of
from tools.phrases.phrasebook import ITEM, LOOKS, Look, Parameter, Phrase, Runbook, RunStep
from tools.phrases.plan_draft import RESULT, Later, Piece, Unclear, class_of, not_there
from tools.phrases.sentence_patterns import best
from tools.phrases.tokenize import Heard, hear, quote
from tools.phrases.typed_calls import unfit
from tools.phrases.typed_values import clipped, fitted, words

AT_ONCE = 12  # calls of one reply: as many as limits.calls_per_turn has room for
Seen = Mapping[str, CallReport]
# A word with placeholders in it, such as `reports/{file}`: it becomes one value, whatever is put in.
WORD = re.compile(r"(?<![^\s,;:{}])[^\s,;:{}]*+(?:\{[^{}]*+\}[^\s,;:{}]*+)++")
TRIAL: dict[str, Json] = {"string": "x", "number": 1, "list": ["x"], "enum": "x"}


class Looking(Exception):
    """These reads are needed before anything can be proposed."""

    def __init__(self, calls: Sequence[Call]) -> None:
        super().__init__(", ".join(f"{call.server}.{call.tool}" for call in calls))
        self.calls = tuple(calls)


def seen(exchanges: Iterable[Exchange]) -> Seen:
    """What this turn has read so far, by the call itself: the same look is not taken twice."""
    return {
        key_of(exchange.reply.calls[told.call]): told
        for exchange in exchanges
        if isinstance(exchange.reply, Propose)
        for told in exchange.reports
    }


def key_of(call: Call) -> str:
    """What tells one call from another: its tool and its arguments."""
    return json.dumps([call.server, call.tool, dict(call.args)], sort_keys=True, ensure_ascii=False)


def looked(runbook: Runbook, values: Mapping[str, Json], known: Seen, tools: Tools) -> dict[str, Json]:
    """The results of all looks by name; a list of them for one with `each`. Raises Looking, Unclear, TemplateError
    where an answer has not the fields that the runbook takes."""
    found: dict[str, Json] = {}
    for look in runbook.looks:
        scope = {**values, LOOKS: found}
        calls = [_call(look, {**scope, **one}, tools) for one in rounds(look.each, scope)]
        missing = [call for call in calls if key_of(call) not in known]
        if missing:
            raise Looking(missing[:AT_ONCE])
        results = [result_of(call, known[key_of(call)]) for call in calls]
        found[look.name] = results if look.each else results[0]
    return found


def rounds(each: str, scope: Mapping[str, Json], without: str = "") -> list[dict[str, Json]]:
    """What is put in for each item of a list: under the parameter's name, or as `each` where a look gave it."""
    if not each:
        return [{}]
    left_out = [_plain(item) for item in _list(without, scope)] if without else []
    name = ITEM if is_look(each) else each
    return [{name: item} for item in _list(each, scope) if _plain(item) not in left_out]


def is_look(each: str) -> bool:
    return each.startswith(f"{LOOKS}.")


def _plain(item: Json) -> Json:
    """What an item of a list is compared by: a found file by its path, a row of one column by its value."""
    if isinstance(item, list) and len(item) == 1:
        return item[0]
    return item["path"] if isinstance(item, Mapping) and "path" in item else item


def _list(path: str, scope: Mapping[str, Json]) -> list[Json]:
    """The list at a path. Through a list on the way, what is in the lists of its items, each once. Raises Unclear."""
    parts = path.split(".")
    head, field = ".".join(parts[:2]), ".".join(parts[2:])
    value = look_up(head, scope)
    if field and isinstance(value, list):
        items = [item for one in value for item in _list(f"one.{field}", {"one": one})]
        return [*{json.dumps(item, sort_keys=True): item for item in items}.values()]
    value = look_up(path, scope)
    if not isinstance(value, list):
        raise Unclear(f"This runbook takes `{path}` for a list, but it is none.")
    return value


def _call(look: Look, scope: Mapping[str, Json], tools: Tools) -> Call:
    spec = tools.find(look.server, look.tool)
    if spec is None:
        raise Unclear(not_there(look.server))
    properties = spec.schema.get("properties", {})
    args = {name: fitted(expand(value, scope), properties.get(name)) for name, value in look.args.items()}
    wrong = unfit(spec, args, tools)
    if wrong:
        raise Unclear(wrong.text, wrong.blamed)
    return Call(look.server, look.tool, args)


def result_of(call: Call, told: CallReport) -> Json:
    """The fields of an answer, which a tool with a structured result also gives as text (MCP, structured content)."""
    name = tool_in_words(f"{call.server}.{call.tool}")
    if told.status == WITHHELD:
        raise Unclear(
            f"It looks with “{name}” first, but what that finds is private here. Name each thing yourself."
        )
    if told.status != "succeeded":
        raise Unclear(f"It looks with “{name}” first, and that did not work: {clipped(told.text, 300)}")
    try:
        fields = json.loads(told.text)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise Unclear(f"The answer of “{name}” is too long, or has no fields. Name a smaller folder.")
    if fields.get("truncated") is True:  # a plan over half of it would look like one over all of it
        raise Unclear(f"“{name}” found more than it can tell at once. Name a smaller folder.")
    return fields


def trial(paths: Iterable[tuple[str, ...]], parameters: Mapping[str, Json]) -> dict[str, Json]:
    """Values for every placeholder of a step, to see whether its sentence is understood: looks give an `x`."""
    scope: dict[str, Json] = dict(parameters)
    for path in paths:
        if path[0] in (LOOKS, ITEM):
            _put(scope, path)
    return scope


def _put(scope: dict[str, Json], path: Sequence[str]) -> None:
    for part in path[:-1]:
        inner = scope.get(part)
        if not isinstance(inner, dict):
            inner = scope[part] = {}
        scope = inner
    scope[path[-1]] = "x"


def is_list(each: str, parameters: Sequence[Parameter], looks: Iterable[str]) -> bool:
    """Whether something can be done for each of this: a parameter of the type list, or what an earlier look gives."""
    if is_look(each):
        return each.split(".")[1] in looks
    return each in [p.name for p in parameters if p.kind == "list"]


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
        raise Unclear(not_there(step.server))
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
        if spec and isinstance(step, Look) and class_of(spec) is not CallClass.READ:
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
