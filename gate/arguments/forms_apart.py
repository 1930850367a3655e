"""The forms of a call's arguments that a rule can tell apart, so that its schema is held against one of each kind."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gate.arguments.named_paths import kind_of
from gate.rules.action import Json

FEW = 3  # forms that are not told apart: that takes as long as to hold a schema against them
PLAIN = frozenset({int, float, bool, type(None)})
DEEPEST = 50  # levels that are gone through; what lies deeper is the same only where it is the same object


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """One argument: the number of its shape, which is all that it is but for texts and names of fields; these in their
    order, and how many characters they have."""

    value: Json  # kept, so that nothing else gets its id
    shape: int
    texts: tuple[str, ...]
    length: int


@dataclass(frozen=True, eq=False, slots=True)
class _Row:
    """A form of the arguments."""

    form: Json
    parts: tuple[_Part, ...]
    length: int


@dataclass(slots=True)
class FormsApart:
    """Tells forms of the arguments of one call apart. What several of them share is gone through once."""

    parts: dict[tuple[str, int], _Part] = field(default_factory=dict)  # by the name and the id of the value
    shapes: dict[Hashable, int] = field(default_factory=dict)
    rows: dict[int, _Row] = field(default_factory=dict)  # by the id of the form

    def longest_of_each(self, schema: Json, patterns: Sequence[str], forms: Sequence[Json]) -> Sequence[Json]:
        """The longest form of each kind that a schema and patterns tell apart: where a check of one of them takes more
        steps than it may, that of the longest does."""
        if len(forms) <= FEW:
            return forms
        kinds = _Kinds(schema, patterns)
        longest: dict[Hashable, tuple[int, Json]] = {}
        for form in forms:
            row = self.rows.get(id(form)) or self._row(form)
            of = tuple(map(kinds.of, row.parts))
            if of not in longest or longest[of][0] < row.length:
                longest[of] = row.length, form
        return [form for _, form in longest.values()]

    def texts(self, forms: Sequence[Json]) -> list[str]:
        """Every text in these forms, names of fields included, each once; what forms share is gone over once."""
        found, seen = dict[str, None](), set[int]()
        for form in forms:
            for part in (self.rows.get(id(form)) or self._row(form)).parts:
                if id(part) not in seen:
                    seen.add(id(part))
                    found |= dict.fromkeys(part.texts)
        return [*found]

    def _row(self, form: Json) -> _Row:
        items = form.items() if isinstance(form, Mapping) else [("", form)]
        parts = tuple(self._part(name, value) for name, value in items)
        row = self.rows[id(form)] = _Row(form, parts, sum(part.length for part in parts))
        return row

    def _part(self, name: str, value: Json) -> _Part:
        key = name, id(value)
        if key not in self.parts:
            texts = [name]
            shape = _shape(value, texts, DEEPEST)
            number = self.shapes.setdefault(shape, len(self.shapes))
            self.parts[key] = _Part(value, number, tuple(texts), sum(map(len, texts)))
        return self.parts[key]


class _Kinds:
    """The kinds of arguments that a schema and patterns tell apart, as numbers."""

    def __init__(self, schema: Json, patterns: Sequence[str]) -> None:
        self.kind = kind_of(schema, patterns)
        self.of_texts: dict[str, Hashable] = {}
        self.of_parts: dict[_Part, int] = {}
        self.numbers: dict[Hashable, int] = {}

    def of(self, part: _Part) -> int:
        number = self.of_parts.get(part)
        if number is None:
            for text in part.texts:
                if text not in self.of_texts:
                    self.of_texts[text] = self.kind(text)
            found = part.shape, *map(self.of_texts.__getitem__, part.texts)
            number = self.of_parts[part] = self.numbers.setdefault(found, len(self.numbers))
        return number


def texts_of(value: Json) -> Iterator[str]:
    """Every text in a value, names of fields included, at whatever depth."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left += (*one.keys(), *one.values())
        elif isinstance(one, list):
            left += one


def _shape(value: Json, texts: list[str], levels: int) -> Hashable:
    """What a value is but for its texts and names of fields, which are added to those."""
    if type(value) in PLAIN:
        return type(value), value  # of which true is another one than 1
    if isinstance(value, str):
        texts.append(value)
        return str
    if not levels and isinstance(value, (Mapping, list)):
        texts.extend(texts_of(value))
        return id(value)
    if isinstance(value, Mapping):
        texts.extend(value)
        return (dict, *(_shape(item, texts, levels - 1) for item in value.values()))
    if isinstance(value, list):
        return (list, *(_shape(item, texts, levels - 1) for item in value))
    return type(value), value
