"""May it run, and who decides? The strictest rule wins, and every answer carries its reason and its rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gate.arguments import command_tools
from gate.arguments.call_forms import CallForms, counted_forms
from gate.arguments.canonical_paths import has_broken_path
from gate.arguments.declared_targets import Targets
from gate.arguments.deleting_tools import deletes_files, drops_tables
from gate.arguments.forms_apart import texts_of
from gate.arguments.identifiers import Ids, too_many_ids
from gate.arguments.pattern_search import (
    MOST_SEARCHED,
    as_long_together,
    found_in_any_case,
    found_patterns,
)
from gate.arguments.target_bounds import has_names_beyond, is_beyond_search, too_many_targets
from gate.arguments.target_forms import content_paths, words_beside
from gate.arguments.tool_names import destroys, has_acting_word, has_changing_verb, only_reads, shows_change
from gate.arguments.tool_names import words as words
from gate.arguments.undeclared_arguments import undeclared_argument
from gate.rules.action import CallClass, Decision, Json, Risk, Verdict
from gate.rules.approvers import Approvers, combined
from gate.rules.checks_in_a_row import RULE_STEPS, checked_in_a_row
from gate.rules.policy_reasons import (
    BROKEN_PATH,
    ELSEWHERE,
    FOLLOWS_LINKS,
    HIDDEN_CARD,
    TOO_FEW,
    TOO_MANY,
    UNDECLARED,
)
from gate.rules.policy_rules import Matches as Matches
from gate.rules.policy_rules import Policy as Policy
from gate.rules.policy_rules import Rule as Rule
from gate.rules.tool import Hints, ToolSpec, Trust

CLASS_ORDER = (CallClass.READ, CallClass.WRITE, CallClass.UNKNOWN, CallClass.DESTRUCTIVE)
CLAIMED = "claimed read-only"  # the rule where an admin's word that a tool only reads is all that is missing
NO_RULE = "no rule"
UNCLASSIFIED = (NO_RULE, CLAIMED, "no annotations")  # the rules of `_claimed` where nothing raises the class
# Texts of lists and forms that are told apart for one call, for all rules together: 0.15 s. A rule that is left then
# counts as holding
MOST_TOLD_APART = 100_000
RISK_ORDER = (Risk.LOW, Risk.MEDIUM, Risk.HIGH, Risk.CRITICAL)
RISK_OF = dict(zip(CLASS_ORDER, (Risk.LOW, Risk.MEDIUM, Risk.HIGH, Risk.HIGH), strict=True))


# In place of those that only gate, where there is more text than is searched for them
UNSEARCHED = Rule("long commands", ("*",), always=True, at_least=CallClass.DESTRUCTIVE)
# Where it is more work to hold rules against what files lie in; nobody says what that needs
BEYOND_HOLDERS = Rule("more than is held against what files lie in", ("*",))
# Where nobody knows what the arguments say; where a rule wants more than the phrase that these ask for, it is refused
BEYOND_SEARCH = Rule("more than is searched", ("*",), always=True, at_least=CallClass.DESTRUCTIVE)
BEYOND_SCHEMAS = Rule("more than schemas see", ("*",))  # which asks for nothing by itself


def is_only_claimed(decision: Decision) -> bool:
    """Whether a call asks only because nobody has agreed with its server that the tool only reads."""
    return decision.cls is CallClass.UNKNOWN and decision.rule == CLAIMED


def without_claim_offer(decision: Decision) -> Decision:
    """The decision on a call on whose card nobody may say that the tool only reads."""
    return replace(decision, rule=NO_RULE) if is_only_claimed(decision) else decision


Found = tuple[CallClass, str, str]  # class, reason, rule


def _claimed(spec: ToolSpec) -> Found:
    """The class as far as the server may be believed. What it says itself never lowers what its name says."""
    said = _claimed_hints(spec)
    if spec.trust is Trust.BUNDLED or (spec.recipe.cls and not spec.own_recipe and said[2] == "recipe"):
        return said
    if destroys(spec.name):
        return _stricter(said, (CallClass.DESTRUCTIVE, "its name says that it destroys", "its name"))
    if said[0] is CallClass.READ and has_changing_verb(spec.name):
        return CallClass.WRITE, "its server says it only reads, but its name says otherwise", "its name"
    return said


def _claimed_hints(spec: ToolSpec) -> Found:
    """What the server says, as far as it is believed, whatever the name of the tool."""
    if spec.believed:
        return _believed(spec)
    if spec.unread or spec.trust is Trust.UNTRUSTED:
        return _stricter(_stricter(_nothing_believed(spec), _believed(spec)), _hinted(spec))
    found = _unread(spec)
    return _stricter(found, (spec.recipe.cls, "its recipe says so", "recipe")) if spec.recipe.cls else found


def _nothing_believed(spec: ToolSpec) -> Found:
    if spec.unread:
        return CallClass.UNKNOWN, "no operator has read its definition as it is now", "changed definition"
    return CallClass.UNKNOWN, "nothing its server says is believed", "untrusted server"


def _unread(spec: ToolSpec) -> Found:
    """The class of a tool that nobody had to read: a claim to only read has to agree with all its other words."""
    hints = spec.hints
    if hints.destructive and not hints.read_only:
        return CallClass.DESTRUCTIVE, "its server says that it destroys", "claims raise"
    shown = spec.shows_change
    if shows_change(spec.title, spec.description, spec.schema) if shown is None else shown:
        return CallClass.UNKNOWN, "not reviewed by an operator", "its description"
    if hints.read_only and not hints.open_world and only_reads(spec.name):
        return CallClass.READ, "its server says it only reads, and its words agree", "declared read-only"
    if hints.read_only is False and hints.destructive is False:
        return CallClass.WRITE, "its server says it changes something and destroys nothing", "declared write"
    if hints.read_only and not (hints.open_world or hints.destructive or has_acting_word(spec.name)):
        return CallClass.UNKNOWN, "its server says it only reads, and nobody has checked that", CLAIMED
    return CallClass.UNKNOWN, "not reviewed by an operator", NO_RULE


def _believed(spec: ToolSpec) -> Found:
    """The class of a tool whose words are believed: it is ours, or was reviewed."""
    if spec.recipe.cls is not None:
        return spec.recipe.cls, f"the {_class_source(spec)} server says so", "recipe"
    return _hinted(spec)


def _hinted(spec: ToolSpec) -> Found:
    hints, whose = spec.hints, _class_source(spec)
    if hints.read_only:
        return CallClass.READ, f"the {whose} server says it only reads", "annotations"
    if hints.read_only is None and not hints.destructive:
        return CallClass.UNKNOWN, "its server says nothing about it", "no annotations"
    if hints.destructive is not False:
        return CallClass.DESTRUCTIVE, f"the {whose} server says it may destroy", "annotations"
    return CallClass.WRITE, f"the {whose} server says it changes something", "annotations"


def _class_source(spec: ToolSpec) -> str:
    return "reviewed" if spec.believed and spec.trust is Trust.DECLARED else spec.trust


def _stricter(found: Found, more: Found) -> Found:
    """The stricter of the two; the first where they are the same."""
    return more if CLASS_ORDER.index(more[0]) > CLASS_ORDER.index(found[0]) else found


def decide(
    policy: Policy,
    spec: ToolSpec,
    args: Json,
    channel: str,
    matches: Matches,
    asked: Risk | None = None,
) -> Decision:
    """What this call needs before it may run.

    `asked` is the risk its proposer gave: it may raise the risk, never lower it. A recipe on a server that is
    neither bundled nor reviewed comes from the operator's manifests, so its class counts like a rule's.
    """
    if too_many_targets(spec.recipe.targets, args, counted_forms(spec, args)):
        return _unclear(policy, spec, TOO_MANY)
    rules = matching_rules(policy, spec, args, matches)
    if unclear := _what_is_unclear(policy, spec, rules):
        return _unclear(policy, spec, unclear)
    cls, reason, rule = _classify(spec, rules)
    cls, reason, rule = _stricter((cls, reason, rule), _class_of_arguments(spec, rules, args))
    for raising in (*rules, *_hidden(policy, spec, rules)):
        if raising.at_least and CLASS_ORDER.index(raising.at_least) > CLASS_ORDER.index(cls):
            cls, reason, rule = raising.at_least, f"the rule “{raising.name}” asks for it", raising.name
    secret, reads = _secret(policy, spec, args), _only_reads(spec, cls)
    always = secret if reads else next((r for r in rules if r.always), secret)
    if always:
        cls, reason, rule = CallClass.DESTRUCTIVE, f"“{always.name}” is always gated", always.name
    elif cls is not CallClass.READ and (unclear := _unclear_paths(spec.recipe.targets, args)):
        cls, reason, rule = CallClass.DESTRUCTIVE, *unclear
    approvers = _approvers(rules)
    if rule == CLAIMED and (not policy.admins or approvers != Approvers()):
        rule = NO_RULE
    risk, private = _risk(spec, cls, rules, asked), any(r.private for r in rules)
    if refusal := _refusal(policy, cls, rules, channel):  # which is told to nobody else, either
        return Decision(Verdict.DENY, cls, risk, *refusal, private=private, secret=secret is not None)
    return Decision(
        verdict=VERDICTS[cls],
        cls=cls,
        risk=risk,
        reason=reason,
        rule=rule,
        approvers=approvers,
        always_gated=always is not None,
        ttl=min((r.ttl for r in rules if r.ttl), default=None),
        private=private,
        secret=secret is not None,
        reads=reads,
    )


def _hidden(policy: Policy, spec: ToolSpec, rules: Sequence[Rule]) -> list[Rule]:
    """The operator's rules for a higher class that may be about arguments which the server of a tool takes for
    something else than they say, as `rules` tell: nobody knows that they are not."""
    hiding = [one for one in rules if one.as_given]
    about_arguments = (
        one for one in policy.rules if hiding and not one.always and (one.texts or one.schema is not None)
    )
    named = (one for one in about_arguments if one.at_least and one.names(spec.full_name))
    return [one for one in named if any(other.may_hide(one) for other in hiding)]


def _what_is_unclear(policy: Policy, spec: ToolSpec, rules: Sequence[Rule]) -> tuple[str, str] | None:
    """Why rules cannot be held against the arguments, where one that wants more than a phrase may be about these."""
    others = () if any(one.deny for one in rules) else policy.rules
    if others and BEYOND_HOLDERS in rules:
        return TOO_MANY
    asking = [one for one in others if one.asks_more_than_a_phrase and one.names(spec.full_name)]
    return next(filter(None, (_why_unclear(one) for one in rules if any(map(one.may_hide, asking)))), None)


def _why_unclear(rule: Rule) -> tuple[str, str] | None:
    """Why rules cannot be held against what the arguments say, where that is what this one tells."""
    if rule.as_given:
        return ELSEWHERE
    return TOO_MANY if rule in (BEYOND_SEARCH, BEYOND_SCHEMAS) else None


def _unclear(policy: Policy, spec: ToolSpec, why: tuple[str, str]) -> Decision:
    """A no, since rules cannot be held against what the arguments say."""
    hidden = any(rule.private and rule.names(spec.full_name) for rule in policy.rules)
    return Decision(Verdict.DENY, CallClass.DESTRUCTIVE, Risk.CRITICAL, *why, private=hidden)


def with_risk(decision: Decision, asked: Risk | None) -> Decision:
    """The decision on the same call with the risk that its proposer gave, which may only raise it."""
    return replace(decision, risk=max(decision.risk, asked, key=RISK_ORDER.index)) if asked else decision


def made_private(decision: Decision, private: bool = True) -> Decision:
    """The decision on a call that is private, too, as what it is given or reads first is. It may not be asked where
    that hides its card from the approvers that the policy wants."""
    if decision.private or not private:
        return decision
    decision = replace(decision, private=True)
    asks = decision.verdict in (Verdict.CONFIRM, Verdict.TYPED)
    if asks and (decision.approvers.named or decision.approvers.needed > 1):
        return replace(decision, verdict=Verdict.DENY, reason=HIDDEN_CARD, rule="private")
    return decision


def _unclear_paths(targets: Targets | None, args: Json) -> tuple[str, str] | None:
    """Why a path of a change may lead somewhere else than it says, and the name of that; None where none does."""
    if targets and targets.unresolved:
        return FOLLOWS_LINKS, "links"
    return (BROKEN_PATH, "control characters") if has_broken_path(targets, args) else None


def matching_rules(policy: Policy, spec: ToolSpec, args: Json, matches: Matches) -> list[Rule]:
    """The rules that are about this call, in whatever form a tool may take its arguments."""
    told_apart: list[int] = []
    forms = CallForms.of(spec, args, told_apart.append)
    ids = Ids(spec.recipe.names_in_any_letters)
    with_ids = forms.with_ids(ids)

    def is_about(rule: Rule) -> bool:
        """Whether a rule of which each pattern is found holds for the arguments in one of their forms."""
        if rule.schema is None:
            return True
        if rule.as_given:
            return any(rule.fits(form, matches) for form in forms.written)
        if sum(told_apart) > MOST_TOLD_APART:
            return True
        said = rule.schema, rule.spares_places(spec.recipe.targets)
        return (
            any(matches(rule.schema, form) for form in forms.held_against(*said))
            or _holds_ids(rule, ids, with_ids, matches)
            or any(matches(schema, form) for schema, form in forms.beside_schemas(*said))
        )

    named = [rule for rule in (*policy.rules, *_recipe_rules(spec)) if rule.names(spec.full_name, args)]
    # Most patterns are in none, and most texts are in many forms.
    texts = forms.apart.texts(forms.every)
    first = as_long_together(texts, MOST_SEARCHED)
    bounded = [rule for rule in named if rule.only_gates]
    others = [rule for rule in named if not rule.only_gates]
    found = found_patterns(_patterns(others), texts) | found_patterns(_patterns(bounded), first)
    # What files lie in is named by the whole of an argument, an id also within the words of another one.
    found |= ids.found(_patterns(others), texts if spec.recipe.names_of_ids else ())
    found |= found_in_any_case(_patterns(others), (*forms.holders, *forms.below))
    words_inside = [*texts_of(words_beside(spec.recipe.targets, args))]
    found |= found_patterns(_patterns(rule for rule in others if not rule.always), words_inside)
    with checked_in_a_row(RULE_STEPS):  # a check that has no steps left counts as holding
        holding = [rule for rule in named if found.issuperset(rule.texts) and is_about(rule)]
    holding += [BEYOND_HOLDERS] if forms.work.is_over else []
    holding += [UNSEARCHED] if bounded and len(first) < len(texts) else []
    beyond = any(rule.schema for rule in others) and has_names_beyond(spec.recipe.targets, args)
    if beyond or too_many_ids(spec.recipe.names_of_lists, args):
        holding.append(BEYOND_SCHEMAS)
    return [*holding, BEYOND_SEARCH] if is_beyond_search(spec.recipe.targets, args) else holding


def _holds_ids(rule: Rule, ids: Ids, spelled: Sequence[CallForms], matches: Matches) -> bool:
    """Whether a rule of which each pattern is found holds for the arguments in a form that ids have; in all of them
    where it spares some, which may be spelled in one way there."""
    if rule.schema is None or not spelled:
        return False
    schema = ids.schema(rule.schema)
    some = all if ids.spares(rule.schema) else any
    if not ids.compares(rule.schema):  # each other form has been held against it
        return some(any(matches(schema, form) for form in forms.given) for forms in spelled)
    said = schema, rule.spares_places(spelled[0].spec.recipe.targets)
    return some(
        any(matches(schema, form) for form in forms.held_against(*said))
        or any(matches(seen, form) for seen, form in forms.beside_schemas(*said))
        for forms in spelled
    )


def _patterns(rules: Iterable[Rule]) -> set[str]:
    return {pattern for rule in rules for pattern in rule.texts}


def _class_of_arguments(spec: ToolSpec, rules: Sequence[Rule], args: Json) -> Found:
    """The class that a call has at least because of an argument that nobody knows, or of a command or a statement in
    one; the latter where neither an operator nor a recipe has said what class the tool is."""
    if name := undeclared_argument(spec, args):
        return CallClass.DESTRUCTIVE, UNDECLARED.format(name=name[:100]), "undeclared argument"
    stated = spec.recipe.cls is not None or any(rule.cls for rule in rules)
    if stated and not spec.changed:
        return CallClass.READ, "", "commands"
    found = spec.class_without_arguments if not args else None
    return *(found or command_tools.class_of_words(spec, args)), "commands"


def _secret(policy: Policy, spec: ToolSpec, args: Json) -> Rule | None:
    """The rule of the always-gate list that is also about reading what the call touches, if there is one."""
    rules = [rule for rule in policy.rules if rule.reads]
    paths = content_paths(spec.recipe.targets, args) if rules else ()
    return next((rule for rule in rules if rule.reaches(spec.full_name, paths)), None)


def _recipe_rules(spec: ToolSpec) -> Iterator[Rule]:
    """The argument rules of a recipe. They only raise, so they count whoever wrote them."""
    for found in spec.recipe.raises_by_arguments:
        texts, name = (found.text,) if found.text else (), ELSEWHERE[1] if found.elsewhere else "its recipe"
        tools = () if found.about else (spec.full_name,)
        rule = Rule(name, tools, found.about, at_least=found.cls, schema=found.schema, texts=texts)
        yield replace(rule, as_given=found.elsewhere, hides=found.hides)


def _only_reads(spec: ToolSpec, cls: CallClass) -> bool:
    """Whether the always-gate list spares this call. The operator's word alone does not take a tool off it
    whose name says that it destroys: a server that is believed has to say so too."""
    destroying = destroys(spec.name) or deletes_files(spec.full_name) or drops_tables(spec.full_name)
    return cls is CallClass.READ and (not destroying or _claimed_hints(spec)[0] is CallClass.READ)


VERDICTS = {
    CallClass.READ: Verdict.RUN,
    CallClass.WRITE: Verdict.CONFIRM,
    CallClass.UNKNOWN: Verdict.CONFIRM,
    CallClass.DESTRUCTIVE: Verdict.TYPED,
}


def _classify(spec: ToolSpec, rules: Sequence[Rule]) -> tuple[CallClass, str, str]:
    """First found: the operator's class (the most exact pattern, then the strictest), else the server's."""
    stated = [r for r in rules if r.cls]
    if not stated or spec.unread:
        cls, reason, rule = _by_name(spec, rules)
        if stated:  # a lowered class was given to another definition
            return max([cls, *(r.cls for r in stated if r.cls)], key=CLASS_ORDER.index), reason, rule
        return cls, reason, rule
    exact = [r for r in stated if spec.full_name in r.tools] or stated
    best = max(exact, key=lambda r: CLASS_ORDER.index(r.cls or CallClass.READ))
    return best.cls or CallClass.UNKNOWN, f"the operator's policy says so (“{best.name}”)", best.name


def _by_name(spec: ToolSpec, rules: Sequence[Rule]) -> tuple[CallClass, str, str]:
    """What the server claims; where it claims nothing, what is known of tools of this name.

    A name is chosen by the server, so beside any claim, and for a server that is not believed, it only raises.
    """
    claimed = _claimed(spec)
    known = [r for r in rules if r.known]
    if not known:
        return claimed
    best = max(known, key=lambda r: CLASS_ORDER.index(r.known or CallClass.READ))
    named = best.known or CallClass.UNKNOWN
    agrees = spec.hints == Hints() or (
        named is CallClass.READ and spec.hints.read_only and not spec.hints.open_world
    )
    silent = claimed[2] in UNCLASSIFIED and agrees and spec.recipe.cls is None
    if not silent and CLASS_ORDER.index(named) <= CLASS_ORDER.index(claimed[0]):
        return claimed
    return named, f"the policy says so of every tool of this name (“{best.name}”)", best.name


def _refusal(policy: Policy, cls: CallClass, rules: Sequence[Rule], channel: str) -> tuple[str, str] | None:
    """Reason and rule of a no, or None. The reason is told to agents, in threads and in the log, so it does not name a
    private rule, whose name may say what it is about."""
    denied = next((r for r in rules if r.deny), None)
    if denied:
        return f"the policy does not allow this{_in_brackets(denied)}", denied.name
    if elsewhere := refusal_in_channel(policy, rules, channel):
        return elsewhere
    private, approvers = next((r for r in rules if r.private), None), _approvers(rules)
    if private and (approvers.named or approvers.needed > 1):
        return HIDDEN_CARD, private.name
    return TOO_FEW if approvers.are_too_few and cls is not CallClass.READ else None


def refusal_in_channel(policy: Policy, rules: Iterable[Rule], channel: str) -> tuple[str, str] | None:
    """Reason and rule of a no to this channel, by rules that are about the call or by the policy; or None. Nothing else
    of a decision depends on the channel."""
    for rule in rules:
        if rule.channels and channel not in rule.channels:
            return f"this may not be used in this channel{_in_brackets(rule)}", rule.name
    if policy.channels and channel not in policy.channels:
        return "the policy does not allow me to act in this channel", "channels"
    return None


def _in_brackets(rule: Rule) -> str:
    return "" if rule.private else f" (“{rule.name}”)"


def _risk(spec: ToolSpec, cls: CallClass, rules: Sequence[Rule], asked: Risk | None) -> Risk:
    candidates = (RISK_OF[cls], *(r.risk for r in rules), spec.recipe.risk, asked)
    return max(filter(None, candidates), key=RISK_ORDER.index)


def _approvers(rules: Sequence[Rule]) -> Approvers:
    return combined([rule.approvers for rule in rules if rule.approvers])
