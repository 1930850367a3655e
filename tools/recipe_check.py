"""Recipe files against what their servers take and give: the live ones, or the schemas that were kept of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from gate.action import Class, Json
from gate.tool import Recipe, ToolSpec
from tools.fitting import Shape, misfits
from tools.recipes import BadRecipe, RecipeFile, read_recipe

REVIEW = "REVIEW"  # what a draft leaves for a person to decide
SCHEMAS = "schemas"  # the folder beside the recipe files


@dataclass(frozen=True, slots=True)
class Kept:
    """What one server takes and gives: its tools by name, and what it calls itself."""

    source: str  # "mcp-atlassian 0.23.1", for people
    server: str
    shapes: Mapping[str, Shape]


def load_kept(folder: Path) -> Mapping[str, Kept]:
    """Every `schemas/*.json` beside the recipe files, by its name. Raises BadRecipe naming the file."""
    return {path.stem: _read(path) for path in sorted((folder / SCHEMAS).glob("*.json"))}


def _read(path: Path) -> Kept:
    try:
        data = json.loads(path.read_text("utf-8"))
        shapes = {name: Shape(tool["takes"], tool.get("gives")) for name, tool in data["tools"].items()}
        return Kept(data["source"], data["server"], shapes)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"{path.name} does not hold what `recipes new --schemas` writes ({error})"
        raise BadRecipe([why]) from error


def kept(source: str, server: str, shapes: Mapping[str, Shape]) -> str:
    """The text of a schema file: names and what must be given, which is all that recipes are checked by."""
    tools = {name: _thin(shape) for name, shape in sorted(shapes.items())}
    return (
        json.dumps({"source": source, "server": server, "tools": tools}, indent=1, ensure_ascii=True) + "\n"
    )


def shapes_of(specs: Mapping[str, ToolSpec]) -> dict[str, Shape]:
    return {name: Shape(spec.schema, spec.output_schema) for name, spec in specs.items()}


def _thin(shape: Shape) -> dict[str, Json]:
    thin: dict[str, Json] = {"takes": _names(shape.takes)}
    return thin if shape.gives is None else {**thin, "gives": _names(shape.gives)}


def _names(schema: Mapping[str, Json]) -> dict[str, Json]:
    names: dict[str, Json] = {"properties": {name: {} for name in schema.get("properties") or ()}}
    return {**names, "required": list(schema.get("required") or ())}


def check(file: RecipeFile, against: Kept) -> Iterator[str]:
    """Everything that is wrong with one file, in sentences that name the tool."""
    if file.draft:
        yield "It is a draft and not used: read it, then remove `draft: true`."
    if against.server and not fnmatchcase(against.server, file.server):
        yield f"It is for {file.server}, but {against.source} calls itself {against.server}."
    for name, data in file.tools.items():
        for what in _tool(name, data, file, against.shapes):
            yield f"{name}: {what}."


def _tool(name: str, data: Json, file: RecipeFile, shapes: Mapping[str, Shape]) -> Iterator[str]:
    try:
        recipe = read_recipe(data)
    except BadRecipe as error:
        yield from error.problems
        return
    if name in shapes:
        yield from misfits(recipe, name, shapes)
    elif not file.partial:
        yield "the server has no such tool"
    yield from _unsaid(recipe)
    if REVIEW in json.dumps(data):
        yield f"a word {REVIEW} is left: decide, and write down what is so"


def _unsaid(recipe: Recipe) -> Iterator[str]:
    """What a person has to be told before confirming, and the recipe does not say."""
    told = {"class": recipe.cls, "summary": recipe.summary, "verb": recipe.verb, "notifies": recipe.notifies}
    if recipe.cls is not Class.READ:
        told |= {"risk": recipe.risk, "recoverable": recipe.recoverable, "noun": recipe.noun}
    for key, value in told.items():
        if not value:
            yield f"`{key}` is not said"


def unreviewed(file: RecipeFile, against: Kept) -> list[str]:
    """The tools that have no recipe: their class comes from what their server says of them."""
    return sorted(against.shapes.keys() - file.tools.keys())
