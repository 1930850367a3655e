"""Names that a service takes to be the same: whatever their case, and a UUID with or without its dashes.

GitHub takes `Acme/Payroll` and `acme/payroll` for one repository, Jira `pay-1` for `PAY-1`; Notion's ids are UUIDs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from gate.arguments.json_texts import BEGINS, DEEPEST_JSON, is_json, whole_number
from gate.arguments.pattern_search import found_in_any_case, in_any_case
from gate.arguments.text_forms import BLANKS, LISTED, MOST_NAMES, visible_text
from gate.rules.action import Json

UUID = re.compile(
    r"([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})", re.IGNORECASE
)
# Keywords of JSON Schema with schemas by name: of the same value, or of one that a reference leads to
DEFINITIONS = frozenset({"$defs", "definitions"})
BY_NAME = DEFINITIONS | {"properties", "patternProperties", "dependentSchemas"}
OF_THE_REST = frozenset({"additionalProperties", "unevaluatedProperties"})
COMPARED = frozenset({"const", "enum", "pattern"})
Ways = Sequence[Sequence[str]]  # to ids, from a value on; the empty one where the value is an id


class Ids:
    """The arguments of one call in the form that its service compares ids in, and what rules say of ids in that form.

    `names`: of arguments that hold ids, as `repo` or `parent.page_id`.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.ways = [tuple(name.replace("[]", "").split(".")) for name in names]
        self.known: dict[str, str] = {}  # each id that was met, and its form
        self.given = set[str]()  # the arguments that were met
        # Each of these that was met, with what it became: forms of a call share those that differ in nothing.
        self.folded: dict[tuple[str, bool, str | int], tuple[Json, Json, bool]] = {}

    def form(self, args: Json, bare: bool = False) -> Json:
        """The arguments with their ids in one form for all that the service takes for the same, `bare`: UUIDs without
        dashes; None where they have none. Some servers take an object as JSON in a text, too."""
        if not self.ways or not isinstance(args, Mapping):
            return None
        names = dict.fromkeys(way[0] for way in self.ways if way[0] in args)
        met = {name: self._fold(name, args[name], bare) for name in names}
        self.given.update(met)
        if not any(has_ids for _, has_ids in met.values()):
            return None
        return {**args, **{name: folded for name, (folded, _) in met.items()}}

    def _fold(self, name: str, value: Json, bare: bool) -> tuple[Json, bool]:
        """An argument with its ids in that form, and whether it has any."""
        key = name, bare, value if isinstance(value, str) else id(value)
        if key not in self.folded:
            made, met = opened(value), list[str]()

            def change(text: str) -> str:
                met.append(text)
                if text not in self.known:
                    self.known[text] = fold(text)
                return without_dashes(self.known[text]) if bare else self.known[text]

            for way in self.ways:
                if way[0] == name:
                    made = _mapped(made, way[1:], change)
            self.folded[key] = value, made, bool(met)
        return self.folded[key][1:]

    def found(self, patterns: Collection[str], others: Iterable[str]) -> set[str]:
        """Those of the patterns that are found, in whatever letters, in an id, with its dashes and without, or in
        one of `others`, the texts of the arguments, which may be a query that names some."""
        if not self.ways:
            return set()
        others = list(others)
        uuids = [one for text in others if 32 <= len(text) <= 50 and UUID.fullmatch(one := fold(text))]
        ids = {*self.known.values(), *uuids}
        return found_in_any_case(patterns, [*ids, *map(without_dashes, ids), *others])

    @property
    def has_uuids(self) -> bool:
        """Whether some id that was met is a UUID, which patterns may want without its dashes."""
        return any(map(UUID.fullmatch, self.known.values()))

    def schema(self, schema: Json) -> Json:
        """A schema that holds for the arguments that were met, in that form. What it says of anything else stays as it
        is."""
        return _folded(schema, self._met)

    def spares(self, schema: Json) -> bool:
        """Whether a schema may hold because an id that was met is not what it says."""
        return _spares(schema, self._met, False)

    def compares(self, schema: Json) -> bool:
        """Whether a schema may hold or not because of what an id that was met is."""
        return self.spares(schema) or _spares(schema, self._met, True)

    @property
    def _met(self) -> Ways:
        return [way for way in self.ways if way[0] in self.given]


def fold(text: str) -> str:
    """In lower case, without what draws nothing; a UUID with its dashes."""
    plain = " ".join(visible_text(text).split()).casefold()
    parts = UUID.fullmatch(plain)
    return "-".join(parts.groups()) if parts else plain


def without_dashes(text: str) -> str:
    """A folded id without the dashes of a UUID."""
    return text.replace("-", "") if UUID.fullmatch(text) else text


def _folded(schema: Json, ways: Ways) -> Json:
    """The schema of a value from which these ways lead to ids."""
    if not ways or not isinstance(schema, Mapping):
        return schema
    made = {key: _folded_keyword(key, value, ways) for key, value in schema.items() if key != "const"}
    if "const" in schema:
        made["allOf"] = [*made.get("allOf", ()), {"enum": _either([schema["const"]], ways)}]
    return made


def _folded_keyword(key: str, value: Json, ways: Ways) -> Json:
    if isinstance(value, Mapping):
        return _folded_schemas(key, value, ways)
    if key == "pattern":
        return in_any_case(value) if () in ways else value
    if isinstance(value, list):
        return _either(value, ways) if key == "enum" else [_folded(one, ways) for one in value]
    return value


def _folded_schemas(key: str, value: Mapping[str, Json], ways: Ways) -> Json:
    """What stands under a keyword: a schema, or several by name."""
    if key in BY_NAME:
        return {name: _folded(one, _from(key, name, ways)) for name, one in value.items()}
    return _folded(value, _from(key, "", ways))


def _from(key: str, name: str, ways: Ways) -> Ways:
    """The ways from the value that a schema is about which stands under a keyword, and there under a name."""
    if key == "properties":
        return _within(ways, name.__eq__)
    if key == "patternProperties":
        return _within(ways, re.compile(name).search)
    if key in DEFINITIONS:  # of which nobody knows here what they are used for
        return list(dict.fromkeys(way[at:] for way in ways for at in range(len(way) + 1)))
    return _within(ways, bool) if key in OF_THE_REST else ways


def _spares(schema: Json, ways: Ways, negated: bool) -> bool:
    """Whether a schema of a value from which these ways lead to ids compares one within a `not`; a reference may."""
    if not ways or not isinstance(schema, Mapping):
        return False
    return any(_spares_under(key, one, ways, negated is not (key == "not")) for key, one in schema.items())


def _spares_under(key: str, value: Json, ways: Ways, negated: bool) -> bool:
    if key == "$ref" or (() in ways and key in COMPARED):
        return negated
    if isinstance(value, list):
        return any(_spares(one, ways, negated) for one in value)
    if isinstance(value, Mapping) and key in BY_NAME:
        return any(_spares(one, _from(key, name, ways), negated) for name, one in value.items())
    return _spares(value, _from(key, "", ways), negated)


def _within(ways: Ways, leads: Callable[[str], object]) -> Ways:
    return [way[1:] for way in ways if way and leads(way[0])]


def _either(values: Sequence[Json], ways: Ways) -> list[Json]:
    """These values, and those of them that are another in the forms of ids in these forms."""
    made = list(values)
    for value in values:
        same = value
        for way in ways:
            same = _mapped(same, way, fold)
        bare = same
        for way in ways:
            bare = _mapped(bare, way, without_dashes)
        made += [one for one in (same, bare) if one not in made]
    return made


def opened(value: Json) -> Json:
    """What a text of JSON says that has more in it, also where that is a text of JSON again."""
    inside = value
    for _ in range(DEEPEST_JSON):
        if not isinstance(inside, str) or not (bare := inside.strip(BLANKS)).startswith(BEGINS):
            break
        try:
            inside = json.loads(bare, parse_int=whole_number, strict=False)
        except (ValueError, RecursionError):
            break
    return inside if isinstance(inside, (list, dict)) else value


def _mapped(value: Json, steps: Sequence[str], change: Callable[[str], str]) -> Json:
    """The value with the texts at this place changed, in lists those of each item."""
    if isinstance(value, list):
        return [_mapped(one, steps, change) for one in value]
    if not steps:
        return change(value) if isinstance(value, str) else value
    if isinstance(value, Mapping) and steps[0] in value:
        return {**value, steps[0]: _mapped(value[steps[0]], steps[1:], change)}
    return value


def ids_in_lists(names: Sequence[str], args: Json) -> Iterator[Json]:
    """The arguments with each entry in the place of a list of ids in one text, such as `OPS-1, HR-2`: servers leave out
    what is empty in it. Of more than are looked at, the first."""
    if isinstance(args, Mapping):
        each = ({**args, name: entry} for name in names for entry in _entries(args.get(name)))
        yield from islice(each, MOST_NAMES)


def too_many_ids(names: Sequence[str], args: Json) -> bool:
    """Whether lists of ids in one text have more of them together than are looked at."""
    return isinstance(args, Mapping) and sum(len(_entries(args.get(name))) for name in names) > MOST_NAMES


def _entries(value: Json) -> list[str]:
    if not isinstance(value, str) or not LISTED.search(value) or is_json(value):
        return []
    return list(dict.fromkeys(filter(None, map(str.strip, LISTED.split(value)))))
