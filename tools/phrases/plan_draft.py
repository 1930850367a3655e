"""Pieces of a plan while it is made: calls with keys, so that they can be moved, dropped and joined."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gate.rules.action import CallClass, Json
from gate.rules.planner_port import Call, ProposedStep
from gate.rules.previews import summary_template
from gate.rules.templates import TemplateError, expand, names
from gate.rules.tool import ToolSpec
from tools.phrases.typed_values import clipped

RESULT = re.compile(r"\{steps\.([\w$-]+)(?=[.|\[}])")
UNKNOWN = "what an earlier step gives"
PLAIN = {
    "filesystem": "files",
    "calendar": "calendar",
    "email": "mail",
    "task": "tasks",
    "document": "documents",
    "data": "tables",
    "knowledge": "search",
    "security": "secrets",
    "ocr": "pictures",
    "clipboard": "clipboard",
    "system": "computer",
    "meeting": "minutes",
    "audit": "log",
}


def class_of(spec: ToolSpec) -> CallClass:
    """What its recipe or its server says of it: a guess, for the assessment alone. Policy decides elsewhere."""
    if spec.recipe.cls is not None:
        return spec.recipe.cls
    if spec.hints.read_only:
        return CallClass.READ
    return CallClass.DESTRUCTIVE if spec.hints.destructive else CallClass.UNKNOWN


def not_there(server: str) -> str:
    """That the tool of a sentence is not there, and what to do."""
    return f"That needs the server for {plain_word(server)}, and that tool is not there now. Try again in a moment."


def plain_word(server: str) -> str:
    """What a server is for, in a word that `help` knows."""
    return PLAIN.get(server, server)


class Later(str):
    """An argument that an earlier step will give: its template, `{steps.KEY.field}`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """One call. `refs` name other pieces by their keys, or steps that are done by their ids. `step`: the step of
    an earlier plan that it is, or was made of. `takes` and `gives`: paths that have to exist for it, and paths
    that it makes. `into` and `folders`: folders that it may put something into, and folders that it makes."""

    key: str
    call: Call
    title: str
    refs: Mapping[str, str] = field(default_factory=dict)
    ask: bool = False
    step: str = ""
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    into: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    @property
    def needs(self) -> set[str]:
        """The keys of the steps whose results it takes."""
        return {key for template in self.refs.values() for key in RESULT.findall(template)}


class Unclear(Exception):
    """An instruction that is no call. Its text says why, and what to write instead. `args`: which arguments of
    the tool are to blame, where that is known."""

    def __init__(self, text: str, blamed: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.blamed = tuple(blamed)


class NotThere(Unclear):
    """A name in it stands for nothing that was found. `told`: it says what comes closest, or is meant otherwise."""

    def __init__(self, text: str, told: bool = False) -> None:
        super().__init__(text)
        self.told = told


class TooMuch(Unclear):
    """A message has more in it than is read or checked at once."""


def planned(pieces: Sequence[Piece]) -> tuple[ProposedStep, ...]:
    """The pieces as the steps of a proposal: their results are named by place, from 1."""
    places = {piece.key: str(place) for place, piece in enumerate(pieces, 1)}
    return tuple(
        ProposedStep(piece.call, piece.title, _renamed(piece.refs, places), piece.step, piece.ask)
        for piece in pieces
    )


def _renamed(refs: Mapping[str, str], places: Mapping[str, str]) -> dict[str, str]:
    return {
        name: RESULT.sub(lambda found: f"{{steps.{places.get(found[1], found[1])}", template)
        for name, template in refs.items()
    }


def separated(args: Mapping[str, Json]) -> tuple[dict[str, Json], dict[str, str]]:
    """Arguments that are known, and those that an earlier step will give."""
    refs = {name: str(value) for name, value in args.items() if isinstance(value, Later)}
    return {name: value for name, value in args.items() if name not in refs}, refs


def title(spec: ToolSpec, args: Mapping[str, Json], refs: Mapping[str, str], said: str) -> str:
    """The recipe's summary, where it needs nothing but the arguments; else what was said."""
    scope = {"args": {**args, **dict.fromkeys(refs, UNKNOWN)}}
    summary = summary_template(spec, scope)
    try:
        if summary and all(path[0] == "args" for path in names(summary)):
            return clipped(str(expand(summary, scope)))
    except TemplateError:
        pass  # it shows an argument that was left out
    return clipped(said)


def renumbered(pieces: Sequence[Piece], keys: Iterator[str]) -> list[Piece]:
    """The pieces under fresh keys, so that they can stand beside others."""
    fresh = {piece.key: next(keys) for piece in pieces}
    return [replace(p, key=fresh[p.key], refs=_renamed(p.refs, fresh)) for p in pieces]
