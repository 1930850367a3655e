"""Arguments that a tool's schema does not name: a recipe says nothing of them, and some servers pass them on.

Notion's server sends any argument to Notion, where `in_trash` throws away what the tool is said to change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gate.rules.action import Json
from gate.rules.tool import ToolSpec

COMBINED = ("allOf", "anyOf", "oneOf")
CHOSEN = ("if", "then", "else")


def undeclared_argument(spec: ToolSpec, args: Json) -> str:
    """The first argument that a tool with a recipe is given and its schema does not name; "" where there is none, or
    where the schema names no argument at all."""
    if spec.recipe.cls is None or not isinstance(args, Mapping):
        return ""
    named = frozenset(_named(spec.schema))
    if not named:
        return ""
    return next((name for name in args if name not in named and name not in spec.recipe.bind), "")


def _named(schema: Json) -> Iterator[str]:
    """The names of the arguments, also in the parts that a schema is put together from."""
    left = [schema]
    while left:
        one = left.pop()
        if not isinstance(one, Mapping):
            continue
        properties = one.get("properties")
        if isinstance(properties, Mapping):
            yield from properties
        for key in COMBINED:
            parts = one.get(key)
            left += parts if isinstance(parts, list) else ()
        left += (one.get(key) for key in CHOSEN)
