"""A bundled server behind the real gate's reading of recipes: look, do, take back. No ledger, no Slack."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from mcp.server import MCPServer
from mcp_types import Tool

from bot.wiring import SystemClock
from gate.actions.preview import PreviewResult, make_preview, run_capture
from gate.rules.action import Json, Preview
from gate.rules.canonical_json import canonical
from gate.rules.judging_turns import JudgingTurns
from gate.rules.policy import Policy
from gate.rules.ports import World
from gate.rules.previews import way_back
from gate.rules.templates import expand
from gate.rules.tool import ToolSpec, Trust
from tests.tools.mcp_hosts import hosting
from tools.mcp.client import Host
from tools.mcp.server_config import ServerConfig
from tools.recipes.reader import read_recipe
from tools.recipes.validation import ToolSchemas, recipe_problems

META = "dev.countersign/gate"
SATURDAY = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


@dataclass
class Done:
    """A change that was made, with all that its recipe may use to take it back."""

    spec: ToolSpec
    preview: Preview
    scope: dict[str, Any]

    @property
    def result(self) -> dict[str, Any]:
        found = self.scope["result"]
        assert isinstance(found, dict)
        return found


class Patient:
    """The tools of a host, with three times the time for a look: on a full machine a server that steps back for the bot
    may need it. What the limits themselves do is tested with hosts of their own."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def __getattr__(self, name: str) -> Any:
        return getattr(self.host, name)

    async def call(
        self, server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Any:
        return await self.host.call(server, tool, args, seconds and 3 * seconds, definition)


class Gate:
    """What a person behind the gate can do with one server."""

    def __init__(self, host: Host, server: str) -> None:
        self.host, self.server = host, server
        self.world = cast(
            World,
            SimpleNamespace(
                tools=Patient(host), policy=Policy("test"), clock=SystemClock(), judging=JudgingTurns()
            ),
        )

    def spec(self, tool: str) -> ToolSpec:
        found = self.host.find(self.server, tool)
        assert found is not None
        return found

    async def __call__(self, tool: str, /, **args: Any) -> dict[str, Any]:
        """The structured answer of a call as it is, without the gate."""
        answer = await self.host.call(self.server, tool, canonical(args), 30)
        assert not answer.is_error, answer.text
        assert isinstance(answer.structured, dict)
        return answer.structured

    async def refused(self, tool: str, /, **args: Any) -> str:
        """The sentence of a refusal."""
        answer = await self.host.call(self.server, tool, canonical(args), 30)
        assert answer.is_error, answer.structured
        assert answer.text != f"Error executing tool {tool}", "a crash has no sentence"
        return answer.text

    async def look(self, tool: str, /, **args: Any) -> PreviewResult:
        return await make_preview(self.world, self.spec(tool), args, "C")

    async def blind(self, tool: str, /, **args: Any) -> str:
        """Why there is no preview, and so no Confirm."""
        problem = (await self.look(tool, **args)).preview.problem
        assert problem
        return problem

    async def do(self, tool: str, /, **args: Any) -> Done:
        """Look, see that looking again shows the same, then call."""
        seen = await self.look(tool, **args)
        assert seen.preview.is_complete, seen.preview.problem
        return await self.go_on(tool, seen, args)

    async def go_on(self, tool: str, seen: PreviewResult, args: Mapping[str, Json]) -> Done:
        spec = self.spec(tool)
        again = await run_capture(self.world, spec, args, "C")
        assert again.found == seen.capture, "it would never be carried out"
        result = await self(tool, **seen.args)
        return Done(spec, seen.preview, {"args": seen.args, "capture": seen.capture, "result": result})

    async def unchanged(self, done: Done) -> bool:
        drift = done.spec.recipe.drift
        assert drift
        now = await self(drift.read.tool, **expand(drift.read.args, done.scope))
        return all(now[name] == expand(template, done.scope) for name, template in drift.same.items())

    def inverse(self, done: Done) -> tuple[str, dict[str, Any]]:
        way = way_back(done.spec, done.scope)
        assert way, "no way back"
        return way.tool, expand(way.args, done.scope)

    async def undo(self, done: Done) -> dict[str, Any]:
        assert await self.unchanged(done)
        tool, args = self.inverse(done)
        return await self(tool, **args)

    async def undo_refused(self, done: Done) -> str:
        tool, args = self.inverse(done)
        return await self.refused(tool, **args)


@asynccontextmanager
async def gated(logs: Path, name: str, app: MCPServer) -> AsyncIterator[Gate]:
    """The server in this process, over the real client, with every recipe in use."""
    config = ServerConfig(name=name, inproc="x", trust=Trust.BUNDLED)
    async with hosting(logs, config, inproc={name: app}) as host:
        assert host.problems_found == []
        yield Gate(host, name)


def check_cards(
    tools: Sequence[Tool], classes: Mapping[str, str], final: frozenset[str] = frozenset()
) -> None:
    """Every tool says all that the gate wants to know. `final`: those that nothing can take back."""
    assert {tool.name: (tool.meta or {})[META]["class"] for tool in tools} == classes
    shapes = {tool.name: ToolSchemas(tool.input_schema, tool.output_schema) for tool in tools}
    for tool in tools:
        _check_card(tool, classes[tool.name])
        recipe = read_recipe((tool.meta or {})[META])
        assert recipe_problems(recipe, tool.name, shapes) == []
        assert {classes[read.tool] for read in recipe.capture.values()} <= {"read"}
        assert recipe.summary
        assert recipe.verb
        if classes[tool.name] != "read":
            assert bool(recipe.undo) is bool(recipe.drift) is (tool.name not in final)
            assert recipe.recoverable


def _check_card(tool: Tool, cls: str) -> None:
    said = tool.annotations
    assert tool.title
    assert tool.description
    assert tool.output_schema
    assert tool.input_schema["additionalProperties"] is False
    assert said
    assert said.title == tool.title
    assert said.read_only_hint is (cls == "read")
    assert said.destructive_hint is (cls == "destructive")
    assert said.idempotent_hint is (cls == "read")
    assert said.open_world_hint is not None
    assert (tool.meta or {})[META]["confirmationRequired"] is (cls != "read")
