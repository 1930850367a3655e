"""Rules about what a tool of another server is told by an argument of another name, or what only its reads tell."""

from __future__ import annotations

from typing import Any

import pytest

from gate.rules.action import Json, Verdict
from tests.tools.test_tools_recipe_ids import BARE, UUID, holds, judged, rule, spec, text

OTHER = "9b4e28ba-2fa1-11d2-883f-0016d3cca427"
SAME_ID: list[tuple[str, dict[str, Any]]] = [
    ("API-get-block-children", {"block_id": UUID}),
    ("API-retrieve-a-comment", {"block_id": BARE}),
    ("API-update-a-block", {"block_id": UUID, "type": {}}),
    ("API-patch-block-children", {"block_id": UUID, "children": []}),
    ("API-delete-a-block", {"block_id": UUID}),
    ("API-retrieve-page-markdown", {"page_id": UUID}),
    ("API-post-page", {"parent": {"page_id": UUID}, "properties": {}}),
    ("API-post-page", {"parent": f' {{"page_id": "{UUID}"}}', "properties": {}}),
    ("API-move-page", {"page_id": OTHER, "parent": {"page_id": UUID}}),
    ("API-move-page", {"page_id": UUID, "parent": {"page_id": OTHER}}),
    ("API-create-a-comment", {"parent": {"block_id": BARE}, "rich_text": []}),
    ("API-create-a-comment", {"parent": {"page_id": OTHER, "block_id": UUID}, "rich_text": []}),
]


@pytest.mark.parametrize("name", ["page_id", "block_id"])
@pytest.mark.parametrize(("tool", "args"), SAME_ID)
def test_a_rule_about_a_page_of_notion_holds_for_it_under_any_argument(
    tool: str, args: dict[str, Json], name: str
) -> None:
    assert holds("notion-mcp-server", tool, args, rule(**{name: {"const": UUID}}))
    assert not holds("notion-mcp-server", tool, args, rule(**{name: {"const": UUID[::-1]}}))


@pytest.mark.parametrize(
    ("tool", "args", "name"),
    [
        ("API-delete-a-block", {"block_id": UUID}, "database_id"),
        ("API-post-page", {"parent": {"database_id": BARE}, "properties": {}}, "database_id"),
        ("API-post-page", {"parent": {"data_source_id": UUID}, "properties": {}}, "data_source_id"),
    ],
)
def test_a_rule_about_a_database_of_notion_holds_for_it_as_a_block_and_as_a_parent(
    tool: str, args: dict[str, Json], name: str
) -> None:
    assert holds("notion-mcp-server", tool, args, rule(**{name: {"const": UUID}}))


@pytest.mark.parametrize(("tool", "args"), SAME_ID)
def test_another_page_of_notion_is_judged_as_usual(tool: str, args: dict[str, Json]) -> None:
    own = spec("notion-mcp-server", tool)
    usual = judged(own, args, text("^nothing$")).verdict
    assert judged(own, args, rule(page_id={"const": UUID[::-1]})).verdict is usual
    assert usual is not Verdict.DENY
