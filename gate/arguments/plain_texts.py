"""Arguments with their texts in a plainer form: in composed letters, or without blanks around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gate.arguments.forms_apart import texts_of
from gate.arguments.json_texts import is_too_deep
from gate.arguments.text_forms import composed
from gate.rules.action import Json

LONGEST_TRIMMED = 1_000  # characters: a title, a subject; a blank at the end of a whole file means nothing


def with_composed_texts(value: Json) -> Json:
    """The value with each of its texts and names of fields composed; the same object where all of them are."""
    return _with(value, composed)


def with_trimmed_texts(value: Json) -> Json:
    """The value with each of its short texts as a form or a server takes it, without blanks around it; the same object
    where none has any."""
    return _with(value, trimmed)


def trimmed(text: str) -> str:
    """The text without blanks around it, where it is short."""
    return text.strip() if len(text) <= LONGEST_TRIMMED else text


def _with(value: Json, change: Callable[[str], str]) -> Json:
    if all(change(text) == text for text in texts_of(value)) or is_too_deep(value):
        return value
    return _changed(value, change)


def _changed(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(name): _changed(item, change) for name, item in value.items()}
    return [_changed(item, change) for item in value] if isinstance(value, list) else value
