"""What a runbook looks at before its steps are known: reads that go through the gate while the plan is made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from gate.rules.action import Json
from gate.rules.planner_port import Call, CallReport, Exchange, Propose
from gate.rules.ports import Tools
from gate.rules.templates import expand, look_up
from tools.phrases.direct_call import unfit
from tools.phrases.phrasebook import Look, Parameter, Runbook
from tools.phrases.plan_draft import Unclear
from tools.phrases.typed_values import clipped, fitted

LOOKS, ITEM = "looks", "each"  # `{looks.NAME.field}`, and `{each}` for one item of a list of it
AT_ONCE = 12  # calls of one reply: as many as limits.calls_per_turn has room for
Seen = Mapping[str, CallReport]


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
        raise Unclear(f"It looks with `{look.server}.{look.tool}`, but that tool is not there now.")
    properties = spec.schema.get("properties", {})
    args = {name: fitted(expand(value, scope), properties.get(name)) for name, value in look.args.items()}
    wrong = unfit(spec, args, tools)
    if wrong:
        raise Unclear(wrong.text, wrong.blamed)
    return Call(look.server, look.tool, args)


def result_of(call: Call, told: CallReport) -> Json:
    """The fields of an answer, which a tool with a structured result also gives as text (MCP, structured content)."""
    name = f"{call.server}.{call.tool}"
    if told.status != "succeeded":
        raise Unclear(f"It looks with `{name}` first, and that did not work: {clipped(told.text, 300)}")
    try:
        fields = json.loads(told.text)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise Unclear(f"The answer of `{name}` is too long, or has no fields. Name a smaller folder.")
    if fields.get("truncated") is True:  # a plan over half of it would look like one over all of it
        raise Unclear(f"`{name}` found more than it can tell at once. Name a smaller folder.")
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
