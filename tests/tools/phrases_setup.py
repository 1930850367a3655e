"""A phrases planner for tests: the bundled phrases and runbooks over the real tools of the bundled server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from gate.rules.action import Json, Session
from gate.rules.planner_port import Call, CallReport, Exchange, Mode, PlannerContext, Propose, Reply, Turn
from gate.rules.task import SettledPoint
from gate.rules.tool import Answer, Problem, ServerStatus, ToolSpec, Trust
from servers.filesystem import server as filesystem
from tests.tools.mcp_hosts import hosting
from tools.mcp.schema import problems
from tools.mcp.server_config import ServerConfig
from tools.phrases.phrase_file import PhraseBook, load_phrases, read_phrases
from tools.phrases.planner import Phrases
from tools.phrases.runbook_steps import seen
from tools.strict_config import Document

FILE = Path(__file__).parents[2] / "manifests" / "phrases.yaml"
FILES = ServerConfig(name="filesystem", inproc="x", trust=Trust.BUNDLED)
AT = datetime(2026, 11, 21, tzinfo=UTC)
FOLDERS = tuple(f"{name}/kept.txt" for name in ("archive", "drafts", "somewhere", "aa", "y", "z"))
THREAD = Session("T1", "C1", "1.1")


@dataclass(frozen=True)
class Listed:
    """Tools that can be looked up and not called: all that a planner may need."""

    known: Mapping[str, ToolSpec]

    def find(self, server: str, tool: str) -> ToolSpec | None:
        return self.known.get(f"{server}.{tool}")

    def relist(self, server: str) -> None:
        """Nothing is listed here."""

    async def declared(self, server: str, tool: str) -> ToolSpec | None:
        return self.find(server, tool)

    def specs(self) -> Sequence[ToolSpec]:
        return list(self.known.values())

    def servers(self) -> Sequence[ServerStatus]:
        return ()

    def problems(self, schema: Mapping[str, Json], value: Json) -> tuple[Problem, ...]:
        return problems(schema, value)

    async def call(
        self, server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
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


async def replied(
    planner: Phrases, text: str, mode: Mode = Mode.ACT, brief: PlannerContext | None = None
) -> Reply:
    """What the planner answers to these words."""
    return (await planner.reply(turn(text, mode), brief or PlannerContext(text), ())).reply


async def replied_over(
    planner: Phrases, text: str, mode: Mode, brief: PlannerContext, tree: Sequence[str] = FOLDERS
) -> Reply:
    """The same once it has looked up what files there are; without them, names of files stay as they were typed."""
    asked = turn(text, mode)
    while len(asked.exchanges) < 5:
        reply = (await planner.reply(asked, brief, ())).reply
        if not (isinstance(reply, Propose) and reply.lookup):
            return reply
        told = tuple(CallReport(n, "succeeded", found_by(call, tree)) for n, call in enumerate(reply.calls))
        asked = replace(asked, exchanges=(*asked.exchanges, Exchange(reply, told)))
    raise AssertionError(f"it looks names up again and again: {asked.exchanges[-1].reply}")


def phrase_book(data: Any) -> PhraseBook:
    """What a phrase file with this in it says."""
    return read_phrases(Document.parse("phrases.yaml", json.dumps(data)))


SEARCH, LIST = "search_files", "list_dir"
TREE = (
    "archive/q2-summary.md",
    "contracts/lease-2026.md",
    "contracts/lease-2027.md",
    "downloads/minutes (1).txt",
    "downloads/minutes.txt",
    "drafts/meeting-notes.md",
    "drafts/q3-draft.md",
    "reports/q3-figures.csv",
    "reports/q3-summary.md",
)


def found_by(call: Call, tree: Sequence[str] = TREE) -> str:
    """What the two reads that look names up answer over these files, as the bundled server does."""
    folders = {path.rpartition("/")[0] for path in tree} - {""}
    entries = [(path, "file") for path in tree] + [(path, "folder") for path in folders]
    if call.tool == LIST:
        inside = [e for e in entries if e[0].rpartition("/")[0] == call.args["path"]]
        items = [{"name": path, "kind": kind} for path, kind in sorted(inside)]
        return json.dumps({"items": items, "truncated": False})
    assert call.tool == SEARCH, call
    fitting = [
        e for e in entries if fnmatch(e[0].rpartition("/")[2].lower(), str(call.args["pattern"]).lower())
    ]
    return json.dumps({"matches": [{"path": p, "kind": k} for p, k in sorted(fitting)], "truncated": False})


def understood(
    planner: Phrases, text: str, tree: Sequence[str] = TREE, decided: tuple[SettledPoint, ...] = ()
) -> Reply:
    """What the planner answers to these words in the end, once it has looked names up among these files."""
    exchanges: tuple[Exchange, ...] = ()
    while len(exchanges) < 5:
        reply = planner.understand(text, PlannerContext(text, decided=decided), seen(exchanges))
        if not (isinstance(reply, Propose) and reply.lookup):
            return reply
        told = tuple(CallReport(n, "succeeded", found_by(call, tree)) for n, call in enumerate(reply.calls))
        exchanges += (Exchange(reply, told),)
    raise AssertionError(f"it looks names up again and again: {exchanges[-1].reply}")
