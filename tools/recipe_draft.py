"""A first draft of recipes from what a server says of its tools: for a person to read, and never used as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from gate.action import Class, Json
from gate.policy import CHANGING, DESTROYING, words
from gate.tool import ToolSpec
from tools.recipe_check import REVIEW

HEAD = """\
# A draft, made from what the server says of its tools. Nothing here is used while `draft: true` stands.
# Read each tool, decide what is marked with {review}, and check with `python -m bot recipes test`.
# Classes err to the safe side: what may only read is `unknown` until you say `read`.
draft: true
server: {server}
tools:
"""


def draft(server: str, specs: Mapping[str, ToolSpec]) -> str:
    """The text of a recipe file. `server`: what the server calls itself."""
    parts = [_tool(spec, specs) for _, spec in sorted(specs.items())]
    return HEAD.format(review=REVIEW, server=_text(server)) + "\n".join(parts)


def safe_class(spec: ToolSpec) -> Class:
    """Never milder than what a card is needed for, whatever the server claims."""
    claimed = spec.hints.destructive is not False and spec.hints.read_only is False
    destroys = spec.hints.destructive is True and spec.hints.read_only is not True
    return Class.DESTRUCTIVE if destroys or claimed or set(words(spec.name)) & DESTROYING else Class.UNKNOWN


def _tool(spec: ToolSpec, specs: Mapping[str, ToolSpec]) -> str:
    return "\n".join(f"  {line}" for line in _lines(spec, specs)) + "\n"


def _lines(spec: ToolSpec, specs: Mapping[str, ToolSpec]) -> Iterator[str]:
    said = " ".join(spec.description.split())[:150]
    named = words(spec.name) or ["run"]
    given = _required(spec)
    yield f"# {REVIEW}: {_claims(spec)}. It says of itself: {_text(said)}"
    yield f"{_text(spec.name)}:"
    yield f"  class: {safe_class(spec)}"
    yield "  risk: high"
    yield f"  summary: {_text(_summary(named, given))}"
    yield f"  verb: {named[0].capitalize()}"
    yield f"  noun: {_text(_noun(spec, named))}"
    for read in _reads(spec, specs):
        args = ", ".join(f'{_text(name)}: "{{args.{name}}}"' for name in _required(read))
        yield "  # perhaps, to show what is there now:"
        yield f"  # capture: {{before: {{tool: {_text(read.name)}, args: {{{args}}}}}}}"
    yield f'  recoverable: "{REVIEW}: can it be taken back, and how?"'
    yield f'  notifies: "{REVIEW}: who hears of it?"'


def _text(value: str) -> str:
    """Any text as one line of YAML with nothing hidden in it: JSON is YAML."""
    return json.dumps(value, ensure_ascii=True)


def _claims(spec: ToolSpec) -> str:
    hints = spec.hints
    agrees = "" if set(words(spec.name)) & (CHANGING | DESTROYING) else ", and its name agrees"
    if hints.read_only:
        return f"the server says that it only reads{agrees}"
    if hints.read_only is None and hints.destructive is None:
        return "the server says nothing of what it does"
    return "the server says that it changes something" + (
        "" if hints.destructive is False else " and may destroy"
    )


def _summary(named: list[str], given: list[str]) -> str:
    told = " ".join(named).capitalize()
    return told + (": " + ", ".join(f"{{args.{name}}}" for name in given[:3]) if given else "")


def _noun(spec: ToolSpec, named: list[str]) -> str:
    given = _required(spec)
    return f"{{args.{given[0]}}}" if given else named[-1]


def _reads(spec: ToolSpec, specs: Mapping[str, ToolSpec]) -> Iterator[ToolSpec]:
    """Tools that say they read, need nothing but what this one is given, and are about the same."""
    if spec.hints.read_only or _looks(spec):
        return
    about = set(words(spec.name)[1:])
    for other in specs.values():
        needs = set(_required(other))
        fits = needs and needs <= set(_required(spec)) and about & set(words(other.name)[1:])
        if fits and _looks(other) and other.hints.read_only is not False:
            yield other


def _looks(spec: ToolSpec) -> bool:
    return bool({"get", "read", "show", "describe", "retrieve"} & set(words(spec.name)))


def _required(spec: ToolSpec) -> list[str]:
    """Arguments that are always given, in the order of the schema, as far as a template can name them."""
    needed: Json = spec.schema.get("required") or ()
    return [name for name in spec.schema.get("properties") or () if name in needed and name.isidentifier()]
