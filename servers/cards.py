"""What a tool says of itself to the gate beyond its signature, and arguments that are taken strictly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations

VERSION = "1.0"  # of the servers
META = "dev.countersign/gate"


@dataclass(frozen=True)
class Card:
    """One tool as clients see it: its title, and the recipe by which the gate shows it and takes it back."""

    title: str
    recipe: dict[str, Any]
    open_world: bool = False  # whether it reaches people or machines beyond this one

    @property
    def reads(self) -> bool:
        return bool(self.recipe["class"] == "read")

    @property
    def destroys(self) -> bool:
        return bool(self.recipe["class"] == "destructive")


def reading(title: str, summary: str, **targets: list[str]) -> Card:
    """A tool that only reads. Its verb is the first word of the summary. `targets`: which arguments are paths whose
    content it gives (`paths`), paths of which it gives names and sizes alone (`looks`), addresses and `ids`."""
    verb = summary.split(" ", 1)[0]
    recipe = {"class": "read", "risk": "low", "confirmationRequired": False, "summary": summary, "verb": verb}
    return Card(title, {**recipe, "notifies": "nobody", "idempotent": True, "targets": targets})


def change(
    title: str, verb: str, summary: str, cls: str = "write", risk: str = "medium", **more: Any
) -> Card:
    """A tool that changes something: `more` are further keys of the recipe, such as `capture`, `undo` and `targets`."""
    recipe = {"class": cls, "risk": risk, "confirmationRequired": True, "summary": summary, "verb": verb}
    return Card(title, {**recipe, "notifies": "nobody", "idempotent": False, "targets": {}, **more})


def tool(function: Callable[..., Any], card: Card, roots: Mapping[str, Sequence[str]] | None = None) -> Tool:
    """The function as a tool of an MCP server, under its own name. `roots`: the folders that its paths begin in."""
    targets = card.recipe["targets"]
    if roots and targets.keys() & {"paths", "looks"}:
        card = replace(card, recipe={**card.recipe, "targets": {**targets, "roots": roots}})
    hints = ToolAnnotations(
        title=card.title,
        read_only_hint=card.reads,
        destructive_hint=card.destroys,
        idempotent_hint=bool(card.recipe["idempotent"]),
        open_world_hint=card.open_world,
    )
    made = Tool.from_function(function, title=card.title, annotations=hints, meta={META: card.recipe})
    return _strict(made)


def mcp_server(
    name: str,
    title: str,
    about: str,
    cards: Mapping[str, Card],
    owners: Sequence[object],
    roots: Mapping[str, Sequence[str]] | None = None,
) -> MCPServer:
    """The server `countersign-NAME`. Each tool is the method of its name of the first owner that has one."""
    methods = {key: next(getattr(owner, key) for owner in owners if hasattr(owner, key)) for key in cards}
    return MCPServer(
        f"countersign-{name}",
        title=title,
        version=VERSION,
        instructions=about,
        tools=[tool(methods[key], card, roots) for key, card in cards.items()],
        log_level="WARNING",
    )


def _strict(tool: Tool) -> Tool:
    """Refuse arguments the tool does not have: a misspelt `expected_sha256` must not mean “no matter what is there”."""
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    tool.parameters = model.model_json_schema(by_alias=True)
    return tool
