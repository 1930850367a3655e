"""A small outside world behind the Tools port: notes on a desk, and a log of every call that reached it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gate.rules.action import CallClass
from gate.rules.send_guard import SEND_GUARD
from gate.rules.tool import (
    Answer,
    Drift,
    Hints,
    OutcomeUnknown,
    Read,
    Recipe,
    ServerStatus,
    ServerUnavailable,
    Show,
    ToolSpec,
    Trust,
    Undo,
)
from tools.mcp.schema import problems


def schema(required: Sequence[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


TEXT = {"type": "string"}
LOOK = {"before": Read("look", {"path": "{args.path}"})}
BIND = {"expected": "{capture.before.sha}"}
AS_LEFT = Drift(Read("look", {"path": "{args.path}"}), {"sha": "{result.sha}"})

WRITE = Recipe(
    cls=CallClass.WRITE,
    summary="Write {args.path}",
    verb="Write",
    noun="{args.path|name}",
    capture=LOOK,
    bind=BIND,
    show=Show("diff", "{capture.before.content}", "{args.content}", "{args.path}"),
    undo=[
        Undo(
            "put_back",
            {"path": "{args.path}", "content": "{capture.before.content}", "expected": "{result.sha}"},
            when="{capture.before.exists}",
        ),
        Undo("shred", {"path": "{args.path}", "expected": "{result.sha}"}, unless="{capture.before.exists}"),
    ],
    drift=AS_LEFT,
)
PUT_BACK = Recipe(
    cls=CallClass.WRITE, summary="Put back {args.path}", verb="Put back", capture=LOOK, bind=BIND
)
SHRED = Recipe(
    cls=CallClass.DESTRUCTIVE,
    summary="Shred {args.path}",
    verb="Shred",
    noun="{args.path|name}",
    capture=LOOK,
    bind=BIND,
)
CONTENT = schema(["path", "content"], path=TEXT, content=TEXT, expected=TEXT)
PATH = schema(["path"], path=TEXT, expected=TEXT)


def bundled(name: str, takes: dict[str, Any], hints: Hints, recipe: Recipe) -> ToolSpec:
    return ToolSpec("desk", name, name.title(), "", takes, f"d-{name}", hints, Trust.BUNDLED, recipe=recipe)


SPECS = {
    "look": bundled("look", schema(["path"], path=TEXT), Hints(True), Recipe(cls=CallClass.READ)),
    "write": bundled("write", CONTENT, Hints(False, False), WRITE),
    "put_back": bundled("put_back", CONTENT, Hints(False, False), PUT_BACK),
    "shred": bundled("shred", PATH, Hints(False, True), SHRED),
    "poke": ToolSpec("desk", "poke", "Poke", "", schema([], at=TEXT), "d-poke", reviewed=True),
}


class Desk:
    """Implements gate.rules.ports.Tools. `behave` decides what the next changing call does."""

    def __init__(self) -> None:
        self.notes: dict[str, str] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []  # every call that changed something, or may have
        self.reads = 0
        self.specs_now = dict(SPECS)
        self.relisted: list[str] = []  # servers that were to be listed anew
        self.behave = "well"
        self.refusal = "There is no room on the desk."
        self.gate: asyncio.Event | None = None  # a call waits here while it is set
        self.entered = asyncio.Event()

    def find(self, server: str, tool: str) -> ToolSpec | None:
        return self.specs_now.get(tool) if server == "desk" else None

    def relist(self, server: str) -> None:
        self.relisted.append(server)

    async def declared(self, server: str, tool: str) -> ToolSpec | None:
        return self.find(server, tool)

    def specs(self) -> Sequence[ToolSpec]:
        return list(self.specs_now.values())

    def servers(self) -> Sequence[ServerStatus]:
        return [ServerStatus("desk", "ready", tools=len(self.specs_now))]

    def problems(self, schema: Mapping[str, Any], value: Any) -> Any:
        return problems(schema, value)

    def redefine(self, tool: str, **changes: Any) -> None:
        """The server changes a tool under our feet."""
        changed = replace(self.specs_now[tool], definition=self.specs_now[tool].definition + "'", **changes)
        self.specs_now[tool] = changed

    def read_nothing_back(self) -> None:
        """From now on nothing says how the target of a write could be read afterwards."""
        write = self.specs_now["write"]
        self.specs_now["write"] = replace(write, recipe=replace(write.recipe, drift=None))

    async def call(
        self, server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        given = json.loads(args)
        if definition not in ("", self.specs_now[tool].definition):
            raise ServerUnavailable(f"the definition of desk.{tool} has just changed")
        if tool == "look":
            self.reads += 1
            return answer(self._look(given["path"]))
        if self.behave == "absent":
            raise ServerUnavailable("desk is not connected")
        if guard := SEND_GUARD.get():
            await guard.confirm()
            guard.check()
        self.calls.append((tool, given))
        self.entered.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.behave == "breaks the line":
            raise OutcomeUnknown("the line broke while it ran")
        if self.behave == "says no":
            return Answer(self.refusal, is_error=True)
        return self._change(tool, given)

    def _change(self, tool: str, given: dict[str, Any]) -> Answer:
        path = given.get("path", given.get("at", ""))
        if "expected" in given and self._look(path)["sha"] != given["expected"]:
            return Answer("changed since", is_error=True)
        if tool in ("write", "put_back", "jot"):
            self.notes[path] = given["content"]
        elif tool == "shred":
            self.notes.pop(path, None)
        return answer(self._look(path))

    def _look(self, path: str) -> dict[str, Any]:
        content = self.notes.get(path)
        sha = hashlib.sha256((content or "").encode()).hexdigest() if content is not None else "absent"
        return {"exists": content is not None, "sha": sha, "content": content or ""}


def answer(found: dict[str, Any]) -> Answer:
    return Answer(json.dumps(found), found)
