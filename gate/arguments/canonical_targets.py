"""What a call touches: the paths, addresses and identifiers among its arguments, and the forms they are judged in.

A recipe declares them. `with_canonical_paths` writes declared paths in the one form that is shown, granted, sealed and
sent; the other forms of each text come from gate/arguments/text_forms.py.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from gate.arguments.form_count import PER_PLACE, count_without_texts, too_many_forms
from gate.arguments.holders import holder_forms, holders, lie_in_too_much
from gate.arguments.json_texts import is_json, is_too_deep, parsed
from gate.arguments.left_out import told_of_left_out
from gate.arguments.listed_names import secret_names
from gate.arguments.notations import is_file_argument
from gate.arguments.text_forms import (
    PLAIN,
    Forms,
    address,
    identifier,
    is_url,
    names_beyond,
    names_too_many_files,
    path_variants,
    text_variants,
    without_root,
)
from gate.rules.action import Json
from gate.rules.templates import TemplateError, expand

# Characters of one target that a read reports, as of a path, and of all those that are not plain
LONGEST_REPORTED, MOST_REPORTED, MOST_NAMES_REPORTED = 4_096, 64 * 1024, 3_000
REPORTED, NAMED = "reported targets", "named targets"  # in place of an argument's name
# Arguments that hold words, where a tool does not declare its targets.
PROSE = frozenset(
    "answer body comment content contents description keywords message messages prompt q query question reason search "
    "sql summary task text thought title topic".split()
)


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that a server serves: the name its paths begin with where it serves several, and where it is."""

    name: str
    places: tuple[str, ...] = ()  # absolute paths, without a slash at the end


@dataclass(frozen=True, slots=True)
class Targets:
    """What a recipe declares of a tool's arguments, each named as `path`, `call.path` or `files[].path`.

    `paths`: what is in there is read or changed. `looks`: paths of which only names, sizes and hashes are given.
    `found`: fields of the result of a read that name the files whose content is in it, as `hits[].path`; as
    `matches[excerpt].path`, where `excerpt` is given; or a template over its text, as `{result.text|differing}`.
    `told`, `listed`: the same for files of whose content it tells something, masked or measured, and for names that it
    gives, which are judged by the folders that they are in.
    `below`: templates over the arguments for the folder that such names, and those reported, are below, from the
    outside in.
    `inside`: arguments of its server's tools that name what a file lies in: a calendar, a mailbox in any letters.
    `found_in`: fields of the result of a read that name what its content lies in, as `inside` does: tables.
    `words`: fields of the entries that those name, whose texts a rule with a `text` alone is held against, too.
    `nested`: arguments that hold those of another tool: `call`, or `task.id=task_id` where that one has another name.
    `left_out`: what reads say that stands in the place of an argument that is left out, as `subject={capture.a.title}`.
    `reported`, `reported_in`: templates over the captured reads that say what the call will really touch, and what
    that lies in. `links`: the server
    follows links; without a report nobody knows then where a path leads.
    """

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
    roots: tuple[Root, ...] = ()
    links: bool = False
    elsewhere: tuple[str, ...] = ()  # of a tool without such arguments: those of its server's other tools
    resolved_to: tuple[str, ...] = ()  # what the reads have said by now
    resolved_in: tuple[str, ...] = ()  # and what that lies in
    resolved_left: tuple[
        tuple[str, Json], ...
    ] = ()  # and what stands in the place of arguments that are left out

    @property
    def unresolved(self) -> bool:
        """Whether a path may lead somewhere else than it says, and no read says where."""
        return self.links and not self.reported

    @property
    def inside_by_path(self) -> tuple[str, ...]:
        """The arguments that name what a path lies in by the folders in it; none where results or reads name that."""
        return () if self.found_in or self.reported_in else self.inside


def with_resolved_paths(
    targets: Targets | None, args: Mapping[str, Json], capture: Mapping[str, Json]
) -> Targets | None:
    """The targets with what the reads have told of them. Where one does not tell, nothing counts as told."""
    if targets is None or not (targets.reported or targets.reported_in or targets.left_out):
        return targets
    try:
        names, within = (_told(templates, capture) for templates in (targets.reported, targets.reported_in))
        left = tuple(told_of_left_out(targets.left_out, capture))
    except TemplateError:
        return replace(targets, reported=())
    paths = with_folders(targets, args, names)
    return replace(targets, resolved_to=paths, resolved_in=tuple(within), resolved_left=left)


def _told(templates: Sequence[str], capture: Mapping[str, Json]) -> dict[str, None]:
    """Each text that the templates find in the reads. Raises TemplateError."""
    found = [expand(template, {"capture": capture}) for template in templates]
    told = (one for value in found for one in (value if isinstance(value, list) else [value]))
    return dict.fromkeys(one for one in told if isinstance(one, str))


def touched(targets: Targets | None, args: Mapping[str, Json]) -> tuple[str, ...]:
    """The paths that a call is really about, as the reads have told; else those that its arguments declare."""
    if targets is None:
        return ()
    only = Targets(paths=targets.paths, looks=targets.looks)
    return targets.resolved_to or tuple(text for text, _ in _texts(only, args))


def judged_texts(targets: Targets | None, args: Mapping[str, Json]) -> tuple[str, ...]:
    """Those among the arguments that rules are held against in all of their forms."""
    return tuple(text for text, _ in _texts(targets, args))


def with_folders(targets: Targets, args: Mapping[str, Json], names: Collection[str]) -> tuple[str, ...]:
    """The names alone, and below each of the folders that they may be in."""
    folders = [""]
    for template in reversed(targets.below):
        folders += filter(None, [_folder_of(template, args, folders[-1])])
    return tuple(dict.fromkeys(folder + name for folder in folders for name in names))


def _folder_of(template: str, args: Mapping[str, Json], inner: str) -> str:
    try:
        folder = str(expand(template, {"args": args})).strip("/")
    except TemplateError:  # an argument that is left out
        return ""
    return f"{folder}/{inner}" if folder else ""


def with_canonical_paths(targets: Targets | None, args: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments with every declared path in its canonical form; doing it again changes nothing.

    Only what means the same to every server is taken out: `.` and doubled separators, and the folder that an
    absolute path begins with. Unicode forms and percent-encoding stay, as they may name another file.
    """
    if targets is None:
        return dict(args)
    names = (*targets.paths, *targets.looks)
    return dict(_named(args, names, lambda text: canonical_path(text, targets.roots)))


def canonical_path(path: str, roots: Sequence[Root] = ()) -> str:
    """The path without `.` and empty parts, relative to its root. One with `..` or a control character is as it was:
    where it leads depends on the disk, and servers refuse it."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts or not path or _has_control_character(path):
        return path
    absolute = path.startswith("/")
    if absolute and (inside := _inside(parts, roots)) is not None:
        parts, absolute = inside, False
    elif not absolute and len(roots) > 1 and parts[:1] not in [[root.name] for root in roots]:
        parts = [roots[0].name, *parts]
    end = "/" if path.endswith("/") and parts else ""
    return ("/" if absolute else "") + "/".join(parts) + end or "."


def _has_control_character(path: str) -> bool:
    return not path.isprintable() and any(unicodedata.category(char) == "Cc" for char in path)


def has_broken_path(targets: Targets | None, args: Json) -> bool:
    """Whether a declared path holds a tab, a line break or another control character: some programs leave those out,
    and what is left names another file."""
    if targets is None or not isinstance(args, Mapping):
        return False
    only = Targets(paths=targets.paths, looks=targets.looks)
    return any(_has_control_character(text) for text, _ in _texts(only, args))


def _inside(parts: Sequence[str], roots: Sequence[Root]) -> list[str] | None:
    """The parts of an absolute path as they are below the root that it is in, or None."""
    for root in roots:
        for place in root.places:
            base = place.strip("/").split("/")
            if list(parts[: len(base)]) == base:
                return ([root.name] if len(roots) > 1 else []) + list(parts[len(base) :])
    return None


def is_beyond_search(targets: Targets | None, args: Json) -> bool:
    """Whether nobody knows all that arguments say: they hold JSON in more layers of texts, or with more levels, than
    are gone through, or name more files in one text than are looked at. Of those that hold words only JSON as a whole
    counts, since only that is opened."""
    if not isinstance(args, Mapping):
        return False
    if any(names_too_many_files(text) for text, of in _texts(targets, args) if of is not address):
        return True
    if targets is not None:
        return False
    opened = (
        value for key, value in args.items() if not _is_prose(key, value) or is_json(value, too_deep=True)
    )
    return any(map(is_too_deep, opened))


def has_names_beyond(targets: Targets | None, args: Json) -> bool:
    """Whether some text among the arguments holds more names than have forms, which a schema sees."""
    return isinstance(args, Mapping) and any(
        names_beyond(text) for text, of in _texts(targets, args) if of is not address
    )


MOST_TARGETS = 2_000  # that a call declares: each rule goes over them, in 5 milliseconds


def too_many_targets(targets: Targets | None, args: Json) -> bool:
    """Whether the targets among the arguments have more forms, or stand for more names, than one call may have."""
    if not isinstance(args, Mapping):
        return False
    if targets and _are_too_long(targets.resolved_to):
        return True
    if targets and lie_in_too_much(*_lying(targets, args), targets.resolved_in):
        return True
    opened = with_parsed_json(args) if targets is None else args
    both = (args,) if opened is args else (args, opened)
    found = [[*_texts(targets, given)] for given in both]
    reported = targets.resolved_to if targets else ()
    texts = dict.fromkeys(one for each in found for one in each)
    texts |= dict.fromkeys((one, of) for one in reported for of in (path_variants, address))
    places = max(map(len, found))  # each gets a copy
    if targets and places > MOST_TARGETS:
        return True
    copied = both if targets is None else ([args.get(name) for name in _arguments_of(targets)],)
    places += max(map(count_without_texts, copied)) // PER_PLACE
    return too_many_forms(texts, places + 2 * len(reported))


def _lying(targets: Targets, args: Mapping[str, Json]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paths that a call is about and the arguments that name what these lie in; none where reads name that."""
    return (touched(targets, args), targets.inside_by_path) if targets.inside_by_path else ((), ())


def held_in(targets: Targets | None, given: Sequence[Json]) -> tuple[str, ...]:
    """What a call with such arguments touches lies in, in the forms that rules are held against."""
    if targets is None or not targets.inside:
        return ()
    paths = [path for one in given if isinstance(one, Mapping) for path in _lying(targets, one)[0]]
    told = (form for name in targets.resolved_in for form in (name, *path_variants(name)))
    return (*holders(paths, targets.inside), *holder_forms(told))


def _arguments_of(targets: Targets) -> set[str]:
    """The arguments that hold targets."""
    return {steps_to(name)[0] for _, names in _kinds(targets) for name in names or ()}


def _are_too_long(reported: Sequence[str]) -> bool:
    """Whether what a read reports is more, or longer, than what one call names: an answer has 256 K characters, of
    which the forms are 18 times as many."""
    if len(reported) > MOST_NAMES_REPORTED or any(len(one) > LONGEST_REPORTED for one in reported):
        return True
    return sum(len(one) for one in reported if not PLAIN.fullmatch(one)) > MOST_REPORTED


def _report_forms(text: str) -> tuple[str, ...]:
    """The forms of what a read says that a call will touch: a path, addresses, or an id."""
    return (*path_variants(text), *address(text), *identifier(text))


def reported_forms(targets: Targets | None) -> list[str]:
    """What reads have said that the call will touch, in every form that rules are held against."""
    if targets is None or not targets.resolved_to:
        return []
    told = (one for told in targets.resolved_to for one in (told, *_absolute(told, targets.roots)))
    return [*dict.fromkeys(form for one in dict.fromkeys(told) for form in (one, *_report_forms(one)))]


def without_roots(forms: Sequence[str]) -> list[str]:
    """The forms that begin with slashes, without these."""
    return [inner for form in forms if not is_url(form) and (inner := without_root(form)) != form]


def argument_variants(
    targets: Targets | None, args: Json, relative: bool = False, reported: Sequence[str] = ()
) -> Iterator[Json]:
    """The arguments in every other form that rules are held against, one after another, and beside what was reported;
    `relative`: in those without the slashes that a path begins with.

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
    whole = _relative_forms if relative else partial(forms_below, targets)
    forms = {text: whole(text, of) for text, of in _texts(targets, args)}
    for number in range(max(map(len, forms.values()), default=0)):
        yield _mapped(targets, args, lambda text: _pick(forms.get(text, ()), number) or text)  # noqa: B023


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
    found = (
        [(root, inner) for root in roots if root.name == name]
        if len(roots) > 1
        else [(roots[0], path)]
        if roots
        else []
    )
    return tuple(f"{place}/{rest}" for root, rest in found for place in root.places)


def _relative_forms(text: str, of: Forms) -> tuple[str, ...]:
    """The forms of a path as servers take it that begin all of theirs at a folder or repository of their own."""
    if of not in (path_variants, text_variants) or is_url(text):
        return ()
    return tuple(dict.fromkeys(inner for form in (text, *of(text)) if (inner := without_root(form)) != form))


def with_parsed_json(args: Mapping[str, Json]) -> Mapping[str, Json]:
    """The arguments with every text that is JSON, but for prose, in the form of what it says."""
    opened = {key: value if _is_prose(key, value) else parsed(value) for key, value in args.items()}
    return args if opened == args else opened


def words_beside(targets: Targets | None, args: Json) -> list[Json]:
    """What arguments say besides their forms: those that hold words, where these are JSON as a whole, as which some
    servers take a title; and of lists in one text the names that are more than have forms. They name no files by it."""
    if targets is not None or not isinstance(args, Mapping):
        return []
    words = [parsed(value) for key, value in args.items() if _is_prose(key, value) and is_json(value)]
    return [*words, *(list(names_beyond(text)) for text, _ in _texts(None, args))]


def _pick(forms: Sequence[str], number: int) -> str:
    return forms[min(number, len(forms) - 1)] if forms else ""


def content_paths(targets: Targets | None, args: Json) -> tuple[str, ...]:
    """Every form of the paths whose content the call reads or changes; of a tool that declares nothing, of every
    text among the arguments that is not prose by its name."""
    texts = list(targets.resolved_to) if targets else [*_names_of_files(args)]
    if isinstance(args, Mapping):
        only = targets and Targets(paths=targets.paths)
        texts += (text for text, _ in _texts(only, args))
        if targets is None and (inside := with_parsed_json(args)) is not args:
            texts += (text for text, _ in _texts(None, inside))
    return tuple(form for text in texts for form in (text, *forms_below(targets, text)))


def _names_of_files(value: Json, of_files: bool = False) -> Iterator[str]:
    """The secret files that texts name under arguments which are called after files, at any depth."""
    if isinstance(value, str) and of_files:
        yield from secret_names(value, of_files=True)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (
                () if _is_prose(key, item) else _names_of_files(item, of_files or is_file_argument(key))
            )
    elif isinstance(value, list):
        for item in value:
            yield from _names_of_files(item, of_files)


def _texts(targets: Targets | None, args: Mapping[str, Json]) -> list[tuple[str, Forms]]:
    """Each target among the arguments, with what gives its other forms."""
    found: list[tuple[str, Forms]] = []
    for of, names in _kinds(targets):

        def note(text: str, of: Forms = of) -> str:
            found.append((text, of))
            return text

        _named(args, names, note)
    return found


def _mapped(targets: Targets | None, args: Mapping[str, Json], change: Callable[[str], str]) -> Json:
    for _, names in _kinds(targets):
        args = _named(args, names, change)
    return args


def _kinds(targets: Targets | None) -> tuple[tuple[Forms, tuple[str, ...] | None], ...]:
    """What the named arguments are; None in place of names: whatever is no prose."""
    if targets is None:
        return ((text_variants, None),)
    return (
        (path_variants, (*targets.paths, *targets.looks)),
        (address, targets.addresses),
    )


def _named(
    args: Mapping[str, Json], names: tuple[str, ...] | None, change: Callable[[str], str]
) -> Mapping[str, Json]:
    if names is None:
        return {change(key): _unless_prose(key, value, change) for key, value in args.items()}
    for name in names:
        args = _changed(args, steps_to(name), change)
    return args


def _is_prose(key: str, value: Json) -> bool:
    """Whether an argument holds words. Only a text does: what is inside of an object or a list may be a path."""
    return key.lower() in PROSE and isinstance(value, str)


def _unless_prose(key: str, value: Json, change: Callable[[str], str]) -> Json:
    if _is_prose(key, value):
        return value
    if key.lower() in PROSE:
        return _inside_prose(value, change)
    return _everywhere(value, change)


def _inside_prose(value: Json, change: Callable[[str], str]) -> Json:
    """Of what stands under a name for words, such as messages, the words are left out at any depth."""
    if isinstance(value, Mapping):
        return {change(k): v if _is_prose(k, v) else _inside_prose(v, change) for k, v in value.items()}
    if isinstance(value, list):
        return [_inside_prose(item, change) for item in value]
    return change(value) if isinstance(value, str) else value


def steps_to(name: str) -> tuple[str, ...]:
    """The way to an argument as a recipe names it; `[]`: to each item of a list."""
    return tuple(name.replace("[]", ".[]").split("."))


def _changed(value: Json, steps: Sequence[str], change: Callable[[str], str]) -> Json:
    """The value with the texts at this place changed; a list at its end is changed item by item."""
    if not steps:
        if isinstance(value, list):
            return [_changed(item, (), change) for item in value]
        return change(value) if isinstance(value, str) else value
    if steps[0] == "[]":
        return [_changed(item, steps[1:], change) for item in value] if isinstance(value, list) else value
    if isinstance(value, Mapping) and steps[0] in value:
        return {**value, steps[0]: _changed(value[steps[0]], steps[1:], change)}
    return value


def _everywhere(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return change(value)
    if value is None or isinstance(value, (int, float)):  # of which there may be thousands
        return value
    if isinstance(value, Mapping):
        return {change(key): _everywhere(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_everywhere(item, change) for item in value]
    return value
