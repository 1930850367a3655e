"""The forms of the targets of a call that rules are held against, in the place of its arguments or beside them.

Those of a single text come from gate/arguments/text_forms.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from gate.arguments.canonical_paths import named_below
from gate.arguments.declared_targets import Root, Targets
from gate.arguments.holders import OF_CALENDARS, holder_forms, holders
from gate.arguments.json_texts import is_json, parsed
from gate.arguments.listed_names import secret_names
from gate.arguments.notations import is_file_argument
from gate.arguments.target_texts import (
    is_prose,
    paths_and_holders,
    target_texts,
    with_parsed_json,
    with_targets,
)
from gate.arguments.text_forms import (
    Forms,
    address,
    composed,
    identifier,
    is_url,
    names_beyond,
    path_variants,
    text_variants,
    without_root,
)
from gate.rules.action import Json

REPORTED, NAMED = "reported targets", "named targets"  # in place of an argument's name


def argument_variants(
    targets: Targets | None, args: Json, relative: bool = False, reported: Sequence[str] = ()
) -> Iterator[Json]:
    """The arguments in every other form that rules are held against, one after another, and beside what was reported;
    `relative`: in those without the slashes that a path begins with, or without the name of its folder.

    Of a tool that declares nothing, any text may be a path, also the name of a field (`{"files": {path: content}}`),
    but for what is prose by its name.
    """
    if not isinstance(args, Mapping):
        return
    if reported:
        yield {**args, REPORTED: reported}
    if targets is None and not relative and (named := [*_names_of_files(args)]):
        yield {**args, NAMED: named}
    if targets is None and (inside := with_parsed_json(args)) is not args:
        if not relative:
            yield inside
        yield from _argument_variants(None, inside, relative)
    yield from _argument_variants(targets, args, relative)


def _argument_variants(targets: Targets | None, args: Mapping[str, Json], relative: bool) -> Iterator[Json]:
    whole = partial(_relative_forms if relative else forms_below, targets)
    forms = {text: whole(text, of) for text, of in target_texts(targets, args)}
    for number in range(max(map(len, forms.values()), default=0)):
        yield with_targets(targets, args, lambda text: _pick(forms.get(text, ()), number) or text)  # noqa: B023


def forms_below(targets: Targets | None, text: str, of: Forms = path_variants) -> tuple[str, ...]:
    """The other forms of a target; of a path also those from the root of the disk, where its folder is known."""
    forms = of(text)
    if targets is None or of is not path_variants:
        return forms
    return (*forms, *(one for form in (text, *forms) for one in _absolute(form, targets.roots)))


def _absolute(path: str, roots: Sequence[Root]) -> tuple[str, ...]:
    """Where a path below a served folder is on the disk: a rule may be about the folder itself (`.ssh`)."""
    if path.startswith("/"):
        return ()
    name, _, inner = path.partition("/")
    if len(roots) > 1:
        found = [(root, inner) for root in roots if composed(root.name) == composed(name)]
    else:
        found = [(root, path) for root in roots]
    places = [
        (place, rest) for root, rest in found for given in root.places for place in (given, composed(given))
    ]
    return tuple(dict.fromkeys(f"{place}/{rest}" for place, rest in places))


def _relative_forms(targets: Targets | None, text: str, of: Forms) -> tuple[str, ...]:
    """The forms of a path as servers take it that begin all of theirs at a folder or repository of their own."""
    if of not in (path_variants, text_variants) or is_url(text):
        return ()
    forms = (text, *of(text))
    bare = [inner for form in forms if (inner := without_root(form)) != form]
    return tuple(dict.fromkeys((*bare, *named_below(forms, targets.roots if targets else ()))))


def _pick(forms: Sequence[str], number: int) -> str:
    return forms[min(number, len(forms) - 1)] if forms else ""


def reported_forms(targets: Targets | None) -> list[str]:
    """What reads have said that the call will touch, in every form that rules are held against."""
    if targets is None or not targets.resolved_to:
        return []
    told = (one for told in targets.resolved_to for one in (told, *_absolute(told, targets.roots)))
    return [*dict.fromkeys(form for one in dict.fromkeys(told) for form in (one, *_report_forms(one)))]


def _report_forms(text: str) -> tuple[str, ...]:
    """The forms of what a read says that a call will touch: a path, addresses, or an id."""
    return (*path_variants(text), *address(text), *identifier(text))


def without_roots(targets: Targets | None, forms: Sequence[str]) -> list[str]:
    """The forms that begin with slashes, without these, and those in one of several folders, without its name."""
    bare = [inner for form in forms if not is_url(form) and (inner := without_root(form)) != form]
    return [*bare, *named_below(forms, targets.roots if targets else ())]


def held_in(targets: Targets | None, given: Sequence[Json]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a call with such arguments touches lies in, in the forms that rules are held against; and further ones, as
    it is named from the one of several folders that it lies in."""
    if targets is None or not targets.inside:
        return (), ()
    paths = [path for one in given if isinstance(one, Mapping) for path in paths_and_holders(targets, one)[0]]
    told = (form for name in targets.resolved_in for form in (name, *path_variants(name)))
    is_folder = [targets.are_folders and not path.lower().endswith(OF_CALENDARS) for path in paths]
    paths += [f"{path}/" for path, yes in zip(paths, is_folder, strict=True) if yes]
    below = holders(named_below(paths, targets.roots), targets.inside)
    return (*holders(paths, targets.inside), *holder_forms(told)), below


def words_beside(targets: Targets | None, args: Json) -> list[Json]:
    """What arguments say besides their forms: those that hold words, where these are JSON as a whole, as which some
    servers take a title; and of lists in one text the names that are more than have forms. They name no files by it."""
    if targets is not None or not isinstance(args, Mapping):
        return []
    words = [parsed(value) for key, value in args.items() if is_prose(key, value) and is_json(value)]
    return [*words, *(list(names_beyond(text)) for text, _ in target_texts(None, args))]


def content_paths(targets: Targets | None, args: Json) -> tuple[str, ...]:
    """Every form of the paths whose content the call reads or changes; of a tool that declares nothing, of every
    text among the arguments that is not prose by its name."""
    texts = list(targets.resolved_to) if targets else [*_names_of_files(args)]
    if isinstance(args, Mapping):
        only = targets and Targets(paths=targets.paths)
        texts += (text for text, _ in target_texts(only, args))
        if targets is None and (inside := with_parsed_json(args)) is not args:
            texts += (text for text, _ in target_texts(None, inside))
    return tuple(form for text in texts for form in (text, *forms_below(targets, text)))


def _names_of_files(value: Json, of_files: bool = False) -> Iterator[str]:
    """The secret files that texts name under arguments which are called after files, at any depth."""
    if isinstance(value, str) and of_files:
        yield from secret_names(value, of_files=True)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (
                () if is_prose(key, item) else _names_of_files(item, of_files or is_file_argument(key))
            )
    elif isinstance(value, list):
        for item in value:
            yield from _names_of_files(item, of_files)
