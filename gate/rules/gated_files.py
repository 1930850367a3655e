"""Files whose content is in the result of a read that did not name them: a search, or the answer of an index."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gate.arguments.canonical_paths import below_roots, named_below
from gate.arguments.declared_targets import Targets
from gate.arguments.form_count import FormCount
from gate.arguments.forms_apart import texts_of
from gate.arguments.holders import (
    TOP,
    holder_forms,
    holders,
    in_any_letters,
    lie_in_too_much,
    lying_together,
    seen_forms,
)
from gate.arguments.identifiers import Ids
from gate.arguments.inside_work import says_of
from gate.arguments.missing_arguments import without_missing
from gate.arguments.named_paths import (
    PATH,
    about_lists_as_lists,
    asks_for_list,
    kind_of,
    names_of_paths,
    says_nothing_of,
    with_paths,
)
from gate.arguments.pattern_search import found_in_any_case, found_patterns, in_any_case, searching
from gate.arguments.target_bounds import LONGEST_REPORTED
from gate.arguments.target_forms import forms_below, without_roots
from gate.arguments.target_texts import steps_to, touched
from gate.arguments.text_forms import path_variants, visible_text
from gate.arguments.text_or_list import in_other_shape, names_of_both
from gate.rules.action import CallClass, Json
from gate.rules.paths_beside import args_beside, is_about_both, other_forms, path_names
from gate.rules.policy import Matches, Policy, Rule
from gate.rules.result_targets import MOST_FILES, entries
from gate.rules.tool import ToolSpec, Trust

# The name of a mailbox in a Maildir, whose folder has a dot before it
MAILBOX = re.compile(r"(?:^|(?<=/))\.(?=[^/]+/(?:cur|new)(?:/|$))")
# How servers tell a sign in a name that ends a line or draws nothing: `\u2028`
ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|x([0-9a-f]{2}))")
Gated = tuple[str, Rule]  # a file, and a rule that keeps it from being read at once


class TooManyFiles(Exception):
    """These are more files than are looked at for one read, or names that are too long or of too many forms: it cannot
    be told whether one of them is gated."""


@dataclass(frozen=True, slots=True)
class Readers:
    """The tools that give what is in a file, or what a result names, by its name, the first of which has found it, and
    the arguments of that call."""

    tools: Sequence[ToolSpec]
    args: Mapping[str, Json]
    found: Sequence[str] = ()  # the files that its result has reported
    of_holders: bool = False  # they are asked for what a file lies in, not for a file
    beside: Sequence[Json] = ()  # further arguments that a rule sees that in
    unknown: Collection[str] = ()  # those for paths of which neither the call nor its result says one


def file_readers(
    spec: ToolSpec, specs: Sequence[ToolSpec], args: Mapping[str, Json], found: Sequence[str] = ()
) -> Readers:
    """The tool, and those of `specs` that give what is in a file, or what a result names, by its name: of its server,
    and of a bundled one all bundled ones, as they share folders."""
    others = [
        one
        for one in specs
        if (one.server == spec.server or one.trust is spec.trust is Trust.BUNDLED)
        and one.recipe.cls is CallClass.READ
        and one.recipe.targets
        and (one.recipe.targets.paths or one.recipe.targets.found_in)
    ]
    return Readers([spec, *others], args, found)


def is_only_private(rule: Rule, reader: ToolSpec, channel: str) -> bool:
    """Whether a rule that keeps files from being read at once lets this tool give them to whoever asks alone."""
    otherwise = replace(rule, private=False).keeps_from_reading(channel)
    return rule.private and rule.names(reader.full_name) and not otherwise


def _keeping(policy: Policy, readers: Readers, channel: str) -> list[Rule]:
    """The rules that keep something from being read at once by one of these tools."""
    strict = (rule for rule in policy.rules if rule.keeps_from_reading(channel))
    return [rule for rule in strict if any(rule.names(one.full_name) for one in readers.tools)]


def gated_files(
    policy: Policy, readers: Readers, paths: Sequence[str], channel: str, matches: Matches
) -> Iterator[Gated | None]:
    """Each of these files that the operator's rules keep from being read at once where one of the readers is asked for
    it by name, alone or beside the arguments of the call that has found it, with each such rule. None after each piece
    of the work, which may take a second in all: other work can have its turn there. Raises TooManyFiles."""
    tests = [(rule, _reading(rule, readers, matches)) for rule in _keeping(policy, readers, channel)]
    targets = readers.tools[0].recipe.targets
    if not tests:
        return
    yield from _counted(paths)
    for path in paths:
        forms = _forms_of(path, targets)
        bare = (one for one in without_roots(targets, forms) if one != TOP)
        every = tuple(dict.fromkeys((*forms, *bare)))
        yield None
        for rule, is_about in tests:
            for found in is_about(forms, every):
                yield (path, rule) if found else None
                if found:
                    break


def _forms_of(path: str, targets: Targets | None) -> tuple[str, ...]:
    """A path and its other forms, also with the signs that a server has told as escapes. Of a folder with a slash at
    its end each has one as well, by which rules are about what is in it."""
    plain = ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), path)
    told = (path, MAILBOX.sub("", path), *([plain] if plain != path else []))
    forms = dict.fromkeys(
        (*told, *(form for one in dict.fromkeys((path, plain)) for form in forms_below(targets, one)))
    )
    ended = (f"{form}/" for form in forms if path.endswith("/") and not form.endswith("/"))
    return tuple(dict.fromkeys((*forms, *ended)))


def gated_holders(
    policy: Policy, readers: Readers, paths: Sequence[str], channel: str, matches: Matches
) -> Iterator[Gated | None]:
    """The same of what these files lie in, where the first reader is asked for that by name, also by the name that it
    has from the one of several folders."""
    spec = readers.tools[0]
    targets = spec.recipe.targets or Targets()
    inside, below = targets.inside_by_path, below_roots(paths, targets.roots)
    if not inside:
        return
    if lie_in_too_much([*paths, *named_below(paths, targets.roots)], inside):
        raise TooManyFiles
    first = Readers([spec], readers.args)
    yield from _gated_inside(policy, first, {path: path for path in paths}, channel, matches)
    others = tuple(rule for rule in policy.rules if not rule.spares_places(targets))
    for root, named in below.items():
        for found in _gated_inside(replace(policy, rules=others), first, named, channel, matches):
            yield found and (root if found[0] == TOP else f"{root}/{found[0]}", found[1])


def _gated_inside(
    policy: Policy, readers: Readers, named: Mapping[str, str], channel: str, matches: Matches
) -> Iterator[Gated | None]:
    """The same of files that are reported under other names than these, by which they lie in something."""
    spec = readers.tools[0]
    inside = spec.recipe.targets.inside_by_path if spec.recipe.targets else ()
    held = holders([*named], inside)
    if held:
        yield from _gated_under(policy, readers, held, channel, matches)
    both = replace(policy, rules=tuple(one for one in policy.rules if held and is_about_both(one, spec)))
    for names, files in lying_together(named if both.rules else (), inside).items():
        found = replace(readers, found=[named[file] for file in files])
        yield from _gated_under(both, found, names, channel, matches)


def holder_readers(readers: Readers) -> list[ToolSpec]:
    """The first of the readers, and those whose results say what they lie in by an argument that it has, too: a sheet
    is no table."""
    first, names = readers.tools[0], set(_inside(readers.tools[0]))
    others = (one for one in readers.tools[1:] if not names.isdisjoint(_inside(one)))
    return [first, *(one for one in others if one.recipe.targets and one.recipe.targets.found_in)]


def gated_named_holders(
    policy: Policy, readers: Readers, names: Sequence[str], channel: str, matches: Matches
) -> Iterator[Gated | None]:
    """The same of what a result says by itself that its content lies in, where one of the readers is asked for that."""
    forms: dict[str, str] = {}
    under = replace(readers, tools=holder_readers(readers), unknown=_unknown(readers))
    if not _keeping(policy, under, channel):
        return
    if len(names) > MOST_FILES:
        raise TooManyFiles
    for name in names:
        yield None
        for form in holder_forms([name]):
            forms.setdefault(form, name)
    for found in _gated_under(policy, under, [*forms], channel, matches):
        yield found and (forms[found[0]], found[1])


def _gated_under(
    policy: Policy, readers: Readers, held: Sequence[str], channel: str, matches: Matches
) -> Iterator[Gated | None]:
    """Those of these names that rules keep under the arguments of these tools that name what something lies in, alone
    or beside the paths of the call and its result. Raises TooManyFiles."""
    inside = tuple(dict.fromkeys(name for one in readers.tools for name in _inside(one)))
    tools = [
        replace(one, recipe=replace(one.recipe, targets=Targets(looks=_inside(one)))) for one in readers.tools
    ]
    arguments = {steps_to(name)[0] for name in inside}
    without_texts = seen_forms(held, ())
    for rule in _keeping(policy, readers, channel):
        yield None
        if not rule.texts and says_nothing_of(rule.schema, arguments) and rule.fits({}, matches):
            continue  # it holds without such an argument, and has judged the call as a whole
        yield from _named_in_words(rule, readers, held)
        schema = in_any_letters(rule.schema, inside)
        seen = replace(rule, schema=schema, reads=False)
        beside = args_beside(readers.tools, readers.args, readers.found, seen)
        if beside is None:
            raise TooManyFiles
        named = Readers(tools, readers.args, (), True, beside, readers.unknown if rule.texts else ())
        alone = replace(policy, rules=(seen,))
        for found in gated_files(alone, named, held if rule.texts else without_texts, channel, matches):
            yield found and (found[0], rule)


def _named_in_words(rule: Rule, readers: Readers, held: Sequence[str]) -> Iterator[Gated]:
    """Those of these names that a rule with a `text` and no schema is about in other letters than it writes, alone or
    beside the arguments of the call."""
    if rule.schema is not None or rule.always:
        return
    asked = [*texts_of(readers.args)]
    others = {pattern for pattern in rule.texts if not found_patterns([pattern], asked)}
    yield from ((name, rule) for name in held if others and others == found_in_any_case(others, [name]))


def _unknown(readers: Readers) -> frozenset[str]:
    """The arguments for paths, where neither the call nor its result says one, as that of a failure."""
    if readers.found or touched(readers.tools[0].recipe.targets, readers.args):
        return frozenset()
    return frozenset(steps_to(name)[0] for name in path_names(holder_readers(readers)))


def _inside(spec: ToolSpec) -> tuple[str, ...]:
    return spec.recipe.targets.inside if spec.recipe.targets else ()


def gated_words(policy: Policy, readers: Readers, result: Json, channel: str) -> Iterator[Gated | None]:
    """Each entry of a result, by its first name, whose names and words a rule with a `text` and no schema is about, in
    whatever letters, alone or beside the arguments of the call; None after each piece of the work."""
    targets = readers.tools[0].recipe.targets or Targets()
    listed = [[*(names or [""]), *words] for names, words in entries(targets, result)]
    asked = [*texts_of(readers.args)]
    for rule in policy.rules if targets.words else ():
        if rule.schema is not None or rule.always or not rule.keeps_from_reading(channel):
            continue
        searches = [searching(in_any_case(pattern)) for pattern in rule.texts]
        others = [search for search in searches if not any(map(search, asked))]
        for texts in listed if any(rule.names(one.full_name) for one in holder_readers(readers)) else ():
            forms = [form for text in texts for form in (text, visible_text(text))]
            found = [search for search in searches if any(map(search, forms))]
            yield (texts[0], rule) if found and all(search in found for search in others) else None


def _counted(paths: Sequence[str]) -> Iterator[None]:
    """None for each of the paths. Raises TooManyFiles."""
    count = FormCount(len(paths))
    if len(paths) > MOST_FILES or any(len(path) > LONGEST_REPORTED for path in paths):
        raise TooManyFiles
    for path in paths:
        if count.is_over_with(path, path_variants):
            raise TooManyFiles
        yield None


def _reading(
    rule: Rule, readers: Readers, matches: Matches
) -> Callable[[Sequence[str], Sequence[str]], Iterator[bool]]:
    """Whether the rule is about reading a file of these forms by some of these tools, form by form; its arguments may
    have the second forms as well."""
    kind = kind_of(rule.schema, rule.texts)
    named = [reader for reader in readers.tools if rule.names(reader.full_name)]
    places = _places(named, readers.tools)
    # As the rule is held against a file that is asked for by name.
    if not readers.of_holders and says_of(rule.schema, PATH):
        places.setdefault((PATH,), set().union(*places.values()))
    fits_beside = _beside_arguments(rule, readers, places, matches)
    known: dict[Hashable, bool] = {}
    spares = rule.spares_places(readers.tools[0].recipe.targets)

    def fits(form: str) -> bool:
        of = kind(form)
        if of not in known:
            alone = (args for names in places for args in with_paths({}, names, [form]))
            known[of] = any(rule.fits(args, matches) for args in alone) or fits_beside(form)
        return known[of]

    def is_about(forms: Sequence[str], every: Sequence[str]) -> Iterator[bool]:
        yield rule.reaches(named[0].full_name, forms)
        yield from map(fits, forms if spares else every)

    return is_about


def _places(named: Sequence[ToolSpec], tools: Sequence[ToolSpec]) -> dict[tuple[str, ...], set[str]]:
    """The arguments for paths of these tools, with all arguments of those that have them. A tool that takes no path is
    given one as the others are."""
    others = tuple(dict.fromkeys(name for one in tools for name in names_of_paths(one))) or ("path",)
    found: dict[tuple[str, ...], set[str]] = {}
    for one in named:
        found.setdefault(names_of_paths(one) or others, set()).update(one.schema.get("properties", ()))
    return found


def _beside_arguments(
    rule: Rule, readers: Readers, places: Mapping[tuple[str, ...], set[str]], matches: Matches
) -> Callable[[str], bool]:
    """Whether the rule is about reading a file of this form beside the arguments of the call that has found it. A rule
    that is about that call whatever its path has judged it as a whole."""
    args, paths = readers.args, {steps_to(name)[0] for names in places for name in names}
    ids = Ids(tuple(dict.fromkeys(name for one in readers.tools for name in one.recipe.names_of_ids)))
    ids.form(args)
    in_ids = ids.found(rule.texts, texts_of(args))

    def fits(given: Json, schema: Json, of_ids: Json) -> bool:
        if not in_ids.union(found_patterns(rule.texts, [*texts_of(given)])).issuperset(rule.texts):
            return False
        same = ids.form(given)
        return schema is None or matches(schema, given) or (same is not None and matches(of_ids, same))

    def is_judged(one: Mapping[str, Json]) -> bool:
        own = rule.schema, ids.schema(rule.schema)
        return all(fits(some, *own) for some in (one, {key: one[key] for key in one.keys() - paths}))

    if is_judged(args):
        return lambda _: False
    others = other_forms(readers.tools[0], args, rule)
    if others is None:
        raise TooManyFiles
    beside = [one for one in (*others, *readers.beside) if not is_judged(one)]
    both = [name for name in names_of_both(readers.tools[0].schema, [args]) if name in paths]
    shapes = in_other_shape(both, (args, *beside), asks_for_list(rule.schema))
    seen = [*((one, rule.schema) for one in (args, *beside))]
    seen += [(one, about_lists_as_lists(rule.schema)) for one in shapes]
    asked = [
        (one, names, _with_any(schema, readers, paths, known - one.keys() - paths))
        for one, schema in seen
        for names, known in places.items()
    ]
    return lambda form: any(
        fits(given, schema, ids.schema(schema))
        for one, names, schema in asked
        for given in with_paths(one, names, [form])
    )


def _with_any(schema: Json, readers: Readers, paths: set[str], missing: set[str]) -> Json:
    return without_missing(schema, paths.union(readers.unknown), missing.union(readers.unknown))
