"""What the recipes of bundled tools and of shipped manifests say of one thing, and of the whole folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from gate.rules.action import Json
from gate.rules.templates import PLACEHOLDER, expand
from tests.servers.all_servers import tools
from tests.servers.gate_around_server import META
from tools.recipes.reader import load_recipes

MANIFESTS = Path("manifests/tools")
NUMBER_AND_PLURAL = re.compile(r"\{[^{}]*\} +(?:(?:new|old|more|other) )?(?!(?:as|is|depends)\b)[a-z]+s\b")
LONE_DOT = re.compile(r" \.(?=$|[ :,])")


def texts_of(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts_of(one)


async def bundled(folder: Path) -> dict[str, Json]:
    """The recipes of all tools, by their names."""
    return {
        f"{server}.{tool.name}": (tool.meta or {})[META]
        for server, offered in (await tools(folder)).items()
        for tool in offered
        if META in (tool.meta or {})
    }


def filled(summary: str, whole: list[str]) -> str:
    """A first line with "." for what is named by `whole`."""
    values = {found[0]: "x" for found in PLACEHOLDER.finditer(summary)}
    for name in whole:
        values |= {"{" + name + "}": ".", "{" + name + "|place}": str(expand("{it|place}", {"it": "."}))}
    return PLACEHOLDER.sub(lambda found: values[found[0]], summary)


async def test_no_recipe_puts_a_number_before_a_fixed_plural(tmp_path: Path) -> None:
    recipes = await bundled(tmp_path)
    recipes |= {
        f"{name}.{tool}": data
        for name, file in load_recipes(MANIFESTS).items()
        for tool, data in file.tools.items()
    }
    assert len(recipes) > 200
    wrong = {
        name: found[0]
        for name, data in recipes.items()
        for text in texts_of(data)
        if (found := NUMBER_AND_PLURAL.search(text))
    }
    assert wrong == {}


async def test_no_first_line_calls_the_whole_folder_by_a_dot(tmp_path: Path) -> None:
    lines: dict[str, str] = {}
    for name, data in (await bundled(tmp_path)).items():
        looks = data.get("targets", {}).get("looks", [])
        whole = [f"args.{one}" for one in looks] + (["capture.plan.path"] if "path" in looks else [])
        for summary in (data["summary"], *(one["summary"] for one in data.get("summaries", []))):
            lines[f"{name}: {summary}"] = filled(summary, whole)
    assert sum("all files" in line for line in lines.values()) > 10
    assert {told: line for told, line in lines.items() if LONE_DOT.search(line)} == {}
