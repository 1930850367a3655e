"""Files whose content is in the result of a read that did not name them: a search, or the answer of an index."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from gate.arguments.canonical_targets import (
    LONGEST_REPORTED,
    Targets,
    forms_below,
    steps_to,
    touched,
    with_folders,
)
from gate.arguments.form_count import FormCount
from gate.arguments.forms_apart import texts_of
from gate.arguments.holders import (
    holder_forms,
    holders,
    in_any_letters,
    lie_in_too_much,
    lying_together,
    seen_forms,
)
from gate.arguments.identifiers import Ids, fold
from gate.arguments.inside_work import says_of
from gate.arguments.missing_arguments import without_missing
from gate.arguments.name_patterns import NamePattern, name_pattern
from gate.arguments.named_paths import (
    PATH,
    kind_of,
    names_of_paths,
    says_nothing_of,
    with_paths,
)
from gate.arguments.notations import is_file_argument
from gate.arguments.pattern_search import found_patterns, in_any_case, searching
from gate.arguments.text_forms import path_variants, visible_text, without_root
from gate.rules.action import CallClass, Json
from gate.rules.paths_beside import args_beside, is_about_both, other_forms, path_names
from gate.rules.policy import Matches, Policy, Rule
from gate.rules.templates import expand
from gate.rules.tool import Answer, ToolSpec, Trust

PATTERNS = frozenset({"pattern", "patterns", "glob", "globs"})  # arguments of a search that say which files
SLASH = re.compile("/")
MOST_FILES = 3_000  # that are looked at for one result: 0.1 s where their names are plain
WILD = re.compile(r"[*?\[]")
# Of patterns that somebody asked for files by, and characters that are held against all of them: 0.3 s. What is more
# asks for nothing.
MOST_PATTERNS, LONGEST_PATTERN, MOST_COMPARED = 50, 256, 1_000_000
# Characters that are gone over for all names that may have been asked for, and places of one name: 0.1 s in all
MOST_SOUGHT, MOST_PLACES = 200_000_000, 100
BETWEEN = "\n\n"  # of texts, so that nothing is a word of two
# The name of a mailbox in a Maildir, whose folder has a dot before it
MAILBOX = re.compile(r"(?:^|(?<=/))\.(?=[^/]+/(?:cur|new)(?:/|$))")
Gated = tuple[str, Rule]  # a file, and a rule that keeps it from being read at once


class TooManyFiles(Exception):
    """These are more files than are looked at for one read, or names that are too long or of too many forms: it cannot
    be told whether one of them is gated."""


def found_files(targets: Targets, args: Mapping[str, Json], result: Json, text: str = "") -> tuple[str, ...]:
    """The files whose content is in the result of a read, or in its text, each once; also below the folder that the
    arguments name. Raises TemplateError where the text does not tell all of them."""
    paths = [
        path
        for name in targets.found
        for path in (_in_text(name, args, text) if "{" in name else _found(result, name.split(".")))
    ]
    names = dict.fromkeys(path for path in paths if isinstance(path, str))
    return with_folders(targets, args, names)


def found_in_answer(targets: Targets, args: Mapping[str, Json], answer: Answer) -> tuple[str, ...]:
    """The same of an answer. The text of a failure, which is in no certain form, tells none."""
    if answer.is_error:
        targets = replace(targets, found=tuple(name for name in targets.found if "{" not in name))
    return found_files(targets, args, answer.structured, answer.text)


def _in_text(template: str, args: Mapping[str, Json], text: str) -> Sequence[Json]:
    """What a template finds in the text of a result, beside which it may have the arguments."""
    found = expand(template, {"result": {**args, "text": text}})
    return found if isinstance(found, list) else [found]


def _found(value: Json, steps: Sequence[str]) -> Iterator[Json]:
    if not steps:
        yield value
        return
    name, listed, needed = steps[0].removesuffix("]").partition("[")
    inner = value.get(name) if isinstance(value, Mapping) else None
    for one in inner if listed and isinstance(inner, list) else [inner]:
        if not needed or (isinstance(one, Mapping) and one.get(needed) is not None):
            yield from _found(one, steps[1:])


def found_holders(targets: Targets, result: Json) -> tuple[str, ...]:
    """What the content of a result of a read lies in, as it says itself, each once."""
    return tuple(_texts(result, targets.found_in))


def _entries(targets: Targets, result: Json) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """The names in each entry of the lists of a result that say what its content lies in, and its other words."""
    fields = [
        (name.split("."), of) for of, names in enumerate((targets.found_in, targets.words)) for name in names
    ]
    for first in dict.fromkeys(steps[0] for steps, _ in fields):
        below = [(steps[1:], of) for steps, of in fields if steps[0] == first]
        for entry in _found(result, [first]):
            texts = [
                (text, of) for steps, of in below for text in _found(entry, steps) if isinstance(text, str)
            ]
            yield [text for text, of in texts if not of and text], [text for text, of in texts if of and text]


def told_files(targets: Targets, result: Json) -> tuple[str, ...]:
    """The files of whose content a result of a read tells something, each once."""
    return tuple(_texts(result, targets.told))


def told_folders(targets: Targets, args: Mapping[str, Json], result: Json) -> tuple[str, ...]:
    """The folders of which a result of a read tells what is in them, below those that the arguments ask for; and all of
    them with a slash at their end, as a rule may say what is in one (`^private/`)."""
    asked = [path.rstrip("/") for path in touched(targets, args)]
    names = _texts(result, (*targets.told, *targets.listed))
    above = dict.fromkeys(islice((one for name in names for one in _folders_of(name)), MOST_FILES + 1))
    around = _folders_around(asked, sorted({len(one) for one in above}))
    below = [one for one in above if one and one not in around]
    inside = [*above, *(asked if names else ())]
    return tuple(dict.fromkeys([*below, *(f"{one}/" for one in inside if one.strip("./"))]))


def _folders_around(paths: Sequence[str], lengths: Sequence[int]) -> frozenset[str]:
    """The paths and the folders that they stand in, of those that have one of these lengths."""
    return frozenset(
        path[:length]
        for path in paths
        for length in lengths[: bisect(lengths, len(path))]
        if path[length : length + 1] in ("", "/")
    )


def _folders_of(name: str) -> Iterator[str]:
    """The folders that a name stands in; of one that is longer than is looked at the name alone, which is refused."""
    if len(name) > LONGEST_REPORTED:
        yield name
    else:
        yield from (name[: end.start()] for end in SLASH.finditer(name))


def _texts(result: Json, fields: Sequence[str]) -> dict[str, None]:
    found = (path for name in fields for path in _found(result, name.split(".")))
    return dict.fromkeys(path for path in found if isinstance(path, str) and path)


def names_asked(confirmed: Mapping[str, Json], targets: Targets) -> tuple[str, ...]:
    """What arguments that somebody has confirmed ask for by a name, a pattern or a folder: what merely lies below the
    folder of a search, or has its words, was not in their question."""
    declared = {re.split(r"[.\[]", name)[0] for name in (*targets.paths, *targets.looks)}
    named = (
        text
        for name, value in confirmed.items()
        if name in declared or name in PATTERNS or is_file_argument(name)
        for text in texts_of(value)
        if len(text) <= LONGEST_REPORTED
    )
    return tuple(dict.fromkeys(named))


def not_asked_for(asked: Sequence[Gated], gated: Sequence[Gated]) -> Iterator[Gated | None]:
    """Those of the gated files that no name asks for which was confirmed under the same rule; None after each other.
    `asked`: the names, each with a rule that it was confirmed under."""
    names: dict[int, list[str]] = {}
    for name, rule in asked:
        names.setdefault(id(rule), []).append(name)
    under = {rule: _Asked.of(some) for rule, some in names.items()}
    left = MOST_COMPARED
    for path, rule in gated:
        by_name = under.get(id(rule), _Asked())
        left -= len(path) * len(by_name.patterns)
        yield None if by_name.asks_for(path, left > 0) else (path, rule)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What names ask for: `plain` parts of paths, and patterns of them."""

    plain: Sequence[str] = ()
    patterns: Sequence[NamePattern] = ()

    @classmethod
    def of(cls, names: Sequence[str]) -> _Asked:
        forms = dict.fromkeys(
            form.lower().rstrip("/").removeprefix("**/")
            for name in names
            for form in (name, *path_variants(name))
        )
        asked = dict.fromkeys(without_root(form) for form in forms if form.strip("*./"))
        return cls([f"/{form}/" for form in asked if not WILD.search(form)], _patterns(asked))

    def asks_for(self, path: str, with_patterns: bool) -> bool:
        inside = f"/{path.lower()}/"
        mailbox = MAILBOX.sub("", inside)
        if any(form in inside or form in mailbox for form in self.plain):
            return True
        return with_patterns and any(pattern.matches(inside) for pattern in self.patterns)


def _patterns(forms: Iterable[str]) -> list[NamePattern]:
    wild = (form for form in forms if len(form) <= LONGEST_PATTERN and WILD.search(form))
    return [name_pattern(f"*/{form}/*") for form in islice(wild, MOST_PATTERNS)]


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
    if not tests:
        return
    yield from _counted(paths)
    for path in paths:
        forms = dict.fromkeys(
            (path, MAILBOX.sub("", path), *forms_below(readers.tools[0].recipe.targets, path))
        )
        every = tuple(dict.fromkeys((*forms, *map(without_root, forms))))
        yield None
        for rule, is_about in tests:
            for found in is_about(tuple(forms), every):
                yield (path, rule) if found else None
                if found:
                    break


def gated_holders(
    policy: Policy, readers: Readers, paths: Sequence[str], channel: str, matches: Matches
) -> Iterator[Gated | None]:
    """The same of what these files lie in, where the first reader is asked for that by name."""
    spec = readers.tools[0]
    inside = spec.recipe.targets.inside_by_path if spec.recipe.targets else ()
    if inside and lie_in_too_much(paths, inside):
        raise TooManyFiles
    held = holders(paths, inside) if inside else ()
    if held:
        yield from _gated_under(policy, Readers([spec], readers.args), held, channel, matches)
    both = replace(policy, rules=tuple(one for one in policy.rules if held and is_about_both(one, spec)))
    for names, found in lying_together(paths if both.rules else (), inside).items():
        yield from _gated_under(both, Readers([spec], readers.args, found), names, channel, matches)


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
        schema = in_any_letters(rule.schema, inside)
        seen = replace(rule, schema=schema, reads=False)
        beside = args_beside(readers.tools, readers.args, readers.found, seen)
        if beside is None:
            raise TooManyFiles
        named = Readers(tools, readers.args, (), True, beside, readers.unknown if rule.texts else ())
        alone = replace(policy, rules=(seen,))
        for found in gated_files(alone, named, held if rule.texts else without_texts, channel, matches):
            yield found and (found[0], rule)


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
    entries = [[*(names or [""]), *words] for names, words in _entries(targets, result)]
    asked = [*texts_of(readers.args)]
    for rule in policy.rules if targets.words else ():
        if rule.schema is not None or rule.always or not rule.keeps_from_reading(channel):
            continue
        searches = [searching(in_any_case(pattern)) for pattern in rule.texts]
        others = [search for search in searches if not any(map(search, asked))]
        for texts in entries if any(rule.names(one.full_name) for one in holder_readers(readers)) else ():
            forms = [form for text in texts for form in (text, visible_text(text))]
            found = [search for search in searches if any(map(search, forms))]
            yield (texts[0], rule) if found and all(search in found for search in others) else None


def not_asked_by_word(targets: Targets, result: Json, args: Mapping[str, Json]) -> Iterator[str | None]:
    """The names in the entries of a result, folded, but for entries with a name that stands among the texts of the
    arguments, in whatever letters, as a word of its own: all that such an entry says was asked for. None after each
    name that was looked for; of more than can be, the others count as not asked for."""
    asked = frozenset(text.casefold() for text in texts_of(args))
    words, left, known = BETWEEN.join(asked), MOST_SOUGHT, dict[str, bool]()
    for names, _ in _entries(targets, result):
        for name in names:
            if name not in known:
                left -= len(words)
                known[name] = (plain := name.casefold()) in asked or (left > 0 and _has_word(words, plain))
                yield None
        if not any(map(known.__getitem__, names)):
            yield from map(fold, names or [""])


def _has_word(text: str, word: str) -> bool:
    """Whether a word stands somewhere in a text, the first times that it does, with neither letters, digits nor `_`
    beside it."""
    end = 0
    for _ in range(MOST_PLACES):
        if (at := text.find(word, end)) < 0:
            return False
        end = at + max(1, len(word))
        beside = text[at - 1 : at] + text[end : end + 1]
        if not any(sign.isalnum() or sign == "_" for sign in beside):
            return True
    return False


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
    spares = rule.spares_absolute_paths

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
    beside = [
        one for one in (*other_forms(readers.tools[0], args, rule), *readers.beside) if not is_judged(one)
    ]
    asked = [
        (one, names, _with_any(rule.schema, readers, paths, known - one.keys() - paths))
        for one in (args, *beside)
        for names, known in places.items()
    ]
    return lambda form: any(
        fits(given, schema, ids.schema(schema))
        for one, names, schema in asked
        for given in with_paths(one, names, [form])
    )


def _with_any(schema: Json, readers: Readers, paths: set[str], missing: set[str]) -> Json:
    return without_missing(schema, paths.union(readers.unknown), missing.union(readers.unknown))
