"""Recipe files against the schemas of their servers, live or recorded; and drafts of recipes for a person to review."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from gate.arguments.tool_names import CHANGING, DESTROYING, words
from gate.rules.action import CallClass, Json
from gate.rules.tool import Recipe, ToolSpec
from tools.recipes.reader import RecipeFile
from tools.recipes.validation import ToolSchemas, recipe_problems
from tools.strict_config import ConfigError

REVIEW = "REVIEW"  # marks in a draft what a person has to decide
SCHEMA_FOLDER = "schemas"  # beside the recipe files
HEAD = """\
# A draft, made from what the server says of its tools. Nothing here is used while `draft: true` stands.
# Read each tool, decide what is marked with {review}, and check with `python -m bot recipes test`.
# Classes err to the safe side: what may only read is `unknown` until you say `read`.
draft: true
server: {server}
tools:
"""


@dataclass(frozen=True, slots=True)
class RecordedSchemas:
    """The schemas of one server's tools, by name, and the name that the server reports."""

    source: str  # "mcp-atlassian 0.23.1", for people
    server: str
    schemas: Mapping[str, ToolSchemas]


def load_recorded_schemas(folder: Path) -> Mapping[str, RecordedSchemas]:
    """Every `schemas/*.json` beside the recipe files, by file name. Raises ConfigError naming the file."""
    return {path.stem: _read_schemas(path) for path in sorted((folder / SCHEMA_FOLDER).glob("*.json"))}


def _read_schemas(path: Path) -> RecordedSchemas:
    try:
        data = json.loads(path.read_text("utf-8"))
        schemas = {
            name: ToolSchemas(tool["takes"], tool.get("gives")) for name, tool in data["tools"].items()
        }
        return RecordedSchemas(data["source"], data["server"], schemas)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"{path.name} does not hold what `recipes new --schemas` writes ({error})"
        raise ConfigError([why]) from error


def schema_file_text(source: str, server: str, schemas: Mapping[str, ToolSchemas]) -> str:
    """The text of a schema file: only the names and required names of properties, which recipes are checked
    against."""
    tools = {name: _reduced(one) for name, one in sorted(schemas.items())}
    return (
        json.dumps({"source": source, "server": server, "tools": tools}, indent=1, ensure_ascii=True) + "\n"
    )


def schemas_of(specs: Mapping[str, ToolSpec]) -> dict[str, ToolSchemas]:
    return {name: ToolSchemas(spec.schema, spec.output_schema) for name, spec in specs.items()}


def _reduced(schemas: ToolSchemas) -> dict[str, Json]:
    reduced: dict[str, Json] = {"takes": _names(schemas.input_schema)}
    return reduced if schemas.output_schema is None else {**reduced, "gives": _names(schemas.output_schema)}


def _names(schema: Mapping[str, Json]) -> dict[str, Json]:
    names: dict[str, Json] = {"properties": {name: {} for name in schema.get("properties") or ()}}
    return {**names, "required": list(schema.get("required") or ())}


def check(file: RecipeFile, against: RecordedSchemas) -> Iterator[str]:
    """All problems of one file, as sentences that name the tool."""
    if file.draft:
        yield "It is a draft and not used: read it, then remove `draft: true`."
    if against.server and not fnmatchcase(against.server, file.server):
        yield f"It is for {file.server}, but {against.source} calls itself {against.server}."
    for name, data in file.tools.items():
        for problem in _tool_problems(name, data, file, against.schemas):
            yield f"{name}: {problem.removesuffix('.')}."


def _tool_problems(
    name: str, data: Json, file: RecipeFile, schemas: Mapping[str, ToolSchemas]
) -> Iterator[str]:
    try:
        recipe = file.recipe(name)
    except ConfigError as error:
        yield from error.problems
        return
    if name in schemas:
        yield from recipe_problems(recipe, name, schemas)
    elif not file.partial:
        yield "the server has no such tool"
    yield from _missing_keys(recipe)
    if REVIEW in json.dumps(data):
        yield f"a word {REVIEW} is left: decide, and write down what is so"


def _missing_keys(recipe: Recipe) -> Iterator[str]:
    """Keys that a person has to see the values of before confirming, and that the recipe lacks."""
    required = {
        "class": recipe.cls,
        "summary": recipe.summary,
        "verb": recipe.verb,
        "notifies": recipe.notifies,
    }
    if recipe.cls is not CallClass.READ:
        required |= {"risk": recipe.risk, "recoverable": recipe.recoverable, "noun": recipe.noun}
    for key, value in required.items():
        if not value:
            yield f"`{key}` is not said"


def unreviewed(file: RecipeFile, against: RecordedSchemas) -> list[str]:
    """The tools without a recipe: their class comes from the hints of their server."""
    return sorted(against.schemas.keys() - file.tools.keys())


def draft(server: str, specs: Mapping[str, ToolSpec]) -> str:
    """The text of a recipe file. `server`: the name that the server reports."""
    parts = [_tool(spec, specs) for _, spec in sorted(specs.items())]
    return HEAD.format(review=REVIEW, server=_text(server)) + "\n".join(parts)


def safe_class(spec: ToolSpec) -> CallClass:
    """A class that is never milder than the server's hints and the tool's name allow; `unknown` instead of `read`."""
    claimed = spec.hints.destructive is not False and spec.hints.read_only is False
    destroys = spec.hints.destructive is True and spec.hints.read_only is not True
    return (
        CallClass.DESTRUCTIVE
        if destroys or claimed or set(words(spec.name)) & DESTROYING
        else CallClass.UNKNOWN
    )


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
