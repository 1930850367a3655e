"""The form that always works: `server.tool key=value key="quoted value" key={"json": 1}`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from gate.rules.action import Json
from gate.rules.close_names import close_matches
from gate.rules.planner_port import Call
from gate.rules.ports import Tools
from gate.rules.tool import ToolSpec
from tools.mcp.schema import either, unknown
from tools.phrases.phrasebook import TOOL
from tools.phrases.tokenize import MARK, Heard
from tools.phrases.typed_values import coerced

HEAD = re.compile(r"[ \t]*(" + TOOL.pattern + r")(?:[ \t]+|$)")
PAIR = re.compile(r"[ \t,]*([A-Za-z_$][\w$.-]*)[ \t]*=[ \t]*(\0\d+\0|[^\s\0]*)(?=[\s,]|$)")


def direct(line: str, heard: Heard, tools: Tools) -> Call | str | None:
    """The call, a sentence about what is wrong with it, or None when the line does not have this form."""
    head = HEAD.match(line)
    if head is None:
        return None
    name, rest = head[1], line[head.end() :]
    server, tool = head[2], head[3]
    spec = tools.find(server, tool)
    if spec is None:
        looks_meant = PAIR.match(rest) or any(server == known.server for known in tools.specs())
        return no_such_tool(name, tools.specs()) if looks_meant else None
    pairs = _pairs(rest)
    if isinstance(pairs, str):
        return f"I could not read “{heard.typed(pairs).strip()[:80]}”. Write each argument as name=value."
    args: dict[str, Json] = {}
    for key, value in pairs:
        if key in args:
            return f"{name}: `{key}` is there twice."
        schema = spec.schema.get("properties", {}).get(key, {})
        args[key] = heard.value(value) if MARK.fullmatch(value) else coerced(heard.typed(value), schema)
        if heard.is_quoted(value) and isinstance(args[key], str):
            args[key] = coerced(args[key], schema)
    wrong = misfit(spec, args, tools)
    return wrong or Call(server, tool, args)


def _pairs(rest: str) -> list[tuple[str, str]] | str:
    """Keys and values; or the part that is neither."""
    pairs, at = [], 0
    while rest[at:].strip(" \t,"):
        pair = PAIR.match(rest, at)
        if pair is None:
            return rest[at:]
        pairs.append((pair[1], pair[2]))
        at = pair.end()
    return pairs


def no_such_tool(name: str, specs: Sequence[ToolSpec]) -> str:
    """The sentence for a tool that is not there, with the closest names."""
    close = close_matches(name, [spec.full_name for spec in specs], 3, 0.5)
    hint = f" Did you mean {either([f'`{c}`' for c in close])}?" if close else ""
    return f"There is no tool `{name}`.{hint}"


@dataclass(frozen=True, slots=True)
class Misfit:
    """What is wrong with arguments, in a sentence or a few; and which of them are to blame."""

    text: str
    blamed: tuple[str, ...]
    reason: str = ""  # the same without the name of the tool


def misfit(spec: ToolSpec, args: Mapping[str, Json], tools: Tools) -> str:
    """What is wrong with these arguments, in a sentence or a few; "" when nothing is."""
    wrong = unfit(spec, args, tools)
    return wrong.text if wrong else ""


def unfit(
    spec: ToolSpec, args: Mapping[str, Json], tools: Tools, later: Collection[str] = ()
) -> Misfit | None:
    """Whether the tool takes these arguments. `later`: those that are not known yet."""
    known = [k for k in spec.schema.get("properties", {}) if k not in spec.recipe.bind]
    for key in (*args, *later):
        if known and key not in spec.schema["properties"]:
            return Misfit(f"`{spec.full_name}`: {unknown((key,), key, known)}", (key,))
    given = {key: value for key, value in args.items() if key not in spec.recipe.bind}
    problems = [
        p for p in tools.problems(spec.schema, given) if not {str(step) for step in p.path[:1]} & {*later}
    ]
    if not problems:
        return None
    text = " ".join(problem.text for problem in problems[:3])
    return Misfit(f"`{spec.full_name}`: {text}", tuple(str(p.path[0]) for p in problems if p.path), text)
