"""The tools that a model may name. It runs none of them: a valid call becomes a proposal."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from gate.rules.action import CallClass, Json
from gate.rules.canonical_json import BadArguments, parse
from gate.rules.close_names import close_matches
from gate.rules.message_size import extent
from gate.rules.planner_port import Call
from gate.rules.policy import Policy
from gate.rules.ports import Tools
from gate.rules.tool import ToolSpec, Trust
from gate.rules.tool_offers import LONGEST_NAME, ToolOffers, offered_schema, with_optional
from tools.mcp.schema import either, unknown
from tools.model.model_port import ToolDefinition

MAX_DESCRIPTION = 1000  # characters of a server's description of a tool
MAX_SCHEMA_TOKENS = 8000  # of the definitions that are sent; above, tools are searched for
MAX_CORE_TOOLS = 15  # sent in any case, when tools are searched for
MAX_CORE_TOKENS = 4000
MAX_PROBLEMS = 3  # reported at once


class InvalidCall(Exception):
    """A call that cannot be proposed. Its text tells the model why, and what to do instead."""


@dataclass(frozen=True, slots=True)
class ModelTool:
    """One tool under the name that the model knows it by."""

    name: str
    spec: ToolSpec
    cls: CallClass

    @property
    def is_read(self) -> bool:
        return self.cls is CallClass.READ

    @property
    def definition(self) -> ToolDefinition:
        """The definition for the model, without the arguments that our recipe fills in. The server's description is
        marked as such."""
        effect = "reads" if self.is_read else "a change; a person decides"
        description = self.spec.description.strip()[:MAX_DESCRIPTION]
        return ToolDefinition(
            self.name, f"({effect}) The server says: {description}", offered_schema(self.spec)
        )


class Toolset:
    """All tools that the policy does not deny, in an order that does not depend on when they were listed."""

    def __init__(self, tools: Tools, policy: Policy, channel: str, offers: ToolOffers) -> None:
        self._tools = tools
        found = offers.offered(tools.specs(), policy, channel)
        self._by_name = {name: ModelTool(name, one.spec, one.cls) for name, one in found.items()}
        self._by_full_name = {tool.spec.full_name: tool for tool in self._by_name.values()}

    def __iter__(self) -> Iterator[ModelTool]:
        return iter(self._by_name.values())

    def has(self, name: str) -> bool:
        return name in self._by_name

    def find(self, server: str, tool: str) -> ModelTool | None:
        return self._by_full_name.get(f"{server}.{tool}")

    def require(self, name: str) -> ModelTool:
        """The tool of that name. Raises InvalidCall, with the closest names."""
        found = self._by_name.get(name) or self._by_full_name.get(name)
        if found is None:
            close = close_matches(name, self._by_name, 3, 0.6)
            hint = f" Did you mean {either(close)}?" if close else ""
            raise InvalidCall(f"There is no tool {name[:LONGEST_NAME]}.{hint}")
        return found

    def parse_call(self, name: str, text: str) -> Call:
        """A call as a proposal. Raises InvalidCall: no such tool, no JSON, or arguments that break the schema."""
        tool = self.require(name)
        args = parse_arguments(text)
        self._check(tool, args, ())
        return Call(tool.spec.server, tool.spec.name, args)

    def parse_step(self, name: str, args: Mapping[str, Json], refs: Collection[str]) -> Call:
        """A step of a plan; the arguments named in `refs` come from earlier results. Raises InvalidCall."""
        tool = self.require(name)
        args_now = {key: value for key, value in args.items() if key not in refs}
        properties = offered_schema(tool.spec)["properties"]
        if unknown_ref := next((key for key in refs if properties and key not in properties), None):
            raise InvalidCall(
                f"from_results names `{unknown_ref}`, which is none of the arguments of {name}."
            )
        self._check(tool, args_now, refs)
        return Call(tool.spec.server, tool.spec.name, args_now)

    def _check(self, tool: ModelTool, args: Mapping[str, Json], from_results: Collection[str]) -> None:
        """Raise InvalidCall where arguments break the schema; those named in `from_results` may be missing."""
        schema = offered_schema(tool.spec)
        properties = schema["properties"]
        strange = (key for key in args if properties and key not in properties)
        problems = [unknown((key,), key, list(properties)) for key in islice(strange, MAX_PROBLEMS)]
        if len(problems) < MAX_PROBLEMS:
            problems += [
                one.text for one in self._tools.problems(with_optional(schema, from_results), dict(args))
            ]
        if problems:
            shown = " ".join(dict.fromkeys(problems[:MAX_PROBLEMS]))
            raise InvalidCall(f"`{tool.name}`: {shown} Its arguments: {json.dumps(schema)}")

    def exceeds(self, limit: int) -> bool:
        """Whether the definitions take more than `limit` tokens, so that tools have to be searched for."""
        sizes = (tokens_of(tool.definition, limit) for tool in self._by_name.values())
        return any(int(total) > limit for total in accumulate(sizes))

    def core_tools(self, used: Sequence[str]) -> tuple[ModelTool, ...]:
        """The tools that are sent also when tools are searched for: those used in the thread, then bundled ones."""
        bundled = [name for name, tool in self._by_full_name.items() if tool.spec.trust is Trust.BUNDLED]
        core, left = list[ModelTool](), float(MAX_CORE_TOKENS)
        for name in dict.fromkeys((*used, *bundled)):
            tool = self._by_full_name.get(name)
            if tool and len(core) < MAX_CORE_TOOLS:
                tokens = tokens_of(tool.definition, int(left))
                if tokens <= left:
                    core.append(tool)
                    left -= tokens
        return tuple(sorted(core, key=lambda tool: tool.name))

    def directory(self) -> str:
        """One line for each server, with the number of its tools."""
        counts: dict[str, int] = {}
        for tool in self._by_name.values():
            counts[tool.spec.server] = counts.get(tool.spec.server, 0) + 1
        return "\n".join(f"{server}: {count} tools" for server, count in counts.items())


def tokens_of(definition: ToolDefinition, most: float) -> float:
    """An estimate: four characters make a token. Real tokenizers differ by up to a third. A schema that certainly takes
    more than `most` is not written out."""
    chars = len(definition.name) + len(definition.description)
    least = max(extent(definition.schema, int(4 * most), int(4 * most)))
    written = least if least > 4 * most else len(json.dumps(definition.schema))
    return (chars + written) / 4


def parse_arguments(text: str) -> dict[str, Json]:
    """The arguments in the text that the model wrote. Raises InvalidCall."""
    try:
        return parse(text)
    except BadArguments as error:
        raise InvalidCall(str(error)) from None
