"""Validates values against JSON Schemas in bounded time, without network access; errors are sentences for people."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import count, islice
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.exceptions import UnknownType
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from gate.rules.action import Json
from gate.rules.checks_in_a_row import count_steps, steps_for_one
from gate.rules.close_names import close_matches
from gate.rules.tool import Problem
from tools.mcp.limits import CHECK_STEPS, SCHEMA_STEPS
from tools.mcp.pattern_reading import UNREADABLE
from tools.mcp.schema_fast_path import always_checkable, certainly_valid, compile_steps
from tools.mcp.schema_steps import (
    CHARS_PER_STEP,
    REFERENCES,
    OutOfSteps,
    counting,
    evaluating,
    search,
    spend,
    spend_for,
    spend_for_error,
    spend_for_round,
)

TYPE_NAMES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "empty",
}
Path = tuple[str | int, ...]
MOST_JUDGED = 2_000  # schemas whose verdicts are kept: two of each tool of two servers at most
MAX_PROBLEMS = 20  # problems reported at once
MAX_COMPARED = 3  # of these that are names nobody knows, compared with those that are known: 16 ms each
CRAWLED_PER_STEP = 8  # parts of a schema that are gone through for its anchors, of steps in a row
MAX_REFERENCE = 300  # characters: jsonschema reads all of it each time that it is come upon
IDENTIFIERS = ("$id", "id", "$anchor", "$dynamicAnchor")
MAX_SENTENCE = 1_000  # characters of a problem: the names in it are the schema's
MAX_KEY_LENGTH = 65_536  # characters; the arguments of a call are no longer than that
TOO_COMPLEX = "These arguments could not be checked: the tool's schema is too complicated."
NOTHING = "false"  # in place of a keyword: a part of a schema that is `false`
UNCHECKABLE = (
    "These arguments could not be checked: the tool's schema asks for something that cannot be computed."
)
# What jsonschema raises for it, such as where 10**350 has to be a multiple of 0.1.
UNCOMPUTED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, UnknownType)
SEARCHED_BY_JSONSCHEMA = (
    4  # times the steps: it may compile such a pattern anew for a value, and counts nothing
)
_judged: dict[bytes, tuple[str, int]] = {}  # by the digest of the schema


def error_sentence(error: ValidationError, path: Path) -> str:
    """One sentence for one error; `path` is where the argument is."""
    describe = ERROR_TEXTS.get(str(error.validator))
    text = describe(error) if describe else f"does not fit the tool's schema ({shown(error.validator)})"
    return f"`{path_text(path)}` {text}." if path else f"This {text}."


def path_text(path: Path) -> str:
    """A path as in `to[0].name`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def type_name(value: Json) -> str:
    """The type of a value, in words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "empty"
    names: dict[type, str] = {str: "text", int: "a whole number", float: "a number with decimals"}
    return names.get(type(value), "a list" if isinstance(value, list) else "an object")


def shown(value: Json) -> str:
    """A value as text of at most 80 characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:79] + "…"


def either(words: list[str]) -> str:
    """Words joined by commas and a final "or"; "nothing" for none."""
    if not words:
        return "nothing"
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def _type(error: ValidationError) -> str:
    value: Any = error.validator_value
    types: list[str] = value if isinstance(value, list) else [value]
    return f"must be {either([TYPE_NAMES.get(w, w) for w in types])}, not {type_name(error.instance)}"


def _enum(error: ValidationError) -> str:
    allowed: Any = error.validator_value
    values = [shown(value) for value in allowed]
    more = f", or one of {len(values) - 12} more" if len(values) > 12 else ""
    return f"must be {either(values[:12])}{more}, not {shown(error.instance)}"


def unknown(path: Path, key: str, known: list[str], compared: bool = True) -> str:
    """The sentence for a name that is not among the known ones, with the closest of them where they are compared."""
    close = close_matches(key, known, 1) if compared else []
    if close:
        return f"`{path_text(path)}` is not known here; did you mean `{close[0]}`?"
    takes = f"; known are {either([f'`{name}`' for name in known[:12]])}" if known else ""
    return f"`{path_text(path)}` is not known here{takes}."


def _count(singular: str, more: bool) -> Callable[[ValidationError], str]:
    def words(error: ValidationError) -> str:
        number = error.validator_value
        given: Any = error.instance
        unit = singular if number == 1 else f"{singular}s"
        if more and number == 1:
            return "must not be empty"
        return f"must have at {'least' if more else 'most'} {number} {unit}, not {len(given)}"

    return words


def _bound(words: str) -> Callable[[ValidationError], str]:
    return lambda error: f"must be {words} {error.validator_value}, not {shown(error.instance)}"


ERROR_TEXTS: dict[str, Callable[[ValidationError], str]] = {
    "required": lambda error: "is missing",
    "type": _type,
    "enum": _enum,
    "const": lambda error: f"must be {shown(error.validator_value)}, not {shown(error.instance)}",
    "additionalProperties": lambda error: "has more in it than is known here",
    "unevaluatedProperties": lambda error: "has more in it than is known here",
    "minLength": _count("character", True),
    "maxLength": _count("character", False),
    "minItems": _count("item", True),
    "maxItems": _count("item", False),
    "minimum": _bound("at least"),
    "maximum": _bound("at most"),
    "exclusiveMinimum": _bound("more than"),
    "exclusiveMaximum": _bound("less than"),
    "multipleOf": _bound("a multiple of"),
    "pattern": lambda error: f"does not have the form that is asked for ({shown(error.validator_value)})",
    "uniqueItems": lambda error: "must not name anything twice",
    "anyOf": lambda error: f"is not of any kind that the tool takes ({type_name(error.instance)} was given)",
    "oneOf": lambda error: (
        f"is not of exactly one kind that the tool takes ({type_name(error.instance)} was given)"
    ),
    NOTHING: lambda error: "is not allowed",
    "not": lambda error: f"must not be {shown(error.instance)}",
    "dependentRequired": lambda error: f"is not complete: {error.message}",
}


def problems(schema: Mapping[str, Json], value: Json) -> tuple[Problem, ...]:
    """Every way in which `value` breaks `schema`, up to MAX_PROBLEMS; empty when it is valid.

    Draft 2020-12 unless the schema names another; formats are not checked; only local `$ref`s are followed. A pattern
    that could take too long is left to the server, which checks its arguments too (tools/mcp/pattern_reading.py).
    """
    steps = steps_for_one(SCHEMA_STEPS)
    if not steps:
        return _unsure(TOO_COMPLEX)
    if certainly_valid(schema, value):
        return ()
    left = [steps]
    with counting(left, 1 + len(json.dumps(value, default=str)) // CHARS_PER_STEP):
        try:
            return _all_problems(schema, value)
        except Unresolvable as error:
            return _unsure(f"These arguments could not be checked: the schema refers to {error}.")
        except UNCOMPUTED:
            return _unsure(UNCHECKABLE)
        finally:
            count_steps(steps - left[0])


def _unsure(text: str) -> tuple[Problem, ...]:
    return (Problem((), text, unsure=True),)


def _all_problems(schema: Mapping[str, Json], value: Json) -> tuple[Problem, ...]:
    """The problems that are found within the steps; an unsure one where the steps end before the first."""
    errors: list[ValidationError] = []
    try:
        for error in islice(_validator(schema).iter_errors(value), MAX_PROBLEMS * MAX_PROBLEMS):
            errors.append(error)
    except (OutOfSteps, RecursionError):
        if not errors:
            return _unsure(TOO_COMPLEX)
    errors.sort(key=lambda e: [str(s) for s in e.absolute_path])
    strange = count()  # names that nobody knows, as they are come upon
    return tuple(islice((one for error in errors for one in _problems(error, strange)), MAX_PROBLEMS))


def schema_error(text: str) -> str:
    """Why this schema, given as JSON text, cannot be used for validation; "" where it can. Takes bounded time."""
    return judged(text)[0]


def judged(text: str) -> tuple[str, int]:
    """The same, and the steps that it took to be found out: CHECK_STEPS at most. Kept for the schemas that were judged
    last, without their texts, which are megabytes."""
    key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    found = _judged.get(key)
    if found is None:
        found = judge(text)
        if len(_judged) >= MOST_JUDGED:
            _judged.clear()
        _judged[key] = found
    return found


def judge(text: str) -> tuple[str, int]:
    """The same, worked out anew."""
    left = [CHECK_STEPS]
    with counting(left, 1):
        try:
            schema = json.loads(text)
            why = _misfit(schema) or next(filter(None, map(_unusable, _subschemas(schema))), "")
        except OutOfSteps:
            why = "its schema is too complicated to be checked"
        except RecursionError:
            why = "its schema is nested too deep"
    return why, CHECK_STEPS - max(left[0], 0)


def _misfit(schema: Json) -> str:
    """Where it is no schema of its draft, and why."""
    draft = validator_for(schema, default=Draft202012Validator)
    check = _bounded_class(draft)(draft.META_SCHEMA, format_checker=_formats(draft))
    error = next(iter(check.iter_errors(schema)), None)
    if error is None:
        return ""
    where = ".".join(str(step) for step in error.absolute_path) or "its root"
    return f"its schema is not valid at {where}: {error.message[:200]}"


@cache
def _formats(draft: type[Validator]) -> FormatChecker:
    """The formats of a draft, where a regular expression is read and not compiled, which may take long."""
    formats = FormatChecker(())
    formats.checkers = {**draft.FORMAT_CHECKER.checkers, "regex": (_is_readable, UNREADABLE)}
    return formats


def _is_readable(pattern: object) -> bool:
    if isinstance(pattern, str):
        parser.parse(pattern)
    return True


def _unusable(subschema: Mapping[str, Json]) -> str:
    """Why a part of a schema cannot be used although it is valid."""
    reference, patterns = subschema.get("$ref"), subschema.get("patternProperties")
    names = (subschema.get(keyword) for keyword in (*REFERENCES, *IDENTIFIERS))
    long = next((name for name in names if isinstance(name, str) and len(name) > MAX_REFERENCE), "")
    if long:
        return f"its schema has a reference or an id of more than {MAX_REFERENCE} characters: {long[:100]}"
    if isinstance(reference, str) and not reference.startswith("#"):
        return f"its schema refers to {reference[:100]}, and only local references are followed"
    # jsonschema searches these with `re` for `unevaluatedProperties`, so they have to be safe.
    for pattern in patterns if isinstance(patterns, dict) else ():
        spend(len(pattern) + SEARCHED_BY_JSONSCHEMA * compile_steps(pattern))
        if not always_checkable(pattern, MAX_KEY_LENGTH):
            return f"its schema names properties by a pattern that may never end: {pattern[:100]}"
    return ""


def _subschemas(schema: Json) -> Iterator[dict[str, Json]]:
    """Every object in a schema, at any depth."""
    stack = [schema]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack += value.values()
        elif isinstance(value, list):
            stack += value


def _validator(schema: Mapping[str, Json]) -> Validator:
    draft = validator_for(schema, default=Draft202012Validator)
    resource = Resource.from_contents(schema, default_specification=DRAFT202012)
    where = resource.id() or ""
    # Gone through once: else the whole schema is searched for each reference to an anchor.
    count_steps(sum(1 for _ in _subschemas(schema)) // CRAWLED_PER_STEP)
    known: Registry[Any] = Registry[Any]().with_resource(where, resource).crawl()
    return _bounded_class(draft)(schema, registry=known, _resolver=known.resolver(where))


@cache
def _bounded_class(draft: type[Validator]) -> Callable[..., Validator]:
    """The validator class of a draft with a step counted for each keyword, and with bounded patterns and
    `uniqueItems`."""
    keywords = {**draft.VALIDATORS, "pattern": _pattern, "uniqueItems": _unique_items}
    for keyword, check in (
        ("patternProperties", _pattern_properties),
        ("additionalProperties", _additional_properties),
    ):
        if keyword in keywords:
            keywords[keyword] = check
    counted = {keyword: _counted(keyword, check) for keyword, check in keywords.items()}
    bounded: Any = extend(draft, counted)  # type: ignore[no-untyped-call]
    bounded.evolve = _evolved
    bounded.descend, bounded.iter_errors = _descending(bounded.descend), _iterating(bounded.iter_errors)
    bounded.is_type = _asking(bounded.is_type)
    return bounded  # type: ignore[no-any-return]


def _evolved(validator: Any, **changes: Any) -> Any:
    """The same validator for a part of its schema. jsonschema takes another class where a part names a draft of its own
    in `$schema`, which would count no steps."""
    fields = [one for one in type(validator).__attrs_attrs__ if one.init]
    return type(validator)(**{one.alias: getattr(validator, one.name) for one in fields} | changes)


def _descending(descend: Any) -> Any:
    """The same way into a part of a schema, with a step and a short message where the part is `false`: jsonschema
    quotes the value, and gives no path."""

    def descending(
        self: Any, instance: Any, schema: Any, path: Any = None, schema_path: Any = None, resolver: Any = None
    ) -> Iterator[ValidationError]:
        if schema is not False:
            return descend(self, instance, schema, path, schema_path, resolver)  # type: ignore[no-any-return]
        paths = [[] if step is None else [step] for step in (path, schema_path)]
        return iter([_nothing_allowed(instance, *paths)])

    return descending


def _iterating(iter_errors: Any) -> Any:
    """The same for a schema that is `false` as a whole."""

    def iterating(self: Any, instance: Any) -> Iterator[ValidationError]:
        return iter([_nothing_allowed(instance)]) if self.schema is False else iter_errors(self, instance)

    return iterating


def _nothing_allowed(instance: Any, path: Any = (), schema_path: Any = ()) -> ValidationError:
    spend(1)
    return ValidationError(
        "nothing is allowed",
        validator=NOTHING,
        path=path,
        instance=instance,
        schema=False,
        schema_path=schema_path,
    )


def _asking(is_type: Any) -> Any:
    """The same question about a type. jsonschema begins each round of its search for what is evaluated by asking
    whether the schema is a boolean, and passes nothing else there that can be counted."""

    def asking(self: Any, instance: Any, type: str) -> bool:
        if type == "boolean":
            spend_for_round(instance)
        return bool(is_type(self, instance, type))

    return asking


def _counted(keyword: str, check: Any) -> Any:
    def counted(validator: Any, expected: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        spend_for(keyword, expected, instance)
        errors = check(validator, expected, instance, schema) or ()
        if keyword.startswith("unevaluated") and isinstance(instance, list | dict):
            with evaluating(instance):
                errors = list(errors)
        for error in errors:
            spend_for_error(error.message)
            yield error

    return counted


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and search(pattern, instance) is False:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
    for pattern, subschema in patterns.items() if isinstance(instance, dict) else ():
        for key, value in instance.items():
            if search(pattern, key):
                yield from validator.descend(value, subschema, path=key, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    patterns = schema.get("patternProperties", {})
    for key in (
        sorted(instance.keys() - schema.get("properties", {}).keys()) if isinstance(instance, dict) else ()
    ):
        if any(search(pattern, key) for pattern in patterns):
            continue
        if allowed is False:
            yield ValidationError("is not known", path=[key], validator_value=allowed)
        else:
            yield from validator.descend(instance[key], allowed, path=key)


def _unique_items(validator: Any, expected: bool, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not expected or not isinstance(instance, list):
        return
    seen = {json.dumps(_normalized(item), sort_keys=True) for item in instance}
    if len(seen) != len(instance):
        yield ValidationError("has non-unique elements")


def _normalized(value: Json) -> Json:
    """The value with whole floats as integers: in JSON Schema 1.0 and 1 are the same number."""
    if isinstance(value, dict):
        return {key: _normalized(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_normalized(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _matching_branch(error: ValidationError) -> list[ValidationError]:
    """The errors of the only branch of an anyOf whose type is the value's; empty when there is no single one."""
    choices: dict[int, list[ValidationError]] = {}
    for inner in error.context or ():
        choices.setdefault(int(inner.schema_path[0]), []).append(inner)
    of_type = [
        errors
        for errors in choices.values()
        if not any(
            e.validator in ("type", NOTHING) and e.absolute_path == error.absolute_path for e in errors
        )
    ]
    return of_type[0] if len(of_type) == 1 else []


def _problems(error: ValidationError, strange: Iterator[int]) -> Iterator[Problem]:
    path = tuple(error.absolute_path)
    if error.validator in ("anyOf", "oneOf") and (branch := _matching_branch(error)):
        for inner in branch:
            yield from _problems(inner, strange)
        return
    if error.validator == "additionalProperties" and isinstance(error.schema, dict):
        known, compared = list(error.schema.get("properties", {})), next(strange) < MAX_COMPARED
        yield _problem(path, unknown(path, str(path[-1]), known, compared))
        return
    if error.validator == "required" and isinstance(error.instance, dict):
        # jsonschema gives one error for each missing name, with the name only in its message.
        needed: Any = error.validator_value
        missing = next((n for n in needed if f"{n!r} is a required" in error.message), None)
        path = (*path, missing) if missing is not None else path
    yield _problem(path, error_sentence(error, path))


def _problem(path: Path, text: str) -> Problem:
    return Problem(path, text if len(text) <= MAX_SENTENCE else text[: MAX_SENTENCE - 1] + "…")
