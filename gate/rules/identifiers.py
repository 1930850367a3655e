"""Names that a service takes to be the same: whatever their case, and a UUID with or without its dashes.

GitHub finds `Acme/Payroll` and `acme/payroll` to be one repository; Notion's ids are UUIDs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from gate.rules.action import Json
from gate.rules.text_forms import visible_text

UUID = re.compile(r"([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})")
COMPARED = frozenset({"const", "enum"})  # keywords of JSON Schema that hold texts to compare with


def id_forms(names: Sequence[str], args: Json) -> list[Json]:
    """The arguments with those of these names (`repo`, `parent.page_id`) in each of the forms that their service takes
    for the same; none where they have no such argument."""
    found: list[Json] = []
    for form in (_dashed, _bare):
        texts: list[str] = []

        def changed(text: str, form: Callable[[str], str] = form, texts: list[str] = texts) -> str:
            texts.append(text)
            return form(text)

        one = args
        for name in names:
            one = _mapped(one, name.replace("[]", "").split("."), changed)
        if texts and one not in found:
            found.append(one)
    return found


def folded(schema: Json) -> Json:
    """A schema of which what texts are compared with is as in the first of those forms."""
    if isinstance(schema, Mapping):
        return {
            key: _folded_texts(value) if key in COMPARED else folded(value) for key, value in schema.items()
        }
    return [folded(one) for one in schema] if isinstance(schema, list) else schema


def _folded_texts(value: Json) -> Json:
    if isinstance(value, list):
        return [_folded_texts(one) for one in value]
    return _dashed(value) if isinstance(value, str) else value


def _dashed(text: str) -> str:
    plain = " ".join(visible_text(text).split()).casefold()
    parts = UUID.fullmatch(plain)
    return "-".join(parts.groups()) if parts else plain


def _bare(text: str) -> str:
    plain = _dashed(text)
    return plain.replace("-", "") if UUID.fullmatch(plain) else plain


def _mapped(value: Json, steps: Sequence[str], change: Callable[[str], str]) -> Json:
    """The value with the texts at this place changed, in lists those of each item."""
    if isinstance(value, list):
        return [_mapped(one, steps, change) for one in value]
    if not steps:
        return change(value) if isinstance(value, str) else value
    if isinstance(value, Mapping) and steps[0] in value:
        return {**value, steps[0]: _mapped(value[steps[0]], steps[1:], change)}
    return value
