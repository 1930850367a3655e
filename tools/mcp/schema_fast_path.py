"""Parts of validation that are certain to end soon: a fast check for valid values, and patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from gate.rules.action import Json
from tools.mcp.limits import FAST_SCHEMA_STEPS
from tools.mcp.limits import PATTERN_WORK as WORK

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
CHARS_PER_STEP = 4_000  # characters searched in the time of one step of a schema
MAX_CONSTANT_REPEAT = 100  # a repeat up to this often counts as constant
UNBOUNDED = 99  # the degree of a pattern that no text is short enough for


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


def matches(pattern: str, text: str) -> bool | None:
    """Whether the pattern is found in the text; None when that cannot be decided safely.

    None means: not Python's syntax (JSON Schema uses ECMAScript's), or work that might not end soon.
    """
    compiled, degree = _compiled(pattern)
    if compiled is None or max(len(text), 2) ** degree > WORK:
        return None
    return compiled.search(text) is not None


def search_steps(pattern: str, text: str) -> int:
    """The steps of a schema validation that searching the text for the pattern counts for."""
    compiled, degree = _compiled(pattern)
    work = max(len(text), 2) ** min(degree, 12)
    return 1 if compiled is None or work > WORK else 1 + work // CHARS_PER_STEP


def always_checkable(pattern: str, length: int) -> bool:
    """Whether the pattern can be searched in every text of up to `length` characters, as rules of operators
    require."""
    compiled, degree = _compiled(pattern)
    return compiled is not None and length**degree <= WORK


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> tuple[re.Pattern[str] | None, int]:
    try:
        compiled = re.compile(pattern)
        parsed = parser.parse(pattern)
    except (re.error, OverflowError, RecursionError):
        return None, UNBOUNDED
    anchored = bool(parsed) and parsed[0][0] is constants.AT
    return compiled, min(UNBOUNDED, _degree(parsed) + (0 if anchored else 1))


def _degree(parsed: Iterable[Any]) -> int:
    """How often an unbounded repeat follows another: n ** degree bounds the backtracking over n characters."""
    total = 0
    for kind, value in parsed:
        if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            low, high, body = value
            inner = _degree(body)
            is_unbounded = high > MAX_CONSTANT_REPEAT or low > MAX_CONSTANT_REPEAT
            if is_unbounded and (inner or _has_choice(body)):
                return UNBOUNDED  # a choice inside a repeat: exponential
            total += inner * min(int(high), UNBOUNDED) + (1 if is_unbounded else 0)
        elif kind is constants.BRANCH:
            total += max(_degree(branch) for branch in value[1])
        elif kind is constants.SUBPATTERN:
            total += _degree(value[-1])
        elif kind in (constants.ASSERT, constants.ASSERT_NOT):
            total += _degree(value[1])
        elif kind in (constants.GROUPREF, constants.GROUPREF_EXISTS):
            return UNBOUNDED
        elif kind in (constants.ATOMIC_GROUP, constants.POSSESSIVE_REPEAT):
            total += 1
    return min(total, UNBOUNDED)


def _has_choice(parsed: Iterable[Any]) -> bool:
    """Whether there is more than one way to match: a branch, or a repeat that may end early."""
    for kind, value in parsed:
        if kind is constants.BRANCH:
            return True
        if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            low, high, body = value
            if low != high or _has_choice(body):
                return True
        if kind is constants.SUBPATTERN and _has_choice(value[-1]):
            return True
        if kind in (constants.ASSERT, constants.ASSERT_NOT) and _has_choice(value[1]):
            return True
    return False
