"""How tools are offered to those who may only propose: a name, a schema, and what a call would be."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from gate.rules.action import CallClass, Json, Verdict
from gate.rules.policy import Policy, decide
from gate.rules.tool import ToolSpec

LONGEST_NAME = 64  # what providers take
NOT_OURS = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """One tool under the name that a proposer knows it by. `cls`: of a call, as far as arguments do not matter."""

    name: str
    spec: ToolSpec
    cls: CallClass


def offered_tools(specs: Sequence[ToolSpec], policy: Policy, channel: str) -> dict[str, OfferedTool]:
    """By name, all that the policy does not deny, in an order that does not depend on when they were listed."""
    found, always = dict[str, OfferedTool](), whatever_the_arguments(policy)
    for spec in sorted(specs, key=lambda one: (one.server, one.name)):
        cls = class_of(spec, always, channel)
        if cls is not None:
            name = free_name(spec, found)
            found[name] = OfferedTool(name, spec, cls)
    return found


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


def whatever_the_arguments(policy: Policy) -> Policy:
    """The policy without the rules that depend on arguments."""
    return replace(policy, rules=tuple(r for r in policy.rules if r.schema is None and not r.texts))


def class_of(spec: ToolSpec, always: Policy, channel: str) -> CallClass | None:
    """What a call of it would be under a policy that does not depend on arguments; None when it is denied."""
    decision = decide(always, spec, {}, channel, lambda schema, value: False)
    return None if decision.verdict is Verdict.DENY else decision.cls
