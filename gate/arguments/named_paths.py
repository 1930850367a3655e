"""Paths that no argument holds, which a read reports or has found, as arguments that a schema can be held against."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gate.arguments.declared_targets import Targets
from gate.arguments.pattern_search import searching
from gate.arguments.target_forms import forms_below
from gate.arguments.target_texts import steps_to, touched
from gate.rules.action import Json
from gate.rules.tool import ToolSpec

PATH = "path"
# Keywords about lists, and those below which schemas stand by a name
OF_LISTS = frozenset(
    "items prefixItems additionalItems unevaluatedItems contains minContains maxContains minItems maxItems "
    "uniqueItems".split()
)
BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
NEGATIONS = frozenset({"not", "if", "else", "oneOf"})
# Keywords by which a schema is about arguments that it does not name
OF_ANY = frozenset(
    "patternProperties additionalProperties unevaluatedProperties propertyNames minProperties maxProperties".split()
)
ABSOLUTE = re.compile(r"(\^|\\A|\(\?:|\(|\\){0,9}/")  # how a pattern of absolute paths begins
NAME = re.compile(r"[\w. -]+")  # the first one in a pattern, or a text


def names_of_paths(spec: ToolSpec) -> tuple[str, ...]:
    """The arguments by which a tool is told what it touches, as `path` and `call.path`; `sources[]` where it takes a
    list alone."""
    targets = spec.recipe.targets or Targets()
    names = (*targets.paths, *targets.looks, *targets.addresses)
    return tuple(dict.fromkeys(name + "[]" * _is_list(spec.schema, name) for name in names))


def names_of_others(spec: ToolSpec, specs: Sequence[ToolSpec]) -> tuple[str, ...]:
    """The arguments by which other tools of its server are told what they touch."""
    return tuple(
        dict.fromkeys(name for one in specs if one.server == spec.server for name in names_of_paths(one))
    )


def _is_list(schema: Mapping[str, Json], name: str) -> bool:
    properties = schema.get("properties")
    said = properties.get(name) if isinstance(properties, Mapping) else None
    return isinstance(said, Mapping) and said.get("type") == "array"


def as_arguments(spec: ToolSpec, given: Sequence[Json], paths: Sequence[str]) -> Iterator[Json]:
    """The arguments, in each form of them, with each of the paths in the place of each that names what the tool
    touches, and of all of these. A tool that has none is given those of its server's other tools. No file stands in the
    place of what files lie in: rules about that are held against holders."""
    targets = spec.recipe.targets or Targets()
    names = names_of_paths(spec) or targets.elsewhere
    names = tuple(name for name in names if not targets.are_folders or name not in targets.inside)
    for args in given:
        if isinstance(args, Mapping):
            yield from with_paths(args, names, paths)


def paths_among(targets: Targets | None, given: Sequence[Json]) -> tuple[str, ...]:
    """The paths among the arguments that a tool declares, in every form that rules are held against."""
    if targets is None:
        return ()
    named = replace(targets, resolved_to=())
    texts = dict.fromkeys(
        path for args in given if isinstance(args, Mapping) for path in touched(named, args)
    )
    return tuple(dict.fromkeys(form for text in texts for form in (text, *forms_below(targets, text))))


def as_plain_path(spec: ToolSpec, given: Sequence[Json], paths: Sequence[str]) -> Iterator[Json]:
    """The arguments with each of the paths as their one `path`, which most tools call it: a rule about that is about
    `source`, `first` and each of a list of paths as well."""
    alone = names_of_paths(spec) == (PATH,)
    for args in given:
        if isinstance(args, Mapping) and not (alone and isinstance(args.get(PATH), str)):
            yield from ({**args, PATH: path} for path in paths)


def with_paths(args: Mapping[str, Json], names: Sequence[str], paths: Sequence[str]) -> Iterator[Json]:
    """The arguments with each path under each of these names, and under all of them."""
    together = [names] if len(names) > 1 else []
    for path in paths:
        for some in (*([name] for name in names), *together):
            given: Json = args
            for name in some:
                given = with_path(given, steps_to(name), path)
            yield given


def with_path(value: Json, steps: Sequence[str], path: str) -> Json:
    """The value with a path at the end of these steps, in place of what is there."""
    if not steps:
        return [path] if isinstance(value, list) else path
    if steps[0] == "[]":
        items = value if isinstance(value, list) and value else [None]
        return [with_path(item, steps[1:], path) for item in items]
    inside = value if isinstance(value, Mapping) else {}
    return {**inside, steps[0]: with_path(inside.get(steps[0]), steps[1:], path)}


class TextsApart:
    """Tells texts apart by what a schema and patterns can see of them. To hold a schema against arguments takes up to
    0.2 ms, and a folder may hold thousands of files; each text is looked at once."""

    def __init__(
        self, schema: Json, patterns: Sequence[str], known: dict[str, Hashable] | None = None
    ) -> None:
        """`known`: the kinds of texts that are known already, to which others are added."""
        self.schema = schema
        self.of_texts = about_lists_as_lists(schema)
        self._kind = kind_of(schema, patterns)
        self._known: dict[str, Hashable] = {} if known is None else known

    def firsts(self, texts: Iterable[str]) -> list[str]:
        """The first of the texts of each kind."""
        firsts: dict[Hashable, str] = {}
        for text in texts:
            kind = self._known.get(text)
            if kind is None:
                kind = self._known[text] = self._kind(text)
            firsts.setdefault(kind, text)
        return [*firsts.values()]


def about_lists_as_lists(schema: Json) -> Json:
    """The schema, where what it says of lists (`minItems`) does not hold for a text, which is none, unless it spares
    something by that: so that texts in the place of lists are held against what it says of texts alone."""
    if isinstance(schema, list):
        return [about_lists_as_lists(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {key: _lists_as_lists(key, value) for key, value in schema.items()}
    return made if "type" in made or OF_LISTS.isdisjoint(made) else {**made, "type": "array"}


def _lists_as_lists(key: str, value: Json) -> Json:
    if key in BY_NAME and isinstance(value, Mapping):
        return {name: about_lists_as_lists(one) for name, one in value.items()}
    return value if key in NEGATIONS or key in ("const", "enum", "default") else about_lists_as_lists(value)


def told_apart(schema: Json, patterns: Sequence[str], texts: Iterable[str]) -> list[str]:
    """The first of the texts of each kind that a schema and patterns tell apart."""
    return TextsApart(schema, patterns).firsts(texts)


def kind_of(schema: Json, patterns: Sequence[str]) -> Callable[[str], Hashable]:
    """What a schema and patterns can see of a text: they hold of both or of neither of two for which it is the same."""
    said = [*_said(schema)]
    if any(key == "uniqueItems" for key, _ in said):  # which compares texts with one another
        return str
    of_values = [value for key, value in said if key == "pattern" and isinstance(value, str)]
    of_names = [
        name
        for key, value in said
        if key == "patternProperties" and isinstance(value, Mapping)
        for name in value
    ]
    searches = [searching(pattern) for pattern in dict.fromkeys((*patterns, *of_values, *of_names))]
    words = frozenset(one for pair in said for one in pair if isinstance(one, str))
    lengths = [
        value for key, value in said if key in ("minLength", "maxLength") and isinstance(value, int | float)
    ]

    def kind(text: str) -> Hashable:
        return (
            text if text in words else None,
            *(bool(search(text)) for search in searches),
            *((len(text) > length) - (len(text) < length) for length in lengths),
        )

    return kind


def says_nothing_of(schema: Json, arguments: Collection[str]) -> bool:
    """Whether a schema nowhere has the name of one of these arguments."""
    return not any(one in arguments for pair in _said(schema) for one in pair if isinstance(one, str))


def spares_places(schema: Json, roots: Collection[str] = (), negated: bool = False) -> bool:
    """Whether it is about whatever does not lie below some absolute path, or some path that begins with the name of one
    of these folders."""
    if isinstance(schema, Mapping):
        return any(spares_places(value, roots, negated or key in NEGATIONS) for key, value in schema.items())
    if isinstance(schema, (list, tuple)):
        return any(spares_places(value, roots, negated) for value in schema)
    if not negated or not isinstance(schema, str):
        return False
    return ABSOLUTE.match(schema) is not None or _first_name(schema) in roots


def _first_name(pattern: str) -> str:
    """The name that a path, or a pattern of paths, begins with."""
    found = NAME.search(pattern.removeprefix("\\A").replace("\\", ""))
    return found[0] if found else ""


def may_say(schema: Json, names: Collection[str]) -> bool:
    """Whether a schema says something of one of these arguments, or of any whatever its name is."""
    return any(
        key in names or key in OF_ANY or (not key and isinstance(value, str) and value in names)
        for key, value in _said(schema)
    )


def keys_of(schema: Json) -> frozenset[str]:
    """The names that stand in a schema: its keywords, and those of the arguments that it is about."""
    return frozenset(key for key, _ in _said(schema))


def asks_for_list(schema: Json) -> bool:
    """Whether a schema may hold because a value is a list, and for no text."""
    return any(key == "type" and value == "array" for key, value in _said(schema))


def _said(value: Json, key: str = "") -> Iterator[tuple[str, Json]]:
    """Every value in a schema, at any depth, with its key; in a list with none."""
    yield key, value
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _said(inner, name)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _said(inner)
