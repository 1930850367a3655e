"""The forms of a call's arguments that rules are held against: as a tool may take them, and as ids are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from gate.arguments.canonical_targets import (
    argument_variants,
    held_in,
    reported_forms,
    steps_to,
    without_roots,
)
from gate.arguments.composed_texts import with_composed_texts
from gate.arguments.forms_apart import FormsApart
from gate.arguments.holders import in_any_letters, seen_forms
from gate.arguments.identifiers import Ids, ids_in_lists
from gate.arguments.inside_work import InsideWork, says_of
from gate.arguments.left_out import with_left_out
from gate.arguments.named_paths import (
    PATH,
    TextsApart,
    as_arguments,
    as_plain_path,
    asks_for_list,
    may_say,
    names_of_paths,
    paths_among,
    told_apart,
    with_paths,
)
from gate.arguments.nested_arguments import with_nested_arguments
from gate.arguments.paths_together import MOST_TOGETHER, PathsTogether
from gate.arguments.text_or_list import in_other_form, names_of_both, texts_of_both
from gate.rules.action import Json
from gate.rules.tool import ToolSpec


@dataclass(frozen=True, slots=True)
class CallForms:
    """The arguments of a call as `given`, in every form that a tool may take them in, and with what was `reported`.

    `written`: those of `given` that have no argument at the place of another, or from a read.
    `relative`, `inner`, `rootless`: the same without the slashes that a path begins with. `named`: the paths among the
    arguments.
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
    rootless: Sequence[str]
    holders: Sequence[str] = ()
    written: Sequence[Json] = ()
    paths: PathsTogether = field(default_factory=PathsTogether)
    apart: FormsApart = field(default_factory=FormsApart)
    work: InsideWork = field(default_factory=InsideWork)
    rules: dict[int, TextsApart] = field(default_factory=dict)
    bases: dict[int, tuple[Json, Sequence[Json]]] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: ToolSpec, args: Json) -> CallForms:
        # Also without what the recipe bound: the same call must never be judged milder for being looked at.
        written, targets = [args, *_requested_args(spec, args)], spec.recipe.targets
        whole = ((one, with_left_out(targets.resolved_left if targets else (), one)) for one in written)
        given = [*written, *(filled for one, filled in whole if filled is not one)]
        nested = (*spec.recipe.nested, *(targets.nested if targets else ()))
        given += [lifted for one in given for lifted in with_nested_arguments(nested, one)]
        given += [plain for one in given if (plain := with_composed_texts(one)) is not one]
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
        bare = without_roots(named)
        return cls(spec, given, forms, relative, reported, inner, named, bare, held, written, together)

    @property
    def every(self) -> list[Json]:
        return [*self.forms, *self.relative]

    def held_against(self, schema: Mapping[str, Json], spares_absolute: bool) -> Iterator[Json]:
        """Those that a rule with this schema sees, one of each kind that it tells apart."""
        yield from self._bases(schema, spares_absolute)
        if not self._are_too_many(schema, spares_absolute):
            yield from self._with_what_was_told(schema, spares_absolute)

    def _with_what_was_told(self, schema: Mapping[str, Json], spares_absolute: bool) -> Iterator[Json]:
        apart, bases = self._texts_apart(schema), self._bases(schema, spares_absolute)
        return as_arguments(self.spec, bases, apart.firsts(self._told(spares_absolute)[0]))

    def _bases(self, schema: Json, spares_absolute: bool) -> Sequence[Json]:
        """One form of each kind that the schema tells apart, beside whose other arguments paths are put as well."""
        key = id(schema)  # which is kept, so that nothing else gets its id
        if key not in self.bases:
            forms = self.forms if spares_absolute else self.every
            self.bases[key] = schema, self.apart.longest_of_each(schema, (), forms)
        return self.bases[key][1]

    def _told(self, spares_absolute: bool) -> tuple[Sequence[str], Sequence[str]]:
        """What was reported, and the paths among the arguments, as such a rule sees them."""
        if spares_absolute:
            return self.reported, self.named
        return (*self.reported, *self.inner), (*self.named, *self.rootless)

    def _are_too_many(self, schema: Json, spares_absolute: bool) -> bool:
        """Whether the schema tells more texts apart than are put in the place of others."""
        told, named = self._told(spares_absolute)
        both = texts_of_both(self.spec, self.given)
        kinds = self._texts_apart(schema).firsts((*told, *named, *both))
        return len(self._bases(schema, spares_absolute)) * len(kinds) > MOST_TOGETHER

    def _is_about_places(self, schema: Json) -> bool:
        """Whether a schema may say something of the arguments in whose place texts are put."""
        elsewhere = self.spec.recipe.targets.elsewhere if self.spec.recipe.targets else ()
        names = (*names_of_paths(self.spec), *elsewhere, *names_of_both(self.spec.schema), PATH)
        return may_say(schema, {steps_to(name)[0] for name in names})

    def _texts_apart(self, schema: Json) -> TextsApart:
        """What a schema tells apart."""
        key = id(schema)  # which is kept, so that nothing else gets its id
        if key not in self.rules:
            self.rules[key] = TextsApart(schema, ())
        return self.rules[key]

    def beside_schemas(
        self, schema: Mapping[str, Json], spares_absolute: bool
    ) -> Iterator[tuple[Mapping[str, Json], Json]]:
        """Further forms that a rule with this schema sees, each with what it is held against."""
        apart, beside = self._texts_apart(schema), [*self.given]
        if not self._are_too_many(schema, spares_absolute):
            paths = apart.firsts(chain(*self._told(spares_absolute)))
            bases = self._bases(schema, spares_absolute)
            plain = [*as_plain_path(self.spec, bases, paths)] if says_of(schema, PATH) else []
            others = in_other_form(self.spec, self.given, paths, apart, asks_for_list(schema))
            yield from ((apart.of_texts, form) for form in (*plain, *others))
            beside += plain
            if self._is_about_addresses(schema):
                beside += [*self.forms, *self._with_what_was_told(schema, spares_absolute)]
        elif self._is_about_places(schema):
            yield {}, self.given[0]  # what cannot be checked to its end counts as holding
            return
        yield from self.inside(schema, beside)
        yield from self.together(schema, spares_absolute)

    def _is_about_addresses(self, schema: Json) -> bool:
        """Whether a schema says something of addresses of mail, which are written in many ways."""
        targets = self.spec.recipe.targets
        return any(says_of(schema, steps_to(name)[0]) for name in (targets.addresses if targets else ()))

    def inside(
        self, schema: Mapping[str, Json], forms: Sequence[Json]
    ) -> Iterator[tuple[Mapping[str, Json], Json]]:
        """The arguments in these forms with each holder where it is named, each beside this schema as it is held
        against that; none once it is more work than is done for one call. Where the schema says nothing of a name,
        nothing is put in, and they are as given."""
        targets = self.spec.recipe.targets
        if targets is None or not self.holders:
            return
        folded = in_any_letters(schema, targets.inside)
        places = [name for name in targets.inside if says_of(folded, steps_to(name)[0])]
        held = told_apart(folded, (), seen_forms(self.holders, ())) if places else []
        copies = len(held) * (len(places) + (len(places) > 1))
        given = forms if held else self.given
        if self.work.is_over_with(folded, given, copies):
            return
        for one in given:
            for args in with_paths(one, places, held) if held else [one]:
                yield folded, args

    def together(
        self, schema: Mapping[str, Json], spares_absolute: bool
    ) -> Iterator[tuple[Mapping[str, Json], Json]]:
        """The arguments with paths in the place of several, each beside this schema; where these are too many, one
        beside a schema that holds: what cannot be checked to its end counts as holding."""
        apart = self._texts_apart(schema)
        found = self.paths.held_against(schema, apart.firsts, not spares_absolute)
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
        together = PathsTogether(self.spec.recipe.targets, given)
        return replace(self, given=given, forms=forms, relative=relative, paths=together, bases={})


def _requested_args(spec: ToolSpec, args: Json) -> list[Json]:
    """The arguments as they were asked for, where the recipe has added some."""
    if not isinstance(args, Mapping) or not args.keys() & spec.recipe.bind.keys():
        return []
    return [{key: value for key, value in args.items() if key not in spec.recipe.bind}]
