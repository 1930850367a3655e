"""What a model is offered in a turn: control tools, tools that it may call, and what it is told of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gate.talk import Brief, Call, Mode, Turn
from tools.controls import controls, shown
from tools.dialogue import Offer
from tools.gate_toolset import Toolset, Usable
from tools.marks import Marks
from tools.outcomes import settled
from tools.tool_search import ToolIndex

FOUND = 5  # tools that a search gives
CARD = 200  # characters of a description where a tool is only talked about
NONE_FOUND = "No tool has any of these words. Try others, or name the server."


@dataclass(frozen=True, slots=True)
class Offering:
    """The tools of one turn. `searched`: there are too many to send all of them."""

    tools: Toolset
    turn: Turn
    brief: Brief
    searched: bool

    @property
    def controls(self) -> tuple[Offer, ...]:
        return controls(self.turn.mode, self.brief.switches, self.searched)

    @property
    def directory(self) -> str:
        """The servers, where tools have to be searched for."""
        return self.tools.directory() if self.searched else ""

    def offers(self, found: Sequence[str]) -> tuple[Offer, ...]:
        """Control tools, then tools by name, then those that were found, in the order of finding."""
        first = self.tools.core(self._used()) if self.searched else tuple(self.tools)
        later = [self.tools.named(name) for name in found if self.tools.has(name)]
        offered = {tool.name: tool.offer for tool in (*first, *later) if self.may_call(tool)}
        return (*self.controls, *offered.values())

    def may_call(self, tool: Usable) -> bool:
        return tool.reads or self.turn.mode is Mode.ACT

    def reads(self, call: Call) -> bool:
        """Whether a call changes nothing, as far as its tool tells."""
        tool = self.tools.of(call.server, call.tool)
        return tool is not None and tool.reads

    def cards(self) -> str:
        """Tools that change something, where they are not offered as calls: to plan with, or to talk about."""
        if self.turn.mode is Mode.ACT or self.searched:
            return ""
        return "\n".join(self._card(tool) for tool in self.tools if not tool.reads)

    def find(self, query: str, marks: Marks) -> tuple[str, tuple[str, ...]]:
        """The answer to a search, and the names of the tools that are offered from now on."""
        specs = ToolIndex([tool.spec for tool in self.tools]).find(query, FOUND)
        found = [tool for spec in specs if (tool := self.tools.of(spec.server, spec.name))]
        text = marks.data("tools found", "\n".join(self._card(tool) for tool in found))
        return (text if found else NONE_FOUND), tuple(tool.name for tool in found)

    def _card(self, tool: Usable) -> str:
        offer = tool.offer
        if self.turn.mode is Mode.PLAN and not tool.reads:
            return f"{offer.name}: {offer.description}\narguments: {shown(offer.schema)}"
        return f"{offer.name}: {' '.join(offer.description.split())[:CARD]}"

    def _used(self) -> list[str]:
        """Tools that were used in the thread before this turn."""
        steps = [step.name for step in (*self.brief.done, *self.brief.left)]
        exchanges = [exchange for turn in self.brief.earlier for exchange in turn.exchanges]
        calls = [call for exchange in exchanges for call, _ in settled(exchange)]
        return steps + [f"{call.server}.{call.tool}" for call in calls]
