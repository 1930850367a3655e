"""What it takes to hold rules against a call in each thing that its files lie in, counted before it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gate.arguments.named_paths import OF_ANY, may_say
from gate.rules.action import Json

OF_LISTS = frozenset({"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"})
OF_PARTS = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else"})
# Values that schemas are held against for one call, each of which takes up to 0.003 ms
MOST_CHECKED = 100_000
COST_OF_A_CHECK = 10  # of any arguments
# Characters, and values that a schema says nothing of, which take as long as one that it is held against
CHARACTERS, SPARED = 600, 20


@dataclass(slots=True)
class InsideWork:
    """How much of it there is for one call, rule by rule."""

    checked: int = 0
    sizes: dict[int, tuple[Json, int, int]] = field(
        default_factory=dict
    )  # by the id of a value, which is kept

    @property
    def is_over(self) -> bool:
        """Whether it is more than is done for one call."""
        return self.checked > MOST_CHECKED

    def is_over_with(self, schema: Json, given: Sequence[Json], copies: int) -> bool:
        """Count a schema that is held against so many copies of each of these arguments. Whether it is then more than
        is done for one call."""
        self.checked += max(1, copies) * sum(self._size(schema, one) for one in given)
        return self.is_over

    def _size(self, schema: Json, args: Json) -> int:
        size = COST_OF_A_CHECK
        for name, value in args.items() if isinstance(args, Mapping) else [("", args)]:
            if id(value) not in self.sizes:
                self.sizes[id(value)] = (value, *_count(value))
            _, values, characters = self.sizes[id(value)]
            said = not name or says_of(schema, name)
            size += (values if said else values // SPARED) + characters // CHARACTERS
        return size


def says_of(schema: Json, name: str) -> bool:
    """Whether a schema for the arguments may say something of the one with this name, not of one inside of another."""
    if isinstance(schema, list):
        return any(says_of(one, name) for one in schema)
    return isinstance(schema, Mapping) and any(_says(key, value, name) for key, value in schema.items())


def _says(key: str, value: Json, name: str) -> bool:
    if key == "properties":
        return name in value
    if key in OF_LISTS:
        return False
    return says_of(value, name) if key in OF_PARTS else key in OF_ANY or may_say({key: value}, [name])


def _count(value: Json) -> tuple[int, int]:
    """How many values there are in it, at any depth, and how many characters."""
    left, values, characters = [value], 0, 0
    while left:
        one = left.pop()
        values += 1
        if isinstance(one, str):
            characters += len(one)
        elif isinstance(one, Mapping):
            left += one.values()
        elif isinstance(one, list):
            left += one
    return values, characters
