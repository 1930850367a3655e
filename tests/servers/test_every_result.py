"""What tells that a change of a bundled server came to good: its target is read back, or its recipe says what to expect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gate.rules.action import Outcome
from gate.rules.confidence import Evidence, score
from gate.rules.tool import Recipe
from tests.servers.all_servers import tools
from tests.servers.gate_around_server import META
from tests.storage.samples import action
from tools.recipes.reader import read_recipe
from tools.recipes.validation import judge_by_rules

COMMAND = "/usr/bin/viewer"
# Tools whose target cannot be read back, with a good result of each and a bad one.
EXPECTING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "filesystem.purge_trash": ({"count": 1}, {"count": 0}),
    "email.send_draft": ({"header_id": "<a1@example.com>"}, {"header_id": ""}),
    "system.open_application": ({"command": COMMAND}, {"command": "/bin/sh"}),
    "system.open_file_with": ({"command": COMMAND}, {}),
}


async def changing(folder: Path) -> dict[str, Recipe]:
    """The recipes of all changing tools, by their names."""
    found = {
        f"{server}.{tool.name}": read_recipe((tool.meta or {})[META])
        for server, offered in (await tools(folder)).items()
        for tool in offered
        if (tool.meta or {}).get(META, {}).get("class") != "read"
    }
    assert len(found) > 50
    return found


async def test_each_change_is_read_back_or_says_what_to_expect(tmp_path: Path) -> None:
    recipes = await changing(tmp_path)
    assert [name for name, recipe in recipes.items() if recipe.drift is None and not recipe.expect] == []
    assert {name for name, recipe in recipes.items() if recipe.expect} == EXPECTING.keys()


@pytest.mark.parametrize("name", EXPECTING)
async def test_a_bad_answer_lowers_the_confidence_in_what_is_not_read_back(name: str, tmp_path: Path) -> None:
    rules = (await changing(tmp_path))[name].expect
    before = Evidence(succeeded=True)
    scores = []
    for result in EXPECTING[name]:
        args = f'{{"expected_command":"{COMMAND}"}}'.encode()
        judged = judge_by_rules(rules, action(args=args, outcome=Outcome("success", "", result)))
        assert judged is not None
        scores.append(score(Evidence(succeeded=True, judgement=judged)).score)
    good, bad = scores
    assert bad < score(before).score <= good
