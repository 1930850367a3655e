"""The forms of a call's arguments that rules are held against: as a tool may take them, and as ids are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from gate.arguments.forms_apart import MOST_TOGETHER, FormsApart, Spend, mixtures, spend_nothing
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
from gate.arguments.paths_together import PathsTogether
from gate.arguments.plain_texts import with_composed_texts, with_trimmed_texts
from gate.arguments.target_forms import (
    NAMED,
    REPORTED,
    argument_variants,
    held_in,
    reported_forms,
    without_roots,
)
from gate.arguments.target_texts import steps_to
from gate.arguments.text_or_list import in_other_form, names_of_both, other_values, texts_of_both
from gate.rules.action import Json
from gate.rules.tool import ToolSpec


@dataclass(frozen=True, slots=True)
class CallForms:
    """The arguments of a call as `given`, in every form that a tool may take them in, and with what was `reported`.

    `written`: those of `given` that have no argument at the place of another, or from a read. `both`: the arguments
    that may be a text or a list.
    `relative`, `inner`, `rootless`: the same without the slashes that a path begins with, or the name of its folder
    where there are several. `named`: the paths among the arguments.
    `paths`: those that stand for several arguments at once. `holders`: what the files that it touches lie in, where an
    argument of its server's tools names that; `below`: as that is named from its folder. `work`: what it takes to hold
    rules against these.
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
    below: Sequence[str] = ()
    written: Sequence[Json] = ()
    both: Sequence[str] = ()
    paths: PathsTogether = field(default_factory=PathsTogether)
    apart: FormsApart = field(default_factory=FormsApart)
    work: InsideWork = field(default_factory=InsideWork)
    rules: dict[int, TextsApart] = field(default_factory=dict)
    bases: dict[int, tuple[Json, Sequence[Json]]] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: ToolSpec, args: Json, spend: Spend = spend_nothing) -> CallForms:
        written, targets, nested = _written(spec, args), spec.recipe.targets, _nested(spec)
        given = [*given_forms(spec, args)]
        reported = reported_forms(targets)
        inner = without_roots(targets, reported)
        held, below = held_in(targets, given)
        reports = [*reported, *held]
        listed = [form for one in given for form in ids_in_lists(spec.recipe.names_of_lists, one)]
        others = (form for one in given for form in argument_variants(targets, one, False, reports))
        relative = [form for one in given for form in argument_variants(targets, one, True, [*inner, *below])]
        relative += [lifted for one in relative for lifted in with_nested_arguments(nested, one)]
        named = paths_among(targets, given)
        forms, together = [*given, *listed, *others], PathsTogether(targets, given)
        bare = without_roots(targets, named)
        lying = (held, below)
        both = names_of_both(spec.schema, given)
        apart = FormsApart(spend=spend)
        made = cls(spec, given, forms, relative, reported, inner, named, bare, *lying, written, both)
        return replace(made, paths=together, apart=apart)

    @property
    def every(self) -> list[Json]:
        return [*self.forms, *self.relative]

    def held_against(self, schema: Mapping[str, Json], spares_places: bool) -> Iterator[Json]:
        """Those that a rule with this schema sees, one of each kind that it tells apart."""
        yield from self._bases(schema, spares_places)
        if not self._are_too_many(schema, spares_places):
            yield from self._with_what_was_told(schema, spares_places)

    def _with_what_was_told(self, schema: Mapping[str, Json], spares_places: bool) -> Iterator[Json]:
        apart, bases = self._texts_apart(schema), self._bases(schema, spares_places)
        return as_arguments(self.spec, bases, apart.firsts(self._told(spares_places)[0]))

    def _bases(self, schema: Json, spares_places: bool) -> Sequence[Json]:
        """One form of each kind that the schema tells apart, beside whose other arguments paths are put as well."""
        key = id(schema)  # which is kept, so that nothing else gets its id
        if key not in self.bases:
            forms = self.forms if spares_places else self.every
            self.bases[key] = schema, self.apart.longest_of_each(schema, (), forms)
        return self.bases[key][1]

    def _otherwise_said(self, schema: Json, spares_places: bool) -> list[Json]:
        """The arguments in other forms than they are given in, one of each kind, without what was reported."""
        if not self.holders:
            return []
        forms = (self.forms if spares_places else self.every)[len(self.given) :]
        plain = [one for one in forms if isinstance(one, Mapping) and not {REPORTED, NAMED} & one.keys()]
        return [one for one in self.apart.longest_of_each(schema, (), plain) if one not in self.given]

    def _told(self, spares_places: bool) -> tuple[Sequence[str], Sequence[str]]:
        """What was reported, and the paths among the arguments, as such a rule sees them."""
        if spares_places:
            return self.reported, self.named
        return (*self.reported, *self.inner), (*self.named, *self.rootless)

    def _are_too_many(self, schema: Json, spares_places: bool) -> bool:
        """Whether the schema tells more texts apart than are put in the place of others."""
        told, named = self._told(spares_places)
        both = [*texts_of_both(self._both_said(schema), self.given)]
        self.apart.spend(len(both))
        kinds = self._texts_apart(schema).firsts((*told, *named, *both))
        return len(self._bases(schema, spares_places)) * len(kinds) > MOST_TOGETHER

    def _both_said(self, schema: Json) -> Sequence[str]:
        """The arguments that may be a text or a list of which a schema may say something."""
        return [name for name in self.both if may_say(schema, {name})]

    def _is_about_places(self, schema: Json) -> bool:
        """Whether a schema may say something of the arguments in whose place texts are put."""
        elsewhere = self.spec.recipe.targets.elsewhere if self.spec.recipe.targets else ()
        names = (*names_of_paths(self.spec), *elsewhere, *self.both, PATH)
        return may_say(schema, {steps_to(name)[0] for name in names})

    def _texts_apart(self, schema: Json) -> TextsApart:
        """What a schema tells apart."""
        key = id(schema)  # which is kept, so that nothing else gets its id
        if key not in self.rules:
            self.rules[key] = TextsApart(schema, (), self.apart.kinds(schema, ()).of_texts)
        return self.rules[key]

    def beside_schemas(
        self, schema: Mapping[str, Json], spares_places: bool
    ) -> Iterator[tuple[Mapping[str, Json], Json]]:
        """Further forms that a rule with this schema sees, each with what it is held against."""
        apart, mixed = self._texts_apart(schema), self._mixed(schema, spares_places)
        others = self._mixed(schema, spares_places, True) if self.both else []
        if mixed is None or others is None:
            yield {}, self.given[0]  # what cannot be checked to its end counts as holding
            return
        yield from ((schema, form) for form in mixed)
        yield from ((apart.of_texts, form) for form in others)
        beside = [*self.given, *mixed, *self._otherwise_said(schema, spares_places)]
        if not self._are_too_many(schema, spares_places):
            paths = apart.firsts(chain(*self._told(spares_places)))
            bases = self._bases(schema, spares_places)
            plain = [*as_plain_path(self.spec, bases, paths)] if says_of(schema, PATH) else []
            texts, lists = (apart, paths), asks_for_list(schema)
            both = self._both_said(schema)
            swapped = in_other_form(names_of_paths(self.spec), both, self.given, texts, lists)
            yield from ((apart.of_texts, form) for form in (*plain, *swapped))
            beside += plain
            if self._is_about_addresses(schema):
                beside += [*self.forms, *self._with_what_was_told(schema, spares_places)]
        elif self._is_about_places(schema):
            yield {}, self.given[0]
            return
        yield from self.inside(schema, beside, spares_places)
        yield from self.together(schema, spares_places)

    def _is_about_addresses(self, schema: Json) -> bool:
        """Whether a schema says something of addresses of mail, which are written in many ways."""
        targets = self.spec.recipe.targets
        return any(says_of(schema, steps_to(name)[0]) for name in (targets.addresses if targets else ()))

    def inside(
        self, schema: Mapping[str, Json], forms: Sequence[Json], spares_places: bool
    ) -> Iterator[tuple[Mapping[str, Json], Json]]:
        """The arguments in these forms with each holder where it is named, each beside this schema as it is held
        against that; none once it is more work than is done for one call. Where the schema says nothing of a name,
        nothing is put in, and they are as given."""
        targets = self.spec.recipe.targets
        if targets is None or not self.holders:
            return
        folded = in_any_letters(schema, targets.inside)
        places = [name for name in targets.inside if says_of(folded, steps_to(name)[0])]
        names = self.holders if spares_places else (*self.holders, *self.below)
        held = told_apart(folded, (), seen_forms(names, ())) if places else []
        copies = len(held) * (len(places) + (len(places) > 1))
        given = forms if held else self.given
        if self.work.is_over_with(folded, given, copies):
            return
        for one in given:
            for args in with_paths(one, places, held) if held else [one]:
                yield folded, args

    def together(
        self, schema: Mapping[str, Json], spares_places: bool
    ) -> Iterator[tuple[Mapping[str, Json], Json]]:
        """The arguments with paths in the place of several, each beside this schema; where these are too many, one
        beside a schema that holds: what cannot be checked to its end counts as holding."""
        apart = self._texts_apart(schema)
        found = self.paths.held_against(schema, apart.firsts, not spares_places)
        yield from [({}, self.given[0])] if found is None else ((schema, args) for args in found)

    def _mixed(self, schema: Json, spares_places: bool, swapped: bool = False) -> list[Json] | None:
        """The arguments of which each is in a form of its own; None where these are too many. `swapped`: also with each
        text of a list alone, and the like, where there are any."""
        forms = self.forms if spares_places else self.every
        both = self._both_said(schema) if swapped else ()
        others = [*other_values(both, forms, self._texts_apart(schema), asks_for_list(schema))]
        if swapped and not others:
            return []
        return mixtures(self.apart, (schema, ()), self.given, [*forms, *others])

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


def given_forms(spec: ToolSpec, args: Json) -> Iterator[Json]:
    """The arguments as they are given, as reads complete them, with those of other tools at the place where these have
    them, and in plainer texts: of each, all other forms are made."""
    told, targets, nested = spec.recipe.resolved_as, spec.recipe.targets, _nested(spec)
    made = _written(spec, args)
    yield from made
    for others in (
        lambda one: [with_left_out(targets.resolved_left if targets else (), one)],
        lambda one: with_nested_arguments(nested, one),
        lambda one: [with_composed_texts(one)],
        lambda one: [with_trimmed_texts(one)],
        lambda one: [{**one, **told}] if told and isinstance(one, Mapping) else [],
    ):
        for one in tuple(made):
            fresh = [other for other in others(one) if other is not one]
            made += fresh
            yield from fresh


def counted_forms(spec: ToolSpec, args: Json) -> Iterator[Json]:
    """The same, and of each the arguments that hold ids in the forms that these are compared in."""
    ids = Ids(spec.recipe.names_in_any_letters)
    names = {way[0] for way in ids.ways}
    for one in given_forms(spec, args):
        yield one
        for bare in (False, True):
            form = ids.form(one, bare) if ids.has_uuids or not bare else None
            if isinstance(form, Mapping):
                yield {name: form[name] for name in names & form.keys()}


def _written(spec: ToolSpec, args: Json) -> list[Json]:
    # Also without what the recipe bound: the same call must never be judged milder for being looked at.
    return [args, *_requested_args(spec, args)]


def _nested(spec: ToolSpec) -> Sequence[str]:
    targets = spec.recipe.targets
    return (*spec.recipe.nested, *(targets.nested if targets else ()))


def _requested_args(spec: ToolSpec, args: Json) -> list[Json]:
    """The arguments as they were asked for, where the recipe has added some."""
    if not isinstance(args, Mapping) or not args.keys() & spec.recipe.bind.keys():
        return []
    return [{key: value for key, value in args.items() if key not in spec.recipe.bind}]
