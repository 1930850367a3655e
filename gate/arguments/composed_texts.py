"""Arguments whose texts are written in composed letters, whatever letters they are given in."""

from __future__ import annotations

from collections.abc import Mapping

from gate.arguments.forms_apart import texts_of
from gate.arguments.json_texts import is_too_deep
from gate.arguments.text_forms import composed
from gate.rules.action import Json


def with_composed_texts(value: Json) -> Json:
    """The value with each of its texts and names of fields composed; the same object where all of them are."""
    if all(composed(text) == text for text in texts_of(value)) or is_too_deep(value):
        return value
    return _composed(value)


def _composed(value: Json) -> Json:
    if isinstance(value, str):
        return composed(value)
    if isinstance(value, Mapping):
        return {composed(name): _composed(item) for name, item in value.items()}
    return [_composed(item) for item in value] if isinstance(value, list) else value
