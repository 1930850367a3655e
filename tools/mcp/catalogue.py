"""Builds the catalogue of one server's tools from its listing: the specs that the gate uses, and problems to fix."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from mcp_types import Tool, ToolAnnotations

from gate.arguments.command_tools import class_of_words
from gate.arguments.tool_names import shows_change
from gate.rules.action import CallClass, Json
from gate.rules.tool import Hints, Pin, Recipe, ToolSpec, Trust
from tools.mcp.connection import Listing
from tools.mcp.limits import LISTING_STEPS
from tools.mcp.schema import judged
from tools.mcp.server_config import ServerConfig
from tools.recipes.reader import RecipeFile, RecipeFiles, read_recipe
from tools.recipes.validation import ToolSchemas, recipe_problems
from tools.strict_config import ConfigError

RECIPE_META_KEY = "dev.countersign/gate"
NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}")
DEFINITION_FIELDS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "_meta")
UNREADABLE_RECIPE = Recipe(cls=CallClass.UNKNOWN)
MAX_NAMES = 5  # names of unreviewed tools in one sentence
TOO_COMPLICATED_TOGETHER = "the schemas of its server's tools are too complicated together to be checked"
Pins = Mapping[str, Pin]  # of one server, by tool


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The tools of one server as last listed, by name, and the problems of its tools and recipes."""

    specs: Mapping[str, ToolSpec] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    reported_name: str = ""

    @classmethod
    def of(cls, config: ServerConfig, listing: Listing, files: RecipeFiles, pins: Pins | None) -> Catalogue:
        """The catalogue of one listing. An invalid tool or recipe affects nothing else. `pins` None: they could not
        be read, so every tool of a server that is not bundled counts as changed."""
        return _CatalogueBuilder(config, listing, files, pins).catalogue()


def definition(tool: Tool, config: ServerConfig) -> str:
    """SHA-256 over what a tool declares about itself, and over the command or address of its server."""
    declared = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    address = [config.command, config.cwd, config.url, config.inproc, *config.args]
    return _digest(
        {"server": address, "tool": {key: declared[key] for key in DEFINITION_FIELDS if key in declared}}
    )


def catalogue_pin(specs: Mapping[str, ToolSpec]) -> str:
    """The value of `pin.catalogue` for these tools, once an operator has reviewed them."""
    return f"sha256:{_digest({name: spec.definition for name, spec in specs.items()})}"


def _digest(value: Json) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class _CatalogueBuilder:
    """Builds the catalogue of one listing."""

    def __init__(self, config: ServerConfig, listing: Listing, files: RecipeFiles, pins: Pins | None) -> None:
        self.config, self.pins, self.reported_name = config, pins, listing.reported_name
        self.problems: list[str] = []
        self.steps_left = LISTING_STEPS
        claims_to_be_ours = config.trust is Trust.BUNDLED and not config.is_bundled
        self.trust = Trust.REVIEWED if claims_to_be_ours else config.trust
        for name, why in listing.rejected.items():
            self._report(name, f"is left out, because its definition is not valid ({why})")
        self.tools = {tool.name: tool for tool in listing.tools if self._is_usable(tool)}
        self.schemas = {n: ToolSchemas(t.input_schema, t.output_schema) for n, t in self.tools.items()}
        self.recipe_file = self._recipe_file(files, listing)

    def catalogue(self) -> Catalogue:
        specs = {name: self._spec(tool) for name, tool in self.tools.items()}
        expected_pin = self.config.catalogue
        if expected_pin and expected_pin != catalogue_pin(specs):
            self.problems.append(
                f"{self.config.name}: its tools are not the reviewed ones. Read them, then set pin.catalogue "
                f"to {catalogue_pin(specs)}."
            )
            specs = {
                name: self._without_untrusted_recipe(replace(spec, changed=True))
                for name, spec in specs.items()
            }
        elif expected_pin:
            specs = {name: replace(spec, reviewed=True) for name, spec in specs.items()}
        elif not self.config.is_bundled:
            specs = {name: self._with_pin_state(spec) for name, spec in specs.items()}
            self._report_unreviewed([spec for spec in specs.values() if spec.unread and not spec.changed])
        return Catalogue(specs, tuple(self.problems), self.reported_name)

    def _report_unreviewed(self, specs: Sequence[ToolSpec]) -> None:
        if specs:
            names = ", ".join(spec.name for spec in specs[:MAX_NAMES]) + (" …" if specs[MAX_NAMES:] else "")
            self.problems.append(
                f"{self.config.name}: no operator has read {len(specs)} of its tools ({names}), so they are asked "
                f"about. Read them with `python -m bot tools review {self.config.name}`."
            )

    def _report(self, tool: str, problem: str) -> None:
        label = tool if NAME.fullmatch(tool) else repr(tool[:60])
        self.problems.append(f"{self.config.name}.{label} {problem.removesuffix('.')}.")

    def _is_usable(self, tool: Tool) -> bool:
        if not NAME.fullmatch(tool.name):
            self._report(
                tool.name, "is left out, because its name has characters that no tool's name may have"
            )
            return False
        for schema in (tool.input_schema, tool.output_schema):
            reason = self._schema_error(schema) if schema is not None else ""
            if reason:
                self._report(tool.name, f"is left out, because {reason}")
                return False
        return True

    def _schema_error(self, schema: Json) -> str:
        """Why a schema cannot be used. Of a server that is not bundled, all may take LISTING_STEPS together."""
        if self.steps_left <= 0:
            return TOO_COMPLICATED_TOGETHER
        reason, steps = judged(json.dumps(schema, sort_keys=True))
        self.steps_left -= 0 if self.config.is_bundled else steps
        return reason

    def _recipe_file(self, files: RecipeFiles, listing: Listing) -> RecipeFile | None:
        wanted = self.config.recipes
        if not wanted:
            return None
        recipe_file = files.get(wanted)
        if recipe_file is None:
            known = f"; there are {', '.join(sorted(files))}" if files else ""
            self.problems.append(
                f"{self.config.name}: there are no recipes “{wanted}” among the manifests{known}."
            )
        elif listing.reported_name and not fnmatchcase(listing.reported_name, recipe_file.server):
            self.problems.append(
                f"{self.config.name}: the recipes “{wanted}” are for {recipe_file.server}, but this server calls "
                f"itself {listing.reported_name}. They are not used."
            )
            return None
        elif recipe_file.draft:
            self.problems.append(
                f"{self.config.name}: the recipes “{wanted}” are a draft and not used: read them, then remove "
                "`draft: true`."
            )
            return None
        else:
            for tool in () if recipe_file.partial else recipe_file.tools.keys() - self.tools.keys():
                self._report(tool, f"has a recipe in “{wanted}”, but the server has no such tool")
        return recipe_file

    def _spec(self, tool: Tool) -> ToolSpec:
        annotations = tool.annotations or ToolAnnotations()
        title, description = tool.title or annotations.title or tool.name, tool.description or ""
        # Here and not when it is asked for: the descriptions of 500 tools take most of a second, and this is a thread.
        asked = self.trust is not Trust.BUNDLED
        spec = ToolSpec(
            server=self.config.name,
            name=tool.name,
            title=title,
            description=description,
            schema=tool.input_schema,
            definition=definition(tool, self.config),
            hints=Hints(
                annotations.read_only_hint,
                annotations.destructive_hint,
                annotations.idempotent_hint,
                annotations.open_world_hint,
            ),
            trust=self.trust,
            output_schema=tool.output_schema,
            recipe=self._recipe(tool),
            own_recipe=self.recipe_file is None or tool.name not in self.recipe_file.tools,
            meta=tool.meta or {},
            shows_change=shows_change(title, description, tool.input_schema) if asked else None,
        )
        return replace(spec, class_without_arguments=class_of_words(spec, {})) if asked else spec

    def _recipe(self, tool: Tool) -> Recipe:
        """The operator's recipe, else the server's own where its server is trusted, else an empty one."""
        data = self.recipe_file.tools.get(tool.name) if self.recipe_file else None
        from_operator = data is not None
        if not from_operator and self.trust in (Trust.BUNDLED, Trust.REVIEWED):
            data = (tool.meta or {}).get(RECIPE_META_KEY)
        if data is None:
            return self._with_file(Recipe())
        try:
            recipe = (
                self.recipe_file.recipe(tool.name)
                if from_operator and self.recipe_file
                else self._with_file(read_recipe(data))
            )
        except ConfigError as error:
            problems = list(error.problems)
        else:
            problems = recipe_problems(recipe, tool.name, self.schemas)
        for problem in problems:
            self._report(tool.name, f"is used without its recipe: {problem}")
        return self._with_file(UNREADABLE_RECIPE) if problems else recipe

    def _with_file(self, recipe: Recipe) -> Recipe:
        """A recipe that is not in the operator's file, with what that says of each tool of the server."""
        return self.recipe_file.with_its_own(recipe) if self.recipe_file else recipe

    def _with_pin_state(self, spec: ToolSpec) -> ToolSpec:
        pin = self.pins.get(spec.name) if self.pins is not None else None
        if pin is None:
            return self._without_untrusted_recipe(replace(spec, changed=self.pins is None))
        if pin.definition == spec.definition:
            return self._without_untrusted_recipe(replace(spec, reviewed=pin.reviewed_by is not None))
        self._report(
            spec.name, "changed since it was first seen, and counts as unknown until an operator has read it"
        )
        return self._without_untrusted_recipe(replace(spec, changed=True))

    def _without_untrusted_recipe(self, spec: ToolSpec) -> ToolSpec:
        """The spec of an unreviewed tool without what its own recipe permits: what raises the class is kept, and what
        rules see of its arguments. A recipe that the operator wrote is kept."""
        if not (spec.unread and spec.own_recipe):
            return spec
        own = spec.recipe
        kept = Recipe(
            cls=own.cls,
            risk=own.risk,
            raises=own.raises,
            ids=own.ids,
            any_case=own.any_case,
            nested=own.nested,
        )
        return replace(spec, recipe=kept)
