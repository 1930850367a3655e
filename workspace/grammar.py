"""The small language in which the shapes of Block Kit are written down: checks, and ways to join them.

A check takes a value and its JSON pointer and yields one sentence per problem, none when all is well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

Check = Callable[[object, str], Iterator[str]]

# The control sequences of mrkdwn. Slack shows any other `<` as it stands, but ours are always an
# escape forgotten, so this workspace refuses them.
ENTITY = re.compile(
    r"<(?:@[UW]\w+(?:\|[^<>]*)?|#[CG]\w+(?:\|[^<>]*)?|!subteam\^S\w+(?:\|[^<>]*)?"
    r"|!(?:here|channel|everyone)(?:\|[^<>]*)?|!date\^\d+\^[^<>^|]+(?:\^https?://[^<>|]+)?\|[^<>]+"
    r"|(?:https?://|mailto:|tel:)[^<>|]+(?:\|[^<>]*)?)>"
)


def problem(sentence: str, at: str) -> str:
    return f"{sentence} [json-pointer:{at or '/'}]"


def unescaped(text: str) -> bool:
    """Whether a `<` is left that starts no mention, link or date."""
    return "<" in ENTITY.sub("", text)


def string(most: int, least: int = 1, pattern: str | None = None) -> Check:
    def check(value: object, at: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield problem("must be a string", at)
        elif len(value) < least:
            yield problem(f"must be more than {least - 1} characters", at)
        elif len(value) > most:
            yield problem(f"must be less than {most + 1} characters", at)
        elif pattern and not re.fullmatch(pattern, value):
            yield problem(f"must match {pattern}", at)

    return check


def markup(most: int) -> Check:
    """A string in mrkdwn, whose every `<` must be one of Slack's own or escaped."""
    plain = string(most)

    def check(value: object, at: str) -> Iterator[str]:
        yield from plain(value, at)
        if isinstance(value, str) and unescaped(value):
            yield problem("has a '<' that is neither escaped nor a known mention, link or date", at)

    return check


def boolean(value: object, at: str) -> Iterator[str]:
    if not isinstance(value, bool):
        yield problem("must be a boolean", at)


def integer(least: int, most: int) -> Check:
    def check(value: object, at: str) -> Iterator[str]:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            yield problem(f"must be a whole number from {least} to {most}", at)

    return check


def one_of(*values: object) -> Check:
    def check(value: object, at: str) -> Iterator[str]:
        if value not in values:
            yield problem(f"must be one of {', '.join(map(str, values))}", at)

    return check


def list_of(item: Check, most: int, least: int = 1) -> Check:
    def check(value: object, at: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield problem("must be an array", at)
            return
        if len(value) < least:
            yield problem(f"must have at least {least} items", at)
        if len(value) > most:
            yield problem(f"no more than {most} items allowed", at)
        for index, entry in enumerate(value):
            yield from item(entry, f"{at}/{index}")

    return check


def record(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with these fields and no others. `type` is always allowed: who dispatches checks it."""
    known = {**required, **(optional or {})}

    def check(value: object, at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield problem("must be an object", at)
            return
        for name in required:
            if name not in value:
                yield problem(f"missing required field: {name}", at)
        for name, entry in value.items():
            if name in known:
                yield from known[name](entry, f"{at}/{name}")
            elif name != "type":
                yield problem(f"invalid additional property: {name}", at)

    return check


def kinds(known: Mapping[str, Check], what: str) -> Check:
    """An object whose `type` says which of the known shapes it has."""

    def check(value: object, at: str) -> Iterator[str]:
        kind = value.get("type") if isinstance(value, dict) else None
        shape = known.get(kind) if isinstance(kind, str) else None
        if shape is None:
            yield problem(f"unsupported {what}: {kind!r}", at)
        else:
            yield from shape(value, at)

    return check


def both(*checks: Check) -> Check:
    def check(value: object, at: str) -> Iterator[str]:
        for each in checks:
            yield from each(value, at)

    return check


def exactly_one(*names: str) -> Check:
    """An object that has one of these fields, and only one."""

    def check(value: object, at: str) -> Iterator[str]:
        if isinstance(value, dict) and sum(name in value for name in names) != 1:
            yield problem(f"must have exactly one of {', '.join(names)}", at)

    return check


def any_of(*names: str) -> Check:
    """An object that has at least one of these fields."""

    def check(value: object, at: str) -> Iterator[str]:
        if isinstance(value, dict) and not any(name in value for name in names):
            yield problem(f"must have one of {', '.join(names)}", at)

    return check
