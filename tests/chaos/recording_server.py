"""The oracle: an MCP server outside every replica, whose strikes stand in a log that is on disk before they are answered."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from aiohttp import web

NUMBER = {"type": "number"}
STRIKE = {
    "name": "strike",
    "description": "Strike the bell once. It takes `before` seconds until it sounds and `after` until it says so.",
    "inputSchema": {
        "type": "object",
        "properties": {"mark": {"type": "string"}, "before": NUMBER, "after": NUMBER},
        "required": ["mark"],
        "additionalProperties": False,
    },
}
# The same, by a server that says what it does: a plan's approval covers it.
TOLL = {
    **STRIKE,
    "name": "toll",
    "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
}
ASKED, DONE = "asked", "done"  # the request is here; the bell has sounded


class Bell:
    """Streamable HTTP in its plainest form. Whoever asks may die: what was asked for happens all the same."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.url = ""
        self._file = log.open("ab", buffering=0)
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/mcp", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/mcp"

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()
        self._file.close()

    async def _answer(self, request: web.Request) -> web.Response:
        asked = await request.json()
        method, params = asked.get("method"), asked.get("params") or {}
        if "id" not in asked:
            return web.Response(status=202)
        if method == "initialize":
            result: Any = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "bell", "version": "1"},
            }
        elif method == "tools/list":
            result = {"tools": [STRIKE, TOLL]}
        elif method == "tools/call":
            result = await asyncio.shield(self._strike(params["arguments"]))
        else:
            result = {}
        return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": result})

    async def _strike(self, args: dict[str, Any]) -> dict[str, Any]:
        self._write(ASKED, args)
        await asyncio.sleep(args.get("before", 0))
        self._write(DONE, args)
        await asyncio.sleep(args.get("after", 0))
        return {"content": [{"type": "text", "text": f"It sounded for {args['mark']}."}], "isError": False}

    def _write(self, event: str, args: dict[str, Any]) -> None:
        self._file.write(json.dumps({"event": event, "mark": args["mark"], "args": args}).encode() + b"\n")
        os.fsync(self._file.fileno())


def heard(log: Path) -> list[dict[str, Any]]:
    """Every line of the log."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def strikes(log: Path, event: str = DONE) -> Counter[str]:
    """How often each mark was asked for, or sounded."""
    return Counter(line["mark"] for line in heard(log) if line["event"] == event)
