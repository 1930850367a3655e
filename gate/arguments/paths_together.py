"""Several paths of one call at once: a rule about `source` and `destination` is about each file of a folder in both.

What a read reports of a copy are files below its source and files below its destination, in one list. Each stands only
for the arguments that it can belong to, so that a rule about copies from one folder to another holds in one direction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from gate.arguments.declared_targets import Targets
from gate.arguments.forms_apart import MOST_TOGETHER
from gate.arguments.named_paths import PATH, keys_of, paths_among, with_path
from gate.arguments.target_forms import reported_forms, without_roots
from gate.arguments.target_texts import steps_to, touched
from gate.rules.action import Json

OF_ANY_NAME = frozenset({"patternProperties", "additionalProperties", "unevaluatedProperties"})
Apart = Callable[[Sequence[str]], Sequence[str]]


class PathsTogether:
    """The paths of a call that stand together for its arguments. `given`: its arguments, in several forms."""

    def __init__(self, targets: Targets | None = None, given: Sequence[Json] = ()) -> None:
        self.targets = targets or Targets()
        self.given = [one for one in given if isinstance(one, Mapping)]
        self.names = tuple(dict.fromkeys((*self.targets.paths, *self.targets.looks)))
        # A rule about `path` is about each of them, whatever it is called.
        self.asked = (*self.names, *(() if PATH in self.names else (PATH,)))
        self.forms: dict[str, list[str]] = {}  # by the name of the argument

    def held_against(self, schema: Json, apart: Apart, inner: bool) -> Iterator[Json] | None:
        """The arguments with a path in the place of each of those that the schema is about, in every combination of the
        kinds that it tells apart; None where these are too many. `inner`: also without the slashes that a path begins
        with. None are made where it is about fewer than two, or nothing was reported."""
        names = self._asked(schema) if self.targets.resolved_to and len(self.names) > 1 else []
        if len(names) < 2:
            return iter(())
        texts = [apart(self._texts(name, inner)) for name in names]
        if len(self.given) * prod(map(len, texts)) > MOST_TOGETHER:
            return None
        return (_placed(args, names, paths) for args in self.given for paths in product(*texts))

    def _asked(self, schema: Json) -> list[str]:
        keys = keys_of(schema)
        return [name for name in self.asked if keys & OF_ANY_NAME or steps_to(name)[0] in keys]

    def _texts(self, name: str, inner: bool) -> list[str]:
        if name not in self.forms:
            own = replace(self.targets, paths=(name,) if name in self.names else self.names, looks=())
            told = reported_forms(replace(own, resolved_to=self._belonging(name)))
            self.forms[name] = [*dict.fromkeys((*paths_among(own, self.given), *told))]
        return [*self.forms[name], *(without_roots(self.targets, self.forms[name]) if inner else ())]

    def _belonging(self, name: str) -> tuple[str, ...]:
        """What was reported, but for what lies only below what other arguments say."""
        if name not in self.names:
            return self.targets.resolved_to
        folders = {one: self._folders(one) for one in self.names}
        return tuple(
            path
            for path in self.targets.resolved_to
            if _is_below(path, folders[name]) or not any(_is_below(path, one) for one in folders.values())
        )

    def _folders(self, name: str) -> list[str]:
        own = Targets(paths=(name,))
        said = dict.fromkeys(path for args in self.given for path in touched(own, args))
        return ["" if path == "." else f"{path.rstrip('/')}/" for path in said]


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(f"{path}/".startswith(folder) for folder in folders)


def _placed(args: Json, names: Sequence[str], paths: Sequence[str]) -> Json:
    for name, path in zip(names, paths, strict=True):
        args = with_path(args, steps_to(name), path)
    return args
