"""The files that the steps of a runbook name: where one is not there, a sentence says so before there is a plan."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gate.rules.planner_port import Call
from tools.phrases.listing import name_of
from tools.phrases.name_lookup import NameLookup, Names
from tools.phrases.plan_draft import NotThere, Piece, Unclear

PATTERN = frozenset("*?[{")  # of several files, or of what an earlier step gives


def refuse_missing(names: Names, pieces: Sequence[Piece], made: Collection[str]) -> None:
    """Raise NotThere for the first call that takes what is neither there nor made before it, NameLookup for what has to
    be read to know that. `made`: the paths that are made before the runbook."""
    there, lookups = [*made], list[Call]()
    for piece in pieces:
        for path in piece.takes:
            if any(path == one or path.startswith(f"{one.rstrip('/')}/") for one in there):
                continue
            try:
                if not _is_there(names, path):
                    raise NotThere(f"{names.missing(path)} Nothing was done.", told=True)
            except NameLookup as lookup:
                lookups += lookup.calls
        there += [*piece.gives, *piece.folders]
    if lookups:
        raise NameLookup(lookups)


def _is_there(names: Names, path: str) -> bool:
    """Whether this is there; of what cannot be read, the preview of its step says more."""
    if names.lookup is None or not name_of(path) or PATTERN & set(path):
        return True
    try:
        found = names.called(name_of(path))
    except Unclear:
        return True
    return any(_plain(entry.path) == _plain(path) for entry in found)


def _plain(path: str) -> str:
    return path.removeprefix("./").rstrip("/")
