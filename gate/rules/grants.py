"""Grants: “always, in this thread”, given by one person for their own calls; and the floor that none of them passes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gate.arguments.tool_names import tool_in_words
from gate.rules.action import Action, CallClass, Json, Outcome, Risk, Session, Verdict
from gate.rules.canonical_json import BadArguments, leaves, parse, stored_args
from gate.rules.tool import ToolSpec, Trust

HOURS = (1, 4, 8)  # for how long a grant may be given
MAX_OFFERS = 12  # kinds of grants that are offered for one call
MAX_LENGTH = 70  # characters that say what one of them is limited to: a menu shows them whole
NO_WORDS = re.compile(
    r"[0-9a-fA-FTZ:.+_-]{0,80}|absent"
)  # hashes, moments, numbers: nobody can be told to do a thing
NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")  # of a field, as bundled servers have them


class MatchKind(StrEnum):
    IS = "is"  # exactly this value
    UNDER = "under"  # a path inside this folder


@dataclass(frozen=True, slots=True)
class Pattern:
    """What one argument has to be. `value` of UNDER is a folder that ends with a slash."""

    argument: str
    kind: MatchKind
    value: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A yes to later calls of one tool, as it was defined then. Its giver is the requester of all that it covers."""

    id: str
    session: Session
    user: str
    server: str
    tool: str
    patterns: tuple[Pattern, ...]  # all have to hold; none: any arguments
    definition: str
    given_at: datetime
    until: datetime
    revoked_at: datetime | None = None
    revoked_by: str = ""

    @property
    def name(self) -> str:
        return f"{self.server}.{self.tool}"

    def is_valid(self, now: datetime) -> bool:
        return self.revoked_at is None and self.given_at <= now < self.until


def never_grantable_reason(action: Action) -> str:
    """Why no grant may ever be the yes to this action, in a sentence; "" where one may."""
    if action.verdict is Verdict.DENY:
        return "The policy does not allow it."
    if action.always_gated or action.cls is CallClass.DESTRUCTIVE:
        return "What destroys something, or is always gated, asks each time."
    if action.verdict is not Verdict.CONFIRM or not action.preview.is_complete:
        return "What cannot be shown whole on its card asks each time."
    if action.cls is not CallClass.WRITE:
        return "A tool that no operator has reviewed asks each time."
    if action.approvers.named or action.approvers.needed > 1:
        return "What others decide asks them each time."
    if action.risk is Risk.CRITICAL:
        return "What is of critical risk asks each time."
    if action.private:
        return "What is private to one person asks each time."
    if action.review:
        return "What the operator wants reviewed before it runs asks each time."
    if action.undoes or action.renews:
        return "What takes something back, or was asked before, asks each time."
    return ""


def covers(grant: Grant, action: Action, now: datetime) -> bool:
    """Whether this grant is the yes to exactly this action, at this moment."""
    same = (grant.session, grant.user, grant.server, grant.tool, grant.definition) == (
        action.session,
        action.requester,
        action.server,
        action.tool,
        action.definition,
    )
    return (
        same
        and grant.is_valid(now)
        and not never_grantable_reason(action)
        and fits(grant.patterns, stored_args(action.args))
    )


def fits(patterns: Sequence[Pattern], args: Mapping[str, Json]) -> bool:
    """Whether the arguments keep every pattern."""
    return all(one.argument in args and _fits(one, args[one.argument]) for one in patterns)


def _fits(pattern: Pattern, value: Json) -> bool:
    if pattern.kind is MatchKind.IS:  # as JSON: 1 is neither true nor 1.0
        return json.dumps(pattern.value, sort_keys=True) == json.dumps(value, sort_keys=True)
    return isinstance(value, str) and value.startswith(str(pattern.value)) and _is_plain_path(value)


def _is_plain_path(path: str) -> bool:
    """Whether a path leads where it seems to: no `..`, no other way to write a separator."""
    parts = path.removeprefix("/").split("/")
    plain = (
        path.isprintable() and not set(path) & set("\\%~$*?:") and all(one == one.strip() for one in parts)
    )
    return plain and not any(one in ("", ".", "..") for one in parts)


def grant_patterns(args: Mapping[str, Json]) -> tuple[tuple[Pattern, ...], ...]:
    """The kinds of grants that can be given on a call with these arguments, the narrowest first."""
    found = [one for one in (*_exact(args), *_inside(args)) if len(_describe_pattern(one)) <= MAX_LENGTH][
        : MAX_OFFERS - 1
    ]
    return (*((one,) for one in found), ())


def _exact(args: Mapping[str, Json]) -> Iterator[Pattern]:
    for name, value in args.items():
        if isinstance(value, str | int | bool):
            yield Pattern(name, MatchKind.IS, value)


def _inside(args: Mapping[str, Json]) -> Iterator[Pattern]:
    for name, value in args.items():
        folder = value.rpartition("/")[0] if isinstance(value, str) and _is_plain_path(value) else ""
        if folder:
            yield Pattern(name, MatchKind.UNDER, f"{folder}/")


def tool_of(grant: Grant) -> str:
    """Which tool a grant is for, in words: two servers may have one of the same name."""
    return f"{tool_in_words(grant.name)} ({grant.server})"


def describe_patterns(patterns: Sequence[Pattern]) -> str:
    """What a grant is limited to, in words: `with path inside archive/`."""
    return " and ".join(map(_describe_pattern, patterns)) or "with any arguments"


def _describe_pattern(pattern: Pattern) -> str:
    if pattern.kind is MatchKind.UNDER:
        return f"with {pattern.argument} inside {_in_quotes(pattern.value)}"
    value = _in_quotes(pattern.value) if isinstance(pattern.value, str) else json.dumps(pattern.value)
    return f"with {pattern.argument} = {value}"


def _in_quotes(value: str) -> str:
    """A value of several words in quotation marks, so that it cannot pass for more of the sentence."""
    if value.split() == [value]:
        return value
    return f"“{value.replace('“', '‘').replace('”', '’')}”"


def returns_outside_content(spec: ToolSpec) -> bool:
    """Whether what a tool answers may come from outside of the workspace. It does where nothing is said, as MCP has
    it, but for a bundled server, which says so where it does; where nobody has read a tool, no word of it counts."""
    said = spec.hints.open_world
    if spec.trust is Trust.BUNDLED:
        return said is True
    return not spec.believed or said is not False


def adds_no_words(spec: ToolSpec, args: bytes, outcome: Outcome) -> bool:
    """Whether the result of a change holds no words but those of the call itself, so that a model learns nothing by it
    that others wrote. Only of bundled servers, whose fields are known."""
    if not repeats_call(spec, stored_args(args), outcome.text):
        return False
    return outcome.structured in (None, parse(outcome.text))


def repeats_call(spec: ToolSpec, args: Mapping[str, Json], text: str) -> bool:
    """The same of a result in words alone."""
    if spec.trust is not Trust.BUNDLED:
        return False
    try:
        said = parse(text)
    except BadArguments:  # other than one JSON object
        return False
    fields = {name for name in _names(said) if not NAME.fullmatch(name)}
    new = {*fields, *_texts(said)} - set(_texts(dict(args)))
    return all(map(NO_WORDS.fullmatch, new))


def _texts(value: Json) -> Iterator[str]:
    return (leaf for _, leaf in leaves(value) if isinstance(leaf, str))


def _names(value: Json) -> Iterator[str]:
    """The names of all fields, however deep."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    yield from value if isinstance(value, dict) else ()
    for one in inside:
        yield from _names(one)
