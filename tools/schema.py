"""Does a value keep a JSON Schema? Answered in sentences for people, in bounded time, without any network."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any

from jsonschema import Draft202012Validator, SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from gate.action import Json
from gate.tool import Problem
from tools.patterns import always_checkable, matches
from tools.sentences import sentence, unknown

MOST = 20  # problems told at once
STEPS = 40_000  # keywords looked at before giving up: schemas come from servers, and may branch without end
LONGEST_NAME = 65_536  # arguments are no longer than that as a whole
TOO_MUCH = "These arguments could not be checked: the tool's schema is too complicated."
_left: ContextVar[list[int]] = ContextVar("steps left")


class _TooMuch(Exception):
    """The steps are used up."""


def problems(schema: Mapping[str, Json], value: Json) -> tuple[Problem, ...]:
    """Every way in which `value` breaks `schema`, up to MOST; empty when it keeps it.

    Draft 2020-12 unless the schema names another; formats are not checked; only local `$ref`s are followed.
    A pattern that could take too long is left to the server, which checks its arguments too (patterns.py).
    """
    token = _left.set([STEPS])
    try:
        errors = sorted(_checker(schema).iter_errors(value), key=lambda e: [str(s) for s in e.absolute_path])
    except (_TooMuch, RecursionError):
        return (Problem((), TOO_MUCH, unsure=True),)
    except Unresolvable as error:
        return (
            Problem((), f"These arguments could not be checked: the schema refers to {error}.", unsure=True),
        )
    finally:
        _left.reset(token)
    return tuple(problem for error in errors for problem in _problems(error))[:MOST]


@lru_cache(maxsize=4096)
def flaw(text: str) -> str:
    """Why nothing can be checked against this schema, given as JSON text; "" when all is well."""
    schema = json.loads(text)
    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        where = ".".join(str(step) for step in error.absolute_path) or "its root"
        return f"its schema is not valid at {where}: {error.message[:200]}"
    except RecursionError:
        return "its schema is nested too deep"
    for part in _parts(schema):
        reference, patterns = part.get("$ref"), part.get("patternProperties")
        if isinstance(reference, str) and not reference.startswith("#"):
            return f"its schema refers to {reference[:100]}, and only local references are followed"
        # `unevaluatedProperties` looks for these with `re` itself, so they have to be harmless.
        for pattern in patterns if isinstance(patterns, dict) else ():
            if not always_checkable(pattern, LONGEST_NAME):
                return f"its schema names properties by a pattern that may never end: {pattern[:100]}"
    return ""


def _parts(schema: Json) -> Iterator[dict[str, Json]]:
    """Every object in a schema, at any depth."""
    stack = [schema]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack += value.values()
        elif isinstance(value, list):
            stack += value


def _checker(schema: Mapping[str, Json]) -> Validator:
    kind = validator_for(schema, default=Draft202012Validator)
    return _bounded(kind)(schema, registry=Registry())


@cache
def _bounded(kind: type[Validator]) -> Callable[..., Validator]:
    """The validator of a draft with a step counted for each keyword, and with safe patterns and sets."""
    safe = {**kind.VALIDATORS, "pattern": _pattern, "uniqueItems": _unique}
    for keyword, check in (("patternProperties", _pattern_properties), ("additionalProperties", _additional)):
        if keyword in safe:
            safe[keyword] = check
    counted = {keyword: _counted(check) for keyword, check in safe.items()}
    made: Callable[..., Validator] = extend(kind, counted)  # type: ignore[no-untyped-call]
    return made


def _counted(check: Any) -> Any:
    def looked_at(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        left = _left.get()
        left[0] -= 1
        if left[0] < 0:
            raise _TooMuch
        yield from check(validator, wanted, instance, schema) or ()

    return looked_at


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and matches(pattern, instance) is False:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
    for pattern, subschema in patterns.items() if isinstance(instance, dict) else ():
        for key, value in instance.items():
            if matches(pattern, key):
                yield from validator.descend(value, subschema, path=key, schema_path=pattern)


def _additional(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    patterns = schema.get("patternProperties", {})
    for key in (
        sorted(instance.keys() - schema.get("properties", {}).keys()) if isinstance(instance, dict) else ()
    ):
        if any(matches(pattern, key) for pattern in patterns):
            continue
        if allowed is False:
            yield ValidationError("is not known", path=[key], validator_value=allowed)
        else:
            yield from validator.descend(instance[key], allowed, path=key)


def _unique(validator: Any, wanted: bool, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not wanted or not isinstance(instance, list):
        return
    seen = {json.dumps(_plain(item), sort_keys=True) for item in instance}
    if len(seen) != len(instance):
        yield ValidationError("has non-unique elements")


def _plain(value: Json) -> Json:
    """To JSON Schema 1.0 and 1 are the same number."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _meant(error: ValidationError) -> list[ValidationError]:
    """What is wrong with the one choice of an anyOf that is of the value's type; nothing when that is not one."""
    choices: dict[int, list[ValidationError]] = {}
    for inner in error.context or ():
        choices.setdefault(int(inner.schema_path[0]), []).append(inner)
    of_type = [
        errors
        for errors in choices.values()
        if not any(e.validator == "type" and e.absolute_path == error.absolute_path for e in errors)
    ]
    return of_type[0] if len(of_type) == 1 else []


def _problems(error: ValidationError) -> Iterator[Problem]:
    path = tuple(error.absolute_path)
    if error.validator in ("anyOf", "oneOf") and (meant := _meant(error)):
        for inner in meant:
            yield from _problems(inner)
        return
    if error.validator == "additionalProperties" and isinstance(error.schema, dict):
        yield Problem(path, unknown(path, str(path[-1]), list(error.schema.get("properties", {}))))
        return
    if error.validator == "required" and isinstance(error.instance, dict):
        # jsonschema gives one error for each missing name, and the name in the message only.
        needed: Any = error.validator_value
        missing = next((n for n in needed if f"{n!r} is a required" in error.message), None)
        path = (*path, missing) if missing is not None else path
    yield Problem(path, sentence(error, path))
