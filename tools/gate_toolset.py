"""The tools that a model may name. It can run none of them: a call that fits its schema becomes a proposal."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from gate.action import Class, Json
from gate.canonical import BadArguments, parse
from gate.offers import LONGEST_NAME, asked_for, offered, without
from gate.policy import Policy
from gate.talk import Call
from gate.tool import ToolSpec, Trust
from gate.world import Tools
from tools.dialogue import Offer
from tools.sentences import either, unknown

DESCRIPTION = 1000  # characters of a tool's own words
ALL_AT_ONCE = 8000  # tokens of schemas that are sent as they are; above, tools are searched for
CORE = 15  # tools that are sent in any case, when they are searched for
CORE_TOKENS = 4000
PROBLEMS = 3  # told at once


class Unusable(Exception):
    """A call that cannot be proposed. Its text tells the model why, and what to do instead."""


@dataclass(frozen=True, slots=True)
class Usable:
    """One tool under the name that the model knows it by. `reads`: by itself it changes nothing."""

    name: str
    spec: ToolSpec
    cls: Class

    @property
    def reads(self) -> bool:
        return self.cls is Class.READ

    @property
    def offer(self) -> Offer:
        """Without the arguments that our recipe fills in. A server's words are marked as such."""
        what = "reads" if self.reads else "changes something: a call prepares it, and a person decides"
        said = self.spec.description.strip()[:DESCRIPTION]
        return Offer(self.name, f"({what}) The server says: {said}", asked_for(self.spec))


class Toolset:
    """All tools that the policy does not deny, in one order that does not depend on when they were listed."""

    def __init__(self, tools: Tools, policy: Policy, channel: str) -> None:
        self._tools = tools
        found = offered(tools.specs(), policy, channel)
        self._by_name = {name: Usable(name, one.spec, one.cls) for name, one in found.items()}
        self._of = {tool.spec.full_name: tool for tool in self._by_name.values()}

    def __iter__(self) -> Iterator[Usable]:
        return iter(self._by_name.values())

    def has(self, name: str) -> bool:
        return name in self._by_name

    def of(self, server: str, tool: str) -> Usable | None:
        return self._of.get(f"{server}.{tool}")

    def named(self, name: str) -> Usable:
        """The tool of that name. Raises Unusable, with the closest names."""
        found = self._by_name.get(name) or self._of.get(name)
        if found is None:
            close = get_close_matches(name, self._by_name, 3, 0.6)
            hint = f" Did you mean {either(close)}?" if close else ""
            raise Unusable(f"There is no tool {name[:LONGEST_NAME]}.{hint}")
        return found

    def call(self, name: str, written: str) -> Call:
        """A call as a proposal. Raises Unusable: no such tool, no JSON, or arguments that break the schema."""
        tool = self.named(name)
        args = arguments(written)
        self._check(tool, args, ())
        return Call(tool.spec.server, tool.spec.name, args)

    def step(self, name: str, args: Mapping[str, Json], refs: Collection[str]) -> Call:
        """A step of a plan; the arguments named in `refs` come from earlier results. Raises Unusable."""
        tool = self.named(name)
        given = {key: value for key, value in args.items() if key not in refs}
        known = asked_for(tool.spec)["properties"]
        if strange := next((key for key in refs if known and key not in known), None):
            raise Unusable(f"from_results names `{strange}`, which is none of the arguments of {name}.")
        self._check(tool, given, refs)
        return Call(tool.spec.server, tool.spec.name, given)

    def _check(self, tool: Usable, args: Mapping[str, Json], later: Collection[str]) -> None:
        """Raises Unusable where arguments break the schema; those named in `later` need not be there yet."""
        schema = asked_for(tool.spec)
        known = schema["properties"]
        told = [unknown((key,), key, list(known)) for key in args if known and key not in known]
        told += [one.text for one in self._tools.problems(without(schema, later), dict(args))]
        if told:
            shown = " ".join(dict.fromkeys(told[:PROBLEMS]))
            raise Unusable(f"`{tool.name}`: {shown} Its arguments: {json.dumps(schema)}")

    def searched(self, limit: int) -> bool:
        """Whether there are too many to be sent as they are: more than so many tokens."""
        return tokens(tool.offer for tool in self._by_name.values()) > limit

    def core(self, used: Sequence[str]) -> tuple[Usable, ...]:
        """What is sent even when tools are searched for: what was used in the thread, then bundled ones."""
        own = [name for name, tool in self._of.items() if tool.spec.trust is Trust.BUNDLED]
        kept: list[Usable] = []
        for name in dict.fromkeys((*used, *own)):
            tool = self._of.get(name)
            if tool and len(kept) < CORE and tokens(one.offer for one in (*kept, tool)) <= CORE_TOKENS:
                kept.append(tool)
        return tuple(sorted(kept, key=lambda tool: tool.name))

    def directory(self) -> str:
        """One line for each server, with the number of its tools."""
        counts: dict[str, int] = {}
        for tool in self._by_name.values():
            counts[tool.spec.server] = counts.get(tool.spec.server, 0) + 1
        return "\n".join(f"{server}: {count} tools" for server, count in counts.items())


def tokens(offers: Iterable[Offer]) -> int:
    """An estimate: four characters make a token. Real tokenizers differ by up to a third either way."""
    return sum(len(o.name) + len(o.description) + len(json.dumps(o.schema)) for o in offers) // 4


def arguments(written: str) -> dict[str, Json]:
    """What the model wrote, as arguments. Raises Unusable."""
    try:
        return parse(written)
    except BadArguments as error:
        raise Unusable(str(error)) from None
