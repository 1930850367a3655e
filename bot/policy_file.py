"""manifests/policy.yaml, read strictly into the policy that the gate decides by (docs/policy.md)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.strict_yaml import File, Value
from gate.action import Approvers, Class, Json, Risk
from gate.always import ALWAYS
from gate.policy import Policy, Rule
from gate.reviews import Phase, Review
from gate.tool import Trust
from tools.patterns import always_checkable
from tools.schema import flaw
from tools.servers import ServerConfig

TOP = ("version", "admins", "listed_bots", "channels", "always_gate", "servers", "rules", "reviews")
REVIEW = ("name", "enabled", "trigger_phase", "tools", "steps")
SPELLED = "triggerPhase"  # as spec 004 writes it
WHEN = ("schema", "text")
STRICT = ("deny", "risk", "approvers", "channels", "ttl", "private")
PERSON, GROUP, CHANNEL = r"[UW][A-Z0-9_]+", r"S[A-Z0-9_]+", r"[CGD][A-Z0-9_]+"
KINDS = {PERSON: "a member ID (U…)", GROUP: "the ID of a user group (S…)", CHANNEL: "a channel ID (C…)"}
LONGEST = 64 * 1024  # characters of arguments: every pattern must be checkable on a text as long as this
DAY = 86_400  # seconds
ANY = "*"  # in place of a server's name: what is known of tools by their names


def load_policy(path: Path) -> Policy:
    """The policy in the file, and before it the always-gate list that comes along.

    Its version is a hash over the bytes of the file. Raises BadFile with everything that is wrong.
    """
    file = File.read(path)
    top = file.top.mapping(TOP) if file.top else {}
    if "version" in top and top["version"].json() != 1:
        top["version"].wrong("must be 1: no other form of this file is known")
    servers = {name: _Server(name, value) for name, value in _entries(top.get("servers"))}
    policy = Policy(
        version=f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}",
        rules=(
            *ALWAYS,
            *(_gated(value) for value in _items(top.get("always_gate"))),
            *(rule for server in servers.values() for rule in server.rules()),
            *(_rule(value) for value in _items(top.get("rules"))),
        ),
        admins=frozenset(_ids(top.get("admins"), PERSON)),
        listed_bots=frozenset(_ids(top.get("listed_bots"), PERSON)),
        channels=_ids(top.get("channels"), CHANNEL),
        trust={name: server.trust for name, server in servers.items() if server.trust},
        reviews=tuple(filter(None, map(_review, _items(top.get("reviews"))))),
    )
    file.done()
    return policy


def trusted(servers: Sequence[ServerConfig], policy: Policy) -> tuple[ServerConfig, ...]:
    """The servers with the trust that the policy gives them; else as they were configured."""
    return tuple(replace(server, trust=policy.trust.get(server.name, server.trust)) for server in servers)


class _Server:
    """What the policy says of one server and its tools."""

    def __init__(self, name: str, value: Value) -> None:
        self.name = name
        keys = value.mapping(("trust", "tools"))
        self.trust = keys["trust"].choice(Trust) if "trust" in keys else None
        self.any = name == ANY
        if self.any and "trust" in keys:
            keys["trust"].wrong("cannot be given to every server at once: name each server")
        self._tools = _entries(keys.get("tools"))

    def rules(self) -> Iterator[Rule]:
        for pattern, value in self._tools:
            name = f"{self.name}.{pattern}"
            keys = value.mapping(("class", "raise_if", *STRICT))
            cls = keys["class"].choice(Class) if "class" in keys else None
            said: dict[str, Any] = {"known": cls} if self.any else {"cls": cls}
            yield Rule(name=name, tools=(name,), **said, **_strict(keys))
            for raising in _items(keys.get("raise_if")):
                yield self._raising(name, raising)

    def _raising(self, name: str, value: Value) -> Rule:
        keys = value.mapping(("class", *WHEN))
        _needs(value, keys, "class")
        if not keys.keys() & set(WHEN):
            value.wrong("needs `schema` or `text`: when is the class raised?")
        cls = keys["class"].choice(Class) if "class" in keys else None
        return Rule(name=f"{name} raise_if", tools=(name,), at_least=cls, **_when(keys))


def _gated(value: Value) -> Rule:
    """An operator's addition to the always-gate list."""
    keys = value.mapping(("name", "tools", *WHEN))
    return Rule(**_named(value, keys), always=True, **_when(keys))


def _rule(value: Value) -> Rule:
    keys = value.mapping(("name", "tools", "at_least", *WHEN, *STRICT))
    cls = keys["at_least"].choice(Class) if "at_least" in keys else None
    return Rule(**_named(value, keys), at_least=cls, **_when(keys), **_strict(keys))


def _review(value: Value) -> Review | None:
    """Where a person looks before or after a call (spec 004); None for a mistake."""
    keys = value.mapping((*REVIEW, SPELLED))
    told = keys.get("trigger_phase", keys.get(SPELLED))
    if told is None:
        value.wrong("needs `trigger_phase`")
    if {"trigger_phase", SPELLED} <= keys.keys():
        keys[SPELLED].wrong("is the same as trigger_phase: write one of them")
    _needs(value, keys, "name")
    if not keys.keys() & {"tools", "steps"}:
        value.wrong('needs `tools` or `steps`: write `tools: ["*"]` for every call')
    name = keys["name"].text() if "name" in keys else ""
    enabled = keys["enabled"].flag() if "enabled" in keys else True
    tools = _tools(keys["tools"]) if "tools" in keys else ("*",)
    steps = _steps(keys["steps"]) if "steps" in keys else ("*",)
    phase = told.choice(Phase) if told else None
    return None if phase is None else Review(name, phase, enabled, tools, steps)


def _steps(value: Value) -> tuple[str, ...]:
    found = tuple(item.text() for item in value.items())
    if not found:
        value.wrong('names no steps: leave it out, or write ["*"] for all')
    return found


def _tools(value: Value) -> tuple[str, ...]:
    """Patterns on `server.tool`, at least one."""
    tools = [(item, item.text()) for item in value.items()]
    for item, pattern in tools:
        if pattern and pattern != "*" and "." not in pattern:
            item.wrong(f"must be a pattern on server.tool: write “*.{pattern}” for every server")
    if not tools:
        value.wrong('names no tools: write ["*"] for all')
    return tuple(pattern for _, pattern in tools)


def _named(value: Value, keys: dict[str, Value]) -> dict[str, Any]:
    _needs(value, keys, "name", "tools")
    name = keys["name"].text() if "name" in keys else ""
    return {"name": name, "tools": _tools(keys["tools"]) if "tools" in keys else ()}


def _when(keys: dict[str, Value]) -> dict[str, Any]:
    """What the arguments have to look like for the rule to hold."""
    schema = _schema(keys["schema"]) if "schema" in keys else None
    return {"schema": schema, "texts": (_pattern(keys["text"]),) if "text" in keys else ()}


def _strict(keys: dict[str, Value]) -> dict[str, Any]:
    """What every rule may say; all of it can only make the answer stricter."""
    approvers = _approvers(keys["approvers"]) if "approvers" in keys else None
    channels = _ids(keys.get("channels"), CHANNEL)
    if "channels" in keys and not channels:
        keys["channels"].wrong("is empty: to forbid it everywhere write `deny: true`")
    private = "private" in keys and keys["private"].flag()
    if private and approvers:
        keys["private"].wrong(
            "cannot stand beside approvers: a private card is seen by the requester alone, so remove one of them"
        )
    return {
        "deny": "deny" in keys and keys["deny"].flag(),
        "risk": keys["risk"].choice(Risk) if "risk" in keys else None,
        "approvers": approvers,
        "channels": channels,
        "ttl": keys["ttl"].number(1, DAY) if "ttl" in keys else None,
        "private": private,
    }


def _approvers(value: Value) -> Approvers:
    keys = value.mapping(("users", "groups", "count"))
    users = frozenset(_ids(keys.get("users"), PERSON))
    groups = frozenset(_ids(keys.get("groups"), GROUP))
    count = keys["count"].integer(1, 20) if "count" in keys else 1
    if not users and not groups and count < 2:
        value.wrong("name nobody: give users, groups, or a count of 2 or more other people")
    if users and not groups and count > len(users):
        value.wrong(f"can never be enough: {count} are needed and only {len(users)} named")
    return Approvers(users, groups, count)


def _ids(value: Value | None, kind: str) -> tuple[str, ...]:
    items = [(item, item.text()) for item in _items(value)]
    for item, text in items:
        if text and not re.fullmatch(kind, text):
            item.wrong(f"must be {KINDS[kind]}, not a name")
    return tuple(text for _, text in items)


def _schema(value: Value) -> dict[str, Json] | None:
    """A JSON Schema on the arguments, and one that can be checked whatever they are."""
    schema = value.json()
    if not isinstance(schema, dict):
        value.wrong("must be a JSON Schema")
        return None
    if why := flaw(json.dumps(schema, sort_keys=True)):
        value.wrong(f"cannot be used: {why}")
    for pattern in _patterns(schema):
        _checkable(value, pattern)
    return schema


def _patterns(schema: Json) -> Iterator[str]:
    """Every regular expression of a schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        if isinstance(schema.get("patternProperties"), dict):
            yield from schema["patternProperties"]
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _patterns(part)


def _pattern(value: Value) -> str:
    pattern = value.text()
    _checkable(value, pattern)
    return pattern


def _checkable(value: Value, pattern: str) -> None:
    if not always_checkable(pattern, LONGEST):
        value.wrong(
            f"holds the pattern {pattern}, which may take too long: bound its repeats, as in {{0,90}}"
        )


def _needs(value: Value, keys: dict[str, Value], *names: str) -> None:
    for name in names:
        if name not in keys:
            value.wrong(f"needs `{name}`")


def _items(value: Value | None) -> list[Value]:
    return value.items() if value else []


def _entries(value: Value | None) -> list[tuple[str, Value]]:
    return list(value.mapping().items()) if value else []
