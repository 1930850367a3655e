"""The steps that a validation by a JSON Schema may take, and what each part of the work takes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import product
from operator import eq
from typing import Any

from gate.rules.action import Json
from tools.mcp.schema_fast_path import compile_steps, matches, search_steps, up_to

# Characters formatted in the time of one step: an error of jsonschema quotes the value.
CHARS_PER_STEP = 2_000
MEMBERS_PER_STEP = 30  # of a list or object that are gone over in the time of one step
SCHEMAS_PER_STEP = 2  # made for a member in that time, although they may say nothing
COMPARED_PER_STEP = 20  # values at any depth
CHARS_PER_VALUE = 100  # of a text that is compared, in the time of one value
PAIRS_PER_STEP = 300  # of members: jsonschema looks up each in a list of the evaluated ones
REFERENCE = 2  # steps more than other keywords that a reference takes: what it leads to is looked up
REFERENCE_PER_STEP = 50  # characters of a reference that are followed
# Keywords that go over all members of a value, whatever they ask of each.
WALKING = frozenset(
    "additionalItems additionalProperties contains items propertyNames unevaluatedItems "
    "unevaluatedProperties".split()
)
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
ROOM = 30  # calls that must fit on the stack at each step, some six times what jsonschema makes between two
_NESTED = [json.loads("[" * ROOM + "]" * ROOM) for _ in range(2)]  # compared, they take that room
_steps_left: ContextVar[list[int]] = ContextVar("steps left")
_error_steps: ContextVar[int] = ContextVar("steps for an error")
# Whose compilation has been counted, and the lengths that their work has been estimated for, which takes as long.
_read: ContextVar[set[tuple[str, int]]] = ContextVar("patterns that have been read")
_evaluated: ContextVar[Any] = ContextVar("the value of which it is asked what is evaluated", default=None)


class OutOfSteps(Exception):
    """The steps of a validation are used up."""


@contextmanager
def counting(left: list[int], error_steps: int) -> Iterator[None]:
    """Within it, steps are taken from these, and each pattern counts as compiled once for each size of a text."""
    tokens = _steps_left.set(left), _error_steps.set(error_steps), _read.set(set())
    try:
        yield
    finally:
        _steps_left.reset(tokens[0])
        _error_steps.reset(tokens[1])
        _read.reset(tokens[2])


def spend(steps: int) -> None:
    """Takes steps. Raises OutOfSteps; and RecursionError where the stack is nearly full: later, a comparison in rpds,
    which jsonschema looks up references and types in, would panic with what is no Exception."""
    eq(*_NESTED)
    left = _steps_left.get()
    left[0] -= steps
    if left[0] < 0:
        raise OutOfSteps


def spend_for_error(message: str) -> None:
    """Takes the steps of an error whose message may quote the value and the schema."""
    spend(_error_steps.get() + len(message) // CHARS_PER_STEP)


def spend_for(keyword: str, expected: Any, instance: Any) -> None:
    """Takes the steps of one keyword for one value."""
    steps = 1 + _steps_for_members(keyword, expected, instance)
    if isinstance(expected, list | dict):  # long lists, such as of required names, are iterated
        steps += len(expected) // 10
    elif keyword in REFERENCES:
        steps += _reference_steps(expected)
    spend(steps)


def _reference_steps(reference: Any) -> int:
    return REFERENCE + len(reference) // REFERENCE_PER_STEP if isinstance(reference, str) else 0


@contextmanager
def evaluating(value: Any) -> Iterator[None]:
    """Within it, `spend_for_round` counts for this value."""
    token = _evaluated.set(value)
    try:
        yield
    finally:
        _evaluated.reset(token)


def spend_for_round(schema: Any) -> None:
    """Takes the steps of one round of jsonschema's search for what a schema evaluates of a value. Such a round follows
    references and goes over members and patterns by itself, past all other counting."""
    value = _evaluated.get()
    if value is None:
        return
    if not isinstance(schema, dict):
        return spend(1)
    walks = len(WALKING & schema.keys())
    spend(1 + walks * len(value) // SCHEMAS_PER_STEP + len(value) ** 2 // PAIRS_PER_STEP)
    spend(sum(_reference_steps(schema.get(one)) for one in REFERENCES))
    patterns = schema.get("patternProperties")
    if isinstance(patterns, dict) and isinstance(value, dict):
        for pattern, name in product(patterns, value):
            if search(pattern, name) is None:  # too long for it: jsonschema searches it all the same
                raise OutOfSteps


def _steps_for_members(keyword: str, expected: Any, instance: Any) -> int:
    """The steps that a keyword takes because the value is large."""
    if keyword == "format" and expected == "regex" and isinstance(instance, str):
        return len(instance)  # of a schema: the pattern is read, and weighed when it is searched for
    if not isinstance(instance, list | dict):
        return 0
    if keyword in ("const", "enum"):
        return _compared(expected) // COMPARED_PER_STEP
    if keyword == "uniqueItems":
        return _compared(instance) // COMPARED_PER_STEP
    if keyword not in WALKING:
        return 0
    return len(instance) // (SCHEMAS_PER_STEP if isinstance(expected, dict) else MEMBERS_PER_STEP)


def _compared(value: Json) -> int:
    """The values at any depth of a value; a long text counts as several."""
    stack, count = [value], 0
    while stack:
        one = stack.pop()
        count += 1 + (len(one) // CHARS_PER_VALUE if isinstance(one, str) else 0)
        if isinstance(one, list | dict):
            stack += one
            stack += one.values() if isinstance(one, dict) else ()
    return count


def search(pattern: str, text: str) -> bool | None:
    """Whether the pattern is found in the text, None where that is left open. Takes the steps of it."""
    read = pattern, up_to(len(text))
    if read not in (seen := _read.get()):
        seen.add(read)
        spend(compile_steps(pattern))
    spend(search_steps(pattern, text))
    return matches(pattern, text)
