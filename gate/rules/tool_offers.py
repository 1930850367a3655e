"""How tools are offered to those who may only propose: a name, a schema, and what a call would be."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from gate.rules.action import CallClass, Json, Verdict
from gate.rules.policy import Policy, Rule, decide, matching_rules, refusal_in_channel
from gate.rules.tool import ToolSpec

LONGEST_NAME = 64  # what providers take
NOT_OURS = re.compile(r"[^a-zA-Z0-9_-]")
ANY_CHANNEL = "any channel"  # in place of those that rules name, where a tool is judged for all channels


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """One tool under the name that a proposer knows it by. `cls`: of a call, as far as arguments do not matter."""

    name: str
    spec: ToolSpec
    cls: CallClass


@dataclass(frozen=True, slots=True)
class JudgedTool:
    """What a call of a tool would be, as far as arguments do not matter. `cls`: None where it is denied in every
    channel. `bound`: the rules about it that say in which channels it may be used."""

    spec: ToolSpec
    cls: CallClass | None
    bound: tuple[Rule, ...]


class ToolOffers:
    """Offers tools, and judges each of them once for a policy.

    A judgement counts for the very spec and the very policy that it is of. Both are frozen: another definition, pin,
    trust or recipe is another spec. What is not listed any more is let go.
    """

    def __init__(self) -> None:
        self._judge = _Judge(Policy(""))
        # By the id of the spec, which no other one can have while it is kept here. Specs that are equal are not
        # enough: to Python a default of 1 is one of `true`.
        self._judged: dict[int, JudgedTool] = {}

    def offered(self, specs: Sequence[ToolSpec], policy: Policy, channel: str) -> dict[str, OfferedTool]:
        """By name, all that the policy does not deny, in an order that does not depend on when they were listed."""
        found = dict[str, OfferedTool]()
        for tool in sorted(self._all(specs, policy), key=lambda one: (one.spec.server, one.spec.name)):
            if tool.cls is not None and not refusal_in_channel(policy, tool.bound, channel):
                name = free_name(tool.spec, found)
                found[name] = OfferedTool(name, tool.spec, tool.cls)
        return found

    def _all(self, specs: Sequence[ToolSpec], policy: Policy) -> list[JudgedTool]:
        if policy is not self._judge.policy:
            self._judge, self._judged = _Judge(policy), {}
        judged = [self._judged.get(id(spec)) or self._judge.judged(spec) for spec in specs]
        self._judged = {id(one.spec): one for one in judged}
        return judged


class _Judge:
    """Judges tools by the rules of a policy that do not depend on arguments."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        always = tuple(rule for rule in policy.rules if rule.schema is None and not rule.texts)
        in_any = tuple(replace(rule, channels=(ANY_CHANNEL,)) if rule.channels else rule for rule in always)
        self._always = replace(policy, rules=in_any, channels=())
        self._bound = replace(policy, rules=tuple(rule for rule in always if rule.channels))

    def judged(self, spec: ToolSpec) -> JudgedTool:
        decision = decide(self._always, spec, {}, ANY_CHANNEL, _none_keeps)
        found = matching_rules(self._bound, spec, {}, _none_keeps) if self._bound.rules else ()
        cls = None if decision.verdict is Verdict.DENY else decision.cls
        return JudgedTool(spec, cls, tuple(rule for rule in found if rule.channels))


def _none_keeps(schema: Mapping[str, Json], value: Json) -> bool:
    return False


def model_name(spec: ToolSpec) -> str:
    """`server__tool` in the letters and the length that providers take.

    What has to be changed for that, or could be read in two ways, gets a hash of its real name: so a name stays
    the same whatever else there is.
    """
    plain = NOT_OURS.sub("_", f"{spec.server}__{spec.name}")
    exact = plain == f"{spec.server}__{spec.name}" and len(plain) <= LONGEST_NAME
    if exact and "__" not in spec.server and not spec.server.endswith("_"):
        return plain
    mark = hashlib.sha256(spec.full_name.encode()).hexdigest()[:12]
    return f"{plain[: LONGEST_NAME - 13]}_{mark}"


def free_name(spec: ToolSpec, taken: Collection[str]) -> str:
    """A name that is not taken; a hostile tool may be called as another one would be."""
    name, text = model_name(spec), spec.full_name
    while name in taken:
        text += "'"
        name = f"{name[: LONGEST_NAME - 13]}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return name


def with_optional(schema: Mapping[str, Json], names: Collection[str]) -> dict[str, Json]:
    """The schema where these properties need not be given."""
    if not names:
        return dict(schema)
    required = [name for name in schema.get("required", ()) if name not in names]
    return {**schema, "required": required}


def offered_schema(spec: ToolSpec) -> dict[str, Json]:
    """The schema that a proposer is shown: an object, and without what the recipe binds."""
    schema = with_optional(spec.schema, spec.recipe.bind.keys())
    known = {k: v for k, v in schema.get("properties", {}).items() if k not in spec.recipe.bind}
    return {**schema, "type": "object", "properties": known}
