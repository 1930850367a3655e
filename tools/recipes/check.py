"""Checks recipe files against the schemas of their servers: the live ones, or those recorded in a file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from gate.rules.action import Class, Json
from gate.rules.tool import Recipe, ToolSpec
from tools.recipes.reader import RecipeFile
from tools.recipes.validation import ToolSchemas, recipe_problems
from tools.strict_config import ConfigError

REVIEW = "REVIEW"  # marks in a draft what a person has to decide
SCHEMA_FOLDER = "schemas"  # beside the recipe files


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
    if recipe.cls is not Class.READ:
        required |= {"risk": recipe.risk, "recoverable": recipe.recoverable, "noun": recipe.noun}
    for key, value in required.items():
        if not value:
            yield f"`{key}` is not said"


def unreviewed(file: RecipeFile, against: RecordedSchemas) -> list[str]:
    """The tools without a recipe: their class comes from the hints of their server."""
    return sorted(against.schemas.keys() - file.tools.keys())
