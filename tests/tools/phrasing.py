"""A phrases planner for tests: the bundled phrases and runbooks over the real tools of the bundled server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gate.action import Json, Session
from gate.talk import Brief, Mode, Reply, Turn
from gate.tool import Answer, Problem, ServerStatus, ToolSpec, Trust
from servers.filesystem import server as filesystem
from tests.tools.hosts import hosting
from tools.phrase_file import load_phrases
from tools.phrases import Phrases
from tools.schema import problems
from tools.servers import ServerConfig

FILE = Path(__file__).parents[2] / "manifests" / "phrases.yaml"
FILES = ServerConfig(name="filesystem", inproc="x", trust=Trust.BUNDLED)
AT = datetime(2026, 11, 21, tzinfo=UTC)
THREAD = Session("T1", "C1", "1.1")


@dataclass(frozen=True)
class Listed:
    """Tools that can be looked up and not called: all that a planner may need."""

    known: Mapping[str, ToolSpec]

    def find(self, server: str, tool: str) -> ToolSpec | None:
        return self.known.get(f"{server}.{tool}")

    def specs(self) -> Sequence[ToolSpec]:
        return list(self.known.values())

    def servers(self) -> Sequence[ServerStatus]:
        return ()

    def problems(self, schema: Mapping[str, Json], value: Json) -> tuple[Problem, ...]:
        return problems(schema, value)

    async def call(self, server: str, tool: str, args: bytes, seconds: float | None = None) -> Answer:
        raise AssertionError("a planner calls nothing")


def listed(folder: Path, *more: ToolSpec) -> Listed:
    """The tools of the bundled server over this folder, as the host lists them, and further ones."""

    async def connected() -> Iterable[ToolSpec]:
        async with hosting(folder, FILES, inproc={"filesystem": filesystem([folder])}) as host:
            return (*host.specs(), *more)

    return Listed({spec.full_name: spec for spec in asyncio.run(connected())})


def bundled(folder: Path, *more: ToolSpec) -> Phrases:
    return Phrases(load_phrases(FILE), listed(folder, *more))


def turn(text: str, mode: Mode = Mode.ACT, name: str = "t") -> Turn:
    return Turn(name, THREAD, "U1", text, AT, task="task", mode=mode)


async def replied(planner: Phrases, text: str, mode: Mode = Mode.ACT, brief: Brief | None = None) -> Reply:
    """What the planner answers to these words."""
    return (await planner.reply(turn(text, mode), brief or Brief(text), ())).reply
