"""From a server's listing to what the gate knows of each tool, and what an operator should mend."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from mcp_types import Tool, ToolAnnotations

from gate.action import Class, Json
from gate.tool import Hints, Recipe, ToolSpec, Trust
from tools.connection import Listing
from tools.fitting import Shape, misfits
from tools.recipes import BadRecipe, RecipeFile, RecipeFiles, read_recipe
from tools.schema import flaw
from tools.servers import ServerConfig

META = "dev.countersign/gate"
NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}")
DEFINING = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "_meta")
UNREADABLE = Recipe(cls=Class.UNKNOWN)
Pins = Mapping[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The tools of one server as last listed, by name, and what is wrong with some of them."""

    specs: Mapping[str, ToolSpec] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    calls_itself: str = ""

    @classmethod
    def of(cls, config: ServerConfig, listing: Listing, files: RecipeFiles, pins: Pins) -> Catalogue:
        """The catalogue of one listing. One bad tool or recipe takes nothing else down."""
        return _Reading(config, listing, files, pins).catalogue()


def definition(tool: Tool) -> str:
    """SHA-256 over all that a tool says about itself."""
    told = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    return _digest({key: told[key] for key in DEFINING if key in told})


def catalogue_pin(specs: Mapping[str, ToolSpec]) -> str:
    """What an operator writes as `pin.catalogue` after reading the tools."""
    return f"sha256:{_digest({name: spec.definition for name, spec in specs.items()})}"


def _digest(value: Json) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class _Reading:
    """Reads one listing."""

    def __init__(self, config: ServerConfig, listing: Listing, files: RecipeFiles, pins: Pins) -> None:
        self.config, self.pins, self.calls_itself = config, pins, listing.calls_itself
        self.problems: list[str] = []
        for name, why in listing.rejected.items():
            self._problem(name, f"is left out, because its definition is not valid ({why})")
        self.tools = {tool.name: tool for tool in listing.tools if self._usable(tool)}
        self.shapes = {n: Shape(t.input_schema, t.output_schema) for n, t in self.tools.items()}
        self.file = self._file(files, listing)

    def catalogue(self) -> Catalogue:
        specs = {name: self._spec(tool) for name, tool in self.tools.items()}
        reviewed = self.config.catalogue
        if reviewed and reviewed != catalogue_pin(specs):
            self.problems.append(
                f"{self.config.name}: its tools are not the reviewed ones. Read them, then set pin.catalogue "
                f"to {catalogue_pin(specs)}."
            )
            specs = {name: self._changed(spec) for name, spec in specs.items()}
        elif not reviewed and self.config.trust is not Trust.BUNDLED:
            specs = {name: self._against_pin(spec) for name, spec in specs.items()}
        return Catalogue(specs, tuple(self.problems), self.calls_itself)

    def _problem(self, tool: str, what: str) -> None:
        label = tool if NAME.fullmatch(tool) else repr(tool[:60])
        self.problems.append(f"{self.config.name}.{label} {what}.")

    def _usable(self, tool: Tool) -> bool:
        if not NAME.fullmatch(tool.name):
            self._problem(
                tool.name, "is left out, because its name has characters that no tool's name may have"
            )
            return False
        for schema in (tool.input_schema, tool.output_schema):
            why = flaw(json.dumps(schema, sort_keys=True)) if schema is not None else ""
            if why:
                self._problem(tool.name, f"is left out, because {why}")
                return False
        return True

    def _file(self, files: RecipeFiles, listing: Listing) -> RecipeFile | None:
        wanted = self.config.recipes
        if not wanted:
            return None
        found = files.get(wanted)
        if found is None:
            self.problems.append(f"{self.config.name}: there are no recipes “{wanted}” among the manifests.")
        elif listing.calls_itself and not fnmatchcase(listing.calls_itself, found.server):
            self.problems.append(
                f"{self.config.name}: the recipes “{wanted}” are for {found.server}, but this server calls "
                f"itself {listing.calls_itself}. They are not used."
            )
            return None
        elif found.draft:
            self.problems.append(
                f"{self.config.name}: the recipes “{wanted}” are a draft and not used: read them, then remove "
                "`draft: true`."
            )
            return None
        else:
            for tool in () if found.partial else found.tools.keys() - self.tools.keys():
                self._problem(tool, f"has a recipe in “{wanted}”, but the server has no such tool")
        return found

    def _spec(self, tool: Tool) -> ToolSpec:
        said = tool.annotations or ToolAnnotations()
        return ToolSpec(
            server=self.config.name,
            name=tool.name,
            title=tool.title or said.title or tool.name,
            description=tool.description or "",
            schema=tool.input_schema,
            definition=definition(tool),
            hints=Hints(
                said.read_only_hint, said.destructive_hint, said.idempotent_hint, said.open_world_hint
            ),
            trust=self.config.trust,
            output_schema=tool.output_schema,
            recipe=self._recipe(tool),
        )

    def _recipe(self, tool: Tool) -> Recipe:
        """The operator's recipe, else the server's own where it is believed, else none."""
        data = self.file.tools.get(tool.name) if self.file else None
        if data is None and self.config.trust in (Trust.BUNDLED, Trust.REVIEWED):
            data = (tool.meta or {}).get(META)
        if data is None:
            return Recipe()
        try:
            recipe = read_recipe(data)
        except BadRecipe as error:
            wrong = list(error.problems)
        else:
            wrong = misfits(recipe, tool.name, self.shapes)
        for what in wrong:
            self._problem(tool.name, f"is used without its recipe: {what}")
        return UNREADABLE if wrong else recipe

    def _against_pin(self, spec: ToolSpec) -> ToolSpec:
        pinned = self.pins.get((spec.server, spec.name))
        if pinned is None or pinned == spec.definition:
            return spec
        self._problem(
            spec.name, "changed since it was first seen, and counts as unknown until an operator has read it"
        )
        return self._changed(spec)

    def _changed(self, spec: ToolSpec) -> ToolSpec:
        """What a changed tool says of itself is not used; what the operator wrote still is."""
        own = self.file is None or spec.name not in self.file.tools
        return replace(spec, changed=True, recipe=Recipe() if own else spec.recipe)
