"""Puts the server together: tools with their cards, and arguments that are taken strictly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations

from servers.filesystem import trash
from servers.filesystem.changing import Changing
from servers.filesystem.reading import Reading
from servers.filesystem.recipes import CARDS, META, Card
from servers.filesystem.roots import Roots

VERSION = "1.0"


def utc_now() -> datetime:
    return datetime.now(UTC)


def server(roots: Sequence[Path], clock: Callable[[], datetime] = utc_now) -> MCPServer:
    """The server over these folders. `clock` gives aware times: it dates the trash, and purges it now and daily.

    Raises ValueError with a sentence when a folder is missing or two share a name, ToolError when `.countersign`
    in one of them is not a folder of ours.
    """
    house = Roots.at(roots)
    for root in house.roots:
        trash.purge(root, clock())
    reading, changing = Reading(house), Changing(house, trash.Daily(house, clock).now)
    names = ", ".join(root.name for root in house.roots)
    return MCPServer(
        "countersign-filesystem",
        title="Files",
        version=VERSION,
        instructions=f"Files in these folders: {names}. Paths are relative to the first; with several folders, "
        f"begin a path with the folder's name. Deleted and replaced files stay {trash.KEEP.days} days in the trash.",
        tools=[
            _tool(getattr(reading if card.reads else changing, name), card) for name, card in CARDS.items()
        ],
        log_level="WARNING",
    )


def _tool(function: Callable[..., Any], card: Card) -> Tool:
    hints = ToolAnnotations(
        title=card.title,
        read_only_hint=card.reads,
        destructive_hint=card.destroys,
        idempotent_hint=bool(card.recipe["idempotent"]),
        open_world_hint=False,
    )
    tool = Tool.from_function(function, title=card.title, annotations=hints, meta={META: card.recipe})
    return _strict(tool)


def _strict(tool: Tool) -> Tool:
    """Refuse arguments the tool does not have: a misspelt `expected_sha256` must not mean “no matter what is there”."""
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    tool.parameters = model.model_json_schema(by_alias=True)
    return tool
