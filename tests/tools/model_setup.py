"""A ModelPlanner with a stub of the model, over tools that are listed but cannot be called."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from gate.rules.action import Action, Json, Session
from gate.rules.planner_port import CallReport, Exchange, Mode, PlannerContext, PlannerReply, Propose, Turn
from gate.rules.policy import Policy
from gate.rules.tool import Answer, Hints, Problem, ServerStatus, ToolSpec, Trust
from tests.model_stub import ModelStub, Script
from tools.mcp.schema import problems
from tools.model.planner import LIMITS, ModelLimits, ModelPlanner
from tools.model.provider_client import ProviderModel

SESSION = Session("T1", "C1", "1.0")
ANN, BOB = "U1ANN", "U2BOB"
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
READ, WRITE, DESTROY = Hints(read_only=True), Hints(False, False), Hints(False, True)


@dataclass(frozen=True)
class ListedTools:
    """Implements the port Tools for a planner: tools can be looked up but not called."""

    known: Sequence[ToolSpec]

    def find(self, server: str, tool: str) -> ToolSpec | None:
        return next((spec for spec in self.known if (spec.server, spec.name) == (server, tool)), None)

    def relist(self, server: str) -> None:
        """Nothing is listed here."""

    async def declared(self, server: str, tool: str) -> ToolSpec | None:
        return self.find(server, tool)

    def specs(self) -> Sequence[ToolSpec]:
        return self.known

    def servers(self) -> Sequence[ServerStatus]:
        return ()

    def problems(self, schema: Mapping[str, Json], value: Json) -> tuple[Problem, ...]:
        return problems(schema, value)

    async def call(
        self, server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        raise AssertionError("a planner calls nothing")


def tool(server: str, name: str, hints: Hints, description: str = "", **properties: Json) -> ToolSpec:
    """A tool of a bundled server; every property is required unless it has a default."""
    needed = [key for key, value in properties.items() if "default" not in value]
    schema = {
        "type": "object",
        "properties": properties,
        "required": needed,
        "additionalProperties": False,
    }
    title = name.replace("_", " ").capitalize()
    return ToolSpec(
        server, name, title, description or f"{title}.", schema, f"{server}.{name}", hints, Trust.BUNDLED
    )


TEXT: Json = {"type": "string", "minLength": 1}
FILES = (
    tool("files", "read_file", READ, path=TEXT),
    tool("files", "list_folder", READ, path=TEXT),
    tool("files", "delete_file", DESTROY, path=TEXT),
    tool("files", "move_file", WRITE, source=TEXT, destination=TEXT),
    tool("notes", "add_note", WRITE, text=TEXT, count={"type": "integer", "default": 1}),
)


@asynccontextmanager
async def planning(
    script: Script, *specs: ToolSpec, policy: Policy | None = None, limits: ModelLimits = LIMITS, **stub: Any
) -> AsyncIterator[tuple[ModelPlanner, ModelStub]]:
    """A planner, and the stub of the model that it asks."""
    config = stub.pop("config", {})
    async with ModelStub(script, **stub) as server:
        model = ProviderModel(server.config(**config))
        try:
            yield (
                ModelPlanner(model, ListedTools(specs or FILES), policy or Policy("1"), b"a key", limits),
                server,
            )
        finally:
            await model.close()


def turn(text: str = "tidy up", mode: Mode = Mode.ACT, *exchanges: Exchange, **more: Any) -> Turn:
    return Turn("turn-1", SESSION, ANN, text, NOW, exchanges, task="task-1", mode=mode, **more)


def brief(text: str = "tidy up", **more: Any) -> PlannerContext:
    return PlannerContext(text, **more)


async def reply(
    planner: ModelPlanner, asked: Turn, known: PlannerContext | None = None, pending: tuple[Action, ...] = ()
) -> PlannerReply:
    return await planner.reply(asked, known or brief(asked.text), pending)


def then(asked: Turn, replied: PlannerReply, *told: CallReport) -> Turn:
    """The turn after this reply, with the results of its calls."""
    exchange = Exchange(replied.reply, told, replied.memo, replied.usage)
    return replace(asked, exchanges=(*asked.exchanges, exchange))


def proposed(replied: PlannerReply) -> list[tuple[str, dict[str, Json]]]:
    """The calls of a reply, which has to be a proposal."""
    assert isinstance(replied.reply, Propose), replied.reply
    return [(f"{call.server}.{call.tool}", dict(call.args)) for call in replied.reply.calls]


def done(place: int = 0, text: str = "ok", by: str = "") -> CallReport:
    return CallReport(place, "succeeded", text, by=by)


def rejected(place: int = 0, reason: str = "", by: str = ANN) -> CallReport:
    return CallReport(place, "rejected", reason, by=by, author=by)
