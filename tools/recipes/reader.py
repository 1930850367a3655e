"""Reads recipes: from a mapping in a file to a gate.rules.tool.Recipe, or sentences about its mistakes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, model_validator

from gate.arguments.declared_targets import Root, Targets
from gate.arguments.own_columns import inserts_into_own_column
from gate.rules.action import CallClass, Json, Risk
from gate.rules.templates import PLACEHOLDER
from gate.rules.tool import ClassRaise, Drift, Each, Expect, Follow, Read, Recipe, Show, Summary, Undo
from tools.mcp.schema import schema_error
from tools.mcp.schema_fast_path import always_checkable, patterns_of
from tools.strict_config import Document, Maybe, Place, Section, Wrong, fitting, validate

TESTS = ("equals", "contains", "matches", "least", "most")  # of `expect`
MOST_SECONDS = 120  # for one read of a recipe
MOST_HOURS = 24  # for which it is followed what an action has begun
MAX_ANSWER = 256 * 1024  # characters of an answer, which is longer than arguments may be
SHOW_KEYS = {
    "fields": set[str](),
    "diff": {"before", "after", "path"},
    "text": {"after"},
    "affected": {"items"},
}
MAY_SHOW = {"text": {"says", "of"}}


def _checkable(pattern: str) -> str:
    if not always_checkable(pattern, MAX_ANSWER):
        raise ValueError(f"is no pattern that can be searched in bounded time: {pattern}")
    return pattern


def _schema(schema: Any) -> dict[str, Json]:
    if not isinstance(schema, dict):
        raise ValueError("must be a JSON Schema")
    if why := schema_error(json.dumps(schema, sort_keys=True)):
        raise ValueError(f"cannot be used: {why}")
    for pattern in patterns_of(schema):
        _checkable(pattern)
    return schema


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    return value


def _days(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise ValueError("must be a number of days")
    return value


def _listed(value: Any) -> Any:
    """A name alone is a list of one."""
    return tuple([value] if isinstance(value, str) else value) if isinstance(value, str | list) else value


Checkable = Annotated[str, AfterValidator(_checkable)]
Number = Annotated[float | None, PlainValidator(_number)]
Placeholder = Annotated[
    str, fitting(PLACEHOLDER.fullmatch, "must be one placeholder, such as {result.status}")
]


class ReadSection(Section):
    tool: str
    args: dict[str, Json] = Field(default_factory=dict)


class EachSection(Section):
    text: str
    find: Checkable
    take: str


class CaptureSection(ReadSection):
    absent: Checkable = ""
    each: Maybe[EachSection] = None
    seconds: Annotated[int, Field(ge=0, le=MOST_SECONDS)] = 0

    def to_read(self) -> Read:
        each = Each(self.each.text, self.each.find, self.each.take) if self.each else None
        return Read(self.tool, self.args, self.absent, each, self.seconds)


class RaiseSection(Section):
    cls: CallClass = Field(alias="class")
    schema_: Annotated[dict[str, Json] | None, PlainValidator(_schema)] = Field(None, alias="schema")
    text: Checkable = ""
    leads_elsewhere: bool | tuple[str, ...] = False
    own_column: bool = False
    when: str = ""

    def to_raise(self) -> ClassRaise:
        hides = self.leads_elsewhere if isinstance(self.leads_elsewhere, tuple) else ()
        about = inserts_into_own_column if self.own_column else None
        return ClassRaise(
            self.cls, self.schema_, self.text, bool(self.leads_elsewhere), hides, about, self.when
        )

    @model_validator(mode="after")
    def _conditional(self) -> RaiseSection:
        if not self.model_fields_set & {"schema_", "text", "when"} and not self.own_column:
            raise ValueError("needs `schema`, `text` or `when`: when is the class raised?")
        return self


class ShowSection(Section):
    kind: Literal["fields", "diff", "text", "affected"] = "fields"
    before: str = ""
    after: str = ""
    path: str = ""
    items: str = ""
    says: tuple[str, ...] = ()
    of: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()

    @model_validator(mode="after")
    def _keys_of_the_kind(self) -> ShowSection:
        given = self.model_fields_set - {"kind"}
        problems: list[tuple[Place, str]] = [
            ((key,), f"is not known with the kind {self.kind}")
            for key in sorted(given - SHOW_KEYS[self.kind] - MAY_SHOW.get(self.kind, set()))
        ]
        problems += [((), f"needs `{key}`") for key in sorted(SHOW_KEYS[self.kind] - given)]
        if problems:
            raise Wrong(*problems)
        return self


class UndoSection(ReadSection):
    when: str = ""
    unless: str = ""
    partly: str = ""


class SummarySection(Section):
    when: str = ""
    unless: str = ""
    summary: str


class DriftSection(ReadSection):
    same: dict[str, str]


class FollowSection(ReadSection):
    title: str
    hours: Annotated[int, Field(ge=1, le=MOST_HOURS)] = 8


class ExpectSection(Section):
    that: Placeholder
    equals: Any = None
    contains: Any = None
    matches: Checkable = ""
    least: Number = None
    most: Number = None
    verdict: Literal["doubtful", "failed"] = "doubtful"
    why: str = ""

    @model_validator(mode="after")
    def _tested(self) -> ExpectSection:
        if not self.model_fields_set & set(TESTS):
            raise ValueError(f"needs one of {', '.join(TESTS)}: what is good of it?")
        return self

    def to_expect(self) -> Expect:
        tests = {key: getattr(self, key) for key in TESTS if key in self.model_fields_set}
        return Expect(self.that, tests, self.verdict, self.why)


class TargetsSection(Section):
    """Which arguments are paths, addresses and identifiers; see `gate.arguments.declared_targets`."""

    paths: tuple[str, ...] = ()
    looks: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    found_in: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    reported_in: tuple[str, ...] = ()
    roots: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    links: Literal["never", "followed"] = "never"

    def to_targets(self) -> Targets:
        roots = tuple(Root(name, places) for name, places in self.roots.items())
        arguments = self.model_dump(exclude={"roots", "links"})
        return Targets(**arguments, roots=roots, links=self.links == "followed")


class RecipeSection(Section):
    """One recipe; the fields are those of gate.rules.tool.Recipe."""

    cls: CallClass | None = Field(None, alias="class")
    risk: Risk | None = None
    raise_if: tuple[RaiseSection, ...] = ()
    confirmationRequired: bool = True
    summary: str = ""
    summaries: tuple[SummarySection, ...] = ()
    verb: str = ""
    noun: str = ""
    capture: dict[str, CaptureSection] = Field(default_factory=dict)
    bind: dict[str, str] = Field(default_factory=dict)
    preview: ShowSection = ShowSection()
    recoverable: str = ""
    keeps_days: Annotated[int | None, PlainValidator(_days)] = None
    notifies: str = ""
    idempotent: bool = False
    undo: tuple[UndoSection, ...] = ()
    drift: Maybe[DriftSection] = None
    follow: Maybe[FollowSection] = None
    expect: tuple[ExpectSection, ...] = ()
    targets: Maybe[TargetsSection] = None
    reported_as: dict[str, str] = Field(default_factory=dict)
    nested: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _agrees_with_its_class(self) -> RecipeSection:
        stated = "confirmationRequired" in self.model_fields_set
        if stated and self.confirmationRequired is (self.cls is CallClass.READ):
            raise Wrong((("confirmationRequired",), f"contradicts the class {self.cls}"))
        return self

    def to_recipe(self) -> Recipe:
        same = "cls risk summary verb noun bind recoverable keeps_days notifies idempotent reported_as nested".split()
        drift, follow = self.drift, self.follow
        return Recipe(
            **{key: getattr(self, key) for key in same},
            raises=tuple(one.to_raise() for one in self.raise_if),
            capture={name: one.to_read() for name, one in self.capture.items()},
            summaries=tuple(Summary(one.summary, one.when, one.unless) for one in self.summaries),
            show=Show(**self.preview.model_dump()),
            undo=tuple(Undo(**one.model_dump()) for one in self.undo),
            drift=Drift(Read(drift.tool, drift.args), drift.same) if drift else None,
            follow=Follow(Read(follow.tool, follow.args), follow.title, follow.hours) if follow else None,
            expect=tuple(one.to_expect() for one in self.expect),
            targets=self.targets.to_targets() if self.targets else None,
        )


class FileSection(Section):
    """A recipe file. Each recipe is validated separately, so that a mistake affects that recipe alone."""

    server: str
    tools: dict[str, Any]
    partial: bool = False
    draft: bool = False
    raise_if: tuple[RaiseSection, ...] = ()
    ids: tuple[str, ...] = ()
    any_case: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecipeFile:
    """Recipes for one server that is not bundled. `server`: a pattern for the name that it reports.

    `partial`: the server's settings choose its tools, so that not every tool need exist. A `draft` is not used.
    `raises`: what makes a call of any of these tools worse. `ids`: arguments of them that hold names which the service
    takes in any case, or UUIDs. `any_case`: those that hold words or a statement which it takes so. `nested`: those
    that other tools of it have by another name.
    """

    server: str
    tools: Mapping[str, Json]
    partial: bool = False
    draft: bool = False
    raises: tuple[ClassRaise, ...] = ()
    ids: tuple[str, ...] = ()
    any_case: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    document: Document | None = None  # gives the line numbers of mistakes

    def recipe(self, tool: str) -> Recipe:
        """The recipe of a tool in the file. Raises ConfigError, like read_recipe."""
        if self.document is None:
            found = read_recipe(self.tools[tool])
        else:
            found = self.document.validated(RecipeSection, at=("tools", tool)).to_recipe()
        return self.with_its_own(found)

    def with_its_own(self, recipe: Recipe) -> Recipe:
        """The recipe of any tool of the server, with what the file says of each of them."""
        return replace(
            recipe,
            raises=(*self.raises, *recipe.raises),
            ids=(*self.ids, *recipe.ids),
            any_case=(*self.any_case, *recipe.any_case),
            nested=(*self.nested, *recipe.nested),
        )


RecipeFiles = Mapping[str, RecipeFile]


def load_recipes(folder: Path) -> RecipeFiles:
    """Every `*.yaml` in the folder, by file name without the ending. Raises ConfigError naming the file."""
    return {path.stem: _load(path) for path in sorted(folder.glob("*.yaml"))}


def _load(path: Path) -> RecipeFile:
    document = Document.read(path)
    read = document.validated(FileSection)
    raises = tuple(one.to_raise() for one in read.raise_if)
    return RecipeFile(
        read.server,
        read.tools,
        read.partial,
        read.draft,
        raises,
        ids=read.ids,
        any_case=read.any_case,
        nested=read.nested,
        document=document,
    )


def read_recipe(data: Json) -> Recipe:
    """One recipe. Raises ConfigError with every mistake of its form; names are checked by `recipe_problems`."""
    return validate(RecipeSection, data).to_recipe()
