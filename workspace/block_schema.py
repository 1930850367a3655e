"""Validators for Block Kit JSON, and functions that combine them.

A `Check` takes a value and its JSON pointer and yields one message per problem; a valid value yields none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

Check = Callable[[object, str], Iterator[str]]

# The control sequences of mrkdwn. Slack displays any other `<` literally; here it is always a missing escape,
# so this workspace rejects it.
ENTITY = re.compile(
    r"<(?:@[UW]\w+(?:\|[^<>]*)?|#[CG]\w+(?:\|[^<>]*)?|!subteam\^S\w+(?:\|[^<>]*)?"
    r"|!(?:here|channel|everyone)(?:\|[^<>]*)?|!date\^\d+\^[^<>^|]+(?:\^https?://[^<>|]+)?\|[^<>]+"
    r"|(?:https?://|mailto:|tel:)[^<>|]+(?:\|[^<>]*)?)>"
)


def problem(message: str, pointer: str) -> str:
    """The message with its JSON pointer, in the format of Slack's `response_metadata.messages`."""
    return f"{message} [json-pointer:{pointer or '/'}]"


def has_unescaped(text: str) -> bool:
    """Whether the text has a `<` that does not start a mention, link or date."""
    return "<" in ENTITY.sub("", text)


def string(max_length: int, min_length: int = 1, pattern: str | None = None) -> Check:
    """A string whose length is within the limits and that matches the pattern as a whole."""

    def check(value: object, pointer: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield problem("must be a string", pointer)
        elif len(value) < min_length:
            yield problem(f"must be more than {min_length - 1} characters", pointer)
        elif len(value) > max_length:
            yield problem(f"must be less than {max_length + 1} characters", pointer)
        elif pattern and not re.fullmatch(pattern, value):
            yield problem(f"must match {pattern}", pointer)

    return check


def markup(max_length: int) -> Check:
    """A mrkdwn string: each `<` starts a Slack control sequence or is escaped."""
    check_string = string(max_length)

    def check(value: object, pointer: str) -> Iterator[str]:
        yield from check_string(value, pointer)
        if isinstance(value, str) and has_unescaped(value):
            yield problem("has a '<' that is neither escaped nor a known mention, link or date", pointer)

    return check


def boolean(value: object, pointer: str) -> Iterator[str]:
    if not isinstance(value, bool):
        yield problem("must be a boolean", pointer)


def integer(minimum: int, maximum: int) -> Check:
    def check(value: object, pointer: str) -> Iterator[str]:
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            yield problem(f"must be a whole number from {minimum} to {maximum}", pointer)

    return check


def one_of(*values: object) -> Check:
    def check(value: object, pointer: str) -> Iterator[str]:
        if value not in values:
            yield problem(f"must be one of {', '.join(map(str, values))}", pointer)

    return check


def list_of(item: Check, max_items: int, min_items: int = 1) -> Check:
    """An array of `min_items` to `max_items` entries, each valid by `item`."""

    def check(value: object, pointer: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield problem("must be an array", pointer)
            return
        if len(value) < min_items:
            yield problem(f"must have at least {min_items} items", pointer)
        if len(value) > max_items:
            yield problem(f"no more than {max_items} items allowed", pointer)
        for index, entry in enumerate(value):
            yield from item(entry, f"{pointer}/{index}")

    return check


def object_with(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with these fields and no others. `type` is always allowed: `tagged_union` checks it."""
    known = {**required, **(optional or {})}

    def check(value: object, pointer: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield problem("must be an object", pointer)
            return
        for name in required:
            if name not in value:
                yield problem(f"missing required field: {name}", pointer)
        for name, entry in value.items():
            if name in known:
                yield from known[name](entry, f"{pointer}/{name}")
            elif name != "type":
                yield problem(f"invalid additional property: {name}", pointer)

    return check


def tagged_union(variants: Mapping[str, Check], noun: str) -> Check:
    """An object that is valid by the variant that its `type` names. `noun` names the object in messages."""

    def check(value: object, pointer: str) -> Iterator[str]:
        kind = value.get("type") if isinstance(value, dict) else None
        variant = variants.get(kind) if isinstance(kind, str) else None
        if variant is None:
            yield problem(f"unsupported {noun}: {kind!r}", pointer)
        else:
            yield from variant(value, pointer)

    return check


def all_of(*checks: Check) -> Check:
    """A value that is valid by every check."""

    def check(value: object, pointer: str) -> Iterator[str]:
        for each in checks:
            yield from each(value, pointer)

    return check


def exactly_one_key(*names: str) -> Check:
    """An object that has exactly one of these fields."""

    def check(value: object, pointer: str) -> Iterator[str]:
        if isinstance(value, dict) and sum(name in value for name in names) != 1:
            yield problem(f"must have exactly one of {', '.join(names)}", pointer)

    return check


def at_least_one_key(*names: str) -> Check:
    """An object that has at least one of these fields."""

    def check(value: object, pointer: str) -> Iterator[str]:
        if isinstance(value, dict) and not any(name in value for name in names):
            yield problem(f"must have one of {', '.join(names)}", pointer)

    return check
