"""Recipes, read strictly: from a mapping to what the gate knows of a tool, or sentences about what is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from gate.action import Class, Json, Risk
from gate.template import PLACEHOLDER
from gate.tool import Drift, Each, Expect, Raise, Read, Recipe, Show, Undo
from tools.patterns import always_checkable
from tools.schema import flaw
from tools.yaml_file import NotYaml, read_yaml

KEYS = set(
    "class risk raise_if confirmationRequired summary verb noun capture bind preview recoverable keeps_days notifies "
    "idempotent undo drift expect".split()
)
TESTS = ("equals", "contains", "matches", "least", "most")  # of `expect`
AGAINST = ("doubtful", "failed")  # what is said of a result that is not as expected
FLAGS = ("partial", "draft")
LONGEST = 256 * 1024  # characters of an answer, which is longer than arguments may be
Kind = TypeVar("Kind", Class, Risk)
SHOWS = {"fields": set[str](), "diff": {"before", "after", "path"}, "text": {"after"}, "affected": {"items"}}


class BadRecipe(Exception):
    """What is wrong with a recipe, in sentences without a subject: the caller says which tool."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class RecipeFile:
    """Recipes for one server that this project did not write. `server`: what it calls itself, as a pattern.

    `partial`: its settings choose what it offers, so not every tool need be there. A `draft` is not used.
    """

    server: str
    tools: Mapping[str, Json]
    partial: bool = False
    draft: bool = False


RecipeFiles = Mapping[str, RecipeFile]


def load_recipes(folder: Path) -> RecipeFiles:
    """Every `*.yaml` in the folder, by its name without the ending. Raises BadRecipe naming the file."""
    return {path.stem: _load(path) for path in sorted(folder.glob("*.yaml"))}


def _load(path: Path) -> RecipeFile:
    try:
        data = read_yaml(path)
    except NotYaml as error:
        raise BadRecipe([f"{path.name} is not YAML: {' '.join(str(error).split())}"]) from error
    if not isinstance(data, dict) or not {"server", "tools"} <= data.keys() <= {"server", "tools", *FLAGS}:
        raise BadRecipe(
            [
                f"{path.name} must have exactly the keys `server` and `tools`, and may have `partial` and `draft`"
            ]
        )
    flags = {flag: data.get(flag, False) for flag in FLAGS}
    if not all(isinstance(value, bool) for value in flags.values()):
        raise BadRecipe([f"{path.name}: {' and '.join(FLAGS)} are true or false"])
    if not isinstance(data["server"], str) or not isinstance(data["tools"], dict):
        raise BadRecipe([f"{path.name}: `server` must be text and `tools` a mapping"])
    return RecipeFile(data["server"], data["tools"], **flags)


def read_recipe(data: Json) -> Recipe:
    """One recipe. Raises BadRecipe with everything that is wrong in its form; names are checked by `check`."""
    return _Reader(data).read()


class _Reader:
    """Reads one recipe; mistakes are gathered and the reading goes on."""

    def __init__(self, data: Json) -> None:
        self.problems: list[str] = []
        self.data = self._object(data, "the recipe", KEYS)

    def read(self) -> Recipe:
        cls = self._one_of("class", Class)
        recipe = Recipe(
            cls=cls,
            risk=self._one_of("risk", Risk),
            raises=self._raises(),
            summary=self._text("summary"),
            verb=self._text("verb"),
            noun=self._text("noun"),
            capture=self._captures(),
            bind=self._texts(self.data.get("bind", {}), "bind"),
            show=self._show(),
            recoverable=self._text("recoverable"),
            keeps_days=self._days(),
            notifies=self._text("notifies"),
            idempotent=self._flag("idempotent"),
            undo=self._undos(),
            drift=self._drift(),
            expect=self._expects(),
        )
        if "confirmationRequired" in self.data and self._flag("confirmationRequired") is (cls is Class.READ):
            self.problems.append(f"`confirmationRequired` contradicts the class {cls}")
        if self.problems:
            raise BadRecipe(self.problems)
        return recipe

    def _object(
        self, data: Json, where: str, keys: set[str], needed: set[str] | None = None
    ) -> dict[str, Json]:
        if not isinstance(data, dict):
            self.problems.append(f"{where} must be a mapping")
            return {}
        for key in data.keys() - keys:
            self.problems.append(f"{where} has an unknown key `{key}`")
        for key in (needed or set()) - data.keys():
            self.problems.append(f"{where} lacks the key `{key}`")
        return data

    def _one_of(self, key: str, kind: type[Kind]) -> Kind | None:
        value = self.data.get(key)
        if value is None:
            return None
        allowed = [str(member) for member in kind]
        if value not in allowed:
            self.problems.append(f"`{key}` must be one of {', '.join(allowed)}")
            return None
        return kind(value)

    def _text(self, key: str) -> str:
        return self._string(self.data.get(key, ""), f"`{key}`")

    def _string(self, value: Json, where: str) -> str:
        if not isinstance(value, str):
            self.problems.append(f"{where} must be text")
            return ""
        return value

    def _texts(self, value: Json, where: str) -> dict[str, str]:
        return {
            k: self._string(v, f"`{where}.{k}`") for k, v in self._any_object(value, f"`{where}`").items()
        }

    def _any_object(self, value: Json, where: str) -> dict[str, Json]:
        return self._object(value, where, set(value) if isinstance(value, dict) else set())

    def _flag(self, key: str) -> bool:
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            self.problems.append(f"`{key}` must be true or false")
        return value is True

    def _days(self) -> int | None:
        value = self.data.get("keeps_days")
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            self.problems.append("`keeps_days` must be a number of days")
            return None
        return value

    def _read(self, data: Json, where: str) -> Read:
        entry = self._object(data, where, {"tool", "args"}, {"tool"})
        tool = self._string(entry.get("tool", ""), f"{where}: `tool`")
        return Read(tool, self._any_object(entry.get("args", {}), f"{where}: `args`"))

    def _captures(self) -> dict[str, Read]:
        captures = self._any_object(self.data.get("capture", {}), "`capture`")
        return {str(name): self._capture(entry, f"`capture.{name}`") for name, entry in captures.items()}

    def _capture(self, data: Json, where: str) -> Read:
        entry = self._object(data, where, {"tool", "args", "absent", "each"}, {"tool"})
        read = self._read({k: v for k, v in entry.items() if k in ("tool", "args")}, where)
        absent = self._pattern(entry["absent"], f"{where}: `absent`") if "absent" in entry else ""
        return replace(
            read, absent=absent, each=self._each(entry["each"], where) if "each" in entry else None
        )

    def _each(self, data: Json, where: str) -> Each:
        keys = ("text", "find", "take")
        entry = self._object(data, f"{where}: `each`", set(keys), set(keys))
        text, find, take = (self._string(entry.get(key, ""), f"{where}: `each.{key}`") for key in keys)
        return Each(text, self._pattern(find, f"{where}: `each.find`"), take)

    def _pattern(self, data: Json, where: str) -> str:
        pattern = self._string(data, where)
        if not always_checkable(pattern, LONGEST):
            self.problems.append(f"{where} is no pattern that can be searched in bounded time: {pattern}")
            return ""
        return pattern

    def _raises(self) -> tuple[Raise, ...]:
        entries = self.data.get("raise_if", [])
        if not isinstance(entries, list):
            self.problems.append("`raise_if` must be a list")
            return ()
        return tuple(self._raise(entry, f"`raise_if[{i}]`") for i, entry in enumerate(entries))

    def _raise(self, data: Json, where: str) -> Raise:
        entry = self._object(data, where, {"class", "schema", "text"}, {"class"})
        if not entry.keys() & {"schema", "text"}:
            self.problems.append(f"{where} needs `schema` or `text`: when is the class raised?")
        cls = entry.get("class")
        if cls not in [str(one) for one in Class]:
            self.problems.append(f"{where}: `class` must be one of {', '.join(Class)}")
            cls = Class.UNKNOWN
        schema = self._object(entry["schema"], where, set(entry["schema"])) if "schema" in entry else None
        if schema is not None and (why := flaw(json.dumps(schema, sort_keys=True))):
            self.problems.append(f"{where}: {why}")
        text = self._pattern(entry["text"], f"{where}: `text`") if "text" in entry else ""
        return Raise(Class(str(cls)), schema, text)

    def _show(self) -> Show:
        entry = self._any_object(self.data.get("preview", {}), "`preview`")
        kind = entry.get("kind", "fields")
        if kind not in SHOWS:
            self.problems.append(f"`preview.kind` must be one of {', '.join(SHOWS)}")
            return Show()
        self._object(entry, "`preview`", {"kind", *SHOWS[kind]}, SHOWS[kind])
        return Show(kind, **{k: self._string(entry.get(k, ""), f"`preview.{k}`") for k in SHOWS[kind]})

    def _undos(self) -> tuple[Undo, ...]:
        entries = self.data.get("undo", [])
        if not isinstance(entries, list):
            self.problems.append("`undo` must be a list")
            return ()
        return tuple(self._undo(entry, f"`undo[{i}]`") for i, entry in enumerate(entries))

    def _undo(self, data: Json, where: str) -> Undo:
        words = ("when", "unless", "partly")
        entry = self._object(data, where, {"tool", "args", *words}, {"tool"})
        read = self._read({k: v for k, v in entry.items() if k in ("tool", "args")}, where)
        return Undo(
            read.tool, read.args, *(self._string(entry.get(key, ""), f"{where}: `{key}`") for key in words)
        )

    def _drift(self) -> Drift | None:
        if "drift" not in self.data:
            return None
        entry = self._object(self.data["drift"], "`drift`", {"tool", "args", "same"}, {"tool", "same"})
        read = self._read({k: v for k, v in entry.items() if k in ("tool", "args")}, "`drift`")
        return Drift(read, self._texts(entry.get("same", {}), "drift.same"))

    def _expects(self) -> tuple[Expect, ...]:
        entries = self.data.get("expect", [])
        if not isinstance(entries, list):
            self.problems.append("`expect` must be a list")
            return ()
        return tuple(self._expect(entry, f"`expect[{i}]`") for i, entry in enumerate(entries))

    def _expect(self, data: Json, where: str) -> Expect:
        entry = self._object(data, where, {"that", "verdict", "why", *TESTS}, {"that"})
        tests = {key: value for key, value in entry.items() if key in TESTS}
        if not tests:
            self.problems.append(f"{where} needs one of {', '.join(TESTS)}: what is good of it?")
        for key in ("least", "most"):
            if key in tests and (isinstance(tests[key], bool) or not isinstance(tests[key], int | float)):
                self.problems.append(f"{where}: `{key}` must be a number")
        if "matches" in tests:
            self._pattern(tests["matches"], f"{where}: `matches`")
        verdict = entry.get("verdict", AGAINST[0])
        if verdict not in AGAINST:
            self.problems.append(f"{where}: `verdict` must be {' or '.join(AGAINST)}")
        that, why = (self._string(entry.get(key, ""), f"{where}: `{key}`") for key in ("that", "why"))
        if "that" in entry and not PLACEHOLDER.fullmatch(that):
            self.problems.append(f"{where}: `that` must be one placeholder, such as {{result.status}}")
        return Expect(that, tests, str(verdict), why)
