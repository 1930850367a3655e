"""May it run, and who decides? The strictest rule wins, and every answer carries its reason and its rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

from gate.action import Approvers, Class, Json, Risk, Verdict
from gate.reviews import Phase, Review
from gate.tool import Hints, ToolSpec, Trust

Matches = Callable[[Mapping[str, Json], Json], bool]  # does the value keep this JSON Schema?

CLASS_ORDER = (Class.READ, Class.WRITE, Class.UNKNOWN, Class.DESTRUCTIVE)
NOTHING_SAID = ("no rule", "no annotations")  # the rules of `_claimed` where a server gave no hint
RISK_ORDER = (Risk.LOW, Risk.MEDIUM, Risk.HIGH, Risk.CRITICAL)
RISK_OF = {
    Class.READ: Risk.LOW,
    Class.WRITE: Risk.MEDIUM,
    Class.UNKNOWN: Risk.HIGH,
    Class.DESTRUCTIVE: Risk.HIGH,
}
# A verb in a name is a second opinion on what a server claims, never a source of truth (mcp.md section 3).
CHANGING = frozenset(
    "add append apply archive assign ban book cancel close comment commit connect convert copy create deploy "
    "disable disconnect edit enable encrypt decrypt execute export fill import insert install invite kick "
    "lock make merge modify move mute open patch post publish push put rebase rename reopen reply reset "
    "restore resume revert rotate run schedule send set share start stop submit sync tag transfer transition "
    "trigger unlock unwatch update upload upsert watch write".split()
)
DESTROYING = frozenset(
    "delete destroy drop erase format kill purge remove revoke rm truncate uninstall wipe".split()
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the operator's policy. Everything but `cls` and `known` can only make the answer stricter."""

    name: str
    tools: tuple[str, ...]  # patterns on "server.tool"
    cls: Class | None = None  # may lower: this is the operator speaking
    known: Class | None = (
        None  # of a tool of this name on any server that says nothing of it; else only raises
    )
    at_least: Class | None = None
    schema: Mapping[str, Json] | None = None  # holds only where the arguments keep this schema
    texts: tuple[str, ...] = ()  # and where each of these patterns is found in some text among the arguments
    risk: Risk | None = None
    deny: bool = False
    always: bool = False  # on the always-gate list
    approvers: Approvers | None = None
    channels: tuple[str, ...] = ()  # the only channels it may be used in
    ttl: float | None = None  # seconds
    private: bool = False

    def names(self, full_name: str) -> bool:
        return _named(self.tools, full_name)

    def holds(self, full_name: str, args: Json, matches: Matches) -> bool:
        """Whether this rule is about this call."""
        return (
            self.names(full_name)
            and all(any(re.search(pattern, text) for text in texts_of(args)) for pattern in self.texts)
            and (self.schema is None or matches(self.schema, args))
        )


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


@dataclass(frozen=True, slots=True)
class Decision:
    """What stands between this call and its tool, and why."""

    verdict: Verdict
    cls: Class
    risk: Risk
    reason: str
    rule: str
    approvers: Approvers = Approvers()
    always_gated: bool = False
    ttl: float | None = None
    private: bool = False


def texts_of(args: Json) -> Iterator[str]:
    """Every text among the arguments, names of fields included, at whatever depth."""
    left = [args]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += (*value.keys(), *value.values())
        elif isinstance(value, list):
            left += value


def words(name: str) -> list[str]:
    """The words of a tool's name: `mergePull_request` gives merge, pull, request."""
    return [w.lower() for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def _claimed(spec: ToolSpec) -> tuple[Class, str, str]:
    """The class as far as the server may be believed, with reason and rule."""
    hints, named = spec.hints, set(words(spec.name))
    destroys = bool(hints.destructive) and hints.read_only is not True
    if spec.changed:
        cls = Class.DESTRUCTIVE if destroys or named & DESTROYING else Class.UNKNOWN
        return cls, "its definition changed and no operator has read it since", "changed definition"
    if spec.trust in (Trust.BUNDLED, Trust.REVIEWED):
        return _believed(spec)
    if named & DESTROYING or destroys:
        return Class.DESTRUCTIVE, "its name or its server says that it destroys", "claims raise"
    if spec.trust is Trust.UNTRUSTED:
        return Class.UNKNOWN, "nothing its server says is believed", "untrusted server"
    if hints.read_only and not named & CHANGING and not hints.open_world:
        return Class.READ, "its server says it only reads, and its name agrees", "declared read-only"
    if hints.read_only is False and hints.destructive is False:
        return Class.WRITE, "its server says it changes something and destroys nothing", "declared write"
    return Class.UNKNOWN, "not reviewed by an operator", "no rule"


def _believed(spec: ToolSpec) -> tuple[Class, str, str]:
    """The class of a tool whose server is bundled or reviewed."""
    if spec.recipe.cls is not None:
        return spec.recipe.cls, f"the {spec.trust} server says so", "recipe"
    if spec.hints.read_only:
        return Class.READ, f"the {spec.trust} server says it only reads", "annotations"
    if spec.hints.read_only is None:
        return Class.UNKNOWN, "its server says nothing about it", "no annotations"
    if spec.hints.destructive is not False:
        return Class.DESTRUCTIVE, f"the {spec.trust} server says it may destroy", "annotations"
    return Class.WRITE, f"the {spec.trust} server says it changes something", "annotations"


def _highest(values: Iterable[Class]) -> Class:
    return max(values, key=CLASS_ORDER.index)


def decide(
    policy: Policy, spec: ToolSpec, args: Json, channel: str, matches: Matches, asked: Risk | None = None
) -> Decision:
    """What this call needs before it may run.

    `asked` is the risk its proposer gave: it may raise the risk, never lower it. A recipe on a server that is
    neither bundled nor reviewed comes from the operator's manifests, so its class counts like a rule's.
    """
    # Also without what the recipe bound: the same call must never be judged milder for being looked at.
    shapes = [args, *_unbound(spec, args)]
    known = (*policy.rules, *_of_recipe(spec))
    rules = [r for r in known if any(r.holds(spec.full_name, shape, matches) for shape in shapes)]
    cls, reason, rule = _classify(spec, rules)
    for raising in rules:
        if raising.at_least and CLASS_ORDER.index(raising.at_least) > CLASS_ORDER.index(cls):
            cls, reason, rule = raising.at_least, f"the rule “{raising.name}” asks for it", raising.name
    always = None if _only_reads(spec, cls) else next((r for r in rules if r.always), None)
    if always:
        cls, reason, rule = Class.DESTRUCTIVE, f"“{always.name}” is always gated", always.name
    refusal = _refusal(policy, spec, rules, channel)
    if refusal:
        return Decision(Verdict.DENY, cls, _risk(spec, cls, rules, asked), *refusal)
    return Decision(
        verdict=VERDICTS[cls],
        cls=cls,
        risk=_risk(spec, cls, rules, asked),
        reason=reason,
        rule=rule,
        approvers=_approvers(rules),
        always_gated=always is not None,
        ttl=min((r.ttl for r in rules if r.ttl), default=None),
        private=any(r.private for r in rules),
    )


def _of_recipe(spec: ToolSpec) -> Iterator[Rule]:
    """The argument rules of a recipe. They only raise, so they count whoever wrote them."""
    for found in spec.recipe.raises:
        texts = (found.text,) if found.text else ()
        yield Rule("its recipe", (spec.full_name,), at_least=found.cls, schema=found.schema, texts=texts)


def _unbound(spec: ToolSpec, args: Json) -> list[Json]:
    """The arguments as they were asked for, where the recipe has added some."""
    if not isinstance(args, Mapping) or not args.keys() & spec.recipe.bind.keys():
        return []
    return [{key: value for key, value in args.items() if key not in spec.recipe.bind}]


def _only_reads(spec: ToolSpec, cls: Class) -> bool:
    """Whether the always-gate list spares this call. The operator's word alone does not take a tool off it
    whose name says that it destroys: a server that is believed has to say so too."""
    return cls is Class.READ and (not set(words(spec.name)) & DESTROYING or _claimed(spec)[0] is Class.READ)


VERDICTS = {
    Class.READ: Verdict.RUN,
    Class.WRITE: Verdict.CONFIRM,
    Class.UNKNOWN: Verdict.CONFIRM,
    Class.DESTRUCTIVE: Verdict.TYPED,
}


def _classify(spec: ToolSpec, rules: Sequence[Rule]) -> tuple[Class, str, str]:
    """First found: the operator's class (the most exact pattern, then the strictest), else the server's."""
    stated = [r for r in rules if r.cls]
    if not stated or spec.changed:
        cls, reason, rule = _by_name(spec, rules)
        if spec.changed and stated:  # a lowered class was given to another definition
            return _highest([cls, *(r.cls for r in stated if r.cls)]), reason, rule
        return cls, reason, rule
    exact = [r for r in stated if spec.full_name in r.tools] or stated
    best = max(exact, key=lambda r: CLASS_ORDER.index(r.cls or Class.READ))
    return best.cls or Class.UNKNOWN, f"the operator's policy says so (“{best.name}”)", best.name


def _by_name(spec: ToolSpec, rules: Sequence[Rule]) -> tuple[Class, str, str]:
    """What the server claims; where it claims nothing, what is known of tools of this name.

    A name is chosen by the server, so beside any claim, and for a server that is not believed, it only raises.
    """
    claimed = _claimed(spec)
    known = [r for r in rules if r.known]
    if not known:
        return claimed
    best = max(known, key=lambda r: CLASS_ORDER.index(r.known or Class.READ))
    named = best.known or Class.UNKNOWN
    silent = claimed[2] in NOTHING_SAID and spec.hints == Hints() and spec.recipe.cls is None
    if not silent and CLASS_ORDER.index(named) <= CLASS_ORDER.index(claimed[0]):
        return claimed
    return named, f"the policy says so of every tool of this name (“{best.name}”)", best.name


def _refusal(policy: Policy, spec: ToolSpec, rules: Sequence[Rule], channel: str) -> tuple[str, str] | None:
    """Reason and rule of a no, or None."""
    denied = next((r for r in rules if r.deny), None)
    if denied:
        return f"the policy does not allow {spec.full_name} (“{denied.name}”)", denied.name
    for rule in rules:
        if rule.channels and channel not in rule.channels:
            return f"{spec.full_name} may not be used in this channel (“{rule.name}”)", rule.name
    if policy.channels and channel not in policy.channels:
        return "the policy does not allow me to act in this channel", "channels"
    private, approvers = next((r for r in rules if r.private), None), _approvers(rules)
    if private and (approvers.named or approvers.needed > 1):
        return f"“{private.name}” hides the card from the approvers that the policy wants", private.name
    return None


def _risk(spec: ToolSpec, cls: Class, rules: Sequence[Rule], asked: Risk | None) -> Risk:
    candidates = [RISK_OF[cls], *(r.risk for r in rules if r.risk)]
    if spec.recipe.risk:
        candidates.append(spec.recipe.risk)
    if asked:
        candidates.append(asked)
    return max(candidates, key=RISK_ORDER.index)


def _approvers(rules: Sequence[Rule]) -> Approvers:
    """Where several rules name approvers, all of them may decide and the highest number counts."""
    named = [r.approvers for r in rules if r.approvers]
    if not named:
        return Approvers()
    return Approvers(
        users=frozenset().union(*(a.users for a in named)),
        groups=frozenset().union(*(a.groups for a in named)),
        needed=max(a.needed for a in named),
    )
