"""What a tool says of itself to the gate beyond its signature, and arguments that are taken strictly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MethodType
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp_types import ToolAnnotations

VERSION = "1.0"  # of the servers
OF_PATHS = frozenset({"paths", "looks", "reported", "found", "told", "listed"})  # the targets that name files
META = "dev.countersign/gate"
ITEMS = {
    "kind": "affected",
    "items": "{capture.plan.items}",
}  # the `preview` of a recipe whose `plan` lists things


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
    content it gives (`paths`), paths of which it gives names and sizes alone (`looks`), addresses and `ids`; which
    fields of the result name the files whose content is in it (`found`), of whose content it tells something (`told`),
    and what lies in a folder (`listed`)."""
    verb = summary.split(" ", 1)[0]
    recipe = {"class": "read", "risk": "low", "confirmationRequired": False, "summary": summary, "verb": verb}
    return Card(title, {**recipe, "notifies": "nobody", "idempotent": True, "targets": targets})


def change(
    title: str, verb: str, summary: str, cls: str = "write", risk: str = "medium", **more: Any
) -> Card:
    """A tool that changes something: `more` are further keys of the recipe, such as `capture`, `undo` and `targets`."""
    recipe = {"class": cls, "risk": risk, "confirmationRequired": True, "summary": summary, "verb": verb}
    return Card(title, {**recipe, "notifies": "nobody", "idempotent": False, "targets": {}, **more})


def lying_inside(cards: Mapping[str, Card], name: str) -> dict[str, Card]:
    """The tools of a server of which this argument names what a file lies in, also where it is found otherwise."""
    return {
        key: replace(card, recipe={**card.recipe, "targets": {**card.recipe["targets"], "inside": [name]}})
        for key, card in cards.items()
    }


def call(tool: str, **args: Any) -> dict[str, Any]:
    """A call that a recipe names: the preview before a change, or what takes the change back."""
    return {"tool": tool, "args": args}


def unchanged(tool: str, **args: str) -> dict[str, Any]:
    """The `drift` of a recipe: the read that gives the SHA-256 of the result until somebody changes it."""
    return {**call(tool, **args), "same": {"sha256": "{result.sha256}"}}


def bound(*names: str, **renamed: str) -> dict[str, str]:
    """The `bind` of a recipe: arguments that come from the preview named `plan`, from the field of the same name there
    or from the one given."""
    fields = {**{name: name for name in names}, **renamed}
    return {name: f"{{capture.plan.{field}}}" for name, field in fields.items()}


def tool(function: Callable[..., Any], card: Card, roots: Mapping[str, Sequence[str]] | None = None) -> Tool:
    """The function as a tool of an MCP server, under its own name. `roots`: the folders that its paths begin in."""
    targets = card.recipe["targets"]
    if roots and targets.keys() & OF_PATHS:
        card = replace(card, recipe={**card.recipe, "targets": {**targets, "roots": roots}})
    hints = ToolAnnotations(
        title=card.title,
        read_only_hint=card.reads,
        destructive_hint=card.destroys,
        idempotent_hint=bool(card.recipe["idempotent"]),
        open_world_hint=card.open_world,
    )
    own = {"fn": function, "title": card.title, "annotations": hints, "meta": {META: card.recipe}}
    return _described(function).model_copy(update=own)


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


# By the function of a method, which has the same signature for every server: to read it and to make its schemas takes
# ten times as long as all else that makes a server.
_known: dict[Callable[..., Any], Tool] = {}


def _described(function: Callable[..., Any]) -> Tool:
    """The tool as its signature and its docstring describe it."""
    if not isinstance(function, MethodType):
        return _strict(Tool.from_function(function))
    if function.__func__ not in _known:
        made = _strict(Tool.from_function(function))
        _known[function.__func__] = made.model_copy(update={"fn": function.__func__})  # of no one server
    return _known[function.__func__]


class _AsGiven(FuncMetadata):
    """Takes each argument as it was given. The SDK reads JSON in a text where the argument may be something else than
    a text: `"null"` became nothing, and what ran was not what its preview had shown."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        return data


def _strict(tool: Tool) -> Tool:
    """Refuse arguments the tool does not have: a misspelt `expected_sha256` must not mean “no matter what is there”."""
    known = tool.fn_metadata
    tool.fn_metadata = _AsGiven(**{name: getattr(known, name) for name in FuncMetadata.model_fields})
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    tool.parameters = model.model_json_schema(by_alias=True)
    return tool
