"""May it run, and who decides? The strictest rule wins, and every answer carries its reason and its rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase

from gate.action import Action, Approvers, Class, Json, Person, Risk, Verdict, Vote
from gate.tool import ToolSpec, Trust

Matches = Callable[[Mapping[str, Json], Json], bool]  # does the value keep this JSON Schema?

CLASS_ORDER = (Class.READ, Class.WRITE, Class.UNKNOWN, Class.DESTRUCTIVE)
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
    """One line of the operator's policy. Everything but `cls` can only make the answer stricter."""

    name: str
    tools: tuple[str, ...]  # patterns on "server.tool"
    cls: Class | None = None  # may lower: this is the operator speaking
    at_least: Class | None = None
    schema: Mapping[str, Json] | None = None  # holds only where the arguments keep this schema
    risk: Risk | None = None
    deny: bool = False
    always: bool = False  # on the always-gate list
    approvers: Approvers | None = None
    channels: tuple[str, ...] = ()  # the only channels it may be used in
    ttl: float | None = None  # seconds
    private: bool = False

    def names(self, full_name: str) -> bool:
        return any(fnmatchcase(full_name, pattern) for pattern in self.tools)


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator wrote, and its version: a hash over the file."""

    version: str
    rules: tuple[Rule, ...] = ()
    admins: frozenset[str] = frozenset()
    listed_bots: frozenset[str] = frozenset()  # may propose reads; can never decide
    channels: tuple[str, ...] = ()  # empty: everywhere
    trust: Mapping[str, Trust] = field(default_factory=dict)


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
    rules = [
        r for r in policy.rules if r.names(spec.full_name) and (r.schema is None or matches(r.schema, args))
    ]
    cls, reason, rule = _classify(spec, rules)
    for raising in rules:
        if raising.at_least and CLASS_ORDER.index(raising.at_least) > CLASS_ORDER.index(cls):
            cls, reason, rule = raising.at_least, f"the rule “{raising.name}” asks for it", raising.name
    always = next((r for r in rules if r.always), None)
    if always and cls is not Class.READ:
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
        always_gated=always is not None and cls is not Class.READ,
        ttl=min((r.ttl for r in rules if r.ttl), default=None),
        private=any(r.private for r in rules),
    )


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
        cls, reason, rule = _claimed(spec)
        if spec.changed and stated:  # a lowered class was given to another definition
            return _highest([cls, *(r.cls for r in stated if r.cls)]), reason, rule
        return cls, reason, rule
    exact = [r for r in stated if spec.full_name in r.tools] or stated
    best = max(exact, key=lambda r: CLASS_ORDER.index(r.cls or Class.READ))
    return best.cls or Class.UNKNOWN, f"the operator's policy says so (“{best.name}”)", best.name


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


class Verb(StrEnum):
    """What a person may want to do with an action."""

    CONFIRM = "confirm"
    EDIT = "edit"
    CANCEL = "cancel"
    REJECT = "reject"
    RENEW = "ask again"
    SETTLE = "settle"
    UNDO = "undo"
    LOOK = "look at"


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether this person may do this, and the sentence that says why not."""

    allowed: bool
    reason: str = ""


YES = Ruling(True)


def account(person: Person | None) -> Ruling:
    """Whether this account may act at all. Without facts the answer is no."""
    if person is None:
        return Ruling(False, "I could not check your account just now. Nothing changed: please try again.")
    if person.is_bot:
        return Ruling(False, "Bots and apps cannot decide anything here.")
    if person.is_deleted:
        return Ruling(False, "This account is deactivated.")
    if person.is_stranger:
        return Ruling(False, "Only members of this workspace can do this, not people from a connected one.")
    if person.is_guest:
        return Ruling(False, "Guests cannot do this. Ask a full member of the workspace.")
    return YES


def may(policy: Policy, verb: Verb, action: Action, person: Person | None) -> Ruling:
    """Whether `person` may do `verb` with `action`, as the policy stands now."""
    usable = account(person)
    if not usable.allowed or person is None:
        return usable
    if verb is Verb.LOOK:
        return YES
    own, admin = person.id == action.requester, person.id in policy.admins
    if verb is Verb.CONFIRM:
        return _may_confirm(action, person)
    if verb is Verb.REJECT:
        rejecting = own or is_approver(action.approvers, person) or admin
        return YES if rejecting else Ruling(False, f"Only {deciders(action)} can reject this.")
    asker = f"<@{action.requester}>, who asked for this,"
    if verb in (Verb.EDIT, Verb.RENEW):
        return YES if own else Ruling(False, f"Only {asker} can {verb} it.")
    if own or admin or (verb is Verb.SETTLE and is_approver(action.approvers, person)):
        return YES
    return Ruling(False, f"Only {asker} or an admin can {verb} it.")


def _may_confirm(action: Action, person: Person) -> Ruling:
    if action.approvers.named:
        if person.id == action.requester:
            return Ruling(False, f"You asked for this, so {deciders(action)} must confirm it.")
        if is_approver(action.approvers, person):
            return YES
    elif action.approvers.needed > 1 and person.id != action.requester:
        return YES  # N people without names: any full member but the requester
    elif action.approvers.needed <= 1 and person.id == action.requester:
        return YES
    return Ruling(False, f"Only {deciders(action)} can confirm this.")


def is_approver(approvers: Approvers, person: Person) -> bool:
    return person.id in approvers.users or bool(approvers.groups & person.groups)


def deciders(action: Action) -> str:
    """Who may decide, in words; mentions in Slack's form."""
    if not action.approvers.named:
        if action.approvers.needed > 1:
            return f"{action.approvers.needed} other members of this workspace"
        return f"<@{action.requester}>"
    named = [f"<@{u}>" for u in sorted(action.approvers.users)]
    named += [f"<!subteam^{g}>" for g in sorted(action.approvers.groups)]
    count = f"{action.approvers.needed} of " if action.approvers.needed > 1 else ""
    return count + (named[0] if len(named) == 1 else ", ".join(named[:-1]) + " or " + named[-1])


def enough(action: Action, votes: Sequence[Vote]) -> bool:
    """Whether these votes on the current version are the yes that the action needs."""
    people = {v.person for v in votes if v.yes and v.version == action.version}
    if action.approvers.named or action.approvers.needed > 1:
        people.discard(action.requester)
    return len(people) >= max(1, action.approvers.needed)
