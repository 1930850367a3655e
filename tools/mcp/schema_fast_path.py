"""A fast check for values that are valid, as nearly all are. The answer is "valid" or "not known".

Only the keywords that are in nearly every schema are implemented. Another keyword, or a value that may break one,
leaves the decision to the full validator, which is ten times slower.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gate.rules.action import Json
from tools.mcp.limits import FAST_SCHEMA_STEPS

ANNOTATIONS = {
    "title",
    "description",
    "default",
    "examples",
    "format",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
}
DEFINITIONS = {"$defs", "definitions"}  # validated where a reference leads to them
TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
    "integer": int,
    "number": (int, float),
}


class _Undecided(Exception):
    """The fast check cannot decide."""


def certainly_valid(schema: Mapping[str, Json], value: Json) -> bool:
    """Whether the value is certainly valid. False means not known."""
    try:
        return _FastCheck(schema).is_valid(schema, value, 0)
    except (_Undecided, KeyError, TypeError, AttributeError, ValueError):  # an unusual schema
        return False


class _FastCheck:
    def __init__(self, root: Mapping[str, Json]) -> None:
        self.root, self.steps_left = root, FAST_SCHEMA_STEPS
        # By reference and value: references may branch without end.
        self.results: dict[tuple[str, str, int], bool] = {}

    def is_valid(self, schema: Any, value: Any, depth: int) -> bool:
        self.steps_left -= 1
        if self.steps_left < 0 or depth > 60:
            raise _Undecided
        if schema is True:
            return True
        if not isinstance(schema, dict):
            raise _Undecided
        return all(
            self._keyword_holds(key, expected, schema, value, depth) for key, expected in schema.items()
        )

    def _keyword_holds(self, key: str, expected: Any, schema: dict[str, Any], value: Any, depth: int) -> bool:
        if key in ANNOTATIONS or key in DEFINITIONS or (key == "$schema" and schema is self.root):
            return True
        self.steps_left -= 1
        check = getattr(self, f"_{key.removeprefix('$')}", None)
        if check is None or not key.removeprefix("$").isalpha():
            raise _Undecided
        return bool(check(expected, value, schema, depth + 1))

    def _ref(self, expected: str, value: Any, schema: dict[str, Any], depth: int) -> bool:
        where, _, name = expected.removeprefix("#/").partition("/")
        if not expected.startswith("#/") or where not in DEFINITIONS or set("/~%") & set(name):
            raise _Undecided
        key = (where, name, id(value))
        if key not in self.results:
            self.results[key] = self.is_valid(self.root[where][name], value, depth)
        return self.results[key]

    def _type(self, expected: Any, value: Any, schema: dict[str, Any], depth: int) -> bool:
        return any(self._is(one, value) for one in (expected if isinstance(expected, list) else [expected]))

    def _is(self, name: str, value: Any) -> bool:
        if isinstance(value, bool):
            return name == "boolean"
        return isinstance(value, TYPES[name])

    def _enum(self, expected: list[Any], value: Any, schema: dict[str, Any], depth: int) -> bool:
        self.steps_left -= len(expected)
        if not isinstance(value, str):
            raise _Undecided
        return value in expected

    def _const(self, expected: Any, value: Any, schema: dict[str, Any], depth: int) -> bool:
        return self._enum([expected], value, schema, depth)

    def _required(self, expected: list[str], value: Any, schema: dict[str, Any], depth: int) -> bool:
        self.steps_left -= len(expected)
        return not isinstance(value, dict) or all(name in value for name in expected)

    def _properties(self, expected: dict[str, Any], value: Any, schema: dict[str, Any], depth: int) -> bool:
        if not isinstance(value, dict):
            return True
        return all(
            self.is_valid(expected[name], item, depth) for name, item in value.items() if name in expected
        )

    def _additionalProperties(self, expected: Any, value: Any, schema: dict[str, Any], depth: int) -> bool:
        if "patternProperties" in schema:
            raise _Undecided
        if not isinstance(value, dict):
            return True
        others = [item for name, item in value.items() if name not in schema.get("properties", {})]
        return not others or (
            expected is not False and all(self.is_valid(expected, item, depth) for item in others)
        )

    def _items(self, expected: Any, value: Any, schema: dict[str, Any], depth: int) -> bool:
        if "prefixItems" in schema or isinstance(expected, list):
            raise _Undecided
        return not isinstance(value, list) or all(self.is_valid(expected, item, depth) for item in value)

    def _anyOf(self, expected: list[Any], value: Any, schema: dict[str, Any], depth: int) -> bool:
        return any(self.is_valid(one, value, depth) for one in expected)

    def _allOf(self, expected: list[Any], value: Any, schema: dict[str, Any], depth: int) -> bool:
        return all(self.is_valid(one, value, depth) for one in expected)

    def _minLength(self, expected: int, value: Any, schema: dict[str, Any], depth: int) -> bool:
        return not isinstance(value, str) or len(value) >= expected

    def _maxLength(self, expected: int, value: Any, schema: dict[str, Any], depth: int) -> bool:
        return not isinstance(value, str) or len(value) <= expected

    def _minItems(self, expected: int, value: Any, schema: dict[str, Any], depth: int) -> bool:
        return not isinstance(value, list) or len(value) >= expected

    def _maxItems(self, expected: int, value: Any, schema: dict[str, Any], depth: int) -> bool:
        return not isinstance(value, list) or len(value) <= expected

    def _minimum(self, expected: float, value: Any, schema: dict[str, Any], depth: int) -> bool:
        return isinstance(value, bool) or not isinstance(value, int | float) or value >= expected

    def _maximum(self, expected: float, value: Any, schema: dict[str, Any], depth: int) -> bool:
        return isinstance(value, bool) or not isinstance(value, int | float) or value <= expected
