"""Typed words to typed values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from gate.rules.action import Json

ITEMS = re.compile(
    r"(?<![ \t])[ \t]*+(?:,(?:[ \t]*+and(?=[ \t]))?|(?<=[ \t])(?:and|&)(?=[ \t]))[ \t]*+", re.IGNORECASE
)
TRUE, FALSE = {"true", "yes", "on"}, {"false", "no", "off"}
SHOWN = 120  # characters of a title
LISTS = 2  # within one another that words with commas are read as; deeper ones are typed as JSON


def kinds(schema: Json) -> set[str]:
    """The JSON types that a schema allows, as far as it says so plainly."""
    if not isinstance(schema, Mapping):
        return set()
    said = schema.get("type")
    found = set(said) if isinstance(said, list) else {said} if isinstance(said, str) else set()
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found |= kinds(choice)
    return found


def coerced(text: str, schema: Json) -> Json:
    """The value that a typed text means to this schema; the text itself where it means nothing else."""
    return _reader(schema)(text)


def _reader(schema: Json, lists: int = LISTS) -> Callable[[str], Json]:
    """What reads texts for this schema, whose parts are gone through once for the items of a list."""
    allowed = kinds(schema)
    if not allowed or "string" in allowed:
        return lambda text: text
    inner = schema.get("items", {}) if isinstance(schema, Mapping) and lists else {}
    item = _reader(inner, lists - 1) if "array" in allowed and lists else None
    return lambda text: _value(text, allowed, item)


def _value(text: str, allowed: set[str], item: Callable[[str], Json] | None) -> Json:
    word = text.strip().lower()
    if "boolean" in allowed and word in TRUE | FALSE:
        return word in TRUE
    if "null" in allowed and word in ("null", "none"):
        return None
    if {"integer", "number"} & allowed and re.fullmatch(r"[-+]?\d{1,18}", word):
        return int(word)
    if "number" in allowed and re.fullmatch(r"[-+]?\d{1,18}\.\d{1,18}", word):
        return float(word)
    if item and not text.lstrip().startswith("["):
        return [*map(item, items(text))]
    return _parsed(text) if allowed & {"array", "object"} else text


def fitted(value: Json, schema: Json) -> Json:
    """A value as the tool wants it: one path alone where it may be, words as numbers where they must be."""
    allowed = kinds(schema)
    if isinstance(value, list) and len(value) == 1 and "string" in allowed:
        return value[0]
    if isinstance(value, int | float) and not isinstance(value, bool) and allowed == {"string"}:
        return str(value)
    return coerced(value, schema) if isinstance(value, str) else value


def items(text: str) -> list[str]:
    """`a.md, b.md and c.md` to its three items."""
    return [item.strip() for item in ITEMS.split(text) if item.strip()]


def words(value: Json) -> str:
    """A value as people would write it: a list with commas, text without quotes."""
    if isinstance(value, list):
        return ", ".join(map(words, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def clipped(text: str, most: int = SHOWN) -> str:
    """One line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def bullets(texts: Sequence[str]) -> str:
    return "\n".join(f"• {text}" for text in texts)


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
