"""What a recipe declares of a tool's arguments: paths, addresses, identifiers, and what its results tell of these."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from gate.arguments.left_out import told_of_left_out
from gate.rules.action import Json
from gate.rules.templates import TemplateError, expand


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
    `words`: fields of the entries that those name, or without these of a result, whose texts a rule with a `text` alone
    is held against, too.
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

    @property
    def are_folders(self) -> bool:
        """Whether what a call is about is what files lie in, and not a file: such an argument is declared as a path."""
        return not {*self.paths, *self.looks}.isdisjoint(self.inside_by_path)


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
