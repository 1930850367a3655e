"""Declared paths in the one form that is shown, granted, sealed and sent."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from gate.arguments.declared_targets import Root, Targets
from gate.arguments.holders import TOP
from gate.arguments.target_texts import target_texts, with_named
from gate.arguments.text_forms import composed, without_root
from gate.rules.action import Json


def with_canonical_paths(targets: Targets | None, args: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments with every declared path in its canonical form; doing it again changes nothing.

    Only what means the same to every server is taken out: `.` and doubled separators, and the folder that an
    absolute path begins with. Unicode forms and percent-encoding stay, as they may name another file.
    """
    if targets is None:
        return dict(args)
    names = (*targets.paths, *targets.looks)
    return dict(with_named(args, names, lambda text: canonical_path(text, targets.roots)))


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
    return any(_has_control_character(text) for text, _ in target_texts(only, args))


def below_roots(paths: Iterable[str], roots: Sequence[Root]) -> dict[str, dict[str, str]]:
    """By the name of each of several folders: the paths in it, by the names that they have from there. None where there
    is one folder, whose name no path begins with."""
    found: dict[str, dict[str, str]] = {root.name: {} for root in roots if len(roots) > 1}
    names = {composed(name): name for name in found}
    for path in paths if found else ():
        name, _, inner = path.partition("/")
        if root := names.get(composed(name)):
            found[root][without_root(inner) or TOP] = path
    return found


def named_below(paths: Iterable[str], roots: Sequence[Root]) -> list[str]:
    """The paths that lie in one of several folders, as they are named from there."""
    return [*dict.fromkeys(inner for below in below_roots(paths, roots).values() for inner in below)]


def _inside(parts: Sequence[str], roots: Sequence[Root]) -> list[str] | None:
    """The parts of an absolute path as they are below the root that it is in, or None."""
    for root in roots:
        for place in root.places:
            base = place.strip("/").split("/")
            if list(parts[: len(base)]) == base:
                return ([root.name] if len(roots) > 1 else []) + list(parts[len(base) :])
    return None
