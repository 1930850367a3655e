"""What the operator wrote: the policy and its rules, as values that calls are held against in gate/rules/policy.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

from gate.arguments.declared_targets import Targets
from gate.arguments.forms_apart import texts_of
from gate.arguments.named_paths import may_say, spares_places
from gate.arguments.pattern_search import OF_ENDS, searching
from gate.rules.action import CallClass, Json, Risk
from gate.rules.approvers import Approvers
from gate.rules.reviews import Phase, Review
from gate.rules.tool import Trust

About = Callable[[str, Json], bool]
Matches = Callable[[Mapping[str, Json], Json], bool]  # does the value keep this JSON Schema?


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the operator's policy. Everything but `cls` and `known` can only make the answer stricter."""

    name: str
    tools: tuple[str, ...]  # patterns on "server.tool"
    about: About | None = None  # or of whose full name and arguments this holds
    cls: CallClass | None = None  # may lower: this is the operator speaking
    known: CallClass | None = None  # of a tool so named of which its server says nothing; else only raises
    at_least: CallClass | None = None
    schema: Mapping[str, Json] | None = None  # holds only where the arguments keep this schema
    texts: tuple[str, ...] = ()  # and where each of these patterns is found in some text among the arguments
    risk: Risk | None = None
    deny: bool = False
    always: bool = False  # on the always-gate list
    reads: bool = False  # and there also for reads of paths that have such a text
    approvers: Approvers | None = None
    channels: tuple[str, ...] = ()  # the only channels it may be used in
    ttl: float | None = None  # seconds
    private: bool = False
    as_given: bool = False  # held against the arguments as they are written alone, as their server takes them
    hides: tuple[str, ...] = ()  # the arguments that are not what they say then; empty: any

    def names(self, full_name: str, args: Json = None) -> bool:
        """Whether it is about calls of this tool; with arguments, also about this one because of their names."""
        return _named(self.tools, full_name) or (self.about is not None and self.about(full_name, args))

    def holds(self, full_name: str, args: Json, matches: Matches) -> bool:
        """Whether this rule is about this call."""
        return self.names(full_name, args) and self.fits(args, matches)

    def fits(self, args: Json, matches: Matches) -> bool:
        """Whether this rule is about a call with these arguments of a tool that it names."""
        return all(any(map(searching(pattern), texts_of(args))) for pattern in self.texts) and (
            self.schema is None or matches(self.schema, args)
        )

    @property
    def only_gates(self) -> bool:
        """Whether it does nothing but put calls with such texts on the always-gate list, and searches all of them."""
        least = CallClass.DESTRUCTIVE
        gating = Rule(self.name, self.tools, self.about, always=True, at_least=least, texts=self.texts)
        return self == gating and bool(self.texts) and OF_ENDS.keys().isdisjoint(self.texts)

    def spares_places(self, targets: Targets | None) -> bool:
        """Whether it is about whatever does not lie below some path from the root of the disk, or below one that begins
        with the name of one of several folders: it is held against paths that begin so, and against no others."""
        roots = targets.roots if targets and len(targets.roots) > 1 else ()
        return self.schema is not None and spares_places(self.schema, [root.name for root in roots])

    @property
    def asks_more_than_a_phrase(self) -> bool:
        """Whether it wants more than a typed phrase, because of what the arguments of a call say."""
        stricter = self.deny or self.private or self.approvers is not None or bool(self.channels)
        return stricter and (bool(self.texts) or self.schema is not None)

    def may_hide(self, other: Rule) -> bool:
        """Whether the arguments that this rule takes for something else are those that the other one is about."""
        return not self.hides or may_say(other.schema, self.hides)

    def keeps_from_reading(self, channel: str) -> bool:
        """Whether a read that it is about, because of its arguments, is not simply answered in this channel."""
        stricter = self.at_least not in (None, CallClass.READ) or self.deny or self.reads or self.private
        elsewhere = bool(self.channels) and channel not in self.channels
        return (stricter or elsewhere) and (bool(self.texts) or self.schema is not None)

    def reaches(self, full_name: str, paths: Sequence[str]) -> bool:
        """Whether this rule is about what a read finds at these paths."""
        if not self.reads or not self.names(full_name):
            return False
        return any(any(map(searching(pattern), paths)) for pattern in self.texts)


@lru_cache(maxsize=65_536)  # every rule is asked for each call, and tools are few
def _named(patterns: tuple[str, ...], full_name: str) -> bool:
    return any(fnmatchcase(full_name, pattern) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator wrote, and its version: a hash over the file."""

    version: str
    rules: tuple[Rule, ...] = ()
    admins: frozenset[str] = frozenset()
    listed_bots: frozenset[str] = frozenset()  # may propose reads; can never decide
    channels: tuple[str, ...] = ()  # empty: everywhere
    trust: Mapping[str, Trust] = field(default_factory=dict)
    reviews: tuple[Review, ...] = ()

    def review(self, phase: Phase, full_name: str, step: Sequence[str] = ()) -> str:
        """The name of the first review that wants this call, or its result, looked at by a person; "" for none."""
        return next((one.name for one in self.reviews if one.holds(phase, full_name, step)), "")
