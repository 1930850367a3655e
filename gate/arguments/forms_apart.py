"""The forms of a call's arguments that a rule can tell apart, so that its schema is held against one of each kind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from math import prod
from typing import Any

from gate.arguments.named_paths import OF_ANY, keys_of, kind_of
from gate.rules.action import Json

Spend = Callable[[int], object]  # told how many texts are told apart from others, each in 3 microseconds
FEW = 3  # forms that are not told apart: that takes as long as to hold a schema against them
PLAIN = frozenset({int, float, bool, type(None)})
MOST_TOGETHER = 200  # arguments of one rule, each of which takes up to 0.2 ms to be held against a schema
MOST_WITHIN, MIXED_LEVELS = 50, 3  # forms of one argument whose parts are mixed, and levels of these
MOST_COPIED = 100_000  # values in all copies of one argument, told apart in 0.4 microseconds each
DEEPEST = 50  # levels that are gone through; what lies deeper is the same only where it is the same object


class TooManyForms(Exception):
    """An argument has more forms, of its size, than are told apart."""


def spend_nothing(texts: int) -> None:
    """For work that is bounded otherwise."""


def mixtures(
    apart: FormsApart, rule: tuple[Json, Sequence[str]], given: Sequence[Json], forms: Sequence[Json]
) -> list[Json] | None:
    """The arguments as given with each that the rule's schema is about in a form of its own, in every combination of
    the kinds that it and the rule's patterns tell apart; None where these are too many."""
    bases = {frozenset(one): one for one in reversed(given) if isinstance(one, Mapping)}
    said = keys_of(rule[0])
    names = {name for base in bases for name in base if said & OF_ANY or name in said}
    try:
        values = apart.values_of_each(*rule, forms, names)
    except TooManyForms:
        return None
    varied = {name: kinds for name, kinds in values.items() if len(kinds) > 1}
    if len(varied) + len(bases) < 3:  # what the forms have alone is held against the rule as they are
        known = {
            id(form[name]) for form in forms if isinstance(form, Mapping) for name in varied if name in form
        }
        varied = {name: [one for one in kinds if id(one) not in known] for name, kinds in varied.items()}
    if not any(varied.values()):
        return []
    if len(bases) * prod(map(len, varied.values())) > MOST_TOGETHER:
        return None
    return [
        base | {name: value for name, value in zip(varied, mix, strict=True) if name in base}
        for base in map(dict, bases.values())
        for mix in product(*varied.values())
    ]


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """One argument: the number of its shape, which is all that it is but for texts and names of fields; these in their
    order, and how many characters they have."""

    name: str
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
    spend: Spend = spend_nothing
    known: dict[tuple[int, Sequence[str]], tuple[Json, Kinds]] = field(default_factory=dict)

    def kinds(self, schema: Json, patterns: Sequence[str]) -> Kinds:
        """What a schema and patterns tell apart, each text looked at once."""
        key = id(schema), tuple(patterns)
        if key not in self.known:
            self.known[key] = schema, Kinds(schema, patterns)  # kept, so that nothing else gets its id
        return self.known[key][1]

    def longest_of_each(self, schema: Json, patterns: Sequence[str], forms: Sequence[Json]) -> Sequence[Json]:
        """The longest form of each kind that a schema and patterns tell apart: where a check of one of them takes more
        steps than it may, that of the longest does."""
        if len(forms) <= FEW:
            return forms
        kinds = self.kinds(schema, patterns)
        longest: dict[Hashable, tuple[int, Json]] = {}
        for form in forms:
            row = self.rows.get(id(form)) or self._row(form)
            of = tuple(map(kinds.of, row.parts))
            if of not in longest or longest[of][0] < row.length:
                longest[of] = row.length, form
        return [form for _, form in longest.values()]

    def values_of_each(
        self, schema: Json, patterns: Sequence[str], forms: Sequence[Json], names: Collection[str]
    ) -> dict[str, list[Json]]:
        """The values of these arguments in the forms, of each one of each kind that a schema and patterns tell apart,
        also with what they hold in forms of its own. Raises TooManyForms."""
        kinds, found = self.kinds(schema, patterns), dict[str, dict[int, Json]]()
        known = len(kinds.of_texts)
        for form in forms:
            for part in (self.rows.get(id(form)) or self._row(form)).parts:
                if part.name in names:
                    found.setdefault(part.name, {}).setdefault(kinds.of(part), part.value)
        mixed = {name: self._within(kinds, [*values.values()]) for name, values in found.items()}
        self.spend(len(kinds.of_texts) - known)
        return mixed

    def _within(self, kinds: Kinds, values: list[Json], levels: int = MIXED_LEVELS) -> list[Json]:
        """The values, and where all are objects with the same names, or lists of one length, those with each part of
        them in a form of its own: in every combination, of very many with one part at a time."""
        first = values[0]
        if len(values) < 2 or not levels or not isinstance(first, dict | list):
            return values
        if any(type(one) is not type(first) or _names(one) != _names(first) for one in values):
            return values
        parts = {name: self._within(kinds, ones, levels - 1) for name, ones in self._varied(kinds, values)}
        many, size = prod(map(len, parts.values())), _size(first)
        if parts and min(many, MOST_WITHIN) * size > MOST_COPIED:
            raise TooManyForms
        mixes: Iterable[Mapping[Any, Json]] = (
            dict(zip(parts, mix, strict=True)) for mix in product(*parts.values())
        )
        if many > MOST_WITHIN:
            mixes = ({name: one} for name, ones in parts.items() for one in ones)
        made = [_changed(first, mix) for mix in islice(mixes, MOST_WITHIN)]
        self.spend(len(made) * size // 8)
        return self._of_each_kind(kinds, [*values, *made])

    def _varied(self, kinds: Kinds, values: Sequence[Json]) -> Iterator[tuple[Any, list[Json]]]:
        """The parts that are of several kinds in these values, with one of each. Most are the very same in all."""
        first = values[0]
        for name in _names(first):
            if any(one[name] is not first[name] for one in values):
                ones = self._of_each_kind(kinds, [one[name] for one in values])
                if len(ones) > 1:
                    yield name, ones

    def _of_each_kind(self, kinds: Kinds, values: Sequence[Json]) -> list[Json]:
        found: dict[int, Json] = {}
        for one in values:
            found.setdefault(kinds.of(self._part("", one)), one)
        return [*found.values()]

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
            self.parts[key] = _Part(name, value, number, tuple(texts), sum(map(len, texts)))
        return self.parts[key]


class Kinds:
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


def _changed(value: Json, parts: Mapping[Any, Json]) -> Json:
    """A copy of an object or a list with these parts in it."""
    made = value.copy()
    for name, part in parts.items():
        made[name] = part
    return made


def _names(value: Json) -> Sequence[Any]:
    """The names of the fields of an object, or the places of a list."""
    return [*value] if isinstance(value, dict) else range(len(value))


def _size(value: Json) -> int:
    """How many values there are in an object or a list, at any depth."""
    left, count = [value], 0
    while left:
        one = left.pop()
        held = [*one.values()] if isinstance(one, dict) else one
        count += len(held)
        left += [each for each in held if isinstance(each, dict | list)]
    return count


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
