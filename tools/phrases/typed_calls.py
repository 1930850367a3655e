"""The form that always works, `server.tool key=value key={"json": 1}`; and whether a tool takes what it is given."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from gate.rules.action import Json
from gate.rules.checks_in_a_row import steps_for_one
from gate.rules.close_names import close_matches
from gate.rules.planner_port import Call
from gate.rules.ports import Tools
from gate.rules.tool import ToolSpec
from tools.mcp.schema import either, unknown
from tools.phrases.phrasebook import TOOL
from tools.phrases.plan_draft import TooMuch
from tools.phrases.tokenize import MARK, Heard
from tools.phrases.typed_values import coerced

HEAD = re.compile(r"[ \t]*(" + TOOL.pattern + r")(?:[ \t]+|$)")
PAIR = re.compile(r"[ \t,]*([A-Za-z_$][\w$.-]*)[ \t]*=[ \t]*(\0\d+\0|[^\s\0]*)(?=[\s,]|$)")
TOO_MUCH = (
    "I cannot check all of that at once, because what `{tool}` takes is complicated. Please ask for less in one "
    "message, such as one call of it at a time."
)


def is_call(line: str, tools: Tools) -> bool:
    """Whether a line has this form, and its tool is there; it may take other arguments."""
    head = HEAD.match(line)
    if head is None or tools.find(head[2], head[3]) is None:
        return False
    return not isinstance(_pairs(line[head.end() :]), str)


def direct(line: str, heard: Heard, tools: Tools) -> Call | str | None:
    """The call, a sentence about what is wrong with it, or None when the line does not have this form. Raises
    TooMuch."""
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
    wrong = unfit(spec, args, tools)
    return wrong.text if wrong else Call(server, tool, args)


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


def unfit(
    spec: ToolSpec, args: Mapping[str, Json], tools: Tools, later: Collection[str] = ()
) -> Misfit | None:
    """Whether the tool takes these arguments. `later`: those that are not known yet. Raises TooMuch where checks in a
    row have no steps left to tell."""
    known = [k for k in spec.schema.get("properties", {}) if k not in spec.recipe.bind]
    for key in (*args, *later):
        if known and key not in spec.schema["properties"]:
            return Misfit(f"`{spec.full_name}`: {unknown((key,), key, known)}", (key,))
    given = {key: value for key, value in args.items() if key not in spec.recipe.bind}
    found = tools.problems(spec.schema, given)
    if any(p.unsure for p in found) and not steps_for_one(1):
        raise TooMuch(TOO_MUCH.format(tool=spec.full_name))
    problems = [p for p in found if not {str(step) for step in p.path[:1]} & {*later}]
    if not problems:
        return None
    text = " ".join(problem.text for problem in problems[:3])
    return Misfit(f"`{spec.full_name}`: {text}", tuple(str(p.path[0]) for p in problems if p.path), text)
