"""Parts of validation that are certain to end soon: a fast check for valid values, and patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import takewhile
from re import _constants as constants  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from gate.rules.action import Json
from gate.rules.checks_in_a_row import count_steps
from tools.mcp.limits import FAST_SCHEMA_STEPS
from tools.mcp.limits import PATTERN_WORK as WORK
from tools.mcp.pattern_reading import (
    MAX_PATTERN,
    REPEATS,
    SINGLE,
    bytes_of_a_round,
    compiled,
    compiling,
    is_one,
    reading,
    slowness,
)

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
KEYS_PER_STEP = 10  # names of a value looked up in that time
MOST_STATE = 40_000_000  # bytes that `re` may keep while it searches one text
TOO_MUCH = 10**18  # work that no text is short enough for
MOST_TOGETHER = 3  # patterns that take as long as one may, which are searched in one go
MAX_COMPARED = 50  # branches of a choice: among more, any may match where another does
TRY = 8  # comparing a character is this much faster than trying another way
GROUP_TRY = 24  # the same for a round of a group
# Up to where `re` makes a map of a class, and comparisons for each member beyond
LAST_MAPPED, PER_UNMAPPED = 0xFFFF, 4
STEPS_PER_WORK = 24  # comparisons in the time that one character of PATTERN_WORK stands for
CODES = {constants.LITERAL, constants.RANGE}
SEPARATORS = {*range(9, 14), *(code for code in range(0x20, 0x7F) if not chr(code).isalpha())}
SPACES = {code for code in range(0x3001) if chr(code).isspace()}
COMPARED = frozenset(SEPARATORS | SPACES)
CATEGORIES = {
    category: frozenset(code for code in COMPARED if re.match(escape, chr(code)))
    for category, escape in (
        (constants.CATEGORY_DIGIT, r"\d"),
        (constants.CATEGORY_NOT_DIGIT, r"\D"),
        (constants.CATEGORY_SPACE, r"\s"),
        (constants.CATEGORY_NOT_SPACE, r"\S"),
        (constants.CATEGORY_WORD, r"\w"),
        (constants.CATEGORY_NOT_WORD, r"\W"),
    )
}
OTHERS = -1  # any other character
FAST_PER_STEP = 20  # of these steps in the time of one of schema_steps.py
MICROSECONDS_PER_STEP = 40  # of compiling a pattern


class _Undecided(Exception):
    """The fast check cannot decide."""


def certainly_valid(schema: Mapping[str, Json], value: Json) -> bool:
    """Whether the value is certainly valid. False means not known, as of an unusual schema."""
    check = _FastCheck(schema)
    try:
        return check.is_valid(schema, value, 0)
    except (_Undecided, KeyError, TypeError, AttributeError, ValueError, RecursionError):
        return False
    finally:
        count_steps((FAST_SCHEMA_STEPS - check.steps_left) // FAST_PER_STEP)


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
        self._charge_keys(min(len(expected), len(value)))
        return all(
            self.is_valid(expected[name], value[name], depth) for name in expected.keys() & value.keys()
        )

    def _additionalProperties(self, expected: Any, value: Any, schema: dict[str, Any], depth: int) -> bool:
        if "patternProperties" in schema:
            raise _Undecided
        if not isinstance(value, dict):
            return True
        self._charge_keys(len(value))
        others = value.keys() - schema.get("properties", {}).keys()
        return not others or (
            expected is not False and all(self.is_valid(expected, value[name], depth) for name in others)
        )

    def _charge_keys(self, count: int) -> None:
        self.steps_left -= count // KEYS_PER_STEP
        if self.steps_left < 0:
            raise _Undecided

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

    def _pattern(self, expected: str, value: Any, schema: dict[str, Any], depth: int) -> bool:
        if not isinstance(value, str):
            return True
        self.steps_left -= FAST_PER_STEP * (compile_steps(expected) + search_steps(expected, value))
        found = matches(expected, value) if self.steps_left >= 0 else None
        if found is None:
            raise _Undecided
        return found

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
    if _schema_work(pattern, len(text)) > WORK:
        return None
    found = compiled(pattern)
    return None if found is None else found.search(text) is not None


def search_steps(pattern: str, text: str) -> int:
    """The steps of a schema validation that searching the text for the pattern counts for."""
    work = _schema_work(pattern, len(text))
    return 1 if work > WORK else 1 + work // CHARS_PER_STEP


def _schema_work(pattern: str, length: int) -> int:
    """The work that a pattern of a server counts for: its classes are the slowest to be compared, and the state that
    `re` keeps for each round of a repeated group (`Modules/_sre/sre_lib.h`) must not take too much memory."""
    if length * bytes_of_a_round(pattern) > MOST_STATE:
        return TOO_MUCH
    return _work(pattern, length) * slowness(pattern)


def compile_steps(pattern: str) -> int:
    """The steps that a pattern counts for because it is read and compiled, if it is compiled at all."""
    return compiling(pattern) // MICROSECONDS_PER_STEP


def always_checkable(pattern: str, length: int) -> bool:
    """Whether the pattern can be searched in every text of up to `length` characters, as rules of operators
    require."""
    return _work(pattern, length) <= WORK


def are_checkable_together(patterns: Iterable[str], length: int) -> bool:
    """Whether all of the patterns can be searched in a text of that length in one go."""
    return sum(_work(pattern, length) for pattern in patterns) <= MOST_TOGETHER * WORK


def patterns_of(schema: Json) -> Iterator[str]:
    """Every regular expression of a schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        if isinstance(schema.get("patternProperties"), dict):
            yield from schema["patternProperties"]
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from patterns_of(part)


def _work(pattern: str, length: int) -> int:
    """A bound of the work of searching a text of that length: TOO_MUCH also when Python cannot read it."""
    return TOO_MUCH if len(pattern) > MAX_PATTERN else _read_work(pattern, up_to(length))


def up_to(length: int) -> int:
    """The next power of two: a pattern, which takes milliseconds to be read, is read some 20 times at most."""
    return 1 << max(length - 1, 1).bit_length()


@lru_cache(maxsize=4096)
def _read_work(pattern: str, length: int) -> int:
    if compiled(pattern) is None or (read := reading(pattern)) is None:
        return TOO_MUCH
    parsed, length = read.tree, max(length, 2)
    is_choice = len(parsed) == 1 and parsed[0][0] is constants.BRANCH
    try:
        return sum(_search_work(one, length) for one in (parsed[0][1][1] if is_choice else [parsed]))
    except RecursionError:
        return TOO_MUCH


def _search_work(parsed: Any, length: int) -> int:
    places = 1 if _is_anchored(parsed) else length
    ends_in_repeat = bool(parsed) and parsed[-1][0] in REPEATS and is_one(parsed[-1][1][2])
    if not ends_in_repeat:
        return places * _sequence(parsed, length).steps // STEPS_PER_WORK
    # Nothing follows that could make it try another length.
    before, (_, most, body) = _sequence(parsed[:-1], length), parsed[-1][1]
    longest = min(int(most), length) * _comparisons(*body[0])
    return places * (before.steps + before.all_ways * (longest + TRY)) // STEPS_PER_WORK


def _is_anchored(parsed: Any) -> bool:
    if not parsed or parsed[0][0] is not constants.AT:
        return False
    at_start = parsed[0][1] is constants.AT_BEGINNING and not parsed.state.flags & re.MULTILINE
    return at_start or parsed[0][1] is constants.AT_BEGINNING_STRING


def _comparisons(kind: Any, value: Any) -> int:
    """How many of them one character takes: what a class has beyond its map is compared one by one
    (`_optimize_charset` in CPython's Lib/re/_compiler.py)."""
    ends = (code[1] if op is constants.RANGE else code for op, code in _members(kind, value) if op in CODES)
    return 1 + PER_UNMAPPED * sum(end > LAST_MAPPED for end in ends) if kind is constants.IN else 1


class _Cost(NamedTuple):
    """What matching from one place may cost: the ways that backtracking may try, and all their steps."""

    ways: int  # when what follows ends every one of `last`
    steps: int
    all_ways: int
    last: frozenset[int] = (
        frozenset()
    )  # the characters repeated at its end, whose number is left to what follows
    first: frozenset[int] | None = None  # the characters that every match begins with, if they are known


ENDLESS = _Cost(TOO_MUCH, TOO_MUCH, TOO_MUCH)


def _sequence(parsed: Any, length: int) -> _Cost:
    total, is_open, first = _Cost(1, 0, 1), True, frozenset[int]()  # open: may be empty so far
    for kind, value in parsed:
        cost = _item(kind, value, length)
        if is_open and kind in REPEATS and value[0] == 0 and is_one(value[2]):
            first |= _characters(*value[2][0])
        elif is_open:
            is_open, first = False, (first | cost.first if cost.first else frozenset())
        ways = total.ways if _ends_before(total.last, cost.first) else total.all_ways
        total = _Cost(
            min(ways * cost.ways, TOO_MUCH),
            min(total.steps + ways * cost.steps, TOO_MUCH),
            min(ways * cost.all_ways, TOO_MUCH),
            cost.last,
        )
    return total._replace(first=None if is_open else first or None)


def _item(kind: Any, value: Any, length: int) -> _Cost:
    if kind in SINGLE:
        return _Cost(1, _comparisons(kind, value), 1, first=_characters(kind, value))
    if kind in REPEATS:
        return _repeat(value, length)
    if kind is constants.SUBPATTERN:
        cost = _sequence(value[-1], length)
        # Characters under flags of their own cannot be compared with others.
        return _Cost(cost.all_ways, cost.steps, cost.all_ways) if value[1] or value[2] else cost
    if kind is constants.BRANCH:
        return _branch(value[1], [_sequence(branch, length) for branch in value[1]])
    if kind in (constants.ASSERT, constants.ASSERT_NOT, constants.ATOMIC_GROUP):
        cost = _sequence(value if kind is constants.ATOMIC_GROUP else value[1], length)
        return _Cost(cost.all_ways, cost.steps, cost.all_ways)
    if kind is constants.AT and value is constants.AT_END:  # as before a line's end: after no other character
        return _Cost(1, 1, 1, first=frozenset({10}))
    if kind in (constants.AT, constants.FAILURE):
        return _Cost(1, 1, 1)
    return ENDLESS  # a reference to a group, or unknown


def _branch(branches: list[Any], costs: list[_Cost]) -> _Cost:
    words, firsts = [_word(branch) for branch in branches], [cost.first for cost in costs]
    together = [
        costs
    ]  # those that may match at the same place: all of them, or by each those that agree with it
    if len(costs) <= MAX_COMPARED:
        together = [
            [
                other
                for other, its_word in zip(costs, words, strict=True)
                if other is cost or not (_differ(word, its_word) or _ends_before(cost.first, other.first))
            ]
            for cost, word in zip(costs, words, strict=True)
        ]
    return _Cost(
        min(max(sum(cost.ways for cost in group) for group in together), TOO_MUCH),
        min(max(sum(cost.steps for cost in group) for group in together) + TRY * len(costs), TOO_MUCH),
        min(max(sum(cost.all_ways for cost in group) for group in together), TOO_MUCH),
        frozenset().union(*(cost.last for cost in costs)),
        frozenset().union(*(first or () for first in firsts)) if all(firsts) else None,
    )


def _word(parsed: Any) -> str:
    """The ASCII text that every match begins with, in small letters as flags may ignore the case."""
    letters = takewhile(lambda item: item[0] is constants.LITERAL and item[1] < 0x80, parsed)
    return "".join(chr(code) for _, code in letters).lower()


def _differ(one: str, other: str) -> bool:
    return not (one.startswith(other) or other.startswith(one))


def _repeat(value: Any, length: int) -> _Cost:
    low, high, body = value
    shortest = body.getwidth()[0]
    high = min(int(high), length // shortest + 1) if shortest else int(high)
    low = min(int(low), high)
    if is_one(body):
        choices, repeated = high - low + 1, _characters(*body[0])
        steps = high * _comparisons(*body[0]) + (TRY - 1) * choices
        return _Cost(1, steps, choices, repeated, repeated if low else None)
    cost = _sequence(body, length)
    # A round that the next one's first character ends has one length, except the last round.
    each = cost.ways if _ends_before(cost.last, cost.first) else cost.all_ways
    rounds, none = _sum_of_powers(each, max(low, 1) - 1, high - 1), 1 if low == 0 else 0
    return _Cost(
        min(rounds * cost.ways + none, TOO_MUCH),
        min(_sum_of_powers(each, 0, high - 1) * (cost.steps + GROUP_TRY), TOO_MUCH),
        min(rounds * cost.all_ways + none, TOO_MUCH),
        cost.last,
        cost.first if low else None,
    )


def _sum_of_powers(base: int, low: int, high: int) -> int:
    """base**low + ... + base**high"""
    if high < low:
        return 0
    if base == 1:
        return min(high - low + 1, TOO_MUCH)
    if high * (base.bit_length() - 1) > TOO_MUCH.bit_length():
        return TOO_MUCH
    powers: list[int] = [base**count for count in range(low, high + 1)]
    return min(sum(powers), TOO_MUCH)


def _ends_before(repeated: frozenset[int] | None, following: frozenset[int] | None) -> bool:
    """Whether the repeated characters are certainly others than those one of which must follow."""
    return repeated is not None and following is not None and repeated.isdisjoint(following)


def _members(kind: Any, value: Any) -> list[Any]:
    return list(value) if kind is constants.IN else [(kind, value)]


def _characters(kind: Any, value: Any) -> frozenset[int]:
    """The characters it may stand for: those of COMPARED, and OTHERS unless it certainly is none of these."""
    separators: set[int] = set()
    for member, code in _members(kind, value):
        if member is constants.LITERAL and code in SEPARATORS:
            separators.add(code)
        elif member is constants.CATEGORY and code is constants.CATEGORY_SPACE:
            separators |= SPACES
        else:
            return _possible(kind, value) | {OTHERS}
    return frozenset(separators)


def _possible(kind: Any, value: Any) -> frozenset[int]:
    """Those of COMPARED that it may stand for."""
    found: set[int] = set()
    members = _members(kind, value)
    for member, code in members:
        if member is constants.LITERAL:
            found.add(code)
        elif member is constants.NOT_LITERAL:
            found |= COMPARED - {code}
        elif member is constants.RANGE:
            found |= {one for one in COMPARED if code[0] <= one <= code[1]}
        elif member is constants.CATEGORY:
            found |= CATEGORIES.get(code, COMPARED)
        elif member is not constants.NEGATE:
            return COMPARED
    return COMPARED - found if members[0][0] is constants.NEGATE else COMPARED & found
