"""The forms of a call's arguments that rules are held against: as a tool may take them, and as ids are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from gate.arguments.canonical_targets import (
    argument_variants,
    held_in,
    reported_forms,
    steps_to,
    without_roots,
)
from gate.arguments.forms_apart import FormsApart
from gate.arguments.holders import in_any_letters, seen_forms
from gate.arguments.identifiers import Ids, ids_in_lists
from gate.arguments.inside_work import InsideWork, says_of
from gate.arguments.left_out import with_left_out
from gate.arguments.named_paths import (
    as_arguments,
    as_plain_path,
    asks_for_list,
    paths_among,
    told_apart,
    with_paths,
)
from gate.arguments.nested_arguments import with_nested_arguments
from gate.arguments.paths_together import PathsTogether
from gate.arguments.text_or_list import in_other_form
from gate.rules.action import Json
from gate.rules.tool import ToolSpec


@dataclass(frozen=True, slots=True)
class CallForms:
    """The arguments of a call as `given`, in every form that a tool may take them in, and with what was `reported`.

    `written`: those of `given` that have no argument at the place of another, or from a read.
    `relative`, `inner`: the same without the slashes that a path begins with. `named`: the paths among the arguments.
    `paths`: those that stand for several arguments at once. `holders`: what the files that it touches lie in, where an
    argument of its server's tools names that. `work`: what it takes to hold rules against these.
    """

    spec: ToolSpec
    given: Sequence[Json]
    forms: Sequence[Json]
    relative: Sequence[Json]
    reported: Sequence[str]
    inner: Sequence[str]
    named: Sequence[str]
    holders: Sequence[str] = ()
    written: Sequence[Json] = ()
    paths: PathsTogether = field(default_factory=PathsTogether)
    apart: FormsApart = field(default_factory=FormsApart)
    work: InsideWork = field(default_factory=InsideWork)

    @classmethod
    def of(cls, spec: ToolSpec, args: Json) -> CallForms:
        # Also without what the recipe bound: the same call must never be judged milder for being looked at.
        written, targets = [args, *_requested_args(spec, args)], spec.recipe.targets
        whole = ((one, with_left_out(targets.resolved_left if targets else (), one)) for one in written)
        given = [*written, *(filled for one, filled in whole if filled is not one)]
        nested = (*spec.recipe.nested, *(targets.nested if targets else ()))
        given += [lifted for one in given for lifted in with_nested_arguments(nested, one)]
        if told := spec.recipe.resolved_as:
            given += [{**one, **told} for one in given if isinstance(one, Mapping)]
        reported = reported_forms(targets)
        inner = without_roots(reported)
        held = held_in(targets, given)
        reports = [*reported, *held]
        listed = [form for one in given for form in ids_in_lists(spec.recipe.names_of_lists, one)]
        others = (form for one in given for form in argument_variants(targets, one, False, reports))
        relative = [form for one in given for form in argument_variants(targets, one, True, inner)]
        named = paths_among(targets, given)
        forms, together = [*given, *listed, *others], PathsTogether(targets, given)
        return cls(spec, given, forms, relative, reported, inner, named, held, written, together)

    @property
    def every(self) -> list[Json]:
        return [*self.forms, *self.relative]

    def held_against(
        self, schema: Mapping[str, Json] | None, texts: Sequence[str], spares_absolute: bool
    ) -> Iterator[Json]:
        """Those that a rule with this schema and these texts sees, one of each kind that it tells apart."""
        forms = self.forms if spares_absolute else self.every
        yield from self.apart.longest_of_each(schema, texts, forms)
        told = self.reported if spares_absolute else [*self.reported, *self.inner]
        if schema:
            yield from as_arguments(self.spec, self.given, told_apart(schema, texts, told))
            named = self.named if spares_absolute else [*self.named, *without_roots(self.named)]
            paths, apart = told_apart(schema, texts, [*told, *named]), partial(told_apart, schema, texts)
            yield from as_plain_path(self.spec, self.given, paths)
            yield from in_other_form(self.spec, self.given, paths, apart, asks_for_list(schema))

    def beside_schemas(
        self, schema: Mapping[str, Json] | None, texts: Sequence[str], spares_absolute: bool
    ) -> Iterator[tuple[Mapping[str, Json], Json]]:
        """Further forms that a rule with this schema and these texts sees, each with what it is held against."""
        yield from self.inside(schema, texts)
        yield from self.together(schema, texts, spares_absolute)

    def inside(
        self, schema: Mapping[str, Json] | None, texts: Sequence[str]
    ) -> Iterator[tuple[Mapping[str, Json], Json]]:
        """The arguments with each holder where it is named, each beside this schema as it is held against that; none
        once it is more work than is done for one call. Where the schema says nothing of a name, nothing is put."""
        targets = self.spec.recipe.targets
        if schema is None or targets is None or not self.holders:
            return
        folded = in_any_letters(schema, targets.inside)
        places = [name for name in targets.inside if says_of(folded, steps_to(name)[0])]
        held = told_apart(folded, texts, seen_forms(self.holders, texts)) if places else []
        copies = len(held) * (len(places) + (len(places) > 1))
        if self.work.is_over_with(folded, self.given, copies):
            return
        for one in self.given:
            for args in with_paths(one, places, held) if held else [one]:
                yield folded, args

    def together(
        self, schema: Mapping[str, Json] | None, texts: Sequence[str], spares_absolute: bool
    ) -> Iterator[tuple[Mapping[str, Json], Json]]:
        """The arguments with paths in the place of several, each beside this schema; where these are too many, one
        beside a schema that holds: what cannot be checked to its end counts as holding."""
        if schema is None:
            return
        found = self.paths.held_against(schema, partial(told_apart, schema, texts), not spares_absolute)
        yield from [({}, self.given[0])] if found is None else ((schema, args) for args in found)

    def with_ids(self, ids: Ids) -> list[CallForms]:
        """The same with their ids in the forms that these are compared in; none where they have none."""
        made = self._with_ids(ids, False)
        if made is None:
            return []
        bare = self._with_ids(ids, True) if ids.has_uuids else None
        return [made, bare] if bare else [made]

    def _with_ids(self, ids: Ids, bare: bool) -> CallForms | None:
        given, forms, relative = (
            [form for one in some if (form := ids.form(one, bare)) is not None]
            for some in (self.given, self.forms, self.relative)
        )
        if not forms:
            return None
        return CallForms(
            self.spec, given, forms, relative, self.reported, self.inner, self.named, apart=self.apart
        )


def _requested_args(spec: ToolSpec, args: Json) -> list[Json]:
    """The arguments as they were asked for, where the recipe has added some."""
    if not isinstance(args, Mapping) or not args.keys() & spec.recipe.bind.keys():
        return []
    return [{key: value for key, value in args.items() if key not in spec.recipe.bind}]
