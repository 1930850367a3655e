"""Configuration files: strict YAML, validated by pydantic models; every mistake is a sentence with file and line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import isfinite
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, PlainValidator, ValidationError
from yaml.nodes import ScalarNode

from gate.rules.action import Json

Place = tuple[str | int, ...]  # ("servers", "files", "trust"); () is the root
Value = TypeVar("Value")
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
TAG = "tag:yaml.org,2002:"
TEXT, NULL = TAG + "str", TAG + "null"
SCALARS = {TAG + kind: f"construct_yaml_{kind}" for kind in ("int", "float", "bool")}
CONTAINERS = (None, "!", TAG + "map", TAG + "seq")
MAX_DEPTH = 100  # levels of nesting, which pydantic, json and the stack can take
NOT_A_MAPPING = "must be a mapping of `key: value` lines"
ERROR_TEXTS = {
    "model_type": NOT_A_MAPPING,
    "dict_type": NOT_A_MAPPING,
    "tuple_type": "must be a list",
    "frozen_set_type": "must be a list",
    "bool_type": "must be true or false",
}


class ConfigError(Exception):
    """The mistakes in a configuration, one sentence each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


NO_TOKEN = "cannot start any token"
TAB = "a tab cannot indent a line: use blanks"


class Wrong(ValueError):
    """Raised by a validator of several values: each problem with its place below the validated value."""

    def __init__(self, *problems: tuple[Place, str]) -> None:
        super().__init__("; ".join(sentence for _, sentence in problems))
        self.problems = problems


class Section(BaseModel):
    """A mapping in a configuration file: unknown keys are refused and no value is converted to another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


SectionT = TypeVar("SectionT", bound=Section)


def _not_null(value: Value | None) -> Value | None:
    if value is None:
        raise ValueError("has no value: write one or remove the key")
    return value


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must be text")
    return text


Maybe = Annotated[Value | None, AfterValidator(_not_null)]  # may be left out; null is refused
Text = Annotated[str, AfterValidator(_not_blank)]


def within(minimum: float, maximum: float, *, whole: bool = False) -> PlainValidator:
    """Accepts a number from `least` to `most`, as it is written."""

    def check(value: Any) -> float:
        is_number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not is_number or not minimum <= value <= maximum:
            raise ValueError(f"must be a {'whole ' if whole else ''}number from {minimum} to {maximum}")
        return value  # type: ignore[no-any-return]

    return PlainValidator(check)


def one_of(known: Iterable[str]) -> AfterValidator:
    """Accepts one of the known words."""
    words = tuple(known)
    return fitting(words.__contains__, f"must be one of {', '.join(words)}")


def fitting(is_valid: Callable[[Any], object], sentence: str) -> AfterValidator:
    """Accepts a value for which `is_valid` is true; `sentence` says what any other value must be."""

    def check(value: Any) -> Any:
        if not is_valid(value):
            raise ValueError(sentence)
        return value

    return AfterValidator(check)


@dataclass(frozen=True)
class Document:
    """The values of one file, their lines, and the problems of its YAML."""

    name: str
    data: Json = None  # None: the file is empty
    lines: Mapping[int, Mapping[str | int, int]] = field(default_factory=dict)  # by id() of mapping or list
    yaml_problems: Mapping[Place, tuple[int, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Document:
        """The file at `path`. Raises ConfigError where it cannot be read or is not YAML."""
        try:
            return cls.parse(path.name, path.read_text("utf-8"))
        except OSError as error:
            raise ConfigError([f"{path} cannot be read: {error.strerror}."]) from None
        except UnicodeDecodeError:
            raise ConfigError([f"{path} is not UTF-8: save it as UTF-8."]) from None

    @classmethod
    def parse(cls, name: str, text: str) -> Document:
        """The text of a file called `name`. Raises ConfigError where it is not YAML."""
        try:
            parser = _Parser(text)
            return cls(name, parser.document(), parser.lines, parser.yaml_problems)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            last = len(text.splitlines())  # libyaml reports the end of the text as one line later
            where = f"{name}, line {min(mark.line + 1, last)}" if mark else name
            reason = getattr(error, "problem", None) or "it holds characters that YAML does not allow"
            first = text.splitlines()[mark.line][mark.column :][:1] if mark and mark.line < last else ""
            if NO_TOKEN in reason and first:
                reason = TAB if first == "\t" else f"no value begins with “{first}”: put it into quotes"
            raise ConfigError([f"{where}: {reason}."]) from None

    def validated(
        self, section: type[SectionT], context: Mapping[str, Any] | None = None, at: Place = ()
    ) -> SectionT:
        """The file, or the value `at` a place in it, as a section; an empty file is an empty mapping.

        `context` is passed to the validators. Raises ConfigError with all problems.
        """
        validated: SectionT | None = None
        problems: list[tuple[Place, str]] = []
        data: Any = {} if self.data is None else self.data
        for part in at:
            data = data[part]
        try:
            validated = _validate(section, data, context)
        except ValidationError as error:
            problems = [((*at, *place), sentence) for place, sentence in _problems(error, section, data)]
        if validated is None or self.yaml_problems:
            raise self.error(problems)
        return validated

    def error(self, problems: Iterable[tuple[Place, str]]) -> ConfigError:
        """The problems in the order of their lines, with those of the YAML; each place is reported once."""
        problem_lines = [
            (self.line(place), _problem_text(place, sentence))
            for place, sentence in problems
            if place not in self.yaml_problems
        ]
        problem_lines += [
            (line, _problem_text(place, sentence)) for place, (line, sentence) in self.yaml_problems.items()
        ]
        return ConfigError(
            f"{self.name}, line {line}: {text}." for line, text in sorted(problem_lines, key=itemgetter(0))
        )

    def line(self, place: Place) -> int:
        """The line of a value: of its key where it has one. For a missing value, the line of the nearest existing
        one."""
        line, value = 1, self.data
        for part in _existing_parts(place, value):
            line = self.lines[id(value)][part]
            value = value[part]
        return line


def validate(section: type[SectionT], data: Json) -> SectionT:
    """Values that come from no file, as a section. Raises ConfigError, whose sentences have no full stop."""
    try:
        return _validate(section, data, None)
    except ValidationError as error:
        found = _problems(error, section, data)
        raise ConfigError(_problem_text(place, what, "it") for place, what in found) from None


def _validate(section: type[SectionT], data: Json, context: Mapping[str, Any] | None) -> SectionT:
    """Validates as JSON: a list is accepted as a tuple and a word as an enumeration; nothing else is converted."""
    return section.model_validate_json(json.dumps(data), context=dict(context or {}))


def _problem_text(place: Place, sentence: str, document: str = "the file") -> str:
    subject = f"“{shown(place)}”" if place else document
    return f"{subject} {sentence.rstrip('.?')}"


def shown(place: Place) -> str:
    """`("servers", "a", "args", 0)` as `servers.a.args[0]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


def _problems(error: ValidationError, section: type[Section], data: Json) -> Iterator[tuple[Place, str]]:
    for one in error.errors(include_url=False):
        place, kind = one["loc"], one["type"]
        cause = one.get("ctx", {}).get("error")
        if kind == "missing":
            yield place[:-1], f"needs `{place[-1]}`"
        elif kind == "extra_forbidden":
            yield place, f"is not known{_suggestion(str(place[-1]), _keys(section, place[:-1]))}"
        elif isinstance(cause, Wrong):
            yield from (((*place, *below), what) for below, what in cause.problems)
        else:
            yield tuple(_existing_parts(place, data)), _error_text(one, cause)


def _error_text(error: Mapping[str, Any], cause: object) -> str:
    kind = error["type"]
    if kind == "string_type":
        return "must be text" + ("" if isinstance(error["input"], list | dict) else ": put it into quotes")
    if kind in ("enum", "literal_error"):
        return f"must be one of {error['ctx']['expected'].replace(' or ', ', ')}".replace("'", "")
    return ERROR_TEXTS.get(kind) or str(cause or error["msg"])


def _existing_parts(place: Place, data: Json) -> Iterator[str | int]:
    """The parts of a place that exist in the data; pydantic also names the type that it looked for."""
    for part in place:
        if isinstance(data, dict) and part in data:
            data = data[str(part)]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return
        yield part


def _keys(section: type[Section], place: Place) -> list[str]:
    """The known keys of the mapping at `place`."""
    sections = [section]
    for part in place:
        fields = {field.alias or name: field for one in sections for name, field in one.model_fields.items()}
        if part in fields:  # else it is an entry of a mapping or a list, whose section is already found
            sections = list(_sections(fields[str(part)].annotation))
    return sorted(field.alias or name for one in sections for name, field in one.model_fields.items())


def _sections(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for part in get_args(annotation):
        yield from _sections(part)


def _suggestion(key: str, known: Iterable[str]) -> str:
    close = get_close_matches(key, known, 1)
    return f"; did you mean “{close[0]}”?" if close else f"; known are {', '.join(known)}"


class _Parser:
    """Parses one YAML document into JSON values, with libyaml where it is available. Refuses aliases and deep
    nesting."""

    def __init__(self, text: str) -> None:
        self._events = LOADER(text)
        self.lines: dict[int, dict[str | int, int]] = {}
        self.yaml_problems: dict[Place, tuple[int, str]] = {}

    def document(self) -> Json:
        self._events.get_event()  # the start of the stream
        if self._events.check_event(yaml.StreamEndEvent):
            return None
        self._events.get_event()  # of the document
        data = self._value(())
        self._events.get_event()
        if not self._events.check_event(yaml.StreamEndEvent):
            raise self._yaml_error("only one document can be in a file")
        return data

    def _yaml_error(self, reason: str) -> yaml.YAMLError:
        return yaml.MarkedYAMLError(problem=reason, problem_mark=self._events.peek_event().start_mark)

    def _line(self) -> int:
        return int(self._events.peek_event().start_mark.line) + 1

    def _value(self, place: Place) -> Json:
        if self._events.check_event(yaml.AliasEvent):
            raise self._yaml_error("aliases (*name) are not used here: write it out")
        if len(place) > MAX_DEPTH:
            raise self._yaml_error("it is nested too deep")
        event = self._events.get_event()
        line = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, place, line)
        if event.tag not in CONTAINERS:
            self._add_problem(place, line, "has a tag that is not known: remove it")
        return self._mapping(place) if isinstance(event, yaml.MappingStartEvent) else self._list(place)

    def _add_problem(self, place: Place, line: int, sentence: str) -> None:
        self.yaml_problems.setdefault(place, (line, sentence))

    def _list(self, place: Place) -> Json:
        values: list[Json] = []
        lines = self.lines[id(values)] = {}
        while not self._events.check_event(yaml.SequenceEndEvent):
            lines[len(values)] = self._line()
            values.append(self._value((*place, len(values))))
        self._events.get_event()
        return values

    def _mapping(self, place: Place) -> Json:
        values: dict[str, Json] = {}
        lines = self.lines[id(values)] = {}
        while not self._events.check_event(yaml.MappingEndEvent):
            line = self._line()
            key = self._key(place, line)
            value = self._value((*place, key or ""))
            if key in values:
                self._add_problem((*place, key), line, "stands there twice: remove one")
            elif key is not None:
                values[key], lines[key] = value, line
        self._events.get_event()
        return values

    def _key(self, place: Place, line: int) -> str | None:
        """The text of a key; None, and a problem, for a key that is not text."""
        if self._events.check_event(yaml.ScalarEvent):
            event = self._events.get_event()
            if self._tag(event) == TEXT:
                return str(event.value)
        else:
            self._value((*place, ""))
        self._add_problem(place, line, "has a key that is no text: put it into quotes")
        return None

    def _tag(self, event: Any) -> str:
        if event.tag in (None, "!"):
            return str(self._events.resolve(ScalarNode, event.value, event.implicit))
        return str(event.tag)

    def _scalar(self, event: Any, place: Place, line: int) -> Json:
        tag = self._tag(event)
        if tag == TEXT:
            return str(event.value)
        if tag == NULL:
            return None
        try:
            value: Json = getattr(self._events, SCALARS[tag])(ScalarNode(tag, event.value))
        except (KeyError, ValueError, OverflowError):  # a date, perhaps
            value = None
        if ":" in event.value:  # YAML 1.1 takes 1:30 for 90
            value = None
        if value is None or (isinstance(value, float) and not isfinite(value)):
            self._add_problem(place, line, "must be text, a number, true, false or null: put it into quotes")
            return None
        return value
