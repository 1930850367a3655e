"""What the operator's recipe file says of each tool of its server, for tools that it does not name."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from mcp_types import Tool

from gate.rules.action import Json, Verdict
from gate.rules.policy import Policy, Rule, decide
from gate.rules.tool import Pin, ToolSpec, Trust
from tools.mcp.catalogue import RECIPE_META_KEY, Catalogue, definition
from tools.mcp.connection import Listing
from tools.mcp.schema import problems
from tools.mcp.server_config import ServerConfig
from tools.recipes.reader import load_recipes

FILES = load_recipes(Path(__file__).parents[2] / "manifests" / "tools")
WANTED = {"owner": {"const": "acme"}, "repo": {"const": "payroll"}}
PAYROLL = Rule("r", ("*",), deny=True, schema={"required": [*WANTED], "properties": WANTED})


def judged(tool: ToolSpec, args: Json) -> Verdict:
    matches = lambda schema, value: not problems(schema, value)  # noqa: E731
    return decide(Policy("p", (PAYROLL,)), tool, args, "C1", matches).verdict


def listed(recipe: Json | None, reviewed: bool) -> ToolSpec:
    """A tool that the file of its server does not name, with such a recipe of its own."""
    named = {"owner": {"type": "string"}, "repo": {"type": "string"}}
    declared: dict[str, Any] = {
        "name": "list_tags",
        "inputSchema": {"type": "object", "properties": named},
        "annotations": {"readOnlyHint": True},
        "_meta": {RECIPE_META_KEY: recipe} if recipe else None,
    }
    tool = Tool.model_validate(declared)
    config = ServerConfig(name="github", command="x", trust=Trust.REVIEWED, recipes="github-mcp-server")
    pin = Pin("github", tool.name, definition(tool, config), "ann", datetime(2026, 1, 1, tzinfo=UTC))
    listing = Listing(tools=[tool], rejected={}, reported_name="github-mcp-server")
    return Catalogue.of(config, listing, FILES, {tool.name: pin} if reviewed else {}).specs[tool.name]


@pytest.mark.parametrize("reviewed", [True, False])
@pytest.mark.parametrize("recipe", [None, {"class": "read", "summary": "Tags"}, {"class": "nonsense"}])
def test_what_a_recipe_file_says_of_each_tool_holds_for_one_that_it_does_not_name(
    recipe: Json | None, reviewed: bool
) -> None:
    tool = listed(recipe, reviewed)
    assert judged(tool, {"owner": "Acme", "repo": "Payroll"}) is Verdict.DENY
    assert judged(tool, {"owner": "acme", "repo": "../../orgs/acme"}) is Verdict.DENY
    assert judged(tool, {"owner": "acme", "repo": "docs"}) is not Verdict.DENY


PAGE = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"


@pytest.mark.parametrize("reviewed", [True, False])
@pytest.mark.parametrize("args", [{"block_id": PAGE}, {"parent": {"page_id": PAGE}}])
def test_the_names_that_a_page_has_hold_for_a_tool_that_nobody_has_read(
    args: dict[str, Json], reviewed: bool
) -> None:
    types = {name: {"type": "object" if name == "parent" else "string"} for name in args}
    tool = Tool.model_validate(
        {"name": "API-get-text", "inputSchema": {"type": "object", "properties": types}}
    )
    config = ServerConfig(name="notion", command="x", trust=Trust.REVIEWED, recipes="notion-mcp-server")
    pin = Pin("notion", tool.name, definition(tool, config), "ann", datetime(2026, 1, 1, tzinfo=UTC))
    listing = Listing(tools=[tool], rejected={}, reported_name="Notion API")
    found = Catalogue.of(config, listing, FILES, {tool.name: pin} if reviewed else {}).specs[tool.name]
    schema = {"required": ["page_id"], "properties": {"page_id": {"const": PAGE}}}
    rule = Rule("closed page", ("notion.*",), deny=True, schema=schema)
    matches = lambda wanted, value: not problems(wanted, value)  # noqa: E731
    assert decide(Policy("p", (rule,)), found, args, "C1", matches).rule == "closed page"
