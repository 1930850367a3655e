"""Names that a service takes to be the same: whatever their case, and a UUID with or without its dashes.

GitHub takes `Acme/Payroll` and `acme/payroll` for one repository, Jira `pay-1` for `PAY-1`; Notion's ids are UUIDs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gate.arguments.json_texts import BEGINS, DEEPEST_JSON, whole_number
from gate.arguments.text_forms import visible_text
from gate.rules.action import Json

UUID = re.compile(
    r"([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})", re.IGNORECASE
)
FLAGS = re.compile(r"\(\?[a-zA-Z]+\)")  # of a whole pattern, which begins with them
LONGEST_OTHER = 200  # characters of a text in no argument with ids that is searched in upper case, too
# Keywords of JSON Schema with schemas by name: of the same value, or of one that a reference leads to
OF_THE_SAME, DEFINITIONS = frozenset({"dependentSchemas"}), frozenset({"$defs", "definitions"})
OF_THE_REST = frozenset({"additionalProperties", "unevaluatedProperties"})
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
        self.folded: dict[tuple[str, str | int], tuple[Json, Json, bool]] = {}

    def form(self, args: Json) -> Json:
        """The arguments with their ids in one form for all that the service takes for the same; None where they have
        none. Some servers take an object as JSON in a text, too."""
        if not self.ways or not isinstance(args, Mapping):
            return None
        met = {
            name: self._fold(name, args[name]) for name in {way[0]: None for way in self.ways} if name in args
        }
        self.given.update(met)
        return (
            {**args, **{name: one for name, (one, _) in met.items()}}
            if any(has for _, has in met.values())
            else None
        )

    def _fold(self, name: str, value: Json) -> tuple[Json, bool]:
        """An argument with its ids in that form, and whether it has any."""
        key = name, value if isinstance(value, str) else id(value)
        if key not in self.folded:
            made, met = _opened(value), list[str]()

            def change(text: str) -> str:
                met.append(text)
                if text not in self.known:
                    self.known[text] = fold(text)
                return self.known[text]

            for way in self.ways:
                if way[0] == name:
                    made = _mapped(made, way[1:], change)
            self.folded[key] = value, made, bool(met)
        return self.folded[key][1:]

    def texts(self, others: Iterable[str]) -> Iterator[str]:
        """What patterns are searched in besides `others`, the texts of the arguments: ids in either case, and UUIDs and
        short texts wherever they stand."""
        for text in self.known.values():
            yield from (text, text.upper())
        for text in others if self.ways else ():
            if len(text) <= LONGEST_OTHER:
                yield text.upper()
            if 32 <= len(text) <= 50 and UUID.fullmatch(text.strip()):
                bare = fold(text).replace("-", "")
                yield from (fold(text), bare, fold(text).upper(), bare.upper())

    def schema(self, schema: Json) -> Json:
        """A schema that holds for the arguments that were met, in that form. What it says of anything else stays as it
        is."""
        return _folded(schema, [way for way in self.ways if way[0] in self.given])


def fold(text: str) -> str:
    """In lower case, without what draws nothing; a UUID with its dashes."""
    plain = " ".join(visible_text(text).split()).casefold()
    parts = UUID.fullmatch(plain)
    return "-".join(parts.groups()) if parts else plain


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
        return _in_any_case(value) if () in ways else value
    if isinstance(value, list):
        return _either(value, ways) if key == "enum" else [_folded(one, ways) for one in value]
    return value


def _folded_schemas(key: str, value: Mapping[str, Json], ways: Ways) -> Json:
    """What stands under a keyword: a schema, or several by name."""
    if key == "properties":
        return {name: _folded(one, _within(ways, name.__eq__)) for name, one in value.items()}
    if key == "patternProperties":
        return {name: _folded(one, _within(ways, re.compile(name).search)) for name, one in value.items()}
    if key in OF_THE_SAME:
        return {name: _folded(one, ways) for name, one in value.items()}
    if key in DEFINITIONS:  # of which nobody knows here what they are used for
        anywhere = list(dict.fromkeys(way[at:] for way in ways for at in range(len(way) + 1)))
        return {name: _folded(one, anywhere) for name, one in value.items()}
    return _folded(value, _within(ways, bool) if key in OF_THE_REST else ways)


def _within(ways: Ways, leads: Callable[[str], object]) -> Ways:
    return [way[1:] for way in ways if way and leads(way[0])]


def _either(values: Sequence[Json], ways: Ways) -> list[Json]:
    """These values, and those of them that are another in the form of ids in that form."""
    made = list(values)
    for value in values:
        same = value
        for way in ways:
            same = _mapped(same, way, fold)
        made += [] if same in made else [same]
    return made


def _in_any_case(pattern: str) -> str:
    flags = FLAGS.match(pattern)
    if flags is None:
        return f"(?i:{pattern})"
    return f"{flags[0][:-1]}i){pattern[flags.end() :]}"


def _opened(value: Json) -> Json:
    """What a text of JSON says that has more in it, also where that is a text of JSON again."""
    inside = value
    for _ in range(DEEPEST_JSON):
        if not isinstance(inside, str) or not inside.lstrip().startswith(BEGINS):
            break
        try:
            inside = json.loads(inside, parse_int=whole_number)
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
