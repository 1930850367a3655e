"""No call of a tool with a shipped recipe holds the event loop up, whatever its recipe makes of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.policy_file import load_policy
from gate.rules.action import Decision, Json, Verdict
from gate.rules.policy import decide
from gate.rules.tool import ToolSpec, Trust
from tests.cpu_time import seconds
from tools.mcp.schema import problems
from tools.recipes.reader import load_recipes

LIMIT = 0.3  # seconds, as in tests/test_hostile_sizes.py
TRIES = 3
WIDE = "{a,b}{c,d}{e,f}{g,h}{i,j}.env"
POLICY = load_policy(Path("manifests/policy.yaml"))
NOTION = load_recipes(Path("manifests/tools"))["notion-mcp-server"]


def spec(tool: str) -> ToolSpec:
    recipe = NOTION.recipe(tool)
    return ToolSpec("n", tool, "T", "", {}, "d", trust=Trust.REVIEWED, recipe=recipe, reviewed=True)


def matches(schema: Any, value: Json) -> bool:
    return not problems(schema, value)


def uuid(number: int, end: str) -> str:
    return f"8c2a1f5e-1b2c-4d3e-{ord(end):04x}-{number:012x}"


# What is given in many ways: at the places of other arguments, composed, without blanks around it, and as an id.
CALLS: dict[str, Callable[[str], Json]] = {
    "ids beside a wide pattern": lambda end: {
        "page_id": [f"e{end}{number}" for number in range(1_500)],
        "url": [f" e\u0301{end}{WIDE}"],
    },
    "UUIDs beside a text with blanks": lambda end: {
        "page_id": [uuid(number, end) for number in range(1_500)],
        "url": [f" e\u0301{end}"],
    },
    "as many ids as arguments have": lambda end: {
        "page_id": [f"{end}{number}" for number in range(6_500)],
        "url": [f" e\u0301{end}"],
    },
    "ids of which each has blanks": lambda end: {
        "page_id": [f" e\u0301{end}/./{number}" for number in range(450)]
    },
    "numbers": lambda end: {"page_id": end, "url": [0] * 5_000 + [f" e\u0301{end}{WIDE}"]},
}


@pytest.mark.parametrize("tool", ["API-retrieve-a-page", "API-delete-a-block"])
@pytest.mark.parametrize("make", CALLS.values(), ids=CALLS)
def test_a_call_that_is_given_in_many_ways_is_refused_without_making_them(
    tool: str, make: Callable[[str], Json]
) -> None:
    """12 KB of ids took 2 s: their forms were counted as they were given, once."""
    found: list[Decision] = []
    given = map(make, "abc")  # none whose forms are known already
    run = lambda: found.append(decide(POLICY, spec(tool), next(given), "C1", matches))  # noqa: E731
    assert seconds(run, TRIES, LIMIT) < LIMIT
    assert found[0].rule == "too many names"


def page(end: str, blocks: int) -> Json:
    """Paragraphs with links, whose texts end in a blank, as editors leave them."""
    words = (f"Line {number} of the notes {end}: https://example.com/{number} " for number in range(blocks))
    texts = ({"rich_text": [{"type": "text", "text": {"content": one}}]} for one in words)
    return {
        "block_id": uuid(0, end),
        "children": [{"object": "block", "type": "paragraph", "paragraph": one} for one in texts],
    }


def test_as_many_blocks_as_notion_takes_at_once_are_not_too_many() -> None:
    found: list[Decision] = []
    pages = (page(end, 100) for end in "abc")
    append = spec("API-patch-block-children")
    run = lambda: found.append(decide(POLICY, append, next(pages), "C1", matches))  # noqa: E731
    assert seconds(run, TRIES, LIMIT) < LIMIT
    assert found[0].verdict is Verdict.CONFIRM
