"""Names that a service takes to be the same: whatever their case, and a UUID with or without its dashes.

GitHub takes `Acme/Payroll` and `acme/payroll` for one repository, Jira `pay-1` for `PAY-1`; Notion's ids are UUIDs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gate.rules.action import Json
from gate.rules.text_forms import visible_text

UUID = re.compile(
    r"([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})", re.IGNORECASE
)
FLAGS = re.compile(r"\(\?[a-zA-Z]+\)")  # of a whole pattern, which begins with them
COMPARED = frozenset({"const", "enum"})  # keywords of JSON Schema that hold texts to compare with


def id_form(names: Sequence[str], args: Json) -> Json:
    """The arguments with those of these names (`repo`, `parent.page_id`) in one form for all that their service takes
    for the same; None where they have no such argument. Some servers take an object as JSON in a text, too."""
    if not isinstance(args, Mapping):
        return None
    count = 0

    def folded_text(text: str) -> str:
        nonlocal count
        count += 1
        return fold(text)

    ways = [name.replace("[]", "").split(".") for name in names]
    made: Json = {**args, **{way[0]: _opened(args[way[0]]) for way in ways if way[0] in args}}
    for way in ways:
        made = _mapped(made, way, folded_text)
    return made if count else None


def id_texts(same: Iterable[str], texts: Iterable[str]) -> Iterator[str]:
    """The forms of ids that patterns are searched in, besides as they were given: the texts of the arguments in the
    form of `id_form`, in either case, and UUIDs among all `texts`."""
    for text in same:
        if len(text) <= 200:
            yield from (text, text.upper())
    for text in texts:
        if 32 <= len(text) <= 50 and UUID.fullmatch(text.strip()):
            dashed = fold(text)
            yield from (dashed, dashed.replace("-", ""))


def folded(schema: Json) -> Json:
    """A schema that holds for arguments in that form: what texts are compared with is in it as well, and patterns take
    any case."""
    if isinstance(schema, list):
        return [folded(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {key: _folded_keyword(key, value) for key, value in schema.items()}


def _folded_keyword(key: str, value: Json) -> Json:
    if key in COMPARED:
        return _folded_texts(value)
    if key == "pattern" and isinstance(value, str):
        return value if FLAGS.match(value) else f"(?i:{value})"
    return folded(value)


def _folded_texts(value: Json) -> Json:
    if isinstance(value, list):
        return [_folded_texts(one) for one in value]
    return fold(value) if isinstance(value, str) else value


def fold(text: str) -> str:
    """In lower case, without what draws nothing; a UUID with its dashes."""
    plain = " ".join(visible_text(text).split()).casefold()
    parts = UUID.fullmatch(plain)
    return "-".join(parts.groups()) if parts else plain


def _opened(value: Json) -> Json:
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _mapped(value: Json, steps: Sequence[str], change: Callable[[str], str]) -> Json:
    """The value with the texts at this place changed, in lists those of each item."""
    if isinstance(value, list):
        return [_mapped(one, steps, change) for one in value]
    if not steps:
        return change(value) if isinstance(value, str) else value
    if isinstance(value, Mapping) and steps[0] in value:
        return {**value, steps[0]: _mapped(value[steps[0]], steps[1:], change)}
    return value
