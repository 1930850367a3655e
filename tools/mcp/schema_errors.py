"""Sentences for people about invalid arguments: "`limit` must be a whole number, not text"."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from jsonschema import ValidationError

from gate.rules.action import Json
from gate.rules.close_names import close_matches

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
    """Words joined by commas and a final "or"."""
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


def unknown(path: Path, key: str, known: list[str]) -> str:
    """The sentence for a name that is not among the known ones, with the closest of them."""
    close = close_matches(key, known, 1)
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
    "not": lambda error: f"must not be {shown(error.instance)}",
    "dependentRequired": lambda error: f"is not complete: {error.message}",
}
