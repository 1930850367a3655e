"""Rules of the operator in composed letters, beside those that were pasted in decomposed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from gate.arguments.plain_texts import with_composed_texts
from gate.arguments.text_forms import composed
from gate.rules.policy import Rule


def with_composed(rule: Rule, checkable: Callable[[str], bool]) -> Iterator[Rule]:
    """The rule, and where its patterns and values are not composed, the same rule with them composed: calls are held
    against it in that form. `checkable`: whether a pattern can be searched; one that then cannot be stays as it is."""

    def pattern(written: str) -> str:
        made = composed(written)
        return made if checkable(made) else written

    yield rule
    made = replace(rule, texts=tuple(map(pattern, rule.texts)), schema=_schema(rule.schema, pattern))
    if made != rule:
        yield made


def _schema(schema: Any, pattern: Callable[[str], str]) -> Any:
    """A schema with its patterns and values composed. Names of arguments stay: they are the server's."""
    if isinstance(schema, list):
        return [_schema(one, pattern) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _keyword(key, said, pattern) for key, said in schema.items()}


def _keyword(key: str, said: Any, pattern: Callable[[str], str]) -> Any:
    if key == "pattern" and isinstance(said, str):
        return pattern(said)
    return with_composed_texts(said) if key in ("const", "enum") else _schema(said, pattern)
