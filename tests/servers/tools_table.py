"""docs/tools.md, made from what the servers say of their tools: `python -m tests.servers.tools_table` writes it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mcp_types import Tool

from tests.servers.all_servers import tools
from tests.servers.figures import BY_HAND, FIGURES, MEASURED, SIZES
from tests.servers.gate_around_server import META

PATH = Path(__file__).parents[2] / "docs" / "tools.md"
HEAD = """# The tools that come along

Made from the code: `python -m tests.servers.tools_table` writes this page, and a test fails when it is stale.

Each server is an MCP server of its own: `python -m servers.NAME --help` says how to start it, and
`countersign.example.yaml` how the bot runs it itself. Reading asks nobody. A write is shown and confirmed; what is
destructive is confirmed by typing. What takes a change back is a tool like any other, with a class of its own. An undo
refuses when its target is no longer as the change left it.
"""
SHOWN = {
    "diff": "the difference to the text that is there",
    "text": "the lines that go and come",
    "affected": "everything it touches, with sizes",
    "fields": "its arguments",
}
WRITES = ["write", "destructive"]


def page(listed: Mapping[str, Sequence[Tool]]) -> str:
    """The whole page."""
    return (
        HEAD + "".join(_server(name, found) for name, found in listed.items()) + _final(listed) + _measured()
    )


def recipe(tool: Tool) -> dict[str, Any]:
    found: dict[str, Any] = (tool.meta or {})[META]
    return found


def _server(name: str, found: Sequence[Tool]) -> str:
    reads = [tool for tool in found if recipe(tool)["class"] == "read"]
    writes = sorted(set(WRITES) & {recipe(tool)["class"] for tool in found}, key=WRITES.index)
    parts = [f"\n## {name}\n", _table(["Reads", "What it does"], [[_name(one), _does(one)] for one in reads])]
    if writes:
        rows = [_row(tool) for tool in found if tool not in reads]
        parts.append(_table(["Changes", "What it does", "Class", "Shown before", "Taken back by"], rows))
    return "\n".join(parts)


def _row(tool: Tool) -> list[str]:
    card = recipe(tool)
    cls = f"{card['class']}, {card['risk']} risk"
    return [_name(tool), _does(tool), cls, SHOWN[card.get("preview", {}).get("kind", "fields")], _undo(card)]


def _name(tool: Tool) -> str:
    return f"`{tool.name}`"


def _does(tool: Tool) -> str:
    return (tool.description or "").strip().splitlines()[0].replace("|", "\\|")


def _undo(card: Mapping[str, Any]) -> str:
    ways = [f"`{way['tool']}`{_when(way, n)}" for n, way in enumerate(card.get("undo", []))]
    days = f", for {card['keeps_days']} days" if card.get("keeps_days") and ways else ""
    return (
        ", or ".join(ways) + days
    ) or f"nothing: {card['recoverable'][:1].lower()}{card['recoverable'][1:]}"


def _when(way: Mapping[str, Any], before: int) -> str:
    if before:
        return " otherwise"
    condition = {"{result.replaced}": "something gave way", "{capture.plan.restorable}": "it was text"}
    for key, word in (("when", "when"), ("unless", "unless")):
        if key in way:
            return f" {word} {condition.get(way[key], way[key].strip('{}').rpartition('.')[2].replace('_', ' '))}"
    return ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def final(listed: Mapping[str, Sequence[Tool]]) -> set[str]:
    """Those that change something and that nothing takes back."""
    return {
        f"{name}.{tool.name}"
        for name, found in listed.items()
        for tool in found
        if recipe(tool)["class"] != "read" and not recipe(tool).get("undo")
    }


def _final(listed: Mapping[str, Sequence[Tool]]) -> str:
    names = ", ".join(f"`{name}`" for name in sorted(final(listed)))
    return f"\n## What nothing takes back\n\n{names}. Their cards say so before.\n"


def _measured() -> str:
    rows = [[name, what, figure] for name, (what, figure) in FIGURES.items()]
    head = "\n## What was measured\n\nEach figure is held against what its test measures.\n\n"
    said = "\nPrinted by `python -m benchmarks tools` on 2026-11-25; no test holds these.\n\n"
    quality = _table(["Tool", "On", "Figure", "Goal", "Why not more"], MEASURED)
    sizes = _table(["Tool", "On", "Time", "Memory", "Limit"], SIZES)
    return head + _table(["Tool", "On", "Figure"], rows) + "\n" + BY_HAND + said + quality + "\n" + sizes


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PATH.write_text(page(asyncio.run(tools(Path(folder)))), "utf-8")
