"""An MCP server over stdio, written without the SDK so that it can misbehave: `raw_server.py '{"option": value}'`."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

OPTIONS: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
EMPTY = {"type": "object", "properties": {}}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS: list[dict[str, Any]] = [
    {"name": "echo", "description": "Says it back", "inputSchema": EMPTY},
    {"name": "die", "inputSchema": EMPTY},
    {"name": "hang", "inputSchema": EMPTY},
    {"name": "flood", "inputSchema": EMPTY},
    {"name": "refuse", "inputSchema": EMPTY},
    {"name": "protest", "inputSchema": EMPTY},
    {"name": "ask", "inputSchema": EMPTY},
    {"name": "garbage", "inputSchema": EMPTY},
    {"name": "mixed", "inputSchema": EMPTY},
    {"name": "broken_promise", "inputSchema": EMPTY, "outputSchema": NUMBER},
]


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def write_trace(word: str) -> None:
    """Write a line to the trace file, which proves that a call ran."""
    if "trace" in OPTIONS:
        with Path(OPTIONS["trace"]).open("a") as trace:
            trace.write(word + "\n")


def tools() -> list[dict[str, Any]]:
    offered = [t for t in TOOLS if t["name"] in OPTIONS.get("only", [t["name"] for t in TOOLS])]
    if "description_file" in OPTIONS:  # a definition that a test can change
        text = Path(OPTIONS["description_file"]).read_text()
        offered = [{**tool, "description": text} for tool in offered]
    return offered + OPTIONS.get("more", [])


def list_page(cursor: str | None) -> dict[str, Any]:
    size, start = OPTIONS.get("page", 100), int(cursor or 0)
    page: dict[str, Any] = {"tools": tools()[start : start + size]}
    if start + size < len(tools()):
        page["nextCursor"] = str(start + size)
    return page


def call_result(name: str, arguments: Any) -> dict[str, Any]:
    write_trace(name)
    if name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "hang":
        time.sleep(60)
    if name == "flood" and "part" in OPTIONS:
        return {"content": [OPTIONS["part"]] * OPTIONS["parts"]}
    if name == "flood" and "dense" in OPTIONS:
        return {"content": [], "structuredContent": {"all": [[]] * OPTIONS["dense"]}}
    if name == "flood":
        return {"content": [{"type": "text", "text": "x" * OPTIONS.get("flood", 20_000_000)}]}
    if name == "refuse":
        return {"content": [{"type": "text", "text": "the disk is full"}], "isError": True}
    if name == "garbage":
        return {"content": 7}
    if name == "mixed":
        return {"content": MIXED}
    if name == "broken_promise":
        return {"content": [], "structuredContent": {"n": "seven"}}
    return {"content": [{"type": "text", "text": json.dumps(arguments, sort_keys=True)}]}


def unasked() -> dict[str, Any]:
    """Parameters of a request that nobody waits for."""
    return {"maxTokens": 5, "messages": [{"role": "user", "content": [OPTIONS["part"]] * OPTIONS["parts"]}]}


MIXED = [
    {"type": "text", "text": "one"},
    {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "two"}},
    {"type": "resource_link", "uri": "file:///b.txt", "name": "b"},
]


def answer(message: dict[str, Any]) -> None:
    method, params = message.get("method"), message.get("params") or {}
    if "id" not in message or method is None:
        return
    if method == "server/discover":
        if OPTIONS.get("on_discover") == "exit":
            sys.exit(1)
        if OPTIONS.get("on_discover") != "silent":
            send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
    elif method == "initialize":
        server_info = {"name": OPTIONS.get("name", "raw"), "version": "1"}
        capabilities = {"tools": {"listChanged": True}}
        result = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": server_info}
        send({"id": message["id"], "result": result})
    elif method == "tools/list":
        write_trace("list")
        send({"id": message["id"], "result": list_page(params.get("cursor"))})
    elif params.get("name") == "protest":
        send({"id": message["id"], "error": {"code": -32000, "message": "backend busy"}})
    else:
        for number in range(OPTIONS.get("unasked", 0)):
            send({"id": f"u{number}", "method": OPTIONS["method"], "params": unasked()})
        result = call_result(params.get("name", ""), params.get("arguments"))
        if OPTIONS.get("notify"):
            send({"method": "notifications/tools/list_changed"})
        send({"id": message["id"], "result": result})


def chatter() -> None:
    """Standard error without end."""
    while True:
        os.write(2, b"e" * 65_536)


def main() -> None:
    if OPTIONS.get("banner"):
        sys.stdout.write("Welcome to the server!\n{not json\n")
    if OPTIONS.get("stderr"):
        sys.stderr.write("e" * OPTIONS["stderr"])
    if OPTIONS.get("chatter"):
        threading.Thread(target=chatter, daemon=True).start()
    if OPTIONS.get("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    write_trace(f"pid {os.getpid()}")
    for line in sys.stdin:
        if not OPTIONS.get("silent"):
            answer(json.loads(line))
    while OPTIONS.get("stubborn"):
        time.sleep(1)


if __name__ == "__main__":
    main()
