"""manifests/policy.yaml, read strictly into the policy that the gate decides by (docs/policy.md)."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainValidator, model_validator

from bot.composed_rules import with_composed
from gate.rules.action import CallClass, Json, Risk
from gate.rules.always_gated import ALWAYS
from gate.rules.approvers import Approvers
from gate.rules.policy import Policy, Rule
from gate.rules.ports import Tools
from gate.rules.reviews import Phase, Review
from gate.rules.tool import Trust
from tools.mcp.schema import schema_error
from tools.mcp.schema_fast_path import always_checkable, are_checkable_together, patterns_of
from tools.mcp.server_config import ServerConfig
from tools.strict_config import ConfigError, Document, Maybe, Section, Text, Wrong, fitting, within

log = logging.getLogger(__name__)
PERSON, GROUP, CHANNEL = (
    re.compile(r"[UW][A-Z0-9_]+"),
    re.compile(r"S[A-Z0-9_]+"),
    re.compile(r"[CGD][A-Z0-9_]+"),
)
LONGEST = 64 * 1024  # characters of arguments: every pattern must be checkable on a text as long as this
DAY = 86_400  # seconds
NEARLY = 0.85  # how alike two names are, from 0 to 1, of which one may be the other with a typing error
ANY = "*"  # in place of a server's name: what is known of tools by their names


def _version(value: Any) -> Any:
    if value != 1:
        raise ValueError("must be 1: no other form of this file is known")
    return value


TOGETHER = (
    "the patterns of all rules about {server} may take too long together: bound their repeats more tightly, as in "
    "{{0,20}}, or name the servers that each is about."
)


def _is_checkable(pattern: str) -> bool:
    return always_checkable(pattern, LONGEST)


def _slow(pattern: str) -> Iterator[str]:
    if not _is_checkable(pattern):
        yield f"holds the pattern {pattern}, which may take too long: bound its repeats, as in {{0,90}}"


def _validate_pattern(pattern: str) -> str:
    for why in _slow(pattern):
        raise ValueError(why)
    return pattern


def _schema(schema: Any) -> dict[str, Json]:
    """A JSON Schema on the arguments, and one that can be checked whatever they are."""
    if not isinstance(schema, dict):
        raise ValueError("must be a JSON Schema")
    why = schema_error(json.dumps(schema, sort_keys=True))
    found = [f"cannot be used: {why}"] if why else []
    found += [slow for pattern in patterns_of(schema) for slow in _slow(pattern)]
    if found:
        raise Wrong(*(((), what) for what in found))
    return schema


def _tool(pattern: str) -> str:
    if pattern != "*" and "." not in pattern:
        raise ValueError(f"must be a pattern on server.tool: write “*.{pattern}” for every server")
    return pattern


PersonId = Annotated[Text, fitting(PERSON.fullmatch, "must be a member ID (U…), not a name")]
GroupId = Annotated[Text, fitting(GROUP.fullmatch, "must be the ID of a user group (S…), not a name")]
ChannelId = Annotated[Text, fitting(CHANNEL.fullmatch, "must be a channel ID (C…), not a name")]
ToolPatterns = Annotated[
    tuple[Annotated[Text, AfterValidator(_tool)], ...],
    fitting(bool, 'names no tools: write ["*"] for all'),
]


class WhenSection(Section):
    """What the arguments have to look like for a rule to hold."""

    schema_: Annotated[dict[str, Json] | None, PlainValidator(_schema)] = Field(None, alias="schema")
    text: Maybe[Annotated[Text, AfterValidator(_validate_pattern)]] = None

    def when(self) -> dict[str, Any]:
        return {"schema": self.schema_, "texts": (self.text,) if self.text else ()}


class ApproversSection(Section):
    users: tuple[PersonId, ...] = ()
    groups: tuple[GroupId, ...] = ()
    count: Annotated[int, within(1, 20, whole=True)] = 1

    @model_validator(mode="after")
    def _enough(self) -> ApproversSection:
        users = len(set(self.users))
        if not users and not self.groups and self.count < 2:
            raise ValueError("name nobody: give users, groups, or a count of 2 or more other people")
        if users and not self.groups and self.count > users:
            raise ValueError(f"can never be enough: {self.count} are needed and only {users} named")
        return self

    def made(self) -> Approvers:
        return Approvers(frozenset(self.users), frozenset(self.groups), self.count)


class StricterSection(Section):
    """What every rule may say; all of it can only make the answer stricter."""

    deny: bool = False
    risk: Maybe[Risk] = None
    approvers: Maybe[ApproversSection] = None
    channels: Annotated[
        tuple[ChannelId, ...], fitting(bool, "is empty: to forbid it everywhere write `deny: true`")
    ] = ()
    ttl: Annotated[float | None, within(1, DAY)] = None
    private: bool = False

    @model_validator(mode="after")
    def _seen_by_approvers(self) -> StricterSection:
        if self.private and self.approvers:
            why = "a private card is seen by the requester alone, so remove one of them"
            raise Wrong((("private",), f"cannot stand beside approvers: {why}"))
        return self

    def stricter(self) -> dict[str, Any]:
        said = {key: getattr(self, key) for key in ("deny", "risk", "channels", "ttl", "private")}
        return {**said, "approvers": self.approvers.made() if self.approvers else None}


class RaiseSection(WhenSection):
    cls: CallClass = Field(alias="class")

    @model_validator(mode="after")
    def _conditional(self) -> RaiseSection:
        if self.schema_ is None and self.text is None:
            raise ValueError("needs `schema` or `text`: when is the class raised?")
        return self


class ToolSection(StricterSection):
    cls: Maybe[CallClass] = Field(None, alias="class")
    raise_if: tuple[RaiseSection, ...] = ()


class ServerRules(Section):
    """What the policy says of one server and its tools."""

    trust: Maybe[Trust] = None
    tools: dict[str, ToolSection] = Field(default_factory=dict)

    def rules(self, server: str) -> Iterator[Rule]:
        for pattern, tool in self.tools.items():
            name = f"{server}.{pattern}"
            said: dict[str, Any] = {"known": tool.cls} if server == ANY else {"cls": tool.cls}
            yield Rule(name=name, tools=(name,), **said, **tool.stricter())
            for one in tool.raise_if:
                yield Rule(name=f"{name} raise_if", tools=(name,), at_least=one.cls, **one.when())


class GatedSection(WhenSection):
    """An operator's addition to the always-gate list."""

    name: Text
    tools: ToolPatterns

    def rule(self) -> Rule:
        return Rule(name=self.name, tools=self.tools, always=True, **self.when())


class RuleSection(WhenSection, StricterSection):
    name: Text
    tools: ToolPatterns
    at_least: Maybe[CallClass] = None

    def rule(self) -> Rule:
        own: dict[str, Any] = {"name": self.name, "tools": self.tools, "at_least": self.at_least}
        return Rule(**own, **self.when(), **self.stricter())


class ReviewSection(Section):
    """Where a person looks before or after a call. `triggerPhase`: see docs/promises.md REVIEW-03."""

    name: Text
    enabled: bool = True
    trigger_phase: Maybe[Phase] = None
    triggerPhase: Maybe[Phase] = None
    tools: ToolPatterns = ("*",)
    steps: Annotated[
        tuple[Text, ...], fitting(bool, 'names no steps: leave it out, or write ["*"] for all')
    ] = ("*",)

    @model_validator(mode="after")
    def _complete(self) -> ReviewSection:
        if not self.model_fields_set & {"tools", "steps"}:
            raise ValueError('needs `tools` or `steps`: write `tools: ["*"]` for every call')
        if self.trigger_phase and self.triggerPhase:
            raise Wrong((("triggerPhase",), "is the same as trigger_phase: write one of them"))
        if not self.trigger_phase and not self.triggerPhase:
            raise ValueError("needs `trigger_phase`")
        return self

    def review(self) -> Review:
        phase = self.trigger_phase or self.triggerPhase
        assert phase is not None, "refused when it was read"
        return Review(self.name, phase, self.enabled, self.tools, self.steps)


class PolicySection(Section):
    """The whole file."""

    version: Annotated[int, PlainValidator(_version)] = 1
    admins: tuple[PersonId, ...] = ()
    listed_bots: tuple[PersonId, ...] = ()
    channels: tuple[ChannelId, ...] = ()
    always_gate: tuple[GatedSection, ...] = ()
    servers: dict[str, ServerRules] = Field(default_factory=dict)
    rules: tuple[RuleSection, ...] = ()
    reviews: tuple[ReviewSection, ...] = ()

    @model_validator(mode="after")
    def _each_server_is_trusted_by_name(self) -> PolicySection:
        if ANY in self.servers and self.servers[ANY].trust:
            why = "cannot be given to every server at once: name each server"
            raise Wrong((("servers", ANY, "trust"), why))
        return self


def load_policy(path: Path) -> Policy:
    """The policy in the file, and before it the always-gate list that comes along.

    Its version is a hash over the bytes of the file. Raises ConfigError with everything that is wrong.
    """
    read = Document.read(path).validated(PolicySection)
    written = (
        *(one.rule() for one in read.always_gate),
        *(rule for name, server in read.servers.items() for rule in server.rules(name)),
        *(one.rule() for one in read.rules),
    )
    rules = (rule for one in written for rule in with_composed(one, _is_checkable))
    policy = Policy(
        version=f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}",
        rules=(*ALWAYS, *rules),
        admins=frozenset(read.admins),
        listed_bots=frozenset(read.listed_bots),
        channels=read.channels,
        trust={name: server.trust for name, server in read.servers.items() if server.trust},
        reviews=tuple(one.review() for one in read.reviews),
    )
    if slow := [*_slow_together([rule for rule in policy.rules if rule not in ALWAYS])]:
        raise ConfigError([f"{path.name}: {why}" for why in slow])
    return policy


def _slow_together(rules: Sequence[Rule]) -> Iterator[str]:
    """Why the rules about one server are too much for one call, where they are: all are held against it at once."""
    about = [({tool.partition(".")[0] for tool in rule.tools}, rule) for rule in rules]
    for server in sorted({ANY}.union(*(named for named, _ in about))):
        held = [rule for named, rule in about if any(fnmatchcase(server, one) for one in named)]
        patterns = {text for rule in held for text in (*rule.texts, *patterns_of(rule.schema))}
        if not are_checkable_together(patterns, LONGEST):
            which = "any server" if server == ANY else f"“{server}”"
            yield TOGETHER.format(server=which)
            return


def trusted(servers: Sequence[ServerConfig], policy: Policy) -> tuple[ServerConfig, ...]:
    """The servers with the trust that the policy gives them; else as they were configured."""
    return tuple(replace(server, trust=policy.trust.get(server.name, server.trust)) for server in servers)


def rules_about_nothing(policy: Policy, tools: Tools) -> list[str]:
    """The operator's rules and reviews that name a server or a tool that is not there, which a typing error can make
    of a `deny`. Of a server that is not ready nothing is known. Rules for any server (`*.query`) may be about none of
    today's: they are told where a tool has nearly that name."""
    names = [spec.full_name for spec in tools.specs()]
    servers = {status.name: status.state for status in tools.servers()}
    wrong = [
        f"The policy names the server “{name}” and there is none: correct the name, or remove it."
        for name in policy.trust
        if name not in servers
    ]
    own = [rule for rule in policy.rules if rule not in ALWAYS and not rule.name.startswith(f"{ANY}.")]
    for what, named in (("rule", own), ("review", policy.reviews)):
        for pattern in dict.fromkeys(pattern for one in named for pattern in one.tools):
            fits = any(fnmatchcase(name, pattern) for name in names)
            if not fits and (why := _missing(pattern, names, servers)):
                wrong.append(
                    f"The policy has a {what} for “{pattern}” and {why}: correct the name, or remove the {what}."
                )
    return wrong


def log_rules_about_nothing(policy: Policy, tools: Tools) -> None:
    """Say at a start what the doctor would say."""
    for sentence in rules_about_nothing(policy, tools):
        log.warning("%s", sentence)


def _missing(pattern: str, names: Sequence[str], servers: Mapping[str, str]) -> str:
    """Why a pattern that fits no tool seems to be wrong; "" where it need not be."""
    server, _, tool = pattern.partition(".")
    if server == ANY:
        close = get_close_matches(tool, {name.partition(".")[2] for name in names}, 1, NEARLY)
        return f"there is no such tool, but “{close[0]}”" if close else ""
    states = [state for name, state in servers.items() if fnmatchcase(name, server)]
    if not states:
        return f"there is no server “{server}”"
    return "there is no such tool" if all(state == "ready" for state in states) else ""
