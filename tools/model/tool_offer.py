"""The tools that a model is offered in a turn: control tools, tools that it may call, and a search for others."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from gate.rules.action import Json
from gate.rules.planner_port import Call, Mode, PlannerContext, Turn, as_told
from gate.rules.tool import ToolSpec
from tools.model import control_tools
from tools.model.control_tools import available_controls, schema_text
from tools.model.model_port import ToolDefinition, load_memo
from tools.model.outcomes import call_results, unseen_instructions
from tools.model.prompt import Fence
from tools.model.toolset import MAX_DESCRIPTION, ModelTool, Toolset

K1, B = 1.2, 0.75  # the usual constants of BM25
NAME_WEIGHT = 3
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
ENDINGS = ("ing", "ies", "es", "ed", "s")
MIN_STEM = 3  # letters that have to be left of a word
MOST_FIELDS, LONGEST_FIELD = 12, 40  # fields of a result that are named, and characters of a name
# Of each tool, what is indexed: characters of the first line of its description and of its title, and parameters.
FIRST_LINE, LONGEST_TITLE, MOST_PARAMETERS = 300, 100, 30
LONGEST_QUERY = 300  # characters of a search that are read
MAX_FOUND = 5  # tools in the answer to a search
MOST_TEXT = 16_000  # characters of them
CARD_CHARS = 200  # characters of a description where a tool cannot be called
NONE_FOUND = "No tool has any of these words. Try others, or name the server."


def terms(text: str) -> list[str]:
    """The words of a text, in lower case and without common endings: `listOpenIssues` gives list, open, issu."""
    return [_stem(word.lower()) for word in WORD.findall(text)]


def _stem(word: str) -> str:
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= MIN_STEM:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > MIN_STEM else word


def _document(spec: ToolSpec) -> list[str]:
    """The words that a tool is found by, as many as take 0.2 ms to be read."""
    first = (spec.description[:MAX_DESCRIPTION].strip().splitlines() or [""])[0][:FIRST_LINE]
    names = islice(spec.schema.get("properties", {}), MOST_PARAMETERS)
    parameters = " ".join(str(name)[:LONGEST_FIELD] for name in names)
    name = terms(f"{spec.server} {spec.name}") * NAME_WEIGHT
    return [*name, *terms(f"{spec.title[:LONGEST_TITLE]} {first} {parameters}")]


class ToolIndex:
    """Tools to search. Equal scores keep the order in which the tools were given."""

    def __init__(self, specs: Sequence[ToolSpec]) -> None:
        self._specs = tuple(specs)
        self._counts = [Counter(_document(spec)) for spec in specs]
        lengths = [sum(count.values()) for count in self._counts]
        self._lengths = lengths
        self._mean = sum(lengths) / len(lengths) if lengths else 1.0
        self._document_count = Counter(term for count in self._counts for term in count)

    def find(self, query: str, limit: int = 5) -> tuple[ToolSpec, ...]:
        """The best matches, best first; only tools that share a word with the query."""
        query_terms = dict.fromkeys(terms(query[:LONGEST_QUERY]))
        scored = [(self._score(place, query_terms), -place) for place in range(len(self._specs))]
        best = sorted((pair for pair in scored if pair[0] > 0), reverse=True)[:limit]
        return tuple(self._specs[-place] for _, place in best)

    def _score(self, place: int, query_terms: dict[str, None]) -> float:
        counts, length = self._counts[place], self._lengths[place]
        norm = K1 * (1 - B + B * length / self._mean)
        return sum(
            self._idf(term) * counts[term] * (K1 + 1) / (counts[term] + norm)
            for term in query_terms
            if term in counts
        )

    def _idf(self, term: str) -> float:
        containing = self._document_count[term]
        return math.log(1 + (len(self._specs) - containing + 0.5) / (containing + 0.5))


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """The tools of one turn. `needs_search`: there are too many to send all of them."""

    tools: Toolset
    turn: Turn
    brief: PlannerContext
    needs_search: bool
    indexed: list[ToolIndex] = field(default_factory=list, compare=False, repr=False)  # once it is searched

    @property
    def controls(self) -> tuple[ToolDefinition, ...]:
        """None but the search where all that it began with is done: then there is an answer to be given, and at most
        another call to be made."""
        offered = available_controls(self.turn.mode, self.brief.switches, self.needs_search)
        if self.is_carried_out:
            return tuple(one for one in offered if one.name == control_tools.FIND_TOOLS)
        return offered

    @property
    def is_carried_out(self) -> bool:
        """Whether the turn began at once with a change, and all that was called has succeeded. What is offered then
        stays the same to its end, for the sake of the provider's cache, unless something fails or is said."""
        exchanges = self.turn.exchanges
        memo = load_memo(exchanges[0].memo) if exchanges else None
        if self.turn.mode is not Mode.ACT or memo is None or not memo.begun:
            return False
        results = [result for exchange in exchanges for _, result in call_results(exchange)]
        return (
            all(result.status == "succeeded" for result in results)
            and not all(self.is_read(call) for call, _ in call_results(exchanges[0]))
            and not unseen_instructions(self.turn, self.brief)
        )

    @property
    def directory(self) -> str:
        """The servers as text, where tools have to be searched for."""
        return self.tools.directory() if self.needs_search else ""

    def definitions(self, found: Sequence[str]) -> tuple[ToolDefinition, ...]:
        """Control tools, then tools by name, then those that were found, in the order of finding."""
        sent = self.tools.core_tools(self._used_before()) if self.needs_search else tuple(self.tools)
        found_tools = [self.tools.require(name) for name in found if self.tools.has(name)]
        offered = {tool.name: tool.definition for tool in (*sent, *found_tools) if self.may_call(tool)}
        return (*self.controls, *offered.values())

    def to_begin_with(self, found: Sequence[str]) -> tuple[ToolDefinition, ...]:
        """The same without control tools, save that which finds tools."""
        kept = {control_tools.FIND_TOOLS}
        return tuple(
            one for one in self.definitions(found) if one.name not in control_tools.ALL or one.name in kept
        )

    def may_call(self, tool: ModelTool) -> bool:
        return self.turn.mode is Mode.ACT or (tool.is_read and self.turn.mode is not Mode.ANSWER)

    def is_read(self, call: Call) -> bool:
        """Whether a call changes nothing, according to its tool."""
        tool = self.tools.find(call.server, call.tool)
        return tool is not None and tool.is_read

    def name_of(self, call: Call) -> str:
        """The title of the tool of a call, for people."""
        tool = self.tools.find(call.server, call.tool)
        return (tool and tool.spec.title) or call.tool.replace("_", " ")

    def tools_for_plans(self) -> str:
        """Descriptions of the tools that change something, where they cannot be called: for plans and
        conversations. For plans also the fields that each tool gives, which later steps can take."""
        if self.turn.mode in (Mode.ACT, Mode.ANSWER) or self.needs_search:
            return ""
        texts = [self._tool_text(tool) for tool in self.tools if not tool.is_read]
        reads = [tool for tool in self.tools if tool.is_read and self.turn.mode is Mode.PLAN]
        texts += [f"{tool.name} {gives}" for tool in reads if (gives := fields_text(tool.spec.output_schema))]
        return "\n".join(texts)

    def search(self, query: str, fence: Fence) -> tuple[str, tuple[str, ...]]:
        """The answer to a search, and the names of the tools that are offered from now on."""
        if not self.indexed:
            self.indexed.append(ToolIndex([tool.spec for tool in self.tools]))
        specs = self.indexed[0].find(query, MAX_FOUND)
        found = [tool for spec in specs if (tool := self.tools.find(spec.server, spec.name))]
        texts = "\n".join(self._tool_text(tool) for tool in found)
        text = fence.own_data("tools found", as_told(texts, MOST_TEXT))
        return (text if found else NONE_FOUND), tuple(tool.name for tool in found)

    def _tool_text(self, tool: ModelTool) -> str:
        definition = tool.definition
        if self.turn.mode is Mode.PLAN and not tool.is_read:
            arguments = f"arguments: {schema_text(definition.schema)}"
            gives = fields_text(tool.spec.output_schema)
            return "\n".join(filter(None, (f"{definition.name}: {definition.description}", arguments, gives)))
        return f"{definition.name}: {' '.join(definition.description.split())[:CARD_CHARS]}"

    def _used_before(self) -> list[str]:
        """The full names of tools that earlier turns of the thread used."""
        steps = [step.name for step in (*self.brief.done, *self.brief.left)]
        exchanges = [exchange for turn in self.brief.earlier for exchange in turn.exchanges]
        calls = [call for exchange in exchanges for call, _ in call_results(exchange)]
        return steps + [f"{call.server}.{call.tool}" for call in calls]


def fields_text(schema: Mapping[str, Json] | None) -> str:
    """The fields of a result by name (`gives: path, entries[].name`), as far as its schema lists them; "" for none."""
    named = list(_fields(schema or {}))
    shown = ", ".join(field for field in named if len(field) <= LONGEST_FIELD)
    return f"gives: {shown}" if shown else ""


def _fields(schema: Mapping[str, Json]) -> Iterator[str]:
    for name, about in _properties(schema):
        yield name
        items = _part(about, "items")
        kind = str(items.get("$ref", "")).removeprefix("#/$defs/")
        yield from (
            f"{name}[].{field}" for field, _ in _properties(_part(_part(schema, "$defs"), kind) or items)
        )


def _properties(schema: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    return islice(_part(schema, "properties").items(), MOST_FIELDS)


def _part(schema: Json, name: str) -> Mapping[str, Json]:
    """What a schema has under this name, where it is an object; a server may have put anything there."""
    found = schema.get(name) if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}
