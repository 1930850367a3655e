"""A server whose tools say nothing of themselves: no annotations, no recipe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer

SAID = (
    "42 logins were exported",
    "Error: no room left, nothing was written",
    '{"success": false}',
    "Permission denied",
    "Failed logins were exported",
)


def server(roots: Sequence[Path]) -> MCPServer:
    made = MCPServer("strange", log_level="WARNING")

    @made.tool()
    def poke(at: str, times: int = 1) -> str:
        with (roots[0] / "poked.txt").open("a", encoding="utf-8") as file:
            file.write(at * times)
        return "poked"

    @made.tool()
    def export(number: int) -> str:
        return SAID[number]

    return made
