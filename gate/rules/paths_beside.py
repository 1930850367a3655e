"""What the content of a result lies in, as a sheet or a table, beside each path that it may be from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gate.arguments.declared_targets import Targets
from gate.arguments.forms_apart import MOST_TOGETHER, FormsApart, mixtures
from gate.arguments.inside_work import says_of
from gate.arguments.named_paths import PATH, names_of_paths, paths_among, told_apart, with_paths
from gate.arguments.nested_arguments import with_nested_arguments
from gate.arguments.target_forms import argument_variants, forms_below, without_roots
from gate.arguments.target_texts import steps_to
from gate.rules.action import Json
from gate.rules.policy import Rule
from gate.rules.tool import ToolSpec


def args_beside(
    tools: Sequence[ToolSpec], args: Mapping[str, Json], found: Sequence[str], rule: Rule
) -> list[Json] | None:
    """The arguments of a call of the first of these tools, as such a rule sees them, with each path that they name as
    their `path`, as it is held against a call, and under the names of these tools' arguments that it does not have; and
    with each that its result has reported, under all of these. None where these are too many."""
    targets = tools[0].recipe.targets or Targets()
    given = [args, *with_nested_arguments(targets.nested, args)]
    said = [name for name in path_names(tools) if says_of(rule.schema, steps_to(name)[0])]
    said += [PATH] if rule.texts and PATH not in said else []  # its words may be about a file
    free = [name for name in said if steps_to(name)[0] not in args]
    reported = dict.fromkeys(form for path in found for form in (path, *forms_below(targets, path)))
    others = other_forms(tools[0], args, rule)
    if others is None:
        return None
    made = [*given[1:], *others]
    for names, paths in ((free, paths_among(targets, [args])), (said, [*reported])):
        some = told_apart(rule.schema, rule.texts, _seen(rule, targets, paths)) if names else []
        if len(given) * len(names) * len(some) > MOST_TOGETHER:
            return None
        made += [form for one in given for form in with_paths(one, names, some)]
    return made


def is_about_both(rule: Rule, spec: ToolSpec) -> bool:
    """Whether a rule is about what a file lies in, and about its path as well."""
    inside = spec.recipe.targets.inside if spec.recipe.targets else ()
    if not any(says_of(rule.schema, steps_to(name)[0]) for name in inside):
        return False
    return bool(rule.texts) or any(says_of(rule.schema, steps_to(name)[0]) for name in path_names([spec]))


def other_forms(spec: ToolSpec, args: Mapping[str, Json], rule: Rule) -> Sequence[Json] | None:
    """The arguments of a call in the other forms of what its recipe declares, all and each in one of its own, one of
    each kind that a rule tells apart; None where these are too many."""
    if (targets := spec.recipe.targets) is None:
        return []
    inner = () if rule.spares_places(targets) else argument_variants(targets, args, True)
    forms, apart = [*argument_variants(targets, args), *inner], FormsApart()
    nested = (*spec.recipe.nested, *targets.nested)
    lifted = [one for form in (args, *forms) for one in with_nested_arguments(nested, form)]
    given = [args, *with_nested_arguments(nested, args)]
    mixed = mixtures(apart, (rule.schema, rule.texts), given, [args, *forms, *lifted])
    if mixed is None:
        return None
    return [*apart.longest_of_each(rule.schema, rule.texts, forms), *mixed]


def path_names(tools: Sequence[ToolSpec]) -> list[str]:
    """The arguments by which these tools are told a path, and `path`; none where their results and calls have none."""
    names = [name for one in tools for name in names_of_paths(one)]
    reports = any(one.recipe.targets and one.recipe.targets.found for one in tools)
    return [*dict.fromkeys([PATH, *names])] if names or reports else []


def _seen(rule: Rule, targets: Targets, paths: Sequence[str]) -> Iterator[str]:
    yield from paths
    if not rule.spares_places(targets):
        yield from without_roots(targets, paths)
