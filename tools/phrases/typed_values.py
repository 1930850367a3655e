"""Typed words to typed values, and the form that always works: `server.tool key=value key={"json": 1}`."""

from __future__ import annotations

import json
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

ITEMS = re.compile(
    r"(?<![ \t])[ \t]*+(?:,(?:[ \t]*+and(?=[ \t]))?|(?<=[ \t])(?:and|&)(?=[ \t]))[ \t]*+", re.IGNORECASE
)
TRUE, FALSE = {"true", "yes", "on"}, {"false", "no", "off"}
SHOWN = 120  # characters of a title
HEAD = re.compile(r"[ \t]*(" + TOOL.pattern + r")(?:[ \t]+|$)")
PAIR = re.compile(r"[ \t,]*([A-Za-z_$][\w$.-]*)[ \t]*=[ \t]*(\0\d+\0|[^\s\0]*)(?=[\s,]|$)")


def kinds(schema: Json) -> set[str]:
    """The JSON types that a schema allows, as far as it says so plainly."""
    if not isinstance(schema, Mapping):
        return set()
    said = schema.get("type")
    found = set(said) if isinstance(said, list) else {said} if isinstance(said, str) else set()
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found |= kinds(choice)
    return found


def coerced(text: str, schema: Json) -> Json:
    """The value that a typed text means to this schema; the text itself where it means nothing else."""
    allowed = kinds(schema)
    if not allowed or "string" in allowed:
        return text
    word = text.strip().lower()
    if "boolean" in allowed and word in TRUE | FALSE:
        return word in TRUE
    if "null" in allowed and word in ("null", "none"):
        return None
    if {"integer", "number"} & allowed and re.fullmatch(r"[-+]?\d{1,18}", word):
        return int(word)
    if "number" in allowed and re.fullmatch(r"[-+]?\d{1,18}\.\d{1,18}", word):
        return float(word)
    if "array" in allowed:
        return _listed(text, schema)
    if "object" in allowed:
        return _parsed(text)
    return text


def fitted(value: Json, schema: Json) -> Json:
    """A value as the tool wants it: one path alone where it may be, words as numbers where they must be."""
    allowed = kinds(schema)
    if isinstance(value, list) and len(value) == 1 and "string" in allowed:
        return value[0]
    if isinstance(value, int | float) and not isinstance(value, bool) and allowed == {"string"}:
        return str(value)
    return coerced(value, schema) if isinstance(value, str) else value


def items(text: str) -> list[str]:
    """`a.md, b.md and c.md` to its three items."""
    return [item.strip() for item in ITEMS.split(text) if item.strip()]


def words(value: Json) -> str:
    """A value as people would write it: a list with commas, text without quotes."""
    if isinstance(value, list):
        return ", ".join(map(words, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def clipped(text: str, most: int = SHOWN) -> str:
    """One line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def bullets(texts: Sequence[str]) -> str:
    return "\n".join(f"• {text}" for text in texts)


def _listed(text: str, schema: Json) -> Json:
    if text.lstrip().startswith("["):
        return _parsed(text)
    inner = schema.get("items", {}) if isinstance(schema, Mapping) else {}
    return [coerced(item, inner) for item in items(text)]


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


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
