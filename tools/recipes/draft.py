"""Drafts recipes from what a server declares of its tools: for a person to review, never used as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from gate.rules.action import Class, Json
from gate.rules.tool import ToolSpec
from gate.rules.tool_names import CHANGING, DESTROYING, words
from tools.recipes.check import REVIEW

HEAD = """\
# A draft, made from what the server says of its tools. Nothing here is used while `draft: true` stands.
# Read each tool, decide what is marked with {review}, and check with `python -m bot recipes test`.
# Classes err to the safe side: what may only read is `unknown` until you say `read`.
draft: true
server: {server}
tools:
"""


def draft(server: str, specs: Mapping[str, ToolSpec]) -> str:
    """The text of a recipe file. `server`: the name that the server reports."""
    parts = [_tool(spec, specs) for _, spec in sorted(specs.items())]
    return HEAD.format(review=REVIEW, server=_text(server)) + "\n".join(parts)


def safe_class(spec: ToolSpec) -> Class:
    """A class that is never milder than the server's hints and the tool's name allow; `unknown` instead of `read`."""
    claimed = spec.hints.destructive is not False and spec.hints.read_only is False
    destroys = spec.hints.destructive is True and spec.hints.read_only is not True
    return Class.DESTRUCTIVE if destroys or claimed or set(words(spec.name)) & DESTROYING else Class.UNKNOWN


def _tool(spec: ToolSpec, specs: Mapping[str, ToolSpec]) -> str:
    return "\n".join(f"  {line}" for line in _lines(spec, specs)) + "\n"


def _lines(spec: ToolSpec, specs: Mapping[str, ToolSpec]) -> Iterator[str]:
    description = " ".join(spec.description.split())[:150]
    name_words = words(spec.name) or ["run"]
    required = _required(spec)
    yield f"# {REVIEW}: {_claims(spec)}. It says of itself: {_text(description)}"
    yield f"{_text(spec.name)}:"
    yield f"  class: {safe_class(spec)}"
    yield "  risk: high"
    yield f"  summary: {_text(_summary_template(name_words, required))}"
    yield f"  verb: {name_words[0].capitalize()}"
    yield f"  noun: {_text(_noun_template(spec, name_words))}"
    for read in _reads(spec, specs):
        args = ", ".join(f'{_text(name)}: "{{args.{name}}}"' for name in _required(read))
        yield "  # perhaps, to show what is there now:"
        yield f"  # capture: {{before: {{tool: {_text(read.name)}, args: {{{args}}}}}}}"
    yield f'  recoverable: "{REVIEW}: can it be taken back, and how?"'
    yield f'  notifies: "{REVIEW}: who hears of it?"'


def _text(value: str) -> str:
    """A text as one line of YAML with nothing hidden in it: JSON is YAML."""
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


def _summary_template(name_words: list[str], required: list[str]) -> str:
    text = " ".join(name_words).capitalize()
    return text + (": " + ", ".join(f"{{args.{name}}}" for name in required[:3]) if required else "")


def _noun_template(spec: ToolSpec, name_words: list[str]) -> str:
    required = _required(spec)
    return f"{{args.{required[0]}}}" if required else name_words[-1]


def _reads(spec: ToolSpec, specs: Mapping[str, ToolSpec]) -> Iterator[ToolSpec]:
    """Tools that say that they read, need only arguments of this one, and share a word of its name."""
    if spec.hints.read_only or _is_read_by_name(spec):
        return
    about = set(words(spec.name)[1:])
    for other in specs.values():
        needs = set(_required(other))
        matches = needs and needs <= set(_required(spec)) and about & set(words(other.name)[1:])
        if matches and _is_read_by_name(other) and other.hints.read_only is not False:
            yield other


def _is_read_by_name(spec: ToolSpec) -> bool:
    return bool({"get", "read", "show", "describe", "retrieve"} & set(words(spec.name)))


def _required(spec: ToolSpec) -> list[str]:
    """The required arguments that a template can name, in the order of the schema."""
    needed: Json = spec.schema.get("required") or ()
    return [name for name in spec.schema.get("properties") or () if name in needed and name.isidentifier()]
