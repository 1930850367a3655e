"""Does a recipe fit the tools it names? Every template and argument, against the schemas, when it is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gate.action import Class, Json
from gate.template import PLACEHOLDER, TemplateError, names
from gate.tool import Read, Recipe

ALWAYS = {"text", "error"}  # what every read gives, beside its structured fields


@dataclass(frozen=True, slots=True)
class Shape:
    """What a tool takes and promises."""

    takes: Mapping[str, Json]  # its input schema
    gives: Mapping[str, Json] | None  # its output schema


def misfits(recipe: Recipe, tool: str, shapes: Mapping[str, Shape]) -> list[str]:
    """Everything in the recipe that would fail at a click; `shapes` are the tools of the same server."""
    return [*_Fitting(recipe, shapes[tool], shapes).all()]


@dataclass(frozen=True, slots=True)
class _Fitting:
    recipe: Recipe
    shape: Shape
    shapes: Mapping[str, Shape]

    def all(self) -> Iterator[str]:
        recipe, show = self.recipe, self.recipe.show
        known: list[str] = []
        for name, read in recipe.capture.items():
            yield from self._call(f"capture.{name}", read.tool, read.args)
            yield from self._template(f"capture.{name}.args", read.args, known, bound=False)
            yield from self._each(f"capture.{name}.each", read, known)
            known.append(name)
        for key, template in recipe.bind.items():
            if key not in _properties(self.shape.takes):
                yield f"`bind.{key}` is no parameter of the tool"
            yield from self._template(f"bind.{key}", template, known, bound=False)
        before = {
            "summary": recipe.summary,
            "noun": recipe.noun,
            "recoverable": recipe.recoverable,
            "notifies": recipe.notifies,
            "preview.items": show.items,
            "preview.after": show.after,
            "preview.path": show.path,
            "preview.before": show.before,
        }
        for key, template in before.items():
            yield from self._template(key, template, known)
        yield from self._after(known)

    def _repeated(self) -> set[str]:
        """Where `{each}` is known."""
        return {f"capture.{name}.args" for name, read in self.recipe.capture.items() if read.each}

    def _each(self, where: str, read: Read, known: list[str]) -> Iterator[str]:
        if read.each is None:
            return
        yield from self._template(f"{where}.text", read.each.text, known, bound=False)
        gives = self.shapes[read.tool].gives if read.tool in self.shapes else None
        for path in sorted(_paths(read.each.take)):
            dotted = "{" + ".".join(path) + "}"
            if path[0] != "read":
                yield f"`{where}.take` names {dotted}: there is only {{read…}}, the answer"
            yield from _given(f"{where}.take", dotted, path[1:2], gives, read.tool)

    def _after(self, known: list[str]) -> Iterator[str]:
        """Undo, drift and what is expected, which also know the result."""
        for index, undo in enumerate(self.recipe.undo):
            yield from self._call(f"undo[{index}]", undo.tool, undo.args)
            yield from self._template(f"undo[{index}].args", undo.args, known, after=True)
            for condition in (undo.when, undo.unless):  # may name what is not there: then it does not hold
                yield from self._template(f"undo[{index}]", condition, known, after=True, sure=False)
        drift = self.recipe.drift
        if drift:
            yield from self._call("drift", drift.read.tool, drift.read.args)
            yield from self._template("drift.args", drift.read.args, known, after=True)
            gives = self.shapes[drift.read.tool].gives if drift.read.tool in self.shapes else None
            for field, template in drift.same.items():
                if gives is not None and field.split(".")[0] not in {*_properties(gives), *ALWAYS}:
                    yield f"`drift.same.{field}` is not in what {drift.read.tool} gives"
                yield from self._template(f"drift.same.{field}", template, known, after=True)

        for index, expect in enumerate(self.recipe.expect):
            for key, template in (("that", expect.that), *expect.tests.items()):
                if key != "matches":
                    yield from self._template(f"expect[{index}].{key}", template, known, after=True)

    def _call(self, where: str, tool: str, args: Mapping[str, Json]) -> Iterator[str]:
        """The other tool is there, takes these arguments, and gets all that it needs."""
        if tool not in self.shapes:
            yield f"`{where}` names the tool {tool}, which this server does not have"
            return
        takes = self.shapes[tool].takes
        for key in args.keys() - _properties(takes) if _properties(takes) else ():
            yield f"`{where}` gives {tool} an argument `{key}`, which it does not take"
        for key in _required(takes) - args.keys():
            yield f"`{where}` does not give {tool} the argument `{key}`, which it needs"

    def _template(
        self,
        where: str,
        template: Json,
        known: list[str],
        *,
        after: bool = False,
        bound: bool = True,
        sure: bool = True,
    ) -> Iterator[str]:
        try:
            paths = sorted(names(template))
        except TemplateError as error:
            yield f"`{where}`: {error}"
            return
        for text in _texts(template):
            if set("{}") & set(PLACEHOLDER.sub("", text)):
                yield f"`{where}` has a placeholder that cannot be read: {text}"
        for path in paths:
            dotted = "{" + ".".join(path) + "}"
            if path == ("each",) and where in self._repeated():
                continue
            if path == ("args",) and not bound:
                continue  # all that was asked for, as one object: a read of our own may preview the whole call
            if path[0] == "args" and len(path) > 1:
                yield from self._argument(where, dotted, path[1], bound, sure)
            elif path[0] == "capture" and len(path) > 1:
                yield from self._captured(where, dotted, path, known)
            elif path[0] == "result" and after:
                yield from _given(where, dotted, path[1:2], self.shape.gives, "the tool")
            else:
                yield f"`{where}` names {dotted}, which is not known there"

    def _argument(self, where: str, dotted: str, name: str, bound: bool, sure: bool) -> Iterator[str]:
        takes = self.shape.takes
        if _properties(takes) and name not in _properties(takes):
            yield f"`{where}` names {dotted}, which is no parameter of the tool"
        elif name in self.recipe.bind:
            if not bound:
                yield f"`{where}` names {dotted}, which is only bound after it"
        elif sure and self.recipe.cls is not Class.READ and name not in _required(takes):
            yield f"`{where}` names {dotted}, which may be left out of a call"

    def _captured(self, where: str, dotted: str, path: tuple[str, ...], known: list[str]) -> Iterator[str]:
        if path[1] not in known:
            yield f"`{where}` names {dotted}, but nothing is captured before it under that name"
            return
        tool = self.recipe.capture[path[1]].tool
        gives = self.shapes[tool].gives if tool in self.shapes else None
        if self.recipe.capture[path[1]].each:
            gives = {"properties": {"items": {}}}
        yield from _given(where, dotted, path[2:3], gives, tool)


def _given(
    where: str, dotted: str, field: tuple[str, ...], gives: Mapping[str, Json] | None, tool: str
) -> Iterator[str]:
    if gives is None or not field or field[0] in ALWAYS or not _properties(gives):
        return
    if field[0] not in _properties(gives):
        yield f"`{where}` names {dotted}, which is not in what {tool} gives"


def _properties(schema: Mapping[str, Json]) -> set[str]:
    return set(schema.get("properties") or ())


def _required(schema: Mapping[str, Json]) -> set[str]:
    return set(schema.get("required") or ())


def _paths(template: Json) -> set[tuple[str, ...]]:
    try:
        return names(template)
    except TemplateError:
        return set()


def _texts(template: Json) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    elif isinstance(template, Mapping):
        for value in template.values():
            yield from _texts(value)
    elif isinstance(template, list | tuple):
        for value in template:
            yield from _texts(value)
